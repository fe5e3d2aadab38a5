"""What massaging teaches: readings of what the policy gradient learns from a massaged action."""

from typing import Any, ClassVar

import numpy as np
from jaxtyping import PyTree

from fairgym.experiments import _parts as ex
from fairgym.experiments.fppo._claims import LONG, REWARD, SHORT, Courses
from fairgym.experiments.fppo._several import (
    DOTS,
    Learners,
    SeveralSystems,
    dots_figure,
    each_system,
    named,
)
from fairgym.experiments.fppo._systems import F_PPO, F_PPO_L

ATTENTION, EPIDEMIC = "attention", "epidemic"
OWN, FIXED, SAMPLED = "massaged, own density", "massaged, fixed density", "sampled action"
SHARES = "massaged, close by shares"
WITHOUT = "no massaging"
# Label -> hyperparameters that differ from those of figure 3 or 4.
READINGS: dict[str, dict[str, Any]] = {
    OWN: {},
    SAMPLED: {"learn_from": "sampled"},
    FIXED: {"learn_std": False},
    SHARES: {"closeness": "share"},
}
OF_ALLOCATIONS = (FIXED, SHARES)  # options have neither standard deviations nor shares
MARGIN = 0.1  # share of the reward without massaging that may be lost
COLUMNS = (SHORT, LONG, REWARD)


@ex.experiments.register("fppo-massaging")
class FppoMassaging(SeveralSystems):
    """F-PPO with several readings of equation 5, and without massaging (F-PPO-L)."""

    title = "F-PPO equation 5: what massaging teaches"
    source = "Striking a Balance in Fairness, equations 5 and 6"
    claim = (
        "the policy gradient is that of the massaged actions (equation 5), so that massaging"
        ' serves "to perform fair actions when the policy network generates biased ones and also'
        ' encourage the policy to generate fair and high-reward actions"'
    )
    systems: ClassVar = (ATTENTION, EPIDEMIC)
    massages: ClassVar[bool] = False
    caption: ClassVar[str] = (
        f"{DOTS} Policies act without massaging: what is shown is what they have learned. A density"
        " is that of the policy with its learned standard deviations, or with a fixed one of 1."
    )

    def learners(self, name: str) -> Learners:
        """Return the readings that exist in a system, and F-PPO-L."""
        found = {
            label: (F_PPO, more)
            for label, more in READINGS.items()
            if name == ATTENTION or label not in OF_ALLOCATIONS
        }
        return {WITHOUT: (F_PPO_L, {}), **found}

    def conclude(self, data: PyTree) -> ex.Outcome:
        """Check whether policies learn to be fair, and keep their reward, by each reading."""
        checks, numbers = [], {}
        for name, found in each_system(data):
            checks += named(name, _checks(found))
            numbers[name] = {
                label: {what: found.mean(label, what) for what in COLUMNS}
                for label in found.courses
            }
        caption = (
            "Policies without massaging: means over the steps of an evaluation episode;"
            " interquartile mean over seeds [95% CI]."
        )
        head = ["environment", "the policy learns from", *COLUMNS]
        table = ex.columns_table(head, ex.by_place(numbers), caption)
        return ex.Outcome({"": dots_figure(numbers, COLUMNS)}, self.caption, [table], checks)


def _checks(found: Courses) -> list[ex.Check]:
    """Check each reading against no massaging."""
    checks = []
    without = found.mean(WITHOUT, REWARD)
    margin = MARGIN * abs(float(np.mean(without)))
    for label in found.courses:
        if label == WITHOUT:
            continue
        # the published policy gradient is that of the massaged action and its density
        kind: ex.Kind = "predicted" if label == OWN else "own prediction"
        checks += found.lower(SHORT, label, [WITHOUT], kind=kind)
        checks.append(
            ex.Check.greater(
                f"{label} has no less {REWARD} than {WITHOUT} (margin {MARGIN:.0%})",
                found.mean(label, REWARD),
                without,
                kind,
                margin=margin,
                names=(label, WITHOUT),
            )
        )
    return checks
