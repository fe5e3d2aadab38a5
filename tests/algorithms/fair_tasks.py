"""Small tasks in which what pays is unfair, and their expected components."""

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int
from tiny import Tiny

from fairgym.core import (
    Allocation,
    Components,
    Discrete,
    Entities,
    EntitySpace,
    Environment,
    EnvironmentSpec,
    Feature,
    Params,
    PerEntity,
    Struct,
    Unit,
    component,
)
from fairgym.fairness import (
    Direct,
    Disparity,
    Distance,
    LargestDeviation,
    Rate,
    Windowed,
)

ComponentsT = TypeVar("ComponentsT", bound=Components)

ONE_GROUP = EntitySpace(1, (Feature("group", 0, 1, levels=2),))
NOTHING = EntitySpace(1, (Feature("nothing", 0, 1),))
PAYS = (1.0, -1.0)  # what it pays to approve somebody of each group


class Decided(Components):
    """Decisions by group, and how the groups fare."""

    applicants: Float[Array, " groups"] = component("applicants", unit="people", per="group")
    approved: Float[Array, " groups"] = component("approved", unit="people", per="group")
    points: Float[Array, ""] = component("points", unit="", nonnegative=False)
    standing: Float[Array, "groups bins"] = component(
        "standing", unit="people", per=("group", "bin"), level=True
    )


class DeskState(Struct):
    """Who applies, and how many of each group are well off."""

    time: Int[Array, ""]
    group: Int[Array, ""]
    standing: Float[Array, "groups bins"]


@dataclasses.dataclass(frozen=True)
class Desk(Tiny, Environment[DeskState, Params, Decided]):
    """One applicant a step, of one of two groups; to approve pays for the first and costs else.

    Whoever is approved is well off, until somebody of their group is denied.
    """

    name: ClassVar[str] = "desk"

    horizon: int = 40

    @cached_property
    def spec(self) -> EnvironmentSpec:
        gap = Disparity(Rate("approved", "applicants"))
        return EnvironmentSpec(
            agents=("clerk",),
            groups=("first", "second"),
            components=Decided,
            metrics={"points": Direct("points"), "gap": gap},
            parts={"bin": ("badly", "well")},
            measures={
                "short_term": Windowed(gap, 10),
                "long_term": Windowed(Distance("standing"), 1),
                "long_term_window": Windowed(Distance("standing"), 10),
            },
            expected_components=self._expected_components,
        )

    @cached_property
    def _spaces(self) -> tuple[EntitySpace, dict[str, Any]]:
        return ONE_GROUP, dict.fromkeys(self.agents, Discrete(("deny", "approve")))

    def initial_state(self, key: Array, params: Any) -> DeskState:
        group = jax.random.randint(key, (), 0, 2)
        return DeskState(jnp.int32(0), group, jnp.array([[5.0, 5.0], [8.0, 2.0]]))

    def observe(self, state: DeskState, params: Any) -> dict[str, Entities]:
        seen = state.group.astype(jnp.float32)[None, None]
        return {"clerk": Entities(seen, jnp.ones((1,), bool), jnp.zeros((0,)))}

    def noise(self, key: Array, params: Any) -> Array:
        return jax.random.randint(key, (), 0, 2)

    def transition(
        self, noise: Any, state: DeskState, actions: Any, params: Any
    ) -> tuple[DeskState, Decided, Bool[Array, ""]]:
        found = self._components(state.group, actions["clerk"], state.standing)
        return DeskState(state.time + 1, noise, found.standing), found, jnp.array(False)

    def _expected_components(self, observations: Any, actions: Any, params: Any) -> Decided:
        group = observations["clerk"].features[0, 0].astype(jnp.int32)
        return self._components(group, actions["clerk"], jnp.zeros((2, 2)))

    def _components(self, group: Array, action: Array, standing: Array) -> Decided:
        who, approved = jax.nn.one_hot(group, 2), action.astype(jnp.float32)
        change = who[:, None] * jnp.array([-1.0, 1.0]) * (2.0 * approved - 1.0)
        return Decided(
            applicants=who,
            approved=who * approved,
            points=approved * jnp.array(PAYS)[group],
            standing=jnp.clip(standing + change, 0.0, 10.0),
        )


class StillState(Struct):
    """Nothing but the time."""

    time: Int[Array, ""]


class Still(Tiny, Environment[StillState, Params, ComponentsT]):
    """Nothing changes with time, and agents see nothing."""

    def initial_state(self, key: Array, params: Any) -> StillState:
        return StillState(jnp.int32(0))

    def observe(self, state: StillState, params: Any) -> dict[str, Entities]:
        nothing = Entities(jnp.zeros((1, 1)), jnp.ones((1,), bool), jnp.zeros((0,)))
        return dict.fromkeys(self.agents, nothing)


class Sent(Components):
    """Units by place."""

    sent: Float[Array, " places"] = component("units sent", unit="units", per="group")


