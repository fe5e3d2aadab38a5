"""Measurements of runs, logged or in held-out episodes, and parts of figures."""

from collections.abc import Iterable, Mapping, Sequence

import jax
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgym.algorithms import log_keys
from fairgym.algorithms._gradient import GradientLearner
from fairgym.algorithms.f_macem import FMacem
from fairgym.core import AnyPolicy, Environment, Params
from fairgym.fairness import Objective
from fairgym.report import style
from fairgym.statistics.intervals import Numbers, bootstrap_interval
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


def score(evaluation: Evaluation, objective: Objective | Mapping[str, Objective]) -> float:
    """Mean of an objective over the episodes."""
    scores = evaluation.scored_by(objective).objective
    assert scores is not None
    return float(np.mean(scores))


def by_luck(evaluation: Evaluation, env: Environment, names: Iterable[str] = ()) -> np.ndarray:
    """Sum of normalised disparities that luck alone makes, for each permutation.

    They are those of the same episodes with the people's groups permuted (`Evaluation.nulls`), each
    with the normaliser of its episode; as in a score, the rate of a group that nobody counts for is
    0.

    Args:
        evaluation: Episodes, measured under permutations.
        env: The environment.
        names: The disparities; by default those among the terms.

    Returns:
        Means over the episodes, never above 0, shape (permutations,).
    """
    totals, found = evaluation.totals, np.zeros(())
    for name in names or [term for term in env.spec.terms if env.metrics[term].kind == "fair"]:
        metric = env.metrics[name]
        raw, scaled = (np.asarray(jax.vmap(f)(totals)) for f in (metric.value, metric.normalised))
        scale = np.where(raw == 0.0, 1.0, scaled / np.where(raw == 0.0, 1.0, raw))
        found = found + np.mean(evaluation.nulls[name] * scale[:, None], axis=0, dtype=np.float64)
    return found


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


def steps_per_epoch(run: Run) -> int:
    """Environment steps that a run learns from in an epoch, if no episode ends early."""
    algorithm, env = run.job.algorithm, run.env
    if isinstance(algorithm, GradientLearner):
        return algorithm.rounds(env) * algorithm.num_envs * algorithm.num_steps
    assert isinstance(algorithm, FMacem)
    return algorithm.episodes_per_epoch * env.horizon


def category_curves(run: Run) -> dict[str, np.ndarray]:
    """Sums of normalised terms by kind that a run of F-MACEM met in training, by epoch.

    They are means over all candidates of an epoch, as in the paper's "realized rewards obtained
    during training"; the first epoch's candidates are not trained at all.
    """
    return {kind: logged(run, log_keys.candidates(log_keys.term(kind))) for kind in KINDS}


def first_and_last(curve: np.ndarray) -> tuple[float, float]:
    """Value of the first epoch, and mean of the last tenth of the epochs."""
    return float(curve[0]), float(np.mean(curve[-max(1, len(curve) // 10) :]))


CAPTION = (
    "Lines are interquartile means over seeds, bands and bars stratified bootstrap 95% intervals."
)


def curve(
    panel: Axes, x: Sequence[float] | np.ndarray, values: Numbers, index: int, label: str
) -> None:
    """Plot interquartile means over seeds as a line with its band.

    Args:
        panel: The panel.
        x: Positions.
        values: One row per seed.
        index: Place of the line among those of the panel.
        label: Words for the legend.
    """
    line = style.policy_line(index)
    middle, low, high = bootstrap_interval(np.asarray(values, np.float64))
    x = np.asarray(x)
    panel.plot(x, middle, label=label, zorder=3, **line)
    panel.fill_between(x, low, high, color=line["color"], alpha=style.BAND_ALPHA, lw=0)


def curve_legend(figure: Figure, labels: Iterable[str]) -> None:
    """Plot the legend of curves that all panels have, in the order of their index."""
    lines = [Line2D([], [], label=label, **style.policy_line(i)) for i, label in enumerate(labels)]
    style.top_legend(figure, lines)


def dot(panel: Axes, x: float, values: Numbers, colour: str, marker: str = "o") -> None:
    """Plot an estimate with its interval as a bar, and every seed as a faint dot beside it."""
    values = np.asarray(values, np.float64)
    middle, low, high = bootstrap_interval(values)
    panel.plot([x] * len(values), values, "o", color=colour, alpha=0.3, ms=4, mew=0)
    panel.plot([x + 0.15] * 2, [low, high], color=colour, lw=1.6)
    panel.plot([x + 0.15], [middle], marker, color=colour, ms=6)
