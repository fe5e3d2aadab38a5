"""A tiny environment with a known optimum, for tests of algorithms, policies and rollouts.

`Toy` has one agent for each kind of action. Its components can be worked out by hand, and so can
the policy that an algorithm has to find.
"""

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core import (
    ActionSpace,
    Components,
    Entities,
    EntitySpace,
    EnvironmentSpec,
    Feature,
    Params,
    PerEntity,
    PopulationEnvironment,
    PopulationState,
    Shares,
    Struct,
    Unit,
    by_group,
    check_shape,
    component,
    highest,
    param,
    per_group,
    person_index,
    require_agent,
    sample_rows,
)
from fairgym.fairness import Direct, Disparity, Metric, Rate

IDLE, QUEUED, SERVED = 0, 1, 2


Number = float | Float[Array, "..."]


class ToyParams(Params):
    """The numbers of `Toy`."""

    target_first: Number = param(0.3, "the best level for the first group", low=0.0, high=1.0)
    target_second: Number = param(0.8, "the best level for the second group", low=0.0, high=1.0)
    target_share: Number = param(0.7, "the best size of the first share", low=0.0, high=1.0)
    luck: Number = param(0.1, "standard deviation of the change in skill", low=0.0)
    last_step: Number = param(1e6, "the episode terminates after this many steps", low=1.0)


class ToyState(PopulationState):
    """People with a skill, some of them in a queue."""

    skill: Float[Array, " people"]
    queued: Bool[Array, " places"]
    queue: Int[Array, " places"] = person_index()


class ToyComponents(Components):
    """Components of one step of `Toy`."""

    gain: Float[Array, ""] = component(
        "minus the squared distances of levels and first share from their targets",
        unit="",
        nonnegative=False,
    )
    members: Float[Array, " groups"] = component("people", unit="people", per="group")
    treated: Float[Array, " groups"] = component(
        "people times the level of their group", unit="people", per="group", used_by=("level",)
    )
    queued: Float[Array, " groups"] = component(
        "people in the queue", unit="people", per="group", used_by=("rank",)
    )
    served: Float[Array, " groups"] = component(
        "people served", unit="people", per="group", used_by=("rank",)
    )


class ToyNoise(Struct):
    """The randomness of one step: of ties, of the next queue, and of the change in skills."""

    tie: Float[Array, " people"]
    next: Float[Array, " people"]
    luck: Float[Array, " people"]


_PERSON = (Feature("group"), Feature("skill", -3.0, 3.0), Feature("constant", 0.0, 2.0))


