"""ELBERT-PO: PPO that keeps long-term benefit rates of groups equal.

Xu et al., "Adapting Static Fairness to Sequential Decision-Making: Bias Mitigation Strategies
towards Equal Long-term Benefit Rate" (2024), https://arxiv.org/abs/2309.03426.
"""

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from fairgym.algorithms._algorithm import algorithms, check_inside
from fairgym.algorithms._normalised import NormalisedState
from fairgym.algorithms._worlds import Step, World
from fairgym.algorithms.ppo import FlatPpo
from fairgym.core import Environment, FairgymError
from fairgym.fairness import Disparity, Rate
from fairgym.wrappers import StepOutcome

BENEFIT, DEMAND = "benefit", "demand"


def soft_bias(rates: Float[Array, " groups"], beta: float) -> Float[Array, ""]:
    """Largest less smallest rate; of more than two groups a smooth form of it (section 4.2).

    Args:
        rates: long-term benefit rates.
        beta: sharpness of the smooth maximum and minimum, log-sum-exp(+-beta x) / beta.
    """
    if rates.shape[0] == 2:
        return jnp.abs(rates[0] - rates[1])
    highest = jax.nn.logsumexp(beta * rates) / beta
    lowest = -jax.nn.logsumexp(-beta * rates) / beta
    return highest - lowest


@algorithms.register("elbert-po")
@dataclasses.dataclass(frozen=True)
class ElbertPo(FlatPpo[NormalisedState]):
    """Hyperparameters of ELBERT-PO, beside those of `FlatPpo`.

    It maximises R - alpha b^2, with R the discounted rewards and b the largest difference of the
    groups' long-term benefit rates U_g / B_g: sums of benefit and of demand over an episode,
    undiscounted, each of which has a value of its own in the critic. Several agents share the bias.

    Attributes:
        disparity: the metric whose rate is equalised, a `Disparity` of `env.metrics`: its numerator
            is the benefit, its denominator the demand; "" for the first one.
        bias_weight: alpha, the weight of the squared bias; the default is that of bank_loans.
        softness: beta, the sharpness of the smooth maximum and minimum of more than two groups.
    """

    disparity: str = ""
    bias_weight: float = 2e5
    softness: float = 20.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        check_inside(self, math.inf, "bias_weight")
        check_inside(self, math.inf, "softness", positive=True)

    def rate(self, env: Environment) -> Rate:
        """The long-term benefit rate.

        Raises:
            FairgymError: the environment has no such disparity.
        """
        known = {name: m.rate for name, m in env.metrics.items() if isinstance(m, Disparity)}
        if self.disparity in known:
            return known[self.disparity]
        if self.disparity or not known:
            raise FairgymError(
                f"disparity is {self.disparity!r}; of {env.name} it takes a disparity of rates:"
                f" {', '.join(known) or 'there is none'}"
            )
        return next(iter(known.values()))

    def _require(self, env: Environment, trained: tuple[str, ...]) -> None:
        super()._require(env, trained)
        self.rate(env)

    def _values(self, env: Environment, trained: int) -> int:
        """Those of the agents, and of each group's benefit and demand."""
        return trained + 2 * len(env.spec.groups)

    def _state(self, fields: dict[str, Any]) -> NormalisedState:
        return NormalisedState(**fields)

    def _watch(
        self, state: NormalisedState, before: World, after: World, end: StepOutcome
    ) -> tuple[World, dict[str, Array]]:
        rate = self.rate(state.env)
        benefit = getattr(end.components, rate.numerator)
        return after, {BENEFIT: benefit, DEMAND: getattr(end.components, rate.denominator)}

    def _gamma(self, state: NormalisedState) -> Float[Array, " values"]:
        """That of the rewards, and 1 for benefits and demands."""
        agents = len(state.trained)
        ones = jnp.ones((self._values(state.env, agents) - agents,))
        return jnp.concatenate([jnp.full((agents,), self.gamma), ones])

    def _rewards(self, state: NormalisedState, steps: Step) -> Float[Array, "worlds steps values"]:
        """Rewards, benefits and demands."""
        parts = [steps.rewards, steps.signals[BENEFIT], steps.signals[DEMAND]]
        return jnp.concatenate(parts, axis=2)

    def _after(
        self,
        state: NormalisedState,
        following: Float[Array, "worlds steps values"],
        done: Float[Array, "worlds steps"],
    ) -> Float[Array, "worlds steps values"]:
        """Values after each step; sums of an episode's benefits and demands end with it."""
        of_groups = jnp.arange(following.shape[2]) >= len(state.trained)
        return jnp.where(of_groups & (done[..., None] > 0.0), 0.0, following)

    def _combined(
        self,
        state: NormalisedState,
        steps: Step,
        advantage: Float[Array, "worlds steps values"],
    ) -> Float[Array, "worlds steps agents"]:
        """A - 2 alpha b sum_g db/dr_g (A_U_g / B_g - U_g A_B_g / B_g^2), with r_g = U_g / B_g."""
        agents, groups = len(state.trained), len(state.env.spec.groups)
        own, of_benefit, of_demand = jnp.split(advantage, [agents, agents + groups], axis=2)
        # sums over an episode that lasts to its horizon, from the steps of all worlds
        benefit, demand = (
            state.env.horizon * jnp.mean(steps.signals[name], axis=(0, 1))
            for name in (BENEFIT, DEMAND)
        )
        demand = jnp.maximum(demand + self.rate(state.env).offset, 1e-6)
        bias, slope = jax.value_and_grad(soft_bias)(benefit / demand, self.softness)
        change = of_benefit / demand - benefit * of_demand / demand**2
        return own - 2.0 * self.bias_weight * bias * jnp.sum(slope * change, axis=2)[..., None]
