"""Declarations of the epidemic: metrics, measures and baselines."""

from collections.abc import Mapping

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
