"""Memory-augmented environments against the environment inside and a memory folded by hand."""

import dataclasses
from functools import cached_property
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float
from room import Room
from toys import Toy

import fairgym
from fairgym.core import (
    Components,
    Entities,
    EntitySpace,
    FairgymError,
    Feature,
    PerEntity,
    State,
    component,
)
from fairgym.fairness import Direct
from fairgym.policies import Function
from fairgym.testing._population import renumbered
from fairgym.wrappers import AutoReset, EndsAfter, augmented

KEY = jax.random.key(2)


@dataclasses.dataclass(frozen=True)
class Sums:
    """Sums of a component, shown on an axis."""

    component: str
    axis: str = ""
    names: tuple[str, ...] = ("sum_first", "sum_second")

    def initial(self, like):
        return jnp.zeros_like(getattr(like, self.component))

    def update(self, memory, components):
        return memory + getattr(components, self.component)

    def features(self, env):
        return self.axis, tuple(Feature(name, 0.0, 10.0) for name in self.names)

    def shown(self, memory):
        return {"sum": memory}


class HouseState(State):
    """Three rooms of some warmth."""

    warmth: Float[Array, " rooms"]


class HouseComponents(Components):
    """The heat that went to each room."""

    heat: Float[Array, " rooms"] = component("heat", unit="kWh", per="person")


@dataclasses.dataclass(frozen=True)
class House(Room):
    """Three rooms that are told apart, the last of which is not seen and heats itself."""

    SEEN: ClassVar[EntitySpace] = EntitySpace(3, (Feature("warmth"),), (Feature("time"),))
    HEAT: ClassVar[PerEntity] = PerEntity(3)

    @cached_property
    def spec(self):
        return dataclasses.replace(
            super().spec,
            components=HouseComponents,
            metrics={"heat": Direct("heat")},
            parts={"person": ("kitchen", "hall", "attic")},
            terms=(),
            memories={"heat": Sums("heat", "person", ("sum",))},
        )

    def observation_space(self, agent):
        return self.SEEN

    def action_space(self, agent):
        return self.HEAT

    def initial_state(self, key, params) -> Any:
        return HouseState(time=jnp.int32(0), warmth=jax.random.uniform(key, (3,)))

    def observe(self, state, params):
        shown, time = jnp.array([True, True, False]), {"time": state.time}
        return {"heater": self.SEEN.view({"warmth": state.warmth}, shown, time)}

    def transition(self, noise, state, actions, params) -> Any:
        heat = actions["heater"].at[2].set(0.5) * jnp.abs(noise)
        state = state.replace(time=state.time + 1, warmth=state.warmth + heat)
        return state, HouseComponents(heat=heat), state.time >= 5


def test_the_state_is_the_inner_one_and_the_memory_accumulates():
    """In the steps of an environment with rows that memory and people share."""
    inside, params = House(), House().default_params
    env = augmented(inside, "heat")
    seen, state = env.reset(KEY, params)
    seen_inside, inner_state = inside.reset(KEY, params)
    sums = np.zeros(3, np.float32)
    for number in range(4):
        np.testing.assert_array_equal(
            seen["heater"].features[:, :1], seen_inside["heater"].features
        )
        np.testing.assert_array_equal(seen["heater"].features[:, 1], sums * [1, 1, 0])
        np.testing.assert_array_equal(seen["heater"].context, seen_inside["heater"].context)
        assert bool(env.observation_space("heater").contains(seen["heater"]))
        assert eqx.tree_equal(state.env_state, inner_state) and state.time == number
        np.testing.assert_array_equal(state.memory, sums)
        key = jax.random.fold_in(KEY, number)
        action = {"heater": jax.random.uniform(key, (3,))}
        seen, state, components, *rest = env.step(key, state, action, params)
        seen_inside, inner_state, *rest_inside = inside.step(key, inner_state, action, params)
        assert eqx.tree_equal([components, *rest], rest_inside)
        sums += np.asarray(components.heat)
    assert sums[2] > 0.1


