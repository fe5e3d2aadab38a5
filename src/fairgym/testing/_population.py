"""Properties of environments with people, one function each."""

import dataclasses
from collections.abc import Mapping
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from fairgym.core import Entities, Environment
from fairgym.testing._compare import (
    ABSOLUTE,
    RELATIVE,
    Case,
    ConformanceError,
    as_numpy,
    require,
    require_close,
    require_names,
)
from fairgym.wrappers import AugmentedState


def stages_and_features(case: Case) -> None:
    """Check that stages, core attribute, partitions and waits match the people."""
    env: Any = case.env
    require_names("stages", env.spec.stages)
    people, _ = case.count(case.start[1])
    require(
        env.spec.core_attribute in people,
        f"core_attribute {env.spec.core_attribute!r} is not among the features of `people`",
    )
    for feature in env.spec.partitions:
        require(feature in people, f"partitions has {feature!r}, which `people` does not have")
    for stage, feature in env.spec.waits.items():
        require(
            stage in env.spec.stages and feature in people,
            f"waits must map one of the stages {list(env.spec.stages)} to a feature of `people`,"
            f" got {stage!r}: {feature!r}",
        )


def census(case: Case) -> None:
    """Check that everybody is counted once at every step and has every feature."""
    env: Any = case.env
    names = None
    for number, state in enumerate(case.states):
        people, by_stage = case.count(state)
        counted = int(sum(as_numpy(count).sum() for count in by_stage.values()))
        require(
            counted == env.population and sorted(by_stage) == sorted(env.spec.stages),
            f"the census after {number} steps counts {counted} people in the stages"
            f" {list(by_stage)}; there are {env.population} in {list(env.spec.stages)}",
        )
        names = names or set(people)
        same = set(people) == names
        require(same, f"people after {number} steps has other features than at first")
        for name, column in people.items():
            column = as_numpy(column)
            right = column.shape == (env.population,) and np.all(np.isfinite(column))
            require(
                right,
                f"people[{name!r}] after {number} steps is not one finite number for each of the"
                f" {env.population} people (shape {column.shape})",
            )


def numbering(case: Case) -> None:
    """Check that renumbering the people changes only their places in the results.

    State and noise are renumbered alike (`renumbered`), and both copies run in lockstep under
    policies that ignore the order. Their actions are rounded, so that ties occur. If an agent
    chooses one of the people, the same person is chosen in both copies, since a policy would take
    the first of two who look alike. Environments whose people are not `exchangeable` are skipped.
    """
    env: Any = case.env
    if not env.spec.exchangeable:
        return
    params = case.params
    spaces = {agent: env.action_space(agent) for agent in env.agents}

    def act(observations: PyTree) -> dict[str, PyTree]:
        rough = {
            agent: x if spaces[agent].discrete else jnp.asarray(np.round(np.asarray(x) * 4) / 4)
            for agent, x in case.act(observations).items()
        }
        return {agent: spaces[agent].clip(x) for agent, x in rough.items()}

    def act_there(observations: PyTree, actions: dict[str, PyTree]) -> dict[str, PyTree]:
        places = np.argsort(order)
        same = {agent: a for agent, a in actions.items() if spaces[agent].chooses_row}
        moved = {
            agent: jnp.int32(places[int(x)]) if int(x) < places.size else x
            for agent, x in same.items()
        }
        return act(observations) | moved

    transition = case.compiled("transition", env.transition)
    order = np.asarray(jax.random.permutation(case.key, env.population))
    here = case.start[1]
    there = renumbered(here, order)
    for number in range(case.steps + 1):
        given, given_there = case.observe(here), case.observe(there)
        (people, census), (people_there, census_there) = case.count(here), case.count(there)
        people = {name: np.asarray(column)[order] for name, column in people.items()}
        what = f"after {number} steps, with people renumbered"
        require_close(people, people_there, f"people {what}")
        require_close(census, census_there, f"census {what}")
        for agent, space in spaces.items():
            where = f"observation of {agent!r} {what}"
            if space.chooses_row:
                mine = given[agent]
                moved = {"features": mine.features, "mask": mine.mask}
                moved = {name: jnp.asarray(np.asarray(x)[order]) for name, x in moved.items()}
                require_close(mine.replace(**moved), given_there[agent], where)
            else:
                require_same_people(given[agent], given_there[agent], where)
        noise = env.noise(jax.random.fold_in(case.key, number), params)
        actions = act(given)
        actions_there = act_there(given_there, actions)
        here, total, ended = transition(noise, here, actions, params)
        there, *same = transition(renumbered(noise, order), there, actions_there, params)
        what = f"of step {number}, with people renumbered"
        require_close(_reordered(env, total, order), same[0], f"components {what}")
        require_close(ended, same[1], f"termination {what}")


def _reordered(env: Environment, components: PyTree, order: np.ndarray) -> PyTree:
    """Return components with their entries per person in another order."""
    per_person = {
        name: taken(getattr(components, name), order, info.axes.index("person"))
        for name, info in env.spec.component_info.items()
        if "person" in info.axes
    }
    return dataclasses.replace(components, **per_person)


