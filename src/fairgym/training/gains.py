"""Who gains and who loses: the same people under a scenario and the reference."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, PRNGKeyArray

from fairgym.core import AnyPolicy, Environment, FairgymError, Params, counts_people, rollout
from fairgym.core.batching import map_episodes
from fairgym.core.environment import PopulationEnvironment, group_counts
from fairgym.core.rollout import episode_keys
from fairgym.statistics.intervals import mean_interval
from fairgym.training.scenarios import Simulation

SCORES = ("lowest", "middle", "highest")  # thirds of the people by their starting score
MOST = 2_000_000  # people, over all episodes


class People(NamedTuple):
    """People of the episodes of one scenario, arrays (episodes, people).

    Attributes:
        group: Index of the group at the start.
        score: Core attribute at the start.
        stage: Index of the stage at the end.
        benefit: What the person received over the episode (`spec.benefit`); 0 without it.
    """

    group: np.ndarray
    score: np.ndarray
    stage: np.ndarray
    benefit: np.ndarray


class Cell(NamedTuple):
    """People of one group, third of the starting scores and stage at the end, per episode.

    Attributes:
        group: Name of the group.
        score: Third of the starting scores: "lowest", "middle" or "highest".
        stage: Stage at the end, or "more" ("less") for people who received more (less) than under
            the reference.
        before: Mean number of people under the reference; 0 for "more" and "less".
        after: Mean number of people under the scenario.
        difference: Mean paired difference.
        low: Lower limit of its 95% interval.
        high: Upper limit.
    """

    group: str
    score: str
    stage: str
    before: float
    after: float
    difference: float
    low: float
    high: float


def gains(simulation: Simulation, name: str) -> list[Cell]:
    """Return where the people of each group and starting score end, and who received more.

    People are compared with themselves: the same person in the same episode. Thirds of the
    starting scores are those of all people of the reference. The stages of a group and third sum
    to its people, and groups and thirds sum to all people.

    Args:
        simulation: A simulation of an environment with people.
        name: Name of a scenario.

    Raises:
        FairgymError: If the environment has no people, or the scenario begins with other people.
    """
    env = simulation.base.env
    if not isinstance(env.unwrapped, PopulationEnvironment):
        raise FairgymError(f"{env.name} has no people whose gains could be counted")
    if not simulation.same_people(name):
        raise FairgymError(f"{name!r} begins with other people, who cannot be compared")
    sides = {one.name: one for one in simulation.built}
    before, after = (
        _people(sides[side].running, sides[side].policies, simulation)
        for side in (simulation.reference, name)
    )
    edges = np.quantile(before.score, [1 / 3, 2 / 3])
    third = np.searchsorted(edges, before.score, side="left")
    gain, counted = after.benefit - before.benefit, counts_benefit(env)
    gain[np.isclose(after.benefit, before.benefit, rtol=1e-6, atol=0.0)] = 0.0  # rounding
    cells = []
    for group, group_name in enumerate(env.spec.groups):
        for part, part_name in enumerate(SCORES):
            who = (before.group == group) & (third == part)
            for stage, stage_name in enumerate(env.spec.stages):
                there = (who & (before.stage == stage), who & (after.stage == stage))
                cells.append(_cell(group_name, part_name, stage_name, *there))
            if not counted:
                continue
            nobody = np.zeros_like(who)
            cells.append(_cell(group_name, part_name, "more", nobody, who & (gain > 0)))
            cells.append(_cell(group_name, part_name, "less", nobody, who & (gain < 0)))
    return cells


def counts_benefit(env: Environment) -> bool:
    """Return whether it is counted what each person receives (`spec.benefit`)."""
    return counts_people(env) and env.spec.benefit in group_counts(env)


def _cell(group: str, score: str, stage: str, before: np.ndarray, after: np.ndarray) -> Cell:
    first, second = (np.asarray(side.sum(axis=1), np.float64) for side in (before, after))
    change = mean_interval(np.subtract(second, first))
    return Cell(group, score, stage, float(first.mean()), float(second.mean()), *change)


def _people(
    running: tuple[Environment, Params], policies: Mapping[str, AnyPolicy], simulation: Simulation
) -> People:
    env, params = running
    system: Any = env
    episodes = min(simulation.episodes, max(1, MOST // system.population))
    keys = jax.random.split(jax.random.key(simulation.seed), simulation.episodes)[:episodes]
    params = jax.tree.map(jnp.asarray, params)
    benefit = env.spec.benefit if counts_benefit(env) else ""
    found = _measured(env, params, dict(policies), keys, benefit)
    return People(*(np.asarray(column) for column in found))


@eqx.filter_jit
def _measured(
    env: Environment,
    params: Params,
    policies: dict[str, AnyPolicy],
    keys: Key[Array, " episodes"],
    benefit: str,
) -> Sequence[Array]:
    """Run the episodes; return the columns of `People`."""
    counted = bool(benefit)
    system: Any = env

    def one(key: PRNGKeyArray) -> Sequence[Array]:
        start = env.initial_state(episode_keys(key)[0], params)
        episode = rollout(env, params, policies, key, tally=counted)
        nothing = jnp.zeros(start.group.shape)
        received = getattr(episode.tallies, benefit) if counted else nothing
        score = system.people(start)[env.spec.core_attribute]
        return start.group, score, episode.final_state.stage, received

    return map_episodes(one, keys, env=env)
