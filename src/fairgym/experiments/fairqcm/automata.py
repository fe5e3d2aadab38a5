"""Automata as memories: how many states they have, and what is learned with them."""

import dataclasses
import math
from collections.abc import Mapping
from typing import ClassVar

from jaxtyping import PyTree
from matplotlib.figure import Figure

from fairgym.experiments import _parts as ex
from fairgym.experiments.fairqcm._bounds import optimum
from fairgym.experiments.fairqcm._learners import Learner, Panel
from fairgym.experiments.fairqcm._learning import (
    NO_BOOTSTRAP,
    OWN,
    RANDOM_PRESENT,
    TIME_ENDS,
    TIME_SEEN,
    LearningFigure,
    last,
    mean,
)
from fairgym.report import style
from fairgym.utils import make

PEOPLE, HORIZON = 3, 12
WELFARE, HANDED_OUT = "accumulated welfare (log of Nash)", "doughnuts not wasted"
ROUNDS, NEAR_TIES = "Rounds", "Differences to 2"
NAMES = {ROUNDS: "automaton:rounds", NEAR_TIES: "automaton:differences:2"}
OPTIMUM = "Optimum"
HORIZONS = (12, 40, 100, 400, 1_000)


@ex.experiments.register("fairqcm-automata")
class FairqcmAutomata(LearningFigure):
    """Q-learning with automata, and with the sums and differences that they replace."""

    name = "fairqcm-automata"
    title = "Beyond FairQCM: automata as memories"
    source = "Remembering to Be Fair, section 5.1 (theorems 5.4 and 5.5)"
    claim = (
        "none published with numbers; a finite automaton is a memory that does not grow with the"
        " horizon, and a learner with it needs fewer samples than with the full memory"
    )
    sizes: ClassVar = {
        "paper": ex.Size(epochs=100, steps=1_000, held_out=100, seeds=20),
        "quick": ex.Size(epochs=60, steps=1_000, held_out=100, seeds=4),
    }
    environment = "doughnut"
    environment_args: ClassVar = {"population": PEOPLE, "horizon": HORIZON, **TIME_SEEN}
    settings = OWN
    better_args: ClassVar = {}
    better_words = ""
    further_words = (
        f"Tabular Q-learning with the settings of figure 4; {TIME_ENDS}. “{ROUNDS}” remembers who"
        f" has been served in this round, “{NEAR_TIES}” how far each person is ahead, up to 2."
    )
    learners: ClassVar = {
        "Full": Learner("tabular-q", "full", NO_BOOTSTRAP),
        "Min": Learner("tabular-q", "min", NO_BOOTSTRAP),
        **{label: Learner("tabular-q", memory, NO_BOOTSTRAP) for label, memory in NAMES.items()},
    }
    panels: ClassVar = (Panel(WELFARE), Panel(HANDED_OUT, "handed_out"))
    lines: ClassVar = {"Oracle": "take_turns", RANDOM_PRESENT: "random_present"}
    unit = "step"

    def bounds(self) -> dict[str, dict[str, float]]:
        """Return the welfare of the best policy."""
        chance = float(make("doughnut").default_params.presence)
        return {OPTIMUM: {WELFARE: optimum(PEOPLE, HORIZON, chance)}}

    def claims(self, curves: Mapping[str, PyTree], lines: Mapping[str, PyTree]) -> list[ex.Check]:
        """Check both automata against the full memory."""
        return [
            ex.Check.higher(
                f"{label} scores above Full {when}",
                of(curves[label][WELFARE]),
                of(curves["Full"][WELFARE]),
                "own prediction",
            )
            for label in NAMES
            for when, of in (("over all of training", mean), ("in its last tenth", last))
        ]

    def conclude(self, data: PyTree) -> ex.Outcome:
        """Add the numbers of states at several horizons."""
        outcome = super().conclude(data)
        states = numbers_of_states()
        head = ["memory", *(f"{horizon:,} steps" for horizon in HORIZONS)]
        rows = [[label, *(f"{n:,}" for n in numbers)] for label, numbers in states.items()]
        caption = f"Number of memories that can be reached with {PEOPLE} people."
        return dataclasses.replace(
            outcome,
            figures={**outcome.figures, "states": _plot_states(states)},
            tables=[*outcome.tables, ex.Table(head, rows, caption)],
        )


def numbers_of_states() -> dict[str, list[int]]:
    """Return how many memories can be reached in an episode, by memory and horizon.

    In T steps at most T doughnuts are handed out to n people. So Full has (T + n over n) memories.
    Min forgets what all have: those of Full in which somebody has none.
    """

    def sums(people: int, horizon: int) -> int:
        return math.comb(horizon + people, people)

    found = {
        "Full": [sums(PEOPLE, horizon) for horizon in HORIZONS],
        # those in which everybody has one or more have n doughnuts less to hand out
        "Min": [sums(PEOPLE, one) - sums(PEOPLE, one - PEOPLE) for one in HORIZONS],
    }
    for label, name in NAMES.items():
        memory = make("doughnut", population=PEOPLE, memory=name).memory
        found[label] = [memory.states] * len(HORIZONS)
    return found


@style.styled
def _plot_states(states: Mapping[str, list[int]]) -> Figure:
    figure, axes = style.panels(1, 1, 2.4, legend_rows=style.legend_rows(list(states)))
    panel = axes[0]
    looks = ex.looks_of(list(states))
    for label, numbers in states.items():
        panel.plot(HORIZONS, numbers, label=label, **looks[label])
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.yaxis.set_major_formatter(lambda number, _: f"{number:,.0f}")
    panel.set_xticks(HORIZONS, [f"{one:,}" for one in HORIZONS])
    panel.minorticks_off()
    panel.set_xlabel("steps of an episode")
    panel.set_ylabel("memories that can be reached")
    style.top_legend(figure, panel.get_legend_handles_labels()[0])
    return figure
