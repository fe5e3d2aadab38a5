"""Deep FairQCM: deep Q-networks with counterfactual memories (Alamdari et al. 2024, section 6)."""

import dataclasses
from typing import Any, ClassVar

from jaxtyping import PRNGKeyArray

from fairgym.algorithms._algorithm import algorithms
from fairgym.algorithms._counterfactual import Counterfactuals, check_memory
from fairgym.algorithms._q import Experiences, Happened
from fairgym.algorithms.dqn import Dqn, DqnState
from fairgym.core import FairgymError


@algorithms.register("fair-qcm")
@dataclasses.dataclass(frozen=True)
class FairQcm(Dqn, Counterfactuals):
    """Hyperparameters of FairQCM, beside those of DQN; the defaults are those of table 1."""

    name: ClassVar[str] = "fair-qcm"

    buffer_size: int = 6_400
    batch_size: int = 2_048

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        self.check()
        if self.buffer_size <= self.counterfactuals:
            raise FairgymError(
                f"buffer_size is {self.buffer_size}; it takes more than the counterfactuals of a"
                f" step, {self.counterfactuals}"
            )

    def _start(self, fields: dict[str, Any], key: PRNGKeyArray) -> DqnState:
        objective = fields["objectives"][0][1]
        check_memory(self.name, fields["env"], fields["params"], objective, self.offsets)
        return super()._start(fields, key)

    def _experiences(self, state: DqnState, happened: Happened, key: PRNGKeyArray) -> Experiences:
        real = super()._experiences(state, happened, key)
        return self.with_counterfactuals(state, happened, real, key)
