"""What `check_environment` holds an environment to: one function per property."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fairgym.core import Entities, PerEntity, rollout
from fairgym.fairness import Metric, Objective
from fairgym.policies import Random, fixed_policies
from fairgym.testing._case import Case, ending
from fairgym.testing._compare import (
    ConformanceError,
    as_numpy,
    differ,
    named,
    renumbered,
    require,
    require_close,
    require_same_people,
    require_same_structure,
)

WILD = jnp.array([jnp.nan, -3.0, 7.0, jnp.inf, -jnp.inf, 0.5, -0.0, 1e30])

# ------------------------------------------------------------------ what is declared


def declarations(case: Case) -> None:
    """Names, components and baselines fit together; equal environments are equal and hash."""
    env: Any = case.env
    require(dataclasses.is_dataclass(env), f"{type(env).__name__} is not a dataclass")
    twin = dataclasses.replace(env)
    require(env == twin, "two environments with equal fields are not equal")
    require(hash(env) == hash(twin), "two equal environments have different hashes")
    for what in ("agents", "stages", "groups"):
        names = getattr(env, what)
        require(
            isinstance(names, tuple) and names and len(set(names)) == len(names),
            f"{what} is {names!r}; it takes a tuple of different names",
        )
    for name, info in env.component_info.items():
        for agent in info.used_by:
            require(agent in env.agents, f"component {name!r} names an unknown agent {agent!r}")
    fields = {field.name for field in dataclasses.fields(env.components)}
    for name in fields - set(env.component_info):
        raise ConformanceError(f"component {name!r} is not declared with fairgym.core.component")
    require(
        env.core_attribute in env.people(case.start[1]),
        f"core_attribute {env.core_attribute!r} is not among the features of `people`",
    )
    for specification in env.baselines.values():
        fixed_policies(env, specification)


def spaces(case: Case) -> None:
    """Spaces are the same objects at every call; samples and clipped actions lie inside."""
    for agent in case.env.agents:
        for kind in ("observation_space", "action_space"):
            same = getattr(case.env, kind)(agent) is getattr(case.env, kind)(agent)
            require(same, f"{kind}({agent!r}) is another object at every call")
        space = case.env.action_space(agent)
        require(
            space.contains(space.sample(case.key)),
            f"a sampled action of agent {agent!r} is outside its space",
        )


def structure(case: Case) -> None:
    """Observations, states and components keep their structure, shapes and dtypes."""
    env = case.env
    require(
        set(case.start[0]) == set(env.agents),
        f"observations are of {list(case.start[0])}, the agents are {list(env.agents)}",
    )
    first = None
    for transition in case.transitions:
        observations, state, components, terminated, truncated, info = transition.result
        require_same_structure(case.start[0], observations, "observations after reset and step")
        require_same_structure(case.start[1], state, "state after reset and step")
        first = first or components
        require_same_structure(first, components, "components of two steps")
        for name, flag in (("terminated", terminated), ("truncated", truncated)):
            right = jnp.shape(flag) == () and flag.dtype == bool
            require(right, f"{name} is {flag!r}; it takes one truth value")
        require(isinstance(info, dict), f"info is {type(info).__name__}; it takes a dict")
        before, after = int(transition.state.time), int(state.time)
        require(after == before + 1, f"a step takes state.time from {before} to {after}")


def observations(case: Case) -> None:
    """Every observation lies inside its space, masked rows zero."""
    for number, seen in enumerate([case.start[0], *(t.result[0] for t in case.transitions)]):
        for agent, observation in seen.items():
            space = case.env.observation_space(agent)
            shapes = [observation.features.shape, observation.mask.shape, observation.context.shape]
            declared = [
                (space.capacity, len(space.features)),
                (space.capacity,),
                (len(space.context),),
            ]
            where = f"the observation of agent {agent!r} after {number} steps"
            require(shapes == declared, f"{where} has shapes {shapes}; its space says {declared}")
            for part in ("features", "context"):
                values = as_numpy(getattr(observation, part))
                require(np.all(np.isfinite(values)), f"{where} has {part} that are not finite")
            empty = as_numpy(observation.features)[~as_numpy(observation.mask)]
            require(np.all(empty == 0.0), f"{where} has masked rows that are not zero")
            require(space.contains(observation), f"{where} is outside its space")


def components(case: Case) -> None:
    """Components are float32 of the declared shape, finite, and non-negative where so declared."""
    for number, transition in enumerate(case.transitions):
        for name, info in case.env.component_info.items():
            value = as_numpy(getattr(transition.result[2], name))
            where = f"component {name!r} of step {number}"
            require(value.dtype == np.float32, f"{where} is {value.dtype}; it takes float32")
            shapes = {"": (), "group": (len(case.env.groups),)}
            shape = shapes.get(info.per, value.shape[:1] or (0,))
            what = f"one number per {info.per}" if info.per else "one number"
            require(value.shape == shape, f"{where} has shape {value.shape}; declared: {what}")
            require(np.all(np.isfinite(value)), f"{where} is not finite: {value}")
            if info.nonnegative:
                require(np.all(value >= 0), f"{where} is negative: {value}; declared otherwise")


def people_and_census(case: Case) -> None:
    """Everybody is counted once at every step, and has every feature."""
    names = None
    for number, state in enumerate(case.states):
        census = case.env.census(state)
        counted = int(sum(as_numpy(count).sum() for count in census.values()))
        require(
            counted == case.env.population and tuple(census) == case.env.stages,
            f"the census after {number} steps counts {counted} people in the stages"
            f" {list(census)}; there are {case.env.population} in {list(case.env.stages)}",
        )
        people = case.env.people(state)
        names = names or set(people)
        require(set(people) == names, f"people after {number} steps has other features than before")
        for name, column in people.items():
            column = as_numpy(column)
            right = column.shape == (case.env.population,) and np.all(np.isfinite(column))
            require(
                right,
                f"people[{name!r}] after {number} steps is not one finite number for each of the"
                f" {case.env.population} people (shape {column.shape})",
            )


# ------------------------------------------------------------------ randomness


def same_key(case: Case) -> None:
    """The same key gives the same bits, compiled and not."""
    env, params, first = case.env, case.params, case.transitions[0]
    arguments = (first.key, first.state, first.actions, params)
    ways: tuple[tuple[str, Any, Any], ...] = (
        ("", env.reset, env.step),
        (", compiled", case.reset, case.step),
    )
    for how, reset, step in ways:
        starts = [reset(case.key, params) for _ in range(2)]
        what = f"reset twice with one key{how}"
        require_close(named(starts[0]), named(starts[1]), what, exact=True)
        results = [step(*arguments) for _ in range(2)]
        what = f"step twice with one key{how}"
        require_close(named(results[0]), named(results[1]), what, exact=True)


def different_key(case: Case) -> None:
    """Different keys give different noise, and different noise different episodes.

    An environment whose `noise` has no arrays is deterministic and may start alike.
    """
    keys = jax.random.split(case.key)
    noise = [case.env.noise(key, case.params) for key in keys]
    if not jax.tree.leaves(noise[0]):
        return
    require(differ(*noise), "two keys give the same noise")
    ends = []
    for key in keys:
        state = case.start[1]
        for number, t in enumerate(case.transitions):
            _, state, *_ = case.step(jax.random.fold_in(key, number), state, t.actions, case.params)
        ends.append(state)
    starts = [case.reset(key, case.params)[1] for key in keys]
    require(differ(*starts) or differ(*ends), "two keys give the same start and the same episode")


# ------------------------------------------------------------------ transformations


def compiled_is_eager(case: Case) -> None:
    """Reset and each step give under jit what they give without."""
    eager = case.env.reset(case.key, case.params)
    require_close(named(eager), named(case.start), "reset without and with jit")
    for number, t in enumerate(case.transitions[:2]):
        eager = case.env.step(t.key, t.state, t.actions, case.params)
        require_close(named(eager), named(t.result), f"step {number} without and with jit")


def vmapped_is_looped(case: Case) -> None:
    """`vmap` over keys, states, actions and params gives what a loop gives."""
    many = case.transitions[:3]
    keys = [jax.random.fold_in(case.key, i) for i in range(len(many))]
    starts = [case.reset(key, case.params) for key in keys]
    stack = case.compiled("stack", lambda trees: jax.tree.map(lambda *x: jnp.stack(x), *trees))
    params = [jax.tree.map(jnp.asarray, case.params)] * len(many)
    keys, starts, many, params = stack([*zip(keys, starts, many, params, strict=True)])
    together = case.compiled("resets", jax.vmap(case.env.reset))(keys, params)
    require_close(named(starts), named(together), "reset in a loop and under vmap")
    steps = case.compiled("steps", jax.vmap(case.env.step))
    together = steps(many.key, many.state, many.actions, params)
    require_close(named(many.result), named(together), "steps in a loop and under vmap")


# ------------------------------------------------------------------ people and actions


def actions_are_clipped(case: Case) -> None:
    """Values out of range, infinite or not a number count as the nearest action of the space."""
    wild, tame = {}, {}
    for agent in case.env.agents:
        space = case.env.action_space(agent)
        wild[agent] = jnp.resize(WILD, space.shape)
        tame[agent] = space.clip(wild[agent])
        require(space.contains(tame[agent]), f"a clipped action of {agent!r} is outside its space")
    for t in case.transitions:
        results = [case.step(t.key, t.state, given, case.params) for given in (wild, tame)]
        require_close(
            named(results[0]),
            named(results[1]),
            "step with actions out of range, and with the same actions clipped",
            exact=True,
        )


def idle_agents(case: Case) -> None:
    """What is given for an agent between its actions (`periods`) changes nothing."""
    env = case.env
    for agent, period in env.periods.items():
        require(agent in env.agents, f"periods names an unknown agent {agent!r}")
        whole = isinstance(period, int) and period >= 1
        require(whole, f"the period of {agent!r} is {period!r}; it takes a whole number from 1")
    for number, t in enumerate(case.transitions):
        other = dict(t.actions)
        for agent, period in env.periods.items():
            if int(t.state.time) % period:
                other[agent] = env.action_space(agent).sample(jax.random.fold_in(case.key, number))
        result = case.step(t.key, t.state, other, case.params)
        what = f"step {number} with other actions of agents that do not act in it"
        require_close(named(t.result), named(result), what, exact=True)


def masked_rows(case: Case) -> None:
    """What a policy says in masked rows changes nothing, nor do more masked rows a policy."""
    for t in case.transitions:
        garbage = dict(t.actions)
        for agent, observation in t.observations.items():
            if isinstance(case.env.action_space(agent), PerEntity):
                other = 1.0 - t.actions[agent]
                garbage[agent] = jnp.where(observation.mask, t.actions[agent], other)
        result = case.step(t.key, t.state, garbage, case.params)
        require_close(
            named(t.result), named(result), "step with other numbers in masked rows of the actions"
        )
    seen = case.transitions[-1].result[0]
    wider = {
        agent: Entities(
            features=jnp.pad(observation.features, ((0, 3), (0, 0))),
            mask=jnp.pad(observation.mask, (0, 3)),
            context=observation.context,
        )
        for agent, observation in seen.items()
    }
    actions, same = case.act(seen), case.act(wider)
    for agent, action in actions.items():
        rows = action.shape[0]
        what = f"the policy of agent {agent!r} with more masked rows"
        require_close(action, same[agent][:rows], what)


def numbering(case: Case) -> None:
    """Numbering the people differently changes their places in the results, and nothing else.

    State and noise are renumbered alike (`renumbered`), and both worlds run in lockstep under
    policies that do not see the order. Their scores are rounded, so that there are ties.
    """
    env, params = case.env, case.params

    def act(seen: Any) -> dict[str, Any]:
        rough = {agent: jnp.round(x * 4) / 4 for agent, x in case.act(seen).items()}
        return {agent: env.action_space(agent).clip(x) for agent, x in rough.items()}

    look = case.compiled("look", lambda state: (env.observe(state, params), env.people(state)))
    transition = case.compiled("transition", env.transition)
    renumber = case.compiled("renumber", renumbered)
    order = jax.random.permutation(case.key, env.population)
    here = case.start[1]
    there = renumber(here, order)
    for number in range(case.steps + 1):
        (seen, people), (seen_there, people_there) = look(here), look(there)
        people = {name: column[order] for name, column in people.items()}
        what = f"after {number} steps, people renumbered"
        require_close(people, people_there, f"people {what}")
        for agent in env.agents:
            require_same_people(seen[agent], seen_there[agent], f"what {agent!r} sees {what}")
        noise = env.noise(jax.random.fold_in(case.key, number), params)
        here, total, ended = transition(noise, here, act(seen), params)
        there, *same = transition(renumber(noise, order), there, act(seen_there), params)
        what = f"of step {number}, people renumbered"
        require_close(total, same[0], f"components {what}")
        require_close(ended, same[1], f"termination {what}")
        require_close(env.census(here), env.census(there), f"census {what}")


# ------------------------------------------------------------------ episodes


def counting_stops(case: Case) -> None:
    """An episode counts its steps up to the one in which it terminates, and no more."""
    env = case.env
    policies = {agent: Random(env.action_space(agent)) for agent in env.agents}
    steps = min(case.steps, env.horizon)
    run = case.compiled(
        "episode",
        lambda key, params, after: rollout(
            ending(env, after), params, policies, key, steps, trace=True
        ),
    )
    for after in {steps, max(1, steps - 2)}:
        episode = run(case.key, case.params, after)
        length = int(episode.length)
        require(
            1 <= length <= after,
            f"an episode that terminates after {after} steps has {length}",
        )
        require(
            int(episode.final_state.time) == length,
            f"an episode of {length} steps ends at time {int(episode.final_state.time)}",
        )
        for name in env.component_info:
            rows = as_numpy(getattr(episode.trace, name))
            require(
                not np.any(rows[length:]),
                f"component {name!r} is counted after the episode has terminated",
            )
        sums = jax.tree.map(lambda x: jnp.sum(x, axis=0), episode.trace)
        require_close(sums, episode.totals, "sums of the trace and totals of the episode")


def horizon(case: Case) -> None:
    """`truncated` is true from the horizon on and not before."""
    end = case.env.horizon
    for t in case.transitions:
        right = bool(t.result[4]) == (int(t.result[1].time) >= end)
        require(right, f"truncated is {t.result[4]} at time {t.result[1].time} of {end}")
    t = case.transitions[-1]
    last = t.state.replace(time=jnp.asarray(end - 1, t.state.time.dtype))
    truncated = case.step(t.key, last, t.actions, case.params)[4]
    require(truncated, f"truncated is {truncated} at the horizon, {end}")


def metrics(case: Case) -> None:
    """Every metric evaluates on sums of components, also on empty ones; disparities are <= 0."""
    summed = jax.tree.map(lambda *x: sum(x), *[t.result[2] for t in case.transitions])
    require(len(case.env.metrics) > 0, "the environment declares no metrics")
    for what, totals in (
        ("an episode", summed),
        ("nothing", jax.tree.map(jnp.zeros_like, summed)),
    ):
        for name, metric in case.env.metrics.items():
            require(isinstance(metric, Metric), f"metric {name!r} lacks a method of Metric")
            metric.unit_in(case.env.component_info)  # raises unless it is declared or follows
            for value in (metric.value(totals), metric.normalised(totals)):
                number = jnp.shape(value) == () and bool(jnp.isfinite(value))
                require(number, f"metric {name!r} of {what} is {value}; it takes a finite number")
                require(
                    metric.kind != "fair" or value <= 0,
                    f"disparity {name!r} of {what} is {value}; more is better, and 0 is parity",
                )
        score = Objective.uniform(case.env).score(totals)
        require(jnp.isfinite(score), f"the uniform objective of {what} is {score}")
