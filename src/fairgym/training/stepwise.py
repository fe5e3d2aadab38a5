"""Policies that change within an episode."""

from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int, PRNGKeyArray, PyTree

from fairgym.config.differences import as_text
from fairgym.core import (
    AnyPolicy,
    Entities,
    Environment,
    FairgymError,
    RecurrentPolicy,
)
from fairgym.core.policy import decide
from fairgym.policies import Constant, fixed_policies, with_fixed
from fairgym.policies.named import agent_of
from fairgym.training.schedules import During, Pair, blended, weights_of


class Stepwise(eqx.Module):
    """Constant actions that differ between steps; the hidden state is the step.

    Attributes:
        actions: The different actions, as rows; one number per row if it holds for all people.
        which: Row of each step.
        shape: Shape of an action.
        period: Number of steps between two actions.
    """

    actions: Array
    which: Int[Array, " steps"]
    shape: tuple[int, ...] = eqx.field(static=True)
    period: int = eqx.field(static=True)

    def initial(self) -> Int[Array, ""]:
        """Return the first step."""
        return jnp.int32(0)

    def __call__(
        self, observation: Entities, key: PRNGKeyArray, hidden: Int[Array, ""]
    ) -> tuple[Array, Int[Array, ""]]:
        """Return the action of this step, and the step of the next action."""
        row = lax.dynamic_index_in_dim(self.which, hidden, keepdims=False)
        action = lax.dynamic_index_in_dim(self.actions, row, keepdims=False)
        return jnp.broadcast_to(action, self.shape), hidden + self.period


class Switching(eqx.Module):
    """Several policies, of which one acts in each step.

    All of them observe every step, so that each has the hidden state that it would have alone.

    Attributes:
        policies: The policies.
        which: Number of the policy that acts in each step.
        period: Number of steps between two actions.
    """

    policies: tuple[AnyPolicy, ...]
    which: Int[Array, " steps"]
    period: int = eqx.field(static=True)

    def initial(self) -> PyTree:
        """Return the first step, and the first hidden state of each policy."""
        own = (one.initial() if isinstance(one, RecurrentPolicy) else None for one in self.policies)
        return jnp.int32(0), tuple(own)

    def __call__(
        self, observation: Entities, key: PRNGKeyArray, hidden: PyTree
    ) -> tuple[Array, PyTree]:
        """Return the action of the policy of this step, and the next hidden states."""
        step, own = hidden
        made = [
            decide(policy, observation, key, before)
            for policy, before in zip(self.policies, own, strict=True)
        ]
        actions = jnp.stack([action for action, _ in made])
        number = lax.dynamic_index_in_dim(self.which, step, keepdims=False)
        action = lax.dynamic_index_in_dim(actions, number, keepdims=False)
        return action, (step + self.period, tuple(after for _, after in made))


def policies_over_time(
    env: Environment,
    specification: Mapping[str, Any],
    policies: Mapping[str, AnyPolicy],
    pairs: Sequence[Pair],
) -> tuple[dict[str, Any], dict[str, AnyPolicy]]:
    """Return policies with changes, some of which may hold in some steps only.

    Args:
        env: The environment.
        specification: Agent -> specification of the policy without changes; a text for one that
            is learned.
        policies: Agent -> the policy without changes.
        pairs: Changes in order, as `fairgym.training.schedules.timed` returns them.

    Returns:
        `(specification, policies)`. The specification of an agent whose policy changes within an
        episode is a text.

    Raises:
        FairgymError: If an agent or element is unknown, a value is invalid, or something that is
            not a number is to change little by little.
    """
    if not any(isinstance(value, During) for _, value in pairs):
        made = with_fixed(env, specification, pairs)
        changed = {a: made[a] for a in made if _text(made[a]) != _text(specification.get(a))}
        return made, {**policies, **fixed_policies(env, changed)}
    weights, which = weights_of(pairs, env.horizon)
    rows = [_row(env, specification, policies, pairs, row) for row in weights]
    told, found = dict(rows[0][0]), dict(rows[0][1])
    for agent in found:
        keys = [_text(spec[agent]) for spec, _ in rows]
        names = list(dict.fromkeys(keys))
        if len(names) == 1:
            continue
        several = [rows[keys.index(name)][1][agent] for name in names]
        places = np.array([names.index(key) for key in keys])[which].astype(np.int32)
        found[agent] = _joined(env, agent, several, places)
        told[agent] = "; ".join(
            f"{element or agent} {value.told(env.spec.time_unit)}"
            for name, value in pairs
            if isinstance(value, During)
            for whose, _, element in [str(name).partition(".")]
            if agent_of(env, whose) == agent
        )
    return told, found


