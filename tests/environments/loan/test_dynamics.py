"""The formulas against closed forms and independent NumPy arithmetic."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgym.environments._common.moves import moved
from fairgym.environments.loan import dynamics

settings.register_profile("loan", max_examples=40)
settings.load_profile("loan")


def floats(low, high):
    """Numbers that float32 can hold."""
    numbers = st.floats(low, high, allow_subnormal=False)
    return numbers.map(lambda x: float(np.float32(x)))


BALANCES = floats(1_000.0, 40_000.0)
RATES = floats(2e-4, 0.03)  # monthly
TERMS = st.integers(1, 60)
SHARES = floats(0.0, 1.0)


def arrays(*values):
    return tuple(jnp.array([v], jnp.float32) for v in values)


# ------------------------------------------------------------------------- installments


@given(BALANCES, RATES, TERMS)
def test_who_pays_every_installment_ends_at_zero(principal, rate, months):
    """Equations (6) and (7) together; the same amount is due every month."""
    (balance, r) = arrays(principal, rate)
    asked = []
    for month in range(months):
        scheduled = dynamics.scheduled_installment(balance, r, jnp.array([float(months - month)]))
        asked.append(float(scheduled[0]))
        balance = dynamics.next_balance(balance, r, scheduled)
    assert abs(float(balance[0])) < 2e-4 * principal
    assert np.ptp(asked[: max(1, months - 1)]) < 1e-3 * asked[0]


@given(BALANCES, RATES, TERMS)
def test_installments_are_worth_the_balance(principal, rate, months):
    """The present value of the installments at the loan's rate is what was lent."""
    installment = float(dynamics.scheduled_installment(*arrays(principal, rate, months))[0])
    worth = sum(installment / (1.0 + rate) ** k for k in range(1, months + 1))
    assert worth == pytest.approx(principal, rel=2e-4)


@given(BALANCES, TERMS)
def test_without_interest_the_balance_is_split_evenly(principal, months):
    installment = dynamics.scheduled_installment(*arrays(principal, 0.0, months))
    assert float(installment[0]) == pytest.approx(principal / months, rel=1e-6)


def test_a_known_loan():
    """10,000 dollars at 12% a year over 36 months: 332.14 a month."""
    rate = dynamics.monthly_rate(jnp.array([0.12]))
    installment = dynamics.scheduled_installment(jnp.array([1e4]), rate, jnp.array([36.0]))
    assert float(installment[0]) == pytest.approx(332.14, abs=0.01)


# ------------------------------------------------------------------------- payments


def margin(relief, forgiven_share, rate=0.13, months=60, deposit_rate=0.03):
    """What a bank earns per dollar lent, of a borrower who pays all that is requested."""
    balance, received = jnp.array([1.0]), 0.0
    (r,) = arrays(rate / 12.0)
    for month in range(months):
        scheduled = dynamics.scheduled_installment(balance, r, jnp.array([float(months - month)]))
        requested = dynamics.requested_installment(scheduled, relief)
        forgiven = forgiven_share * (scheduled - requested)
        balance = dynamics.next_balance(balance, r, requested, forgiven)
        received += float(requested[0])
    deposit = deposit_rate / 12.0
    return received - months * deposit / (1.0 - (1.0 + deposit) ** -months)


def test_relief_that_is_put_off_pays_and_relief_that_is_forgiven_costs():
    """Interest runs on what is put off: 28.7 cents a dollar without relief, 35.3 with 40%."""
    reliefs = (0.0, 0.2, 0.4, 0.5)
    put_off = [margin(relief, 0.0) for relief in reliefs]
    assert put_off == pytest.approx([0.287, 0.330, 0.353, 0.339], abs=5e-4)
    for share in (0.5, 0.75, 1.0):
        earned = np.array([margin(relief, share) for relief in np.linspace(0.0, 0.6, 7)])
        assert (np.diff(earned) < 0).all()


@given(BALANCES, RATES, TERMS, SHARES)
def test_relief_forgiven_in_full_is_a_share_of_every_installment(principal, rate, months, relief):
    """The balance goes as if all were paid, so that every installment is (1 - a) times the same."""
    balance, r = arrays(principal, rate)
    full = float(dynamics.scheduled_installment(balance, r, jnp.array([float(months)]))[0])
    for month in range(months - 1):
        scheduled = dynamics.scheduled_installment(balance, r, jnp.array([float(months - month)]))
        requested = dynamics.requested_installment(scheduled, relief)
        assert float(requested[0]) == pytest.approx((1.0 - relief) * full, rel=2e-3, abs=1e-2)
        balance = dynamics.next_balance(balance, r, requested, scheduled - requested)


