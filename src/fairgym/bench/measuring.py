"""Measurements of one environment at one size."""

import contextlib
import dataclasses
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.compilation_cache import compilation_cache
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, PyTree

from fairgym.core import AnyPolicy, Environment, rollout
from fairgym.core.batching import map_episodes
from fairgym.policies import Constant, equivariant, split_trainable
from fairgym.utils import make
from fairgym.wrappers import NeverEnds, StartsFrom

WARM_UP = 60  # steps before the measured ones
ACTION = 0.15  # of agents that do not act on each person, without policies
MOST_STEPS = 2_000  # per measurement
PERSON_STEPS = 10_000_000  # per measurement, about
CANDIDATES = 8  # least number of policy sets, for every batch size


@dataclasses.dataclass(frozen=True)
class Measurement:
    """One line of the benchmark.

    Attributes:
        environment: Name of the environment.
        population: Number of people; None for an environment without people.
        batch: Number of episodes that run in parallel.
        policies: Whether networks act, with different parameters in each episode.
        us_per_step: Microseconds of wall time per environment step, over all episodes.
        steps_per_s: Environment steps per second.
        person_steps_per_s: Steps per second times the population.
        compile_s: Seconds to trace and compile the program, without caches.
        opponent_us_per_step: Microseconds per step of the opponent; None without one.
        ratio: Time per step divided by the opponent's: above 1, the opponent is faster.
    """

    environment: str
    population: int | None
    batch: int
    policies: bool
    us_per_step: float
    steps_per_s: float
    person_steps_per_s: float | None
    compile_s: float
    opponent_us_per_step: float | None
    ratio: float | None


@dataclasses.dataclass(frozen=True)
class Workload:
    """Environment and policies of a measurement, the same for fairgym and an opponent.

    Attributes:
        env: The environment.
        warm_up: Number of steps before the measured ones.
        actions: Agent -> action of the warm-up, and of the measured steps without policies.
        networks: Whether policies act in the measured steps.
        stacked: Trainable arrays of the sets of policies, one set per entry of the first axis.
        common: The static part of the policies.
    """

    env: Environment
    warm_up: int
    actions: dict[str, Array]
    networks: bool
    stacked: PyTree
    common: PyTree

    def policies(self, place: int) -> dict[str, AnyPolicy]:
        """Return one set of policies: agent -> policy."""
        return eqx.combine(jax.tree.map(lambda x: x[place], self.stacked), self.common)


# Returns a function that runs once and returns seconds per step; None for an unknown environment.
Opponent = Callable[[Workload], Callable[[], float] | None]


def make_sized(name: str, population: int | None, **shapes: int) -> Environment:
    """Make an environment; `population` is None for one without people."""
    arguments: dict[str, Any] = dict(shapes)
    if population is not None:
        arguments["population"] = population
    return make(name, **arguments)


