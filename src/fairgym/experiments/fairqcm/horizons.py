"""How much memory is enough as horizons grow: full, relative, past-discounted and windowed."""

from collections.abc import Sequence
from typing import Any, ClassVar

import jax
import numpy as np
from jaxtyping import PyTree
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from fairgym.experiments import _parts as ex
from fairgym.policies import fixed_policies
from fairgym.report import style
from fairgym.results.numbers import number
from fairgym.training import evaluate

PEOPLE = 4
HORIZONS = (40, 100, 400, 1_000)
MEMORIES = {
    "Full": "full",
    "Min": "min",
    "Past-discounted": "past-discounted:0.9",
    "Last 4 steps": "recent:4",
    "Last 12 steps": "recent:12",
    "Last 48 steps": "recent:48",
    "None": "",
}
# Title of a panel -> its memories.
PANELS = {
    "Kinds of memory": ("Full", "Min", "Past-discounted", "Last 12 steps", "None"),
    "Lengths of windows": ("Full", "Last 4 steps", "Last 12 steps", "Last 48 steps", "None"),
}
LINES = {"Turns": "take_turns", "Random among those present": "random_present"}
# Chosen by hand; the same exploration in all steps.
SETTINGS = {
    "learning_rate": 1e-3,
    "input_code": "scaled",
    "batch_size": 256,
    "buffer_size": 6_400,
    "learning_starts": 400,
    "epsilon_decay": 1.0,
    "epsilon_start": 0.2,
    "target_network_frequency": 100,
    "gamma": 0.8,
}
AVERSION = 0.5  # doughnuts that a difference of one costs in a step
DIFFERENCE = "mean difference, most and fewest doughnuts"


@ex.experiments.register("fairqcm-horizons")
class FairqcmHorizons(ex.Experiment):
    """DQN with seven memories in shops that stay open for 40 to 1,000 steps."""

    title = "Beyond FairQCM: how much memory is enough"
    source = "beyond Remembering to Be Fair; past-discounting after Kumar and Yeoh (2026)"
    claim = (
        "none published as a figure; a memory whose size does not grow with the horizon"
        " (differences, a past that fades, a window) keeps people together at long horizons, where"
        " the sums of a full memory no longer do"
    )
    sizes: ClassVar = {
        "paper": ex.Size(epochs=10, steps=6_000, held_out=8, seeds=10),
        "quick": ex.Size(epochs=2, steps=4_000, held_out=2, seeds=3),
    }
    horizons: ClassVar[Sequence[int]] = HORIZONS

    def grid(self, size: ex.Size) -> ex.Grid:
        """Return every memory at every horizon, with the same number of steps in all."""
        assert size.steps is not None and size.epochs is not None
        grid = {}
        for horizon in self.horizons:
            episodes = max(size.epochs * size.steps // horizon, 1)
            epochs = min(size.epochs, episodes)
            length = {"epochs": epochs, "episodes_per_epoch": episodes // epochs}
            for label, memory in MEMORIES.items():
                grid[f"{label}/{horizon}"] = ex.RunConfig(
                    "doughnut",
                    {"population": PEOPLE, "horizon": horizon},
                    algorithm="dqn",
                    algorithm_args={**SETTINGS, **length},
                    objective=_objective(horizon),
                    memory=memory,
                )
        return grid

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Return the mean difference by memory and seed, and of fixed rules, for each horizon."""
        assert size.held_out is not None
        found: dict[str, Any] = {"horizons": list(self.horizons), "learned": {}, "lines": {}}
        for label in MEMORIES:
            found["learned"][label] = np.array(
                [
                    [self._difference(run, run.policies, size.held_out) for run in runs[key]]
                    for key in (f"{label}/{horizon}" for horizon in self.horizons)
                ]
            )
        for label, name in LINES.items():
            found["lines"][label] = []
            for horizon in self.horizons:
                run = runs[f"None/{horizon}"][0]
                rule = fixed_policies(run.env, run.env.spec.baselines[name])
                many = size.held_out * len(seeds)
                found["lines"][label].append(self._difference(run, rule, many))
        return found

    def _difference(self, run: ex.Run, policies: Any, episodes: int) -> float:
        """Return how far apart people are, on average over the steps of held-out episodes."""
        evaluation = evaluate(
            run.env,
            run.params,
            policies,
            jax.random.key(ex.HELD_OUT),
            episodes,
            objective=run.objective,
            trace=True,
        )
        given = np.cumsum(np.asarray(evaluation.trace.handed_out), axis=1)
        return float(np.mean(given.max(axis=2) - given.min(axis=2)))

    def conclude(self, data: PyTree) -> ex.Outcome:
        """Compare the bounded memories with the full one at the longest horizon."""
        learned, longest = data["learned"], data["horizons"][-1]
        full = learned["Full"][-1]
        checks = [
            ex.Check.higher(
                f"{label} keeps people closer than Full at {longest:,} steps (lead)",
                full,
                learned[label][-1],
                "own prediction",
            )
            for label in learned
            if label not in ("Full", "None")
        ]
        checks.append(
            ex.Check.higher(
                f"Past-discounted keeps people closer than no memory at {longest:,} steps (lead)",
                learned["None"][-1],
                learned["Past-discounted"][-1],
                "own prediction",
            )
        )
        rows = [
            [label, *(ex.iqm_text(values) for values in each)] for label, each in learned.items()
        ]
        rows += [[label, *map(number, each)] for label, each in data["lines"].items()]
        head = ["memory", *(f"{horizon:,} steps" for horizon in data["horizons"])]
        caption = (
            f"{DIFFERENCE[0].upper()}{DIFFERENCE[1:]}, over the steps of held-out episodes;"
            " interquartile mean over seeds [95% CI]. Lower is better."
        )
        return ex.Outcome(
            figures={"": self._plot(data)},
            caption=f"{ex.CAPTION} Every learner made the same number of steps. It is rewarded for"
            " doughnuts that are not wasted and for equal numbers after every step.",
            tables=[ex.Table(head, rows, caption)],
            checks=checks,
        )

    @style.styled
    def _plot(self, data: PyTree) -> Figure:
        horizons, looks = data["horizons"], ex.looks_of(list(MEMORIES))
        looks["None"] |= {"color": style.MUTED}
        rows = style.legend_rows([*MEMORIES, *LINES])
        figure, axes = style.panels(len(PANELS), 2, 2.8, legend_rows=rows, sharey=True)
        handles: dict[str, Any] = {}
        for panel, (title, memories) in zip(axes, PANELS.items(), strict=True):
            for label in memories:
                ex.curve(panel, horizons, data["learned"][label].T, looks[label], label)
            for place, (name, values) in enumerate(data["lines"].items()):
                panel.plot(horizons, values, label=name, **style.baseline_line(place))
            panel.set_xscale("log")
            panel.set_yscale("log")
            panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            panel.yaxis.set_major_formatter(lambda number, _: f"{number:,g}")
            panel.set_xticks(horizons, [f"{one:,}" for one in horizons])
            panel.minorticks_off()
            panel.set_xlabel("steps of an episode")
            style.set_title(panel, title)
            lines, labels = panel.get_legend_handles_labels()
            handles |= dict(zip(labels, lines, strict=True))
        axes[0].set_ylabel("most minus fewest\ndoughnuts (mean)")
        style.top_legend(figure, list(handles.values()))
        return figure


def _objective(horizon: int) -> dict[str, float]:
    """Return weights with which a step has its doughnut minus AVERSION times the difference.

    Both terms are divided by the horizon, their normaliser.
    """
    return {"handed_out": float(horizon), "anytime:parity": AVERSION * horizon}
