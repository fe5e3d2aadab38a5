"""Declarations of the education environment: observations, actions, metrics and baselines.

Features: MAFE, table 6; metrics: MAFE, table 8, appendix H.
"""

from jaxtyping import Array

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
from fairgym.data.populations import education
from fairgym.environments._common.base import PublishedProfit
from fairgym.fairness import Direct, Disparity, Metric, Rate

# Table 8's normaliser fits about 20,000 people.
PROFIT = PublishedProfit(6.0e5, population=20_000, horizon=100)


def published_metrics(profit_normaliser: float) -> dict[str, Metric]:
    """Return six rewards and five disparities (MAFE, table 8, appendix H)."""
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
    """Return graduation from all programmes, the global graduation rate of MAFE, table 1."""
    graduation = Rate("graduates", "classes")
    return {"graduation_rate": graduation, "graduation_disparity": Disparity(graduation)}


# Terms of objectives: all of MAFE, appendix H, or three rewards and three disparities (table 1).
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
FIXED_UNIVERSITY = [0.05, 0.40, 0.25, 0.20, 0.10]
# Shares of the planner: tertiary education, university, diversity; then nine regions.
FIXED_PLANNER = [1 / 3] * 3 + [1 / 9] * 9


def baseline_policies() -> dict[str, dict[str, object]]:
    """Return random agents, the card's plausible fixed policy, and variations of one agent."""

    def fixed(
        university: list[float] = FIXED_UNIVERSITY, salary: float = 0.35
    ) -> dict[str, object]:
        return {
            "admissions": "random",
            "university": university,
            "employer": salary,
            "planner": FIXED_PLANNER,
        }

    agents = ("admissions", "university", "employer", "planner")
    return {
        "random": dict.fromkeys(agents, "random"),
        "plausible_fixed_policy": fixed(),
        "scholarships_before_salaries": fixed([0.05, 0.25, 0.40, 0.20, 0.10]),
        "equal_university_shares": fixed([0.2] * 5),
        "high_salary": fixed(salary=0.8),
    }


REGIONS, GROUPS = education.REGIONS, education.GROUPS
FIXED_COLUMNS = education.FIXED

_PERSON = (
    Feature("minority", 0, 1, "", "MINRTY", tells_group=True),
    Feature("female", 0, 1, "", "SEX"),
    Feature("race_black", 0, 1, "", "RACE", of="race", tells_group=True),
    Feature("race_asian", 0, 1, "", "RACE", of="race", tells_group=True),
    Feature("race_other", 0, 1, "", "RACE", of="race", tells_group=True),
    Feature("major_first", 1, 7, "code", "NBAMEMG"),
    Feature("major_highest", 1, 7, "code", "NDGMEMG"),
    Feature("occupation", 1, 7, "code", "NOCPRMG"),
    Feature("hours_per_week", 0, 60, "hours", "HRSWK"),
    Feature("employer_sector", 1, 5, "code", "EMSEC"),
    Feature("employer_size", 1, 8, "code", "EMSIZE"),
    Feature("undergraduate_loans", 0, 100_000, "dollars", "UGLOAN"),
    Feature("graduate_loans", 0, 100_000, "dollars", "GRLOAN"),
    Feature("baseline_gpa", 0, 4, "grade points", "f(u), tertiary money included"),
)
_REGION = (Feature("region", 0, 8, "code", "REGION"),)
_GPA = Feature("gpa", 0, 4, "grade points", "GPA")
_IN_UNIVERSITY = Feature("time_in_university", 0, 20, "semesters", "TIMEINUNIV")
_STUDENT = (
    _GPA,
    Feature("semester_gpa", 0, 4, "grade points", "CURRENTGPA"),
    _IN_UNIVERSITY,
    Feature("mentored", 0, 1, "", "INMINTYPGRM", tells_group=True),
)
_WORKER = (
    Feature("time_in_workforce", 0, 40, "semesters", "TIMEINWORKF"),
    Feature("degree", 0, 3, "0 none to 3 doctorate", "DGRDG"),
    Feature("age", 18, 40, "years", "AGE"),
    # includes the supplement, which only the minority receives
    Feature("salary", 0, 2, "share of the maximum", "SALARY", tells_group=True),
    Feature("average_salary", 0, 2, "share of the maximum", "AVE_SALARY", tells_group=True),
)
_EVERYBODY = (
    *(Feature(region, 0, 1, "", "REGION", of="region") for region in REGIONS),
    Feature("in_university", 0, 1, "", "INUNIV"),
    Feature("in_workforce", 0, 1, "", "INWORKF"),
    Feature("time_in_environment", 0, 40, "semesters", "TIMEINENV"),
)
UNIVERSITY = Shares((("infrastructure", "salaries", "scholarships", "mentorship", "rollover"),))
# The planner's tree of shares (figure 17): the budget, then the split of one item over regions.
PLANNER = Shares(
    (
        ("tertiary_education", "university", "diversity_incentives"),
        per_group("tertiary_education", REGIONS, of="tertiary_education"),
    )
)

