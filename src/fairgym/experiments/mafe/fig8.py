"""All agents trained, one agent trained, and a fixed policy, in the loan environment."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from jaxtyping import PyTree
from matplotlib.figure import Figure

from fairgym.core import AnyPolicy
from fairgym.experiments import _parts as ex
from fairgym.experiments.mafe._readings import COLUMNS, queue
from fairgym.experiments.mafe.fig10 import NEAR, RELIEF
from fairgym.policies import Constant, fixed_policies
from fairgym.report import style

SCORE = "objective"
FIXED, EVERY, SEARCH = "fixed policy", "all trained", "grid search"
# All trained, with a random queue instead; and the fixed policy with relief that reacts.
AT_RANDOM, REACTING = "all trained, but a random queue", "fixed policy, reacting relief"
AWAY = "largest distance from the published fixed policy"


@ex.experiments.register("mafe-fig8")
class MafeFig8(ex.ComparisonFigure):
    """Fixed policy, each agent trained alone, and all agents trained."""

    title = "MAFE figure 8: one agent trained, and all agents trained"
    source = "MAFE, figure 8 and appendix D.3"
    claim = (
        'in loan, "allowing agents to learn, rather than relying on fixed or heuristic policies,'
        ' leads to further improvements", and "the multi-agent training scenario achieves the'
        ' highest performance"; the fixed policy is "optimized to perform well" by a grid search,'
        " which finds thresholds of 0 and 0 and relief of 0.12 and 0.18"
    )
    sizes: ClassVar = ex.SCALES
    following = 3
    caption = (
        "Faint dots are seeds; dark dots are interquartile means over seeds with stratified"
        " bootstrap 95% intervals."
    )
    height = 3.0
    rotation = 20

    def grid(self, size: ex.Size) -> ex.Grid:
        """Return the grid search, and all agents trained."""
        search = ex.RunConfig(
            "loan",
            environment_args={"population": size.people},
            algorithm="grid-search",
            objective="uniform",
        )
        return {SEARCH: search, EVERY: ex.run_config("loan", size)}

    def then(self, size: ex.Size, runs: ex.Runs) -> ex.Grid:
        """Return each agent trained alone, with the fixed policy for the others."""
        fixed = fixed_policy(runs[SEARCH])
        return {
            f"only {agent.replace('_', ' ')}": ex.run_config(
                "loan", size, fixed={a: v for a, v in fixed.items() if a != agent}
            )
            for agent in fixed
        }

    def numbers(self, place: str, runs: Sequence[ex.Run], ends: ex.Ends) -> ex.Columns:
        """Return the objective and the measures of the queue."""
        return {SCORE: ex.score(ends, runs[0].objective), **queue(runs[0].env, ends)}

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> ex.Compared:
        """Measure fixed policies, each agent trained alone, and all agents trained."""
        assert size.held_out is not None
        every, episodes = runs[EVERY], size.held_out
        env, params = every[0].env, every[0].params
        rules = fixed_policy(runs[SEARCH])
        fixed, reacting = (
            fixed_policies(env, given)
            for given in (rules, {**rules, "debt_management": "level-relief"})
        )
        unqueued = [{**run.policies, "disbursement": fixed["disbursement"]} for run in every]

        def numbers(policies: Sequence[Mapping[str, AnyPolicy]]) -> ex.Columns:
            ends = [
                ex.held_out(env, params, own, seed, episodes, self.permutations)
                for own, seed in zip(policies, seeds, strict=True)
            ]
            return self.numbers("", every, ends)

        alone = {key: several for key, several in runs.items() if key not in (SEARCH, EVERY)}
        found = {
            REACTING: numbers([reacting] * len(seeds)),
            FIXED: numbers([fixed] * len(seeds)),
            **super().measure(size, {**alone, EVERY: every}, seeds)[""],
            AT_RANDOM: numbers(unqueued),
        }
        away = {SEARCH: {AWAY: np.array([_away(run) for run in runs[SEARCH]])}}
        return {"": found, SEARCH: away}

    def checks(self, data: ex.Compared) -> list[ex.Check]:
        """Check all against each alone, and each alone against none, paired by seed.

        Also check the grid search against the published fixed policy. The forgiven share of relief
        was chosen by what F-MACEM learns, not by the grid search.
        """
        alone = [name for name in data[""] if name not in (REACTING, FIXED, EVERY, AT_RANDOM)]
        claims = [
            ex.Claim(f"{EVERY} scores above {name}", *ex.pair(EVERY, name, SCORE)) for name in alone
        ]
        claims += [
            ex.Claim(f"{name} scores above the {FIXED}", *ex.pair(name, FIXED, SCORE))
            for name in alone
        ]
        search = ex.Check.below(
            "the grid search ends near the published thresholds of 0 and 0 and relief of"
            f" {' and '.join(f'{share:g}' for share in RELIEF.values())} (largest distance below"
            f" {NEAR})",
            data[SEARCH][SEARCH][AWAY],
            NEAR,
        )
        queue = ex.Claim(  # seen before it was claimed
            f"the {FIXED}, whose queue is random too, scores above {AT_RANDOM}",
            *ex.pair(FIXED, AT_RANDOM, SCORE),
            "calibrated",
        )
        return [*(claim.check(data) for claim in (*claims, queue)), search]

    def tables(self, data: ex.Compared) -> list[ex.Table]:
        """Return the objective, and the waits."""
        found = data[""]
        waits = [column for column in found[EVERY] if column != SCORE]
        caption = (
            "The uniform objective in held-out episodes, the same episodes for all within a seed;"
            f" interquartile mean over seeds [95% CI]. “{AT_RANDOM.capitalize()}”: the policies of"
            f" “{EVERY}”, with people paid out in random order. “{REACTING.capitalize()}”: relief"
            " follows last year's gap of default rates, and all else is fixed."
        )
        return [
            ex.columns_table("trained", found, caption, [SCORE]),
            ex.columns_table("trained", found, f"**Waits.** {COLUMNS} {ex.NULL_NOTE}", waits),
        ]

    def panels(self, data: ex.Compared) -> list[ex.Panel]:
        """Return the objective."""
        return [ex.Panel(data[""], [SCORE], "Loan: objective ↑", "score in held-out episodes")]

    def figures(self, data: ex.Compared) -> dict[str, Figure]:
        """Return the dots, with some room at the sides."""
        (figure,) = super().figures(data).values()
        figure.axes[0].set_xlim(-0.5, len(data[""]) - 0.5)
        return {"": figure}

    def colour(self, label: str, index: int) -> str:
        """Return one colour each for fixed policies, one agent trained and all trained."""
        fixed = dict.fromkeys((FIXED, REACTING), style.BASELINE_COLOUR)
        learned = dict.fromkeys((EVERY, AT_RANDOM), style.POLICY_COLOURS[1])
        return {**fixed, **learned}.get(label, style.POLICY_COLOURS[0])


def _away(search: ex.Run) -> float:
    """Return the largest distance of a found threshold or relief share from the published one."""
    published = {"admissions": [0.0, 0.0], "debt_management": list(RELIEF.values())}
    found = {agent: search.policies[agent] for agent in published}
    return max(
        float(np.max(np.abs(np.asarray(rule.action) - published[agent])))
        for agent, rule in found.items()
        if isinstance(rule, Constant)
    )


def fixed_policy(searches: Sequence[ex.Run]) -> dict[str, Any]:
    """Return the fixed policy by agent: the rounded median over grid searches, random queue.

    Args:
        searches: Finished runs of the grid search.
    """
    found: dict[str, PyTree] = {}
    for agent in searches[0].env.agents:
        rules = [run.policies[agent] for run in searches]
        constants = [np.asarray(rule.action) for rule in rules if isinstance(rule, Constant)]
        if len(constants) == len(rules):
            middle = np.median(constants, axis=0)
            found[agent] = [round(float(value), 3) for value in middle]
        else:
            found[agent] = "random"
    return found
