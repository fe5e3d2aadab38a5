"""What happens at half and at double of each number that the papers leave open.

    python benchmarks/calibration.py health          # prints the table of the environment's card
    python benchmarks/calibration.py education --population 10000 --seeds 3

Every line is the mean over the seeds under the environment's plausible fixed policy, all with the
same people and the same luck.
"""

import argparse
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fairgym.core import make, rollout
from fairgym.core.batching import map_episodes
from fairgym.policies import fixed_policies

PLAUSIBLE = {
    "health": "premium half, uniform planner",
    "education": "plausible fixed policy",
}
OPEN = {
    "health": (
        "hospital_cost",
        "beds_at_start",
        "months_of_premium_per_income",
        "build_base_time",
        "build_bed_time",
        "income_change",
        "poverty_change",
        "distress_change",
    ),
    "education": (
        "pass_length",
        "bachelor_length",
        "master_length",
        "doctorate_length",
        "tuition",
        "units_at_start",
        "reserve_at_start",
        "faculty_salary",
        "build_base_time",
        "build_unit_time",
        "mentorship_cost",
        "gpa_support",
        "large_scholarship",
        "max_salary",
        "gpa_change",
        "hours_change",
        "employer_change",
        "loan_change",
    ),
}
SHOWN = {
    "health": ("profit", "insured_rate", "incidence_rate", "mortality_rate"),
    "education": ("profit", "admission_rate", "bachelor_rate", "master_rate", "doctorate_rate"),
}


def table(name: str, population: int, seeds: int) -> list[str]:
    """Markdown lines: one per number, default, half and double."""
    env = make(name, population=population)
    policies = fixed_policies(env, env.baselines[PLAUSIBLE[name]])
    default = env.default_params
    worlds: list[Any] = [default]
    for number in OPEN[name]:
        value = getattr(default, number)
        worlds += [default.replace(**{number: value * factor}) for factor in (0.5, 2.0)]
    keys = jax.random.split(jax.random.key(0), seeds)
    items = [(world, key) for world in worlds for key in keys]
    stacked = jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(x) for x in leaves]), *items)

    @jax.jit
    def run(items: Any) -> Any:
        def one(item: Any) -> Any:
            episode = rollout(env, item[0], policies, item[1])
            values = [env.metrics[m].value(episode.totals) for m in SHOWN[name]]
            return jnp.stack(values), episode.length, episode.terminated

        return map_episodes(one, items)

    values, lengths, failed = (np.asarray(x) for x in run(stacked))
    values = np.abs(values.reshape(len(worlds), seeds, -1)).mean(axis=1)
    lengths, failed = lengths.reshape(len(worlds), seeds), failed.reshape(len(worlds), seeds)

    def told(world: int) -> str:
        text = f"{values[world, 0]:.3g}; " + ", ".join(f"{x:.2f}" for x in values[world, 1:])
        if failed[world].any():
            when = lengths[world][failed[world]].mean()
            text += f"; fails at {when:.0f} ({failed[world].sum()} of {seeds})"
        return text

    lines = [f"| | {', '.join(SHOWN[name])} at half | at double |", "| --- | --- | --- |"]
    lines.append(f"| default | {told(0)} | |")
    for i, number in enumerate(OPEN[name]):
        value = getattr(default, number)
        lines.append(f"| `{number}` {value:g} | {told(1 + 2 * i)} | {told(2 + 2 * i)} |")
    return lines


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("environment", choices=sorted(OPEN))
    parser.add_argument("--population", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=3)
    flags = parser.parse_args()
    print("\n".join(table(flags.environment, flags.population, flags.seeds)))


if __name__ == "__main__":
    main()
