"""Tianshou: PPO on one agent, and PPO for every agent of a PettingZoo environment in turns."""

import numpy as np
import torch
from pettingzoo.utils import parallel_to_aec
from pettingzoo.utils.wrappers import ClipOutOfBoundsWrapper
from small import CONTINUOUS, DISCRETE, SEVERAL, STEPS, ran, report, small
from tianshou.algorithm import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy, ProbabilisticActorPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOnPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.trainer import OnPolicyTrainerParams
from tianshou.utils.net.common import Net
from tianshou.utils.net.continuous import ContinuousActorProbabilistic, ContinuousCritic
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic

from fairgym.adapters import gymnasium, pettingzoo

runs: dict[str, list[str]] = {}


def ppo(seen, taken, discrete):
    """PPO with small networks for two spaces."""
    shape, size = seen.shape, taken.n if discrete else taken.shape
    body, critic_body = (Net(state_shape=shape, hidden_sizes=[16]) for _ in range(2))
    if discrete:
        actor = DiscreteActor(preprocess_net=body, action_shape=size, softmax_output=False)
        policy = DiscreteActorPolicy(actor=actor, action_space=taken)
        critic = DiscreteCritic(preprocess_net=critic_body)
    else:
        actor = ContinuousActorProbabilistic(preprocess_net=body, action_shape=size, unbounded=True)
        policy = ProbabilisticActorPolicy(
            actor=actor,
            dist_fn=lambda both: torch.distributions.Independent(
                torch.distributions.Normal(*both), 1
            ),
            action_space=taken,
        )
        critic = ContinuousCritic(preprocess_net=critic_body)
    return PPO(policy=policy, critic=critic, optim=AdamOptimizerFactory(lr=1e-3))


def train(algorithm, envs, steps):
    """Train for a few steps in two environments; return the statistics."""
    before = [p.detach().clone() for p in algorithm.parameters()]
    collector = Collector(algorithm, envs, VectorReplayBuffer(400, len(envs)))
    result = algorithm.run_training(
        OnPolicyTrainerParams(
            training_collector=collector,
            max_epochs=1,
            epoch_num_steps=steps,
            collection_step_num_env_steps=steps,
            batch_size=8,
            update_step_num_repetitions=1,
            verbose=False,
            show_progress=False,
        )
    )
    after = [bool((p != q).any()) for p, q in zip(algorithm.parameters(), before, strict=True)]
    assert any(after), "it has learned something"
    assert np.isfinite(collector.buffer.rew[: len(collector.buffer)]).all()
    return result


for name in (*DISCRETE, *CONTINUOUS):
    one = gymnasium.GymnasiumEnv(small(name))
    algorithm = ppo(one.observation_space, one.action_space, name in DISCRETE)
    envs = DummyVectorEnv([lambda name=name: gymnasium.GymnasiumEnv(small(name))] * 2)
    train(algorithm, envs, 4 * STEPS)
    ran(runs, "PPO", name)


def in_turns(name):
    """Return an environment with agents of one size, in Tianshou's form.

    Tianshou does not map the actions of several agents to their ends, so they are clipped.
    """
    env = pettingzoo.PettingZooEnv(small(name), padded=True, scaled=True)
    return PettingZooEnv(ClipOutOfBoundsWrapper(parallel_to_aec(env)))


def of_all(env):
    """PPO for every agent. Tianshou 2.0.1 asks for next observations before there are any."""
    algorithms = [ppo(env.observation_space, env.action_space, False) for _ in env.agents]
    algorithm = MultiAgentOnPolicyAlgorithm(algorithms=algorithms, env=env)
    forward = algorithm.policy.forward

    def forward_with_next(batch, state=None, **settings):
        if "obs_next" not in batch.get_keys():
            batch.obs_next = Batch()
        return forward(batch, state, **settings)

    algorithm.policy.forward = forward_with_next
    return algorithm


for name in SEVERAL:
    env = in_turns(name)
    algorithm = of_all(env)
    envs = DummyVectorEnv([lambda name=name: in_turns(name)] * 2)
    train(algorithm, envs, 4 * STEPS * len(env.agents))
    ran(runs, "MultiAgentOnPolicyAlgorithm with PPO", name)

report("Tianshou", "tianshou", runs)
