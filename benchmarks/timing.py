"""Shared measurements of the benchmarks: seconds of a call, and steps of whole episodes."""

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import jax

import fairgym
from fairgym.core import rollout
from fairgym.core.batching import map_episodes


def seconds_of(function: Callable[[], Any]) -> float:
    """Return the seconds until the result is ready."""
    begun = time.perf_counter()
    jax.block_until_ready(function())
    return time.perf_counter() - begun


def median_seconds(function: Callable[[], Any], repetitions: int) -> float:
    """Return the median seconds of several calls, at least three."""
    return statistics.median(seconds_of(function) for _ in range(max(repetitions, 3)))


def steps_per_second(
    env: fairgym.Environment, policies: Mapping[str, Any], episodes: int, repetitions: int
) -> float:
    """Return the environment steps per second of whole episodes run together."""
    params = env.default_params

    @jax.jit
    def run(keys: Any) -> Any:
        def one(key: Any) -> Any:
            episode = rollout(env, params, policies, key)
            return episode.totals, episode.length

        return map_episodes(one, keys, env=env)

    keys = jax.random.split(jax.random.key(0), episodes)
    steps = int(run(keys)[1].sum())
    return steps / median_seconds(lambda: run(keys), repetitions)
