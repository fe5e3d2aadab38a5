"""The queue of the loan environment: who is never paid out, and how long people wait.

`python benchmarks/calibration.py loan --caps` prints the table by payout cap.
"""

from collections.abc import Iterator

import jax
import numpy as np

from fairgym.experiments import _parts as ex
from fairgym.experiments.mafe._readings import queue
from fairgym.policies import fixed_policies
from fairgym.training import evaluate
from fairgym.utils import make

CAPS = (0.005, 0.01, 0.015, 0.02)  # payouts per month, as shares of the people


def caps(population: int, seeds: int) -> Iterator[str]:
    """Yield Markdown lines: the loan queue with other payout caps, in the same episodes."""
    for place, cap in enumerate(CAPS):
        env = make("loan", population=population, disbursement_cap=round(cap * population))
        policies = fixed_policies(env, env.spec.baselines["published_fixed_policy"])
        key = jax.random.key(0)
        found = evaluate(
            env, env.default_params, policies, key, seeds, trace=True, permutations=ex.PERMUTATIONS
        )
        waits = queue(env, [found])
        if place == 0:
            yield f"| payout cap | profit | default rate | {' | '.join(waits)} |"
            yield "| --- " * (len(waits) + 3) + "|"
        profit, default = (found.interval(name)[0] for name in ("profit", "default_rate"))
        cells = [f"{profit:,.0f}", f"{abs(default):.2f}"]
        cells += [f"{np.mean(values):.2f}" for values in waits.values()]
        yield f"| {cap:.1%} | {' | '.join(cells)} |"
