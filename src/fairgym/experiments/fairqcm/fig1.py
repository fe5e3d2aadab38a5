"""Two vaccine plans: equal at the end, but not before."""

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import PyTree
from matplotlib.figure import Figure

from fairgym.experiments import _parts as ex
from fairgym.fairness import Full, RelaxedParity, Scheme, StakeholderFirst, component_rows
from fairgym.report import style
from fairgym.results.numbers import number

COUNTRIES = ("A", "B")
MONTHS = 4
ROUNDING = 1e-9  # tolerance of differences that should be 0
# Plan -> shipments to the two countries by month, in thousands.
PLANS = {
    "one after the other": [(20, 0), (20, 0), (0, 20), (0, 20)],
    "half and half": [(10, 10)] * MONTHS,
}
RECEIVED = Full("vaccines")
SCHEMES = {
    "long-term": Scheme.long_term(RECEIVED, RelaxedParity()),
    "every two months": Scheme.periodic(RECEIVED, RelaxedParity(), period=2),
    "anytime": Scheme.anytime(RECEIVED, RelaxedParity()),
    "stakeholder-first": Scheme(RECEIVED, StakeholderFirst()),
}


@ex.experiments.register("fairqcm-fig1")
class FairqcmFig1(ex.Experiment):
    """Plans for 80,000 vaccines, scored by schemes that evaluate at different times."""

    title = "FairQCM figure 1: two vaccine plans"
    source = "Remembering to Be Fair, figure 1"
    claim = (
        "both processes result in an equal distribution of vaccines at the end; monthly evaluation"
        " shows that the first process favours A for some time"
    )
    sizes: ClassVar = dict.fromkeys(("paper", "quick"), ex.Size(seeds=0))

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Return plan -> vaccines so far by month and country, and scores by scheme and month."""
        data = {}
        for plan, shipments in PLANS.items():
            table = {
                "month": [month for month in range(MONTHS) for _ in COUNTRIES],
                "country": list(COUNTRIES) * MONTHS,
                "vaccines": [amount for month in shipments for amount in month],
            }
            rows = component_rows(table, ["vaccines"], time="month", stakeholder="country")
            data[plan] = {
                "received": np.cumsum(shipments, axis=0),
                "scores": {
                    name: np.asarray(scheme.of_trace(rows)[1]) for name, scheme in SCHEMES.items()
                },
            }
        return data

    def conclude(self, data: PyTree) -> ex.Outcome:
        """Check the differences between the plans in the score of each scheme."""
        scores = [one["scores"] for one in data.values()]
        ends = {name: [float(one[name][-1]) for one in scores] for name in scores[0]}
        first, second = ends["long-term"]
        ahead = np.subtract(*next(iter(data.values()))["received"].T)
        checks = [
            _exact("at the end both plans are equally fair (difference)", second - first),
            _exact("and perfectly fair (long-term score)", first),
            _exact(
                "one after the other: A is ahead after each month but the last"
                " (smallest lead, thousands)",
                float(ahead[:-1].min()),
                more=True,
            ),
            *(
                _exact(f"{name}: half and half is fairer", half - one, more=True)
                for name, (one, half) in ends.items()
                if name != "long-term"
            ),
        ]
        rows = [[name, *map(number, values)] for name, values in ends.items()]
        return ex.Outcome(
            figures={"": _plot(data)},
            caption="Top: vaccines received so far by each country. Bottom: score so far of schemes"
            " with relaxed demographic parity, which is minus the difference between the countries."
            " The long-term score is that of the last month alone.",
            tables=[ex.Table(["scheme", *data], rows, "Scores of the plans; 0 is perfectly fair.")],
            checks=checks,
        )


def _exact(statement: str, value: float, *, more: bool = False) -> ex.Check:
    """Check that a number is 0, or that it is above 0.

    The checks are by construction: the numbers follow from the plans by arithmetic.
    """
    limits = (0.0, math.inf) if more else (-ROUNDING, ROUNDING)
    return ex.Check(statement, value, value, value, *limits, kind="by construction")


@style.styled
def _plot(data: PyTree) -> Figure:
    count = len(data)
    figure, axes = style.panels(2 * count, count, 2.4, legend_rows=1, sharex=True, sharey="row")
    months = np.arange(1, MONTHS + 1)
    for above, below, (plan, one) in zip(axes, axes[count:], data.items(), strict=False):
        for code, country in enumerate(COUNTRIES):
            shifted = months + 0.2 * (2 * code - 1)  # side by side
            colour = style.group_colour(code)
            above.bar(
                shifted, one["received"][:, code], 0.36, color=colour, label=f"country {country}"
            )
        style.set_title(above, plan)
        for index, name in enumerate(("every two months", "anytime")):
            look = style.policy_line(index)
            below.step(months, one["scores"][name], where="post", label=name, **look)
        below.set_xlabel("month")
        below.set_xticks(months)
    axes[0].set_ylabel("thousand vaccines so far")
    axes[count].set_ylabel("score so far")
    handles = [
        *axes[0].get_legend_handles_labels()[0],
        *axes[count].get_legend_handles_labels()[0],
    ]
    style.top_legend(figure, handles)
    return figure
