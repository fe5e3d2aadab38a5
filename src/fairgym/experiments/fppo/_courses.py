"""Fairness and reward over an evaluation episode: figures 1, 3 and 4."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PyTree
from matplotlib.figure import Figure

from fairgym.core import AnyPolicy, Environment
from fairgym.experiments import _parts as ex
from fairgym.experiments.fppo._systems import BEYOND, F_PPO, System
from fairgym.fairness import Windowed
from fairgym.policies import fixed_policies, sampled
from fairgym.statistics.intervals import Numbers
from fairgym.utils import make

AS_LEARNED = "F-PPO, massaging in training only"
MODE_CAPTION = "The same with the most likely action (the mode) in each step."
POINTS = 200  # points per curve
SHORT, LONG, REWARD = "short-term unfairness", "long-term unfairness", "reward"

Course = Float[np.ndarray, "episodes steps"]


@dataclasses.dataclass(frozen=True)
class Panel:
    """Panel of a figure.

    Attributes:
        label: Label of the y axis.
        of: Function from a trace of several episodes to the number after each step, or to its mean
            over the episodes.
        what: `SHORT`, `LONG` or `REWARD`, or another name for a second interpretation.
        smooth: Number of steps over which the curve is smoothed; tables are not smoothed.
    """

    label: str
    of: Callable[[PyTree], Course]
    what: str
    smooth: int = 1


class CourseFigure(ex.Experiment):
    """Learners and hand-written policies over the steps of an evaluation episode.

    F-PPO is shown with massaging in evaluation, as in the paper, and without it. Discrete actions
    are sampled, as in training: the paper learns "a stochastic policy" (section IV). A second table
    uses the mode of the action distribution instead.

    Attributes:
        system: The environment, and the settings of its learners.
        caption: Further sentence about the curves.
        evaluation_args: Arguments of the environment in evaluation.
        rivals: Labels of the paper's learners other than F-PPO.
        rules: Label of a hand-written policy -> name of one of the environment's baselines.
        rules_args: Further arguments of the environment for the hand-written policies.
        references: Further baselines, shown in the table only.
    """

    system: ClassVar[System]
    caption: ClassVar[str] = ""
    evaluation_args: ClassVar[Mapping[str, Any]] = {}
    rivals: ClassVar[Sequence[str]]
    rules: ClassVar[Mapping[str, str]] = {}
    rules_args: ClassVar[Mapping[str, Any]] = {}
    references: ClassVar[Mapping[str, str]] = {"random": "random"}

    def panels(self, env: Environment) -> list[Panel]:
        """Return the panels of the figure."""
        raise NotImplementedError

    def claims(self, found: "Courses") -> list[ex.Check]:
        """Return checks of the published claims."""
        raise NotImplementedError

    def grid(self, size: ex.Size) -> ex.Grid:
        """Return one configuration per learner."""
        return {label: self.system.config(label, size) for label in (F_PPO, *self.rivals, *BEYOND)}

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Return label -> panel -> course, one row per seed, averaged over the seed's episodes."""
        assert size.held_out is not None
        env, episodes = self.evaluated_in(), size.held_out
        courses = self._learned(env, runs, episodes, sample=self.discrete(env))
        modes = self._learned(env, runs, episodes, sample=False) if self.discrete(env) else {}
        env = self.evaluated_in(**self.rules_args)
        for label, fixed in self.hand_written(env).items():
            courses[label] = self.courses(dict.fromkeys(seeds, (env, fixed)), episodes)
        panels = self.panels(env)
        return {
            "courses": courses,
            "mode": modes,
            "panels": {panel.label: panel.what for panel in panels},
            "smooth": {panel.label: panel.smooth for panel in panels},
        }

    @staticmethod
    def discrete(env: Environment) -> bool:
        """Return whether all actions are discrete."""
        return all(env.action_space(agent).discrete for agent in env.agents)

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
        return make(self.system.name, **self.evaluation_args, **more)

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
        head = ["policy"]
        for label in data["panels"]:
            head += [f"{label}, whole episode", "last tenth"]

        def table(courses: Mapping[str, Mapping[str, np.ndarray]], caption: str) -> ex.Table:
            own = Courses(courses, found.names)
            columns = {
                label: {
                    f"{what}, {of.__name__}": of(label, what)
                    for what in found.names
                    for of in (own.mean, own.last)
                }
                for label in courses
            }
            return ex.columns_table(head, columns, caption)

        caption = (
            "Means over the steps of an evaluation episode; interquartile mean over seeds [95% CI]."
        )
        published = [n for n in found.courses if n not in (*BEYOND, *self.references)]
        return ex.Outcome(
            figures={
                "": _plot(data, published),
                "beyond": _plot(data, (F_PPO, *BEYOND)),
            },
            caption=f"{ex.CAPTION} {self.caption}".strip(),
            tables=[
                table(found.courses, caption),
                *([table(data["mode"], MODE_CAPTION)] if data["mode"] else []),
            ],
            checks=self.claims(found),
        )


@dataclasses.dataclass(frozen=True)
class Courses:
    """Measured courses, and checks of claims about them.

    Attributes:
        courses: Label -> panel -> one row per seed.
        names: `SHORT`, `LONG` and `REWARD` -> label of the panel.
    """

    courses: Mapping[str, Mapping[str, np.ndarray]]
    names: Mapping[str, str]

    @classmethod
    def of(cls, data: Mapping[str, PyTree]) -> "Courses":
        """Return the courses from the result of `CourseFigure.measure`."""
        return cls(data["courses"], {what: label for label, what in data["panels"].items()})

    def mean(self, label: str, what: str) -> np.ndarray:
        """Return the mean over the steps, (seeds,)."""
        return np.mean(self.courses[label][self.names[what]], axis=1)

    def last(self, label: str, what: str) -> np.ndarray:
        """Return the mean over the last tenth of the steps, (seeds,)."""
        course = self.courses[label][self.names[what]]
        return np.mean(course[:, -max(1, course.shape[1] // 10) :], axis=1)

    def first(self, label: str, what: str) -> np.ndarray:
        """Return the first step, (seeds,)."""
        return self.courses[label][self.names[what]][:, 0]

    def lower(
        self, what: str, label: str, others: Sequence[str], *, at_end: bool = False
    ) -> list[ex.Check]:
        """Check that one mean (of all steps, or of the last tenth) is below each of the others."""
        return [self._order(what, label, "less", other, at_end) for other in others]

    def more(
        self, what: str, label: str, others: Sequence[str], *, at_end: bool = False
    ) -> list[ex.Check]:
        """Check that one mean (of all steps, or of the last tenth) is above each of the others."""
        return [self._order(what, label, "more", other, at_end) for other in others]

    def _order(self, what: str, label: str, way: str, other: str, at_end: bool) -> ex.Check:
        of, when = (self.last, " at the end") if at_end else (self.mean, "")
        one, two = of(label, what), of(other, what)
        high, low = (one, two) if way == "more" else (two, one)
        return ex.Check.higher(f"{label} has {way} {what} than {other}{when}", high, low)


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


def _plot(data: PyTree, shown: Sequence[str]) -> Figure:
    """Plot curves of the policies shown."""
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
    ]
    return ex.curves_figure(panels, 2, 3.0)
