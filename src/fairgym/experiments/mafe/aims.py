"""Aims beside one common sum: objectives of agents' own, and bounds instead of weights."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from fairgym.core import Environment
from fairgym.experiments import _parts as ex
from fairgym.fairness import Objective
from fairgym.report import style
from fairgym.results.labels import title

# Objectives of health's agents: of everybody, and of one each.
TOGETHER, CONCERNED, GIVEN = "one for all", "what concerns each", "as in the example"
EXAMPLE: dict[str, dict[str, float]] = {
    "insurer": {"profit": 1.0},
    "hospital": {"mortality_rate": 1.0},
    "planner": {"insured_disparity": 1.0, "mortality_disparity": 1.0},
}
# With one agent's policy in place of that learned under the common aim, or with none.
OWN, EXCHANGED, NOBODY = "own", "exchanged", "nobody"
ENVIRONMENTS = ("loan", "health", "education")
BOUNDED, WEIGHED = "bounds", "weights"
SURVIVED, REWARD, WORST = "survived", "reward", "largest disparity"
EXCESS = "the largest beyond luck"
SLACK = 0.01  # by which a bound may be missed


@ex.experiments.register("mafe-aims")
class MafeAims(ex.ComparisonFigure):
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
    claims = tuple(
        ex.Claim(
            f"health: {metric} is better if it is what an agent alone cares for (by)",
            *ex.pair(GIVEN, TOGETHER, metric, OWN),
        )
        for metric in ("profit", "mortality rate")
    )

    def grid(self, size: ex.Size) -> ex.Grid:
        """Three kinds of aims in health; bounds, and weights lambda of rewards, everywhere."""
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
                found[f"{name}/{WEIGHED} {1 - weight:g}"] = ex.run_config(
                    name, size, f"frontier:{1 - weight:g}"
                )
        return found

    def numbers(self, place: str, runs: Sequence[ex.Run], ends: ex.Ends) -> ex.Columns:
        """Every term with aims of one's own, and else the reward and the largest disparity."""
        return (_every_term if place == OWN else _in_short)(runs[0].env, ends)

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> ex.Compared:
        """Also health's policies of one aim with one agent's of another in their place."""
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
        """Agents get more of what they care for; bounds are kept.

        In health no disparity comes near a bound, whatever is learned.
        """
        return super().checks(data) + [
            ex.Check.below(
                f"{name}: with a bound of {number} no normalised disparity beyond luck"
                f" is above it (and {SLACK})",
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
        """Aims of one's own, exchanges, and the forms of the objective in each environment."""
        own = ex.columns_table("aims", data[OWN], f"Health: raw values, more is better. {ex.LUCK}")
        swapped = ex.columns_table(
            "aims, whose policy is exchanged",
            data[EXCHANGED],
            f"Health, policies learned under an aim of their own, with one agent's policy"
            f" exchanged for that learned under “{TOGETHER}”, in the same episodes; more is"
            " better. The last two columns are shares of those who are ill when an episode ends.",
        )
        forms = [
            ex.columns_table(
                "form",
                data[name],
                f"{title(name)}: mean of the normalised rewards, and the largest of the mean"
                f" normalised disparities, in held-out episodes. {ex.LUCK} The last column is the"
                " largest of what each disparity is beyond the mean of its own permutations.",
            )
            for name in ENVIRONMENTS
        ]
        return [own, swapped, *forms]

    def panels(self, data: ex.Compared) -> list[ex.Panel]:
        """Largest disparity with bounds and with weights, environments in panels."""
        found = []
        for name in ENVIRONMENTS:
            # bounds first, then weights
            forms = sorted(data[name], key=lambda words: not words.startswith(BOUNDED))
            shown = {words: data[name][words] for words in forms}
            ylabel = "" if found else "largest normalised disparity"
            found.append(ex.Panel(shown, [WORST], title(name), ylabel))
        return found

    def colour(self, label: str, index: int) -> str:
        """One colour for bounds, one for weights."""
        return style.POLICY_COLOURS[0 if label.startswith(BOUNDED) else 1]


def _every_term(env: Environment, episodes: ex.Ends) -> ex.Columns:
    """Survival, and the mean of every term, disparities also as luck alone makes them."""
    found = {SURVIVED: ex.survival(episodes)}
    for term in env.spec.terms:
        column = term.replace("_", " ")
        found[column] = ex.means(episodes, term)
        if env.metrics[term].kind == "fair":
            luck = [one.nulls[term].mean(axis=0) for one in episodes]
            found[column + ex.BY_LUCK] = np.array(luck, np.float64)
    return found


def exchanged(run: ex.Run, other: ex.Run, agent: str, episodes: int) -> ex.Evaluation:
    """The policies of a run with one agent's of another in its place, in held-out episodes.

    Args:
        run: the run.
        other: a run with the same environment and seed.
        agent: name of the agent, or "nobody".
        episodes: number of episodes.
    """
    policies = run.policies if agent == NOBODY else run.policies | {agent: other.policies[agent]}
    return ex.held_out(run.env, run.params, policies, run.config.seed, episodes, people=True)


def _beds(episodes: ex.Ends) -> ex.Columns:
    """Profit, coverage and mortality, and which of the ill are in a bed at the end."""
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
    """Share in a bed of the ill who are insured (1) or not (0); NaN without any."""
    own = people["insured"] == insured
    beds, ill = (np.sum(people[column][own]) for column in ("in_hospital", "needs_bed"))
    return float(beds / (beds + ill)) if beds + ill else np.nan


def _in_short(env: Environment, episodes: ex.Ends) -> ex.Columns:
    """Survival, mean normalised reward, and the largest of the mean normalised disparities.

    The latter also as luck alone makes it, and the largest of what each disparity is beyond luck.
    """
    fair = [term for term in env.spec.terms if env.metrics[term].kind == "fair"]
    alone = [Objective.weighted(env, {term: 1.0}) for term in fair]
    # shapes (terms, seeds) and (terms, seeds, permutations), never below 0
    apart = -np.array([ex.score(episodes, objective) for objective in alone])
    luck = -np.array([ex.by_luck(episodes, env, [term]) for term in fair])
    return {
        SURVIVED: ex.survival(episodes),
        REWARD: ex.score(episodes, Objective.frontier(env, 1.0)),
        WORST: apart.max(axis=0),
        WORST + ex.BY_LUCK: luck.max(axis=0),
        EXCESS: ex.beyond(apart, luck).max(axis=0),
    }
