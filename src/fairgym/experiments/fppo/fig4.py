"""Epidemic: gap of vaccines per infection, distance of health, and people not infected."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from jaxtyping import PyTree

from fairgym.core import Environment
from fairgym.experiments import _parts as ex
from fairgym.experiments.fppo._claims import LONG, REWARD, SHORT, Courses, Order
from fairgym.experiments.fppo._courses import CourseFigure, Panel, unfairness
from fairgym.experiments.fppo._systems import A_PPO, EPIDEMIC, F_PPO, PPO
from fairgym.policies import rules

MAX, OF_THE_TEXT = "Max", "Max of the text"


@ex.experiments.register("fppo-fig4")
class FppoFig4(CourseFigure):
    """Twenty steps of the clinic."""

    title = "F-PPO figure 4: short-term and long-term fairness in an epidemic"
    source = "Striking a Balance in Fairness, figure 4"
    claim = (
        '"F-PPO achieves the best performance in terms of long-term fairness and significantly'
        " improves short-term fairness compared with the Max and PPO agents. A-PPO achieves the"
        " best performance in terms of short-term fairness, but produces the worst performance in"
        " gaining rewards. As expected, the Max agent achieves the highest utility performance, but"
        ' it also demonstrates the poorest fairness performance"'
    )
    system = EPIDEMIC
    sizes: ClassVar = EPIDEMIC.sizes
    rivals: ClassVar = (PPO, A_PPO)
    references: ClassVar = {
        OF_THE_TEXT: "most_exposed",
        "random susceptible": "random_susceptible",
        "nobody": "nobody",
    }
    published: ClassVar = {
        MAX: {SHORT: "1.8", REWARD: "0.29"},
        PPO: {SHORT: "1.4", REWARD: "0.22"},
        F_PPO: {SHORT: "0.46", REWARD: "0.155 to 0.29"},
        A_PPO: {SHORT: "0.16", REWARD: "0.155"},
    }
    orders: ClassVar = (
        Order(SHORT, ((A_PPO,), (F_PPO,), (PPO,), (MAX,))),
        Order(LONG, ((F_PPO,), (A_PPO, PPO), (MAX,))),
        Order(REWARD, ((A_PPO,), (F_PPO, PPO), (MAX,))),
    )
    caption = (
        f"{MAX} is the agent of the authors' code, which gives the published curve: it vaccinates"
        " the person with the most contacts, and continues with all others once nobody is"
        f" susceptible. {OF_THE_TEXT} vaccinates the susceptible person with the most infected"
        " contacts, as the paper says. The published A-PPO, with a reward of 0.155 at the end, was"
        " probably trained less than the one here. At the end of the episode, the gap of vaccines"
        " per new infection is the bias that ELBERT-PO reduces."
    )

    def hand_written(self, env: Environment) -> dict[str, Mapping[str, Any]]:
        """Return the Max of the code, and the references."""
        degree = rules.get("highest-degree")(env, "clinic", goes_on=True)
        return {MAX: {"clinic": degree}, **super().hand_written(env)}

    def panels(self, env: Environment) -> list[Panel]:
        """Return panels of vaccines and infections so far, current health, and reward."""
        return [
            Panel(
                "gap of vaccines per new infection",
                unfairness(env.spec.measures["short_term"]),
                SHORT,
            ),
            Panel("distance of health", unfairness(env.spec.measures["long_term"]), LONG),
            Panel("share not infected", _not_infected, REWARD),
        ]

    def claims(self, found: Courses) -> list[ex.Check]:
        """Check who is fairest in the long and the short term, and the reward of Max."""
        return [
            *found.lower(LONG, F_PPO, (MAX, PPO, A_PPO)),
            *found.lower(SHORT, F_PPO, (MAX, PPO)),
            *found.lower(SHORT, A_PPO, (MAX, PPO, F_PPO)),
            *found.lower(REWARD, A_PPO, (F_PPO, PPO)),
            *found.more(REWARD, MAX, (F_PPO, PPO, A_PPO)),
            *found.more(SHORT, MAX, (PPO,)),
            *found.more(LONG, MAX, (PPO, A_PPO)),
        ]


def _not_infected(trace: PyTree) -> np.ndarray:
    well, people = (
        np.asarray(x, np.float64).sum(axis=2) for x in (trace.not_infected, trace.people)
    )
    return well / people
