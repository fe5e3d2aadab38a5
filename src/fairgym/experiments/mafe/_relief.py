"""Best fixed policies of loan by the forgiven share of relief, with a random queue."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from fairgym.experiments import _parts as ex
from fairgym.fairness import Objective
from fairgym.policies import fixed_policies
from fairgym.training.evaluation import Evaluation, evaluate_each
from fairgym.utils import make

SHARES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)  # forgiven share of the relief
THRESHOLDS = (0.0, 0.8)
PUBLISHED, NEAR = (0.12, 0.18), (0.15, 0.20)
PEOPLE = 1_000  # as in figure 8
EPISODES = 6  # of each seed

Pair = tuple[float, float]
# Relief of the advantaged and of the disadvantaged.
GRID: tuple[Pair, ...] = (
    PUBLISHED,
    *(
        (advantaged, round(advantaged + more, 3))
        for advantaged in (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
        for more in (0.0, 0.025, 0.05)
    ),
)


class Scored(NamedTuple):
    """Scores of a fixed policy.

    Attributes:
        score: Mean objective of the episodes of each seed, (seeds,).
        failed: Share of all episodes in which the bank fails.
    """

    score: np.ndarray
    failed: float


# Forgiven share -> threshold -> relief -> scores.
Searched = Mapping[float, Mapping[float, Mapping[Pair, Scored]]]


def search(seeds: Sequence[int]) -> Searched:
    """Measure every fixed policy of the grid at every forgiven share, in the same episodes.

    Args:
        seeds: Seeds of the held-out episodes.
    """
    env = make("loan", population=PEOPLE)
    objective = Objective.uniform(env)
    of_seed = [
        jax.random.split(jax.random.fold_in(jax.random.key(ex.HELD_OUT), seed), EPISODES)
        for seed in seeds
    ]
    keys = jnp.concatenate(of_seed * len(SHARES))
    each = len(seeds) * EPISODES
    worlds = [env.default_params.replace(relief_forgiven=share) for share in SHARES]
    params = jax.tree.map(
        lambda *x: jnp.repeat(
            jnp.stack([jnp.asarray(one, jnp.float32) for one in x]), each, axis=0
        ),
        *worlds,
    )
    found: dict[float, dict[float, dict[Pair, Scored]]] = {
        share: {threshold: {} for threshold in THRESHOLDS} for share in SHARES
    }
    for threshold in THRESHOLDS:
        for relief in GRID:
            rules = {"admissions": threshold, "disbursement": "random", "debt_management": relief}
            made = evaluate_each(env, params, fixed_policies(env, rules), keys)
            for place, share in enumerate(SHARES):
                own = slice(place * each, (place + 1) * each)
                found[share][threshold][relief] = _scored(made, objective, own, len(seeds))
    return found


def _scored(made: Evaluation, objective: Objective, own: slice, seeds: int) -> Scored:
    score = made.scored_by(objective).values("objective")[own]
    by_seed = np.asarray(score, np.float64).reshape(seeds, EPISODES).mean(axis=1)
    return Scored(by_seed, float(np.mean(made.terminated[own])))


def best(found: Mapping[Pair, Scored]) -> Pair:
    """Return the relief with the highest mean score, among those that fail least often."""
    return max(found, key=lambda pair: (-found[pair].failed, float(found[pair].score.mean())))


def table(found: Searched) -> ex.Table:
    """Return the best relief by forgiven share, beside that of the published fixed policy."""
    rows = []
    for share, by_threshold in found.items():
        admitting = by_threshold[0.0]
        cells = [_cell(by_threshold[threshold]) for threshold in THRESHOLDS]
        at = [ex.mean_text(admitting[pair].score) for pair in (PUBLISHED, NEAR)]
        rows.append([f"{share:g}", cells[0], *at, cells[1]])
    lowest, highest = (f"best relief, threshold {threshold:g}" for threshold in THRESHOLDS)
    pairs = [f"({one:g}, {other:g})" for one, other in (PUBLISHED, NEAR)]
    return ex.Table(
        ["forgiven", lowest, *pairs, highest],
        rows,
        "**What does a grid search find?** Fixed policies with a random queue and"
        f" {PEOPLE:,} people: relief of the advantaged and the disadvantaged, with its score by the"
        " uniform objective. The third and"
        f" the fourth column have threshold 0. Mean over {_seeds(found)} seeds of {EPISODES}"
        " episodes [95% CI]; all policies have the same episodes. Relief is on a grid of"
        f" {len(GRID)} pairs, and the best is chosen in these episodes.",
    )


def _cell(found: Mapping[Pair, Scored]) -> str:
    pair = best(found)
    failed = f", fails in {found[pair].failed:.0%}" if found[pair].failed else ""
    return f"({pair[0]:g}, {pair[1]:g}): {ex.mean_text(found[pair].score)}{failed}"


def _seeds(found: Searched) -> int:
    by_threshold = next(iter(found.values()))
    return len(next(iter(by_threshold[0.0].values())).score)
