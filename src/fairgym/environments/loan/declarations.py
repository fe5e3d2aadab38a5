"""Observations, actions, published metrics and baselines of the loan environment.

Features follow MAFE, table 2; metrics follow MAFE, table 8 and appendix F.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Array

from fairgym.core import (
    ActionSpace,
    Decision,
    Element,
    EntitySpace,
    Feature,
    Moment,
    PerEntity,
    Unit,
    per_group,
)
from fairgym.environments._common.base import PublishedProfit
from fairgym.fairness import Direct, Disparity, Metric, Rate

# The meaning of each action's value.
_THRESHOLD = "applicants whose qualification score is at least this are approved"
_PRIORITY = (
    "each month the people in the queue with the highest priorities are paid out, so only"
    " differences between people matter"
)
_RELIEF = "share of the installment that borrowers need not pay"

# Table 8, thousand dollars.
PROFIT = PublishedProfit(8.9e4, population=10_000, horizon=400)


def published_metrics(profit_normaliser: float, bank: str = "") -> dict[str, Metric]:
    """Return three rewards and three disparities (MAFE, tables 1 and 8, appendix F).

    Args:
        profit_normaliser: Profit that counts as 1, thousand dollars.
        bank: Prefix of the bank's names where there are several banks.
    """

    def rate(numerator: str, denominator: str, title: str = "", **of_rate: Any) -> Rate:
        title = f"{bank}{title}".replace("_", " ").capitalize() if title else ""
        return Rate(f"{bank}{numerator}", f"{bank}{denominator}", title=title, **of_rate)

    admission = rate("approved", "applied")
    wait = rate("waited", "disbursed", title="wait of those paid out", sign=-1, unit="months")
    default = rate("defaulted", "ended", sign=-1)
    metrics = {
        "profit": Direct(f"{bank}profit", normaliser=profit_normaliser),
        "admission_rate": admission,
        "default_rate": default,
        "admission_disparity": Disparity(admission),
        "wait_disparity": Disparity(wait, normalise_by_sum=True),
        "default_disparity": Disparity(default),
    }
    return {f"{bank}{name}": metric for name, metric in metrics.items()}


def queue_metrics() -> dict[str, Metric]:
    """Return the metrics of the queue, including people whom the published wait leaves out.

    - `queue_time`: months waited so far by everybody, per person approved. It equals the published
      mean wait if everybody still waiting were paid out at the end.
    - `payout_rate`: share of approvals that were paid out.
    - `waiting_rate`: share of people in the queue, averaged over months.
    - `served_rate`: of the people ever approved, the share ever paid out.
    """
    queue_time = Rate("waiting", "approved", sign=-1, title="Time in the queue", unit="months")
    served = Rate("first_disbursed", "first_approved", title="Approved people ever paid out")
    return {
        "queue_time": queue_time,
        "payout_rate": Rate("disbursed", "approved", title="Approvals paid out"),
        "waiting_rate": Rate("waiting", "people", sign=-1, title="People waiting"),
        "served_rate": served,
        "queue_disparity": Disparity(queue_time, normalise_by_sum=True),
        "served_disparity": Disparity(served),
    }


def baseline_policies(
    action_groups: int, banks: Sequence[str] = ("",), disadvantaged: Sequence[bool] = (False, True)
) -> dict[str, dict[str, object]]:
    """Return two simple rules and the grid-searched fixed policy of appendix D.3.

    All banks get the same policy.

    Args:
        action_groups: 1 for one threshold and one relief share for all groups; the published
            pairs are then averaged.
        banks: Prefix of each bank's agents.
        disadvantaged: Whether each group is disadvantaged, by code.
    """

    def fixed(threshold: Any, relief: Any) -> dict[str, Any]:
        values = {"admissions": threshold, "debt_management": relief}
        for agent, value in values.items():
            if action_groups == 1:
                values[agent] = float(np.mean(value))
            elif np.ndim(value):
                values[agent] = tuple(value[int(worse)] for worse in disadvantaged)
        values |= {"disbursement": "random"}
        return {f"{bank}{role}": value for bank in banks for role, value in values.items()}

    return {
        "admit_all_no_relief": fixed(0.0, 0.0),
        "thresholds_half_no_relief": fixed(0.5, 0.0),
        "published_fixed_policy": fixed((0.0, 0.0), (0.12, 0.18)),
    }


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
# What each agent observes of a person besides the group.
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
    group_features: tuple[Feature, ...],
    more: Mapping[str, tuple[Feature, ...]],
    banks: Sequence[str],
) -> dict[str, EntitySpace]:
    """Return the spaces of applicants, queue and borrowers, with time and profit as context.

    Args:
        population: Number of rows for the queue and for borrowers.
        applicants: Number of rows for applicants.
        horizon: Upper bound of the time, months.
        profit: Upper bound of the bank's total profit, thousand dollars.
        group_features: Features that reveal a person's group.
        more: Further context of each agent.
        banks: Prefix of each bank's agents.
    """
    context = (
        Feature("time", 0, horizon, "months"),
        Feature("total_profit", 0, profit, "thousand dollars", "TOTBANKPROF"),
    )
    rows = {"admissions": applicants}
    return {
        f"{bank}{agent}": EntitySpace(
            rows.get(agent, population),
            (*group_features, *features),
            (*context, *more.get(agent, ())),
        )
        for bank in banks
        for agent, features in _FEATURES.items()
    }


def action_spaces(
    scored: int, groups: tuple[str, ...], banks: Sequence[str] = ("",)
) -> dict[str, ActionSpace]:
    """Return the spaces of thresholds, queue priorities and relief shares.

    Args:
        scored: Number of rows that the disbursement agent scores.
        groups: Groups with their own threshold and relief share; empty for one for all.
        banks: Prefix of each bank's agents.
    """
    of_role = {
        "admissions": Unit(per_group("threshold", groups, meaning=_THRESHOLD)),
        "disbursement": PerEntity(scored, Element("priority", meaning=_PRIORITY)),
        "debt_management": Unit(per_group("relief", groups, meaning=_RELIEF)),
    }
    return {f"{bank}{role}": space for bank in banks for role, space in of_role.items()}


def _settled(step: Moment) -> dict[str, Array]:
    """Return whose loan ends in this step, and who of them has repaid it."""
    ended = step.components.ended
    return {"settled": ended, "repaid": ended - step.components.defaulted}


def _applications(step: Moment) -> dict[str, Array]:
    return {
        "asked": step.components.applied,
        "approved": step.components.approved,
        **_settled(step),
        "qualification_score": step.people["qualification_score"],
        "principal": step.people["principal"],
    }


def _payouts(step: Moment) -> dict[str, Array]:
    paid_out = step.components.disbursed
    return {
        "asked": paid_out + step.components.waiting,
        "paid_out": paid_out,
        **_settled(step),
        "time_waited": step.people["time_waited"],
        "principal": step.people["principal"],
    }


_PRINCIPAL = "its amount is the principal of the loan in dollars, granted or not"
RELIEF_LEFT_OUT = (
    "Relief is not logged: it is a share that holds for a whole group, and decides on no person."
)
APPLICATIONS = Decision(
    about=f"A row is an application for a loan that a bank approves or refuses; {_PRINCIPAL}.",
    left_out=RELIEF_LEFT_OUT,
    decision="approved",
    rows=_applications,
    outcome="repaid",
    score="qualification_score",
    amount="principal",
)
PAYOUTS = Decision(
    about="A row is a person in the queue in one month, whose loan is paid out or who waits on;"
    f" {_PRINCIPAL}.",
    left_out=RELIEF_LEFT_OUT,
    decision="paid_out",
    rows=_payouts,
    outcome="repaid",
    amount="principal",
)
DECISIONS = {"admission": APPLICATIONS, "payout": PAYOUTS}
