"""The doughnut shop: who gets the next doughnut (Alamdari et al. 2024, section 6.1)."""

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core import (
    Components,
    Entities,
    EntitySpace,
    EnvironmentSpec,
    Feature,
    OneEntity,
    Params,
    PopulationEnvironment,
    PopulationState,
    Struct,
    component,
    fraction,
    param,
)
from fairgym.environments._common.base import SpacesByAgent
from fairgym.fairness import (
    Direct,
    Full,
    Min,
    Nash,
    Rawlsian,
    Reset,
    Scheme,
    StakeholderFirst,
    When,
)
from fairgym.utils import register_environment

Number = float | Float[jax.Array, "..."]  # one number, or one per person


class DoughnutParams(Params):
    """Parameters of the doughnut shop; every field may be vmapped over."""

    presence: Number = fraction(
        0.8, "p_i: chance that a person is at the counter in a step (A.4.1)", per="person"
    )


ABSENT, AT_COUNTER = range(2)


class DoughnutState(PopulationState):
    """State of the shop: the stage of a person tells whether they are at the counter."""


class DoughnutComponents(Components):
    """Components of one step."""

    handed_out: Float[Array, " persons"] = component(
        "doughnuts handed out to each person", unit="doughnuts", symbol="u_i", per="person"
    )
    wasted: Float[Array, ""] = component(
        "doughnuts given to somebody who was not there", unit="doughnuts"
    )


class DoughnutNoise(Struct):
    """The randomness of one step, each number uniform in [0, 1).

    Attributes:
        arrival: decides who is at the counter in the next step.
    """

    arrival: Float[Array, " people"]


PRESENT = Feature("present", 0, 1, source="whether the person is at the counter", levels=2)


@register_environment("doughnut")
@dataclasses.dataclass(frozen=True)
class Doughnut(
    SpacesByAgent, PopulationEnvironment[DoughnutState, DoughnutParams, DoughnutComponents]
):
    """A shop that bakes one doughnut in each step, and a server who says whose it is.

    It is wasted if that person is not at the counter. The published reward is the log of Nash
    welfare of all doughnuts so far, in each step in which none is wasted.

    Raises:
        FairgymError: an argument out of range.
    """

    name: ClassVar[str] = "doughnut"

    population: int = param(5, "Number of people.", low=1, high=1_000)
    horizon: int = param(100, "Number of steps.", low=1, high=100_000)
    shows_time: bool = param(False, "Whether the server observes the time.")

    # ---------------------------------------------------------------- declarations

    @cached_property
    def spec(self) -> EnvironmentSpec:
        """What is declared."""
        return EnvironmentSpec(
            agents=("server",),
            groups=("customers",),
            components=DoughnutComponents,
            # Doughnuts that are not wasted.
            metrics={"handed_out": Direct("handed_out", normaliser=float(self.horizon))},
            # The people are told apart.
            parts={"person": self._action_spaces["server"].names},
            schemes=self._schemes,
            # Those of section 6.1: of the doughnuts that each person has got.
            memories={
                "full": Full("handed_out"),
                "min": Min("handed_out"),
                "reset": Reset("handed_out"),
            },
            # The welfare of all steps.
            published={"welfare": 1.0},
            default_objective="published",
            # doughnuts are all that people come for
            benefit="handed_out",
            # The paper's Oracle, which takes turns, and random choices.
            baselines={
                "take_turns": {"server": "take-turns"},
                "random_present": {"server": "random-present"},
                "random": {"server": "random"},
            },
            stages=("absent", "at_counter"),
            core_attribute="present",
            size_text=f"{self.population:,} people",
        )

    @property
    def default_params(self) -> DoughnutParams:
        """Everybody is at the counter in four steps of five."""
        return DoughnutParams()

    @property
    def _schemes(self) -> Mapping[str, Scheme]:
        """Fairness of what each person has got so far; "welfare" is the published one.

        It is log-Nash welfare in every step in which no doughnut is wasted (A.4.1).
        """
        got = Full("handed_out")
        return {
            "welfare": Scheme.bounded(got, Nash(), When("handed_out")),
            "long_term": Scheme.long_term(got, Nash()),
            "worst_off": Scheme.long_term(got, Rawlsian()),
            "balance": Scheme(got, StakeholderFirst()),
        }

    @cached_property
    def _observation_spaces(self) -> dict[str, EntitySpace]:
        """Everybody, present or not."""
        time = Feature("time", 0, self.horizon, "steps", levels=self.horizon + 1)
        context = (time,) if self.shows_time else ()
        return {"server": EntitySpace(self.population, (PRESENT,), context)}

    @cached_property
    def _action_spaces(self) -> dict[str, OneEntity]:
        """The person who gets the doughnut."""
        return {"server": OneEntity(self.population, present="present")}

    # ---------------------------------------------------------------- start

    def initial_state(self, key: PRNGKeyArray, params: DoughnutParams) -> DoughnutState:
        """Everybody is at the counter with the chance of any other step."""
        nobody = jnp.zeros((self.population,), jnp.int32)
        arrival = jax.random.uniform(key, (self.population,))
        return DoughnutState(time=jnp.int32(0), group=nobody, stage=_arrived(arrival, params))

    # ---------------------------------------------------------------- looking

    def people(self, state: DoughnutState) -> dict[str, Float[Array, " population"]]:
        """Presence of each person at the counter, and the one group."""
        return {
            "group": state.group.astype(jnp.float32),
            "present": (state.stage == AT_COUNTER).astype(jnp.float32),
        }

    def observe(self, state: DoughnutState, params: DoughnutParams) -> dict[str, Entities]:
        """Everybody, present or not, and the time if it is shown."""
        everybody = jnp.ones((self.population,), bool)
        context = {"time": state.time} if self.shows_time else {}
        return {
            "server": self._observation_spaces["server"].view(
                self.people(state), everybody, context
            )
        }

    # ---------------------------------------------------------------- one step

    def noise(self, key: PRNGKeyArray, params: DoughnutParams) -> DoughnutNoise:
        """A uniform number for everybody."""
        return DoughnutNoise(arrival=jax.random.uniform(key, (self.population,)))

    def transition(
        self,
        noise: DoughnutNoise,
        state: DoughnutState,
        actions: Mapping[str, Array],
        params: DoughnutParams,
    ) -> tuple[DoughnutState, DoughnutComponents, Bool[Array, ""]]:
        """Hand out the doughnut, and see who comes next."""
        present = self.people(state)["present"]
        handed_out = jax.nn.one_hot(actions["server"], self.population) * present
        components = DoughnutComponents(handed_out=handed_out, wasted=1.0 - jnp.sum(handed_out))
        state = state.replace(time=state.time + 1, stage=_arrived(noise.arrival, params))
        return state, components, jnp.array(False)


def _arrived(arrival: Float[Array, " people"], params: DoughnutParams) -> Int[Array, " people"]:
    """Stage of each person: at the counter with their chance p_i."""
    return (arrival < params.presence).astype(jnp.int32)
