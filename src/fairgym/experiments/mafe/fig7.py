"""Effect of the terms in the objective on every kind of term."""

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
# Objective -> its terms.
OBJECTIVES = {"direct": "direct", "direct-fair": "direct + fair", ALL: "direct + fair + rate"}
# Environments that can fail: there, an episode that fails at once may score best.
LITERAL, FRAGILE = "failed episodes rank by score", ("loan", "education")
NAMES = {"direct": "direct rewards", "fair": "fairness", "rate": "rates"}


@ex.experiments.register("mafe-fig7")
class MafeFig7(ex.ComparisonFigure):
    """Learning curves of the sums of direct, fairness and rate terms."""

    caption = (
        f"{ex.CAPTION} Grey bands: 95% interval of the null mean of the final policies that have"
        " all terms in their objective."
    )
    title = "MAFE figures 4 and 7: learning curves under three objectives"
    source = "MAFE, figures 4 and 7, section 6.2 and appendix D.2"
    claim = (
        'the objective that incorporates all reward categories "shows steady improvement across'
        ' all reward types during training", and others "often exhibit less consistent and volatile'
        ' performance"; in loan, "excluding rate-based rewards causes the'
        ' corresponding reward curve to plateau at a significantly lower value"; in education, with'
        ' direct rewards alone, the rates only return "approximately" to their "starting'
        ' point by the final epoch on average"; health "shows'
        ' smaller performance differences between training configurations"'
    )

    sizes: ClassVar = ex.SCALES

    def grid(self, size: ex.Size) -> ex.Grid:
        """Return three objectives in three environments, and runs that rank failures by score."""
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
        """Return kind -> sum of the terms of that kind.

        "curve" and "learned" are those of the candidates and of the learned policy, (seeds,
        epochs). "whole" is the mean of "curve" over the epochs, "volatility" is that of its
        changes, and "final" is from held-out episodes, (seeds,). Further keys: "null" is the null
        distribution of fairness, (seeds, permutations), and "survived" the share of held-out
        episodes that do not fail, (seeds,).
        With all terms, "excess" is the excess of fairness of the untrained and the learned
        policies over the null, (2, seeds).
        """
        env = runs[0].env
        found: dict[str, PyTree] = {
            "null": ex.null_sums(ends, env),
            "survived": ex.survival(ends),
        }
        for kind in ex.KINDS:
            curve = ex.logged_curves(runs, log_keys.candidates(log_keys.term(kind)))
            found[kind] = {
                "curve": curve,
                "learned": ex.logged_curves(runs, log_keys.term(kind)),
                "whole": curve.mean(axis=1),
                "volatility": volatility(curve),
                "final": ex.score(ends, ex.category(env, kind)),
                "terms": sum(env.metrics[name].kind == kind for name in env.spec.terms),
            }
        if runs[0].config.objective == ALL:
            starts = [ex.untrained_run(run, ends[0].episodes, self.permutations) for run in runs]
            found["excess"] = np.array([_excess(of, env) for of in (starts, ends)])
        return found

    def checks(self, data: PyTree) -> list[ex.Check]:
        """Check improvement, the plateau in loan, volatility, and differences of objectives."""
        apart = {name: differences(found) for name, found in _published(data).items()}
        return [
            *_improvement(data),
            *_plateaus(data),
            *_volatilities(data),
            *(
                ex.Check.higher(
                    f"the objectives differ more in {other} than in health (pseudo-values)",
                    apart[other],
                    apart["health"],
                )
                for other in ("loan", "education")
            ),
        ]

    def tables(self, data: PyTree) -> list[ex.Table]:
        """Return final policies, differences between objectives, and other rates."""
        published = _published(data)
        apart = ex.Table(
            ["environment", "difference between objectives", "over whole curves"],
            [
                [name, *(ex.mean_text(differences(found, of)) for of in ("excess", "whole"))]
                for name, found in published.items()
            ],
            "Difference between the objectives per term, as defined in the notes; fairness is the"
            " excess over the null, except for whole curves [95% jackknife CI; numbers beside it"
            " are pseudo-values].",
        )
        return [_final_table(data), apart, _rates_table(published), _volatility_table(published)]

    def figures(self, data: PyTree) -> dict[str, Figure]:
        """Return the learning curves, one row per environment, one column per kind."""
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
                found[ALL]["null"] if kind == "fair" else None,
            )
            for name, found in data.items()
            for place, kind in enumerate(ex.KINDS)
        ]
        return {"": ex.curves_figure(panels, len(ex.KINDS), 2.3)}


def _published(data: PyTree) -> dict[str, Any]:
    """Return the numbers of the published objectives, with the excess over the null."""
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
            f"{name}, all terms in the objective: improvement of fairness (excess over the null)"
            " from the untrained to the learned policies"
        )
        checks.append(ex.Check.higher(statement, *objectives[ALL]["excess"][::-1]))
    return checks


