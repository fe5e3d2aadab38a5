"""Measure the environments and learners of "Remembering to Be Fair" against the authors' code.

Run `python benchmarks/fairqcm_speed.py` (three minutes on two cores). It prints one line for each:
the median of several repetitions without compilation, and the speed-up over the authors' code on
two cores of another machine.

Learning includes acting, learning, and an episode of the greedy policy after each episode of
training (for tabular learners, after each 1,000 steps).
"""

import argparse
import concurrent.futures
import statistics
from collections.abc import Callable
from typing import Any

import jax
from timing import median_seconds, seconds_of, steps_per_second

import fairgym
from fairgym.algorithms import algorithms
from fairgym.experiments.fairqcm.fig3 import LendingFigure
from fairgym.fairness import Objective
from fairgym.policies import fixed_policies
from fairgym.training.devices import configure

# Steps per second, seconds for 100,000 steps, and seconds per episode of the authors' code
# (https://github.com/praal/remembering-to-be-fair), in their faster coding of the doughnut shop.
THEIR_STEPS = {"doughnut": 194_000, "lending_pool": 66_000}
THEIR_TABULAR = {"tabular-q": 4.6, "tabular-fair-qcm": 17.4}
THEIR_EPISODES = {
    ("doughnut", "dqn"): 0.178,
    ("doughnut", "fair-qcm"): 0.419,
    ("doughnut", "drqn"): 1.63,
    ("lending_pool", "dqn"): 0.065,
    ("lending_pool", "fair-qcm"): 0.081,
}
MEMORY = {"dqn": "full", "fair-qcm": "full", "drqn": ""}
TABULAR_STEPS = 1_000  # per epoch
SEEDS = 10
THREADS = 2  # number of threads that train seeds


def main() -> None:
    """Measure everything in turns, and print one line each."""
    parser = argparse.ArgumentParser(
        description="Speed compared with the authors' code of FairQCM."
    )
    parser.add_argument("--episodes", type=int, default=4_096, help="episodes run together")
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    configure()
    for name, theirs in THEIR_STEPS.items():
        for count in (1, arguments.episodes):
            env = fairgym.make(name)
            policies = fixed_policies(env, env.spec.baselines["random"])
            speed = steps_per_second(env, policies, count, arguments.repetitions)
            label = f"{name}, {count:,} episode{'s' * (count > 1)} together"
            print(f"{label:45s} {speed:>12,.0f} steps/s {speed / theirs:>9.1f} x", flush=True)
    for name, theirs in THEIR_TABULAR.items():
        taken, together = tabular_seconds(name)
        print(f"{name + ', 100,000 steps':45s} {statistics.median(taken):>12.2f} s", end="")
        print(f"       {theirs / statistics.median(taken):>9.1f} x", flush=True)
        print(
            f"{f'{name}, {SEEDS} seeds, one after another':45s} {sum(taken):>12.2f} s", flush=True
        )
        print(f"{f'{name}, {SEEDS} seeds together':45s} {together:>12.2f} s", flush=True)
    for (name, algorithm), theirs in THEIR_EPISODES.items():
        seconds = seconds_per_episode(name, algorithm, arguments.repetitions)
        label = f"{algorithm} in {name}"
        print(f"{label:45s} {seconds:>12.4f} s/episode {theirs / seconds:>6.1f} x", flush=True)


def tabular_seconds(name: str) -> tuple[list[float], float]:
    """Return the seconds of 100,000 steps with three people: per seed, and of all in threads."""
    env = fairgym.make("doughnut", population=3, horizon=12, memory="full")
    learner = algorithms.get(name)(steps_per_epoch=TABULAR_STEPS)
    update = _updates(learner, env)
    update(0, 1)

    def trained(seed: int) -> Any:
        return jax.block_until_ready(update(seed, learner.epochs))

    taken = [seconds_of(lambda seed=seed: trained(seed)) for seed in range(SEEDS)]
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        return taken, seconds_of(lambda: list(pool.map(trained, range(SEEDS))))


def seconds_per_episode(name: str, algorithm: str, repetitions: int) -> float:
    """Return the seconds of a training episode with a full replay buffer."""
    memory = "min" if (name, algorithm) == ("lending_pool", "fair-qcm") else MEMORY[algorithm]
    env = fairgym.make(name, **({"memory": memory} if memory else {}))
    given: dict[str, Any] = {}
    if name == "lending_pool":
        learners = LendingFigure.learners.values()
        given = next(dict(one.arguments) for one in learners if one.algorithm == algorithm)
    learner = algorithms.get(algorithm)(**given)
    state = learner.init(jax.random.key(0), env, Objective.published(env))
    held = -1
    while held < int(state.buffer.held):  # until the buffer is full
        held = int(state.buffer.held)
        state, _ = learner.update(state)
    return median_seconds(lambda: learner.update(state), repetitions) / learner.episodes_per_epoch


def _updates(learner: Any, env: fairgym.Environment) -> Callable[[int, int], Any]:
    """Return a function of seed and number of epochs that trains a learner."""

    def run(seed: int, epochs: int) -> Any:
        state = learner.init(jax.random.key(seed), env, Objective.published(env))
        for _ in range(epochs):
            state, _ = learner.update(state)
        return state

    return run


if __name__ == "__main__":
    main()
