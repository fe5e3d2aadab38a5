"""Actions by the names of their elements, and changes of fixed policies by name."""

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
    """A specification of fixed policies with some policies, or elements of them, changed.

    Args:
        env: the environment.
        specification: agent -> policy, as `fixed_policies` takes it, such as one of
            `env.spec.baselines`.
        changes: pairs of a name and a value. AGENT replaces the agent's policy. AGENT.ELEMENT
            changes this number of a constant policy; AGENT.GROUP those of all elements of a
            group, and AGENT.LABEL those of one kind for all groups (relief). A text such as "+30%"
            changes them by so much of what they are. Changes of one agent
            hold together: the shares that none of them names are scaled to fill what remains.
            Without a policy before, all elements must be named; of shares, those that are not
            divide the rest evenly. Small and capital letters are the same; numbers may be texts.

    Returns:
        A new specification, of plain data.

    Raises:
        FairgymError: an unknown agent or element, a value that is no number of the
            space, or a
            change of some elements of a policy that has none, such as "random".

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
    """The agent of this name, whatever its capital letters.

    Raises:
        FairgymError: there is none.
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
    """A fixed policy from a text: a number or several with commas between, or the text itself."""
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
    """A constant action with some of its elements given by name.

    Args:
        space: the agent's action space.
        agent: its name, for messages.
        values: pairs of a name (of an element, a group, or the label that elements of several
            groups share) and a number, which may be a text or a relative change; those of one
            element are taken one after the other.
        base: the action that the other elements come from; None if there is none: then the other
            shares divide what remains evenly, and of other spaces all elements must be named.

    Returns:
        One number per element, those of shares brought to a sum of 1: the shares given hold, and
        the others are scaled; if nothing is left for them, or none is left, all are divided by
        their sum.

    Raises:
        FairgymError: an unknown name, a number that no element can have, or an agent that chooses.
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
            f" {', '.join(missing)}; it takes all of {', '.join(space.names)}, or a policy of"
            " the whole agent first, whose numbers the others keep"
        )
    traced = any(isinstance(value, Tracer) for value in held.values())
    start = np.zeros(len(space.names)) if base is None else base
    numbers = [held.get(place, number) for place, number in enumerate(start)]
    action = jnp.stack([jnp.asarray(n, jnp.float32) for n in numbers]) if traced else None
    return space.holding(np.array(numbers) if action is None else action, tuple(held))


def option_of(space: ActionSpace, text: str) -> Any:
    """The number of the option of this name, or the text itself where there is none."""
    options = [place for place, name in enumerate(space.names) if slug(name) == slug(text)]
    return options[0] if options else text


def _require_numbers(space: ActionSpace, agent: str) -> None:
    """Raise a FairgymError if the agent chooses an option."""
    if space.discrete:
        raise FairgymError(
            f"{agent!r} chooses one option, and has no numbers that could be changed one by one; it"
            f" takes {space.takes}"
        )


def _places(space: ActionSpace, agent: str, name: object) -> list[int]:
    """Places of the element of this name, or of all of this group, or of all of this label."""
    wanted = slug(name)
    for words in ("name", "group", "label"):
        found = [p for p, e in enumerate(space.elements) if slug(getattr(e, words)) == wanted]
        if found and wanted:
            return found
    groups = list(dict.fromkeys(element.group for element in space.elements if element.group))
    known = [*space.names, *groups]
    raise unknown("element", str(name), known, "its elements are", f" of {agent!r}")


def _whole(space: ActionSpace, agent: str, values: Iterable[tuple[str, Any]]) -> bool:
    """True if the values are an action by themselves: all elements, none relative to another."""
    known: set[int] = set()
    for name, value in values:
        places = set(_places(space, agent, name))
        if is_relative(value) and not places <= known:
            return False
        known |= places
    return len(known) == len(space.names)


def _number(what: str, given: Any, before: float | None, largest: float) -> Any:
    """The number meant, from 0 to the largest; a traced one as it is."""
    number = given if isinstance(given, Tracer) else changed_number(what, given, before)
    if isinstance(number, Tracer):  # also of a relative change of a traced number
        return number
    if not 0.0 <= number <= largest:
        of = f", which makes {number:g} of {before:g}" if is_relative(given) else ""
        raise FairgymError(f"{what} is {given!r}{of}; it takes a number from 0 to {largest:g}")
    return number


def _constant(space: ActionSpace, agent: str, policy: Any) -> np.ndarray:
    """The numbers of a constant policy, one per element."""
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
            f"the policy of {agent!r} is {policy!r}, which has no elements to change; give it one"
            f" number or {size} numbers first, or name all of its elements:"
            f" {', '.join(space.names)}"
        ) from error
