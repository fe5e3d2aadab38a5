"""What each kind of term in the objective does to every kind of term."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgym.experiments._base import (
    PAPER,
    QUICK,
    Check,
    Experiment,
    Outcome,
    Size,
    Table,
    experiments,
    run_config,
)
from fairgym.experiments._markdown import with_interval
from fairgym.experiments._measurements import (
    KINDS,
    category,
    category_curves,
    first_and_last,
    held_out_run,
    logged,
    score,
)
from fairgym.experiments._plots import CAPTION, curve
from fairgym.report import style
from fairgym.report.words import title
from fairgym.training.config import RunConfig
from fairgym.training.statistics import bootstrap_interval, mean_interval

ENVIRONMENTS = ("health", "loan", "education")
ALL = "uniform"
# Objective -> what it consists of.
OBJECTIVES = {"direct": "direct", "direct-fair": "direct + fair", ALL: "direct + fair + rate"}
NAMES = {"direct": "direct rewards", "fair": "fairness", "rate": "rates"}


@experiments.register("mafe-fig7")
class MafeFig7(Experiment):
    """Learning curves of the sum of direct, fairness and rate terms."""

    title: ClassVar[str] = "Learning curves under three objectives"
    source: ClassVar[str] = "MAFE, figures 4 and 7, section 6.2 and appendix D.2"
    claim: ClassVar[str] = (
        'the objective that incorporates all reward categories "shows steady improvement across'
        ' all reward types during training"; in loan, "excluding rate-based rewards causes the'
        ' corresponding reward curve to plateau at a significantly lower value"; in education the'
        ' rates of a learner of direct rewards alone only return "approximately" to their "starting'
        ' point by the final epoch on average"; health "shows'
        ' smaller performance differences between training configurations"'
    )
    sizes: ClassVar[Mapping[str, Size]] = {"paper": PAPER, "quick": QUICK}
    notes: ClassVar[str] = (
        "Terms are normalised as the objective normalises them (table 8), and summed by"
        " kind. Curves are what training met: means over all candidates of an epoch, of"
        " which the first ones are untrained. Improvement compares the first epoch with"
        " the mean of the last tenth of the epochs. The differences between objectives are"
        " measured in held-out episodes of the final policies: for each kind the best"
        " objective's mean over seeds less the worst's, divided by the number of terms of"
        " that kind, and then averaged over the three kinds; intervals are jackknife ones."
        " Normalised terms carry no unit, so this can be compared between environments.\n\n"
        "At paper scale education's policies for “direct + fair” fail at once in four of"
        " five seeds: without a worker or a graduate profit is 0, and disparities of"
        " nothing count as none. What that row says of rates and of fairness is nothing"
        " that was learned, and most of the difference between objectives in education is"
        " due to it.\n\n"
        "There, too, education's rates under direct rewards alone rise in the first"
        " epochs, in which the candidates that fail early are sorted out (2.5 in epoch 1,"
        " 3.3 in epoch 6), and not after that (3.1 at the end); with all terms they go on"
        " rising.\n\n"
        "What was tried about the rates in loan. They end at 1.00 with every objective:"
        " with relief near a third hardly anybody defaults, so that profit itself gains"
        " from every applicant; without rates in the objective the curve gets to the same"
        " height, only later. In trials with 500 people and 30 epochs of 80 episodes (one"
        " seed each) a deposit_rate of 0.08 instead of 0.03 changes nothing; at 0.12"
        " direct rewards alone admit a tenth of the applicants, but hardly any loan pays"
        " then, and with all terms the bank fails at once. Equation (8) read literally"
        " (relief does not change which share of an installment is paid) makes lending a"
        " loss under every objective: the banks that survive lend to 2% of the applicants"
        " (two seeds).\n\n"
        "Other readings of the curves are in the tables, and are not judged. At paper scale:"
        " if they are those of the learned policy instead of the candidates', education's"
        " rates under direct rewards alone do fall, as the claim says, while with all terms"
        " they rise; if whole curves count instead of their ends, loan's rates are lower with"
        " direct rewards alone (not clearly with direct + fair), and the objectives do differ"
        " more in loan than in health."
    )

    def grid(self, size: Size) -> dict[str, RunConfig]:
        """Three objectives in three environments."""
        return {
            f"{name}/{objective}": run_config(name, size, objective)
            for name in ENVIRONMENTS
            for objective in OBJECTIVES
        }

    def measure(self, size: Size, runs: Mapping[str, Sequence[Any]], seeds: Sequence[int]) -> Any:
        """Environment -> objective -> kind -> what the terms of that kind sum to.

        "curve" and "learned" are of the candidates and of the learned policy, (seeds, epochs);
        "whole" is the mean over the first's epochs, "final" of held-out episodes, (seeds,).
        """
        assert size.held_out is not None
        data: dict[str, Any] = {}
        for name in ENVIRONMENTS:
            data[name] = {}
            for objective in OBJECTIVES:
                several = runs[f"{name}/{objective}"]
                env = several[0].env
                logs = [category_curves(run) for run in several]
                ends = [held_out_run(run, size.held_out) for run in several]
                data[name][objective] = {
                    kind: {
                        "curve": np.array([log[kind] for log in logs]),
                        "learned": np.array([logged(run, f"terms/{kind}") for run in several]),
                        "whole": np.array([log[kind].mean() for log in logs]),
                        "final": np.array([score(end, category(env, kind)) for end in ends]),
                        "terms": sum(m.kind == kind for m in env.metrics.values()),
                    }
                    for kind in KINDS
                }
        return data

    def conclude(self, data: Any) -> Outcome:
        """Improvement, the plateau in loan, and how much the objectives differ."""
        checks = []
        for name, objectives in data.items():
            for kind, found in objectives[ALL].items():
                first, last = ends_of(found["curve"])
                statement = f"{name}, all terms in the objective: improvement of {NAMES[kind]}"
                checks.append(Check.higher(statement, last, first))
        rises = {}
        for objective in (ALL, "direct"):
            first, last = ends_of(data["education"][objective]["rate"]["curve"])
            rises[objective] = last - first
        statement = (
            "education: with direct rewards alone the rates do not improve (by less than a tenth of"
            " what they improve by with all terms; below that by)"
        )
        checks.append(Check.higher(statement, 0.1 * rises[ALL], rises["direct"]))
        for other in ("direct", "direct-fair"):
            ends = [data["loan"][o]["rate"]["final"] for o in (ALL, other)]
            statement = f"loan: with “{OBJECTIVES[other]}” the rates end lower (by)"
            checks.append(Check.higher(statement, *ends))
        apart, apart_whole = (
            {name: differences(objectives, of) for name, objectives in data.items()}
            for of in ("final", "whole")
        )
        for other in ("loan", "education"):
            statement = f"the objectives differ more in {other} than in health (by)"
            checks.append(Check.higher(statement, apart[other], apart["health"]))
        rows = [
            [
                name,
                OBJECTIVES[objective],
                *(with_interval(bootstrap_interval(kinds[kind]["final"])) for kind in KINDS),
            ]
            for name, objectives in data.items()
            for objective, kinds in objectives.items()
        ]
        first = Table(
            ["environment", "objective", *(NAMES[kind] for kind in KINDS)],
            rows,
            "Sums of normalised terms of the final policies in held-out episodes, interquartile"
            " mean over seeds (95% interval).",
        )
        second = Table(
            ["environment", "difference between objectives", "over whole curves"],
            [
                [
                    name,
                    *(with_interval(mean_interval(found[name])) for found in (apart, apart_whole)),
                ]
                for name in data
            ],
            "How much the objectives differ per term, as the notes define it (95% jackknife"
            " interval).",
        )
        rows = [
            [
                name,
                OBJECTIVES[objective],
                *(with_interval(bootstrap_interval(x)) for x in ends_of(kinds["rate"]["learned"])),
                with_interval(bootstrap_interval(kinds["rate"]["whole"])),
            ]
            for name, objectives in data.items()
            for objective, kinds in objectives.items()
        ]
        third = Table(
            ["environment", "objective", "learned policy, epoch 1", "its end", "whole curve"],
            rows,
            "The rates in other readings: of the learned policy after the first epoch and in the"
            " last tenth of the epochs, and the mean of the plotted curve.",
        )
        return Outcome({"": _plot(data)}, CAPTION, [first, second, third], checks)


def ends_of(curves: np.ndarray) -> np.ndarray:
    """First and last of curves (seeds, epochs): shape (2, seeds)."""
    return np.array([first_and_last(curve) for curve in curves]).T


def differences(objectives: Mapping[str, Any], of: str = "final") -> np.ndarray:
    """Best less worst objective per term, averaged over the kinds, as jackknife pseudo-values.

    The largest of several noisy means less the smallest is never below 0, also where nothing
    differs. The pseudo-value of seed i, n d - (n - 1) d_i with d_i the difference without that
    seed, takes about half of this away; mean and t interval of the pseudo-values are those of the
    jackknife (Tukey 1958).

    Returns:
        One number per seed.
    """
    ends = {kind: np.array([found[kind][of] for found in objectives.values()]) for kind in KINDS}
    terms = {kind: next(iter(objectives.values()))[kind]["terms"] for kind in KINDS}

    def apart(seeds: np.ndarray) -> float:
        means = {kind: values[:, seeds].mean(axis=1) for kind, values in ends.items()}
        return float(np.mean([(m.max() - m.min()) / terms[kind] for kind, m in means.items()]))

    every = np.arange(ends[KINDS[0]].shape[1])
    n = every.size
    return np.array([n * apart(every) - (n - 1) * apart(np.delete(every, i)) for i in every])


@style.styled
def _plot(data: Any) -> Figure:
    figure, axes = style.panels(len(data) * len(KINDS), len(KINDS), 2.3, legend_rows=1)
    places = [(name, kind) for name in data for kind in KINDS]
    for panel, (name, kind) in zip(axes, places, strict=True):
        for index, (objective, label) in enumerate(OBJECTIVES.items()):
            found = data[name][objective][kind]
            epochs = np.arange(1, found["curve"].shape[1] + 1)
            curve(panel, epochs, found["curve"], index, label)
        style.set_title(panel, f"{title(name)}: {NAMES[kind]} ↑")
        style.epoch_axis(panel)
    for panel in axes[:: len(KINDS)]:
        panel.set_ylabel("sum of normalised terms")
    style.top_legend(
        figure,
        [
            Line2D([], [], label=n, **style.policy_line(i))
            for i, n in enumerate(OBJECTIVES.values())
        ],
    )
    return figure
