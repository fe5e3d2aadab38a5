"""Readings of what MAFE leaves open, beside what each of them has agents learn.

A table for each question: what relief costs the bank and how much it can pay out, which queue an
objective sees, how public money reaches people, and whether an episode that fails may win. The
text allows more than one answer, and which one its authors had in mind shows in what they report
of the learned policies.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from fairgym import experiments as ex
from fairgym.algorithms.f_macem import FMacem
from fairgym.core import log_keys, make
from fairgym.data import load_population
from fairgym.data.bias import strength_for
from fairgym.data.fitting import score_values
from fairgym.environments.education.metrics import TABLE_1
from fairgym.environments.health.metrics import TABLE_1 as TABLE_1_OF_HEALTH
from fairgym.experiments._plots import CAPTION, curve, curve_legend
from fairgym.experiments.mafe._queue import COLUMNS, means, queue
from fairgym.experiments.mafe.fig10 import CHECKS, RELIEF, action_ends
from fairgym.fairness import Objective
from fairgym.report import style
from fairgym.report.words import capital, title
from fairgym.training import RunConfig

FORGIVEN = (0.0, 0.25, 0.5, 0.75, 1.0)  # share of the relief
WITH_CAPS = FORGIVEN[::2]  # with every cap, and under every objective
CAPS = (0.01, 0.015, 0.02)  # payouts a month as a share of the people
CHOSEN_FORGIVEN, CHOSEN_CAP = 0.5, 0.01
TUITIONS = (10_000.0, 20_000.0)  # dollars a semester
RESIDUALS = (0.0, 0.25, 0.5, 0.75, 1.0)  # share that a person carries
OBJECTIVES = ("direct", "direct-fair")
HELD = "figure 10"  # its checks that hold
QUEUES = {"published wait": "wait_disparity", "time in the queue": "queue_disparity"}
LAST = {"failed episodes last": True, "as any other": False}


class Reading(NamedTuple):
    """A reading of an environment and of its learner; empty fields are the defaults.

    What is the default anyhow is left out of its run, so that figures with the same run share it.

    Attributes:
        environment: its name.
        objective: as of a run.
        params: parameters of the environment.
        arguments: arguments of the environment, beside the population.
        algorithm: hyperparameters of F-MACEM.
    """

    environment: str
    objective: str | dict[str, float] = "uniform"
    params: Mapping[str, Any] = {}
    arguments: Mapping[str, Any] = {}
    algorithm: Mapping[str, Any] = {}

    def config(self, size: ex.Size) -> RunConfig:
        """Run of this size."""
        env = make(self.environment, population=size.people)

        def other(given: Mapping[str, Any], usual: Any) -> dict[str, Any]:
            return {name: value for name, value in given.items() if getattr(usual, name) != value}

        return ex.run_config(
            self.environment,
            size,
            self.objective,
            environment_args={"population": size.people, **other(self.arguments, env)},
            params=other(self.params, env.default_params),
            algorithm_args=size.training() | other(self.algorithm, FMacem()),
        )


Measure = Callable[[Sequence[Any], Sequence[Any]], dict[str, np.ndarray]]


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


# ---------------------------------------------------------------- readings


def lending(
    people: int,
    forgiven: float = CHOSEN_FORGIVEN,
    cap: float = CHOSEN_CAP,
    residual: float = 0.0,
    **more: Any,
) -> Reading:
    """The loan system with relief of which a share is forgiven, a payout cap, and residuals."""
    return Reading(
        "loan",
        params={"relief_forgiven": forgiven, "residual_share": residual},
        arguments={"disbursement_cap": round(cap * people)},
        **more,
    )


def forgiveness(people: int) -> dict[str, Reading]:
    """Forgiven shares and payout caps, all terms weighed alike."""
    return {
        _words(share, cap): lending(people, share, cap)
        for share in FORGIVEN
        for cap in CAPS
        if cap == CHOSEN_CAP or share in WITH_CAPS
    }


def rewards(people: int) -> dict[str, Reading]:
    """Forgiven shares under the other two objectives of figure 7."""
    return {
        f"{share:g} forgiven, {objective}": lending(people, share, objective=objective)
        for share in WITH_CAPS
        for objective in OBJECTIVES
    }


def borrowers(people: int) -> dict[str, Reading]:
    """Shares of people's own residuals of the payment propensity."""
    return {
        f"{share:g} of the residual, {objective}": lending(
            people, residual=share, objective=objective
        )
        for share in RESIDUALS
        for objective in ("uniform", "direct")
    }


