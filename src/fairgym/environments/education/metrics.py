"""Published metrics of the education environment, and the fixed policies to compare with."""

from typing import Any

from fairgym.environments._sampled import PublishedProfit
from fairgym.fairness import Direct, Disparity, Metric, Rate

# Table 8's normaliser fits about as many people.
PROFIT = PublishedProfit(6.0e5, population=20_000, horizon=100)


def published_metrics(profit_normaliser: float) -> dict[str, Metric]:
    """Six rewards and five disparities (MAFE, table 8, appendix H)."""
    rates = {
        "admission": Rate("entered", "applied"),
        "bachelor": Rate("bachelors", "bachelor_class"),
        "master": Rate("masters", "master_class"),
        "doctorate": Rate("doctorates", "doctorate_class"),
        "salary": Rate("salaries", "workers", unit="share of the maximum"),
    }
    return {
        "profit": Direct("profit", normaliser=profit_normaliser),
        **{f"{name}_rate": rate for name, rate in rates.items() if name != "salary"},
        "average_salary": rates["salary"],
        **{
            f"{name}_disparity": Disparity(rate, normalise_by_sum=name == "salary")
            for name, rate in rates.items()
        },
    }


def graduation_metrics() -> dict[str, Metric]:
    """Graduation from all programmes together, the global graduation rate of MAFE, table 1."""
    graduation = Rate("graduates", "classes")
    return {"graduation_rate": graduation, "graduation_disparity": Disparity(graduation)}


# Terms that objectives weigh: all of MAFE, appendix H, or three rewards and three disparities.
APPENDIX_H = tuple(published_metrics(1.0))
TABLE_1 = (
    "profit",
    "admission_rate",
    "graduation_rate",
    "admission_disparity",
    "graduation_disparity",
    "salary_disparity",
)


# Shares of the university: infrastructure, salaries, scholarships, mentorship, rollover.
UNIVERSITY = [0.05, 0.40, 0.25, 0.20, 0.10]
# Shares of the planner: tertiary education, university, diversity; then nine regions.
PLANNER = [1 / 3] * 3 + [1 / 9] * 9


def baseline_policies() -> dict[str, dict[str, Any]]:
    """Random agents, the card's plausible fixed policy, and others that differ in one agent."""

    def fixed(university: Any = UNIVERSITY, salary: float = 0.35) -> dict[str, Any]:
        return {
            "admissions": "random",
            "university": university,
            "employer": salary,
            "planner": PLANNER,
        }

    agents = ("admissions", "university", "employer", "planner")
    return {
        "random": dict.fromkeys(agents, "random"),
        "plausible_fixed_policy": fixed(),
        "scholarships_before_salaries": fixed([0.05, 0.25, 0.40, 0.20, 0.10]),
        "equal_university_shares": fixed([0.2] * 5),
        "high_salary": fixed(salary=0.8),
    }
