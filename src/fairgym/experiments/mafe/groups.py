"""Agents that see groups and agents that do not: what they learn, decide and leave behind."""

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
from fairgym.experiments.mafe._calibration import SYSTEMS, calibration
from fairgym.fairness import Disparity
from fairgym.policies import Flips, fixed_policies, group_flips
from fairgym.results.labels import title, words
from fairgym.wrappers import EndsAfter

BLIND = {"observe_group": False}
# Environment -> reading -> its arguments; the first one is what the paper trains.
READINGS: dict[str, dict[str, dict[str, Any]]] = {
    "loan": {
        "seen, a rule for each group": {},
        "hidden, a rule for each group": BLIND,
        "seen, one rule": {"action_groups": 1},
        "hidden, one rule": BLIND | {"action_groups": 1},
    },
    "education": {"seen": {}, "hidden": BLIND},
}
REFERENCE = {"loan": "published_fixed_policy", "education": "plausible_fixed_policy"}
SCORE, SURVIVED = "objective", "survived"
STATES = 16  # in which decisions are looked at
NOTHING = 1e-3  # standard deviations
LITTLE = 0.05  # of the objective
ALIKE = 0.05  # difference of two shares


@ex.experiments.register("mafe-groups")
class MafeGroups(ex.ComparisonFigure):
    """F-MACEM with groups seen and hidden; flips, and the groups' core attribute over time."""

    title = "What agents make of a person's group"
    source = "beyond MAFE, table 8"
    claim = (
        "all of MAFE's agents see a person's group; counterfactual fairness (Kusner et al. 2017)"
        " would have decisions not depend on it, and fairness through unawareness hides it, which"
        " need not lessen disparities (Dwork et al. 2012); what decisions do to people shows later"
        " than in the decisions (Liu et al. 2018); scores should mean the same in every"
        " group (Kleinberg et al. 2017)"
    )
    caption = (
        f"{ex.CAPTION} Means are of everybody of a group in all episodes that have not failed yet."
    )

    def grid(self, size: ex.Size) -> ex.Grid:
        """All terms weighed alike, with groups seen and hidden."""
        return {
            f"{name}/{reading}": ex.run_config(
                name, size, environment_args={"population": size.people, **arguments}
            )
            for name, readings in READINGS.items()
            for reading, arguments in readings.items()
        }

    def numbers(self, place: str, runs: Sequence[ex.Run], ends: ex.Ends) -> PyTree:
        """Numbers of a reading.

        "ends" by column are (seeds,), "luck" what luck alone makes of the disparities among them
        (seeds, permutations); "flips" by agent the relative changes (seeds,), "by_group"
        the change of each group (seeds, groups); "course" the groups' mean core attribute (seeds,
        groups, steps); "shares" those who fare well by third of the scores (seeds, thirds, groups),
        "apart" how far apart the groups are in them (seeds,) and "apart by luck" as far as luck
        alone makes it (seeds, permutations). The fixed policy has no flips.
        """
        flips = [flips_of(run) for run in runs]
        acting = [agent for agent in runs[0].env.agents if all(agent in one for one in flips)]
        return {
            **_measured(runs, [run.policies for run in runs], ends),
            "flips": {a: np.array([one[a][0] for one in flips]) for a in acting},
            "by_group": {a: np.array([one[a][1] for one in flips]) for a in acting},
        }

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Environment -> "groups", "attribute" and "readings": reading -> numbers."""
        assert size.held_out is not None
        data: dict[str, PyTree] = {}
        for name, found in super().measure(size, runs, seeds).items():
            several = runs[f"{name}/{next(iter(READINGS[name]))}"]
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
                "readings": {**found, "fixed policy": {**measured, "flips": {}, "by_group": {}}},
            }
        return data

    def checks(self, data: PyTree) -> list[ex.Check]:
        """Use of what is seen, none of what is hidden; the cost of hiding.

        The cost alone can come out either way: networks use what they are given and nothing else,
        and within thirds the limit is wider than what there is to find.
        """
        checks, kind = [], "by construction"
        for name, readings in READINGS.items():
            found = data[name]["readings"]
            seen, hidden = (found[reading] for reading in list(readings)[:2])
            for agent, values in seen["flips"].items():
                flip = f"{name}: {words(agent)}, change by a flip in standard deviations, group"
                checks.append(ex.Check.above(f"{flip} seen", values, NOTHING, kind))
                if agent in hidden["flips"]:
                    statement, changed = f"{flip} hidden (below {NOTHING})", hidden["flips"][agent]
                    checks.append(ex.Check.below(statement, changed, NOTHING, kind))
            checks.append(
                ex.Check.below(
                    f"{name}: people of the same third of the scores have {SYSTEMS[name].outcome}"
                    f" alike in both groups (difference beyond luck below {ALIKE}), group seen",
                    ex.beyond(seen["apart"], seen["apart by luck"]),
                    ALIKE,
                    kind,
                )
            )
            seen, hidden = (one["ends"][SCORE] for one in (seen, hidden))
            checks.append(
                ex.Check.higher(
                    f"{name}: hiding groups costs less than a twentieth of the objective (below"
                    " that by)",
                    LITTLE * np.abs(seen),
                    seen - hidden,
                )
            )
        return checks

    def tables(self, data: PyTree) -> list[ex.Table]:
        """Four tables for each environment."""
        makers = (_ends_table, _flips_table, _calibration_table, _course_table)
        return [make(name, one) for name, one in data.items() for make in makers]

    def figures(self, data: PyTree) -> dict[str, Figure]:
        """A figure for each environment."""
        return {name: _plot(one) for name, one in data.items()}


# ---------------------------------------------------------------- measuring


def flips_of(run: ex.Run) -> dict[str, tuple[float, list[float]]]:
    """Relative change by a flip, and mean change of each group, half through `STATES` episodes.

    Returns:
        Agent -> (mean size in standard deviations, mean signed change by group in the same unit).
    """
    env, policies, key = run.env, run.policies, jax.random.key(run.config.seed)
    half = EndsAfter(env, env.horizon // 2)

    @jax.jit
    def states(keys: Key[Array, "..."]) -> PyTree:
        return map_episodes(
            lambda key: rollout(half, run.params, policies, key).final_state, keys, env=env
        )

    # from all devices to one
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
    """Mean core attribute of each group over time, shape (groups, steps).

    Over everybody and all episodes that have not failed yet; NaN where all have.
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
    """Numbers of a reading, but for flips.

    Args:
        runs: runs of the environment with this objective, one for each seed.
        policies: policies with each seed, the runs' own or others.
        ends: their held-out episodes.
    """
    env, episodes = runs[0].env, ends[0].episodes
    acting = [(r.env, r.params, p, r.config.seed) for r, p in zip(runs, policies, strict=True)]
    found = {
        SCORE: ex.score(ends, runs[0].objective),
        SURVIVED: ex.survival(ends),
    }
    luck = {}
    for name in env.spec.terms:
        if isinstance(env.metrics[name], Disparity):
            found[words(name)], luck[words(name)] = ex.disparity(ends, name)
    calibrated = [calibration(*one, episodes, ex.PERMUTATIONS) for one in acting]
    return {
        "ends": found,
        "luck": luck,
        "course": np.array([course(*one, episodes) for one in acting]),
        "shares": np.array([one.shares for one in calibrated]),
        "apart": np.array([one.apart for one in calibrated]),
        "apart by luck": np.array([one.luck for one in calibrated]),
    }


