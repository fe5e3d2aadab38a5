"""What depositors are owed, and one loan followed by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym

IDLE, WAITING, REPAYING = range(3)


def predictor(score, columns):
    """A fitted regression in float64, from its stored coefficients."""
    return score.intercept + sum(w * columns[name] for name, w in score.coefficients.items())


@pytest.fixture(scope="session")
def scores():
    return fairgym.data.load_population("loan").scores


def test_people_carry_a_share_of_their_own_residual(start, params, scores):
    """What the row of the data paid of its term, less what is usual for such a row."""
    data = fairgym.data.load_population("loan").columns
    columns = {**data, "fico": 0.5 * (data["fico_low"] + data["fico_high"])}
    usual = np.clip(predictor(scores["propensity"], columns), 0.0, 1.0)
    own = data["months_to_default"] / data["term"] - usual
    names = ("interest_rate", "term", "principal", "annual_income", "debt_to_income", "fico_low")
    rows: dict[tuple[float, ...], set[float]] = {}
    for row, residual in zip(zip(*(data[n] for n in names), strict=True), own, strict=True):
        rows.setdefault(tuple(map(float, row)), set()).add(float(residual))
    state = start(jax.random.key(0), params)
    people = zip(*(np.asarray(getattr(state, n)) for n in names), strict=True)
    for row, residual in zip(people, np.asarray(state.residual), strict=True):
        (found,) = rows[tuple(map(float, row))]
        assert float(residual) == pytest.approx(0.2 * found, abs=1e-5)
    assert np.std(state.residual) > 0.02
    without = start(jax.random.key(0), params.replace(residual_share=0.0))
    assert (np.asarray(without.residual) == 0).all()


# ------------------------------------------------------------------------------- the bank


def test_deposits_owed_are_the_payouts_and_their_interest(env, params, start, transition):
    """Let the bank pay out a queue and follow what it owes to the last month."""
    state = start(jax.random.key(0), params)
    state = state.replace(
        stage=jnp.full_like(state.stage, WAITING), applying=state.applying & False
    )
    noise = env.noise(jax.random.key(0), params)
    actions = {
        "admissions": jnp.ones(2),
        "disbursement": jnp.arange(env.population) / env.population,
        "debt_management": jnp.zeros(2),
    }
    after, _, _ = transition(noise, state, actions, params)
    paid_out = np.flatnonzero(np.asarray(after.stage) == REPAYING)
    assert len(paid_out) == env.disbursement_cap
    lent = np.asarray(state.principal, np.float64)[paid_out].sum()
    owed, interest = lent, 0.0
    schedule = np.asarray(after.deposits.amounts, np.float64)[1:]
    for due in schedule:
        interest += owed * params.deposit_rate / 12
        owed += owed * params.deposit_rate / 12 - due
    assert owed == pytest.approx(0.0, abs=1e-4 * lent)
    assert schedule.sum() == pytest.approx(lent + interest, rel=1e-5)
    # borrowers who all stop paying change nothing in it
    unlucky = noise.replace(payment=jnp.full_like(noise.payment, -1.0))
    for month in range(3):
        after, components, _ = transition(
            unlucky,
            after.replace(stage=jnp.where(after.stage == WAITING, IDLE, after.stage)),
            actions,
            params,
        )
        assert float(components.profit) == pytest.approx(-schedule[month] / 1_000, rel=1e-5)
    np.testing.assert_allclose(after.deposits.amounts[1:], schedule, rtol=1e-5)


# ------------------------------------------------------------------------- one loan by hand


@pytest.fixture
def one_loan(env, params, start, transition, scores):
    """Person 0 has just been paid 10,000 dollars at 12% for 36 months; nobody else does anything.

    `follow(shares, relief)` makes that person able to pay these shares of each installment and
    returns the list of (stage, warning, balance, components) after each month.
    """
    state = start(jax.random.key(0), params)
    away = jnp.full_like(state.stage, WAITING).at[0].set(REPAYING)
    state = state.replace(
        stage=away,
        interest_rate=state.interest_rate.at[0].set(0.12),
        term=state.term.at[0].set(36.0),
        matures_at=state.matures_at.at[0].set(36),
        balance=state.balance.at[0].set(10_000.0),
        fico_low=state.fico_low.at[0].set(700.0),
        fico_high=state.fico_high.at[0].set(704.0),
        applying=state.applying & False,
    )
    look, draw = jax.jit(env.people), jax.jit(env.noise)

    def follow(shares, relief=0.0):
        now, months = state, []
        actions = {
            "admissions": jnp.ones(2),
            "disbursement": jnp.zeros(env.population),
            "debt_management": jnp.full((2,), relief),
        }
        for share in shares:
            # the queue is put back: only person 0 matters
            now = now.replace(stage=jnp.where(jnp.arange(env.population) > 0, WAITING, now.stage))
            now = now.replace(applying=now.applying & False)
            people = look(now)
            rate, left = 0.01, 36 - int(now.time)
            asked = (1 - relief) * rate / (1 - 1.01**-left) * float(now.balance[0])
            columns = {name: float(people[name][0]) for name in scores["propensity"].coefficients}
            income = max(float(now.annual_income[0]), 1.0)
            columns["debt_to_income"] = float(now.debt_to_income[0]) + 1_200 * asked / income
            usual = np.clip(predictor(scores["propensity"], columns), 0, 1)
            propensity = np.clip(usual + float(now.residual[0]), 0, 1)
            noise = draw(jax.random.key(0), params)
            noise = noise.replace(payment=noise.payment.at[0].set(share - propensity))
            now, components, _ = transition(noise, now, actions, params)
            months.append((int(now.stage[0]), bool(now.warning[0]), now, components))
        return months

    return follow


def test_a_borrower_who_pays_in_full_ends_at_zero(one_loan):
    """36 payments of 332.14 dollars; the record rises; the loan counts as repaid."""
    months = one_loan([1.0] * 36)
    assert [stage for stage, *_ in months] == [REPAYING] * 35 + [IDLE]
    last = months[-2][2]
    assert float(last.installment[0]) == pytest.approx(332.14, abs=0.05)
    assert float(last.balance[0]) == pytest.approx(332.14 / 1.01, abs=0.5)
    end, components = months[-1][2], months[-1][3]
    assert float(end.balance[0]) == 0.0
    assert components.ended.sum() == 1
    assert components.defaulted.sum() == 0
    assert float(end.fico_low[0]) == 800.0
    assert float(end.fico_high[0]) == 804.0


def test_two_months_without_payment_are_a_default(one_loan):
    months = one_loan([1.0, 0.0, 0.0])
    assert [(stage, warned) for stage, warned, *_ in months] == [
        (REPAYING, False),
        (REPAYING, True),
        (IDLE, False),
    ]
    end, components = months[-1][2], months[-1][3]
    assert components.defaulted.sum() == components.ended.sum() == 1
    assert float(end.fico_low[0]) == 600.0
    assert float(end.balance[0]) == 0.0


def test_a_warning_that_is_made_good_is_forgotten(one_loan):
    months = one_loan([1.0] * 9 + [0.0, 1.0, 1.0, 1.0])
    # 9/10 is not behind; ever larger installments after the gap keep it so
    warnings = [warned for _, warned, *_ in months]
    assert not any(warnings[:9])
    months = one_loan([1.0] * 8 + [0.05, 1.0, 1.0, 1.0])
    assert [warned for _, warned, *_ in months] == [False] * 8 + [True] + [False] * 3
    assert months[-1][0] == REPAYING


def test_relief_keeps_a_weak_borrower_and_is_written_off(one_loan):
    """One who can pay 85% defaults in month 2; with 10% relief the loan is repaid."""
    assert [stage for stage, *_ in one_loan([0.85] * 2)] == [REPAYING, IDLE]
    months = one_loan([0.85] * 36, relief=0.1)
    assert months[-1][0] == IDLE
    assert months[-1][3].defaulted.sum() == 0
    left = float(months[-2][2].balance[0])
    assert left > 1.5 * 332  # more than the last installment asks for
    assert float(months[-1][2].balance[0]) == 0.0
    assert float(months[-1][2].fico_low[0]) == 800.0
