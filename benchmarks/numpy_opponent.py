"""NumPy rewrites of the environments as opponents in `fairgym bench`.

Run `fairgym bench loan health education --against numpy`. The column "ratio" is the time of an
environment divided by that of its rewrite, `numpy_<environment>.py` in `tests/oracles`, which the
tests compare with it step by step.
"""

import copy
import itertools
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fairgym.bench import CANDIDATES, Workload

sys.path.append(str(Path(__file__).parents[1] / "tests" / "oracles"))
import numpy_education
import numpy_health
import numpy_loan
import numpy_loan_simple
import numpy_policies

REWRITES = {
    "education": numpy_education,
    "health": numpy_health,
    "loan": numpy_loan,
    "loan_simple": numpy_loan_simple,
}


def opponent(workload: Workload) -> Callable[[], float] | None:
    """Return a function that measures the rewrite's seconds per step, or None if there is none."""
    env: Any = workload.env
    if env.name not in REWRITES:
        return None
    actions = {agent: np.asarray(action) for agent, action in workload.actions.items()}
    warm = REWRITES[env.name].System(env, env.default_params)
    steps = int(np.clip(2_000_000 // env.population, 12, 300))
    warm.reset(np.random.default_rng(0))
    for _ in range(workload.warm_up):
        warm.step(actions)
    turn = itertools.cycle(range(CANDIDATES))

    def act(system: Any, policies: Mapping[str, Any], step: int) -> dict[str, np.ndarray]:
        chosen = {}
        for agent, policy in policies.items():
            if step % env.spec.periods.get(agent, 1):
                chosen[agent] = actions[agent]  # ignored in this step
                continue
            rows, features, context = system.observe(agent)
            action = policy(features, context)
            if policy.per_person:
                chosen[agent] = np.zeros(env.action_space(agent).shape, np.float32)
                chosen[agent][rows] = action
            else:
                chosen[agent] = action
        return chosen

    def run() -> float:
        system, policies = copy.deepcopy(warm), workload.policies(next(turn))
        if workload.networks:
            policies = {agent: numpy_policies.TwoLayer(p) for agent, p in policies.items()}
        begun = time.perf_counter()
        for step in range(workload.warm_up, workload.warm_up + steps):
            system.step(act(system, policies, step) if workload.networks else actions)
        return (time.perf_counter() - begun) / steps

    return run
