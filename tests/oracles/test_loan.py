"""The NumPy rewrite and the JAX environment are the same bank, month by month.

With drawn parameters, drawn actions, and the environment's noise told to the rewrite.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy_loan
import pytest
import stepwise

import fairgym

PEOPLE, MONTHS = 300, 90
SHAPE: dict[str, Any] = {
    "population": PEOPLE,
    "horizon": MONTHS,
    "applicants": 12,
    "disbursement_cap": 5,
}
COLUMNS = numpy_loan.SAMPLED
RANGES = {
    "disadvantaged_share": (0.3, 0.7),
    "group_size": [1.0],
    "bias_strength": (0.0, 0.5),
    "payment_noise": (0.0, 0.05),
    "deposit_rate": (0.0, 0.9),
    "default_ratio": (0.85, 0.93),
    "residual_share": (0.0, 0.3),
    "relief_forgiven": (0.0, 1.0),
    "income_change": (0.0, 2_000.0),
    "debt_to_income_change": (0.0, 3.0),
    "fico_change": (20.0, 150.0),
}


class Told(numpy_loan.NumpyLoan):
    """The rewrite in double precision, which reads its luck from `luck`."""

    luck: dict[str, np.ndarray]

    def sampled(self, rows, count):
        return rows[np.argsort(-self.luck["priority"][rows], kind="stable")[:count]]

    def noise(self, rows):
        return self.luck["payment"][rows].astype(np.float64)

    def best(self, rows, score, places):
        return rows[np.lexsort((-self.luck["priority"][rows], -score[rows]))[:places]]


@pytest.fixture(scope="module")
def env():
    return fairgym.make("loan", **SHAPE)


@pytest.fixture(scope="module")
def compiled(env):
    blind = jax.jit(dataclasses.replace(env, observe_group=False).observe)
    return *stepwise.programs(env), blind


def random_actions(rng, groups):
    """Some scores are tied; thresholds of anything, relief around that of the episode."""
    relief = rng.uniform(0.0, 0.15, groups)
    for _ in range(MONTHS):
        around = relief + rng.uniform(-0.05, 0.05, groups)
        yield {
            "admissions": np.float32(rng.uniform(0.6, 1.0, groups)),
            "disbursement": np.round(rng.random(PEOPLE, np.float32), 1),
            "debt_management": np.float32(np.maximum(around, 0.0)),
        }


def require_same_state(people, state, bank):
    """Every field of the state, by what it means."""
    for name in ("stage", "warning"):
        np.testing.assert_array_equal(getattr(state, name), getattr(bank, name), name)
    assert int(state.time) == bank.time
    np.testing.assert_array_equal(state.served, ~bank.never_served)
    np.testing.assert_array_equal(
        np.asarray(state.applicants)[np.asarray(state.applying)], bank.applying
    )
    stepwise.require_close(state, {name: bank.people[name] for name in COLUMNS}, rtol=1e-5)
    waiting = bank.stage == numpy_loan.WAITING
    stepwise.require_close(
        people,
        {
            "time_to_maturity": bank.remaining,
            "time_waited": np.where(waiting, bank.waited, 0),
            "balance": bank.balance,
            "installment": bank.installment,
            "total_requested": bank.requested,
            "total_received": bank.received,
        },
        atol=0.01,
    )
    record = bank.columns(np.arange(PEOPLE))
    scores = ("qualification_score", "qualification"), ("propensity", "propensity")
    stepwise.require_close(people, {name: bank.score(fit, record) for name, fit in scores})
    books = {
        "residual": bank.residual,
        "total_profit": bank.profit,
        "total_losses": bank.losses,
        "total_payments": bank.payments,
    }
    stepwise.require_close(state, books, atol=1e-3)
    owed = np.asarray(state.deposits.amounts)[bank.time :][: len(bank.due)]
    np.testing.assert_allclose(owed, bank.due, rtol=1e-4, atol=0.01)


def follow(env, compiled, draw):
    """Require the same months of both; returns sums of what happened."""
    start, transition, observe, noise_of, look, blind = compiled
    rng, key = np.random.default_rng(draw), jax.random.key(draw)
    params = stepwise.drawn(env.default_params, rng, RANGES)
    state = start(key, params)
    bank = Told(env, params, np.float64)
    bank.luck = {"priority": np.zeros(PEOPLE)}
    bank.start({name: np.asarray(getattr(state, name)) for name in (*COLUMNS, "residual")})
    bank.applying = np.asarray(state.applicants)[np.asarray(state.applying)]
    bank.observe_group = draw % 2 == 0
    names = ("approved", "ended", "defaulted", "waited", "waiting")
    counted: dict[str, Any] = dict.fromkeys(names, 0.0)
    for month, actions in enumerate(random_actions(rng, len(env.spec.groups))):
        if env.group_by == "advantage":
            seen = (observe if bank.observe_group else blind)(state, params)
            stepwise.require_same_views(env, seen, bank)
        noise = noise_of(jax.random.fold_in(key, month), params)
        bank.luck = stepwise.arrays(noise)
        actions = {agent: jnp.asarray(action) for agent, action in actions.items()}
        state, ours, terminated = transition(noise, state, actions, params)
        theirs, bankrupt = bank.step(actions)
        stepwise.require_same_components(env, ours, theirs)
        require_same_state(look(state), state, bank)
        assert bool(terminated) == bankrupt
        counted = {name: total + theirs[name] for name, total in counted.items()}
    return counted


@pytest.mark.parametrize(
    "draw", [*range(3), *(pytest.param(draw, marks=pytest.mark.full) for draw in range(3, 8))]
)
def test_the_same_luck_gives_the_same_months(env, compiled, draw):
    """State, components and what all agents see, through defaults and repayments."""
    counted = {name: total.sum() for name, total in follow(env, compiled, draw).items()}
    # it was about something
    assert counted["defaulted"] > 10
    assert counted["ended"] - counted["defaulted"] > 10
    assert counted["waiting"] >= counted["waited"] > 20


def test_races_are_groups_like_any_other():
    """Four of them, with terms of their own."""
    env = fairgym.make("loan", **SHAPE, group_by="race")
    counted = follow(env, (*stepwise.programs(env), None), 2)
    assert all(counted[name].shape == (4,) for name in counted)
    assert counted["approved"].min() > 2 and counted["ended"].min() > 2
