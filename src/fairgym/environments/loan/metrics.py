"""Published metrics of the loan environment, and the fixed policies it is compared with."""

from typing import Any

import numpy as np

from fairgym.environments._sampled import PublishedProfit
from fairgym.fairness import Direct, Disparity, Metric, Rate

# Table 8, in thousand dollars.
PROFIT = PublishedProfit(8.9e4, population=10_000, horizon=400)


def published_metrics(profit_normaliser: float) -> dict[str, Metric]:
    """Three rewards and three disparities (MAFE, tables 1 and 8, appendix F)."""
    admission = Rate("approved", "applied")
    wait = Rate("waited", "disbursed", sign=-1, title="Wait", unit="months")
    default = Rate("defaulted", "ended", sign=-1)
    return {
        "profit": Direct("profit", normaliser=profit_normaliser),
        "admission_rate": admission,
        "default_rate": default,
        "admission_disparity": Disparity(admission),
        "wait_disparity": Disparity(wait, normalise_by_sum=True),
        "default_disparity": Disparity(default),
    }


def queue_metrics() -> dict[str, Metric]:
    """Measures that see the people still in the queue, whom the published wait leaves out.

    The months that everybody has waited so far, per person approved: what the published mean wait
    would be if those still waiting were paid out at the end. And the share of approvals paid out.
    """
    queue_time = Rate("waiting", "approved", sign=-1, title="Time in the queue", unit="months")
    return {
        "queue_time": queue_time,
        "payout_rate": Rate("disbursed", "approved", title="Approved people paid out"),
        "queue_disparity": Disparity(queue_time, normalise_by_sum=True),
    }


def baseline_policies(action_groups: int) -> dict[str, dict[str, Any]]:
    """Two simple rules, and the grid-searched fixed policy of appendix D.3.

    With one threshold and one relief share for all (`action_groups` 1) the published pairs are
    averaged.
    """

    def fixed(threshold: Any, relief: Any) -> dict[str, Any]:
        values = {"admissions": threshold, "debt_management": relief}
        if action_groups == 1:
            values = {agent: float(np.mean(value)) for agent, value in values.items()}
        return values | {"disbursement": "random"}

    return {
        "admit_all_no_relief": fixed(0.0, 0.0),
        "thresholds_half_no_relief": fixed(0.5, 0.0),
        "published_fixed_policy": fixed((0.0, 0.0), (0.12, 0.18)),
    }
