"""Coverage of the intervals that an audit prints, beside a bootstrap of the largest gap."""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from jaxtyping import PyTree

from fairgym.experiments import _audit_others as others
from fairgym.experiments import _audit_study as study
from fairgym.experiments import _parts as ex
from fairgym.experiments._audit_figure import plot
from fairgym.experiments._audit_others import Adjusted, Received, Scored, Waiting
from fairgym.experiments._audit_tables import Case, Course, Units
from fairgym.experiments._coverage import exact, rows_of, worst

COVERAGE = (0.93, 1.0)
MIXED = (2000, 832, 346, 144, 60)
BRANCHES = functools.partial(Units, mixed=True)
TABLE_CASES = (
    Case((100,) * 2, (0.5,) * 2),
    Case((100,) * 3, (0.5,) * 3),
    Case(MIXED, (0.5,) * 5),
    Case((100,) * 3, (0.4, 0.5, 0.6)),
    Case(MIXED, (0.55, 0.525, 0.5, 0.475, 0.45)),
)
RATE_CASES = (
    Case((100, 100), (0.05, 0.05)),
    Case((100, 1000), (0.95, 0.95)),
    Case((100, 300), (0.05, 0.3)),
    Case((60, 2000), (0.1, 0.1)),
    Case(MIXED, (0.9,) * 5),
    Case(MIXED, (0.12, 0.1, 0.1, 0.1, 0.1)),
)
RARE_CASES = (
    Case((100, 100), (0.02, 0.02)),
    Case((30, 300), (0.005, 0.02)),
    Case((60, 2000), (0.01, 0.01)),
    Case((100,) * 3, (0.99,) * 3),
)
CLUSTER_CASES = (
    Case((200, 200), (0.5, 0.5), BRANCHES(6, 0.1)),
    Case((200, 200), (0.5, 0.6), BRANCHES(10, 0.05, uneven=True)),
    Case((200, 200), (0.5, 0.5), BRANCHES(10, 0.3, uneven=True)),
    Case((100, 300), (0.2, 0.2), BRANCHES(20, 0.1, uneven=True)),
    Case((300, 300, 300), (0.5, 0.5, 0.5), BRANCHES(40, 0.02)),
    Case((200, 200), (0.5, 0.6), Units(20, 0.3, uneven=True)),
    Case((200, 200, 200), (0.5, 0.5, 0.5), Units(80, 0.5, uneven=True)),
    Case((100, 400), (0.9, 0.9), Units(60, 0.3)),
    Case((60, 200), (0.3, 0.3), weighted=True),
)
SERIES_CASES = (
    Course(12, (40, 80), (0.5, 0.5), (0.5, 0.5)),
    Course(24, (40, 80), (0.2, 0.3), (0.3, 0.3)),
    Course(12, (40, 80), (0.4, 0.6), (0.6, 0.6), Units(120, 0.5)),
    Course(24, (40, 80), (0.8, 0.8), (0.8, 0.8), Units(120, 0.8, uneven=True)),
    Course(12, (40, 80), (0.5, 0.5), (0.5, 0.5), BRANCHES(10, 0.05, uneven=True)),
)
SCHEME_CASES = SERIES_CASES[:3]
UNTOLD_CASES = (Course(24, (40, 80), (0.5, 0.5), (0.5, 0.5), Units(120, 0.5), told=False),)
ADJUSTED_CASES = (
    Adjusted(400, 5, 0.5),
    Adjusted(400, 100, 0.5),
    Adjusted(600, 0, -0.5),
    Adjusted(600, 5, 0.5, BRANCHES(30, 0.1)),
    Adjusted(600, 5, 0.0, BRANCHES(15, 0.1)),
    Adjusted(600, 5, 0.5, BRANCHES(10, 0.1, uneven=True)),
)
WAIT_CASES = (Waiting(30, 0.3, 12), Waiting(100, 0.1, 12), Waiting(300, 0.5, 24))
SCORE_CASES = (Scored((60, 300), 0.5), Scored((200, 300), 0.3, BRANCHES(15, 0.1)))
EVEN_CASES = (Received(250), Received(1000), Received(2000, 0.5))
HEAVY_CASES = (Received(30), Received(100, 0.5), Received(300, 1.0), Received(1000, 1.0))
# Shares of tables in which intervals of a study are right -> what they are intervals of.
TABLE = {
    "rates": "a rate",
    "differences": "a difference",
    "ratios": "a ratio",
    "odds": "an odds ratio",
    "pairs": "all differences at once",
    "largest": "the largest gap",
}
ADJUSTED = {
    "strata": "a difference within strata",
    "strata odds": "an odds ratio within strata",
    "regression": "a marginal effect in a regression",
    "regression odds": "an odds ratio in a regression",
}
SERIES = {
    "differences": "the difference in a period",
    "ratios": "the ratio in a period",
    "band": "the differences of all periods at once",
    "cumulative": "the difference of all decisions so far",
    "window": "the difference in the last periods",
    "trend": "the trend",
    "worst": "the worst period",
}
WAITS = {
    "median": "the median wait",
    "after 1": "the share that waits more than 1 period",
    "after 3": "the share that waits more than 3 periods",
    "after 12": "the share that waits more than 12 periods",
}
SCORES = {"scores": "a standardised difference of scores"}
RECEIVED = {"gini": "the Gini coefficient", "theil": "the Theil index", "top": "the top share"}
# Studies, and intervals of others, whose method or limit was chosen with their coverage in view.
MENDED = {"clusters", "adjusted", "schemes", "waits", "even"}
CHOSEN = {"rates", "cumulative", "window", "trend"}
# Study -> its cases, function that evaluates tables, and what is claimed of the cases.
Study = tuple[Sequence[Any], Callable[..., Mapping[str, np.ndarray]], Mapping[str, str]]
STUDIES: dict[str, Study] = {
    "table": (TABLE_CASES, study.table_covered, TABLE),
    "rates": (RATE_CASES, study.table_covered, TABLE),
    "rare": (RARE_CASES, study.table_covered, {"rates": TABLE["rates"]}),
    "clusters": (CLUSTER_CASES, study.table_covered, TABLE),
    "adjusted": (ADJUSTED_CASES, others.adjusted_covered, ADJUSTED),
    "series": (SERIES_CASES, study.course_covered, SERIES),
    "untold": (UNTOLD_CASES, study.course_covered, {}),
    "schemes": (SCHEME_CASES, study.schemes_covered, {"scores": "", "balances": ""}),
    "waits": (WAIT_CASES, others.waits_covered, WAITS),
    "scores": (SCORE_CASES, others.scores_covered, SCORES),
    "even": (EVEN_CASES, others.received_covered, RECEIVED),
    "heavy": (HEAVY_CASES, others.received_covered, {}),
}
EXACT_RATES = (10, 30, 100, 300)
EXACT_PAIRS = ((30, 30), (30, 300), (100, 100))
FINE = np.arange(1, 200) / 200.0
RATES = np.array([0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.4, 0.5])
GRID = np.concatenate([RATES, 1.0 - RATES[-2::-1]])
ENOUGH = 5.0  # expected decisions of each kind, from which no limit is told


