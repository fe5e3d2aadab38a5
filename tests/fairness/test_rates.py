"""Rates so far: shares of one's own requests, against plain NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.core import Components, FairgymError, component
from fairgym.core.sums import CompensatedSum
from fairgym.fairness import (
    Counter,
    Full,
    Mean,
    RateSoFar,
    RelaxedParity,
    Scheme,
    StakeholderFirst,
    component_rows,
    unfairness,
)
from fairgym.fairness.welfare import welfare_scheme
from fairgym.policies import fixed_policies

RATE = RateSoFar("granted", "asked")
LOG = {  # ten requests of A, and two of B, of which half are granted
    "time": [0] * 6 + [1] * 6,
    "group": ["A"] * 5 + ["B"] + ["A"] * 5 + ["B"],
    "asked": [1] * 12,
    "granted": [1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0, 0],
}


def test_larger_groups_do_not_look_favoured():
    rows = component_rows(LOG, ["asked", "granted"])
    sums = Scheme.long_term(Full("granted"), RelaxedParity())
    rates = Scheme.long_term(RATE, RelaxedParity())
    assert float(sums.of_trace(rows)[0]) == -4.0 and float(rates.of_trace(rows)[0]) == 0.0
    np.testing.assert_allclose(rates.status_over_time(rows), [[0.6, 1.0], [0.5, 0.5]], rtol=1e-6)


def test_who_never_asked_has_the_mean_of_the_others():
    log = {"time": [0, 0, 1], "group": [0, 1, 2], "asked": [1, 1, 1], "granted": [1, 0, 1]}
    status = Scheme.anytime(RATE, RelaxedParity()).status_over_time(
        component_rows(log, ["asked", "granted"])
    )
    np.testing.assert_allclose(status, [[1.0, 0.0, 0.5], [1.0, 0.0, 1.0]])


def test_a_past_that_fades():
    rng = np.random.default_rng(0)
    asked = rng.integers(1, 9, (40, 3))
    granted = rng.binomial(asked, 0.4)
    log = {
        "time": np.repeat(np.arange(40), 3),
        "group": np.tile(np.arange(3), 40),
        "asked": asked.ravel(),
        "granted": granted.ravel(),
    }
    rows = component_rows(log, ["asked", "granted"])
    found = Scheme.anytime(RateSoFar("granted", "asked", 0.8), RelaxedParity(), Mean())
    due = []
    for t in range(40):
        weights = 0.8 ** np.arange(t, -1, -1)[:, None]
        due.append((weights * granted[: t + 1]).sum(0) / (weights * asked[: t + 1]).sum(0))
    np.testing.assert_allclose(found.status_over_time(rows), due, rtol=1e-5)


def test_the_bank_is_scored_by_shares_of_applications_granted():
    """Applicants have an axis of scores, over which they are summed."""
    env = fairgym.make("bank_loans", horizon=60)
    scheme = welfare_scheme(env, "anytime:parity:approved/applicants")
    assert scheme.status == RateSoFar("approved", "applicants") and scheme.normaliser == 60.0
    policies = fixed_policies(env, {"bank": "threshold"})
    episode = jax.jit(
        lambda key: fairgym.rollout(env, env.default_params, policies, key, trace=True)
    )(jax.random.key(0))
    asked = np.cumsum(np.asarray(episode.trace.applicants).sum(2), axis=0)
    granted = np.cumsum(np.asarray(episode.trace.approved), axis=0)
    with np.errstate(invalid="ignore"):
        rates = granted / asked
    rates = np.where(np.isnan(rates), np.nanmean(rates, axis=1, keepdims=True), rates)
    found = scheme.status_over_time(episode.trace, episode.length)
    np.testing.assert_allclose(found, rates, rtol=1e-6)
    gaps = -np.abs(rates[:, 0] - rates[:, 1]).sum()
    assert float(scheme.of_trace(episode.trace, episode.length)[0]) == pytest.approx(gaps, rel=1e-5)


def test_counterfactual_memories_grant_more_or_less_of_what_was_asked():
    memory = CompensatedSum.of(jnp.array([[1.0, 2.0], [3.0, 2.0]]))
    others, legal = RATE.neighbours(memory, (-2, -1, 1))
    due = {(0.0, 2.0), (2.0, 2.0), (1.0, 0.0), (1.0, 1.0)}
    granted = np.asarray(others.value)[np.asarray(legal), 0]
    assert {tuple(row) for row in granted.tolist()} == due
    np.testing.assert_array_equal(np.asarray(others.value)[:, 1], [[3.0, 2.0]] * 6)


class Nothing(Components):
    """No component with an entry per stakeholder."""

    granted: jax.Array = component("granted", unit="")


def test_components_without_stakeholders_are_refused():
    with pytest.raises(FairgymError, match="an entry per stakeholder, got 'granted'"):
        RATE.initial(Nothing(jnp.zeros(())))
    with pytest.raises(FairgymError, match="discount must be a number from 0 to 1"):
        RateSoFar("granted", "asked", 1.5)


def test_unfairness_over_time_and_overall():
    """Definitions 4.10 and 4.11."""
    rows = component_rows(LOG, ["asked", "granted"])
    scheme = Scheme.anytime(RATE, RelaxedParity())
    np.testing.assert_allclose(
        unfairness(scheme.status_over_time(rows)), [[-0.2, 0.2], [0.0, 0.0]], atol=1e-6
    )
    np.testing.assert_allclose(scheme.overall_unfairness(rows), [-0.2, 0.2], atol=1e-6)
    np.testing.assert_allclose(scheme.overall_unfairness(rows, 1), [-0.2, 0.2], atol=1e-6)
    totals = Scheme.anytime(Full("granted"), RelaxedParity())
    np.testing.assert_allclose(totals.overall_unfairness(rows), [1.0 + 2.0, -3.0])


def test_overall_unfairness_sums_over_all_steps_whatever_the_filter():
    """By plain NumPy; a score sums over assessed steps only."""
    amounts = np.random.default_rng(0).integers(0, 5, (7, 3))
    log = {"step": np.repeat(np.arange(7), 3), "who": ["a", "b", "c"] * 7}
    rows = component_rows(log | {"got": amounts.ravel()}, ["got"], time="step", stakeholder="who")
    status = np.cumsum(amounts, axis=0)
    each = status - status.mean(axis=1, keepdims=True)
    by_stakeholder = Scheme(Full("got"), StakeholderFirst(), Counter(3))
    for scheme in (Scheme.periodic(Full("got"), RelaxedParity(), 3), by_stakeholder):
        for length in (None, 5):
            expected = each[:length].sum(axis=0)
            np.testing.assert_allclose(scheme.overall_unfairness(rows, length), expected, atol=1e-5)
    assessed = each[[2, 5]].sum(axis=0)
    score, _ = by_stakeholder.of_trace(rows)
    assert float(score) == pytest.approx(-np.sum(assessed**2), rel=1e-5)
