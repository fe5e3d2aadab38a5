"""Terms that fair learners add to PPO: fairness measures and their use in the updates."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, PRNGKeyArray, PyTree

from fairgym.algorithms._rollouts import RolloutState
from fairgym.core import Entities, Environment, FairgymError, Params, no_components, param
from fairgym.fairness import Windowed
from fairgym.fairness.memories import LARGEST_PERIOD
from fairgym.wrappers import StepOutcome

SHORT_TERM, LONG_TERM = "short_term", "long_term"

Signals = Mapping[str, Array]  # additional numbers of steps, by name
Carried = Mapping[str, Array]  # numbers that are kept between rounds, by name


class Turn(NamedTuple):
    """Context of an agent's explored action, before it is applied.

    Attributes:
        carried: Numbers that the learner keeps between rounds.
        params: The environment's parameters.
        rollout: The rollout state before the step.
        agent: The agent.
        observation: Observation that the agent acts on.
        logits: Outputs of the agent's network.
        log_std: Log standard deviations of its exploration.
        raw: Explored logits or option.
        actions: Actions of the fixed policies, and of trained agents that acted before.
        key: Key of the step (`GradientState.step`).
    """

    carried: Carried
    params: Params
    rollout: RolloutState
    agent: str
    observation: Entities
    logits: Array
    log_std: Array
    raw: Array
    actions: Mapping[str, Array]
    key: PRNGKeyArray


def as_explored(turn: Turn) -> Array:
    """Return the explored action unchanged."""
    return turn.raw


@dataclasses.dataclass(frozen=True)
class Terms:
    """Fairness measures of a learner, and its terms in reward, advantage and action.

    Plain PPO has none.

    Attributes:
        measures: Fairness measures, updated in every step. The signal of the same name is the
            unfairness after the step; the signal `gain_of(name)` is its decrease in the step.
        components: Additional signals: name -> component of the step.
        valued: Signals whose sums the critic predicts in addition to the returns.
        values: Number of these additional values.
        undiscounted: Whether these values are undiscounted sums that end with the episode.
        start: Initial numbers to keep between rounds.
        act: Function from a `Turn` to the action to take instead of the explored one.
        learns_from_taken: Whether the policy gradient uses the action taken, not the explored one.
        reward: Function from carried numbers, rewards and signals to modified rewards.
        combine: Function from signals and the advantages of all values to the agents' advantages.
        standardise: Whether the agents' advantages are standardised within each minibatch.
        shape: Function from an agent's minibatch advantages, before normalisation, and signals to
            modified advantages.
        learn: Function from carried numbers and a round's log to new carried numbers and new log
            entries.
        largest_log_ratio: Upper limit of the log probability ratio; None for no limit.
    """

    measures: Mapping[str, Windowed] = dataclasses.field(default_factory=dict)
    components: Mapping[str, str] = dataclasses.field(default_factory=dict)
    valued: tuple[str, ...] = ()
    values: int = 0
    undiscounted: bool = False
    start: Carried = dataclasses.field(default_factory=dict)
    act: Callable[[Turn], Array] = as_explored
    learns_from_taken: bool = True
    reward: Callable[[Carried, Array, Signals], Array] = lambda carried, rewards, signals: rewards
    combine: Callable[[Signals, Array], Array] = lambda signals, advantage: advantage
    standardise: bool = True
    shape: Callable[[Array, Signals], Array] = lambda advantage, signals: advantage
    learn: Callable[[Carried, Signals], tuple[Carried, Signals]] = lambda carried, log: (
        carried,
        {},
    )
    largest_log_ratio: float | None = None

    def first(self, env: Environment, params: Params) -> dict[str, PyTree]:
        """Return the measure states at the start of an episode."""
        if not self.measures:
            return {}
        like = no_components(env, params)
        return {name: measure.initial(like) for name, measure in self.measures.items()}

    def measure_step(
        self,
        env: Environment,
        params: Params,
        before: RolloutState,
        after: RolloutState,
        end: StepOutcome,
    ) -> tuple[RolloutState, dict[str, Array]]:
        """Return the rollout state with updated measure states, and the signals of the step.

        The gains follow from the signals of all steps (`with_gains`).
        """
        measure_states: dict[str, PyTree] = {}
        signals = {name: getattr(end.components, own) for name, own in self.components.items()}
        for name, measure in self.measures.items():
            measure_states[name] = measure.update(before.measure_states[name], end.components)
            signals[name] = -measure.value(measure_states[name])
        # a condition leaves long windows where they are, unlike `where`
        measure_states = lax.cond(end.done, lambda: self.first(env, params), lambda: measure_states)
        return after.replace(measure_states=measure_states), signals

    def with_gains(
        self, start: RolloutState, signals: Signals, done: Bool[Array, " steps"]
    ) -> dict[str, Array]:
        """Return the signals of the steps of one env, with the gain of each measure.

        Args:
            start: The rollout state before the first of these steps.
            signals: Signals of the steps (`measure_step`).
            done: Whether the episode ended with the step.
        """
        first = jnp.concatenate([start.state.time[None] == 0, done[:-1]])
        gains = {}
        for name, measure in self.measures.items():
            now = -signals[name]
            then = measure.value(start.measure_states[name])
            change = now - jnp.concatenate([then[None], now[:-1]])
            # before the first step of an episode there is no value to compare with
            gains[gain_of(name)] = jnp.where(first, 0.0, change)
        return {**signals, **gains}

    def sums(
        self, carried: Carried, rewards: Float[Array, "envs steps agents"], signals: Signals
    ) -> Float[Array, "envs steps values"]:
        """Return the summands of the critic's values: rewards, then the valued signals."""
        parts = [signals[name] for name in self.valued]
        parts = [x if x.ndim == rewards.ndim else x[..., None] for x in parts]
        rewards = self.reward(carried, rewards, signals)
        return jnp.concatenate([rewards, *parts], axis=2) if parts else rewards


