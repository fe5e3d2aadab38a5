"""Measure the contribution of the queue to a learned loan policy.

Run `python benchmarks/loan_queue.py runs/loan/seed-0 runs/grid`. It prints the objective and the
profit of both runs, of the first run with a random queue, and of the second run with the queue of
the first.
"""

import sys

import jax

import fairgym
from fairgym.policies import fixed_policies
from fairgym.training.devices import configure


def main(learned_folder: str, other_folder: str) -> None:
    """Measure the four policies in the same 32 episodes."""
    configure()
    learned, other = fairgym.load(learned_folder), fairgym.load(other_folder)
    random = fixed_policies(learned.env, {"disbursement": "random"})
    queue = {"disbursement": learned.policies["disbursement"]}
    for name, policies in {
        learned_folder: learned.policies,
        f"{learned_folder}, random queue": learned.policies | random,
        other_folder: other.policies,
        f"{other_folder}, queue of {learned_folder}": other.policies | queue,
    }.items():
        found = fairgym.evaluate(
            learned.env,
            learned.params,
            policies,
            jax.random.key(1),
            32,
            objective=learned.objective,
        )
        shown = [
            f"{key} {mean:,.3f} [{low:,.3f}, {high:,.3f}]"
            for key in ("objective", "profit")
            for mean, low, high in [found.interval(key)]
        ]
        print(f"{name}: {', '.join(shown)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
