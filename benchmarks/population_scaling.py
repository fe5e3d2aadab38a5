"""Measure time per step and memory of one environment by number of people.

Run `python benchmarks/population_scaling.py` (two to three minutes). Each population runs in its
own process: one episode on one device, without policies and with the two-layer networks.
"""

import argparse
import resource
import subprocess
import sys

import jax

from fairgym.bench import measure


def main() -> None:
    parser = argparse.ArgumentParser(description="Time and memory by population.")
    parser.add_argument("--environment", default="loan")
    parser.add_argument(
        "--populations", type=int, nargs="+", default=[10_000, 100_000, 300_000, 1_000_000]
    )
    arguments = parser.parse_args()
    if len(arguments.populations) > 1:
        print(f"{'people':>10} {'policies':>8} {'ms/step':>9} {'ns/person-step':>15} {'GiB':>6}")
        for population in arguments.populations:
            options = ["--environment", arguments.environment, "--populations", str(population)]
            subprocess.run([sys.executable, __file__, *options], check=True)
        return
    (population,) = arguments.populations
    jax.config.update("jax_num_cpu_devices", 1)
    for line in measure(arguments.environment, population, (1,), 3):
        gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{population:>10,} {'yes' if line.policies else 'no':>8}"
            f" {line.us_per_step / 1e3:>9.2f} {1e3 * line.us_per_step / population:>15.1f}"
            f" {gib:>6.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
