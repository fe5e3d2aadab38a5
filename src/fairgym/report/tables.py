"""Tables of the groups, and of further subgroups."""

from collections.abc import Mapping

import numpy as np

from fairgym.core import Environment
from fairgym.report.measured import Measured
from fairgym.report.template import (
    by_seed,
    escaped,
    estimate_cell,
    estimated,
    noted,
    table,
    wrapped,
)
from fairgym.results.estimates import Result, group_rates_of
from fairgym.results.gaps import gaps_of
from fairgym.results.labels import (
    axis_of,
    disparities,
    display_order,
    has_people,
    has_population,
    metric_label,
    rate_title,
    words,
)
from fairgym.results.numbers import (
    Estimate,
    estimate,
    limits_of,
    number_in,
    people_unit,
    ratio,
)
from fairgym.statistics.permuting import compared_by_group
from fairgym.training.courses import few
from fairgym.training.evaluation import ENOUGH

# ---------------------------------------------------------------- groups


def part_rates_of(
    result: Result, disparity: str, env: Environment, partition: str
) -> tuple[list[Estimate], Estimate]:
    """Return a rate in each subgroup, and the disparity over them, with their intervals.

    Args:
        result: Evaluations made with permutations.
        disparity: Name of the metric that compares the rate.
        env: The environment.
        partition: A key of `env.spec.partitions`.
    """
    metric, parts = env.metrics[disparity], env.spec.partitions[partition]
    rate, every, apart = metric.rate, [], []
    for evaluation in result.evaluations:
        totals = evaluation.part_totals[partition]
        above, below = (
            np.asarray(getattr(totals, name), np.float64)
            for name in (rate.numerator, rate.denominator)
        )
        every.append(few(ratio(above, below + rate.offset), parts)[0])
        apart.append(
            metric_label(env, disparity).shown(evaluation.part_metrics[partition][disparity])
        )
    columns = range(every[0].shape[1])
    return [estimate([rates[:, i] for rates in every]) for i in columns], estimate(apart)


def group_sizes(result: Result, groups: int) -> np.ndarray:
    """Return the mean number of people of each group at the start of an episode."""
    codes = np.concatenate([_codes(e.people_start, "group") for e in result.evaluations])
    return np.array([(codes == code).sum(axis=1).mean() for code in range(groups)])


def group_table(results: Mapping[str, Result], env: Environment, axis: str = "") -> str:
    """Return a table of each compared rate per group, for learned policies and best baselines.

    Args:
        results: Policies by name; evaluations have traces and people.
        env: The environment.
        axis: Word for the groups or subgroups whose rates are compared (a key of
            `env.spec.partitions`, for one); that of the groups by default.
    """
    axis = axis or env.spec.group_word
    parts = env.spec.parts_of(axis)
    sized = parts == env.spec.groups and has_population(env)
    rows = _size_rows(results, env) if sized else []
    of_people = has_people(env) and axis in env.spec.partitions and not sized
    of_groups, finished = compared_by_group(env), env.spec.finished_only
    compared = disparities(env)
    for disparity in display_order(env, compared):
        metric = compared[disparity]
        own = disparity in of_groups if of_people else axis_of(env, metric.rate.numerator) == axis
        if not own:
            continue
        shown = metric_label(env, disparity)
        unit = metric.rate.unit_in(env.spec.component_info)
        way = "↓ lower is better" if metric.rate.sign < 0 else "↑ higher is better"
        if disparity in finished:
            way = "of the served only"
        about = escaped(f"{people_unit(unit)[0]}, {way}")
        heading = f"{escaped(rate_title(env, disparity))}<small>{about}</small>"
        limits = limits_of(unit, env.spec.component_info[metric.rate.numerator].nonnegative)
        for i, (name, result) in enumerate(results.items()):
            if of_people:
                rates, apart = part_rates_of(result, disparity, env, axis)
            else:
                rates, apart = group_rates_of(result, metric.rate, parts), result.estimate(shown)
            cells = [value.within(*limits) for value in rates]
            numbers = [estimated(value, unit) for value in (*cells, apart.within(*shown.limits))]
            rows.append([None if i else heading, wrapped(name), *numbers])
    measure = "gap" if len(parts) == 2 else "standard deviation"
    names = [escaped(name) for name in few(np.zeros(len(parts)), parts)[1]]
    head = ["", "policy", *names, f"disparity<small>{measure}</small>"]
    return table(head, rows, "results groups", headings=2)


