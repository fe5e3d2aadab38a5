"""Bank loans: gap of true positive rates, distance of scores, and the bank's cash."""

from typing import ClassVar

import numpy as np
from jaxtyping import PyTree

from fairgym.core import Environment
from fairgym.environments.bank_loans import BankLoansParams
from fairgym.experiments import _parts as ex
from fairgym.experiments.fppo._courses import (
    LONG,
    REWARD,
    SHORT,
    CourseFigure,
    Courses,
    Panel,
    lately,
    unfairness,
)
from fairgym.experiments.fppo._systems import A_PPO, BANK_LOANS, F_PPO, PPO

EO = "EO"
OF_MEANS = "gap of means"  # second interpretation of the short term
LARGEST_GAP = 0.1  # EO, A-PPO and F-PPO stay below it, PPO does not
ALIKE = 0.8  # share of the highest profit from which profits count as alike


@ex.experiments.register("fppo-fig1")
class FppoFig1(CourseFigure):
    """Ten thousand steps of the bank."""

    title = "F-PPO figure 1: short-term and long-term fairness of bank loans"
    source = "Striking a Balance in Fairness, figure 1"
    claim = (
        '"despite similar performance in terms of reward [...] EO, A-PPO and F-PPO are all able to'
        ' keep the bias values below 0.1, while the original PPO produces much larger bias values";'
        ' F-PPO "consistently achieves the smallest bias values" in the long term, which "continue'
        ' to decrease over time"; A-PPO "produces the worst performance where the bias values'
        ' increase over time"'
    )
    system = BANK_LOANS
    sizes: ClassVar = BANK_LOANS.sizes
    evaluation_args: ClassVar = {"horizon": 10_000}
    rivals: ClassVar = (PPO, A_PPO)
    rules: ClassVar = {EO: "equal_opportunity"}
    rules_args: ClassVar = {"informed": True}

    def panels(self, env: Environment) -> list[Panel]:
        """Return panels with both interpretations of the short term.

        These are the mean of the runs' gaps, and the gap of their means. The paper plots the
        latter, which noise in the runs does not widen.
        """
        gap, distance = env.spec.measures["short_term"], env.spec.measures["long_term"]
        return [
            Panel("gap of true positive rates", unfairness(gap), SHORT),
            Panel(
                "gap of mean true positive rates",
                lambda trace: gap_of_means(trace, gap.steps),
                OF_MEANS,
            ),
            Panel("distance of scores", unfairness(distance), LONG),
            Panel("cash, in dollars", lambda trace: trace.cash, REWARD),
        ]

    def claims(self, found: Courses) -> list[ex.Check]:
        """Check that gaps are small except PPO's, and how distances change with F-PPO and A-PPO.

        EO has equal rates by its rule, and a windowed gap by chance only. Learners sample their
        decisions; this was chosen because A-PPO keeps its bound only then.
        """
        kinds: dict[str, ex.Kind] = {EO: "by construction", A_PPO: "calibrated"}
        interpretations = {"mean gap": SHORT, "gap of the means": OF_MEANS}
        below = [
            ex.Check.below(
                f"{label} keeps the gap below {LARGEST_GAP} ({words})",
                found.mean(label, what),
                LARGEST_GAP,
                kinds.get(label, "predicted"),
            )
            for label in (EO, A_PPO, F_PPO)
            for words, what in interpretations.items()
        ]
        above = [
            ex.Check.above(
                f"{PPO} does not keep it that low ({words})", found.mean(PPO, what), LARGEST_GAP
            )
            for words, what in interpretations.items()
        ]
        return [
            *self._alike(found),
            *below,
            *above,
            *found.lower(LONG, F_PPO, (EO, PPO, A_PPO)),
            *found.lower(LONG, F_PPO, (EO, PPO, A_PPO), at_end=True),
            ex.Check.higher(
                f"the distance shrinks with {F_PPO}",
                found.first(F_PPO, LONG),
                found.last(F_PPO, LONG),
            ),
            *found.more(LONG, A_PPO, (EO, PPO), at_end=True),
            ex.Check.higher(
                f"the distance grows with {A_PPO}",
                found.last(A_PPO, LONG),
                found.first(A_PPO, LONG),
            ),
        ]

    def _alike(self, found: Courses) -> list[ex.Check]:
        """Check the lowest profit against the highest."""
        cash = float(BankLoansParams.cash)
        profits = {
            label: found.courses[label][found.names[REWARD]][:, -1] - cash
            for label in (EO, PPO, A_PPO, F_PPO)
        }
        least, most = (
            choose(profits, key=lambda label: float(np.mean(profits[label])))
            for choose in (min, max)
        )
        return [
            ex.Check.above(
                f"profits are alike ({least}'s profit, the lowest, as a share of {most}'s, the"
                f" highest: above {ALIKE})",
                profits[least] / profits[most],
                limit=ALIKE,
            )
        ]


def gap_of_means(trace: PyTree, window: int) -> np.ndarray:
    """Return the gap between the groups' true positive rates, averaged over episodes first.

    Args:
        trace: Components of several episodes.
        window: Number of steps of a rate.

    Returns:
        The gap after each step, (steps,); 0 if nobody of a group would have repaid in any episode.
    """
    successful, would_repay = (
        np.moveaxis(lately(getattr(trace, name), window), 2, 0)
        for name in ("successful", "would_repay")
    )
    known = would_repay > 0
    rates = np.divide(successful, would_repay, out=np.zeros_like(successful), where=known)
    of_group = rates.sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    return np.where(known.any(axis=1).all(axis=0), np.abs(of_group[0] - of_group[1]), 0.0)
