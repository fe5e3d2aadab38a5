"""Simplified loan environment: one decision per applicant (MAFE, appendix D.6)."""

from fairgym.environments.loan_simple.environment import LoanSimple
from fairgym.environments.loan_simple.steps import LoanSimpleParams

__all__ = ["LoanSimple", "LoanSimpleParams"]