def _size_rows(results: Mapping[str, Result], env: Environment) -> list[list[str | None]]:
    """Return rows with the number of people per group: one row if all policies meet the same."""
    sizes = {name: group_sizes(result, len(env.spec.groups)) for name, result in results.items()}
    same = len({tuple(count) for count in sizes.values()}) == 1
    return [
        [None if i else "People", "" if same else escaped(name), *map(_count, count), ""]
        for i, (name, count) in enumerate(list(sizes.items())[: 1 if same else None])
    ]


# ---------------------------------------------------------------- further parts of the people


def part_values(
    result: Result, env: Environment, partition: str, end: bool
) -> dict[str, np.ndarray]:
    """Return the mean number, share in each stage and mean core attribute per subgroup.

    Args:
        result: Evaluations made with `trace=True`.
        env: The environment.
        partition: A key of `env.spec.partitions`.
        end: Whether to take the end of each episode instead of its start.

    Returns:
        "people", each stage and the core attribute -> one number per subgroup, over all episodes;
        NaN for a subgroup without people.
    """
    found: dict[str, np.ndarray] = {}
    for name in ("people", *env.spec.stages, env.spec.core_attribute):
        rows = [
            e.parts[partition][name][np.arange(e.episodes), e.lengths if end else 0]
            for e in result.evaluations
        ]
        found[name] = np.concatenate(rows, dtype=np.float64).mean(axis=0)
    people = found["people"]
    shares = {name: ratio(found[name], people) for name in found if name != "people"}
    return {"people": people, **shares}


def partition_table(result: Result, other: Result | None, env: Environment, partition: str) -> str:
    """Return a table of each subgroup at the start and at the end of an episode.

    Args:
        result: A learned policy.
        other: A fixed policy whose end is shown in small print.
        env: The environment.
        partition: A key of `env.spec.partitions`.
    """
    start = part_values(result, env, partition, end=False)
    end = part_values(result, env, partition, end=True)
    beside = None if other is None else part_values(other, env, partition, end=True)
    rows = []
    for i, name in enumerate(env.spec.partitions[partition]):
        cells = [escaped(words(name)), _count(start["people"][i])]
        for column in list(start)[1:]:
            unit = "share" if column in env.spec.stages else ""
            before, after = (number_in(part[column][i], unit) for part in (start, end))
            cell = f'<span class="whole">{before} → {after}</span>'
            if beside is not None:
                cell += f"<small>→ {number_in(beside[column][i], unit)}</small>"
            cells.append(cell)
        rows.append(cells)
    heads = [f"{escaped(words(stage))}<small>%</small>" for stage in list(start)[1:-1]]
    core = f"{escaped(words(env.spec.core_attribute))}<small>mean</small>"
    return table([escaped(words(partition)), "people", *heads, core], rows, "results")


# ---------------------------------------------------------------- sections of the page


