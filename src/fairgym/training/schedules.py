"""Changes that hold in some steps only: parameters and decisions as functions of the step."""

import dataclasses
import functools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int, PRNGKeyArray, PyTree

from fairgym.config.parameters import with_params
from fairgym.core import Environment, FairgymError, Params, check_shape
from fairgym.core.environment import Actions, Observations, time_of
from fairgym.wrappers import Wrapper

Pair = tuple[str, object]
_NUMBER = r"(?:(?P<{unit}>[a-z]+)\s+)?(?P<{name}>\d+)"
_TIMES = re.compile(
    r"(?P<value>\S.*?)(?:"
    + rf"\s+between\s+{_NUMBER.format(unit='unit_a', name='first')}"
    + rf"\s+and\s+{_NUMBER.format(unit='unit_b', name='last')}|"
    + rf"(?:\s+from\s+{_NUMBER.format(unit='unit_c', name='start')})?"
    + rf"(?:\s+until\s+{_NUMBER.format(unit='unit_d', name='end')})?)"
    + r"(?:\s+over\s+(?P<over>\d+)(?:\s+(?P<unit_e>[a-z]+))?)?",
    re.IGNORECASE,
)
_TIMED = re.compile(r"\s(from|until|between|over)\s", re.IGNORECASE)
TAKES = "VALUE [from STEP] [until STEP] [over STEPS], with a semicolon between several"


@dataclasses.dataclass(frozen=True)
class During:
    """A change that holds in some steps of an episode.

    Attributes:
        value: As in `Scenario.fixed` or `Scenario.params`.
        start: First step with the change, counted from 0: the number of steps without it.
        end: First step without it again; None for the end of the episode.
        over: Number of steps in which a number moves to the new value, in equal parts.

    Raises:
        FairgymError: If `start` is negative, `end` is not after `start`, or `over` is below 1.
    """

    value: object
    start: int = 0
    end: int | None = None
    over: int = 1

    def __post_init__(self) -> None:
        """Check the steps."""
        check_shape("from", self.start, 0, 10**9)
        check_shape("over", self.over, 1, 10**9)
        if self.end is not None and check_shape("until", self.end, 0, 10**9) <= self.start:
            raise FairgymError(f"until must be after step {self.start}, got {self.end}")

    def weights(self, steps: int) -> np.ndarray:
        """Return how much of the change holds in each step, from 0 to 1."""
        step = np.arange(steps)
        weight = np.clip((step - self.start + 1) / self.over, 0.0, 1.0)
        return np.where(step < (steps if self.end is None else self.end), weight, 0.0)

    def told(self, unit: str) -> str:
        """Return value and steps in words, with the unit of a step in the plural."""
        one = unit.removesuffix("s")
        text = f"{self.value}" + (f" from {one} {self.start}" if self.start else "")
        text += "" if self.end is None else f" until {one} {self.end}"
        return text + (f" over {self.over} {unit}" if self.over > 1 else "")


def timed(pairs: Iterable[Pair], env: Environment) -> tuple[Pair, ...]:
    """Return changes in order, with `During` for those that texts limit to some steps.

    Args:
        pairs: Names with values, such as ("relief", "0.1 until 60; 0.2 from 60").
        env: The environment, for its unit of time and its horizon.

    Raises:
        FairgymError: If the times cannot be read, or begin after the end of the episode.
    """
    found: list[Pair] = []
    for name, value in pairs:
        several = isinstance(value, list | tuple) and value and all(map(_is_timed, value))
        for one in value if isinstance(value, list | tuple) and several else [value]:
            found += [(name, part) for part in _read(name, one, env.spec.time_unit)]
    for name, value in found:
        if isinstance(value, During) and value.start >= env.horizon:
            raise FairgymError(
                f"{name} must change within the {env.horizon:,} {env.spec.time_unit} of an episode,"
                f" got {value.told(env.spec.time_unit)!r}"
            )
    return tuple(found)


def _is_timed(value: object) -> bool:
    return isinstance(value, During) or (isinstance(value, str) and bool(_TIMED.search(value)))


def _read(name: str, value: object, unit: str) -> list[object]:
    """Return the changes in a value: itself, or one for each part of a text with times."""
    if not isinstance(value, str) or not _is_timed(value):
        return [value]
    made: list[object] = []
    for text in value.split(";"):
        match = _TIMES.fullmatch(text.strip())
        if match is None or _is_timed(f" {match['value']} "):
            raise FairgymError(f"{name} must be {TAKES}, got {value!r}")
        given = {key: found for key, found in match.groupdict().items() if found is not None}
        known = ("step", "steps", unit, unit.removesuffix("s"))
        for key, word in given.items():
            if key.startswith("unit") and word.lower() not in known:
                raise FairgymError(f"{name} must count in {unit}, got {word!r} in {value!r}")
        start, end = given.get("start", given.get("first", 0)), given.get("end", given.get("last"))
        end = None if end is None else int(end)
        made.append(During(match["value"], int(start), end, int(given.get("over", 1))))
    return made


# ---------------------------------------------------------------- parameters


class ScheduledParams(Params):
    """Parameters that differ between steps.

    Attributes:
        start: The parameters in the first step.
        tables: Name of a parameter that changes -> its value in every step.
    """

    start: Any
    tables: dict[str, Array]

    def at(self, step: Int[Array, ""] | int) -> Any:
        """Return the parameters in a step; after the last one those of the last one."""
        rows = [
            lax.dynamic_index_in_dim(table, step, keepdims=False) for table in self.tables.values()
        ]
        return with_arrays(self.start, list(self.tables), rows)


