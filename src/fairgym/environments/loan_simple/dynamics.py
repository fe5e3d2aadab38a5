"""The formulas of the simplified loan environment (MAFE, appendix D.6).

| symbol | name here |
| --- | --- |
| QUALSCORE | `qualification`; its log-odds are `predictor` |
| a (relief) | `relief` |
| S (equation 7) | `scheduled` |
| P_t | `profit` |
| N_T | sum of `months_waited` |

Installments, scores, profit's annuity and the bankruptcy rule are those of
`fairgym.environments.loan.dynamics`. All functions work elementwise on arrays with one entry per
applicant, in dollars and months.
"""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jaxtyping import Array, Bool, Float

from fairgym.environments.loan.dynamics import monthly_rate, scheduled_installment

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


def mean_share_before_default(columns: Mapping[str, np.ndarray]) -> float:
    """Mean share of the term that the defaulted loans of the data had paid."""
    defaulted = columns["defaulted"].astype(bool)
    return float(np.mean((columns["months_to_default"] / columns["term"])[defaulted]))
