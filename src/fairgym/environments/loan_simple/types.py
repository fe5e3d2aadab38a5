"""State and noise of the simplified loan environment; its components are those of `loan`."""

import jax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fairgym.core import Struct, person_index
from fairgym.environments.loan.types import BankState


class LoanSimpleState(BankState):
    """The bank and its people.

    Attributes:
        applicants: rows of those who apply in this step; their stage says so too.
    """

    applicants: Int[Array, " applicants"] = person_index()


class LoanSimpleNoise(Struct):
    """The randomness of one step, each number uniform in [0, 1).

    Attributes:
        outcome: decides whether a loan is repaid.
        tie: orders approved people of equal priority.
        lot: samples the next step's applicants.
    """

    outcome: Float[Array, " people"]
    tie: Float[Array, " people"]
    lot: Float[Array, " people"]

    @classmethod
    def sample(cls, key: PRNGKeyArray, people: int) -> "LoanSimpleNoise":
        """Sample three independent numbers for each person."""
        outcome, tie, lot = jax.random.uniform(key, (3, people))
        return cls(outcome=outcome, tie=tie, lot=lot)
