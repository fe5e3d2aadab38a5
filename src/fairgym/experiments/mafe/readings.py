"""Interpretations of what MAFE leaves open, and the policies learned under each of them.

Each table answers a question: what relief costs the bank and how much it can pay out, which queue
an objective includes, how public money reaches people, and whether a failed episode may win. The
text allows more than one answer. The reported policies indicate which one the authors used.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from jaxtyping import PyTree
from matplotlib.figure import Figure

from fairgym.experiments import _parts as ex
from fairgym.experiments.mafe import _columns, _readings, _relief
from fairgym.experiments.mafe._readings import (
    CAPS,
    CHOSEN_CAP,
    CHOSEN_FORGIVEN,
    COLUMNS,
    FORGIVEN,
    LAST,
    QUEUES,
    WITH_CAPS,
    Interpretation,
    lending_words,
)
from fairgym.experiments.mafe.fig10 import CHECKS, RELIEF
from fairgym.results.labels import capital, title

Measure = Callable[[Sequence[ex.Run], ex.Ends], ex.Columns]


@dataclasses.dataclass(frozen=True)
class Question:
    """Question that the paper leaves open.

    Attributes:
        title: The question.
        interpretations: Function from the number of people to interpretations by label.
        measure: Function from the runs of an interpretation and their held-out episodes to the
            columns of the table.
        caption: Meaning of the columns.
        with_checks: Whether to count the checks of figure 10 that hold.
    """

    title: str
    interpretations: Callable[[int], Mapping[str, Interpretation]]
    measure: Measure
    caption: str
    with_checks: bool = False


# ---------------------------------------------------------------- questions


QUESTIONS = {
    "forgiveness": Question(
        "What does relief cost, and how much can the bank pay out?",
        _readings.forgiveness,
        _columns.bank,
        "All terms have equal weight. Relief is that of the last tenth of the epochs; profit is"
        " normalised.",
        with_checks=True,
    ),
    "rewards": Question(
        "What does relief cost, under other objectives?",
        _readings.rewards,
        _columns.bank,
        "As above, with the other objectives of figure 7.",
    ),
    "borrowers": Question(
        "Does everybody pay the amount predicted from their features?",
        _readings.borrowers,
        _columns.bank,
        "As above; the objective is all terms with equal weight, or direct rewards alone. With"
        " three quarters of their own residuals, borrowers default as in the data.",
    ),
    "queues": Question(
        "Which queue does the objective include?",
        _readings.queues,
        _columns.waits,
        COLUMNS,
    ),
    "schooling": Question(
        "Which terms does education weight, and what is a salary?",
        _readings.schooling,
        _columns.school,
        "Shares of the planner and the university are those of the last tenth of the epochs; the"
        " university's share for salaries is the mean of each quarter of the epochs.",
        with_checks=True,
    ),
    "students": Question(
        "Does everybody have the baseline GPA predicted from their features?",
        _readings.students,
        _columns.school,
        "As above, with the terms of appendix H. People are resampled until the groups' baselines"
        " differ by 0.5 standard deviations; with a share of 0 and 0.25 they differ by more without"
        " resampling (3.1 and 1.3).",
        with_checks=True,
    ),
    "care": Question(
        "How does a planner's money improve the health of a region?",
        _readings.care,
        _columns.country,
        "All terms have equal weight: those of appendix G or, in the last row, of table 1, which"
        " leaves incidence out. A cycle's public health money works in full in each of its six"
        " months, or a sixth of it does. Q is the improvement of features without money, printed as"
        " 0.29 where equation (17) takes 0.4. Beds at the start are equal for all regions, or"
        " proportional to people. Actions are those of the last tenth of the epochs, as shares.",
        with_checks=True,
    ),
    "failures": Question(
        "May an episode that fails win?",
        _readings.failures,
        _columns.outcome,
        "Direct rewards and disparities have equal weight; terms are normalised and summed by"
        " kind.",
    ),
}


# ---------------------------------------------------------------- the experiment


HELD = "figure 10"  # column with the number of its checks that hold
SEARCHED = "grid search"  # key of the numbers of `_relief.search`
CHOSEN = lending_words(CHOSEN_FORGIVEN)
PUBLISHED, SEEN = QUEUES
GROUPS = ("advantaged", "disadvantaged")


@ex.experiments.register("mafe-readings")
class MafeReadings(ex.ComparisonFigure):
    """Interpretations of what is left open, and what F-MACEM learns under each of them."""

    title = "Beyond MAFE: interpretations of what the paper leaves open"
    source = "MAFE, figures 7 and 10, appendices D, F, G and H"
    claim = (
        'in loan relief is "neither too high to protect profits, nor too low", nearly all'
        " applicants are admitted with all terms weighted equally, and rates plateau lower with"
        " direct rewards alone; the paper does not say how much relief is forgiven, how much a bank"
        " pays out per month, whose waits count, and how a failed episode is scored"
    )
    caption = ex.CAPTION
    sizes = ex.STUDIES
    claims = (
        ex.Claim(
            "loan: direct rewards alone admit fewer than all terms",
            ex.At(CHOSEN, "admitted", "forgiveness"),
            ex.At(f"{CHOSEN_FORGIVEN:g} forgiven, direct", "admitted", "rewards"),
        ),
        ex.Claim(
            "loan: an objective with the queue's disparity leaves less of it than one with"
            " published waits (excess over the null, months)",
            ex.At(PUBLISHED, "queue disparity", "queues", excess=True),
            ex.At(SEEN, "queue disparity", "queues", excess=True),
        ),
        *(
            ex.Claim(
                f"{name}: more episodes survive if failed ones rank last",
                *(ex.At(f"{name}, {words}", "survived", "failures") for words in LAST),
                kind="calibrated",  # banks had been seen to fail otherwise
            )
            for name in ("loan", "education")
        ),
    )

    def grid(self, size: ex.Size) -> ex.Grid:
        """Return every interpretation of every question."""
        assert size.people is not None
        return {
            f"{name}/{words}": one.config(size)
            for name, question in QUESTIONS.items()
            for words, one in question.interpretations(size.people).items()
        }

    def numbers(self, place: str, runs: Sequence[ex.Run], ends: ex.Ends) -> PyTree:
        """Return "columns" by name and "checks", those of figure 10, of an interpretation."""
        question, checks = QUESTIONS[place], CHECKS[runs[0].config.environment]
        return {
            "columns": question.measure(runs, ends),
            "checks": checks(runs, ends) if question.with_checks else [],
        }

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Return question -> interpretation -> `numbers`, and the grid search."""
        data = super().measure(size, runs, seeds)
        return data | {SEARCHED: _relief.search(range(2 * size.seeds))}

    def checks(self, data: PyTree) -> list[ex.Check]:
        """Check the published behaviour under the chosen interpretations, and effects of others.

        Loan's numbers were chosen by figure 10's checks and by the size of its relief.
        """
        lent = data["forgiveness"]
        chosen_by = [
            dataclasses.replace(check, kind="calibrated") if check.kind == "predicted" else check
            for check in lent[CHOSEN]["checks"]
        ]
        columns = {
            name: {words: one["columns"] for words, one in found.items()}
            for name, found in data.items()
            if name != SEARCHED
        }
        relief = ex.Check.higher(
            "loan: deferred relief is given more freely than relief of which"
            f" {CHOSEN_FORGIVEN:g} is forgiven",
            _given(lent[lending_words(0.0)]),
            _given(lent[CHOSEN]),
            "calibrated",
        )
        signed = (
            np.subtract(
                *(columns["queues"][words][f"time in the queue, {group}"] for group in GROUPS)
            )
            for words in QUEUES
        )
        queue = ex.Check.above(
            "loan: the same for the signed gap of months in the queue", ex.narrowing(*signed)
        )
        return [*chosen_by, relief, *super().checks(columns), queue]

    def tables(self, data: PyTree) -> list[ex.Table]:
        """Return one table per question, with the grid search after the cost of relief."""
        found = [_table(name, data[name]) for name in QUESTIONS]
        return [found[0], _relief.table(data[SEARCHED]), *found[1:]]

    def figures(self, data: PyTree) -> dict[str, Figure]:
        """Return the effect of forgiveness in loan."""
        return {"loan": _plot(data["forgiveness"])}


