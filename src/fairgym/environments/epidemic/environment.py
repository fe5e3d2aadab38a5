"""The epidemic: who is vaccinated in a network (Hu, Lear and Zhang 2023, section VI-C)."""

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core import (
    Entities,
    EntitySpace,
    EnvironmentSpec,
    FairgymError,
    Feature,
    OneEntity,
    PopulationEnvironment,
    check_shape,
    param,
    uniform,
)
from fairgym.environments._common.base import SpacesByAgent
from fairgym.environments.epidemic import steps
from fairgym.environments.epidemic.declarations import (
    baseline_policies,
    decisions,
    epidemic_measures,
    epidemic_metrics,
)
from fairgym.environments.epidemic.graph import (
    KARATE,
    MOST_PEOPLE,
    Edges,
    NetworkxGraph,
    check_communities,
    checked_graph,
    communities_of,
    contact_matrix,
    contacts_of,
)
from fairgym.environments.epidemic.steps import SUSCEPTIBLE
from fairgym.environments.epidemic.types import (
    EpidemicComponents,
    EpidemicNoise,
    EpidemicParams,
    EpidemicState,
)
from fairgym.utils import register_environment

MODELS = {
    "SIR": ("susceptible", "infected", "recovered"),
    "SEIR": ("susceptible", "exposed", "infected", "recovered"),
}
HARDER_WANING = 0.2


