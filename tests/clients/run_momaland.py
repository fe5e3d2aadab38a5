"""MOMAland: its conversion to turns with its test of it, CentraliseAgent and reward wrappers."""

import warnings

import numpy as np
from momaland.test.api_test import api_test
from momaland.utils.conversions import mo_parallel_to_aec
from momaland.utils.parallel_wrappers import (
    CentraliseAgent,
    LinearizeReward,
    NormalizeReward,
    RecordEpisodeStatistics,
)
from small import SEVERAL, ran, report, small

from fairgym.adapters.pettingzoo import PettingZooEnv

warnings.simplefilter("ignore")  # its test expects small games
runs: dict[str, list[str]] = {}


def vector(name, **settings):
    """Make an environment with one reward per term."""
    return PettingZooEnv(small(name), vector_rewards=True, **settings)


def play(env):
    """Play an episode with random actions; return the rewards of all steps."""
    env.reset(seed=0)
    paid = []
    while env.agents:
        actions = {agent: env.action_space(agent).sample() for agent in env.agents}
        paid.append(env.step(actions)[1])
    return paid


for name in SEVERAL:
    terms = len(vector(name).reward_names)
    turns = mo_parallel_to_aec(vector(name))
    api_test(turns, num_cycles=20)
    assert all(turns.reward_space(agent).shape == (terms,) for agent in turns.possible_agents)
    ran(runs, "mo_parallel_to_aec and api_test", name)

    for kind in ("sum", "average"):
        # it takes the ends of the first number for all of them
        central = CentraliseAgent(vector(name, padded=True, scaled=True), reward_type=kind)
        seen, _ = central.reset(seed=0)
        assert central.observation_space.shape == seen.shape
        over = False
        while not over:
            seen, reward, terminated, truncated, _ = central.step(central.action_space.sample())
            assert central.observation_space.contains(seen.astype(np.float32))
            assert reward.shape == (terms,) and np.isfinite(reward).all()
            over = terminated or truncated
    ran(runs, "CentraliseAgent", name)

    weights = np.full(terms, 1.0 / terms)
    agents = vector(name).possible_agents
    linear = LinearizeReward(vector(name), dict.fromkeys(agents, weights))
    assert all(np.shape(reward) == () for one in play(linear) for reward in one.values())
    ran(runs, "LinearizeReward", name)
    normal = NormalizeReward(vector(name), agents[0], 0)
    assert all(np.isfinite(reward).all() for one in play(normal) for reward in one.values())
    ran(runs, "NormalizeReward", name)
    play(RecordEpisodeStatistics(vector(name)))
    ran(runs, "RecordEpisodeStatistics", name)

report("MOMAland", "momaland", runs)
