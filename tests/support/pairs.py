"""Two groups whose gap can be worked out by hand, and a budget that is linear in its parameters."""

import dataclasses
from functools import cached_property
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

import fairgym
from fairgym import core
from fairgym.fairness import Direct, Disparity, Rate


class PairsParams(core.Params):
    reward: float = core.param(2.0, "value of a unit of the decision", low=-10.0, high=10.0)
    cost: float = core.param(1.0, "cost of a unit of the decision", low=-10.0, high=10.0)
    penalty: float = core.param(0.3, "what the second group loses in a step", low=0.0, high=10.0)
    spread: float = core.param(1.0, "what the groups' starts differ by", low=0.0, high=10.0)
    swing: float = core.param(0.0, "range of the chance of a step", low=0.0, high=10.0)


class PairsState(core.PopulationState):
    skill: Float[Array, " people"]


class PairsComponents(core.Components):
    worth: Float[Array, ""] = core.component("worth", unit="dollars", nonnegative=False)
    people: Float[Array, " groups"] = core.group_count("people")
    scored: Float[Array, " groups"] = core.group_count("scores of the people", unit="points")


@fairgym.register_environment("pairs")
@dataclasses.dataclass(frozen=True)
class Pairs(core.PopulationEnvironment):
    """A person's score is the skill, plus the group's gift, minus a penalty of the second group."""

    name: ClassVar[str] = "pairs"

    population: int = 12
    horizon: int = 4

    @cached_property
    def spec(self) -> core.EnvironmentSpec:
        """What is declared."""
        score = Rate("scored", "people", unit="points")
        return core.EnvironmentSpec(
            agents=("giver",),
            groups=("first", "second"),
            components=PairsComponents,
            metrics={
                "worth": Direct("worth", normaliser=1.0),
                "score": score,
                "score_gap": Disparity(score),
            },
            time_unit="weeks",
            baselines={"even": {"giver": [0.5, 0.5]}, "uneven": {"giver": [0.75, 0.25]}},
            stages=("here",),
            core_attribute="skill",
            size_text=f"{self.population} people",
        )

    @property
    def default_params(self):
        return PairsParams()

    @cached_property
    def _spaces(self):
        person = (core.Feature("group", tells_group=True), core.Feature("skill", 0, 2))
        gifts = core.Unit(core.per_group("gift", self.spec.groups))
        return core.EntitySpace(self.population, person), gifts

    def observation_space(self, agent):
        return self._spaces[0]

    def action_space(self, agent):
        return self._spaces[1]

    def initial_state(self, key, params):
        # a third is in the second group
        group = (3 * jnp.arange(self.population) >= 2 * self.population).astype(jnp.int32)
        return PairsState(
            time=jnp.int32(0),
            group=group,
            stage=jnp.zeros((self.population,), jnp.int32),
            skill=1.0 + params.spread * (group == 0),
        )

    def people(self, state):
        return {"group": state.group.astype(jnp.float32), "skill": state.skill}

    def observe(self, state, params):
        everybody = jnp.ones((self.population,), bool)
        return {"giver": self._spaces[0].view(self.people(state), everybody)}

    def noise(self, key, params):
        return params.swing * jax.random.uniform(key, ())

    def transition(self, noise, state, actions, params):
        gift, group = actions["giver"], state.group
        score = state.skill + gift[group] - params.penalty * group
        amount = jnp.sum(gift)
        components = PairsComponents(
            worth=amount * (params.reward - params.cost + noise),
            people=core.by_group(jnp.ones(group.shape), group, 2),
            scored=core.by_group(score, group, 2),
        )
        return state.replace(time=state.time + 1), components, jnp.array(False)
