"""Stable-Baselines3: its check of environments, and PPO, DQN and SAC."""

import warnings

import numpy as np
from small import CONTINUOUS, DISCRETE, STEPS, ran, report, small
from stable_baselines3 import DQN, PPO, SAC
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from fairgym.adapters.gymnasium import GymnasiumEnv

warnings.simplefilter("ignore")  # it recommends other ranges of observations and actions
runs: dict[str, list[str]] = {}


def learn(kind, name, **settings):
    """Train for three episodes on scaled observations, and play one with the policy."""
    env = VecNormalize(DummyVecEnv([lambda: GymnasiumEnv(small(name))]))
    model = kind("MlpPolicy", env, seed=0, device="cpu", **settings)
    before = [p.detach().clone() for p in model.policy.parameters()]
    model.learn(total_timesteps=3 * STEPS)
    changed = [bool((p != q).any()) for p, q in zip(model.policy.parameters(), before, strict=True)]
    assert any(changed), "it has learned something"
    seen, ended = env.reset(), False
    while not ended:
        seen, reward, done, _ = env.step(model.predict(seen)[0])
        assert np.isfinite(seen).all() and np.isfinite(reward).all()
        ended = bool(done[0])
    ran(runs, kind.__name__, name)


for name in (*DISCRETE, *CONTINUOUS):
    check_env(GymnasiumEnv(small(name)))
    learn(PPO, name, n_steps=STEPS, batch_size=STEPS)
    if name in DISCRETE:
        learn(DQN, name, learning_starts=4, train_freq=1, batch_size=4)
    else:
        learn(SAC, name, learning_starts=4, batch_size=4)

report("Stable-Baselines3", "stable-baselines3", runs)
