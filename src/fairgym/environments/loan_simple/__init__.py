"""The simplified loan environment: one decision event per applicant (MAFE, appendix D.6)."""

from fairgym.environments.loan.types import LoanComponents
from fairgym.environments.loan_simple.environment import LoanSimple
from fairgym.environments.loan_simple.types import (
    LoanSimpleNoise,
    LoanSimpleParams,
    LoanSimpleState,
)

__all__ = ["LoanComponents", "LoanSimple", "LoanSimpleNoise", "LoanSimpleParams", "LoanSimpleState"]
