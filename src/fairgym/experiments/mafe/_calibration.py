"""Calibration within groups: outcomes of people of different groups with the same score.

A score is calibrated within groups if people with the same score have the same outcomes in every
group (J. Kleinberg, S. Mullainathan, M. Raghavan, Inherent Trade-Offs in the Fair Determination of
Risk Scores, 2017). The scores here are those with which a person enters a stage that agents decide
about. The outcomes are those under the given policies.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, PRNGKeyArray, PyTree

from fairgym.core import AnyPolicy, Environment, Params, rollout
from fairgym.core.batching import map_episodes

BINS = 3  # of equally many people
MIDDLE = 575.0  # middle of the FICO scale


class System(NamedTuple):
    """Stage of an environment, with its score and outcome.

    Attributes:
        stage: Stage that people enter and leave.
        score: Feature of a person who enters.
        outcome: Outcome of a person who leaves, as text.
        mark: Feature that shows the outcome.
    """

    stage: str
    score: str
    outcome: str
    mark: str


SYSTEMS = {
    "loan": System("repaying", "qualification_score", "repaid", "fico_low"),
    "education": System("university", "baseline_gpa", "graduated", "degree"),
}


class Spells(NamedTuple):
    """Finished stays in a stage, over all people and episodes.

    Attributes:
        score: Score before the stay.
        before: Mark in the last step of the stay.
        after: Mark after the stay.
        group: Group of the person.
    """

    score: np.ndarray
    before: np.ndarray
    after: np.ndarray
    group: np.ndarray


def spells_of(inside: np.ndarray, score: np.ndarray, mark: np.ndarray, group: np.ndarray) -> Spells:
    """Return the stays that begin and end within the given steps.

    Args:
        inside: True where the person is in the stage, shape (steps, people).
        score: Scores, same shape.
        mark: Marks, same shape.
        group: Group of each person.
    """
    found: list[tuple[np.ndarray, ...]] = []
    entered = np.full(inside.shape[1], np.nan)
    for step in range(len(inside) - 1):
        entered = np.where(~inside[step] & inside[step + 1], score[step], entered)
        left = inside[step] & ~inside[step + 1] & ~np.isnan(entered)
        found.append((entered[left], mark[step][left], mark[step + 1][left], group[left]))
    return Spells(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def outcomes(env: Environment, spells: Spells) -> np.ndarray:
    """Return True for stays with a good outcome: a loan that was repaid, a degree."""
    if env.name == "loan":  # the score rises on repayment and falls on default, between 300 and 850
        highest = (spells.after == spells.before) & (spells.before > MIDDLE)
        return (spells.after > spells.before) | highest
    return spells.after >= 1.0


def spells(
    env: Any,
    params: Params,
    policies: Mapping[str, AnyPolicy],
    seed: int,
    episodes: int,
) -> Spells:
    """Return the stays under these policies in a number of episodes."""
    system = SYSTEMS[env.name]
    stage = env.spec.stages.index(system.stage)

    def watch(state: PyTree) -> PyTree:
        people = env.people(state)
        rows = (state.stage == stage, people[system.score], people[system.mark])
        return jnp.stack([row.astype(jnp.float32) for row in rows])

    @jax.jit
    def watched(keys: Key[Array, "..."]) -> PyTree:
        def one(key: PRNGKeyArray) -> PyTree:
            episode = rollout(env, params, policies, key, trace=True, watch=watch)
            return episode.watched, episode.length, episode.final_state.group

        return map_episodes(one, keys, env=env)

    keys = jax.random.split(jax.random.key(seed), episodes)
    several = [np.asarray(x) for x in watched(keys)]
    found = []
    for seen, length, group in zip(*several, strict=True):
        inside, score, mark = seen[: length + 1].transpose(1, 0, 2)
        found.append(spells_of(inside > 0.5, score, mark, group))
    return Spells(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


class Calibration(NamedTuple):
    """Outcomes by score and group, and the difference between the groups.

    Attributes:
        shares: Share of stays with a good outcome, by third of the scores and group, shape
            (3, groups); NaN where a group has nobody.
        difference: Mean absolute difference between the groups, over the thirds with both groups;
            0 if there is none.
        null: Null distribution of the difference, with group labels permuted over the stays of
            each third, shape (permutations,).
    """

    shares: np.ndarray
    difference: float
    null: np.ndarray


def calibration(
    env: Environment,
    params: Params,
    policies: Mapping[str, AnyPolicy],
    seed: int,
    episodes: int,
    permutations: int = 0,
) -> Calibration:
    """Measure calibration within two groups under these policies in a number of episodes.

    Group labels are permuted within each third, so that each third keeps its number of people of
    each group: the null is conditional on the scores, which differ between groups. Each stay is
    permuted separately, as if each belonged to a different person.
    """
    stays = spells(env, params, policies, seed, episodes)
    good = outcomes(env, stays)
    cuts = np.quantile(stays.score, np.arange(1, BINS) / BINS) if good.size else np.zeros(0)
    third = np.searchsorted(cuts, stays.score, side="right")
    # number of stays, and of stays with a good outcome, by third and group
    count, well = (
        np.array(
            [[np.sum(x[(third == b) & (stays.group == g)]) for g in (0, 1)] for b in range(BINS)]
        )
        for x in (np.ones(good.shape, np.int64), good.astype(np.int64))
    )
    rng = np.random.default_rng(seed)
    of_first = rng.hypergeometric(
        well.sum(axis=1), (count - well).sum(axis=1), count[:, 0], (permutations, BINS)
    )
    permuted = np.stack([of_first, well.sum(axis=1) - of_first], axis=-1)
    shares, difference = _shares(well, count)
    return Calibration(shares, float(difference), _shares(permuted, count)[1])


def _shares(well: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, Any]:
    """Return shares of good outcomes, and the mean difference over thirds with both groups."""
    shares = np.where(count > 0, well / np.maximum(count, 1), np.nan)
    both = np.all(count > 0, axis=1)
    if not both.any():
        return shares, np.zeros(shares.shape[:-2])
    return shares, np.abs(shares[..., both, 0] - shares[..., both, 1]).mean(axis=-1)