@dataclasses.dataclass(frozen=True)
class Depot(Still[Sent]):
    """Six units a step, for three places."""

    name: ClassVar[str] = "depot"

    horizon: int = 10

    @cached_property
    def spec(self) -> EnvironmentSpec:
        return EnvironmentSpec(
            agents=("driver",),
            groups=("a", "b", "c"),
            components=Sent,
            metrics={"unevenness": LargestDeviation("sent")},
            measures=self._measures,
            expected_components=self._expected_components,
        )

    @property
    def _measures(self) -> Mapping[str, Any]:
        uneven = Windowed(LargestDeviation("sent"), 4)
        return {"short_term": uneven, "long_term": uneven, "long_term_window": uneven}

    @cached_property
    def _spaces(self) -> tuple[EntitySpace, dict[str, Any]]:
        return NOTHING, {"driver": Allocation(6, self.spec.groups)}

    def transition(
        self, noise: Any, state: StillState, actions: Any, params: Any
    ) -> tuple[StillState, Sent, Bool[Array, ""]]:
        return (
            StillState(state.time + 1),
            self._expected_components({}, actions, params),
            jnp.array(False),
        )

    def _expected_components(self, observations: Any, actions: Any, params: Any) -> Sent:
        return Sent(sent=actions["driver"].astype(jnp.float32))


class Costly(Components):
    """Points and what they cost."""

    points: Float[Array, ""] = component("points", unit="")
    cost: Float[Array, ""] = component("cost", unit="")


@dataclasses.dataclass(frozen=True)
class TwoArms(Still[Costly]):
    """An arm that pays 1 and costs 1, and one that does neither.

    Where the mean cost may be c, the best policy takes the first arm with probability c, and its
    multiplier is 1: only then are both arms worth the same.
    """

    name: ClassVar[str] = "two_arms"

    horizon: int = 1

    @cached_property
    def spec(self) -> EnvironmentSpec:
        return EnvironmentSpec(
            agents=("chooser",),
            groups=("all",),
            components=Costly,
            metrics={"points": Direct("points")},
            measures=self._measures,
        )

    @property
    def _measures(self) -> Mapping[str, Any]:
        cost = Windowed(Direct("cost", sign=-1), 1)
        return {"short_term": cost, "long_term": cost, "long_term_window": cost}

    @cached_property
    def _spaces(self) -> tuple[EntitySpace, dict[str, Any]]:
        return NOTHING, {"chooser": Discrete(("nothing", "something"))}

    def transition(
        self, noise: Any, state: StillState, actions: Any, params: Any
    ) -> tuple[StillState, Costly, Bool[Array, ""]]:
        chosen = actions["chooser"].astype(jnp.float32)
        return StillState(state.time + 1), Costly(points=chosen, cost=chosen), jnp.array(False)


class Paid(Components):
    """What groups get, what they could get, and points."""

    benefit: Float[Array, " groups"] = component("given", unit="shares", per="group")
    demand: Float[Array, " groups"] = component("asked for", unit="shares", per="group")
    points: Float[Array, ""] = component("points", unit="", nonnegative=False)


@dataclasses.dataclass(frozen=True)
class Office(Still[Paid]):
    """Two agents give to two groups of two: one a number to each person, one a number per group.

    A group's benefit is the mean of both. A step's points are the first group's benefit less the
    second's, b, which is also by how much the step is unfair.
    """

    name: ClassVar[str] = "office"

    horizon: int = 10

    @cached_property
    def spec(self) -> EnvironmentSpec:
        return EnvironmentSpec(
            agents=("judge", "clerk"),
            groups=("first", "second"),
            components=Paid,
            metrics={"points": Direct("points"), "gap": Disparity(Rate("benefit", "demand"))},
        )

    @cached_property
    def _spaces(self) -> tuple[EntitySpace, dict[str, Any]]:
        people = EntitySpace(4, (Feature("group", 0, 1, levels=2),))
        return people, {"judge": PerEntity(4), "clerk": Unit(self.spec.groups)}

    def observe(self, state: StillState, params: Any) -> dict[str, Entities]:
        group = jnp.array([[0.0], [0.0], [1.0], [1.0]])
        return dict.fromkeys(self.agents, Entities(group, jnp.ones((4,), bool), jnp.zeros((0,))))

    def transition(
        self, noise: Any, state: StillState, actions: Any, params: Any
    ) -> tuple[StillState, Paid, Bool[Array, ""]]:
        given = 0.5 * (jnp.mean(actions["judge"].reshape(2, 2), axis=1) + actions["clerk"])
        found = Paid(benefit=given, demand=jnp.ones(2), points=given[0] - given[1])
        return StillState(state.time + 1), found, jnp.array(False)


# Settings with which learners of gradients solve it in a few epochs.
OFFICE = {
    "network": "equivariant",
    "hidden": 8,
    "critic_hidden": 8,
    "num_envs": 4,
    "num_steps": 40,
    "num_minibatches": 4,
    "update_epochs": 4,
    "learning_rate": 0.01,
    "init_std": 0.3,
    "max_std": 0.3,
    "gamma": 0.5,
    "evaluation_episodes": 1,
    "episodes_per_epoch": 160,
    "epochs": 8,
}
