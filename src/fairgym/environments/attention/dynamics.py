"""The formulas of attention allocation (Hu, Lear and Zhang 2023, section VI-B).

| symbol | name in the code |
| --- | --- |
| a_k | `sent`, units of attention at a site |
| y_k | `occurred`, incidents at a site |
| y^_k | `found`, incidents found there |
| Lambda_k | `rate` |
| lambda_k^I | `increase` |
| lambda^D | `decrease` |
"""

import math

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import xlogy
from jaxtyping import Array, Float

Number = float | Float[Array, "..."]
Sites = Float[Array, " sites"]

LARGE = 16.0  # from this rate on the distribution of incidents is inverted by an expansion
MOST_COUNTED = 47  # incidents; below the rate LARGE more occur with a probability below 1e-9
# 1/n in blocks; more of them are added only while they are needed
INVERSES = (1.0 / np.arange(1, MOST_COUNTED + 2, dtype=np.float32)).reshape(-1, 8)
TAIL = 1e-6  # probability clipped at both ends, since rounded sums do not reach 1


def incidents(uniform: Sites, rate: Sites) -> Sites:
    """Sample incidents at each site, y_k ~ Poisson(Lambda_k), by inverting the distribution.

    The distribution function is exact to 2e-5, and to 2e-6 below a rate of 16. With the same
    `uniform` a higher rate gives more incidents.

    Args:
        uniform: Uniform in [0, 1).
        rate: Expected number of incidents.
    """
    uniform = jnp.clip(uniform, TAIL, 1.0 - TAIL)
    return jnp.where(rate < LARGE, _counted(uniform, rate), _expanded(uniform, rate))


def _counted(uniform: Sites, rate: Sites) -> Sites:
    """Return the smallest n for which the probability of at most n incidents exceeds `uniform`."""
    rate = jnp.minimum(rate, LARGE)
    chance = jnp.exp(-rate)

    def more(now: tuple[Array, ...]) -> Array:
        block, _, total, _ = now
        return (block < len(INVERSES)) & jnp.any(uniform >= total)

    def count_on(now: tuple[Array, ...]) -> tuple[Array, ...]:
        block, chance, total, count = now
        for inverse in jnp.asarray(INVERSES)[block]:  # unrolled: much faster than a turn for each
            count = count + (uniform >= total)
            chance = chance * rate * inverse
            total = total + chance
        return block + 1, chance, total, count

    start = (jnp.int32(0), chance, chance, jnp.zeros_like(rate))
    return jnp.minimum(lax.while_loop(more, count_on, start)[3], MOST_COUNTED)


def _expanded(uniform: Sites, rate: Sites) -> Sites:
    """Return the same for high rates, by an expansion in powers of the root of the rate.

    M. B. Giles (2016), Algorithm 955: Approximation of the Inverse Poisson Cumulative Distribution
    Function, ACM Transactions on Mathematical Software 42 (1).
    """
    rate = jnp.maximum(rate, LARGE)
    root, normal = jnp.sqrt(rate), math.sqrt(2.0) * lax.erf_inv(2.0 * uniform - 1.0)
    square = normal * normal
    expansion = (
        rate
        + root * normal
        + (1.0 / 3.0 + square / 6.0)
        - normal * (1.0 / 36.0 + square / 72.0) / root
        + (-8.0 / 405.0 + square * (7.0 / 810.0 + square / 270.0)) / rate
    )
    return jnp.floor(expansion)


def incidents_found(sent: Sites, occurred: Sites) -> Sites:
    """y^_k = min(a_k, y_k): a unit finds one incident."""
    return jnp.minimum(sent, occurred)


def next_rate(rate: Sites, sent: Sites, increase: Number, decrease: Number) -> Sites:
    """Raise the rate of sites without a unit, lower it by each unit elsewhere (section VI-B).

    The new rate is at least 0.

    Args:
        rate: Expected number of incidents in this step.
        sent: Units of attention.
        increase: lambda_k^I, increase at a site without a unit.
        decrease: lambda^D, decrease by each unit.
    """
    return jnp.where(sent > 0.0, jnp.maximum(rate - decrease * sent, 0.0), rate + increase)


def expected_found(sent: Sites, rate: Sites, most: int) -> Sites:
    """Return E min(a_k, Y) with Y ~ Poisson(rate).

    It is the sum of the probabilities of more than 0, 1, ..., a_k - 1 incidents.

    Args:
        sent: Units of attention, whole numbers.
        rate: Expected number of incidents.
        most: Largest number of units.
    """
    counts = np.arange(most, dtype=np.float32)[:, None]
    logs = np.array([[math.lgamma(n + 1.0)] for n in range(most)], np.float32)
    chances = jnp.exp(xlogy(counts, rate) - rate - logs)
    more = 1.0 - jnp.cumsum(chances, axis=0)
    return jnp.sum(jnp.where(counts < sent, more, 0.0), axis=0)
