"""Fairness-aware learners, F-MACEM and F-MAPPO on loan, health and education.

F-MACEM and F-MAPPO have all disparities in their objective, as in MAFE's figure 11. ELBERT-PO,
A-PPO and PPO-Lagrangian get rewards only, and each reduces one disparity in its own way. PPO is the
same learner without a fairness method.
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
from fairgym.experiments.mafe._tuned import SIZE, WORDS, settings_table, tuned
from fairgym.fairness import Objective
from fairgym.report import style
from fairgym.results.labels import display_order, listed, title, words
from fairgym.statistics.intervals import bootstrap_interval
from fairgym.utils import make
from fairgym.utils.registry import environments


class System(NamedTuple):
    """Target disparity of an environment.

    Attributes:
        disparity: Name of the metric, the first disparity of the environment in MAFE's table 1.
        limit: Limit of the disparity in training; the notes explain how it was chosen.
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
KEEP_REWARD = FAIR[:2]  # their papers claim little loss of reward
UNTRAINED = "untrained"
TABLE_8 = 100  # episodes per epoch
SMALL = 0.1  # share of PPO's reward
SCORE, REWARD, UNFAIR, SURVIVED = "objective", "reward", "all disparities", "survived"
SIGNED = "signed gap"  # of the target disparity


def settings(algorithm: str, system: System, horizon: int) -> dict[str, Any]:
    """Return the hyperparameters of a learner that differ from its defaults.

    Args:
        algorithm: Name of the algorithm.
        system: Target disparity and its limit.
        horizon: T, number of steps of an episode.
    """
    # disparity of the episode so far, so that the last step has the reported value
    measured = {"short_term": system.disparity, "long_term": "", "window": 0}
    own: Mapping[str, Mapping[str, Any]] = {
        "elbert-po": {
            "disparity": system.disparity,
            # d(alpha b^2)/db = T at the limit: there, a point of disparity costs a point of
            # normalised profit
            "bias_weight": horizon / (2.0 * system.limit),
            "standardise": False,  # so that alpha has this unit
        },
        "a-ppo": {**measured, "tolerance": system.limit},
        "ppo-lagrangian": {**measured, "cost_limit": system.limit, "cost_multiplier_rate": 1.0},
        "ppo": {},
    }
    if algorithm not in own:
        return {}
    # F-MAPPO's hyperparameters, so that only the fairness method differs
    same = {field.name: getattr(FMappo(), field.name) for field in dataclasses.fields(FMappo)}
    same |= {"network": "equivariant", "bootstrap_truncated": False}
    return {**same, **own[algorithm]}


@ex.experiments.register("mafe-learners")
class MafeLearners(ex.ComparisonFigure):
    """Six learners in three environments, with equally many environment steps."""

    title = "Beyond MAFE: fairness-aware learners on loan, health and education"
    source = "beyond MAFE, appendix D.6"
    claim = (
        'on loan "F-MACEM achieves significantly better performance on the fairness-reward'
        ' objective compared to F-MAPPO" (MAFE); ELBERT-PO, A-PPO and PPO-Lagrangian are less'
        " unfair than a learner with rewards only, the first two with little loss of reward"
        " (Xu et al. 2024, Yu, Qin et al. 2022, Ray et al. 2019)"
    )
    sizes: ClassVar = {
        "paper": SIZE,
        "quick": dataclasses.replace(ex.QUICK, people=300, epochs=5, episodes=16),
    }
    caption = (
        f"{ex.CAPTION} Faint dots are seeds. Reward is normalised profit, “{UNFAIR}” is the mean of"
        f" the normalised disparities. {WORDS}"
    )

    def grid(self, size: ex.Size) -> ex.Grid:
        """Return six learners in three environments."""
        assert size.episodes is not None
        horizons = {name: environments.get(name).horizon for name in SYSTEMS}
        found = {}
        for name, system in SYSTEMS.items():
            # where episodes are short, a quick run has more of them
            longer = max(horizons.values()) // horizons[name]
            episodes = min(longer * size.episodes, TABLE_8)
            training = dataclasses.replace(size, episodes=episodes)
            for label, (algorithm, objective) in LEARNERS.items():
                own = settings(algorithm, system, horizons[name]) | tuned(name, algorithm, training)
                found[f"{name}/{label}"] = ex.run_config(
                    name, size, objective, algorithm=algorithm, algorithm_args=own
                )
        return found

    def numbers(self, place: str, runs: Sequence[ex.Run], ends: ex.Ends) -> PyTree:
        """Return the numbers of a learner.

        "steps" are (epochs,). "curves" are those of the objective and of the target disparity,
        (seeds, epochs). "ends" and "null" are those of `ended`.
        """
        disparity = SYSTEMS[place].disparity
        gaps = -ex.logged_curves(runs, log_keys.metric(disparity))
        return {
            "steps": np.arange(1, gaps.shape[1] + 1) * ex.steps_per_epoch(runs[0]),
            "curves": {
                SCORE: np.array([logged_objective(run) for run in runs]),
                disparity: gaps,
            },
            **ended(runs[0].env, ends, disparity),
        }

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Also measure "untrained", the initial policies of F-MAPPO, without curves."""
        assert size.held_out is not None
        data = super().measure(size, runs, seeds)
        for name, found in data.items():
            several = runs[f"{name}/{MAPPO}"]
            starts = [ex.untrained_run(run, size.held_out, self.permutations) for run in several]
            found[UNTRAINED] = ended(several[0].env, starts, SYSTEMS[name].disparity)
        return data

    def checks(self, data: PyTree) -> list[ex.Check]:
        """Check F-MACEM on loan, and disparity and reward of the others against PPO."""
        of = {
            name: {label: one["ends"] for label, one in found.items()}
            for name, found in data.items()
        }
        loan = of["loan"]
        checks = [
            ex.Check.higher(
                f"loan: {MACEM} scores above {MAPPO}", loan[MACEM][SCORE], loan[MAPPO][SCORE]
            )
        ]
        for name, (disparity, _) in SYSTEMS.items():
            plain = of[name][PPO]
            excess = {
                label: ex.excess(one["ends"][disparity], one["null"][disparity])
                for label, one in data[name].items()
            }
            for label in FAIR:
                less = f"{name}: {label} has less {words(disparity)} than {PPO}"
                statement = f"{less} (excess over the null)"
                checks.append(ex.Check.higher(statement, excess[PPO], excess[label]))
                if SIGNED in of[name][label]:
                    signed = (of[name][one][SIGNED] for one in (PPO, label))
                    checks.append(ex.Check.above(f"{less} (signed gap)", ex.narrowing(*signed)))
            for label in KEEP_REWARD:
                own = of[name][label]
                statement = f"{name}: {label} loses less than a tenth of {PPO}'s reward (margin)"
                lost, allowed = plain[REWARD] - own[REWARD], SMALL * np.abs(plain[REWARD])
                checks.append(ex.Check.higher(statement, allowed, lost))
        return checks

    def tables(self, data: PyTree) -> list[ex.Table]:
        """Return one table per environment, and the settings."""
        names = {label: algorithm for label, (algorithm, _) in LEARNERS.items()}
        return [*(_table(name, one) for name, one in data.items()), settings_table(names, data)]

    def figures(self, data: PyTree) -> dict[str, Figure]:
        """Return reward and unfairness in held-out episodes, and learning curves."""
        return {"frontier": _frontier(data), "curves": _curves(data)}


# ---------------------------------------------------------------- measuring


def ended(env: Environment, episodes: ex.Ends, target: str) -> dict[str, dict[str, np.ndarray]]:
    """Return measures of policies in their episodes.

    Rates and disparities are not negative, and are means over the episodes in which they are
    defined, or NaN if there is none. "all disparities" is the mean of the normalised disparities.

    Args:
        env: The environment.
        episodes: Held-out episodes of each seed.
        target: Target disparity. Of two groups, "signed gap" is the difference of their rates.

    Returns:
        "ends" by name, (seeds,), and "null", the null distributions of the disparities among them,
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
    if len(env.spec.groups) == 2:
        found[SIGNED] = ex.signed_gap(episodes, target)
    fair = [name for name, metric in env.metrics.items() if metric.kind == "fair"]
    null = {name: ex.disparity(episodes, name)[1] for name in fair}
    null[UNFAIR] = -ex.null_sums(episodes, env) / sum(name in env.spec.terms for name in fair)
    return {"ends": found, "null": null}


