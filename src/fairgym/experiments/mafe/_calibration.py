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
from fairgym.experiments import _parts as ex
from fairgym.results.labels import title, words

BINS = 3  # of equally many people
DECILES = 10
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
        gap: Mean difference of the first group's shares from the second's, over the thirds with
            both groups; 0 if there is none.
        difference: The same of the absolute differences.
        null: Null distribution of `difference`, with group labels permuted over the stays of each
            third, shape (permutations,).
        deciles: The shares by decile of the scores instead, shape (10, groups).
        scores: Mean score of these stays, shape (10, groups).
    """

    shares: np.ndarray
    gap: float
    difference: float
    null: np.ndarray
    deciles: np.ndarray
    scores: np.ndarray


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
    ones = np.ones(good.shape, np.int64)
    count, well = (_sums(x, stays, BINS) for x in (ones, good.astype(np.int64)))
    rng = np.random.default_rng(seed)
    of_first = rng.hypergeometric(
        well.sum(axis=1), (count - well).sum(axis=1), count[:, 0], (permutations, BINS)
    )
    permuted = np.stack([of_first, well.sum(axis=1) - of_first], axis=-1)
    apart = _gaps(well, count)
    in_tenths, good_in_tenths, scores = (
        _sums(x, stays, DECILES) for x in (ones, good, stays.score)
    )
    return Calibration(
        _shares(well, count),
        float(apart.mean()),
        float(np.abs(apart).mean()),
        np.abs(_gaps(permuted, count)).mean(axis=-1),
        _shares(good_in_tenths, in_tenths),
        _shares(scores, in_tenths),
    )


def _sums(values: np.ndarray, stays: Spells, bins: int) -> np.ndarray:
    """Return the sum of the values of stays by quantile of the scores and group, (bins, groups)."""
    cuts = np.quantile(stays.score, np.arange(1, bins) / bins) if stays.score.size else np.zeros(0)
    place = np.searchsorted(cuts, stays.score, side="right")
    return np.array(
        [[np.sum(values[(place == b) & (stays.group == g)]) for g in (0, 1)] for b in range(bins)]
    )


def _shares(well: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return sums divided by counts; NaN where nobody counts."""
    return np.where(count > 0, well / np.maximum(count, 1), np.nan)


def _gaps(well: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return the differences between the groups' shares in bins with both; 0 if there is none."""
    shares, both = _shares(well, count), np.all(count > 0, axis=1)
    if not both.any():
        return np.zeros((*shares.shape[:-2], 1))
    return np.asarray(shares[..., both, 0] - shares[..., both, 1])


def thirds_table(name: str, one: Mapping[str, PyTree]) -> ex.Table:
    """Return shares of good outcomes by third of the scores, a row per setting.

    Args:
        name: Name of the environment.
        one: Its numbers, as `MafeGroups.measure` returns them.
    """
    groups = [words(group) for group in one["groups"]]
    thirds = [
        f"{third} third, {group}" for third in ("lowest", "middle", "highest") for group in groups
    ]
    signed = f"{groups[0]} minus {groups[1]}"
    found = {}
    for setting, own in one["settings"].items():
        shares = own["shares"].reshape(len(own["shares"]), -1).T
        found[setting] = {
            **dict(zip(thirds, map(_known, shares), strict=True)),
            signed: own["gap"],
            "difference": own["difference"],
            f"difference{ex.NULL_MEAN}": own["difference, null"],
        }
    system = SYSTEMS[name]
    return ex.columns_table(
        ["setting", *thirds, signed, "difference", "null mean"],
        found,
        f"**{title(name)}**, calibration within groups: share of the people who have"
        f" {system.outcome}, by third of the {words(system.score)} with which they entered; the"
        " mean over the thirds of the signed gap, and of its size. “Null mean” is that of the size,"
        " with the group labels permuted within the thirds: mean and 95% interval over the"
        " permutations.",
    )


def deciles_table(name: str, one: Mapping[str, PyTree]) -> ex.Table:
    """Return score and share of good outcomes by decile of the scores and group.

    Args:
        name: Name of the environment.
        one: Its numbers, as `MafeGroups.measure` returns them; of the first setting.
    """
    setting, own = next(iter(one["settings"].items()))
    system = SYSTEMS[name]
    head, columns = ["decile"], []
    for code, group in enumerate(one["groups"]):
        for what, values in (
            (words(system.score), own["scores"]),
            (system.outcome, own["deciles"]),
        ):
            head.append(f"{words(group)}, {what}")
            columns.append(values[:, :, code])
    rows = [
        [f"{tenth + 1}", *(ex.iqm_text(_known(column[:, tenth])) for column in columns)]
        for tenth in range(DECILES)
    ]
    return ex.Table(
        head,
        rows,
        f"**{title(name)}**, calibration by decile, {setting}: mean {words(system.score)} with"
        f" which people entered, and share of them who have {system.outcome}. In a calibrated score"
        " the shares of both groups are equal in every row.",
    )


def _known(values: np.ndarray) -> np.ndarray:
    return values[~np.isnan(values)]