@dataclasses.dataclass(frozen=True)
class FairnessMeasures:
    """Hyperparameters of learners that use fairness measures, in addition to those of PPO.

    Attributes:
        needed: Measures that the learner requires.
    """

    needed: ClassVar[tuple[str, ...]] = (SHORT_TERM,)

    short_term: str = param(
        "short_term", "Measure of short-term fairness: one of `env.spec.measures`, or a metric."
    )
    long_term: str = param(
        "long_term_window",
        "Measure of long-term fairness: one of `env.spec.measures`, or a metric. "
        '"long_term_window" is estimated from the last steps, as in the paper\'s training; '
        '"long_term" is the true value; "" is none, for learners that only log it.',
    )
    window: int = param(
        300,
        "Window, in steps, of a metric that is used as a measure; 0 for all steps so far.",
        low=0,
        high=LARGEST_PERIOD,
    )

    def measures(self, env: Environment) -> dict[str, Windowed]:
        """Return the fairness measures: "short_term", and "long_term" if one is named.

        Raises:
            FairgymError: The environment has no such measure.
        """
        named = {SHORT_TERM: self.short_term, LONG_TERM: self.long_term}
        return {
            what: self._measure(env, what, name)
            for what, name in named.items()
            if name or what in self.needed
        }

    def _measure(self, env: Environment, what: str, name: str) -> Windowed:
        """Return the measure of this name: one of `env.spec.measures`, or a windowed metric."""
        if name in env.spec.measures:
            return env.spec.measures[name]
        if name in env.metrics:
            return Windowed(env.metrics[name], self.window)
        known = [*env.spec.measures, *env.metrics]
        raise FairgymError(
            f"{what} must be a measure of {env.name} ({', '.join(known)}), got {name!r}"
        )


def gain_of(name: str) -> str:
    """Return the name of the signal for the decrease of a measure's unfairness in a step."""
    return f"{name}_gain"


SCALE = (
    'Scaling of advantages and of the terms added to them: "minibatch" applies min-max scaling '
    'within each minibatch, as in Yu et al. (2022); "none" adds them unscaled.'
)


def scaled(values: Float[Array, "envs steps"], scale: str) -> Float[Array, "envs steps"]:
    """Return advantages, or a term added to them, scaled as `scale` says; constants become 0."""
    if scale == "none":
        return values
    low, high = jnp.min(values), jnp.max(values)
    return jnp.where(high > low, (values - low) / jnp.where(high > low, high - low, 1.0), 0.0)
