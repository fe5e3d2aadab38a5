"""A bank that learns outcomes of its own loans alone: estimates, what they miss, and the trap."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.core import FairgymError, record, rollout
from fairgym.environments.bank_loans.types import (
    BankLoansNoise,
    SelectiveComponents,
    SelectiveParams,
)
from fairgym.fairness import Full
from fairgym.policies import Random, fixed_policies
from fairgym.testing import check_environment
from fairgym.wrappers import augmented

STEPS = 300
ENV = fairgym.make("bank_loans", horizon=STEPS, selective_labels=True)
PARAMS = ENV.default_params.replace(prior_repayment=0.7, prior_weight=4.0)
OWN = ("estimated_would_repay",)


@pytest.fixture(scope="module")
def steps():
    """An episode of random decisions."""
    policies = {"bank": Random(ENV.action_space("bank"))}
    run = jax.jit(lambda key: record(ENV, PARAMS, policies, key))
    return jax.tree.map(np.asarray, run(jax.random.key(5)))


def episode(policy, params=PARAMS, env=ENV, seed=0):
    policies = fixed_policies(env, {"bank": policy})
    run = jax.jit(lambda key: rollout(env, params, policies, key, trace=True))
    return jax.tree.map(np.asarray, run(jax.random.key(seed)))


def test_estimates_and_components_against_numpy(steps):
    """The mean of a Beta distribution after the outcomes of loans, and of nothing else."""
    loans, repaid = np.zeros(7), np.zeros(7)
    chance = np.asarray(PARAMS.repayment)
    see = jax.jit(lambda state: ENV.observe(state, PARAMS)["bank"].context)
    for t in range(STEPS):
        group, score = int(steps.before.group[t]), int(steps.before.score[t])
        approved, repays = steps.actions["bank"][t] == 1, steps.noise.repayment[t] < chance[score]
        estimates = (repaid + 0.7 * 4.0) / (loans + 4.0)
        if t % 50 == 0:
            context = see(jax.tree.map(lambda x, t=t: x[t], steps.before))
            np.testing.assert_allclose(context[1:], estimates, rtol=1e-6)
        known = np.zeros(2)
        known[group] = float(repays) if approved else estimates[score]
        found = steps.components.estimated_would_repay[t]
        np.testing.assert_allclose(found, known, rtol=1e-5, err_msg=str(t))
        loans[score] += approved
        repaid[score] += approved and repays
        np.testing.assert_array_equal(steps.after.loans[t], loans)
        np.testing.assert_array_equal(steps.after.repayments[t], repaid)
    assert loans.sum() > 100 and (loans - repaid).sum() > 20


def test_the_world_is_the_same(steps):
    """All but the estimate is bit for bit what it is where the bank is told everything."""
    plain = fairgym.make("bank_loans", horizon=STEPS)
    run = jax.jit(lambda noise, state, action: plain.transition(noise, state, action, PARAMS))
    for t in (0, 1, 77, STEPS - 1):
        noise, state, action = jax.tree.map(
            lambda x, t=t: jnp.asarray(x[t]), (steps.noise, steps.before, steps.actions)
        )
        told = plain.initial_state(jax.random.key(0), PARAMS)
        told = told.replace(**{name: getattr(state, name) for name in vars(told)})
        after, made, ended = run(noise, told, action)
        for name, value in vars(after).items():
            np.testing.assert_array_equal(value, getattr(steps.after, name)[t])
        for name, value in vars(made).items():
            np.testing.assert_array_equal(value, getattr(steps.components, name)[t])
        assert ended == steps.terminated[t]


def test_with_loans_for_everybody_nothing_is_unknown():
    trace = episode("approve").trace
    np.testing.assert_array_equal(trace.estimated_would_repay, trace.would_repay)


def test_without_loans_all_stays_as_it_was_believed():
    made = episode("deny")
    people = made.trace.applicants.sum(axis=2)
    np.testing.assert_allclose(made.trace.estimated_would_repay, 0.7 * people, rtol=1e-6)


def test_nothing_reaches_the_bank_of_whom_it_denies(steps):
    """Other outcomes of those who are denied: it sees the same, and only the truth differs."""

    @jax.jit
    def replay(noise, actions, start):
        def one(state, row):
            noise, action = row
            seen = ENV.observe(state, PARAMS)["bank"]
            state, made, _ = ENV.transition(noise, state, action, PARAMS)
            return state, (seen, made)

        return jax.lax.scan(one, start, (noise, actions))[1]

    denied = steps.actions["bank"] == 0

    def turned(name, x):
        return np.where(denied, 0.999 - x, x) if name == "repayment" else x

    names = ("repayment", "group", "score")
    same, other = (
        jax.vmap(lambda *rows: BankLoansNoise(*rows))(
            *(jnp.asarray(change(n, getattr(steps.noise, n))) for n in names)
        )
        for change in (lambda name, x: x, turned)
    )
    start = jax.tree.map(lambda x: jnp.asarray(x[0]), steps.before)
    (seen, made), (seen_other, made_other) = (
        replay(noise, steps.actions, start) for noise in (same, other)
    )
    jax.tree.map(np.testing.assert_array_equal, seen, seen_other)
    assert not np.array_equal(made.would_repay, made_other.would_repay)
    for name in vars(made):
        if name != "would_repay":
            np.testing.assert_array_equal(getattr(made, name), getattr(made_other, name), name)


@pytest.fixture(scope="module")
def gambles(fast_programs):
    """What happens in 500 episodes of the rule; compiled once for all parameters."""
    policies = fixed_policies(ENV, {"bank": "learned-threshold"}, PARAMS)
    keys = jax.random.split(jax.random.key(2), 500)

    @jax.jit
    def run(params):
        return jax.vmap(lambda key: rollout(ENV, params, policies, key, trace=True))(keys).trace

    return run


@pytest.mark.full
@pytest.mark.parametrize(("prior", "weight", "lead"), [(0.6, 2.0, 1), (0.61, 20.0, 5)])
def test_a_score_is_given_up_for_ever_with_the_chance_of_a_ruined_gambler(
    gambles, prior, weight, lead
):
    """By the rule a score is tried until defaults lead by so many; then never again.

    Its estimate is above a half as long as repayments less defaults are above
    -weight (2 prior - 1). A walk that goes up with chance p reaches a point k below its start with
    chance ((1 - p) / p)^k.
    """
    alone = jnp.zeros(7).at[3].set(1.0)  # everybody has the fourth score, and keeps it
    params = PARAMS.replace(
        start_advantaged=alone,
        start_disadvantaged=alone,
        shift=0.0,
        prior_repayment=prior,
        prior_weight=weight,
    )
    chance = float(np.asarray(params.repayment)[3])
    assert lead - 1 < weight * (2 * prior - 1) < lead
    trace = gambles(params)
    given_up = np.asarray(trace.approved.sum(axis=2)[:, -1] == 0.0)
    expected = ((1 - chance) / chance) ** lead
    error = (expected * (1 - expected) / given_up.size) ** 0.5
    assert abs(given_up.mean() - expected) < 5 * error
    tries = np.asarray(trace.approved.sum(axis=(1, 2)))
    assert tries[given_up].min() == lead, "no fewer defaults end it"


def test_measures_of_learners_are_what_a_bank_can_know():
    measures = ENV.spec.measures
    assert measures["short_term"].metric == ENV.metrics["estimated_tpr_disparity"]
    assert measures["short_term_truth"].metric == ENV.metrics["tpr_disparity"]
    assert ENV.spec.memories["window"] == measures["short_term"]
    assert set(SelectiveComponents.info()) - set(OWN) == set(
        fairgym.make("bank_loans").spec.component_info
    )
    assert list(ENV.spec.baselines) == ["threshold", "learned_threshold", "everybody", "random"]


def test_expected_components_follows_the_estimates():
    state = ENV.initial_state(jax.random.key(0), PARAMS)
    state = state.replace(
        score=jnp.int32(2),
        group=jnp.int32(1),
        loans=jnp.full(7, 6.0),
        repayments=jnp.arange(7.0),
    )
    guess = (2 + 0.7 * 4) / (6 + 4)  # of score 3, whose chance is .45
    for action in (0, 1):
        seen = ENV.observe(state, PARAMS)
        made = ENV.spec.expected_components(seen, {"bank": jnp.int32(action)}, PARAMS)
        np.testing.assert_allclose(made.estimated_would_repay, [0.0, guess], rtol=1e-6)
        np.testing.assert_allclose(made.successful, [0.0, guess * action], rtol=1e-6)
        np.testing.assert_allclose(made.profit, action * (2 * guess - 1), atol=1e-6)


@pytest.mark.full
def test_conformance():
    """All properties of environments hold, also with a memory and the score distributions."""
    env = fairgym.make("bank_loans", horizon=9, selective_labels=True, informed=True)
    check_environment(augmented(env, Full("approved")), steps=3)


def test_the_rule_takes_a_bank_that_estimates():
    with pytest.raises(FairgymError, match="make bank_loans with selective_labels=True"):
        fixed_policies(fairgym.make("bank_loans"), {"bank": "learned-threshold"})
    with pytest.raises(FairgymError, match="LearnedThreshold is for the bank of bank_loans"):
        fixed_policies(fairgym.make("lending_pool"), {"bank": "learned-threshold"})
    with pytest.raises(FairgymError, match=r"prior_weight must be a number from 0.01.*got 0.0"):
        SelectiveParams(prior_weight=0.0)
