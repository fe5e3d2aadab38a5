"""The numbers of the simplified loan environment."""

from fairgym.core import Params, param


class LoanSimpleParams(Params):
    """Parameters of the simplified loan environment; every field may be vmapped over.

    Appendix D.6 of MAFE publishes no numbers of its own: those of the full environment are kept
    (table 8, with their source), the others are documented choices, see the environment's card.
    """

    relief_effect: float = param(
        25.0,
        "what relief adds to the log-odds of repaying, per unit of relief share"
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
    deposit_rate: float = param(
        0.03,
        "interest that the bank pays on the deposits that fund its loans",
        unit="per year",
        low=0.0,
        high=1.0,
    )
    fico_change: float = param(
        100.0,
        "c for FICO_LOW and FICO_HIGH: gained on repayment, lost on default (table 8, equation 9)",
        unit="points",
        low=0.0,
        high=550.0,
    )
    delinquency_change: float = param(
        5.0,
        "c for MTHS_SINCE_LAST_DELINQ (table 8, equation 9)",
        unit="months",
        low=0.0,
        high=1000.0,
    )
    bias_strength: float = param(
        0.0,
        "how far the groups' qualification scores are drawn apart at the start:"
        " weights exp(s z) and exp(-s z) when people are resampled",
        low=-10.0,
        high=10.0,
    )
    disadvantaged_share: float = param(
        0.5, "share of the disadvantaged group in the population", low=0.0, high=1.0
    )
    observe_group: float = param(
        1.0,
        "1: agents see the group of each person (table 8); 0: that feature reads 0",
        low=0.0,
        high=1.0,
    )
