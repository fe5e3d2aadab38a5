"""Sentences that compare a policy with a baseline: for everybody, for groups, and for waits."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from fairgym.config.differences import small
from fairgym.core import Environment
from fairgym.fairness import Rate
from fairgym.results.estimates import Result, best, rate_values, waits_of, who
from fairgym.results.gaps import gaps_of
from fairgym.results.labels import (
    OBJECTIVE,
    capital,
    disparities,
    display_order,
    has_population,
    listed,
    metric_label,
    rate_parts,
    rate_title,
    those,
    words,
)
from fairgym.results.numbers import Estimate, estimate, interval, number_in, number_told, told
from fairgym.statistics.intervals import paired_interval
from fairgym.statistics.survival import common_end, left_after, quantile

FEW_SEEDS = 4  # so few that each is reported where they disagree

_KINDS = (
    "worse in",
    "better in",
    "no clear difference in",
    "not comparable, because the numbers of people served differ:",
    "too few seeds to tell:",
    "too few episodes to compare:",
)


def verdict(result: Result, rules: Sequence[Result]) -> str:
    """Compare a learned policy with the best baseline by the objective."""
    own = result.estimate(OBJECTIVE)
    name = capital(who(result))
    rule = best(rules)
    if rule is None:
        return f"{name} has an objective of {interval(own)}; there is no baseline to compare with."
    which = _among(rules)
    numbers = f"{interval(own)} against {interval(rule.estimate(OBJECTIVE))}"
    gap = result.difference(rule, OBJECTIVE)
    if not np.isfinite(gap.low):
        return (
            f"By the objective, {who(result)} scores {numbers} for {which}, “{rule.name}”. One"
            " episode gives no interval."
        )
    failed = {who(result): result.ended_early[0], "every baseline": rule.ended_early[0]}
    if any(failed.values()):
        which_failed = " and ".join(name for name, early in failed.items() if early)
        return (
            f"By the objective, {who(result)} scores {numbers} for {which}, “{rule.name}”. Not"
            f" comparable, because {which_failed} failed."
        )
    if gap.mean == gap.low == gap.high == 0.0:
        return f"By the objective, {who(result)} equals {which}, “{rule.name}”: {numbers}."
    way = "neither clearly better nor clearly worse"
    if gap.clear:
        way = "better" if gap.mean > 0 else "worse"
    return (
        f"By the objective, {who(result)} is {way} than {which}, “{rule.name}”: {numbers}, a"
        f" difference of {interval(gap)}."
    )


def _among(rules: Sequence[Result]) -> str:
    """Name the best baseline by what it is the best of."""
    held = [rule for rule in rules if not rule.ended_early[0]]
    if len(rules) == 1:
        return "the baseline"
    if held and len(held) < len(rules):
        return (
            f"the best of the {len(held)} baselines that did not fail"
            if len(held) > 1
            else "the only baseline that did not fail"
        )
    return f"the best of {len(rules)} baselines"


class _Line(NamedTuple):
    """One quantity under two policies, as `_sorted_line` takes it.

    Attributes:
        what: The quantity in words.
        ours: Its value per episode with the learned policy, an array for each seed.
        theirs: Its value with the other policy.
        unit: Its unit.
        lower: Whether lower is better.
        same: False where the quantity is of the served only, and their numbers differ.
    """

    what: str
    ours: list[np.ndarray]
    theirs: list[np.ndarray]
    unit: str
    lower: bool
    same: bool = True


def overall(result: Result, rule: Result, env: Environment, several: bool) -> list[str]:
    """Say what is worse and what is better than with a baseline, for everybody together.

    Args:
        result: A learned policy.
        rule: A baseline in the same episodes.
        env: The environment, for names and units.
        several: Whether to name the policy, as one of several.
    """
    gaps, of_groups = disparities(env), _compared_groups(env)
    of_all, apart = [], []  # apart: differences that no gap between groups covers
    for name in (*env.metrics, *env.spec.schemes):
        if name in of_groups:
            continue
        label = metric_label(env, name)
        ours, theirs = result.values(label), rule.values(label)
        line = _Line(small(words(label.title)), ours, theirs, label.unit, label.flipped)
        (apart if name in gaps else of_all).append(line)
    start = _start(result, rule, several)
    found = [
        _sorted_line(start, of_all),
        _sorted_line(f"{start}, differences between people", apart),
    ]
    return [sentence for sentence in found if sentence]


def for_groups(result: Result, rule: Result, env: Environment, several: bool) -> list[str]:
    """Say what is worse and what is better than with a baseline, for each group."""
    of_groups, finished = _compared_groups(env), env.spec.finished_only
    found = []
    traced = all(e.trace is not None for e in (*result.evaluations, *rule.evaluations))
    for code, group in enumerate(env.spec.groups if traced else ()):
        lines = []
        for name in display_order(env, of_groups):
            rate = of_groups[name]
            ours, theirs = (rate_values(one, rate, code) for one in (result, rule))
            same = True
            if other := of_groups.get(finished.get(name, "")):
                served, beside = (rate_values(one, other, code) for one in (result, rule))
                pairs = [(served, beside), *(([one], beside) for one in served)]
                same = not any(Estimate(*paired_interval(*pair)).clear for pair in pairs)
            what, unit = small(rate_title(env, name)), rate.unit_in(env.spec.component_info)
            lines.append(_Line(what, ours, theirs, unit, rate.sign < 0, same))
        start = f"For {those(group)}, {_start(result, rule, several)}"
        found.append(_sorted_line(start, lines))
    return found


def _compared_groups(env: Environment) -> dict[str, Rate]:
    """Return the disparities between groups -> the rate that they compare."""
    found = {name: metric.rate for name, metric in disparities(env).items()}
    return {n: rate for n, rate in found.items() if rate_parts(env, rate) == env.spec.groups}


def _start(result: Result, rule: Result, several: bool) -> str:
    own = f"“{result.name}”" if several else who(result)
    return f"{own} compared with “{rule.name}”"


def gap_sentence(result: Result, env: Environment) -> str:
    """Say which group is worse off in what, and by how much; "" if no rates are compared."""
    clear: dict[str, list[str]] = {}
    unclear, apart = [], []
    for rate in gaps_of(env, result.evaluations):
        if rate_parts(env, env.metrics[rate.name].rate) != env.spec.groups:
            continue
        pair = rate.widest
        # where the test finds nothing, a narrow interval alone does not tell
        if pair.gap.clear and (rate.test is None or rate.test.p <= 0.05):
            size = told(pair.gap.times(math.copysign(1.0, pair.gap.mean)), rate.unit, points=True)
            group, chance = rate.worse_off(pair), f" ({rate.test_text})" if rate.test else ""
            other = next(name for name in pair.names if name != group)
            against = f" against {those(other)}" if len(rate.pairs) > 1 else ""
            text = f"{small(rate.title)} by {size}{against}{chance}"
            clear.setdefault(group, []).append(text)
        elif by_seed := _gaps_by_seed(result, env, rate.name):
            apart.append(f"{small(rate.title)} ({by_seed})")
        elif np.isfinite(pair.gap.low):
            unclear.append(small(rate.title))
    name, found = f"with {who(result)}", []
    if clear:
        each = [f"{those(group)} in {listed(of)}" for group, of in clear.items()]
        found.append(f"Worse off {name}, on average: {'; '.join(each)}.")
    if apart:
        seeds = len(result.evaluations)
        start = "" if found else f"{capital(name)}, "
        text = f"{start}{seeds} seeds are too few to tell who is worse off in"
        found.append(f"{text} {'; '.join(apart)}.")
    if unclear:
        start = "No group is" if found else f"{capital(name)}, no group is"
        found.append(f"{start} clearly worse off in {listed(unclear)}.")
    return " ".join(found)


def _gaps_by_seed(result: Result, env: Environment, name: str) -> str:
    """Return each seed's gap if there are few seeds and one is clear; else ""."""
    if not 1 < len(result.evaluations) <= FEW_SEEDS:
        return ""
    sizes: dict[str, list[str]] = {}
    clear, unit = False, ""
    for evaluation in result.evaluations:
        rate = next(rate for rate in gaps_of(env, [evaluation]) if rate.name == name)
        pair = rate.widest
        group, unit = rate.worse_off(pair), "points" if rate.unit == "share" else rate.unit
        sizes.setdefault(group, []).append(number_in(abs(pair.gap.mean), rate.unit))
        clear = clear or pair.gap.clear
    if not clear:
        return ""
    return ", ".join(f"{those(g)} by {listed(each)} {unit}".rstrip() for g, each in sizes.items())


