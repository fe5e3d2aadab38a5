"""Properties of environments of people: one function each."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from fairgym.core import Environment
from fairgym.testing._compare import Case, as_numpy, require, require_close, require_names
from fairgym.testing._renumbering import renumbered, require_same_people, taken


def stages_and_features(case: Case) -> None:
    """Stages, core attribute, partitions and waits fit the people."""
    env: Any = case.env
    require_names("stages", env.spec.stages)
    people, _ = case.count(case.start[1])
    require(
        env.spec.core_attribute in people,
        f"core_attribute {env.spec.core_attribute!r} is not among the features of `people`",
    )
    for feature in env.spec.partitions:
        require(feature in people, f"partitions names {feature!r}, which is no feature of `people`")
    for stage, feature in env.spec.waits.items():
        require(
            stage in env.spec.stages and feature in people,
            f"waits names the stage {stage!r} and the feature {feature!r}; it takes one of the"
            f" stages {list(env.spec.stages)} and a feature of `people`",
        )


def census(case: Case) -> None:
    """Everybody is counted once at every step, and has every feature."""
    env: Any = case.env
    names = None
    for number, state in enumerate(case.states):
        people, by_stage = case.count(state)
        counted = int(sum(as_numpy(count).sum() for count in by_stage.values()))
        require(
            counted == env.population and sorted(by_stage) == sorted(env.spec.stages),
            f"the census after {number} steps counts {counted} people in the stages"
            f" {list(by_stage)}; there are {env.population} in {list(env.spec.stages)}",
        )
        names = names or set(people)
        require(set(people) == names, f"people after {number} steps has other features than before")
        for name, column in people.items():
            column = as_numpy(column)
            right = column.shape == (env.population,) and np.all(np.isfinite(column))
            require(
                right,
                f"people[{name!r}] after {number} steps is not one finite number for each of the"
                f" {env.population} people (shape {column.shape})",
            )


def numbering(case: Case) -> None:
    """Numbering the people differently changes their places in the results, and nothing else.

    State and noise are renumbered alike (`renumbered`), and both worlds run in lockstep under
    policies that do not see the order. Their actions are rounded, so that there are ties. Where an
    agent chooses one of the people, the same person is chosen in both worlds: of two who look
    alike a policy would take the first. Not of environments whose people are not `exchangeable`.
    """
    env: Any = case.env
    if not env.spec.exchangeable:
        return
    params = case.params
    spaces = {agent: env.action_space(agent) for agent in env.agents}

    def act(seen: PyTree) -> dict[str, PyTree]:
        rough = {
            agent: x if spaces[agent].discrete else jnp.asarray(np.round(np.asarray(x) * 4) / 4)
            for agent, x in case.act(seen).items()
        }
        return {agent: spaces[agent].clip(x) for agent, x in rough.items()}

    def act_there(seen: PyTree, actions: dict[str, PyTree]) -> dict[str, PyTree]:
        places = np.argsort(order)
        same = {agent: a for agent, a in actions.items() if spaces[agent].chooses_row}
        moved = {
            agent: jnp.int32(places[int(x)]) if int(x) < places.size else x
            for agent, x in same.items()
        }
        return act(seen) | moved

    transition = case.compiled("transition", env.transition)
    order = np.asarray(jax.random.permutation(case.key, env.population))
    here = case.start[1]
    there = renumbered(here, order)
    for number in range(case.steps + 1):
        seen, seen_there = case.observe(here), case.observe(there)
        (people, census), (people_there, census_there) = case.count(here), case.count(there)
        people = {name: np.asarray(column)[order] for name, column in people.items()}
        what = f"after {number} steps, people renumbered"
        require_close(people, people_there, f"people {what}")
        require_close(census, census_there, f"census {what}")
        for agent, space in spaces.items():
            where = f"what {agent!r} sees {what}"
            if space.chooses_row:
                mine = seen[agent]
                moved = {"features": mine.features, "mask": mine.mask}
                moved = {name: jnp.asarray(np.asarray(x)[order]) for name, x in moved.items()}
                require_close(mine.replace(**moved), seen_there[agent], where)
            else:
                require_same_people(seen[agent], seen_there[agent], where)
        noise = env.noise(jax.random.fold_in(case.key, number), params)
        actions = act(seen)
        actions_there = act_there(seen_there, actions)
        here, total, ended = transition(noise, here, actions, params)
        there, *same = transition(renumbered(noise, order), there, actions_there, params)
        what = f"of step {number}, people renumbered"
        require_close(_reordered(env, total, order), same[0], f"components {what}")
        require_close(ended, same[1], f"termination {what}")


def _reordered(env: Environment, components: PyTree, order: np.ndarray) -> PyTree:
    """Components whose entries per person are in another order."""
    per_person = {
        name: taken(getattr(components, name), order, info.axes.index("person"))
        for name, info in env.spec.component_info.items()
        if "person" in info.axes
    }
    return dataclasses.replace(components, **per_person)
