"""Memories and hidden states in rollouts and records, against loops in plain Python."""

import dataclasses
from functools import cached_property

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from room import Room
from toys import Toy

import fairgym
from fairgym.core import Memory, RecurrentPolicy, decide, first_hidden, no_components, record
from fairgym.policies import Function

KEY = jax.random.key(3)


@dataclasses.dataclass(frozen=True)
class Comforts:
    """The least and the last comfort, and the number of steps."""

    def initial(self, like):
        return {"least": jnp.full_like(like.comfort, jnp.inf), "last": like.comfort, "n": 0}

    def update(self, memory, components):
        least = jnp.minimum(memory["least"], components.comfort)
        return {"least": least, "last": components.comfort, "n": memory["n"] + 1}


class Counting(eqx.Module):
    """A tenth of the power more with every action."""

    start: float = 0.0

    def initial(self):
        return jnp.float32(self.start)

    def __call__(self, observation, key, hidden):
        return jnp.reshape(hidden / 10.0, (1,)), hidden + 1.0


@dataclasses.dataclass(frozen=True)
class Slow(Room):
    """A heater that acts every other step."""

    @cached_property
    def spec(self):
        return dataclasses.replace(super().spec, periods={"heater": 2})


@dataclasses.dataclass(frozen=True)
class Measured(Room):
    """A room with a scheme."""

    @cached_property
    def spec(self):
        return dataclasses.replace(super().spec, schemes={"comforts": Comforts()})


def test_memories_are_folds_over_the_trace():
    episode = eqx.filter_jit(fairgym.rollout)(
        Measured(), Room().default_params, {"heater": Counting()}, KEY, trace=True
    )
    assert list(episode.memories) == ["comforts"]  # those of the schemes, if none are given
    found, comfort = episode.memories["comforts"], np.asarray(episode.trace.comfort)
    assert found["n"] == 6 == episode.length
    assert found["least"] == comfort.min() and found["last"] == comfort[-1]
    assert np.ptp(comfort) > 1.0


def test_memories_given_replace_the_schemes():
    heater = {"heater": Function(lambda observation, key: jnp.ones(1))}
    arguments = (Measured(), Room().default_params, heater, KEY, 2)
    assert fairgym.rollout(*arguments, memories={}).memories == {}
    found = fairgym.rollout(*arguments, memories={"a": Comforts(), "b": Comforts()}).memories
    assert [int(memory["n"]) for memory in found.values()] == [2, 2]


@pytest.mark.parametrize("env", [Room(), Toy(population=10, places=3)])
def test_no_components(env):
    def step(key):
        actions = {agent: env.action_space(agent).sample(key) for agent in env.agents}
        state = env.initial_state(key, env.default_params)
        return env.advance(key, state, actions, env.default_params)[1]

    nothing = no_components(env, env.default_params)
    assert jax.tree.map(lambda x: (x.shape, x.dtype), nothing) == jax.tree.map(
        lambda x: (x.shape, x.dtype), jax.eval_shape(step, KEY)
    )
    assert all(not np.any(x) for x in jax.tree.leaves(nothing))


@pytest.mark.parametrize(
    ("env", "mean", "actions"),
    [(Room(), 0.25, [0, 0.1, 0.2, 0.3, 0.4, 0.5]), (Slow(), 0.1, [0, 0.1, 0.1, 0.2, 0.2, 0.3])],
)
def test_a_hidden_state_is_kept_from_action_to_action(env, mean, actions):
    """In a step without an action it stays what it is."""
    policies = {"heater": Counting()}
    episode = fairgym.rollout(env, env.default_params, policies, KEY)
    np.testing.assert_allclose(episode.mean_actions["heater"], [mean], rtol=1e-6)
    told = record(
        env, env.default_params, policies, KEY, pick=lambda step: step.actions["heater"][0]
    )
    np.testing.assert_allclose(told, actions, rtol=1e-6)


def test_every_episode_starts_with_a_fresh_hidden_state():
    params = Room().default_params
    runs = jax.vmap(lambda key: fairgym.rollout(Room(), params, {"heater": Counting()}, key, 3))
    np.testing.assert_allclose(
        runs(jax.random.split(KEY, 2)).mean_actions["heater"], [[0.1], [0.1]], rtol=1e-6
    )


def test_hidden_states_are_those_of_recurrent_policies():
    plain = Function(lambda observation, key: jnp.ones(1))
    assert isinstance(Counting(), RecurrentPolicy) and not isinstance(plain, RecurrentPolicy)
    assert isinstance(Comforts(), Memory) and not isinstance(Counting(), Memory)
    hidden = first_hidden({"a": Counting(2.0), "b": plain})
    assert hidden == {"a": 2.0}
    seen = Room().reset(KEY, Room().default_params)[0]["heater"]
    action, after = decide(Counting(), seen, KEY, hidden["a"])
    assert action == jnp.float32(0.2) and after == 3.0
    assert decide(plain, seen, KEY) == (1.0, None)
