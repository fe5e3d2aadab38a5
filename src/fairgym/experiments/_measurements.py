"""Measurements of runs: logged numbers, and held-out episodes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from fairgym.core import AnyPolicy, Environment, Params
from fairgym.fairness import Objective
from fairgym.statistics.intervals import Numbers
from fairgym.training.evaluation import Evaluation, evaluate
from fairgym.training.run import Run, initial_state
from fairgym.wrappers import EndsAfter

# Runs with seeds 0, 1, ... sample episodes with keys of these numbers. This number is not a seed.
HELD_OUT = 2**31 - 1
PERMUTATIONS = 100  # of the group labels, for null means
NULL_NOTE = (
    "“Null mean” is the same measure with the group labels permuted within the episodes: mean and"
    " 95% interval over the permutations."
)
KINDS = ("direct", "fair", "rate")

# Held-out episodes, one `Evaluation` per seed.
Ends = Sequence[Evaluation]


def held_out(
    env: Environment,
    params: Params,
    policies: Mapping[str, AnyPolicy],
    seed: int,
    episodes: int,
    permutations: int = 0,
    people: bool = False,
    steps: int | None = None,
) -> Evaluation:
    """Measure policies in held-out episodes, with the components of every step.

    Args:
        env: The environment.
        params: Parameters of the environment.
        policies: Agent -> policy.
        seed: Seed of the run. The episodes depend only on it, so policies of different runs with
            the same seed are paired.
        episodes: Number of episodes.
        permutations: Number of permutations of the group labels, for `Evaluation.null`. Checks
            of a disparity use its excess over the null mean.
        people: Whether to keep everybody's features at the start and end of every episode.
        steps: Step after which an episode ends; the horizon by default.
    """
    key = jax.random.fold_in(jax.random.key(HELD_OUT), seed)
    return evaluate(
        env if steps is None else EndsAfter(env, steps),
        params,
        policies,
        key,
        episodes,
        trace=True,
        people_episodes=episodes if people else 0,
        permutations=permutations,
    )


def held_out_run(run: Run, *given: Any, **options: Any) -> Evaluation:
    """Measure the learned policies of a run; arguments from `episodes` on as for `held_out`."""
    return held_out(run.env, run.params, run.policies, run.config.seed, *given, **options)


def untrained_run(run: Run, *given: Any, **options: Any) -> Evaluation:
    """Measure the untrained policies of a run; arguments from `episodes` on as for `held_out`."""
    policies = run.job.algorithm.policies(initial_state(run.job))
    return held_out(run.env, run.params, policies, run.config.seed, *given, **options)


def score(
    evaluations: Iterable[Evaluation], objective: Objective | Mapping[str, Objective]
) -> np.ndarray:
    """Return the mean of an objective over the episodes of each seed, (seeds,)."""
    scored = [one.scored_by(objective).values("objective") for one in evaluations]
    return np.array([np.mean(values) for values in scored], np.float64)


def survival(evaluations: Iterable[Evaluation]) -> np.ndarray:
    """Return the share of episodes of each seed that do not fail, (seeds,)."""
    return np.array([1.0 - np.mean(one.terminated) for one in evaluations])


def means(evaluations: Iterable[Evaluation], name: str) -> np.ndarray:
    """Return the mean of a metric over the episodes of each seed, (seeds,)."""
    return np.array([np.mean(one.metrics[name]) for one in evaluations], np.float64)


def null_sums(
    evaluations: Iterable[Evaluation], env: Environment, names: Sequence[str] = ()
) -> np.ndarray:
    """Return the null distribution of a sum of normalised disparities.

    The disparities are those of the same episodes with permuted group labels (`Evaluation.nulls`),
    each with the normaliser of its episode. As in a score, the rate of an empty group counts as 0.

    Args:
        evaluations: Episodes of each seed, measured under permutations.
        env: The environment.
        names: The disparities; by default those among the terms of the objective.

    Returns:
        Means over the episodes, never above 0, shape (seeds, permutations).
    """
    names = names or [term for term in env.spec.terms if env.metrics[term].kind == "fair"]

    def null_of(evaluation: Evaluation, name: str) -> np.ndarray:
        metric, totals = env.metrics[name], evaluation.totals
        raw, scaled = (np.asarray(jax.vmap(f)(totals)) for f in (metric.value, metric.normalised))
        scale = np.where(raw == 0.0, 1.0, scaled / np.where(raw == 0.0, 1.0, raw))
        scaled_nulls = evaluation.nulls[name] * scale[:, None]
        return np.asarray(scaled_nulls.mean(axis=0, dtype=np.float64))

    return np.array([np.sum([null_of(one, name) for name in names], axis=0) for one in evaluations])


def disparity(evaluations: Sequence[Evaluation], name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the size of a disparity for each seed, and its null distribution.

    Episodes in which it is undefined are dropped. The result is NaN if it is defined in none.

    Returns:
        `(values, null)`: in the metric's unit, never below 0, shapes (seeds,) and (seeds,
        permutations).
    """
    values, null = [], []
    for one in evaluations:
        known, permuted = one.beside_null(name)
        some = known.size > 0
        values.append(-np.mean(known, dtype=np.float64) if some else np.nan)
        null.append(
            -np.mean(permuted, axis=0, dtype=np.float64)
            if some
            else np.full(permuted.shape[1], np.nan)
        )
    return np.array(values), np.array(null)


