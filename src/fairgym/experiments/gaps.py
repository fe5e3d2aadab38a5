"""Coverage, size and power of signed gaps, beside a bootstrap of the largest gap."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from jaxtyping import PyTree

from fairgym.experiments import _gap_study as study
from fairgym.experiments import _parts as ex
from fairgym.experiments._coverage import exact, rows_of, worst
from fairgym.experiments._gap_figure import plot
from fairgym.experiments._gap_study import SIZES, Case

COVERAGE = (0.93, 1.0)
SIZE = (0.03, 0.07)
POWER = (0.6, 1.0)
RARE = 0.005  # 5 people in 16 episodes of 60
# Rate -> numbers of seeds. A rate near 1 is a rate near 0 of the complement.
RATES = {RARE: (1,), 0.02: (1, 3, 5), 0.5: (1, 2, 5), 0.98: (1, 4)}
EACH, MIXED, SINGLE = SIZES
CASES = tuple(
    Case(groups, sizes, rate, seeds)
    for rate, several in RATES.items()
    for sizes in (EACH, MIXED)
    for groups in (2, 3, 4, 5)
    for seeds in several
)
POWER_CASES = tuple(
    Case(groups, sizes, rate, gap=gap)
    for groups, rates in ((2, (0.02, 0.5)), (3, (0.5,)), (5, (0.5,)))
    for rate in rates
    for sizes in (EACH, MIXED)
    for gap in (-1.0, -0.6, 0.6, 1.0)
)
UNEVEN_CASES = tuple(Case(3, sizes, rate) for rate in (0.02, 0.5) for sizes in (EACH, MIXED))
LARGEST_CASES = tuple(
    Case(groups, EACH, 0.5, gap=gap) for groups in (2, 3, 5) for gap in (0.0, 0.3, 0.6, 1.0, 2.0)
)
SHARE_CASES = tuple(
    Case(1, SINGLE, rate, seeds) for rate in (0.02, 0.1, 0.5) for seeds in (1, 3, 5)
)
SHARE_EPISODES = (16, 32, 64)
# Study -> cases, function that evaluates replicates, limits beyond which more replicates decide.
STUDIES: dict[str, tuple[Sequence[Case], Callable[..., Any], Mapping[str, Any]]] = {
    "coverage": (
        CASES,
        study.covered,
        dict.fromkeys(("gaps", "differences", "largest"), COVERAGE),
    ),
    "size": (CASES, study.rejected, {"test": SIZE}),
    "power": (POWER_CASES, study.rejected, {"test": POWER}),
    "uneven": (UNEVEN_CASES, functools.partial(study.rejected, null=False), {}),
    "bootstrap": (LARGEST_CASES, study.largest_covered, {}),
    "shares": (SHARE_CASES, study.shares_covered, dict.fromkeys(("difference", "half"), COVERAGE)),
}


@ex.experiments.register("gaps")
class Gaps(ex.Experiment):
    """Statistics of signed gaps in simulated episodes with known true gaps."""

    title = "Gap statistics: coverage, size and power, and why not a bootstrap"
    source = "this project's statistics of gaps between groups"
    claim = (
        "95% intervals of a gap contain the true gap in 93 to 100% of the cases; the test finds a"
        " gap where there is none in 3 to 7%, and a gap of 0.6 standard deviations in at least 60%;"
        " the usual bootstrap of the largest gap never contains a true gap of 0"
    )
    criterion = (
        "Each check is about its worst case, or about all cases. It holds if the estimate is"
        " within the limits. The interval is the exact one of the replicates. A case beyond a"
        " limit is decided by five times as many new replicates."
    )
    sizes: ClassVar = {
        "paper": ex.Size(replicates=1_000, seeds=0),
        "quick": ex.Size(replicates=200, seeds=0),
    }

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Return study -> rows with the case, shares of replicates by name, and their number."""
        assert size.replicates is not None
        rng, many = np.random.default_rng(0), size.replicates
        return {
            **{
                name: rows_of(cases, functools.partial(found, rng), many, limits)
                for name, (cases, found, limits) in STUDIES.items()
            },
            "exact": {episodes: study.share_coverage(episodes) for episodes in SHARE_EPISODES},
        }

    def conclude(self, data: PyTree) -> ex.Outcome:
        """Return checks of the worst cases, and tables of all cases."""
        return ex.Outcome(
            figures={"": plot(data, COVERAGE, SIZE, POWER)},
            caption="Each point is one case of the tables; grey bands are the limits. Top left:"
            " share of replicates in which the simultaneous 95% intervals of all pairs contain all"
            " true gaps. Top right: share in which the test rejects a true null. Bottom left:"
            " share in which one group's gap is found in 16 episodes, by the test and by an"
            " interval that excludes 0; squares are Student's t test of normal episodes. Bottom"
            " right: share in which the 95% interval of the largest gap contains the true gap, for"
            " two, three and five groups of equal size, by simultaneous intervals (solid) and by"
            " the percentile bootstrap (dotted).",
            tables=_tables(data),
            checks=_checks(data),
        )


