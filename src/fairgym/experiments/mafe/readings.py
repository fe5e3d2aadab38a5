"""Readings of what MAFE leaves open, beside what each of them has agents learn.

A table for each question: what relief costs the bank and how much it can pay out, which queue an
objective sees, how public money reaches people, and whether an episode that fails may win. The
text allows more than one answer, and which one its authors had in mind shows in what they report
of the learned policies.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from jaxtyping import PyTree
from matplotlib.figure import Figure

from fairgym.algorithms import log_keys
from fairgym.experiments import _parts as ex
from fairgym.experiments.mafe import _readings
from fairgym.experiments.mafe._readings import (
    CAPS,
    CHOSEN_CAP,
    CHOSEN_FORGIVEN,
    COLUMNS,
    FORGIVEN,
    LAST,
    QUEUES,
    WITH_CAPS,
    Reading,
    lending_words,
    mean,
    queue,
)
from fairgym.experiments.mafe.fig10 import CHECKS, RELIEF, action_ends
from fairgym.fairness import Objective
from fairgym.results.labels import capital, title

Measure = Callable[[Sequence[ex.Run], ex.Ends], ex.Columns]


@dataclasses.dataclass(frozen=True)
class Question:
    """A question that the paper leaves open.

    Attributes:
        title: the question in a few words.
        readings: readings by their words, for a number of people.
        measure: columns of the table from the runs of a reading and their held-out episodes.
        caption: meaning of the columns.
        judged: True if its readings are those of figure 10, whose checks are counted.
    """

    title: str
    readings: Callable[[int], Mapping[str, Reading]]
    measure: Measure
    caption: str
    judged: bool = False


# ---------------------------------------------------------------- measures


def known_means(episodes: ex.Ends, name: str) -> np.ndarray:
    """Mean of a metric over the episodes in which it is defined, by seed; 0 without any."""
    return np.array([mean(one.metrics[name][one.defined[name]]) for one in episodes])


def outcome(runs: Sequence[ex.Run], episodes: ex.Ends) -> ex.Columns:
    """Survival and sums of normalised terms, disparities also by luck alone."""
    env = runs[0].env
    sums = {f"{kind} terms": ex.score(episodes, ex.category(env, kind)) for kind in ex.KINDS}
    return {
        "survived": ex.survival(episodes),
        **sums,
        f"fair terms{ex.BY_LUCK}": ex.by_luck(episodes, env),
    }


def bank(runs: Sequence[ex.Run], episodes: ex.Ends) -> ex.Columns:
    """Survival, normalised profit, admission, relief and default."""
    last = {name: action_ends(runs, "debt_management", name)[1] for name in RELIEF}
    return {
        "survived": ex.survival(episodes),
        "profit": ex.score(episodes, Objective.direct(runs[0].env)),
        "admitted": known_means(episodes, "admission_rate"),
        **{title(name): values for name, values in last.items()},
        "default": -known_means(episodes, "default_rate"),
    }


def waits(runs: Sequence[ex.Run], episodes: ex.Ends) -> ex.Columns:
    """Waits as published and as those wait who are in the queue, and profit."""
    env = runs[0].env
    return queue(env, episodes) | {"profit": ex.score(episodes, Objective.direct(env))}


def school(runs: Sequence[ex.Run], episodes: ex.Ends) -> ex.Columns:
    """The planner's shares, the university's, and the share of salaries over training."""
    planner = ("tertiary_education", "university", "diversity_incentives")
    salaries = ex.logged_curves(runs, log_keys.action("university", "salaries"))
    quarters = [quarter.mean(axis=1) for quarter in np.array_split(salaries, 4, axis=1)]
    return {
        "survived": ex.survival(episodes),
        **{title(kind): action_ends(runs, "planner", kind)[1] for kind in planner},
        **{f"salaries, quarter {n}": values for n, values in enumerate(quarters, start=1)},
        **{
            title(kind): action_ends(runs, "university", kind)[1]
            for kind in ("scholarships", "mentorship")
        },
        "graduation": known_means(episodes, "graduation_rate"),
    }


def country(runs: Sequence[ex.Run], episodes: ex.Ends) -> ex.Columns:
    """Premium, the planner's shares, coverage, incidence and mortality."""
    kinds = ("public_health", "insurance_subsidies", "hospital_infrastructure", "rollover")
    return {
        "premium": action_ends(runs, "insurer", "premium")[1],
        **{title(kind): action_ends(runs, "planner", kind)[1] for kind in kinds},
        "insured": known_means(episodes, "insured_rate"),
        "incidence": -known_means(episodes, "incidence_rate"),
        "mortality": -known_means(episodes, "mortality_rate"),
    }


