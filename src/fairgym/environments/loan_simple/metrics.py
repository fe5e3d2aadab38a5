"""Normaliser of the simplified loan environment's profit; its metrics are those of `loan`."""

from fairgym.environments.loan.metrics import PROFIT

# Loans that the full environment can pay out at the size that the normaliser is taken to be for, by
# its default cap of 1% of the people a month. Neither the people nor the cap are published.
INFERRED_LOANS = PROFIT.population // 100 * PROFIT.horizon
PROFIT_PER_LOAN = PROFIT.amount / INFERRED_LOANS


def profit_scale(applicants: int, horizon: int) -> float:
    """The profit per loan that table 8 is taken to stand for, for all loans that there can be here.

    A loan's whole profit is booked at once, whereas most loans of the full environment are still
    running, or waiting, when its episode ends: scaled with people and steps alone its normaliser
    would be ten times too small here.

    Args:
        applicants: number of people who apply in each step.
        horizon: number of steps.

    Returns:
        Thousand dollars.
    """
    return PROFIT_PER_LOAN * applicants * horizon
