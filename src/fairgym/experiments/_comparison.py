"""Policies side by side in held-out episodes: the base of most figures beyond learning curves.

Such a figure is declared by its configurations, by the numbers of one of them, and by its claims,
tables and panels, which read these numbers.
"""

import abc
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from jaxtyping import PyTree
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgym.experiments._base import PAPER, QUICK, Experiment, Outcome, Runs, Size, Table
from fairgym.experiments._measurements import PERMUTATIONS, beyond, held_out_run
from fairgym.experiments._showing import BY_LUCK, cell, dot
from fairgym.report import style
from fairgym.statistics.checks import Check, Kind
from fairgym.training.evaluation import Evaluation
from fairgym.training.run import Run

# Column -> one number per seed; those of luck alone, (seeds, permutations), end with `BY_LUCK`.
Columns = dict[str, np.ndarray]
# Place, such as a system -> label -> columns.
Compared = dict[str, dict[str, Columns]]


class At(NamedTuple):
    """Numbers of a comparison.

    Attributes:
        label: Label of the policies.
        column: Column of their numbers.
        place: Place where they act.
        beyond_luck: True for the excess over what luck alone makes.
    """

    label: str
    column: str
    place: str = ""
    beyond_luck: bool = False

    def read(self, data: Compared) -> np.ndarray:
        """The numbers, one per seed."""
        own = data[self.place][self.label]
        values = own[self.column]
        return beyond(values, own[self.column + BY_LUCK]) if self.beyond_luck else values


def pair(
    above: str, below: str, column: str, place: str = "", beyond_luck: bool = False
) -> tuple[At, At]:
    """Two policies' numbers of one column, for a claim."""
    return At(above, column, place, beyond_luck), At(below, column, place, beyond_luck)


class Claim(NamedTuple):
    """A claim: numbers are above others of the same seeds, or above a limit.

    Attributes:
        statement: The claim in words.
        above: The numbers.
        below: The others, or the limit.
        kind: As of a `Check`.
    """

    statement: str
    above: At
    below: At | float
    kind: Kind = "predicted"

    def check(self, data: Compared) -> Check:
        """The claim as a check."""
        above = self.above.read(data)
        if isinstance(self.below, At):
            return Check.higher(self.statement, above, self.below.read(data), self.kind)
        return Check.above(self.statement, above, self.below, self.kind)


class Panel(NamedTuple):
    """A panel of dots: columns in colours, beside each other, for every label."""

    found: Mapping[str, Columns]
    columns: Sequence[str]
    title: str = ""
    ylabel: str = ""


class ComparisonFigure(Experiment):
    """Policies side by side in held-out episodes; subclasses say which, and what of them.

    Keys of `grid` are labels, or "PLACE/LABEL".

    Attributes:
        sizes: Length of training as published, by default.
        permutations: Number of permutations of the people's groups in the episodes.
        claims: What is claimed of the numbers.
        caption: Meaning of the figure.
        height: Height of its panels in inches.
        rotation: Angle of the labels below them.
        legend: Words for the colours; none by default.
    """

    sizes: ClassVar[Mapping[str, Size]] = {"paper": PAPER, "quick": QUICK}
    permutations: ClassVar[int] = PERMUTATIONS
    claims: ClassVar[Sequence[Claim]] = ()
    caption: ClassVar[str] = (
        "Large marks are interquartile means over seeds with stratified bootstrap 95% intervals,"
        " faint dots are seeds."
    )
    height: ClassVar[float] = 3.4
    rotation: ClassVar[float] = 45
    legend: ClassVar[Sequence[str]] = ()

    @abc.abstractmethod
    def numbers(self, place: str, runs: Sequence[Run], ends: Sequence[Evaluation]) -> PyTree:
        """Numbers of one configuration, `Columns` by default.

        Args:
            place: Place of its key.
            runs: Its runs, one for each seed.
            ends: Held-out episodes of each.
        """

    def measure(self, size: Size, runs: Runs, seeds: Sequence[int]) -> PyTree:
        """Place -> label -> `numbers`."""
        assert size.held_out is not None
        data: dict[str, dict[str, PyTree]] = {}
        for key, several in runs.items():
            place, _, label = key.rpartition("/")
            ends = [held_out_run(run, size.held_out, self.permutations) for run in several]
            data.setdefault(place, {})[label] = self.numbers(place, several, ends)
        return data

    def conclude(self, data: PyTree) -> Outcome:
        """The claims as checks, the tables and the figures."""
        return Outcome(self.figures(data), self.caption, self.tables(data), self.checks(data))

    def checks(self, data: PyTree) -> list[Check]:
        """Checks of the claims."""
        return [claim.check(data) for claim in self.claims]

    @abc.abstractmethod
    def tables(self, data: PyTree) -> list[Table]:
        """Tables of the numbers."""

    def panels(self, data: PyTree) -> list[Panel]:
        """Panels of the figure."""
        raise NotImplementedError

    def colour(self, label: str, index: int) -> str:
        """Colour of a column of a label, by the column's place among those of a panel."""
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
                    dot(axis, place + 0.35 * index, one[column], colour, marker)
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
    """Labels in rows, columns beside each other.

    Args:
        head: Words above the labels, or all of the table's head.
        found: Label, or several that each have a column, -> columns.
        caption: Meaning of the numbers.
        columns: Names of the columns; all by default.
    """
    columns = columns or list(next(iter(found.values())))
    rows = [
        [
            *([label] if isinstance(label, str) else label),
            *(cell(name, one[name]) for name in columns),
        ]
        for label, one in found.items()
    ]
    return Table([head, *columns] if isinstance(head, str) else head, rows, caption)


def by_place(data: Compared) -> dict[tuple[str, ...], Columns]:
    """(place, label) -> columns, for one table of all."""
    return {(place, label): own for place, found in data.items() for label, own in found.items()}
