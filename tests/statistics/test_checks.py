"""Outcomes of checks by their intervals, and verdicts by kinds and outcomes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from fairgym.statistics.checks import CHANCE, Check, Tally
from fairgym.statistics.comparisons import welch_test
from fairgym.statistics.shares import two_outcomes

NAN = float("nan")


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (0.1, 2.0, "holds"),
        (0.0, 2.0, "undecided"),  # touches the limit from above
        (-1.0, 2.0, "undecided"),
        (-1.0, 0.0, "contradicted"),  # touches it from below: the limit itself is not claimed
        (-1.0, -0.1, "contradicted"),
        (0.0, 0.0, "contradicted"),  # an exact number at the limit
        (1e-9, 1e-9, "holds"),  # an exact number
        (NAN, NAN, "undecided"),
    ],
)
def test_an_outcome_is_that_of_the_whole_interval(low, high, outcome):
    assert Check("", (low + high) / 2, low, high, lowest=0.0).outcome == outcome
    below = Check("", -(low + high) / 2, -high, -low, highest=0.0)
    assert below.outcome == outcome, "the claim with its sign turned"


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (0.3, 0.7, "holds"),
        (0.2, 0.7, "undecided"),
        (0.3, 0.8, "undecided"),
        (0.1, 0.9, "undecided"),
        (0.1, 0.2, "contradicted"),
        (0.8, 0.9, "contradicted"),
        (0.0, 0.1, "contradicted"),
        (NAN, NAN, "undecided"),
    ],
)
def test_an_outcome_between_two_limits(low, high, outcome):
    assert Check("", (low + high) / 2, low, high, 0.2, 0.8).outcome == outcome


def check(kind: Any, outcome: str) -> Check:
    low, high = {"holds": (1.0, 2.0), "contradicted": (-2.0, -1.0), "undecided": (-1.0, 1.0)}[
        outcome
    ]
    return Check("", (low + high) / 2, low, high, lowest=0.0, kind=kind)


def tally_of(checks: Sequence[Check]) -> Tally:
    return Tally((check.kind, check.outcome) for check in checks)


HOLDS, AGAINST, OPEN = "holds", "contradicted", "undecided"


@pytest.mark.parametrize(
    ("predicted", "verdict", "words"),
    [
        ([HOLDS, HOLDS], "holds", "2 of 2 predicted checks hold"),
        (
            [HOLDS, OPEN, AGAINST, OPEN],
            "holds in part",
            "1 of 4 predicted checks hold, 1 contradicted, 2 undecided",
        ),
        (
            [AGAINST, OPEN],
            "contradicted",
            "0 of 2 predicted checks hold, 1 contradicted, 1 undecided",
        ),
        ([OPEN], "undecided", "0 of 1 predicted checks hold, 1 undecided"),
    ],
)
def test_a_verdict_counts_predicted_checks(predicted, verdict, words):
    checks = [check("predicted", outcome) for outcome in predicted]
    alone = tally_of(checks)
    assert (alone.verdict, alone.words) == (verdict, words)
    others = [("calibrated", HOLDS), ("calibrated", AGAINST), ("by construction", HOLDS)]
    beside = tally_of([*(check(*one) for one in others), *checks])
    assert beside.verdict == verdict
    assert beside.words == f"{words}; not counted: 2 calibrated, 1 by construction"


def test_without_a_predicted_check_there_is_no_verdict():
    found = tally_of([check("by construction", HOLDS)] * 3)
    assert (found.verdict, found.words) == ("no prediction", "checks: 3 by construction")
    assert tally_of([]).words == "no checks"


def test_as_many_checks_hold_by_chance_as_is_said():
    """Five seeds around the limit itself: the share of t intervals wholly above it."""
    seeds = np.random.default_rng(0).normal(size=(20_000, 5))
    held = np.mean([Check.above("", one).outcome == HOLDS for one in seeds])
    assert held == pytest.approx(CHANCE, abs=4 * (CHANCE / len(seeds)) ** 0.5)
    tally = Tally({("predicted", HOLDS): 30, ("predicted", OPEN): 10, ("calibrated", HOLDS): 9})
    assert tally.chance_words.startswith("by chance about 1.0 would")


def test_checks_are_made_of_means_over_seeds():
    above = Check.above("", [0.3, 0.31, 0.32], 0.2)
    assert above.outcome == HOLDS and above.low == pytest.approx(0.31 - 4.302653 * 0.01 / 3**0.5)
    assert Check.above("", [0.1, 0.31, 0.32], 0.2).outcome == OPEN
    assert Check.above("", [0.1, 0.11, 0.12], 0.2).outcome == AGAINST
    assert Check.below("", [0.01, 0.02, 0.01], 0.05).outcome == HOLDS
    assert Check.below("", [0.01, 0.02, 0.09], 0.05).outcome == OPEN
    assert Check.between("", [0.3, 0.31, 0.32], 0.2, 0.4).outcome == HOLDS
    for values in ([0.1, 0.31, 0.32], [0.3, 0.31, 0.6], [0.1, 0.3, 0.6]):
        assert Check.between("", values, 0.2, 0.4).outcome == OPEN
    paired = Check.higher("", [1.0, 2.0, 3.0], [0.5, 1.4, 2.4], "calibrated")
    assert paired.outcome == HOLDS and paired.kind == "calibrated"
    # three pairs have no lower p; of so few seeds the values stand beside the interval
    assert paired.detail == "p = 0.25; seeds: 0.5, 0.6, 0.6"
    assert Check.above("", [-0.5, 0.1, 0.25], 0.0).detail == "seeds: −0.5, 0.1, 0.25"
    assert Check.above("", [0.1, 0.2, 0.3, 0.4], 0.0).detail == ""
    assert Check.above("", [0.5, 0.5], 0.0).detail == ""
    assert Check.higher("", [1.0, 2.0, 3.0], [0.5, 2.4, 2.4]).outcome == OPEN
    assert Check.higher("", [1.0], [0.0]).outcome == OPEN, "one seed decides nothing"
    apart = Check.greater("", [1.0, 1.1, 0.9, 1.0], [0.5, 0.4])
    assert apart.outcome == HOLDS and apart.estimate == pytest.approx(0.55)
    assert Check.greater("", [0.5, 0.4], [1.0, 1.1, 0.9]).outcome == AGAINST
    low = Check.greater("", [0.95, 0.96, 0.94], [1.0, 1.01, 0.99], margin=0.1)
    assert low.outcome == HOLDS and low.high < 0.0
    assert low.detail.endswith("; margin 0.1") and "margin" not in apart.detail
    assert Check.alike("", [1.0, 1.1, 0.9], [1.05, 1.0, 0.95], 0.3).outcome == HOLDS
    assert Check.alike("", [1.0, 1.1, 0.9], [1.05, 1.0, 0.95], 0.05).outcome == OPEN
    assert Check.alike("", [1.0, 1.1, 0.9], [2.0, 2.1, 1.9], 0.3).outcome == AGAINST


def test_own_predictions_are_told_apart_and_do_not_count():
    published = [check("predicted", HOLDS)]
    own = [check("own prediction", outcome) for outcome in (HOLDS, OPEN, AGAINST)]
    tally = tally_of([*published, *own])
    assert tally.verdict == "holds"
    words = "1 of 1 predicted checks hold; not counted: 1 of 3 own predictions hold"
    assert tally.words == words
    alone = tally_of(own[:1])
    assert alone.verdict == "no prediction"
    assert alone.words == "checks: 1 of 1 own predictions hold"


def test_seeds_with_two_outcomes_have_the_interval_of_a_share():
    """Seven seeds of ten reach 1, three stay at 0.5: Clopper and Pearson's interval of 7 in 10."""
    values = np.array([1.0, 0.5, 1.0, 1.0, 1.01, 0.5, 1.0, 0.49, 1.0, 1.0])
    found = Check.above("", values, 0.6)
    # https://doi.org/10.1093/biomet/26.4.404, 7 of 10: 0.3475 to 0.9333
    lower, upper = np.mean([0.5, 0.5, 0.49]), np.mean([1.0] * 6 + [1.01])
    assert found.estimate == pytest.approx(values.mean())
    assert found.low == pytest.approx(lower + 0.3475 * (upper - lower), abs=1e-3)
    assert found.high == pytest.approx(lower + 0.9333 * (upper - lower), abs=1e-3)
    assert (found.outcome, found.detail) == (HOLDS, "0.497 with 3 seeds, 1 with 7")
    paired = Check.higher("", values, np.full(10, 0.7))
    assert (paired.low, paired.high) == pytest.approx((found.low - 0.7, found.high - 0.7))
    assert paired.detail.endswith("; −0.203 with 3 seeds, 0.301 with 7")


