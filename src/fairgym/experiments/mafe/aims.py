"""Aims beside one common sum: objectives of agents' own, and bounds instead of weights."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure

from fairgym import experiments as ex
from fairgym.config import RunConfig
from fairgym.experiments._measurements import dot
from fairgym.fairness import Objective
from fairgym.report import style
from fairgym.report.labels import title

# Objectives of health's agents: of everybody, and of one each.
TOGETHER, CONCERNED, GIVEN = "one for all", "what concerns each", "as in the example"
EXAMPLE: dict[str, dict[str, float]] = {
    "insurer": {"profit": 1.0},
    "hospital": {"mortality_rate": 1.0},
    "planner": {"insured_disparity": 1.0, "mortality_disparity": 1.0},
}
# With one agent's policy in place of that learned under the common aim, or with none.
EXCHANGED, NOBODY = "exchanged", "nobody"
ENVIRONMENTS = ("loan", "health", "education")
BOUNDED, WEIGHED = "bounds", "weights"
SURVIVED, REWARD, WORST = "survived", "reward", "largest disparity"
EXCESS = "the largest beyond luck"
SLACK = 0.01  # by which a bound may be missed


@ex.experiments.register("mafe-aims")
class MafeAims(ex.TrainingExperiment):
    """F-MACEM with objectives per agent in health; bounds beside weights in three environments."""

    title = "Objectives of one's own, and bounds instead of weights"
    source = "beyond MAFE, equation 1"
    claim = (
        "agents may have rewards and fairness functions of their own, such as an insurer's profit,"
        " a hospital's mortality and a planner's disparities; and the objective may be constrained:"
        " as much reward as can be had with every disparity below a bound"
    )
    sizes: ClassVar = {
        "paper": dataclasses.replace(ex.PAPER, weights=(0.05, 0.2)),
        "quick": dataclasses.replace(ex.QUICK, people=300, seeds=3, weights=(0.05, 0.2)),
    }

    def grid(self, size: ex.Size) -> dict[str, RunConfig]:
        """Three kinds of aims in health; bounds, and weights lambda of rewards, everywhere."""
        assert size.weights is not None
        found = {
            f"own/{TOGETHER}": ex.run_config("health", size),
            f"own/{CONCERNED}": ex.run_config("health", size, "own"),
            f"own/{GIVEN}": ex.run_config("health", size, objectives=EXAMPLE),
        }
        for name in ENVIRONMENTS:
            env = ex.run_config(name, size).build().env
            fair = [term for term in env.spec.terms if env.metrics[term].kind == "fair"]
            for weight in size.weights:
                bounds = dict.fromkeys(fair, weight)
                found[f"{name}/{BOUNDED} {weight:g}"] = ex.run_config(
                    name, size, "frontier:1", bounds=bounds
                )
                found[f"{name}/{WEIGHED} {1 - weight:g}"] = ex.run_config(
                    name, size, f"frontier:{1 - weight:g}"
                )
        return found

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> Any:
        """Environment, "own" or "exchanged" -> words -> column -> (seeds,).

        What luck alone makes is (seeds, permutations). Under "exchanged" are health's policies of
        one aim with one agent's of another in their place.
        """
        assert size.held_out is not None
        data: dict[str, Any] = {}
        for key, several in runs.items():
            name, _, words = key.partition("/")
            ends = [ex.held_out_run(run, size.held_out, ex.PERMUTATIONS) for run in several]
            measured = _every_term if name == "own" else _in_short
            data.setdefault(name, {})[words] = measured(several[0].env, ends)
        data[EXCHANGED] = {
            f"{words}, {agent}": _beds(
                [
                    exchanged(run, other, agent, size.held_out)
                    for run, other in zip(
                        runs[f"own/{words}"], runs[f"own/{TOGETHER}"], strict=True
                    )
                ]
            )
            for words in (TOGETHER, CONCERNED, GIVEN)
            for agent in (NOBODY, *(EXAMPLE if words != TOGETHER else ()))
        }
        return data

    def conclude(self, data: Any) -> ex.Outcome:
        """Agents get more of what they care for; bounds are kept."""
        own = data["own"]
        checks = [
            ex.Check.higher(
                f"health: {metric} is better if it is what an agent alone cares for (by)",
                own[GIVEN][metric],
                own[TOGETHER][metric],
            )
            for metric in ("profit", "mortality rate")
        ]
        tables = [
            _table("own", own, f"Health: raw values, more is better. {ex.LUCK}"),
            _table(
                EXCHANGED,
                data[EXCHANGED],
                f"Health, policies learned under an aim of their own, with one agent's policy"
                f" exchanged for that learned under “{TOGETHER}”, in the same episodes; more is"
                " better. The last two columns are shares of those who are ill when an episode"
                " ends.",
            ),
        ]
        for name in ENVIRONMENTS:
            for words, found in data[name].items():
                kind, _, number = words.partition(" ")
                if kind == BOUNDED:
                    bound = float(number)
                    checks.append(
                        ex.Check.below(
                            f"{name}: with a bound of {number} no normalised disparity beyond luck"
                            f" is above it (and {SLACK})",
                            found[EXCESS],
                            bound + SLACK,
                        )
                    )
            caption = (
                f"{title(name)}: mean of the normalised rewards, and the largest of the mean"
                f" normalised disparities, in held-out episodes. {ex.LUCK} The last column is the"
                " largest of what each disparity is beyond the mean of its own permutations."
            )
            tables.append(_table(name, data[name], caption))
        return ex.Outcome(
            figures={"": _plot(data)},
            caption="Large marks are interquartile means over seeds with stratified bootstrap 95%"
            " intervals, faint dots are seeds.",
            tables=tables,
            checks=checks,
        )


def _every_term(env: Any, episodes: Sequence[Any]) -> dict[str, np.ndarray]:
    """Survival, and the mean of every term, disparities also as luck alone makes them."""
    found: dict[str, Any] = {SURVIVED: [1.0 - np.mean(one.terminated) for one in episodes]}
    for term in env.spec.terms:
        column = term.replace("_", " ")
        found[column] = [np.mean(one.metrics[term]) for one in episodes]
        if env.metrics[term].kind == "fair":
            found[column + ex.BY_LUCK] = [one.nulls[term].mean(axis=0) for one in episodes]
    return {name: np.array(values, np.float64) for name, values in found.items()}


def exchanged(run: Any, other: Any, agent: str, episodes: int) -> Any:
    """The policies of a run with one agent's of another in its place, in held-out episodes.

    Args:
        run: the run.
        other: a run with the same environment and seed.
        agent: name of the agent, or "nobody".
        episodes: number of episodes.
    """
    policies = run.policies if agent == NOBODY else run.policies | {agent: other.policies[agent]}
    return ex.held_out(run.env, run.params, policies, run.config.seed, episodes, people=True)


def _beds(episodes: Sequence[Any]) -> dict[str, np.ndarray]:
    """Profit, coverage and mortality, and which of the ill are in a bed at the end."""
    found = {
        name.replace("_", " "): np.array([np.mean(one.metrics[name]) for one in episodes])
        for name in ("profit", "insured_rate", "mortality_rate")
    }
    for words, insured in (("insured", 1.0), ("uninsured", 0.0)):
        found[f"ill and {words}: in a bed"] = np.array(
            [in_bed(one.people_end, insured) for one in episodes]
        )
    return found


def in_bed(people: Mapping[str, np.ndarray], insured: float) -> float:
    """Share in a bed of the ill who are insured (1) or not (0); NaN without any."""
    own = people["insured"] == insured
    beds, ill = (np.sum(people[column][own]) for column in ("in_hospital", "needs_bed"))
    return float(beds / (beds + ill)) if beds + ill else np.nan


def _in_short(env: Any, episodes: Sequence[Any]) -> dict[str, np.ndarray]:
    """Survival, mean normalised reward, and the largest of the mean normalised disparities.

    The latter also as luck alone makes it, and the largest of what each disparity is beyond luck.
    """
    fair = [term for term in env.spec.terms if env.metrics[term].kind == "fair"]
    alone = [Objective.weighted(env, {term: 1.0}) for term in fair]
    # shapes (terms, seeds) and (terms, seeds, permutations), never below 0
    apart = -np.array([[ex.score(one, objective) for one in episodes] for objective in alone])
    luck = -np.array([[ex.by_luck(one, env, [term]) for one in episodes] for term in fair])
    return {
        SURVIVED: np.array([1.0 - np.mean(one.terminated) for one in episodes]),
        REWARD: np.array([ex.score(one, Objective.frontier(env, 1.0)) for one in episodes]),
        WORST: apart.max(axis=0),
        WORST + ex.BY_LUCK: luck.max(axis=0),
        EXCESS: ex.beyond(apart, luck).max(axis=0),
    }


def _table(name: str, found: Mapping[str, Any], caption: str) -> ex.Table:
    columns = list(next(iter(found.values())))
    rows = [[words, *(ex.cell(c, one[c]) for c in columns)] for words, one in found.items()]
    head = {"own": "aims", EXCHANGED: "aims, whose policy is exchanged"}.get(name, "form")
    return ex.Table([head, *columns], rows, caption)


@style.styled
def _plot(data: Any) -> Figure:
    """Largest disparity with bounds and with weights, environments in panels."""
    figure, axes = style.panels(len(ENVIRONMENTS), len(ENVIRONMENTS), 3.4)
    for panel, name in zip(axes, ENVIRONMENTS, strict=True):
        # bounds first, then weights
        forms = sorted(data[name], key=lambda words: not words.startswith(BOUNDED))
        for place, words in enumerate(forms):
            colour = style.POLICY_COLOURS[0 if words.startswith(BOUNDED) else 1]
            dot(panel, place, data[name][words][WORST], colour)
        panel.set_xticks(range(len(forms)), forms, rotation=45, ha="right")
        style.set_title(panel, title(name))
    axes[0].set_ylabel("largest normalised disparity")
    return figure
