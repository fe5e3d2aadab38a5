"""Equal tuning: the same number of tried settings for every memory, on seeds of their own."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from jaxtyping import PyTree

from fairgym.algorithms import algorithms
from fairgym.config.settings import algorithm_settings
from fairgym.experiments import _parts as ex
from fairgym.experiments.fairqcm._learners import Learner
from fairgym.experiments.fairqcm._learning import LearningFigure
from fairgym.report import style
from fairgym.results.numbers import number
from fairgym.utils import make

FIGURES = tuple(f"fairqcm-fig{number_of}" for number_of in (2, 3, 4, 5))
PUBLISHED = "published"
# Values by hyperparameter. A pair of numbers is the range of a log-uniform draw.
DEEP: dict[str, Any] = {
    "learning_rate": (1e-4, 1e-2),
    "gamma": [0.5, 0.8, 0.95, 0.99],
    "epsilon_decay": [0.98, 0.99, 0.999],
    "batch_size": [64, 256, 1_024],
    "buffer_size": [1_000, 8_000],
    "learning_starts": [400],  # not a full buffer, which FairQCM fills many steps before others
    "target_network_frequency": [50, 200, 1_000],
    "input_code": ["scaled", "binary"],
    "bootstrap_truncated": [True, False],
}
TABULAR: dict[str, Any] = {
    "learning_rate": (0.03, 0.5),
    "gamma": [0.9, 0.99, 1.0],
    "epsilon_decay": [0.9, 0.95, 0.98],
    "bootstrap_truncated": [True, False],
}
OFFSETS = {"full": [(1, 2), (0, 1)], "min": [tuple(n for n in range(-5, 6) if n), (-2, -1, 1, 2)]}


def drawn(figure: type[LearningFigure], learner: Learner, count: int) -> list[dict[str, Any]]:
    """Return the settings that are tried for a learner, the published ones first.

    The n-th draw is the same for all learners in the hyperparameters that they share.

    Args:
        figure: The figure.
        learner: The learner.
        count: Number of settings.
    """
    env = make(figure.environment, **figure.environment_args)
    known = {one.name for one in algorithm_settings(learner.algorithm, env)}
    space = TABULAR if "tabular" in learner.algorithm else DEEP
    found: list[dict[str, Any]] = [{}]
    for number_of in range(1, count):
        random = np.random.default_rng(number_of)
        one: dict[str, Any] = {}
        for name, values in space.items():
            if isinstance(values, tuple):
                low, high = map(math.log, values)
                one[name] = float(f"{math.exp(random.uniform(low, high)):.2g}")
            else:
                one[name] = values[random.integers(len(values))]
        offsets = OFFSETS.get(learner.memory, [(1, 2)])
        chosen = offsets[random.integers(len(offsets))]
        if getattr(algorithms.get(learner.algorithm), "counterfactuals", 0):
            one["offsets"] = chosen
        found.append({name: value for name, value in one.items() if name in known})
    return found


@ex.experiments.register("fairqcm-tuning")
class FairqcmTuning(ex.Experiment):
    """Random search for the settings of every learner of figures 2 to 5.

    It writes `tuned.json` beside its page. Copied to the folder of this module, the file is the
    condition "equal tuning" of these figures.
    """

    title = "FairQCM figures 2 to 5: equal tuning"
    source = "beyond Remembering to Be Fair"
    claim = "none; this page chooses the settings of “equal tuning” in figures 2 to 5"
    first_seed = 1_000  # the figures have 0, 1, ...
    sizes: ClassVar = {
        "paper": ex.Size(epochs=25, episodes=10, steps=1_000, tried=12, seeds=3),
        "quick": ex.Size(epochs=3, episodes=4, steps=400, tried=2, seeds=2),
    }
    figures: ClassVar[Sequence[str]] = FIGURES

    @property
    def tuned(self) -> list[type[LearningFigure]]:
        """The figures whose learners are tuned."""
        return [ex.experiments.get(name) for name in self.figures]

    def grid(self, size: ex.Size) -> ex.Grid:
        """Return every setting of every learner: a quarter of the figures' training."""
        grid = {}
        assert size.tried is not None
        for figure in self.tuned:
            length = _length(figure, size)
            for label, learner in figure.learners.items():
                for place, setting in enumerate(drawn(figure, learner, size.tried)):
                    config = figure().config(length, learner, better=setting)
                    grid[f"{figure.name}/{label}/{place}"] = config
        return grid

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Return the settings and their scores, means of the learning curve by setting and seed."""
        assert size.tried is not None
        found: dict[str, Any] = {}
        for figure in self.tuned:
            panel = figure.panels[0]
            found[figure.name] = {}
            for label, learner in figure.learners.items():
                scores = [
                    panel.sign
                    * ex.logged_curves(runs[f"{figure.name}/{label}/{place}"], panel.key).mean(1)
                    for place in range(size.tried)
                ]
                found[figure.name][label] = {
                    "settings": drawn(figure, learner, size.tried),
                    "scores": np.array(scores),
                }
        return {"figures": found, "seeds": list(seeds), "tried": size.tried}

    def conclude(self, data: PyTree) -> ex.Outcome:
        """Choose the setting with the best mean score for each learner, and list all of them."""
        chosen = {
            figure: {label: one["settings"][_best(one)] for label, one in learners.items()}
            for figure, learners in data["figures"].items()
        }
        made = {"tried": data["tried"], "seeds": data["seeds"]}
        text = json.dumps(made | {"choices": chosen}, indent=1)
        return ex.Outcome(
            figures={"": self._plot(data["figures"])},
            caption="Each dot is a setting: mean of the learning curve, over the seeds of the"
            " tuning. The chosen settings, in `tuned.json`, are those of `equal tuning` in the"
            " figures.",
            tables=[_table(name, learners) for name, learners in data["figures"].items()],
            checks=[],
            files={"tuned.json": f"{text}\n"},
        )

    @style.styled
    def _plot(self, figures: Mapping[str, Any]) -> Any:
        figure, axes = style.panels(len(figures), 2, 2.2)
        for panel, (name, learners) in zip(axes, figures.items(), strict=False):
            for place, one in enumerate(learners.values()):
                means = np.mean(one["scores"], axis=1)
                panel.plot(np.full(len(means), place), means, "o", color="0.6", markersize=3)
                panel.plot([place], [means.max()], "o", color="0.1", markersize=4)
            panel.set_ylabel("mean of the learning curve")
            panel.set_xticks(range(len(learners)), list(learners))
            panel.set_title(_heading(name), loc="left")
        return figure


def _length(figure: type[LearningFigure], size: ex.Size) -> ex.Size:
    """Return the size with the unit of the figure's epochs alone."""
    if figure.unit == "step":
        return ex.Size(epochs=size.epochs, steps=size.steps)
    return ex.Size(epochs=size.epochs, episodes=size.episodes)


