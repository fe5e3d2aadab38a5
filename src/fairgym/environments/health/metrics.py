"""Published metrics of the health environment, and the fixed policies it is compared with."""

from typing import Any

from fairgym.environments._sampled import PublishedProfit
from fairgym.environments.health.params import INFERRED_POPULATION
from fairgym.fairness import Direct, Disparity, Metric, Rate

# Table 8, in dollars.
PROFIT = PublishedProfit(7.2e8, population=INFERRED_POPULATION, horizon=100)


def published_metrics(profit_normaliser: float) -> dict[str, Metric]:
    """Four rewards and three disparities over regions (MAFE, tables 1 and 8, appendix G)."""
    insured = Rate("insured", "people")
    incidence = Rate("fell_ill", "healthy", sign=-1)
    mortality = Rate("died", "illnesses_ended", sign=-1)
    return {
        "profit": Direct("profit", normaliser=profit_normaliser),
        "insured_rate": insured,
        "incidence_rate": incidence,
        "mortality_rate": mortality,
        "insured_disparity": Disparity(insured),
        "incidence_disparity": Disparity(incidence),
        "mortality_disparity": Disparity(mortality),
    }


# Terms of MAFE, table 1: three rewards and two disparities, incidence left out.
TABLE_1 = ("profit", "insured_rate", "mortality_rate", "insured_disparity", "mortality_disparity")


# Shares of the planner: hospital infrastructure, public health, insurance subsidies, rollover;
# then one split over the four regions for each of the first three.
_EVENLY = [0.25] * 4
UNIFORM_PLANNER = [0.25] * 4 + _EVENLY * 3
NO_PLANNER = [0.0, 0.0, 0.0, 1.0] + _EVENLY * 3


def baseline_policies() -> dict[str, dict[str, Any]]:
    """Random agents, and the card's plausible and simple fixed policies."""

    def fixed(premium: Any, planner: Any) -> dict[str, Any]:
        return {"insurer": premium, "hospital": "random", "planner": planner}

    return {
        "random": dict.fromkeys(("insurer", "hospital", "planner"), "random"),
        "premium_half_uniform_planner": fixed(0.5, UNIFORM_PLANNER),
        "premium_half_no_planner": fixed(0.5, NO_PLANNER),
        "premium_full_uniform_planner": fixed(1.0, UNIFORM_PLANNER),
    }
