"""Declarations of the epidemic: the clinic's observations, metrics and baselines."""

from collections.abc import Mapping, Sequence

from fairgym.core import EntitySpace, Feature
from fairgym.fairness import Disparity, Distance, Metric, Rate, Windowed


def epidemic_metrics() -> dict[str, Metric]:
    """Health, and fairness of vaccines in the short term and of health in the long term."""
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
    """Fairness in the course of an episode (section VI-C).

    Args:
        metrics: those of `epidemic_metrics`.
    """
    return {
        "short_term": Windowed(metrics["vaccine_disparity"], 0),  # equation 10
        "long_term": Windowed(metrics["health_distance"], 1),
        "long_term_window": Windowed(metrics["health_distance"], 0),
    }


def baseline_policies() -> dict[str, dict[str, str]]:
    """Rules that vaccinate susceptible people by contacts or at random, and nobody."""
    return {
        "highest_degree": {"clinic": "highest-degree"},
        "most_exposed": {"clinic": "most-exposed"},
        "random_susceptible": {"clinic": "random-present"},
        "nobody": {"clinic": "none"},
    }


def observation_space(
    stages: Sequence[str],
    people: int,
    most_contacts: int,
    horizon: int,
    *,
    shows_contacts: bool,
    shows_time: bool,
) -> EntitySpace:
    """Everybody, with their state of health.

    Args:
        stages: states of health.
        people: number of people.
        most_contacts: largest number of people whom somebody meets.
        horizon: number of steps.
        shows_contacts: whether numbers of infected contacts are seen.
        shows_time: whether the time is seen.
    """
    features = [Feature(stage, levels=2, of="health") for stage in stages]
    features.append(Feature("vaccinated", levels=2, source="whether a vaccine was given so far"))
    if shows_contacts:
        features.append(
            Feature(
                "infected_contacts", 0, most_contacts, "people", "N_I", levels=most_contacts + 1
            )
        )
    features.append(Feature("group", levels=2, source="0 or 1: the community", fixed=True))
    features.append(Feature("degree", 0, most_contacts, "people", "number of contacts", fixed=True))
    time = Feature("time", 0, horizon, "steps", levels=horizon + 1)
    return EntitySpace(people, tuple(features), (time,) if shows_time else ())