def wait_sentences(result: Result, rule: Result, env: Environment, several: bool) -> list[str]:
    """Say how long waits last, including those that last beyond the end of an episode."""
    found, everybody = [], range(len(env.spec.groups))
    for stage in env.spec.waits if has_population(env) else ():
        courses = [waits_of(one.evaluations, stage, everybody) for one in (result, rule)]
        last = common_end(courses)
        if any(len(ages) == 1 for ages, _ in courses):  # with one of them hardly anybody waits
            continue
        halves = [_steps(quantile(course, 0.5)[1], last, env.spec.time_unit) for course in courses]
        left = [number_in(left_after(course, last), "share") for course in courses]
        seeds = ""
        if 1 < len(result.evaluations) <= FEW_SEEDS:
            each = [waits_of([one], stage, everybody) for one in result.evaluations]
            told = (number_in(left_after(course, last), "share") for course in each)
            seeds = f" (by seed {', '.join(told)})"
        unit = env.spec.time_unit
        found.append(
            f"Half of all waits end {halves[0]} with {who(result)} and {halves[1]} with"
            f" “{rule.name}”; {left[0]}%{seeds} and {left[1]}% of waits last"
            f" {_span(last, unit)} or longer."
        )
    return found


def _span(steps: float, unit: str) -> str:
    return f"{steps:.0f} {unit.removesuffix('s') if steps == 1 else unit}"


