"""Observations of the simplified bank's three agents, all the same; they act as in `loan`."""

from fairgym.core import EntitySpace, Feature

FEATURES = (
    Feature("group", 0, 1, "", "RACE: 0 advantaged, 1 disadvantaged", tells_group=True),
    Feature("qualification_score", 0, 1, "", "QUALSCORE"),
    Feature("interest_rate", 0.05, 0.31, "per year", "INTRATE"),
    Feature("principal", 1_000, 40_000, "dollars", "PRINCIPAL"),
    Feature("fico", 300, 850, "points", "mean of FICO_RANGE_LOW and FICO_RANGE_HIGH"),
)


def observation_space(applicants: int, horizon: int, profit: float) -> EntitySpace:
    """This step's applicants; time and the bank's profit as context.

    Args:
        applicants: rows.
        horizon: steps, the range of the time.
        profit: thousand dollars, the range of the bank's total profit.
    """
    context = (
        Feature("time", 0, horizon, "steps"),
        Feature("total_profit", 0, profit, "thousand dollars", "TOTBANKPROF"),
    )
    return EntitySpace(applicants, FEATURES, context)
