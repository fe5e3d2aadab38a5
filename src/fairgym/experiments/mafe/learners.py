"""Fairness-aware learners beside F-MACEM and F-MAPPO, on loan, health and education.

F-MACEM and F-MAPPO find all disparities in their objective, as in MAFE's figure 11. ELBERT-PO,
A-PPO and PPO-Lagrangian get rewards alone and look after one disparity, each in its own way; PPO is
the same learner without that.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import PyTree
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgym.algorithms import log_keys
from fairgym.algorithms.f_mappo import FMappo
from fairgym.core import Environment
from fairgym.experiments import _parts as ex
from fairgym.fairness import Objective
from fairgym.report import style
from fairgym.results.labels import listed, title, words
from fairgym.statistics.intervals import bootstrap_interval
from fairgym.utils import make
from fairgym.utils.registry import environments


class System(NamedTuple):
    """Disparity that is looked after in an environment.

    Attributes:
        disparity: name of the metric, the first disparity of the environment in MAFE's table 1.
        limit: the largest that passes in training; the notes tell how it was chosen.
    """

    disparity: str
    limit: float


SYSTEMS = {
    "loan": System("admission_disparity", 0.01),
    "health": System("mortality_disparity", 0.01),
    "education": System("admission_disparity", 0.02),
}
# Name -> (algorithm, objective), in the order of colours.
LEARNERS = {
    "F-MACEM": ("f-macem", "half-direct"),
    "F-MAPPO": ("f-mappo", "half-direct"),
    "ELBERT-PO": ("elbert-po", "direct"),
    "A-PPO": ("a-ppo", "direct"),
    "PPO-Lagrangian": ("ppo-lagrangian", "direct"),
    "PPO": ("ppo", "direct"),
}
MACEM, MAPPO, *FAIR, PPO = LEARNERS
KEEP_REWARD = FAIR[:2]  # whose papers promise it
UNTRAINED = "untrained"
TABLE_8 = 100  # episodes per epoch
SMALL = 0.1  # of PPO's reward
SCORE, REWARD, UNFAIR, SURVIVED = "objective", "reward", "all disparities", "survived"


def settings(algorithm: str, system: System, horizon: int) -> dict[str, Any]:
    """Hyperparameters of a learner that differ from its defaults.

    Args:
        algorithm: name of the algorithm.
        system: the disparity that is looked after, and its limit.
        horizon: T, steps of an episode.
    """
    # of the episode so far, so that the last step's is what is reported
    watched = {"short_term": system.disparity, "long_term": "", "window": 0}
    own: Mapping[str, Mapping[str, Any]] = {
        "elbert-po": {
            "disparity": system.disparity,
            # d(alpha b^2)/db = T at the limit, where a disparity then costs as much as so much
            # normalised profit
            "bias_weight": horizon / (2.0 * system.limit),
        },
        "a-ppo": {**watched, "tolerance": system.limit},
        "ppo-lagrangian": {**watched, "cost_limit": system.limit, "cost_multiplier_rate": 1.0},
        "ppo": {},
    }
    if algorithm not in own:
        return {}
    # F-MAPPO's, so that nothing differs but what is done about unfairness
    same = {field.name: getattr(FMappo(), field.name) for field in dataclasses.fields(FMappo)}
    same |= {"network": "equivariant", "bootstrap_truncated": False}
    return {**same, **own[algorithm]}


@ex.experiments.register("mafe-learners")
class MafeLearners(ex.ComparisonFigure):
    """Six learners, three environments, equally many environment steps."""

    title = "Fairness-aware learners on loan, health and education"
    source = "beyond MAFE, appendix D.6"
    claim = (
        'on loan "F-MACEM achieves significantly better performance on the fairness-reward'
        ' objective compared to F-MAPPO" (MAFE); ELBERT-PO, A-PPO and PPO-Lagrangian are less'
        " unfair than a learner that gets rewards alone, the first two without much loss of reward"
        " (Xu et al. 2024, Yu, Qin et al. 2022, Ray et al. 2019)"
    )
    sizes: ClassVar = {
        "paper": ex.PAPER,
        "quick": dataclasses.replace(ex.QUICK, people=300, epochs=5, episodes=16),
    }
    caption = (
        f"{ex.CAPTION} Faint dots are seeds, reward is normalised profit, “{UNFAIR}” the mean of"
        " the normalised disparities."
    )

    def grid(self, size: ex.Size) -> ex.Grid:
        """Six learners in three environments."""
        assert size.episodes is not None
        horizons = {name: environments.get(name).horizon for name in SYSTEMS}
        found = {}
        for name, system in SYSTEMS.items():
            # a quick run has as many steps where episodes are short
            longer = max(horizons.values()) // horizons[name]
            episodes = min(longer * size.episodes, TABLE_8)
            training = dataclasses.replace(size, episodes=episodes).training()
            for label, (algorithm, objective) in LEARNERS.items():
                own = settings(algorithm, system, horizons[name]) | training
                found[f"{name}/{label}"] = ex.run_config(
                    name, size, objective, algorithm=algorithm, algorithm_args=own
                )
        return found

    def numbers(self, place: str, runs: Sequence[ex.Run], ends: ex.Ends) -> PyTree:
        """Numbers of a learner.

        "steps" are (epochs,), "curves" (seeds, epochs) of the objective and of the disparity that
        is looked after, "ends" (seeds,) of held-out episodes: `ended` by name, and "luck" (seeds,
        permutations) what luck alone makes of those that are disparities.
        """
        disparity = SYSTEMS[place].disparity
        gaps = -ex.logged_curves(runs, log_keys.metric(disparity))
        return {
            "steps": np.arange(1, gaps.shape[1] + 1) * ex.steps_per_epoch(runs[0]),
            "curves": {
                SCORE: np.array([logged_objective(run) for run in runs]),
                disparity: gaps,
            },
            **ended(runs[0].env, ends),
        }

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Also "untrained": policies that F-MAPPO begins with, without "steps" and "curves"."""
        assert size.held_out is not None
        data = super().measure(size, runs, seeds)
        for name, found in data.items():
            several = runs[f"{name}/{MAPPO}"]
            starts = [ex.untrained_run(run, size.held_out, self.permutations) for run in several]
            found[UNTRAINED] = ended(several[0].env, starts)
        return data

    def checks(self, data: PyTree) -> list[ex.Check]:
        """F-MACEM ahead on loan; less disparity than PPO, and nearly its reward."""
        of = {
            name: {label: one["ends"] for label, one in found.items()}
            for name, found in data.items()
        }
        loan = of["loan"]
        checks = [
            ex.Check.higher(
                f"loan: {MACEM} scores above {MAPPO} (by)", loan[MACEM][SCORE], loan[MAPPO][SCORE]
            )
        ]
        for name, (disparity, _) in SYSTEMS.items():
            plain = of[name][PPO]
            excess = {
                label: ex.beyond(one["ends"][disparity], one["luck"][disparity])
                for label, one in data[name].items()
            }
            for label in FAIR:
                statement = (
                    f"{name}: {label} has less {words(disparity)} beyond luck than {PPO} (by)"
                )
                checks.append(ex.Check.higher(statement, excess[PPO], excess[label]))
            for label in KEEP_REWARD:
                own = of[name][label]
                statement = (
                    f"{name}: {label} loses less than a tenth of the reward of {PPO} (below that"
                    " by)"
                )
                lost, allowed = plain[REWARD] - own[REWARD], SMALL * np.abs(plain[REWARD])
                checks.append(ex.Check.higher(statement, allowed, lost))
        return checks

    def tables(self, data: PyTree) -> list[ex.Table]:
        """A table for each system."""
        return [_table(name, found) for name, found in data.items()]

    def figures(self, data: PyTree) -> dict[str, Figure]:
        """Reward and unfairness of held-out episodes, and learning curves."""
        return {"frontier": _frontier(data), "curves": _curves(data)}


