"""Published metrics of the loan environment, and the fixed policies it is compared with."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairgym.environments._sampled import PublishedProfit
from fairgym.fairness import Direct, Disparity, Metric, Rate

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
    wait = rate("waited", "disbursed", title="wait", sign=-1, unit="months")
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


def published_of_banks(profit_normaliser: float, banks: Sequence[str]) -> dict[str, Metric]:
    """The published metrics of each bank.

    Args:
        profit_normaliser: as for `published_metrics`.
        banks: what the names of each bank's metrics begin with.
    """
    return {
        name: metric
        for bank in banks
        for name, metric in published_metrics(profit_normaliser, bank).items()
    }


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
) -> dict[str, dict[str, Any]]:
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