# ---------------------------------------------------------------- renumbering people

PEOPLE = "people"  # name of the axis that has one entry per person


def renumbered(tree: PyTree, order: Any) -> PyTree:
    """Return a state or noise in which the people are numbered differently.

    Arrays are reordered along the axis that their struct declares as "people", as in
    `Float[Array, " people"]` or `dict[str, Float[Array, " people"]]`; other axes stay, whatever
    their length. The values of `fairgym.core.person_index` fields become the new numbers of the
    same people. In an augmented environment the environment's state is renumbered; an empty memory
    is the same for all.

    Args:
        tree: Struct, such as the state at the start, or a dict, tuple or list of structs.
        order: `order[i]` is the old number of the person whose new number is i.

    Raises:
        ConformanceError: If an array does not declare its axes.
    """
    order = np.asarray(order)
    if isinstance(tree, AugmentedState):
        return tree.replace(env_state=renumbered(tree.env_state, order))
    return _walk(tree, None, order, type(tree).__name__)


def _walk(value: Any, declared: PyTree, order: np.ndarray, where: str) -> Any:
    """Return the value in the new order; `declared` is its annotation, or None."""
    if dataclasses.is_dataclass(value):
        return _struct(value, order)
    options = get_args(declared) if get_origin(declared) in (Union, UnionType) else (declared,)
    inner = next((get_args(option) for option in options if get_args(option)), ())
    if isinstance(value, Mapping):
        kind = inner[1] if len(inner) == 2 else None
        return {k: _walk(v, kind, order, f"{where}[{k!r}]") for k, v in value.items()}
    if isinstance(value, tuple | list):
        one_kind = len(inner) == 1 or ... in inner
        kinds = inner if len(inner) == len(value) and not one_kind else inner[:1] * len(value)
        kinds = kinds or (None,) * len(value)
        entries = [
            _walk(entry, kind, order, f"{where}[{place}]")
            for place, (entry, kind) in enumerate(zip(value, kinds, strict=True))
        ]
        return tuple(entries) if isinstance(value, tuple) else entries
    if value is None or jnp.ndim(value) == 0:
        return value
    for option in options:
        if hasattr(option, "dim_str"):
            axis = _people_axis(option.dim_str)
            return value if axis is None else taken(value, order, axis)
    raise ConformanceError(
        f"{where} is an array without declared axes; declare it as a field of a Struct, such as"
        ' Float[Array, " people"] for one number per person'
    )


def _struct(struct: Any, order: np.ndarray) -> Any:
    hints = get_type_hints(type(struct))
    inverse, people = np.argsort(order), order.size

    def new_numbers(leaf: jax.Array) -> jax.Array:
        old = np.asarray(leaf)
        known = (old >= 0) & (old < people)
        return jnp.asarray(np.where(known, inverse[np.where(known, old, 0)], old).astype(old.dtype))

    changes = {}
    for field in dataclasses.fields(struct):
        if field.metadata.get("static"):
            continue
        value = getattr(struct, field.name)
        if field.metadata.get("person_index"):
            value = jax.tree.map(new_numbers, value)
        where = f"{type(struct).__name__}.{field.name}"
        changes[field.name] = _walk(value, hints[field.name], order, where)
    return dataclasses.replace(struct, **changes)


def taken(value: jax.Array, order: Any, axis: int) -> jax.Array:
    """Return the entries in this order; NumPy avoids compilation."""
    if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return jnp.take(value, jnp.asarray(order), axis=axis)
    return jnp.asarray(np.take(np.asarray(value), order, axis=axis))


def _people_axis(dimensions: str) -> int | None:
    """Return the index of the people's axis in an annotation, from the end after "..."."""
    names = dimensions.split()
    if PEOPLE not in names:
        return None
    place = names.index(PEOPLE)
    variadic = any(name == "..." or name.startswith("*") for name in names[:place])
    return place - len(names) if variadic else place


def require_same_people(expected: Entities, found: Entities, what: str) -> None:
    """Raise a ConformanceError unless two observations show the same people, in any order."""
    require_close(expected.context, found.context, f"{what}, context")
    a = as_numpy(expected.features)[as_numpy(expected.mask)]
    b = as_numpy(found.features)[as_numpy(found.mask)]
    require(len(a) == len(b), f"{what}: shows {len(a)} people here and {len(b)} there")
    if not len(a):
        return
    allowed = ABSOLUTE + RELATIVE * np.max(np.abs(a), axis=0)
    free = np.ones(len(b), bool)
    for row in a:
        gaps = np.where(free, np.max(np.abs(b - row) / allowed, axis=1, initial=0.0), np.inf)
        nearest = int(np.argmin(gaps))
        require(
            gaps[nearest] <= 1.0,
            f"{what}: the person {row.tolist()} is not there; the nearest is {b[nearest].tolist()}",
        )
        free[nearest] = False