# ---------------------------------------------------------------- questions


QUESTIONS = {
    "forgiveness": Question(
        "What does relief cost, and how much can the bank pay out?",
        _readings.forgiveness,
        bank,
        "All terms weigh alike. Relief is that of the last tenth of the epochs; profit is"
        " normalised.",
        judged=True,
    ),
    "rewards": Question(
        "What does relief cost, under other objectives?",
        _readings.rewards,
        bank,
        "As above, with the other objectives of figure 7.",
    ),
    "borrowers": Question(
        "Does everybody pay what is usual for their features?",
        _readings.borrowers,
        bank,
        "As above; the objective is all terms alike, or direct rewards alone. With three quarters"
        " of their own residuals borrowers default as in the data.",
    ),
    "queues": Question(
        "Which queue does the objective see?",
        _readings.queues,
        waits,
        COLUMNS,
    ),
    "schooling": Question(
        "Which terms does education weigh, and what is a salary?",
        _readings.schooling,
        school,
        "The planner's shares and the university's, which are those of the last tenth of the"
        " epochs; the university's share for salaries is the mean of each quarter of the epochs.",
        judged=True,
    ),
    "students": Question(
        "Is everybody's baseline GPA what is usual for their features?",
        _readings.students,
        school,
        "As above, with the terms of appendix H. People are resampled until the groups' baselines"
        " are 0.5 standard deviations apart; with a share of 0 and 0.25 they are further apart"
        " as they are (3.1 and 1.3).",
        judged=True,
    ),
    "care": Question(
        "How does a planner's money reach the health of a region?",
        _readings.care,
        country,
        "All terms weigh alike: those of appendix G or, in the last line, of table 1, which leaves"
        " incidence out. A cycle's public health money works in full in each of its six months, or"
        " a sixth of it does; Q is what features improve by without money, printed as 0.29 where"
        " equation (17) takes 0.4; as many beds in every region at the start, or as many for each"
        " of its people. Actions are those of the last tenth of the epochs, as shares.",
        judged=True,
    ),
    "failures": Question(
        "May an episode that fails win?",
        _readings.failures,
        outcome,
        "Direct rewards and disparities weigh alike; terms are normalised and summed by kind.",
    ),
}


# ---------------------------------------------------------------- the experiment


HELD = "figure 10"  # its checks that hold
CHOSEN = lending_words(CHOSEN_FORGIVEN)
PUBLISHED, SEEN = QUEUES


