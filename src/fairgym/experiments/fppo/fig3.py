"""Attention: deviation of units, deviation of incident rates, and reward."""

from typing import ClassVar

import numpy as np
from jaxtyping import PyTree

from fairgym.core import Environment
from fairgym.environments.attention.environment import MISSED_WEIGHT
from fairgym.experiments import _parts as ex
from fairgym.experiments.fppo._claims import LONG, REWARD, SHORT, Courses, Order
from fairgym.experiments.fppo._courses import BIAS, CourseFigure, Panel, unfairness
from fairgym.experiments.fppo._systems import A_PPO, ATTENTION, CPO, F_PPO, PPO
from fairgym.fairness import LargestGap, Rate, Windowed

LATELY = "lately"  # the short term as learners measure it
OTHERS = "the others"
SMOOTHED = 100  # steps over which the reward curve is smoothed


@ex.experiments.register("fppo-fig3")
class FppoFig3(CourseFigure):
    """A thousand steps of the dispatcher."""

    title = "F-PPO figure 3: short-term and long-term fairness of attention allocation"
    source = "Striking a Balance in Fairness, figure 3"
    claim = (
        '"F-PPO achieves the best long-term fairness performance while maintaining relatively low'
        ' short-term bias values and high rewards"; "although A-PPO produces the best short-term'
        ' fairness performance, its long-term fairness performance and utility are among the worst"'
    )
    system = ATTENTION
    sizes: ClassVar = ATTENTION.sizes
    caption = (
        f"Rewards are smoothed over {SMOOTHED} steps. All learners sample their allocations, as in"
        " training; the authors do so except for CPO, which takes the mean."
    )
    rivals: ClassVar = (PPO, A_PPO, CPO)
    references: ClassVar = {
        "random": "random",
        "a unit at every site": "cover_sites",
        "in proportion to incidents": "proportional",
    }
    published: ClassVar = {
        F_PPO: {SHORT: "0.05 to 0.08", LONG: "1.0 to 1.5", REWARD: "about 2.5"},
        PPO: {SHORT: "0.05 to 0.08", LONG: "1.0 to 1.5", REWARD: "about 2.5"},
        CPO: {SHORT: "0.05 to 0.08", LONG: "1.0 to 1.5", REWARD: "about 2.5"},
        A_PPO: {SHORT: "0.05 to 0.08", LONG: "near 4", REWARD: "about 1.6"},
    }
    orders: ClassVar = (
        Order(LONG, ((F_PPO,), (PPO, CPO), (A_PPO,))),
        Order(SHORT, ((A_PPO,), (F_PPO, PPO, CPO))),
    )

    def panels(self, env: Environment) -> list[Panel]:
        """Return panels of units so far (as in figure 3a), true rates and reward."""
        so_far = Windowed(env.spec.measures["short_term"].metric, 0)
        return [
            Panel("largest deviation of units", unfairness(so_far), SHORT),
            Panel("largest deviation of rates", unfairness(env.spec.measures["long_term"]), LONG),
            Panel("reward of a step", _reward, REWARD, smooth=SMOOTHED),
            Panel(
                "largest gap of discovery rates so far",
                unfairness(Windowed(LargestGap(Rate("found", "occurred")), 0)),
                BIAS,
                where="beyond",
            ),
            Panel(
                "largest deviation of units, last 300 steps",
                unfairness(env.spec.measures["short_term"]),
                LATELY,
                where="table",
            ),
        ]

    def claims(self, found: Courses) -> list[ex.Check]:
        """Check that F-PPO is fairest in the long term, and A-PPO in the short term only."""
        others = [PPO, CPO]
        everybody = (F_PPO, *others)
        return [
            *found.lower(LONG, F_PPO, [*others, A_PPO]),
            *found.lower(SHORT, F_PPO, others),
            *found.more(REWARD, F_PPO, (A_PPO,)),
            *found.lower(SHORT, A_PPO, [*others, F_PPO]),
            ex.Check.greater(
                f"{A_PPO} has more {LONG} than the others on average",
                found.mean(A_PPO, LONG),
                np.mean([found.mean(one, LONG) for one in everybody], axis=0),
                names=(A_PPO, OTHERS),
            ),
            ex.Check.greater(
                f"{A_PPO} has less {REWARD} than the others on average",
                np.mean([found.mean(one, REWARD) for one in everybody], axis=0),
                found.mean(A_PPO, REWARD),
                names=(OTHERS, A_PPO),
            ),
        ]


def _reward(trace: PyTree) -> np.ndarray:
    found, missed = (np.asarray(x, np.float64).sum(axis=2) for x in (trace.found, trace.missed))
    return found - MISSED_WEIGHT * missed