def logged_objective(run: ex.Run) -> np.ndarray:
    """Return the objective "half-direct" of the learned policy by epoch, for any run."""
    kinds = [run.env.metrics[name].kind for name in run.env.spec.terms]
    count = {kind: kinds.count(kind) for kind in ex.KINDS}
    direct, fair = (ex.logged(run, log_keys.term(k)) / count[k] for k in ("direct", "fair"))
    return 0.5 * direct + 0.5 * fair


# ---------------------------------------------------------------- showing


def _table(name: str, found: PyTree) -> ex.Table:
    """Return a table with measures in rows, because education has many, and learners in columns."""
    target = SYSTEMS[name].disparity
    learners = {label: found[label] for label in (*LEARNERS, UNTRAINED)}
    rows = {SCORE: "objective ↑", REWARD: "normalised profit ↑"}
    env = make(name)
    for metric in display_order(env, env.metrics):
        own = env.metrics[metric]
        if own.kind != "direct":
            arrow = "↑" if own.sign > 0 else "↓"
            text = f"{words(metric)} {arrow}"
            rows[metric] = f"**{text}**" if metric == target else text
            if metric == target and SIGNED in learners[PPO]["ends"]:
                rows[SIGNED] = f"{SIGNED}, {' minus '.join(map(words, env.spec.groups))}"
    rows |= {UNFAIR: f"{UNFAIR} ↓", SURVIVED: "episodes that do not fail ↑"}
    lines = []
    for row, text in rows.items():
        lines.append([text, *(ex.iqm_text(one["ends"][row]) for one in learners.values())])
        if row in learners[PPO]["null"]:
            null = (ex.null_text(one["null"][row]) for one in learners.values())
            lines.append(["null mean", *null])
    return ex.Table(
        [name, *learners],
        lines,
        f"{title(name)}: held-out episodes, the same episodes for all within a seed; interquartile"
        f" mean over seeds [95% CI]. Bold: target disparity of {listed(FAIR)}. “{UNFAIR}” is the"
        f" mean of the normalised disparities. {ex.NULL_NOTE}",
    )


def _looks() -> dict[str, tuple[str, str]]:
    """Return colour and marker of each learner, and of the untrained policies."""
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
                middle = bootstrap_interval(one["ends"][REWARD])[0]
                ex.null_bar(panel, one["null"][unfair], float(middle))
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
    """Plot a point with its intervals along both axes, and every seed as a faint dot."""
    panel.plot(x, y, "o", color=colour, alpha=0.3, ms=3.5, mew=0, zorder=2)
    (across, left, right), (up, low, high) = bootstrap_interval(x), bootstrap_interval(y)
    panel.plot([left, right], [up, up], color=colour, lw=1.4, zorder=3)
    panel.plot([across, across], [low, high], color=colour, lw=1.4, zorder=3)
    panel.plot([across], [up], marker, color=colour, ms=6, zorder=4)


def _curves(data: PyTree) -> Figure:
    """Plot the objective above and the target disparity below, one column per environment."""
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
