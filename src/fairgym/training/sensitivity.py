"""Sensitivity of a difference between scenarios to uncertain parameters."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from fairgym.core import FairgymError, Params, check_shape
from fairgym.statistics.intervals import mean_interval
from fairgym.statistics.sobol import Share, variance_shares
from fairgym.training.building import Built, Scenario, Source, alike, in_steps, pairs_of
from fairgym.training.evaluation import Evaluation, evaluate_each
from fairgym.training.reforms import Factor, World, declared_by
from fairgym.training.schedules import (
    Pair,
    Scheduled,
    ScheduledParams,
    params_over_time,
    with_arrays,
)

BASE, EPISODES, POINTS = 64, 8, 5  # points of a design, episodes and values of a course
CHANCE = "chance"  # the factor that stands for people and random numbers

Values = Callable[[Evaluation], np.ndarray]


class Course(NamedTuple):
    """A difference over the range of one parameter; the others have their defaults.

    Attributes:
        factor: Name of the parameter.
        values: Values of the parameter; the mean over groups or regions, if there are several.
        means: Mean difference at each value.
        lows: Lower limits of the 95% intervals over episodes; NaN with one episode.
        highs: Upper limits.
        flips: Values at which the mean difference changes its sign, interpolated between two
            values; empty if it keeps its sign.
    """

    factor: str
    values: tuple[float, ...]
    means: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    flips: tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class Sensitivity:
    """A scenario and the reference at many values of uncertain parameters.

    Each pair of episodes has equal parameters, people and random numbers on both sides, except for
    the changes of the scenarios themselves.

    Attributes:
        name: Name of the scenario.
        reference: Name of the reference.
        factors: The uncertain parameters.
        values: Value of each parameter in the points of its course, (factors, points).
        ours: Evaluation of the scenario: one episode per point, those of the design first.
        theirs: Evaluation of the reference in the same points.
        base: Number of points N of the design, in each of its blocks.
        episodes: Number of episodes in each point of a course.
    """

    name: str
    reference: str
    factors: tuple[Factor, ...]
    values: np.ndarray
    ours: Evaluation
    theirs: Evaluation
    base: int
    episodes: int

    def difference(self, values: Values) -> np.ndarray:
        """Return a quantity's paired difference in every point, NaN where it is undefined."""
        return np.asarray(values(self.ours), np.float64) - np.asarray(
            values(self.theirs), np.float64
        )

    def shares(self, values: Values) -> list[Share]:
        """Return the share of the variance of a difference that each factor explains.

        It is empty if the difference is undefined in some point, or the same in all.
        """
        names = [*(factor.name for factor in self.factors), CHANCE]
        found = self.difference(values)[: self.base * (len(names) + 2)]
        return variance_shares(names, found.reshape(len(names) + 2, self.base))

    def courses(self, values: Values) -> list[Course]:
        """Return a quantity's difference over the range of each parameter."""
        count, points = self.values.shape
        found = self.difference(values)[self.base * (count + 3) :]
        found = found.reshape(count, points, self.episodes)
        return [
            _course(factor.name, row, each)
            for factor, row, each in zip(self.factors, self.values, found, strict=True)
        ]


def sensitivity(
    source: Source,
    scenario: Scenario,
    reference: Scenario,
    *,
    factors: Sequence[Factor] | None = None,
    base: int = BASE,
    episodes: int = EPISODES,
    points: int = POINTS,
    seed: int = 0,
    world: World | None = None,
) -> Sensitivity:
    """Run two scenarios at many values of uncertain parameters, always both at the same ones.

    The design is that of Saltelli: two independent blocks A and B of N points, which are uniform
    over the ranges (a scrambled Sobol sequence), and for each factor the block A with the factor's
    values from B. People and random numbers are one more factor, so that a point is one episode
    of each scenario. Further episodes vary one parameter at a time.

    Args:
        source: Name of an environment, or a run.
        scenario: The scenario.
        reference: The scenario to compare it with.
        factors: Uncertain parameters; by default those that the environment declares.
        base: Number N of points per block, a power of 2.
        episodes: Number of episodes in each point of a course.
        points: Number of values in each course.
        seed: Seed of the points and episodes.
        world: Parameters of both scenarios, before the factors and their own changes.

    Raises:
        FairgymError: If there is no uncertain parameter, a number is out of range, or a scenario
            is invalid.
    """
    for name, value, least in (("base", base, 2), ("episodes", episodes, 1), ("points", points, 2)):
        check_shape(name, value, least, 2**20)
    if base & (base - 1):
        raise FairgymError(f"base must be a power of 2, got {base}")
    check_shape("seed", seed, 0, 2**32 - 1)
    sides = [scenario, reference]
    plain = alike([one.build(source) for one in sides])
    several = declared_by(plain[0].env).uncertain if factors is None else tuple(factors)
    if not several:
        raise FairgymError(
            f"{plain[0].env.name} declares no uncertain parameters; name them in a file"
            " what_if.toml beside its module"
        )
    places, numbers = _design(len(several), base, seed)
    levels = np.linspace(0.0, 1.0, points)
    pairs = [
        *(
            tuple((one.name, one.value(place)) for one, place in zip(several, row, strict=True))
            for row in places
        ),
        *(((one.name, one.value(level)),) for one in several for level in levels),
    ]
    # one point of the design is one episode, one of a course is several
    repeats = np.array([1] * len(places) + [episodes] * (len(several) * points))
    keys = jax.random.split(jax.random.key(seed), 2 * base)
    order = np.array([*numbers, *(list(range(episodes)) * (len(several) * points))])
    made_points = [points_of(one, world, pairs) for one in plain]
    made = stacked(made_points, np.repeat(np.arange(len(pairs)), repeats))
    ours, theirs = (
        evaluate_each(
            Scheduled(one.env) if isinstance(params, ScheduledParams) else one.env,
            params,
            one.policies,
            keys[order],
        )
        for one, params in zip(plain, made, strict=True)
    )
    shown = [
        [
            float(np.mean(np.asarray(getattr(params, one.name), np.float64)))
            for params, _ in made_points[1][start : start + points]
        ]
        for one, start in zip(several, range(len(places), len(pairs), points), strict=True)
    ]
    return Sensitivity(
        scenario.name, reference.name, several, np.array(shown), ours, theirs, base, episodes
    )


