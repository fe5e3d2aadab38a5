"""Attention allocation: where to look for incidents (Hu, Lear and Zhang 2023, section VI-B)."""

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from fairgym.core import (
    Allocation,
    Decision,
    Entities,
    EntitySpace,
    Environment,
    EnvironmentSpec,
    Feature,
    Moment,
    param,
    per_group,
    uniform,
)
from fairgym.core.environment import Actions, Observations
from fairgym.environments._common.base import SpacesByAgent
from fairgym.environments.attention import dynamics
from fairgym.environments.attention.types import (
    HARDER,
    PUBLISHED,
    AttentionComponents,
    AttentionNoise,
    AttentionParams,
    AttentionState,
)
from fairgym.fairness import (
    Direct,
    Disparity,
    LargestDeviation,
    LargestGap,
    Metric,
    Rate,
    Windowed,
    WindowedRates,
)
from fairgym.utils import register_environment

UNITS, HARDER_UNITS = 6, 30
MISSED_WEIGHT = 0.25  # zeta_1, with zeta_0 = 1
WINDOW = 300  # w, steps in the window of the training measures
# Yu et al. (2022): largest difference of found / (occurred + 1) between two sites
DISCOVERY_GAP = LargestGap(
    Rate("found", "occurred", offset=1.0), title="Largest gap of discovery rates"
)


def _visits(step: Moment) -> dict[str, Array]:
    sent = step.components.sent
    return {
        "asked": jnp.ones_like(sent),
        "site": jnp.arange(len(sent)),
        "visited": sent,
        "units": sent,
        "occurred": step.components.occurred,
        "found": step.components.found,
    }


VISITS = Decision(
    about="No decision is about a person: a row is a site in a step. It is favourable if the site"
    " gets a unit of attention or more, and its amount is the number of units.",
    left_out="Incidents have no rows of their own: the columns occurred and found count them.",
    decision="visited",
    rows=_visits,
    amount="units",
    groups=("site",),
)


