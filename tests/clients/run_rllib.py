"""RLlib: PPO on one agent, and PPO with a policy for every agent."""

import os

os.environ |= {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}

import numpy as np
import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv
from ray.tune.registry import register_env
from small import CONTINUOUS, DISCRETE, SEVERAL, STEPS, ran, report, small

from fairgym.adapters.gymnasium import GymnasiumEnv
from fairgym.adapters.pettingzoo import PettingZooEnv

runs: dict[str, list[str]] = {}


def config():
    """PPO in this process, with batches of four episodes."""
    return (
        PPOConfig()
        .env_runners(num_env_runners=0)
        .learners(num_learners=0)
        .training(train_batch_size=4 * STEPS, minibatch_size=2 * STEPS, num_epochs=1)
        .debugging(seed=0, log_level="ERROR")
    )


def train(settings, name, what):
    """Train for two rounds."""
    algorithm = settings.build_algo()
    for _ in range(2):
        result = algorithm.train()
    returns = result["env_runners"]["episode_return_mean"]
    assert np.isfinite(returns), "episodes ended, and their returns are numbers"
    algorithm.stop()
    ran(runs, what, name)


ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
for name in (*DISCRETE, *CONTINUOUS):
    register_env(name, lambda _, name=name: GymnasiumEnv(small(name)))
    train(config().environment(name), name, "PPO")
for name in SEVERAL:
    agents = PettingZooEnv(small(name)).possible_agents
    register_env(
        f"{name} of all", lambda _, name=name: ParallelPettingZooEnv(PettingZooEnv(small(name)))
    )
    several = config().environment(f"{name} of all")
    several = several.multi_agent(
        policies=set(agents), policy_mapping_fn=lambda agent, *_, **__: agent
    )
    train(several, name, "PPO of several agents (ParallelPettingZooEnv)")
ray.shutdown()

report("RLlib", "ray", runs)
