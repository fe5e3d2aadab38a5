"""Simulated episodes with known gaps between groups, and how often statistics are correct."""

import dataclasses
import math
from collections.abc import Iterator

import numpy as np

from fairgym.statistics import (
    Gap,
    gap_differences,
    gap_test,
    largest_gap,
    share_difference,
    share_interval,
    systematic_gaps,
)

EPISODES = 16
# p <= .05 then has probability .05, except for ties, which are common with two small groups.
PERMUTATIONS, MORE_PERMUTATIONS = 39, 199
SMALLEST, LARGEST = 60, 2_000  # people in a group
SIZES = ("60 each", "60 to 2,000", "1 each")
# Largest variation by each random source, as a share of the rate.
UNEVEN = 0.2
RESAMPLES = 500


@dataclasses.dataclass(frozen=True)
class Case:
    """Groups with their sizes and rates, and a number of seeds.

    Attributes:
        groups: Number of groups.
        sizes: One of `SIZES`. Sizes grow geometrically from the smallest to the largest group.
        rate: Rate of all people together.
        seeds: Number of seeds, whose policies are measured in the same episodes.
        gap: Gap between the first group and the others. Its unit is the standard deviation of the
            difference between the first two groups in one episode with permuted groups.
    """

    groups: int
    sizes: str
    rate: float
    seeds: int = 1
    gap: float = 0.0

    @property
    def people(self) -> np.ndarray:
        """Number of people in each group."""
        if self.sizes != SIZES[1]:
            return np.full(self.groups, SMALLEST if self.sizes == SIZES[0] else 1)
        return np.rint(np.geomspace(SMALLEST, LARGEST, self.groups)).astype(int)

    @property
    def rates(self) -> np.ndarray:
        """Expected rate of each group."""
        spread = np.sqrt(self.rate * (1.0 - self.rate) * np.sum(1.0 / self.people[:2]))
        first = np.arange(self.groups) == 0
        return self.rate + self.gap * spread * (first - self.people[0] / self.people.sum())

    @property
    def words(self) -> str:
        """The case in words, for checks."""
        seeds = "1 seed" if self.seeds == 1 else f"{self.seeds} seeds"
        gap = f", gap {self.gap:+g} sd" if self.gap else ""
        if self.sizes == SIZES[2]:
            return f"share {self.rate:g}, {seeds}"
        return f"{self.groups} groups of {self.sizes}, rate {self.rate:g}, {seeds}{gap}"


def counts(
    rng: np.random.Generator, case: Case, replicates: int, *, null: bool, policies: int = 1
) -> np.ndarray:
    """Return how many people of each group have the outcome.

    Each person has a random number, the same for all seeds, and has the outcome if a seed's
    probability is above it. The probability is the group's rate (or 1 - rate, if smaller) times
    1 + 0.2 (a + b + c + d + e). The five numbers are uniform between -1 and 1, for the episode,
    for group and episode, for the seed, for group and seed (if there are several seeds), and for
    all three.

    Args:
        rng: Random number generator.
        case: The case.
        replicates: Number of replicates.
        null: Whether all groups share the random variation, so that the permutation null is true.
        policies: Number of policies, each with its own seeds, in the same episodes.

    Returns:
        Shape (replicates, policies x seeds, episodes, groups).
    """
    several, groups = policies * case.seeds, 1 if null else case.groups

    def variation(seeds: int, episodes: int, groups: int) -> np.ndarray:
        return UNEVEN * rng.uniform(-1.0, 1.0, (replicates, seeds, episodes, groups))

    factor = 1.0 + variation(1, EPISODES, 1) + variation(several, EPISODES, groups)
    if not null:
        factor = factor + variation(1, EPISODES, groups)
    if case.seeds > 1:  # a single seed is taken as given
        factor = factor + variation(several, 1, 1)
        factor = factor + (0.0 if null else variation(several, 1, groups))
    small = case.rates if case.rate <= 0.5 else 1.0 - case.rates
    chance = np.minimum(small * factor, 1.0)
    order = np.argsort(chance, axis=1)
    ascending = np.take_along_axis(chance, order, axis=1)
    found, last, before = np.empty_like(chance), 0, 0.0
    for place in range(several):
        more = (ascending[:, place] - before) / (1.0 - before)
        last = last + rng.binomial(case.people - last, np.clip(more, 0.0, 1.0))
        found[:, place], before = last, ascending[:, place]
    return np.take_along_axis(found, np.argsort(order, axis=1), axis=1)


def permuted_counts(
    rng: np.random.Generator, case: Case, found: np.ndarray, permutations: int
) -> np.ndarray:
    """Return counts with group labels permuted within each episode, equally for all seeds.

    Args:
        rng: Random number generator.
        case: The case.
        found: Counts (replicates, seeds, episodes, groups) with nested outcomes: people with the
            outcome under a lower count also have it under a higher count.
        permutations: Number of permutations of each episode.

    Returns:
        Shape (replicates, seeds, episodes, permutations, groups).
    """
    totals = found.sum(axis=-1).astype(int)
    order = np.argsort(totals, axis=1)
    ascending = np.take_along_axis(totals, order, axis=1)
    shape = (*totals.shape[:1], *totals.shape[2:], permutations)
    # people who first have the outcome under each seed, and people who never have it
    bins = np.diff(ascending, axis=1, prepend=0, append=case.people.sum())
    left = [np.broadcast_to(bins[:, place, :, None], shape) for place in range(bins.shape[1])]
    drawn = np.empty((len(totals), totals.shape[1], *shape[1:], case.groups))
    for group, people in enumerate(case.people):
        open_places, others, inside = np.full(shape, people), sum(left), 0
        for place in range(totals.shape[1]):
            others = others - left[place]
            taken = rng.hypergeometric(left[place], others, open_places)
            left[place], open_places = left[place] - taken, open_places - taken
            inside = inside + taken
            drawn[:, place, ..., group] = inside
        left[-1] = left[-1] - open_places
    back = np.argsort(order, axis=1)[..., None, None]
    return np.take_along_axis(drawn, back, axis=1)


