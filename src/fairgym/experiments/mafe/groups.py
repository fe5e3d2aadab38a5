"""Agents that observe groups and agents that do not: learning, decisions and their effects."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, PyTree
from matplotlib.figure import Figure

from fairgym.core import AnyPolicy, Params, by_group, rollout
from fairgym.core.batching import map_episodes
from fairgym.experiments import _parts as ex
from fairgym.experiments.mafe._calibration import (
    SYSTEMS,
    calibration,
    deciles_table,
    thirds_table,
)
from fairgym.experiments.mafe._parts_of_gaps import parts_of_gaps, parts_table
from fairgym.fairness import Disparity
from fairgym.policies import Flips, fixed_policies, group_flips
from fairgym.results.labels import title, words
from fairgym.wrappers import EndsAfter

BLIND = {"observe_group": False}
# Environment -> setting -> arguments; the first setting is the paper's.
SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    "loan": {
        "observed, a rule per group": {},
        "hidden, a rule per group": BLIND,
        "observed, one rule": {"action_groups": 1},
        "hidden, one rule": BLIND | {"action_groups": 1},
    },
    "education": {"observed": {}, "hidden": BLIND},
}
REFERENCE = {"loan": "published_fixed_policy", "education": "plausible_fixed_policy"}
DIVIDED = "health"  # environment of which only the gaps are divided into parts
SCORE, SURVIVED = "objective", "survived"
STATES = 16  # number of states in which decisions are compared
NOTHING = 1e-3  # standard deviations
LITTLE = 0.05  # share of the objective
ALIKE = 0.01  # gap between two shares


@ex.experiments.register("mafe-groups")
class MafeGroups(ex.ComparisonFigure):
    """F-MACEM with groups observed or hidden: flips, calibration and the core attribute."""

    title = "Beyond MAFE: counterfactual flips of the group, and hidden groups"
    source = "beyond MAFE, table 8"
    claim = (
        "all of MAFE's agents observe each person's group; counterfactual fairness (Kusner et al."
        " 2017) requires decisions that do not depend on it; fairness through unawareness hides it,"
        " which need not reduce disparities (Dwork et al. 2012); effects of decisions on people are"
        " delayed (Liu et al. 2018); scores should mean the same in every group (Kleinberg et al."
        " 2017)"
    )
    caption = (
        f"{ex.CAPTION} Values are means over everybody of a group, in all episodes that have not"
        " failed yet."
    )

    def grid(self, size: ex.Size) -> ex.Grid:
        """Return all terms weighted equally, with groups observed and hidden; health observed."""
        shown = {
            f"{name}/{setting}": ex.run_config(
                name, size, environment_args={"population": size.people, **arguments}
            )
            for name, settings in SETTINGS.items()
            for setting, arguments in settings.items()
        }
        return {**shown, DIVIDED: ex.run_config(DIVIDED, size)}

    def numbers(self, place: str, runs: Sequence[ex.Run], ends: ex.Ends) -> PyTree:
        """Return the numbers of a setting.

        - "ends", "null": measures by column, (seeds,), null distributions (seeds, permutations).
        - "flips": relative change by a flip, by agent, (seeds,); none for the fixed policy.
        - "by_group": change of each group, by agent, (seeds, groups).
        - "course": mean core attribute of the groups, (seeds, groups, steps).
        - "shares": shares of good outcomes by third of the scores, (seeds, thirds, groups).
        - "gap": mean signed gap between the groups in these shares, (seeds,).
        - "difference", "difference, null": the same without the sign, (seeds,), and its null
          distribution, (seeds, permutations).
        - "deciles", "scores": shares, and mean scores, by decile, (seeds, 10, groups).
        """
        flips = [flips_of(run) for run in runs]
        acting = [agent for agent in runs[0].env.agents if all(agent in one for one in flips)]
        return {
            **_measured(runs, [run.policies for run in runs], ends),
            "flips": {a: np.array([one[a][0] for one in flips]) for a in acting},
            "by_group": {a: np.array([one[a][1] for one in flips]) for a in acting},
        }

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Return environment -> "groups", "attribute", "parts" and "settings" with numbers.

        Health has "groups" and "parts" only.
        """
        assert size.held_out is not None
        data: dict[str, PyTree] = {}
        compared = {key: several for key, several in runs.items() if key != DIVIDED}
        for name, found in super().measure(size, compared, seeds).items():
            several = runs[f"{name}/{next(iter(SETTINGS[name]))}"]
            env, params = several[0].env, several[0].params
            fixed = fixed_policies(env, env.spec.baselines[REFERENCE[name]])
            ends = [
                ex.held_out(env, params, fixed, seed, size.held_out, self.permutations)
                for seed in seeds
            ]
            measured = _measured(several, [fixed for _ in seeds], ends)
            data[name] = {
                "groups": env.spec.groups,
                "attribute": words(env.spec.core_attribute),
                "time_unit": env.spec.time_unit,
                "parts": parts_of_gaps(name, several, size.held_out),
                "settings": {**found, "fixed policy": {**measured, "flips": {}, "by_group": {}}},
            }
        divided = runs[DIVIDED]
        data[DIVIDED] = {
            "groups": divided[0].env.spec.groups,
            "parts": parts_of_gaps(DIVIDED, divided, size.held_out),
        }
        return data

    def checks(self, data: PyTree) -> list[ex.Check]:
        """Check that observed groups are used, hidden groups are not, and the cost of hiding.

        The flips cannot come out either way: networks use what they observe and nothing else.
        """
        checks, kind = [], "by construction"
        for name, settings in SETTINGS.items():
            found = data[name]["settings"]
            observed, hidden = (found[setting] for setting in list(settings)[:2])
            for agent, values in observed["flips"].items():
                change = "standardised change of the action after a group flip"
                flip = f"{name}: {words(agent)}, {change}, group"
                checks.append(ex.Check.above(f"{flip} observed", values, NOTHING, kind))
                if agent in hidden["flips"]:
                    statement, changed = f"{flip} hidden (below {NOTHING})", hidden["flips"][agent]
                    checks.append(ex.Check.below(statement, changed, NOTHING, kind))
            checks.append(
                ex.Check.between(
                    f"{name}: within thirds of the scores, both groups have {SYSTEMS[name].outcome}"
                    f" equally often (signed gap between −{ALIKE} and {ALIKE}), group observed",
                    observed["gap"],
                    -ALIKE,
                    ALIKE,
                )
            )
            shown, unseen = (one["ends"][SCORE] for one in (observed, hidden))
            checks.append(
                ex.Check.higher(
                    f"{name}: hiding groups costs less than a twentieth of the objective (margin)",
                    LITTLE * np.abs(shown),
                    shown - unseen,
                )
            )
        return checks

    def tables(self, data: PyTree) -> list[ex.Table]:
        """Return six tables per environment, and one for health."""
        makers = (_ends_table, _flips_table, parts_table)
        makers = (*makers, thirds_table, deciles_table, _course_table)
        shown = [make(name, data[name]) for name in SETTINGS for make in makers]
        return [*shown, parts_table(DIVIDED, data[DIVIDED])]

    def figures(self, data: PyTree) -> dict[str, Figure]:
        """Return one figure per environment."""
        return {name: _plot(data[name]) for name in SETTINGS}


