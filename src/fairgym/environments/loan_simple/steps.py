"""State, noise, parameters and steps of the simplified loan environment (MAFE, appendix D.6).

Each function is a numbered step of the card and returns what later steps need.
`LoanSimple.transition` calls them. Formulas are at the end; the books are in `loan`'s steps.
"""

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln
from jaxtyping import Array, Bool, Float, Int

from fairgym.core import Struct, fraction, param, person_index
from fairgym.data import Score
from fairgym.environments.loan import dynamics as loan
from fairgym.environments.loan.dynamics import monthly_rate, scheduled_installment
from fairgym.environments.loan.params import BankParams
from fairgym.environments.loan.types import BankState


class LoanSimpleState(BankState):
    """State of the bank and its people.

    Attributes:
        applicants: Rows of the people who apply in this step; their stage also says so.
    """

    applicants: Int[Array, " applicants"] = person_index()


class LoanSimpleNoise(Struct):
    """Randomness of one step; each number is uniform in [0, 1).

    Attributes:
        outcome: Decides whether a loan is repaid.
        tie: Orders approved people of equal priority.
        lot: Samples the next step's applicants.
    """

    outcome: Float[Array, " people"]
    tie: Float[Array, " people"]
    lot: Float[Array, " people"]


class LoanSimpleParams(BankParams):
    """Parameters of the simplified loan environment; every field can be vmapped.

    Appendix D.6 of MAFE publishes no numbers. Those of `loan` are kept (table 8, with their
    source). The others are choices, documented in the environment's card.
    """

    relief_effect: float = param(
        25.0,
        "Gain in the log-odds of repayment per unit of relief (measured in `loan`, see the card).",
        low=0.0,
        high=1000.0,
    )
    share_paid_before_default: float = fraction(
        0.4,
        "Share of its installments that a loan pays before it defaults; by default the mean over"
        " the defaulted loans of the population's data.",
    )


class Applicants(Struct):
    """Step 1: the people who apply, one entry each, with their records."""

    rows: Int[Array, " applicants"]
    group: Int[Array, " applicants"]
    record: dict[str, Float[Array, " applicants"]]


def applicants_of(state: LoanSimpleState) -> Applicants:
    """Return the applicants (step 1), sampled in the last step so that agents observe them."""
    rows = state.applicants
    record = {name: column[rows] for name, column in state.record.items()}
    return Applicants(rows, state.group[rows], record)


class Settlement(Struct):
    """Step 4: relief and outcome of each applicant's loan."""

    relief: Float[Array, " applicants"]
    repaid: Bool[Array, " applicants"]
    defaulted: Bool[Array, " applicants"]


def settle(
    noise: LoanSimpleNoise,
    applicants: Applicants,
    approved: Bool[Array, " applicants"],
    score: Score,
    relief: Float[Array, " groups"],
    relief_effect: float | Float[Array, ""],
) -> Settlement:
    """Apply relief and decide the outcome of each loan (step 4)."""
    share = relief[applicants.group]
    chance = repayment_probability(score.predictor(applicants.record), share, relief_effect)
    repays = noise.outcome[applicants.rows] < chance
    return Settlement(share, approved & repays, approved & ~repays)


def cash_flows(
    applicants: Applicants,
    approved: Bool[Array, " applicants"],
    settlement: Settlement,
    params: LoanSimpleParams,
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Return dollars received from borrowers and due to depositors over a loan's life (step 5)."""
    record = applicants.record
    principal, term = record["principal"], record["term"]
    rate = loan.monthly_rate(record["interest_rate"])
    scheduled = loan.scheduled_installment(principal, rate, term)
    paid = loan_payments(
        scheduled, term, settlement.relief, settlement.repaid, params.share_paid_before_default
    )
    due = deposits_due(principal, term, params.deposit_rate)
    return jnp.sum(jnp.where(approved, paid, 0.0)), jnp.sum(jnp.where(approved, due, 0.0))


def move_records(
    state: LoanSimpleState,
    applicants: Applicants,
    settlement: Settlement,
    params: LoanSimpleParams,
) -> dict[str, Float[Array, " people"]]:
    """Update the credit records of people whose loan has ended (step 6)."""
    better = settlement.repaid.astype(jnp.float32) - settlement.defaulted.astype(jnp.float32)
    record = loan.next_record(
        applicants.record, better, params.fico_change, params.delinquency_change
    )
    return {
        name: getattr(state, name).at[applicants.rows].set(column, unique_indices=True)
        for name, column in record.items()
    }


Numbers = Float[Array, " applicants"]
Flags = Bool[Array, " applicants"]
Parameter = float | Float[Array, ""]


def repayment_probability(predictor: Numbers, relief: Numbers, relief_effect: Parameter) -> Numbers:
    """Return the probability of repayment, sigmoid(logit(QUALSCORE) + effect a).

    Without relief it is the score itself.

    Args:
        predictor: Log-odds of the qualification score.
        relief: Share a of each installment that is postponed.
        relief_effect: Log-odds per unit of relief.
    """
    return jax.nn.sigmoid(predictor + relief_effect * relief)


def months_waited(priority: Numbers, approved: Flags, tie: Numbers, cap: int) -> Numbers:
    """Return the months until each approved person is paid out: floor(rank / cap).

    Args:
        priority: Priority of each applicant; the highest is paid first.
        approved: Whether the person is in the queue.
        tie: Independent uniform numbers; among equal priorities the lower `tie` comes first.
        cap: Number of loans paid out per month.

    Returns:
        Whole months; 0 for people who are not approved.
    """
    order = jnp.lexsort((tie, jnp.where(approved, -priority, jnp.inf)))
    rank = (
        jnp.zeros(order.shape, jnp.int32)
        .at[order]
        .set(jnp.arange(order.size, dtype=jnp.int32), unique_indices=True)
    )
    return jnp.where(approved, (rank // cap).astype(jnp.float32), 0.0)


def written_off(relief: Numbers, term: Numbers) -> Numbers:
    """Return the share of a repaid loan that relief a leaves unpaid after n installments.

    As in `loan` (equations 6 and 7), what relief takes from an installment is spread over the
    remaining ones, here without interest. With k installments left, including the current one, it
    pays (1 - a) / k of what is owed. So the share
    prod_{k=1..n} (1 - (1 - a) / k) = Gamma(n + a) / (Gamma(n + 1) Gamma(a)) is never paid: nothing
    at a = 0, everything at a = 1.

    Args:
        relief: Share a of each installment, in [0, 1].
        term: Number of installments n.
    """
    logarithm = gammaln(term + relief) - gammaln(term + 1.0) - gammaln(relief)
    return jnp.where(relief > 0.0, jnp.exp(logarithm), 0.0)


def loan_payments(
    scheduled: Numbers, term: Numbers, relief: Numbers, repaid: Flags, share_before: Parameter
) -> Numbers:
    """Return the payments that the bank receives over a loan's life, in dollars.

    A repaid loan pays its installments less what relief leaves unpaid at the end of the term. A
    defaulted loan pays the share `share_before` of that.
    """
    paid = (1.0 - written_off(relief, term)) * scheduled * term
    return paid * jnp.where(repaid, 1.0, share_before)


def deposits_due(principal: Numbers, term: Numbers, deposit_rate: Parameter) -> Numbers:
    """Return the payments due to depositors over a loan's life, in dollars.

    The deposit that funds a payout is returned as an annuity over the loan's term, whatever the
    borrower does.
    """
    rate = monthly_rate(jnp.full_like(term, deposit_rate))
    return scheduled_installment(principal, rate, term) * term
