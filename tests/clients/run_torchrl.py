"""TorchRL's wrappers of Gymnasium and of PettingZoo, with its own check of their specs."""

import torch
from pettingzoo.utils import parallel_to_aec
from small import CONTINUOUS, DISCRETE, SEVERAL, STEPS, ran, report, small
from torchrl.envs import GymWrapper, PettingZooWrapper
from torchrl.envs.utils import MarlGroupMapType, check_env_specs

from fairgym.adapters.gymnasium import GymnasiumEnv
from fairgym.adapters.pettingzoo import PettingZooEnv

runs: dict[str, list[str]] = {}
for name in (*DISCRETE, *CONTINUOUS):
    for vector in (False, True):
        env = GymWrapper(GymnasiumEnv(small(name), vector_rewards=vector))
        check_env_specs(env)
        rollout = env.rollout(3 * STEPS, break_when_any_done=False)
        assert int(rollout["next", "done"].sum()) >= 3, "every episode ends"
        assert torch.isfinite(rollout["next", "reward"]).all()
        terms = len(env.unwrapped.reward_names) if vector else 1
        assert rollout["next", "reward"].shape == (3 * STEPS, terms)
    ran(runs, "GymWrapper", name)

for name in SEVERAL:
    parallel = PettingZooEnv(small(name))
    env = PettingZooWrapper(parallel, group_map=MarlGroupMapType.ONE_GROUP_PER_AGENT)
    check_env_specs(env)
    rollout = env.rollout(3 * STEPS, break_when_any_done=False)
    assert int(rollout["next", "done"].sum()) >= 3, "every episode ends"
    for agent in parallel.possible_agents:
        assert torch.isfinite(rollout["next", agent, "reward"]).all()
    ran(runs, "PettingZooWrapper", name)
    turns = PettingZooWrapper(
        parallel_to_aec(PettingZooEnv(small(name))),
        use_mask=True,
        group_map=MarlGroupMapType.ONE_GROUP_PER_AGENT,
    )
    turns.rollout(3 * STEPS)
    ran(runs, "PettingZooWrapper of the AEC form", name)

report("TorchRL", "torchrl", runs)
