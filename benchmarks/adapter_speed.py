"""Measure the time of a step through the adapters, compared with the compiled step.

    python benchmarks/adapter_speed.py [ENVIRONMENT ...]

The following take turns in one process, with the same actions: the compiled `env.step` on JAX
arrays; the same program with rewards; the adapters, which check actions, keep the totals of the
episode and return NumPy arrays; and the compiled step of the JaxMARL adapter. Times are medians
over repetitions, in microseconds.
"""

import argparse
import inspect
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import fairgym
from fairgym.adapters.gymnasium import GymnasiumEnv
from fairgym.adapters.jaxmarl import JaxMarlEnv
from fairgym.adapters.pettingzoo import PettingZooEnv
from fairgym.utils.registry import environments
from fairgym.wrappers import NeverEnds

PEOPLE = 1_000
WAYS = ("PettingZoo", "Gymnasium", "JaxMARL")
HEAD = ("environment", "env.step", "with rewards", *(h for way in WAYS for h in (way, "more")))


def make(name: str, people: int) -> Any:
    """Return the environment, with this many people if their number can be chosen."""
    size = inspect.signature(environments.get(name)).parameters.get("population")
    sized = size is not None and size.default != 0  # 0: the people of a graph
    return fairgym.make(name, population=people) if sized else fairgym.make(name)


def timed(function: Callable[[], Any]) -> float:
    """Return the microseconds of one call."""
    began = time.perf_counter()
    jax.block_until_ready(function())
    return 1e6 * (time.perf_counter() - began)


def measure(name: str, people: int, repetitions: int) -> dict[str, float]:
    """Return the median microseconds of each way to make a step."""
    # random actions soon end some episodes, and an end computes all metrics
    env, key = NeverEnds(make(name, people)), jax.random.key(0)
    params = env.default_params
    parallel, single, pure = PettingZooEnv(env), GymnasiumEnv(env), JaxMarlEnv(env)
    sampled = {agent: env.action_space(agent).sample(key) for agent in env.agents}
    weights = {agent: pure.action_space(agent).sample(key) for agent in env.agents}
    actions = {agent: np.asarray(action) for agent, action in weights.items()}
    for adapter in (parallel, single):
        adapter.reset(seed=0)
    state = parallel._table.play.state
    step = jax.jit(lambda key, state, actions: env.step(key, state, actions, params))
    table = parallel._table
    first, numbers = table._leaves, table._numbers
    taken = {agent: table.checked(agent, actions) for agent in env.agents}

    def again(adapter: Any, given: Any) -> Callable[[], Any]:
        start = adapter._table._leaves

        def one() -> Any:
            adapter._table._leaves, adapter._table.steps, adapter._table.over = start, 0, False
            if isinstance(adapter, PettingZooEnv):
                adapter.agents = adapter.possible_agents
            return adapter.step(given)

        return one

    carried = pure.reset(key)[1]
    pure_step = jax.jit(pure.step_env)
    ways = {
        "step": lambda: step(key, state, sampled),
        "rewarded": lambda: table._step(first, numbers, taken),
        "PettingZoo": again(parallel, actions),
        "Gymnasium": again(single, actions[single.agent]),
        "JaxMARL": lambda: pure_step(key, carried, weights),
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    for number in range(repetitions + 3):
        for way, function in ways.items():
            found = timed(function)
            if number >= 3:
                times[way].append(found)
    return {way: float(np.median(found)) for way, found in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", default=environments.names())
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--repetitions", type=int, default=200)
    given = parser.parse_args()
    print("| " + " | ".join(HEAD) + " |\n" + "| --- " * len(HEAD) + "|")
    for name in given.names:
        us = measure(name, given.people, given.repetitions)
        cells = [us["step"], us["rewarded"]]
        for way in WAYS:
            cells += [us[way], us[way] - us["step"]]
        print(f"| {name} | " + " | ".join(f"{cell:,.0f}" for cell in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
