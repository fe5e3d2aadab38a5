"""Properties of all environments: reproducibility, transformations, actions and episode ends."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from fairgym.core import Entities, Params, rollout
from fairgym.fairness import Metric, Objective
from fairgym.testing._compare import Case, as_numpy, differ, named, require, require_close
from fairgym.wrappers import EndsAfter

WILD = np.array([np.nan, -3.0, 7.0, np.inf, -np.inf, 0.5, -0.0, 1e30], np.float32)

# ------------------------------------------------------------------ randomness


def same_key(case: Case) -> None:
    """Check that the same key gives the same bits, with and without jit."""
    env, params, first = case.env, case.params, case.transitions[0]
    arguments = (first.key, first.state, first.actions, params)
    if case.later is None:  # a reset does not depend on the episode's first state
        again = env.reset(case.key, params)
        what = "reset twice with one key"
        require_close(named(case.reset_eagerly), named(again), what, exact=True)
        starts = [case.reset(case.key, params) for _ in range(2)]
        require_close(named(starts[0]), named(starts[1]), f"{what}, compiled", exact=True)
    again = env.step(*arguments)
    what = "step twice with one key"
    require_close(named(case.first_step_eagerly), named(again), what, exact=True)
    results = [case.step(*arguments) for _ in range(2)]
    require_close(named(results[0]), named(results[1]), f"{what}, compiled", exact=True)


def different_key(case: Case) -> None:
    """Check that different keys give different noise and different episodes.

    An environment whose `noise` has no arrays is deterministic and is skipped.
    """
    keys = jax.random.split(case.key)
    noise = [case.env.noise(key, case.params) for key in keys]
    if not jax.tree.leaves(noise[0]):
        return
    require(differ(*noise), "two keys give the same noise")
    episodes = []
    for key in keys:
        states = [case.reset(key, case.params)[1], case.start[1]]
        for number, t in enumerate(case.transitions):
            step_key = jax.random.fold_in(key, number)
            states.append(case.step(step_key, states[-1], t.actions, case.params)[1])
        episodes.append(states)
    # all states count: with few possible states two episodes may end in the same one
    require(differ(*episodes), "two keys give the same start and the same episode")


# ------------------------------------------------------------------ transformations


def compiled_is_eager(case: Case) -> None:
    """Check that reset and step have the same results with and without jit."""
    if case.later is None:
        compiled = case.reset(case.key, case.params)
        require_close(named(case.reset_eagerly), named(compiled), "reset without and with jit")
    first, *more = case.transitions[:2]
    require_close(
        named(case.first_step_eagerly), named(first.result), "step 0 without and with jit"
    )
    for t in more:
        eager = case.env.step(t.key, t.state, t.actions, case.params)
        require_close(named(eager), named(t.result), "step 1 without and with jit")


def vmapped_is_looped(case: Case) -> None:
    """Check that `vmap` over keys, states, actions and params has the same results as a loop."""
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


# ------------------------------------------------------------------ actions


def actions_are_clipped(case: Case) -> None:
    """Check that NaN, infinite and out-of-range values count as the nearest action of the space.

    Every number of every action takes all of these values in turn.
    """
    spaces = {agent: case.env.action_space(agent) for agent in case.env.agents}
    for shift in range(len(WILD)):
        wild, tame = {}, {}
        for agent, space in spaces.items():
            wild[agent] = jnp.asarray(np.resize(np.roll(WILD, -shift), space.shape))
            tame[agent] = space.clip(wild[agent])
            inside = bool(space.contains(tame[agent])) and tame[agent].dtype == space.dtype
            require(inside, f"a clipped action of {agent!r} is outside its space")
        t = case.transitions[shift % len(case.transitions)]
        results = [case.step(t.key, t.state, given, case.params) for given in (wild, tame)]
        require_close(
            named(results[0]),
            named(results[1]),
            "step with actions out of range, and with the same actions clipped",
            exact=True,
        )


def idle_agents(case: Case) -> None:
    """Check that actions of an agent between its turns (`periods`) change nothing."""
    env = case.env
    for agent, period in env.spec.periods.items():
        require(agent in env.agents, f"periods names an unknown agent {agent!r}")
        whole = isinstance(period, int) and period >= 1
        require(whole, f"the period of {agent!r} must be a whole number from 1, got {period!r}")
    for number, t in enumerate(case.transitions):
        other = dict(t.actions)
        for agent, period in env.spec.periods.items():
            if int(t.state.time) % period:
                other[agent] = env.action_space(agent).sample(jax.random.fold_in(case.key, number))
        result = case.step(t.key, t.state, other, case.params)
        what = f"step {number} with other actions of agents that do not act in this step"
        require_close(named(t.result), named(result), what, exact=True)


def masked_rows(case: Case) -> None:
    """Check that actions in masked rows change nothing, and that policies ignore masked rows."""
    for t in case.transitions:
        garbage = dict(t.actions)
        for agent, observation in t.observations.items():
            if case.env.action_space(agent).per_entity:
                given = np.asarray(t.actions[agent])
                mixed = np.where(np.asarray(observation.mask), given, 1 - given)
                garbage[agent] = jnp.asarray(mixed)
        result = case.step(t.key, t.state, garbage, case.params)
        require_close(
            named(t.result), named(result), "step with other numbers in masked rows of the actions"
        )
    observations = case.transitions[-1].result[0]
    wider = {
        agent: Entities(
            features=jnp.asarray(np.pad(observation.features, ((0, 3), (0, 0)))),
            mask=jnp.asarray(np.pad(observation.mask, (0, 3))),
            context=observation.context,
        )
        for agent, observation in observations.items()
    }
    actions, same = case.act(observations), case.act(wider)
    for agent, action in actions.items():
        found = same[agent]
        if case.env.action_space(agent).per_entity:
            found = found[: len(action)]
        require_close(action, found, f"the policy of agent {agent!r} with more masked rows")


# ------------------------------------------------------------------ episodes


def counting_stops(case: Case) -> None:
    """Check that an episode counts its steps up to termination, and no more.

    The actions are the same at each step, since sampling them would take most of the compilation.
    """
    env = case.env
    steps = min(case.steps, env.horizon)

    def episode_of(actions: PyTree, key: Any, params: Params, after: Any) -> Any:
        policies = {
            agent: lambda observation, key, a=action: a for agent, action in actions.items()
        }
        ends = EndsAfter(env, after)
        return rollout(ends, params, policies, key, steps, trace=True, memories={})

    run = case.compiled("episode", episode_of)
    for after in {steps, max(1, steps - 2)}:
        episode = run(case.transitions[0].actions, case.key, case.params, after)
        length = int(episode.length)
        require(
            1 <= length <= after,
            f"an episode that terminates after {after} steps has length {length}",
        )
        require(
            int(episode.final_state.time) == length,
            f"an episode of {length} steps ends at time {int(episode.final_state.time)}",
        )
        for name in env.spec.component_info:
            rows = as_numpy(getattr(episode.trace, name))
            require(
                not np.any(rows[length:]),
                f"component {name!r} is counted after the episode has terminated",
            )
        sums = jax.tree.map(lambda x: np.sum(np.asarray(x), axis=0), episode.trace)
        require_close(sums, episode.totals, "sums of the trace and totals of the episode")


def horizon(case: Case) -> None:
    """Check that `truncated` is true from the horizon on and not before."""
    end = case.env.horizon
    for t in case.transitions:
        right = bool(t.result[4]) == (int(t.result[1].time) >= end)
        require(right, f"truncated is {t.result[4]} at time {t.result[1].time} of {end}")
    t = case.transitions[-1]
    last = t.state.replace(time=jnp.asarray(end - 1, t.state.time.dtype))
    truncated = case.step(t.key, last, t.actions, case.params)[4]
    require(truncated, f"truncated is {truncated} at the horizon, {end}")
    if end > 1:
        early = last.replace(time=jnp.asarray(end - 2, last.time.dtype))
        truncated = case.step(t.key, early, t.actions, case.params)[4]
        require(not truncated, f"truncated is {truncated} at time {end - 1} of {end}")


def metrics(case: Case) -> None:
    """Check that metrics are finite on sums and on empty components, and disparities <= 0."""
    rows = [t.result[2] for t in case.transitions]
    summed = jax.tree.map(lambda *x: jnp.asarray(np.sum(np.stack(x), axis=0)), *rows)
    require(len(case.env.metrics) > 0, "the environment declares no metrics")
    unknown = [name for name in case.env.spec.terms if name not in case.env.metrics]
    require(not unknown, f"terms has {unknown}, which metrics does not have")
    for what, totals in (
        ("an episode", summed),
        ("nothing", jax.tree.map(lambda x: jnp.asarray(np.zeros_like(x)), summed)),
    ):
        for name, metric in case.env.metrics.items():
            require(isinstance(metric, Metric), f"metric {name!r} lacks a method of Metric")
            metric.unit_in(case.env.spec.component_info)  # raises if no unit is declared or implied
            for value in (metric.value(totals), metric.normalised(totals)):
                number = jnp.shape(value) == () and bool(jnp.isfinite(value))
                require(number, f"metric {name!r} of {what} must be a finite number, got {value}")
                require(
                    metric.kind != "fair" or value <= 0,
                    f"disparity {name!r} of {what} must be at most 0 (parity), got {value}",
                )
        score = Objective.uniform(case.env).score(totals)
        require(jnp.isfinite(score), f"the uniform objective of {what} is {score}")
