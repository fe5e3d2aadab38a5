"""Comparisons of learners in several systems, in the evaluation episodes of figures 1, 3 and 4."""

import abc
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from jaxtyping import PyTree
from matplotlib.figure import Figure

from fairgym.algorithms.f_ppo import FPpo
from fairgym.experiments import _parts as ex
from fairgym.experiments.fppo._claims import CRITERION, Courses, outcomes_table
from fairgym.experiments.fppo._courses import CourseFigure, acting, massaged
from fairgym.experiments.fppo._systems import SIZES
from fairgym.report import style
from fairgym.results.labels import capital

# Name of each system -> the experiment with its figure.
FIGURES = {"bank loans": "fppo-fig1", "attention": "fppo-fig3", "epidemic": "fppo-fig4"}
DOTS = (
    "Large marks are interquartile means over seeds with stratified bootstrap 95% intervals, faint"
    " dots are seeds."
)

# Label -> label of the learner in `System.config`, and hyperparameters that differ from its own.
Learners = Mapping[str, tuple[str, Mapping[str, Any]]]


def figure_of(name: str) -> CourseFigure:
    """Return the figure of a system."""
    return ex.experiments.get(FIGURES[name])()


class SeveralSystems(ex.Experiment):
    """Learners in several systems, with the episodes and measures of figures 1, 3 and 4.

    Attributes:
        systems: Names of the systems.
        massages: Whether F-PPO's actions are massaged in evaluation.
    """

    sizes: ClassVar = SIZES
    criterion: ClassVar[str] = CRITERION
    systems: ClassVar[Sequence[str]] = tuple(FIGURES)
    massages: ClassVar[bool] = True

    @abc.abstractmethod
    def learners(self, name: str) -> Learners:
        """Return the learners of a system."""

    def grid(self, size: ex.Size) -> ex.Grid:
        """Return the configurations; those of the figures share their runs."""
        return {
            f"{name}: {label}": figure_of(name).system.config(learner, size, **more)
            for name in self.systems
            for label, (learner, more) in self.learners(name).items()
        }

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Return system -> "panels", and "courses" like those of the figures."""
        data: dict[str, PyTree] = {}
        for name in self.systems:
            figure = figure_of(name)
            env, episodes = figure.learners_env(), figure.system.at(size).held_out
            assert episodes is not None
            courses = {}
            for label in self.learners(name):
                several = runs[f"{name}: {label}"]
                learner = several[0].job.algorithm
                if self.massages and isinstance(learner, FPpo) and learner.massage:
                    policies = massaged(env, several, sample=True)
                else:
                    policies = {
                        run.config.seed: (env, acting(run, env, sample=True)) for run in several
                    }
                courses[label] = figure.courses(policies, episodes)
            panels = {panel.label: panel.what for panel in figure.panels(env)}
            data[name] = {"courses": courses, "panels": panels}
        return data


def each_system(data: PyTree) -> Iterator[tuple[str, Courses]]:
    """Yield the name and the courses of each system."""
    for name, own in data.items():
        yield name, Courses.of(own)


def outcomes(data: PyTree) -> list[ex.Table]:
    """Return a table of the outcomes of single seeds for each system whose figure names some."""
    tables = {
        name: outcomes_table(found, list(found.courses), own)
        for name, found in each_system(data)
        if (own := figure_of(name).outcomes)
    }
    return [
        dataclasses.replace(table, caption=f"{capital(name)}. {table.caption}")
        for name, table in tables.items()
    ]


def named(name: str, checks: Sequence[ex.Check]) -> list[ex.Check]:
    """Return checks whose statements begin with the name of the system."""
    return [dataclasses.replace(check, statement=f"{name}, {check.statement}") for check in checks]


@style.styled
def dots_figure(numbers: ex.Compared, columns: Sequence[str]) -> Figure:
    """Plot numbers of learners as dots: a row of panels per system, a panel per column."""
    figure, axes = style.panels(len(numbers) * len(columns), len(columns), 2.5)
    places = ((name, column) for name in numbers for column in columns)
    for axis, (name, column) in zip(axes, places, strict=True):
        labels = list(numbers[name])
        for place, label in enumerate(labels):
            ex.dot(axis, place, numbers[name][label][column], style.POLICY_COLOURS[0])
        axis.set_xticks(range(len(labels)), labels, rotation=30, ha="right")
        style.set_title(axis, name)
        axis.set_ylabel(column)
    return figure
