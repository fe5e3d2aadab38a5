"""The numbers of the simplified loan environment."""

from fairgym.core import param
from fairgym.environments.loan.params import BankParams


class LoanSimpleParams(BankParams):
    """Parameters of the simplified loan environment; every field may be vmapped over.

    Appendix D.6 of MAFE publishes no numbers of its own: those of the full environment are kept
    (table 8, with their source), the others are documented choices, see the environment's card.
    """

    relief_effect: float = param(
        25.0,
        "gain in the log-odds of repaying per unit of relief share"
        " (from the full environment, see the card)",
        low=0.0,
        high=1000.0,
    )
    share_paid_before_default: float = param(
        0.4,
        "share of its installments that a loan pays before it defaults (by default the mean over"
        " the defaulted loans of the population's data)",
        low=0.0,
        high=1.0,
    )
