"""Action massaging: a fairer action in place of one that the policy is hardly surer of.

Hu, Lear and Zhang (2023), section 5.2: of the actions whose probability differs from that of the
sampled one by less than a threshold, the one after which short-term unfairness is least is taken,
if it is less than after the sampled one (equation 6). What comes of an action is what the
decision-maker can expect (`Environment.foresee`).
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from fairgym.core import Allocation, Entities, Environment, FairgymError, option_logits
from fairgym.fairness import Windowed
from fairgym.policies.exploration import act

ROUNDING = 1e-6  # smaller differences of unfairness are none
LEAST_LEFT = 0.1  # of the share of a place that gives up its only unit


def check_massaging(env: Environment, agent: str) -> None:
    """Raise a FairgymError unless the actions of this agent can be massaged."""
    space = env.action_space(agent)
    if not (space.discrete or isinstance(space, Allocation)):
        raise FairgymError(
            f"massage is True, but {agent!r} of {env.name} decides {space.takes}; it takes an agent"
            " that chooses an option or divides units, or massage False"
        )
    if type(env.unwrapped).foresee is Environment.foresee:
        raise FairgymError(
            f"massage is True, but {env.name} does not foresee what actions come to; it takes an"
            " environment with `foresee`, or massage False"
        )


def massaged(
    env: Environment,
    params: Any,
    measure: Windowed,
    memory: Any,
    agent: str,
    seen: Entities,
    logits: Float[Array, " outputs"],
    raw: Array,
    threshold: Float[Array, ""],
) -> Array:
    """The action in place of the sampled one, or the same (equation 6).

    Args:
        env: the environment.
        params: its parameters.
        measure: short-term fairness, of which more is better.
        memory: its memory before the step.
        agent: the agent.
        seen: what it sees.
        logits: outputs of its network.
        raw: what was sampled (`fairgym.policies.exploration.explore`).
        threshold: tau, below which two probabilities are close enough.
    """
    space = env.action_space(agent)

    def unfairness(raw: Array) -> Float[Array, ""]:
        action = act(space, raw, seen.mask)
        expected = env.foresee({agent: seen}, {agent: action}, params)
        return -measure.value(memory, expected)

    raws, apart, possible = _alternatives(space, seen, logits, raw)
    found = jnp.where(possible & (apart < threshold), jax.vmap(unfairness)(raws), jnp.inf)
    least = jnp.min(found)
    # among equally fair ones that of the nearest probability
    nearest = jnp.argmin(jnp.where(found <= least + ROUNDING, apart, jnp.inf))
    return jnp.where(least < unfairness(raw) - ROUNDING, raws[nearest], raw)


def _alternatives(
    space: Any, seen: Entities, logits: Float[Array, " outputs"], raw: Array
) -> tuple[Array, Float[Array, " others"], Bool[Array, " others"]]:
    """Other actions, how far their probabilities are from that of the sampled one, and which exist.

    Of a choice they are all options; of an allocation those with one unit moved from k1 to k2,
    where the distance is that of P(k1) and P(k2) (section 6.2).
    """
    if space.discrete:
        chances = jax.nn.softmax(option_logits(space, logits, seen.mask))
        options = jnp.arange(chances.shape[0], dtype=space.dtype)
        return options, jnp.abs(chances - chances[raw]), options != raw
    shares, units, places = jax.nn.softmax(raw), space.units, raw.shape[0]
    given = space.from_logits(raw, seen.mask)
    giver, taker = (x.ravel() for x in jnp.indices((places, places)))
    # 1/N of the mass is moved, which moves one unit
    less = jnp.log(jnp.maximum(1.0 - 1.0 / (units * shares), LEAST_LEFT))
    more = jnp.log1p(1.0 / (units * shares))
    one_hot = jnp.eye(places)
    raws = raw + less[giver, None] * one_hot[giver] + more[taker, None] * one_hot[taker]
    moved = given - one_hot[giver] + one_hot[taker]
    same = jax.vmap(lambda other: space.from_logits(other, seen.mask))(raws) == moved
    possible = (giver != taker) & (given[giver] > 0) & jnp.all(same, axis=1)
    return raws, jnp.abs(shares[giver] - shares[taker]), possible
