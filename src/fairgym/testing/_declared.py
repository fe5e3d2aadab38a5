"""Properties of all environments: declarations, spaces, memories, results of the declared form."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import PyTree

from fairgym.core import Environment, Memory, no_components
from fairgym.fairness import Objective
from fairgym.fairness.memories import stakeholder_component
from fairgym.policies import fixed_policies
from fairgym.testing._compare import (
    Case,
    ConformanceError,
    as_numpy,
    require,
    require_close,
    require_names,
    require_same_structure,
)
from fairgym.wrappers import Augmented, Wrapper, augmented


def declarations(case: Case) -> None:
    """Names, components and baselines fit together; equal environments are equal and hash."""
    env: Any = case.env
    require(dataclasses.is_dataclass(env), f"{type(env).__name__} is not a dataclass")
    twin = dataclasses.replace(env)
    require(env == twin, "two environments with equal fields are not equal")
    require(hash(env) == hash(twin), "two equal environments have different hashes")
    for what in ("agents", "groups"):
        require_names(what, getattr(env.spec, what))
    for name, info in env.spec.component_info.items():
        for agent in info.used_by:
            require(agent in env.agents, f"component {name!r} names an unknown agent {agent!r}")
    fields = {field.name for field in dataclasses.fields(env.spec.components)}
    for name in fields - set(env.spec.component_info):
        raise ConformanceError(f"component {name!r} is not declared with fairgym.core.component")
    for specification in env.spec.baselines.values():
        fixed_policies(env, specification)
    for name in (env.spec.default_objective, *(["published"] if env.spec.published else [])):
        Objective.named(env, name)
    if env.spec.benefit:
        stakeholder_component(env, env.spec.benefit)


def spaces(case: Case) -> None:
    """Spaces are the same objects at every call; their samples lie inside and stay when clipped."""
    for agent in case.env.agents:
        for kind in ("observation_space", "action_space"):
            same = getattr(case.env, kind)(agent) is getattr(case.env, kind)(agent)
            require(same, f"{kind}({agent!r}) is another object at every call")
    sampled = case.sampled(case.key)
    found = jax.jit(lambda *given: _in_action_spaces(case.env, *given))(sampled, case.start[0])
    for agent in case.env.agents:
        space, action = case.env.action_space(agent), sampled[agent]
        inside, clipped, total = found[agent]
        require(inside, f"a sampled action of agent {agent!r} is outside its space")
        right = action.dtype == space.dtype
        require(right, f"a sampled action of agent {agent!r} is {action.dtype}, not {space.dtype}")
        what = f"an action of agent {agent!r}, which lies in its space, and the same clipped"
        require_close(action, clipped, what)
        require(
            jnp.size(total) == len(space.names),
            f"the action space of {agent!r} has {len(space.names)} names and counts"
            f" {jnp.size(total)} numbers",
        )
        if space.chooses_row:
            rows = case.env.observation_space(agent).capacity
            right = space.outputs == len(space.names) - rows + 1
            require(right, f"{agent!r} sees {rows} rows and chooses among {len(space.names)}")


def _in_action_spaces(env: Environment, actions: dict[str, PyTree], seen: dict[str, PyTree]) -> Any:
    """Agent -> whether its action lies inside, the action clipped, and what is counted of it."""
    found = {}
    for agent, action in actions.items():
        space = env.action_space(agent)
        counted, _ = space.counted(action, seen[agent].mask)
        found[agent] = space.contains(action), space.clip(action), counted
    return found


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
            if case.env.action_space(agent).chooses_row:
                everybody = np.all(as_numpy(observation.mask))
                require(everybody, f"{where} has masked rows, one of which it could choose")
        inside = case.inside(seen)
        for agent in seen:
            where = f"the observation of agent {agent!r} after {number} steps"
            require(inside[agent], f"{where} is outside its space")


def components(case: Case) -> None:
    """Components are float32 of the declared shape, finite, and non-negative where so declared."""
    for number, transition in enumerate(case.transitions):
        for name, info in case.env.spec.component_info.items():
            value = as_numpy(getattr(transition.result[2], name))
            where = f"component {name!r} of step {number}"
            require(value.dtype == np.float32, f"{where} is {value.dtype}; it takes float32")
            shape = tuple(len(case.env.spec.parts_of(axis)) for axis in info.axes)
            what = f"one number per {' and '.join(info.axes)}" if info.axes else "one number"
            require(value.shape == shape, f"{where} has shape {value.shape}; declared: {what}")
            require(np.all(np.isfinite(value)), f"{where} is not finite: {value}")
            if info.nonnegative:
                require(np.all(value >= 0), f"{where} is negative: {value}; declared otherwise")


def memories(case: Case) -> None:
    """Memories and schemes are hashable folds that keep their structure; agents can see memories.

    Folded over a trace, compiled, they hold what they hold step by step.
    """
    env, params = case.env, case.params
    declared: dict[str, Any] = {**env.spec.memories, **env.spec.schemes}
    for name in env.spec.schemes:
        require(name not in env.metrics, f"{name!r} is the name of a metric and of a scheme")
    if not declared:
        return
    like = no_components(env, params)
    rows = [t.result[2] for t in case.transitions]
    course = {}
    for name, memory in declared.items():
        require(isinstance(memory, Memory), f"{name!r} lacks a method of Memory")
        hash(memory)
        same = memory == {**env.spec.memories, **env.spec.schemes}[name]
        require(same, f"{name!r} is another memory each time that it is asked for")
        course[name] = held = [_arrays(memory.initial(like))]
        for row in rows:
            after = _arrays(memory.update(held[-1], row))
            require_same_structure(held[-1], after, f"memory {name!r} before and after a step")
            held.append(after)

    def fold(rows: PyTree) -> PyTree:
        def step(held: PyTree, row: PyTree) -> PyTree:
            return {name: m.update(held[name], row) for name, m in declared.items()}, None

        return lax.scan(step, {n: _arrays(m.initial(like)) for n, m in declared.items()}, rows)[0]

    trace = jax.tree.map(lambda *x: jnp.stack(x), *rows)
    found = case.compiled("fold", fold)(trace)
    for name, held in course.items():
        require_close(held[-1], found[name], f"memory {name!r} step by step and of the trace")
    for name, scheme in env.spec.schemes.items():
        for held in (course[name][0], course[name][-1]):
            score = scheme.score(held)
            number = jnp.shape(score) == () and bool(jnp.isfinite(score))
            require(number, f"the score of scheme {name!r} is {score}; it takes a finite number")
    if not _is_augmented(env):
        for name in env.spec.memories:
            _seen(case, name, course[name])


def _seen(case: Case, name: str, course: list[Any]) -> None:
    """Observations with the memory lie inside their spaces, along an episode."""
    env = augmented(case.env, name)
    show = case.compiled(f"show {name}", env.show)
    for number, (state, held) in enumerate(zip(case.states, course, strict=True)):
        for agent, seen in show(state, held, case.params).items():
            inside = env.observation_space(agent).contains(seen)
            require(
                inside,
                f"the observation of {agent!r} with the memory {name!r} after {number} steps is"
                " outside its space",
            )


def _is_augmented(env: Environment) -> bool:
    """True if one of the wrappers has put a memory into the state."""
    while isinstance(env, Wrapper):
        if isinstance(env, Augmented):
            return True
        env = env.env
    return False


def _arrays(tree: PyTree) -> PyTree:
    return jax.tree.map(jnp.asarray, tree)
