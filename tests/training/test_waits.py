"""Who waits at every moment, and how long: against NumPy, person by person."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiers import in_tiers

import fairgym
from fairgym.core import decide
from fairgym.policies import fixed_policies
from fairgym.statistics.survival import wait_ages
from fairgym.training import evaluate
from fairgym.training._measuring import medians

SYSTEMS: dict[str, dict[str, Any]] = {
    "loan": {"population": 150, "horizon": 30},
    "two banks": {"population": 150, "horizon": 30, "banks": 2},
    "health": {"population": 150, "horizon": 12},
}


def test_medians_are_those_of_numpy():
    rng = np.random.default_rng(0)
    for people, most in itertools.product((1, 2, 7, 40), (1, 7, 8, 400)):
        values = rng.integers(0, most + 1, people).astype(np.float32)
        who = rng.random((5, people)) < np.array([[0.0], [0.1], [0.5], [0.9], [1.0]])
        found = medians(jnp.asarray(values), jnp.asarray(who), most)
        expected = [np.median(values[part]) if part.any() else 0.0 for part in who]
        np.testing.assert_array_equal(found, expected)


@pytest.fixture(scope="module", params=in_tiers(SYSTEMS, "loan"))
def lived(request):
    """An environment, its policies, two episodes measured, and plain rollouts of the same."""
    name = request.param
    env = fairgym.make(name if name == "health" else "loan", **SYSTEMS[name])
    since = "ill_since" if name == "health" else "waiting_since"
    policies = fixed_policies(env, next(iter(env.spec.baselines.values())))
    key = jax.random.key(3)
    given = (env, env.default_params, policies, key, 2)
    found = evaluate(*given, trace=True, people_episodes=2)

    @jax.jit
    def rolled(key):
        def watch(state):
            return state.stage, getattr(state, since), state.group

        return fairgym.rollout(env, env.default_params, policies, key, watch=watch)

    episodes = [(own, rolled(own)) for own in jax.random.split(key, 2)]
    return env, policies, given, found, episodes


def test_who_waits_and_how_long_at_every_moment(lived):
    """Of each group and of everybody, from the stages and from when people began to wait."""
    env, _, given, found, episodes = lived
    code = env.spec.stages.index("waiting")
    assert code == 1 and set(env.spec.waits) == {"waiting"}
    waits = found.waits["waiting"]
    shape = (2, env.horizon + 1, len(env.spec.groups) + 1)
    assert waits["share"].shape == waits["median"].shape == shape
    several = longest = 0
    for episode, (_, rollout) in enumerate(episodes):
        stage, began, group = map(np.asarray, rollout.watched)
        for moment in range(found.lengths[episode] + 1):
            for part in range(len(env.spec.groups) + 1):
                of_part = (group[moment] == part) | (part == len(env.spec.groups))
                there = of_part & (stage[moment] == code)
                so_far = moment - began[moment][there]
                expected = np.median(so_far) if there.any() else 0.0
                several += len(set(so_far)) > 1
                assert waits["median"][episode, moment, part] == expected
                share = there.sum() / max(of_part.sum(), 1)
                assert waits["share"][episode, moment, part] == pytest.approx(share)
                if part < len(env.spec.groups):
                    counts = [(so_far == age).sum() for age in wait_ages(env.horizon)]
                    assert waits["reached"][episode, moment, part].tolist() == counts
                longest = max(longest, *so_far, 0)
        for rows in waits.values():
            assert (rows[episode, found.lengths[episode] + 1 :] == 0.0).all()
    assert several > 20 and longest > 3
    bare = evaluate(*given)
    assert bare.waits == bare.orders == {}


def test_orders_are_what_policies_do_after_the_last_step(lived):
    """Numbers that agents would set for each person, and what they observe of each."""
    env, policies, _, found, episodes = lived
    assert set(found.orders) == {a for a in env.agents if env.action_space(a).per_entity}
    for episode, (key, rollout) in enumerate(episodes):
        observed = env.observe(rollout.final_state, env.default_params)
        for agent, order in found.orders.items():
            seen = observed[agent]
            there = np.asarray(seen.mask)
            np.testing.assert_array_equal(order["mask"][episode], there)
            features = np.asarray(seen.features)
            assert order["features"][episode].shape == features.shape
            np.testing.assert_allclose(
                order["features"][episode, there], features[there], rtol=1e-5, atol=1e-6
            )
            action = np.asarray(decide(policies[agent], seen, key, None)[0])
            np.testing.assert_allclose(order["action"][episode, there], action[there], rtol=1e-5)
