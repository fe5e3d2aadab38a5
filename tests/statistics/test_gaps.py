"""Signed gaps: closed forms, plain rewrites, relabelled groups, and coverage, size and power."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from fairgym.core import FairgymError
from fairgym.statistics import (
    Gap,
    crossed_interval,
    gap_differences,
    gap_test,
    largest_gap,
    mean_interval,
    paired_interval,
    systematic_gaps,
)

NAN = math.nan


def ends(gap: Gap) -> tuple[float, float, float]:
    return gap.mean, gap.low, gap.high


def even_rates(seed: int, groups: int, episodes: int = 12, seeds: int = 1) -> np.ndarray:
    """Rates whose episodes are not skewed: each deviation comes with its opposite."""
    half = np.random.default_rng(seed).normal(0.5, 0.05, (seeds, episodes // 2, groups))
    return np.concatenate([half, 1.0 - half], axis=1)


# ---------------------------------------------------------------- gaps


def test_two_groups_have_students_interval_of_their_differences():
    (rates,) = even_rates(0, 2)
    rates[:, 0] += 0.1
    (gap,) = systematic_gaps(rates)
    found = stats.ttest_1samp(rates[:, 0] - rates[:, 1], 0.0).confidence_interval(0.95)
    assert (gap.first, gap.second) == (0, 1)
    assert ends(gap) == pytest.approx((0.1, found.low, found.high))
    assert gap.clear == (found.low > 0.0 or found.high < 0.0)


@pytest.mark.parametrize(("groups", "seeds"), [(3, 1), (4, 3), (5, 2)])
def test_pairs_share_the_level(groups, seeds):
    rates = even_rates(1, groups, seeds=seeds)
    gaps = systematic_gaps(list(rates), level=0.9)
    pairs = list(itertools.combinations(range(groups), 2))
    assert [(gap.first, gap.second) for gap in gaps] == pairs
    for gap, (i, j) in zip(gaps, pairs, strict=True):
        expected = crossed_interval(rates[..., i] - rates[..., j], 1.0 - 0.1 / len(pairs))
        assert ends(gap) == pytest.approx(expected)


def test_relabelled_groups_turn_the_gaps():
    rates = np.random.default_rng(2).gamma(1.0, 0.1, (2, 9, 4))
    order = [2, 0, 3, 1]
    of_pair = {(gap.first, gap.second): gap for gap in systematic_gaps(rates)}
    for gap in systematic_gaps(rates[..., order]):
        i, j = order[gap.first], order[gap.second]
        if (i, j) in of_pair:
            assert ends(gap) == pytest.approx(ends(of_pair[i, j]))
        else:
            back = of_pair[j, i]
            assert ends(gap) == pytest.approx((-back.mean, -back.high, -back.low))


def test_an_undefined_rate_leaves_its_episode_out_of_its_pairs():
    rates = np.array([[0.1, 0.3, NAN], [0.2, 0.5, 0.6], [0.3, 0.4, 0.1], [0.2, 0.5, 0.5]])
    gaps = {(gap.first, gap.second): gap for gap in systematic_gaps(rates)}
    level = 1.0 - 0.05 / 3
    assert ends(gaps[0, 1]) == pytest.approx(mean_interval(rates[:, 0] - rates[:, 1], level))
    assert ends(gaps[0, 2]) == pytest.approx(mean_interval((rates[:, 0] - rates[:, 2])[1:], level))
    never = systematic_gaps([[0.1, NAN], [0.2, NAN]])
    assert all(math.isnan(x) for x in ends(never[0])) and not never[0].clear
    assert systematic_gaps([[0.5], [0.6]]) == ()


def test_the_end_on_the_side_of_a_long_tail_is_moved_by_halls_correction():
    rates = np.zeros((16, 2))
    rates[[3, 9], 0] = 0.05, 0.08
    (gap,) = systematic_gaps(rates)
    differences = rates[:, 0]
    mean, low, high = mean_interval(differences)
    skewness = stats.skew(differences)
    assert skewness > 2 * math.sqrt(6 * 14 / (17 * 19))
    t = stats.t.ppf(0.975, 15)
    shift = differences.std(ddof=1) * skewness * (2 * t**2 + 1) / (6 * 16)
    assert ends(gap) == pytest.approx((mean, low, high + shift))
    (back,) = systematic_gaps(rates[:, ::-1])
    assert ends(back) == pytest.approx((-mean, -high - shift, -low))
    for paired in (gap_differences(rates, 0 * rates), gap_differences([rates], [0 * rates] * 3)):
        assert ends(paired[0]) == pytest.approx(ends(gap))


def test_two_policies_are_compared_in_the_same_episodes():
    rng = np.random.default_rng(3)
    shared = rng.normal(0.0, 0.3, (20, 3))
    ours, theirs = (shared + 0.01 * even_rates(s, 3, 20)[0] for s in (4, 5))
    ours[:, 1] += 0.02
    theirs[7, 2] = NAN
    gaps = gap_differences(ours, theirs)
    for gap in gaps:
        i, j = gap.first, gap.second
        expected = paired_interval(
            ours[:, i] - ours[:, j], theirs[:, i] - theirs[:, j], 1.0 - 0.05 / 3
        )
        assert ends(gap) == pytest.approx(expected)
    assert gaps[0].clear and not any(gap.clear for gap in systematic_gaps(ours))


def test_the_largest_gap_is_that_of_the_simultaneous_intervals():
    gaps = [Gap(0, 1, 0.1, -0.1, 0.3), Gap(0, 2, -0.2, -0.35, -0.05), Gap(1, 2, 0.05, 0.02, 0.08)]
    assert largest_gap(gaps) == (0.2, 0.05, 0.35)
    assert largest_gap(gaps[:1]) == (0.1, 0.0, 0.3)
    assert all(math.isnan(x) for x in largest_gap([]))
    largest, low, high = largest_gap(systematic_gaps([[0.1, 0.3, 0.2]]))
    assert largest == pytest.approx(0.2) and math.isnan(low) and math.isnan(high)


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        (np.zeros(3), r"must be an array of 2 axes, .*, got the shape \(\)"),
        ([np.zeros((3, 2)), np.zeros((4, 2))], r"\(3, 2\) and \(4, 2\)"),
        ([], "none"),
    ],
)
def test_other_shapes_are_refused(rates, message):
    with pytest.raises(FairgymError, match=message):
        systematic_gaps(rates)


def test_two_policies_take_the_same_groups_and_episodes():
    with pytest.raises(FairgymError, match="rates has 2 groups and others 3"):
        gap_differences(np.zeros((4, 2)), np.zeros((4, 3)))
    with pytest.raises(FairgymError, match="ours has 4 episodes and theirs 5"):
        gap_differences(np.zeros((4, 2)), np.zeros((5, 2)))


# ---------------------------------------------------------------- the test


def plain_statistic(rates: np.ndarray) -> float:
    """Loops over seeds, episodes and groups, in the words of the definition."""
    seeds, episodes, groups = rates.shape
    of_groups = []
    for k in range(groups):
        of_seeds = []
        for s in range(seeds):
            deviations = []
            for e in range(episodes):
                known = [r for r in rates[s, e] if not math.isnan(r)]
                if len(known) >= 2 and not math.isnan(rates[s, e, k]):
                    deviations.append(rates[s, e, k] - sum(known) / len(known))
            if deviations:
                of_seeds.append(sum(deviations) / len(deviations))
        if of_seeds:
            of_groups.append(sum(of_seeds) / len(of_seeds))
    return float(np.std(of_groups)) if of_groups else NAN


@pytest.mark.parametrize(("seeds", "groups", "holes"), [(1, 2, 0), (1, 5, 0), (3, 3, 0), (2, 4, 9)])
def test_the_statistic_and_p_by_loops(seeds, groups, holes):
    rng = np.random.default_rng(groups)
    rates, permuted = rng.random((seeds, 6, groups)), rng.random((seeds, 6, 30, groups))
    rates[..., 0] += 0.1 / seeds
    rates.flat[rng.choice(rates.size, holes, replace=False)] = NAN
    permuted.flat[rng.choice(permuted.size, 20 * holes, replace=False)] = NAN
    test = gap_test(list(rates), list(permuted))
    drawn = [plain_statistic(permuted[:, :, p]) for p in range(30)]
    assert test.statistic == pytest.approx(plain_statistic(rates))
    assert test.p == (1 + sum(t >= test.statistic for t in drawn)) / 31
    assert 1 / 31 < test.p < 1 and test.permutations == 30
    order = rng.permutation(groups)
    assert gap_test(rates[..., order], permuted[..., order]).p == test.p


def test_two_groups_statistic_is_half_the_gap():
    rates = np.random.default_rng(6).random((9, 2))
    (gap,) = systematic_gaps(rates)
    test = gap_test(rates, rates[:, None])
    assert test.statistic == pytest.approx(abs(gap.mean) / 2)
    assert test.p == 1.0  # the one permutation is as it was


def test_all_permutations_of_few_people_give_fishers_exact_p():
    """One episode, 4 against 4 people, 4 of 5 outcomes in one group: 10 of 70 are as far apart."""
    outcomes = np.array([1, 1, 1, 1, 1, 0, 0, 0])
    rates = np.array([[1.0, 0.25]])
    drawn = []
    for first in itertools.combinations(range(8), 4):
        inside = outcomes[list(first)].mean()
        drawn.append([inside, (outcomes.sum() - 4 * inside) / 4])
    test = gap_test(rates, np.array([drawn]))
    assert test.p == pytest.approx((1 + 5 + 5) / 71)


def test_rounding_does_not_decide_which_permutation_is_as_large():
    rates = np.array([[0.1, 0.3], [0.2, 0.3], [0.3, 0.3]]) / 3
    other = np.array([[0.3, 0.1], [0.3, 0.3], [0.3, 0.2]], np.float32) / 3
    permuted = np.stack([rates[::-1], other.astype(float), rates[:, ::-1]], axis=1)
    assert gap_test(rates, permuted).p == 1.0
    smaller = permuted - [[[0.0, 1e-5]]]
    assert gap_test(rates, smaller).p == pytest.approx(3 / 4)
    alike = np.full((4, 3), 1 / 3)
    assert gap_test(alike, np.stack([alike + 1e-17] * 9, axis=1)).p == 1.0


def test_what_is_undefined_counts_as_at_least_as_large():
    rates = np.array([[0.9, 0.1], [0.8, NAN]])
    permuted = np.array([[[0.5, 0.5], [NAN, 0.5]], [[0.4, NAN], [NAN, 0.6]]])
    test = gap_test(rates, permuted)  # of two permutations one is even, one undefined
    assert test.statistic == pytest.approx(0.4)
    assert test.p == pytest.approx(2 / 3)
    nothing = gap_test(rates[1:], permuted[1:])
    assert math.isnan(nothing.statistic) and math.isnan(nothing.p)
    with pytest.raises(FairgymError, match="permuted has 1 seeds, 2 episodes and 2 groups"):
        gap_test(np.zeros((2, 3)), permuted)


# ---------------------------------------------------------------- by simulation

PEOPLE = np.array([60, 350, 2_000])
REPLICATES, EPISODES, PERMUTATIONS = 300, 16, 39


def simulated(rng: np.random.Generator, chances: np.ndarray) -> np.ndarray:
    """Rates of groups in episodes, whose chance varies by a tenth in each."""
    luck = rng.uniform(0.9, 1.1, (REPLICATES, EPISODES, 1))
    return rng.binomial(PEOPLE, np.minimum(chances * luck, 1.0)) / PEOPLE


def p_values(rng: np.random.Generator, rates: np.ndarray) -> np.ndarray:
    found = []
    for one in rates:
        totals = np.rint(one @ PEOPLE).astype(int)
        drawn = [
            rng.multivariate_hypergeometric(PEOPLE, total, PERMUTATIONS) / PEOPLE
            for total in totals
        ]
        found.append(gap_test(one, np.stack(drawn)).p)
    return np.array(found)


@pytest.mark.parametrize("chance", [0.02, 0.5])
def test_intervals_hold_all_gaps_and_the_test_rejects_no_true_null(chance):
    rng = np.random.default_rng(8)
    rates = simulated(rng, np.full(3, chance))
    held = [all(not gap.clear for gap in systematic_gaps(one)) for one in rates]
    assert np.mean(held) > 0.91
    assert 0.015 <= np.mean(p_values(rng, rates) <= 0.05) <= 0.09


def test_a_gap_that_always_points_one_way_is_found():
    """Of one standard deviation of an episode: in .96 of the cases by a t test."""
    rng = np.random.default_rng(9)
    gap = math.sqrt(0.25 * (1 / 60 + 1 / 350))
    rates = simulated(rng, 0.5 + np.array([gap, 0.0, 0.0]))
    assert np.mean(p_values(rng, rates) <= 0.05) > 0.9
    found = [{(g.first, g.second): g for g in systematic_gaps(one)} for one in rates]
    assert np.mean([gaps[0, 1].low > 0 for gaps in found]) > 0.8
    assert np.mean([gaps[1, 2].clear for gaps in found]) < 0.04
    held = [low <= gap <= high for _, low, high in (largest_gap([*g.values()]) for g in found)]
    assert np.mean(held) > 0.93


def test_intervals_of_rare_outcomes_hold_the_gap():
    """Of 60 and 2,000 people 5 in a thousand: Student's intervals alone hold it in .92."""
    rng = np.random.default_rng(10)
    people = np.array([60, 2_000])
    rates = rng.binomial(people, 0.005, (2_000, EPISODES, 2)) / people
    found = [systematic_gaps(one)[0] for one in rates]
    assert np.mean([not gap.clear for gap in found]) > 0.94
    alone = [mean_interval(one[:, 0] - one[:, 1]) for one in rates]
    assert np.mean([low <= 0.0 <= high for _, low, high in alone]) < 0.93
