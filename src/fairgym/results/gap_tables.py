"""Tables of who is worse off, and of disparities beside those of permuted groups."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from fairgym.config.differences import words
from fairgym.core import Environment, counts_people
from fairgym.results.gaps import MOST_PAIRS, gaps_of
from fairgym.results.labels import metric_label
from fairgym.results.numbers import Estimate, interval, unit_text
from fairgym.results.table import Table
from fairgym.statistics.comparisons import null_of
from fairgym.training.evaluation import Evaluation

# Title of a policy -> its evaluations.
Columns = Mapping[str, Sequence[Evaluation]]


def gap_table(env: Environment, columns: Columns) -> Table:
    """Who is worse off in every rate that is compared between groups, and by how much."""
    rows = []
    for several in zip(*(gaps_of(env, one) for one in columns.values()), strict=True):
        first = several[0]
        label = f"{first.title}{unit_text(first.unit)}"
        if len(first.pairs) == 1:
            rows.append([label, *(one.text(one.widest) for one in several)])
        elif len(first.pairs) <= MOST_PAIRS:
            rows.append([label])
            for place, pair in enumerate(first.pairs):
                told = [one.text(one.pairs[place]) for one in several]
                rows.append([f"  {' and '.join(map(words, pair.names))}", *told])
        else:
            told = [one.widest_text for one in several]
            rows.append([f"{label}, widest of {len(first.pairs)} pairs", *told])
        if first.test is not None:
            rows.append(["  by chance", *(one.test_text for one in several)])
    caption = (
        "mean gap over the episodes [95% interval, of all pairs of a rate together], whichever"
        " group is ahead in a single one"
    )
    if any(one.null_rates for several in columns.values() for one in several):
        caption += "; by chance: probability of gaps as large if groups had no bearing"
    elif counts_people(env):
        caption += "; --null tells how probable such gaps are if groups have no bearing"
    else:
        caption += "; there is no permutation test of sums that are counted by group only"
    return Table(["", *columns], rows, caption, "Who is worse off", words=True)


def null_table(env: Environment, columns: Columns) -> Table:
    """The published disparities beside those of permuted groups; no rows without permutations."""
    rows = []
    for name in next(iter(columns.values()))[0].nulls:
        label = metric_label(env, name)
        cells = []
        for several in columns.values():
            sides = zip(*(one.beside_luck(name) for one in several), strict=True)
            values, permuted = map(np.concatenate, sides)
            null = null_of(values, permuted)
            value, mean, bound = (
                interval(Estimate(float(label.shown(x)), math.nan, math.nan), label.unit)
                for x in (null.value, null.mean, null.bound)
            )
            cells.append(f"{value} ({mean}, {bound})" if math.isfinite(null.value) else "undefined")
        rows.append([f"{label.title}{unit_text(label.unit)} {label.arrow}", *cells])
    caption = (
        "mean disparity of single episodes, in which unevenness from episode to episode and"
        " systematic gap are together; in brackets its mean and what 95% stay below in the same"
        " episodes with the people's groups permuted"
    )
    return Table(["", *columns], rows, caption, "Disparities beside permuted groups")
