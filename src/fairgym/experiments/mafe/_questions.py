"""Questions that MAFE leaves open: readings that answer each, and what is measured of them."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fairgym import experiments as ex
from fairgym.algorithms import log_keys
from fairgym.experiments.mafe import _readings
from fairgym.experiments.mafe._queue import COLUMNS, mean, queue
from fairgym.experiments.mafe._readings import Reading
from fairgym.experiments.mafe.fig10 import RELIEF, action_ends
from fairgym.fairness import Objective
from fairgym.report.labels import title

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


# ---------------------------------------------------------------- measures


def means(episodes: Sequence[Any], name: str) -> np.ndarray:
    """Mean of a metric over the episodes in which it is defined, by seed; 0 without any."""
    return np.array([mean(one.metrics[name][one.defined[name]]) for one in episodes])


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
    env = runs[0].env
    profit = Objective.direct(env)
    return queue(env, episodes) | {"profit": np.array([ex.score(one, profit) for one in episodes])}


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
