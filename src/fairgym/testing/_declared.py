"""Properties of all environments: declarations, spaces, memories, and the form of results."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import PyTree

from fairgym.core import Environment, FairgymError, Memory, no_components
from fairgym.core.contract import HINT, check_contract
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


def contract(case: Case) -> None:
    """Check the types, shapes and dtypes of everything that is declared or returned."""
    try:
        check_contract(case.env)
    except FairgymError as error:
        raise ConformanceError(str(error).removesuffix(f"; {HINT}")) from error


def declarations(case: Case) -> None:
    """Check that names, components and baselines agree, and that equal environments hash alike."""
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
    """Check that spaces are the same objects at every call and contain their samples."""
    for agent in case.env.agents:
        for kind in ("observation_space", "action_space"):
            same = getattr(case.env, kind)(agent) is getattr(case.env, kind)(agent)
            require(same, f"{kind}({agent!r}) returns a new object at every call")
    sampled = case.sampled(case.key)
    found = jax.jit(lambda *given: _in_action_spaces(case.env, *given))(sampled, case.start[0])
    for agent in case.env.agents:
        space, action = case.env.action_space(agent), sampled[agent]
        inside, clipped, total = found[agent]
        require(inside, f"a sampled action of agent {agent!r} is outside its space")
        right = action.dtype == space.dtype
        require(right, f"a sampled action of agent {agent!r} is {action.dtype}, not {space.dtype}")
        what = f"an action of agent {agent!r} inside its space, and the same action clipped"
        require_close(action, clipped, what)
        require(
            jnp.size(total) == len(space.names),
            f"the action space of {agent!r} has {len(space.names)} names and counts"
            f" {jnp.size(total)} numbers",
        )
        if space.chooses_row:
            rows = case.env.observation_space(agent).capacity
            right = space.outputs == len(space.names) - rows + 1
            require(
                right, f"{agent!r} observes {rows} rows but chooses among {len(space.names)} names"
            )


def _in_action_spaces(
    env: Environment, actions: dict[str, PyTree], given: dict[str, PyTree]
) -> Any:
    """Return for each agent whether its action is inside, the action clipped, and its counts."""
    found = {}
    for agent, action in actions.items():
        space = env.action_space(agent)
        counted, _ = space.counted(action, given[agent].mask)
        found[agent] = space.contains(action), space.clip(action), counted
    return found


def structure(case: Case) -> None:
    """Check that observations, states and components keep their structure, shapes and dtypes."""
    env = case.env
    require(
        set(case.start[0]) == set(env.agents),
        f"observations must be of the agents {list(env.agents)}, got {list(case.start[0])}",
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
            require(right, f"{name} must be one truth value, got {flag!r}")
        require(isinstance(info, dict), f"info must be a dict, got {type(info).__name__}")
        before, after = int(transition.state.time), int(state.time)
        require(after == before + 1, f"a step must add 1 to state.time, got {before} to {after}")


def observations(case: Case) -> None:
    """Check that every observation lies inside its space and that masked rows are zero."""
    episode = [case.start[0], *(t.result[0] for t in case.transitions)]
    for number, by_agent in enumerate(episode):
        for agent, observation in by_agent.items():
            space = case.env.observation_space(agent)
            shapes = [observation.features.shape, observation.mask.shape, observation.context.shape]
            declared = [
                (space.capacity, len(space.features)),
                (space.capacity,),
                (len(space.context),),
            ]
            where = f"the observation of agent {agent!r} after {number} steps"
            require(shapes == declared, f"{where} has shapes {shapes}; its space has {declared}")
            for part in ("features", "context"):
                values = as_numpy(getattr(observation, part))
                require(np.all(np.isfinite(values)), f"{where} has {part} that are not finite")
            empty = as_numpy(observation.features)[~as_numpy(observation.mask)]
            require(np.all(empty == 0.0), f"{where} has masked rows that are not zero")
            if case.env.action_space(agent).chooses_row:
                everybody = np.all(as_numpy(observation.mask))
                require(everybody, f"{where} has masked rows, which the agent could choose")
        inside = case.inside(by_agent)
        for agent in by_agent:
            where = f"the observation of agent {agent!r} after {number} steps"
            require(inside[agent], f"{where} is outside its space")


def components(case: Case) -> None:
    """Check that components are finite float32 of the declared shape and sign."""
    for number, transition in enumerate(case.transitions):
        for name, info in case.env.spec.component_info.items():
            value = as_numpy(getattr(transition.result[2], name))
            where = f"component {name!r} of step {number}"
            require(value.dtype == np.float32, f"{where} must be float32, got {value.dtype}")
            shape = tuple(len(case.env.spec.parts_of(axis)) for axis in info.axes)
            what = f"one number per {' and '.join(info.axes)}" if info.axes else "one number"
            require(value.shape == shape, f"{where} has shape {value.shape}; declared: {what}")
            require(np.all(np.isfinite(value)), f"{where} is not finite: {value}")
            if info.nonnegative:
                require(np.all(value >= 0), f"{where} is negative, but declared not to be: {value}")


def memories(case: Case) -> None:
    """Check that memories and schemes are hashable folds with a constant structure.

    Folded over a trace, compiled, they must equal their values step by step. Observations with a
    memory must lie inside their spaces.
    """
    env, params = case.env, case.params
    declared: dict[str, Any] = {**env.spec.memories, **env.spec.schemes}
    for name in env.spec.schemes:
        require(name not in env.metrics, f"{name!r} names both a metric and a scheme")
    if not declared:
        return
    like = no_components(env, params)
    rows = [t.result[2] for t in case.transitions]
    course = {}
    for name, memory in declared.items():
        require(isinstance(memory, Memory), f"{name!r} lacks a method of Memory")
        hash(memory)
        same = memory == {**env.spec.memories, **env.spec.schemes}[name]
        require(same, f"{name!r} is a different memory at every access")
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
        require_close(held[-1], found[name], f"memory {name!r} step by step and over the trace")
    for name, scheme in env.spec.schemes.items():
        for held in (course[name][0], course[name][-1]):
            score = scheme.score(held)
            number = jnp.shape(score) == () and bool(jnp.isfinite(score))
            require(number, f"the score of scheme {name!r} must be a finite number, got {score}")
    if not _is_augmented(env):
        for name in env.spec.memories:
            _observations_with_memory(case, name, course[name])


def _observations_with_memory(case: Case, name: str, course: list[Any]) -> None:
    """Check that observations with the memory lie inside their spaces, along an episode."""
    env = augmented(case.env, name)
    show = case.compiled(f"show {name}", env.show)
    for number, (state, held) in enumerate(zip(case.states, course, strict=True)):
        for agent, observation in show(state, held, case.params).items():
            inside = env.observation_space(agent).contains(observation)
            require(
                inside,
                f"the observation of {agent!r} with the memory {name!r} after {number} steps is"
                " outside its space",
            )


def _is_augmented(env: Environment) -> bool:
    """Return whether a wrapper has added a memory to the state."""
    while isinstance(env, Wrapper):
        if isinstance(env, Augmented):
            return True
        env = env.env
    return False


def _arrays(tree: PyTree) -> PyTree:
    return jax.tree.map(jnp.asarray, tree)
