"""How fast an environment is: what `fairgym bench` measures and prints.

Each figure is the wall time of compiled episodes divided by the number of environment steps of
all of them together. Episodes start from one state some months into an episode and are carried on
past a failure, so that every one of them makes all its steps; a reset is not in the figures.

"With policies" means the two-layer networks that F-MACEM trains, with other parameters in each
episode; "without" means actions fixed beforehand. The opponent is the vectorised NumPy rewrite in
`benchmarks/` (`numpy_<environment>.py`): measured in the same process, in turns with ours, from as
far into an episode. It runs one episode after another, so its time per step is the same for every
batch.
"""

import contextlib
import copy
import dataclasses
import functools
import importlib.util
import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.compilation_cache import compilation_cache

from fairgym.core import Environment, PerEntity, make, rollout
from fairgym.core.batching import map_episodes
from fairgym.core.environment import check_shape
from fairgym.policies import Constant, equivariant, partition

POPULATIONS = (1_000, 10_000, 100_000)
BATCHES = (1, 100)
WARM_UP = 60  # steps before the measured ones
ACTION = 0.15  # of every group-level agent, unless policies act
MOST_STEPS = 2_000  # of one measurement
PERSON_STEPS = 10_000_000  # of one measurement, about
_NUMPY_CANDIDATES = 8  # sets of policies that the rewrite takes turns with


@dataclasses.dataclass(frozen=True)
class Measurement:
    """One line of the benchmark.

    Attributes:
        environment: its name.
        population: number of people.
        batch: number of episodes run together.
        policies: whether networks act, with other parameters in each episode.
        us_per_step: microseconds of wall time per environment step, all episodes' steps counted.
        steps_per_s: environment steps per second.
        person_steps_per_s: the same times the population.
        compile_s: seconds to trace and compile the program, nothing cached.
        ratio_to_numpy: how many times faster than the NumPy rewrite; None where there is none.
    """

    environment: str
    population: int
    batch: int
    policies: bool
    us_per_step: float
    steps_per_s: float
    person_steps_per_s: float
    compile_s: float
    ratio_to_numpy: float | None


def main_bench(
    environments: Sequence[str],
    *,
    populations: Sequence[int] = POPULATIONS,
    batches: Sequence[int] = BATCHES,
    as_json: bool = False,
    repetitions: int = 5,
) -> list[Measurement]:
    """Measure environments and print the figures.

    Args:
        environments: names, as `fairgym.make` takes them.
        populations: numbers of people.
        batches: numbers of episodes run together.
        as_json: print one JSON list at the end instead of a table line by line.
        repetitions: how often each figure is measured; the median counts.

    Raises:
        FairgymError: an unknown environment, or a number out of its range.
    """
    for batch in batches:
        check_shape("batch", batch, 1, 1_000_000)
    check_shape("repetitions", repetitions, 1, 1_000)
    for name in environments:
        for people in populations:
            make(name, population=people)  # all bad input is told before anything is measured
    found = []
    if not as_json:
        print(_HEADER)
    for name in environments:
        for people in populations:
            for line in measure(name, people, batches, repetitions):
                found.append(line)
                if not as_json:
                    print(_table_line(line), flush=True)
    if as_json:
        print(json.dumps([dataclasses.asdict(line) for line in found], indent=1))
    else:
        print(f"{jax.local_device_count()} {jax.default_backend()} device(s); {_opponent(found)}")
    return found


_HEADER = (
    f"{'environment':<12} {'people':>9} {'batch':>6} {'policies':>8} {'us/step':>10}"
    f" {'steps/s':>10} {'person-steps/s':>15} {'compile s':>9} {'x NumPy':>8}"
)


def _table_line(line: Measurement) -> str:
    ratio = "-" if line.ratio_to_numpy is None else f"{line.ratio_to_numpy:.1f}"
    return (
        f"{line.environment:<12} {line.population:>9,} {line.batch:>6}"
        f" {'yes' if line.policies else 'no':>8} {line.us_per_step:>10,.1f}"
        f" {line.steps_per_s:>10,.0f} {line.person_steps_per_s:>15,.3g}"
        f" {line.compile_s:>9.1f} {ratio:>8}"
    )