@ex.experiments.register("audit-coverage")
class AuditCoverage(ex.Experiment):
    """Intervals of audits of simulated decisions with known rates."""

    title = "Audit intervals: coverage, and the failure of a bootstrap"
    source = "this project's audit of logged decisions"
    claim = (
        "each 95% interval of an audit contains the true value in 93 to 100% of the cases, where"
        " the audit tells no limit; where outcomes are common, the usual bootstrap of the largest"
        " gap never contains a true gap of 0 between three or more groups"
    )
    criterion = (
        "Each check is about its worst case, or about all cases. It holds if the estimate is"
        " within the limits. The interval is the exact one of the replicates. A case beyond a"
        " limit is decided by five times as many new replicates."
    )
    sizes: ClassVar = {
        "paper": ex.Size(replicates=1_000, seeds=0),
        "quick": ex.Size(replicates=20, seeds=0),
    }

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Return study -> rows with the case, shares of tables by name, and their number."""
        assert size.replicates is not None
        found: dict[str, Any] = {}
        for place, (name, (cases, function, claimed)) in enumerate(STUDIES.items()):
            rng = np.random.default_rng(place)
            limits = dict.fromkeys(claimed, COVERAGE)
            evaluate = functools.partial(function, rng)
            found[name] = rows_of(cases, evaluate, size.replicates, limits)
        found["exact rates"] = {n: study.rate_coverage(n, FINE) for n in EXACT_RATES}
        found["exact pairs"] = {sizes: study.pair_coverage(*sizes, GRID) for sizes in EXACT_PAIRS}
        return found

    def conclude(self, data: PyTree) -> ex.Outcome:
        """Return checks of the worst cases, and tables of all cases."""
        return ex.Outcome(
            figures={"": plot(data, COVERAGE, FINE)},
            caption="Grey bands are the limits. Top left: share of tables in which a 95% interval"
            " of the largest gap contains it, in the first five cases. Top right: exact coverage of"
            " the interval of a rate. Bottom left: share of tables with repeated decisions in which"
            " the interval of a group's rate contains it. Bottom right: every claimed interval of"
            " every case.",
            tables=_tables(data),
            checks=_checks(data),
        )


def enough(sizes: tuple[int, int]) -> np.ndarray:
    """Return at which rates of the grid both groups expect enough decisions of each kind."""
    rarer = np.minimum(GRID, 1.0 - GRID)
    ours, theirs = (number * rarer >= ENOUGH - 1e-9 for number in sizes)
    return ours[:, None] & theirs


def _checks(data: PyTree) -> list[ex.Check]:
    low = COVERAGE[0]
    several = [row for row in data["table"] if len(row["case"].sizes) > 2]
    fair = [row for row in several if np.ptp(row["case"].rates) == 0.0]
    claims = [("", ("table", "rates", "rare"), {"rates": TABLE["rates"]})]
    no_rates = {name: words for name, words in TABLE.items() if name != "rates"}
    claims += [("", ("table", "rates"), no_rates)]
    claims += [(" with clusters, persons or weights", ("clusters",), TABLE)]
    claims += [("", (name,), STUDIES[name][2]) for name in ("adjusted", "series")]
    schemes = {"scores": "the scores of schemes", "balances": "all balances of the groups"}
    claims += [("", ("schemes",), schemes), ("", ("waits",), WAITS), ("", ("scores",), SCORES)]
    claims += [("", ("even",), RECEIVED)]
    checks = [
        worst(
            f"intervals of {words}{more} contain it (at least .93)",
            [row for name in studies for row in data[name]],
            key,
            low,
            1,
            "calibrated" if key in CHOSEN or MENDED & set(studies) else "predicted",
        )
        for more, studies, named in claims
        for key, words in named.items()
    ]
    curves = [curve for n, curve in data["exact rates"].items() if n >= 30]
    pairs = [
        (
            f"exact coverage of {TABLE[key]}, {ENOUGH:g} or more decisions of each kind expected",
            [
                float(covered[key][enough(sizes)].min())
                for sizes, covered in data["exact pairs"].items()
            ],
        )
        for key in ("differences", "ratios", "odds")
    ]
    return [
        *checks,
        exact(
            "exact coverage of a rate, 30 or more decisions (at least .93)",
            [float(curve.min()) for curve in curves],
            low,
            "calibrated",
        ),
        *(exact(f"{words} (at least .93)", values, low, "calibrated") for words, values in pairs),
        worst(
            "with three or more equal groups, the bootstrap of the largest gap contains it (at"
            " most .01)",
            fair,
            "bootstrap",
            0.01,
            -1,
        ),
    ]


def _table(rows: Sequence[Mapping[str, Any]], names: Sequence[str], words: str) -> ex.Table:
    """Return a table with one case per row, its shares of tables, and their number."""
    known = [name for name in names if any(name in row for row in rows)]
    return ex.Table(
        ["case", *known, "replicates"],
        [
            [
                row["case"].words,
                *(_text(row.get(name, math.nan)) for name in known),
                f"{row['replicates']:,}",
            ]
            for row in rows
        ],
        words,
    )


def _text(share: float) -> str:
    return "" if math.isnan(share) else f"{share:.3f}"


def _tables(data: PyTree) -> list[ex.Table]:
    shares = "Share of tables in which the 95% interval contains the true value"
    schemes = dict.fromkeys(name for row in data["schemes"] for name in row)
    listed = [name for name in schemes if name not in ("case", "replicates", "scores")]
    return [
        _table(
            data["table"],
            [*TABLE, "bootstrap", "bias"],
            f"{shares}; the lowest of the groups."
            " Bias: mean of the largest gap minus the true one.",
        ),
        _table(data["rates"], [*TABLE, "bootstrap"], "The same for rates near 0 and 1."),
        _table(
            data["rare"],
            [*TABLE, "bootstrap"],
            "The same where a group expects fewer than 5"
            " decisions of one kind, which the limits tell. Only the rates are claimed.",
        ),
        _table(
            data["clusters"],
            [*TABLE, "alone"],
            "The same for decisions that persons or"
            " clusters share, and for weights. Alone: rates, if every row counts as"
            " independent.",
        ),
        _table(data["adjusted"], list(ADJUSTED), f"{shares}, for adjusted gaps."),
        _table(
            [*data["series"], *data["untold"]],
            list(SERIES),
            f"{shares}, over time. In the last"
            " case no column tells persons apart, which the limits tell.",
        ),
        _table(data["schemes"], listed, f"{shares}, for schemes and balances."),
        _table(data["waits"], list(WAITS), f"{shares}, for waits."),
        _table(data["scores"], list(SCORES), f"{shares}, for scores."),
        _table(
            [*data["even"], *data["heavy"]],
            [*RECEIVED, "told"],
            f"{shares}, for the"
            " concentration. Told: share of tables whose limits say that intervals are too"
            " narrow; where that is most of them, nothing is claimed.",
        ),
        _exact_rates(data["exact rates"]),
        _exact_pairs(data["exact pairs"]),
    ]


def _exact_rates(found: Mapping[int, np.ndarray]) -> ex.Table:
    return ex.Table(
        ["decisions", "mean", "lowest", "true rates below .93"],
        [
            [f"{n}", f"{c.mean():.3f}", f"{c.min():.3f}", f"{np.sum(c < COVERAGE[0])} of {c.size}"]
            for n, c in found.items()
        ],
        "Exact coverage of the interval of a rate, over true rates of .005 to .995.",
    )


def _exact_pairs(found: Mapping[tuple[int, int], Mapping[str, np.ndarray]]) -> ex.Table:
    rows = []
    for sizes, covered in found.items():
        where = enough(sizes)
        for name, values in covered.items():
            lowest = np.unravel_index(values.argmin(), values.shape)
            ends = " and ".join(f"{GRID[place]:g}" for place in lowest)
            rows.append(
                [
                    f"{sizes[0]} and {sizes[1]}",
                    name,
                    f"{values.mean():.3f}",
                    f"{values[where].min():.3f}",
                    f"{values.min():.3f}",
                    ends,
                ]
            )
    head = ["decisions", "of", "mean", f"lowest, {ENOUGH:g} of each kind", "lowest", "at rates"]
    words = f"Exact coverage for two groups, over {GRID.size**2} pairs of rates of .005 to .995."
    return ex.Table(head, rows, words)
