"""Gymnax's interface: one agent in pure functions, with five or six values."""

import copy
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from doors import OtherBox, OtherDiscrete, adapter_beside, assert_close, one_of
from systems import FIRST, SYSTEMS, small
from tiers import in_tiers

import fairgym
from fairgym.adapters import gymnax as adapter
from fairgym.adapters.gymnasium import GymnasiumEnv
from fairgym.adapters.gymnax import GymnaxEnv
from fairgym.adapters.jaxmarl import JaxMarlEnv
from fairgym.core import FairgymError
from fairgym.wrappers import NeverEnds

KEY = jax.random.key(0)
OTHERS = {"admissions": 0.25, "disbursement": 0.5}


def loan(**settings: Any) -> GymnaxEnv:
    """One agent of a small bank, whose episodes have three steps."""
    env = NeverEnds(fairgym.make("loan_simple", population=60, horizon=3))
    return GymnaxEnv(env, agent="debt_management", fixed=OTHERS, **settings)


@pytest.fixture(scope="module")
def door() -> GymnaxEnv:
    return loan()


class Fails(NeverEnds):
    """An environment whose episodes terminate in their second step."""

    def transition(self, noise, state, actions, params):
        state, components, _ = super().transition(noise, state, actions, params)
        return state, components, state.time >= 2


@pytest.mark.parametrize("name", in_tiers(SYSTEMS, *FIRST))
def test_spaces_and_types_fit_in_a_scan(name):
    env = GymnaxEnv(small(name))
    params = env.default_params

    def walk(key):
        def step(carry, key):
            act, go = jax.random.split(key)
            action = env.action_space(params).sample(act)
            observation, state, reward, done, info = env.step(go, carry[1], action, params)
            return (observation, state), (reward, done, info)

        return jax.lax.scan(step, env.reset(key, params), jax.random.split(key, 4))

    (observation, _), (reward, done, info) = jax.eval_shape(walk, KEY)
    assert observation.shape == env.observation_space(params).shape
    assert len(env.observation_names) == observation.shape[0]
    assert (reward.shape, reward.dtype) == ((4,), jnp.float32)
    assert (done.shape, done.dtype) == ((4,), bool)
    assert {*info} == {"terminated", "truncated", "metrics"}
    assert {*info["metrics"]} == {*env.environment.metrics}
    other = GymnasiumEnv(small(name))
    assert (env.agent, env.name) == (other.agent, other.environment.name)
    assert env.action_space().shape == other.action_space.shape
    options = getattr(other.action_space, "n", None)
    assert env.num_actions == (options or env.action_space().shape[0])


def test_steps_are_those_of_all_agents_with_the_others_fixed(door):
    """JaxMARL's interface with one playing agent, to the end of an episode."""
    others = JaxMarlEnv(door.environment, fixed=OTHERS)
    (agent,) = others.agents
    (seen, state), (expected, before) = door.reset(KEY), others.reset(KEY)
    assert_close(seen, expected[agent])
    for number in range(3):
        key = jax.random.fold_in(KEY, number)
        action = door.action_space().sample(key)
        seen, state, reward, done, info = door.step(key, state, action)
        expected, before, rewards, dones, infos = others.step(key, before, {agent: action})
        assert_close((reward, done), (rewards[agent], dones[agent]))
        assert_close(info["metrics"], one_of(infos["metrics"], 0))
        if number < 2:  # two programs may sample another person at the start of an episode
            assert_close((seen, state), (expected[agent], before.play))
        assert bool(done) == bool(info["truncated"]) == (number == 2)
        assert not bool(info["terminated"]) and int(state.step) == [1, 2, 0][number]


def test_the_first_state_of_the_next_episode_has_the_second_key():
    env = GymnaxEnv(small("lending_pool"))
    params = env.default_params.replace(max_steps_in_episode=1)
    _, state = env.reset(KEY, params)
    key = jax.random.key(7)
    seen, after, _, done, info = env.step(key, state, jnp.int32(0), params)
    assert bool(done) and bool(info["truncated"]) and not bool(info["terminated"])
    assert_close((seen, after), env.reset(jax.random.split(key)[1], params))
    assert not np.array_equal(seen, env.reset(jax.random.split(key)[0], params)[0])


def test_more_steps_than_the_horizon_are_not_made(door):
    params = door.default_params.replace(max_steps_in_episode=100)
    assert door.default_params.max_steps_in_episode == 3
    _, state = door.reset(KEY, params)
    ended = []
    for number in range(3):
        action = door.action_space().sample(KEY)
        _, state, _, done, _ = door.step(jax.random.key(number), state, action, params)
        ended.append(bool(done))
    assert ended == [False, False, True]


