"""How long people wait: against a product-limit estimate made spell by spell, and by hand."""

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
from scipy.stats import CensoredData, ecdf

from fairgym.statistics.survival import (
    FEW,
    common_end,
    left_after,
    quantile,
    still_waiting,
    wait_ages,
)


@dataclasses.dataclass(frozen=True)
class Spell:
    """One wait of an episode: from `start`, which may lie before it, for `steps` steps."""

    episode: int
    start: int
    steps: int

    def entry(self) -> int:
        """Steps waited when the wait is first seen."""
        return max(0, -self.start)

    def followed(self, length: int) -> tuple[int, bool]:
        """Steps waited when it ends or the episode does, and whether the wait ended."""
        ends = self.start + self.steps <= length
        return (self.steps if ends else length - self.start), ends


def spells(rng, lengths: Sequence[int], count: int, earliest: int = 0) -> list[Spell]:
    """Waits that begin at any time and last for a few steps or for long."""
    found = []
    for episode, length in enumerate(lengths):
        for _ in range(count):
            steps = int(rng.choice([rng.integers(1, 5), rng.integers(5, 60)]))
            one = Spell(episode, int(rng.integers(earliest, length + 1)), steps)
            if one.start + one.steps > 0:  # it is seen
                found.append(one)
    return found


def counted(waits: Sequence[Spell], lengths: Sequence[int], horizon: int) -> np.ndarray:
    """How many have waited for just so long at each step, as `still_waiting` takes it."""
    ages = list(wait_ages(horizon))
    reached = np.zeros((len(lengths), horizon + 1, len(ages)))
    for wait in waits:
        for time in range(lengths[wait.episode] + 1):
            age = time - wait.start
            if 0 <= age < wait.steps and age in ages:
                reached[wait.episode, time, ages.index(age)] += 1
    return reached


def product_limit(waits: Sequence[Spell], lengths: Sequence[int], last: int) -> list[float]:
    """The share left at 0 to `last`, spell by spell: who is at risk of an end, and who ends."""
    left = [1.0]
    for age in range(1, last + 1):
        at_risk = ended = 0
        for wait in waits:
            until, ends = wait.followed(lengths[wait.episode])
            if wait.entry() < age <= until:
                at_risk += 1
                ended += ends and until == age
        left.append(left[-1] * (1.0 - ended / at_risk))
    return left


LENGTHS = [10, 10, 7, 4, 10]  # of episodes of at most ten steps, two of which end early


def test_unit_ages_are_the_product_limit_estimate_of_scipy():
    waits = spells(np.random.default_rng(0), LENGTHS, 400)
    ages, left = still_waiting([(counted(waits, LENGTHS, 10), np.array(LENGTHS))])
    followed = [wait.followed(LENGTHS[wait.episode]) for wait in waits]
    times, ends = (np.array(each) for each in zip(*followed, strict=True))
    assert 0.2 < ends.mean() < 0.8
    expected = ecdf(CensoredData.right_censored(times, ~ends.astype(bool))).sf
    np.testing.assert_array_equal(ages, range(11))
    np.testing.assert_allclose(left, expected.evaluate(ages), rtol=1e-12)


def test_those_who_wait_already_count_from_the_next_age_on():
    waits = spells(np.random.default_rng(1), LENGTHS, 400, earliest=-9)
    assert sum(wait.entry() > 0 for wait in waits) > 300
    ages, left = still_waiting([(counted(waits, LENGTHS, 10), np.array(LENGTHS))])
    np.testing.assert_array_equal(ages, range(len(ages)))
    assert ages[-1] >= 9
    np.testing.assert_allclose(left, product_limit(waits, LENGTHS, ages[-1]), rtol=1e-12)


