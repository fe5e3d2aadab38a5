"""The contract, what is declared and seen, wrong arguments, and that it can be learned."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import fairgym
from fairgym.algorithms import algorithms
from fairgym.core import FairgymError, no_components
from fairgym.data import load_population
from fairgym.environments.loan.types import LoanComponents
from fairgym.environments.loan_simple import LoanSimple, LoanSimpleParams
from fairgym.fairness import Objective
from fairgym.policies import fixed_policies
from fairgym.testing import check_environment
from fairgym.utils.registry import environments


def test_it_keeps_the_contract(env, params):
    check_environment(env, params=params, steps=4)


@pytest.mark.full
def test_a_dozen_people_who_all_apply():
    """A cap as large as the population lets nobody wait; one of 1 makes everybody wait."""
    for cap in (12, 1):
        env = LoanSimple(
            population=12, horizon=3, applicants=12, disbursement_cap=cap, action_groups=1
        )
        policies = fixed_policies(env, dict.fromkeys(env.agents, 0.0))
        run = jax.jit(lambda key, e=env, p=policies: fairgym.rollout(e, e.default_params, p, key))
        totals = run(jax.random.key(0)).totals
        assert totals.applied.sum() == totals.approved.sum() == 36
        assert totals.waited.sum() == (0 if cap == 12 else 3 * sum(range(12)))


# ------------------------------------------------------------------------- declarations


def test_it_is_found_and_declares_what_loan_declares():
    env, full = LoanSimple(), fairgym.make("loan")
    assert type(fairgym.make("loan_simple")) is LoanSimple
    assert "loan_simple" in environments.names()
    assert (env.population, env.horizon, env.applicants, env.disbursement_cap) == (500, 50, 50, 25)
    assert env.agents == full.agents
    # no queue outlives a step here: nothing of one is counted
    of_queue = ("waiting", "never_paid_out", "first_approved", "first_disbursed", "people")
    without_queue = {k: v for k, v in full.spec.component_info.items() if k not in of_queue}
    assert env.spec.component_info == without_queue
    assert env.spec.components is LoanComponents
    assert tuple(env.metrics) == full.spec.terms
    assert set(env.spec.baselines) == {*full.spec.baselines, "random"}
    for agent in ("admissions", "debt_management"):
        assert env.action_space(agent) == full.action_space(agent)
    assert env.action_space("disbursement").shape == (50,)


def test_the_profit_normaliser_is_the_published_one_per_loan():
    """8.9e4 for 40,000 loans, here 2,500 of them; every other term is as in `loan`."""
    env, full = LoanSimple(), fairgym.make("loan")
    mine, theirs = dict(env.metrics), {name: full.metrics[name] for name in full.spec.terms}
    profit = mine.pop("profit")
    theirs.pop("profit")
    assert mine == theirs
    totals = no_components(env, env.default_params).replace(profit=jnp.float32(1_000.0))
    assert float(profit.normalised(totals)) == pytest.approx(1_000 / (8.9e4 / 40_000 * 2_500))


def test_defaults_that_follow_from_the_data():
    data = load_population("loan").columns
    params = LoanSimple().default_params
    defaulted = data["defaulted"] == 1
    share = (data["months_to_default"][defaulted] / data["term"][defaulted]).mean()
    assert params.share_paid_before_default == pytest.approx(share, rel=1e-5)
    assert params.disadvantaged_share == pytest.approx(data["group"].mean())


@pytest.mark.parametrize(
    ("shapes", "told"),
    [
        ({"population": 1}, "population must be a whole number from 2.*got 1"),
        ({"horizon": 0}, "horizon must be .*, got 0"),
        ({"applicants": 0}, "applicants must be a whole number from 1 to 500, got 0"),
        ({"population": 30, "applicants": 31}, "applicants must be .* from 1 to 30, got 31"),
        ({"disbursement_cap": 501}, "disbursement_cap must be .*, got 501"),
        ({"disbursement_cap": True}, "disbursement_cap must be .*, got True"),
        ({"action_groups": 3}, "action_groups must be a whole number from 1 to 2.*got 3"),
        ({"population_source": "nowhere"}, "nowhere"),
        ({"aplicants": 3}, "unknown argument 'aplicants'"),
    ],
)
def test_a_wrong_shape_is_named(shapes, told):
    with pytest.raises(FairgymError, match=told):
        fairgym.make("loan_simple", **shapes)


@pytest.mark.parametrize(
    "field", ["relief_effect", "share_paid_before_default", "deposit_rate", "fico_change"]
)
def test_a_wrong_parameter_is_named(field):
    with pytest.raises(
        FairgymError, match=rf"LoanSimpleParams.{field} must be a number from 0 to .*, got -1"
    ):
        LoanSimpleParams(**{field: -1.0})


# ------------------------------------------------------------------------- who and what


def test_all_agents_see_the_same_applicants(env, params, start):
    state = start(jax.random.key(0), params)
    seen = env.observe(state.replace(time=jnp.int32(7), total_profit=jnp.float32(-3.0)), params)
    spaces = [env.observation_space(agent) for agent in env.agents]
    assert spaces[0] is spaces[1] is spaces[2]
    people, rows = env.people(state), np.asarray(state.applicants)
    for observation in seen.values():
        assert np.asarray(observation.mask).all()
        for column, feature in enumerate(spaces[0].features):
            np.testing.assert_allclose(
                observation.features[:, column], np.asarray(people[feature.name])[rows], rtol=1e-6
            )
        assert observation.context.tolist() == [7.0, -3.0]
    np.testing.assert_allclose(people["fico"], (state.fico_low + state.fico_high) / 2)


def test_a_hidden_group_is_hidden_and_decides_nothing_else(env, params, start):
    state = start(jax.random.key(0), params)
    both = [dataclasses.replace(env, observe_group=may) for may in (True, False)]
    seen = [one.observe(state, params)["admissions"] for one in both]
    before, after = (np.asarray(one.features) for one in seen)
    assert before[:, 0].any() and not after[:, 0].any()
    np.testing.assert_array_equal(before[:, 1:], after[:, 1:])


def test_applicants_are_distinct_and_everybody_applies_equally_often(env, params, start):
    """Chi-square over 2,000 draws; the census tells who applies."""
    state = start(jax.random.key(0), params)

    def drawn(key):
        return env._apply(env.noise(key, params).lot)

    rows, stage = jax.jit(jax.vmap(drawn))(jax.random.split(jax.random.key(1), 2_000))
    counts = np.asarray(stage).sum(axis=0)
    assert (np.asarray(stage).sum(axis=1) == env.applicants).all()
    assert (np.take_along_axis(np.asarray(stage), np.asarray(rows), axis=1) == 1).all()
    share = env.applicants / env.population
    spread = ((counts - 2_000 * share) ** 2 / (2_000 * share * (1 - share))).sum()
    n = env.population
    assert 0.001 < stats.chi2.sf(spread * (n - 1) / n, df=n - 1) < 0.999
    census = env.census(state)
    applying = np.asarray(state.group)[np.asarray(state.applicants)]
    np.testing.assert_array_equal(census["applying"], np.bincount(applying, minlength=2))
    np.testing.assert_array_equal(
        census["idle"] + census["applying"], np.bincount(np.asarray(state.group), minlength=2)
    )


def test_one_action_for_all_is_the_same_action_for_each_group(env, params, start, transition):
    one, state = dataclasses.replace(env, action_groups=1), start(jax.random.key(0), params)
    noise, found = env.noise(jax.random.key(1), params), []
    for groups, change in ((1, jax.jit(one.transition)), (2, transition)):
        actions = {
            "admissions": jnp.full((groups,), 0.8),
            "disbursement": jnp.full((env.applicants,), 0.5),
            "debt_management": jnp.full((groups,), 0.05),
        }
        found.append(change(noise, state, actions, params))
    counted = found[0][1]
    assert 0 < counted.approved.sum() < counted.applied.sum()
    for x, y in zip(*map(jax.tree.leaves, found), strict=True):
        np.testing.assert_array_equal(x, y)


# ------------------------------------------------------------------------- learning


@pytest.mark.full
@pytest.mark.parametrize("seed", range(3))
def test_f_macem_learns_it(env, params, seed):
    """Half the weight on profit, the rest on the disparities: better than where it starts.

    The start, the mean of zero, says 0.5 to everything; measured with the same keys after.
    """
    fair = [name for name, metric in env.metrics.items() if metric.kind == "fair"]
    objective = Objective.weighted(env, {"profit": 0.5} | dict.fromkeys(fair, 0.5 / len(fair)))
    learner = algorithms.get("f-macem")(
        epochs=8, episodes_per_epoch=24, hidden=4, evaluation_episodes=2
    )
    state = learner.init(jax.random.key(seed), env, objective, params=params)

    @jax.jit
    def measure(policies):
        def one(key):
            episode = fairgym.rollout(env, params, policies, key)
            return objective.score(episode.totals), episode.mean_actions["debt_management"]

        return jax.vmap(one)(jax.random.split(jax.random.key(9), 8))

    before, relief = measure(learner.policies(state))
    np.testing.assert_allclose(relief, 0.5)
    for _ in range(learner.epochs):
        state, _ = learner.update(state)
    after, relief = measure(learner.policies(state))
    assert (after > before).all()
    assert float(jnp.mean(after - before)) > 0.15
    assert ((relief > 0.01) & (relief < 0.45)).all()
