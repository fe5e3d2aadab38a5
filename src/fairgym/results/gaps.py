"""Gaps between groups with their sign: who is worse off, by how much, how sure."""

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np

from fairgym.core import Environment
from fairgym.fairness import Rate
from fairgym.results.labels import rate_parts, rate_title, those
from fairgym.results.numbers import (
    Estimate,
    in_plain_unit,
    interval,
    limits_of,
    number,
    rounded_away,
)
from fairgym.statistics.gaps import Gap, GapTest, gap_differences, gap_test, systematic_gaps
from fairgym.training.evaluation import Evaluation

MOST_PAIRS = 3  # of which each has its own line; of more the widest has


@dataclasses.dataclass(frozen=True)
class PairGap:
    """The systematic gap of a rate between two groups.

    Attributes:
        names: the two groups, as the environment names them.
        gap: mean of the first one's rate less the second one's, in plain units, with its interval.
        change: how it differs from the gap under the reference; None for the reference itself.
    """

    names: tuple[str, str]
    gap: Estimate
    change: Estimate | None = None


@dataclasses.dataclass(frozen=True)
class RateGaps:
    """The systematic gaps of one policy in a rate that a measure compares.

    Attributes:
        name: name of the measure.
        title: the rate in words.
        unit: its unit, without multiples.
        better: 1 if more is better, -1 if less is.
        pairs: every pair of groups.
        test: permutation test of all groups together; None where none were permuted, in which
            "not permuted" is not "no gap".
    """

    name: str
    title: str
    unit: str
    better: int
    pairs: tuple[PairGap, ...]
    test: GapTest | None

    @property
    def widest(self) -> PairGap:
        """The pair that is furthest apart, of those that are clearly so if there are any."""

        def order(pair: PairGap) -> tuple[bool, bool, float]:
            return math.isfinite(pair.gap.mean), pair.gap.clear, abs(pair.gap.mean)

        return max(self.pairs, key=order)

    def worse_off(self, pair: PairGap) -> str:
        """The group of a pair that fares worse on average."""
        ahead = pair.gap.mean * self.better > 0
        return pair.names[1] if ahead else pair.names[0]

    def text(self, pair: PairGap) -> str:
        """Who is worse off: "the disadvantaged by 4.00 [1.20, 6.80]"; a share's in points.

        After "unclear" where the interval holds 0.
        """
        if pair.gap.mean == pair.gap.low == pair.gap.high == 0.0:
            return "nobody"
        size = pair.gap if pair.gap.mean >= 0.0 else pair.gap.times(-1.0)
        told = interval(size, self.unit, behind=" points" if self.unit == "share" else "")
        behind = f"{those(self.worse_off(pair))} by {told}"
        if pair.gap.clear:
            return behind
        return f"unclear, {behind}" if math.isfinite(size.mean) else "undefined"

    @property
    def widest_text(self) -> str:
        """Who is worse off in the pair that is furthest apart, and against whom."""
        pair = self.widest
        if not pair.gap.clear or len(self.pairs) == 1:
            return self.text(pair)
        other = next(name for name in pair.names if name != self.worse_off(pair))
        return f"{self.text(pair)}, against {those(other)}"

    @property
    def test_text(self) -> str:
        """As in "p = 0.005"; "" without a test."""
        return "" if self.test is None else f"p = {number(self.test.p)}"


def gaps_of(
    env: Environment,
    evaluations: Sequence[Evaluation],
    reference: Sequence[Evaluation] | None = None,
    level: float = 0.95,
) -> list[RateGaps]:
    """The systematic gaps of a policy in every rate that a measure of fairness compares.

    Each rate counts once, for the first measure that compares it and that was measured.

    Args:
        env: the environment.
        evaluations: one per seed.
        reference: those of another policy in the same episodes, that the gaps are compared with.
        level: share of such sets of intervals, one per pair of groups, that hold all true gaps.
    """
    found = []
    for name, rate in compared_rates(env).items():
        if any(name not in one.rates for one in evaluations):
            continue
        rates = [one.rates[name] for one in evaluations]
        parts = rate_parts(env, rate)
        unit, factor = in_plain_unit(rate.unit_in(env.spec.component_info))
        gaps = systematic_gaps(rates, level)
        low, high = limits_of(unit)
        largest = max((float(np.nanmax(np.abs(one), initial=0.0)) for one in rates), default=0.0)

        changes: Sequence[Gap | None] = [None] * len(gaps)
        if reference is not None:
            changes = gap_differences(rates, [one.rates[name] for one in reference], level)
        pairs = tuple(
            PairGap(
                (parts[gap.first], parts[gap.second]),
                _estimate(gap, factor, largest, high - low),
                None if change is None else _estimate(change, factor, largest, 2.0 * (high - low)),
            )
            for gap, change in zip(gaps, changes, strict=True)
        )
        permuted = [one.null_rates.get(name) for one in evaluations]
        drawn = [one for one in permuted if one is not None]
        test = gap_test(rates, drawn) if len(drawn) == len(rates) else None
        found.append(RateGaps(name, rate_title(env, name), unit, rate.sign, pairs, test))
    return [one for one in found if one.pairs]


def compared_rates(env: Environment) -> Mapping[str, Rate]:
    """Measures of fairness that compare a rate, the first of each rate."""
    found: dict[Rate, str] = {}
    for name, metric in env.metrics.items():
        rate = getattr(metric, "rate", None)
        if metric.kind == "fair" and isinstance(rate, Rate):
            found.setdefault(rate, name)
    return {name: rate for rate, name in found.items()}


def _estimate(gap: Gap, factor: float, largest: float, most: float) -> Estimate:
    """A gap in plain units, where it can lie; 0 where it is rounding of rates of this size."""
    found = rounded_away(Estimate(gap.mean, gap.low, gap.high), largest)
    return found.times(factor).within(-most, most)