def covered(rng: np.random.Generator, case: Case, replicates: int) -> dict[str, np.ndarray]:
    """Return in which replicates the intervals contain the true values.

    Returns:
        "gaps" (all pairs at once), "largest" (the largest gap), "differences" (all differences
        between two policies' gaps), each of shape (replicates,).
    """
    found = counts(rng, case, replicates, null=False, policies=2) / case.people
    found = found if case.rate <= 0.5 else 1.0 - found
    truth = case.rates[:, None] - case.rates
    largest = np.abs(truth).max()
    held: dict[str, list[bool]] = {"gaps": [], "largest": [], "differences": []}
    for both in found:
        rates, others = both[: case.seeds], both[case.seeds :]
        gaps = systematic_gaps(rates)
        held["gaps"].append(all(_holds(gap, truth[gap.first, gap.second]) for gap in gaps))
        _, low, high = largest_gap(gaps)
        held["largest"].append(bool(low <= largest <= high))
        held["differences"].append(all(_holds(gap, 0.0) for gap in gap_differences(rates, others)))
    return {name: np.array(values) for name, values in held.items()}


def rejected(
    rng: np.random.Generator, case: Case, replicates: int, *, null: bool = True
) -> dict[str, np.ndarray]:
    """Return in which replicates a gap is found.

    Args:
        rng: Random number generator.
        case: The case.
        replicates: Number of replicates.
        null: Whether all groups share the random variation; if not, the case has one seed.

    Returns:
        "test" (the permutation test has p <= .05) and "interval" (an interval excludes 0), each of
        shape (replicates,).
    """
    held: dict[str, list[bool]] = {"test": [], "interval": []}
    more = case.gap != 0.0 or case.groups == 2
    permutations = MORE_PERMUTATIONS if more else PERMUTATIONS
    for part in _parts(replicates, case, permutations):
        found = counts(rng, case, part, null=null)
        drawn = permuted_counts(rng, case, found, permutations) / case.people
        for rates, others in zip(found / case.people, drawn, strict=True):
            held["test"].append(gap_test(rates, others).p <= 0.05 + 1e-9)
            held["interval"].append(any(gap.clear for gap in systematic_gaps(rates)))
    return {name: np.array(values) for name, values in held.items()}


def largest_covered(rng: np.random.Generator, case: Case, replicates: int) -> dict[str, np.ndarray]:
    """Return in which replicates the intervals "largest" and "bootstrap" contain the largest gap.

    The percentile bootstrap resamples episodes. The ends of its 95% interval are quantiles of the
    resampled largest gap between group means.
    """
    simultaneous = covered(rng, case, replicates)["largest"]
    found = counts(rng, case, replicates, null=False)[:, 0] / case.people
    weights = rng.multinomial(EPISODES, np.full(EPISODES, 1.0 / EPISODES), RESAMPLES) / EPISODES
    means = np.einsum("be,rek->rbk", weights, found)
    low, high = np.quantile(np.ptp(means, axis=-1), [0.025, 0.975], axis=-1)
    truth = np.ptp(case.rates)
    return {"bootstrap": (low <= truth) & (truth <= high), "largest": simultaneous}


def share_coverage(episodes: int) -> np.ndarray:
    """Return the exact coverage of the interval of a share, for true shares of .01 to .99."""
    shares = np.arange(1, 100) / 100.0
    ones = np.arange(episodes + 1)
    ends = np.array([share_interval(np.arange(episodes) < count)[1:] for count in ones])
    choices = np.array([math.comb(episodes, count) for count in ones], float)
    chance = choices * shares[:, None] ** ones * (1.0 - shares[:, None]) ** (episodes - ones)
    inside = (ends[:, 0] <= shares[:, None]) & (shares[:, None] <= ends[:, 1])
    return np.sum(chance * inside, axis=1)


def shares_covered(rng: np.random.Generator, case: Case, replicates: int) -> dict[str, np.ndarray]:
    """Return in which replicates intervals of zeros and ones contain the true values.

    Args:
        rng: Random number generator.
        case: Case of single people, whose rate is the share of ones.
        replicates: Number of replicates.

    Returns:
        "share"; "difference" of two policies with that share in the same episodes; "half", the
        difference from a policy with a share of .5 and independent random numbers.
    """
    found = counts(rng, case, replicates, null=False, policies=2)[..., 0]
    halves = counts(rng, dataclasses.replace(case, rate=0.5), replicates, null=False)[..., 0]
    held: dict[str, list[bool]] = {"share": [], "difference": [], "half": []}
    for both, half in zip(found, halves, strict=True):
        ours, theirs = both[: case.seeds], both[case.seeds :]
        for name, (_, low, high), truth in (
            ("share", share_interval(ours), case.rate),
            ("difference", share_difference(ours, theirs), 0.0),
            ("half", share_difference(ours, half), case.rate - 0.5),
        ):
            held[name].append(bool(low <= truth <= high))
    return {name: np.array(values) for name, values in held.items()}


def _holds(gap: Gap, truth: float) -> bool:
    return bool(gap.low <= truth <= gap.high)


def _parts(replicates: int, case: Case, permutations: int) -> Iterator[int]:
    """Split replicates into parts whose permutations need a few hundred megabytes."""
    most = max(1, 100_000 // (case.groups * case.seeds * permutations))
    while replicates > 0:
        yield min(most, replicates)
        replicates -= most
