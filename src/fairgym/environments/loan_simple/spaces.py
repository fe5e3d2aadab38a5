"""What the three agents of the simplified bank see, all the same, and what they do."""

from fairgym.core import ActionSpace, EntitySpace, Feature, PerEntity, Unit

DATA_COLUMNS = (
    "interest_rate",
    "term",
    "principal",
    "annual_income",
    "debt_to_income",
    "fico_low",
    "fico_high",
    "months_since_delinquency",
)
FEATURES = (
    Feature("group", 0, 1, "", "RACE: 0 advantaged, 1 disadvantaged; 0 if not observed"),
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


def action_spaces(applicants: int, groups: tuple[str, ...]) -> dict[str, ActionSpace]:
    """Thresholds, priorities, relief shares: the shapes of the full environment.

    Args:
        applicants: rows that the disbursement agent scores, later approved or not.
        groups: one threshold and one relief share for each; empty for one for all.
    """

    def names(what: str) -> tuple[str, ...]:
        return tuple(f"{what}, {group}" for group in groups) or (what,)

    return {
        "admissions": Unit(names("threshold")),
        "disbursement": PerEntity(applicants, "priority"),
        "debt_management": Unit(names("relief")),
    }
