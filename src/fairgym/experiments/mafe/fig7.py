"""Effect of each kind of term in the objective on every kind of term."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from jaxtyping import PyTree
from matplotlib.figure import Figure

from fairgym.algorithms import log_keys
from fairgym.core import Environment
from fairgym.experiments import _parts as ex
from fairgym.results.labels import title

ENVIRONMENTS = ("health", "loan", "education")
ALL = "uniform"
# Objective -> what it consists of.
OBJECTIVES = {"direct": "direct", "direct-fair": "direct + fair", ALL: "direct + fair + rate"}
# Where an episode that fails at once is among the best if it ranks by its score.
LITERAL, FRAGILE = "failed episodes rank by score", ("loan", "education")
NAMES = {"direct": "direct rewards", "fair": "fairness", "rate": "rates"}


@ex.experiments.register("mafe-fig7")
class MafeFig7(ex.ComparisonFigure):
    """Learning curves of the sum of direct, fairness and rate terms."""

    caption = ex.CAPTION
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

    def grid(self, size: ex.Size) -> ex.Grid:
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

    def numbers(self, place: str, runs: Sequence[ex.Run], ends: ex.Ends) -> PyTree:
        """Kind -> sum of the terms of that kind.

        "curve" and "learned" are of the candidates and of the learned policy, (seeds, epochs);
        "whole" is the mean over the first's epochs, "final" of held-out episodes, (seeds,). Beside
        the kinds "luck" is the fairness that luck alone leaves, (seeds, permutations), "survived"
        the share of held-out episodes that do not fail, (seeds,), and "excess" of all terms'
        untrained and learned policies the fairness beyond luck, (2, seeds).
        """
        env = runs[0].env
        found: dict[str, PyTree] = {
            "luck": ex.by_luck(ends, env),
            "survived": ex.survival(ends),
        }
        for kind in ex.KINDS:
            curve = ex.logged_curves(runs, log_keys.candidates(log_keys.term(kind)))
            found[kind] = {
                "curve": curve,
                "learned": ex.logged_curves(runs, log_keys.term(kind)),
                "whole": curve.mean(axis=1),
                "final": ex.score(ends, ex.category(env, kind)),
                "terms": sum(env.metrics[name].kind == kind for name in env.spec.terms),
            }
        if runs[0].config.objective == ALL:
            starts = [ex.untrained_run(run, ends[0].episodes, self.permutations) for run in runs]
            found["excess"] = np.array([_beyond(of, env) for of in (starts, ends)])
        return found

    def checks(self, data: PyTree) -> list[ex.Check]:
        """Improvement, the plateau in loan, and the differences between objectives."""
        apart = {name: differences(found) for name, found in _published(data).items()}
        return [
            *_improvement(data),
            *_plateaus(data),
            *(
                ex.Check.higher(
                    f"the objectives differ more in {other} than in health (by)",
                    apart[other],
                    apart["health"],
                )
                for other in ("loan", "education")
            ),
        ]

    def tables(self, data: PyTree) -> list[ex.Table]:
        """Final policies, differences between objectives, and other readings of the rates."""
        published = _published(data)
        apart = ex.Table(
            ["environment", "difference between objectives", "over whole curves"],
            [
                [name, *(ex.mean_text(differences(found, of)) for of in ("excess", "whole"))]
                for name, found in published.items()
            ],
            "How much the objectives differ per term, as the notes define it, fairness beyond luck"
            " but for whole curves (95% jackknife interval).",
        )
        return [_final_table(data), apart, _readings_table(published)]

    def figures(self, data: PyTree) -> dict[str, Figure]:
        """Learning curves, environments below each other, kinds side by side."""
        panels = [
            ex.Curves(
                {
                    label: (range(1, len(values.T) + 1), values)
                    for objective, label in OBJECTIVES.items()
                    for values in [found[objective][kind]["curve"]]
                },
                "epoch",
                "" if place else "sum of normalised terms",
                f"{title(name)}: {NAMES[kind]} ↑",
            )
            for name, found in data.items()
            for place, kind in enumerate(ex.KINDS)
        ]
        return {"": ex.curves_figure(panels, len(ex.KINDS), 2.3)}


def _published(data: PyTree) -> dict[str, Any]:
    """Numbers of the published objectives, with what is beyond luck of their final policies."""
    return {
        name: {objective: _with_excess(found[objective]) for objective in OBJECTIVES}
        for name, found in data.items()
    }


def _improvement(data: PyTree) -> list[ex.Check]:
    checks = []
    for name, objectives in data.items():
        for kind in ex.KINDS:
            found = objectives[ALL][kind]
            first, last = ex.first_and_last(found["curve"])
            statement = f"{name}, all terms in the objective: improvement of {NAMES[kind]}"
            checks.append(ex.Check.higher(statement, last, first))
        statement = (
            f"{name}, all terms in the objective: improvement of fairness beyond luck, from the"
            " untrained policies to the learned ones"
        )
        checks.append(ex.Check.higher(statement, *objectives[ALL]["excess"][::-1]))
    return checks


def _beyond(episodes: ex.Ends, env: Environment) -> np.ndarray:
    """Fairness beyond luck, (seeds,)."""
    return ex.beyond(ex.score(episodes, ex.category(env, "fair")), ex.by_luck(episodes, env))


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
        first, last = ex.first_and_last(data["education"][objective]["rate"]["curve"])
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
    found = {
        (name, words[objective]): {NAMES[kind]: own[kind]["final"] for kind in ex.KINDS}
        | {f"fairness{ex.BY_LUCK}": own["luck"], "survived": own["survived"]}
        for name, objectives in data.items()
        for objective, own in objectives.items()
    }
    return ex.columns_table(
        ["environment", "objective", *next(iter(found.values()))],
        found,
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
            *(ex.iqm_text(ends) for ends in ex.first_and_last(kinds["rate"]["learned"])),
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
