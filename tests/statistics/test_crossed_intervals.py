"""Intervals for the luck of seeds and episodes together: coverage by simulation, and by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from fairgym.core import FairgymError
from fairgym.statistics import crossed_interval, mean_interval, paired_interval

TRUE = 3.0
REPLICATES = 400
# three standard errors of a share of 0.95 in so many replicates
SLACK = 3.0 * math.sqrt(0.95 * 0.05 / REPLICATES)


def tables(rng: np.random.Generator, shape: tuple[int, int], spread: tuple[float, float, float]):
    """Replicates of TRUE + seed + episode + rest with these standard deviations."""
    seeds, episodes = shape
    return (
        TRUE
        + spread[0] * rng.normal(size=(REPLICATES, seeds, 1))
        + spread[1] * rng.normal(size=(REPLICATES, 1, episodes))
        + spread[2] * rng.normal(size=(REPLICATES, seeds, episodes))
    )


def share_inside(intervals: list[tuple[float, float, float]], true: float) -> float:
    return float(np.mean([low <= true <= high for _, low, high in intervals]))


@pytest.mark.parametrize("shape", [(2, 16), (3, 4), (12, 8)])
@pytest.mark.parametrize(
    ("spread", "exact"),
    [
        ((0.0, 1.0, 0.2), False),
        ((0.0, 1.0, 0.0), True),  # every seed the same policy
        ((1.0, 0.0, 0.2), True),
        ((1.0, 1.0, 0.5), False),
        ((0.2, 1.0, 0.5), False),
        ((0.0, 0.0, 1.0), False),
    ],
)
def test_intervals_hold_the_mean_as_often_as_they_say(shape, spread, exact):
    rng = np.random.default_rng(7)
    found = [crossed_interval(table) for table in tables(rng, shape, spread)]
    share = share_inside(found, TRUE)
    assert share > 0.95 - SLACK
    assert share < (0.95 + SLACK if exact else 1.0)


def test_seeds_alone_would_promise_too_much():
    """What this replaces: three seeds that learn much the same, eight in nine times wrong."""
    rng = np.random.default_rng(7)
    found = [mean_interval(t.mean(axis=1)) for t in tables(rng, (3, 16), (0.02, 1.0, 0.02))]
    assert share_inside(found, TRUE) < 0.2


def test_with_one_source_of_luck_it_is_the_interval_of_that_source():
    rng = np.random.default_rng(1)
    episodes = rng.normal(size=9)
    same = crossed_interval(np.tile(episodes, (4, 1)))
    assert same == pytest.approx(mean_interval(episodes))
    seeds = rng.normal(size=4)
    assert crossed_interval(np.tile(seeds[:, None], (1, 9))) == pytest.approx(mean_interval(seeds))
    assert crossed_interval(episodes) == crossed_interval([episodes]) == mean_interval(episodes)


def test_it_is_never_narrower_than_seeds_or_episodes_alone():
    rng = np.random.default_rng(2)
    for table in tables(rng, (3, 5), (0.0, 0.0, 1.0))[:200]:
        _, low, high = crossed_interval(table)
        for alone in (mean_interval(table.mean(axis=0)), mean_interval(table.mean(axis=1))):
            assert high - low >= (alone[2] - alone[1]) * (1 - 1e-12)


def test_mean_squares_by_hand():
    """Two seeds, three episodes: MS_seed 6, MS_episode 4, MS_rest 0.5 by the textbook's sums."""
    table = np.array([[1.0, 3.0, 5.0], [3.0, 6.0, 6.0]])
    grand = 4.0
    rows, columns = table.mean(axis=1), table.mean(axis=0)
    ms_seed = 3 * np.sum((rows - grand) ** 2) / 1
    ms_episode = 2 * np.sum((columns - grand) ** 2) / 2
    rest = table - rows[:, None] - columns[None, :] + grand
    ms_rest = np.sum(rest**2) / 2
    t_seed, t_episode = stats.t.ppf(0.975, [1, 2])
    half = math.sqrt((t_seed**2 * ms_seed + t_episode**2 * (ms_episode - ms_rest)) / 6)
    assert crossed_interval(table) == pytest.approx((grand, grand - half, grand + half))


def test_what_is_undefined_is_left_out():
    nan = math.nan
    alone = crossed_interval([[1.0, nan, 3.0], [nan, nan, nan]])
    assert alone == mean_interval([1.0, 3.0])
    mean, low, high = crossed_interval([[1.0, 2.0, nan], [3.0, 4.0, 8.0]])
    assert mean == pytest.approx((1.5 + 5.0) / 2)  # of the seeds' means
    seeds = stats.t.ppf(0.975, 1) ** 2 * np.var([1.5, 5.0], ddof=1) / 2
    episodes = stats.t.ppf(0.975, 2) ** 2 * np.var([2.0, 3.0, 8.0], ddof=1) / 3
    assert high - mean == pytest.approx(math.sqrt(seeds + episodes)) == mean - low
    for nothing in ([], [nan], [[nan, nan], [nan, nan]]):
        assert all(math.isnan(x) for x in crossed_interval(nothing))
    mean, low, high = crossed_interval([[1.0], [3.0]])  # one episode says nothing of luck
    assert mean == 2.0 and math.isnan(low) and math.isnan(high)