def measure(
    name: str,
    population: int | None,
    batches: Sequence[int],
    repetitions: int = 5,
    *,
    policies: Sequence[bool] = (False, True),
    opponent: Opponent | None = None,
) -> Iterator[Measurement]:
    """Measure one environment at one size, without and with policies, at every batch size.

    Args:
        name: Name of the environment.
        population: Number of people; None for an environment without people.
        batches: Numbers of episodes that run in parallel.
        repetitions: Number of measurements, in turns, of which the median is reported.
        policies: Whether to measure with networks, in this order.
        opponent: Another implementation to compare with.

    Yields:
        A measurement for each batch size, by default first without policies, then with.
    """
    env = make_sized(name, population, horizon=WARM_UP + MOST_STEPS)
    actions = {agent: policy.action for agent, policy in _constant_policies(env).items()}
    state = _warm_state(env, actions)
    people = population or 1
    for networks in policies:
        stacked, common = _candidates(env, max(*batches, CANDIDATES), networks)
        workload = Workload(env, WARM_UP, actions, networks, stacked, common)
        runs, compiled, steps = {}, {}, {}
        for batch in batches:
            steps[batch] = int(np.clip(PERSON_STEPS // (people * batch), 8, MOST_STEPS))
            runs[batch], compiled[batch] = _compile(workload, state, batch, steps[batch])
        theirs = opponent(workload) if opponent else None
        times = _in_turns([*runs.values(), *([theirs] if theirs else [])], repetitions)
        for batch, seconds in zip(batches, times, strict=False):
            per_step = [s / (steps[batch] * batch) for s in seconds]
            us = 1e6 * statistics.median(per_step)
            ratios = [mine / other for mine, other in zip(per_step, times[-1], strict=True)]
            yield Measurement(
                environment=name,
                population=population,
                batch=batch,
                policies=networks,
                us_per_step=us,
                steps_per_s=1e6 / us,
                person_steps_per_s=None if population is None else 1e6 / us * population,
                compile_s=compiled[batch],
                opponent_us_per_step=1e6 * statistics.median(times[-1]) if theirs else None,
                ratio=statistics.median(ratios) if theirs else None,
            )


def _in_turns(runs: list[Callable[[], float]], repetitions: int) -> list[list[float]]:
    """Call every run once per round, and return the results of each run.

    The first round warms up and is discarded, unless it takes 5 seconds or more. After three
    rounds, no round starts later than 10 seconds after the first.
    """
    begun = time.perf_counter()
    rounds = [[run() for run in runs]]
    if time.perf_counter() - begun < 5.0:
        rounds, begun = [], time.perf_counter()
    while len(rounds) < repetitions:
        if len(rounds) >= 3 and time.perf_counter() - begun > 10.0:
            break
        rounds.append([run() for run in runs])
    return [list(column) for column in zip(*rounds, strict=True)]


def _constant_policies(env: Environment) -> dict[str, Constant]:
    """Return constant policies: random scores or options, else the same number for all elements."""
    policies = {}
    for place, agent in enumerate(env.agents):
        space = env.action_space(agent)
        if space.per_entity or space.discrete:
            action = space.sample(jax.random.fold_in(jax.random.key(0), place))
        else:
            action = space.clip(jnp.full(space.shape, ACTION))
        policies[agent] = Constant(space, action)
    return policies


def _warm_state(env: Environment, actions: dict[str, Array]) -> PyTree:
    """Return a state after the warm-up of an episode."""
    params = env.default_params
    advance = jax.jit(lambda key, state: env.advance(key, state, actions, params)[0])
    state = jax.jit(env.initial_state)(jax.random.key(0), params)
    for step in range(WARM_UP):
        state = advance(jax.random.key(step), state)
    return state


def _candidates(env: Environment, count: int, networks: bool) -> tuple[PyTree, PyTree]:
    """Return `count` sets of policies: `(trainable arrays, stacked; static part)`."""
    if not networks:
        trainable, common = eqx.partition(_constant_policies(env), eqx.is_inexact_array)
        return jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *x.shape)), trainable), common
    trainable, common = split_trainable(equivariant(env, jax.random.key(0)))
    flat, in_policies = ravel_pytree(trainable)
    return jax.vmap(in_policies)(jax.random.normal(jax.random.key(1), (count, flat.size))), common


@contextlib.contextmanager
def _nothing_cached() -> Iterator[None]:
    """Compile inside this block without the cache on disk."""
    before = jax.config.jax_enable_compilation_cache  # pyright: ignore[reportAttributeAccessIssue]
    jax.config.update("jax_enable_compilation_cache", False)
    compilation_cache.reset_cache()  # JAX decides once whether it uses its cache
    try:
        yield
    finally:
        jax.config.update("jax_enable_compilation_cache", before)
        compilation_cache.reset_cache()


def _compile(
    workload: Workload, state: PyTree, batch: int, steps: int
) -> tuple[Callable[[], float], float]:
    """Compile the episodes of one measurement; return `(run, seconds to compile)`."""
    params = jax.tree.map(jnp.asarray, workload.env.default_params)
    stacked = jax.tree.map(lambda x: x[:batch], workload.stacked)
    items = stacked, jax.random.split(jax.random.key(1), batch)

    def episodes(state: PyTree, items: PyTree) -> PyTree:
        def one(item: PyTree) -> PyTree:
            trainable, key = item
            policies = eqx.combine(trainable, workload.common)
            # start from this state and continue after failures, so that all steps are made
            env = NeverEnds(StartsFrom(workload.env, state))
            episode = rollout(env, params, policies, key, steps)
            return episode.totals, episode.length

        return map_episodes(one, items, env=workload.env)

    begun = time.perf_counter()
    with _nothing_cached():
        program = jax.jit(episodes).lower(state, items).compile()
    seconds = time.perf_counter() - begun

    def run() -> float:
        begun = time.perf_counter()
        jax.block_until_ready(program(state, items))
        return time.perf_counter() - begun

    return run, seconds