def students(people: int) -> dict[str, Reading]:
    """Shares of people's own residuals of the baseline GPA, groups half a deviation apart."""
    data = load_population("education")
    fitted = score_values(data.scores["gpa"], data.columns)
    own = np.asarray(data.columns["gpa"], np.float64) - fitted
    return {
        f"{share:g} of the residual": Reading(
            "education",
            params={
                "residual_share": share,
                "bias_strength": round(
                    strength_for(fitted + share * own, data.columns["group"]), 4
                ),
            },
        )
        for share in RESIDUALS
    }


def queues(people: int) -> dict[str, Reading]:
    """All terms, the disparity of waits as published or with all who are in the queue."""
    terms = ("profit", "admission_rate", "default_rate", "admission_disparity", "default_disparity")
    published, seen = QUEUES
    return {
        published: lending(people),
        seen: lending(people, objective=dict.fromkeys((*terms, QUEUES[seen]), 1.0)),
    }


def failures(people: int) -> dict[str, Reading]:
    """Episodes that fail ranked below all others, or by their score."""
    return {
        f"{name}, {words}": Reading(
            name,
            "direct-fair",
            algorithm={"failed_last": last},
        )
        for name in ("loan", "health", "education")
        for words, last in LAST.items()
    }


def schooling(people: int) -> dict[str, Reading]:
    """Terms of appendix H or of table 1, salaries with diversity money or without, tuition."""
    terms = {"appendix H": "uniform", "table 1": dict.fromkeys(TABLE_1, 1.0)}
    salaries = {"with diversity money": 1.0, "without": 0.0}
    return {
        f"{source}, salaries {words}, tuition {tuition:,.0f}": Reading(
            "education",
            objective,
            params={"supplement_in_salary": share, "tuition": tuition},
        )
        for source, objective in terms.items()
        for words, share in salaries.items()
        for tuition in TUITIONS
    }


def care(people: int) -> dict[str, Reading]:
    """Money for public health by cycle or by month, equation (17), beds by region, and terms."""
    by_month, holds = {"public_health_months": 6.0}, {"improve_base": 0.39}
    by_people = {"beds_by_people": 1.0}
    found = {
        words: Reading("health", params={"beds_by_people": 0.0, **params})
        for words, params in {
            "as printed": {},
            "money month by month": by_month,
            "Q = 0.39": holds,
            "beds by people": by_people,
            "Q = 0.39, beds by people": holds | by_people,
            "all three": by_month | holds | by_people,
        }.items()
    }
    weights: dict[str, float] = dict.fromkeys(TABLE_1_OF_HEALTH, 1.0)
    return found | {"beds by people, table 1": Reading("health", weights, params=by_people)}


# ---------------------------------------------------------------- measures


def outcome(runs: Sequence[Any], episodes: Sequence[Any]) -> dict[str, np.ndarray]:
    """Survival and sums of normalised terms, disparities also by luck alone."""
    env = runs[0].env
    sums = {
        f"{kind} terms": np.array([ex.score(found, ex.category(env, kind)) for found in episodes])
        for kind in ex.KINDS
    }
    return {
        "survived": np.array([1.0 - np.mean(found.terminated) for found in episodes]),
        **sums,
        f"fair terms{ex.BY_LUCK}": np.array([ex.by_luck(found, env) for found in episodes]),
    }


def bank(runs: Sequence[Any], episodes: Sequence[Any]) -> dict[str, np.ndarray]:
    """Survival, normalised profit, admission, relief and default."""
    env = runs[0].env
    profit = Objective.direct(env)
    last = {name: action_ends(runs, "debt_management", name)[1] for name in RELIEF}
    return {
        "survived": np.array([1.0 - np.mean(found.terminated) for found in episodes]),
        "profit": np.array([ex.score(found, profit) for found in episodes]),
        "admitted": means(episodes, "admission_rate"),
        **{title(name): values for name, values in last.items()},
        "default": -means(episodes, "default_rate"),
    }