def _opponent(lines: list[Measurement]) -> str:
    if any(line.ratio_to_numpy is None for line in lines):
        return "no NumPy rewrite to compare with (it is in the repository, not in the package)"
    return "x NumPy: how many times faster than the rewrite in benchmarks/, side by side"


# ------------------------------------------------------------------------------- measuring


def measure(
    name: str,
    population: int,
    batches: Sequence[int],
    repetitions: int = 5,
    *,
    compare: bool = True,
) -> Iterator[Measurement]:
    """Measure one environment at one size, without and with policies, at every batch size.

    Args:
        name: the environment's name.
        population: number of people.
        batches: numbers of episodes run together.
        repetitions: how often each figure is measured, in turns; the median counts.
        compare: whether to measure the NumPy rewrite too.

    Yields:
        A measurement for each batch size, first without policies, then with.
    """
    env = make(name, population=population, horizon=WARM_UP + MOST_STEPS)
    state = _warm_state(env)
    for with_policies in (False, True):
        candidates = _candidates(env, max(*batches, _NUMPY_CANDIDATES), with_policies)
        runs, compiled, steps = {}, {}, {}
        for batch in batches:
            steps[batch] = int(np.clip(PERSON_STEPS // (population * batch), 8, MOST_STEPS))
            items = (
                jax.tree.map(lambda x, n=batch: x[:n], candidates[0]),
                jax.random.split(jax.random.key(1), batch),
            )
            runs[batch], compiled[batch] = _compile(env, state, items, candidates[1], steps[batch])
        opponent = _numpy_run(env, candidates, with_policies) if compare else None
        ours = _in_turns([*runs.values(), *([opponent] if opponent else [])], repetitions)
        for batch, times in zip(batches, ours, strict=False):
            per_step = [seconds / (steps[batch] * batch) for seconds in times]
            us = 1e6 * statistics.median(per_step)
            ratios = [theirs / mine for theirs, mine in zip(ours[-1], per_step, strict=True)]
            yield Measurement(
                environment=name,
                population=population,
                batch=batch,
                policies=with_policies,
                us_per_step=us,
                steps_per_s=1e6 / us,
                person_steps_per_s=1e6 / us * population,
                compile_s=compiled[batch],
                ratio_to_numpy=statistics.median(ratios) if opponent else None,
            )


def _in_turns(runs: list[Callable[[], float]], repetitions: int) -> list[list[float]]:
    """Call every run once per round; what each call reports, run by run.

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


def _constant_actions(env: Environment, key: Any) -> dict[str, Constant]:
    """Random scores for people, the same number for everything else."""
    return {
        agent: Constant(
            space,
            space.sample(jax.random.fold_in(key, place))
            if isinstance(space, PerEntity)
            else space.clip(jnp.full(space.shape, ACTION)),
        )
        for place, agent in enumerate(env.agents)
        for space in [env.action_space(agent)]
    }


def _warm_state(env: Environment) -> Any:
    """A state some steps into an episode."""
    params = env.default_params
    actions = {
        agent: policy.action for agent, policy in _constant_actions(env, jax.random.key(0)).items()
    }
    advance = jax.jit(lambda key, state: env.advance(key, state, actions, params)[0])
    state = jax.jit(env.initial_state)(jax.random.key(0), params)
    for step in range(WARM_UP):
        state = advance(jax.random.key(step), state)
    return state


def _candidates(env: Environment, count: int, with_policies: bool) -> tuple[Any, Any]:
    """`count` sets of policies: `(what differs, stacked along a first axis; what is common)`."""
    if not with_policies:
        policies = _constant_actions(env, jax.random.key(0))
        learned, common = eqx.partition(policies, eqx.is_inexact_array)
        return jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *x.shape)), learned), common
    learned, common = partition(equivariant(env, jax.random.key(0)))
    leaves, treedef = jax.tree.flatten(learned)
    keys = jax.random.split(jax.random.key(1), len(leaves))
    drawn = [jax.random.normal(k, (count, *x.shape)) for k, x in zip(keys, leaves, strict=True)]
    return jax.tree.unflatten(treedef, drawn), common


def _carried_on(env: Environment, state: Any) -> Environment:
    """The environment with `state` as its reset, and without an end."""
    endless = copy.copy(env)

    def advance(key: Any, state: Any, actions: Mapping[str, Any], params: Any) -> Any:
        state, components, terminated = env.advance(key, state, actions, params)
        return state, components, jnp.zeros_like(terminated)

    # its class is a frozen dataclass
    object.__setattr__(endless, "initial_state", lambda key, params: state)
    object.__setattr__(endless, "advance", advance)
    return endless


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
    env: Environment, state: Any, items: Any, common: Any, steps: int
) -> tuple[Callable[[], float], float]:
    """Compile the episodes of one measurement: `(run, seconds to compile)`."""
    params = jax.tree.map(jnp.asarray, env.default_params)

    def episodes(state: Any, items: Any) -> Any:
        def one(item: Any) -> Any:
            learned, key = item
            policies = eqx.combine(learned, common)
            episode = rollout(_carried_on(env, state), params, policies, key, steps)
            return episode.totals, episode.length

        return map_episodes(one, items)

    begun = time.perf_counter()
    with _nothing_cached():
        program = jax.jit(episodes).lower(state, items).compile()
    seconds = time.perf_counter() - begun

    def run() -> float:
        begun = time.perf_counter()
        jax.block_until_ready(program(state, items))
        return time.perf_counter() - begun

    return run, seconds


# ------------------------------------------------------------------------------- the opponent


@functools.cache
def benchmark_module(name: str) -> ModuleType | None:
    """A module of the repository's `benchmarks` folder; None where there is none."""
    path = Path(__file__).parents[2] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"fairgym_benchmarks_{name}", path)
    if not path.is_file() or spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _numpy_run(
    env: Environment, candidates: tuple[Any, Any], with_policies: bool
) -> Callable[[], float] | None:
    """A run of the NumPy rewrite that reports its seconds per step; None if there is no rewrite."""
    rewrite = benchmark_module(f"numpy_{env.name.replace('-', '_')}")
    networks = benchmark_module("numpy_policies")
    if rewrite is None or networks is None:
        return None
    steps = int(np.clip(2_000_000 // env.population, 12, 300))
    actions = {
        agent: np.asarray(policy.action)
        for agent, policy in _constant_actions(env, jax.random.key(0)).items()
    }
    warm = rewrite.System(env, env.default_params)
    warm.reset(np.random.default_rng(0))
    for _ in range(WARM_UP):
        warm.step(actions)
    learned, common = candidates
    turn = itertools.count()

    def act(system: Any, policies: Mapping[str, Any], step: int) -> dict[str, np.ndarray]:
        chosen = {}
        for agent, policy in policies.items():
            if step % env.periods.get(agent, 1):
                chosen[agent] = actions[agent]  # ignored in this step
                continue
            rows, features, context = system.observe(agent)
            action = policy(features, context)
            if policy.per_person:
                chosen[agent] = np.zeros(env.action_space(agent).shape, np.float32)
                chosen[agent][rows] = action
            else:
                chosen[agent] = action
        return chosen

    def run() -> float:
        system, place = copy.deepcopy(warm), next(turn) % _NUMPY_CANDIDATES
        policies = eqx.combine(jax.tree.map(lambda x: x[place], learned), common)
        if with_policies:
            policies = {agent: networks.TwoLayer(policy) for agent, policy in policies.items()}
        begun = time.perf_counter()
        for step in range(WARM_UP, WARM_UP + steps):
            system.step(act(system, policies, step) if with_policies else actions)
        return (time.perf_counter() - begun) / steps

    return run
