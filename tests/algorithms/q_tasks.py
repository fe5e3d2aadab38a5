"""Small tasks with options and known values, for learners of Q."""

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from tiny import Tiny

from fairgym.core import (
    Components,
    Discrete,
    Entities,
    EntitySpace,
    Environment,
    EnvironmentSpec,
    Feature,
    OneEntity,
    Params,
    Struct,
    component,
)
from fairgym.fairness import (
    Direct,
    Full,
    Min,
    Nash,
    RelaxedParity,
    Reset,
    Scheme,
    When,
)

ARMS = (0.2, 0.9, 0.5)
STATES = 5
TEMPTATION = 0.02


class Points(Components):
    """One number."""

    points: Float[Array, ""] = component("points", unit="")


class TaskState(Struct):
    """A number that is seen, and one that is not."""

    time: Int[Array, ""]
    seen: Int[Array, ""]
    hidden: Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class Task(Tiny, Environment[TaskState, Params, Points]):
    """One agent sees a number and chooses an option; subclasses say what comes of it."""

    options: ClassVar[int] = 2
    numbers: ClassVar[int] = 2

    horizon: int = 1

    @cached_property
    def spec(self) -> EnvironmentSpec:
        return EnvironmentSpec(
            agents=("chooser",),
            groups=("all",),
            components=Points,
            metrics={"points": Direct("points")},
        )

    @cached_property
    def _spaces(self) -> tuple[EntitySpace, dict[str, Any]]:
        number = Feature("number", 0.0, self.numbers - 1.0, levels=self.numbers)
        options = Discrete(tuple(f"option_{i}" for i in range(self.options)))
        return EntitySpace(1, (number,)), {"chooser": options}

    def initial_state(self, key: Array, params: Any) -> TaskState:
        return TaskState(jnp.int32(0), jnp.int32(0), jnp.int32(0))

    def observe(self, state: TaskState, params: Any) -> dict[str, Entities]:
        seen = state.seen.astype(jnp.float32)[None, None]
        return {"chooser": Entities(seen, jnp.ones((1,), bool), jnp.zeros((0,)))}

    def transition(
        self, noise: Any, state: TaskState, actions: Any, params: Any
    ) -> tuple[TaskState, Points, Bool[Array, ""]]:
        seen, points, ends = self.outcome(state, actions["chooser"])
        after = TaskState(state.time + 1, jnp.int32(seen), state.hidden)
        return after, Points(points=jnp.float32(points)), jnp.asarray(ends)

    def outcome(self, state: TaskState, action: Array) -> tuple[Any, Any, Any]:
        """The next number that is seen, the points, and whether the episode ends."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Bandit(Task):
    """Three arms that pay what they always pay."""

    name: ClassVar[str] = "bandit"
    options: ClassVar[int] = len(ARMS)

    def outcome(self, state: TaskState, action: Array) -> tuple[Any, Any, Any]:
        return 0, jnp.array(ARMS)[action], False

    def values(self, gamma: float) -> np.ndarray:
        """Q of the arms, with the best arm for ever after."""
        return np.array(ARMS) + gamma * max(ARMS) / (1.0 - gamma)


@dataclasses.dataclass(frozen=True)
class Chain(Task):
    """Five states in a row: a point at the right end, which ends it, and a temptation at the left.

    Option 1 goes right, option 0 left; at the left end it stays and pays a little.
    """

    name: ClassVar[str] = "chain"
    numbers: ClassVar[int] = STATES

    horizon: int = 12

    def outcome(self, state: TaskState, action: Array) -> tuple[Any, Any, Any]:
        place = jnp.maximum(state.seen + 2 * action - 1, 0)
        arrived = place == STATES - 1
        tempted = (state.seen == 0) & (action == 0)
        return place, jnp.where(arrived, 1.0, jnp.where(tempted, TEMPTATION, 0.0)), arrived

    def values(self, gamma: float) -> np.ndarray:
        """Q of going left and right in the four states before the end: gamma ** steps to go."""
        right = gamma ** (STATES - 2.0 - np.arange(STATES - 1))
        left = gamma * np.concatenate([right[:1], right[:-1]])
        left[0] += TEMPTATION
        return np.stack([left, right], axis=1)


@dataclasses.dataclass(frozen=True)
class Recall(Task):
    """The number seen first, 1 or 2, is what to choose in the second step, which shows nothing."""

    name: ClassVar[str] = "recall"
    numbers: ClassVar[int] = 3

    horizon: int = 2

    def initial_state(self, key: Array, params: Any) -> TaskState:
        cue = jax.random.randint(key, (), 0, 2)
        return TaskState(jnp.int32(0), cue + 1, cue)

    def outcome(self, state: TaskState, action: Array) -> tuple[Any, Any, Any]:
        right = (state.time == 1) & (action == state.hidden)
        return 0, jnp.where(right, 1.0, 0.0), False


class ShopState(Struct):
    """Who is at the counter."""

    time: Int[Array, ""]
    present: Bool[Array, " people"]


class Handed(Components):
    """What is handed out."""

    given: Float[Array, " people"] = component("things given", unit="things", per="person")


@dataclasses.dataclass(frozen=True)
class Shop(Tiny, Environment[ShopState, Params, Handed]):
    """One thing a step for one of several people, each of whom is there three times of four.

    It is wasted on somebody absent. Welfare is Nash's after every step that wastes nothing.
    """

    name: ClassVar[str] = "shop"

    horizon: int = 5
    people: int = 2

    @cached_property
    def spec(self) -> EnvironmentSpec:
        return EnvironmentSpec(
            agents=("server",),
            groups=("all",),
            components=Handed,
            metrics={},
            parts={"person": tuple(f"person_{i}" for i in range(self.people))},
            schemes=self._schemes,
            memories={"full": Full("given"), "min": Min("given"), "reset": Reset("given")},
        )

    @property
    def _schemes(self) -> Mapping[str, Any]:
        given = Full("given")
        return {
            "welfare": Scheme.bounded(given, Nash(), When("given")),
            "parity": Scheme.anytime(given, RelaxedParity()),
            "last": Scheme.long_term(given, Nash()),
        }

    @cached_property
    def _spaces(self) -> tuple[EntitySpace, dict[str, Any]]:
        people = EntitySpace(self.people, (Feature("present", levels=2),))
        return people, {"server": OneEntity(self.people)}

    def initial_state(self, key: Array, params: Any) -> ShopState:
        return ShopState(jnp.int32(0), self.noise(key, params))

    def observe(self, state: ShopState, params: Any) -> dict[str, Entities]:
        seen = state.present.astype(jnp.float32)[:, None]
        return {"server": Entities(seen, jnp.ones((self.people,), bool), jnp.zeros((0,)))}

    def noise(self, key: Array, params: Any) -> Array:
        return jax.random.bernoulli(key, 0.75, (self.people,))

    def transition(
        self, noise: Any, state: ShopState, actions: Any, params: Any
    ) -> tuple[ShopState, Handed, Bool[Array, ""]]:
        given = state.present & (jnp.arange(self.people) == actions["server"])
        after = ShopState(state.time + 1, noise)
        return after, Handed(given=given.astype(jnp.float32)), jnp.array(False)