# ---------------------------------------------------------------- measuring


def flips_of(run: ex.Run) -> dict[str, tuple[float, list[float]]]:
    """Measure the change by counterfactual flips halfway through `STATES` episodes.

    Returns:
        Agent -> (mean absolute change in standard deviations, mean signed change by group).
    """
    env, policies, key = run.env, run.policies, jax.random.key(run.config.seed)
    half = EndsAfter(env, env.horizon // 2)

    @jax.jit
    def states(keys: Key[Array, "..."]) -> PyTree:
        return map_episodes(
            lambda key: rollout(half, run.params, policies, key).final_state, keys, env=env
        )

    # gather from all devices
    reached = jax.tree.map(np.asarray, states(jax.random.split(key, STATES)))
    found: dict[str, list[Any]] = {agent: [] for agent in env.agents}
    for index in range(STATES):
        state = jax.tree.map(lambda x, i=index: jnp.asarray(x[i]), reached)
        for agent, flips in group_flips(env, run.params, policies, state, key).items():
            found[agent].append(flips)
    result = {}
    for agent, several in found.items():
        if not several:
            continue
        flips = Flips(*(np.concatenate(parts) for parts in zip(*several, strict=True)))
        change = flips.change / (float(np.std(flips.own)) or 1.0)
        by_group = [float(np.mean(change[flips.group == g])) for g in range(len(env.spec.groups))]
        result[agent] = flips.relative_change, by_group
    return result


def course(
    env: Any, params: Params, policies: Mapping[str, AnyPolicy], seed: int, episodes: int
) -> np.ndarray:
    """Return the mean core attribute of each group over time, shape (groups, steps).

    The mean is over everybody and all episodes that have not failed yet; NaN if all have failed.
    """
    groups = len(env.spec.groups)

    def watch(state: PyTree) -> PyTree:
        value, ones = env.people(state)[env.spec.core_attribute], jnp.ones(state.group.shape)
        return jnp.stack([by_group(x, state.group, groups) for x in (value, ones)])

    @jax.jit
    def run(keys: Key[Array, "..."]) -> PyTree:
        return map_episodes(
            lambda key: rollout(env, params, policies, key, trace=True, watch=watch).watched,
            keys,
            env=env,
        )

    keys = jax.random.split(jax.random.key(seed), episodes)
    value, people = np.asarray(run(keys)).sum(axis=0).transpose(1, 2, 0)
    return np.where(people > 0, value / np.where(people > 0, people, 1.0), np.nan)


def _measured(
    runs: Sequence[ex.Run],
    policies: Sequence[Mapping[str, AnyPolicy]],
    ends: ex.Ends,
) -> dict[str, Any]:
    """Return the numbers of a setting, without flips.

    Args:
        runs: Runs of the environment with this objective, one per seed.
        policies: Policies per seed, those of the runs or others.
        ends: Held-out episodes of the policies.
    """
    env, episodes = runs[0].env, ends[0].episodes
    acting = [(r.env, r.params, p, r.config.seed) for r, p in zip(runs, policies, strict=True)]
    found = {
        SCORE: ex.score(ends, runs[0].objective),
        SURVIVED: ex.survival(ends),
    }
    null = {}
    for name in env.spec.terms:
        if isinstance(env.metrics[name], Disparity):
            found[words(name)], null[words(name)] = ex.disparity(ends, name)
    calibrated = [calibration(*one, episodes, ex.PERMUTATIONS) for one in acting]
    return {
        "ends": found,
        "null": null,
        "course": np.array([course(*one, episodes) for one in acting]),
        "shares": np.array([one.shares for one in calibrated]),
        "gap": np.array([one.gap for one in calibrated]),
        "deciles": np.array([one.deciles for one in calibrated]),
        "scores": np.array([one.scores for one in calibrated]),
        "difference": np.array([one.difference for one in calibrated]),
        "difference, null": np.array([one.null for one in calibrated]),
    }


# ---------------------------------------------------------------- showing


def _ends_table(name: str, one: Mapping[str, PyTree]) -> ex.Table:
    settings = one["settings"]
    columns = list(next(iter(settings.values()))["ends"])
    rows = []
    for setting, found in settings.items():
        null = found["null"]
        rows.append([setting, *(ex.iqm_text(found["ends"][column]) for column in columns)])
        below = (ex.null_text(null[column]) if column in null else "" for column in columns)
        rows.append(["null mean", *below])
    return ex.Table(
        ["setting", *columns],
        rows,
        f"**{title(name)}**: held-out episodes; interquartile mean over seeds [95% CI]."
        f" {ex.NULL_NOTE}",
    )


def _flips_table(name: str, one: Mapping[str, PyTree]) -> ex.Table:
    heads = [f"change for the {words(group)}" for group in one["groups"]]
    found = {
        (setting, words(agent)): {
            "size of the change": values,
            **dict(zip(heads, own["by_group"][agent].T, strict=True)),
        }
        for setting, own in one["settings"].items()
        for agent, values in own["flips"].items()
    }
    return ex.columns_table(
        ["setting", "agent", "size of the change", *heads],
        found,
        f"**{title(name)}**, counterfactual flips: halfway through an episode, the features that"
        " reveal the group are exchanged for those of the other group, for one person at a time."
        " Changes of the decision are in standard deviations of the agent's decisions.",
    )


def _course_table(name: str, one: Mapping[str, PyTree]) -> ex.Table:
    groups = [words(group) for group in one["groups"]]
    found = {}
    for setting, own in one["settings"].items():
        # groups, (first and last step), seeds; NaN where all episodes have failed by then
        ends = np.moveaxis(np.asarray(own["course"])[:, :, [0, -1]], 0, -1)
        whose = [*zip(groups, ends, strict=True)]
        whose += [(f"{groups[0]} minus {groups[-1]}", ends[0] - ends[-1])]
        found[setting] = {
            f"{who}, {when} step": _known(values)
            for who, both in whose
            for when, values in zip(("first", "last"), both, strict=True)
        }
    return ex.columns_table(
        "setting",
        found,
        f"**{title(name)}**, delayed impact: mean {one['attribute']} over everybody of a group in"
        " the first and in the last step, in episodes that have not failed by then.",
    )


def _known(values: np.ndarray) -> np.ndarray:
    """Return the values without NaN."""
    return values[~np.isnan(values)]


def _plot(one: Mapping[str, PyTree]) -> Figure:
    """Plot the delayed impact: the core attribute over time, one panel per group."""
    courses = {setting: np.asarray(found["course"]) for setting, found in one["settings"].items()}
    panels = [
        ex.Curves(
            {name: (range(own.shape[2]), own[:, code]) for name, own in courses.items()},
            f"time ({one['time_unit']})",
            "" if code else f"mean {one['attribute']}",
            title(group),
        )
        for code, group in enumerate(one["groups"])
    ]
    return ex.curves_figure(panels, len(panels), 3.2, sharey=True)