# ------------------------------------------------------------------------- default


def follow(shares, ratio=0.9):
    """Month of default (from 1) and the warnings, of one who pays these shares of 100 dollars."""
    requested = received = jnp.zeros(1)
    warning = jnp.zeros(1, bool)
    warnings = []
    for month, share in enumerate(shares, start=1):
        requested, received = requested + 100.0, received + 100.0 * share
        defaulted, warning = dynamics.default_flags(requested, received, warning, ratio)
        warnings.append(bool(warning[0]))
        if bool(defaulted[0]):
            return month, warnings
    return None, warnings


@pytest.mark.parametrize(
    ("shares", "month", "warnings"),
    [
        ([1, 1, 1, 1], None, [0, 0, 0, 0]),
        ([0, 0], 2, [1, 1]),
        # one bad month: behind, and still behind a month later
        ([1, 0, 1], 3, [0, 1, 1]),
        # a warning of one month that recovers, then another one
        ([1] * 8 + [0.05, 1, 1, 1], None, [0] * 8 + [1, 0, 0, 0]),
        ([1] * 8 + [0.05, 1, 0.2, 1], 12, [0] * 8 + [1, 0, 1, 1]),
        ([0.5, 1.5, 0.5, 1.5], None, [1, 0, 1, 0]),
        # nine tenths is not less than nine tenths
        ([0.5, 1.3], None, [1, 0]),
        ([0.91] * 60, None, [0] * 60),
        ([0.89] * 60, 2, [1, 1]),
    ],
)
def test_default_is_to_be_behind_twice_in_a_row(shares, month, warnings):
    assert follow(shares) == (month, [bool(w) for w in warnings])


@given(st.lists(SHARES, min_size=1, max_size=60))
def test_default_rule_on_any_sequence_of_payments(shares):
    """Against a plain reading of the rule; sequences at the very edge are left out."""
    ratios = [sum(shares[:k]) / k for k in range(1, len(shares) + 1)]
    if min(abs(r - 0.9) for r in ratios) < 1e-5:
        return
    behind = [r < 0.9 for r in ratios]
    expected = next((k + 2 for k in range(len(shares) - 1) if behind[k] and behind[k + 1]), None)
    assert follow(shares)[0] == expected


# ------------------------------------------------------------------------- the end of a loan


@given(floats(300, 846), floats(0, 40), st.lists(st.booleans()))
def test_the_upper_fico_is_never_below_the_lower(low, gap, history):
    """However often a person repays or defaults, at both ends of the scale."""
    low, high = arrays(low, min(low + gap, 850.0))
    for repaid in history:
        direction = jnp.array([1.0 if repaid else -1.0])
        low = moved(low, direction, 100.0, *dynamics.FICO_RANGE)
        high = moved(high, direction, 100.0, low, dynamics.FICO_RANGE[1])
        assert 300.0 <= float(low[0]) <= float(high[0]) <= 850.0


# ------------------------------------------------------------------------- deposits


@given(
    st.lists(st.tuples(BALANCES, st.sampled_from([36, 60]), st.booleans()), min_size=1, max_size=5),
    floats(0.0, 0.3),
)
def test_depositors_get_an_annuity_worth_the_payouts(loans, annual):
    """Its present value at the deposit rate is what was paid out, loan by loan and in sum."""
    principal, term, paid_out = (np.array(column) for column in zip(*loans, strict=True))
    due = np.asarray(
        dynamics.deposits_due(
            jnp.array(principal, jnp.float32),
            jnp.array(term, jnp.float32),
            jnp.array(paid_out),
            annual,
            60,
        ),
        np.float64,
    )
    lent = principal[paid_out].sum()
    worth = (due / (1.0 + annual / 12.0) ** np.arange(1, 61)).sum()
    assert worth == pytest.approx(lent, rel=1e-3)
    # as much in each month as long as the same loans run
    assert np.ptp(due[:36]) <= 1e-6 * due[0]
    assert np.ptp(due[36:]) <= 1e-6 * due[0]
    if lent and not (paid_out & (term == 60)).any():
        assert due[36] == 0.0
    # by hand: what is owed shrinks by each payment and grows at the deposit rate
    owed, interest = lent, 0.0
    for payment in due:
        interest += owed * annual / 12.0
        owed += owed * annual / 12.0 - payment
    assert owed == pytest.approx(0.0, abs=2e-3 * max(lent, 1.0))
    assert due.sum() == pytest.approx(lent + interest, rel=1e-3)
