"""Deep learners with different memories in the doughnut shop."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from jaxtyping import PyTree

from fairgym.experiments import _parts as ex
from fairgym.experiments.fairqcm._bounds import bound
from fairgym.experiments.fairqcm._learners import Learner, Panel
from fairgym.experiments.fairqcm._learning import (
    OURS,
    RANDOM,
    RANDOM_PRESENT,
    RECURRENT,
    RECURRENT_STEPS,
    LearningFigure,
    common,
    last,
    mean,
)

PEOPLE, HORIZON = 5, 100
BETTER = {
    "learning_rate": 3e-3,
    "input_code": "scaled",
    "batch_size": 512,
    "epsilon_decay": 0.98,
    "target_network_frequency": 100,
    "gamma": 0.5,
    "learning_starts": 400,
}
REPLAYED = {**BETTER, "buffer_size": 6_400}
WELFARE, HANDED_OUT = "accumulated welfare (log of Nash)", "doughnuts not wasted"


@ex.experiments.register("fairqcm-fig2")
class FairqcmFig2(LearningFigure):
    """Deep FairQCM, DQN with three memories, and a recurrent network."""

    name = "fairqcm-fig2"
    title = "FairQCM figure 2: memories of deep learners in the doughnut shop"
    source = "Remembering to Be Fair, figure 2"
    claim = (
        "deep FairQCM achieves higher Nash welfare than competing memory-augmented agents, while"
        " learning to allocate doughnuts effectively near the end of training; the recurrent"
        " network is above some of the others, and the first to avoid waste"
    )
    sizes: ClassVar = {
        "paper": ex.Size(epochs=100, episodes=10, held_out=32, seeds=20),
        "quick": ex.Size(epochs=15, episodes=10, held_out=16, seeds=3),
    }
    environment = "doughnut"
    environment_args: ClassVar = {"population": PEOPLE, "horizon": HORIZON}
    better_args: ClassVar = {}
    better_words = (
        "In the better settings, inputs are scaled instead of binary coded, the learning rate is"
        " 0.003 instead of 0.0001, the discount factor 0.5 instead of 0.95, a batch has 512"
        " transitions, exploration decays faster, and the target network is updated every 100"
        " steps. All others replay 6,400 transitions, like FairQCM, and all learn from 400 stored"
        " transitions on. FairQCM's counterfactual"
        " memories have the same number of doughnuts or one more, instead of one or two more."
    )
    further_words = RECURRENT_STEPS
    # The defaults of the algorithms are the paper's settings for this environment.
    learners: ClassVar = {
        OURS: Learner("fair-qcm", "full", better={**BETTER, "offsets": (0, 1)}),
        "Full": Learner("dqn", "full", better=REPLAYED),
        "Min": Learner("dqn", "min", better=REPLAYED),
        "Reset": Learner("dqn", "reset", better=REPLAYED),
        "RNN": Learner("drqn", better=REPLAYED),
        "None": Learner("dqn", published=False),
    }
    panels: ClassVar = (Panel(WELFARE), Panel(HANDED_OUT, "handed_out"))
    lines: ClassVar = {
        "Oracle": "take_turns",
        RANDOM_PRESENT: "random_present",
        RANDOM: "random",
    }

    def bounds(self) -> dict[str, dict[str, float]]:
        """Return the welfare if everybody were always present."""
        return {"Bound without absences": {WELFARE: bound(PEOPLE, HORIZON)}}

    def claims(self, curves: Mapping[str, PyTree], lines: Mapping[str, PyTree]) -> list[ex.Check]:
        """Check FairQCM against each other learner, and waste at the end and early in training."""
        limit = lines[RANDOM][HANDED_OUT]
        quarter = {
            label: mean(one[HANDED_OUT][:, : max(1, one[HANDED_OUT].shape[1] // 4)])
            for label, one in curves.items()
        }
        recurrent, *rest = common(
            quarter[RECURRENT], *(quarter[label] for label in curves if label != RECURRENT)
        )
        return [
            *super().claims(curves, lines),
            ex.Check.above(
                f"{OURS} ends with fewer wasted doughnuts than random choice (not wasted above"
                f" {limit:.0f})",
                last(curves[OURS][HANDED_OUT]),
                limit,
            ),
            self.above_some(curves, RECURRENT),
            ex.Check.higher(
                "RNN wastes least in the first quarter of training"
                " (not wasted; lead over the next)",
                recurrent,
                np.max(rest, axis=0),
            ),
        ]