# ---------------------------------------------------------------- differences


def test_the_difference_of_two_fixed_policies_is_that_of_their_episodes():
    rng = np.random.default_rng(3)
    luck = 100.0 * rng.normal(size=20)
    ours, theirs = luck + 1.0 + 0.1 * rng.normal(size=20), luck
    assert paired_interval(ours, theirs) == pytest.approx(mean_interval(ours - theirs))
    mean, low, high = paired_interval(ours, theirs)
    assert low > 0.0 and high - low < 0.2  # though the intervals of the two overlap by far
    back = paired_interval(theirs, ours)
    assert back == pytest.approx((-mean, -high, -low))


def test_several_seeds_beside_a_fixed_policy_are_a_table_of_differences():
    rng = np.random.default_rng(4)
    ours, theirs = rng.normal(size=(3, 8)), rng.normal(size=8)
    assert paired_interval(ours, theirs) == pytest.approx(crossed_interval(ours - theirs))
    assert paired_interval(ours, [theirs]) == paired_interval(ours, theirs)


def test_the_difference_of_two_sides_with_seeds_by_hand():
    """The rest of the layout counts once: it is in the seeds' variances and in the episodes'."""
    ours = np.array([[1.0, 3.0, 5.0, 2.0], [3.0, 6.0, 6.0, 1.0]])
    theirs = np.array([[0.0, 1.0, 4.0, 3.0], [1.0, 1.0, 3.0, 1.0], [2.0, 2.0, 0.0, 0.0]])

    def rest(table):
        rows, columns = table.mean(axis=1, keepdims=True), table.mean(axis=0)
        left = np.sum((table - rows - columns + table.mean()) ** 2)
        return left / (len(table) - 1) / 3 / table.size

    gaps = ours.mean(axis=0) - theirs.mean(axis=0)
    seeds = stats.t.ppf(0.975, 1) ** 2 * np.var(ours.mean(axis=1), ddof=1) / 2
    seeds += stats.t.ppf(0.975, 2) ** 2 * np.var(theirs.mean(axis=1), ddof=1) / 3
    luck = np.var(gaps, ddof=1) / 4 - rest(ours) - rest(theirs)
    assert luck > 0, "else the test does not see what is taken off"
    half = math.sqrt(seeds + stats.t.ppf(0.975, 3) ** 2 * luck)
    expected = (gaps.mean(), gaps.mean() - half, gaps.mean() + half)
    assert paired_interval(ours, theirs) == pytest.approx(expected)


@pytest.mark.parametrize(("first", "second"), [(3, 3), (2, 5), (4, 1), (1, 1)])
@pytest.mark.parametrize(
    ("spread", "theirs_spread", "shared"),
    [((0.5, 0.3, 0.5), (0.2, 0.3, 0.2), 5.0), ((0.0, 0.5, 0.1), (0.0, 0.0, 0.0), 5.0)],
)
def test_differences_hold_the_true_one_as_often_as_they_say(
    first, second, spread, theirs_spread, shared
):
    """Both have their own seeds, the episodes' luck is shared; one seed is taken as given."""
    rng = np.random.default_rng(5)
    if first == 1:
        spread = (0.0, *spread[1:])
    if second == 1:
        theirs_spread = (0.0, *theirs_spread[1:])
    luck = shared * rng.normal(size=(REPLICATES, 1, 12))
    ours = tables(rng, (first, 12), spread) + luck + 1.0
    theirs = tables(rng, (second, 12), theirs_spread) + luck
    found = [paired_interval(*pair) for pair in zip(ours, theirs, strict=True)]
    assert share_inside(found, 1.0) > 0.95 - SLACK
    widths = [high - low for _, low, high in found]
    alone = [crossed_interval(table) for table in ours]
    assert np.median(widths) < np.median([high - low for _, low, high in alone])


def test_only_episodes_that_are_defined_everywhere_are_paired():
    nan = math.nan
    ours, theirs = [[1.0, 2.0, nan, 4.0], [2.0, 3.0, 9.0, 6.0]], [0.0, nan, 1.0, 2.0]
    expected = crossed_interval([[1.0, 2.0], [2.0, 4.0]])
    assert paired_interval(ours, theirs) == pytest.approx(expected)
    assert all(math.isnan(x) for x in paired_interval([nan, 1.0], [1.0, nan]))
    mean, low, _ = paired_interval([nan, 1.0], [1.0, 0.0])
    assert mean == 1.0 and math.isnan(low)


def test_episodes_must_line_up():
    with pytest.raises(FairgymError, match="ours has 3 episodes and theirs 2"):
        paired_interval([1.0, 2.0, 3.0], [1.0, 2.0])
    with pytest.raises(FairgymError, match="values has seeds with 1 and 2 episodes"):
        crossed_interval([[1.0], [1.0, 2.0]])
