"""MO-Gymnasium: its `make` and its wrappers of vector rewards."""

import mo_gymnasium
import numpy as np
from mo_gymnasium.wrappers import (
    LinearReward,
    MOClipReward,
    MOMaxAndSkipObservation,
    MONormalizeReward,
    MORecordEpisodeStatistics,
)
from mo_gymnasium.wrappers.vector import MOSyncVectorEnv
from small import CONTINUOUS, DISCRETE, PEOPLE, STEPS, ran, report

import fairgym.adapters.gymnasium  # noqa: F401 - registers the names

WRAPPERS = {
    "LinearReward": LinearReward,
    "MOClipReward": lambda env: MOClipReward(env, idx=0, min_r=-1.0, max_r=1.0),
    "MOMaxAndSkipObservation": lambda env: MOMaxAndSkipObservation(env, skip=2),
    "MONormalizeReward": lambda env: MONormalizeReward(env, idx=0),
    "MORecordEpisodeStatistics": MORecordEpisodeStatistics,
}
runs: dict[str, list[str]] = {}


def make(name):
    """Make an environment with one reward per term."""
    shapes = {"population": PEOPLE[name]} if name in PEOPLE else {}
    return mo_gymnasium.make(f"fairgym/{name}-v0", horizon=STEPS, vector_rewards=True, **shapes)


for name in (*DISCRETE, *CONTINUOUS):
    terms = make(name).unwrapped.reward_names
    for wrapper, wrapped in {"make": lambda env: env, **WRAPPERS}.items():
        env = wrapped(make(name))
        env.action_space.seed(0)
        env.reset(seed=0)
        over, info = False, {}
        while not over:
            _, reward, terminated, truncated, info = env.step(env.action_space.sample())
            assert np.shape(reward) == (() if wrapper == "LinearReward" else (len(terms),)), wrapper
            assert np.isfinite(reward).all()
            over = terminated or truncated
        if wrapper == "MORecordEpisodeStatistics":
            assert np.shape(info["episode"]["r"]) == (len(terms),)
        ran(runs, wrapper, name)
    several = MOSyncVectorEnv([lambda name=name: make(name)] * 2)
    several.action_space.seed(0)
    several.reset(seed=0)
    for _ in range(2 * STEPS):
        _, rewards, *_ = several.step(several.action_space.sample())
        assert rewards.shape == (2, len(terms)) and np.isfinite(rewards).all()
    several.close()
    ran(runs, "MOSyncVectorEnv", name)

report("MO-Gymnasium", "mo-gymnasium", runs)
