"""Two banks in one pool of people: objectives shared, of each bank's own, and opposed."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgym import experiments as ex
from fairgym.algorithms import log_keys
from fairgym.config import RunConfig
from fairgym.experiments._measurements import dot
from fairgym.report import style
from fairgym.utils import make

COOPERATIVE, FAIR, MIXED = "cooperative", "both fair-minded", "fair and profit-minded"
SELFISH, AT_RANDOM = "both profit-minded", "both profit-minded, chosen at random"
BANKS = ("bank_1", "bank_2")
# Banks that care for their six published terms alike; the others care for their profit alone.
FAIR_MINDED: dict[str, tuple[str, ...]] = {
    FAIR: BANKS,
    MIXED: BANKS[:1],
    SELFISH: (),
    AT_RANDOM: (),
}
TOGETHER = "profit of both"
ADMITTED, RELIEF, GAP = "admitted", "relief", "difference of admission rates"
WAITS, DEFAULTS, THRESHOLD = "difference of waits", "defaults", "threshold"
ANYBODY = "admitted if chosen at random"
SHARE = "applications to bank 1"


@ex.experiments.register("mafe-two-banks")
class TwoBanks(ex.TrainingExperiment):
    """F-MACEM in loan with two banks, whose agents care for the same or for different things."""

    title = "Two banks in one pool"
    source = "beyond MAFE, appendix F"
    claim = (
        "several institutions serve the same people, each with agents, money and an objective of"
        " its own; people go where the terms are better, so that one institution's fairness depends"
        " on the other's objective"
    )
    sizes: ClassVar = {"paper": ex.PAPER, "quick": ex.QUICK}

    def grid(self, size: ex.Size) -> dict[str, RunConfig]:
        """Objectives from shared to opposed; profit alone also where nobody looks at terms."""
        arguments = {"population": size.people, "banks": len(BANKS)}
        env = make("loan", **arguments)
        found = {COOPERATIVE: ex.run_config("loan", size, environment_args=arguments)}
        for label, fair in FAIR_MINDED.items():
            objectives = {}
            for bank in BANKS:
                terms = [name for name in env.spec.terms if name.startswith(bank)]
                weights = (
                    dict.fromkeys(terms, 1.0 / len(terms))
                    if bank in fair
                    else {f"{bank}_profit": 1.0}
                )
                objectives |= {agent: weights for agent in env.agents if agent.startswith(bank)}
            found[label] = ex.run_config(
                "loan",
                size,
                environment_args=arguments,
                objectives=objectives,
                params={"terms_sensitivity": 0.0} if label == AT_RANDOM else {},
            )
        return found

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> Any:
        """Objectives -> column -> (seeds,), and what luck alone makes (seeds, permutations)."""
        assert size.held_out is not None
        data = {}
        for label, several in runs.items():
            ends = [ex.held_out_run(run, size.held_out, ex.PERMUTATIONS) for run in several]
            data[label] = _columns(several, ends)
            # the same policies before people who do not choose: those who stay away come too
            anybody = [
                ex.held_out(
                    run.env,
                    run.params.replace(terms_sensitivity=0.0),
                    run.policies,
                    run.config.seed,
                    size.held_out,
                )
                for run in several
            ]
            data[label] |= {
                f"{bank}: {ANYBODY}": _mean(anybody, f"{bank}_admission_rate") for bank in BANKS
            }
        return data

    def conclude(self, data: Any) -> ex.Outcome:
        """Costs of opposed objectives, and effects of people's choice on them."""
        first, second = BANKS
        mixed, selfish, shared = data[MIXED], data[SELFISH], data[COOPERATIVE]
        checks = [
            ex.Check.higher(
                "one of each: the profit-minded bank earns more than the fair-minded one (by)",
                mixed[f"{second}: profit"],
                mixed[f"{first}: profit"],
            ),
            ex.Check.higher(
                "one of each: the fair-minded bank admits a larger share of its applicants (by)",
                mixed[f"{first}: {ADMITTED}"],
                mixed[f"{second}: {ADMITTED}"],
            ),
            ex.Check.higher(
                "one of each: the profit-minded bank posts the higher threshold (by)",
                mixed[f"{second}: {THRESHOLD}"],
                mixed[f"{first}: {THRESHOLD}"],
            ),
            ex.Check.above(
                "one of each: more of the disadvantaged apply to the fair-minded bank (share above"
                " one half)",
                mixed[f"{SHARE}, disadvantaged"],
                0.5,
            ),
            ex.Check.higher(
                "profit-minded banks earn more together than cooperative ones (by)",
                selfish[TOGETHER],
                shared[TOGETHER],
            ),
            ex.Check.higher(
                "cooperative banks admit a larger share of those who apply (by)",
                shared[ADMITTED],
                selfish[ADMITTED],
            ),
            ex.Check.higher(
                "admission rates of the groups are further apart beyond luck in the pool of"
                " profit-minded banks than in that of cooperative ones (by)",
                *(ex.beyond(one[GAP], one[GAP + ex.BY_LUCK]) for one in (selfish, shared)),
            ),
            ex.Check.higher(
                "profit-minded banks give more relief where people choose by terms than where they"
                " choose at random (by)",
                selfish[RELIEF],
                data[AT_RANDOM][RELIEF],
            ),
            ex.Check.higher(
                "and admit a larger share (by)", selfish[ADMITTED], data[AT_RANDOM][ADMITTED]
            ),
        ]
        columns = list(shared)
        of_bank = [column for column in columns if column.startswith(BANKS)]
        caption = f"Interquartile means over seeds (stratified bootstrap 95% intervals). {ex.LUCK}"
        return ex.Outcome(
            figures={"": _plot(data)},
            caption="Large marks are interquartile means over seeds with stratified bootstrap 95%"
            " intervals, faint dots are seeds.",
            tables=[
                _table(
                    data,
                    [column for column in columns if column not in of_bank],
                    "The pool, in held-out episodes: profit in thousand dollars, waits in months,"
                    f" relief as learned in the end. {caption}",
                ),
                _table(
                    data, of_bank, f"Each bank; its applicants are those who chose it. {caption}"
                ),
            ],
            checks=checks,
        )


