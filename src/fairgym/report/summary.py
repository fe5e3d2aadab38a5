"""First lines of a report: failures, who is worse off, and what is better or worse."""

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
    ("policy", "is a rule for deciding: it maps what an agent observes to what it does."),
    ("baseline", "is a fixed policy; nothing in it is learned."),
    ("episode", "is one simulation of {steps}, with {start} and random events drawn anew."),
    ("objective", "is the score that training maximises; higher is better."),
    ("epoch", "is one round of training; a seed is the number that fixes its random draws."),
)
_DISPARITY = (
    "disparity",
    "is {apart} {whose} rates: 0 means that the {parts} fare alike. It has no sign and is averaged"
    " over episodes, so it can be larger than {apart} mean rates. The signed gap shows which of"
    " the {parts} is worse off, and by how much on average.",
)
_SCHEME = (
    "scheme",
    "is a score of how fairly an episode went. After every step, or some of them, it scores the"
    " status of the stakeholders: what each has received so far. Higher is better.",
)
_INTERVALS = (
    "[a, b] is a 95% confidence interval (CI). It covers chance in the episodes, and in training"
    " where there are several seeds. An interval over two or three seeds says little, so tables"
    " show the mean of each of them, too. Policies are compared episode by episode: two differ"
    " clearly when the 95% confidence interval of their mean paired difference excludes 0. This can"
    " be so even where their own intervals overlap."
)


def in_short(page: Measured) -> list[str]:
    """Return the main findings: failures, who is worse off, who waits, what is better or worse.

    What turns around in rival worlds comes first.

    Args:
        page: What was measured.
    """
    several = len(page.groups) > 1
    failed, rules_failed = failures(page.groups, page.learned), rule_failures(page)
    found, verdicts = list(failed), []
    for group, result, rules in zip(page.groups, page.learned, page.baselines, strict=True):
        rule = best(rules)
        found.append(gap_sentence(result, group.env))
        verdicts.append(verdict(result, rules))
        if len(page.groups) <= MOST and _comparable(rule, result):
            found += wait_sentences(result, rule, group.env, several)
            found += overall(result, rule, group.env, several)
    found += verdicts
    if not failed and not rules_failed:
        found.append("No policy failed: every episode reached its end.")
    return [sentence for sentence in [*page.turned, *found, *rules_failed] if sentence]


def _comparable(rule: Result | None, result: Result) -> TypeGuard[Result]:
    """Whether there is a baseline, and neither policy failed: else times differ."""
    return rule is not None and not (result.ended_early[0] or rule.ended_early[0])


def by_group(page: Measured) -> list[str]:
    """Return sentences on what changes for each group, and who is worse off with baselines."""
    several, found = len(page.groups) > 1, []
    for group, result, rules in zip(page.groups, page.learned, page.baselines, strict=True):
        rule = best(rules)
        if len(page.groups) <= MOST and _comparable(rule, result):
            found += [*for_groups(result, rule, group.env, several), gap_sentence(rule, group.env)]
    return [sentence for sentence in dict.fromkeys(found) if sentence]


# ---------------------------------------------------------------- failures


def failures(groups: Sequence[RunGroup], learned: Sequence[Result]) -> list[str]:
    """Return sentences on learned policies that ended episodes early."""
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
            f" {group.env.spec.time_unit}. Its other numbers cover the time until then, so do not"
            " compare them with those of policies that reached the end."
        )
    return found


def rule_failures(page: Measured) -> list[str]:
    """Return sentences on baselines that ended episodes early, one per environment."""
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
    """Return sentences on who decides about whom, and on how the policies were made."""
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
    method, whose = ("algorithms", "They") if " and " in algorithms else ("algorithm", "It")
    text = f"The {method} {algorithms} learned by trial and error how {some} should decide"
    if fixed:
        rule = "follows a fixed rule" if len(fixed) == 1 else "follow fixed rules"
        text += f", while {listed(map(words, fixed))} {rule}"
    found.append(f"{text}. {whose} maximised {_aim(groups)}.")
    episodes = learned[0].evaluations[0].lengths.size
    rules = max((len(several) for several in baselines), default=0)
    counted = "a baseline (a fixed policy)" if rules == 1 else f"{rules} baselines (fixed policies)"
    policies = "policy was" if len(learned) == 1 else "policies were"
    beside = f" beside {counted}, in" if rules else " in"
    same = "one episode" if episodes == 1 else f"the same {plain(episodes)} episodes"
    same_draws = "the same people and random draws" if has_people(env) else "the same random draws"
    found.append(f"The learned {policies} then measured{beside} {same}, with {same_draws}.")
    return [*found, *page.worlds]


def _aim(groups: Sequence[RunGroup]) -> str:
    """Return the objective in words."""
    configs = [group.runs[0].config for group in groups]
    if len({as_text((one.objective, one.objectives, one.bounds)) for one in configs}) > 1:
        return "a different objective in each configuration"
    run = groups[0].runs[0]
    objective, named = run.objective, run.config.objective
    if isinstance(objective, Mapping):
        return "an objective of its own for each agent"
    weighed = [name for name, weight in objective.weights.items() if weight]
    titles = {label.name: small(label.title) for label in metric_labels(run.env)}
    names = [titles.get(name, words(name)) for name in weighed]
    name = f" “{named}”" if isinstance(named, str) else ""
    return f"the objective{name}" + (f", a weighted sum of {listed(names)}" if names else "")


# ---------------------------------------------------------------- words of the page


def glossary(env: Environment) -> list[str]:
    """Return the meaning of each term of the page."""
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
