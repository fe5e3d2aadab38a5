"""Observations and actions of insurer, hospital and planner (features: MAFE, table 4)."""

from fairgym.core import ActionSpace, EntitySpace, Feature, PerEntity, Shares
from fairgym.data.populations import health

REGIONS = health.GROUPS
FIXED_COLUMNS = health.FIXED

_OFTEN = "0 never to 4 all of the time"
_PERSON = (
    *(Feature(region, 0, 1, "", "REGION; 0 if not observed") for region in REGIONS),
    Feature("year", 2014, 2018, "calendar year", "YEAR"),
    Feature("age", 18, 85, "years", "AGE"),
    Feature("female", 0, 1, "", "SEX"),
    Feature("family_size", 1, 7, "people", "FAMSIZE"),
    Feature("race_black", 0, 1, "", "RACE"),
    Feature("race_asian", 0, 1, "", "RACE"),
    Feature("race_other", 0, 1, "", "RACE"),
    Feature("born_in_us", 0, 1, "", "USBORN"),
    Feature("education_years", 0, 20, "years", "EDUC"),
    Feature("high_cholesterol", 0, 1, "", "CHOLHIGHEV"),
    Feature("smokes_now", 0, 1, "", "SMOKENOW"),
    Feature("personal_income", 1_000, 200_000, "dollars per year", "INCTOT"),
    Feature("family_income", 1_000, 200_000, "dollars per year", "FTOTVAL"),
    Feature("poverty_level", 0, 500, "percent", "POVLEV"),
    Feature("effort", 0, 4, _OFTEN, "AEFFORT"),
    Feature("nervous", 0, 4, _OFTEN, "ANERVOUS"),
    Feature("restless", 0, 4, _OFTEN, "ARESTLESS"),
    Feature("hopeless", 0, 4, _OFTEN, "AHOPELESS"),
    Feature("sad", 0, 4, _OFTEN, "ASAD"),
    Feature("worthless", 0, 4, _OFTEN, "AWORTHLESS"),
    Feature("health_risk", 1, 5, "1 excellent to 5 poor", "HEALTH"),
    Feature("insured", 0, 1, "", "HICOV"),
    Feature("premium", 0, 1_000, "dollars per month", "HIPCOST, after the subsidy"),
    Feature("needs_bed", 0, 1, "", "NEEDBED"),
    Feature("in_hospital", 0, 1, "", "INHOSP"),
    Feature("time_ill", 0, 10, "months", "ILLTIME up to now"),
    Feature("time_waited", 0, 10, "months", "WAITBED up to now"),
)
# The hospital sees people without a bed only, all of whom need one.
_UNSEEN_BY_HOSPITAL = ("needs_bed", "in_hospital")
FEATURES = {
    "insurer": _PERSON,
    "hospital": tuple(f for f in _PERSON if f.name not in _UNSEEN_BY_HOSPITAL),
    "planner": _PERSON,
}


def observation_spaces(
    population: int, horizon: int, profit: float, budget: float, beds: float
) -> dict[str, EntitySpace]:
    """Everybody for the insurer and the planner, those who need a bed for the hospital.

    Args:
        population: rows.
        horizon: months, the range of the time.
        profit: dollars, the range of the insurer's total profit.
        budget: dollars, the range of the planner's budget.
        beds: the range of the beds of a region.
    """
    context = (
        Feature("time", 0, horizon, "months"),
        Feature("total_profit", 0, profit, "dollars"),
        Feature("planner_budget", 0, 2 * budget, "dollars", "PLANBUDGET"),
        Feature("hospital_cost", 0, 4_000, "dollars per month", "HOSPCOST"),
        *(Feature(f"beds, {r}", 0, 2 * beds, "beds", "NGEOBED") for r in REGIONS),
        *(Feature(f"free beds, {r}", 0, beds, "beds") for r in REGIONS),
        *(
            Feature(f"premiums paid, {r}", 0, 250 * population, "dollars", "HIPFULLCOST")
            for r in REGIONS
        ),
    )
    return {
        agent: EntitySpace(population, features, context) for agent, features in FEATURES.items()
    }


def action_spaces(population: int) -> dict[str, ActionSpace]:
    """Premiums, queue scores, and the planner's tree of shares (figure 14)."""
    kinds = ("hospital infrastructure", "public health", "insurance subsidies")
    splits = tuple(tuple(f"{kind}, {region}" for region in REGIONS) for kind in kinds)
    return {
        "insurer": PerEntity(population, "premium"),
        "hospital": PerEntity(population, "priority"),
        "planner": Shares(((*kinds, "rollover"), *splits)),
    }
