"""Custom objectives per agent instead of a common sum, and bounds instead of weights."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from fairgym.core import Environment
from fairgym.experiments import _parts as ex
from fairgym.fairness import Objective
from fairgym.report import style
from fairgym.results.labels import title

# Objectives of health's agents: one for all, or one for each agent.
TOGETHER, CONCERNED, GIVEN = "one for all", "terms of each agent", "as in the example"
EXAMPLE: dict[str, dict[str, float]] = {
    "insurer": {"profit": 1.0},
    "hospital": {"mortality_rate": 1.0},
    "planner": {"insured_disparity": 1.0, "mortality_disparity": 1.0},
}
# With one agent's policy exchanged for that learned with the common objective, or with none.
OWN, EXCHANGED, NOBODY = "own", "exchanged", "nobody"
ENVIRONMENTS = ("loan", "health", "education")
BOUNDED, WEIGHTED = "bounds", "weights"
SURVIVED, REWARD, WORST = "survived", "reward", "largest disparity"
EXCESS = "largest excess over the null"
SLACK = 0.01  # tolerance of a bound


@ex.experiments.register("mafe-aims")
class MafeAims(ex.ComparisonFigure):
    """F-MACEM with objectives per agent in health, and bounds or weights in three environments."""

    title = "Beyond MAFE: custom objectives, and bounds instead of weights"
    source = "beyond MAFE, equation 1"
    claim = (
        "each agent may have its own reward and fairness functions, such as an insurer's profit, a"
        " hospital's mortality and a planner's disparities; and the objective may be constrained:"
        " the largest reward with every disparity below a bound"
    )
    sizes: ClassVar = {
        "paper": dataclasses.replace(ex.STUDY, weights=(0.05, 0.2)),
        "quick": dataclasses.replace(ex.QUICK, people=300, seeds=3, weights=(0.05, 0.2)),
    }
    claims = tuple(
        ex.Claim(
            f"health: {metric} is better if it is one agent's whole objective",
            *ex.pair(GIVEN, TOGETHER, metric, OWN),
        )
        for metric in ("profit", "mortality rate")
    )

    def grid(self, size: ex.Size) -> ex.Grid:
        """Return three kinds of objectives in health, and bounds and weights everywhere."""
        assert size.weights is not None
        found = {
            f"{OWN}/{TOGETHER}": ex.run_config("health", size),
            f"{OWN}/{CONCERNED}": ex.run_config("health", size, "own"),
            f"{OWN}/{GIVEN}": ex.run_config("health", size, objectives=EXAMPLE),
        }
        for name in ENVIRONMENTS:
            env = ex.run_config(name, size).build().env
            fair = [term for term in env.spec.terms if env.metrics[term].kind == "fair"]
            for weight in size.weights:
                bounds = dict.fromkeys(fair, weight)
                found[f"{name}/{BOUNDED} {weight:g}"] = ex.run_config(
                    name, size, "frontier:1", bounds=bounds
                )
                found[f"{name}/{WEIGHTED} {1 - weight:g}"] = ex.run_config(
                    name, size, f"frontier:{1 - weight:g}"
                )
        return found

    def numbers(self, place: str, runs: Sequence[ex.Run], ends: ex.Ends) -> ex.Columns:
        """Return every term with custom objectives, otherwise reward and largest disparity."""
        return (_every_term if place == OWN else _in_short)(runs[0].env, ends)

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> ex.Compared:
        """Also measure health's policies with one agent's policy exchanged."""
        assert size.held_out is not None
        data = super().measure(size, runs, seeds)
        theirs = runs[f"{OWN}/{TOGETHER}"]
        data[EXCHANGED] = {
            f"{words}, {agent}": _beds(
                [
                    exchanged(run, other, agent, size.held_out)
                    for run, other in zip(runs[f"{OWN}/{words}"], theirs, strict=True)
                ]
            )
            for words in (TOGETHER, CONCERNED, GIVEN)
            for agent in (NOBODY, *(EXAMPLE if words != TOGETHER else ()))
        }
        return data

    def checks(self, data: ex.Compared) -> list[ex.Check]:
        """Check whether agents improve their own terms, and whether bounds are met.

        In health no disparity comes near a bound, whatever is learned.
        """
        return super().checks(data) + [
            ex.Check.below(
                f"{name}: with a bound of {number}, no excess of a normalised disparity over the"
                f" null is above it (tolerance {SLACK})",
                found[EXCESS],
                float(number) + SLACK,
                "by construction" if name == "health" else "predicted",
            )
            for name in ENVIRONMENTS
            for words, found in data[name].items()
            for kind, _, number in [words.partition(" ")]
            if kind == BOUNDED
        ]

    def tables(self, data: ex.Compared) -> list[ex.Table]:
        """Return custom objectives, exchanges, and bounds and weights in each environment."""
        own = ex.columns_table(
            "objectives", data[OWN], f"Health: raw values; higher is better. {ex.NULL_NOTE}"
        )
        swapped = ex.columns_table(
            "objectives, exchanged policy",
            data[EXCHANGED],
            "Health: policies learned with custom objectives, with one agent's policy exchanged for"
            f" that learned with “{TOGETHER}”, in the same episodes; higher is better. The last two"
            " columns are shares of the people who are ill when an episode ends.",
        )
        forms = [
            ex.columns_table(
                "form",
                data[name],
                f"{title(name)}: mean of the normalised rewards, and largest of the mean normalised"
                f" disparities, in held-out episodes. {ex.NULL_NOTE} The last column is the largest"
                " excess of a disparity over its own null mean.",
            )
            for name in ENVIRONMENTS
        ]
        return [own, swapped, *forms]

    def panels(self, data: ex.Compared) -> list[ex.Panel]:
        """Return the largest disparity with bounds and with weights, one panel per environment."""
        found = []
        for name in ENVIRONMENTS:
            # bounds first, then weights
            forms = sorted(data[name], key=lambda words: not words.startswith(BOUNDED))
            shown = {words: data[name][words] for words in forms}
            ylabel = "" if found else "largest normalised disparity"
            found.append(ex.Panel(shown, [WORST], title(name), ylabel))
        return found

    def colour(self, label: str, index: int) -> str:
        """Return one colour for bounds and one for weights."""
        return style.POLICY_COLOURS[0 if label.startswith(BOUNDED) else 1]


def _every_term(env: Environment, episodes: ex.Ends) -> ex.Columns:
    """Return survival and the mean of every term, disparities with null distributions."""
    found = {SURVIVED: ex.survival(episodes)}
    for term in env.spec.terms:
        column = term.replace("_", " ")
        found[column] = ex.means(episodes, term)
        if env.metrics[term].kind == "fair":
            null = [one.nulls[term].mean(axis=0) for one in episodes]
            found[column + ex.NULL_MEAN] = np.array(null, np.float64)
    return found


def exchanged(run: ex.Run, other: ex.Run, agent: str, episodes: int) -> ex.Evaluation:
    """Measure the policies of a run with one agent's policy exchanged, in held-out episodes.

    Args:
        run: The run.
        other: Run with the same environment and seed, which provides the agent's policy.
        agent: Name of the agent, or "nobody".
        episodes: Number of episodes.
    """
    policies = run.policies if agent == NOBODY else run.policies | {agent: other.policies[agent]}
    return ex.held_out(run.env, run.params, policies, run.config.seed, episodes, people=True)


def _beds(episodes: ex.Ends) -> ex.Columns:
    """Return profit, coverage and mortality, and shares of the ill in a bed at the end."""
    found = {
        name.replace("_", " "): ex.means(episodes, name)
        for name in ("profit", "insured_rate", "mortality_rate")
    }
    for words, insured in (("insured", 1.0), ("uninsured", 0.0)):
        found[f"ill and {words}: in a bed"] = np.array(
            [in_bed(one.people_end, insured) for one in episodes]
        )
    return found


def in_bed(people: Mapping[str, np.ndarray], insured: float) -> float:
    """Return the share of the ill insured (1) or uninsured (0) in a bed; NaN if none is ill."""
    own = people["insured"] == insured
    beds, ill = (np.sum(people[column][own]) for column in ("in_hospital", "needs_bed"))
    return float(beds / (beds + ill)) if beds + ill else np.nan


def _in_short(env: Environment, episodes: ex.Ends) -> ex.Columns:
    """Return survival, mean normalised reward, and the largest mean normalised disparity.

    The latter comes with its null distribution, and with the largest excess over the null.
    """
    fair = [term for term in env.spec.terms if env.metrics[term].kind == "fair"]
    alone = [Objective.weighted(env, {term: 1.0}) for term in fair]
    # shapes (terms, seeds) and (terms, seeds, permutations), never below 0
    apart = -np.array([ex.score(episodes, objective) for objective in alone])
    null = -np.array([ex.null_sums(episodes, env, [term]) for term in fair])
    return {
        SURVIVED: ex.survival(episodes),
        REWARD: ex.score(episodes, Objective.frontier(env, 1.0)),
        WORST: apart.max(axis=0),
        WORST + ex.NULL_MEAN: null.max(axis=0),
        EXCESS: ex.excess(apart, null).max(axis=0),
    }
