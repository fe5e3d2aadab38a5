"""Gaps between groups as they are told: named, cut to what is possible, rounding is no gap."""

import math

import numpy as np
import pytest

from fairgym.results.gaps import PairGap, RateGaps, gaps_of
from fairgym.results.numbers import Estimate, rounded_away

NAN = Estimate(math.nan, math.nan, math.nan)


def rate_gaps(*gaps: Estimate, better: int = 1) -> RateGaps:
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    named = (PairGap(names, gap) for names, gap in zip(pairs, gaps, strict=False))
    return RateGaps("m", "Rate", "share", better, tuple(named), None)


def told(made_up_evaluation, env, rates):
    """The gap in the admission rate, whose unit is a share."""
    (found,) = gaps_of(env, [made_up_evaluation(0.5, rates={"admission_disparity": rates})])
    return found, found.pairs[0].gap


def test_the_widest_is_known_and_clear_if_any_is():
    wide, clear = Estimate(0.5, -0.1, 1.0), Estimate(-0.2, -0.3, -0.1)
    found = rate_gaps(NAN, wide, clear)
    assert found.widest.gap is clear
    assert found.widest_text == "group b by 20.0 points [10.0, 30.0], against group c"
    assert rate_gaps(NAN, wide).widest.gap is wide
    assert rate_gaps(wide).text(rate_gaps(wide).pairs[0]).startswith("unclear, group b by 50.0")
    less_is_better = rate_gaps(clear, better=-1)
    assert less_is_better.worse_off(less_is_better.pairs[0]) == "b"
    assert rate_gaps(NAN).widest_text == "undefined"


def test_a_gap_of_shares_is_at_most_all(env, made_up_evaluation):
    rates = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.6, 0.4]])
    _, gap = told(made_up_evaluation, env, rates)
    assert gap.mean == pytest.approx(0.8) and 0.0 < gap.low < 0.2 and gap.high == 1.0


def test_gaps_of_few_seeds_stand_beside_the_widest(env, made_up_evaluation):
    """Each towards the group that is worse off on average: here the first one."""
    rates = [np.full((4, 2), 0.5) + [[-gap, 0.0]] * 4 for gap in (0.25, -0.125, 0.5)]
    several = [made_up_evaluation(0.5, rates={"admission_disparity": one}) for one in rates]
    (found,) = gaps_of(env, several)
    assert found.widest_text.startswith("unclear, the advantaged by 20.8 points [")
    assert found.widest_by_seed == "25.0, −12.5, 50.0"
    (alone,) = gaps_of(env, several[:1])
    assert alone.widest_by_seed == ""


def test_rounding_is_no_gap(env, made_up_evaluation):
    rates = np.full((4, 2), 0.5) + [[0.0, 1e-8]] * 4
    found, gap = told(made_up_evaluation, env, rates)
    assert (gap.mean, gap.low, gap.high) == (0.0, 0.0, 0.0)
    assert found.text(found.pairs[0]) == "nobody"
    single = rounded_away(Estimate(1e-9, math.nan, math.nan), 1.0)
    assert single.mean == 0.0 and math.isnan(single.low), "an unknown interval stays unknown"
    _, gap = told(made_up_evaluation, env, rates + [[0.0, 1e-4]] * 4)
    assert gap.clear and gap.mean == pytest.approx(-1e-4, rel=1e-3)
