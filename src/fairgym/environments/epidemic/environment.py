"""The epidemic: who is vaccinated in a network (Hu, Lear and Zhang 2023, section VI-C)."""

# The states of health depend on the model, so that the stages are a property here.
# pyright: reportIncompatibleVariableOverride=false

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core import (
    Components,
    Entities,
    EntitySpace,
    FairgymError,
    Feature,
    OneEntity,
    PopulationEnvironment,
    check_flag,
    check_shape,
    register_environment,
    require_agent,
)
from fairgym.environments.epidemic import dynamics
from fairgym.environments.epidemic.graph import (
    KARATE,
    Edges,
    NetworkxGraph,
    communities_of,
    contact_matrix,
    contacts_of,
)
from fairgym.environments.epidemic.params import EpidemicParams
from fairgym.environments.epidemic.types import (
    EpidemicComponents,
    EpidemicNoise,
    EpidemicState,
)
from fairgym.fairness import Disparity, Distance, Metric, Rate, Windowed

MODELS = {
    "SIR": ("susceptible", "infected", "recovered"),
    "SEIR": ("susceptible", "exposed", "infected", "recovered"),
}
SUSCEPTIBLE = 0
MOST_PEOPLE = 2_000
HARDER_WANING = 0.2


@register_environment("epidemic")
@dataclasses.dataclass(frozen=True)
class Epidemic(PopulationEnvironment[EpidemicState, EpidemicParams, EpidemicComponents]):
    """A disease that spreads along contacts, and a clinic that vaccinates one person in each step.

    The published reward is the share of people who are not infected.

    Args:
        graph: "karate", pairs of numbers of people who meet ("0-1,1-2" on the command line), or a
            networkx graph.
        communities: 0 or 1 for each person; if empty, the first Girvan-Newman division.
        model: "SIR", or "SEIR" with a state of having been exposed.
        first_infected: numbers of those who are infected at the start.
        random_infected: number of people, drawn anew in every episode, who are infected at the
            start instead; 0 for those of `first_infected`.
        burn_in: number of steps before the episode in which the disease spreads and nobody is
            vaccinated.
        harder: immunity that wanes with a chance of 0.2, after Xu et al. (2024).
        population: number of people, some of whom may meet nobody; 0 for those of the graph.
        horizon: number of steps.
        shows_contacts: sight of the number of infected contacts of everybody for the clinic, which
            it could work out.
        shows_time: sight of the time for the clinic as well.

    Raises:
        FairgymError: an argument out of range, a graph that is none or has other people than said,
            or communities that are not known.
    """

    name: ClassVar[str] = "epidemic"
    agents: ClassVar[tuple[str, ...]] = ("clinic",)
    groups: ClassVar[tuple[str, ...]] = ("first community", "second community")
    group_word: ClassVar[str] = "community"
    core_attribute: ClassVar[str] = "degree"
    exchangeable: ClassVar[bool] = False  # a person's number is a place in the network
    components: ClassVar[type[Components]] = EpidemicComponents
    default_objective: ClassVar[str] = "published"
    # a vaccine is what there is to be had
    benefit: ClassVar[str] = "vaccinated"

    graph: str | tuple[tuple[int, ...], ...] | list[Any] | NetworkxGraph = KARATE
    communities: tuple[int, ...] = ()
    model: str = "SIR"
    first_infected: tuple[int, ...] = (0,)
    random_infected: int = 0
    burn_in: int = 1
    harder: bool = False
    population: int = 0
    horizon: int = 20
    shows_contacts: bool = False
    shows_time: bool = False

    def __post_init__(self) -> None:
        """Check the shapes, and write the graph in its plain form."""
        contacts, people = contacts_of(self.graph)
        check_shape("population", self.population, 0, MOST_PEOPLE)
        named = isinstance(self.graph, str) and self.graph == KARATE
        fixed = named or isinstance(self.graph, NetworkxGraph)  # pairs leave out who meets nobody
        if self.population and (people > self.population or (fixed and people != self.population)):
            raise FairgymError(
                f"population is {self.population} and the graph has"
                f" {people} people; population takes {'' if fixed else 'at least '}{people}"
            )
        object.__setattr__(self, "population", self.population or people)
        if not 1 <= self.population <= MOST_PEOPLE:
            raise FairgymError(
                f"the graph has {self.population} people; it takes from 1 to {MOST_PEOPLE}"
            )
        object.__setattr__(self, "graph", KARATE if named else contacts)
        self._check_communities()
        self._check_start()
        if self.model not in MODELS:
            raise FairgymError(f"model is {self.model!r}; it takes {' or '.join(MODELS)}")
        check_shape("horizon", self.horizon, 1, 100_000)
        for name in ("harder", "shows_contacts", "shows_time"):
            check_flag(name, getattr(self, name))

    def _check_communities(self) -> None:
        """Check that each person has one of two communities, and neither is empty."""
        given = self._listed("communities")
        if given and (len(given) != self.population or set(given) != {0, 1}):
            raise FairgymError(
                f"communities has {len(given)} entries, of {sorted(set(given), key=str)}; it takes"
                f" 0 or 1 for each of {self.population} people, and each for somebody"
            )
        if not given:
            communities_of(self.contacts, self.population)  # raises if they cannot be found

    def _check_start(self) -> None:
        """Check who is infected at the start."""
        for person in self._listed("first_infected"):
            check_shape("first_infected", person, 0, self.population - 1)
        check_shape("random_infected", self.random_infected, 0, self.population)
        check_shape("burn_in", self.burn_in, 0, 1_000)

    def _listed(self, name: str) -> tuple[int, ...]:
        """Numbers of people of a field, which a list does for as well."""
        given: Any = getattr(self, name)
        if not isinstance(given, tuple | list):
            raise FairgymError(f"{name} is {given!r}; it takes several numbers, such as (0, 1)")
        object.__setattr__(self, name, tuple(given))
        return tuple(given)

    # ---------------------------------------------------------------- the network

    @cached_property
    def contacts(self) -> Edges:
        """Pairs of people who meet, each once, the lower number first."""
        return contacts_of(self.graph)[0]

    @cached_property
    def contact_matrix(self) -> Float[np.ndarray, "people people"]:
        """1 where two people meet, 0 elsewhere."""
        return contact_matrix(self.contacts, self.population)

    @cached_property
    def community(self) -> Int[np.ndarray, " people"]:
        """Community of each person, 0 or 1."""
        found = self.communities or communities_of(self.contacts, self.population)
        return np.array(found, np.int32)

    # ---------------------------------------------------------------- declarations

    @property
    def stages(self) -> tuple[str, ...]:
        """States of health, in the order in which people pass through them."""
        return MODELS[self.model]

    @property
    def default_params(self) -> EpidemicParams:
        """The published numbers; immunity wanes in the harder variant."""
        return EpidemicParams(waning=HARDER_WANING if self.harder else 0.0)

    @property
    def size_text(self) -> str:
        """Number of people and of their contacts."""
        return f"{self.population:,} people, {len(self.contacts):,} contacts"

    @property
    def axes(self) -> Mapping[str, tuple[str, ...]]:
        """States of health, and the people, who are told apart."""
        people = self._action_space.names[: self.population]
        return {**super().axes, "state": self.stages, "person": people}

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """Health, and fairness of vaccines in the short term and of health in the long term."""
        vaccines = Rate(
            "vaccinated",
            "newly_infected",
            offset=1.0,
            title="Vaccines per new infection",
            unit="vaccines",
        )
        return {
            "not_infected": Rate("not_infected", "people", title="People not infected"),
            "vaccine_rate": vaccines,
            "vaccine_disparity": Disparity(vaccines),
            "health_distance": Distance("health", "nominal"),
        }

    @property
    def measures(self) -> Mapping[str, Windowed]:
        """Fairness in the course of an episode (section VI-C): all steps so far count as lately."""
        metrics = self.metrics
        return {
            "short_term": Windowed(metrics["vaccine_disparity"], 0),  # equation 10
            "long_term": Windowed(metrics["health_distance"], 1),
            "long_term_window": Windowed(metrics["health_distance"], 0),
        }

    @property
    def published(self) -> Mapping[str, float]:
        """The share of people not infected (section VI-C)."""
        return {"not_infected": 1.0}

    @property
    def baselines(self) -> Mapping[str, Mapping[str, Any]]:
        """Susceptible people by contacts or at random, and nobody."""
        return {
            "highest_degree": {"clinic": "highest-degree"},
            "most_exposed": {"clinic": "most-exposed"},
            "random_susceptible": {"clinic": "random-present"},
            "nobody": {"clinic": "none"},
            **super().baselines,
        }

    @cached_property
    def _observation_space(self) -> EntitySpace:
        most = max(1, int(self.contact_matrix.sum(axis=1).max()))
        features = [Feature(stage, levels=2, of="health") for stage in self.stages]
        features.append(
            Feature("vaccinated", levels=2, source="whether a vaccine was given so far")
        )
        if self.shows_contacts:
            features.append(Feature("infected_contacts", 0, most, "people", "N_I", levels=most + 1))
        features.append(Feature("group", levels=2, source="0 or 1: the community", fixed=True))
        features.append(Feature("degree", 0, most, "people", "number of contacts", fixed=True))
        time = Feature("time", 0, self.horizon, "steps", levels=self.horizon + 1)
        return EntitySpace(self.population, tuple(features), (time,) if self.shows_time else ())

    @cached_property
    def _action_space(self) -> OneEntity:
        return OneEntity(self.population, none=True, present=self.stages[SUSCEPTIBLE])

    def observation_space(self, agent: str) -> EntitySpace:
        """Everybody, with their state of health."""
        require_agent(self, agent)
        return self._observation_space

    def action_space(self, agent: str) -> OneEntity:
        """The person who is vaccinated, or nobody."""
        require_agent(self, agent)
        return self._action_space

    # ---------------------------------------------------------------- start

    def initial_state(self, key: PRNGKeyArray, params: EpidemicParams) -> EpidemicState:
        """The first infected, and the spread from them during the burn-in."""
        first_key, spread_key = jax.random.split(key)
        if self.random_infected:
            lot = jax.random.uniform(first_key, (self.population,))
            first = jax.lax.top_k(lot, self.random_infected)[1]
        else:
            first = np.array(self.first_infected, np.int32)
        stage = jnp.zeros((self.population,), jnp.int32).at[first].set(self._infected)
        if self.burn_in:
            fate = jax.random.uniform(spread_key, (self.burn_in, self.population))
            stage = jax.lax.scan(lambda s, f: (self._spread(s, f, params), None), stage, fate)[0]
        return EpidemicState(
            time=jnp.int32(0),
            group=jnp.asarray(self.community),
            stage=stage,
            vaccinated=jnp.zeros((self.population,), bool),
        )

    # ---------------------------------------------------------------- looking

    def people(self, state: EpidemicState) -> dict[str, Float[Array, " population"]]:
        """Community, state of health, vaccination and contacts of each person."""
        health = {
            name: (state.stage == code).astype(jnp.float32) for code, name in enumerate(self.stages)
        }
        return {
            **health,
            "vaccinated": state.vaccinated.astype(jnp.float32),
            "infected_contacts": self._infected_contacts(state.stage),
            "group": state.group.astype(jnp.float32),
            "degree": jnp.asarray(self.contact_matrix.sum(axis=1)),
        }

    def observe(self, state: EpidemicState, params: EpidemicParams) -> dict[str, Entities]:
        """Everybody, and the time if it is shown."""
        everybody = jnp.ones((self.population,), bool)
        context = {"time": state.time} if self.shows_time else {}
        return {"clinic": self._observation_space.view(self.people(state), everybody, context)}

    # ---------------------------------------------------------------- one step

    def noise(self, key: PRNGKeyArray, params: EpidemicParams) -> EpidemicNoise:
        """Uniform numbers for the vaccine and for everybody."""
        uniform = jax.random.uniform(key, (self.population + 1,))
        return EpidemicNoise(effect=uniform[0], fate=uniform[1:])

    def transition(
        self,
        noise: EpidemicNoise,
        state: EpidemicState,
        actions: Mapping[str, Any],
        params: EpidemicParams,
    ) -> tuple[EpidemicState, EpidemicComponents, Bool[Array, ""]]:
        """Make one step: the numbered steps of the card."""
        # 1. the vaccine; nobody has the number of "none"
        given = jnp.arange(self.population) == actions["clinic"]
        protected = self.immunised(state.stage, given, noise.effect, params)
        # 2. infections, onsets, recoveries and waning, all at once
        after = self._spread(protected, noise.fate, params)

        infected = (protected == SUSCEPTIBLE) & (after != SUSCEPTIBLE)
        components = self._counted(
            given=given.astype(jnp.float32),
            wasted=jnp.sum(given & (protected == state.stage), dtype=jnp.float32),
            infected=infected.astype(jnp.float32),
            health=_one_hot(after, len(self.stages)),
        )
        state = state.replace(time=state.time + 1, stage=after, vaccinated=state.vaccinated | given)
        return state, components, jnp.array(False)

    def immunised(
        self,
        stage: Int[Array, " people"],
        given: Bool[Array, " people"],
        effect: Float[Array, ""],
        params: EpidemicParams,
    ) -> Int[Array, " people"]:
        """States of health after vaccines have been given to these people, one or many.

        Args:
            stage: states of health before.
            given: who is given a vaccine.
            effect: uniform in [0, 1), the same for all.
            params: as `default_params`.
        """
        chance = dynamics.effect_chance(stage, params.efficacy, params.cure, len(self.stages))
        return jnp.where(given & (effect < chance), self._recovered, stage)

    def _spread(
        self, stage: Int[Array, " people"], fate: Float[Array, " people"], params: EpidemicParams
    ) -> Int[Array, " people"]:
        """States of health after a step of the disease."""
        chance = self._chance_to_pass_on(stage, params)
        return dynamics.passed_on(stage, chance, fate, len(self.stages))

    def _chance_to_pass_on(
        self, stage: Int[Array, " people"], params: EpidemicParams
    ) -> Float[Array, " people"]:
        """Chance that each person passes on to the next state of health."""
        infected = dynamics.infection_chance(self._infected_contacts(stage), params.infection)
        return dynamics.chance_to_pass_on(
            stage, infected, params.onset, params.recovery, params.waning, len(self.stages)
        )

    def _infected_contacts(self, stage: Int[Array, " people"]) -> Float[Array, " people"]:
        """Number of infected people whom each person meets."""
        infected = (stage == self._infected).astype(jnp.float32)
        return jnp.dot(self.contact_matrix, infected, precision="highest")

    @property
    def _infected(self) -> int:
        return self.stages.index("infected")

    @property
    def _recovered(self) -> int:
        return self.stages.index("recovered")

    def _counted(
        self,
        given: Float[Array, " people"],
        wasted: Float[Array, ""],
        infected: Float[Array, " people"],
        health: Float[Array, "people states"],
    ) -> EpidemicComponents:
        """Components: the sums of these numbers of people, or chances, over the communities."""
        member = np.arange(len(self.groups))[:, None] == self.community
        people = jnp.concatenate([given[:, None], infected[:, None], health], axis=1)
        sums = jnp.dot(member.astype(np.float32), people, precision="highest")
        by_state = sums[:, 2:]
        return EpidemicComponents(
            vaccinated=sums[:, 0],
            wasted=wasted,
            newly_infected=sums[:, 1],
            people=jnp.asarray(member.sum(axis=1), jnp.float32),
            not_infected=by_state[:, SUSCEPTIBLE] + by_state[:, self._recovered],
            health=by_state,
        )

    # ---------------------------------------------------------------- foresight

    def foresee(
        self, observations: dict[str, Entities], actions: Mapping[str, Any], params: EpidemicParams
    ) -> EpidemicComponents:
        """Expected components of a step, all of them: the health of everybody is seen.

        Args:
            observations: what the clinic sees before the step.
            actions: the clinic's action.
            params: as `default_params`.
        """
        states = len(self.stages)
        stage = jnp.argmax(observations["clinic"].features[:, :states], axis=1).astype(jnp.int32)
        given = jnp.arange(self.population) == actions["clinic"]
        chance = dynamics.effect_chance(stage, params.efficacy, params.cure, states)
        effect = jnp.sum(jnp.where(given, chance, 0.0))
        without = self._expected(stage, stage, given, params)
        protected = jnp.where(given, self._recovered, stage)
        with_effect = self._expected(protected, stage, given, params)
        return jax.tree.map(lambda w, o: effect * w + (1.0 - effect) * o, with_effect, without)

    def _expected(
        self,
        stage: Int[Array, " people"],
        before: Int[Array, " people"],
        given: Bool[Array, " people"],
        params: EpidemicParams,
    ) -> EpidemicComponents:
        """Expected components once it is known whether the vaccine has had an effect."""
        states = len(self.stages)
        chance = self._chance_to_pass_on(stage, params)
        now, following = _one_hot(stage, states), _one_hot((stage + 1) % states, states)
        return self._counted(
            given=given.astype(jnp.float32),
            wasted=jnp.sum(given & (stage == before), dtype=jnp.float32),
            infected=jnp.where(stage == SUSCEPTIBLE, chance, 0.0),
            health=now + chance[:, None] * (following - now),
        )


def _one_hot(stage: Int[Array, " people"], states: int) -> Float[Array, "people states"]:
    """1 for each person's state of health, 0 for the others."""
    return jax.nn.one_hot(stage, states, dtype=jnp.float32)
