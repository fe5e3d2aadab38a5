"""Interpretations of what MAFE leaves open, each a configuration of environment and learner."""

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
from fairgym.results.estimates import waits_of
from fairgym.results.numbers import ratio
from fairgym.statistics.survival import quantile
from fairgym.utils import make

FORGIVEN = (0.0, 0.25, 0.5, 0.75, 1.0)  # forgiven share of the relief
WITH_CAPS = FORGIVEN[::2]  # shares run with every cap and every objective
CAPS = (0.01, 0.015, 0.02)  # payouts per month as a share of the people
CHOSEN_FORGIVEN, CHOSEN_CAP = 0.5, 0.01
TUITIONS = (10_000.0, 20_000.0)  # dollars a semester
RESIDUALS = (0.0, 0.25, 0.5, 0.75, 1.0)  # share of the residual
OBJECTIVES = ("direct", "direct-fair")
QUEUES = {"published wait": "wait_disparity", "time in the queue": "queue_disparity"}
LAST = {"failed episodes last": True, "by their score": False}


class Interpretation(NamedTuple):
    """Interpretation of an environment and its learner. Empty fields are the defaults.

    Values equal to the default are left out of the configuration, so that figures share runs.

    Attributes:
        environment: Name of the environment.
        objective: Objective of the run.
        params: Parameters of the environment.
        arguments: Arguments of the environment other than the population.
        algorithm: Hyperparameters of F-MACEM.
    """

    environment: str
    objective: str | dict[str, float] = "uniform"
    params: Mapping[str, Any] = {}
    arguments: Mapping[str, Any] = {}
    algorithm: Mapping[str, Any] = {}

    def config(self, size: ex.Size) -> RunConfig:
        """Return the configuration of a run of this size."""
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
) -> Interpretation:
    """Return the loan environment with a forgiven share of relief, a payout cap and residuals."""
    return Interpretation(
        "loan",
        params={"relief_forgiven": forgiven, "residual_share": residual},
        arguments={"disbursement_cap": round(cap * people)},
        **more,
    )


def forgiveness(people: int) -> dict[str, Interpretation]:
    """Return forgiven shares and payout caps, with all terms weighted equally."""
    return {
        lending_words(share, cap): lending(people, share, cap)
        for share in FORGIVEN
        for cap in CAPS
        if cap == CHOSEN_CAP or share in WITH_CAPS
    }


def rewards(people: int) -> dict[str, Interpretation]:
    """Return forgiven shares with the other two objectives of figure 7."""
    return {
        f"{share:g} forgiven, {objective}": lending(people, share, objective=objective)
        for share in WITH_CAPS
        for objective in OBJECTIVES
    }


def borrowers(people: int) -> dict[str, Interpretation]:
    """Return shares of people's own residuals of the payment propensity."""
    return {
        f"{share:g} of the residual, {objective}": lending(
            people, residual=share, objective=objective
        )
        for share in RESIDUALS
        for objective in ("uniform", "direct")
    }