@register_environment("epidemic")
@dataclasses.dataclass(frozen=True)
class Epidemic(
    SpacesByAgent, PopulationEnvironment[EpidemicState, EpidemicParams, EpidemicComponents]
):
    """A disease that spreads along contacts, and a clinic that vaccinates one person per step.

    The published reward is the share of people who are not infected.

    Raises:
        FairgymError: If an argument is out of range, the graph is not one or has another number of
            people, or the communities cannot be found.
    """

    name: ClassVar[str] = "epidemic"

    graph: str | tuple[tuple[int, ...], ...] | list[object] | NetworkxGraph = param(  # noqa: RUF009
        KARATE,
        'Contact network: "karate", pairs of people ("0-1,1-2" on the command line), or a networkx'
        " graph.",
    )
    communities: tuple[int, ...] = param(
        (),
        "Community of each person, 0 or 1; if empty, the first Girvan-Newman division.",
    )
    model: str = param(
        "SIR",
        'Disease model: "SIR", or "SEIR" with exposed people who are not yet infectious.',
        choices=tuple(MODELS),
    )
    first_infected: tuple[int, ...] = param((0,), "Indices of the people infected at the start.")
    random_infected: int = param(
        0,
        "Number of randomly drawn people who are infected at the start of an episode; 0 for the"
        " people in `first_infected`.",
        low=0,
        high=MOST_PEOPLE,
    )
    burn_in: int = param(
        1,
        "Steps before the episode in which the disease spreads and nobody is vaccinated.",
        low=0,
        high=1_000,
    )
    harder: bool = param(
        False,
        "Whether immunity wanes with probability 0.2 per step (Xu et al. 2024).",
    )
    population: int = param(
        0,
        "Number of people, including those without contacts; 0 for the people of the graph.",
        low=0,
        high=MOST_PEOPLE,
    )
    horizon: int = param(
        20, "Time limit in steps, after which an episode is truncated.", low=1, high=100_000
    )
    shows_contacts: bool = param(
        False,
        "Whether the clinic observes everybody's number of infected contacts.",
    )
    shows_time: bool = param(False, "Whether the clinic observes the time.")

    def __post_init__(self) -> None:
        """Check the arguments and store the graph in its plain form."""
        graph, people = checked_graph(self.graph, self.population)
        object.__setattr__(self, "graph", graph)
        object.__setattr__(self, "population", people)
        check_communities(self._listed("communities"), self.contacts, people)
        for person in self._listed("first_infected"):
            check_shape("first_infected", person, 0, people - 1)
        check_shape("random_infected", self.random_infected, 0, people)
        super().__post_init__()

    def _listed(self, name: str) -> tuple[int, ...]:
        """Return the people in a field as a tuple; a list is accepted as well."""
        given: object = getattr(self, name)
        if not isinstance(given, tuple | list):
            raise FairgymError(
                f"{name} must be a tuple or list of numbers such as (0, 1), got {given!r}"
            )
        object.__setattr__(self, name, tuple(given))
        return tuple(given)

    # ---------------------------------------------------------------- the network

    @cached_property
    def contacts(self) -> Edges:
        """Pairs of people who meet, each once, lower number first."""
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
    def _stages(self) -> tuple[str, ...]:
        """States of health, in the order in which people pass through them."""
        return MODELS[self.model]

    @cached_property
    def spec(self) -> EnvironmentSpec:
        """Declarations of the environment."""
        metrics = epidemic_metrics()
        measures = epidemic_measures(metrics)
        return EnvironmentSpec(
            agents=("clinic",),
            groups=("first community", "second community"),
            components=EpidemicComponents,
            # Health, short-term fairness of vaccines, long-term fairness of health.
            metrics=metrics,
            group_word="community",
            size_text=f"{self.population:,} people, {len(self.contacts):,} contacts",
            # Fairness during an episode (section VI-C); the window is all steps so far.
            measures=measures,
            # The window of the short-term measure: vaccines and infections so far.
            memories={"window": measures["short_term"]},
            # The share of people not infected (section VI-C).
            published={"not_infected": 1.0},
            default_objective="published",
            # people receive vaccines
            benefit="vaccinated",
            # Vaccinate susceptible people by contacts, at random, or nobody.
            baselines={**baseline_policies(), "random": {"clinic": "random"}},
            stages=self._stages,
            # People are distinguished.
            parts={
                "state": self._stages,
                "person": self._action_spaces["clinic"].names[: self.population],
            },
            core_attribute="degree",
            # a person's number is a place in the network
            exchangeable=False,
            expected_components=self._expected_components,
            decisions=decisions(len(self._stages)),
        )

    @property
    def default_params(self) -> EpidemicParams:
        """The published numbers; in the harder variant immunity wanes."""
        return EpidemicParams(waning=HARDER_WANING if self.harder else 0.0)

    @cached_property
    def _observation_spaces(self) -> dict[str, EntitySpace]:
        """Everybody, with their state of health."""
        most = max(1, int(self.contact_matrix.sum(axis=1).max()))
        features = [Feature(stage, levels=2, of="health") for stage in self._stages]
        given = "whether the person has been given a vaccine"
        features.append(Feature("vaccinated", levels=2, source=given))
        if self.shows_contacts:
            infected = Feature("infected_contacts", 0, most, "people", "N_I", levels=most + 1)
            features.append(infected)
        features.append(Feature("group", levels=2, source="0 or 1: the community", fixed=True))
        features.append(Feature("degree", 0, most, "people", "number of contacts", fixed=True))
        time = Feature("time", 0, self.horizon, "steps", levels=self.horizon + 1)
        context = (time,) if self.shows_time else ()
        return {"clinic": EntitySpace(self.population, tuple(features), context)}

    @cached_property
    def _action_spaces(self) -> dict[str, OneEntity]:
        """The person who is vaccinated, or nobody."""
        space = OneEntity(self.population, none=True, present=self._stages[SUSCEPTIBLE])
        return {"clinic": space}

    # ---------------------------------------------------------------- start

    def initial_state(self, key: PRNGKeyArray, params: EpidemicParams) -> EpidemicState:
        """Infect the first people and let the disease spread during the burn-in."""
        first_key, spread_key = jax.random.split(key)
        if self.random_infected:
            lot = jax.random.uniform(first_key, (self.population,))
            first = jax.lax.top_k(lot, self.random_infected)[1]
        else:
            first = np.array(self.first_infected, np.int32)
        stage = (
            jnp.zeros((self.population,), jnp.int32).at[first].set(self._stages.index("infected"))
        )
        if self.burn_in:
            fate = jax.random.uniform(spread_key, (self.burn_in, self.population))
            stage = jax.lax.scan(lambda s, f: (self._spread(s, f, params), None), stage, fate)[0]
        return EpidemicState(
            time=jnp.int32(0),
            group=jnp.asarray(self.community),
            stage=stage,
            vaccinated=jnp.zeros((self.population,), bool),
        )

    # ---------------------------------------------------------------- observation

    def people(self, state: EpidemicState) -> dict[str, Float[Array, " population"]]:
        """Return each person's community, state of health, vaccination and contacts."""
        health = {
            name: (state.stage == code).astype(jnp.float32)
            for code, name in enumerate(self._stages)
        }
        return {
            **health,
            "vaccinated": state.vaccinated.astype(jnp.float32),
            "infected_contacts": steps.infected_contacts(
                state.stage, self.contact_matrix, len(self._stages)
            ),
            "group": state.group.astype(jnp.float32),
            "degree": jnp.asarray(self.contact_matrix.sum(axis=1)),
        }

    def observe(self, state: EpidemicState, params: EpidemicParams) -> dict[str, Entities]:
        """Return everybody's features, and the time if it is shown."""
        everybody = jnp.ones((self.population,), bool)
        context = {"time": state.time} if self.shows_time else {}
        return {
            "clinic": self._observation_spaces["clinic"].view(
                self.people(state), everybody, context
            )
        }

    # ---------------------------------------------------------------- one step

    def noise(self, key: PRNGKeyArray, params: EpidemicParams) -> EpidemicNoise:
        """Sample uniform numbers for the vaccine and for everybody."""
        numbers = uniform(key, (self.population + 1,))
        return EpidemicNoise(effect=numbers[0], fate=numbers[1:])

    def transition(
        self,
        noise: EpidemicNoise,
        state: EpidemicState,
        actions: Mapping[str, Array],
        params: EpidemicParams,
    ) -> tuple[EpidemicState, EpidemicComponents, Bool[Array, ""]]:
        """Simulate one step: the numbered steps of the card."""
        # 1. the vaccine; no person has the number of "none"
        given = jnp.arange(self.population) == actions["clinic"]
        protected = steps.immunised(state.stage, given, noise.effect, params, len(self._stages))
        # 2. infections, onsets, recoveries and waning, all at once
        after = self._spread(protected, noise.fate, params)

        infected = (protected == SUSCEPTIBLE) & (after != SUSCEPTIBLE)
        components = steps.counted(
            self.community,
            given=given.astype(jnp.float32),
            wasted=jnp.sum(given & (protected == state.stage), dtype=jnp.float32),
            infected=infected.astype(jnp.float32),
            health=steps.one_hot(after, len(self._stages)),
        )
        state = state.replace(time=state.time + 1, stage=after, vaccinated=state.vaccinated | given)
        return state, components, jnp.array(False)

    def _spread(
        self, stage: Int[Array, " people"], fate: Float[Array, " people"], params: EpidemicParams
    ) -> Int[Array, " people"]:
        """Return the states of health after one step of the disease."""
        return steps.spread(stage, fate, self.contact_matrix, params, len(self._stages))

    # ---------------------------------------------------------------- expected components

    def _expected_components(
        self,
        observations: dict[str, Entities],
        actions: Mapping[str, Array],
        params: EpidemicParams,
    ) -> EpidemicComponents:
        """Return the expected components of a step. All are known: everybody's health is observed.

        Args:
            observations: Observations before the step.
            actions: The clinic's action.
            params: As `default_params`.
        """
        states = len(self._stages)
        stage = jnp.argmax(observations["clinic"].features[:, :states], axis=1).astype(jnp.int32)
        given = jnp.arange(self.population) == actions["clinic"]
        return steps.expected_components(
            stage, given, self.community, self.contact_matrix, params, states
        )
