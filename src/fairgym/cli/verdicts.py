"""Whether a policy is better or worse than the reference."""

from collections.abc import Sequence

import numpy as np

from fairgym.core import Environment
from fairgym.results.gap_tables import Columns
from fairgym.results.quantities import FAILED
from fairgym.results.rows import Row


def verdicts_of(
    rows: Sequence[Row], columns: Columns, reference: str, env: Environment
) -> dict[str, dict[str, str]]:
    """Return the verdict on each policy against the first one: policy -> measure -> word."""
    fails = {name: np.mean([one.terminated for one in found]) for name, found in columns.items()}
    by_name = {row.quantity.name: row for row in rows}
    served = {}  # measure that only counts people who were served -> the share that was
    for name, other in env.spec.finished_only.items():
        rate = getattr(env.metrics[other], "rate", None)
        share = next((n for n, metric in env.metrics.items() if metric == rate), None)
        if share is not None:
            served[name] = by_name[share]
    return {
        name: {
            measure: verdict(row, name, float(fails[name] - fails[reference]), served.get(measure))
            for measure, row in by_name.items()
        }
        for name in columns
        if name != reference
    }


def verdict(row: Row, name: str, fails: float, served: Row | None = None) -> str:
    """Whether a policy is better or worse than the reference; "" where that is unclear.

    "by failing" where the better side fails more often; "not comparable" where the measure counts
    only people who were served, and another share was served.

    Args:
        row: The measure.
        name: Name of the policy.
        fails: Share of episodes in which the policy fails, minus that of the reference.
        served: The share of people who were served, if the measure counts only those.
    """
    gap = row.differences[name]
    if not gap.clear:
        return ""
    better = gap.mean * row.quantity.better > 0.0
    if row.quantity.name != FAILED and fails != 0.0 and (fails > 0.0) == better:
        return "by failing"
    if served is not None and served.differences[name].clear:
        return "not comparable"
    return "better" if better else "worse"
