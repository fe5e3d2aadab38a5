"""Sentences on people's core attribute, on what agents decide, and on undefined measures."""

from collections.abc import Mapping

import numpy as np
from scipy.stats import rankdata

from fairgym.algorithms import log_keys
from fairgym.core import ActionSpace, Element, Environment, Shares
from fairgym.report.grouping import RunGroup, Series
from fairgym.results.estimates import Result, core_values, group_gap, who
from fairgym.results.labels import (
    capital,
    core_attribute_unit,
    listed,
    metric_label,
    row_label,
    those,
    title,
    words,
)
from fairgym.results.numbers import estimate, number

LEVEL = 0.05  # a mean action that moves by less "stays"
FAVOURS = 0.2  # least rank correlation of an action with a feature that is reported
MOST_FEATURES = 4
MOST_OPTIONS = 6  # of an agent that chooses, whose shares are all reported


def core_sentence(result: Result, env: Environment, several: bool) -> str:
    """Say how the people's core attribute changes over an episode."""
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
    """Say how the mean action of each trained agent changes over training."""
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


def meaning_sentences(env: Environment) -> list[str]:
    """Say what a higher action does, where its element declares it."""
    found: dict[str, None] = {}
    for agent in env.agents:
        for element in env.action_space(agent).elements:
            if element.meaning:
                found[f"{capital(words(element.label))}: {element.meaning}."] = None
    return list(found)


def order_sentences(result: Result, env: Environment, several: bool) -> list[str]:
    """Say which features go with a higher learned number per person in the last step."""
    found = []
    for agent in env.agents:
        correlations = order_correlations(result, env, agent)
        if not correlations:
            continue
        strong = {r: name for name, r in reversed(correlations.items()) if abs(r) >= FAVOURS}
        order = sorted(strong.items(), key=lambda item: -abs(item[0]))
        parts = [  # of two features that say the same, such as both ends of a range, the first
            f"{'a higher' if r > 0 else 'a lower'} {words(name)} ({number(r)})"
            for r, name in order[:MOST_FEATURES]
        ]
        what = words(env.action_space(agent).elements[0].label)
        where = f" with “{result.name}”" if several else ""
        start = f"{title(agent)}{where}: at the end of an episode, {what} is"
        if parts:
            found.append(f"{start} higher for people with {listed(parts)} (rank correlations).")
        else:
            found.append(
                f"{start} related to none of their features (all rank correlations are small)."
            )
    return found


def order_correlations(result: Result, env: Environment, agent: str) -> dict[str, float]:
    """Return each feature's rank correlation with the number an agent sets per person.

    Spearman's correlation after the last step, averaged over the episodes whose people are kept and
    in which both vary. Features that identify the group are left out; the tables by group cover it.
    """
    features = env.observation_space(agent).features
    found: dict[str, list[float]] = {}
    orders = [e.orders[agent] for e in result.evaluations if agent in e.orders]
    for order in orders:
        for there, actions, seen in zip(
            order["mask"], order["action"], order["features"], strict=True
        ):
            action = rankdata(actions[there])
            if there.sum() < 3 or np.ptp(action) == 0:
                continue
            for place, feature in enumerate(features):
                values = rankdata(seen[there, place])
                if np.ptp(values) > 0 and not feature.tells_group:
                    correlation = float(np.corrcoef(action, values)[0, 1])
                    found.setdefault(feature.name, []).append(correlation)
    return {name: float(np.mean(each)) for name, each in found.items()}


def _budgets(space: Shares, means: Mapping[str, np.ndarray]) -> list[str]:
    """Say which item gets the largest share of each budget, and how that share is split."""
    known = [block for block in space.blocks if {element.name for element in block} <= set(means)]
    found = []
    for budget in known:
        if budget[0].of:
            continue
        top = max(budget, key=lambda element: means[element.name][-1])
        first, last = (number(means[top.name][i]) for i in (0, -1))
        text = (
            f"after training, the largest share of the budget goes to {words(top.title)},"
            f" {last} ({first} at first)"
        )
        for split in known:
            if split[0].of == top.name:
                most = max(split, key=lambda element: means[element.name][-1])
                share = number(means[most.name][-1])
                text += f"; within it, {row_label(most)} gets the largest part, {share}"
        found.append(f"{text}.")
    return found


def _choices(space: ActionSpace, curves: Mapping[str, Series]) -> str:
    """Say how often each option was chosen; of many, the most and the least frequent."""
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
    """Return a unit as it follows a number: "0.60 of the maximum", "3.00 months"."""
    if unit in ("", "share"):
        return ""
    return f" {unit.removeprefix('share ')}"


def trouble_sentences(result: Result, env: Environment) -> list[str]:
    """Say which measures are undefined in some episodes."""
    values = {name: result.estimate(metric_label(env, name)) for name in env.metrics}
    undefined = [
        f"{metric_label(env, name).title.lower()} in {value.undefined} of {value.episodes}"
        for name, value in values.items()
        if value.undefined
    ]
    if not undefined:
        return []
    return [
        f"{capital(who(result))}: some measures are undefined in some episodes, because nobody"
        f" counts in their denominator: {', '.join(undefined)}."
    ]
