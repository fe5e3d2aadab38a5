"""Effect of each kind of term in the objective on every kind of term."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from jaxtyping import PyTree
from matplotlib.figure import Figure

from fairgym.algorithms import log_keys
from fairgym.config import RunConfig
from fairgym.core import Environment
from fairgym.experiments import _parts as ex
from fairgym.experiments._comparison import survival
from fairgym.experiments._measurements import CAPTION, curve, curve_legend
from fairgym.report import style
from fairgym.results.labels import title
from fairgym.training import Evaluation

ENVIRONMENTS = ("health", "loan", "education")
ALL = "uniform"
# Objective -> what it consists of.
OBJECTIVES = {"direct": "direct", "direct-fair": "direct + fair", ALL: "direct + fair + rate"}
# Where an episode that fails at once is among the best if it ranks by its score.
LITERAL, FRAGILE = "failed episodes rank by score", ("loan", "education")
NAMES = {"direct": "direct rewards", "fair": "fairness", "rate": "rates"}


@ex.experiments.register("mafe-fig7")
class MafeFig7(ex.TrainingExperiment):
    """Learning curves of the sum of direct, fairness and rate terms."""

    title = "Learning curves under three objectives"
    source = "MAFE, figures 4 and 7, section 6.2 and appendix D.2"
    claim = (
        'the objective that incorporates all reward categories "shows steady improvement across'
        ' all reward types during training"; in loan, "excluding rate-based rewards causes the'
        ' corresponding reward curve to plateau at a significantly lower value"; in education the'
        ' rates of a learner of direct rewards alone only return "approximately" to their "starting'
        ' point by the final epoch on average"; health "shows'
        ' smaller performance differences between training configurations"'
    )

    sizes: ClassVar = {"paper": ex.PAPER, "quick": ex.QUICK, "large": ex.LARGE}

    def grid(self, size: ex.Size) -> dict[str, RunConfig]:
        """Three objectives in three environments, and two of them where failing may win."""
        runs = {
            f"{name}/{objective}": ex.run_config(name, size, objective)
            for name in ENVIRONMENTS
            for objective in OBJECTIVES
        }
        literal: dict[str, Any] = {"algorithm_args": size.training() | {"failed_last": False}}
        return runs | {
            f"{name}/{LITERAL}": ex.run_config(name, size, "direct-fair", **literal)
            for name in FRAGILE
        }

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Environment -> objective -> kind -> sum of the terms of that kind.

        "curve" and "learned" are of the candidates and of the learned policy, (seeds, epochs);
        "whole" is the mean over the first's epochs, "final" of held-out episodes, (seeds,). Beside
        the kinds "luck" is the fairness that luck alone leaves, (seeds, permutations), "survived"
        the share of held-out episodes that do not fail, (seeds,), and "excess" of all terms'
        untrained and learned policies the fairness beyond luck, (2, seeds).
        """
        assert size.held_out is not None
        data: dict[str, PyTree] = {name: {} for name in ENVIRONMENTS}
        for key, several in runs.items():
            name, _, objective = key.partition("/")
            env = several[0].env
            logs = [ex.category_curves(run) for run in several]
            ends = [ex.held_out_run(run, size.held_out, ex.PERMUTATIONS) for run in several]
            data[name][objective] = {
                kind: {
                    "curve": np.array([log[kind] for log in logs]),
                    "learned": np.array([ex.logged(r, log_keys.term(kind)) for r in several]),
                    "whole": np.array([log[kind].mean() for log in logs]),
                    "final": np.array([ex.score(end, ex.category(env, kind)) for end in ends]),
                    "terms": sum(env.metrics[name].kind == kind for name in env.spec.terms),
                }
                for kind in ex.KINDS
            } | {
                "luck": np.array([ex.by_luck(end, env) for end in ends]),
                "survived": survival(ends),
            }
            if objective == ALL:
                starts = [ex.untrained_run(run, size.held_out, ex.PERMUTATIONS) for run in several]
                data[name][ALL]["excess"] = np.array([_beyond(f, env) for f in (starts, ends)])
        return data

    def conclude(self, data: PyTree) -> ex.Outcome:
        """Improvement, the plateau in loan, and the differences between objectives."""
        everything = _final_table(data)
        data = {
            name: {one: _with_excess(found[one]) for one in OBJECTIVES}
            for name, found in data.items()
        }
        apart, apart_whole = (
            {name: differences(objectives, of) for name, objectives in data.items()}
            for of in ("excess", "whole")
        )
        checks = [*_improvement(data), *_plateaus(data)]
        for other in ("loan", "education"):
            statement = f"the objectives differ more in {other} than in health (by)"
            checks.append(ex.Check.higher(statement, apart[other], apart["health"]))
        table = ex.Table(
            ["environment", "difference between objectives", "over whole curves"],
            [[name, ex.mean_text(apart[name]), ex.mean_text(apart_whole[name])] for name in data],
            "How much the objectives differ per term, as the notes define it, fairness beyond luck"
            " but for whole curves (95% jackknife interval).",
        )
        tables = [everything, table, _readings_table(data)]
        return ex.Outcome({"": _plot(data)}, CAPTION, tables, checks)


def _improvement(data: PyTree) -> list[ex.Check]:
    checks = []
    for name, objectives in data.items():
        for kind in ex.KINDS:
            found = objectives[ALL][kind]
            first, last = ends_of(found["curve"])
            statement = f"{name}, all terms in the objective: improvement of {NAMES[kind]}"
            checks.append(ex.Check.higher(statement, last, first))
        statement = (
            f"{name}, all terms in the objective: improvement of fairness beyond luck, from the"
            " untrained policies to the learned ones"
        )
        checks.append(ex.Check.higher(statement, *objectives[ALL]["excess"][::-1]))
    return checks


