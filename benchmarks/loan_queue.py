"""The queue of the loan environment: who is never paid out, and how long people wait.

`python benchmarks/calibration.py loan --policies` prints the table by threshold and relief, and
`--caps` the one by payout cap.
"""

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from fairgym.experiments import _parts as ex
from fairgym.experiments.mafe._readings import queue, served, wait_quantiles
from fairgym.policies import fixed_policies
from fairgym.training import Evaluation, evaluate
from fairgym.utils import make

CAPS = (0.005, 0.01, 0.015, 0.02)  # payouts per month, as shares of the people

# Threshold and relief for everybody.
LENDING_TERMS = (
    (0.0, 0.0),
    (0.0, 0.05),
    (0.0, 0.12),
    (0.0, 0.18),
    (0.0, 0.25),
    (0.0, 0.40),
    (0.80, 0.05),
    (0.85, 0.0),
    (0.0, 0.60),
)


def lending_terms(population: int, seeds: int) -> Iterator[str]:
    """Yield Markdown lines: outcomes by threshold and relief, in the same episodes."""
    env: Any = make("loan", population=population, action_groups=1)
    params, key = env.default_params, jax.random.key(0)
    for place, (threshold, relief) in enumerate(LENDING_TERMS):
        agents = {"admissions": threshold, "disbursement": "random", "debt_management": relief}
        policies = fixed_policies(env, agents)
        found = evaluate(env, params, policies, key, seeds, trace=True, ends=True)
        postponed = evaluate(env, params.replace(relief_forgiven=0.0), policies, key, seeds)
        sums = {name: values.sum(axis=(0, 2)) for name, values in found.ends.items()}
        start, end = sums["qualification_score"] / sums["people"]
        if place == 0:
            yield (
                "| threshold | relief | profit (thousands) | if all relief is postponed | approved"
                " | defaulted | never paid out | half of waits end within (months)"
                f" | mean qualification score at the end (start: {start:.2f}) |"
            )
            yield "| --- " * 9 + "|"
        cells = [profit_or_end(found), profit_or_end(postponed)]
        cells += [share(found, name) for name in ("admission_rate", "default_rate")]
        cells.append(f"{1.0 - served([found])[0]:.2f}")
        cells += [f"{wait_quantiles(env, [found], 0.5)[0]:.0f}", f"{end:.2f}"]
        yield f"| {threshold:g} | {relief:g} | {' | '.join(cells)} |"


def profit_or_end(found: Evaluation) -> str:
    """Return the mean profit, or the mean month in which the bank was bankrupt if it ever was."""
    failed = found.terminated
    if not failed.any():
        return f"{round(found.interval('profit')[0], -3):,.0f}"
    return f"bankrupt after {found.lengths[failed].mean():.0f} months" + (
        "" if failed.all() else f" ({failed.sum()} of {failed.size})"
    )


def share(found: Evaluation, name: str) -> str:
    """Return the mean of a rate over the episodes in which it is defined."""
    values = found.metrics[name][found.defined[name]]
    return f"{abs(values.mean()):.2f}" if values.size else "-"


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
