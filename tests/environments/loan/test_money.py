"""Installments, defaults, profit and deposits of a whole run, recomputed person by person."""

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


@pytest.fixture(scope="session")
def books(env, episode, scores):
    """What everybody owed and paid in each month, in float64 from the state before it."""
    state = {name: v[:-1].astype(np.float64) for name, v in episode.states.items()}
    repaying = state["stage"] == REPAYING
    rate = state["interest_rate"] / 12.0
    month = np.arange(env.horizon)[:, None]
    left = np.where(repaying, state["matures_at"] - month, 1.0)
    scheduled = rate / (1.0 - (1.0 + rate) ** -left) * state["balance"]
    relief = episode.relief[state["group"].astype(int)]
    requested = (1.0 - relief) * scheduled
    columns = dict(state)
    columns["debt_to_income"] = state["debt_to_income"] + 1_200 * requested / np.maximum(
        state["annual_income"], 1.0
    )
    usual = np.clip(predictor(scores["propensity"], columns), 0.0, 1.0)
    propensity = np.clip(usual + state["residual"], 0.0, 1.0)
    able = np.clip(propensity + episode.noise["payment"], 0.0, 1.0) * scheduled
    paid = np.where(repaying, np.minimum(able, requested), 0.0)
    return {
        "repaying": repaying,
        "left": left,
        "requested": np.where(repaying, requested, 0.0),
        "paid": paid,
        "balance": (1.0 + rate) * state["balance"]
        - paid
        - episode.params["relief_forgiven"] * (scheduled - requested),
    }


def test_people_carry_a_share_of_their_own_residual(env, start, params, episode, scores):
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
    kept = episode.states["residual"]
    assert (kept == kept[0]).all(), "it stays with the person"
    without = start(jax.random.key(0), params.replace(residual_share=0.0))
    assert (np.asarray(without.residual) == 0).all()


def test_balances_carry_interest_and_payments(episode, books):
    after = {name: v[1:] for name, v in episode.states.items()}
    on = books["repaying"] & (after["stage"] == REPAYING)
    before = {name: v[:-1] for name, v in episode.states.items()}
    assert on.sum() > 1_000
    for name, expected in {
        "balance": books["balance"],
        "total_requested": before["total_requested"] + books["requested"],
        "total_received": before["total_received"] + books["paid"],
        "installment": books["requested"],
    }.items():
        np.testing.assert_allclose(after[name][on], expected[on], rtol=1e-4, atol=0.05)


def test_a_loan_begins_with_the_principal_and_its_whole_term(env, episode):
    stage = episode.states["stage"]
    begun = (stage[:-1] == WAITING) & (stage[1:] == REPAYING)
    after = {name: v[1:] for name, v in episode.states.items()}
    assert (after["balance"] == after["principal"])[begun].all()
    for name in ("installment", "total_requested", "total_received", "warning"):
        assert not after[name][begun].any()
    month, person = np.nonzero(begun[:-1])
    np.testing.assert_array_equal(
        episode.people["time_to_maturity"][month + 1, person],
        episode.states["term"][month + 1, person],
    )


def test_loans_end_by_the_rules_and_records_move(env, episode, books):
    """Each loan followed by itself: 90% at two months in a row, or the end of the term."""
    stage, group = episode.states["stage"], episode.states["group"][0]
    ended, failed = np.zeros((env.horizon, 2)), np.zeros((env.horizon, 2))
    recovered = 0
    for person in range(env.population):
        requested = paid = 0.0
        warned = False
        for month in range(env.horizon):
            if not books["repaying"][month, person]:
                requested = paid = 0.0
                warned = False
                continue
            requested += books["requested"][month, person]
            paid += books["paid"][month, person]
            behind = paid < 0.9 * requested
            recovered += warned and not behind
            default, warned = behind and warned, behind
            over = default or books["left"][month, person] == 1
            assert (stage[month + 1, person] == IDLE) == over
            assert episode.states["warning"][month + 1, person] == (warned and not over)
            sign = 0 if not over else -1 if default else 1
            for name, c, low, high in (
                ("fico_low", 100, 300, 850),
                ("fico_high", 100, 300, 850),
                ("months_since_delinquency", 5, 0, np.inf),
                ("annual_income", 0, 0, np.inf),
                ("interest_rate", 0, 0, 1),
            ):
                before, after = episode.states[name][month : month + 2, person]
                assert after == pytest.approx(
                    np.clip(before + sign * c, low, high) if over else before
                )
            ended[month, group[person]] += over
            failed[month, group[person]] += default
    np.testing.assert_array_equal(episode.components["ended"], ended)
    np.testing.assert_array_equal(episode.components["defaulted"], failed)
    assert recovered > 0
    assert (episode.states["fico_high"] >= episode.states["fico_low"]).all()


