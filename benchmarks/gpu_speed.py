"""Measure training on a GPU, or on whatever device JAX uses.

    python benchmarks/gpu_speed.py check     episodes on the GPU beside the same ones on its CPU
    python benchmarks/gpu_speed.py run       whole runs of F-MACEM on loan, 1,000 and 10,000 people
    python benchmarks/gpu_speed.py seeds     updates of gradient learners, 1 to 256 seeds at a time

`--only NAME` selects one environment, population or learner. Speed of steps is that of `fairgym
bench`.
"""

import argparse
import functools
import statistics
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

import fairgym
from fairgym.algorithms import algorithms
from fairgym.fairness import Objective
from fairgym.policies import equivariant
from fairgym.training.devices import configure

CHECKED = ("loan", "health", "education", "loan_simple", "attention", "bank_loans")
POPULATIONS = (1_000, 10_000)
EPOCHS = 40
LEARNERS = {  # environment, and numbers of seeds
    "f-ppo": ("attention", (1, 16, 256)),
    "ppo": ("bank_loans", (1, 64)),
}


def wall(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return the wall time of a call, and its result."""
    begun = time.perf_counter()
    found = jax.block_until_ready(function())
    return time.perf_counter() - begun, found


def check(name: str) -> None:
    """Print how far totals of 24 steps differ between the device and the CPU."""
    env = fairgym.make(name, horizon=24)
    policies = equivariant(env, jax.random.key(1), 32)

    def totals(key: jax.Array) -> jax.Array:
        return ravel_pytree(fairgym.rollout(env, env.default_params, policies, key).totals)[0]

    keys = jax.random.split(jax.random.key(0), 32)
    found = []
    for device in (jax.devices()[0], jax.devices("cpu")[0]):
        with jax.default_device(device):
            batch = jax.jit(jax.vmap(totals))(jax.device_put(keys, device))
            found.append(np.asarray(batch, np.float64))
    error = np.maximum(found[1].std(0), 1e-6) / len(keys) ** 0.5
    apart = np.abs(found[0].mean(0) - found[1].mean(0)) / error
    same = (found[0] == found[1]).mean()
    print(
        f"{name:12s} {apart.size} totals: means apart by {apart.max():.2f} standard errors at most,"
        f" {same:.0%} of the sums equal"
    )


def whole_run(people: str) -> None:
    """Time all epochs of the published run of F-MACEM on loan."""
    env = fairgym.make("loan", population=int(people))
    learner = algorithms.get("f-macem")()
    state = learner.init(jax.random.key(0), env, Objective.half_direct(env))
    first, (state, log) = wall(lambda: learner.update(state))
    print(f"f-macem loan {people} people: first epoch {first:.1f} s", flush=True)
    begun, seconds = time.perf_counter(), []
    for _ in range(EPOCHS - 1):
        took, (state, log) = wall(functools.partial(learner.update, state))
        seconds.append(took)
    total = time.perf_counter() - begun
    print(
        f"f-macem loan {people} people: {EPOCHS - 1} more epochs {total:.1f} s,"
        f" median {statistics.median(seconds):.3f} s, survived {float(log['survived']):.2f}"
    )


def seeds(name: str) -> None:
    """Time updates of several seeds of a learner in one vectorised program."""
    environment, counts = LEARNERS[name]
    env = fairgym.make(environment)
    learner = algorithms.get(name)()
    objective = Objective.half_direct(env)
    first_state = learner.init(jax.random.key(0), env, objective)
    arrays, rest = eqx.partition(first_state, eqx.is_array)

    @jax.jit
    @jax.vmap
    def update(arrays: Any) -> Any:
        return eqx.filter(learner.update(eqx.combine(arrays, rest))[0], eqx.is_array)

    one = 0.0
    for count in counts:
        states = jax.tree.map(lambda x: jnp.stack([x] * count), arrays)  # noqa: B023
        keys = jax.random.split(jax.random.key(0), count)
        states = states.replace(key=jax.random.key_data(keys))
        first, states = wall(functools.partial(update, states))
        taken = []
        for _ in range(3):
            took, states = wall(functools.partial(update, states))
            taken.append(took)
        middle = statistics.median(taken)
        one = one or middle
        print(
            f"{name:8s} {environment:10s} {count:4d} seeds: first {first:6.1f} s, update"
            f" {middle:8.3f} s, {one * count / middle:6.1f} times one after another",
            flush=True,
        )


PARTS: dict[str, tuple[Callable[[str], None], tuple[str, ...]]] = {
    "check": (check, CHECKED),
    "run": (whole_run, tuple(map(str, POPULATIONS))),
    "seeds": (seeds, tuple(LEARNERS)),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--only", nargs="+")
    words = parser.parse_args()
    configure()
    print(f"{jax.devices()[0].device_kind}, JAX {jax.__version__}", flush=True)
    function, names = PARTS[words.part]
    for name in words.only or names:
        function(name)


if __name__ == "__main__":
    main()
