"""Sensitivity of outcomes to the parameters that the papers leave open, and comparison with data.

    python benchmarks/calibration.py health          # print the table of the environment's card
    python benchmarks/calibration.py education --population 10000 --seeds 3
    python benchmarks/calibration.py education --policies    # extreme and other policies
    python benchmarks/calibration.py loan --policies         # thresholds and relief for everybody
    python benchmarks/calibration.py loan --data     # compare with the data
    python benchmarks/calibration.py loan --caps     # the queue, with payout caps of .5% to 2%
    python benchmarks/calibration.py loan --learned  # train F-MACEM at half and at double
    python benchmarks/calibration.py education --learned --numbers tuition max_salary

Each parameter is set to half and to double its default. If the default is 0 or at a bound, `VALUES`
has other values. Every row is a mean over seeds, in paired episodes, under the environment's
plausible fixed policy; or in held-out episodes under the policy that F-MACEM learns with all terms
weighted equally, at the quick size of the experiments.
"""

import argparse
import dataclasses
import tempfile
from collections.abc import Callable, Collection, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from beside_data import BESIDE_DATA
from loan_queue import caps, lending_terms

from fairgym.core import rollout
from fairgym.core.batching import map_episodes
from fairgym.experiments import _parts as ex
from fairgym.policies import fixed_policies
from fairgym.training import train
from fairgym.utils import make

PLAUSIBLE = {
    "loan": "published_fixed_policy",
    "loan_simple": "published_fixed_policy",
    "health": "premium_half_uniform_planner",
    "education": "plausible_fixed_policy",
}
OPEN = {
    "loan": (
        "deposit_rate",
        "relief_forgiven",
        "residual_share",
        "bias_strength",
        "income_change",
        "debt_to_income_change",
    ),
    "loan_simple": ("deposit_rate", "relief_effect", "share_paid_before_default"),
    "health": (
        "hospital_cost",
        "beds_at_start",
        "beds_by_people",
        "months_of_premium_per_income",
        "build_base_time",
        "build_bed_time",
        "public_health_months",
        "bias_strength",
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
        "residual_share",
        "bias_strength",
        "gpa_kept",
        "gpa_support",
        "large_scholarship",
        "max_salary",
        "supplement_in_salary",
        "gpa_change",
        "hours_change",
        "employer_change",
        "loan_change",
    ),
}
# Values used instead of half and double, for defaults that are 0 or at a bound.
VALUES: dict[str, dict[str, tuple[float, ...]]] = {
    "loan": {
        "residual_share": (0.25, 0.75),
        "income_change": (5_000.0, 20_000.0),
        "debt_to_income_change": (1.0, 5.0),
    },
    "loan_simple": {},
    "health": {"beds_by_people": (0.0, 0.5), "public_health_months": (3.0, 6.0)},
    "education": {
        "residual_share": (0.0, 0.5),
        "gpa_kept": (0.5, 1.0),
        "supplement_in_salary": (0.5, 1.0),
    },
}
SHOWN = {
    "loan_simple": ("profit", "admission_rate", "default_rate"),
    "loan": ("profit", "admission_rate", "default_rate", "queue_time", "payout_rate"),
    "health": ("profit", "insured_rate", "incidence_rate", "mortality_rate"),
    "education": ("profit", "admission_rate", "bachelor_rate", "master_rate", "doctorate_rate"),
}
ARGUMENTS = {
    "loan": ("applicants", "disbursement_cap"),
    "loan_simple": ("applicants", "disbursement_cap"),
    "education": ("applicants",),
}


# Other fixed policies: label -> agent -> action, and factors of parameters.
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


def measure(env: Any, policies: Any, variants: list[Any], seeds: int) -> list[str]:
    """Return the outcomes of each variant (parameters) as text, means over seeds."""
    keys = jax.random.split(jax.random.key(0), seeds)
    items = [(params, key) for params in variants for key in keys]
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
    for own in np.arange(len(items)).reshape(len(variants), seeds):
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


