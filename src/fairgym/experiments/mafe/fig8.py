"""All agents trained, one agent trained, and a fixed policy, in the loan system."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure

from fairgym import experiments as ex
from fairgym.config import RunConfig
from fairgym.experiments._measurements import dot
from fairgym.experiments.mafe._queue import COLUMNS, queue
from fairgym.policies import Constant, fixed_policies
from fairgym.report import style

FIXED, EVERY, SEARCH = "fixed policy", "all trained", "grid search"


@ex.experiments.register("mafe-fig8")
class MafeFig8(ex.TrainingExperiment):
    """A fixed policy, each agent trained alone, all trained."""

    title = "One agent learning, and all of them"
    source = "MAFE, figure 8 and appendix D.3"
    claim = (
        'in loan, "allowing agents to learn, rather than relying on fixed or heuristic policies,'
        ' leads to further improvements", and "the multi-agent training scenario achieves the'
        ' highest performance"'
    )
    sizes: ClassVar = {"paper": ex.PAPER, "quick": ex.QUICK, "large": ex.LARGE}
    following = 3

    def grid(self, size: ex.Size) -> dict[str, RunConfig]:
        """The grid search, and all agents trained."""
        search = RunConfig(
            "loan",
            environment_args={"population": size.people},
            algorithm="grid-search",
            objective="uniform",
        )
        return {SEARCH: search, EVERY: ex.run_config("loan", size)}

    def then(self, size: ex.Size, runs: ex.Runs) -> dict[str, RunConfig]:
        """Each agent alone beside the fixed policy of the others."""
        fixed = fixed_policy(runs[SEARCH])
        return {
            f"only {agent.replace('_', ' ')}": ex.run_config(
                "loan", size, fixed={a: v for a, v in fixed.items() if a != agent}
            )
            for agent in fixed
        }

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> Any:
        """Trained agents -> "objective" in held-out episodes, (seeds,), and "queue" (`queue`)."""
        assert size.held_out is not None
        one = runs[EVERY][0]
        policies = fixed_policies(one.env, fixed_policy(runs[SEARCH]))
        fixed = [
            ex.held_out(one.env, one.params, policies, seed, size.held_out, ex.PERMUTATIONS)
            for seed in seeds
        ]
        alone = [key for key in runs if key not in (SEARCH, EVERY)]
        found = {FIXED: fixed} | {
            key: [ex.held_out_run(run, size.held_out, ex.PERMUTATIONS) for run in runs[key]]
            for key in (*alone, EVERY)
        }
        return {
            key: {
                "objective": np.array([ex.score(end, one.objective) for end in ends]),
                "queue": queue(one.env, ends),
            }
            for key, ends in found.items()
        }

    def conclude(self, data: Any) -> ex.Outcome:
        """All above each alone, each alone above none; paired by seed."""
        scores = {name: found["objective"] for name, found in data.items()}
        alone = [name for name in scores if name not in (FIXED, EVERY)]
        checks = [
            ex.Check.higher(f"{EVERY} scores above {name} (by)", scores[EVERY], scores[name])
            for name in alone
        ]
        checks += [
            ex.Check.higher(f"{name} scores above the {FIXED} (by)", scores[name], scores[FIXED])
            for name in alone
        ]
        rows = [[name, ex.iqm_text(values)] for name, values in scores.items()]
        waits = {name: found["queue"] for name, found in data.items()}
        lines = [[name, *(ex.cell(*one) for one in own.items())] for name, own in waits.items()]
        caption = (
            "The uniform objective in held-out episodes, the same for all within a seed;"
            " interquartile mean over seeds (95% interval)."
        )
        return ex.Outcome(
            figures={"": _plot(scores)},
            caption="Faint dots are seeds; dark ones interquartile means over seeds with stratified"
            " bootstrap 95% intervals.",
            tables=[
                ex.Table(["trained", "objective"], rows, caption),
                ex.Table(["trained", *waits[EVERY]], lines, f"**Who waits.** {COLUMNS} {ex.LUCK}"),
            ],
            checks=checks,
        )


def fixed_policy(searches: Sequence[Any]) -> dict[str, Any]:
    """Fixed policy by agent: the median over grid searches, rounded; the queue is random.

    Args:
        searches: Finished runs of the grid search.
    """
    found: dict[str, Any] = {}
    for agent in searches[0].env.agents:
        rules = [run.policies[agent] for run in searches]
        if all(isinstance(rule, Constant) for rule in rules):
            middle = np.median([np.asarray(rule.action) for rule in rules], axis=0)
            found[agent] = [round(float(value), 3) for value in middle]
        else:
            found[agent] = "random"
    return found


@style.styled
def _plot(data: Any) -> Figure:
    figure, (panel,) = style.panels(1, 1, 3.0)
    for place, (name, values) in enumerate(data.items()):
        colour = style.BASELINE_COLOUR if name == FIXED else style.POLICY_COLOURS[0]
        if name == EVERY:
            colour = style.POLICY_COLOURS[1]
        dot(panel, place, values, colour)
    panel.set_xticks(range(len(data)), list(data))
    panel.set_xlim(-0.5, len(data) - 0.5)
    style.set_title(panel, "Loan: objective ↑")
    panel.set_ylabel("score in held-out episodes")
    return figure
