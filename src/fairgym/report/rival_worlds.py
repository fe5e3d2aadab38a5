"""Conclusions of a report in rival worlds of its environment: what turns around is told first."""

from collections.abc import Callable, Sequence

from fairgym.config.differences import words
from fairgym.report.grouping import RunGroup
from fairgym.results.conclusions import overturned, worlds_sentence
from fairgym.results.estimates import Result, best
from fairgym.results.rows import effects
from fairgym.training.reforms import declared_by
from fairgym.training.scenarios import Scenario, simulate

EPISODES = 8
MOST = 2  # configurations


def in_rival_worlds(
    groups: Sequence[RunGroup],
    learned: Sequence[Result],
    baselines: Sequence[Sequence[Result]],
    seed: int,
    progress: Callable[[str], None] | None = None,
) -> tuple[list[str], list[str]]:
    """Compare learned policies with their best baselines in rival worlds of the environment.

    The first run of each of the first two configurations is measured, in 8 episodes.

    Args:
        groups: The configurations, with their runs.
        learned: Results of their policies.
        baselines: Results of the fixed policies of each.
        seed: Seed of the episodes.
        progress: Called with a short text before each configuration.

    Returns:
        `(turned, notes)`: a sentence for each conclusion that turns around, and for each
        configuration one on the worlds.
    """
    turned: list[str] = []
    notes: list[str] = []
    for group, own, rules in list(zip(groups, learned, baselines, strict=True))[:MOST]:
        rule, worlds = best(rules), list(declared_by(group.env).worlds.values())
        names = sorted(group.env.spec.baselines, key=len, reverse=True)
        name = next((x for x in names if rule and rule.name.startswith(words(x))), "")
        if not (name and worlds):
            continue
        (progress or (lambda text: None))(f"{own.name} in rival worlds")
        scenarios = [Scenario(words(name), baseline=name), Scenario(own.name)]
        found = simulate(group.runs[0], scenarios, episodes=EPISODES, seed=seed, worlds=worlds)
        rows = effects(found)
        turned += overturned(found, rows, everything=False)
        notes.append(
            f"{worlds_sentence(found, rows).removesuffix('.')}, for “{own.name}” beside"
            f" “{words(name)}” ({EPISODES} episodes)."
        )
    return turned, notes
