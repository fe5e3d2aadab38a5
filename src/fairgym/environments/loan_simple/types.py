"""Parameters, state and noise of the simplified loan environment; its components are `loan`'s."""

from jaxtyping import Array, Float, Int

from fairgym.core import Struct, fraction, param, person_index
from fairgym.environments.loan.params import BankParams
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


class LoanSimpleParams(BankParams):
    """Parameters of the simplified loan environment; every field may be vmapped over.

    Appendix D.6 of MAFE publishes no numbers of its own: those of the full environment are kept
    (table 8, with their source), the others are documented choices, see the environment's card.
    """

    relief_effect: float = param(
        25.0,
        "gain in the log-odds of repaying per unit of relief share"
        " (from the full environment, see the card)",
        low=0.0,
        high=1000.0,
    )
    share_paid_before_default: float = fraction(
        0.4,
        "share of its installments that a loan pays before it defaults (by default the mean over"
        " the defaulted loans of the population's data)",
    )
