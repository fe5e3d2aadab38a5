"""Outcomes at half and at double of each number that the papers leave open.

    python benchmarks/calibration.py health          # prints the table of the environment's card
    python benchmarks/calibration.py education --population 10000 --seeds 3
    python benchmarks/calibration.py education --policies    # reckless and other policies

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
from fairgym.environments.education import Education
from fairgym.policies import fixed_policies

PLAUSIBLE = {
    "health": "premium_half_uniform_planner",
    "education": "plausible_fixed_policy",
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


# Fixed policies beside the plausible one: agent -> action, and changed parameters.
_REGIONS = [0.25] * 12
_NINTHS = [1 / 9] * 9
_ROLL = {"planner": [0.0, 0.0, 0.0, 1.0, *_REGIONS]}
OTHERS: dict[str, dict[str, tuple[dict[str, Any], dict[str, float]]]] = {
    "health": {
        "half, uniform": ({}, {}),
        "half, rolls over": (_ROLL, {}),
        "full, rolls over": (_ROLL | {"insurer": 1.0}, {}),
        "full, uniform": ({"insurer": 1.0}, {}),
        "full, all to subsidies": ({"insurer": 1.0, "planner": [0, 0, 1, 0, *_REGIONS]}, {}),
        "full, all to public health": ({"insurer": 1.0, "planner": [0, 1, 0, 0, *_REGIONS]}, {}),
        "half, all to hospitals": ({"planner": [1, 0, 0, 0, *_REGIONS]}, {}),
        "a quarter, rolls over": (_ROLL | {"insurer": 0.25}, {}),
        "a tenth, rolls over": (_ROLL | {"insurer": 0.1}, {}),
        "nothing, uniform": ({"insurer": 0.0}, {}),
        "half, rolls over, no beds": (_ROLL, {"beds_at_start": 0.0}),
        "half, rolls over, beds x 2": (_ROLL, {"beds_at_start": 2.0}),
        "half, rolls over, beds x 10": (_ROLL, {"beds_at_start": 10.0}),
    },
    "education": {
        ".05 .40 .25 .20 .10": ({}, {}),
        ".05 .25 .40 .20 .10": ({"university": [0.05, 0.25, 0.40, 0.20, 0.10]}, {}),
        ".05 .25 .20 .40 .10": ({"university": [0.05, 0.25, 0.20, 0.40, 0.10]}, {}),
        "0 .50 .50 0 0": ({"university": [0.0, 0.5, 0.5, 0.0, 0.0]}, {}),
        ".20 each": ({"university": [0.2] * 5}, {}),
        ".60 .10 .10 .10 .10": ({"university": [0.6, 0.1, 0.1, 0.1, 0.1]}, {}),
        ".05 .005 .45 .395 .10": ({"university": [0.05, 0.005, 0.45, 0.395, 0.1]}, {}),
        "salary 0.2": ({"employer": 0.2}, {}),
        "salary 0.6": ({"employer": 0.6}, {}),
        "salary 0.8": ({"employer": 0.8}, {}),
        "all to tertiary": ({"planner": [1, 0, 0, *_NINTHS]}, {}),
        "all to the university": ({"planner": [0, 1, 0, *_NINTHS]}, {}),
        "all to diversity": ({"planner": [0, 0, 1, *_NINTHS]}, {}),
    },
}


def measure(env: Any, policies: Any, worlds: list[Any], seeds: int) -> list[str]:
    """For each world (parameters) its figures in text, means over seeds."""
    keys = jax.random.split(jax.random.key(0), seeds)
    items = [(world, key) for world in worlds for key in keys]
    stacked = jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(x) for x in leaves]), *items)
    shown = SHOWN[env.name]

    @jax.jit
    def run(items: Any) -> Any:
        def one(item: Any) -> Any:
            episode = rollout(env, item[0], policies, item[1])
            values = [env.metrics[m].value(episode.totals) for m in shown]
            known = [env.metrics[m].defined(episode.totals) for m in shown]
            return jnp.stack(values), jnp.stack(known), episode.length, episode.terminated

        return map_episodes(one, items)

    values, known, lengths, failed = (np.asarray(x) for x in run(stacked))
    texts = []
    for own in np.arange(len(items)).reshape(len(worlds), seeds):
        figures = [f"{values[own, 0].mean():.3g};"]
        for column in range(1, len(shown)):
            right = own[known[own, column]]
            figures.append(f"{abs(values[right, column].mean()):.2f}" if right.size else "-")
        text = " ".join(figures)
        if failed[own].any():
            when = lengths[own][failed[own]].mean()
            text += f"; fails at {when:.0f} ({failed[own].sum()} of {seeds})"
        texts.append(text)
    return texts


def table(name: str, population: int, seeds: int) -> list[str]:
    """Markdown lines: one per number, default, half and double."""
    env = make(name, population=population)
    policies = fixed_policies(env, env.baselines[PLAUSIBLE[name]])
    default = env.default_params
    worlds: list[Any] = [default]
    for number in OPEN[name]:
        value = getattr(default, number)
        worlds += [default.replace(**{number: value * factor}) for factor in (0.5, 2.0)]
    texts = measure(env, policies, worlds, seeds)
    lines = [f"| | {', '.join(SHOWN[name])} at half | at double |", "| --- | --- | --- |"]
    lines.append(f"| default | {texts[0]} | |")
    for i, number in enumerate(OPEN[name]):
        value = getattr(default, number)
        lines.append(f"| `{number}` {value:g} | {texts[1 + 2 * i]} | {texts[2 + 2 * i]} |")
    if isinstance(env, Education):
        usual = env.applicants or 1
        found = []
        for applicants in (usual // 2, usual * 2):
            other = make(name, population=population, applicants=applicants)
            found += measure(other, policies_of(other, {}), [default], seeds)
        lines.append(f"| `applicants` {usual} | {found[0]} | {found[1]} |")
    return lines


def policies_of(env: Any, changed: dict[str, Any]) -> Any:
    """The plausible fixed policy with some agents changed."""
    return fixed_policies(env, {**env.baselines[PLAUSIBLE[env.name]], **changed})


def others(name: str, population: int, seeds: int) -> list[str]:
    """Markdown lines: what other policies come to. Changed parameters are factors."""
    env = make(name, population=population)
    lines = [f"| policy | {', '.join(SHOWN[name])} |", "| --- | --- |"]
    for label, (changed, factors) in OTHERS[name].items():
        default = env.default_params
        world = default.replace(**{k: getattr(default, k) * f for k, f in factors.items()})
        text = measure(env, policies_of(env, changed), [world], seeds)[0]
        lines.append(f"| {label} | {text} |")
    return lines


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("environment", choices=sorted(OPEN))
    parser.add_argument("--population", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--policies", action="store_true", help="reckless and other policies")
    flags = parser.parse_args()
    make_table = others if flags.policies else table
    print("\n".join(make_table(flags.environment, flags.population, flags.seeds)))


if __name__ == "__main__":
    main()
