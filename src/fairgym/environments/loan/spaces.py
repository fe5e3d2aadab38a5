"""Observations and actions of the bank's three agents (features: MAFE, table 2)."""

from collections.abc import Mapping

import jax.numpy as jnp
from jaxtyping import Array, Float

from fairgym.core import ActionSpace, EntitySpace, Feature, PerEntity, Unit, per_group

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

_PERSON = (
    Feature("interest_rate", 0.05, 0.31, "per year", "INTRATE"),
    Feature("term", 36, 60, "months", "TERM"),
    Feature("principal", 1_000, 40_000, "dollars", "PRINCIPAL"),
    Feature("annual_income", 0, 300_000, "dollars per year", "ANNUALINC"),
    Feature("debt_to_income", 0, 100, "percent", "DTI, current installment included"),
    Feature("fico_low", 300, 850, "points", "FICO_RANGE_LOW"),
    Feature("fico_high", 300, 850, "points", "FICO_RANGE_HIGH"),
    Feature("months_since_delinquency", 0, 150, "months", "MTHS_SINCE_LAST_DELINQ"),
    Feature("qualification_score", 0, 1, "", "QUALSCORE"),
)
_LOAN = (
    Feature("balance", 0, 40_000, "dollars", "BALANCE"),
    Feature("time_to_maturity", 0, 60, "months", "TIMETOMATURITY"),
    Feature("warning", 0, 1, "", "WARNING"),
    Feature("total_requested", 0, 60_000, "dollars", "TOTREQUEST"),
    Feature("total_received", 0, 60_000, "dollars", "TOTRECEIVE"),
    Feature("installment", 0, 1_500, "dollars", "CURRINSTALL"),
)
# What each agent is shown of a person besides what tells the group.
_FEATURES = {
    "admissions": _PERSON,
    "disbursement": (*_PERSON, Feature("time_waited", 0, 100, "months")),
    "debt_management": (*_PERSON, *_LOAN),
}
ROLES = tuple(_FEATURES)


def observation_spaces(
    population: int,
    applicants: int,
    horizon: int,
    profit: float,
    telling: tuple[Feature, ...],
    more: Mapping[str, tuple[Feature, ...]],
) -> dict[str, EntitySpace]:
    """Applicants, waiting people and borrowers; time and the bank's profit as context.

    Args:
        population: rows for those who wait or repay.
        applicants: rows for those who apply.
        horizon: months, the range of the time.
        profit: thousand dollars, the range of the bank's total profit.
        telling: what tells a person's group.
        more: context that an agent is shown besides.
    """
    context = (
        Feature("time", 0, horizon, "months"),
        Feature("total_profit", 0, profit, "thousand dollars", "TOTBANKPROF"),
    )
    rows = {"admissions": applicants}
    return {
        agent: EntitySpace(
            rows.get(agent, population),
            (*telling, *features),
            (*context, *more.get(agent, ())),
        )
        for agent, features in _FEATURES.items()
    }


def action_spaces(scored: int, groups: tuple[str, ...]) -> dict[str, ActionSpace]:
    """Thresholds, queue scores, relief shares.

    Args:
        scored: rows that the disbursement agent scores.
        groups: one threshold and one relief share for each; empty for one for all.
    """
    return {
        "admissions": Unit(per_group("threshold", groups)),
        "disbursement": PerEntity(scored, "priority"),
        "debt_management": Unit(per_group("relief", groups)),
    }


def for_each_group(action: Float[Array, " elements"], groups: int) -> Float[Array, " groups"]:
    """One number for each group, also where the action is a single one for all."""
    return jnp.broadcast_to(action, (groups,))
