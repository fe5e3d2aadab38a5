"""Measurements of runs, logged or in held-out episodes."""

from collections.abc import Iterable, Mapping, Sequence

import jax
import numpy as np

from fairgym.algorithms._gradient import GradientLearner
from fairgym.algorithms.f_macem import FMacem
from fairgym.core import AnyPolicy, Environment, Params
from fairgym.fairness import Objective
from fairgym.statistics.intervals import Numbers
from fairgym.training.evaluation import Evaluation, evaluate
from fairgym.training.run import Run, initial_state

# Runs with seeds 0, 1, ... sample their episodes with keys of these numbers; this one is no seed.
HELD_OUT = 2**31 - 1
PERMUTATIONS = 100  # of the people's groups, where a page shows what luck alone makes
LUCK = (
    "“By luck alone” is the same with the people's groups permuted within the episodes: mean and"
    " 95% interval of the permutations."
)
KINDS = ("direct", "fair", "rate")

# Held-out episodes of each seed.
Ends = Sequence[Evaluation]


def held_out(
    env: Environment,
    params: Params,
    policies: Mapping[str, AnyPolicy],
    seed: int,
    episodes: int,
    permutations: int = 0,
    people: bool = False,
) -> Evaluation:
    """Measure policies in episodes that no run is trained in, with the components of every step.

    Args:
        env: The environment.
        params: Its parameters.
        policies: Agent -> policy.
        seed: Seed of the run. The episodes depend on nothing else, so that policies of different
            runs with one seed are paired.
        episodes: Number of episodes.
        permutations: Number of permutations of the people's groups, for `Evaluation.null`: a
            check of a disparity speaks of its excess over luck.
        people: True for everybody's features at the start and at the end of every episode.
    """
    key = jax.random.fold_in(jax.random.key(HELD_OUT), seed)
    return evaluate(
        env,
        params,
        policies,
        key,
        episodes,
        trace=True,
        people_episodes=episodes if people else 0,
        permutations=permutations,
    )


def held_out_run(run: Run, episodes: int, permutations: int = 0) -> Evaluation:
    """Measure the learned policies of a run in the same way."""
    seed = run.config.seed
    return held_out(run.env, run.params, run.policies, seed, episodes, permutations)


def untrained_run(run: Run, episodes: int, permutations: int = 0) -> Evaluation:
    """Measure the policies that a run begins with in the same way."""
    policies = run.job.algorithm.policies(initial_state(run.job))
    return held_out(run.env, run.params, policies, run.config.seed, episodes, permutations)


def score(
    evaluations: Iterable[Evaluation], objective: Objective | Mapping[str, Objective]
) -> np.ndarray:
    """Mean of an objective over the episodes of each seed, (seeds,)."""
    scored = [one.scored_by(objective).values("objective") for one in evaluations]
    return np.array([np.mean(values) for values in scored], np.float64)


def survival(evaluations: Iterable[Evaluation]) -> np.ndarray:
    """Share of the episodes of each seed that do not fail, (seeds,)."""
    return np.array([1.0 - np.mean(one.terminated) for one in evaluations])


def means(evaluations: Iterable[Evaluation], name: str) -> np.ndarray:
    """Mean of a metric over the episodes of each seed, (seeds,)."""
    return np.array([np.mean(one.metrics[name]) for one in evaluations], np.float64)


def by_luck(
    evaluations: Iterable[Evaluation], env: Environment, names: Sequence[str] = ()
) -> np.ndarray:
    """Sum of normalised disparities that luck alone makes, for each seed and permutation.

    They are those of the same episodes with the people's groups permuted (`Evaluation.nulls`), each
    with the normaliser of its episode; as in a score, the rate of a group that nobody counts for is
    0.

    Args:
        evaluations: Episodes of each seed, measured under permutations.
        env: The environment.
        names: The disparities; by default those among the terms.

    Returns:
        Means over the episodes, never above 0, shape (seeds, permutations).
    """
    names = names or [term for term in env.spec.terms if env.metrics[term].kind == "fair"]

    def one_by_luck(evaluation: Evaluation, name: str) -> np.ndarray:
        metric, totals = env.metrics[name], evaluation.totals
        raw, scaled = (np.asarray(jax.vmap(f)(totals)) for f in (metric.value, metric.normalised))
        scale = np.where(raw == 0.0, 1.0, scaled / np.where(raw == 0.0, 1.0, raw))
        scaled_nulls = evaluation.nulls[name] * scale[:, None]
        return np.asarray(scaled_nulls.mean(axis=0, dtype=np.float64))

    return np.array(
        [np.sum([one_by_luck(one, name) for name in names], axis=0) for one in evaluations]
    )


def disparity(evaluations: Sequence[Evaluation], name: str) -> tuple[np.ndarray, np.ndarray]:
    """Size of a disparity with each seed, and what luck alone makes of it.

    Only episodes count in which it is defined; NaN where there is none.

    Returns:
        `(values, luck)`: in the metric's unit, never below 0, shapes (seeds,) and (seeds,
        permutations).
    """
    values, luck = [], []
    for one in evaluations:
        known, permuted = one.beside_luck(name)
        some = known.size > 0
        values.append(-np.mean(known, dtype=np.float64) if some else np.nan)
        luck.append(
            -np.mean(permuted, axis=0, dtype=np.float64)
            if some
            else np.full(permuted.shape[1], np.nan)
        )
    return np.array(values), np.array(luck)


def beyond(values: Numbers, luck: Numbers) -> np.ndarray:
    """Excess of measured numbers over the mean of what luck alone makes.

    Args:
        values: One number per seed.
        luck: The same under permutations, shape (seeds, permutations).
    """
    return np.asarray(values) - np.asarray(luck).mean(axis=-1)


def category(env: Environment, kind: str) -> Objective:
    """Sum of the normalised terms of one kind: "direct", "fair" or "rate"."""
    names = [name for name in env.spec.terms if env.metrics[name].kind == kind]
    return Objective.weighted(env, dict.fromkeys(names, 1.0))


def logged(run: Run, key: str) -> np.ndarray:
    """Logged number of each epoch; NaN where it is undefined."""
    values = [line.get(key) for line in run.metrics]
    return np.array([np.nan if value is None else value for value in values], np.float64)


def logged_curves(runs: Iterable[Run], *keys: str) -> np.ndarray:
    """Mean of these logged numbers by run and epoch, (seeds, epochs)."""
    return np.array([np.mean([logged(run, key) for key in keys], axis=0) for run in runs])


def logged_ends(runs: Iterable[Run], *keys: str) -> np.ndarray:
    """First and last of the mean of these logged numbers, (2, seeds)."""
    return first_and_last(logged_curves(runs, *keys))


def steps_per_epoch(run: Run) -> int:
    """Environment steps that a run learns from in an epoch, if no episode ends early."""
    algorithm, env = run.job.algorithm, run.env
    if isinstance(algorithm, GradientLearner):
        return algorithm.rounds(env) * algorithm.num_envs * algorithm.num_steps
    assert isinstance(algorithm, FMacem)
    return algorithm.episodes_per_epoch * env.horizon


def first_and_last(curves: np.ndarray) -> np.ndarray:
    """First epoch of each curve, and mean of the last tenth of its epochs.

    Args:
        curves: (seeds, epochs).

    Returns:
        Shape (2, seeds).
    """
    curves = np.asarray(curves, np.float64)
    tenth = max(1, curves.shape[1] // 10)
    return np.array([curves[:, 0], [np.mean(curve[-tenth:]) for curve in curves]])