def changes(env: Any, numbers: Collection[str]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the label of each open parameter, and two changes of it.

    Args:
        env: The environment with its defaults.
        numbers: Names of the parameters; all if empty.
    """
    name, params = env.name, env.default_params
    for number in OPEN[name]:
        default = getattr(params, number)
        values = VALUES[name].get(number, (default / 2, default * 2))
        low, high = params.info()[number].low, params.info()[number].high
        assert all(low <= value <= high and value != default for value in values), number
        if not numbers or number in numbers:
            yield f"`{number}` {default:g}", [{number: value} for value in values]
    for argument in ARGUMENTS.get(name, ()):
        default = getattr(env, argument)
        if not numbers or argument in numbers:
            yield f"`{argument}` {default}", [{argument: default // 2}, {argument: default * 2}]


def lines_of(
    env: Any, numbers: Collection[str], found: Callable[[dict[str, Any]], str]
) -> Iterator[str]:
    """Yield Markdown lines: one per parameter, with the outcomes at half and at double."""
    yield f"| {', '.join(SHOWN[env.name])} | at half | at double |"
    yield "| --- | --- | --- |"
    yield f"| default | {found({})} | |"
    for label, tried in changes(env, numbers):
        cells = []
        for change in tried:
            ((number, value),) = change.items()
            named = f"{value:g}: " if number in VALUES[env.name] else ""
            cells.append(named + found(change))
        yield f"| {label} | {' | '.join(cells)} |"


def split(env: Any, change: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a change into arguments and parameters of the environment."""
    arguments = {k: v for k, v in change.items() if k in ARGUMENTS.get(env.name, ())}
    return arguments, {k: v for k, v in change.items() if k not in arguments}


def table(name: str, population: int, seeds: int, numbers: Collection[str]) -> Iterator[str]:
    """Return Markdown lines: outcomes of the plausible fixed policy, one parameter changed."""
    env = make(name, population=population)
    variants = [{}, *(change for _, tried in changes(env, numbers) for change in tried)]
    in_params = [change for change in variants if not split(env, change)[0]]
    params = [env.default_params.replace(**change) for change in in_params]
    together = measure(env, policies_of(env, {}), params, seeds)

    def found(change: dict[str, Any]) -> str:
        if change in in_params:
            return together[in_params.index(change)]
        other = make(name, population=population, **change)
        return measure(other, policies_of(other, {}), [other.default_params], seeds)[0]

    return lines_of(env, numbers, found)


def learned(name: str, seeds: int, numbers: Collection[str]) -> Iterator[str]:
    """Return Markdown lines: outcomes of policies that F-MACEM learns, one parameter changed."""
    env = make(name, population=ex.QUICK.people)

    def found(change: dict[str, Any]) -> str:
        """Return outcomes of the learned policies, and the share of failed episodes."""
        arguments, params = split(env, change)
        config = ex.run_config(
            name,
            ex.QUICK,
            environment_args={"population": ex.QUICK.people, **arguments},
            params=params,
        )
        values, failed = [], []
        for seed in range(seeds):
            with tempfile.TemporaryDirectory() as folder:
                run = train(dataclasses.replace(config, seed=seed), folder)
                assert ex.QUICK.held_out is not None
                episodes = ex.held_out_run(run, ex.QUICK.held_out)
            values.append([np.mean(episodes.metrics[m]) for m in SHOWN[name]])
            failed.append(np.mean(episodes.terminated))
        profit, *rates = np.mean(values, axis=0)
        text = " ".join([f"{profit:.3g};", *(f"{abs(rate):.2f}" for rate in rates)])
        return text + (f"; fails in {np.mean(failed):.0%}" if np.any(failed) else "")

    return lines_of(env, numbers, found)


def policies_of(env: Any, changed: dict[str, Any]) -> Any:
    """Return the plausible fixed policy with some agents changed."""
    return fixed_policies(env, {**env.spec.baselines[PLAUSIBLE[env.name]], **changed})


def others(name: str, population: int, seeds: int) -> list[str]:
    """Return Markdown lines: outcomes of other policies. Changed parameters are factors."""
    env = make(name, population=population)
    lines = [f"| policy | {', '.join(SHOWN[name])} |", "| --- | --- |"]
    for label, (changed, factors) in OTHERS[name].items():
        default = env.default_params
        params = default.replace(**{k: getattr(default, k) * f for k, f in factors.items()})
        text = measure(env, policies_of(env, changed), [params], seeds)[0]
        lines.append(f"| {label} | {text} |")
    return lines


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("environment", choices=sorted(OPEN))
    parser.add_argument("--population", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--policies", action="store_true", help="extreme and other policies")
    parser.add_argument("--data", action="store_true", help="compare with the data")
    parser.add_argument("--caps", action="store_true", help="loan: the queue by payout cap")
    parser.add_argument("--learned", action="store_true", help="train F-MACEM instead")
    parser.add_argument(
        "--numbers", nargs="+", default=[], help="only these parameters (default: all)"
    )
    flags = parser.parse_args()
    name, population, seeds = flags.environment, flags.population, flags.seeds
    for number in flags.numbers:
        if number not in (*OPEN[name], *ARGUMENTS.get(name, ())):
            parser.error(f"--numbers has {number!r}, which is not an open parameter of {name}")
    choices = {"policies": ("loan", *OTHERS), "data": BESIDE_DATA, "caps": ("loan",)}
    for option, names in choices.items():
        if getattr(flags, option) and name not in names:
            parser.error(f"--{option} takes: {', '.join(names)}")
    if flags.learned:
        lines = learned(name, seeds, flags.numbers)
    elif flags.caps:
        lines = caps(population, seeds)
    elif flags.data:
        lines = BESIDE_DATA[name](population)
    elif flags.policies and name == "loan":
        lines = lending_terms(population, seeds)
    elif flags.policies:
        lines = others(name, population, seeds)
    else:
        lines = table(name, population, seeds, flags.numbers)
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
