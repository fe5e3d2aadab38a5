"""Memories by name in any environment, for `fairgym.make(memory=...)` and `--memory`.

    full:COMPONENT                        sums of a component (section 6.1 of Alamdari et al. 2024)
    min:COMPONENT                         these minus the smallest
    recent:STEPS[:COMPONENT]              sums of the last steps
    past-discounted:SHARE[:COMPONENT]     sums with a past that fades (Kumar and Yeoh 2026)
    rate:NUMERATOR/DENOMINATOR            shares of one's requests that were granted
    automaton:NAME[:NUMBER] or :FILE      states of an automaton (section 5.1)

Without a component, it is the environment's benefit. A file of an automaton is JSON with the
fields `transitions` (the next state by letter, for each state; the first state is the start),
`values` (the status vector of each state), and `component`. A letter is the number of the
stakeholder who received some of the component, or the number of stakeholders if nobody did.
"""

import itertools
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairgym.core import Environment, FairgymError
from fairgym.fairness.automata import LARGEST, Automaton, Product, Receiver, of_states
from fairgym.fairness.memories import Full, Min, Recent, stakeholder_component
from fairgym.fairness.rates import RateSoFar
from fairgym.utils.changes import unknown
from fairgym.utils.registry import memories

AUTOMATON = "automaton"
ROUNDS, DIFFERENCES = "rounds", "differences"
FIELDS = ("transitions", "values", "component")


@memories.register("full")
def full(env: Environment, words: str) -> Full:
    """Return the memory `full:COMPONENT`."""
    component = _component(env, words)
    return Full(component, most=_most(env))


@memories.register("min")
def least(env: Environment, words: str) -> Min:
    """Return the memory `min:COMPONENT`."""
    component = _component(env, words)
    return Min(component, most=_most(env))


@memories.register("recent")
def recent(env: Environment, words: str) -> Recent:
    """Return the memory `recent:STEPS[:COMPONENT]`."""
    steps, _, component = words.partition(":")
    if not (steps.isascii() and steps.isdigit()) or not 0 < int(steps) <= 100_000:
        raise FairgymError(
            f"memory must be recent:STEPS with a whole number from 1 to 100,000, got"
            f" {f'recent:{words}'!r}"
        )
    return Recent(_component(env, component), int(steps), most=_most(env))


@memories.register("past-discounted")
def past_discounted(env: Environment, words: str) -> Full:
    """Return the memory `past-discounted:SHARE[:COMPONENT]`: U <- SHARE U + u in each step."""
    share, _, component = words.partition(":")
    try:
        number = float(share)
    except ValueError:
        number = -1.0
    if not 0.0 <= number < 1.0:
        raise FairgymError(
            "memory must be past-discounted:SHARE with a number from 0 to below 1, got"
            f" {f'past-discounted:{words}'!r}"
        )
    return Full(_component(env, component), discount=number, most=_most(env))


@memories.register("rate")
def rate(env: Environment, words: str) -> RateSoFar:
    """Return the memory `rate:NUMERATOR/DENOMINATOR`."""
    try:
        return RateSoFar.named(env, words)
    except FairgymError as error:
        raise FairgymError(f"memory {f'rate:{words}'!r}: {error}") from error


@memories.register(AUTOMATON)
def automaton(env: Environment, words: str) -> Product:
    """Return the memory `automaton:NAME[:NUMBER]`, or that of a file or of its content."""
    given = f"{AUTOMATON}:{words}"
    if words.startswith("{"):
        return _of_content(env, _read(words, given), given)
    if words.endswith(".json"):
        return _of_content(env, _read(_text_of(words), given), given)
    name, _, number = words.partition(":")
    component = _component(env, "")
    count = _stakeholders(env, component)
    if name == ROUNDS and not number:
        return rounds(count, Receiver(component))
    if name == DIFFERENCES and number.isascii() and number.isdigit() and 0 < int(number) <= LARGEST:
        return differences(count, int(number), Receiver(component))
    known = (ROUNDS, f"{DIFFERENCES}:NUMBER", "a file that ends with .json")
    raise unknown(f"memory {AUTOMATON}", words, known, "it must be one of")


def rounds(stakeholders: int, letter: Receiver) -> Product:
    """Return the automaton of taking turns: who has been served in this round.

    A round ends when everybody has been served; the status of a stakeholder is 1 or 0. It has
    2^n - 1 states.
    """

    def step(served: tuple[int, ...], who: int) -> tuple[int, ...]:
        after = tuple(int(one or place == who) for place, one in enumerate(served))
        return (0,) * stakeholders if all(after) else after

    found = of_states((0,) * stakeholders, step, lambda served: served, stakeholders + 1)
    return Product.of(found, letter)


