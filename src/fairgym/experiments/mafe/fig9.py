"""Cost of fairness: reward and fairness as the weight moves between them."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from fairgym.experiments import _parts as ex
from fairgym.experiments.mafe.fig7 import LITERAL
from fairgym.fairness import Objective
from fairgym.report import style
from fairgym.results.labels import title
from fairgym.statistics.intervals import interquartile_mean

ENVIRONMENTS = ("health", "loan", "education")
MODERATE = 0.3  # from lambda 1 down to it, the trade-off should be small
SMALL = 0.1  # share of the reward at lambda = 1
REWARD, PROFIT, FAIRNESS, SURVIVED = "reward", "profit", "fairness", "survived"
NULL = FAIRNESS + ex.NULL_MEAN
LOW = 0.1  # up to this lambda, runs in which failed episodes rank by score are shown


@ex.experiments.register("mafe-fig9")
class MafeFig9(ex.ComparisonFigure):
    """F-MACEM with weights lambda for rewards and 1 - lambda for fairness."""

    title = "MAFE figure 9: reward and fairness frontier"
    source = "MAFE, figure 9 and appendix D.4"
    claim = (
        '"only a subtle trade-off between maximizing rewards and maintaining fairness"; "the most'
        " significant performance declines occur when the weight assigned to the fairness term"
        ' substantially exceeds that of the reward term"; some weight on fairness "can, in some'
        ' cases, improve rewards"; rewards and fairness violations are normalised "to lie within'
        ' the range [0,1]"'
    )
    caption = (
        "Points are interquartile means over seeds, coloured by lambda. The line is the Pareto"
        " front; hollow points are dominated: another point has more of both. Faint dots are seeds."
        " Grey bars: fairness under permuted groups at this reward (95% interval of the null mean)."
    )
    sizes: ClassVar = {
        "paper": dataclasses.replace(ex.PAPER, weights=(0.0, 0.1, MODERATE, 0.5, 0.7, 0.9, 1.0)),
        "quick": ex.Size(
            people=300,
            epochs=15,
            episodes=50,
            held_out=16,
            weights=(0.0, 0.1, MODERATE, 0.6, 1.0),
        ),
    }

    def grid(self, size: ex.Size) -> ex.Grid:
        """Return every lambda in three environments, and the lowest ones with failures by score."""
        assert size.weights is not None
        points = [(name, weight) for name in ENVIRONMENTS for weight in size.weights]
        literal: dict[str, Any] = {"algorithm_args": size.training() | {"failed_last": False}}
        return {f"{n}/{w:g}": ex.run_config(n, size, f"frontier:{w:g}") for n, w in points} | {
            f"{n}/{w:g}, {LITERAL}": ex.run_config(n, size, f"frontier:{w:g}", **literal)
            for n, w in points
            if w <= LOW
        }

    def numbers(self, place: str, runs: Sequence[ex.Run], ends: ex.Ends) -> ex.Columns:
        """Return reward, its profit, fairness with its null distribution, and survival."""
        env = runs[0].env
        fair = sum(env.metrics[term].kind == "fair" for term in env.spec.terms)
        return {
            REWARD: ex.score(ends, Objective.frontier(env, 1.0)),
            PROFIT: ex.score(ends, Objective.direct(env)),
            FAIRNESS: ex.score(ends, Objective.frontier(env, 0.0)),
            NULL: ex.null_sums(ends, env) / fair,
            SURVIVED: ex.survival(ends),
        }

    def checks(self, data: ex.Compared) -> list[ex.Check]:
        """Check loss and gain of reward by lambda, the gain of fairness, and the normalised range.

        Where most reward is lost is not predicted: at lambda 0 the objective has no rewards.
        """
        checks = []
        for name, labelled in data.items():
            found = by_weight(labelled)
            reward = {weight: one[REWARD] for weight, one in found.items()}
            moderate = min(weight for weight in reward if weight >= MODERATE)
            most = max(weight for weight in reward if weight < 1.0)
            above = reward[1.0] - reward[moderate]
            excess = [ex.excess(one[FAIRNESS], one[NULL]) for one in found.values()]
            ranks = np.argsort(excess, axis=0).argsort(axis=0)
            places = np.argsort([-weight for weight in found]).argsort()
            fairer = [np.corrcoef(places, seed)[0, 1] for seed in ranks.T]
            checks += [
                ex.Check.above(
                    f"{name}: fairness (excess over the null) improves with its weight (rank"
                    " correlation)",
                    fairer,
                ),
                ex.Check.higher(
                    f"{name}: from lambda 1 to {moderate:g} less than a tenth of the reward is"
                    " lost (margin)",
                    SMALL * np.abs(reward[1.0]),
                    above,
                ),
                ex.Check.higher(
                    f"{name}: some weight on fairness improves the reward (lambda {most:g} over 1)",
                    reward[most],
                    reward[1.0],
                ),
                ex.Check.above(
                    f"{name}: normalised profit stays above 0 at every lambda (the smallest)",
                    np.min([one[PROFIT] for one in found.values()], axis=0),
                ),
                ex.Check.below(
                    f"{name}: normalised profit stays below 1 at every lambda (the largest)",
                    np.max([one[PROFIT] for one in found.values()], axis=0),
                    1.0,
                ),
                ex.Check.higher(
                    f"{name}: below lambda {moderate:g} more reward is lost than above",
                    reward[moderate] - reward[0.0],
                    above,
                    "by construction",
                ),
            ]
        return checks

    def tables(self, data: ex.Compared) -> list[ex.Table]:
        """Return every point."""
        caption = (
            "Means of normalised rewards and of normalised disparities in held-out episodes, and"
            " share of these episodes that do not fail; interquartile mean over seeds [95% CI]."
            f" {ex.NULL_NOTE} “Profit” is the normalised profit, one of the rewards."
        )
        head = ["environment", "lambda", REWARD, PROFIT, FAIRNESS, NULL, SURVIVED]
        return [ex.columns_table(head, ex.by_place(data), caption)]

    def figures(self, data: ex.Compared) -> dict[str, Figure]:
        """Return reward over fairness, one panel per environment."""
        return {"": _plot({name: by_weight(found) for name, found in data.items()})}


def by_weight(found: Mapping[str, ex.Columns]) -> dict[float, ex.Columns]:
    """Return weight -> columns, for runs in which failed episodes rank last."""
    return {float(label): one for label, one in found.items() if LITERAL not in label}


def dominated(*scores: np.ndarray) -> np.ndarray:
    """Return True for dominated points: another is at least as good in all and better in one."""
    points = np.stack(scores, axis=-1)
    more = points[None] > points[:, None]
    return np.any(np.any(more, axis=-1) & ~np.any(more.transpose(1, 0, 2), axis=-1), axis=1)


@style.styled
def _plot(data: Mapping[str, Mapping[float, ex.Columns]]) -> Figure:
    figure, axes = style.panels(len(data), 3, 3.2, legend_rows=1)
    colours = ListedColormap(matplotlib.colormaps["cividis"](np.linspace(0.0, 0.85, 256)))
    for panel, (name, found) in zip(axes, data.items(), strict=True):
        seeds = [np.array([one[k] for one in found.values()]) for k in (FAIRNESS, REWARD)]
        fairness, reward = (interquartile_mean(values, axis=1) for values in seeds)
        front = ~dominated(fairness, reward)
        order = np.argsort(fairness[front])
        panel.plot(fairness[front][order], reward[front][order], color=style.MUTED, lw=1.0)
        for i, weight in enumerate(found):
            colour = colours(weight)
            panel.plot(*(values[i] for values in seeds), "o", color=colour, alpha=0.35, ms=3, mew=0)
            inside = colour if front[i] else style.PAPER
            panel.plot(fairness[i], reward[i], "o", color=colour, ms=7, mfc=inside, mew=1.6)
            ex.null_bar(panel, found[weight][NULL], reward[i])
        _label(panel, fairness, reward, list(found))
        style.set_title(panel, title(name))
        panel.set_xlabel("fairness (0: parity)")
        panel.xaxis.set_major_locator(MaxNLocator(nbins=4))
    axes[0].set_ylabel("reward")
    bar = figure.colorbar(ScalarMappable(cmap=colours), ax=axes, pad=0.02, fraction=0.03)
    bar.set_label("lambda, the weight of reward")
    bar.ax.tick_params(color=style.MUTED, labelcolor=style.MUTED, labelsize=8)
    bar.outline.set_visible(False)  # type: ignore[union-attr]
    dot: dict[str, Any] = {"ls": "", "marker": "o", "color": style.MUTED}
    handles = [
        Line2D([], [], **dot, ms=7, label="on the Pareto front"),
        Line2D([], [], **dot, ms=7, mfc=style.PAPER, mew=1.6, label="dominated"),
        Line2D([], [], **dot, ms=3, alpha=0.5, label="one seed"),
    ]
    style.top_legend(figure, handles)
    return figure


def _label(panel: Axes, x: np.ndarray, y: np.ndarray, weights: Sequence[float]) -> None:
    """Write the lambda of the two ends beside their points."""
    for i in {weights.index(max(weights)), weights.index(min(weights))}:
        panel.annotate(
            f"{weights[i]:g}",
            (x[i], y[i]),
            (6, 5),
            textcoords="offset points",
            fontsize=8,
            color=style.INK,
        )