def test_six_values_have_both_ends_and_the_last_observation(door):
    six = loan(step_values=6)
    limited = six.default_params.replace(max_steps_in_episode=1)
    _, state = door.reset(KEY)
    action, last = six.action_space().sample(KEY), None
    for params in (six.default_params, limited):
        seen, after, reward, terminated, truncated, info = six.step(KEY, state, action, params)
        *_, expected, done, told = door.step(KEY, state, action, params)
        assert_close(reward, expected)
        assert bool(truncated) == bool(done) == (params is limited) and not bool(terminated)
        assert int(after.step) == (params is not limited)
        last = seen if last is None else last
        assert_close(info.pop("final_observation"), last)
        assert_close(info, told)
    assert not np.array_equal(seen, last), "the next episode has begun"


def test_a_failure_terminates_an_episode_and_costs_its_penalty():
    env = Fails(small("bank_loans"))
    cheap, dear = (GymnaxEnv(env, failure_penalty=x, step_values=6) for x in (0.0, 7.0))
    _, state = cheap.reset(KEY)
    for number in range(2):
        *_, reward, _, _, _ = cheap.step(KEY, state, jnp.int32(1))
        _, state, less, terminated, truncated, info = dear.step(KEY, state, jnp.int32(1))
        assert bool(terminated) == bool(info["terminated"]) == (number == 1)
        assert not bool(truncated) and int(state.step) == [1, 0][number]
        assert float(less) == pytest.approx(float(reward) - 7.0 * (number == 1), abs=1e-5)


@pytest.mark.full
def test_side_by_side_is_one_by_one_and_compiled_is_eager():
    env = GymnaxEnv(small("bank_loans"))
    params, keys = env.default_params, jax.random.split(KEY, 3)
    actions = jnp.array([0, 1, 1])
    seen, states = jax.vmap(env.reset, in_axes=(0, None))(keys, params)
    found = jax.vmap(env.step, in_axes=(0, 0, 0, None))(keys, states, actions, params)
    for place, key in enumerate(keys):
        first, state = env.reset(key, params)
        assert_close(first, seen[place])
        assert_close(one_of(found, place), env.step(key, state, actions[place], params))
    key, state, expected = keys[2], one_of(states, 2), one_of(found, 2)
    with jax.disable_jit():
        assert_close(env.step(key, state, actions[2], params), expected)
    old = jax.random.key_data(key)
    assert_close(env.step(old, env.reset(old)[1], actions[2][None]), expected)
    assert_close(copy.deepcopy(env).step(key, state, actions[2]), expected)


@pytest.mark.full
def test_parameters_of_the_environment_are_those_of_the_call(door):
    default = door.default_params
    rates = jnp.array([0.0, 0.03])
    twice = jax.tree.map(lambda number: jnp.array([number, number]), default)
    changed = eqx.tree_at(lambda params: params.environment.deposit_rate, twice, rates)
    _, state = door.reset(KEY)
    action = door.action_space().sample(KEY)
    found = jax.vmap(door.step, in_axes=(None, None, None, 0))(KEY, state, action, changed)
    profits = found[4]["metrics"]["profit"]
    assert float(profits[0]) != float(profits[1])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"step_values": 4}, "step_values must be 5 or 6, got 4"),
        ({"agent": "bank"}, "unknown agent 'bank'"),
        ({"agent": "admissions", "fixed": {"admissions": 0.5}}, "fixed has 'admissions', the ag"),
        ({"failure_penalty": -1.0}, "failure_penalty must be a non-negative number, got -1.0"),
        ({"params": {"rate": 1.0}}, "rate"),
    ],
)
def test_settings_that_are_refused(settings, message):
    with pytest.raises(FairgymError, match=message):
        GymnaxEnv(small("loan_simple"), **settings)


def test_arguments_of_a_step_that_are_refused(door):
    params = door.default_params
    state = jax.eval_shape(door.reset, KEY)[1]

    def traced(action, params):
        return jax.eval_shape(lambda state: door.step(KEY, state, action, params), state)

    with pytest.raises(FairgymError, match=r"the action of 'debt_management' must be .*\(8, 2\)"):
        traced(jnp.zeros((8, 2)), params)
    with pytest.raises(FairgymError, match="params must be GymnaxParams, such as default_params"):
        traced(door.action_space().sample(KEY), params.environment)
    with pytest.raises(FairgymError, match="params must be GymnaxParams, such as default_params"):
        door.reset(KEY, door.environment.default_params)


def test_spaces_are_those_of_gymnax_where_it_is_installed(monkeypatch):
    spaces = {"Box": OtherBox, "Discrete": OtherDiscrete}
    made = adapter_beside(monkeypatch, {"gymnax.environments.spaces": spaces}, adapter)
    env = made.GymnaxEnv(small("bank_loans"))
    assert type(env.action_space()) is OtherDiscrete and env.num_actions == 2
    assert type(env.observation_space()) is OtherBox
