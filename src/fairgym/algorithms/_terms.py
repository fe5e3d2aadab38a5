"""What a fair learner adds to PPO: the measures that it watches, and what it does about them."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from fairgym.algorithms._rollouts import RolloutState, where
from fairgym.core import Entities, Environment, FairgymError, Params, no_components, param
from fairgym.fairness import Windowed
from fairgym.fairness.memories import LARGEST_PERIOD
from fairgym.wrappers import StepOutcome

SHORT_TERM, LONG_TERM = "short_term", "long_term"

Signals = Mapping[str, Array]  # further numbers of steps, by name
Carried = Mapping[str, Array]  # numbers that are kept from round to round, by name


class Turn(NamedTuple):
    """An agent that has explored an action, before it acts.

    Attributes:
        carried: what the learner keeps from round to round.
        params: the environment's parameters.
        rollout: the rollout state before the step.
        agent: the agent.
        observation: what it acts on.
        logits: outputs of its network.
        raw: what was explored.
        actions: actions of the agents that are not trained, and of those that acted before.
        key: key of the step (`GradientState.go_on`).
    """

    carried: Carried
    params: Params
    rollout: RolloutState
    agent: str
    observation: Entities
    logits: Array
    raw: Array
    actions: Mapping[str, Array]
    key: PRNGKeyArray


def as_explored(turn: Turn) -> Array:
    """The action that was explored."""
    return turn.raw


@dataclasses.dataclass(frozen=True)
class Terms:
    """What a fair learner watches, and its terms on reward, advantage and action; PPO has none.

    Attributes:
        measures: measures that are watched in every step. Unfairness after the step is the signal
            of the same name; by how much it is less than before, `gain_of` it.
        components: further signals: name -> component of the step.
        valued: signals whose sums the critic values beside those of the rewards.
        values: number of these further values.
        undiscounted: whether these are sums over an episode, without discount, that end with it.
        start: what is carried from round to round, at the start.
        act: the action in place of what was explored.
        reward: rewards with the term on them, of what is carried, the rewards and the signals.
        combine: advantages of the agents, of the signals and the advantages of all values.
        shape: advantages of an agent in a minibatch before they are normalised, of these and the
            signals.
        learn: what is carried on, and what to log, of what was carried and the log of a round.
        largest_log_ratio: largest logarithm of a probability ratio; None for any.
    """

    measures: Mapping[str, Windowed] = dataclasses.field(default_factory=dict)
    components: Mapping[str, str] = dataclasses.field(default_factory=dict)
    valued: tuple[str, ...] = ()
    values: int = 0
    undiscounted: bool = False
    start: Carried = dataclasses.field(default_factory=dict)
    act: Callable[[Turn], Array] = as_explored
    reward: Callable[[Carried, Array, Signals], Array] = lambda carried, rewards, signals: rewards
    combine: Callable[[Signals, Array], Array] = lambda signals, advantage: advantage
    shape: Callable[[Array, Signals], Array] = lambda advantage, signals: advantage
    learn: Callable[[Carried, Signals], tuple[Carried, Signals]] = lambda carried, log: (
        carried,
        {},
    )
    largest_log_ratio: float | None = None

    def first(self, env: Environment, params: Params) -> dict[str, PyTree]:
        """Memories of the measures at the start of an episode."""
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
        """The world after a step with what is watched in it, and the signals of the step."""
        measure_states: dict[str, PyTree] = {}
        signals = {name: getattr(end.components, own) for name, own in self.components.items()}
        for name, measure in self.measures.items():
            measure_states[name] = measure.update(before.measure_states[name], end.components)
            now, then = (
                measure.value(measure_states[name]),
                measure.value(before.measure_states[name]),
            )
            signals[name] = -now
            # before the first step of an episode nothing is known that could have changed
            signals[gain_of(name)] = jnp.where(before.state.time == 0, 0.0, now - then)
        return after.replace(
            measure_states=where(end.done, self.first(env, params), measure_states)
        ), signals

    def sums(
        self, carried: Carried, rewards: Float[Array, "envs steps agents"], signals: Signals
    ) -> Float[Array, "envs steps values"]:
        """Terms of the sums that the critic values: rewards, and what is valued beside them."""
        parts = [signals[name] for name in self.valued]
        parts = [x if x.ndim == rewards.ndim else x[..., None] for x in parts]
        rewards = self.reward(carried, rewards, signals)
        return jnp.concatenate([rewards, *parts], axis=2) if parts else rewards


@dataclasses.dataclass(frozen=True)
class FairnessMeasures:
    """Hyperparameters of learners that watch measures, beside those of PPO.

    Attributes:
        needed: the measures that the learner does not do without.
    """

    needed: ClassVar[tuple[str, ...]] = (SHORT_TERM,)

    short_term: str = param(
        "short_term", "The measure of short-term fairness: one of `env.spec.measures`, or a metric."
    )
    long_term: str = param(
        "long_term_window",
        'The measure of long-term fairness, likewise. "long_term_window" is estimated from the '
        'last steps, as the paper trains; "long_term" is the truth; "" is none, for learners '
        "that only log it.",
    )
    window: int = param(
        300,
        "Number of steps that a metric named as a measure is taken over; 0 for all so far.",
        low=0,
        high=LARGEST_PERIOD,
    )

    def measures(self, env: Environment) -> dict[str, Windowed]:
        """The measures that are watched: "short_term", and "long_term" if one is named.

        Raises:
            FairgymError: the environment has no such measure.
        """
        named = {SHORT_TERM: self.short_term, LONG_TERM: self.long_term}
        return {
            what: self._measure(env, what, name)
            for what, name in named.items()
            if name or what in self.needed
        }

    def _measure(self, env: Environment, what: str, name: str) -> Windowed:
        """The measure of this name: one of `env.spec.measures`, or a metric over the window."""
        if name in env.spec.measures:
            return env.spec.measures[name]
        if name in env.metrics:
            return Windowed(env.metrics[name], self.window)
        known = [*env.spec.measures, *env.metrics]
        raise FairgymError(
            f"{what} is {name!r}, which {env.name} does not measure; it takes: {', '.join(known)}"
        )


def gain_of(name: str) -> str:
    """Name of the signal that says how much fairer a step has made a measure."""
    return f"{name}_gain"


SCALE = (
    '"minibatch" brings advantages and the terms that are added to them to [0, 1] by their least '
    'and largest within each minibatch, as Yu et al. (2022) do; "none" adds them as they are.'
)


def scaled(values: Float[Array, "envs steps"], scale: str) -> Float[Array, "envs steps"]:
    """Advantages, or a term beside them, as `scale` says; what is equal everywhere is 0."""
    if scale == "none":
        return values
    low, high = jnp.min(values), jnp.max(values)
    return jnp.where(high > low, (values - low) / jnp.where(high > low, high - low, 1.0), 0.0)
