"""Tabular learners with different memories in a small doughnut shop."""

import dataclasses
from typing import ClassVar

from jaxtyping import PyTree

from fairgym.experiments import _parts as ex
from fairgym.experiments.fairqcm._bounds import optimum
from fairgym.experiments.fairqcm._learners import Learner, Panel
from fairgym.experiments.fairqcm._learning import (
    BETTER,
    ENDS,
    NO_BOOTSTRAP,
    OURS,
    RANDOM,
    RANDOM_PRESENT,
    TIME_SEEN,
    LearningFigure,
    last,
)
from fairgym.utils import make

PEOPLE, HORIZON = 3, 12
WELFARE, HANDED_OUT = "accumulated welfare (log of Nash)", "doughnuts not wasted"
OPTIMUM = "Optimum"
NEAR = 0.98  # share of the optimum


@ex.experiments.register("fairqcm-fig4")
class FairqcmFig4(LearningFigure):
    """Tabular FairQCM, and Q-learning with three memories."""

    name = "fairqcm-fig4"
    title = "FairQCM figure 4: memories of tabular learners in the doughnut shop"
    source = "Remembering to Be Fair, figure 4 and appendix A.2"
    claim = "FairQCM performs best, in its score and in the samples that it needs"
    sizes: ClassVar = {
        "paper": ex.Size(epochs=100, steps=1_000, held_out=100, seeds=20),
        "quick": ex.Size(epochs=100, steps=1_000, held_out=100, seeds=4),
    }
    environment = "doughnut"
    environment_args: ClassVar = {"population": PEOPLE, "horizon": HORIZON}
    better_args: ClassVar = TIME_SEEN
    better_words = (
        f"In the better settings, {ENDS}. FairQCM's counterfactual memories have the same number of"
        " doughnuts or one more, instead of one or two more."
    )
    learners: ClassVar = {
        OURS: Learner("tabular-fair-qcm", "full", better={**NO_BOOTSTRAP, "offsets": (0, 1)}),
        "Full": Learner("tabular-q", "full", better=NO_BOOTSTRAP),
        "Min": Learner("tabular-q", "min", better=NO_BOOTSTRAP),
        "Reset": Learner("tabular-q", "reset", better=NO_BOOTSTRAP),
        "None": Learner("tabular-q", published=False),
    }
    panels: ClassVar = (Panel(WELFARE), Panel(HANDED_OUT, "handed_out"))
    lines: ClassVar = {
        "Oracle": "take_turns",
        RANDOM_PRESENT: "random_present",
        RANDOM: "random",
    }
    unit = "step"
    most_seeds: ClassVar = {}  # tables learn in seconds

    def bounds(self) -> dict[str, dict[str, float]]:
        """Return the welfare of the best policy."""
        chance = float(make("doughnut").default_params.presence)
        return {OPTIMUM: {WELFARE: optimum(PEOPLE, HORIZON, chance)}}

    def conclude(self, data: PyTree) -> ex.Outcome:
        """Check the published claims, and how close the better settings come to the optimum."""
        outcome = super().conclude(data)
        limit = NEAR * data["lines"][OPTIMUM][WELFARE]
        near = ex.Check.above(
            f"{BETTER}: {OURS} ends near the optimum (above {NEAR:.0%} of it, {limit:.1f})",
            last(data["curves"][BETTER][OURS][WELFARE]),
            limit,
            "calibrated",
        )
        return dataclasses.replace(outcome, checks=[*outcome.checks, near])
