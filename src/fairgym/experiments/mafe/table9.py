"""Time per step, compared with the published times."""

import itertools
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import PyTree
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgym.bench import measure
from fairgym.experiments import _parts as ex
from fairgym.report import style

PUBLISHED = {"loan": 0.13, "health": 0.25, "education": 0.40}  # seconds per step
BATCHES = (1, 100)


@ex.experiments.register("mafe-table9")
class MafeTable9(ex.Experiment):
    """Seconds per environment step, including policies."""

    title = "MAFE table 9: time per step"
    source = "MAFE, table 9 and appendix J"
    claim = (
        "a step takes longest in education and shortest in loan: 0.40, 0.25 (health) and 0.13 s,"
        " so 3.1 to 1.9 to 1; seconds on two machines are not compared"
    )
    sizes: ClassVar = {
        "paper": ex.Size(people=10_000, seeds=5),
        "quick": ex.Size(people=10_000, seeds=3),
    }

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Return environment -> episodes together -> seconds per step, (measurements,)."""
        assert size.people is not None
        data: dict[str, PyTree] = {}
        for name in PUBLISHED:
            lines = [
                line
                for _ in seeds
                for line in measure(name, size.people, BATCHES, policies=(True,))
            ]
            data[name] = {
                batch: np.array([1e-6 * x.us_per_step for x in lines if x.batch == batch])
                for batch in BATCHES
            }
        return data

    def conclude(self, data: PyTree) -> ex.Outcome:
        """Check the order of the environments; times on two machines are not compared."""
        checks = [
            ex.Check.above(
                f"a step takes longer in {slow} than in {fast} (ratio: above 1, published"
                f" {PUBLISHED[slow] / PUBLISHED[fast]:.1f})",
                data[slow][1] / data[fast][1],
                1.0,
            )
            for fast, slow in itertools.pairwise(PUBLISHED)
        ]
        found = {
            (name, f"{batch}", f"{1e6 * published:,.0f}"): {
                "µs per step": 1e6 * seconds,
                "factor": published / seconds,
            }
            for name, published in PUBLISHED.items()
            for batch, seconds in data[name].items()
        }
        head = ["environment", "episodes together", "published µs", "µs per step", "factor"]
        caption = "Interquartile mean over measurements [95% CI]."
        return ex.Outcome(
            figures={"": _plot(data)},
            caption="Grey squares: published; diamonds: fairgym, one episode; triangles: fairgym,"
            " 100 episodes together.",
            tables=[ex.columns_table(head, found, caption)],
            checks=checks,
        )


@style.styled
def _plot(data: PyTree) -> Figure:
    figure, (panel,) = style.panels(1, 1, 3.0, legend_rows=1)
    for place, (name, published) in enumerate(PUBLISHED.items()):
        panel.plot([place], [published], "s", color=style.BASELINE_COLOUR, ms=7)
        for index, batch in enumerate(BATCHES):
            colour, marker = style.POLICY_COLOURS[index], style.MARKERS[2 + index]
            ex.dot(panel, place + 0.2 * index, data[name][batch], colour, marker)
    panel.set_yscale("log")
    panel.set_xticks(range(len(PUBLISHED)), list(PUBLISHED))
    panel.set_xlim(-0.5, len(PUBLISHED) - 0.5)
    style.set_title(panel, "Time of an environment step ↓")
    panel.set_ylabel("seconds")
    handles = [Line2D([], [], ls="", marker="s", color=style.BASELINE_COLOUR, label="published")]
    handles += [
        Line2D([], [], color=colour, marker=marker, label=f"here, {_together(batch)}")
        for batch, colour, marker in zip(
            BATCHES, style.POLICY_COLOURS, style.MARKERS[2:], strict=False
        )
    ]
    style.top_legend(figure, handles)
    return figure


def _together(batch: int) -> str:
    return "one episode" if batch == 1 else f"{batch} episodes together"