@ex.experiments.register("mafe-readings")
class MafeReadings(ex.ComparisonFigure):
    """Readings of what is left open, and what F-MACEM learns under each of them."""

    title = "Readings of what the paper leaves open"
    source = "MAFE, figures 7 and 10, appendices D, F, G and H"
    claim = (
        'in loan relief is "neither too high to protect profits, nor too low", nearly all'
        " applicants are admitted when all terms weigh alike, and rates plateau lower with direct"
        " rewards alone; how much of the relief is forgiven, how much a bank pays out in a month,"
        " whose wait counts and what a failed episode is worth is not said"
    )
    caption = ex.CAPTION
    claims = (
        ex.Claim(
            "loan: direct rewards alone admit fewer than all terms (by)",
            ex.At(CHOSEN, "admitted", "forgiveness"),
            ex.At(f"{CHOSEN_FORGIVEN:g} forgiven, direct", "admitted", "rewards"),
        ),
        ex.Claim(
            "loan: an objective that sees the queue leaves less disparity beyond luck in it"
            " than the published wait (months, by)",
            ex.At(PUBLISHED, "queue disparity", "queues", beyond_luck=True),
            ex.At(SEEN, "queue disparity", "queues", beyond_luck=True),
        ),
        *(
            ex.Claim(
                f"{name}: more episodes survive if failed ones rank last (by)",
                *(ex.At(f"{name}, {words}", "survived", "failures") for words in LAST),
                kind="calibrated",  # banks were seen to fail otherwise
            )
            for name in ("loan", "education")
        ),
    )

    def grid(self, size: ex.Size) -> ex.Grid:
        """Every reading of every question."""
        assert size.people is not None
        return {
            f"{name}/{words}": reading.config(size)
            for name, question in QUESTIONS.items()
            for words, reading in question.readings(size.people).items()
        }

    def numbers(self, place: str, runs: Sequence[ex.Run], ends: ex.Ends) -> PyTree:
        """A reading's "columns" by name, and "checks": those of figure 10."""
        question, checks = QUESTIONS[place], CHECKS[runs[0].config.environment]
        return {
            "columns": question.measure(runs, ends),
            "checks": checks(runs, ends) if question.judged else [],
        }

    def checks(self, data: PyTree) -> list[ex.Check]:
        """Published behaviour under the chosen readings, and what the others change.

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
        }
        relief = ex.Check.higher(
            "loan: relief that is put off is given more freely than relief of which"
            f" {CHOSEN_FORGIVEN:g} is forgiven (by)",
            _relief(lent[lending_words(0.0)]),
            _relief(lent[CHOSEN]),
            "calibrated",
        )
        return [*chosen_by, relief, *super().checks(columns)]

    def tables(self, data: PyTree) -> list[ex.Table]:
        """A table for each question."""
        return [_table(name, found) for name, found in data.items()]

    def figures(self, data: PyTree) -> dict[str, Figure]:
        """What forgiveness does in loan."""
        return {"loan": _plot(data["forgiveness"])}


def _relief(found: Mapping[str, PyTree]) -> np.ndarray:
    """Mean relief of the groups."""
    return np.mean([found["columns"][title(name)] for name in RELIEF], axis=0)


def _table(name: str, found: Mapping[str, PyTree]) -> ex.Table:
    """Readings in rows."""
    question, (first, *_) = QUESTIONS[name], found.values()
    rows = [
        [
            words,
            *(ex.cell(column, values) for column, values in one["columns"].items()),
            *(
                [f"{sum(c.outcome == 'holds' for c in one['checks'])} of {len(one['checks'])}"]
                if question.judged
                else []
            ),
        ]
        for words, one in found.items()
    ]
    caption = f"**{question.title}** {question.caption}"
    if any(column.endswith(ex.BY_LUCK) for column in first["columns"]):
        caption += f" {ex.LUCK}"
    if question.judged:
        caption += f" “{HELD}”: how many of that figure's checks hold."
    return ex.Table(
        ["reading", *first["columns"], *([HELD] if question.judged else [])], rows, caption
    )


def _plot(lent: Mapping[str, PyTree]) -> Figure:
    """Relief, default and profit over the forgiven share, a line for each payout cap."""
    shown: dict[str, Callable[[PyTree], np.ndarray]] = {
        "relief": _relief,
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
                f"{cap:.1%} of the people paid out a month": over_shares(measure, cap)
                for cap in CAPS
            },
            "share of the relief that is forgiven",
            title=capital(words),
        )
        for words, measure in shown.items()
    ]
    return ex.curves_figure(panels, len(panels), 3.0)