def test_people_who_have_no_loan_do_not_change(episode):
    """Features move when a loan ends and at no other time."""
    before = {name: v[:-1] for name, v in episode.states.items()}
    idle = before["stage"] != REPAYING
    for name in ("fico_low", "months_since_delinquency", "annual_income", "debt_to_income", "term"):
        np.testing.assert_array_equal(episode.states[name][1:][idle], before[name][idle])


# ------------------------------------------------------------------------------- the bank


def deposits_due(env, episode):
    """Dollars due in each month: an annuity for every payout, kept whatever the borrower does."""
    stage, state = episode.states["stage"], episode.states
    rate = episode.params["deposit_rate"] / 12.0
    due = np.zeros(env.horizon + 61)
    for month, person in zip(*np.nonzero((stage[:-1] == 1) & (stage[1:] == 2)), strict=True):
        term = int(state["term"][month, person])
        principal = float(state["principal"][month, person])
        due[month + 1 : month + 1 + term] += principal * rate / (1 - (1 + rate) ** -term)
    return due


def test_money_in_is_money_out(env, episode, books):
    """Profits of all months = payments of all borrowers - payments to depositors."""
    due = deposits_due(env, episode)
    profit = episode.components["profit"].astype(np.float64) * 1_000
    flow = books["paid"].sum(axis=1) - due[: env.horizon]
    assert books["paid"].sum() > 1e6
    np.testing.assert_allclose(profit, flow, rtol=1e-4, atol=1.0)
    assert profit.sum() == pytest.approx(flow.sum(), rel=1e-4, abs=1e-6 * books["paid"].sum())
    # what the state says it owes is what is left of the annuities
    owed = episode.states["deposits"][-1, env.horizon : env.horizon + 60]
    np.testing.assert_allclose(owed, due[env.horizon : env.horizon + 60], rtol=1e-4, atol=0.5)
    end = {name: v[-1] for name, v in episode.states.items()}
    assert end["total_profit"] == pytest.approx(profit.sum() / 1_000, rel=1e-4)
    assert end["total_payments"] == pytest.approx(books["paid"].sum() / 1_000, rel=1e-4)


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


def test_bankrupt_as_soon_as_losses_exceed_payments(env, params, record):
    """Month by month against running sums, in runs where it happens and where it does not.

    Profits are not set off against losses: in the first run there are months of both.
    """
    ends = []
    for deposit_rate, relief in ((0.06, 0.15), (0.6, 0.15)):
        world = params.replace(deposit_rate=deposit_rate, residual_share=0.0)
        run = record(world, relief=(relief, relief))
        profit = run.components["profit"].astype(np.float64)
        due = deposits_due(env, run)[: env.horizon] / 1_000
        payments, losses = np.cumsum(profit + due), np.cumsum(np.maximum(0.0, -profit))
        for name, sums in (("total_losses", losses), ("total_payments", payments)):
            np.testing.assert_allclose(run.states[name][1:], sums, rtol=1e-4, atol=1e-2)
        sure = np.abs(losses - payments) > 1e-3
        np.testing.assert_array_equal(run.terminated[sure], (losses > payments)[sure])
        ends.append((bool(run.terminated.any()), bool((profit > 1).any() and (profit < -1).any())))
    assert ends[0] == (False, True)
    assert ends[1][0]


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


def test_relief_is_for_its_own_group(env, params, record):
    """What is requested falls by the relief of the borrower's group."""
    run = record(params, relief=(0.0, 0.3))
    state = {name: v[:-1].astype(np.float64) for name, v in run.states.items()}
    rate = state["interest_rate"] / 12.0
    month = np.arange(env.horizon)[:, None]
    on = (state["stage"] == REPAYING) & (run.states["stage"][1:] == REPAYING)
    left = np.where(on, state["matures_at"] - month, 1.0)
    scheduled = rate / (1.0 - (1.0 + rate) ** -left) * state["balance"]
    for g, share in ((0, 1.0), (1, 0.7)):
        mine = on & (state["group"] == g)
        assert mine.sum() > 100
        np.testing.assert_allclose(
            run.states["installment"][1:][mine], share * scheduled[mine], rtol=1e-4, atol=0.05
        )