def _columns(runs: Sequence[Any], ends: Sequence[Any]) -> dict[str, np.ndarray]:
    """Numbers of one kind of objectives by column, (seeds,); with luck (seeds, permutations)."""

    def mean(metric: str, sign: float = 1.0) -> np.ndarray:
        return sign * _mean(ends, metric)

    def learned(agent: str) -> np.ndarray:
        """Mean action over groups at the end of the training."""
        keys = [log_keys.action(agent, name) for name in runs[0].env.action_space(agent).names]
        curves = [np.mean([ex.logged(run, key) for key in keys], axis=0) for run in runs]
        return np.array([ex.first_and_last(curve)[1] for curve in curves])

    def applied(bank: str) -> np.ndarray:
        """Applications by seed and group."""
        return np.array(
            [np.asarray(getattr(one.totals, f"{bank}_applied")).sum(axis=0) for one in ends],
            np.float64,
        )

    def apart(column: str, metric: str) -> dict[str, np.ndarray]:
        """A disparity, and what luck alone makes of it; what is undefined counts as parity."""
        luck = np.array([one.nulls[metric].mean(axis=0) for one in ends])
        return {column: mean(metric, -1.0), column + ex.BY_LUCK: -luck}

    relief = {bank: learned(f"{bank}_debt_management") for bank in BANKS}
    first, everywhere = applied(BANKS[0]), sum(applied(bank) for bank in BANKS)
    shares = first / everywhere
    found = {
        TOGETHER: mean("profit"),
        ADMITTED: mean("admission_rate"),
        **apart(GAP, "admission_disparity"),
        **apart(WAITS, "wait_disparity"),
        DEFAULTS: mean("default_rate", -1.0),
        RELIEF: np.mean(list(relief.values()), axis=0),
        f"{SHARE}, advantaged": shares[:, 0],
        f"{SHARE}, disadvantaged": shares[:, 1],
        "survived": np.array([1.0 - np.mean(one.terminated) for one in ends]),
    }
    for bank in BANKS:
        found |= {
            f"{bank}: profit": mean(f"{bank}_profit"),
            f"{bank}: {ADMITTED}": mean(f"{bank}_admission_rate"),
            **apart(f"{bank}: {GAP}", f"{bank}_admission_disparity"),
            f"{bank}: {DEFAULTS}": mean(f"{bank}_default_rate", -1.0),
            f"{bank}: {THRESHOLD}": learned(f"{bank}_admissions"),
            f"{bank}: {RELIEF}": relief[bank],
        }
    return found


def _table(data: Mapping[str, Any], columns: Sequence[str], caption: str) -> ex.Table:
    rows = [[label, *(ex.cell(c, one[c]) for c in columns)] for label, one in data.items()]
    return ex.Table(["objectives", *(c.replace("_", " ") for c in columns)], rows, caption)


def _mean(ends: Sequence[Any], metric: str) -> np.ndarray:
    """Mean of a metric over each seed's episodes, (seeds,)."""
    return np.array([np.mean(one.metrics[metric]) for one in ends])


@style.styled
def _plot(data: Mapping[str, Any]) -> Figure:
    """Each bank's profit, admissions and relief, by objectives."""
    panels = {"profit": "profit (thousand dollars) ↑", ADMITTED: "share admitted", RELIEF: RELIEF}
    figure, axes = style.panels(len(panels), len(panels), 4.0, legend_rows=1)
    colours = dict(zip(BANKS, style.POLICY_COLOURS, strict=False))
    for panel, (column, label) in zip(axes, panels.items(), strict=True):
        for place, one in enumerate(data.values()):
            for shift, (bank, colour) in enumerate(colours.items()):
                dot(panel, place + 0.35 * shift, one[f"{bank}: {column}"], colour)
        panel.set_xticks(range(len(data)), list(data), rotation=45, ha="right")
        panel.set_ylabel(label)
    style.top_legend(
        figure,
        [
            Line2D([], [], color=colour, marker="o", label=bank.replace("_", " "))
            for bank, colour in colours.items()
        ],
    )
    return figure
