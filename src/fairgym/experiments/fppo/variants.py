"""Variants of F-PPO: scaled or unscaled terms, and windowed or true measures."""

from typing import Any, ClassVar

from jaxtyping import PyTree
from matplotlib.figure import Figure

from fairgym.experiments import _parts as ex
from fairgym.experiments.fppo._claims import LONG, REWARD, SHORT, Courses
from fairgym.experiments.fppo._courses import drawn
from fairgym.experiments.fppo._several import (
    Learners,
    SeveralSystems,
    each_system,
    named,
    outcomes,
)
from fairgym.experiments.fppo._systems import F_PPO, F_PPO_S, PPO, SIZES

UNSCALED, TRUTH = {"scale": "none"}, {"long_term": "long_term"}
# Label -> hyperparameters that differ from those of the figures.
VARIANTS: dict[str, dict[str, Any]] = {
    "window, scaled": {},
    "window, unscaled": UNSCALED,
    "truth, scaled": TRUTH,
    "truth, unscaled": UNSCALED | TRUTH,
}


COLUMNS = (SHORT, LONG, REWARD)


@ex.experiments.register("fppo-variants")
class FppoVariants(SeveralSystems):
    """Four variants of advantage regularisation, compared with none (F-PPO-S) and PPO."""

    title = "F-PPO equations 4 and 7: variants of advantage regularisation"
    source = "Striking a Balance in Fairness, equations 4 and 7"
    claim = (
        'the advantage is penalised "when the long-term fairness measure does not decrease" and'
        ' rewarded "when the long-term fairness measure reduces", so that "F-PPO achieves the best'
        ' performance in terms of long-term fairness"; the scale of this term relative to the'
        " advantage is left open, and measures are estimated from a window of steps"
    )
    sizes: ClassVar = SIZES
    caption = f"{ex.CAPTION} All learners except PPO use massaging in evaluation."

    def learners(self, name: str) -> Learners:
        """Return PPO, F-PPO-S and four variants of F-PPO."""
        variants = {words: (F_PPO, more) for words, more in VARIANTS.items()}
        return {PPO: (PPO, {}), F_PPO_S: (F_PPO_S, {}), **variants}

    def conclude(self, data: PyTree) -> ex.Outcome:
        """Check whether each variant is fairer in the long term than without regularisation.

        F-PPO-S is massaged like the variants, so only the regularisation differs.
        """
        checks, rows = [], {}
        for name, found in each_system(data):
            for words, more in VARIANTS.items():
                # the paper's measures are those of a window
                kind: ex.Kind = "own prediction" if TRUTH.items() <= more.items() else "predicted"
                checks += named(name, found.lower(LONG, words, (F_PPO_S, PPO), kind=kind))
            rows |= {
                (name, label): {what: found.mean(label, what) for what in COLUMNS}
                for label in found.courses
            }
        return ex.Outcome(
            figures={"": _plot(dict(each_system(data)))},
            caption=self.caption,
            tables=[
                ex.columns_table(
                    ["environment", "variant", *COLUMNS],
                    rows,
                    "Means over the steps of an evaluation episode; interquartile mean over seeds"
                    " [95% CI]. The reward of bank loans is the bank's cash.",
                ),
                *outcomes(data),
            ],
            checks=checks,
        )


def _plot(found: dict[str, Courses]) -> Figure:
    """Plot long-term unfairness above and short-term below, one column per environment."""
    panels = [
        ex.Curves(
            {label: drawn(one[own.names[what]]) for label, one in own.courses.items()},
            f"step, {name}",
            own.names[what],
        )
        for what in (LONG, SHORT)
        for name, own in found.items()
    ]
    return ex.curves_figure(panels, len(found), 2.6)
