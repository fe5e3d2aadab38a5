"""Declarations of the loan environment: observations, actions, published metrics and baselines.

Features: MAFE, table 2; metrics: MAFE, table 8, appendix F.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairgym.core import ActionSpace, Element, EntitySpace, Feature, PerEntity, Unit, per_group
from fairgym.environments._common.base import PublishedProfit
from fairgym.fairness import Direct, Disparity, Metric, Rate

# What higher actions do.
_THRESHOLD = "applicants whose qualification score is at least this are approved"
_PRIORITY = (
    "each month those with the highest priorities in the queue are paid out, so that only"
    " differences between people matter"
)
_RELIEF = "share of the installment that borrowers need not pay"

# Table 8, in thousand dollars.
PROFIT = PublishedProfit(8.9e4, population=10_000, horizon=400)


def published_metrics(profit_normaliser: float, bank: str = "") -> dict[str, Metric]:
    """Three rewards and three disparities (MAFE, tables 1 and 8, appendix F).

    Args:
        profit_normaliser: thousand dollars that count as 1.
        bank: what the names of one bank of several begin with.
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
    """Measures that see the people still in the queue, whom the published wait leaves out.

    The months that everybody has waited so far, per person approved: what the published mean wait
    would be if those still waiting were paid out at the end. The share of approvals paid out; that
    of the people waiting, a mean over the months; and of the people ever approved the share that
    was ever paid out, whose complement was never served.
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
    """Two simple rules, and the grid-searched fixed policy of appendix D.3; the same for all banks.

    Args:
        action_groups: 1 for one threshold and one relief share for all, which averages the
            published pairs.
        banks: what the names of each bank's agents begin with.
        disadvantaged: True for each group that is one of the disadvantaged, by code.
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
    banks: Sequence[str],
) -> dict[str, EntitySpace]:
    """Applicants, waiting people and borrowers; time and the bank's profit as context.

    Args:
        population: rows for those who wait or repay.
        applicants: rows for those who apply.
        horizon: months, the range of the time.
        profit: thousand dollars, the range of the bank's total profit.
        telling: what tells a person's group.
        more: context that an agent is shown besides.
        banks: what the names of each bank's agents begin with.
    """
    context = (
        Feature("time", 0, horizon, "months"),
        Feature("total_profit", 0, profit, "thousand dollars", "TOTBANKPROF"),
    )
    rows = {"admissions": applicants}
    return {
        f"{bank}{agent}": EntitySpace(
            rows.get(agent, population),
            (*telling, *features),
            (*context, *more.get(agent, ())),
        )
        for bank in banks
        for agent, features in _FEATURES.items()
    }


def action_spaces(
    scored: int, groups: tuple[str, ...], banks: Sequence[str] = ("",)
) -> dict[str, ActionSpace]:
    """Thresholds, queue scores, relief shares.

    Args:
        scored: rows that the disbursement agent scores.
        groups: one threshold and one relief share for each; empty for one for all.
        banks: what the names of each bank's agents begin with.
    """
    of_role = {
        "admissions": Unit(per_group("threshold", groups, meaning=_THRESHOLD)),
        "disbursement": PerEntity(scored, Element("priority", meaning=_PRIORITY)),
        "debt_management": Unit(per_group("relief", groups, meaning=_RELIEF)),
    }
    return {f"{bank}{role}": space for bank in banks for role, space in of_role.items()}