def _beyond(episodes: Sequence[Evaluation], env: Environment) -> np.ndarray:
    """Fairness beyond luck, (seeds,)."""
    scores = [ex.score(one, ex.category(env, "fair")) for one in episodes]
    return ex.beyond(scores, [ex.by_luck(one, env) for one in episodes])


def _with_excess(found: Mapping[str, PyTree]) -> dict[str, Any]:
    """The same with what is beyond luck of the final policies, by kind; rewards have no luck."""
    luck = {kind: found["luck"] if kind == "fair" else np.zeros((1, 1)) for kind in ex.KINDS}
    return dict(found) | {
        kind: found[kind] | {"excess": ex.beyond(found[kind]["final"], luck[kind])}
        for kind in ex.KINDS
    }


def _plateaus(data: PyTree) -> list[ex.Check]:
    """Rates under objectives without rates: flat in education, lower in loan."""
    rises = {}
    for objective in (ALL, "direct"):
        first, last = ends_of(data["education"][objective]["rate"]["curve"])
        rises[objective] = last - first
    statement = (
        "education: with direct rewards alone the rates do not improve (by less than a tenth of"
        " what they improve by with all terms; below that by)"
    )
    checks = [ex.Check.higher(statement, 0.1 * rises[ALL], rises["direct"])]
    for other in ("direct", "direct-fair"):
        ends = [data["loan"][o]["rate"]["final"] for o in (ALL, other)]
        statement = f"loan: with “{OBJECTIVES[other]}” the rates end lower (by)"
        checks.append(ex.Check.higher(statement, *ends))
    return checks


def _final_table(data: PyTree) -> ex.Table:
    words = OBJECTIVES | {LITERAL: f"{OBJECTIVES['direct-fair']}, {LITERAL}"}
    rows = [
        [
            name,
            words[objective],
            *(ex.iqm_text(found[kind]["final"]) for kind in ex.KINDS),
            ex.luck_text(found["luck"]),
            ex.iqm_text(found["survived"]),
        ]
        for name, objectives in data.items()
        for objective, found in objectives.items()
    ]
    return ex.Table(
        ["environment", "objective", *NAMES.values(), "fairness by luck alone", "survived"],
        rows,
        "Sums of normalised terms of the final policies in held-out episodes, interquartile"
        f" mean over seeds (95% interval). {ex.LUCK} “Survived” is the share of the episodes that"
        " do not fail. In training failed episodes rank below all others, but for one line of loan"
        " and education.",
    )


def _readings_table(data: PyTree) -> ex.Table:
    rows = [
        [
            name,
            OBJECTIVES[objective],
            *(ex.iqm_text(ends) for ends in ends_of(kinds["rate"]["learned"])),
            ex.iqm_text(kinds["rate"]["whole"]),
        ]
        for name, objectives in data.items()
        for objective, kinds in objectives.items()
    ]
    return ex.Table(
        ["environment", "objective", "learned policy, epoch 1", "its end", "whole curve"],
        rows,
        "The rates in other readings: of the learned policy after the first epoch and in the"
        " last tenth of the epochs, and the mean of the plotted curve.",
    )


def ends_of(curves: np.ndarray) -> np.ndarray:
    """First and last of curves (seeds, epochs): shape (2, seeds)."""
    return np.array([ex.first_and_last(curve) for curve in curves]).T


def differences(objectives: Mapping[str, PyTree], of: str = "excess") -> np.ndarray:
    """Best less worst objective per term, averaged over the kinds, as jackknife pseudo-values.

    The largest of several noisy means less the smallest is never below 0, also where nothing
    differs. The pseudo-value of seed i, n d - (n - 1) d_i with d_i the difference without that
    seed, takes about half of this away; mean and t interval of the pseudo-values are those of the
    jackknife (Tukey 1958).

    Returns:
        One number per seed.
    """
    ends = {kind: np.array([found[kind][of] for found in objectives.values()]) for kind in ex.KINDS}
    terms = {kind: next(iter(objectives.values()))[kind]["terms"] for kind in ex.KINDS}

    def apart(seeds: np.ndarray) -> float:
        means = {kind: values[:, seeds].mean(axis=1) for kind, values in ends.items()}
        return float(np.mean([(m.max() - m.min()) / terms[kind] for kind, m in means.items()]))

    every = np.arange(ends[ex.KINDS[0]].shape[1])
    n = every.size
    return np.array([n * apart(every) - (n - 1) * apart(np.delete(every, i)) for i in every])


@style.styled
def _plot(data: PyTree) -> Figure:
    figure, axes = style.panels(len(data) * len(ex.KINDS), len(ex.KINDS), 2.3, legend_rows=1)
    places = [(name, kind) for name in data for kind in ex.KINDS]
    for panel, (name, kind) in zip(axes, places, strict=True):
        for index, (objective, label) in enumerate(OBJECTIVES.items()):
            found = data[name][objective][kind]
            epochs = np.arange(1, found["curve"].shape[1] + 1)
            curve(panel, epochs, found["curve"], index, label)
        style.set_title(panel, f"{title(name)}: {NAMES[kind]} ↑")
        style.epoch_axis(panel)
    for panel in axes[:: len(ex.KINDS)]:
        panel.set_ylabel("sum of normalised terms")
    curve_legend(figure, OBJECTIVES.values())
    return figure