# ---------------------------------------------------------------- measuring


def ended(env: Environment, episodes: ex.Ends) -> dict[str, dict[str, np.ndarray]]:
    """Numbers of policies in their episodes, all but objective, reward and survival by metric.

    Rates and disparities are as they are read: not negative, and means over the episodes in which
    they are defined; NaN where there is none. "all disparities" is the mean of the normalised ones.

    Args:
        env: The environment.
        episodes: Held-out episodes of each seed.

    Returns:
        "ends" by name, (seeds,), and "luck", what luck alone makes of the disparities among them,
        (seeds, permutations).
    """
    found = {
        SCORE: ex.score(episodes, Objective.half_direct(env)),
        REWARD: ex.score(episodes, Objective.direct(env)),
        SURVIVED: ex.survival(episodes),
        UNFAIR: -ex.score(episodes, Objective.frontier(env, 0.0)),
    }
    for name, metric in env.metrics.items():
        if metric.kind != "direct":
            known = [metric.sign * one.metrics[name][one.defined[name]] for one in episodes]
            found[name] = np.array([np.mean(v) if v.size else np.nan for v in known], np.float64)
    fair = [name for name, metric in env.metrics.items() if metric.kind == "fair"]
    luck = {name: ex.disparity(episodes, name)[1] for name in fair}
    luck[UNFAIR] = -ex.by_luck(episodes, env) / sum(name in env.spec.terms for name in fair)
    return {"ends": found, "luck": luck}


