"""JaxMARL's interface: shapes of actions, one size for all agents, JaxMARL's own classes."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from doors import OtherBox, OtherDiscrete, adapter_beside, assert_close, one_of
from systems import small
from tiers import in_tiers

from fairgym.adapters import jaxmarl as adapter
from fairgym.adapters.jaxmarl import Box, Discrete, JaxMarlEnv
from fairgym.core import FairgymError
from fairgym.wrappers import NeverEnds

KEY = jax.random.key(0)
CHOOSING = ["bank_loans", "doughnut", "epidemic", "lending_pool"]
SEVERAL = ["loan_simple", "loan", "health", "education", "loan of two banks"]


def halves(env: JaxMarlEnv) -> dict[str, Any]:
    """For each agent the action in the middle of its space, or its first option."""
    spaces = {agent: env.action_space(agent) for agent in env.agents}
    return {a: jnp.full(s.shape, 0.5) if s.shape else jnp.int32(0) for a, s in spaces.items()}


def traced(env: JaxMarlEnv, actions: Any) -> Any:
    """The shapes of what a step with these actions returns, without compiling it."""
    _, state = jax.eval_shape(env.reset, KEY)
    return jax.eval_shape(lambda state: env.step_env(KEY, state, actions), state)


# ---------------------------------------------------------------- actions


@pytest.mark.parametrize("name", in_tiers(CHOOSING, "bank_loans"))
def test_an_option_in_an_array_of_one_number_is_that_option(name):
    env = JaxMarlEnv(small(name))
    _, state = env.reset(KEY)
    (agent,), step = env.agents, jax.jit(env.step_env)
    expected = step(KEY, state, {agent: jnp.int32(1)})
    assert_close(step(KEY, state, {agent: jnp.array([1])}), expected)


@pytest.mark.parametrize("name", CHOOSING)
def test_options_keep_the_shapes_of_a_state(name):
    env = JaxMarlEnv(small(name))
    _, state = jax.eval_shape(env.reset, KEY)
    for shape in ((), (1,), (1, 1)):
        after = traced(env, {env.agents[0]: jnp.zeros(shape, jnp.int32)})[1]
        assert jax.tree.map(jnp.shape, after) == jax.tree.map(jnp.shape, state)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize(
    ("name", "agent", "shape", "message"),
    [
        ("bank_loans", "bank", (2,), r"the action of 'bank' must be a whole number from 0 to 1"),
        ("bank_loans", "bank", (0,), r"got an array of shape \(0,\); use jax.vmap for several"),
        ("loan_simple", "admissions", (1,), r"the action of 'admissions' must be \d+ numbers in"),
        ("loan_simple", "admissions", (), r"numbers in \[0, 1\].*, got an array of shape \(\);"),
        ("loan_simple", "admissions", (8, 2), r", got an array of shape \(8, 2\); use jax.vmap"),
    ],
)
def test_actions_of_a_wrong_shape_are_refused(name, agent, shape, message, padded):
    env = JaxMarlEnv(small(name), padded=padded)
    with pytest.raises(FairgymError, match=message):
        traced(env, halves(env) | {agent: jnp.zeros(shape)})


def test_each_playing_agent_has_one_action():
    env = JaxMarlEnv(small("loan_simple"), fixed={"disbursement": 0.5})
    given = halves(env)
    with pytest.raises(FairgymError, match="no action for 'debt_management'; give one for each"):
        traced(env, {"admissions": given["admissions"]})
    for other in ("bank", "disbursement"):
        expected = f"actions has '{other}', which does not play; the playing agents are: adm"
        with pytest.raises(FairgymError, match=expected):
            traced(env, given | {other: given["admissions"]})
    with pytest.raises(FairgymError, match=r"one array for each of adm.*, got list"):
        traced(env, list(given.values()))


@pytest.mark.parametrize("name", in_tiers([*SEVERAL, *CHOOSING], "loan_simple", "bank_loans"))
def test_infos_have_one_number_for_each_agent(name):
    env = JaxMarlEnv(small(name))
    infos = traced(env, halves(env))[4]
    assert {*infos} == {"terminated", "metrics"}
    assert {leaf.shape for leaf in jax.tree.leaves(infos)} == {(env.num_agents,)}


# ---------------------------------------------------------------- one size


@pytest.mark.parametrize("name", in_tiers([*SEVERAL, *CHOOSING], "loan_simple", "bank_loans"))
def test_padded_agents_have_one_size(name):
    env = JaxMarlEnv(small(name), padded=True)
    observations, _ = jax.eval_shape(env.reset, KEY)
    (shape,) = {env.observation_space(agent).shape for agent in env.agents}
    assert {one.shape for one in observations.values()} == {shape}
    assert len({env.action_space(agent).shape for agent in env.agents}) == 1
    for names in env.observation_names.values():
        assert names[-env.num_agents :] == tuple(f"is:{agent}" for agent in env.agents)
        assert len(names) == shape[0]
    after = traced(env, halves(env))
    assert after[0] == observations


def test_a_padded_observation_is_the_plain_one_and_the_agent():
    plain, padded = (JaxMarlEnv(small("loan_simple"), padded=x) for x in (False, True))
    _, state = plain.reset(KEY)
    seen, more = jax.jit(plain.get_obs)(state), jax.jit(padded.get_obs)(state)
    for number, agent in enumerate(plain.agents):
        size, code = seen[agent].size, np.eye(plain.num_agents)[number]
        np.testing.assert_array_equal(more[agent][:size], seen[agent])
        np.testing.assert_array_equal(more[agent][size : -plain.num_agents], 0.0)
        np.testing.assert_array_equal(more[agent][-plain.num_agents :], code)
        assert padded.observation_names[agent][:size] == plain.observation_names[agent]
        assert len(plain.observation_names[agent]) == size


def test_numbers_beyond_an_agents_own_are_ignored():
    plain, padded = (JaxMarlEnv(small("loan_simple"), padded=x) for x in (False, True))
    _, state = plain.reset(KEY)
    keys = jax.random.split(KEY, padded.num_agents)
    given = {a: padded.action_space(a).sample(k) for a, k in zip(padded.agents, keys, strict=True)}
    own = {agent: given[agent][: plain.action_space(agent).shape[0]] for agent in plain.agents}
    assert any(own[agent].size < given[agent].size for agent in own)
    expected, found = plain.step(KEY, state, own), padded.step(KEY, state, given)
    assert_close(found[1:], expected[1:])


def test_options_and_numbers_have_no_one_size():
    class Mixed(NeverEnds):
        """An environment whose first agent chooses one of the options of a bank."""

        def action_space(self, agent):
            bank = small("bank_loans")
            first = agent == self.agents[0]
            return bank.action_space("bank") if first else super().action_space(agent)

    env = Mixed(small("loan_simple"))
    with pytest.raises(FairgymError, match="'admissions' chooses an option and 'disbursement' gi"):
        JaxMarlEnv(env, padded=True)


# ---------------------------------------------------------------- pure functions


def test_steps_side_by_side_are_those_one_by_one():
    env = JaxMarlEnv(small("bank_loans"), padded=True)
    keys = jax.random.split(KEY, 3)
    states = jax.vmap(env.reset)(keys)[1]
    actions = {"bank": jnp.array([0, 1, 1])}
    found = jax.vmap(env.step)(keys, states, actions)
    for place, key in enumerate(keys):
        expected = env.step(key, *one_of((states, actions), place))
        assert_close(one_of(found, place), expected)


# ---------------------------------------------------------------- JaxMARL's own classes


class Base:
    """A stand-in for `jaxmarl.environments.multi_agent_env.MultiAgentEnv`."""

    def __init__(self, num_agents):
        raise AssertionError("it would name the agents by number")


def test_it_is_one_of_jaxmarls_environments_where_that_is_installed(monkeypatch):
    modules = {
        "jaxmarl.environments.multi_agent_env": {"MultiAgentEnv": Base},
        "jaxmarl.environments.spaces": {"Box": OtherBox, "Discrete": OtherDiscrete},
    }
    made = adapter_beside(monkeypatch, modules, adapter)
    env: Any = made.JaxMarlEnv(small("bank_loans"))
    assert Base in made.JaxMarlEnv.__bases__ and env.agents == ["bank"]
    assert type(env.observation_space("bank")) is OtherBox
    assert type(env.action_space("bank")) is OtherDiscrete and env.action_space("bank").n == 2
    assert env.get_avail_actions(None)["bank"].tolist() == [True, True]


def test_a_broken_installation_of_jaxmarl_is_as_none(monkeypatch):
    modules: dict[str, None] = dict.fromkeys(
        ("jaxmarl.environments.multi_agent_env", "jaxmarl.environments.spaces")
    )
    made = adapter_beside(monkeypatch, modules, adapter)
    env = made.JaxMarlEnv(small("bank_loans"))
    assert made.JaxMarlEnv.__bases__ == (object,)
    assert type(env.action_space("bank")) is Discrete


@pytest.mark.parametrize(
    ("low", "high"), [(-np.inf, np.inf), (0.0, np.inf), (-np.inf, 0.0), (5.0, np.inf), (2.0, 3.0)]
)
def test_samples_lie_inside_bounds_that_may_be_missing(low, high):
    box = Box(np.full(4, low), np.full(4, high), (4,))
    found = box.sample(KEY)
    assert found.shape == (4,) and bool(box.contains(found)) and np.unique(found).size == 4
    assert not bool(box.contains(jnp.full(4, jnp.nan)))
