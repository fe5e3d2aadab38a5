"""Parameters of the loan environment (MAFE, table 8, where published)."""

from fairgym.core import fraction, param
from fairgym.core.params import Number
from fairgym.environments._common.base import SampledParams


class BankParams(SampledParams):
    """Parameters shared by the two loan environments."""

    disadvantaged_share: float = fraction(0.5, "Share of the disadvantaged in the population.")
    deposit_rate: float = fraction(
        0.03,
        "Interest that the bank pays on the deposits that fund its loans.",
        unit="per year",
    )
    fico_change: float = param(
        100.0,
        "Gain in FICO when a loan is repaid, and loss when it defaults (table 8, equation 9).",
        unit="points",
        low=0.0,
        high=550.0,
    )
    delinquency_change: float = param(
        5.0,
        "Gain in the months since the last delinquency when a loan is repaid, and loss when it"
        " defaults (table 8, equation 9).",
        unit="months",
        low=0.0,
        high=1000.0,
    )


class LoanParams(BankParams):
    """Parameters of the loan environment; every field can be vmapped.

    Published values name their source. The others are choices, documented in the environment's
    card.
    """

    group_size: Number = param(
        1.0,
        "Size of a group, as a multiple of its size given by the data and `disadvantaged_share`.",
        low=1e-6,
        high=1e6,
        per="group",
    )
    payment_noise: float = fraction(
        0.025, "Standard deviation sigma of the payment noise (table 8, equation 8)."
    )
    default_ratio: float = fraction(
        0.9,
        "A borrower who has paid less than this share of all requests is behind (appendix F:"
        " more than 10% behind).",
    )
    relief_forgiven: float = fraction(
        0.5,
        "Share of the relief that is taken off the balance; the rest is postponed (not published).",
    )
    residual_share: float = fraction(
        0.0,
        "Share of the residual of the fitted payment propensity that each person keeps; at 0"
        " everybody pays the fitted propensity (not published).",
    )
    income_change: float = param(
        0.0,
        "Gain in income when a loan is repaid, and loss when it defaults (equation 9; not"
        " published).",
        unit="dollars per year",
        low=0.0,
        high=1e6,
    )
    debt_to_income_change: float = param(
        0.0,
        "Fall of the debt-to-income ratio when a loan is repaid, and rise when it defaults"
        " (equation 9; not published).",
        unit="percent",
        low=0.0,
        high=100.0,
    )