# ---------------------------------------------------------------- showing


def _ends_table(name: str, one: Mapping[str, PyTree]) -> ex.Table:
    readings = one["readings"]
    columns = list(next(iter(readings.values()))["ends"])
    rows = []
    for reading, found in readings.items():
        luck = found["luck"]
        rows.append([reading, *(ex.iqm_text(found["ends"][column]) for column in columns)])
        beside = (ex.luck_text(luck[column]) if column in luck else "" for column in columns)
        rows.append(["the same by luck alone", *beside])
    return ex.Table(
        ["group", *columns],
        rows,
        f"**{title(name)}**: held-out episodes, interquartile mean over seeds (95% interval)."
        f" {ex.LUCK}",
    )


def _flips_table(name: str, one: Mapping[str, PyTree]) -> ex.Table:
    heads = [f"change for the {words(group)}" for group in one["groups"]]
    found = {
        (reading, words(agent)): {
            "size of the change": values,
            **dict(zip(heads, own["by_group"][agent].T, strict=True)),
        }
        for reading, own in one["readings"].items()
        for agent, values in own["flips"].items()
    }
    return ex.columns_table(
        ["group", "agent", "size of the change", *heads],
        found,
        f"**{title(name)}**, counterfactual flips: half through an episode the features that tell"
        " the group are, for one person at a time, those of somebody of the other group; change of"
        " the decision in standard deviations of the agent's decisions.",
    )


def _calibration_table(name: str, one: Mapping[str, PyTree]) -> ex.Table:
    groups = [words(group) for group in one["groups"]]
    thirds = [
        f"{third} third, {group}" for third in ("lowest", "middle", "highest") for group in groups
    ]
    found = {}
    for reading, own in one["readings"].items():
        shares = own["shares"].reshape(len(own["shares"]), -1).T
        found[reading] = {
            **dict(zip(thirds, map(_known, shares), strict=True)),
            "difference": own["apart"],
            f"difference{ex.BY_LUCK}": own["apart by luck"],
        }
    system = SYSTEMS[name]
    return ex.columns_table(
        ["group", *thirds, "difference", "by luck alone"],
        found,
        f"**{title(name)}**, calibration within groups: share of the people who have"
        f" {system.outcome}, by third of the {words(system.score)} with which they came, and the"
        " mean difference of the groups. “By luck alone” has the groups permuted within the thirds:"
        " mean and 95% interval of the permutations.",
    )


def _course_table(name: str, one: Mapping[str, PyTree]) -> ex.Table:
    groups = [words(group) for group in one["groups"]]
    found = {}
    for reading, own in one["readings"].items():
        # groups, (first and last step), seeds; NaN where all episodes have failed by then
        ends = np.moveaxis(np.asarray(own["course"])[:, :, [0, -1]], 0, -1)
        whose = [*zip(groups, ends, strict=True)]
        whose += [(f"{groups[0]} less {groups[-1]}", ends[0] - ends[-1])]
        found[reading] = {
            f"{who}, {when} step": _known(values)
            for who, both in whose
            for when, values in zip(("first", "last"), both, strict=True)
        }
    return ex.columns_table(
        "group",
        found,
        f"**{title(name)}**, delayed impact: mean {one['attribute']} of everybody of a group in the"
        " first and in the last step, in the episodes that have not failed by then.",
    )


def _known(values: np.ndarray) -> np.ndarray:
    """Values of the seeds that have one."""
    return values[~np.isnan(values)]


def _plot(one: Mapping[str, PyTree]) -> Figure:
    """Delayed impact: the groups' core attribute over time, a panel for each group."""
    courses = {reading: np.asarray(found["course"]) for reading, found in one["readings"].items()}
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
