"""A record against the same steps made one by one."""

import dataclasses
from functools import cached_property
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toys import Toy

from fairgym.core import FairgymError, record
from fairgym.policies import Function, Random, equivariant

ENV = Toy()
PARAMS = jax.tree.map(jnp.asarray, ENV.default_params)
POLICIES = {agent: Random(ENV.action_space(agent)) for agent in ENV.agents} | {
    "level": equivariant(ENV, jax.random.key(1), 4)["level"]
}
KEY = jax.random.key(0)
recorded = eqx.filter_jit(record)
step = jax.jit(ENV.step)


def by_hand(params, steps):
    """Rows of every field of a recorded step, from `reset` and `step` alone."""
    reset_key, run_key = jax.random.split(KEY)
    seen, state = ENV.reset(reset_key, params)
    rows = []
    for step_key in jax.random.split(run_key, steps):
        policy_key, noise_key = jax.random.split(step_key)
        actions = {
            agent: POLICIES[agent](seen[agent], jax.random.fold_in(policy_key, place))
            for place, agent in enumerate(ENV.agents)
        }
        before, noise = state, ENV.noise(noise_key, params)
        seen, state, components, terminated, *_ = step(noise_key, state, actions, params)
        rows.append((before, noise, actions, state, components, terminated))
    return jax.tree.map(lambda *x: np.stack(x), *rows)


def assert_close(expected, found):
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(np.asarray(b), np.asarray(a), rtol=1e-5, atol=1e-6),
        expected,
        found,
    )


@pytest.mark.parametrize(("steps", "last_step"), [(None, 1e6), (4, 1e6), (None, 2.0)])
def test_every_step_is_handed_out_past_a_failure(steps, last_step):
    params = PARAMS.replace(last_step=jnp.float32(last_step))
    found = recorded(ENV, params, POLICIES, KEY, steps)
    count = steps or ENV.horizon
    expected = by_hand(params, count)
    parts = (found.before, found.noise, found.actions, found.after, found.components)
    assert_close(expected, (*parts, found.terminated))
    times = np.arange(1, count + 1)
    assert found.after.time.tolist() == times.tolist()
    assert found.terminated.tolist() == (times >= last_step).tolist()


def test_only_what_is_picked_is_stacked():
    times = recorded(ENV, PARAMS, POLICIES, KEY, 3, pick=lambda step: step.before.time)
    assert times.tolist() == [0, 1, 2]


def test_actions_are_clipped():
    wild = POLICIES | {"level": Function(lambda seen, key: jnp.array([jnp.nan, 7.0]))}
    actions = recorded(ENV, PARAMS, wild, KEY, 2, pick=lambda step: step.actions["level"])
    assert actions.tolist() == [[0.0, 1.0]] * 2


class TestScripts:
    script: ClassVar = {"level": jnp.linspace(-0.2, 1.0, 12).reshape(6, 2)}

    def test_actions_given_beforehand_take_the_place_of_a_policy(self):
        """Step by step; the other agents and the noise keep their keys."""
        rest = {agent: POLICIES[agent] for agent in ("rank", "split")}
        found = recorded(ENV, PARAMS, rest, KEY, script=self.script)
        np.testing.assert_array_equal(found.actions["level"], np.maximum(self.script["level"], 0))
        plain = recorded(ENV, PARAMS, POLICIES, KEY)
        np.testing.assert_array_equal(found.actions["split"], plain.actions["split"])
        np.testing.assert_array_equal(found.noise.luck, plain.noise.luck)

    def test_agents_without_policy_and_script(self):
        with pytest.raises(FairgymError, match="no policy for 'rank'"):
            record(ENV, PARAMS, {"split": POLICIES["split"]}, KEY, script=self.script)
        with pytest.raises(FairgymError, match="unknown agent 'boss'"):
            record(ENV, PARAMS, POLICIES, KEY, script={"boss": self.script["level"]})


@pytest.mark.parametrize("steps", [0, 7, 2.0])
def test_steps_out_of_range(steps):
    unchecked = getattr(record, "__wrapped__", record)  # past the type check of the tests
    with pytest.raises(FairgymError, match=r"steps must be .* from 1 to 6, got"):
        unchecked(ENV, PARAMS, POLICIES, KEY, steps)


def test_agents_that_rest_change_nothing():
    """What their policies say in between is recorded and ignored by the environment."""

    class Resting(Toy):
        @cached_property
        def spec(self):
            return dataclasses.replace(super().spec, periods={"level": 2})

        def transition(self, noise, state, actions, params):
            acts = state.time % 2 == 0
            level = jnp.where(acts, actions["level"], 0.5)
            return super().transition(noise, state, {**actions, "level": level}, params)

    env = Resting()
    found = recorded(env, PARAMS, POLICIES, KEY)
    acts = np.arange(env.horizon) % 2 == 0
    resting = {"level": jnp.asarray(np.where(acts[:, None], found.actions["level"], 0.25))}
    assert not np.allclose(resting["level"], found.actions["level"])
    active = {agent: POLICIES[agent] for agent in ("rank", "split")}
    again = recorded(env, PARAMS, active, KEY, script=resting)
    assert_close(found.components, again.components)