def test_wider_ages_are_shares_of_those_who_reach_the_age_in_time():
    lengths, horizon = [40, 40, 25], 40
    waits = spells(np.random.default_rng(2), lengths, 2000, earliest=-20)
    ages, left = still_waiting([(counted(waits, lengths, horizon), np.array(lengths))])
    assert list(wait_ages(horizon)) == [*range(11), 12, 14, 16, 19, 22, 26, 31, 37]
    assert ages[-1] > 20
    expected = [1.0]
    for age, following in itertools.pairwise(ages):
        seen = [
            wait
            for wait in waits
            if age >= wait.entry()
            and age < wait.steps
            and wait.start + following <= lengths[wait.episode]
        ]
        share = float(np.mean([wait.steps > following for wait in seen]))
        expected.append(expected[-1] * share)
    np.testing.assert_allclose(left, expected, rtol=1e-12)


def test_samples_are_pooled():
    waits = spells(np.random.default_rng(3), LENGTHS, 200)
    reached, lengths = counted(waits, LENGTHS, 10), np.array(LENGTHS)
    whole = still_waiting([(reached, lengths)])
    parts = still_waiting([(reached[:2], lengths[:2]), (reached[2:], lengths[2:])])
    np.testing.assert_array_equal(whole, parts)


def test_the_course_ends_where_few_are_left_to_be_seen():
    waits = [Spell(0, 0, 2)] * 30 + [Spell(0, 0, 6)] * (FEW - 1) + [Spell(0, 0, 3)]
    ages, left = still_waiting([(counted(waits, [10], 10), np.array([10]))])
    np.testing.assert_array_equal(ages, [0, 1, 2, 3])
    np.testing.assert_allclose(left, [1, 1, 20 / 50, 19 / 50])


def test_nobody_waits():
    course = still_waiting([(np.zeros((2, 11, 11)), np.array([10, 4]))])
    np.testing.assert_array_equal(course[0], [0])
    assert common_end([course]) == 0 and np.isnan(left_after(course, 1))
    assert quantile(course, 0.5) == (np.inf, np.inf)
    someone = still_waiting([(counted([Spell(0, 0, 11)] * FEW, [10], 10), np.array([10]))])
    assert common_end([course, someone]) == someone[0][-1] == 10
    assert common_end([]) == 0


def test_where_waits_are_counted_from_one_the_course_begins_there():
    waits = [Spell(0, -1, 3)] * 15 + [Spell(0, -1, 9)] * 15
    ages, left = still_waiting([(counted(waits, [6], 6), np.array([6]))])
    assert ages[0] == 1 and left[0] == 1.0
    np.testing.assert_allclose(left[ages >= 3], 0.5)


def test_a_share_is_reached_in_spite_of_rounding():
    """Just half of the waits have ended after ten steps, a product of ten ratios."""
    rng, horizon = np.random.default_rng(4), 10
    for half in rng.integers(FEW, 500, 50):
        waiting = np.zeros((1, horizon + 1, horizon + 1))
        ends = np.sort(rng.integers(half, 2 * half, horizon - 1))[::-1]
        for age, people in enumerate((2 * half, *ends, half)):
            waiting[0, age, age] = people
        course = still_waiting([(waiting, np.array([horizon]))])
        end = np.argmax(np.diag(waiting[0]) <= half) - 1  # last seen to wait the step before
        assert quantile(course, 0.5) == (end, end)


def test_quantiles_and_what_is_left():
    course = np.array([0, 1, 2, 3, 5]), np.array([1.0, 0.9, 0.7, 0.5, 0.3])
    found = [quantile(course, share) for share in (0.1, 0.25, 0.5, 0.6)]
    assert found == [(0, 0), (1, 1), (2, 2), (3, 4)], "who is last seen at an age waited as long"
    assert quantile(course, 0.75) == (np.inf, np.inf)
    assert left_after(course, 3) == 0.5 and left_after(course, 5) == 0.3
    assert np.isnan(left_after(course, 4)) and np.isnan(left_after(course, 6))
    shorter = np.array([1, 2, 3]), np.array([1.0, 0.4, 0.2])
    assert common_end([course, shorter]) == 3 and left_after(shorter, 3) == 0.2
