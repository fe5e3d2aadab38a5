"""Deep learners with different memories in the lending pool."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from jaxtyping import PyTree

from fairgym.experiments import _parts as ex
from fairgym.experiments.fairqcm._learners import Learner, Panel
from fairgym.experiments.fairqcm._learning import (
    ENDS,
    NO_BOOTSTRAP,
    OURS,
    RANDOM,
    RANDOM_PRESENT,
    RECURRENT_STEPS,
    TIME_SEEN,
    LearningFigure,
    last,
)

PARITY, MISSED = "accumulated parity, less penalties", "episodes that miss the profit"
MOSTLY_MET = 0.1  # largest share of episodes that may miss the profit
BETTER = {
    **NO_BOOTSTRAP,
    "hidden": (64, 32),
    "input_code": "scaled",
    "learning_rate": 2e-3,
    "batch_size": 1_024,
    "epsilon_decay": 0.99,
    "learning_starts": 400,
}
REPLAYED = {**BETTER, "buffer_size": 8_000}
# A layer below the recurrent one has as many units as the first one of the others.
RECURRENT = {**REPLAYED, "hidden": (64,)}


class LendingFigure(LearningFigure):
    """FairQCM, DQN with two memories and a recurrent network; subclasses choose the credit."""

    sizes: ClassVar = {
        "paper": ex.Size(epochs=100, episodes=10, held_out=32, seeds=20),
        "quick": ex.Size(epochs=40, episodes=10, held_out=16, seeds=3),
    }
    environment = "lending_pool"
    better_args: ClassVar = TIME_SEEN
    better_words = (
        f"In the better settings, {ENDS}. Inputs are scaled instead of binary coded, layers have 64"
        " and 32 units instead of 32 and 8, the learning rate is 0.002 instead of 0.0001, a batch"
        " has 1,024 transitions, all others replay 8,000 transitions, like FairQCM, and exploration"
        " decays faster. All learn from 400 stored transitions on. The recurrent network has one"
        " layer of 64 units below the recurrent one."
    )
    further_words = RECURRENT_STEPS
    # Runs in this environment have the settings of table 2 (`HYPERPARAMETERS` of its module).
    learners: ClassVar = {
        OURS: Learner("fair-qcm", "min", better=BETTER),
        "Full": Learner("dqn", "full", better=REPLAYED),
        "Min": Learner("dqn", "min", better=REPLAYED),
        "RNN": Learner("drqn", better=RECURRENT),
        "None": Learner("dqn", published=False),
    }
    panels: ClassVar = (Panel(PARITY), Panel(MISSED, "margin_missed", -1))
    lines: ClassVar = {
        "Alternate groups": "alternate_groups",
        RANDOM_PRESENT: "random_present",
        RANDOM: "random",
    }

    def met(self, curves: Mapping[str, PyTree]) -> ex.Check:
        """Check that all learners reach the profit margin at the end."""
        shares = {label: last(one[MISSED]) for label, one in curves.items()}
        worst = max(shares, key=lambda label: float(np.mean(shares[label])))
        return ex.Check.below(
            f"all meet the margin of 10% (share of the last episodes in which {worst}, the worst,"
            f" misses it: below {MOSTLY_MET})",
            shares[worst],
            MOSTLY_MET,
        )


@ex.experiments.register("fairqcm-fig3")
class FairqcmFig3(LendingFigure):
    """Credit scores that change by a tenth."""

    name = "fairqcm-fig3"
    title = "FairQCM figure 3: memories of deep learners in the lending pool"
    source = "Remembering to Be Fair, figure 3"
    claim = (
        "FairQCM accumulates the highest relaxed demographic parity score; the recurrent network is"
        " above some of the others; all of them meet the 10% profit margin"
    )
    environment_args: ClassVar = {"credit": "discrete"}

    def claims(self, curves: Mapping[str, PyTree], lines: Mapping[str, PyTree]) -> list[ex.Check]:
        """Check FairQCM against all, the recurrent network against some, and the profit."""
        return [
            *super().claims(curves, lines),
            self.above_some(curves, "RNN"),
            self.met(curves),
        ]
