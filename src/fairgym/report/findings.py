"""Key findings: sentences made from the numbers of a report."""

from collections.abc import Mapping, Sequence

import numpy as np

from fairgym.algorithms import log_keys
from fairgym.core import ActionSpace, Element, Environment, Shares
from fairgym.report.grouping import RunGroup, Series
from fairgym.results.estimates import Result, best, core_values, group_gap, group_means, who
from fairgym.results.gaps import gaps_of
from fairgym.results.labels import (
    MetricLabel,
    axis_of,
    capital,
    core_attribute_unit,
    disparities,
    has_population,
    metric_label,
    rate_parts,
    rate_title,
    row_label,
    those,
    title,
    words,
)
from fairgym.results.numbers import (
    Estimate,
    estimate,
    number,
    number_in,
    number_told,
    told,
)

LEVEL = 0.05  # a mean action that moves by less is said to stay
MOST_OPTIONS = 6  # of an agent that chooses, whose shares are all told


def findings(
    groups: Sequence[RunGroup],
    learned: Sequence[Result],
    baselines: Sequence[Sequence[Result]],
    env: Environment,
) -> list[str]:
    """Sentences on every metric, people's standing, actions and measures that are undefined.

    Args:
        groups: the configurations, with their runs.
        learned: their evaluations, in the same order.
        baselines: for each of them the baselines, in its environment and by its objective.
        env: the environment, for names and units.
    """
    first = [best(several) for several in baselines]
    names = {None if one is None else one.name for one in first}
    common = first[0] if len(names) == 1 and len({group.world for group in groups}) == 1 else None
    found = [
        metric_sentence(name, learned, common, env) for name in (*env.metrics, *env.spec.schemes)
    ]
    if has_population(env):
        found += [core_sentence(result, env, len(learned) > 1) for result in learned]
    for group in groups:
        found += action_sentences(group)
    fixed = {result.name: result for several in baselines for result in several}
    for result in (*learned, *fixed.values()):
        found += trouble_sentences(result, env)
    return found


def metric_sentence(
    name: str, learned: Sequence[Result], rule: Result | None, env: Environment
) -> str:
    """One metric or scheme of every learned policy beside the baseline with the best objective."""
    shown = metric_label(env, name)

    def text_of(value: Estimate) -> str:
        return told(value, shown.unit) if np.isfinite(value.mean) else "undefined"

    own = [result.estimate(shown) for result in learned]
    if len(learned) == 1:
        text = f"{shown.title} {text_of(own[0])}"
        if np.isfinite(own[0].mean):
            text += _by_group(learned[0], name, env) + _gap(learned[0], name, env)
    else:
        verdicts = [_verdict(result, rule, shown) for result in learned]
        text = f"{shown.title}: " + ", ".join(
            f"{text_of(value)} with “{result.name}”{_gap(result, name, env)}"
            f"{f' ({verdict})' if verdict else ''}"
            for value, result, verdict in zip(own, learned, verdicts, strict=True)
        )
    if rule is None:
        return f"{text}."
    text = f"{text}, beside {text_of(rule.estimate(shown))} for “{rule.name}”"
    verdict = _verdict(learned[0], rule, shown) if len(learned) == 1 else ""
    return f"{text}: {verdict}." if verdict else f"{text}."


def _verdict(result: Result, rule: Result | None, shown: MetricLabel) -> str:
    """Verdict on a policy beside a rule in the same episodes, with its size; "" if none is due."""
    if rule is None or result.ended_early[0]:  # a policy that failed is not called better
        return ""
    gap = result.difference(rule, shown)
    if not np.isfinite(gap.low):
        return ""
    if not gap.clear:
        return "no clear difference"
    better = (gap.mean < 0) == shown.flipped
    size = gap if gap.mean > 0 else gap.times(-1.0)
    return f"{'better' if better else 'worse'} by {told(size, shown.unit, points=True)}"


def _gap(result: Result, name: str, env: Environment) -> str:
    """Who is worse off in the rate behind a disparity; "" where another measure has told it."""
    found = {rate.name: rate for rate in gaps_of(env, result.evaluations)}
    if name not in found:
        return ""
    rate, pair = found[name], found[name].widest
    chance = f", {rate.test_text}" if rate.test else ""
    if not pair.gap.clear:
        return f", no group clearly worse off{chance}"
    return f", worse for {rate.text(pair)}{_after_number(rate.unit)}{chance}"


def _by_group(result: Result, name: str, env: Environment) -> str:
    """Rates of the groups behind a disparity, at the end of the episode."""
    if name not in disparities(env):
        return ""
    traced = [e for e in result.evaluations if e.trace is not None]
    if not traced:
        return ""
    rates = group_means(traced, env.metrics[name].rate)
    parts = rate_parts(env, env.metrics[name].rate)
    unit = env.metrics[name].rate.unit_in(env.spec.component_info)
    if parts == env.spec.groups:
        each = [f"{number_told(r, unit)} for {those(g)}" for r, g in zip(rates, parts, strict=True)]
        text = ", ".join(each)
    else:
        axis = axis_of(env, env.metrics[name].rate.numerator)
        what = "people" if axis == "person" else f"{axis}s"
        lowest, highest = number_in(min(rates), unit), number_told(max(rates), unit)
        text = f"from {lowest} to {highest} over {len(parts)} {what}"
    return f" ({rate_title(env, name).lower()} {text})"