FEATURES = {
    "admissions": (*_PERSON, *_REGION),
    "university": (*_PERSON, *_REGION, *_STUDENT),
    "employer": (*_PERSON, *_REGION, _GPA, _IN_UNIVERSITY, *_WORKER),
    "planner": (*_PERSON, *_STUDENT, *_WORKER, *_EVERYBODY),
}


def observation_spaces(
    population: int,
    applicants: int,
    horizon: int,
    profit: float,
    budget: float,
    units: float,
) -> dict[str, EntitySpace]:
    """Return the spaces: applicants, students, workers, everybody; money and seats as context.

    Args:
        population: Number of rows for people in the country.
        applicants: Number of rows for applicants.
        horizon: Semesters; the range of the time.
        profit: The range of the employer's total profit.
        budget: Dollars; the range of the planner's and the university's budgets.
        units: The range of the university's infrastructure units.
    """
    context = (
        Feature("time", 0, horizon, "semesters"),
        Feature("total_profit", 0, profit, "utility"),
        Feature("planner_budget", 0, 2 * budget, "dollars", "PLANBUDGET"),
        Feature("university_budget", 0, budget, "dollars", "UNIVBUDGET"),
        Feature("tuition_share", 0, 1, "", "ANNUALTUIT"),
        Feature("supplement", 0, 1, "share of the maximum salary", "DIVINVEST"),
        Feature("units", 0, units, "units", "N_UNIV_UNITS"),
        Feature("faculty", 0, 5 * units, "people", "N_FACULTY"),
        Feature("students", 0, 75 * units, "people", "N_STUDENTS_CURR"),
    )
    rows = {"admissions": applicants}
    return {
        agent: EntitySpace(rows.get(agent, population), features, context)
        for agent, features in FEATURES.items()
    }


def action_spaces(population: int, applicants: int) -> dict[str, ActionSpace]:
    """Return the spaces: admission scores, university shares, salaries, the planner's tree."""
    return {
        "admissions": PerEntity(
            applicants,
            Element("score", meaning="applicants with the highest scores get the free places"),
        ),
        "university": UNIVERSITY,
        "employer": PerEntity(population, Element("salary", unit="share of the maximum")),
        "planner": PLANNER,
    }


def _applications(step: Moment) -> dict[str, Array]:
    return {
        "asked": step.components.applied,
        "admitted": step.components.entered,
        "settled": step.components.bachelor_class,  # also of those who have left
        "graduated": step.components.bachelors,
        "baseline_gpa": step.people["baseline_gpa"],
    }


DECISIONS = {
    "admission": Decision(
        about="A row is an application to the university, which admits or rejects the person. The"
        " outcome of those admitted, known when their class completes the bachelor's, is whether"
        " they completed it.",
        left_out="Salaries are not logged: a salary is a level that every worker has. The shares"
        " of the university's and the planner's budgets are not logged: they go to regions and"
        " purposes, and decide on no person.",
        decision="admitted",
        rows=_applications,
        outcome="graduated",
        score="baseline_gpa",
    )
}
