"""Cost of fairness: reward and fairness as the weight moves from one to the other."""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from jaxtyping import PyTree
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fairgym.config import RunConfig
from fairgym.experiments import _parts as ex
from fairgym.experiments.mafe.fig7 import LITERAL
from fairgym.fairness import Objective
from fairgym.report import style
from fairgym.results.labels import title
from fairgym.statistics.intervals import interquartile_mean

ENVIRONMENTS = ("health", "loan", "education")
MODERATE = 0.3  # the lambda up to which the trade-off is to be small
SMALL = 0.1  # of the reward at lambda = 1
LABEL_ROOM = 0.08  # of a panel's width and height
# Column -> how it is written.
MEASURED = {
    "reward": ex.iqm_text,
    "fairness": ex.iqm_text,
    "luck": ex.luck_text,
    "survived": ex.iqm_text,
}
HEAD = ["environment", "lambda", "reward", "fairness", "fairness by luck alone", "survived"]
LOW = 0.1  # the lambda up to which it is shown what failing episodes win if they may


@ex.experiments.register("mafe-fig9")
class MafeFig9(ex.Experiment):
    """F-MACEM at weights lambda for rewards and 1 - lambda for fairness."""

    title = "The frontier of reward and fairness"
    source = "MAFE, figure 9 and appendix D.4"
    claim = (
        '"only a subtle trade-off between maximizing rewards and maintaining fairness"; "the most'
        " significant performance declines occur when the weight assigned to the fairness term"
        ' substantially exceeds that of the reward term"'
    )
    sizes: ClassVar = {
        "paper": dataclasses.replace(
            ex.PAPER, weights=tuple(round(0.1 * step, 1) for step in range(11))
        ),
        "quick": ex.Size(
            people=300,
            epochs=15,
            episodes=50,
            held_out=16,
            weights=(0.0, 0.1, MODERATE, 0.6, 1.0),
        ),
    }

    def grid(self, size: ex.Size) -> dict[str, RunConfig]:
        """Every lambda in three environments, and the lowest ones where failing may win."""
        assert size.weights is not None
        points = [(name, weight) for name in ENVIRONMENTS for weight in size.weights]
        literal: dict[str, Any] = {"algorithm_args": size.training() | {"failed_last": False}}
        return {f"{n}/{w:g}": ex.run_config(n, size, f"frontier:{w:g}") for n, w in points} | {
            f"{n}/{w:g}/{LITERAL}": ex.run_config(n, size, f"frontier:{w:g}", **literal)
            for n, w in points
            if w <= LOW
        }

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Environment -> "weights", and "reward", "fairness" and so on, (weights, seeds).

        "luck" is the fairness that luck alone leaves, (weights, seeds, permutations); "literal" is
        all of this again for the weights at which failed episodes rank by their scores, too.
        """
        assert size.held_out is not None and size.weights is not None
        episodes = size.held_out

        def measured(name: str, ending: str, weights: Sequence[float]) -> dict[str, Any]:
            found: dict[str, PyTree] = {column: [] for column in MEASURED}
            for weight in weights:
                several = runs[f"{name}/{weight:g}{ending}"]
                env = several[0].env
                ends = [ex.held_out_run(run, episodes, ex.PERMUTATIONS) for run in several]
                fair = sum(env.metrics[term].kind == "fair" for term in env.spec.terms)
                for key, objective in (("reward", 1.0), ("fairness", 0.0)):
                    scores = [ex.score(end, Objective.frontier(env, objective)) for end in ends]
                    found[key].append(scores)
                found["luck"].append([ex.by_luck(end, env) / fair for end in ends])
                found["survived"].append([1.0 - np.mean(end.terminated) for end in ends])
            return {"weights": np.array(weights)} | {k: np.array(v) for k, v in found.items()}

        low = [weight for weight in size.weights if weight <= LOW]
        return {
            name: measured(name, "", size.weights) | {"literal": measured(name, f"/{LITERAL}", low)}
            for name in ENVIRONMENTS
        }

    def conclude(self, data: PyTree) -> ex.Outcome:
        """Loss of reward at a moderate lambda, and at 0, and gain of fairness, per environment.

        Where most reward is lost is no prediction: at lambda 0 the objective does not see rewards.
        """
        checks, rows = [], []
        for name, found in data.items():
            weights = found["weights"]
            reward = {round(float(w), 6): r for w, r in zip(weights, found["reward"], strict=True)}
            moderate = min(w for w in reward if w >= MODERATE)
            above = reward[1.0] - reward[moderate]
            excess = ex.beyond(found["fairness"], found["luck"])
            ranks = excess.argsort(axis=0).argsort(axis=0)
            places = (-weights).argsort().argsort()
            fairer = [np.corrcoef(places, seed)[0, 1] for seed in ranks.T]
            checks += [
                ex.Check.above(
                    f"{name}: fairness beyond luck improves with its weight (rank correlation)",
                    fairer,
                ),
                ex.Check.higher(
                    f"{name}: from lambda 1 to {moderate:g} less than a tenth of the reward is"
                    " lost (below that by)",
                    SMALL * np.abs(reward[1.0]),
                    above,
                ),
                ex.Check.higher(
                    f"{name}: below lambda {moderate:g} more reward is lost than above (by)",
                    reward[moderate] - reward[0.0],
                    above,
                    "by construction",
                ),
            ]
            rows += [
                [name, f"{w:g}{words}", *(text(some[k][i]) for k, text in MEASURED.items())]
                for some, words in ((found, ""), (found["literal"], f", {LITERAL}"))
                for i, w in enumerate(some["weights"])
            ]
        caption = (
            "Means of normalised rewards and of normalised disparities in held-out episodes, and"
            " the share of these episodes that do not fail; interquartile mean over seeds (95%"
            f" interval). {ex.LUCK}"
        )
        return ex.Outcome(
            figures={"": _plot(data)},
            caption="Points are interquartile means over seeds, joined in the order of lambda and"
            " labelled with it where there is room; hollow ones are dominated: another point has"
            " more of both. Faint dots are seeds.",
            tables=[ex.Table(HEAD, rows, caption)],
            checks=checks,
        )


def dominated(*scores: np.ndarray) -> np.ndarray:
    """True for points of which another one has at least as much of everything, and more of some."""
    points = np.stack(scores, axis=-1)
    more = points[None] > points[:, None]
    return np.any(np.any(more, axis=-1) & ~np.any(more.transpose(1, 0, 2), axis=-1), axis=1)


@style.styled
def _plot(data: PyTree) -> Figure:
    figure, axes = style.panels(len(data), 3, 3.2)
    for panel, (name, found) in zip(axes, data.items(), strict=True):
        colour = style.POLICY_COLOURS[0]
        panel.plot(found["fairness"], found["reward"], "o", color=colour, alpha=0.25, ms=4, mew=0)
        fairness, reward = (interquartile_mean(found[k], axis=1) for k in ("fairness", "reward"))
        panel.plot(fairness, reward, "-", color=colour, lw=1.2)
        for x, y, worse in zip(fairness, reward, dominated(fairness, reward), strict=True):
            panel.plot([x], [y], "o", color=colour, ms=5, mfc="white" if worse else colour)
        _label(panel, fairness, reward, found["weights"])
        style.set_title(panel, title(name))
        panel.set_xlabel("fairness (0: parity)")
        panel.xaxis.set_major_locator(MaxNLocator(nbins=4))
    axes[0].set_ylabel("reward")
    return figure


def _label(panel: Axes, x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
    """Write its lambda beside each point, the ends first, where no other is in the way."""
    low, high = (np.array(v) for v in zip(panel.get_xlim(), panel.get_ylim(), strict=True))
    labelled: list[np.ndarray] = []
    for i in (0, len(weights) - 1, *range(1, len(weights) - 1)):
        place = (np.array([x[i], y[i]]) - low) / (high - low)
        if all(np.any(np.abs(place - other) > LABEL_ROOM) for other in labelled):
            labelled.append(place)
            panel.annotate(
                f"{weights[i]:g}",
                (x[i], y[i]),
                (5, 4),
                textcoords="offset points",
                fontsize=8,
                color=style.MUTED,
            )