def _row(
    env: Environment,
    specification: Mapping[str, Any],
    policies: Mapping[str, AnyPolicy],
    pairs: Sequence[Pair],
    weights: np.ndarray,
) -> tuple[dict[str, Any], dict[str, AnyPolicy]]:
    """Return specification and policies of the steps with these weights of the changes."""
    plain = [(name, v.value if isinstance(v, During) else v) for name, v in pairs]
    partly = [p for p, weight in zip(plain, weights, strict=True) if 0.0 < weight < 1.0]
    held = [pair for pair, weight in zip(plain, weights, strict=True) if weight == 1.0]
    made = with_fixed(env, specification, held)
    slow = {agent_of(env, str(name).partition(".")[0]) for name, _ in partly}
    if slow:

        def numbers(several: Sequence[Pair]) -> dict[str, np.ndarray]:
            found = with_fixed(env, specification, several)
            return {agent: _numbers(env, agent, found[agent]) for agent in slow}

        blend = blended(numbers, pairs, weights)
        made |= {agent: action.tolist() for agent, action in blend.items()}
    changed = {a: made[a] for a in made if _text(made[a]) != _text(specification.get(a))}
    return made, {**policies, **fixed_policies(env, changed)}


def _numbers(env: Environment, agent: str, specification: object) -> np.ndarray:
    """Return the numbers of a constant action; one if it holds for all people."""
    space = env.action_space(agent)
    fixed = isinstance(specification, str) and specification == LEARNED
    policy = None if fixed else fixed_policies(env, {agent: specification})[agent]
    if not isinstance(policy, Constant) or space.discrete:
        raise FairgymError(
            f"{agent} must have numbers before and after a change over several steps, got"
            f" {specification!r}"
        )
    return np.asarray(_compact(env, agent, policy), np.float64)


LEARNED = "learned"  # specification of a policy that a run has learned


def _compact(env: Environment, agent: str, policy: Constant) -> Array:
    """Return a constant action; one number instead of equal ones for all people."""
    if env.action_space(agent).per_entity and bool(jnp.all(policy.action == policy.action[0])):
        return policy.action[0]
    return policy.action


def _joined(
    env: Environment, agent: str, policies: Sequence[Any], which: np.ndarray
) -> Stepwise | Switching:
    """Return one policy of several, with the number of that of each step."""
    period = env.spec.periods.get(agent, 1)
    if not all(isinstance(policy, Constant) for policy in policies):
        return Switching(tuple(policies), jnp.asarray(which), period)
    actions = [_compact(env, agent, policy) for policy in policies]
    alike = jnp.stack(jnp.broadcast_arrays(*actions))
    return Stepwise(alike, jnp.asarray(which), env.action_space(agent).shape, period)


def aligned(env: Environment, agent: str, policies: Sequence[AnyPolicy]) -> list[AnyPolicy]:
    """Return policies of one structure, so that they share one program, if they can have one."""
    longest = max((len(p.actions) for p in policies if isinstance(p, Stepwise)), default=0)
    if not longest or not all(isinstance(policy, Constant | Stepwise) for policy in policies):
        return list(policies)
    never = np.zeros(env.horizon, np.int32)
    made = [_joined(env, agent, [p], never) if isinstance(p, Constant) else p for p in policies]
    several = [policy for policy in made if isinstance(policy, Stepwise)]
    shape = np.broadcast_shapes(*(policy.actions.shape[1:] for policy in several))

    def spread(policy: Stepwise) -> Stepwise:
        rows = policy.actions
        rows = rows.reshape(len(rows), *(1,) * (len(shape) - rows.ndim + 1), *rows.shape[1:])
        wide = jnp.broadcast_to(rows, (len(rows), *shape))
        pad = jnp.broadcast_to(wide[-1:], (longest - len(wide), *shape))
        return Stepwise(jnp.concatenate([wide, pad]), policy.which, policy.shape, policy.period)

    return [spread(policy) for policy in several]


def _text(specification: object) -> str:
    return as_text(specification)