def core_sentence(result: Result, env: Environment, several: bool) -> str:
    """Change of the people's core attribute over an episode."""
    moves, gaps = [], []
    start = [core_values(env, e.people_start) for e in result.evaluations]
    end = [core_values(env, e.people_end) for e in result.evaluations]
    for code, group in enumerate(env.spec.groups):
        before, after = (
            np.concatenate([a[g == code] for a, g in moment]) for moment in (start, end)
        )
        if before.size and after.size:
            moves.append(f"{number(before.mean())} to {number(after.mean())} for {those(group)}")
    for moment in (start, end):
        gaps.append([np.abs(group_gap(a, g, len(env.spec.groups))) for a, g in moment])
    before, after = (number(np.concatenate(gap).mean()) for gap in gaps)
    change = estimate([e - s for s, e in zip(*gaps, strict=True)])
    if change.clear:
        moved = f"{'widens' if change.mean > 0 else 'narrows'} from {before} to {after}"
    else:
        moved = f"shows no clear change, {before} at the start and {after} at the end, in"
    moved = f"{moved} standard deviations"
    who = f" with “{result.name}”" if several else ""
    unit = core_attribute_unit(env)
    what = words(env.spec.core_attribute) + (f" ({unit})" if unit else "")
    which = (
        "gap between the groups" if len(env.spec.groups) == 2 else "widest gap between two groups"
    )
    return (
        f"Over an episode{who} the mean {what} goes from {', '.join(moves)}; the {which} {moved}."
    )


def action_sentences(group: RunGroup) -> list[str]:
    """Change of the mean action of each agent that was trained."""
    sentences, env = [], group.env
    where = f" with “{group.label}”" if group.label else ""
    for agent in env.agents:
        if agent in group.fixed:
            continue
        space = env.action_space(agent)
        curves = {e.name: group.series(log_keys.action(agent, e.name)) for e in space.elements}
        curves = {name: c for name, c in curves.items() if c.epochs.size and np.isfinite(c.mean[0])}
        if not curves:
            continue
        if space.discrete:
            sentences.append(f"{title(agent)}{where}: {_choices(space, curves)}.")
            continue
        if isinstance(space, Shares):
            means = {name: curve.mean for name, curve in curves.items()}
            sentences += [f"{title(agent)}{where}: {text}" for text in _budgets(space, means)]
            continue
        parts = [_move(e, curves[e.name]) for e in space.elements if e.name in curves]
        first, last = (next(iter(curves.values())).epochs[i] for i in (0, -1))
        when = f"from epoch {first} to {last}" if last > first else f"after epoch {last}"
        sentences.append(f"{title(agent)}{where}: {when}, {'; '.join(parts)}.")
    return sentences


def _budgets(space: Shares, means: Mapping[str, np.ndarray]) -> list[str]:
    """Largest share of each budget, and its largest part if it is split."""
    known = [block for block in space.blocks if {element.name for element in block} <= set(means)]
    found = []
    for budget in known:
        if budget[0].of:
            continue
        top = max(budget, key=lambda element: means[element.name][-1])
        first, last = (number(means[top.name][i]) for i in (0, -1))
        text = (
            f"after training the largest share of the budget goes to {words(top.title)},"
            f" {last}, from {first} at first"
        )
        for split in known:
            if split[0].of == top.name:
                most = max(split, key=lambda element: means[element.name][-1])
                share = number(means[most.name][-1])
                text += f"; of that {row_label(most)} gets the largest part, {share}"
        found.append(f"{text}.")
    return found


def _choices(space: ActionSpace, curves: Mapping[str, Series]) -> str:
    """Share of steps in which each option was chosen; of many the most and the least frequent."""
    chosen = [element for element in space.elements if element.name in curves]
    chosen.sort(key=lambda element: -curves[element.name].mean[-1])
    if len(chosen) > MOST_OPTIONS:
        chosen = [chosen[0], chosen[-1]]
    epochs = next(iter(curves.values())).epochs
    parts = []
    for element in chosen:
        first, last = (number(curves[element.name].mean[i]) for i in (0, -1))
        before = f" ({first} at first)" if len(epochs) > 1 and first != last else ""
        parts.append(f"{words(element.title)} in {last} of the steps{before}")
    return f"after epoch {epochs[-1]} it chooses {', '.join(parts)}"


def _move(element: Element, curve: Series) -> str:
    label = words(element.label)
    what = f"{label} for {those(element.group)}" if element.group else f"mean {label}"
    unit = _after_number(element.unit)
    first, last = curve.mean[0], curve.mean[-1]
    if len(curve.epochs) == 1:
        return f"{what} is {number(last)}{unit}"
    if number(first) == number(last):
        return f"{what} stays at {number(last)}{unit}"
    if abs(last - first) < LEVEL:
        return f"{what} stays near {number(last)}{unit} ({number(first)} at first)"
    way = "rises" if last > first else "falls"
    return f"{what} {way} from {number(first)} to {number(last)}{unit}"


def _after_number(unit: str) -> str:
    """A unit as it stands behind a number: "0.60 of the maximum", "3.00 months"."""
    if unit in ("", "share"):
        return ""
    return f" {unit.removeprefix('share ')}"


def trouble_sentences(result: Result, env: Environment) -> list[str]:
    """Measures that could not be taken in some episodes."""
    values = {name: result.estimate(metric_label(env, name)) for name in env.metrics}
    undefined = [
        f"{metric_label(env, name).title.lower()} in {value.undefined} of {value.episodes}"
        for name, value in values.items()
        if value.undefined
    ]
    if not undefined:
        return []
    return [
        f"{capital(who(result))}: there are episodes in which a measure is undefined, because"
        f" nobody counts in its denominator: {', '.join(undefined)}."
    ]