@register_environment("attention")
@dataclasses.dataclass(frozen=True)
class Attention(SpacesByAgent, Environment[AttentionState, AttentionParams, AttentionComponents]):
    """A dispatcher who divides units of attention over sites, each of which finds one incident.

    Incidents become more frequent at sites without a unit, and less frequent with every unit. The
    published reward is the incidents found minus a quarter of those missed.

    Raises:
        FairgymError: If an argument is out of range.
    """

    name: ClassVar[str] = "attention"

    sites: int = param(5, "Number of sites.", low=2, high=1_000)
    units: int | None = param(
        None,
        "Number of units of attention; 6 by default, 30 if `harder`.",
        low=1,
        high=1_000,
    )
    history: int = param(8, "Number of past steps that the dispatcher observes.", low=1, high=1_000)
    harder: bool = param(
        False,
        "Whether to use the numbers of Xu et al. (2024), with which the units cannot hold down all"
        " rates, and their reward, which does not count incidents found.",
    )
    horizon: int = param(
        1_000, "Time limit in steps, after which an episode is truncated.", low=1, high=100_000
    )

    def __post_init__(self) -> None:
        """Check the arguments and fill in the number of units."""
        super().__post_init__()
        if self.units is None:
            object.__setattr__(self, "units", HARDER_UNITS if self.harder else UNITS)

    # ---------------------------------------------------------------- declarations

    @cached_property
    def spec(self) -> EnvironmentSpec:
        """Declarations of the environment."""
        return EnvironmentSpec(
            agents=("dispatcher",),
            groups=self._sites,
            components=AttentionComponents,
            metrics=self._metrics,
            group_word="site",
            size_text=f"{self.sites} sites, {self.units} units",
            # Deviation of units from even shares (equation 9), and of rates from their mean.
            # Rates are known only in evaluation; in training incidents of the last steps stand in.
            measures={
                "short_term": self._short_term,
                "long_term": Windowed(LargestDeviation("rates", "none"), 1),
                "long_term_window": Windowed(LargestDeviation("occurred", "largest"), WINDOW),
                # the short-term measure of Yu et al. (2022)
                "discovery": Windowed(DISCOVERY_GAP, WINDOW),
            },
            # The window of the short-term measure (units sent to each site), and the discovery
            # rates of that window, which the dispatcher of Yu et al. (2022) observes.
            memories={
                "window": self._short_term,
                "rates": WindowedRates(DISCOVERY_GAP, WINDOW),
            },
            # Incidents found minus a quarter of those missed: the mean reward of a step. Xu et al.
            # train and evaluate the harder variant without a reward for finding.
            published={
                **({} if self.harder else {"found": float(self._units)}),
                "missed": MISSED_WEIGHT * self._units,
            },
            default_objective="published",
            # what a site receives: incidents found there
            benefit="found",
            # A unit for every site, units in proportion to incidents, and random units.
            baselines={
                "cover_sites": {"dispatcher": "cover-sites"},
                "proportional": {"dispatcher": "proportional"},
                "random": {"dispatcher": "random"},
            },
            expected_components=self._expected_components,
            decisions={"visit": VISITS},
        )

    @property
    def default_params(self) -> AttentionParams:
        """The published numbers, repeated from the first one for more than five sites."""
        each = {
            name: jnp.asarray(np.resize(x, self.sites), jnp.float32) if len(x) > 1 else x[0]
            for name, x in (HARDER if self.harder else PUBLISHED).items()
        }
        return AttentionParams(**each)

    @property
    def _metrics(self) -> Mapping[str, Metric]:
        """Incidents found and missed, also by site, and how even units and rates are.

        Deviations are relative, so that they are the same for one step as for the mean of many.
        """
        all_units = float(self._units * self.horizon)
        discovery = Rate("found", "occurred", title="Discovery rate")
        return {
            "found": Direct("found", normaliser=all_units, title="Incidents found"),
            "missed": Direct("missed", normaliser=all_units, sign=-1, title="Incidents missed"),
            "discovery_rate": discovery,
            "discovery_disparity": Disparity(discovery),
            "discovery_gap": DISCOVERY_GAP,
            "share_deviation": LargestDeviation("sent", title="Largest deviation of units"),
            "rate_deviation": LargestDeviation(
                "rates", "largest", title="Largest deviation of incident rates"
            ),
        }

    @cached_property
    def _sites(self) -> tuple[str, ...]:
        return tuple(f"site_{site}" for site in range(self.sites))

    @property
    def _short_term(self) -> Windowed:
        """Deviation of units from even shares (equation 9)."""
        return Windowed(LargestDeviation("sent"), WINDOW, most=float(self._units))

    @property
    def _units(self) -> int:
        """The number of units, filled in by `__post_init__`."""
        assert self.units is not None
        return self.units

    @cached_property
    def _observation_spaces(self) -> dict[str, EntitySpace]:
        """Each site with its observations of the last steps, newest first."""
        units = self._units
        steps = range(1, self.history + 1)
        features = [
            *(("found", units, "incidents", f"y^ {n} steps ago", units + 1) for n in steps),
            *(("occurred", 2 * units, "incidents", f"y {n} steps ago", 0) for n in steps),
            *(("sent", units, "units", f"a {n} steps ago", units + 1) for n in steps),
            *(("share_found", 1, "", f"y^ / y {n} steps ago; 0/0 is 0", 0) for n in steps),
        ]
        columns = tuple(
            Feature(f"{name}_{place % self.history + 1}", 0, high, unit, source, levels=levels)
            for place, (name, high, unit, source, levels) in enumerate(features)
        )
        return {"dispatcher": EntitySpace(self.sites, columns)}

    @cached_property
    def _action_spaces(self) -> dict[str, Allocation]:
        """The units of each site."""
        units = Allocation(self._units, per_group("units", self._sites, unit="units"))
        return {"dispatcher": units}

    # ---------------------------------------------------------------- start

    def initial_state(self, key: PRNGKeyArray, params: AttentionParams) -> AttentionState:
        """Return the initial rates, with zeros for past steps."""
        nothing = jnp.zeros((self.history, self.sites))
        rates = jnp.broadcast_to(jnp.asarray(params.start_rate, jnp.float32), (self.sites,))
        return AttentionState(
            time=jnp.int32(0), rates=rates, found=nothing, occurred=nothing, sent=nothing
        )

    # ---------------------------------------------------------------- observation

    def observe(self, state: AttentionState, params: AttentionParams) -> dict[str, Entities]:
        """Return the last steps of each site; rates are not observed."""
        some = jnp.maximum(state.occurred, 1.0)  # 0/0 is 0
        columns = (state.found, state.occurred, state.sent, state.found / some)
        return {
            "dispatcher": Entities(
                features=jnp.concatenate(columns).T,
                mask=jnp.ones((self.sites,), bool),
                context=jnp.zeros((0,)),
            )
        }

    # ---------------------------------------------------------------- one step

    def noise(self, key: PRNGKeyArray, params: AttentionParams) -> AttentionNoise:
        """Sample a uniform number for each site."""
        return AttentionNoise(uniform=uniform(key, (self.sites,)))

    def transition(
        self,
        noise: AttentionNoise,
        state: AttentionState,
        actions: Mapping[str, Array],
        params: AttentionParams,
    ) -> tuple[AttentionState, AttentionComponents, Bool[Array, ""]]:
        """Simulate one step: the numbered steps of the card."""
        # 1. units are sent
        sent = actions["dispatcher"].astype(jnp.float32)
        # 2. incidents occur
        occurred = dynamics.incidents(noise.uniform, state.rates)
        # 3. units find them
        found = dynamics.incidents_found(sent, occurred)
        # 4. rates move
        rates = dynamics.next_rate(state.rates, sent, params.increase, params.decrease)

        components = AttentionComponents(
            occurred=occurred, found=found, missed=occurred - found, sent=sent, rates=rates
        )
        state = state.replace(
            time=state.time + 1,
            rates=rates,
            found=_remembered(state.found, found),
            occurred=_remembered(state.occurred, occurred),
            sent=_remembered(state.sent, sent),
        )
        return state, components, jnp.array(False)

    def _expected_components(
        self, observations: Observations, actions: Actions, params: AttentionParams
    ) -> AttentionComponents:
        """Return the expected components, with a site's rate estimated by its mean incidents.

        The mean is over the observed steps; before the first step it is 0.
        """
        features = observations["dispatcher"].features
        _, occurred, units, _ = jnp.split(features, 4, axis=1)
        steps = jnp.sum(jnp.sum(units, axis=0) > 0.0)  # all units are sent in every step
        rate = jnp.sum(occurred, axis=1) / jnp.maximum(steps, 1)
        sent = actions["dispatcher"].astype(jnp.float32)
        found = dynamics.expected_found(sent, rate, self._units)
        return AttentionComponents(
            occurred=rate,
            found=found,
            missed=rate - found,
            sent=sent,
            rates=dynamics.next_rate(rate, sent, params.increase, params.decrease),
        )


def _remembered(
    history: Float[Array, "history sites"], now: Float[Array, " sites"]
) -> Float[Array, "history sites"]:
    """Return the history with this step first and the oldest step dropped."""
    return jnp.concatenate([now[None], history[:-1]])
