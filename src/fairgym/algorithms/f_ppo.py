"""F-PPO: short-term fairness by action massaging, long-term fairness by advantage regularisation.

Hu, Lear and Zhang, "Striking a Balance in Fairness for Dynamic Systems Through Reinforcement
Learning" (2023), https://arxiv.org/abs/2401.06318, section 5 and algorithm 1.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fairgym.algorithms._algorithm import algorithms, check_at_least, check_inside
from fairgym.algorithms._watching import (
    LONG_TERM,
    SHORT_TERM,
    RegularisedPpo,
    WatchingState,
    gain_of,
)
from fairgym.algorithms._worlds import World
from fairgym.core import Entities, Environment, FairgymError, check_flag
from fairgym.policies.massaging import check_massaging, massage
from fairgym.wrappers import AutoReset

LARGEST_LOG_RATIO = 20.0
FIRST_THRESHOLD = 0.01  # of the exponential schedule


@algorithms.register("f-ppo")
@dataclasses.dataclass(frozen=True)
class FPpo(RegularisedPpo[WatchingState]):
    """Hyperparameters of F-PPO, beside those of `RegularisedPpo`; defaults are those of bank_loans.

    Without massaging it is F-PPO-L of the paper's figure 2, with `regularise` 0 its short-term half
    alone (F-PPO-S).

    Attributes:
        massage: action massaging (equation 6).
        oracle: massaging, while it learns, by the step's true outcome instead of the expected one,
            as the authors' code does; of one trained agent.
        threshold: the largest tau, the difference of two probabilities below which one action may
            take the place of the other.
        threshold_schedule: rise of tau from round `threshold_start`, i0, with `threshold_rate`,
            r: "saturating" is threshold (1 - r^(i - i0)), as published for bank_loans (0.985) and,
            with r = 0, attention; "exponential" is the lower one of threshold and
            0.01 r^(i - i0), as published for the epidemic (1.2).
        threshold_start: the first round with massaging; tau is 0 before it.
        threshold_rate: r of the schedule.
        regularise: lambda, the weight of the regularisation of advantages (equation 4).
        delta: short-term unfairness above which a step that worsens the long term is penalised;
            below it one that betters it is rewarded (equation 7).
    """

    needed: ClassVar[tuple[str, ...]] = (SHORT_TERM, LONG_TERM)

    massage: bool = True
    oracle: bool = False
    threshold: float = 1.0
    threshold_schedule: Literal["saturating", "exponential"] = "saturating"
    threshold_start: int = 17
    threshold_rate: float = 0.985
    regularise: float = 1.0
    delta: float = 0.05

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        check_flag("massage", self.massage)
        check_flag("oracle", self.oracle)
        check_inside(self, 1.0, "threshold")
        check_at_least(self, 0, "threshold_start")
        check_inside(self, math.inf, "threshold_rate", "regularise", "delta")

    def _require(self, env: Environment, trained: tuple[str, ...]) -> None:
        super()._require(env, trained)
        if self.massage and self.oracle and len(trained) > 1:
            raise FairgymError(
                f"oracle is True, but {', '.join(trained)} of {env.name} are trained; it takes one"
                " trained agent, since an outcome depends on the actions of all"
            )
        for agent in trained if self.massage else ():
            check_massaging(env, agent, self.oracle)

    def _state(self, fields: dict[str, Any]) -> WatchingState:
        return WatchingState(**fields)

    def tau(self, rounds: Array) -> Float[Array, ""]:
        """The threshold in this round, counted from 0."""
        since = jnp.maximum(rounds - self.threshold_start, 0).astype(jnp.float32)
        rate = self.threshold_rate
        power = jnp.float32(rate) ** since if rate else jnp.float32(0.0)  # at once, not 0^0 = 1
        if self.threshold_schedule == "saturating":
            risen = self.threshold * (1.0 - power)
        else:
            risen = jnp.minimum(self.threshold, FIRST_THRESHOLD * power)
        return jnp.where(rounds >= self.threshold_start, risen, 0.0)

    def last_tau(self, env: Environment, updates: int | None = None) -> float:
        """The threshold in the last round of training.

        Args:
            env: the environment of the training, whose horizon the number of rounds depends on.
            updates: number of updates that were made; all by default.
        """
        rounds = self.rounds(env) * (self.num_updates if updates is None else updates)
        return float(self.tau(jnp.int32(rounds - 1)))

    def _choose(
        self,
        state: WatchingState,
        world: World,
        agent: str,
        seen: Entities,
        logits: Array,
        raw: Array,
        actions: Mapping[str, Array],
        key: PRNGKeyArray,
    ) -> Array:
        if not self.massage:
            return raw
        env, params = state.env, state.params
        measure = self.measures(env)[SHORT_TERM]
        remaining = measure.remaining(world.watched[SHORT_TERM])

        def unfairness(action: Array) -> Float[Array, ""]:
            if self.oracle:
                everybody = {**actions, agent: action}
                step = AutoReset(env).step_autoreset(key, world.state, everybody, params)[1]
                return -measure.value_after(remaining, step.components)
            assert env.spec.foresee is not None
            expected = env.spec.foresee({agent: seen}, {agent: action}, params)
            return -measure.value_after(remaining, expected)

        tau = self.tau(state.rounds)
        return massage(env.action_space(agent), seen, logits, raw, tau, unfairness)

    def _bounded(self, log_ratio: Float[Array, "worlds steps"]) -> Float[Array, "worlds steps"]:
        """At most 20: massaged units may have hardly any density, whose ratio would overflow."""
        return jnp.minimum(log_ratio, LARGEST_LOG_RATIO)

    def _shaped(
        self, advantage: Float[Array, "worlds steps"], signals: Mapping[str, Array]
    ) -> Float[Array, "worlds steps"]:
        """A + lambda R (equation 4), with R of equation 7."""
        gain = signals[gain_of(LONG_TERM)]
        unfair = signals[SHORT_TERM] > self.delta
        regular = jnp.where(unfair, jnp.minimum(gain, 0.0), jnp.maximum(gain, 0.0))
        return self._scaled(advantage) + self.regularise * self._scaled(regular)
