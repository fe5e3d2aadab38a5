"""Small tasks whose best policy is known, for learners that work step by step."""

import dataclasses
import itertools
from functools import cached_property
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from tiny import Tiny

from fairgym.core import (
    Components,
    Entities,
    EntitySpace,
    EnvironmentSpec,
    Feature,
    PerEntity,
    PopulationEnvironment,
    Shares,
    Struct,
    Unit,
    component,
)
from fairgym.fairness import Direct


class GainComponents(Components):
    """One number."""

    gain: Float[Array, ""] = component("what was gained", unit="", nonnegative=False)


class CrowdState(Struct):
    """A new crowd at every step."""

    time: Int[Array, ""]
    group: Int[Array, " people"]
    stage: Int[Array, " people"]
    worth: Float[Array, " people"]
    present: Bool[Array, " people"]


@dataclasses.dataclass(frozen=True)
class Crowd(Tiny, PopulationEnvironment):
    """A bandit over people: one agent gives each of a varying number of people a number.

    The gain is the mean of number times worth over those present, and the worth is seen: the best
    policy gives 1 to a positive worth and 0 to the rest. It gains E max(worth, 0) = 0.399 a step.
    Another agent divides two shares; the first costs four times its squared distance from 0.7.
    """

    name: ClassVar[str] = "crowd"

    population: int = 12
    horizon: int = 5

    @cached_property
    def spec(self) -> EnvironmentSpec:
        return EnvironmentSpec(
            agents=("judge", "split"),
            groups=("all",),
            components=GainComponents,
            metrics={"gain": Direct("gain", normaliser=float(self.horizon))},
            stages=("there",),
            core_attribute="worth",
        )

    @cached_property
    def _spaces(self) -> tuple[EntitySpace, dict[str, Any]]:
        crowd = EntitySpace(self.population, (Feature("worth", -3, 3),))
        return crowd, {"judge": PerEntity(self.population), "split": Shares((("first", "rest"),))}

    def _crowd(self, key: Array, time: Array) -> CrowdState:
        worth_key, number_key = jax.random.split(key)
        number = jax.random.randint(number_key, (), 1, self.population + 1)
        nothing = jnp.zeros((self.population,), jnp.int32)
        return CrowdState(
            time=time,
            group=nothing,
            stage=nothing,
            worth=jax.random.normal(worth_key, (self.population,)),
            present=jnp.arange(self.population) < number,
        )

    def initial_state(self, key: Array, params: Any) -> CrowdState:
        return self._crowd(key, jnp.int32(0))

    def people(self, state: CrowdState) -> dict[str, Array]:
        return {"worth": state.worth}

    def observe(self, state: CrowdState, params: Any) -> dict[str, Entities]:
        return dict.fromkeys(self.agents, Entities.from_columns([state.worth], state.present, []))

    def noise(self, key: Array, params: Any) -> Array:
        return jax.random.key_data(key)

    def transition(
        self, noise: Array, state: CrowdState, actions: Any, params: Any
    ) -> tuple[CrowdState, GainComponents, Array]:
        gained = jnp.where(state.present, actions["judge"] * state.worth, 0.0)
        gain = jnp.sum(gained) / jnp.sum(state.present) - 4.0 * (actions["split"][0] - 0.7) ** 2
        after = self._crowd(jax.random.wrap_key_data(noise), state.time + 1)
        return after, GainComponents(gain=gain), jnp.array(False)


class SpreadState(Struct):
    """Where the agents are."""

    time: Int[Array, ""]
    group: Int[Array, " people"]
    stage: Int[Array, " people"]
    place: Float[Array, "people two"]


LANDMARKS = np.array([[0.2, 0.5], [0.8, 0.5]], np.float32)
START = np.array([0.5, 1.0], np.float32)  # in the left half, where the first landmark is near
STRIDE = 0.15


@dataclasses.dataclass(frozen=True)
class Spread(Tiny, PopulationEnvironment):
    """Cooperative spread (Lowe et al. 2017): two agents are to cover two landmarks.

    Each sees where it is and where the other one is, and moves; the common reward is minus the mean
    over landmarks of the distance to the nearest agent. Who covers which is theirs to agree on.
    """

    name: ClassVar[str] = "spread"

    population: int = 2
    horizon: int = 12

    @cached_property
    def spec(self) -> EnvironmentSpec:
        return EnvironmentSpec(
            agents=("first", "second"),
            groups=("all",),
            components=GainComponents,
            metrics={"gain": Direct("gain", normaliser=float(self.horizon))},
            stages=("there",),
            core_attribute="x",
        )

    @cached_property
    def _spaces(self) -> tuple[EntitySpace, dict[str, Any]]:
        place = (Feature("other x"), Feature("other y"))
        own = (Feature("own x", -1, 1), Feature("own y", -1, 1), Feature("time", 0, self.horizon))
        return EntitySpace(1, place, own), dict.fromkeys(self.agents, Unit(("right", "up")))

    def initial_state(self, key: Array, params: Any) -> SpreadState:
        nothing = jnp.zeros((2,), jnp.int32)
        return SpreadState(
            time=jnp.int32(0),
            group=nothing,
            stage=nothing,
            place=jax.random.uniform(key, (2, 2)) * START,
        )

    def people(self, state: SpreadState) -> dict[str, Array]:
        return {"x": state.place[:, 0], "y": state.place[:, 1]}

    def observe(self, state: SpreadState, params: Any) -> dict[str, Entities]:
        seen = {}
        for i, agent in enumerate(self.agents):
            other = state.place[1 - i][None]
            context = [*state.place[i], state.time.astype(jnp.float32)]
            seen[agent] = Entities.from_columns(list(other.T), jnp.ones((1,), bool), context)
        return seen

    def transition(
        self, noise: Array, state: SpreadState, actions: Any, params: Any
    ) -> tuple[SpreadState, GainComponents, Array]:
        moves = jnp.stack([actions[agent] for agent in self.agents])
        place = jnp.clip(state.place + STRIDE * (2.0 * moves - 1.0), 0.0, 1.0)
        apart = jnp.linalg.norm(place[:, None] - LANDMARKS[None], axis=-1)
        gain = -jnp.mean(jnp.min(apart, axis=0))
        after = state.replace(time=state.time + 1, place=place)
        return after, GainComponents(gain=gain), jnp.array(False)


def spread_by_plan(seed: int, episodes: int) -> tuple[float, float, float]:
    """Mean gain of the best assignment, walked straight, of everybody's walk to the landmark that
    is nearest without a thought of the others, and of standing still; NumPy."""
    generator = np.random.default_rng(seed)
    planned, alone, still = [], [], []
    for _ in range(episodes):
        start = START * generator.uniform(size=(2, 2))

        nearest = np.linalg.norm(start[:, None] - LANDMARKS, axis=-1).argmin(axis=1)

        def walk(order: tuple[int, ...] | None, start: np.ndarray = start) -> float:
            place, gains = start.copy(), []
            for _ in range(Spread().horizon):
                if order is not None:
                    place = place + np.clip(LANDMARKS[list(order)] - place, -STRIDE, STRIDE)
                apart = np.linalg.norm(place[:, None] - LANDMARKS[None], axis=-1)
                gains.append(-apart.min(axis=0).mean())
            return float(np.mean(gains))

        planned.append(max(walk(order) for order in itertools.permutations(range(2))))
        alone.append(walk(tuple(nearest)))
        still.append(walk(None))
    return float(np.mean(planned)), float(np.mean(alone)), float(np.mean(still))
