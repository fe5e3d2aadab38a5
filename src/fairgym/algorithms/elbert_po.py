"""ELBERT-PO: PPO that equalises the long-term benefit rates of groups.

Xu et al., "Adapting Static Fairness to Sequential Decision-Making: Bias Mitigation Strategies
towards Equal Long-term Benefit Rate" (2024), https://arxiv.org/abs/2309.03426.
"""

import dataclasses

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from fairgym.algorithms._algorithm import algorithms
from fairgym.algorithms._terms import Signals, Terms
from fairgym.algorithms.ppo import Ppo
from fairgym.core import Environment, FairgymError, param
from fairgym.fairness import Disparity, Rate

BENEFIT, DEMAND = "benefit", "demand"


def soft_bias(rates: Float[Array, " groups"], beta: float | Float[Array, ""]) -> Float[Array, ""]:
    """Return the largest minus the smallest rate, smoothed for more than two groups (section 4.2).

    Args:
        rates: Long-term benefit rates.
        beta: Sharpness of the smooth maximum and minimum, log-sum-exp(+-beta x) / beta.
    """
    if rates.shape[0] == 2:
        return jnp.abs(rates[0] - rates[1])
    highest = jax.nn.logsumexp(beta * rates) / beta
    lowest = -jax.nn.logsumexp(-beta * rates) / beta
    return highest - lowest


@algorithms.register("elbert-po")
@dataclasses.dataclass(frozen=True)
class ElbertPo(Ppo):
    """Hyperparameters of ELBERT-PO, in addition to those of PPO.

    It maximises R - alpha b^2. R is the sum of discounted rewards, and the bias b is the largest
    difference between the groups' long-term benefit rates U_g / B_g: undiscounted sums of benefit
    and demand over an episode. The critic predicts each of these sums. All agents share the bias.
    The authors standardise advantages in minibatches, here over a round: the difference is noise.
    """

    disparity: str = param(
        "",
        "Metric whose rate is equalised, a `Disparity` of `env.metrics`: its numerator is the "
        'benefit, its denominator the demand; "" is the first one.',
    )
    bias_weight: float = param(
        2e5,
        "Weight alpha of the squared bias; the default is published for bank_loans, with "
        "standardised advantages.",
        low=0,
    )
    standardise: bool = param(
        True,
        "Standardise every advantage over the steps of a round before they are combined, as in the "
        "authors' code, so that alpha weighs them in standard deviations. If off, their "
        "combination is the gradient of R - alpha b^2.",
    )
    softness: float = param(
        20.0,
        "Sharpness beta of the smooth maximum and minimum for more than two groups.",
        low=0,
        above=True,
    )

    def rate(self, env: Environment) -> Rate:
        """Return the long-term benefit rate.

        Raises:
            FairgymError: The environment has no such disparity.
        """
        known = {name: m.rate for name, m in env.metrics.items() if isinstance(m, Disparity)}
        if self.disparity in known:
            return known[self.disparity]
        if self.disparity or not known:
            raise FairgymError(
                f"disparity must be a disparity of rates of {env.name}"
                f" ({', '.join(known) or 'there is none'}), got {self.disparity!r}"
            )
        return next(iter(known.values()))

    def terms(self, env: Environment, trained: tuple[str, ...]) -> Terms:
        """Return values of each group's benefit and demand, and their term in the advantages."""
        rate, agents, groups = self.rate(env), len(trained), len(env.spec.groups)

        def combined(
            signals: Signals, advantage: Float[Array, "envs steps values"]
        ) -> Float[Array, "envs steps agents"]:
            """Return A - 2 alpha b sum_g db/dr_g (A_U_g / B_g - U_g A_B_g / B_g^2).

            Here r_g = U_g / B_g.
            """
            if self.standardise:
                mean = jnp.mean(advantage, axis=(0, 1))
                advantage = (advantage - mean) / (jnp.std(advantage, axis=(0, 1)) + 1e-8)
            own, of_benefit, of_demand = jnp.split(advantage, [agents, agents + groups], axis=2)
            # sums over an episode of full length, estimated from the steps of all envs
            benefit, demand = (
                env.horizon * jnp.mean(signals[name], axis=(0, 1)) for name in (BENEFIT, DEMAND)
            )
            demand = jnp.maximum(demand + rate.offset, 1e-6)
            bias, slope = jax.value_and_grad(soft_bias)(benefit / demand, self.softness)
            change = of_benefit / demand - benefit * of_demand / demand**2
            return own - 2.0 * self.bias_weight * bias * jnp.sum(slope * change, axis=2)[..., None]

        return Terms(
            components={BENEFIT: rate.numerator, DEMAND: rate.denominator},
            valued=(BENEFIT, DEMAND),
            values=2 * groups,
            undiscounted=True,
            combine=combined,
            standardise=not self.standardise,
        )
