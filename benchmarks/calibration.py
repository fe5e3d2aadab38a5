"""Outcomes at half and at double of each number that the papers leave open, and beside the data.

    python benchmarks/calibration.py health          # prints the table of the environment's card
    python benchmarks/calibration.py education --population 10000 --seeds 3
    python benchmarks/calibration.py education --policies    # reckless and other policies
    python benchmarks/calibration.py loan --data     # what the data say too, beside them
    python benchmarks/calibration.py loan --caps     # the queue, with payout caps of .5% to 2%
    python benchmarks/calibration.py loan --learned  # what F-MACEM learns at half and at double

Every line is the mean over the seeds under the environment's plausible fixed policy, all with the
same people and the same luck; or under the policy that F-MACEM learns for all terms alike, at the
quick size of the experiments, in held-out episodes.
"""

import argparse
import dataclasses
import tempfile
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from fairgym import experiments as ex
from fairgym.core import make, rollout
from fairgym.core.batching import map_episodes
from fairgym.data import load_population
from fairgym.data.bias import standardised_mean_difference
from fairgym.data.fitting import score_values
from fairgym.experiments.mafe._queue import queue
from fairgym.policies import fixed_policies
from fairgym.training import evaluate, train

PLAUSIBLE = {
    "loan": "published_fixed_policy",
    "health": "premium_half_uniform_planner",
    "education": "plausible_fixed_policy",
}
OPEN = {
    "loan": ("deposit_rate", "relief_forgiven"),
    "health": (
        "hospital_cost",
        "beds_at_start",
        "beds_by_people",
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
        "residual_share",
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
    "loan": ("profit", "admission_rate", "default_rate", "queue_time", "payout_rate"),
    "health": ("profit", "insured_rate", "incidence_rate", "mortality_rate"),
    "education": ("profit", "admission_rate", "bachelor_rate", "master_rate", "doctorate_rate"),
}
ARGUMENTS = {"loan": ("applicants", "disbursement_cap"), "education": ("applicants",)}


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
        info = default.info()[number]
        ends = (min(value * factor, info.high) for factor in (0.5, 2.0))
        worlds += [default.replace(**{number: end}) for end in ends]
    texts = measure(env, policies, worlds, seeds)
    lines = [f"| | {', '.join(SHOWN[name])} at half | at double |", "| --- | --- | --- |"]
    lines.append(f"| default | {texts[0]} | |")
    for i, number in enumerate(OPEN[name]):
        value = getattr(default, number)
        lines.append(f"| `{number}` {value:g} | {texts[1 + 2 * i]} | {texts[2 + 2 * i]} |")
    for argument in ARGUMENTS.get(name, ()):
        usual = getattr(env, argument)
        found = []
        for value in (usual // 2, usual * 2):
            other = make(name, population=population, **{argument: value})
            found += measure(other, policies_of(other, {}), [default], seeds)
        lines.append(f"| `{argument}` {usual} | {found[0]} | {found[1]} |")
    return lines


def learned(name: str, seeds: int) -> Iterator[str]:
    """Markdown lines: what F-MACEM learns with one number at half and at double."""

    def found(**changes: Any) -> str:
        """Shown figures of the learned policies, and share of episodes that fail."""
        params = {k: v for k, v in changes.items() if k not in ARGUMENTS.get(name, ())}
        args = {k: v for k, v in changes.items() if k not in params}
        config = ex.run_config(
            name,
            ex.QUICK,
            environment_args={"population": ex.QUICK.people, **args},
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

    env = make(name, population=ex.QUICK.people)
    yield f"| | {', '.join(SHOWN[name])} at half | at double |"
    yield "| --- | --- | --- |"
    yield f"| default | {found()} | |"
    for number in (*OPEN[name], *ARGUMENTS.get(name, ())):
        params = number in OPEN[name]
        value = getattr(env.default_params if params else env, number)
        ends = (value / 2, value * 2) if params else (value // 2, value * 2)
        if params:  # within its range
            info = env.default_params.info()[number]
            ends = tuple(float(np.clip(end, info.low, info.high)) for end in ends)
        half, double = (found(**{number: end}) for end in ends)
        yield f"| `{number}` {value:g} | {half} | {double} |"


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


CAPS = (0.005, 0.01, 0.015, 0.02)  # payouts a month, as shares of the people


def caps(population: int, seeds: int) -> Iterator[str]:
    """Markdown lines: the loan system's queue with other payout caps, in the same episodes."""
    for place, cap in enumerate(CAPS):
        env = make("loan", population=population, disbursement_cap=round(cap * population))
        policies, key = policies_of(env, {}), jax.random.key(0)
        found = evaluate(env, env.default_params, policies, key, seeds, trace=True)
        waits = queue([found])
        if place == 0:
            yield f"| payout cap | profit | default rate | {' | '.join(waits)} |"
            yield "| --- " * (len(waits) + 3) + "|"
        profit, default = (found.interval(name)[0] for name in ("profit", "default_rate"))
        cells = [f"{profit:,.0f}", f"{abs(default):.2f}"]
        cells += [f"{float(values[0]):.2f}" for values in waits.values()]
        yield f"| {cap:.1%} | {' | '.join(cells)} |"


# ------------------------------------------------------------------------ beside the data

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the residual


def first_loans(population: int, share: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Everybody's first loan, all granted at once and without relief, until it ends.

    Returns:
        Decile of the qualification score, True where the loan defaulted, and month of its end.
    """
    everybody: Any = {"applicants": population, "disbursement_cap": population}
    env: Any = make("loan", population=population, horizon=70, **everybody)
    params = env.default_params.replace(residual_share=share, bias_strength=0.0)
    actions = {
        "admissions": jnp.zeros(2),
        "disbursement": jnp.zeros(population),
        "debt_management": jnp.zeros(2),
    }

    @jax.jit
    def run(key: Any) -> Any:
        start = env.initial_state(key, params)

        def month(state: Any, n: Any) -> Any:
            noise = env.noise(jax.random.fold_in(key, n), params)
            after, _, _ = env.transition(noise, state, actions, params)
            return after, (after.stage, after.fico_low)

        score = env.people(start)["qualification_score"]
        return score, start.fico_low, lax.scan(month, start, jnp.arange(env.horizon))[1]

    score, fico, stage, later = map(np.asarray, jax.tree.leaves(run(jax.random.key(0))))
    repaying = env.stages.index("repaying")
    ended = (stage[:-1] == repaying) & (stage[1:] != repaying)
    assert ended.any(axis=0).all(), "every first loan has ended"
    when = ended.argmax(axis=0)
    paid_out = (stage == repaying).argmax(axis=0)
    record = later[when + 1, np.arange(population)]
    rank = np.argsort(np.argsort(score))
    return rank * 10 // population, record < fico, when + 1 - paid_out


def loan_beside_data(population: int) -> list[str]:
    """Markdown lines: defaults by decile of the score and by month, simulated and in the data."""
    data: dict[str, Any] = load_population("loan").columns
    score = score_values(load_population("loan").scores["qualification"], data)
    rank = np.argsort(np.argsort(score)) * 10 // len(score)
    found = {"data": (rank, data["defaulted"] == 1, data["months_to_default"])}
    found |= {f"`residual_share` {s:g}": first_loans(population, s) for s in SHARES}
    deciles = " | ".join(str(n) for n in range(1, 11))
    lines = [f"| default by decile of the qualification score | {deciles} | all | median month |"]
    lines.append("| --- " * 13 + "|")
    for label, (decile, defaulted, month) in found.items():
        cells = [f"{defaulted[decile == n].mean():.2f}" for n in range(10)]
        cells += [f"{defaulted.mean():.2f}", f"{np.median(month[defaulted]):.0f}"]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return lines


def education_beside_data(population: int) -> list[str]:
    """Markdown lines: GPA by group, simulated at the start and in the data, and what follows."""
    data: dict[str, Any] = load_population("education").columns
    env: Any = make("education", population=population)
    policies = policies_of(env, {})
    gap = standardised_mean_difference(data["gpa"].astype(np.float64), data["group"])
    lines = ["| | difference of the groups' GPA, standardised | graduation by group |"]
    lines += ["| --- | --- | --- |", f"| data | {gap:.2f} | |"]
    for share in SHARES:
        params = env.default_params.replace(residual_share=share, bias_strength=0.0)
        state = jax.jit(env.initial_state)(jax.random.key(0), params)
        baseline = np.asarray(jax.jit(env.people)(state)["baseline_gpa"], np.float64)
        gap = standardised_mean_difference(baseline, np.asarray(state.group))
        totals = jax.jit(lambda p: rollout(env, p, policies, jax.random.key(0)).totals)(params)
        rates = env.metrics["graduation_disparity"].rate.per_group(totals)
        shown = ", ".join(f"{float(rate):.3f}" for rate in rates)
        lines.append(f"| `residual_share` {share:g} | {gap:.2f} | {shown} |")
    return lines


def health_beside_data(population: int) -> list[str]:
    """Markdown lines: coverage by region, simulated and in the data, and mortality."""
    data: dict[str, Any] = load_population("health").columns
    env: Any = make("health", population=population)
    lines = [f"| | {' | '.join(env.groups)} |", "| --- " * (len(env.groups) + 1) + "|"]
    shares = [data["insured"][data["group"] == g].mean() for g in range(len(env.groups))]
    lines.append(f"| insured, data | {' | '.join(f'{share:.2f}' for share in shares)} |")
    for label in (PLAUSIBLE["health"], "premium_half_no_planner"):
        policies = fixed_policies(env, env.baselines[label])
        totals = jax.jit(
            lambda p, policies=policies: rollout(env, p, policies, jax.random.key(0)).totals
        )(env.default_params)
        for name in ("insured", "mortality"):
            rates = env.metrics[f"{name}_disparity"].rate.per_group(totals)
            cells = " | ".join(f"{float(rate):.2f}" for rate in rates)
            lines.append(f"| {name}, {label.replace('_', ' ')} | {cells} |")
    return lines


BESIDE_DATA = {
    "loan": loan_beside_data,
    "education": education_beside_data,
    "health": health_beside_data,
}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("environment", choices=sorted(OPEN))
    parser.add_argument("--population", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--policies", action="store_true", help="reckless and other policies")
    parser.add_argument("--data", action="store_true", help="what the data say, beside it")
    parser.add_argument("--caps", action="store_true", help="loan: the queue by payout cap")
    parser.add_argument("--learned", action="store_true", help="what F-MACEM learns instead")
    flags = parser.parse_args()
    if flags.learned:
        for line in learned(flags.environment, flags.seeds):
            print(line, flush=True)
        return
    if flags.caps:
        if flags.environment != "loan":
            parser.error("--caps takes: loan")
        for line in caps(flags.population, flags.seeds):
            print(line, flush=True)
        return
    if flags.data:
        print("\n".join(BESIDE_DATA[flags.environment](flags.population)))
        return
    if flags.policies and flags.environment not in OTHERS:
        parser.error(f"--policies takes: {', '.join(OTHERS)}")
    make_table = others if flags.policies else table
    print("\n".join(make_table(flags.environment, flags.population, flags.seeds)))


if __name__ == "__main__":
    main()
