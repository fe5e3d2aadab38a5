"""Fixed policies: the baselines of every comparison."""

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, PRNGKeyArray

from fairgym.core import ActionSpace, Entities, Environment, FairgymError, Params, require_agent
from fairgym.policies.named import named_action, option_of
from fairgym.utils import rules
from fairgym.utils.changes import did_you_mean
from fairgym.utils.plugins import load_object, reason_of

# Allowed specifications of a fixed policy, for messages.
TAKES = (
    "'random', a rule by name or as 'module:function', the name of an option, a number, one number"
    " per element of the action, or numbers by the names of elements"
)


class Constant(eqx.Module):
    """The same action at every step. It can be created inside jit and vmap.

    Args:
        space: The agent's action space.
        value: One number for all elements, or one per element; for discrete actions the index of an
            option. Traced numbers, such as those under vmap, are not checked; environments clip
            them.

    Raises:
        FairgymError: The value is not a number, or does not fit the space.

    Examples:
        >>> from fairgym.core import Unit
        >>> from fairgym.policies import Constant
        >>> Constant(Unit(("threshold", "relief")), 0.5).action.tolist()
        [0.5, 0.5]
    """

    action: Array

    def __init__(self, space: ActionSpace, value: Any) -> None:
        """Check the value and broadcast it to the shape of the space."""
        traced = any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(value))
        now = contextlib.nullcontext() if traced else jax.ensure_compile_time_eval()
        # check concrete values now, even during tracing; one too large for float32 is infinite
        with now, np.errstate(over="ignore"):
            try:
                numbers = value if traced else np.asarray(value, dtype=np.float32)
                action = jnp.broadcast_to(jnp.asarray(numbers, jnp.float32), space.shape)
            except (TypeError, ValueError) as error:
                takes = f"one number, or {space.shape[0]} numbers" if space.shape else space.takes
                raise FairgymError(f"a constant action must be {takes}, got {value!r}") from error
            if not (traced or bool(space.contains(action))):
                raise FairgymError(f"a constant action must be {space.takes}, got {value!r}")
            self.action = space.clip(action) if space.dtype == jnp.int32 else action

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Array:
        """Return the constant."""
        return self.action


class Random(eqx.Module):
    """A uniform random action at every step.

    Attributes:
        space: The agent's action space.
    """

    space: ActionSpace = eqx.field(static=True)

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Array:
        """Sample an action."""
        return self.space.sample(key)


class Function(eqx.Module):
    """A hand-written rule.

    Attributes:
        rule: `rule(observation, key) -> action`, a pure JAX function that is equivariant to the
            order of the people.
    """

    rule: Callable[[Entities, PRNGKeyArray], Array] = eqx.field(static=True)

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Array:
        """Return the action of the rule."""
        return self.rule(observation, key)


def fixed_policies(
    env: Environment, specification: Mapping[str, Any], params: Params | None = None
) -> dict[str, Any]:
    """Build fixed policies from plain values, as in `env.spec.baselines` and in run configurations.

    Args:
        env: The environment.
        specification: Agent -> "random", the name of one of `fairgym.policies.rules`
            ("first-come"), a custom rule, one number, one number per element of the action, or a
            mapping. For discrete actions it is the name or index of an option. A custom rule is
            "module:function": a pure JAX function `rule(observation, key) -> action`, imported from
            the current folder or the Python path. A mapping assigns numbers to elements, or to all
            elements of a group, by name; shares that it does not name divide the rest evenly.
        params: Parameters of the environment, for rules that use them; its defaults if None.

    Returns:
        Agent -> policy, for the specified agents.

    Raises:
        FairgymError: Unknown agent, word or element, a rule that cannot be imported or does not
            return an action, or a value that does not fit the agent's space.

    Examples:
        >>> import fairgym
        >>> from fairgym.policies import fixed_policies
        >>> env = fairgym.make("loan_simple", population=100, horizon=10)
        >>> policies = fixed_policies(env, {"admissions": (0.5, 0.25), "disbursement": "random"})
        >>> policies["admissions"].action.tolist()
        [0.5, 0.25]
        >>> relief = {"advantaged": 0.25, "disadvantaged": 0.5}
        >>> fixed_policies(env, {"debt_management": relief})["debt_management"].action.tolist()
        [0.25, 0.5]
    """
    policies = {}
    for agent, value in specification.items():
        require_agent(env, agent)
        space = env.action_space(agent)
        if isinstance(value, Mapping):
            value = named_action(space, agent, value.items())
            value = value[0] if space.per_entity else value
        elif isinstance(value, str) and space.discrete:
            value = option_of(space, value)
        if not isinstance(value, str):
            try:
                policies[agent] = Constant(space, value)
            except FairgymError as error:
                raise FairgymError(f"the fixed policy of {agent!r}: {error}") from error
        elif value == "random":
            policies[agent] = Random(space)
        elif ":" in value:
            policies[agent] = _rule(env, agent, value)
        elif value in rules:
            policies[agent] = rules.get(value)(env, agent, params)
        else:
            names = rules.names()
            hint = did_you_mean(value, names) or f"; named rules are: {', '.join(names)}"
            raise FairgymError(
                f"the fixed policy of {agent!r} must be {TAKES}, got {value!r}{hint}"
            )
    return policies


def _rule(env: Environment, agent: str, name: str) -> Any:
    """Return the rule of this name, after checking that it returns actions of the agent."""
    what = f"the rule {name!r} of {agent!r}"
    rule = load_object(name)
    if not isinstance(rule, Callable):
        raise FairgymError(
            f"{what} must be a function of an observation and a key, got {type(rule).__name__}"
        )
    observed, space = env.observation_space(agent), env.action_space(agent)
    try:
        made = jax.eval_shape(lambda key: rule(observed.sample(key), key), jax.random.key(0))
    except Exception as error:
        raise FairgymError(
            f"{what} must be a pure JAX function of an observation and a key, but fails"
            f" ({reason_of(error)})"
        ) from error
    shape, kind = getattr(made, "shape", None), getattr(made, "dtype", None)
    if shape != space.shape or kind != space.dtype:
        got = f"{kind} of shape {shape}" if shape is not None else type(made).__name__
        raise FairgymError(
            f"{what} must return {jnp.dtype(space.dtype)} of shape {space.shape} ({space.takes}),"
            f" got {got}"
        )
    return rule if isinstance(rule, eqx.Module) else Function(rule)
