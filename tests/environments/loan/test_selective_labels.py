"""A bank that learns what becomes of its own loans alone, against NumPy and what follows."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.core import record
from fairgym.environments.loan import dynamics
from fairgym.environments.loan.selective import SelectiveComponents
from fairgym.environments.loan.types import QueueComponents
from fairgym.policies import fixed_policies
from fairgym.testing import check_environment

PEOPLE, MONTHS, RELIEF = 200, 90, 0.1
SHAPE: dict[str, Any] = {
    "population": PEOPLE,
    "horizon": MONTHS,
    "applicants": 12,
    "disbursement_cap": 12,
}
ENV = fairgym.make("loan", **SHAPE, selective_labels=True)
IDLE, REPAYING = 0, 2


def episode(threshold, **params):
    policies = {"admissions": threshold, "debt_management": RELIEF, "disbursement": 0.5}
    return recorded(ENV, ENV.default_params.replace(**params), policies)


def recorded(env, params, policies):
    made = fixed_policies(env, policies)
    run = jax.jit(lambda key: record(env, params, made, key))
    return params, jax.tree.map(np.asarray, run(jax.random.key(1)))


@pytest.fixture(scope="module")
def half():
    """An episode in which about half are approved."""
    return episode(0.85, prior_repayment=0.6, prior_weight=5.0)


def predicted(score, columns):
    """A fitted linear score in double precision."""
    return np.asarray(score.predictor({k: jnp.asarray(v) for k, v in columns.items()}), np.float64)


def truth_of(params, state):
    """For each person: the qualification score, and what would become of a loan."""
    scores = ENV._data.scores
    record = {name: np.float64(getattr(state, name)) for name in QUALIFYING}
    monthly = record["interest_rate"] / 12
    scheduled = record["principal"] * monthly / (1 - (1 + monthly) ** -record["term"])
    requested = (1 - RELIEF) * scheduled
    income = np.maximum(record["annual_income"], 1.0)
    burdened = {**record, "debt_to_income": record["debt_to_income"] + 1200 * requested / income}
    share = np.clip(predicted(scores["propensity"], burdened) + state.residual, 0, 1)
    qualification = 1 / (1 + np.exp(-predicted(scores["qualification"], record)))
    return qualification, np.minimum(share * scheduled, requested), requested


QUALIFYING = (
    "interest_rate",
    "term",
    "principal",
    "annual_income",
    "debt_to_income",
    "fico_low",
    "fico_high",
    "months_since_delinquency",
)


def test_components_and_records_against_numpy(half):
    params, steps = half
    data = {name: np.asarray(ENV._data.columns[name]) for name in QUALIFYING}
    everybody = 1 / (1 + np.exp(-predicted(ENV._data.scores["qualification"], data)))
    edges = np.quantile(everybody, np.arange(1, 10) / 10)
    ended, kept, decile = np.zeros(10), np.zeros(10), np.zeros(PEOPLE, int)
    close = 0
    for t in range(MONTHS):
        state = jax.tree.map(lambda x, t=t: x[t], steps.before)
        qualification, paid, requested = truth_of(params, state)
        rows = state.applicants[state.applying]
        good = paid >= 0.9 * requested
        estimates = (kept + 0.6 * 5) / (ended + 5)
        of = np.searchsorted(edges, qualification, side="right")
        approved = qualification >= 0.85
        known = {name: np.zeros(2) for name in SELECTIVE}
        for i in rows:
            group = state.group[i]
            known["would_repay"][group] += good[i]
            known["approved_would_repay"][group] += good[i] and approved[i]
            known["estimated_would_repay"][group] += estimates[of[i]]
            known["estimated_approved_would_repay"][group] += estimates[of[i]] * approved[i]
            if approved[i]:
                decile[i] = of[i]
        for name, value in known.items():
            found = getattr(steps.components, name)[t]
            close += int(not np.allclose(found, value, rtol=1e-4))
        after = jax.tree.map(lambda x, t=t: x[t], steps.after)
        over = (state.stage == REPAYING) & (after.stage == IDLE)
        assert over.sum() == steps.components.ended[t].sum()
        before = state.decile
        ended += np.bincount(before[over], minlength=10)
        better = after.months_since_delinquency > state.months_since_delinquency
        kept += np.bincount(before[over & better], minlength=10)
        np.testing.assert_array_equal(after.ended, ended)
        np.testing.assert_array_equal(after.kept, kept)
        np.testing.assert_array_equal(after.decile, decile)
    assert close <= 2, "scores on an edge, in single and in double precision"
    assert ended.sum() > 20 and steps.components.would_repay.sum() > 300


SELECTIVE = set(SelectiveComponents.info()) - set(QueueComponents.info())


def test_the_truth_is_what_becomes_of_loans():
    """Without noise, of everybody who is approved: a loan is kept up if it was told so.

    The request moves debt to income, and with it the propensity, a little over the years, so that
    who lies on the line may fall to either side.
    """
    params, steps = episode(0.0, payment_noise=0.0)
    told, right, wrong = np.full(PEOPLE, np.nan), 0, 0
    for t in range(MONTHS):
        state, after = (jax.tree.map(lambda x, t=t: x[t], s) for s in (steps.before, steps.after))
        _, paid, requested = truth_of(params, state)
        over = (state.stage == REPAYING) & (after.stage == IDLE)
        better = after.months_since_delinquency > state.months_since_delinquency
        for i in np.flatnonzero(over):
            right, wrong = right + (told[i] == better[i]), wrong + (told[i] != better[i])
        rows = state.applicants[state.applying]
        told[rows] = (paid >= 0.9 * requested)[rows]
    assert right > 100 and wrong <= 0.02 * right
    assert steps.components.defaulted.sum() > 10


def test_who_keeps_up_by_a_closed_form():
    """A payment of min(p, 1 - a) of every installment, nine tenths of 1 - a."""
    share, relief = np.meshgrid(np.linspace(0, 1, 21), np.linspace(0, 0.95, 20))
    found = dynamics.keeps_up(jnp.asarray(share), jnp.asarray(relief), 0.9)
    exact = share >= 0.9 * (1 - relief)
    clear = abs(share - 0.9 * (1 - relief)) > 1e-6
    np.testing.assert_array_equal(np.asarray(found)[clear], exact[clear])


def test_without_loans_all_stays_as_it_was_believed():
    _, steps = episode(1.0, prior_repayment=0.7)
    made = steps.components
    assert made.approved.sum() == 0 and made.would_repay.sum() > 100
    np.testing.assert_allclose(made.estimated_would_repay, 0.7 * made.applied, rtol=1e-5)
    assert not steps.after.ended.any() and not made.estimated_approved_would_repay.any()


@pytest.mark.full
def test_the_world_is_the_same(half):
    """What is not an estimate is that of a bank which is told everything.

    Two programs may round money in another way.
    """
    params, steps = half
    plain = fairgym.make("loan", **SHAPE)
    policies = {"admissions": 0.85, "debt_management": RELIEF, "disbursement": 0.5}
    _, told = recorded(plain, params, policies)

    def same(found, expected, name):
        money = "profit" in name or name == "balance"
        rtol, atol = (1e-5, 1e-4) if money else (0.0, 0.0)
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol, err_msg=name)

    for name in vars(told.components):
        same(getattr(told.components, name), getattr(steps.components, name), name)
    for name in ("balance", "fico_low", "stage", "total_profit"):
        same(getattr(told.after, name), getattr(steps.after, name), name)


def test_the_admissions_agent_sees_the_estimates(half):
    params, steps = half
    state = jax.tree.map(lambda x: jnp.asarray(x[-1]), steps.before)
    seen = ENV.observe(state, params)
    expected = (state.kept + 0.6 * 5) / (state.ended + 5)
    np.testing.assert_allclose(seen["admissions"].context[2:], expected, rtol=1e-6)
    assert len(seen["disbursement"].context) == len(seen["debt_management"].context) == 2


def test_metrics_and_terms(half):
    _, steps = half
    totals = jax.tree.map(lambda x: jnp.asarray(x.sum(axis=0)), steps.components)
    found = {name: float(m.value(totals)) for name, m in ENV.metrics.items() if "tpr" in name}
    made = steps.components
    for prefix, kind in (("", ""), ("estimated_", "estimated_")):
        above = getattr(made, f"{kind}approved_would_repay").sum(axis=0)
        below = getattr(made, f"{kind}would_repay").sum(axis=0)
        assert found[f"{prefix}tpr"] == pytest.approx(above.sum() / below.sum(), rel=1e-4)
        gap = -abs(np.diff(above / below))[0]
        assert found[f"{prefix}tpr_disparity"] == pytest.approx(gap, abs=1e-5)
    assert ENV.spec.terms == fairgym.make("loan").spec.terms, (
        "the published objectives are as they were"
    )


@pytest.mark.full
def test_conformance():
    env = fairgym.make("loan", population=60, horizon=6, selective_labels=True)
    check_environment(env, steps=3)
