"""A rewrite of the loan environment in Numba as an opponent in `fairgym bench`.

Run `pip install -r benchmarks/requirements-numba.txt`, then `fairgym bench loan --against numba`.
The tests compare the rewrite, `numba_loan`, with `tests/oracles/numpy_loan.py` month by month. A
run is as long as an episode of fairgym; with policies it is shared by all candidates, because the
rewrite takes the less time the fewer people a policy gives loans to.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fairgym.bench import CANDIDATES, Workload
from fairgym.bench.measuring import MOST_STEPS, PERSON_STEPS
from fairgym.core import FairgymError

try:
    import numba_loan as rewrite
except ModuleNotFoundError as error:
    raise FairgymError(
        "Numba is not installed; run"
        f" `pip install -r {Path(__file__).parent / 'requirements-numba.txt'}`"
    ) from error

sys.path.append(str(Path(__file__).parents[1] / "tests" / "oracles"))
import numpy_loan


def opponent(workload: Workload) -> Callable[[], float] | None:
    """Return a function that measures the rewrite's seconds per step, or None if there is none."""
    env: Any = workload.env
    if env.name != "loan":
        return None
    plain = numpy_loan.NumpyLoan(env, env.default_params)
    plain.reset(np.random.default_rng(0))
    setup, warm = rewrite.make(plain, workload.networks)
    threshold, relief, priority = (
        np.array(workload.actions[agent], np.float32)
        for agent in ("admissions", "debt_management", "disbursement")
    )
    found = np.zeros((len(rewrite.COMPONENTS), 2))
    rewrite.run(warm, setup, threshold, relief, priority, workload.warm_up, found)
    sets = CANDIDATES if workload.networks else 1
    networks = [
        rewrite.networks_of(env, workload.policies(place))
        for place in range(sets)
        if workload.networks
    ]
    months = max(int(np.clip(PERSON_STEPS // env.population, 8, MOST_STEPS)) // sets, 1)

    def run(months: int = months) -> float:
        seconds = 0.0
        for place in range(sets):
            bank = rewrite.copied(warm)
            begun = time.perf_counter()
            if workload.networks:
                rewrite.run_networks(bank, setup, networks[place], months, found)
            else:
                rewrite.run(bank, setup, threshold, relief, priority, months, found)
            seconds += time.perf_counter() - begun
        return seconds / (sets * months)

    run(1)  # compiles
    return run
