"""A doughnut shop in which some people leave early, so that foresight matters."""

from collections.abc import Mapping
from typing import ClassVar

from jaxtyping import PyTree

from fairgym.experiments import _parts as ex
from fairgym.experiments.fairqcm._bounds import HANDED_OUT, Shop, best
from fairgym.experiments.fairqcm._learners import Learner, Panel
from fairgym.experiments.fairqcm._learning import (
    NO_BOOTSTRAP,
    OURS,
    OWN,
    RANDOM_PRESENT,
    LearningFigure,
    last,
)
from fairgym.fairness import Full, Nash, Scheme
from fairgym.fairness.welfare import welfare_scheme
from fairgym.utils import make

PEOPLE, HORIZON = 3, 12
STAYS = (4, 8, 12)  # steps after which each person never comes again
WELFARE = "log of Nash welfare at the end (1: one each)"
AT_THE_END = f"periodic:{HORIZON}:nash"  # one assessment, so that it is a reward of a step
BEST, MYOPIC = "Best possible", "Best in each step"
NEAR = 0.97  # share of the best possible
SETTINGS = {**NO_BOOTSTRAP, "gamma": 1.0, "epsilon_end": 0.05}


@ex.experiments.register("fairqcm-myopia")
class FairqcmMyopia(LearningFigure):
    """Tabular learners where the largest gain in each step is not the best choice."""

    name = "fairqcm-myopia"
    title = "Beyond FairQCM: a shop in which foresight matters"
    source = "beyond Remembering to Be Fair; exact planning (fairgym.fairness.planning)"
    claim = (
        "none published; where people leave early, learners with a memory score above the policy"
        " that takes the largest gain in each step, and FairQCM comes close to the best possible"
    )
    sizes: ClassVar = {
        "paper": ex.Size(epochs=100, steps=1_000, held_out=100, seeds=20),
        "quick": ex.Size(epochs=60, steps=1_000, held_out=100, seeds=4),
    }
    environment = "doughnut"
    environment_args: ClassVar = {"population": PEOPLE, "horizon": HORIZON, "shows_time": True}
    params: ClassVar = {"stays": list(STAYS)}
    objective = AT_THE_END
    settings = OWN
    better_args: ClassVar = {}
    better_words = ""
    further_words = (
        f"The three people never come again after {STAYS[0]}, {STAYS[1]} and {STAYS[2]} steps."
        " Learners observe the time, and have the discount factor 1 and no time limit"
        " bootstrapping. The two exact lines are from dynamic programming over all histories."
    )
    learners: ClassVar = {
        OURS: Learner("tabular-fair-qcm", "full", {**SETTINGS, "offsets": (0, 1)}),
        "Full": Learner("tabular-q", "full", SETTINGS),
        "Min": Learner("tabular-q", "min", SETTINGS),
        "None": Learner("tabular-q", "", SETTINGS),
    }
    unpublished: ClassVar = ("Full", "Min", "None")
    panels: ClassVar = (Panel(WELFARE),)
    lines: ClassVar = {
        "Oracle": "take_turns",
        RANDOM_PRESENT: "random_present",
    }
    unit = "step"

    def bounds(self) -> dict[str, dict[str, float]]:
        """Return the exact scores of the best policy and of the best option in each step."""
        chance = float(make("doughnut").default_params.presence)
        shop = Shop(PEOPLE, HORIZON, chance, STAYS)
        env = make(self.environment, **self.environment_args)
        equal = welfare_scheme(env, AT_THE_END).normaliser
        # the same score, whose gain in each step is the change of the welfare
        scheme = Scheme.long_term(Full(HANDED_OUT), Nash())
        return {
            BEST: {WELFARE: best(shop, scheme) / equal},
            MYOPIC: {WELFARE: best(shop, scheme, foresight=False) / equal},
        }

    def claims(self, curves: Mapping[str, PyTree], lines: Mapping[str, PyTree]) -> list[ex.Check]:
        """Check FairQCM against the other memories and both exact policies."""
        myopic, limit = lines[MYOPIC][WELFARE], NEAR * lines[BEST][WELFARE]
        score = last(curves[OURS][WELFARE])
        return [
            *super().claims(curves, lines),
            ex.Check.above(
                f"{OURS} ends above the best in each step ({myopic:.2f})",
                score,
                myopic,
                "own prediction",
            ),
            ex.Check.above(
                f"{OURS} ends near the best possible (above {NEAR:.0%} of it, {limit:.2f})",
                score,
                limit,
                "own prediction",
            ),
        ]
