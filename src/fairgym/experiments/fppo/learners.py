"""What the fair learners are known to do: lower the bias, and keep a bound."""

from typing import ClassVar

import numpy as np
from jaxtyping import PyTree

from fairgym.environments.bank_loans import BankLoansParams
from fairgym.experiments import _parts as ex
from fairgym.experiments.fppo._claims import REWARD, SHORT, Courses
from fairgym.experiments.fppo._courses import BIAS
from fairgym.experiments.fppo._several import (
    DOTS,
    Learners,
    SeveralSystems,
    dots_figure,
    each_system,
    figure_of,
    named,
)
from fairgym.experiments.fppo._systems import A_PPO, CPO, ELBERT, LAGRANGIAN
from fairgym.experiments.fppo.fig3 import LATELY

CASH = float(BankLoansParams.cash)
MARGIN = 0.05  # share of A-PPO's reward by which a reward that is no less may be lower
COLUMNS = (SHORT, BIAS, REWARD)


@ex.experiments.register("fppo-learners")
class FppoLearners(SeveralSystems):
    """ELBERT-PO beside A-PPO, and the bounds of CPO and PPO-Lagrangian."""

    title = "Beyond F-PPO: what the fair learners are known to do"
    source = "Xu et al. 2024 (ELBERT-PO), Achiam et al. 2017 (CPO), in the systems of F-PPO"
    claim = (
        "in these systems ELBERT-PO has a lower bias than A-PPO at no less reward; CPO and"
        " PPO-Lagrangian keep the bound on the short-term unfairness that they are given"
    )
    caption: ClassVar[str] = DOTS

    def learners(self, name: str) -> Learners:
        """Return the learners; CPO in attention only, as in the paper."""
        labels = [A_PPO, ELBERT, LAGRANGIAN, *([CPO] if name == "attention" else [])]
        return {label: (label, {}) for label in labels}

    def conclude(self, data: PyTree) -> ex.Outcome:
        """Check biases, rewards and bounds."""
        checks, numbers = [], {}
        for name, found in each_system(data):
            checks += named(name, self._checks(name, found))
            numbers[name] = {label: _numbers(found, label) for label in found.courses}
        caption = (
            "The short-term unfairness as learners measure it and the reward: means over an"
            " evaluation episode; the reward of bank loans is the profit at its end. The bias is"
            " the largest difference between the groups' benefit rates over the whole episode."
            " Interquartile mean over seeds [95% CI]."
        )
        head = ["environment", "learner", *COLUMNS]
        table = ex.columns_table(head, ex.by_place(numbers), caption)
        return ex.Outcome({"": dots_figure(numbers, COLUMNS)}, self.caption, [table], checks)

    def _checks(self, name: str, found: Courses) -> list[ex.Check]:
        ours, theirs = (_numbers(found, label) for label in (ELBERT, A_PPO))
        margin = MARGIN * abs(float(np.mean(theirs[REWARD])))
        checks = [
            ex.Check.greater(
                f"{ELBERT} has less bias than {A_PPO}",
                theirs[BIAS],
                ours[BIAS],
                names=(A_PPO, ELBERT),
            ),
            ex.Check.greater(
                f"{ELBERT} has no less reward than {A_PPO} (margin {MARGIN:.0%})",
                ours[REWARD],
                theirs[REWARD],
                margin=margin,
                names=(ELBERT, A_PPO),
            ),
        ]
        limit = figure_of(name).system.limit
        for label in (LAGRANGIAN, CPO):
            if label in found.courses:
                unfair = _numbers(found, label)[SHORT]
                checks.append(ex.Check.below(f"{label} keeps its bound of {limit}", unfair, limit))
        return checks


def _numbers(found: Courses, label: str) -> dict[str, np.ndarray]:
    """Return short-term unfairness as learners measure it, bias and reward, (seeds,) each."""
    profit = found.names[REWARD].startswith("cash")
    return {
        SHORT: found.mean(label, LATELY if LATELY in found.names else SHORT),
        BIAS: found.final(label, BIAS if BIAS in found.names else SHORT),
        REWARD: found.final(label, REWARD) - CASH if profit else found.mean(label, REWARD),
    }
