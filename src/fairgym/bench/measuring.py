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
ACTION = 0.15  # of every group-level agent, unless policies act
MOST_STEPS = 2_000  # of one measurement
PERSON_STEPS = 10_000_000  # of one measurement, about
CANDIDATES = 8  # sets of policies at least, whatever the batch


@dataclasses.dataclass(frozen=True)
class Measurement:
    """One line of the benchmark.

    Attributes:
        environment: its name.
        population: number of people; None for a system without people.
        batch: number of episodes run together.
        policies: True if networks act, with other parameters in each episode.
        us_per_step: microseconds of wall time per environment step, all episodes' steps counted.
        steps_per_s: environment steps per second.
        person_steps_per_s: steps per second times the population.
        compile_s: seconds to trace and compile the program, nothing cached.
        speedup: time of the opponent's step by that of ours; None where there is no opponent.
    """

    environment: str
    population: int | None
    batch: int
    policies: bool
    us_per_step: float
    steps_per_s: float
    person_steps_per_s: float | None
    compile_s: float
    speedup: float | None


@dataclasses.dataclass(frozen=True)
class Workload:
    """An environment and what acts in it: the same for us and for an opponent.

    Attributes:
        env: the environment.
        warm_up: number of steps made before the measured ones.
        actions: agent -> action of the steps before, and of the measured ones without policies.
        networks: True if policies act in the measured steps.
        stacked: learned arrays of the sets of policies, one set per entry of the first axis.
        common: everything else of the policies.
    """

    env: Environment
    warm_up: int
    actions: dict[str, Array]
    networks: bool
    stacked: PyTree
    common: PyTree

    def policies(self, place: int) -> dict[str, AnyPolicy]:
        """One set of policies: agent -> policy."""
        return eqx.combine(jax.tree.map(lambda x: x[place], self.stacked), self.common)


# makes a function that runs once and returns its seconds per step; None for a foreign environment
Opponent = Callable[[Workload], Callable[[], float] | None]


def make_sized(name: str, population: int | None, **shapes: int) -> Environment:
    """Make an environment; None for the population of a system without people."""
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
    opponent: Opponent | None = None,
) -> Iterator[Measurement]:
    """Measure one environment at one size, without and with policies, at every batch size.

    Args:
        name: the environment's name.
        population: number of people; None for a system without people.
        batches: numbers of episodes run together.
        repetitions: number of times that each figure is measured, in turns; the median counts.
        opponent: another implementation to compare with.

    Yields:
        A measurement for each batch size, first without policies, then with.
    """
    env = make_sized(name, population, horizon=WARM_UP + MOST_STEPS)
    actions = {agent: policy.action for agent, policy in _constant_policies(env).items()}
    state = _warm_state(env, actions)
    people = population or 1
    for networks in (False, True):
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
            speedups = [other / mine for other, mine in zip(times[-1], per_step, strict=True)]
            yield Measurement(
                environment=name,
                population=population,
                batch=batch,
                policies=networks,
                us_per_step=us,
                steps_per_s=1e6 / us,
                person_steps_per_s=None if population is None else 1e6 / us * population,
                compile_s=compiled[batch],
                speedup=statistics.median(speedups) if theirs else None,
            )


def _in_turns(runs: list[Callable[[], float]], repetitions: int) -> list[list[float]]:
    """Call every run once per round; results run by run.

    The first round warms up and is thrown away, unless it takes long enough not to matter. No
    round is begun after 10 seconds, once there are three.
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
    """Random scores or choices, the same number for everything else."""
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
    """A state some steps into an episode."""
    params = env.default_params
    advance = jax.jit(lambda key, state: env.advance(key, state, actions, params)[0])
    state = jax.jit(env.initial_state)(jax.random.key(0), params)
    for step in range(WARM_UP):
        state = advance(jax.random.key(step), state)
    return state


def _candidates(env: Environment, count: int, networks: bool) -> tuple[PyTree, PyTree]:
    """`count` sets of policies: `(learned arrays, stacked; everything else)`."""
    if not networks:
        trainable, common = eqx.partition(_constant_policies(env), eqx.is_inexact_array)
        return jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *x.shape)), trainable), common
    trainable, common = split_trainable(equivariant(env, jax.random.key(0)))
    flat, in_policies = ravel_pytree(trainable)
    return jax.vmap(in_policies)(jax.random.normal(jax.random.key(1), (count, flat.size))), common


@contextlib.contextmanager
def _nothing_cached() -> Iterator[None]:
    """Compile in here without the programs kept on disk."""
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
    """Compile the episodes of one measurement: `(run, seconds to compile)`."""
    params = jax.tree.map(jnp.asarray, workload.env.default_params)
    stacked = jax.tree.map(lambda x: x[:batch], workload.stacked)
    items = stacked, jax.random.split(jax.random.key(1), batch)

    def episodes(state: PyTree, items: PyTree) -> PyTree:
        def one(item: PyTree) -> PyTree:
            trainable, key = item
            policies = eqx.combine(trainable, workload.common)
            # from this state on, past any failure, so that all steps are made
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
