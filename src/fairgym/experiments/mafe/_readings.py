"""Readings of what MAFE leaves open, each a configuration of an environment and its learner."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from fairgym.algorithms.f_macem import FMacem
from fairgym.config import RunConfig
from fairgym.core import Environment
from fairgym.data import load_population
from fairgym.data.bias import strength_for
from fairgym.data.fitting import score_values
from fairgym.environments.education.declarations import TABLE_1
from fairgym.environments.health.declarations import TABLE_1 as TABLE_1_OF_HEALTH
from fairgym.experiments import _parts as ex
from fairgym.results.numbers import ratio
from fairgym.utils import make

FORGIVEN = (0.0, 0.25, 0.5, 0.75, 1.0)  # share of the relief
WITH_CAPS = FORGIVEN[::2]  # with every cap, and under every objective
CAPS = (0.01, 0.015, 0.02)  # payouts a month as a share of the people
CHOSEN_FORGIVEN, CHOSEN_CAP = 0.5, 0.01
TUITIONS = (10_000.0, 20_000.0)  # dollars a semester
RESIDUALS = (0.0, 0.25, 0.5, 0.75, 1.0)  # share that a person carries
OBJECTIVES = ("direct", "direct-fair")
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
        lending_words(share, cap): lending(people, share, cap)
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


def lending_words(share: float, cap: float = CHOSEN_CAP) -> str:
    """Words of a forgiven share and a payout cap."""
    return f"{share:g} forgiven, {cap:.1%} paid out"


COLUMNS = (
    "Months; shares of people. The mean wait of those paid out is the published one, which counts"
    " a wait when it ends, and so is the wait disparity; the time in the queue of either group and"
    " its disparity count the months so far of those who are still in it. At the end: the share of"
    " all people who are in the queue, the median of the times that these have waited so far, and"
    " of those of either group who were ever approved the share that was never paid out."
)


def queue(env: Environment, episodes: ex.Ends) -> dict[str, np.ndarray]:
    """Measures of the queue by words, one number per seed; luck is (seeds, permutations).

    Args:
        env: The loan system.
        episodes: Held-out episodes of each seed, measured under permutations.
    """
    ends: dict[str, list[float]] = {"share": [], "median": []}
    for found in episodes:
        last = {
            name: found.waits["waiting"][name][np.arange(found.episodes), found.lengths, -1]
            for name in ends
        }
        ends["share"].append(last["share"].mean())
        ends["median"].append(mean(last["median"][last["share"] > 0.0]))
    uneven = {}
    for column in ("wait disparity", "queue disparity"):
        values, luck = ex.disparity(episodes, column.replace(" ", "_"))
        uneven |= {column: values, column + ex.BY_LUCK: luck}
    wait = [found.totals.waited.sum() / found.totals.disbursed.sum() for found in episodes]

    def by_group(name: str) -> dict[str, np.ndarray]:
        names = env.metrics[name].numerator, env.metrics[name].denominator
        rates = [ratio(*(getattr(one.totals, each) for each in names)) for one in episodes]
        return {
            group: np.array([mean(one[np.isfinite(one[:, i]), i]) for one in rates])
            for i, group in enumerate(env.spec.groups)
        }

    return {
        "mean wait of those paid out": np.array(wait),
        **{
            f"time in the queue, {group}": months
            for group, months in by_group("queue_time").items()
        },
        **uneven,
        "waiting at the end": np.array(ends["share"]),
        "median wait of these": np.array(ends["median"]),
        **{
            f"never paid out, {group}": 1.0 - share
            for group, share in by_group("served_rate").items()
        },
    }


def mean(values: np.ndarray) -> float:
    """Mean of the values; 0 without any."""
    return float(np.mean(values)) if values.size else 0.0
