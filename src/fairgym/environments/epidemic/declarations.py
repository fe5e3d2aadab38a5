"""Declarations of the epidemic: metrics, measures and baselines."""

import functools
from collections.abc import Mapping

import jax.numpy as jnp
from jaxtyping import Array

from fairgym.core import Decision, Moment
from fairgym.environments.epidemic.steps import SUSCEPTIBLE
from fairgym.fairness import Disparity, Distance, Metric, Rate, Windowed


def epidemic_metrics() -> dict[str, Metric]:
    """Return metrics of health, short-term fairness of vaccines, long-term fairness of health."""
    vaccines = Rate(
        "vaccinated",
        "newly_infected",
        offset=1.0,
        title="Vaccines per new infection",
        unit="vaccines",
    )
    return {
        "not_infected": Rate("not_infected", "people", title="People not infected"),
        "vaccine_rate": vaccines,
        "vaccine_disparity": Disparity(vaccines),
        "health_distance": Distance("health", "nominal"),
    }


def epidemic_measures(metrics: Mapping[str, Metric]) -> dict[str, Windowed]:
    """Return measures of fairness during an episode (section VI-C).

    Args:
        metrics: Metrics of `epidemic_metrics`.
    """
    return {
        "short_term": Windowed(metrics["vaccine_disparity"], 0),  # equation 10
        "long_term": Windowed(metrics["health_distance"], 1),
        "long_term_window": Windowed(metrics["health_distance"], 0),
    }


def baseline_policies() -> dict[str, dict[str, str]]:
    """Return rules that vaccinate susceptible people by contacts, at random, or nobody."""
    return {
        "highest_degree": {"clinic": "highest-degree"},
        "most_exposed": {"clinic": "most-exposed"},
        "random_susceptible": {"clinic": "random-present"},
        "nobody": {"clinic": "none"},
    }


def decisions(states: int) -> dict[str, Decision]:
    """Return the decisions that can be logged: who is vaccinated.

    Args:
        states: Number of states of health, of which the first and the last are not infected.
    """
    vaccine = Decision(
        about="A row is a person who can be vaccinated in a step, of whom one at most is: everybody"
        " who is susceptible, and the person who gets the vaccine in vain. The outcome is whether"
        " the person is not infected after the step, known for everybody.",
        decision="vaccinated",
        rows=functools.partial(_vaccines, states=states),
        outcome="not_infected",
    )
    return {"vaccine": vaccine}


def _vaccines(step: Moment, states: int) -> dict[str, Array]:
    before, after = step.before.stage, step.after.stage
    given = jnp.arange(len(before)) == step.actions["clinic"]
    return {
        "asked": (before == SUSCEPTIBLE) | given,
        "vaccinated": given,
        "settled": jnp.ones(before.shape, bool),
        "not_infected": (after == SUSCEPTIBLE) | (after == states - 1),
        "degree": step.people["degree"],
    }