def _checks(data: PyTree) -> list[ex.Check]:
    usual = [row for row in data["size"] if row["case"].rate != RARE]
    rare = [row for row in data["size"] if row["case"].rate == RARE]
    small = [row for row in data["power"] if abs(row["case"].gap) < 1.0]
    zero = [row for row in data["bootstrap"] if row["case"].gap == 0.0]
    curves = data["exact"].values()
    return [
        *(
            worst(f"{words} (at least .93)", data["coverage"], name, COVERAGE[0], 1)
            for name, words in (
                ("gaps", "simultaneous intervals of all gaps contain the true gaps"),
                ("differences", "so do intervals of the differences between two policies' gaps"),
                ("largest", "the interval of the largest gap contains it"),
            )
        ),
        worst("the test rejects a true null (at most .07)", data["size"], "test", SIZE[1], -1),
        worst("the test rejects a true null (at least .03)", usual, "test", SIZE[0], 1),
        worst(f"the same at a rate of {RARE:g} (at least .03)", rare, "test", SIZE[0], 1),
        worst("the test finds a gap of 0.6 sd (at least .6)", small, "test", POWER[0], 1),
        worst(
            "with a true gap of 0, the bootstrap of the largest gap contains it (at most .01)",
            zero,
            "bootstrap",
            0.01,
            -1,
        ),
        *(
            worst(
                f"intervals of {words} contain the true ones (at least .93)",
                data["shares"],
                name,
                0.93,
                1,
            )
            for name, words in (
                ("difference", "differences of shares"),
                ("half", "differences of shares from a share of .5"),
            )
        ),
        exact(
            "coverage of a share's interval, mean over true shares of .01 to .99 (at least .93)",
            [float(np.mean(curve)) for curve in curves],
            COVERAGE[0],
        ),
        exact(
            "lowest coverage of a share's interval over the same true shares (at least .93)",
            [float(np.min(curve)) for curve in curves],
            COVERAGE[0],
        ),
    ]


# Heading of a column -> function from a row to its text.
CELLS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "groups": lambda row: f"{row['case'].groups}",
    "people in a group": lambda row: row["case"].sizes,
    "rate": lambda row: f"{row['case'].rate:g}",
    "share": lambda row: f"{row['case'].rate:g}",
    "seeds": lambda row: f"{row['case'].seeds}",
    # signed where gaps have both directions
    "gap, sd": lambda row: f"{row['case'].gap:+g}" if "interval" in row else f"{row['case'].gap:g}",
    "replicates": lambda row: f"{row['replicates']:,}",
}
GROUPS = ("groups", "people in a group", "rate")
REJECTED = {"by the test": "test", "by an interval": "interval"}


def _table(
    rows: Sequence[Mapping[str, Any]], of_case: Sequence[str], shares: Mapping[str, str], words: str
) -> ex.Table:
    """Return a table with one case per row, its shares of replicates, and their number.

    Args:
        rows: The cases.
        of_case: Headings of the first columns.
        shares: Heading of a further column -> name of a share.
        words: Caption.
    """
    cells = CELLS | {
        head: lambda row, name=name: f"{row[name]:.3f}" for head, name in shares.items()
    }
    head = [*of_case, *shares, "replicates"]
    return ex.Table(head, [[cells[column](row) for column in head] for row in rows], words)


def _tables(data: PyTree) -> list[ex.Table]:
    held = {"gaps": "gaps", "differences": "differences", "largest gap": "largest"}
    coverage = _table(data["coverage"], [*GROUPS, "seeds"], held, "")
    size = _table(data["size"], (), {"test": "test"}, "")
    return [
        ex.Table(
            [*coverage.head, "test", "replicates "],
            [[*one, *other] for one, other in zip(coverage.rows, size.rows, strict=True)],
            "Share of replicates in which all 95% intervals contain the true value, and in which"
            f" the test rejects a true null; {study.EPISODES} episodes.",
        ),
        _table(
            data["power"],
            [*GROUPS, "gap, sd"],
            REJECTED,
            "Share of replicates in which one group's gap is found. The unit of the gap is the"
            " standard deviation of its difference to the second group in an episode with permuted"
            " groups.",
        ),
        _table(
            data["uneven"],
            GROUPS,
            REJECTED,
            "The same where no gap is systematic, but each group's rate varies independently by up"
            " to a fifth between episodes. The null of the test is then false, and the test finds"
            " it; the intervals allow for it.",
        ),
        _table(
            data["bootstrap"],
            ["groups", "gap, sd"],
            {"bootstrap": "bootstrap", "simultaneous intervals": "largest"},
            "Share of replicates in which a 95% interval of the largest gap contains it; 60 people"
            " in a group, rate .5.",
        ),
        _table(
            data["shares"],
            ["share", "seeds"],
            {"share covered": "share", "difference": "difference", "difference from .5": "half"},
            "Share of replicates in which 95% intervals of zeros and ones contain the true value.",
        ),
        ex.Table(
            ["episodes", "mean", "lowest", "true shares below .93"],
            [
                [f"{n}", f"{np.mean(c):.3f}", f"{np.min(c):.3f}", f"{np.sum(c < 0.93)} of {c.size}"]
                for n, c in data["exact"].items()
            ],
            "Exact coverage of the interval of one seed's share, over true shares of .01 to .99.",
        ),
    ]
