"""State, noise, parameters and steps of the simplified loan environment (MAFE, appendix D.6).

Each function is a numbered step of the card, and returns what later steps need.
`LoanSimple.transition` calls them; the formulas come first, the books are in `loan`'s steps.
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


class Applicants(Struct):
    """Step 1: the people who apply, one entry each, with their records."""

    rows: Int[Array, " applicants"]
    group: Int[Array, " applicants"]
    record: dict[str, Float[Array, " applicants"]]


def applicants_of(state: LoanSimpleState) -> Applicants:
    """Step 1: those sampled at the end of the last step, so that the agents could see them."""
    rows = state.applicants
    record = {name: column[rows] for name, column in state.record.items()}
    return Applicants(rows, state.group[rows], record)


class Settlement(Struct):
    """Step 4: relief of each applicant's loan, and how it ends."""

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
    """Step 4: relief, and the outcome of each loan."""
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
    """Step 5: dollars received of borrowers and due to depositors over the loans' whole lives."""
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
    """Step 6: credit records of those whose loan has ended move."""
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
    """Chance of repaying: sigmoid(logit(QUALSCORE) + effect a); without relief the score itself.

    Args:
        predictor: log-odds of the qualification score.
        relief: share a of each installment that is put off.
        relief_effect: log-odds per unit of relief.
    """
    return jax.nn.sigmoid(predictor + relief_effect * relief)


def months_waited(priority: Numbers, approved: Flags, tie: Numbers, cap: int) -> Numbers:
    """Months until each approved person is paid out: floor(rank / cap), 0 for the first `cap`.

    Args:
        priority: priority of each applicant; the highest is paid first.
        approved: whether the person is in the queue at all.
        tie: independent uniform numbers; of equal priorities the lower `tie` comes first.
        cap: loans paid out per month.

    Returns:
        Whole months; 0 for those not approved.
    """
    order = jnp.lexsort((tie, jnp.where(approved, -priority, jnp.inf)))
    rank = (
        jnp.zeros(order.shape, jnp.int32)
        .at[order]
        .set(jnp.arange(order.size, dtype=jnp.int32), unique_indices=True)
    )
    return jnp.where(approved, (rank // cap).astype(jnp.float32), 0.0)


def written_off(relief: Numbers, term: Numbers) -> Numbers:
    """Share of a repaid loan that relief a leaves unpaid at the end of n installments.

    As in the full environment (equations 6 and 7) what relief takes from an installment is spread
    over those that are left, here without interest on it. Of the installments with k left, this
    one included, each pays (1 - a) / k of what is owed, so that the share
    prod_{k=1..n} (1 - (1 - a) / k) = Gamma(n + a) / (Gamma(n + 1) Gamma(a)) is never paid: nothing
    at a = 0, everything at a = 1.

    Args:
        relief: share a of each installment, in [0, 1].
        term: number of installments n.
    """
    logarithm = gammaln(term + relief) - gammaln(term + 1.0) - gammaln(relief)
    return jnp.where(relief > 0.0, jnp.exp(logarithm), 0.0)


def loan_payments(
    scheduled: Numbers, term: Numbers, relief: Numbers, repaid: Flags, share_before: Parameter
) -> Numbers:
    """Payments that the bank receives for a loan in all its life, in dollars.

    A repaid loan pays its installments but for what relief has left at the end of the term, a
    defaulted one the share `share_before` of that.
    """
    paid = (1.0 - written_off(relief, term)) * scheduled * term
    return paid * jnp.where(repaid, 1.0, share_before)


def deposits_due(principal: Numbers, term: Numbers, deposit_rate: Parameter) -> Numbers:
    """Payments that depositors are due for a loan in all its life, in dollars.

    The deposit that funds a payout is returned as an annuity over the loan's term, whatever the
    borrower does.
    """
    rate = monthly_rate(jnp.full_like(term, deposit_rate))
    return scheduled_installment(principal, rate, term) * term