def waits(runs: Sequence[Any], episodes: Sequence[Any]) -> dict[str, np.ndarray]:
    """Waits as published and as those wait who are in the queue, and profit."""
    profit = Objective.direct(runs[0].env)
    return queue(episodes) | {"profit": np.array([ex.score(one, profit) for one in episodes])}


def school(runs: Sequence[Any], episodes: Sequence[Any]) -> dict[str, np.ndarray]:
    """The planner's shares, the university's, and the share of salaries over training."""
    planner = ("tertiary_education", "university", "diversity_incentives")
    salaries = [ex.logged(run, log_keys.action("university", "salaries")) for run in runs]
    quarters = np.array([[np.mean(q) for q in np.array_split(one, 4)] for one in salaries]).T
    return {
        "survived": np.array([1.0 - np.mean(found.terminated) for found in episodes]),
        **{title(kind): action_ends(runs, "planner", kind)[1] for kind in planner},
        **{f"salaries, quarter {n}": values for n, values in enumerate(quarters, start=1)},
        **{
            title(kind): action_ends(runs, "university", kind)[1]
            for kind in ("scholarships", "mentorship")
        },
        "graduation": means(episodes, "graduation_rate"),
    }


def country(runs: Sequence[Any], episodes: Sequence[Any]) -> dict[str, np.ndarray]:
    """Premium, the planner's shares, coverage, incidence and mortality."""
    kinds = ("public_health", "insurance_subsidies", "hospital_infrastructure", "rollover")
    return {
        "premium": action_ends(runs, "insurer", "premium")[1],
        **{title(kind): action_ends(runs, "planner", kind)[1] for kind in kinds},
        "insured": means(episodes, "insured_rate"),
        "incidence": -means(episodes, "incidence_rate"),
        "mortality": -means(episodes, "mortality_rate"),
    }


QUESTIONS = {
    "forgiveness": Question(
        "What does relief cost, and how much can the bank pay out?",
        forgiveness,
        bank,
        "All terms weigh alike. Relief is that of the last tenth of the epochs; profit is"
        " normalised.",
        judged=True,
    ),
    "rewards": Question(
        "What does relief cost, under other objectives?",
        rewards,
        bank,
        "As above, with the other objectives of figure 7.",
    ),
    "borrowers": Question(
        "Does everybody pay what is usual for their features?",
        borrowers,
        bank,
        "As above; the objective is all terms alike, or direct rewards alone. With three quarters"
        " of their own residuals borrowers default as in the data.",
    ),
    "queues": Question(
        "Which queue does the objective see?",
        queues,
        waits,
        COLUMNS,
    ),
    "schooling": Question(
        "Which terms does education weigh, and what is a salary?",
        schooling,
        school,
        "The planner's shares and the university's, which are those of the last tenth of the"
        " epochs; the university's share for salaries is the mean of each quarter of the epochs.",
        judged=True,
    ),
    "students": Question(
        "Is everybody's baseline GPA what is usual for their features?",
        students,
        school,
        "As above, with the terms of appendix H. People are resampled until the groups' baselines"
        " are 0.5 standard deviations apart; with a share of 0 and 0.25 they are further apart"
        " as they are (3.1 and 1.3).",
        judged=True,
    ),
    "care": Question(
        "How does a planner's money reach the health of a region?",
        care,
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
        failures,
        outcome,
        "Direct rewards and disparities weigh alike; terms are normalised and summed by kind.",
    ),
}


# ---------------------------------------------------------------- the experiment


