"""The loan environment: one bank, three agents (Lazri et al., MAFE, appendix F)."""

from fairgym.environments.loan.environment import Loan
from fairgym.environments.loan.params import LoanParams
from fairgym.environments.loan.types import LoanComponents

__all__ = ["Loan", "LoanComponents", "LoanParams"]
