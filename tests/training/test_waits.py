"""Who waits at every moment, and how long: against NumPy, person by person."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiers import in_tiers

import fairgym
from fairgym.policies import fixed_policies
from fairgym.training import evaluate
from fairgym.training._measuring import medians

WORLDS: dict[str, dict[str, Any]] = {
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


@pytest.mark.parametrize("world", in_tiers(WORLDS, "loan"))
def test_who_waits_and_how_long_at_every_moment(world):
    """Of each group and of everybody, from the stages and from when people began to wait."""
    env = fairgym.make(world if world == "health" else "loan", **WORLDS[world])
    since, code = "ill_since" if world == "health" else "waiting_since", 1
    assert env.spec.stages[code] == "waiting" and set(env.spec.waits) == {"waiting"}
    policies = fixed_policies(env, next(iter(env.spec.baselines.values())))
    key = jax.random.key(3)
    found = evaluate(env, env.default_params, policies, key, 2, trace=True)
    waits = found.waits["waiting"]
    shape = (2, env.horizon + 1, len(env.spec.groups) + 1)
    assert waits["share"].shape == waits["median"].shape == shape

    @jax.jit
    def states(key):
        def watch(state):
            return state.stage, getattr(state, since), state.group

        return fairgym.rollout(env, env.default_params, policies, key, watch=watch).watched

    several = 0
    for episode, own in enumerate(jax.random.split(key, 2)):
        stage, began, group = map(np.asarray, states(own))
        for moment in range(found.lengths[episode] + 1):
            for part in range(len(env.spec.groups) + 1):
                of_part = (group[moment] == part) | (part == len(env.spec.groups))
                there = of_part & (stage[moment] == code)
                expected = np.median(moment - began[moment][there]) if there.any() else 0.0
                several += len(set(began[moment][there])) > 1
                assert waits["median"][episode, moment, part] == expected
                share = there.sum() / max(of_part.sum(), 1)
                assert waits["share"][episode, moment, part] == pytest.approx(share)
        for rows in waits.values():
            assert (rows[episode, found.lengths[episode] + 1 :] == 0.0).all()
    assert several > 20
    assert evaluate(env, env.default_params, policies, key, 2).waits == {}