def _heading(figure: str) -> str:
    return figure.replace("fairqcm-fig", "Figure ")


def _best(learner: Mapping[str, Any]) -> int:
    """Return the place of the setting with the best mean score over seeds."""
    return int(np.argmax(np.mean(learner["scores"], axis=1)))


def _table(figure: str, learners: Mapping[str, Any]) -> ex.Table:
    """Return a row for each tried setting: its hyperparameters, and the score of each learner."""
    settings: list[dict[str, Any]] = [
        {name: value for one in several for name, value in one.items()}
        for several in zip(*(one["settings"] for one in learners.values()), strict=True)
    ]
    names = list(dict.fromkeys(name for setting in settings for name in setting))
    rows = []
    for place, setting in enumerate(settings):
        row = [str(place) if setting else PUBLISHED]
        row += [str(setting.get(name, "")) for name in names]
        for one in learners.values():
            score = number(np.mean(one["scores"][place]))
            row.append(f"**{score}**" if place == _best(one) else score)
        rows.append(row)
    words = (
        f"{_heading(figure)}: tried settings, and the mean learning curve of each learner over"
        " seeds; the chosen one is bold. Offsets are of FairQCM’s counterfactual memories."
    )
    head = ["setting", *(name.replace("_", " ") for name in names), *learners]
    return ex.Table(head, rows, words)
