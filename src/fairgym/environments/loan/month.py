"""Results of the steps of one month of the loan environment, as returned by `steps.py`."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from fairgym.core import Struct, replace_rows

IDLE, WAITING, REPAYING = 0, 1, 2


class Admission(Struct):
    """Steps 1 and 2: each applicant's score and decision, and everybody's stage after them."""

    qualification: Float[Array, " applicants"]
    approved: Bool[Array, " applicants"]
    stage: Int[Array, " people"]
    waiting_since: Int[Array, " people"]


class Payout(Struct):
    """Step 3: the loans paid out, one entry per place; `due_later` by months from now."""

    rows: Int[Array, " places"]
    paid_out: Bool[Array, " places"]
    waited: Float[Array, " places"]
    principal: Float[Array, " places"]
    term: Float[Array, " places"]
    due_later: Float[Array, " months"]

    def start(self, column: Array, value: Array | float) -> Array:
        """Return the per-person column with a new value for those who are paid out."""
        return replace_rows(column, self.rows, self.paid_out, value)


class Collection(Struct):
    """Steps 4 and 5: installments in dollars; 0 is requested of people without a loan."""

    requested: Float[Array, " people"]
    paid: Float[Array, " people"]
    balance: Float[Array, " people"]
    total_requested: Float[Array, " people"]
    total_received: Float[Array, " people"]


class Ending(Struct):
    """Step 6: which loans end and how, and which borrowers are behind."""

    defaulted: Bool[Array, " people"]
    repaid: Bool[Array, " people"]
    ended: Bool[Array, " people"]
    warning: Bool[Array, " people"]

    def closed(self, value: Float[Array, " people"]) -> Float[Array, " people"]:
        """Return the column of the running loan, 0 where the loan has ended."""
        return jnp.where(self.ended, 0.0, value)


class Loans(Struct):
    """Steps 2 to 6 together: people's stages and loans at the end of the month."""

    stage: Int[Array, " people"]
    waiting_since: Int[Array, " people"]
    matures_at: Int[Array, " people"]
    balance: Float[Array, " people"]
    installment: Float[Array, " people"]
    total_requested: Float[Array, " people"]
    total_received: Float[Array, " people"]
    warning: Bool[Array, " people"]
    served: Bool[Array, " people"]


class Books(Struct):
    """Step 8: each bank's profit of this step and its books after it, thousand dollars."""

    profit: Float[Array, "*banks"]
    total_profit: Float[Array, "*banks"]
    total_losses: Float[Array, "*banks"]
    total_payments: Float[Array, "*banks"]

    @property
    def totals(self) -> dict[str, Float[Array, "*banks"]]:
        """The totals that the state keeps."""
        return {
            "total_profit": self.total_profit,
            "total_losses": self.total_losses,
            "total_payments": self.total_payments,
        }


class Month(Struct):
    """Results of a month's steps that the components count; one payout per bank."""

    admission: Admission
    payouts: tuple[Payout, ...]
    ending: Ending
    loans: Loans
    books: Books
