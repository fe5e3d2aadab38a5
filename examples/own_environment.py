"""A custom environment: a vaccination clinic that town and villages reach unequally.

Agent "outreach" sets the effort put into mobile clinics, "clinic" says who is vaccinated first.
Running this file checks the environment, trains both agents and prints what became of the people.
"""

import dataclasses
from functools import cached_property

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

import fairgym
import fairgym.core as fg
from fairgym.algorithms import algorithms
from fairgym.fairness import Direct, Disparity, Objective, Rate
from fairgym.testing import check_environment

SUSCEPTIBLE, PROTECTED, ILL, RECOVERED = range(4)


# 1. Numbers that one may want to change (or vmap over), with their ranges.
class ClinicParams(fg.Params):
    contagion: float = fg.param(1.5, "people whom one ill person infects in a week", low=0)
    visits: float = fg.param(0.3, "chance that townspeople visit in a week", low=0, high=1)
    distance: float = fg.param(0.8, "share of their visits that villagers lose", low=0, high=1)
    outreach_cost: float = fg.param(0.2, "cost of full outreach per villager, in doses", low=0)


# 2. State (besides time, group, stage) and randomness of a week, one number per person of each.
class ClinicState(fg.PopulationState):
    risk: Float[Array, " people"]


class ClinicNoise(fg.Struct):
    visit: Float[Array, " people"]
    contact: Float[Array, " people"]
    tie: Float[Array, " people"]


# 3. Counts of each week. No rates and no rewards here: metrics are made of these.
class ClinicComponents(fg.Components):
    cost: Float[Array, ""] = fg.component("doses and outreach", unit="doses")
    people: Float[Array, " groups"] = fg.component("people", unit="people", per="group")
    cases: Float[Array, " groups"] = fg.component("new cases", unit="people", per="group")
    vaccinated: Float[Array, " groups"] = fg.component("doses given", unit="people", per="group")


# 4. The environment: a frozen dataclass whose fields are shapes.
@fairgym.register_environment("clinic")
@dataclasses.dataclass(frozen=True)
class Clinic(fairgym.PopulationEnvironment):
    name = "clinic"
    population: int = fg.param(1000, "Number of people.", low=2, high=1_000_000)
    horizon: int = fg.param(26, "Number of weeks.", low=1, high=1_000)

    @cached_property
    def spec(self):  # what it declares: words for flags, logs and reports among it
        cost = Direct("cost", normaliser=float(self.population), sign=-1)  # -1: less is better
        cases, doses = Rate("cases", "people", sign=-1), Rate("vaccinated", "people")
        gaps = {"incidence_disparity": Disparity(cases), "uptake_disparity": Disparity(doses)}
        return fg.EnvironmentSpec(
            agents=("outreach", "clinic"),
            groups=("town", "village"),
            components=ClinicComponents,
            metrics={"cost": cost, "incidence": cases, **gaps},
            time_unit="weeks",
            stages=("susceptible", "protected", "ill", "recovered"),
            core_attribute="risk",  # the feature whose distribution a report shows
            size_text=f"{self.population:,} people",
        )

    @property
    def default_params(self):
        return ClinicParams()

    @cached_property  # spaces are the same objects at every call
    def _spaces(self):
        features = (fg.Feature("group"), fg.Feature("risk", 0, 2))
        seen = fg.EntitySpace(self.population, features, (fg.Feature("prevalence"),))
        effort, priority = fg.Unit(("effort",)), fg.PerEntity(self.population, "priority")
        return {"outreach": (seen, effort), "clinic": (seen, priority)}

    def observation_space(self, agent):
        return self._spaces[fg.require_agent(self, agent)][0]

    def action_space(self, agent):
        return self._spaces[fg.require_agent(self, agent)][1]

    def initial_state(self, key, params):  # the second half lives in villages, 2% are ill
        group = (jnp.arange(self.population) >= self.population // 2).astype(jnp.int32)
        ill, risk = jax.random.uniform(key, (2, self.population))
        stage = jnp.where(ill < 0.02, ILL, SUSCEPTIBLE)
        return ClinicState(time=jnp.int32(0), group=group, stage=stage, risk=2 * risk)

    def people(self, state):
        return {"group": state.group.astype(jnp.float32), "risk": state.risk}

    # Both agents see the susceptible, one row each; other rows are masked.
    def observe(self, state, params):
        space, context = self._spaces["clinic"][0], {"prevalence": jnp.mean(state.stage == ILL)}
        seen: fairgym.Entities = space.view(self.people(state), state.stage == SUSCEPTIBLE, context)
        return dict.fromkeys(self.agents, seen)

    def noise(self, key, params):
        return ClinicNoise(*jax.random.uniform(key, (3, self.population)))

    def transition(self, noise, state, actions, params):  # one week, of clipped actions
        effort = actions["outreach"][0]
        susceptible, ill = state.stage == SUSCEPTIBLE, state.stage == ILL
        # 1. visits and vaccinations
        reach = jnp.stack([jnp.ones(()), 1 - params.distance * (1 - effort)])[state.group]
        visiting = susceptible & (noise.visit < params.visits * reach)
        doses = max(1, self.population // 50)
        rows, given = fg.highest(actions["clinic"], visiting, doses, noise.tie)
        vaccinated = jnp.zeros_like(visiting).at[rows].set(given)
        # 2. infections
        danger = params.contagion * jnp.mean(ill) * state.risk
        infected = susceptible & ~vaccinated & (noise.contact < danger)
        stage = jnp.where(vaccinated, PROTECTED, jnp.where(infected, ILL, state.stage))

        def count(flags):
            return fg.by_group(flags.astype(jnp.float32), state.group, 2)

        components = ClinicComponents(
            cost=jnp.sum(given) + params.outreach_cost * effort * jnp.sum(state.group),
            people=count(jnp.ones_like(ill)),
            cases=count(infected),
            vaccinated=count(vaccinated),
        )
        state = state.replace(time=state.time + 1, stage=jnp.where(ill, RECOVERED, stage))
        return state, components, jnp.array(False)  # this society never fails


# 5. Check it small, train it larger. Observations, learning and metrics come from fairgym.
def main(epochs=10):
    check_environment(fairgym.make("clinic", population=50))
    env = fairgym.make("clinic", population=400)
    learner = algorithms.get("f-macem")(epochs=epochs, episodes_per_epoch=40, hidden=8)
    state, log = learner.init(jax.random.key(0), env, Objective.uniform(env)), {}
    for epoch in range(epochs):
        state, log = learner.update(state)
        print(f"epoch {epoch + 1}: objective {float(log['objective']):.3f}")
    print({name: float(log[f"metrics/{name}"]) for name in env.metrics})


if __name__ == "__main__":
    main()
