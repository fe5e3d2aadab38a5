"""Properties of memories and fairness schemes, where an environment declares any."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from fairgym.core import Augmented, Environment, Memory, Wrapper, augmented, no_components
from fairgym.testing._case import Case
from fairgym.testing._compare import require, require_close, require_same_structure


def memories(case: Case) -> None:
    """Memories and schemes are hashable folds that keep their structure; agents can see memories.

    Folded over a trace, compiled, they hold what they hold step by step.
    """
    env, params = case.env, case.params
    declared: dict[str, Any] = {**env.memories, **env.schemes}
    for name in env.schemes:
        require(name not in env.metrics, f"{name!r} is the name of a metric and of a scheme")
    if not declared:
        return
    like = no_components(env, params)
    rows = [t.result[2] for t in case.transitions]
    course = {}
    for name, memory in declared.items():
        require(isinstance(memory, Memory), f"{name!r} lacks a method of Memory")
        hash(memory)
        same = memory == {**env.memories, **env.schemes}[name]
        require(same, f"{name!r} is another memory each time that it is asked for")
        course[name] = held = [_arrays(memory.initial(like))]
        for row in rows:
            after = _arrays(memory.update(held[-1], row))
            require_same_structure(held[-1], after, f"memory {name!r} before and after a step")
            held.append(after)

    def fold(rows: Any) -> Any:
        def step(held: Any, row: Any) -> Any:
            return {name: m.update(held[name], row) for name, m in declared.items()}, None

        return lax.scan(step, {n: _arrays(m.initial(like)) for n, m in declared.items()}, rows)[0]

    trace = jax.tree.map(lambda *x: jnp.stack(x), *rows)
    found = case.compiled("fold", fold)(trace)
    for name, held in course.items():
        require_close(held[-1], found[name], f"memory {name!r} step by step and of the trace")
    for name, scheme in env.schemes.items():
        for held in (course[name][0], course[name][-1]):
            score = scheme.score(held)
            number = jnp.shape(score) == () and bool(jnp.isfinite(score))
            require(number, f"the score of scheme {name!r} is {score}; it takes a finite number")
    if not _is_augmented(env):
        for name in env.memories:
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


def _arrays(tree: Any) -> Any:
    return jax.tree.map(jnp.asarray, tree)
