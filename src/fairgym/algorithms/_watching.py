"""PPO that looks at measures of fairness in every step, beside rewards."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fairgym.algorithms._algorithm import Objectives, check_at_least
from fairgym.algorithms._normalised import NormalisedState
from fairgym.algorithms._worlds import World, where
from fairgym.algorithms.ppo import FlatPpo
from fairgym.core import Environment, FairgymError, no_components
from fairgym.fairness import Windowed
from fairgym.fairness.memories import LARGEST_PERIOD
from fairgym.wrappers import StepOutcome


def measure_of(env: Environment, what: str, name: str, window: int) -> Windowed:
    """The measure of this name: one of `env.spec.measures`, or a metric over a window.

    Args:
        env: the environment.
        what: the hyperparameter that names it, for messages.
        name: the name.
        window: number of steps over which a metric is taken; 0 for the episode so far.

    Raises:
        FairgymError: there is neither.
    """
    if name in env.spec.measures:
        return env.spec.measures[name]
    if name in env.metrics:
        return Windowed(env.metrics[name], window)
    known = [*env.spec.measures, *env.metrics]
    raise FairgymError(
        f"{what} is {name!r}, which {env.name} does not measure; it takes: {', '.join(known)}"
    )


SHORT_TERM, LONG_TERM = "short_term", "long_term"


class WatchingState(NormalisedState):
    """The training state of a learner that watches measures.

    Attributes:
        rounds: number of rounds of collecting and learning so far.
    """

    rounds: Array


StateT = TypeVar("StateT", bound=WatchingState)


@dataclasses.dataclass(frozen=True)
class WatchingPpo(FlatPpo[StateT]):
    """Hyperparameters of PPO that watches measures, beside those of PPO.

    Attributes:
        needed: the measures that the learner does not do without.
        short_term: the measure of short-term fairness: one of `env.spec.measures`, or a metric.
        long_term: the measure of long-term fairness, likewise. "long_term_window" is estimated from
            the last steps, as the paper trains; "long_term" is the truth; "" is none, for learners
            that only log it.
        window: number of steps that a metric named as a measure is taken over; 0 for all so far.
    """

    needed: ClassVar[tuple[str, ...]] = (SHORT_TERM,)

    short_term: str = "short_term"
    long_term: str = "long_term_window"
    window: int = 300

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        check_at_least(self, 0, "window", high=LARGEST_PERIOD)

    def measures(self, env: Environment) -> dict[str, Windowed]:
        """The measures that are watched: "short_term", and "long_term" if one is named.

        Raises:
            FairgymError: the environment has no such measure.
        """
        named = {SHORT_TERM: self.short_term, LONG_TERM: self.long_term}
        return {
            what: measure_of(env, what, name, self.window)
            for what, name in named.items()
            if name or what in self.needed
        }

    def _require(self, env: Environment, trained: tuple[str, ...]) -> None:
        super()._require(env, trained)
        self.measures(env)

    def _init_fields(
        self,
        key: PRNGKeyArray,
        env: Environment,
        objective: Objectives,
        params: Any,
        fixed: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        fields = super()._init_fields(key, env, objective, params, fixed)
        first = _first(self.measures(fields["env"]), fields["env"], fields["params"])
        watched = jax.tree.map(lambda x: jnp.broadcast_to(x, (self.num_envs, *x.shape)), first)
        worlds = fields["worlds"].replace(watched=watched)
        return fields | {"worlds": worlds, "rounds": jnp.int32(0)}

    def _round(self, state: StateT, key: PRNGKeyArray) -> tuple[StateT, dict[str, Array]]:
        state, log = super()._round(state, key)
        return state.replace(rounds=state.rounds + 1), log

    def _watch(
        self, state: StateT, before: World, after: World, end: StepOutcome
    ) -> tuple[World, dict[str, Array]]:
        """Unfairness after the step, and how much less it is than before, by measure."""
        measures, watched, signals = self.measures(state.env), {}, {}
        for name, measure in measures.items():
            watched[name] = measure.update(before.watched[name], end.components)
            now, then = measure.value(watched[name]), measure.value(before.watched[name])
            signals[name] = -now
            # before the first step of an episode nothing is known that could have changed
            signals[gain_of(name)] = jnp.where(before.state.time == 0, 0.0, now - then)
        first = _first(measures, state.env, state.params)
        return after.replace(watched=where(end.done, first, watched)), signals


@dataclasses.dataclass(frozen=True)
class RegularisedPpo(WatchingPpo[StateT]):
    """Hyperparameters of PPO with terms beside its advantages, beside those of `WatchingPpo`.

    Attributes:
        scale: "minibatch" brings advantages and the terms that are added to them to [0, 1] by their
            least and largest within each minibatch, as Yu et al. (2022) do; "none" adds them as
            they are.
    """

    scale: Literal["minibatch", "none"] = "minibatch"

    def _scaled(self, values: Float[Array, "worlds steps"]) -> Float[Array, "worlds steps"]:
        """Advantages, or a term beside them, as `scale` says; what is equal everywhere is 0."""
        if self.scale == "none":
            return values
        low, high = jnp.min(values), jnp.max(values)
        return jnp.where(high > low, (values - low) / jnp.where(high > low, high - low, 1.0), 0.0)


def gain_of(name: str) -> str:
    """Name of the signal that says how much fairer a step has made a measure."""
    return f"{name}_gain"


def _first(measures: Mapping[str, Windowed], env: Environment, params: Any) -> dict[str, Any]:
    """Memories of the measures at the start of an episode."""
    like = no_components(env, params)
    return {name: measure.initial(like) for name, measure in measures.items()}
