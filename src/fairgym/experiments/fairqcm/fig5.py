"""Deep learners in the lending pool with normally distributed credit changes."""

from typing import ClassVar

from fairgym.experiments import _parts as ex
from fairgym.experiments.fairqcm.fig3 import LendingFigure


@ex.experiments.register("fairqcm-fig5")
class FairqcmFig5(LendingFigure):
    """Gaussian credit.

    The paper does not name the three approaches of its figure. FairQCM, Full and Min are used here,
    and the recurrent network is added.
    """

    name = "fairqcm-fig5"
    unpublished: ClassVar = ("RNN",)
    title = "FairQCM figure 5: memories of deep learners with Gaussian credit"
    source = "Remembering to Be Fair, figure 5 and appendix A.3"
    claim = (
        "FairQCM needs fewer samples, and scores higher at a given number of episodes, also with"
        " normally distributed changes of credit scores"
    )
    environment_args: ClassVar = {"credit": "gaussian"}