def with_arrays(params: Any, names: Sequence[str], arrays: Sequence[Array]) -> Any:
    """Return parameters with arrays, also traced ones, in place of numbers; nothing is checked."""
    return eqx.tree_at(lambda one: [getattr(one, name) for name in names], params, arrays)


@dataclasses.dataclass(frozen=True)
class Scheduled(Wrapper):
    """An environment whose parameters are `ScheduledParams`; its dynamics are the same."""

    def initial_state(self, key: PRNGKeyArray, params: Any) -> PyTree:
        """Sample the start with the parameters of the first step."""
        return self.env.initial_state(key, params.start)

    def observe(self, state: PyTree, params: Any) -> Observations:
        """Return the observations with the parameters of this step."""
        return self.env.observe(state, params.at(time_of(state)))

    def noise(self, key: PRNGKeyArray, params: Any) -> PyTree:
        """Return the key: the numbers may depend on the parameters of the step."""
        return key

    def transition(self, noise: PyTree, state: PyTree, actions: Actions, params: Any) -> Any:
        """Make one step with the parameters of this step."""
        now = params.at(time_of(state))
        return self.env.transition(self.env.noise(noise, now), state, actions, now)


def params_over_time(
    env: Environment, params: Params, pairs: Sequence[Pair]
) -> tuple[Params, dict[str, np.ndarray]]:
    """Return parameters in the first step, and tables of those that change later.

    Args:
        env: The environment.
        params: The parameters without changes.
        pairs: Changes in order, as `timed` returns them.

    Returns:
        `(params, tables)`: name of a parameter -> its value in every step, shape (horizon, ...).

    Raises:
        FairgymError: If a name is unknown, a value is out of range, or a parameter that changes
            is used only at the start of an episode.
    """
    if not any(isinstance(value, During) for _, value in pairs):
        return with_params(env, params, pairs), {}

    def made(several: Sequence[Pair]) -> dict[str, np.ndarray]:
        found = with_params(env, params, several)
        return {name: np.asarray(getattr(found, name), np.float64) for name in found.info()}

    weights, which = weights_of(pairs, env.horizon)
    rows = [blended(made, pairs, row) for row in weights]
    start, tables = {}, {}
    for name in params.info():
        values = np.stack(np.broadcast_arrays(*(row[name] for row in rows)))
        if (values == values[0]).all():
            start[name] = values[0] if values[0].ndim else float(values[0])
        else:
            tables[name] = values[which].astype(np.float32)
            start[name] = tables[name][0]
    changed = {
        name: jnp.asarray(value, jnp.float32) if np.ndim(value) else float(value)
        for name, value in start.items()
        if not np.array_equal(value, np.asarray(getattr(params, name), np.float64))
    }
    unused = [name for name in tables if name not in _used_in_steps(env)]
    if unused:
        raise FairgymError(
            f"{unused[0]} must hold in all steps: it is used only at the start of an episode, so a"
            " change in some steps has no effect"
        )
    return params.replace(**changed), tables


def weights_of(pairs: Sequence[Pair], steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return how much of each change holds: the different sets of weights, and that of each step.

    Returns:
        `(weights, which)`: shapes (sets, changes) and (steps,).
    """
    whole = np.ones(steps)
    each = [v.weights(steps) if isinstance(v, During) else whole for _, v in pairs]
    weights, which = np.unique(np.stack(each, axis=1), axis=0, return_inverse=True)
    return weights, which.reshape(-1)


def blended(
    made: Callable[[Sequence[Pair]], dict[str, np.ndarray]],
    pairs: Sequence[Pair],
    weights: np.ndarray,
) -> dict[str, np.ndarray]:
    """Return numbers after changes that hold in full or in part.

    Changes that hold in full are made together and in order. The others come after them: each
    adds its part of what it would change.

    Args:
        made: Function from changes to numbers by name.
        pairs: The changes, with `During` or without.
        weights: How much of each change holds, from 0 to 1.
    """
    plain = [(name, v.value if isinstance(v, During) else v) for name, v in pairs]
    held = [pair for pair, weight in zip(plain, weights, strict=True) if weight == 1.0]
    numbers = before = made(held)
    for pair, weight in zip(plain, weights, strict=True):
        if 0.0 < weight < 1.0:
            held = [*held, pair]
            after = made(held)
            numbers = {
                n: np.asarray(old + weight * (after[n] - before[n])) for n, old in numbers.items()
            }
            before = after
    return numbers


@functools.lru_cache(maxsize=8)
def _used_in_steps(env: Environment) -> frozenset[str]:
    """Return the parameters that observations, noise or transitions use."""
    key = jax.random.key(0)
    plain = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), env.default_params)
    shapes = eqx.filter_eval_shape(env.initial_state, key, plain)
    state, rest = eqx.partition(shapes, lambda x: isinstance(x, jax.ShapeDtypeStruct))

    def step(params: Params, arrays: PyTree) -> PyTree:
        now = eqx.combine(arrays, rest)
        actions = {agent: env.action_space(agent).sample(key) for agent in env.agents}
        return env.observe(now, params), env.advance(key, now, actions, params)

    traced = jax.make_jaxpr(step)(plain, state).jaxpr
    read = {id(x) for equation in traced.eqns for x in equation.invars}
    read |= {id(x) for x in traced.outvars}
    paths = jax.tree_util.tree_flatten_with_path(plain)[0]
    return frozenset(
        path[0].name
        for (path, _), variable in zip(paths, traced.invars, strict=False)
        if id(variable) in read
    )