def test_any_memory_can_be_shown_in_a_state():
    env, params = augmented(House(), "heat"), House().default_params
    state = env.initial_state(KEY, params)
    others = jnp.arange(12.0).reshape(4, 3)
    shown = jax.vmap(lambda memory: env.show(state.env_state, memory, params)["heater"])(others)
    np.testing.assert_array_equal(shown.features[:, :2, 1], others[:, :2])
    one = env.observe(state.replace(memory=others[1]), params)["heater"]
    assert eqx.tree_equal(one, jax.tree.map(lambda x: x[1], shown))
    later = state.replace(time=jnp.int32(3), memory=others[1])
    assert later.time == later.env_state.time == 3 and later.memory is not state.memory


def test_a_memory_of_groups_is_context_of_all_agents():
    inside = Toy(population=10, places=4)
    env = augmented(inside, Sums("served"))
    state = env.initial_state(KEY, env.default_params)
    seen = env.observe(state.replace(memory=jnp.array([3.0, 5.0])), env.default_params)
    for agent in env.agents:
        names = [feature.name for feature in env.observation_space(agent).context]
        assert names == ["time", "sum_first", "sum_second"]
        np.testing.assert_array_equal(seen[agent].context, [0.0, 3.0, 5.0])
    assert eqx.tree_equal(env.people(state), inside.people(state.env_state))
    assert eqx.tree_equal(env.census(state), inside.census(state.env_state))
    assert env.name == "toy" and env.unwrapped is inside and env.population == 10
    order = jnp.arange(10)[::-1]
    there = renumbered(state, order)
    assert eqx.tree_equal(there.env_state, renumbered(state.env_state, order))
    assert there.memory is state.memory and not eqx.tree_equal(there.env_state, state.env_state)


def test_a_policy_of_the_memory_takes_turns():
    """Heat for the room that has had least: what no policy of the observation inside can do."""

    def least(seen: Entities, key):
        had = jnp.where(seen.mask, seen.features[:, 1], jnp.inf)
        return (jnp.arange(3) == jnp.argmin(had)).astype(jnp.float32)

    env = augmented(House(), "heat")
    episode = eqx.filter_jit(fairgym.rollout)(
        env, env.default_params, {"heater": Function(least)}, KEY, trace=True
    )
    had = np.zeros(3)
    for row in np.asarray(episode.trace.heat[: int(episode.length)]):
        assert list(np.flatnonzero(row[:2])) == [np.argmin(had[:2])]
        had += row
    np.testing.assert_allclose(episode.final_state.memory, had, rtol=1e-6)


def test_equal_environments_are_equal_and_wrappers_go_around():
    env = augmented(House(), "heat")
    assert env == augmented(House(), Sums("heat", "person", ("sum",)))
    assert hash(env) == hash(augmented(House(), "heat"))
    assert env != augmented(House(horizon=4), "heat")
    assert env.observation_space("heater") is env.observation_space("heater")
    state = AutoReset(EndsAfter(env, 1)).step(
        KEY, env.initial_state(KEY, env.default_params), {"heater": jnp.ones(3)}, env.default_params
    )[1]
    assert state.time == 0 and not np.any(state.memory)  # of a new episode


@pytest.mark.parametrize(
    ("env", "memory", "message"),
    [
        (House(), "full", "memory must be one of heat, got 'full'"),
        (Room(), "full", "memory is 'full', but room has no memories"),
        (House(), Sums, "must be a memory that can be shown to agents"),
        (Toy(), Sums("served", "person"), "'level' must observe all .* got 12 rows"),
        (Toy(), Sums("served", "group"), "memory must be 'person' .*, got 'group'"),
        (Toy(), Sums("served", "", ("a", "time")), "'level' already observes a feature 'time'"),
        (AutoReset(House()), "heat", "AutoReset must be the outermost wrapper"),
    ],
)
def test_bad_memories(env, memory, message):
    with pytest.raises(FairgymError, match=message):
        augmented(env, memory)


def test_a_memory_shows_what_it_declares():
    env = augmented(Toy(), Sums("served", "", ("a", "b", "c")))
    with pytest.raises(FairgymError, match=r"must show one number .* its 3 features, got 2"):
        env.reset(KEY, env.default_params)
