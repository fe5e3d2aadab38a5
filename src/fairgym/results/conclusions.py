"""Sentences about a simulation: what was run, what clearly changes for whom, and failures."""

import math
from collections.abc import Sequence

from fairgym.config.differences import small, words
from fairgym.core import Environment
from fairgym.results.labels import capital, has_people, listed
from fairgym.results.numbers import difference_text, number
from fairgym.results.quantities import FAILED, LENGTH
from fairgym.results.rows import Row
from fairgym.results.what_if import rivals
from fairgym.training.scenarios import Built, Simulation

MOST_EFFECTS = 3  # in one sentence
MOST_TURNED = 2  # overturned effects in one sentence


def opening(simulation: Simulation) -> list[str]:
    """Describe what was simulated: size, length, episodes, reference, whether people differ."""
    base, env = simulation.base, simulation.base.env
    episodes = "1 episode" if simulation.episodes == 1 else f"{simulation.episodes:,} episodes"
    several = f" of each scenario with the {same_episodes(env)}" * bool(simulation.others)
    own = words(base.baseline) == base.name
    begins = "" if own else f" (from the baseline {words(base.baseline)})"
    reference = f"; reference: {base.name}{begins}" if simulation.others else f"; {base.name}"
    sentences = [
        f"{simulation.environment}: {env.spec.size_text}, up to {env.horizon:,}"
        f" {env.spec.time_unit}, {episodes}{several}{reference}.",
        *_lengths(simulation),
    ]
    others = [one.name for one in simulation.others if not simulation.same_people(one.name)]
    if others:
        names = " and ".join(f"“{name}”" for name in others)
        sentences.append(
            f"{names} {'begins' if len(others) == 1 else 'begin'} with other people than the"
            " reference, so part of each difference is a difference between people."
        )
    return sentences


def same_episodes(env: Environment) -> str:
    """Describe what all policies share."""
    return "same people and random numbers" if has_people(env) else "same random numbers"


def _lengths(simulation: Simulation) -> list[str]:
    """Mean lengths of the episodes, if any failed: sums cover no more."""
    evaluations = simulation.evaluations
    if not any(one.terminated.any() for one in evaluations.values()):
        return []
    unit = f" {simulation.base.env.spec.time_unit} on average"
    told = [
        f"{number(one.lengths.mean())}{'' if place else unit} with “{name}”"
        for place, (name, one) in enumerate(evaluations.items())
    ]
    return [f"Failures cut episodes short: {', '.join(told)}."]


def told_rows(found: Sequence[Row]) -> list[Row]:
    """Return the rows that conclusions are about: measures and rates, without failures."""
    return [
        row
        for row in found
        if row.quantity.kind in ("measure", "rate") and row.quantity.name not in (FAILED, LENGTH)
    ]


def relative(row: Row, name: str, reference: str) -> float:
    """Return the size of a difference relative to the larger of the two means."""
    means = (row.means[side].mean for side in (name, reference))
    return abs(row.differences[name].mean) / max(map(abs, means))


def effects_sentence(simulation: Simulation, found: Sequence[Row], one: Built) -> str:
    """Return the largest clear effects of a scenario, by group.

    Effects are ordered by their size relative to the larger of the two means. Disparities are
    named only if no other measure differs, because gaps between groups have a table.

    Args:
        simulation: The measured scenarios.
        found: All effects.
        one: A scenario that is not the reference.
    """
    told = told_rows(found)
    metrics = simulation.base.env.metrics
    fair = {name for name, metric in metrics.items() if metric.kind == "fair"}
    clear = [row for row in told if not row.quantity.group and row.differences[one.name].clear]
    shown = [row for row in clear if row.quantity.name not in fair] or clear
    shown.sort(key=lambda row: relative(row, one.name, simulation.reference), reverse=True)
    texts = []
    for row in shown[:MOST_EFFECTS]:
        parts = [
            x
            for x in told
            if x.quantity.group
            and x.quantity.name == row.quantity.name
            and x.differences[one.name].mean != 0.0
        ]
        each = ", ".join(
            f"{words(x.quantity.group)} {difference_text(x.differences[one.name], x.quantity.unit)}"
            for x in parts
        )
        own = difference_text(row.differences[one.name], row.quantity.unit)
        unit = "" if row.quantity.unit in ("", "share") else f" ({row.quantity.unit})"
        texts.append(f"{small(row.quantity.title)}{unit}: {each or own}")
    first = "; ".join(texts) if texts else "no measure clearly differs"
    return f"With “{one.name}”: {first}."


def unclear_measures(found: Sequence[Row], one: Built) -> list[str]:
    """Return the titles of measures of all people whose difference may be 0."""
    return [
        small(row.quantity.title)
        for row in told_rows(found)
        if not row.quantity.group
        and math.isfinite(row.differences[one.name].low)
        and not row.differences[one.name].clear
        and not row.unchanged
    ]


def failed_sentence(simulation: Simulation, one: Built) -> str:
    """Return number of episodes in which a scenario and the reference fail."""
    failure = capital(simulation.base.env.spec.failure)
    count, before = (
        int(simulation.evaluations[name].terminated.sum())
        for name in (one.name, simulation.reference)
    )
    of = f"of {simulation.episodes:,} episodes"
    if one is simulation.base:
        return f"{failure} in {count} {of}."
    return f"{failure} in {count} {of} with “{one.name}” (reference: {before})."


def failures_sentence(simulation: Simulation) -> str:
    """Return number of episodes in which each scenario fails."""
    failure = capital(simulation.base.env.spec.failure)
    counts = {name: int(one.terminated.sum()) for name, one in simulation.evaluations.items()}
    (name, first), *others = counts.items()
    told = [f"{failure} in {first} of {simulation.episodes:,} episodes with “{name}”"]
    return f"{listed([*told, *(f'in {count} with “{name}”' for name, count in others)])}."


def overturned(simulation: Simulation, found: Sequence[Row], everything: bool) -> list[str]:
    """Return what rival worlds turn around: a sentence per scenario and world.

    Args:
        simulation: A simulation with rival worlds.
        found: Its effects.
        everything: Whether to name all effects, instead of the first two.
    """
    several: dict[tuple[str, str], list[str]] = {}
    for one in rivals(simulation, found):
        if one.overturned and not one.quantity.group:
            several.setdefault((one.scenario, one.about), []).append(one.text)
    sentences = []
    for (scenario, about), texts in several.items():
        shown = texts if everything else texts[:MOST_TURNED]
        more = f", and {len(texts) - len(shown)} more" if len(texts) > len(shown) else ""
        sentences.append(
            f"If {about}, “{scenario}” has the opposite effect: {'; '.join(shown)}{more}."
        )
    return sentences


def worlds_sentence(simulation: Simulation, found: Sequence[Row]) -> str:
    """Return the world of the scenarios, or which rival worlds they were run in; "" for none."""
    if simulation.world is not None:
        return f"In the world {simulation.world.name}: {simulation.world.about}."
    if not simulation.worlds:
        return ""
    names = listed(words(name) for name in simulation.worlds)
    turned = sum(one.overturned and not one.quantity.group for one in rivals(simulation, found))
    told = f"{turned} clear effects change their sign" if turned else "no clear effect changes sign"
    if turned == 1:
        told = "1 clear effect changes its sign"
    several = "worlds" if len(simulation.worlds) > 1 else "world"
    return f"In the rival {several} {names}: {told}."
