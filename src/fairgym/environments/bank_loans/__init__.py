"""Bank loans environment (Hu, Lear and Zhang 2023, section VI-A; D'Amour et al. 2020)."""

from fairgym.environments.bank_loans.environment import BankLoans
from fairgym.environments.bank_loans.types import BankLoansComponents, BankLoansParams

__all__ = ["BankLoans", "BankLoansComponents", "BankLoansParams"]
