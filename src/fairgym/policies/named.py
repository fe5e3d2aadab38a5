"""Actions and changes of fixed policies by the names of elements."""

from collections.abc import Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from fairgym.core import ActionSpace, Environment, FairgymError
from fairgym.utils.changes import (
    changed_number,
    did_you_mean,
    is_relative,
    read_number,
    slug,
    unknown,
)

Numbers = np.ndarray | Array


def with_fixed(
    env: Environment, specification: Mapping[str, Any], changes: Iterable[tuple[str, Any]]
) -> dict[str, Any]:
    """Change policies, or elements of them, in a specification of fixed policies.

    Args:
        env: The environment.
        specification: Agent -> policy, as in `fixed_policies`, such as one of
            `env.spec.baselines`.
        changes: Pairs (name, value). AGENT replaces the agent's policy. AGENT.ELEMENT changes one
            number of a constant policy, AGENT.GROUP the numbers of all elements of a group, and
            AGENT.LABEL those of one kind for all groups (relief). A string such as "+30%" is a
            relative change. Changes of one agent apply together: shares without a change are scaled
            to fill the rest. Without a previous policy, all elements must be named; shares that are
            not named divide the rest evenly. Names are case-insensitive; numbers may be strings.

    Returns:
        A new specification of plain data.

    Raises:
        FairgymError: Unknown agent or element, a value outside the space, or a change of some
            elements of a policy without elements, such as "random".

    Examples:
        >>> import fairgym
        >>> from fairgym.policies import with_fixed
        >>> env = fairgym.make("loan", population=100, horizon=10)
        >>> fixed = env.spec.baselines["published_fixed_policy"]
        >>> changed = with_fixed(env, fixed, [("debt_management.advantaged", "0.2")])
        >>> changed["debt_management"]
        [0.2, 0.18]
    """
    made = dict(specification)
    named: dict[str, list[tuple[str, Any]]] = {}
    for key, value in changes:
        agent, dot, element = str(key).partition(".")
        agent = agent_of(env, agent)
        if dot:
            named.setdefault(agent, []).append((element, value))
        else:
            named.pop(agent, None)
            made[agent] = read_policy(value) if isinstance(value, str) else value
    for agent, values in named.items():
        space = env.action_space(agent)
        _require_numbers(space, agent)
        base = None
        if agent in made and not _whole(space, agent, values):
            base = _constant(space, agent, made[agent])
        action = np.asarray(named_action(space, agent, values, base))
        made[agent] = float(action[0]) if space.per_entity else action.tolist()
    return made


def agent_of(env: Environment, name: str) -> str:
    """Return the agent with this name, ignoring case.

    Raises:
        FairgymError: There is none.
    """
    for agent in env.agents:
        if slug(agent) == slug(name):
            return agent
    if not did_you_mean(name, env.agents):
        parameters = getattr(env.default_params, "__dataclass_fields__", ())
        hint = element_hint(env, name) or did_you_mean(name, parameters, "the parameter ")
        if hint:
            raise FairgymError(f"unknown agent {name!r}{hint}")
    raise unknown("agent", name, env.agents, f"{env.name} has the agents")


def element_hint(env: Environment, name: str, what: str = "") -> str:
    """Return "; did you mean 'AGENT.ELEMENT'?" for a name of elements; "" if no element has it."""
    for agent in env.agents:
        labels = {slug(element.label): None for element in env.action_space(agent).elements}
        if hint := did_you_mean(name, [f"{agent}.{label}" for label in labels], what):
            return hint
    return ""


def read_policy(text: str) -> Any:
    """Parse a fixed policy: a number, comma-separated numbers, or the string itself."""
    try:
        numbers = [read_number(part) for part in text.split(",")]
    except ValueError:
        return text
    return numbers[0] if len(numbers) == 1 else numbers