def null_table(results: Mapping[str, Result], env: Environment, partition: str = "") -> str:
    """Return a table of the gaps between groups, and of disparities with their null.

    Args:
        results: Policies by name.
        env: The environment.
        partition: A key of `env.spec.partitions` whose subgroups are compared; "" for the groups.

    Returns:
        HTML; "" where no rates are compared.
    """
    rows, some = [], False
    gaps = {
        policy: {} if partition else {one.name: one for one in gaps_of(env, result.evaluations)}
        for policy, result in results.items()
    }
    for name in display_order(env, env.metrics):
        shown = metric_label(env, name)
        found = {policy: result.null(name, partition) for policy, result in results.items()}
        known = [one for one in results if found[one] is not None or name in gaps[one]]
        for i, policy in enumerate(known):
            null = found[policy]
            heading = f"{escaped(shown.title)}<small>{escaped(people_unit(shown.unit)[0])}</small>"
            cells = ["–"] * 3
            some = some or null is not None
            if null is not None and np.isfinite(null.value):
                beside = (null.value, null.mean, null.bound)
                cells = [number_in(float(shown.shown(x)), shown.unit) for x in beside]
            rate = gaps[policy].get(name)
            behind = ["", ""]
            if rate is not None:
                gap = estimate_cell(rate.widest_text) + by_seed(rate.widest_by_seed)
                behind = [gap, rate.test_text.removeprefix("p = ")]
            own = [] if partition else behind
            rows.append([None if i else heading, wrapped(policy), *own, *cells])
    if not rows:
        return ""
    permuted = words(partition) if partition else f"{env.spec.group_word}s"
    signed = (
        "Worse off: the group with the worse mean rate over the episodes, with the gap and its 95%"
        " interval. "
    )
    if any(rate.widest_by_seed for several in gaps.values() for rate in several.values()):
        signed += "By seed: this gap with each seed, negative where the other group is worse off. "
    chance = "p: p-value of the permutation test of the gap. "
    if any(len(result.evaluations) > 1 for result in results.values()):
        chance = f"{chance[:-2]}, for these seeds only; intervals also cover chance in training. "
    if not some:
        head, rows = ["", "policy", "worse off"], [row[:3] for row in rows]
        untested = "There is no permutation test of totals that are kept per group only."
        return table(head, rows, "results", headings=2) + noted(f"{signed}{untested}")
    note = (
        f"{'' if partition else signed + chance}The disparity is the mean over single episodes, so"
        " it holds both the systematic gap and chance differences within episodes. For its null"
        f" distribution the people's {permuted} are permuted {ENOUGH} times, while everybody keeps"
        " their outcomes. Means are over the episodes in which the disparity is defined."
    )
    own = [] if partition else ["worse off", "p"]
    head = ["", "policy", *own, "disparity", "null, mean", "null, 95% quantile"]
    return table(head, rows, "results", headings=2) + noted(note)


def gap_section(results: Mapping[str, Result], env: Environment) -> str:
    """Return who is worse off and each group's rates; "" where no rates are compared.

    Args:
        results: Policies by name.
        env: The environment.
    """
    axes = dict.fromkeys(axis_of(env, m.rate.numerator) for m in disparities(env).values())
    tables = [null_table(results, env)]
    for axis in axes:
        note = f"Rate of each {axis} over whole episodes. [a, b]: 95% CI of the mean."
        tables += [f"<h3>By {escaped(axis)}</h3>", group_table(results, env, axis), noted(note)]
    return "".join(tables)


def partition_section(page: Measured, partition: str) -> str:
    """Return the tables of a further attribute.

    Args:
        page: What was measured.
        partition: A key of `env.spec.partitions`.
    """
    env, parts = page.env, []
    for own, other in page.pairs:
        if len(page.pairs) > 1:
            parts.append(f"<h3>{escaped(own.name)}</h3>")
        parts.append(partition_table(own, other, env, partition))
        small = (
            "" if other is None else f" In small print: the value at the end with “{other.name}”."
        )
        episodes = sum(e.episodes for e in own.evaluations)
        counted = "one episode" if episodes == 1 else f"{episodes} episodes"
        note = (
            f"People of each {words(partition)} at the start → at the end of an episode: their"
            f" number, the share in each stage and the mean {words(env.spec.core_attribute)}, over"
            f" {counted}.{small}"
        )
        parts.append(noted(note))
    if all(partition in e.part_totals for r in page.named.values() for e in r.evaluations):
        note = (
            f"The rates that are compared between {env.spec.group_word}s, over whole episodes, here"
            f" by {words(partition)}, and their disparity. Each person counts for the"
            f" {words(partition)} that they are in. The disparity is defined where the rates of all"
            " of them are."
        )
        parts.append(group_table(page.named, env, partition))
        parts += [noted(note), null_table(page.named, env, partition)]
    return "".join(parts)


def _codes(people: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    return np.atleast_2d(np.asarray(people[name])).astype(int)


def _count(people: float) -> str:
    """Return a mean number of people: whole, or with one decimal if small and not whole."""
    return f"{people:,.0f}" if people >= 100 or float(people).is_integer() else f"{people:.1f}"
