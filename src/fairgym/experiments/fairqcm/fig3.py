"""Deep learners with different memories in the lending pool."""

from collections.abc import Mapping
from typing import ClassVar

from jaxtyping import PyTree

from fairgym.experiments import _parts as ex
from fairgym.experiments.fairqcm._lending import LendingFigure


@ex.experiments.register("fairqcm-fig3")
class FairqcmFig3(LendingFigure):
    """Credit that moves by a tenth."""

    title = "Memories of deep learners in the lending pool"
    source = "Remembering to Be Fair, figure 3"
    claim = (
        "FairQCM accumulates the highest relaxed demographic parity score; the recurrent network is"
        " above some of the others; all of them meet the 10% profit margin"
    )
    environment_args: ClassVar = {"credit": "discrete"}

    def claims(self, curves: Mapping[str, PyTree], lines: Mapping[str, PyTree]) -> list[ex.Check]:
        """FairQCM ahead of each other one, the recurrent network of some, profit by all."""
        return [
            *super().claims(curves, lines),
            self.above_some(curves, "RNN"),
            self.met(curves),
        ]
