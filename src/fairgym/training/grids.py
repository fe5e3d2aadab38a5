"""A reform of several sizes, at several values of an uncertain parameter."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fairgym.training.building import Built, Scenario, Source, alike
from fairgym.training.evaluation import Evaluation, evaluate_each
from fairgym.training.reforms import Factor, World
from fairgym.training.sensitivity import points_of, stacked

SIZES = 5


@dataclasses.dataclass(frozen=True)
class Grid:
    """Differences from the reference for parts of a scenario, at values of a parameter.

    Attributes:
        name: Name of the scenario.
        factor: The uncertain parameter.
        sizes: Shares of the scenario's changes, from 0 (the reference) to 1.
        values: Values of the parameter.
        evaluations: One per size: `episodes` episodes at each value, value by value.
        reference: Evaluation of the reference in the same episodes.
        episodes: Number of episodes in a cell.
    """

    name: str
    factor: Factor
    sizes: tuple[float, ...]
    values: tuple[float, ...]
    evaluations: tuple[Evaluation, ...]
    reference: Evaluation
    episodes: int


def grid(
    source: Source,
    scenario: Scenario,
    reference: Scenario,
    factor: Factor,
    *,
    cells: int = SIZES,
    episodes: int = 8,
    seed: int = 0,
    world: World | None = None,
) -> Grid:
    """Run parts of a scenario at several values of an uncertain parameter.

    Half of a scenario is half way between the reference and the scenario, in every number that
    differs. A scenario with other rules or options has no parts: its sizes are 0 and 1.

    Args:
        source: Name of an environment, or a run.
        scenario: The scenario.
        reference: The scenario to compare it with.
        factor: The uncertain parameter.
        cells: Number of sizes and of values, at least 2.
        episodes: Number of episodes in a cell; they are the same in all cells.
        seed: Seed of the episodes.
        world: Parameters of both scenarios, before the factor and their own changes.

    Raises:
        FairgymError: If a scenario or the factor is invalid.
    """
    built = alike([one.build(source, world) for one in (reference, scenario)])
    levels = _levels(factor, built[0], world, cells)
    pairs = [((factor.name, factor.value(level)),) for level in levels]
    points = [points_of(one, world, pairs) for one in built]
    index = np.repeat(np.arange(cells), episodes)
    params = stacked(points, index)
    keys = jax.random.split(jax.random.key(seed), episodes)[np.tile(np.arange(episodes), cells)]
    whole = _parts_possible(built)
    sizes = tuple(float(size) for size in (np.linspace(0.0, 1.0, cells) if whole else (0.0, 1.0)))
    env = built[0].running[0] if built[0].tables else built[0].env

    def side(size: float) -> Evaluation:
        policies = built[int(size)].policies if size in (0.0, 1.0) else _between(built, size)
        now = params[int(size)] if size in (0.0, 1.0) else _mixed(params[0], params[1], size)
        return evaluate_each(env, now, policies, keys)

    evaluations = tuple(side(size) for size in sizes)
    shown = tuple(
        float(np.mean(np.asarray(getattr(one, factor.name), np.float64))) for one, _ in points[0]
    )
    return Grid(scenario.name, factor, sizes, shown, evaluations, evaluations[0], episodes)


def _levels(factor: Factor, one: Built, world: World | None, cells: int) -> np.ndarray:
    """Return places from 0 to 1 in the range of a parameter, its assumed value among them."""
    if isinstance(factor.low, str) and isinstance(factor.high, str):
        assumed, ends = 0.0, [float(end.rstrip("%")) for end in (factor.low, factor.high)]
    else:
        (params, _), *_ = points_of(one, world, [()])
        assumed = float(np.mean(np.asarray(getattr(params, factor.name), np.float64)))
        ends = [float(factor.low), float(factor.high)]
    place = (assumed - ends[0]) / (ends[1] - ends[0])
    if not 0.0 < place < 1.0 or cells < 3:
        return np.linspace(0.0, 1.0, cells)
    middle = min(max(round(place * (cells - 1)), 1), cells - 2)
    return np.interp(np.arange(cells), [0, middle, cells - 1], [0.0, place, 1.0])


def _parts_possible(built: Sequence[Built]) -> bool:
    """Return whether policies differ in numbers only."""
    first, second = (jax.tree.flatten(dict(one.policies)) for one in built)
    if first[1] != second[1]:
        return False
    return all(
        np.array_equal(x, y) or jnp.issubdtype(jnp.asarray(x).dtype, jnp.floating)
        for x, y in zip(first[0], second[0], strict=True)
    )


def _between(built: Sequence[Built], size: float) -> dict[str, Any]:
    first, second = (dict(one.policies) for one in built)
    return _mixed(first, second, size)


def _mixed(first: Any, second: Any, size: float) -> Any:
    """Return numbers between two trees; whole numbers are those of the second."""

    def one(x: Any, y: Any) -> Any:
        x, y = jnp.asarray(x), jnp.asarray(y)
        return x + size * (y - x) if jnp.issubdtype(y.dtype, jnp.floating) else y

    return jax.tree.map(one, first, second)
