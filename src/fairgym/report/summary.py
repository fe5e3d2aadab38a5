"""First lines of a report: what failed, who decided, and what came out for whom, in plain words."""

from collections.abc import Mapping, Sequence
from typing import TypeGuard

import numpy as np

from fairgym.config.differences import as_text, plain, small
from fairgym.core import Environment
from fairgym.report.grouping import RunGroup
from fairgym.report.measured import Measured
from fairgym.report.verdicts import for_groups, gap_sentence, overall, verdict, wait_sentences
from fairgym.results.estimates import Result, best, who
from fairgym.results.labels import (
    capital,
    disparities,
    has_people,
    listed,
    metric_labels,
    rate_parts,
    words,
)

MOST = 2  # configurations that have their own lines on the groups
_WORDS = (
    ("policy", "is a way of deciding: what an agent does with what it sees."),
    ("baseline", "is a fixed rule, the same from the first day on; nothing of it is learned."),
    ("episode", "is one simulated stretch of {steps}, with {start} and chance drawn anew."),
    ("objective", "is the score that training was told to raise; higher is better."),
    ("epoch", "is one round of training; a seed is the number that fixes its random draws."),
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
    "Brackets hold a 95% interval, made so that it holds the true mean 95 times in 100. It"
    " allows for chance in the episodes, and in training where there are several seeds."
    " Policies are compared episode by episode: two are said to differ when the 95% interval of the"
    " mean difference leaves out 0, which can be so although their own brackets overlap."
)


def in_short(page: Measured) -> list[str]:
    """What failed, who is worse off, who waits, and what is better or worse, in this order.

    Args:
        page: what was measured.
    """
    several = len(page.groups) > 1
    failed, rules_failed = failures(page.groups, page.learned), rule_failures(page)
    found, verdicts = list(failed), []
    for group, result, rules in zip(page.groups, page.learned, page.baselines, strict=True):
        rule = best(rules)
        found.append(gap_sentence(result, group.env, several))
        verdicts.append(verdict(result, rules))
        if len(page.groups) <= MOST and _comparable(rule, result):
            found += wait_sentences(result, rule, group.env, several)
            found += overall(result, rule, group.env, several)
    found += verdicts
    if not failed and not rules_failed:
        found.append("No policy failed: every episode reached its end.")
    return [sentence for sentence in found + rules_failed if sentence]


def _comparable(rule: Result | None, result: Result) -> TypeGuard[Result]:
    """False without a baseline, and where one of the two failed: times then differ."""
    return rule is not None and not (result.ended_early[0] or rule.ended_early[0])


def by_group(page: Measured) -> list[str]:
    """Sentences on what changes for each group, and on who is worse off with the baselines."""
    several, found = len(page.groups) > 1, []
    for group, result, rules in zip(page.groups, page.learned, page.baselines, strict=True):
        rule = best(rules)
        if len(page.groups) <= MOST and _comparable(rule, result):
            found += [*for_groups(result, rule, group.env, several), gap_sentence(rule, group.env)]
    return [sentence for sentence in dict.fromkeys(found) if sentence]


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


def rule_failures(page: Measured) -> list[str]:
    """Sentences on baselines that ended episodes early: one per environment."""
    found, seen = [], set()
    for rules in page.baselines:
        failed = [(rule, *rule.ended_early) for rule in rules if rule.ended_early[0]]
        if not failed or rules[0].environment in seen:
            continue
        seen.add(rules[0].environment)
        names = [f"“{rule.name}” in {_of(early, count)}" for rule, early, count in failed]
        found.append(f"Baselines that failed: {', '.join(names)}.")
    return found


def _of(early: int, count: int) -> str:
    return f"all {count} episodes" if early == count > 1 else f"{early} of {count} episodes"


# ---------------------------------------------------------------- what was done


def setting(page: Measured) -> list[str]:
    """Sentences on who decides about whom for how long, and on how the policies were made."""
    groups, learned, baselines = page.groups, page.learned, page.baselines
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
    same_draws = "the same people and random draws" if has_people(env) else "the same random draws"
    found.append(f"The learned {policies} then tried{beside} {same}: {same_draws} for all.")
    return found


def _aim(groups: Sequence[RunGroup]) -> str:
    """The objective in words."""
    configs = [group.runs[0].config for group in groups]
    if len({as_text((one.objective, one.objectives, one.bounds)) for one in configs}) > 1:
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
