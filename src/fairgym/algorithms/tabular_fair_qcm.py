"""Tabular FairQCM (Alamdari et al. 2024, algorithm 1): Q-learning with counterfactual memories."""

import dataclasses
from typing import ClassVar

from fairgym.algorithms._algorithm import algorithms
from fairgym.algorithms.tabular_q import TabularQ


@algorithms.register("tabular-fair-qcm")
@dataclasses.dataclass(frozen=True)
class TabularFairQcm(TabularQ):
    """Tabular Q-learning with counterfactual memories: algorithm 1 of the paper.

    The paper's offsets are 1 and 2, those of the authors' code 0 and 1. The latter score
    higher.
    """

    name: ClassVar[str] = "tabular-fair-qcm"

    counterfactuals: int = 8
