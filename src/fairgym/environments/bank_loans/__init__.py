"""Bank loans: whom to lend to (Hu, Lear and Zhang 2023, section 6.A; D'Amour et al. 2020)."""

from fairgym.environments.bank_loans.environment import BankLoans
from fairgym.environments.bank_loans.types import (
    BankLoansComponents,
    BankLoansNoise,
    BankLoansParams,
    BankLoansState,
    RecordingState,
    SelectiveComponents,
    SelectiveParams,
)

__all__ = [
    "BankLoans",
    "BankLoansComponents",
    "BankLoansNoise",
    "BankLoansParams",
    "BankLoansState",
    "RecordingState",
    "SelectiveComponents",
    "SelectiveParams",
]
