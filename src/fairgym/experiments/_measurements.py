"""What experiments measure in runs: logged numbers, and policies in held-out episodes."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from fairgym.fairness import Objective
from fairgym.report.results import rescored
from fairgym.training.evaluation import Evaluation, evaluate

# Runs with seeds 0, 1, ... draw their episodes from keys of these numbers; this one is no seed.
HELD_OUT = 2**31 - 1
KINDS = ("direct", "fair", "rate")


def held_out(
    env: Any, params: Any, policies: Mapping[str, Any], seed: int, episodes: int
) -> Evaluation:
    """Measure policies in episodes that no run is trained in, with the components of every step.

    Args:
        env: the environment.
        params: its parameters.
        policies: agent -> policy.
        seed: of the run. The episodes depend on nothing else, so that policies of different runs
            with one seed are paired.
        episodes: how many.
    """
    key = jax.random.fold_in(jax.random.key(HELD_OUT), seed)
    return evaluate(env, params, policies, key, episodes, trace=True)


def held_out_run(run: Any, episodes: int) -> Evaluation:
    """The same for the learned policies of a run."""
    return held_out(run.env, run.params, run.policies, run.config.seed, episodes)


def score(evaluation: Evaluation, objective: Objective) -> float:
    """Mean of an objective over the episodes."""
    return float(np.mean(rescored(evaluation, objective).objective))


def category(env: Any, kind: str) -> Objective:
    """The sum of the normalised terms of one kind: "direct", "fair" or "rate"."""
    names = [name for name, metric in env.metrics.items() if metric.kind == kind]
    return Objective.weighted(env, dict.fromkeys(names, 1.0))


def logged(run: Any, key: str) -> np.ndarray:
    """A logged number of each epoch; NaN where it is undefined."""
    values = [line.get(key) for line in run.metrics]
    return np.array([np.nan if value is None else value for value in values], np.float64)


def category_curves(run: Any) -> dict[str, np.ndarray]:
    """The sums of normalised terms by kind that a run of F-MACEM met in training, by epoch.

    They are means over all candidates of an epoch, as in the paper's "realized rewards obtained
    during training"; the first epoch's candidates are not trained at all.
    """
    return {kind: logged(run, f"candidates/terms/{kind}") for kind in KINDS}


def first_and_last(curve: np.ndarray) -> tuple[float, float]:
    """The first epoch, and the mean of the last tenth of the epochs."""
    return float(curve[0]), float(np.mean(curve[-max(1, len(curve) // 10) :]))