Point = tuple[Params, dict[str, np.ndarray]]  # parameters, and tables of those that change


def number_of_episodes(factors: int) -> int:
    """Return the number of episodes that the default design takes, of both scenarios together."""
    return 2 * (BASE * (factors + 3) + factors * POINTS * EPISODES)


def points_of(one: Built, world: World | None, pairs: Sequence[Sequence[Pair]]) -> list[Point]:
    """Return the parameters of a scenario in each point: world, factors, then its own changes."""
    _, own = one.scenario.changes(one.env)
    first = pairs_of(world.params) if world is not None else ()
    assert one.before is not None
    return [params_over_time(one.env, one.before, (*first, *pair, *own)) for pair in pairs]


def stacked(sides: Sequence[Sequence[Point]], index: np.ndarray) -> list[Params]:
    """Return the parameters of each side with a first axis over episodes.

    Args:
        sides: The points of each side.
        index: Point of each episode.
    """
    every = [point for side in sides for point in side]
    names = list(every[0][0].info())
    changing = sorted({name for _, tables in every for name in tables})

    def column(name: str, side: Sequence[Point]) -> np.ndarray:
        shape = np.broadcast_shapes(*(np.shape(getattr(params, name)) for params, _ in every))
        values = [np.broadcast_to(np.asarray(getattr(p, name)), shape) for p, _ in side]
        return np.stack(values).astype(np.float32)[index]

    def table(name: str, side: Sequence[Point]) -> np.ndarray:
        steps = max(len(tables[name]) for _, tables in every if name in tables)
        shape = np.broadcast_shapes(
            *(np.shape(tables[name])[1:] for _, tables in every if name in tables),
            *(np.shape(getattr(params, name)) for params, _ in every),
        )
        values = [
            np.broadcast_to(
                in_steps(tables.get(name), getattr(p, name), len(shape)), (steps, *shape)
            )
            for p, tables in side
        ]
        return np.stack(values).astype(np.float32)[index]

    found: list[Params] = []
    for side in sides:
        columns = [jnp.asarray(column(name, side)) for name in names]
        params = with_arrays(side[0][0], names, columns)
        tables = {name: jnp.asarray(table(name, side)) for name in changing}
        found.append(ScheduledParams(start=params, tables=tables) if tables else params)
    return found


def _design(count: int, base: int, seed: int) -> tuple[np.ndarray, list[int]]:
    """Return places in [0, 1] of each factor, and the number of each point's key.

    The blocks are A, B, one per factor, and one for chance, of `base` points each.
    """
    from scipy.stats.qmc import Sobol  # here: `import fairgym` is quick without it

    drawn = Sobol(2 * count, rng=np.random.default_rng(seed)).random(base)
    first, second = drawn[:, :count], drawn[:, count:]
    blocks = [first, second]
    for place in range(count):
        mixed = first.copy()
        mixed[:, place] = second[:, place]
        blocks.append(mixed)
    blocks.append(first)
    a, b = list(range(base)), list(range(base, 2 * base))
    return np.concatenate(blocks), [*a, *b, *(a * count), *b]


def _course(name: str, values: np.ndarray, found: np.ndarray) -> Course:
    """Return the course of a difference, (points, episodes)."""
    limits = [mean_interval(row[np.isfinite(row)]) for row in found]
    means = np.array([mean for mean, _, _ in limits])
    flips = []
    for place in range(len(means) - 1):
        before, after = means[place], means[place + 1]
        if before * after < 0.0:
            share = before / (before - after)
            flips.append(float(values[place] + share * (values[place + 1] - values[place])))
        elif after == 0.0 and place + 2 < len(means) and before * means[place + 2] < 0.0:
            flips.append(float(values[place + 1]))
    lows, highs = ([limit[side] for limit in limits] for side in (1, 2))
    return Course(name, tuple(values), tuple(means), tuple(lows), tuple(highs), tuple(flips))
