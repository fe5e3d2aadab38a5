"""The loan environment: one bank, three agents (Lazri et al., MAFE, appendix F)."""

from fairgym.environments.loan.environment import Loan, LoanComponents, LoanState
from fairgym.environments.loan.params import LoanParams

__all__ = ["Loan", "LoanComponents", "LoanParams", "LoanState"]
