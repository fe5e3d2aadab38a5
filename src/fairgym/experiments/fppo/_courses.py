"""Fairness and reward over an evaluation episode: figures 1, 3 and 4."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PyTree
from matplotlib.figure import Figure

from fairgym.core import AnyPolicy, Environment
from fairgym.experiments import _parts as ex
from fairgym.experiments.fppo._claims import (
    CRITERION,
    Courses,
    Order,
    Outcomes,
    orders_table,
    outcomes_table,
    published_table,
)
from fairgym.experiments.fppo._systems import BEYOND, F_PPO, System
from fairgym.fairness import Windowed
from fairgym.policies import fixed_policies, sampled
from fairgym.statistics.intervals import Numbers
from fairgym.utils import make
from fairgym.wrappers import augmented

AS_LEARNED = "F-PPO, massaging in training only"
CAPTION = "Means over the steps of an evaluation episode; interquartile mean over seeds [95% CI]."
MODE_SEEDS = 5  # in which the most likely actions are measured as well
MODE_CAPTION = (
    "The same with the most likely action (the mode) in each step."
    f" At most {MODE_SEEDS} seeds of each learner."
)
POINTS = 200  # points per curve
BIAS = "long-term benefit bias"  # that ELBERT-PO reduces

Course = Float[np.ndarray, "episodes steps"]


@dataclasses.dataclass(frozen=True)
class Panel:
    """Panel of a figure.

    Attributes:
        label: Label of the y axis.
        of: Function from a trace of several episodes to the number after each step, or to its mean
            over the episodes.
        what: `SHORT`, `LONG` or `REWARD`, or another name for a further measure.
        smooth: Number of steps over which the curve is smoothed; tables are not smoothed.
        where: "all" figures and the table, the figure and table "beyond" the paper, or only the
            "table", with the last tenth of the episode.
    """

    label: str
    of: Callable[[PyTree], Course]
    what: str
    smooth: int = 1
    where: Literal["all", "beyond", "table"] = "all"


class CourseFigure(ex.Experiment):
    """Learners and hand-written policies over the steps of an evaluation episode.

    F-PPO is shown with massaging in evaluation, as in the paper, and without it. Actions are
    sampled, as in training: the paper learns "a stochastic policy" (section IV). A second table
    uses the mode of the action distribution instead.

    Attributes:
        system: The environment, and the settings of its learners.
        caption: Further sentence about the curves.
        evaluation_args: Arguments of the environment in evaluation.
        rivals: Labels of the paper's learners other than F-PPO.
        rules: Label of a hand-written policy -> name of one of the environment's baselines.
        rules_args: Further arguments of the environment for the hand-written policies.
        references: Further baselines, shown in the table only.
        published: Label -> panel -> published value at the end of the episode, off the picture.
        orders: Published orders at the end of the episode.
        outcomes: Outcomes of single seeds to be counted.
    """

    system: ClassVar[System]
    caption: ClassVar[str] = ""
    evaluation_args: ClassVar[Mapping[str, Any]] = {}
    rivals: ClassVar[Sequence[str]]
    rules: ClassVar[Mapping[str, str]] = {}
    rules_args: ClassVar[Mapping[str, Any]] = {}
    references: ClassVar[Mapping[str, str]] = {"random": "random"}
    published: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    orders: ClassVar[Sequence[Order]] = ()
    outcomes: ClassVar[Outcomes] = {}
    criterion: ClassVar[str] = CRITERION

    def panels(self, env: Environment) -> list[Panel]:
        """Return the panels of the figure."""
        raise NotImplementedError

    def claims(self, found: Courses) -> list[ex.Check]:
        """Return checks of the published claims."""
        raise NotImplementedError

    def grid(self, size: ex.Size) -> ex.Grid:
        """Return one configuration per learner."""
        return {label: self.system.config(label, size) for label in (F_PPO, *self.rivals, *BEYOND)}

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Return label -> panel -> course, one row per seed, averaged over the seed's episodes."""
        assert size.held_out is not None
        env, episodes = self.learners_env(), size.held_out
        courses = self._learned(env, runs, episodes, sample=True)
        some = {label: several[:MODE_SEEDS] for label, several in runs.items()}
        modes = self._learned(env, some, episodes, sample=False)
        env = self.evaluated_in(**self.rules_args)
        for label, fixed in self.hand_written(env).items():
            courses[label] = self.courses(dict.fromkeys(seeds, (env, fixed)), episodes)
        panels = self.panels(env)
        return {
            "courses": courses,
            "mode": modes,
            "panels": {panel.label: panel.what for panel in panels},
            "smooth": {panel.label: panel.smooth for panel in panels},
            "where": {panel.label: panel.where for panel in panels},
        }

    def hand_written(self, env: Environment) -> dict[str, Mapping[str, Any]]:
        """Return label -> hand-written policies."""
        named = {**self.rules, **self.references}
        return {
            label: fixed_policies(env, env.spec.baselines[name]) for label, name in named.items()
        }

    def _learned(
        self, env: Environment, runs: ex.Runs, episodes: int, *, sample: bool
    ) -> dict[str, dict[str, np.ndarray]]:
        """Return label -> courses of learned policies; F-PPO with and without massaging."""
        found = {}
        for label, several in runs.items():
            plain = {run.config.seed: (env, acting(run, env, sample)) for run in several}
            if label == F_PPO:
                found[label] = self.courses(massaged(env, several, sample), episodes)
                found[AS_LEARNED] = self.courses(plain, episodes)
            else:
                found[label] = self.courses(plain, episodes)
        return found

    def evaluated_in(self, **more: Any) -> Environment:
        """Return the environment of evaluation, with further arguments."""
        return make(self.system.name, **self.system.environment, **self.evaluation_args, **more)

    def learners_env(self) -> Environment:
        """Return the environment of evaluation with what learners observe in addition."""
        env, memory = self.evaluated_in(), self.system.memory
        return augmented(env, memory) if memory else env

    def courses(
        self, policies: Mapping[int, tuple[Environment, Mapping[str, AnyPolicy]]], episodes: int
    ) -> dict[str, np.ndarray]:
        """Return panel -> course, one row per seed, averaged over the episodes.

        Args:
            policies: Seed -> environment and policies.
            episodes: Number of episodes per seed.
        """
        panels = self.panels(self.evaluated_in())
        found: dict[str, PyTree] = {panel.label: [] for panel in panels}
        for seed, (env, own) in policies.items():
            trace = ex.held_out(env, env.default_params, own, seed, episodes).trace
            for panel in panels:
                course = np.asarray(panel.of(trace))
                found[panel.label].append(course if course.ndim == 1 else course.mean(axis=0))
        return {label: np.stack(rows) for label, rows in found.items()}

    def conclude(self, data: PyTree) -> ex.Outcome:
        """Check the published claims; the table lists all measurements."""
        found = Courses.of(data)
        published = [n for n in found.courses if n not in (*BEYOND, *self.references)]
        learners = [label for label in found.courses if label in data["mode"]]
        tables = [_table(data, data["courses"], CAPTION), _table(data, data["mode"], MODE_CAPTION)]
        if self.published:
            tables.append(published_table(found, self.published))
        if self.orders:
            tables.append(orders_table(found, self.orders))
        if self.outcomes:
            tables.append(outcomes_table(found, learners, self.outcomes))
        return ex.Outcome(
            figures={
                "": _plot(data, published, ("all",)),
                "beyond": _plot(data, (F_PPO, *BEYOND), ("all", "beyond")),
            },
            caption=f"{ex.CAPTION} {self.caption}".strip(),
            tables=tables,
            checks=self.claims(found),
        )