def _given(found: Mapping[str, PyTree]) -> np.ndarray:
    """Return the mean relief of the groups."""
    return np.mean([found["columns"][title(name)] for name in RELIEF], axis=0)


def _table(name: str, found: Mapping[str, PyTree]) -> ex.Table:
    """Return a table with one interpretation per row."""
    question, (first, *_) = QUESTIONS[name], found.values()
    rows = [
        [
            words,
            *(ex.cell(column, values) for column, values in one["columns"].items()),
            *(
                [f"{sum(c.outcome == 'holds' for c in one['checks'])} of {len(one['checks'])}"]
                if question.with_checks
                else []
            ),
        ]
        for words, one in found.items()
    ]
    caption = f"**{question.title}** {question.caption}"
    if any(column.endswith(ex.NULL_MEAN) for column in first["columns"]):
        caption += f" {ex.NULL_NOTE}"
    if question.with_checks:
        caption += f" “{HELD}”: how many of that figure's checks hold."
    return ex.Table(
        ["interpretation", *first["columns"], *([HELD] if question.with_checks else [])],
        rows,
        caption,
    )


def _plot(lent: Mapping[str, PyTree]) -> Figure:
    """Plot relief, default and profit over the forgiven share, one line per payout cap."""
    shown: dict[str, Callable[[PyTree], np.ndarray]] = {
        "relief": _given,
        "share of loans that default": lambda one: one["columns"]["default"],
        "normalised profit": lambda one: one["columns"]["profit"],
    }

    def over_shares(measure: Callable[[PyTree], np.ndarray], cap: float) -> PyTree:
        shares = FORGIVEN if cap == CHOSEN_CAP else WITH_CAPS
        values = [measure(lent[lending_words(share, cap)]) for share in shares]
        return shares, np.transpose(values)

    panels = [
        ex.Curves(
            {
                f"{cap:.1%} of the people paid out per month": over_shares(measure, cap)
                for cap in CAPS
            },
            "forgiven share of the relief",
            title=capital(words),
        )
        for words, measure in shown.items()
    ]
    return ex.curves_figure(panels, len(panels), 3.0)
