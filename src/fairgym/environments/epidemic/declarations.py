"""Declarations of the epidemic: metrics, measures and baselines."""

from collections.abc import Mapping

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
