"""Formulas of the loan environment (MAFE, appendix F).

| symbol | name here |
| --- | --- |
| B_t (BALANCE) | `balance` |
| r (INTRATE / 12) | `rate` |
| m - t + 1 (payments left, this one included) | `remaining` |
| S_t | `scheduled` |
| Y_t (CURRINSTALL) | `requested` |
| X_t | `paid` |
| p_t, N_t | `propensity`, `noise` |
| a (relief), the share of it taken off the balance | `relief`, `relief_forgiven` |
| TOTREQUEST, TOTRECEIVE, WARNING | `total_requested`, `total_received`, `warning` |
| P_t | `profit` |

All functions work elementwise on arrays of equal shape, in dollars and months.
"""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from fairgym.data import Score
from fairgym.environments._common.moves import moved

FICO_RANGE = (300.0, 850.0)
MONTHS_PER_YEAR = 12.0

Numbers = Float[Array, "..."]
Flags = Bool[Array, "..."]
Parameter = float | Numbers


def monthly_rate(interest_rate: Numbers) -> Numbers:
    """Return the monthly rate r = INTRATE / 12 of an annual rate (fractions, not percent)."""
    return interest_rate / MONTHS_PER_YEAR


def scheduled_installment(balance: Numbers, rate: Numbers, remaining: Numbers) -> Numbers:
    """Return the installment S = r / (1 - (1 + r)^-remaining) * B (equation 7).

    It is B / remaining where r = 0.

    Args:
        balance: Dollars still owed.
        rate: Monthly interest rate.
        remaining: Payments left, including this one; less than 1 counts as 1.

    Returns:
        The constant monthly payment, in dollars, that clears the balance in `remaining` payments.
    """
    remaining = jnp.maximum(remaining, 1.0)
    shrink = -jnp.expm1(-remaining * jnp.log1p(rate))
    return (
        jnp.where(rate > 0.0, rate / jnp.where(rate > 0.0, shrink, 1.0), 1.0 / remaining) * balance
    )


def requested_installment(scheduled: Numbers, relief: Parameter) -> Numbers:
    """Return the request Y = (1 - a) S after relief a in [0, 1]."""
    return (1.0 - relief) * scheduled


def payment(propensity: Numbers, noise: Numbers, scheduled: Numbers, requested: Numbers) -> Numbers:
    """Return the payment X = min(clip(p + n, 0, 1) S, Y) (equation 8).

    A borrower can pay the share p + n of the scheduled installment and never pays more than
    requested. Without relief this is the paper's X = clip(p + n, 0, 1) Y. With relief, the paper's
    formula taken literally would make X / Y independent of relief.
    """
    return jnp.minimum(jnp.clip(propensity + noise, 0.0, 1.0) * scheduled, requested)


def next_balance(
    balance: Numbers, rate: Numbers, paid: Numbers, forgiven: Parameter = 0.0
) -> Numbers:
    """Return B_t = (1 + r) B_{t-1} - X_t - F_t, at least 0 (equation 6 less the forgiven F_t).

    Args:
        balance: Dollars owed before the payment.
        rate: Monthly interest rate.
        paid: Dollars paid.
        forgiven: Dollars of the scheduled installment that never have to be paid.
    """
    return jnp.maximum((1.0 + rate) * balance - paid - forgiven, 0.0)


def default_flags(
    total_requested: Numbers, total_received: Numbers, warning: Flags, default_ratio: Parameter
) -> tuple[Flags, Flags]:
    """Return who defaults: behind (TOTRECEIVE < 0.9 TOTREQUEST) at two consecutive steps.

    Args:
        total_requested: Dollars requested on this loan so far, including this step.
        total_received: Dollars paid on it so far.
        warning: Whether the borrower was behind one step ago.
        default_ratio: 0.9 in the paper ("behind by more than 10%").

    Returns:
        `(defaulted, warning)`: whether in default now; whether behind now.
    """
    behind = total_received < default_ratio * total_requested
    return behind & warning, behind


def keeps_up(propensity: Numbers, relief: Parameter, default_ratio: Parameter) -> Flags:
    """Return whether a whole loan without noise escapes default.

    Each month min(p, 1 - a) of the scheduled installment is paid and 1 - a is requested, so the
    totals have the same ratio as each month.

    Args:
        propensity: Share of the scheduled installment that the borrower can pay.
        relief: Relief a, the same in every month.
        default_ratio: As in `default_flags`.
    """
    return jnp.minimum(propensity, 1.0 - relief) >= default_ratio * (1.0 - relief)


def debt_to_income_with(
    debt_to_income: Numbers, installment: Numbers, annual_income: Numbers
) -> Numbers:
    """Return DTI in percent, with the current loan's monthly installment added to other debt."""
    return debt_to_income + 100.0 * MONTHS_PER_YEAR * installment / jnp.maximum(annual_income, 1.0)


def current_record(record: Mapping[str, Numbers], installment: Numbers) -> dict[str, Numbers]:
    """Return the data's columns as they are now, with the current installment added to DTI."""
    income, debt = record["annual_income"], record["debt_to_income"]
    return {**record, "debt_to_income": debt_to_income_with(debt, installment, income)}


def qualification_score(score: Score, columns: Mapping[str, Numbers]) -> Numbers:
    """Return QUALSCORE, the fitted logistic regression of "repaid", in (0, 1)."""
    return jax.nn.sigmoid(score.predictor(columns))


def payment_propensity(score: Score, columns: Mapping[str, Numbers]) -> Numbers:
    """Return p, the fitted linear regression of the paid share of the term, clipped to [0, 1]."""
    return score.predict(columns)


def next_record(
    record: Mapping[str, Numbers],
    better: Numbers,
    fico_change: Parameter,
    delinquency_change: Parameter,
) -> dict[str, Numbers]:
    """Return the credit record after a loan has ended (equation 9).

    Args:
        record: `fico_low`, `fico_high` (points), `months_since_delinquency`.
        better: +1 for repaid, -1 for defaulted, 0 for no loan.
        fico_change: Constant c of both FICO columns.
        delinquency_change: Constant c of the months since the last delinquency.

    Returns:
        The same columns. FICO stays within 300 to 850, and its upper end is never below its lower.
    """
    low = moved(record["fico_low"], better, fico_change, *FICO_RANGE)
    return {
        "fico_low": low,
        "fico_high": moved(record["fico_high"], better, fico_change, low, FICO_RANGE[1]),
        "months_since_delinquency": moved(
            record["months_since_delinquency"], better, delinquency_change, 0.0, jnp.inf
        ),
    }


def deposits_due(
    principal: Float[Array, " loans"],
    term: Float[Array, " loans"],
    paid_out: Bool[Array, " loans"],
    deposit_rate: Parameter,
    months: int,
) -> Float[Array, " months"]:
    """Return the payments to depositors that newly paid-out loans add in each later month.

    Each payout is funded by a deposit. The deposit is returned as an annuity at the deposit rate
    over the loan's term, whatever the borrower does.

    Returns:
        Dollars due 1, 2, ..., `months` steps from now.
    """
    annuity = scheduled_installment(
        principal, monthly_rate(jnp.full_like(term, deposit_rate)), term
    )
    annuity = jnp.where(paid_out, annuity, 0.0)
    later = jnp.arange(1, months + 1, dtype=jnp.float32)
    return jnp.sum(jnp.where(later[:, None] <= term, annuity, 0.0), axis=1)


def is_bankrupt(total_losses: Numbers, total_payments: Numbers) -> Flags:
    """Return whether the sum of losses, max(0, -P), exceeds all payments received."""
    return total_losses > total_payments