def differences(stakeholders: int, most: int, letter: Receiver) -> Product:
    """Return the automaton of `Min`, with differences up to a number.

    The status of a stakeholder is how much more they received than the one with the least, or
    `most` if that is less. It has (most + 1)^n - most^n states.
    """

    def step(ahead: tuple[int, ...], who: int) -> tuple[int, ...]:
        added = [one + (place == who) for place, one in enumerate(ahead)]
        return tuple(min(one - min(added), most) for one in added)

    found = of_states((0,) * stakeholders, step, lambda ahead: ahead, stakeholders + 1)
    return Product.of(found, letter)


def stored(memory: str) -> str:
    """Return the name of a memory with the content of its file, which runs keep.

    Raises:
        FairgymError: The file cannot be read, or its content or the given one is no automaton.
    """
    path = memory.removeprefix(f"{AUTOMATON}:")
    if path == memory:
        return memory
    if path.startswith("{"):
        _read(path, memory)
        return memory
    if not path.endswith(".json"):
        return memory
    content = {"name": Path(path).stem, **_read(_text_of(path), memory)}
    return f"{AUTOMATON}:{json.dumps(content, separators=(',', ':'))}"


def short(memory: str) -> str:
    """Return the name of a stored memory for labels and folders."""
    if not memory.startswith(f"{AUTOMATON}:{{"):
        return memory
    name = json.loads(memory.removeprefix(f"{AUTOMATON}:")).get("name", "own")
    return f"{AUTOMATON}:{re.sub(r'[^0-9A-Za-z_.-]', '-', str(name))[:40]}"


# ---------------------------------------------------------------- parts


def _component(env: Environment, name: str) -> str:
    """Return the name of a component with one entry per stakeholder, by default the benefit."""
    component = name or env.spec.benefit
    if not component:
        raise FairgymError(f"memory must name a component, since {env.name} declares no benefit")
    _stakeholders(env, component)
    return component


def _stakeholders(env: Environment, component: object) -> int:
    """Return the number of stakeholders of a component."""
    try:
        info = stakeholder_component(env, component if isinstance(component, str) else "")
    except FairgymError as error:
        raise FairgymError(f"memory: {error}") from error
    return len(env.spec.parts_of(info.axes[0]))


def _most(env: Environment) -> float:
    """Return the largest amount per step for the declared range: one choice, or everybody."""
    choices = all(env.action_space(agent).discrete for agent in env.agents)
    return 1.0 if choices else float(getattr(env.unwrapped, "population", 1))


def _text_of(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise FairgymError(f"memory: the automaton {path!r} cannot be read: {reason}") from error


def _read(text: str, given: str) -> dict[str, Any]:
    """Return the fields of an automaton's content."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FairgymError(f"memory {_few(given)} must be JSON: {error}") from error
    if not isinstance(content, Mapping) or not {*FIELDS} <= {*content} <= {*FIELDS, "name"}:
        raise FairgymError(f"memory {_few(given)} must have the fields {', '.join(FIELDS)}")
    return dict(content)


def _of_content(env: Environment, content: Mapping[str, Any], given: str) -> Product:
    """Return the product of the automata of an automaton with a value for each state."""
    component = content["component"]
    count = _stakeholders(env, component)
    rows, values = content["transitions"], content["values"]
    tables = ((rows, count + 1, int), (values, count, int | float))
    for name, (table, length, kind) in zip(FIELDS, tables, strict=False):
        fits = isinstance(table, list) and 0 < len(table) <= LARGEST
        if not fits or not all(_is_row(row, length, kind) for row in table):
            raise FairgymError(
                f"{name} of memory {_few(given)} must be 1 to {LARGEST:,} rows of {length} numbers"
                f" ({'the next state by letter' if kind is int else 'one for each stakeholder'})"
            )
    size = len(rows)
    if len(values) != size or not all(0 <= one < size for one in itertools.chain(*rows)):
        raise FairgymError(
            f"memory {_few(given)} must have one row of values per state and states from 0 to"
            f" {size - 1}, got {len(values)} rows of values for {size} states"
        )
    accepting: dict[tuple[float, ...], list[int]] = {}
    for state, value in enumerate(values):
        accepting.setdefault(tuple(map(float, value)), []).append(state)
    table = tuple(map(tuple, rows))
    found = {value: Automaton(table, 0, tuple(some)) for value, some in accepting.items()}
    return Product.of(found, Receiver(component))


def _is_row(row: object, length: int, kind: Any) -> bool:
    if not isinstance(row, list) or len(row) != length:
        return False
    plain = all(isinstance(n, kind) and not isinstance(n, bool) for n in row)
    return plain and all(math.isfinite(n) for n in row)


def _few(given: str) -> str:
    return repr(given if len(given) < 60 else f"{given[:57]}...")
