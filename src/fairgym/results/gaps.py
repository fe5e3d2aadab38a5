"""Signed gaps between groups: who is worse off, by how much, with intervals and tests."""

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np

from fairgym.core import Environment
from fairgym.fairness import Rate
from fairgym.results.labels import display_order, rate_parts, rate_title, those
from fairgym.results.numbers import (
    Estimate,
    few_seeds_text,
    in_plain_unit,
    interval,
    limits_of,
    number,
    rounded_away,
    seed_means,
)
from fairgym.statistics.gaps import Gap, GapTest, gap_differences, gap_test, systematic_gaps
from fairgym.training.evaluation import Evaluation

MOST_PAIRS = 3  # with a row each; of more pairs only the widest has one


@dataclasses.dataclass(frozen=True)
class PairGap:
    """The systematic gap of a rate between two groups.

    Attributes:
        names: Names of the two groups.
        gap: Mean of the first group's rate minus the second's, in plain units, with its interval.
        change: Difference from the gap under the reference; None for the reference itself.
    """

    names: tuple[str, str]
    gap: Estimate
    change: Estimate | None = None


@dataclasses.dataclass(frozen=True)
class RateGaps:
    """The systematic gaps of one policy in a rate that a fairness metric compares.

    Attributes:
        name: Name of the metric.
        title: Rate in words.
        unit: Unit of the rate, without multiples.
        better: 1 if higher is better, -1 if lower is.
        pairs: Every pair of groups.
        test: Permutation test of all groups together; None without permutations, which does not
            mean that there is no gap.
    """

    name: str
    title: str
    unit: str
    better: int
    pairs: tuple[PairGap, ...]
    test: GapTest | None

    @property
    def widest(self) -> PairGap:
        """The pair with the widest gap, among the clear gaps if there are any."""

        def order(pair: PairGap) -> tuple[bool, bool, float]:
            return math.isfinite(pair.gap.mean), pair.gap.clear, abs(pair.gap.mean)

        return max(self.pairs, key=order)

    def worse_off(self, pair: PairGap) -> str:
        """Return the group of a pair that is worse off on average."""
        ahead = pair.gap.mean * self.better > 0
        return pair.names[1] if ahead else pair.names[0]

    def text(self, pair: PairGap) -> str:
        """Return who is worse off: "the disadvantaged by 4.00 [1.20, 6.80]"; shares in points.

        It begins with "unclear" where the interval includes 0.
        """
        if pair.gap.mean == pair.gap.low == pair.gap.high == 0.0:
            return "nobody"
        size = _size(pair.gap)
        told = interval(size, self.unit, behind=" points" if self.unit == "share" else "")
        behind = f"{those(self.worse_off(pair))} by {told}"
        if pair.gap.clear:
            return behind
        return f"unclear, {behind}" if math.isfinite(size.mean) else "undefined"

    @property
    def widest_text(self) -> str:
        """Who is worse off in the pair with the widest gap, and compared with whom."""
        pair = self.widest
        if not pair.gap.clear or len(self.pairs) == 1:
            return self.text(pair)
        other = next(name for name in pair.names if name != self.worse_off(pair))
        return f"{self.text(pair)}, against {those(other)}"

    @property
    def widest_by_seed(self) -> str:
        """Each seed's gap of that pair, if there are two or three seeds; else "".

        It is negative where the other group of the pair is worse off.
        """
        return few_seeds_text(_size(self.widest.gap).seeds, self.unit)

    @property
    def test_text(self) -> str:
        """The p-value, such as "p = 0.005"; "" without a test."""
        return "" if self.test is None else f"p = {number(self.test.p)}"


def gaps_of(
    env: Environment,
    evaluations: Sequence[Evaluation],
    reference: Sequence[Evaluation] | None = None,
    level: float = 0.95,
) -> list[RateGaps]:
    """Return the systematic gaps of a policy in every rate that a fairness metric compares.

    Each rate counts once, for the first metric that compares it and was measured. Rates are in the
    order of display.

    Args:
        env: Environment of the policy.
        evaluations: One evaluation per seed.
        reference: Evaluations of another policy in the same episodes, to compare the gaps with.
        level: Confidence level of the intervals, simultaneous for all pairs of groups.
    """
    found, compared = [], compared_rates(env)
    for name in display_order(env, compared):
        if any(name not in one.rates for one in evaluations):
            continue
        rate = compared[name]
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
                _estimate(gap, factor, largest, high - low, _by_seed(rates, gap)),
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
    """Return the fairness metrics that compare a rate, the first one of each rate."""
    found: dict[Rate, str] = {}
    for name, metric in env.metrics.items():
        rate = getattr(metric, "rate", None)
        if metric.kind == "fair" and isinstance(rate, Rate):
            found.setdefault(rate, name)
    return {name: rate for rate, name in found.items()}


def _size(gap: Estimate) -> Estimate:
    """Return a gap with the sign that its mean is not below 0."""
    return gap.times(-1.0) if gap.mean < 0.0 else gap


def _by_seed(rates: Sequence[np.ndarray], gap: Gap) -> tuple[float, ...]:
    """Return the gap of each of several seeds, in the unit of the rates."""
    return seed_means([one[..., gap.first] - one[..., gap.second] for one in rates])


def _estimate(
    gap: Gap, factor: float, largest: float, most: float, seeds: tuple[float, ...] = ()
) -> Estimate:
    """Return a gap in plain units within its range, 0 if it is rounding of such rates."""
    found = rounded_away(Estimate(gap.mean, gap.low, gap.high, seeds=seeds), largest)
    return found.times(factor).within(-most, most)
