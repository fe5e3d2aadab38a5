"""The NumPy rewrite and the JAX environment are the same simplified bank, step by step.

With drawn parameters, drawn actions, and the environment's noise told to the rewrite.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import numpy_loan_simple
import pytest
import stepwise

import fairgym

PEOPLE, STEPS, APPLICANTS, CAP = 200, 20, 20, 6
RANGES = {
    "disadvantaged_share": (0.3, 0.7),
    "bias_strength": (0.0, 0.5),
    "deposit_rate": (0.01, 0.3),
    "fico_change": (20.0, 150.0),
}


class Told(numpy_loan_simple.NumpyLoanSimple):
    """The rewrite in double precision, which reads its luck from `luck`."""

    luck: dict[str, np.ndarray]

    def lots(self):
        return np.argsort(-self.luck["lot"], kind="stable")[: self.applicants_per_step]

    def chance(self, kind, rows):
        return self.luck[kind][rows].astype(np.float64)


@pytest.fixture(scope="module")
def env():
    return fairgym.make(
        "loan_simple", population=PEOPLE, horizon=STEPS, applicants=APPLICANTS, disbursement_cap=CAP
    )


@pytest.fixture(scope="module")
def compiled(env):
    return stepwise.programs(env)


@pytest.mark.parametrize(
    "draw", [*range(3), *(pytest.param(draw, marks=pytest.mark.full) for draw in range(3, 8))]
)
def test_the_same_luck_gives_the_same_steps(env, compiled, draw):
    """State, components and what all agents see, with much relief and little."""
    start, transition, _, noise_of, _ = compiled
    rng, key = np.random.default_rng(draw), jax.random.key(draw)
    params = stepwise.drawn(env.default_params, rng, RANGES)
    observe = dataclasses.replace(env, observe_group=draw % 2 == 0).observe
    state = start(key, params)
    bank = Told(env, params, np.float64)
    bank.luck = {"lot": np.zeros(PEOPLE)}
    bank.start({name: np.asarray(getattr(state, name)) for name in numpy_loan_simple.SAMPLED})
    bank.applying, bank.observe_group = np.asarray(state.applicants), draw % 2 == 0
    counted = dict.fromkeys(("waited", "ended", "defaulted"), 0.0)
    for step in range(STEPS):
        if step < 3:
            stepwise.require_same_views(env, observe(state, params), bank)
        noise = noise_of(jax.random.fold_in(key, step), params)
        bank.luck = stepwise.arrays(noise)
        actions = {
            "admissions": jnp.asarray(rng.uniform(0.3, 0.9, 2), jnp.float32),
            # some are tied
            "disbursement": jnp.asarray(np.round(rng.random(APPLICANTS), 1), jnp.float32),
            "debt_management": jnp.asarray(rng.choice([0.0, 0.05, 0.9], 2), jnp.float32),
        }
        state, ours, terminated = transition(noise, state, actions, params)
        theirs, bankrupt = bank.step(actions)
        stepwise.require_same_components(env, ours, theirs)
        assert bool(terminated) == bankrupt
        assert int(state.time) == bank.time
        np.testing.assert_array_equal(state.applicants, bank.applying)
        np.testing.assert_array_equal(np.flatnonzero(state.stage), np.sort(bank.applying))
        stepwise.require_close(state, bank.people, rtol=1e-5)
        books = ("profit", bank.profit), ("losses", bank.losses), ("payments", bank.payments)
        stepwise.require_close(state, {f"total_{name}": value for name, value in books}, atol=0.01)
        for name in counted:
            counted[name] += theirs[name].sum()
    # it was about something
    assert counted["waited"] > 10
    assert 0 < counted["defaulted"] < counted["ended"] - 10