def signed_gap(evaluations: Iterable[Evaluation], name: str) -> np.ndarray:
    """Return the mean rate of the first group minus that of the second, (seeds,).

    Episodes in which a group has no rate are dropped. The result is NaN if none is left.

    Args:
        evaluations: Episodes of each seed.
        name: The disparity that compares the rates of two groups.
    """
    found = []
    for one in evaluations:
        first, second = np.asarray(one.rates[name], np.float64).T
        gaps = (first - second)[np.isfinite(first - second)]
        found.append(gaps.mean() if gaps.size else np.nan)
    return np.array(found, np.float64)


def narrowing(before: Numbers, after: Numbers) -> np.ndarray:
    """Return how much smaller the absolute mean gap is after than before, by seed.

    Each side is turned so that its mean is positive. Where the mean is near 0, this makes the
    absolute mean a little larger, and the narrowing a little smaller, than it is.

    Args:
        before: Signed gaps, one number per seed.
        after: The same of other policies.
    """
    sides = (np.asarray(side, np.float64) for side in (before, after))
    first, second = (np.sign(np.nanmean(side)) * side for side in sides)
    return np.asarray(first - second)


def excess(values: Numbers, null: Numbers) -> np.ndarray:
    """Return the excess of measured numbers over the null mean.

    Args:
        values: One number per seed.
        null: The numbers under permutations, shape (seeds, permutations).
    """
    return np.asarray(values) - np.asarray(null).mean(axis=-1)


def category(env: Environment, kind: str) -> Objective:
    """Return the sum of the normalised terms of one kind: "direct", "fair" or "rate"."""
    names = [name for name in env.spec.terms if env.metrics[name].kind == kind]
    return Objective.weighted(env, dict.fromkeys(names, 1.0))


def logged(run: Run, key: str) -> np.ndarray:
    """Return a logged number of each epoch; NaN where it is undefined."""
    values = [line.get(key) for line in run.metrics]
    return np.array([np.nan if value is None else value for value in values], np.float64)


def logged_curves(runs: Iterable[Run], *keys: str) -> np.ndarray:
    """Return the mean of these logged numbers by run and epoch, (seeds, epochs)."""
    return np.array([np.mean([logged(run, key) for key in keys], axis=0) for run in runs])


def logged_ends(runs: Iterable[Run], *keys: str) -> np.ndarray:
    """Return `first_and_last` of the mean of these logged numbers, (2, seeds)."""
    return first_and_last(logged_curves(runs, *keys))


def steps_per_epoch(run: Run) -> int:
    """Return the environment steps per training epoch, if no episode ends early."""
    return run.job.algorithm.steps_per_update(run.env)


def first_and_last(curves: np.ndarray) -> np.ndarray:
    """Return the first value of each curve, and the mean of its last tenth.

    Args:
        curves: Values, shape (seeds, epochs).

    Returns:
        Shape (2, seeds).
    """
    curves = np.asarray(curves, np.float64)
    tenth = max(1, curves.shape[1] // 10)
    return np.array([curves[:, 0], [np.mean(curve[-tenth:]) for curve in curves]])
