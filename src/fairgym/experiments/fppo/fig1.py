"""Bank loans: gap of true positive rates, distance of scores, and the bank's cash."""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import PyTree

from fairgym.core import Environment
from fairgym.environments.bank_loans import BankLoansParams
from fairgym.experiments import _parts as ex
from fairgym.experiments.fppo._claims import LONG, REWARD, SHORT, Courses, Order
from fairgym.experiments.fppo._courses import BIAS, CourseFigure, Panel, lately, unfairness
from fairgym.experiments.fppo._frontier import blind_rules, frontier_figure, frontier_table
from fairgym.experiments.fppo._systems import A_PPO, BANK_LOANS, F_PPO, PPO
from fairgym.fairness import Windowed

EO = "EO"
CASH = float(BankLoansParams.cash)
BLIND_SEEDS = 5  # in which blind rules are measured
OF_MEANS = "gap of means"  # second interpretation of the short term
APPROVED = "approved"
NEARLY_ALL, HARDLY_ANY = 0.85, 0.15  # share of approved applicants
FALLEN, START = 0.8, 1.0  # distances of scores: clearly below the start, and at the start
LARGEST_GAP = 0.1  # EO, A-PPO and F-PPO stay below it, PPO does not
ALIKE = 0.2  # share of PPO's profit by which profits that are alike may differ


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
    # the paper shows one run, and learners have two outcomes: more seeds tell their shares
    sizes: ClassVar = BANK_LOANS.sizes | {
        "paper": dataclasses.replace(BANK_LOANS.sizes["paper"], seeds=20)
    }
    evaluation_args: ClassVar = {"horizon": 10_000}
    rivals: ClassVar = (PPO, A_PPO)
    rules: ClassVar = {EO: "equal_opportunity"}
    rules_args: ClassVar = {"informed": True}
    caption = (
        "Learners observe what the authors' bank does: the applicant, and the groups' true positive"
        " rates and applicants' scores of the last 300 steps."
    )
    published: ClassVar = {
        label: {
            OF_MEANS: "0.1 to 0.3" if label == PPO else "below 0.1",
            REWARD: "about 11,800",
        }
        for label in (EO, PPO, A_PPO, F_PPO)
    }
    orders: ClassVar = (
        Order(OF_MEANS, ((EO, A_PPO, F_PPO), (PPO,))),
        Order(LONG, ((F_PPO,), (EO, PPO), (A_PPO,))),
    )
    outcomes: ClassVar = {
        "lends to nearly everybody": lambda found, label: found.last(label, APPROVED) > NEARLY_ALL,
        "hardly lends": lambda found, label: found.last(label, APPROVED) < HARDLY_ANY,
        f"distance ends below {FALLEN}": lambda found, label: found.last(label, LONG) < FALLEN,
        f"distance ends above the start, {START:g}": lambda found, label: (
            found.last(label, LONG) > START
        ),
    }

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
            Panel(
                "gap of true positive rates so far",
                unfairness(Windowed(gap.metric, 0)),
                BIAS,
                where="beyond",
            ),
            Panel(
                "share of applicants approved",
                lambda trace: lately(np.sum(trace.approved, axis=2), gap.steps),
                APPROVED,
                where="table",
            ),
        ]

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Return courses, and the ends of rules that are blind to groups."""
        assert size.held_out is not None
        data = super().measure(size, runs, seeds)
        blind = {}
        for label, policies in blind_rules(self.evaluated_in()).items():
            each = dict.fromkeys(seeds[:BLIND_SEEDS], (self.evaluated_in(), policies))
            blind[label] = self.courses(each, size.held_out)
        return data | {"blind": blind}

    def conclude(self, data: PyTree) -> ex.Outcome:
        """Add the frontier of profit against distance."""
        outcome = super().conclude(data)
        names = {what: label for label, what in data["panels"].items()}
        ends = {
            kind: {
                label: (own[names[LONG]][:, -1], own[names[REWARD]][:, -1] - CASH)
                for label, own in data[kind].items()
            }
            for kind in ("courses", "blind")
        }
        learners = {label: ends["courses"][label] for label in (*data["mode"], EO)}
        figure = frontier_figure(learners, ends["blind"], START)
        return dataclasses.replace(
            outcome,
            figures={**outcome.figures, "frontier": figure},
            tables=[*outcome.tables, frontier_table(ends["blind"])],
        )

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
        """Check that profits are equivalent to PPO's, by a margin of a fifth of it."""
        profits = {label: found.final(label, REWARD) - CASH for label in (EO, PPO, A_PPO, F_PPO)}
        margin = ALIKE * float(np.mean(profits[PPO]))
        return [
            ex.Check.alike(
                f"{label} and {PPO} have similar profits (within {ALIKE:.0%} of {PPO}'s)",
                profits[label],
                profits[PPO],
                margin,
                names=(label, PPO),
            )
            for label in (EO, A_PPO, F_PPO)
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
