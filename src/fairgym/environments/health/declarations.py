"""Declarations of the health environment: observations, actions, metrics and baselines.

Features: MAFE, table 4; metrics: MAFE, table 8, appendix G.
"""

import functools

import jax.numpy as jnp
from jaxtyping import Array, Float

from fairgym.core import (
    ActionSpace,
    Decision,
    Element,
    EntitySpace,
    Feature,
    Moment,
    PerEntity,
    Shares,
    per_group,
)
from fairgym.data.populations import health
from fairgym.environments._common.base import PublishedProfit
from fairgym.fairness import Direct, Disparity, Metric, Rate

# Table 8, in dollars. The table prints bare numbers; its budget and profit fit 10,000 people.
PROFIT = PublishedProfit(7.2e8, population=10_000, horizon=100)


def published_metrics(profit_normaliser: float) -> dict[str, Metric]:
    """Return four rewards and three disparities over regions (MAFE, tables 1 and 8, appendix G)."""
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


def baseline_policies() -> dict[str, dict[str, object]]:
    """Return random agents and the card's fixed policies, by name."""

    def fixed(premium: float, planner: list[float]) -> dict[str, object]:
        return {"insurer": premium, "hospital": "random", "planner": planner}

    return {
        "random": dict.fromkeys(("insurer", "hospital", "planner"), "random"),
        "premium_half_uniform_planner": fixed(0.5, UNIFORM_PLANNER),
        "premium_half_no_planner": fixed(0.5, NO_PLANNER),
        "premium_full_uniform_planner": fixed(1.0, UNIFORM_PLANNER),
    }


REGIONS = health.GROUPS
FIXED_COLUMNS = health.FIXED

_OFTEN = "0 never to 4 all of the time"
_PERSON = (
    *(Feature(region, 0, 1, "", "REGION", of="region", tells_group=True) for region in REGIONS),
    Feature("year", 2014, 2018, "calendar year", "YEAR"),
    Feature("age", 18, 85, "years", "AGE"),
    Feature("female", 0, 1, "", "SEX"),
    Feature("family_size", 1, 7, "people", "FAMSIZE"),
    Feature("race_black", 0, 1, "", "RACE", of="race"),
    Feature("race_asian", 0, 1, "", "RACE", of="race"),
    Feature("race_other", 0, 1, "", "RACE", of="race"),
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
    Feature("premium", 0, 1_000, "dollars per month", "HIPCOST, subsidised", tells_group=True),
    Feature("needs_bed", 0, 1, "", "NEEDBED"),
    Feature("in_hospital", 0, 1, "", "INHOSP"),
    Feature("time_ill", 0, 10, "months", "ILLTIME up to now"),
    Feature("time_waited", 0, 10, "months", "WAITBED up to now"),
)

# The planner's tree of shares (figure 14): the budget, then the split of three items over regions.
_SPLIT = ("hospital_infrastructure", "public_health", "insurance_subsidies")
PLANNER = Shares(((*_SPLIT, "rollover"), *(per_group(kind, REGIONS, of=kind) for kind in _SPLIT)))

# The hospital observes only people without a bed, and all of them need one.
_UNSEEN_BY_HOSPITAL = ("needs_bed", "in_hospital")
FEATURES = {
    "insurer": _PERSON,
    "hospital": tuple(f for f in _PERSON if f.name not in _UNSEEN_BY_HOSPITAL),
    "planner": _PERSON,
}


def observation_spaces(
    population: int, horizon: int, profit: float, budget: float, beds: float
) -> dict[str, EntitySpace]:
    """Return the spaces: all people for insurer and planner, those who need a bed for the hospital.

    Args:
        population: Number of rows.
        horizon: Months; the range of the time.
        profit: Dollars; the range of the insurer's total profit.
        budget: Dollars; the range of the planner's budget.
        beds: The range of a region's number of beds.
    """
    context = (
        Feature("time", 0, horizon, "months"),
        Feature("total_profit", 0, profit, "dollars"),
        Feature("planner_budget", 0, 2 * budget, "dollars", "PLANBUDGET"),
        Feature("hospital_cost", 0, 4_000, "dollars per month", "HOSPCOST"),
        *_of_regions("beds", 2 * beds, "beds", "NGEOBED"),
        *_of_regions("free_beds", beds, "beds"),
        *_of_regions("premiums_paid", 250 * population, "dollars", "HIPFULLCOST"),
    )
    return {
        agent: EntitySpace(population, features, context) for agent, features in FEATURES.items()
    }


def action_spaces(population: int) -> dict[str, ActionSpace]:
    """Return the spaces: premiums, queue scores, and the planner's tree of shares."""
    return {
        "insurer": PerEntity(population, Element("premium", unit="share of the maximum")),
        "hospital": PerEntity(
            population,
            Element(
                "priority",
                meaning="in each region the people with the highest priority get the free beds",
            ),
        ),
        "planner": PLANNER,
    }


def by_region(name: str, numbers: Float[Array, " regions"]) -> dict[str, Float[Array, ""]]:
    """Return the context features of a quantity per region: name -> number."""
    return {feature: numbers[i] for i, feature in enumerate(_names(name))}


def _names(name: str) -> list[str]:
    return [f"{name}_{region.lower()}" for region in REGIONS]


def _of_regions(name: str, high: float, unit: str, source: str = "") -> list[Feature]:
    return [Feature(feature, 0, high, unit, source) for feature in _names(name)]


def decisions(period: int) -> dict[str, Decision]:
    """Return the decisions that can be logged: offers of insurance, and beds in hospital.

    Args:
        period: Number of months between two offers.
    """
    coverage = Decision(
        about="A row is an offer of insurance to a person, in a month in which the insurer sets its"
        " premiums; it is favourable if the person is insured. Its amount is the premium in"
        " dollars per month that is asked of the person, after the subsidy, taken or not.",
        left_out="The other months of an offer are not logged, because nothing is decided in them."
        f" {_PLANNER_LEFT_OUT}",
        decision="insured",
        rows=functools.partial(_offers, period=period),
        amount="premium",
    )
    beds = Decision(
        about="A row is a person who needs a bed in one month, and gets one or waits on. The"
        " outcome is whether the illness of a person with a bed ends in cure.",
        left_out="The first month is not logged: the state does not tell who had a bed in it."
        f" {_PLANNER_LEFT_OUT}",
        decision="admitted",
        rows=_beds,
        outcome="cured",
    )
    return {"coverage": coverage, "bed": beds}


_PLANNER_LEFT_OUT = (
    "The shares of the planner's budget go to regions and purposes, and decide on no person."
)


def _offers(step: Moment, period: int) -> dict[str, Array]:
    """Return who is made an offer, and who takes it."""
    return {
        "asked": (step.before.time % period == 0) * jnp.ones_like(step.components.people),
        "insured": step.components.insured,
        "premium": step.after.premium,
        "health_risk": step.people["health_risk"],
        "family_income": step.people["family_income"],
    }


def _beds(step: Moment) -> dict[str, Array]:
    """Return who needs a bed, who gets one, and whose illness ends."""
    components, ended = step.components, step.components.illnesses_ended
    return {
        "asked": (step.before.time > 0) * (step.people["needs_bed"] + components.fell_ill),
        "admitted": step.after.bed_since == step.before.time,
        "settled": ended,
        "cured": ended - components.died,
        "time_waited": step.people["time_waited"],
        "health_risk": step.people["health_risk"],
        "insured": components.insured,
    }