@ex.experiments.register("mafe-readings")
class MafeReadings(ex.TrainingExperiment):
    """Readings of what is left open, and what F-MACEM learns under each of them."""

    title = "Readings of what the paper leaves open"
    source = "MAFE, figures 7 and 10, appendices D, F, G and H"
    claim = (
        'in loan relief is "neither too high to protect profits, nor too low", nearly all'
        " applicants are admitted when all terms weigh alike, and rates plateau lower with direct"
        " rewards alone; how much of the relief is forgiven, how much a bank pays out in a month,"
        " whose wait counts and what a failed episode is worth is not said"
    )

    def grid(self, size: ex.Size) -> dict[str, RunConfig]:
        """Every reading of every question."""
        assert size.people is not None
        return {
            f"{name}/{words}": reading.config(size)
            for name, question in QUESTIONS.items()
            for words, reading in question.readings(size.people).items()
        }

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> Any:
        """Question -> reading -> "columns" by name, and "checks": those of figure 10."""
        assert size.held_out is not None
        data: dict[str, Any] = {name: {} for name in QUESTIONS}
        for key, several in runs.items():
            name, _, words = key.partition("/")
            found = [ex.held_out_run(run, size.held_out, ex.PERMUTATIONS) for run in several]
            question, checks = QUESTIONS[name], CHECKS[several[0].config.environment]
            data[name][words] = {
                "columns": question.measure(several, found),
                "checks": checks(several, found) if question.judged else [],
            }
        return data

    def conclude(self, data: Any) -> ex.Outcome:
        """Published behaviour under the chosen readings, and what the others change."""
        lent = data["forgiveness"]
        chosen = lent[_words(CHOSEN_FORGIVEN)]
        others = {words: found["columns"]["admitted"] for words, found in data["rewards"].items()}
        uneven = {
            words: ex.beyond(
                found["columns"]["queue disparity"],
                found["columns"][f"queue disparity{ex.BY_LUCK}"],
            )
            for words, found in data["queues"].items()
        }
        lives = {words: found["columns"]["survived"] for words, found in data["failures"].items()}
        last, literal = LAST
        checks = [
            *chosen["checks"],
            ex.Check.higher(
                "loan: relief that is put off is given more freely than relief of which"
                f" {CHOSEN_FORGIVEN:g} is forgiven (by)",
                _relief(lent[_words(0.0)]),
                _relief(chosen),
            ),
            ex.Check.higher(
                "loan: direct rewards alone admit fewer than all terms (by)",
                chosen["columns"]["admitted"],
                others[f"{CHOSEN_FORGIVEN:g} forgiven, direct"],
            ),
            ex.Check.higher(
                "loan: an objective that sees the queue leaves less disparity beyond luck in it"
                " than the published wait (months, by)",
                *(uneven[words] for words in QUEUES),
            ),
            *(
                ex.Check.higher(
                    f"{name}: more episodes survive if failed ones rank last (by)",
                    lives[f"{name}, {last}"],
                    lives[f"{name}, {literal}"],
                )
                for name in ("loan", "education")
            ),
        ]
        return ex.Outcome(
            figures={"loan": _plot(lent)},
            caption=CAPTION,
            tables=[_table(name, found) for name, found in data.items()],
            checks=checks,
        )


def _words(share: float, cap: float = CHOSEN_CAP) -> str:
    """Words of a forgiven share and a payout cap."""
    return f"{share:g} forgiven, {cap:.1%} paid out"


def _relief(found: Mapping[str, Any]) -> np.ndarray:
    """Mean relief of the groups."""
    return np.mean([found["columns"][title(name)] for name in RELIEF], axis=0)


def _table(name: str, found: Mapping[str, Any]) -> ex.Table:
    """Readings in rows."""
    question, (first, *_) = QUESTIONS[name], found.values()
    rows = [
        [
            words,
            *(ex.cell(column, values) for column, values in one["columns"].items()),
            *(
                [f"{sum(c.holds for c in one['checks'])} of {len(one['checks'])}"]
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


@style.styled
def _plot(lent: Mapping[str, Any]) -> Figure:
    """Relief, default and profit over the forgiven share, a line for each payout cap."""
    panels: dict[str, Callable[[Any], np.ndarray]] = {
        "relief": _relief,
        "share of loans that default": lambda one: one["columns"]["default"],
        "normalised profit": lambda one: one["columns"]["profit"],
    }
    figure, axes = style.panels(len(panels), len(panels), 3.0, legend_rows=1)
    for panel, (words, measure) in zip(axes, panels.items(), strict=True):
        for place, cap in enumerate(CAPS):
            shares = FORGIVEN if cap == CHOSEN_CAP else WITH_CAPS
            values = [measure(lent[_words(share, cap)]) for share in shares]
            curve(panel, shares, np.transpose(values), place, f"{cap:.1%}")
        style.set_title(panel, capital(words))
        panel.set_xlabel("share of the relief that is forgiven")
    curve_legend(figure, [f"{cap:.1%} of the people paid out a month" for cap in CAPS])
    return figure
