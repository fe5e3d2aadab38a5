"""F-PPO: action massaging for short-term, advantage regularisation for long-term fairness.

Hu, Lear and Zhang, "Striking a Balance in Fairness for Dynamic Systems Through Reinforcement
Learning" (2023), https://arxiv.org/abs/2401.06318, section 5 and algorithm 1.
"""

import dataclasses
import functools
from collections.abc import Mapping
from typing import ClassVar, Literal

import jax.numpy as jnp
from jaxtyping import Array, Float

from fairgym.algorithms._algorithm import algorithms
from fairgym.algorithms._terms import (
    LONG_TERM,
    SCALE,
    SHORT_TERM,
    FairnessMeasures,
    Signals,
    Terms,
    Turn,
    as_explored,
    gain_of,
    scaled,
)
from fairgym.algorithms.ppo import Ppo
from fairgym.core import AnyPolicy, Environment, FairgymError, Params, param
from fairgym.policies.massaging import check_massaging, massage, massaged
from fairgym.wrappers import AutoReset

ROUNDS = "rounds"  # number of rounds so far
LARGEST_LOG_RATIO = 20.0
FIRST_THRESHOLD = 0.01  # initial threshold of the exponential schedule


@algorithms.register("f-ppo")
@dataclasses.dataclass(frozen=True)
class FPpo(FairnessMeasures, Ppo):
    """Hyperparameters of F-PPO, in addition to those of PPO; the defaults are for bank_loans.

    Without massaging it is F-PPO-L of the paper's figure 2; with `regularise` 0 it is F-PPO-S.
    """

    needed: ClassVar[tuple[str, ...]] = (SHORT_TERM, LONG_TERM)

    init_std: float = 1.0  # that of the authors' learner, on which densities depend
    scale: Literal["minibatch", "none"] = param("minibatch", SCALE)
    massage: bool = param(True, "Use action massaging (equation 6).")
    oracle: bool = param(
        False,
        "Massage during training by the true outcome of a step instead of the expected one, as in "
        "the authors' code; needs a single trained agent.",
    )
    closeness: Literal["density", "share"] = param(
        "density",
        "What tau compares for an agent that divides units: the densities of the logits before and "
        "after a unit moves, as in the authors' code, or the shares of both places.",
    )
    learn_from: Literal["massaged", "sampled"] = param(
        "massaged",
        "Action that the policy gradient uses: the massaged one (equation 5), or the sampled one.",
    )
    threshold: float = param(
        1.0,
        "Maximum of tau; an action can replace another if their probabilities differ by less than "
        "tau.",
        low=0,
        high=1,
    )
    threshold_schedule: Literal["saturating", "exponential"] = param(
        "saturating",
        "Schedule of tau from round `threshold_start` (i0), with `threshold_rate` (r): "
        '"saturating" is threshold (1 - r^(i - i0)), published for bank_loans (r = 0.985) and '
        'attention (r = 0); "exponential" is min(threshold, 0.01 r^(i - i0)), published for '
        "epidemic (r = 1.2).",
    )
    threshold_start: int = param(17, "First round with massaging; tau is 0 before it.", low=0)
    threshold_rate: float = param(0.985, "Rate r of the schedule of tau.", low=0)
    regularise: float = param(
        1.0, "Weight lambda of the advantage regularisation (equation 4).", low=0
    )
    delta: float = param(
        0.05,
        "Threshold of short-term unfairness: above it, steps that worsen long-term fairness are "
        "penalised; below it, steps that improve it are rewarded (equation 7).",
        low=0,
    )

    def terms(self, env: Environment, trained: tuple[str, ...]) -> Terms:
        """Return action massaging, advantage regularisation and a round counter."""
        measures = self.measures(env)
        if self.massage and self.oracle and len(trained) > 1:
            raise FairgymError(
                "oracle must be False with several trained agents, since the outcome depends on all"
                f" actions; {', '.join(trained)} of {env.name} are trained"
            )
        for agent in trained if self.massage else ():
            check_massaging(env, agent, self.oracle)
        return Terms(
            measures,
            act=functools.partial(self._massaged, env) if self.massage else as_explored,
            start={ROUNDS: jnp.int32(0)},
            shape=self._regularised,
            learn=lambda carried, log: ({ROUNDS: carried[ROUNDS] + 1}, {}),
            # massaged units may have a density near 0, and the ratio would overflow
            largest_log_ratio=LARGEST_LOG_RATIO,
            learns_from_taken=self.learn_from == "massaged",
        )

    def tau(self, rounds: Array) -> Float[Array, ""]:
        """Return the threshold in this round, counted from 0."""
        since = jnp.maximum(rounds - self.threshold_start, 0).astype(jnp.float32)
        rate = self.threshold_rate
        # a rate of 0 gives the full threshold at once: 0^0 would be 1
        power = jnp.where(rate > 0.0, jnp.float32(rate) ** since, 0.0)
        if self.threshold_schedule == "saturating":
            risen = self.threshold * (1.0 - power)
        else:
            risen = jnp.minimum(self.threshold, FIRST_THRESHOLD * power)
        return jnp.where(rounds >= self.threshold_start, risen, 0.0)

    def massaged(
        self,
        env: Environment,
        params: Params,
        policies: Mapping[str, AnyPolicy],
        trained_in: Environment,
        updates: int,
    ) -> tuple[Environment, dict[str, AnyPolicy]]:
        """Return policies massaged as in the last round, with the training's fairness measure."""
        if not self.massage:
            return super().massaged(env, params, policies, trained_in, updates)
        tau = self.last_tau(trained_in, updates)
        if tau == 0.0:
            raise FairgymError(
                "it ended before massaging began; massage needs a run with more rounds than its"
                f" threshold_start of {self.threshold_start}"
            )
        measure = self.measures(env)[SHORT_TERM]
        return massaged(env, params, policies, tau, measure, self.closeness)

    def last_tau(self, env: Environment, updates: int | None = None) -> float:
        """Return the threshold in the last round of training.

        Args:
            env: The environment of the training; its horizon determines the number of rounds.
            updates: Number of updates so far; all by default.
        """
        rounds = self.rounds(env) * (self.num_updates if updates is None else updates)
        return float(self.tau(jnp.int32(rounds - 1)))

    def _massaged(self, env: Environment, turn: Turn) -> Array:
        """Return a fairer action instead of the explored one, if their probabilities are close."""
        measure = self.measures(env)[SHORT_TERM]
        remaining = measure.remaining(turn.rollout.measure_states[SHORT_TERM])

        def unfairness(action: Array) -> Float[Array, ""]:
            if self.oracle:
                actions = {**turn.actions, turn.agent: action}
                step = AutoReset(env).step_autoreset(
                    turn.key, turn.rollout.state, actions, turn.params
                )[1]
                return -measure.value_after(remaining, step.components)
            assert env.spec.expected_components is not None
            expected = env.spec.expected_components(
                {turn.agent: turn.observation}, {turn.agent: action}, turn.params
            )
            return -measure.value_after(remaining, expected)

        tau, space = self.tau(turn.carried[ROUNDS]), env.action_space(turn.agent)
        rule = tau, unfairness, turn.log_std, self.closeness
        return massage(space, turn.observation, turn.logits, turn.raw, *rule)

    def _regularised(
        self, advantage: Float[Array, "envs steps"], signals: Signals
    ) -> Float[Array, "envs steps"]:
        """Return A + lambda R (equation 4), with R of equation 7."""
        gain = signals[gain_of(LONG_TERM)]
        unfair = signals[SHORT_TERM] > self.delta
        regular = jnp.where(unfair, jnp.minimum(gain, 0.0), jnp.maximum(gain, 0.0))
        return scaled(advantage, self.scale) + self.regularise * scaled(regular, self.scale)
