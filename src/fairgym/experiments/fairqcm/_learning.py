"""Learning curves of learners with different memories in one environment: figures 2 to 5."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import jax
import numpy as np
from jaxtyping import PyTree
from matplotlib.figure import Figure

from fairgym.experiments import _parts as ex
from fairgym.experiments.fairqcm import _choices as tuning
from fairgym.experiments.fairqcm._learners import Learner, Panel
from fairgym.policies import fixed_policies
from fairgym.report import style
from fairgym.results.numbers import number
from fairgym.statistics.intervals import bootstrap_interval
from fairgym.training import evaluate
from fairgym.utils import make

OURS, RECURRENT = "FairQCM", "RNN"
PUBLISHED, BETTER, EQUAL = "published settings", "better settings", "equal tuning"
OWN = "own settings"  # of pages that the paper does not have
RANDOM = "Random"
RANDOM_PRESENT = "Random among those present"  # needs no memory

TIME_SEEN = {"shows_time": True}
NO_BOOTSTRAP = {"bootstrap_truncated": False}
TIME_ENDS = "agents observe the time, and there is no time limit bootstrapping"
ENDS = (
    f"{TIME_ENDS}; in the published settings, learners treat the last step of an episode as if the"
    " episode went on forever"
)

RECURRENT_STEPS = (
    "The recurrent network makes ten gradient steps after each episode; the others make one"
    " gradient step per environment step. Its runs take minutes, so it has ten seeds at most, five"
    " in the better settings, and is compared with the others in these seeds."
)


class LearningFigure(ex.Experiment):
    """Learning curves with lines for fixed policies; subclasses define the learners.

    Attributes:
        name: Name of the experiment.
        environment: Name of the environment.
        environment_args: Arguments of the environment.
        params: Parameters of the environment that differ from its defaults.
        objective: Name of the objective.
        settings: Words for the settings of `learners` without `better`.
        better_args: Arguments of the environment that differ in the better settings.
        better_words: Sentence that describes the better settings.
        further_words: Further sentence about the learners; "" for none.
        learners: Label -> learner; FairQCM is one of them.
        unpublished: Learners that the paper's figure does not have.
        panels: Panels of the figure; the first one shows the score.
        lines: Label -> name of one of the environment's baselines.
        unit: Unit of an epoch: "episode" or "step".
        most_seeds: Start of a key of `grid` -> largest number of seeds. Batches of equal tuning are
            large, and a recurrent network takes minutes. Its better settings are no prediction.
    """

    name: ClassVar[str]
    environment: ClassVar[str]
    environment_args: ClassVar[Mapping[str, Any]]
    params: ClassVar[Mapping[str, Any]] = {}
    objective: ClassVar[str] = "published"
    settings: ClassVar[str] = PUBLISHED
    better_args: ClassVar[Mapping[str, Any]]
    better_words: ClassVar[str]
    further_words: ClassVar[str] = ""
    learners: ClassVar[Mapping[str, Learner]]
    unpublished: ClassVar[Sequence[str]] = ()
    panels: ClassVar[Sequence[Panel]]
    lines: ClassVar[Mapping[str, str]]
    unit: ClassVar[str] = "episode"
    most_seeds: ClassVar[Mapping[str, int]] = {
        EQUAL: 10,
        f"{PUBLISHED}: {RECURRENT}": 10,
        f"{BETTER}: {RECURRENT}": 5,
    }

    def grid(self, size: ex.Size) -> ex.Grid:
        """Return every learner in the published settings, in the better ones, and equally tuned."""
        tuned = tuning.choices(self.name)
        grid = {}
        for label, learner in self.learners.items():
            if learner.published:
                grid[f"{self.settings}: {label}"] = self.config(size, learner)
            if learner.better is not None:
                grid[f"{BETTER}: {label}"] = self.config(size, learner, better=learner.better)
            if label in tuned:
                grid[f"{EQUAL}: {label}"] = self.config(size, learner, better=tuned[label])
        return grid

    def seeds_of(self, key: str, size: ex.Size) -> Sequence[int]:
        """Return the seeds of a configuration, no more than `most_seeds`."""
        most = [number for start, number in self.most_seeds.items() if key.startswith(start)]
        return self.seeds(size)[: min(most, default=None)]

    def config(
        self, size: ex.Size, learner: Learner, better: Mapping[str, Any] | None = None
    ) -> ex.RunConfig:
        """Return the configuration of a learner.

        Args:
            size: Length of the training.
            learner: The learner.
            better: Hyperparameters that differ from its published ones, in the environment of the
                better settings; None for the published ones.
        """
        environment = {} if better is None else self.better_args
        return ex.RunConfig(
            self.environment,
            {**self.environment_args, **environment},
            params=self.params,
            algorithm=learner.algorithm,
            algorithm_args={**size.training(), **learner.arguments, **(better or {})},
            objective=self.objective,
            memory=learner.memory,
        )

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Return curves by setting and learner, and lines of fixed policies, both by panel."""
        curves: dict[str, dict[str, PyTree]] = {self.settings: {}, BETTER: {}, EQUAL: {}}
        for key, several in runs.items():
            setting, _, label = key.partition(": ")
            curves[setting][label] = {
                panel.label: panel.sign * ex.logged_curves(several, panel.key)
                for panel in self.panels
            }
        per_epoch = size.steps if self.unit == "step" else size.episodes
        assert size.epochs is not None and per_epoch is not None
        first = next(iter(runs.values()))[0]
        return {
            "x": per_epoch * np.arange(1, size.epochs + 1),
            "curves": curves,
            "lines": self._measured_lines(first, size, seeds) | self.bounds(),
        }

    def bounds(self) -> dict[str, dict[str, float]]:
        """Return calculated lines: label -> panel -> value; none by default."""
        return {}

    def _measured_lines(
        self, run: ex.Run, size: ex.Size, seeds: Sequence[int]
    ) -> dict[str, dict[str, float]]:
        """Measure fixed policies in `held_out` episodes per seed, by the objective of a run."""
        env = make(self.environment, **self.environment_args)
        assert size.held_out is not None
        lines = {}
        for label, name in self.lines.items():
            policies = fixed_policies(env, env.spec.baselines[name])
            found = evaluate(
                env,
                run.params,
                policies,
                jax.random.key(ex.HELD_OUT),
                size.held_out * len(seeds),
                objective=run.objective,
            )
            lines[label] = {
                panel.label: panel.sign * float(np.mean(found.values(panel.name)))
                for panel in self.panels
            }
        return lines

    def conclude(self, data: PyTree) -> ex.Outcome:
        """Check the published claims with the published settings, and FairQCM with the others.

        The better settings were chosen by the scores learned with them, so their checks are
        calibrated. Those of equal tuning were chosen on other seeds. With them, the first check of
        each pair judges the claim that FairQCM needs the fewest samples.
        """
        checks = self.claims(data["curves"][self.settings], data["lines"])
        kinds: dict[str, ex.Kind] = {BETTER: "calibrated", EQUAL: "own prediction"}
        for setting, kind in kinds.items():
            curves = data["curves"].get(setting, {})
            for other in curves:
                if other != OURS:
                    checks += self.ahead(curves, other, setting, kind)
        head = ["settings", "learner"]
        for panel in self.panels:
            head += [f"{panel.label}, all of training", "last tenth"]
        rows = [
            [
                setting,
                label,
                *(ex.iqm_text(of(one[p.label])) for p in self.panels for of in (mean, last)),
            ]
            for setting, several in data["curves"].items()
            for label, one in several.items()
        ]
        rows += [
            [
                "fixed",
                label,
                *(
                    text
                    for p in self.panels
                    for text in ("", number(one[p.label]) if p.label in one else "")
                ),
            ]
            for label, one in data["lines"].items()
        ]
        caption = "Means of the learning curve; interquartile mean over seeds [95% CI]."
        return ex.Outcome(
            figures={
                setting.replace(" ", "-"): self._plot(data, several)
                for setting, several in data["curves"].items()
                if several
            },
            caption=" ".join(filter(None, self._sentences(data["curves"]))),
            tables=[ex.Table(head, rows, caption), self._against_random(data)],
            checks=checks,
        )

    def _against_random(self, data: PyTree) -> ex.Table:
        """Return every learner's last score minus those of random choice."""
        label, lines = self.panels[0].label, data["lines"]
        levels = {name: lines[name][label] for name in (RANDOM, RANDOM_PRESENT) if name in lines}
        rows = [
            [setting, learner, *(against(last(one[label]) - level) for level in levels.values())]
            for setting, several in data["curves"].items()
            for learner, one in several.items()
        ]
        caption = (
            "Last tenth of training minus random choice, which a learner should exceed"
            f" ({label}); interquartile mean over seeds [95% CI]. “Above” and “below”: the interval"
            " excludes 0. The score of random choice, in the table above, is taken as exact."
        )
        return ex.Table(
            ["settings", "learner", *(f"minus {name}" for name in levels)], rows, caption
        )

    def _sentences(self, curves: Mapping[str, PyTree]) -> list[str]:
        """Return the sentences of the caption."""
        sentences = [ex.CAPTION, "Each point is the greedy policy after an epoch of training."]
        if curves[BETTER]:
            sentences += [self.better_words, "They were chosen by the resulting scores."]
        if curves.get(EQUAL):
            several = next(iter(curves[EQUAL].values()))[self.panels[0].label]
            sentences.append(
                f"{tuning.words()} It has {len(several)} seeds. Its checks of the claim of the"
                " fewest samples are own predictions, which the verdict does not count."
            )
        return [*sentences, self.further_words]

    def claims(self, curves: Mapping[str, PyTree], lines: Mapping[str, PyTree]) -> list[ex.Check]:
        """Return checks of the published claims, and of the same about unpublished learners.

        Args:
            curves: Learner -> panel -> one row of numbers per seed.
            lines: Label -> panel -> number.
        """
        found = []
        for other in curves:
            kind: ex.Kind = "own prediction" if other in self.unpublished else "predicted"
            found += self.ahead(curves, other, "", kind) if other != OURS else []
        return found

    def ahead(
        self,
        curves: Mapping[str, PyTree],
        other: str,
        setting: str,
        kind: ex.Kind = "predicted",
    ) -> list[ex.Check]:
        """Check FairQCM's score against another one, over all of training and its last tenth."""
        label = self.panels[0].label
        prefix = f"{setting}: " if setting else ""
        ours, theirs = common(curves[OURS][label], curves[other][label])
        return [
            ex.Check.higher(
                f"{prefix}{OURS} scores above {other} {when}", of(ours), of(theirs), kind
            )
            for when, of in (("over all of training", mean), ("in its last tenth", last))
        ]

    def above_some(self, curves: Mapping[str, PyTree], name: str) -> ex.Check:
        """Check a learner's last score against the lowest of the others, FairQCM excluded."""
        label = self.panels[0].label
        ends = {other: last(one[label]) for other, one in curves.items()}
        others = [other for other in ends if other not in (name, OURS)]
        lowest = min(others, key=lambda other: float(np.mean(ends[other])))
        own, theirs = common(ends[name], ends[lowest])
        return ex.Check.higher(f"{name} ends above {lowest}", own, theirs)

    @style.styled
    def _plot(self, data: PyTree, several: Mapping[str, PyTree]) -> Figure:
        panels = [
            ex.Curves(
                {label: (data["x"], one[panel.label]) for label, one in several.items()},
                f"training {self.unit}",
                panel.label,
            )
            for panel in self.panels
        ]
        levels = [
            {name: line[panel.label] for name, line in data["lines"].items() if panel.label in line}
            for panel in self.panels
        ]
        # a learner has one look in all figures
        return ex.multiples(panels, ex.looks_of(list(self.learners)), levels)


def against(differences: np.ndarray) -> str:
    """Return differences of seeds with their interval, and what follows from it, for a table."""
    _, low, high = bootstrap_interval(differences)
    found = "above" if low > 0.0 else "below" if high < 0.0 else "not told apart"
    return f"{ex.iqm_text(differences)}, {found}"


def common(*several: np.ndarray) -> list[np.ndarray]:
    """Return the rows of the seeds that all of these have."""
    seeds = min(map(len, several))
    return [one[:seeds] for one in several]


def mean(curves: PyTree) -> np.ndarray:
    """Return the mean of each seed's curve: its area per epoch."""
    return np.mean(curves, axis=1)


def last(curves: PyTree) -> np.ndarray:
    """Return the mean of the last tenth of each seed's curve."""
    return ex.first_and_last(curves)[1]
