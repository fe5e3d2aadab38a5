"""Properties of all environments: declarations, spaces, and results of the declared form."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fairgym.core import Environment
from fairgym.fairness import Objective
from fairgym.fairness.memories import stakeholder_component
from fairgym.policies import fixed_policies
from fairgym.testing._case import Case
from fairgym.testing._compare import (
    ConformanceError,
    as_numpy,
    require,
    require_close,
    require_names,
    require_same_structure,
)


def declarations(case: Case) -> None:
    """Names, components and baselines fit together; equal environments are equal and hash."""
    env: Any = case.env
    require(dataclasses.is_dataclass(env), f"{type(env).__name__} is not a dataclass")
    twin = dataclasses.replace(env)
    require(env == twin, "two environments with equal fields are not equal")
    require(hash(env) == hash(twin), "two equal environments have different hashes")
    for what in ("agents", "groups"):
        require_names(what, getattr(env, what))
    for name, info in env.component_info.items():
        for agent in info.used_by:
            require(agent in env.agents, f"component {name!r} names an unknown agent {agent!r}")
    fields = {field.name for field in dataclasses.fields(env.components)}
    for name in fields - set(env.component_info):
        raise ConformanceError(f"component {name!r} is not declared with fairgym.core.component")
    for specification in env.baselines.values():
        fixed_policies(env, specification)
    for name in (env.default_objective, *(["published"] if env.published else [])):
        Objective.named(env, name)
    if env.benefit:
        stakeholder_component(env, env.benefit)


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


def _in_action_spaces(env: Environment, actions: dict[str, Any], seen: dict[str, Any]) -> Any:
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
        for name, info in case.env.component_info.items():
            value = as_numpy(getattr(transition.result[2], name))
            where = f"component {name!r} of step {number}"
            require(value.dtype == np.float32, f"{where} is {value.dtype}; it takes float32")
            shape = tuple(len(case.env.parts_of(axis)) for axis in info.axes)
            what = f"one number per {' and '.join(info.axes)}" if info.axes else "one number"
            require(value.shape == shape, f"{where} has shape {value.shape}; declared: {what}")
            require(np.all(np.isfinite(value)), f"{where} is not finite: {value}")
            if info.nonnegative:
                require(np.all(value >= 0), f"{where} is negative: {value}; declared otherwise")