def students(people: int) -> dict[str, Interpretation]:
    """Return shares of people's own GPA residuals, with groups half a deviation apart."""
    data = load_population("education")
    fitted = score_values(data.scores["gpa"], data.columns)
    own = np.asarray(data.columns["gpa"], np.float64) - fitted
    return {
        f"{share:g} of the residual": Interpretation(
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


def queues(people: int) -> dict[str, Interpretation]:
    """Return all terms with the published wait disparity, or with that of the whole queue."""
    terms = ("profit", "admission_rate", "default_rate", "admission_disparity", "default_disparity")
    published, seen = QUEUES
    return {
        published: lending(people),
        seen: lending(people, objective=dict.fromkeys((*terms, QUEUES[seen]), 1.0)),
    }


def failures(people: int) -> dict[str, Interpretation]:
    """Rank failed episodes below all others, or by their score."""
    return {
        f"{name}, {words}": Interpretation(
            name,
            "direct-fair",
            algorithm={"failed_last": last},
        )
        for name in ("loan", "health", "education")
        for words, last in LAST.items()
    }


def schooling(people: int) -> dict[str, Interpretation]:
    """Vary terms (appendix H or table 1), diversity money in salaries, and tuition."""
    terms = {"appendix H": "uniform", "table 1": dict.fromkeys(TABLE_1, 1.0)}
    salaries = {"with diversity money": 1.0, "without": 0.0}
    return {
        f"{source}, salaries {words}, tuition {tuition:,.0f}": Interpretation(
            "education",
            objective,
            params={"supplement_in_salary": share, "tuition": tuition},
        )
        for source, objective in terms.items()
        for words, share in salaries.items()
        for tuition in TUITIONS
    }


def care(people: int) -> dict[str, Interpretation]:
    """Vary public health money (by cycle or month), equation (17), beds by region, and terms."""
    by_month, holds = {"public_health_months": 6.0}, {"improve_base": 0.39}
    by_people = {"beds_by_people": 1.0}
    found = {
        words: Interpretation("health", params={"beds_by_people": 0.0, **params})
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
    return found | {"beds by people, table 1": Interpretation("health", weights, params=by_people)}


def lending_words(share: float, cap: float = CHOSEN_CAP) -> str:
    """Return the label of a forgiven share and a payout cap."""
    return f"{share:g} forgiven, {cap:.1%} paid out"


COLUMNS = (
    "Times are in months, the others are shares of people: of the ever approved of each group,"
    " those never paid out; and of all people, those in the queue at the end, with the median of"
    " their waits so far. Half, or nine tenths, of the waits end within the given time"
    " (Kaplan-Meier: somebody who still waits counts as waiting at least that long); where too few"
    " of them end, it is the length of an episode. The time in the queue and its disparity also"
    " count the months so far of people still in the queue. The wait disparity and the mean wait of"
    " those paid out are the published measures, which count a wait when it ends."
)
WITHIN = {"half of waits end within": 0.5, "nine tenths of waits end within": 0.9}


def queue(env: Environment, episodes: ex.Ends) -> dict[str, np.ndarray]:
    """Return measures of the queue by label, (seeds,); null distributions (seeds, permutations).

    Args:
        env: The loan environment.
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
    for column in ("queue disparity", "wait disparity"):
        values, null = ex.disparity(episodes, column.replace(" ", "_"))
        uneven |= {column: values, column + ex.NULL_MEAN: null}
    wait = [found.totals.waited.sum() / found.totals.disbursed.sum() for found in episodes]

    def by_group(name: str) -> dict[str, np.ndarray]:
        names = env.metrics[name].numerator, env.metrics[name].denominator
        rates = [ratio(*(getattr(one.totals, each) for each in names)) for one in episodes]
        return {
            group: np.array([mean(one[np.isfinite(one[:, i]), i]) for one in rates])
            for i, group in enumerate(env.spec.groups)
        }

    return {
        **{
            f"never paid out, {group}": 1.0 - share
            for group, share in by_group("served_rate").items()
        },
        "waiting at the end": np.array(ends["share"]),
        "median wait of these": np.array(ends["median"]),
        **{column: wait_quantiles(env, episodes, share) for column, share in WITHIN.items()},
        **{
            f"time in the queue, {group}": months
            for group, months in by_group("queue_time").items()
        },
        **uneven,
        "mean wait of those paid out": np.array(wait),
    }


def wait_quantiles(env: Environment, episodes: ex.Ends, share: float) -> np.ndarray:
    """Return the months within which a share of everybody's waits end, (seeds,).

    The estimate is that of Kaplan and Meier, and at most the length of an episode.
    """
    everybody = range(len(env.spec.groups))
    courses = [waits_of([one], "waiting", everybody) for one in episodes]
    return np.array([min(quantile(course, share)[1], env.horizon) for course in courses])


def served(episodes: ex.Ends) -> np.ndarray:
    """Return the share of the ever approved who are ever paid out, (seeds,); 0 if none is."""
    sums = [
        [getattr(one.totals, name).sum() for name in ("first_disbursed", "first_approved")]
        for one in episodes
    ]
    return np.array([paid / approved if approved else 0.0 for paid, approved in sums], np.float64)


def mean(values: np.ndarray) -> float:
    """Return the mean of the values, or 0 if there are none."""
    return float(np.mean(values)) if values.size else 0.0
