"""Normaliser of the simplified loan environment's profit; its metrics are those of `loan`."""

from fairgym.environments.loan.metrics import PROFIT

# Loans that the full environment can pay out at the published size, 100 a month.
PUBLISHED_LOANS = 100 * PROFIT.horizon
PROFIT_PER_LOAN = PROFIT.amount / PUBLISHED_LOANS


def profit_scale(applicants: int, horizon: int) -> float:
    """The published profit per loan, for as many loans as there can be here.

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
