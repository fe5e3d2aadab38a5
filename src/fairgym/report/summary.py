"""First lines of a report: what failed, who decided, and what came out for whom, in plain words."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from fairgym.config.differences import plain, small
from fairgym.core import Environment
from fairgym.report.grouping import RunGroup
from fairgym.results.estimates import Result, best, rate_values, who
from fairgym.results.gaps import gaps_of
from fairgym.results.labels import (
    OBJECTIVE,
    capital,
    disparities,
    has_people,
    listed,
    metric_label,
    metric_labels,
    rate_parts,
    rate_title,
    those,
    words,
)
from fairgym.results.numbers import Estimate, estimate, interval, number_in, number_told
from fairgym.statistics.intervals import paired_interval

MOST = 2  # configurations that have their own lines on the groups

_KINDS = (
    "better in",
    "worse in",
    "no clear difference in",
    "not comparable, as not equally many come to the end of it:",
    "too rarely defined to compare:",
)
_WORDS = (
    ("policy", "is a way of deciding: what an agent does with what it sees."),
    ("baseline", "is a fixed rule, the same from the first day on; nothing of it is learned."),
    ("episode", "is one simulated stretch of {steps}, with {start} and luck drawn anew."),
    ("objective", "is the score that training was told to raise; higher is better."),
    ("epoch", "is one round of training; a seed is the number that fixes its luck."),
)
_DISPARITY = (
    "disparity",
    "is {apart} {whose} rates: 0 means that the {parts} fare alike. It is taken in each"
    " episode and then averaged, whichever of them is ahead, so it can be larger than {apart} mean"
    " rates. Which of the {parts} is worse off, and by how much on average, the gap with its sign"
    " tells.",
)
_SCHEME = (
    "scheme",
    "is a score of how fairly an episode went: it judges, after every step or after some, what each"
    " of those concerned has got so far, which is their status. Higher is better.",
)
_INTERVALS = (
    "Brackets hold a 95% interval: a range made so that it holds the true mean 95 times in 100. It"
    " allows for the luck of the episodes, and for that of training where there are several seeds."
    " Policies are compared episode by episode: two are said to differ when the 95% interval of the"
    " mean difference leaves out 0, which can be so although their own brackets overlap."
)


def summary(
    groups: Sequence[RunGroup],
    learned: Sequence[Result],
    baselines: Sequence[Sequence[Result]],
) -> list[str]:
    """Sentences on failures, on what was done, and on what the learned policies achieve.

    Args:
        groups: the configurations, with their runs.
        learned: their evaluations, in the same order.
        baselines: for each of them the baselines, in its environment and by its objective.
    """
    failed, rules_failed = failures(groups, learned), rule_failures(groups, baselines)
    found = failed + setting(groups, learned, baselines)
    for group, result, rules in zip(groups, learned, baselines, strict=True):
        found.append(verdict(result, rules))
        rule = best(rules)
        if rule is not None and len(groups) <= MOST and not result.ended_early[0]:
            found += outcomes(result, rule, group.env, len(groups) > 1)
    if not failed and not rules_failed:
        found.append("No policy failed: every episode reached its end.")
    return found + rules_failed


# ---------------------------------------------------------------- failures


def failures(groups: Sequence[RunGroup], learned: Sequence[Result]) -> list[str]:
    """Sentences on learned policies that ended episodes early."""
    found = []
    for group, result in zip(groups, learned, strict=True):
        early, count = result.ended_early
        if not early:
            continue
        ended = [np.asarray(e.lengths)[np.asarray(e.terminated)] for e in result.evaluations]
        when = f"{np.concatenate(ended).mean():,.1f}".removesuffix(".0")
        found.append(
            f"{capital(who(result))} failed: in {_of(early, count)} {group.env.spec.failure} before"
            f" the end, on average after {when} of {plain(group.env.horizon)}"
            f" {group.env.spec.time_unit}. Its other numbers count the time until then: they do not"
            " compare with those of policies that go on to the end."
        )
    return found


def rule_failures(groups: Sequence[RunGroup], baselines: Sequence[Sequence[Result]]) -> list[str]:
    """Sentences on baselines that ended episodes early: one per world."""
    found, seen = [], set()
    for group, rules in zip(groups, baselines, strict=True):
        failed = [(rule, *rule.ended_early) for rule in rules if rule.ended_early[0]]
        if not failed or rules[0].world in seen:
            continue
        seen.add(rules[0].world)
        where = f" ({group.world})" if group.world else ""
        names = [f"“{rule.name}” in {_of(early, count)}" for rule, early, count in failed]
        found.append(f"Baselines that failed{where}: {', '.join(names)}.")
    return found


def _of(early: int, count: int) -> str:
    return f"all {count} episodes" if early == count > 1 else f"{early} of {count} episodes"


# ---------------------------------------------------------------- what was done


def setting(
    groups: Sequence[RunGroup],
    learned: Sequence[Result],
    baselines: Sequence[Sequence[Result]],
) -> list[str]:
    """Sentences on who decides about whom for how long, and on how the policies were made."""
    env = groups[0].env
    sizes = " or ".join(dict.fromkeys(group.env.spec.size_text for group in groups))
    steps = " or ".join(plain(x) for x in sorted({group.env.horizon for group in groups}))
    agents = listed(map(words, env.agents))
    found = [
        f"{capital(agents)} {'decides' if len(env.agents) == 1 else 'decide'} about {sizes} over"
        f" {steps} {env.spec.time_unit}, in a simulation."
    ]
    fixed = [agent for agent in env.agents if all(agent in group.fixed for group in groups)]
    trained = [agent for agent in env.agents if agent not in fixed]
    algorithms = listed(dict.fromkeys(group.runs[0].config.algorithm for group in groups))
    some = listed(map(words, trained)) if fixed else "they" if len(trained) > 1 else "it"
    method = "algorithm" if " and " not in algorithms else "algorithms"
    text = f"A computer learned by trial and error ({method} {algorithms}) how {some} should decide"
    if fixed:
        rule = "follows a fixed rule" if len(fixed) == 1 else "follow fixed rules"
        text += f", while {listed(map(words, fixed))} {rule}"
    found.append(f"{text}; it was told to raise {_aim(groups)}.")
    episodes = learned[0].evaluations[0].lengths.size
    rules = max((len(several) for several in baselines), default=0)
    counted = (
        "baseline, a fixed rule" if rules == 1 else f"{rules} baselines, which are fixed rules"
    )
    policies = "policy was" if len(learned) == 1 else "policies were"
    beside = f" beside {counted}, in" if rules else " in"
    same = "one episode" if episodes == 1 else f"the same {plain(episodes)} episodes"
    luck = "the same people with the same luck" if has_people(env) else "the same luck"
    found.append(f"The learned {policies} then tried{beside} {same}: {luck} for all.")
    return found


def _aim(groups: Sequence[RunGroup]) -> str:
    """The objective in words."""
    if len({group.aim for group in groups}) > 1:
        return "a score, the objective, of which each configuration has its own"
    run = groups[0].runs[0]
    objective, named = run.objective, run.config.objective
    if isinstance(objective, Mapping):
        return "a score, the objective, of which each agent has its own"
    weighed = [name for name, weight in objective.weights.items() if weight]
    titles = {label.name: small(label.title) for label in metric_labels(run.env)}
    names = [titles.get(name, words(name)) for name in weighed]
    name = f" “{named}”" if isinstance(named, str) else ""
    return f"one score, the objective{name}" + (f", made of {listed(names)}" if names else "")


# ---------------------------------------------------------------- what came out


def verdict(result: Result, rules: Sequence[Result]) -> str:
    """Objective of a learned policy beside that of the best baseline."""
    own = result.estimate(OBJECTIVE)
    name = capital(who(result))
    rule = best(rules)
    if rule is None:
        return f"{name} reaches {interval(own)} by the objective; no baseline is there to compare."
    which = _among(rules)
    numbers = f"{interval(own)} beside {interval(rule.estimate(OBJECTIVE))}"
    gap = result.difference(rule, OBJECTIVE)
    if not np.isfinite(gap.low):
        return (
            f"By the objective {who(result)} reaches {numbers} for {which}, “{rule.name}”. One"
            " episode says nothing of chance."
        )
    if result.ended_early[0]:
        return (
            f"By the objective {who(result)} reaches {numbers} for {which}, “{rule.name}”; it"
            " failed, so that the two do not compare."
        )
    way = "neither clearly better nor clearly worse"
    if gap.clear:
        way = "better" if gap.mean > 0 else "worse"
    return (
        f"By the objective {who(result)} does {way} than {which}, “{rule.name}”: {numbers}, a"
        f" difference of {interval(gap)}."
    )


def _among(rules: Sequence[Result]) -> str:
    """The best baseline by what it is the best of."""
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


def outcomes(result: Result, rule: Result, env: Environment, several: bool) -> list[str]:
    """Sentences on what is better and what is worse than with a baseline, for all and per group.

    Args:
        result: a learned policy.
        rule: a baseline in the same episodes.
        env: the environment, for names and units.
        several: True to name the policy, as one of several.
    """
    gaps, finished = disparities(env), env.spec.finished_only
    of_groups = {n: m.rate for n, m in gaps.items() if rate_parts(env, m.rate) == env.spec.groups}
    of_all, apart = [], []  # apart: differences that no gap between groups tells
    for name in (*env.metrics, *env.spec.schemes):
        label = metric_label(env, name)
        pair = [one.estimate(label).mean for one in (result, rule)]
        gap = result.difference(rule, label)
        line = (small(words(label.title)), pair, label.unit, gap, label.flipped, True)
        if name not in of_groups:
            (apart if name in gaps else of_all).append(line)
    start = f"“{result.name}”, " if several else ""
    beside = f"compared with “{rule.name}”"
    found = [_sorted_line(f"{start}{beside}", of_all)]
    traced = all(e.trace is not None for e in (*result.evaluations, *rule.evaluations))
    for code, group in enumerate(env.spec.groups if traced else ()):
        lines = []
        # who is served stands before how long those who are wait for it
        for name, rate in sorted(of_groups.items(), key=lambda item: item[0] in finished):
            ours, theirs = (rate_values(one, rate, code) for one in (result, rule))
            same = True
            if other := of_groups.get(finished.get(name, "")):
                served, beside_it = (rate_values(one, other, code) for one in (result, rule))
                same = not Estimate(*paired_interval(served, beside_it)).clear
            pair = [estimate(values).mean for values in (ours, theirs)]
            unit = rate.unit_in(env.spec.component_info)
            gap = Estimate(*paired_interval(ours, theirs))
            lines.append((small(rate_title(env, name)), pair, unit, gap, rate.sign < 0, same))
        found.append(_sorted_line(f"{start}for {those(group)}, {beside}", lines))
    found.append(_sorted_line(f"{start}differences between people, {beside}", apart))
    found += [gap_sentence(one, env) for one in (result, rule)]
    return [sentence for sentence in found if sentence]


def gap_sentence(result: Result, env: Environment) -> str:
    """Which group is worse off in what with a policy, by how much; "" if no rates are compared."""
    clear, unclear = [], []
    for rate in gaps_of(env, result.evaluations):
        if rate_parts(env, env.metrics[rate.name].rate) != env.spec.groups:
            continue
        unit = "" if rate.unit in ("", "share") else f" {rate.unit}"
        pair = rate.widest
        if pair.gap.clear:
            chance = f" ({rate.test_text})" if rate.test else ""
            clear.append(f"{small(rate.title)}: {rate.text(pair)}{unit}{chance}")
        elif np.isfinite(pair.gap.low):
            unclear.append(small(rate.title))
    name = capital(f"with {who(result)}")
    if not clear:
        return f"{name} no group is clearly worse off in {listed(unclear)}." if unclear else ""
    rest = f"; nobody clearly in {listed(unclear)}" if unclear else ""
    return f"Who is worse off {name[0].lower()}{name[1:]}, on average: {'; '.join(clear)}{rest}."


def _sorted_line(
    start: str, lines: Iterable[tuple[str, Sequence[float], str, Estimate, bool, bool]]
) -> str:
    """One sentence on what is better, worse, and not clearly different; "" for no line."""
    kinds: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    better, worse, alike, other, unknown = kinds.values()
    for what, (ours, theirs), unit, gap, flipped, same in lines:
        if not gap.clear:
            (alike if np.isfinite(gap.low) else unknown).append(what)
            continue
        kind = (better if (gap.mean < 0) == flipped else worse) if same else other
        kind.append(f"{what} ({number_told(ours, unit)} instead of {number_in(theirs, unit)})")
    parts = [f"{kind} {', '.join(names)}" for kind, names in kinds.items() if names]
    return f"{capital(start)}: {'; '.join(parts)}." if parts else ""


# ---------------------------------------------------------------- words of the page


def glossary(env: Environment) -> list[str]:
    """Meaning of the page's words, a line each."""
    start = "people" if has_people(env) else "a start"
    terms = [*_WORDS]
    if disparities(env):
        terms.append(_DISPARITY)
    if env.spec.schemes:
        terms.append(_SCHEME)
    compared = {rate_parts(env, metric.rate) for metric in disparities(env).values()}
    two = compared <= {parts for parts in compared if len(parts) == 2}
    apart = "the gap between" if two else "the standard deviation of"
    parts = "groups" if compared <= {env.spec.groups} else "people"
    whose = "the groups'" if parts == "groups" else "people's"
    steps = f"{plain(env.horizon)} {env.spec.time_unit}"
    lines = []
    for term, meaning in terms:
        article = "An" if term[0] in "aeiou" else "A"
        text = meaning.format(steps=steps, start=start, apart=apart, parts=parts, whose=whose)
        lines.append(f"{article} {term} {text}")
    return [*lines, _INTERVALS]
