"""Deep FairQCM: deep Q-networks with counterfactual memories (Alamdari et al. 2024, section 6)."""

import dataclasses
from typing import ClassVar

from fairgym.algorithms._algorithm import algorithms
from fairgym.algorithms.dqn import Dqn


@algorithms.register("fair-qcm")
@dataclasses.dataclass(frozen=True)
class FairQcm(Dqn):
    """DQN with counterfactual memories, as in algorithm 1; the defaults are those of table 1."""

    name: ClassVar[str] = "fair-qcm"

    counterfactuals: int = 32
    buffer_size: int = 6_400
    batch_size: int = 2_048