def _table(data: PyTree, courses: Mapping[str, Mapping[str, np.ndarray]], caption: str) -> ex.Table:
    """Return a table of the panels, with one row per policy."""
    found = Courses(courses, {what: label for label, what in data["panels"].items()})
    head, columns = ["policy"], dict[str, dict[str, np.ndarray]]()
    for panel, what in data["panels"].items():
        whole = data["where"][panel] != "table"
        head += [f"{panel}, whole episode", "last tenth"] if whole else [f"{panel}, last tenth"]
        for label in courses:
            own = columns.setdefault(label, {})
            if whole:
                own[f"{what}, mean"] = found.mean(label, what)
            own[f"{what}, last"] = found.last(label, what)
    return ex.columns_table(head, columns, caption)


def acting(run: ex.Run, env: Environment, sample: bool) -> Mapping[str, AnyPolicy]:
    """Return the policies of a run that sample their actions, or take the most likely ones."""
    return sampled(env, run.policies) if sample else run.policies


def massaged(
    env: Environment, runs: Sequence[ex.Run], sample: bool
) -> dict[int, tuple[Environment, Mapping[str, AnyPolicy]]]:
    """Return seed -> environment and policies of an F-PPO run, with massaged actions."""
    return {run.config.seed: run.massaged(env, acting(run, env, sample)) for run in runs}


def unfairness(measure: Windowed) -> Callable[[PyTree], Course]:
    """Return a function for the measure after each step; lower is fairer."""
    of_traces = jax.jit(jax.vmap(measure.of_trace))
    return lambda trace: -np.asarray(of_traces(jax.tree.map(jnp.asarray, trace)))


def lately(values: Numbers, window: int) -> np.ndarray:
    """Return means over the last `window` steps, or over all steps so far if fewer.

    Args:
        values: Numbers of each step, (episodes, steps, ...).
        window: Number of steps.
    """
    sums = np.cumsum(np.asarray(values, np.float64), axis=1)
    means = sums / np.arange(1, sums.shape[1] + 1).reshape(1, -1, *[1] * (sums.ndim - 2))
    means[:, window:] = (sums[:, window:] - sums[:, :-window]) / window
    return means


def drawn(course: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the plotted steps of a course, and the values there."""
    steps = np.unique(np.linspace(0, course.shape[1] - 1, POINTS).astype(int))
    return steps, course[:, steps]


def _plot(data: PyTree, shown: Sequence[str], where: Sequence[str]) -> Figure:
    """Plot curves of the policies shown, in the panels of these figures."""
    panels = [
        ex.Curves(
            {
                label: drawn(lately(data["courses"][label][panel], data["smooth"][panel]))
                for label in shown
            },
            "step",
            panel,
        )
        for panel in data["panels"]
        if data["where"][panel] in where
    ]
    return ex.curves_figure(panels, 2, 3.0)
