"""Decisions about people whose group is flipped, against rules whose answer is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.core import FairgymError
from fairgym.policies import Function, group_flips


@pytest.fixture(scope="module")
def env():
    return fairgym.make("loan", population=200, horizon=20)


@pytest.fixture(scope="module")
def params(env):
    return env.default_params.replace(disadvantaged_share=0.5)


@pytest.fixture(scope="module")
def state(env, params):
    """Half of the people are in the queue, of both groups alike."""
    start = env.initial_state(jax.random.key(0), params)
    return start.replace(stage=jnp.arange(env.population, dtype=jnp.int32) % 2)


def policies(env, priority):
    """Everybody is admitted without relief; `priority` of the features decides on the queue."""
    names = [feature.name for feature in env.observation_space("disbursement").features]
    return {
        "admissions": Function(lambda seen, key: jnp.zeros(2)),
        "debt_management": Function(lambda seen, key: jnp.zeros(2)),
        "disbursement": Function(
            lambda seen, key: priority(dict(zip(names, seen.features.T, strict=True)))
        ),
    }


def test_a_rule_that_favours_a_group_changes_by_what_it_gives(env, params, state):
    flips = group_flips(
        env,
        params,
        policies(env, lambda see: see["qualification_score"] - 0.25 * see["group"]),
        state,
        jax.random.key(1),
        people=60,
    )
    assert list(flips) == ["disbursement"], "the others' actions are of groups, not of persons"
    found = flips["disbursement"]
    assert found.own.shape == found.flipped.shape == found.group.shape == (60,)
    expected = np.where(found.group == 1, 0.25, -0.25)
    np.testing.assert_allclose(found.change, expected, atol=1e-6)
    assert found.relative_change == pytest.approx(0.25 / np.std(found.own), rel=1e-4)


def test_a_rule_without_the_group_changes_nothing(env, params, state):
    rule = policies(env, lambda see: see["qualification_score"])
    found = group_flips(env, params, rule, state, jax.random.key(1))["disbursement"]
    assert found.own.size == 100 and np.std(found.own) > 0.0
    np.testing.assert_array_equal(found.change, 0.0)
    assert found.relative_change == 0.0


def test_one_person_is_flipped_at_a_time(env, params, state):
    """A rule that gives everybody the share of a group sees that share move by one person."""
    waiting = int((np.asarray(state.stage) == 1).sum())

    def share(see):
        return jnp.full((env.population,), jnp.sum(see["group"]) / waiting)

    found = group_flips(env, params, policies(env, share), state, jax.random.key(1), people=200)
    flips = found["disbursement"]
    assert flips.own.size == waiting
    np.testing.assert_allclose(flips.change, np.where(flips.group == 1, -1, 1) / waiting, atol=1e-6)


def test_agents_that_see_one_group_alone_are_left_out(env, params, state):
    alone = state.replace(stage=jnp.where(state.group == 0, state.stage, 0))
    rule = policies(env, lambda see: see["group"])
    assert group_flips(env, params, rule, alone, jax.random.key(1)) == {}


def test_policies_with_a_hidden_state_are_refused(env, params, state):
    class Counting:
        def initial(self):
            return jnp.zeros(())

        def __call__(self, observation, key, hidden):
            return jnp.zeros((env.population,)), hidden + 1.0

    rule = policies(env, lambda see: see["group"]) | {"disbursement": Counting()}
    with pytest.raises(FairgymError, match="policy of 'disbursement' has a hidden state"):
        group_flips(env, params, rule, state, jax.random.key(1))
