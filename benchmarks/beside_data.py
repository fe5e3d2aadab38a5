"""Simulated people beside the data that they are drawn from.

`python benchmarks/calibration.py NAME --data` prints the tables.
"""

from collections.abc import Collection
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from fairgym.core import Feature, rollout
from fairgym.data import load_population
from fairgym.data.bias import standardised_mean_difference
from fairgym.data.fitting import score_values
from fairgym.policies import fixed_policies
from fairgym.utils import make

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # shares of the residual
MONTHS = (2, 6, 12, 24, 36)  # after the payout
Loans = tuple[np.ndarray, np.ndarray, np.ndarray]  # decile, whether it defaulted, month of its end


def first_loans(population: int, share: float) -> Loans:
    """Simulate everybody's first loan, all granted at once and without relief, until it ends.

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
    repaying = env.spec.stages.index("repaying")
    ended = (stage[:-1] == repaying) & (stage[1:] != repaying)
    assert ended.any(axis=0).all(), "every first loan has ended"
    when = ended.argmax(axis=0)
    paid_out = (stage == repaying).argmax(axis=0)
    record = later[when + 1, np.arange(population)]
    rank = np.argsort(np.argsort(score))
    return rank * 10 // population, record < fico, when + 1 - paid_out


def loan_beside_data(population: int) -> list[str]:
    """Return Markdown lines: defaults by decile of the score and by month, and score by group.

    Each is shown as simulated and in the data. The last lines are those of `hidden_group`.
    """
    data: dict[str, Any] = load_population("loan").columns
    score = score_values(load_population("loan").scores["qualification"], data)
    rank = np.argsort(np.argsort(score)) * 10 // len(score)
    rows = (rank, data["defaulted"] == 1, data["months_to_default"])
    found: dict[str, Loans] = {"data": rows}
    found |= {f"`residual_share` {s:g}": first_loans(population, s) for s in SHARES}
    deciles = " | ".join(str(n) for n in range(1, 11))
    lines = [f"| default by decile of the qualification score | {deciles} | all | median month |"]
    lines.append("| --- " * 13 + "|")
    for label, (decile, defaulted, month) in found.items():
        cells = [f"{defaulted[decile == n].mean():.2f}" for n in range(10)]
        cells += [f"{defaulted.mean():.2f}", f"{np.median(month[defaulted]):.0f}"]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    decile, defaulted, month = (column[data["term"] == 36] for column in rows)
    timed = {"data": rows, "data, loans of 36 months": (decile, defaulted, month), **found}
    by_group = qualification_by_group(population, score)
    hidden = hidden_group("loan", population)
    return [*lines, "", *defaults_by_month(timed), "", *by_group, "", *hidden]


def defaults_by_month(found: dict[str, Loans]) -> list[str]:
    """Return Markdown lines: the share of all defaults that have happened by some months."""
    lines = [f"| share of the defaults by month | {' | '.join(map(str, MONTHS))} |"]
    lines.append("| --- " * (len(MONTHS) + 1) + "|")
    for label, (_, defaulted, month) in found.items():
        cells = [f"{(month[defaulted] <= limit).mean():.2f}" for limit in MONTHS]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return lines


def qualification_by_group(population: int, score: np.ndarray) -> list[str]:
    """Return Markdown lines: mean qualification score by group, at the start and in the data."""
    env: Any = make("loan", population=population)
    start = jax.jit(lambda params: env.people(env.initial_state(jax.random.key(0), params)))
    lines = [f"| qualification score | {' | '.join(env.spec.groups)} | difference, standardised |"]
    lines.append("| --- " * 4 + "|")

    def add(label: str, score: Any, group: Any) -> None:
        score, group = np.asarray(score, np.float64), np.asarray(group).astype(int)
        gap = standardised_mean_difference(score, group)
        means = " | ".join(f"{score[group == g].mean():.3f}" for g in range(len(env.spec.groups)))
        lines.append(f"| {label} | {means} | {gap:.2f} |")

    add("score in the data", score, load_population("loan").columns["group"])
    for strength in (0.0, env.default_params.bias_strength):
        people = start(env.default_params.replace(bias_strength=strength))
        label = f"`bias_strength` {strength:.3g}"
        add(label, people["qualification_score"], people["group"])
    return lines


def education_beside_data(population: int) -> list[str]:
    """Return Markdown lines: GPA by group, at the start and in the data, and graduation.

    The last lines are those of `hidden_group`.
    """
    data: dict[str, Any] = load_population("education").columns
    env: Any = make("education", population=population)
    policies = fixed_policies(env, env.spec.baselines["plausible_fixed_policy"])
    gap = standardised_mean_difference(data["gpa"].astype(np.float64), data["group"])
    lines = ["| | difference of the groups' GPA, standardised | graduation by group |"]
    lines += ["| --- | --- | --- |", f"| data | {gap:.2f} | none: all have graduated |"]
    for share in SHARES:
        params = env.default_params.replace(residual_share=share, bias_strength=0.0)
        state = jax.jit(env.initial_state)(jax.random.key(0), params)
        baseline = np.asarray(jax.jit(env.people)(state)["baseline_gpa"], np.float64)
        gap = standardised_mean_difference(baseline, np.asarray(state.group))
        totals = jax.jit(lambda p: rollout(env, p, policies, jax.random.key(0)).totals)(params)
        rates = env.metrics["graduation_disparity"].rate.per_group(totals)
        shown = ", ".join(f"{float(rate):.3f}" for rate in rates)
        lines.append(f"| `residual_share` {share:g} | {gap:.2f} | {shown} |")
    return [*lines, "", *hidden_group("education", population)]


def hidden_group(name: str, population: int) -> list[str]:
    """Return Markdown lines: how well the group can be told from what agents observe without it."""
    env: Any = make(name, population=population)
    observed = [f for agent in env.agents for f in env.observation_space(agent).features]
    left = {f.name: f for f in observed if not f.tells_group}
    sets: dict[str, Collection[Feature]] = {"AUC of the group, all other features": left.values()}
    if "region" in left:
        sets["without the region"] = [f for f in left.values() if "region" not in (f.name, f.of)]
    lines = [f"| start of an episode | {' | '.join(sets)} |", "| --- " * (len(sets) + 1) + "|"]
    for strength in (0.0, env.default_params.bias_strength):
        params = env.default_params.replace(bias_strength=strength)
        cells = [f"{group_auc(env, params, features):.2f}" for features in sets.values()]
        lines.append(f"| `bias_strength` {strength:.3g} | {' | '.join(cells)} |")
    return lines


def group_auc(env: Any, params: Any, features: Collection[Feature], episodes: int = 5) -> float:
    """Return the area under the ROC curve of a logistic regression of the group on features.

    It is fitted to the people at the start of an episode and evaluated on those of another one.
    Codes enter as indicators of their values. The result is the mean over several episodes.
    """

    def start(seed: int) -> tuple[np.ndarray, np.ndarray]:
        state = initial_state(jax.random.key(seed), params)
        people = people_of(state)
        columns = []
        for feature in features:
            values = np.asarray(people[feature.name], np.float64)
            coded = feature.unit == "code"
            codes = np.arange(feature.low, feature.high + 1.0)
            columns += [values == code for code in codes] if coded else [values]
        return np.stack(columns, axis=1).astype(np.float64), np.asarray(state.group) == 1

    initial_state, people_of = jax.jit(env.initial_state), jax.jit(env.people)
    samples = [start(seed) for seed in range(episodes + 1)]
    found = []
    for (x, group), (other_x, other_group) in pairwise(samples):
        scale = np.where(x.std(axis=0) > 0.0, x.std(axis=0), 1.0)
        centre = x.mean(axis=0)
        model = LogisticRegression(max_iter=1_000).fit((x - centre) / scale, group)
        told = model.decision_function((other_x - centre) / scale)
        found.append(roc_auc_score(other_group, told))
    return float(np.mean(found))


def health_beside_data(population: int) -> list[str]:
    """Return Markdown lines: coverage by region, simulated and in the data, and mortality.

    The data do not contain illness or death.
    """
    data: dict[str, Any] = load_population("health").columns
    env: Any = make("health", population=population)
    lines = [f"| | {' | '.join(env.spec.groups)} |", "| --- " * (len(env.spec.groups) + 1) + "|"]
    shares = [data["insured"][data["group"] == g].mean() for g in range(len(env.spec.groups))]
    lines.append(f"| insured, data | {' | '.join(f'{share:.2f}' for share in shares)} |")
    for label in ("premium_half_uniform_planner", "premium_half_no_planner"):
        policies = fixed_policies(env, env.spec.baselines[label])
        totals = jax.jit(
            lambda p, policies=policies: rollout(env, p, policies, jax.random.key(0)).totals
        )(env.default_params)
        for name in ("insured", "mortality"):
            rates = env.metrics[f"{name}_disparity"].rate.per_group(totals)
            cells = " | ".join(f"{float(rate):.2f}" for rate in rates)
            lines.append(f"| {name}, {label.replace('_', ' ')} | {cells} |")
    lines.append("| mortality, data " + "| none " * len(env.spec.groups) + "|")
    return [*lines, "", "A survey of the living: no data on illness, hospital stays or death ship."]


BESIDE_DATA = {
    "loan": loan_beside_data,
    "education": education_beside_data,
    "health": health_beside_data,
}