def logged_objective(run: ex.Run) -> np.ndarray:
    """The objective "half-direct" of the learned policy by epoch, whatever a run is trained on."""
    kinds = [run.env.metrics[name].kind for name in run.env.spec.terms]
    count = {kind: kinds.count(kind) for kind in ex.KINDS}
    direct, fair = (ex.logged(run, log_keys.term(k)) / count[k] for k in ("direct", "fair"))
    return 0.5 * direct + 0.5 * fair


# ---------------------------------------------------------------- showing


def _table(name: str, found: PyTree) -> ex.Table:
    """Measures in rows, since education has many; learners in columns."""
    looked_after = SYSTEMS[name].disparity
    learners = {label: found[label] for label in (*LEARNERS, UNTRAINED)}
    rows = {SCORE: "objective ↑", REWARD: "normalised profit ↑"}
    for metric, own in make(name).metrics.items():
        if own.kind != "direct":
            arrow = "↑" if own.sign > 0 else "↓"
            text = f"{words(metric)} {arrow}"
            rows[metric] = f"**{text}**" if metric == looked_after else text
    rows |= {UNFAIR: f"{UNFAIR} ↓", SURVIVED: "episodes that do not fail ↑"}
    lines = []
    for row, text in rows.items():
        lines.append([text, *(ex.iqm_text(one["ends"][row]) for one in learners.values())])
        if row in learners[PPO]["luck"]:
            luck = (ex.luck_text(one["luck"][row]) for one in learners.values())
            lines.append(["the same by luck alone", *luck])
    return ex.Table(
        [name, *learners],
        lines,
        f"{title(name)}, in held-out episodes, the same for all within a seed; interquartile mean"
        f" over seeds (95% interval). Bold: what {listed(FAIR)} look after; “{UNFAIR}” is the mean"
        f" of the normalised ones. {ex.LUCK}",
    )


def _looks() -> dict[str, tuple[str, str]]:
    """Colour and marker of each learner, and of the untrained policies."""
    learned = {
        label: (point["color"], point["marker"])
        for label, point in zip(LEARNERS, style.policy_points(list(LEARNERS)), strict=True)
    }
    return learned | {UNTRAINED: (style.BASELINE_COLOUR, "D")}


@style.styled
def _frontier(data: PyTree) -> Figure:
    looks = _looks()
    rows = style.legend_rows(list(looks))
    figure, axes = style.panels(2 * len(data), len(data), 3.0, legend_rows=rows)
    for place, (name, found) in enumerate(data.items()):
        unfairness = SYSTEMS[name].disparity, UNFAIR
        for panel, unfair in zip(axes[place :: len(data)], unfairness, strict=True):
            for label, one in found.items():
                _cross(panel, one["ends"][unfair], one["ends"][REWARD], *looks[label])
            panel.set_xlabel(f"{words(unfair)} ↓")
        style.set_title(axes[place], title(name))
    for panel in axes[:: len(data)]:
        panel.set_ylabel("reward ↑")
    handles = [
        Line2D([], [], color=colour, marker=marker, ms=6, lw=1.6, label=label)
        for label, (colour, marker) in looks.items()
    ]
    style.top_legend(figure, handles)
    return figure


def _cross(panel: Axes, x: np.ndarray, y: np.ndarray, colour: str, marker: str) -> None:
    """A point with its intervals along both axes, and every seed as a faint dot."""
    panel.plot(x, y, "o", color=colour, alpha=0.3, ms=3.5, mew=0, zorder=2)
    (across, left, right), (up, low, high) = bootstrap_interval(x), bootstrap_interval(y)
    panel.plot([left, right], [up, up], color=colour, lw=1.4, zorder=3)
    panel.plot([across, across], [low, high], color=colour, lw=1.4, zorder=3)
    panel.plot([across], [up], marker, color=colour, ms=6, zorder=4)


def _curves(data: PyTree) -> Figure:
    """The objective above, the disparity that is looked after below; systems beside each other."""
    found = []
    for above in (True, False):
        for name, one in data.items():
            row = SCORE if above else SYSTEMS[name].disparity
            learned = {label: one[label] for label in LEARNERS}
            found.append(
                ex.Curves(
                    {label: (own["steps"], own["curves"][row]) for label, own in learned.items()},
                    "environment steps",
                    f"{words(row)} {'↑' if above else '↓'}",
                    title(name) if above else "",
                )
            )
    return ex.curves_figure(found, len(data), 2.6)
