"""A tiny environment without people, for tests of everything that needs none."""

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray
from tiny import Tiny

from fairgym.core import (
    Components,
    Entities,
    EntitySpace,
    Environment,
    EnvironmentSpec,
    Feature,
    Params,
    State,
    Unit,
    component,
)
from fairgym.fairness import Direct


class RoomState(State):
    """A room of some warmth."""

    warmth: Float[Array, ""]


class RoomComponents(Components):
    """Components of one step of `Room`."""

    comfort: Float[Array, ""] = component("warmth up to 20 degrees", unit="degrees")


@dataclasses.dataclass(frozen=True)
class Room(Tiny, Environment[RoomState, Params, RoomComponents]):
    """A room that one agent heats, which fails when it is too hot: a system without people.

    Args:
        horizon: number of steps.
    """

    name: ClassVar[str] = "room"
    _SEEN: ClassVar[EntitySpace] = EntitySpace(1, (Feature("warmth", 0.0, 40.0, "degrees"),))

    horizon: int = 6

    @cached_property
    def spec(self) -> EnvironmentSpec:
        """What is declared."""
        return EnvironmentSpec(
            agents=("heater",),
            groups=("room",),
            components=RoomComponents,
            metrics={"comfort": Direct("comfort", normaliser=20.0 * self.horizon)},
            group_word="room",
        )

    @cached_property
    def _spaces(self) -> tuple[EntitySpace, dict[str, Any]]:
        """The warmth, in one row, and the power of the heater."""
        return self._SEEN, {"heater": Unit(("power",))}

    def initial_state(self, key: PRNGKeyArray, params: Params) -> RoomState:
        """A cold room."""
        return RoomState(time=jnp.int32(0), warmth=10.0 * jax.random.uniform(key))

    def observe(self, state: RoomState, params: Params) -> dict[str, Entities]:
        """The warmth."""
        return {"heater": self._SEEN.view({"warmth": state.warmth[None]}, jnp.array([True]))}

    def noise(self, key: PRNGKeyArray, params: Params) -> Float[Array, " windows"]:
        """Draughts at three windows."""
        return jax.random.normal(key, (3,))

    def transition(
        self,
        noise: Float[Array, " windows"],
        state: RoomState,
        actions: Mapping[str, Any],
        params: Params,
    ) -> tuple[RoomState, RoomComponents, Bool[Array, ""]]:
        """Heat and lose heat."""
        change = 5.0 * actions["heater"][0] - 1.0 + jnp.mean(noise)
        warmth = jnp.clip(state.warmth + change, 0.0, 40.0)
        state = state.replace(time=state.time + 1, warmth=warmth)
        return state, RoomComponents(comfort=jnp.minimum(warmth, 20.0)), warmth >= 40.0