def named_action(
    space: ActionSpace,
    agent: str,
    values: Iterable[tuple[str, Any]],
    base: Float[np.ndarray, " elements"] | None = None,
) -> Numbers:
    """Return a constant action with some elements given by name.

    Args:
        space: The agent's action space.
        agent: Its name, for messages.
        values: Pairs (name, number). The name is that of an element, of a group, or a label shared
            by elements of several groups. The number may be a string or a relative change. Several
            values of one element apply in order.
        base: Action that provides the other elements. If None, other shares divide the rest evenly,
            and in other spaces all elements must be named.

    Returns:
        One number per element. Shares sum to 1: the given shares are kept and the others scaled. If
        nothing is left for the others, or there are none, all are divided by their sum.

    Raises:
        FairgymError: Unknown name, a number out of range, or an agent with discrete actions.
    """
    _require_numbers(space, agent)
    held: dict[int, Any] = {}
    for name, value in values:
        for place in _places(space, agent, name):
            before = None if base is None else float(base[place])
            held[place] = _number(f"{agent}.{name}", value, held.get(place, before), space.largest)
    missing = [name for place, name in enumerate(space.names) if place not in held]
    if base is None and missing and space.independent:
        raise FairgymError(
            f"the fixed policy of {agent!r} names some of its elements, but not"
            f" {', '.join(missing)}; give all of {', '.join(space.names)}, or first a policy of the"
            " whole agent, which provides the other numbers"
        )
    traced = any(isinstance(value, Tracer) for value in held.values())
    start = np.zeros(len(space.names)) if base is None else base
    numbers = [held.get(place, number) for place, number in enumerate(start)]
    action = jnp.stack([jnp.asarray(n, jnp.float32) for n in numbers]) if traced else None
    return space.holding(np.array(numbers) if action is None else action, tuple(held))


def option_of(space: ActionSpace, text: str) -> Any:
    """Return the index of the option with this name, or the string itself if there is none."""
    options = [place for place, name in enumerate(space.names) if slug(name) == slug(text)]
    return options[0] if options else text


def _require_numbers(space: ActionSpace, agent: str) -> None:
    """Raise a FairgymError if the agent has discrete actions."""
    if space.discrete:
        raise FairgymError(
            f"{agent!r} chooses one option and has no numbers to change one by one; give"
            f" {space.takes}"
        )


def _places(space: ActionSpace, agent: str, name: object) -> list[int]:
    """Return indices of the element with this name, or of all with this group or label."""
    wanted = slug(name)
    for words in ("name", "group", "label"):
        found = [p for p, e in enumerate(space.elements) if slug(getattr(e, words)) == wanted]
        if found and wanted:
            return found
    groups = list(dict.fromkeys(element.group for element in space.elements if element.group))
    labels = dict.fromkeys(element.label for element in space.elements if element.label)
    known = [*space.names, *groups, *labels]
    raise unknown("element", str(name), known, "its elements are", f" of {agent!r}")


def _whole(space: ActionSpace, agent: str, values: Iterable[tuple[str, Any]]) -> bool:
    """Return True if the values cover all elements and do not depend on a previous action."""
    known: set[int] = set()
    for name, value in values:
        places = set(_places(space, agent, name))
        if is_relative(value) and not places <= known:
            return False
        known |= places
    return len(known) == len(space.names)


def _number(what: str, given: Any, before: float | None, largest: float) -> Any:
    """Return the number, checked to be from 0 to the largest; traced numbers are not checked."""
    number = given if isinstance(given, Tracer) else changed_number(what, given, before)
    if isinstance(number, Tracer):  # also for a relative change of a traced number
        return number
    if not 0.0 <= number <= largest:
        of = f", which makes {number:g} of {before:g}" if is_relative(given) else ""
        raise FairgymError(f"{what} must be a number from 0 to {largest:g}, got {given!r}{of}")
    return number


def _constant(space: ActionSpace, agent: str, policy: Any) -> np.ndarray:
    """Return the numbers of a constant policy, one per element."""
    policy = read_policy(policy) if isinstance(policy, str) else policy
    if isinstance(policy, Mapping):
        return np.asarray(named_action(space, agent, list(policy.items())))
    size = len(space.names)
    try:
        if isinstance(policy, str) or any(isinstance(x, Tracer) for x in jax.tree.leaves(policy)):
            raise TypeError
        return np.broadcast_to(np.asarray(policy, np.float64), (size,))
    except (TypeError, ValueError, OverflowError) as error:
        raise FairgymError(
            f"the policy of {agent!r} is {policy!r}, which has no elements to change; first give it"
            f" one number or {size} numbers, or name all of its elements:"
            f" {', '.join(space.names)}"
        ) from error
