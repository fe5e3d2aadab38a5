"""Columns of the tables of the interpretations: what banks, schools and countries come to."""

from collections.abc import Sequence

import numpy as np

from fairgym.algorithms import log_keys
from fairgym.experiments import _parts as ex
from fairgym.experiments.mafe._readings import mean, queue
from fairgym.experiments.mafe.fig10 import RELIEF, action_ends
from fairgym.fairness import Objective
from fairgym.results.labels import title


def known_means(episodes: ex.Ends, name: str) -> np.ndarray:
    """Return the mean of a metric over episodes in which it is defined, by seed; 0 if none."""
    return np.array([mean(one.metrics[name][one.defined[name]]) for one in episodes])


def outcome(runs: Sequence[ex.Run], episodes: ex.Ends) -> ex.Columns:
    """Return survival and sums of normalised terms, disparities with null distributions."""
    env = runs[0].env
    sums = {f"{kind} terms": ex.score(episodes, ex.category(env, kind)) for kind in ex.KINDS}
    return {
        "survived": ex.survival(episodes),
        **sums,
        f"fair terms{ex.NULL_MEAN}": ex.null_sums(episodes, env),
    }


def bank(runs: Sequence[ex.Run], episodes: ex.Ends) -> ex.Columns:
    """Return survival, normalised profit, admission, relief and default."""
    last = {name: action_ends(runs, "debt_management", name)[1] for name in RELIEF}
    return {
        "survived": ex.survival(episodes),
        "profit": ex.score(episodes, Objective.direct(runs[0].env)),
        "admitted": known_means(episodes, "admission_rate"),
        **{title(name): values for name, values in last.items()},
        "default": -known_means(episodes, "default_rate"),
    }


def waits(runs: Sequence[ex.Run], episodes: ex.Ends) -> ex.Columns:
    """Return published waits, times in the queue, and profit."""
    env = runs[0].env
    return queue(env, episodes) | {"profit": ex.score(episodes, Objective.direct(env))}


def school(runs: Sequence[ex.Run], episodes: ex.Ends) -> ex.Columns:
    """Return the shares of planner and university, and the share of salaries over training."""
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
    """Return premium, the planner's shares, coverage, incidence and mortality."""
    kinds = ("public_health", "insurance_subsidies", "hospital_infrastructure", "rollover")
    return {
        "premium": action_ends(runs, "insurer", "premium")[1],
        **{title(kind): action_ends(runs, "planner", kind)[1] for kind in kinds},
        "insured": known_means(episodes, "insured_rate"),
        "incidence": -known_means(episodes, "incidence_rate"),
        "mortality": -known_means(episodes, "mortality_rate"),
    }
