"""Measure the three environments of "Striking a Balance in Fairness", and F-PPO in them.

Run `python benchmarks/short_long_speed.py` (some minutes on two cores). It prints one line for each
number, without compilation, and the speed-up over the authors' code on two cores of another
machine:

- Environment steps per second with a hand-written policy, including observing and deciding, for a
  single episode and for many at once: the median of several repetitions.
- Seconds of F-PPO for the paper's number of training steps: the time of some epochs (acting,
  massaging, learning, and four episodes that measure the policy), scaled up to all steps. This is
  measured with the default networks, and with the networks and batch size of the authors' code.
  There actor and critic share their first two layers; here each has its own, which is a little more
  work.
"""

import argparse
from typing import Any

import jax
from timing import median_seconds, steps_per_second

import fairgym
from fairgym.algorithms import algorithms
from fairgym.fairness import Objective
from fairgym.policies import fixed_policies
from fairgym.training.devices import configure

# Steps per second, and hours of training, with the authors' code.
THEIR_STEPS = {"bank_loans": 522, "attention": 1_196, "epidemic": 406}
THEIR_HOURS = {"bank_loans": 1.9, "attention": 1.8, "epidemic": 2.1}
TRAINING_STEPS = {"bank_loans": 700_000, "attention": 2_000_000, "epidemic": 500_000}
POLICY = {"bank_loans": "threshold", "attention": "cover_sites", "epidemic": "highest_degree"}
# Units of the hidden layers of actor and critic, and one gradient step for each 64 steps.
THEIR_LAYERS = {
    "bank_loans": (256, 256, 256, 128),
    "attention": (128, 128, 128, 64),
    "epidemic": (512, 512, 512, 256),
}
THEIR_LEARNING: dict[str, Any] = {"num_minibatches": 32, "learning_rate": 1e-5}


def main() -> None:
    """Measure everything in turns, and print one line each."""
    parser = argparse.ArgumentParser(description="Speed compared with the authors' code of F-PPO.")
    parser.add_argument("--episodes", type=int, default=4_096, help="episodes run together")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--environments", nargs="+", default=list(POLICY), choices=list(POLICY))
    arguments = parser.parse_args()
    configure()
    for name in arguments.environments:
        env = fairgym.make(name)
        policies = fixed_policies(env, env.spec.baselines[POLICY[name]])
        for episodes in (1, arguments.episodes):
            speed = steps_per_second(env, policies, episodes, arguments.repetitions)
            label = f"{name}, {episodes:,} episode{'s' * (episodes > 1)} together"
            times = speed / THEIR_STEPS[name]
            print(f"{label:45s} {speed:>12,.0f} steps/s {times:>9,.1f} x", flush=True)
    for name in arguments.environments:
        layers = THEIR_LAYERS[name]
        networks = {"layers": layers, "critic_layers": layers}
        for words, given in (("default", {}), ("their", networks | THEIR_LEARNING)):
            seconds = training_seconds(name, given, arguments.repetitions)
            label = f"f-ppo in {name}, {words} networks"
            times = THEIR_HOURS[name] * 3_600 / seconds
            print(f"{label:45s} {seconds:>12,.0f} s       {times:>9,.1f} x", flush=True)


def training_seconds(name: str, given: dict[str, Any], repetitions: int) -> float:
    """Return the seconds of the paper's training steps, extrapolated from those of an epoch.

    Args:
        name: Name of the environment.
        given: Hyperparameters that differ from the defaults.
        repetitions: Number of measured epochs.
    """
    env = fairgym.make(name)
    learner = algorithms.get("f-ppo")(**given)
    state = learner.init(jax.random.key(0), env, Objective.published(env))
    state, _ = learner.update(state)
    seconds = median_seconds(lambda: learner.update(state), repetitions)
    return seconds * TRAINING_STEPS[name] / steps_per_epoch(learner, env)


def steps_per_epoch(learner: Any, env: fairgym.Environment) -> int:
    """Return the environment steps of one training epoch."""
    return learner.rounds(env) * learner.num_envs * learner.num_steps


if __name__ == "__main__":
    main()
