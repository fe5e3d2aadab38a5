"""The numbers of the loan environment (MAFE, table 8, where published)."""

from fairgym.core import fraction, param
from fairgym.core.params import Number
from fairgym.environments._common.base import SampledParams


class BankParams(SampledParams):
    """Parameters that the two loan environments share."""

    disadvantaged_share: float = fraction(0.5, "share of the disadvantaged group in the population")
    deposit_rate: float = fraction(
        0.03, "interest that the bank pays on the deposits that fund its loans", unit="per year"
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


class LoanParams(BankParams):
    """Parameters of the loan environment; every field may be vmapped over.

    Published values are marked with their source; the others are documented choices, see the
    environment's card.
    """

    group_size: Number = param(
        1.0,
        "size of a group, as a multiple of what the data and `disadvantaged_share` make it",
        low=1e-6,
        high=1e6,
        per="group",
    )
    payment_noise: float = fraction(
        0.025, "standard deviation sigma of the payment noise (table 8, equation 8)"
    )
    default_ratio: float = fraction(
        0.9,
        "a borrower is behind when less than this share of all requests was paid"
        " (appendix F: more than 10% behind)",
    )
    relief_forgiven: float = fraction(
        0.5,
        "share of the relief that is taken off the balance; the rest of it is put off (not"
        " published)",
    )
    residual_share: float = fraction(
        0.0,
        "share of the own residual of the fitted payment propensity that each person carries (not"
        " published; 0: everybody pays what is usual for their features)",
    )
    income_change: float = param(
        0.0,
        "c for ANNUALINC (equation 9; not published)",
        unit="dollars per year",
        low=0.0,
        high=1e6,
    )
    debt_to_income_change: float = param(
        0.0,
        "lowering of DTI on repayment, rise on default (equation 9; not published)",
        unit="percent",
        low=0.0,
        high=100.0,
    )