@dataclasses.dataclass(frozen=True)
class Toy(PopulationEnvironment[ToyState, ToyParams, ToyComponents]):
    """Three agents: "level" sets a number per group, "rank" orders a queue, "split" shares.

    With all weight on `gain` the best policy is the constant one of `optimum`. The disparity of
    `treated_rate` is minus the difference of the two levels.

    Args:
        population: number of people; the second half is the second group.
        horizon: number of steps.
        places: length of the queue.
        seats: people served in each step.
    """

    name: ClassVar[str] = "toy"

    population: int = 12
    horizon: int = 6
    places: int = 5
    seats: int = 2

    def __post_init__(self) -> None:
        """Check the shapes."""
        check_shape("population", self.population, 2, 1_000_000)
        check_shape("horizon", self.horizon, 1, 100_000)
        check_shape("places", self.places, 1, self.population)
        check_shape("seats", self.seats, 1, self.places)

    @cached_property
    def spec(self) -> EnvironmentSpec:
        """What is declared."""
        return EnvironmentSpec(
            agents=("level", "rank", "split"),
            groups=("first", "second"),
            components=ToyComponents,
            metrics=self._metrics,
            stages=("idle", "queued", "served"),
            core_attribute="skill",
            size_text=f"{self.population:,} people",
        )

    @property
    def default_params(self) -> ToyParams:
        """Targets 0.3 and 0.8 for the levels, 0.7 for the first share."""
        return ToyParams()

    @property
    def optimum(self) -> dict[str, np.ndarray]:
        """The actions that maximise `gain` under the default parameters; "rank" is free."""
        return {"level": np.array([0.3, 0.8]), "split": np.array([0.7, 0.3])}

    @property
    def _metrics(self) -> Mapping[str, Metric]:
        """The gain, two rates and their disparities."""
        treated, served = Rate("treated", "members"), Rate("served", "queued")
        return {
            "gain": Direct("gain", normaliser=float(self.horizon)),
            "treated_rate": treated,
            "served_rate": served,
            "treated_disparity": Disparity(treated),
            "served_disparity": Disparity(served, normalise_by_sum=True),
        }

    @cached_property
    def _spaces(self) -> dict[str, tuple[EntitySpace, ActionSpace]]:
        context = (Feature("time", 0.0, self.horizon, "steps"),)
        everybody = EntitySpace(self.population, _PERSON, context)
        return {
            "level": (everybody, Unit(per_group("level", self.spec.groups))),
            "rank": (EntitySpace(self.places, _PERSON, context), PerEntity(self.places)),
            "split": (everybody, Shares((("first", "rest"),))),
        }

    def observation_space(self, agent: str) -> EntitySpace:
        """Everybody, or the queue."""
        require_agent(self, agent)
        return self._spaces[agent][0]

    def action_space(self, agent: str) -> ActionSpace:
        """Two levels, a score for each place in the queue, two shares."""
        require_agent(self, agent)
        return self._spaces[agent][1]

    def initial_state(self, key: PRNGKeyArray, params: ToyParams) -> ToyState:
        """Everybody has a random skill; a few queue."""
        skill_key, queue_key = jax.random.split(key)
        everybody = jnp.ones((self.population,), bool)
        queue, queued = sample_rows(
            jax.random.uniform(queue_key, (self.population,)), everybody, self.places
        )
        return ToyState(
            time=jnp.int32(0),
            group=(2 * jnp.arange(self.population) >= self.population).astype(jnp.int32),
            stage=jnp.full((self.population,), IDLE, jnp.int32).at[queue].set(QUEUED),
            skill=jax.random.normal(skill_key, (self.population,)),
            queue=queue,
            queued=queued,
        )

    def people(self, state: ToyState) -> dict[str, Float[Array, " population"]]:
        """Group and skill, and a feature in which nobody differs."""
        return {
            "group": state.group.astype(jnp.float32),
            "skill": state.skill,
            "constant": jnp.ones_like(state.skill),
        }

    def observe(self, state: ToyState, params: ToyParams) -> dict[str, Entities]:
        """Everybody for "level" and "split", the queue for "rank"."""
        people, time = self.people(state), {"time": state.time.astype(jnp.float32)}
        present = jnp.ones((self.population,), bool)
        everybody = self.observation_space("level").view(people, present, time)
        queue = self.observation_space("rank").view(people, state.queued, time, state.queue)
        return {"level": everybody, "rank": queue, "split": everybody}

    def noise(self, key: PRNGKeyArray, params: ToyParams) -> ToyNoise:
        """Two uniform numbers and a normal one for everybody."""
        tie, following, luck = jax.random.split(key, 3)
        shape = (self.population,)
        return ToyNoise(
            tie=jax.random.uniform(tie, shape),
            next=jax.random.uniform(following, shape),
            luck=params.luck * jax.random.normal(luck, shape),
        )

    def transition(
        self, noise: ToyNoise, state: ToyState, actions: Mapping[str, Any], params: ToyParams
    ) -> tuple[ToyState, ToyComponents, Bool[Array, ""]]:
        """Serve the best of the queue, change the skills, sample the next queue."""
        level, share = actions["level"], actions["split"][0]
        targets = jnp.stack([jnp.asarray(params.target_first), jnp.asarray(params.target_second)])
        rows, queued = state.queue, state.queued
        chosen, taken = highest(actions["rank"], queued, self.seats, noise.tie[rows])
        served = jnp.zeros((self.population,), bool).at[rows[chosen]].max(taken)
        idle = ~served
        queue, next_queued = sample_rows(noise.next, idle, self.places)
        stage = jnp.where(served, jnp.int32(SERVED), IDLE)
        stage = stage.at[queue].set(jnp.where(next_queued, QUEUED, stage[queue]))

        def per_group(values: Array, group: Array = state.group) -> Array:
            return by_group(values.astype(jnp.float32), group, len(self.spec.groups))

        components = ToyComponents(
            gain=-jnp.sum((level - targets) ** 2) - (share - params.target_share) ** 2,
            members=per_group(jnp.ones((self.population,))),
            treated=per_group(level[state.group]),
            queued=per_group(queued, state.group[rows]),
            served=per_group(served),
        )
        state = state.replace(
            time=state.time + 1,
            stage=stage,
            skill=state.skill + 0.1 * level[state.group] + noise.luck,
            queue=queue,
            queued=next_queued,
        )
        return state, components, state.time >= params.last_step
