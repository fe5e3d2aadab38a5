"""Tabular FairQCM (Alamdari et al. 2024, algorithm 1): Q-learning with counterfactual memories."""

import dataclasses
from typing import Any, ClassVar

from jaxtyping import PRNGKeyArray

from fairgym.algorithms._algorithm import algorithms
from fairgym.algorithms._counterfactual import Counterfactuals, check_memory
from fairgym.algorithms._q import Experiences, Happened
from fairgym.algorithms.tabular_q import TabularQ, TabularQState


@algorithms.register("tabular-fair-qcm")
@dataclasses.dataclass(frozen=True)
class TabularFairQcm(TabularQ, Counterfactuals):
    """Hyperparameters of tabular FairQCM, beside those of tabular Q-learning.

    The paper's offsets are 1 and 2; 0 and 1 learn more, since their memories are met sooner.

    Attributes:
        counterfactuals: largest number of counterfactual memories per step; of more, so many are
            sampled at each step.
    """

    name: ClassVar[str] = "tabular-fair-qcm"

    counterfactuals: int = 8

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        self.check()

    def _start(self, fields: dict[str, Any], key: PRNGKeyArray) -> TabularQState:
        objective = fields["objectives"][0][1]
        check_memory(self.name, fields["env"], fields["params"], objective, self.offsets)
        return super()._start(fields, key)

    def _experiences(
        self, state: TabularQState, happened: Happened, key: PRNGKeyArray
    ) -> Experiences:
        real = super()._experiences(state, happened, key)
        return self.with_counterfactuals(state, happened, real, key)
