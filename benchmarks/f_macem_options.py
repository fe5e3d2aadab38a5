"""Comparison of F-MACEM's options with the plain method: ten seeds each, on the loan environment.

Run `python benchmarks/f_macem_options.py` (about half an hour on two cores; with `--epochs 20
--population 300` a third of it). It prints one line per option: the objective of the final mean
policy over seeds, and the paired difference to the plain method with a 95% interval.
"""

import argparse
import json
import time

import jax
import numpy as np

import fairgym
from fairgym.algorithms import algorithms
from fairgym.fairness import Objective
from fairgym.training.devices import configure
from fairgym.training.evaluation import evaluate
from fairgym.training.statistics import mean_interval

OPTIONS = {
    "plain": {},
    "noise floor 0.1": {"noise_floor": 0.1},
    "smoothing 0.3": {"smoothing": 0.3},
    "common random numbers": {"common_random_numbers": True},
}


def final_objective(env: fairgym.Environment, options: dict, seed: int, epochs: int) -> float:
    """Train once; the mean objective of the learned policy over 32 fresh episodes."""
    objective = Objective.uniform(env)
    algorithm = algorithms.get("f-macem")(epochs=epochs, **options)
    state = algorithm.init(jax.random.key(seed), env, objective)
    for _ in range(epochs):
        state, _ = algorithm.update(state)
    result = evaluate(
        env,
        env.default_params,
        algorithm.policies(state),
        jax.random.key(10_000),
        episodes=32,
        objective=objective,
    )
    assert result.objective is not None
    return float(np.mean(result.objective))


def main() -> None:
    """Run all options and print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--population", type=int, default=500)
    arguments = parser.parse_args()
    configure()
    env = fairgym.make("loan", population=arguments.population)
    found: dict[str, list[float]] = {}
    for name, options in OPTIONS.items():
        start = time.time()
        found[name] = [
            final_objective(env, options, seed, arguments.epochs) for seed in range(arguments.seeds)
        ]
        mean, low, high = mean_interval(np.array(found[name]))
        line = f"{name:24s} {mean:.4f} [{low:.4f}, {high:.4f}]"
        if name != "plain":
            gain, low, high = mean_interval(np.array(found[name]) - np.array(found["plain"]))
            line += f"   against plain {gain:+.4f} [{low:+.4f}, {high:+.4f}]"
        print(f"{line}   {time.time() - start:.0f} s", flush=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
