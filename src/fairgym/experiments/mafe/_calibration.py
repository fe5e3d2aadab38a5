"""Calibration within groups: what becomes of people of either group who have the same score.

A score is calibrated within groups if those of one score fare alike whatever their group (J.
Kleinberg, S. Mullainathan, M. Raghavan, Inherent Trade-Offs in the Fair Determination of Risk
Scores, 2017). Scores here are those with which a person enters what the agents decide about, and
people fare as the policies at hand have them fare.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, PRNGKeyArray, PyTree

from fairgym.core import AnyPolicy, Environment, Params, rollout
from fairgym.core.batching import map_episodes

BINS = 3  # of like many people
MIDDLE = 575.0  # of the FICO points


class System(NamedTuple):
    """Words for what people enter, and for what becomes of them.

    Attributes:
        stage: stage that they enter and leave.
        score: feature that is looked at when they enter.
        outcome: what is counted when they leave, in words.
        mark: feature that tells it.
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
    """Stays in a stage that have ended, of all people and episodes.

    Attributes:
        score: score before the stay.
        before: mark in its last step.
        after: mark after it.
        group: group of the person.
    """

    score: np.ndarray
    before: np.ndarray
    after: np.ndarray
    group: np.ndarray


def spells_of(inside: np.ndarray, score: np.ndarray, mark: np.ndarray, group: np.ndarray) -> Spells:
    """Stays that begin and end within the time that is looked at.

    Args:
        inside: True where the person is in the stage, shape (steps, people).
        score: score at the same times.
        mark: mark at the same times.
        group: group of each person.
    """
    found: list[tuple[np.ndarray, ...]] = []
    entered = np.full(inside.shape[1], np.nan)
    for step in range(len(inside) - 1):
        entered = np.where(~inside[step] & inside[step + 1], score[step], entered)
        left = inside[step] & ~inside[step + 1] & ~np.isnan(entered)
        found.append((entered[left], mark[step][left], mark[step + 1][left], group[left]))
    return Spells(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def outcomes(env: Environment, spells: Spells) -> np.ndarray:
    """True for stays that ended well: a loan that was not lost, a degree."""
    if env.name == "loan":  # points rise with repayment and fall with default, within 300 and 850
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
    """Stays under these policies, in as many episodes."""
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
    """Outcomes of the groups' people of the same score, and the distance between them.

    Attributes:
        shares: stays that ended well by third of the scores and group, shape (3, groups); NaN where
            a group has nobody.
        apart: mean difference of the groups over the thirds that both are in; 0 without one.
        luck: the same with the groups permuted over the stays of each third, shape (permutations,).
    """

    shares: np.ndarray
    apart: float
    luck: np.ndarray


def calibration(
    env: Environment,
    params: Params,
    policies: Mapping[str, AnyPolicy],
    seed: int,
    episodes: int,
    permutations: int = 0,
) -> Calibration:
    """Calibration within two groups, under these policies, in as many episodes.

    Groups are permuted within the thirds, so that each third keeps as many people of either group:
    scores, which the groups differ in, are given. Stays are permuted one by one, as if each were
    somebody else's.
    """
    stays = spells(env, params, policies, seed, episodes)
    good = outcomes(env, stays)
    cuts = np.quantile(stays.score, np.arange(1, BINS) / BINS) if good.size else np.zeros(0)
    third = np.searchsorted(cuts, stays.score, side="right")
    # stays, and those that ended well, by third and group
    count, well = (
        np.array(
            [[np.sum(x[(third == b) & (stays.group == g)]) for g in (0, 1)] for b in range(BINS)]
        )
        for x in (np.ones(good.shape, np.int64), good.astype(np.int64))
    )
    lots = np.random.default_rng(seed)
    of_first = lots.hypergeometric(
        well.sum(axis=1), (count - well).sum(axis=1), count[:, 0], (permutations, BINS)
    )
    lucky = np.stack([of_first, well.sum(axis=1) - of_first], axis=-1)
    shares, apart = _shares(well, count)
    return Calibration(shares, float(apart), _shares(lucky, count)[1])


def _shares(well: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, Any]:
    """Shares of the stays that ended well, and the mean difference over thirds with both groups."""
    shares = np.where(count > 0, well / np.maximum(count, 1), np.nan)
    both = np.all(count > 0, axis=1)
    if not both.any():
        return shares, np.zeros(shares.shape[:-2])
    return shares, np.abs(shares[..., both, 0] - shares[..., both, 1]).mean(axis=-1)
