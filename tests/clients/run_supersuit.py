"""SuperSuit's wrappers of parallel environments, and its vector environments."""

import numpy as np
import supersuit
from small import SEVERAL, STEPS, ran, report, small

from fairgym.adapters.pettingzoo import PettingZooEnv

# Left out are `color_reduction_v0` and `resize_v1`, which are for pictures.
WRAPPERS = {
    "black_death_v3": supersuit.black_death_v3,
    "normalize_obs_v0": supersuit.normalize_obs_v0,
    "agent_indicator_v0": lambda env: supersuit.agent_indicator_v0(
        supersuit.pad_observations_v0(env)
    ),
    "pad_observations_v0": supersuit.pad_observations_v0,
    "pad_action_space_v0": supersuit.pad_action_space_v0,
    "clip_actions_v0": supersuit.clip_actions_v0,
    "clip_reward_v0": supersuit.clip_reward_v0,
    "delay_observations_v0": lambda env: supersuit.delay_observations_v0(env, 2),
    "dtype_v0": lambda env: supersuit.dtype_v0(env, np.float64),
    "flatten_v0": supersuit.flatten_v0,
    "frame_skip_v0": lambda env: supersuit.frame_skip_v0(env, 2),
    "frame_stack_v1": lambda env: supersuit.frame_stack_v1(env, 3),
    "max_observation_v0": lambda env: supersuit.max_observation_v0(env, 2),
    "nan_random_v0": supersuit.nan_random_v0,
    "nan_zeros_v0": supersuit.nan_zeros_v0,
    "sticky_actions_v0": lambda env: supersuit.sticky_actions_v0(env, 0.5),
}
# The indicator has the size of the largest end, in a space with the smallest one: equal ends.
SETTINGS = {"agent_indicator_v0": {"scaled": True}}
runs: dict[str, list[str]] = {}


def play(name, wrapper, env):
    """Play two episodes with random actions."""
    for seed in range(2):
        env.reset(seed=seed)
        for agent in env.possible_agents:
            env.action_space(agent).seed(seed)
        for _ in range(STEPS + 1):  # black_death tells of the end one step later
            if not env.agents:
                break
            actions = {agent: env.action_space(agent).sample() for agent in env.agents}
            seen, rewards, *_ = env.step(actions)
            for agent, observation in seen.items():
                assert env.observation_space(agent).contains(observation), (wrapper, name, agent)
            assert np.isfinite(list(rewards.values())).all()
        assert not env.agents, "the episode has ended"


for name in SEVERAL:
    for wrapper, wrapped in WRAPPERS.items():
        play(name, wrapper, wrapped(PettingZooEnv(small(name), **SETTINGS.get(wrapper, {}))))
        ran(runs, wrapper, name)
    for padded in (False, True):
        env = PettingZooEnv(small(name), padded=padded)
        if not padded:
            env = supersuit.pad_action_space_v0(supersuit.pad_observations_v0(env))
        agents = len(env.possible_agents)
        one = supersuit.pettingzoo_env_to_vec_env_v1(env)
        several = supersuit.concat_vec_envs_v1(one, 2, num_cpus=0)
        several.reset(seed=0)
        for _ in range(2 * STEPS):
            actions = np.stack([several.action_space.sample() for _ in range(2 * agents)])
            seen, rewards, *_ = several.step(actions)
            assert seen.shape[0] == rewards.shape[0] == 2 * agents
            assert np.isfinite(rewards).all()
    ran(runs, "concat_vec_envs_v1", name)

report("SuperSuit", "supersuit", runs)
