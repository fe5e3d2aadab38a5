"""Who is worse off, and disparities beside their null distributions."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from fairgym.config.differences import small, words
from fairgym.core import Environment, counts_people
from fairgym.results.gaps import MOST_PAIRS, gaps_of
from fairgym.results.labels import display_order, metric_label, those
from fairgym.results.numbers import Estimate, interval, told, unit_text
from fairgym.results.table import Table
from fairgym.statistics.comparisons import null_of
from fairgym.training.evaluation import Evaluation

SIGNIFICANCE = 0.05

# Title of a policy -> its evaluations.
Columns = Mapping[str, Sequence[Evaluation]]


def worse_off(env: Environment, evaluations: Sequence[Evaluation]) -> list[str]:
    """Say which groups are clearly worse off, in what and by how much, for one sentence.

    Of many groups only the widest gap of each rate counts. Where groups were permuted, a gap is
    clear if its test finds it, too.
    """
    found: dict[str, list[str]] = {}
    for rate in gaps_of(env, evaluations):
        pair = rate.widest
        if not pair.gap.clear or (rate.test is not None and rate.test.p > SIGNIFICANCE):
            continue
        size = told(pair.gap.times(math.copysign(1.0, pair.gap.mean)), rate.unit, points=True)
        chance = f" ({rate.test_text})" if rate.test else ""
        text = f"in {small(rate.title)} by {size}{chance}"
        found.setdefault(rate.worse_off(pair), []).append(text)
    parts = []
    for group, (first, *others) in found.items():
        parts += [f"{'; ' if parts else ''}{those(group)} {first}", *(f", {x}" for x in others)]
    return parts


def gap_table(env: Environment, columns: Columns) -> Table:
    """Return a table of which group is worse off in each compared rate, and by how much."""
    rows = []
    for several in zip(*(gaps_of(env, one) for one in columns.values()), strict=True):
        first = several[0]
        label = f"{first.title}{unit_text(first.unit)}"
        if len(first.pairs) == 1:
            rows.append([label, *(one.text(one.widest) for one in several)])
        elif len(first.pairs) <= MOST_PAIRS:
            rows.append([label])
            for place, pair in enumerate(first.pairs):
                texts = [one.text(one.pairs[place]) for one in several]
                rows.append([f"  {' and '.join(map(words, pair.names))}", *texts])
        else:
            texts = [one.widest_text for one in several]
            rows.append([f"{label}, widest of {len(first.pairs)} pairs", *texts])
        if first.test is not None:
            rows.append(["  permutation test", *(one.test_text for one in several)])
    caption = "signed gap, mean over episodes [95% CI, simultaneous for all pairs of a rate]"
    if any(one.null_rates for several in columns.values() for one in several):
        caption += "; p: probability of gaps at least as large if the group made no difference"
    elif counts_people(env):
        caption += "; --null adds a permutation test"
    else:
        caption += "; no permutation test: components are counted by group only"
    return Table(["", *columns], rows, caption, "Who is worse off", words=True)


def null_table(env: Environment, columns: Columns) -> Table:
    """Disparities beside their null distributions; no rows without permutations."""
    rows = []
    for name in display_order(env, next(iter(columns.values()))[0].nulls):
        label = metric_label(env, name)
        cells = []
        for several in columns.values():
            sides = zip(*(one.beside_null(name) for one in several), strict=True)
            values, permuted = map(np.concatenate, sides)
            null = null_of(values, permuted)
            value, mean, bound = (
                interval(Estimate(float(label.shown(x)), math.nan, math.nan), label.unit)
                for x in (null.value, null.mean, null.bound)
            )
            cells.append(f"{value} ({mean}, {bound})" if math.isfinite(null.value) else "undefined")
        rows.append([f"{label.title}{unit_text(label.unit)} {label.arrow}", *cells])
    caption = (
        "disparity, mean over episodes (null mean, 95% quantile of the null distribution); null"
        " distribution: group labels shuffled within the same episodes; a disparity is never"
        " negative, so chance variation alone makes it positive"
    )
    return Table(["", *columns], rows, caption, "Disparities beside their null distributions")
