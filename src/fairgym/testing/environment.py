"""Conformance check of environments: a table of properties.

Each property is one small function in `_declared.py` and `_properties.py` (for all environments)
or `_population.py` (for environments with people).

"Equal" means the following. The same program on the same numbers must give the same bits. Two
compilations of one formula (with and without jit, one and many at once, people in another order)
round differently. There floats may differ by a ten-thousandth of the largest number of their array
plus 1e-4; integers and truth values must be equal. If a rounded number meets a threshold, such a
difference can change a decision, about once in a million people. Properties that compare across
compilations are therefore retried with another key, and fail if they fail for two of three keys.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
from jaxtyping import PRNGKeyArray, PyTree

from fairgym.core import Environment, Params, PopulationEnvironment
from fairgym.testing import _declared, _population, _properties
from fairgym.testing._compare import Case, ConformanceError


@dataclasses.dataclass(frozen=True)
class Property:
    """Row of the table.

    Attributes:
        name: Short name of the property.
        check: Function that raises a ConformanceError if the property does not hold.
        rounds: Whether rounding can change a decision, so that a failure is retried.
        of: Class of environments that have the property.
    """

    name: str
    check: Callable[[Case], None]
    rounds: bool = False
    of: type = Environment


PROPERTIES = (
    Property("types and shapes are as declared", _declared.contract),
    Property("structure and dtypes are constant", _declared.structure),
    Property("spaces are fixed and hold their samples", _declared.spaces),
    Property("observations lie inside their spaces", _declared.observations),
    Property("components are as declared", _declared.components),
    Property("declarations fit together", _declared.declarations),
    Property("stages and features fit", _population.stages_and_features, of=PopulationEnvironment),
    Property("everybody is counted once", _population.census, of=PopulationEnvironment),
    Property("same key, same bits", _properties.same_key),
    Property("different key, different episode", _properties.different_key),
    Property("actions are clipped", _properties.actions_are_clipped),
    Property("masked rows change nothing", _properties.masked_rows),
    Property("jit = eager", _properties.compiled_is_eager, rounds=True),
    Property("vmap = loop", _properties.vmapped_is_looped, rounds=True),
    Property(
        "people can be renumbered", _population.numbering, rounds=True, of=PopulationEnvironment
    ),
    Property("agents that do not act change nothing", _properties.idle_agents),
    Property("counting stops at termination", _properties.counting_stops),
    Property("the horizon truncates", _properties.horizon),
    Property("metrics are finite", _properties.metrics),
    Property("memories are folds", _declared.memories),
)


def check_environment(
    env: Environment,
    *,
    params: Params | None = None,
    key: PRNGKeyArray | None = None,
    steps: int = 5,
    later: PyTree = None,
) -> None:
    """Check that an environment keeps the contract, property by property (`PROPERTIES`).

    Every property is checked over a short episode of random actions. Properties of people are
    checked only for a `PopulationEnvironment`. Its state and noise are structs that declare their
    axes. An array with one entry per person has the axis name "people", as in
    `Float[Array, " people"]` or `dict[str, Float[Array, " people"]]`; references to people are a
    `person_index`.

    Args:
        env: Small environment.
        params: Parameters of the environment; `env.default_params` if None.
        key: JAX key; a constant key if None.
        steps: Length of the episode.
        later: State in the middle of an episode, where queues and loans are not empty as at the
            start; the properties are then also checked from there. Not the state of an augmented
            environment.

    Raises:
        ConformanceError: If a property does not hold; an AssertionError that names the first such
            property, the agent or field, and the numbers.
    """
    params = env.default_params if params is None else params
    keys = jax.random.split(jax.random.key(0) if key is None else key, 3)
    programs: dict[str, Any] = {}
    for state in (None,) if later is None else (None, later):
        cases = [Case(env, params, k, steps, programs, state) for k in keys]
        _check(env, cases)


def _check(env: Environment, cases: list[Case]) -> None:
    """Check all properties along one episode; those that rounding can break, along two of three."""
    for law in PROPERTIES:
        if not isinstance(env.unwrapped, law.of):
            continue
        failures: list[Exception] = []
        for case in cases if law.rounds else cases[:1]:
            try:
                law.check(case)
            except Exception as error:
                failures.append(error)
            if len(failures) == (2 if law.rounds else 1):
                raise _explained(env, law, failures[0]) from failures[0]
            if not failures:
                break


def _explained(env: Environment, law: Property, error: Exception) -> ConformanceError:
    """Return the error as one sentence for the caller."""
    message = str(error)
    if not isinstance(error, ConformanceError):
        first = message.strip().splitlines()[0] if message.strip() else ""
        message = f"{type(error).__name__}: {first}"
    return ConformanceError(f"{env.name} breaks {law.name!r}: {message}")
