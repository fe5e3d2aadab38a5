"""Measure the environment steps per second that each algorithm learns from.

Run `python benchmarks/learner_speed.py` (about three minutes on two cores). It prints one line per
algorithm: environment steps per second, and the ratio to the first algorithm. Time includes
acting, learning and measuring the policy after each epoch, but not compilation. The algorithms
take turns, one epoch each, so that other load on the machine affects all of them.

F-MACEM's steps are those of whole episodes: if some fail early, there are fewer.
"""

import argparse
import time
from typing import Any

import jax
import numpy as np

import fairgym
from fairgym.algorithms import algorithms
from fairgym.fairness import Objective
from fairgym.training.devices import configure

ALGORITHMS = ("f-macem", "f-mappo", "f-maddpg")


def steps_per_epoch(learner: Any, env: fairgym.Environment) -> int:
    """Return the environment steps of one training epoch."""
    if hasattr(learner, "rounds"):
        return learner.rounds(env) * learner.num_envs * learner.num_steps
    return learner.episodes_per_epoch * env.horizon


def main() -> None:
    """Train all algorithms in turns and print their speeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--algorithms", nargs="+", default=ALGORITHMS, choices=ALGORITHMS)
    parser.add_argument("--environment", default="loan")
    parser.add_argument("--population", type=int, default=1_000)
    parser.add_argument("--episodes", type=int, default=100, help="episodes per epoch")
    parser.add_argument("--rounds", type=int, default=3, help="measured epochs per algorithm")
    arguments = parser.parse_args()
    configure()
    env = fairgym.make(arguments.environment, population=arguments.population)
    objective = Objective.half_direct(env)
    learners = {
        name: algorithms.get(name)(episodes_per_epoch=arguments.episodes)
        for name in arguments.algorithms
    }
    states = {
        name: learner.init(jax.random.key(0), env, objective) for name, learner in learners.items()
    }
    seconds: dict[str, list[float]] = {name: [] for name in learners}
    for _ in range(1 + arguments.rounds):
        for name, learner in learners.items():
            begun = time.perf_counter()
            states[name], log = learner.update(states[name])
            jax.block_until_ready((states[name], log))
            seconds[name].append(time.perf_counter() - begun)
    # The first epoch of each algorithm includes compilation.
    speeds = {
        name: steps_per_epoch(learners[name], env) / np.array(taken[1:])
        for name, taken in seconds.items()
    }
    first = arguments.algorithms[0]
    for name, found in speeds.items():
        ratio = np.median(found / speeds[first])
        print(f"{name:10s} {np.median(found):>9,.0f} steps/s   {ratio:.2f} x {first}")


if __name__ == "__main__":
    main()