def _excess(episodes: ex.Ends, env: Environment) -> np.ndarray:
    """Return the excess of fairness over the null, (seeds,)."""
    return ex.excess(ex.score(episodes, ex.category(env, "fair")), ex.null_sums(episodes, env))


def _with_excess(found: Mapping[str, PyTree]) -> dict[str, Any]:
    """Add the excess of the final policies over the null, by kind; rewards have no null."""
    null = {kind: found["null"] if kind == "fair" else np.zeros((1, 1)) for kind in ex.KINDS}
    return dict(found) | {
        kind: found[kind] | {"excess": ex.excess(found[kind]["final"], null[kind])}
        for kind in ex.KINDS
    }


def _plateaus(data: PyTree) -> list[ex.Check]:
    """Check rates under objectives without rates: flat in education, lower in loan."""
    rises = {}
    for objective in (ALL, "direct"):
        first, last = ex.first_and_last(data["education"][objective]["rate"]["curve"])
        rises[objective] = last - first
    statement = (
        "education: with direct rewards alone the rates do not improve (less than a tenth of the"
        " improvement with all terms; margin)"
    )
    checks = [ex.Check.higher(statement, 0.1 * rises[ALL], rises["direct"])]
    for other in ("direct", "direct-fair"):
        ends = [data["loan"][o]["rate"]["final"] for o in (ALL, other)]
        statement = f"loan: with “{OBJECTIVES[other]}” the rates end lower"
        checks.append(ex.Check.higher(statement, *ends))
    return checks


def volatility(curves: np.ndarray) -> np.ndarray:
    """Return the standard deviation of the changes from epoch to epoch, of each curve.

    The first quarter of the epochs, in which curves rise most, does not count.

    Args:
        curves: Values, shape (seeds, epochs).

    Returns:
        Shape (seeds,).
    """
    later = curves[:, curves.shape[1] // 4 :]
    return np.std(np.diff(later, axis=1), axis=1, ddof=1)


def _volatilities(data: PyTree) -> list[ex.Check]:
    """Check that curves of terms are more volatile where the objective leaves these terms out."""
    left_out = {"direct": ("fair", "rate"), "direct-fair": ("rate",)}

    def volatility(name: str, objective: str, kinds: tuple[str, ...]) -> np.ndarray:
        return np.mean([data[name][objective][kind]["volatility"] for kind in kinds], axis=0)

    return [
        ex.Check.higher(
            f"{name}: with “{OBJECTIVES[objective]}”, curves of the terms left out are more"
            " volatile than with all terms",
            volatility(name, objective, kinds),
            volatility(name, ALL, kinds),
        )
        for name in ENVIRONMENTS
        for objective, kinds in left_out.items()
    ]


def _volatility_table(data: PyTree) -> ex.Table:
    found = {
        (name, OBJECTIVES[objective]): {NAMES[kind]: own[kind]["volatility"] for kind in ex.KINDS}
        for name, objectives in data.items()
        for objective, own in objectives.items()
    }
    return ex.columns_table(
        ["environment", "objective", *NAMES.values()],
        found,
        "Volatility of the plotted curves: standard deviation of the changes from one epoch to the"
        " next, after the first quarter of the epochs; interquartile mean over seeds [95% CI].",
    )


def _final_table(data: PyTree) -> ex.Table:
    words = OBJECTIVES | {LITERAL: f"{OBJECTIVES['direct-fair']}, {LITERAL}"}
    found = {
        (name, words[objective]): {NAMES[kind]: own[kind]["final"] for kind in ex.KINDS}
        | {f"fairness{ex.NULL_MEAN}": own["null"], "survived": own["survived"]}
        for name, objectives in data.items()
        for objective, own in objectives.items()
    }
    return ex.columns_table(
        ["environment", "objective", *next(iter(found.values()))],
        found,
        "Sums of normalised terms of the final policies in held-out episodes; interquartile mean"
        f" over seeds [95% CI]. {ex.NULL_NOTE} “Survived” is the share of episodes that do not"
        " fail. In training, failed episodes rank below all others, except in one row of loan and"
        " of education.",
    )


def _rates_table(data: PyTree) -> ex.Table:
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
        [
            "environment",
            "objective",
            "learned policy, epoch 1",
            "learned policy, end",
            "whole curve",
        ],
        rows,
        "Other measures of the rates: of the learned policy after the first epoch and in the"
        " last tenth of the epochs, and the mean of the plotted curve.",
    )


def differences(objectives: Mapping[str, PyTree], of: str = "excess") -> np.ndarray:
    """Return best minus worst objective per term, averaged over kinds, as jackknife pseudo-values.

    The largest minus the smallest of several noisy means is never below 0, even where nothing
    differs. The pseudo-value of seed i is n d - (n - 1) d_i, where d_i is the difference without
    that seed; it removes about half of this bias. Mean and t interval of the pseudo-values are
    those of the jackknife (Tukey 1958).

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
