"""Base class of figures that compare policies in held-out episodes.

Such a figure declares its configurations, the numbers measured for each configuration, and the
claims, tables and panels that use these numbers.
"""

import abc
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from jaxtyping import PyTree
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgym.experiments._base import PAPER, QUICK, Experiment, Outcome, Runs, Size, Table
from fairgym.experiments._measurements import PERMUTATIONS, excess, held_out_run
from fairgym.experiments._showing import NULL_MEAN, cell, dot
from fairgym.report import style
from fairgym.statistics.checks import Check, Kind
from fairgym.training.evaluation import Evaluation
from fairgym.training.run import Run

# Column -> one number per seed. Columns that end with `NULL_MEAN` are (seeds, permutations).
Columns = dict[str, np.ndarray]
# Place (such as an environment) -> label -> columns.
Compared = dict[str, dict[str, Columns]]


class At(NamedTuple):
    """Reference to one column of a comparison.

    Attributes:
        label: Label of the policies.
        column: Name of the column.
        place: Place of the policies, such as an environment.
        excess: Whether to subtract the null mean.
    """

    label: str
    column: str
    place: str = ""
    excess: bool = False

    def read(self, data: Compared) -> np.ndarray:
        """Return the numbers, one per seed."""
        own = data[self.place][self.label]
        values = own[self.column]
        return excess(values, own[self.column + NULL_MEAN]) if self.excess else values


def pair(
    above: str, below: str, column: str, place: str = "", excess: bool = False
) -> tuple[At, At]:
    """Return one column for two labels, to be compared in a claim."""
    return At(above, column, place, excess), At(below, column, place, excess)


class Claim(NamedTuple):
    """Claim that numbers are above other numbers of the same seeds, or above a limit.

    Attributes:
        statement: The claim as text.
        above: The numbers claimed to be higher.
        below: The numbers claimed to be lower, or the limit.
        kind: Kind of the `Check`.
    """

    statement: str
    above: At
    below: At | float
    kind: Kind = "predicted"

    def check(self, data: Compared) -> Check:
        """Return the claim as a check."""
        above = self.above.read(data)
        if isinstance(self.below, At):
            return Check.higher(self.statement, above, self.below.read(data), self.kind)
        return Check.above(self.statement, above, self.below, self.kind)


class Panel(NamedTuple):
    """Panel of dots: for every label, one dot per column, each column in its colour."""

    found: Mapping[str, Columns]
    columns: Sequence[str]
    title: str = ""
    ylabel: str = ""


class ComparisonFigure(Experiment):
    """Comparison of policies in held-out episodes. Subclasses define the policies and numbers.

    Keys of `grid` are labels, or "PLACE/LABEL".

    Attributes:
        sizes: Sizes by scale; the published training length by default.
        permutations: Number of permutations of the group labels in the episodes.
        claims: Claims about the numbers.
        caption: Meaning of the figure.
        height: Height of the panels in inches.
        rotation: Angle of the labels below the panels, in degrees.
        legend: Labels of the colours; no legend by default.
    """

    sizes: ClassVar[Mapping[str, Size]] = {"paper": PAPER, "quick": QUICK}
    permutations: ClassVar[int] = PERMUTATIONS
    claims: ClassVar[Sequence[Claim]] = ()
    caption: ClassVar[str] = (
        "Large marks are interquartile means over seeds with stratified bootstrap 95% intervals,"
        " faint dots are seeds. Grey bands: the 95% interval of the null mean, where there is one."
    )
    height: ClassVar[float] = 3.4
    rotation: ClassVar[float] = 45
    legend: ClassVar[Sequence[str]] = ()

    @abc.abstractmethod
    def numbers(self, place: str, runs: Sequence[Run], ends: Sequence[Evaluation]) -> PyTree:
        """Measure one configuration; the result is `Columns` unless the subclass says otherwise.

        Args:
            place: Place in the key of the configuration.
            runs: Runs of the configuration, one per seed.
            ends: Held-out episodes of each run.
        """

    def measure(self, size: Size, runs: Runs, seeds: Sequence[int]) -> PyTree:
        """Return place -> label -> `numbers`."""
        assert size.held_out is not None
        data: dict[str, dict[str, PyTree]] = {}
        for key, several in runs.items():
            place, _, label = key.rpartition("/")
            ends = [held_out_run(run, size.held_out, self.permutations) for run in several]
            data.setdefault(place, {})[label] = self.numbers(place, several, ends)
        return data

    def conclude(self, data: PyTree) -> Outcome:
        """Return the figures, the tables and the checks of the claims."""
        return Outcome(self.figures(data), self.caption, self.tables(data), self.checks(data))

    def checks(self, data: PyTree) -> list[Check]:
        """Return the checks of the claims."""
        return [claim.check(data) for claim in self.claims]

    @abc.abstractmethod
    def tables(self, data: PyTree) -> list[Table]:
        """Return tables of the numbers."""

    def panels(self, data: PyTree) -> list[Panel]:
        """Return the panels of the figure."""
        raise NotImplementedError

    def colour(self, label: str, index: int) -> str:
        """Return the colour of a column, by its position in the panel."""
        return style.POLICY_COLOURS[index]

    def figures(self, data: PyTree) -> dict[str, Figure]:
        """Figures by the ending of their files; by default one of dots."""
        return {"": self._dots(self.panels(data))}

    @style.styled
    def _dots(self, panels: Sequence[Panel]) -> Figure:
        count, rows = len(panels), int(bool(self.legend))
        figure, axes = style.panels(count, count, self.height, legend_rows=rows)
        for axis, panel in zip(axes, panels, strict=True):
            for place, (label, one) in enumerate(panel.found.items()):
                for index, column in enumerate(panel.columns):
                    colour, marker = self.colour(label, index), style.MARKERS[index]
                    null = one.get(column + NULL_MEAN)
                    dot(axis, place + 0.35 * index, one[column], colour, marker, null)
            turned = {"rotation": self.rotation, "ha": "right"} if self.rotation else {}
            axis.set_xticks(range(len(panel.found)), list(panel.found), **turned)
            if panel.title:
                style.set_title(axis, panel.title)
            if panel.ylabel:
                axis.set_ylabel(panel.ylabel)
        if self.legend:
            looks = zip(self.legend, style.POLICY_COLOURS, style.MARKERS, strict=False)
            handles = [Line2D([], [], color=c, marker=m, label=w) for w, c, m in looks]
            style.top_legend(figure, handles)
        return figure


def columns_table(
    head: str | Sequence[str],
    found: Mapping[str, Columns] | Mapping[tuple[str, ...], Columns],
    caption: str,
    columns: Sequence[str] = (),
) -> Table:
    """Return a table with one row per label.

    Args:
        head: Heading of the labels, or the whole table head.
        found: Label (or a tuple of labels, one per column) -> columns.
        caption: Caption of the table.
        columns: Names of the columns; all by default.
    """
    columns = columns or list(next(iter(found.values()), {}))
    rows = [
        [
            *([label] if isinstance(label, str) else label),
            *(cell(name, one[name]) for name in columns),
        ]
        for label, one in found.items()
    ]
    return Table([head, *columns] if isinstance(head, str) else head, rows, caption)


def by_place(data: Compared) -> dict[tuple[str, ...], Columns]:
    """Return (place, label) -> columns, for one table of all places."""
    return {(place, label): own for place, found in data.items() for label, own in found.items()}
