"""What the simplified loan environment keeps: state and noise (the components are `loan`'s)."""

from collections.abc import Mapping

import jax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fairgym.core import Struct, person_index


class LoanSimpleState(Struct):
    """The bank and its people. Per-person arrays have length `population`.

    `applicants` are the rows of those who apply in this step; their stage says so too.
    """

    time: Int[Array, ""]
    group: Int[Array, " people"]
    stage: Int[Array, " people"]
    interest_rate: Float[Array, " people"]
    term: Float[Array, " people"]
    principal: Float[Array, " people"]
    annual_income: Float[Array, " people"]
    debt_to_income: Float[Array, " people"]
    fico_low: Float[Array, " people"]
    fico_high: Float[Array, " people"]
    months_since_delinquency: Float[Array, " people"]
    total_profit: Float[Array, ""]
    total_losses: Float[Array, ""]
    total_payments: Float[Array, ""]
    applicants: Int[Array, " applicants"] = person_index()

    def columns(self, names: tuple[str, ...]) -> Mapping[str, Float[Array, " people"]]:
        """Some per-person columns by name."""
        return {name: getattr(self, name) for name in names}


class LoanSimpleNoise(Struct):
    """The randomness of one step, each number uniform in [0, 1).

    Attributes:
        outcome: decides whether a loan is repaid.
        tie: orders approved people of equal priority.
        lot: draws the next step's applicants.
    """

    outcome: Float[Array, " people"]
    tie: Float[Array, " people"]
    lot: Float[Array, " people"]

    @classmethod
    def sample(cls, key: PRNGKeyArray, people: int) -> "LoanSimpleNoise":
        """Three independent numbers for each person."""
        outcome, tie, lot = jax.random.uniform(key, (3, people))
        return cls(outcome=outcome, tie=tie, lot=lot)
