"""A server who hands out doughnuts (Alamdari et al. 2024, section 6.1)."""

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core import (
    Components,
    Decision,
    Entities,
    EntitySpace,
    EnvironmentSpec,
    Feature,
    Moment,
    OneEntity,
    Params,
    PopulationEnvironment,
    PopulationState,
    Struct,
    component,
    fraction,
    param,
    uniform,
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
LONGEST = 100_000  # steps of an episode


class DoughnutParams(Params):
    """Parameters of the doughnut shop; every field can be vmapped."""

    presence: Number = fraction(
        0.8, "Probability p_i that a person is at the counter in a step (A.4.1).", per="person"
    )
    stays: Number = param(
        LONGEST,
        "Number of steps after which a person never comes again; by default everybody stays.",
        unit="steps",
        low=0.0,
        per="person",
    )


ABSENT, AT_COUNTER = range(2)


class DoughnutState(PopulationState):
    """State of the shop; a person's stage says whether they are at the counter."""


class DoughnutComponents(Components):
    """Components of one step."""

    handed_out: Float[Array, " persons"] = component(
        "doughnuts handed out to each person", unit="doughnuts", symbol="u_i", per="person"
    )
    wasted: Float[Array, ""] = component(
        "doughnuts given to people who were not there", unit="doughnuts"
    )


class DoughnutNoise(Struct):
    """Randomness of one step; each number is uniform in [0, 1).

    Attributes:
        arrival: Decides who is at the counter in the next step.
    """

    arrival: Float[Array, " people"]


PRESENT = Feature("present", 0, 1, source="whether the person is at the counter", levels=2)


@register_environment("doughnut")
@dataclasses.dataclass(frozen=True)
class Doughnut(
    SpacesByAgent, PopulationEnvironment[DoughnutState, DoughnutParams, DoughnutComponents]
):
    """Environment of a shop that bakes one doughnut per step, and a server who gives it away.

    The doughnut is wasted if that person is not at the counter. The published reward is the log of
    Nash welfare of all doughnuts so far, in each step in which none is wasted.

    Raises:
        FairgymError: If an argument is out of range.
    """

    name: ClassVar[str] = "doughnut"

    population: int = param(5, "Number of people.", low=1, high=1_000)
    horizon: int = param(100, "Number of steps of an episode.", low=1, high=LONGEST)
    shows_time: bool = param(False, "Whether the server observes the time.")

    # ---------------------------------------------------------------- declarations

    @cached_property
    def spec(self) -> EnvironmentSpec:
        """Declaration of the environment."""
        return EnvironmentSpec(
            agents=("server",),
            groups=("customers",),
            components=DoughnutComponents,
            # Doughnuts that were not wasted.
            metrics={"handed_out": Direct("handed_out", normaliser=float(self.horizon))},
            # One part per person.
            parts={"person": self._action_spaces["server"].names},
            schemes=self._schemes,
            # Memories of section 6.1, of the doughnuts that each person received.
            memories={
                "full": Full("handed_out"),
                "min": Min("handed_out"),
                "reset": Reset("handed_out"),
            },
            # Welfare summed over the steps.
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
            decisions={"doughnut": self._doughnut},
        )

    @property
    def default_params(self) -> DoughnutParams:
        """Everybody is at the counter in four steps of five."""
        return DoughnutParams()

    @property
    def _schemes(self) -> Mapping[str, Scheme]:
        """Fairness of what each person has received so far.

        The published scheme is "welfare": log Nash welfare in every step in which no doughnut is
        wasted (A.4.1).
        """
        received = Full("handed_out")
        return {
            "welfare": Scheme.bounded(received, Nash(), When("handed_out")),
            "long_term": Scheme.long_term(received, Nash()),
            "worst_off": Scheme.long_term(received, Rawlsian()),
            "balance": Scheme(received, StakeholderFirst()),
        }

    @property
    def _doughnut(self) -> Decision:
        """Each person is a group of their own, whom audits compare."""
        return Decision(
            about="A row is a person at the counter in a step, of whom one at most gets the"
            " doughnut. Groups are the persons, each the same place in every episode.",
            left_out="Doughnuts for people who were not there are not logged: nobody got them.",
            decision="received",
            rows=_at_counter,
            groups=("customer",),
            names={"customer": self._action_spaces["server"].names},
        )

    @cached_property
    def _observation_spaces(self) -> dict[str, EntitySpace]:
        """Space of everybody, present or not."""
        time = Feature("time", 0, self.horizon, "steps", levels=self.horizon + 1)
        context = (time,) if self.shows_time else ()
        return {"server": EntitySpace(self.population, (PRESENT,), context)}

    @cached_property
    def _action_spaces(self) -> dict[str, OneEntity]:
        """Action space: the person who gets the doughnut."""
        return {"server": OneEntity(self.population, present="present")}

    # ---------------------------------------------------------------- start

    def initial_state(self, key: PRNGKeyArray, params: DoughnutParams) -> DoughnutState:
        """Return the first state; presence has the same probability as in later steps."""
        nobody = jnp.zeros((self.population,), jnp.int32)
        arrival = jax.random.uniform(key, (self.population,))
        now = jnp.int32(0)
        return DoughnutState(time=now, group=nobody, stage=_arrived(arrival, params, now))

    # ---------------------------------------------------------------- observations

    def people(self, state: DoughnutState) -> dict[str, Float[Array, " population"]]:
        """Return each person's presence at the counter, and the single group."""
        return {
            "group": state.group.astype(jnp.float32),
            "present": (state.stage == AT_COUNTER).astype(jnp.float32),
        }

    def observe(self, state: DoughnutState, params: DoughnutParams) -> dict[str, Entities]:
        """Return everybody, present or not, and the time if `shows_time`."""
        everybody = jnp.ones((self.population,), bool)
        context = {"time": state.time} if self.shows_time else {}
        return {
            "server": self._observation_spaces["server"].view(
                self.people(state), everybody, context
            )
        }

    # ---------------------------------------------------------------- one step

    def noise(self, key: PRNGKeyArray, params: DoughnutParams) -> DoughnutNoise:
        """Sample a uniform number for each person."""
        return DoughnutNoise(arrival=uniform(key, (self.population,)))

    def transition(
        self,
        noise: DoughnutNoise,
        state: DoughnutState,
        actions: Mapping[str, Array],
        params: DoughnutParams,
    ) -> tuple[DoughnutState, DoughnutComponents, Bool[Array, ""]]:
        """Hand out the doughnut, and decide who is at the counter next."""
        present = self.people(state)["present"]
        handed_out = jax.nn.one_hot(actions["server"], self.population) * present
        components = DoughnutComponents(handed_out=handed_out, wasted=1.0 - jnp.sum(handed_out))
        time = state.time + 1
        state = state.replace(time=time, stage=_arrived(noise.arrival, params, time))
        return state, components, jnp.array(False)


def _at_counter(step: Moment) -> dict[str, Array]:
    return {
        "asked": step.people["present"],
        "customer": jnp.arange(len(step.before.group)),
        "received": step.components.handed_out,
    }


def _arrived(
    arrival: Float[Array, " people"], params: DoughnutParams, time: Int[Array, ""]
) -> Int[Array, " people"]:
    """Return each person's stage: at the counter with probability p_i while they stay."""
    return ((arrival < params.presence) & (time < params.stays)).astype(jnp.int32)