def test_comparisons_tell_the_two_outcomes_of_either_side():
    """The interval is that of Welch, with one outcome or two."""
    two = np.array([0.5, 1.0, 0.51, 1.0, 1.0, 1.0])
    one = np.array([0.6, 0.7, 0.62, 0.68, 0.65, 0.72])
    told = "0.505 with 2 seeds, 1 with 4"
    test = welch_test(two, one)
    above = Check.greater("", two, one, names=("F-PPO", "PPO"))
    assert above.detail == f"p = {test.p:.3g}; F-PPO: {told}"
    assert (above.low, above.high) == (test.low, test.high)
    below = Check.greater("", one, two, names=("PPO", "F-PPO"))
    assert below.detail == f"p = {test.p:.3g}; F-PPO: {told}"
    assert Check.greater("", one, one + 0.1).detail.startswith("p = ")
    assert ";" not in Check.greater("", one, one + 0.1).detail
    close = Check.alike("", two, two, 0.3, names=("F-PPO", "PPO"))
    assert close.detail == f"margin 0.3; F-PPO: {told}; PPO: {told}"
    assert Check.alike("", two, one, 0.3).detail == f"margin 0.3; first: {told}"
    assert Check.alike("", one, one, 0.3).detail == "margin 0.3"


@pytest.mark.parametrize(
    "values",
    [
        [0.0, 0.0, 1.0, 1.0],  # too few
        [0.0, 1.0, 1.0, 1.0, 1.0],  # a single seed is an outlier
        [0.0, 0.1, 0.2, 0.3, 0.4, 0.5],
        [0.5] * 6,
        [0.0, 0.0, 1.0, 1.0, NAN],
    ],
)
def test_other_seeds_do_not_have_two_outcomes(values):
    assert two_outcomes(values) is None


def test_normal_seeds_rarely_have_two_outcomes():
    rng = np.random.default_rng(0)
    for count, most in ((5, 0.02), (10, 0.001)):
        found = [two_outcomes(one) is not None for one in rng.normal(size=(5_000, count))]
        assert np.mean(found) < most
