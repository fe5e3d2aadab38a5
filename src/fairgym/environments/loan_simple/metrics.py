"""The normaliser of the simplified loan environment's profit; the metrics are `loan`'s."""

# Table 8's 8.9e4 thousand dollars over the loans that the full environment can pay out
# (100 a month for 400 months).
PROFIT_PER_LOAN = 8.9e4 / (100 * 400)


def profit_scale(applicants: int, horizon: int) -> float:
    """The published profit per loan, for as many loans as there can be here.

    A loan's whole profit is booked at once, whereas most loans of the full environment are still
    running, or waiting, when its episode ends: scaled with people and steps alone its normaliser
    would be ten times too small here.

    Args:
        applicants: people who apply in each step.
        horizon: steps.

    Returns:
        Thousand dollars.
    """
    return PROFIT_PER_LOAN * applicants * horizon
