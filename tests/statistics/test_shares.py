"""Intervals of zeros and ones: scipy's, published ones, and what holds by symmetry."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from fairgym.core import FairgymError
from fairgym.statistics import (
    crossed_interval,
    share_difference,
    share_interval,
)

NAN = math.nan
Z = stats.norm.ppf(0.975)


def ones(count: int, number: int) -> np.ndarray:
    return (np.arange(number) < count).astype(float)


def pairs(both: int, ours: int, theirs: int, neither: int) -> tuple[np.ndarray, np.ndarray]:
    """Episodes with a one of both, of ours alone, of theirs alone, and of neither."""
    return (
        np.repeat([1.0, 1.0, 0.0, 0.0], [both, ours, theirs, neither]),
        np.repeat([1.0, 0.0, 1.0, 0.0], [both, ours, theirs, neither]),
    )


@pytest.mark.parametrize("number", [1, 2, 16, 33])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_a_share_has_scipys_interval(number, level):
    for count in range(number + 1):
        expected = stats.binomtest(count, number).proportion_ci(level, method="exact")
        found = share_interval(ones(count, number), level)
        assert found == pytest.approx((count / number, *expected), abs=1e-12)
        assert 0.0 <= found[1] <= found[0] <= found[2] <= 1.0


@pytest.mark.parametrize(
    ("count", "number", "low", "high"),
    [
        (81, 263, 0.2527, 0.3676),
        (15, 148, 0.0578, 0.1617),
        (0, 20, 0, 0.1684),
        (1, 29, 0.0009, 0.1776),
    ],
)
def test_newcombes_examples_of_a_share(count, number, low, high):
    """Newcombe 1998, Statistics in Medicine 17:857, table I, method 5."""
    assert share_interval(ones(count, number))[1:] == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("table", "low", "high"),
    [
        ((20, 12, 2, 16), 0.0562, 0.3292),
        ((36, 12, 2, 0), 0.0569, 0.3404),
        ((54, 0, 0, 0), -0.0664, 0.0664),
    ],
)
def test_newcombes_examples_of_a_difference(table, low, high):
    """Newcombe 1998, Statistics in Medicine 17:2635, method 10."""
    assert share_difference(*pairs(*table))[1:] == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("table", "low", "high"),
    [((1, 1, 7, 12), -0.507, -0.026), ((14, 5, 0, 22), 0.011, 0.226)],
)
def test_textbook_examples_of_a_difference(table, low, high):
    """Fagerland, Lydersen and Laake 2014, and Altman et al. 2000, Statistics with Confidence."""
    assert share_difference(*pairs(*table))[1:] == pytest.approx((low, high), abs=6e-4)


def test_every_table_of_six_episodes_by_the_published_formula():
    def wilson(count, number):
        return stats.binomtest(count, number).proportion_ci(0.95, method="wilson")

    for table in itertools.product(range(7), repeat=4):
        if sum(table) != 6:
            continue
        a, b, c, d = table
        p, q = (a + b) / 6, (a + c) / 6
        (low, high), (their_low, their_high) = wilson(a + b, 6), wilson(a + c, 6)
        top = a * d - b * c
        if top > 0:
            top = max(top - 3.0, 0.0)
        bottom = (a + b) * (c + d) * (a + c) * (b + d)
        phi = top / math.sqrt(bottom) if bottom else 0.0
        one, two, three, four = p - low, their_high - q, high - p, q - their_low
        below = math.sqrt(one**2 - 2 * phi * one * two + two**2)
        above = math.sqrt(three**2 - 2 * phi * three * four + four**2)
        found = share_difference(*pairs(*table))
        assert found == pytest.approx((p - q, p - q - below, p - q + above), abs=1e-12)
        assert -1.0 <= found[1] <= found[0] <= found[2] <= 1.0
        back = share_difference(*pairs(a, c, b, d))
        assert back == pytest.approx((q - p, -found[2], -found[1]), abs=1e-12)
        complement = share_difference(*pairs(d, c, b, a))
        assert complement == pytest.approx(back, abs=1e-12)


def test_all_against_none_is_no_point():
    mean, low, high = share_difference([1.0] * 32, [0.0] * 32)
    assert (mean, high) == (1.0, 1.0) and 0.8 < low < 0.9
    (mean, low, high) = share_difference([0.0] * 32, [0.0] * 32)
    assert mean == 0.0 and low == -high and 0.1 < high < 0.2


# ---------------------------------------------------------------- several seeds


def test_a_share_of_several_seeds_has_the_variance_of_the_crossed_layout():
    rng = np.random.default_rng(0)
    for seeds, episodes in ((2, 9), (3, 16), (8, 5)):
        table = (rng.random((seeds, episodes)) < rng.random((1, episodes))).astype(float)
        share, low, _ = crossed_interval(table)
        t = stats.t.ppf(0.975, min(seeds, episodes) - 1)
        number = min(Z**2 * share * (1 - share) / (share - low) ** 2, table.size * (Z / t) ** 2)
        ones = share * number
        low = stats.beta.ppf(0.025, ones, number - ones + 1)
        high = stats.beta.ppf(0.975, ones + 1, number - ones)
        assert share_interval(table) == pytest.approx((share, low, high))


def test_seeds_that_are_all_alike_are_as_one():
    for number in (4, 32):
        assert share_interval(np.ones((5, number))) == share_interval(np.ones(number))
    wide, narrow = share_interval(np.ones((2, 32))), share_interval(np.ones(32))
    assert wide[1] < narrow[1]  # two seeds say little of others
    assert share_interval(np.ones((3, 1))) == share_interval([1.0])
    assert 0.8 < share_difference(np.ones((5, 32)), np.zeros(32))[1] < 0.9


def test_the_pairing_narrows_the_difference_of_seeds():
    rng = np.random.default_rng(1)
    luck = rng.random(24)
    ours = (luck < 0.6 + 0.05 * rng.normal(size=(4, 24))).astype(float)
    theirs = (luck < 0.4 + 0.05 * rng.normal(size=(3, 24))).astype(float)
    paired = share_difference(ours, theirs)
    shuffled = share_difference(ours, theirs[:, rng.permutation(24)])
    assert paired[0] == pytest.approx(shuffled[0]) == pytest.approx(ours.mean() - theirs.mean())
    assert paired[2] - paired[1] < shuffled[2] - shuffled[1]
    alone = share_difference(ours[0], theirs[0])
    assert share_difference(ours[:1], theirs[0]) == alone


def test_what_is_undefined_is_left_out():
    assert share_interval([1.0, NAN, 0.0, 1.0]) == share_interval([1.0, 0.0, 1.0])
    assert all(math.isnan(x) for x in share_interval([NAN]))
    assert all(math.isnan(x) for x in share_interval([]))
    found = share_difference([1.0, NAN, 0.0, 1.0], [1.0, 1.0, 1.0, NAN])
    assert found == share_difference([1.0, 0.0], [1.0, 1.0])
    assert all(math.isnan(x) for x in share_difference([NAN], [1.0]))
    with pytest.raises(FairgymError, match="ours has 1 episodes and theirs 2"):
        share_difference([1.0], [1.0, 0.0])


@pytest.mark.parametrize("true", [0.05, 0.4])
@pytest.mark.parametrize("together", [0.0, 0.5, 1.0])
def test_shares_of_seeds_hold_the_true_one(true, together):
    """In some of the episodes the seeds have the same luck, in the others their own."""
    rng = np.random.default_rng(2)
    shared, own = rng.random((500, 1, 24)), rng.random((500, 3, 24))
    luck = np.where(rng.random((500, 1, 24)) < together, shared, own)
    held = [low <= true <= high for _, low, high in map(share_interval, luck < true)]
    assert np.mean(held) > 0.92
