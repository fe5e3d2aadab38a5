"""How many environment steps per second each algorithm learns from, side by side.

Run `python benchmarks/learner_speed.py` (about three minutes on two cores). It prints one line per
algorithm: environment steps per second with everything that learning takes (acting, learning, and
measuring the policy after each epoch; not compiling), and how many times F-MACEM's speed that is.
The algorithms take turns, one epoch each, so that other load on the machine meets all of them.
"""

import argparse
import statistics
import time

import jax

import fairgym
from fairgym.algorithms import algorithms
from fairgym.fairness import Objective
from fairgym.training.devices import configure

ALGORITHMS = ("f-macem", "f-mappo", "f-maddpg")


def main() -> None:
    """Train all algorithms in turns and print their speeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environment", default="loan")
    parser.add_argument("--population", type=int, default=1_000)
    parser.add_argument("--episodes", type=int, default=100, help="episodes per epoch")
    parser.add_argument("--rounds", type=int, default=3, help="epochs measured of each")
    arguments = parser.parse_args()
    configure()
    env = fairgym.make(arguments.environment, population=arguments.population)
    objective = Objective.half_direct(env)
    steps = arguments.episodes * env.horizon
    learners = {
        name: algorithms.get(name)(episodes_per_epoch=arguments.episodes, evaluation_episodes=2)
        for name in ALGORITHMS
    }
    states = {
        name: learner.init(jax.random.key(0), env, objective) for name, learner in learners.items()
    }
    seconds: dict[str, list[float]] = {name: [] for name in ALGORITHMS}
    for _ in range(1 + arguments.rounds):
        for name, learner in learners.items():
            begun = time.perf_counter()
            states[name], log = learner.train_chunk(states[name])
            jax.block_until_ready((states[name], log))
            seconds[name].append(time.perf_counter() - begun)
    # The first epoch of each compiled its program.
    for name, taken in seconds.items():
        ratio = statistics.median(
            ours / other for ours, other in zip(seconds["f-macem"][1:], taken[1:], strict=True)
        )
        speed = steps / statistics.median(taken[1:])
        print(f"{name:10s} {speed:>9,.0f} steps/s   {ratio:.2f} x f-macem", flush=True)


if __name__ == "__main__":
    main()