def _steps(within: float, last: int, unit: str) -> str:
    if not np.isfinite(within):
        return f"after more than {_span(last, unit)}"
    return f"within {_span(within, unit)}" if within else "at once"


def _sorted_line(start: str, lines: Iterable[_Line]) -> str:
    """Say in one sentence what is worse, better and not clearly different; "" for no line."""
    kinds: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    worse, better, alike, other, few, unknown = kinds.values()
    for line in lines:
        gap = Estimate(*paired_interval(line.ours, line.theirs))
        ours, theirs = (estimate(values).mean for values in (line.ours, line.theirs))
        beside = number_in(theirs, line.unit)
        if not gap.clear:
            if seeds := _by_seed(line):
                few.append(
                    f"{line.what} ({seeds} by seed instead of {number_told(theirs, line.unit)})"
                )
            else:
                (alike if np.isfinite(gap.low) else unknown).append(line.what)
            continue
        kind = (better if (gap.mean < 0) == line.lower else worse) if line.same else other
        kind.append(f"{line.what} ({number_told(ours, line.unit)} instead of {beside})")
    parts = [f"{kind} {', '.join(names)}" for kind, names in kinds.items() if names]
    return f"{capital(start)}: {'; '.join(parts)}." if parts else ""


def _by_seed(line: _Line) -> str:
    """Return the values of a few seeds where one of them clearly differs; else ""."""
    if not 1 < len(line.ours) <= FEW_SEEDS:
        return ""
    gaps = [Estimate(*paired_interval([values], line.theirs)) for values in line.ours]
    if not any(gap.clear for gap in gaps):
        return ""
    return ", ".join(number_in(estimate([values]).mean, line.unit) for values in line.ours)
