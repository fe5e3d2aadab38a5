"""rejax: PPO, DQN and SAC, each in one compiled program with its evaluation."""

import jax
import numpy as np
from rejax import DQN, PPO, SAC
from small import CONTINUOUS, DISCRETE, STEPS, ran, report, small

from fairgym.adapters.gymnax import GymnaxEnv

runs: dict[str, list[str]] = {}


def train(algorithm, name, **settings):
    """Train for 128 steps, with an evaluation after every 64."""
    env = GymnaxEnv(small(name))
    learner = algorithm.create(
        env=env, env_params=env.default_params, total_timesteps=128, eval_freq=64, **settings
    )
    state, (lengths, returns) = jax.jit(learner.train)(jax.random.PRNGKey(0))
    assert np.asarray(lengths).max() <= STEPS and np.isfinite(returns).all()
    before = learner.init_state(jax.random.PRNGKey(0))
    networks = [field for field in vars(before) if field.endswith("_ts")]
    changed = [
        bool((p != q).any())
        for field in networks
        for p, q in zip(
            jax.tree.leaves(getattr(before, field).params),
            jax.tree.leaves(getattr(state, field).params),
            strict=True,
        )
    ]
    assert any(changed), "it has learned something"
    ran(runs, algorithm.__name__, name)


small_buffer = {"buffer_size": 256, "fill_buffer": 16, "batch_size": 8}
for name in (*DISCRETE, *CONTINUOUS):
    train(PPO, name, num_envs=4, num_steps=8, num_minibatches=2)
    train(DQN if name in DISCRETE else SAC, name, num_envs=1, **small_buffer)

report("rejax", "rejax", runs)
