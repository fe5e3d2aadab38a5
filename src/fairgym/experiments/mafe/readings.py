"""Readings of what MAFE leaves open, beside what each of them has agents learn.

A table for each question: what relief costs the bank and how much it can pay out, which queue an
objective sees, how public money reaches people, and whether an episode that fails may win. The
text allows more than one answer, and which one its authors had in mind shows in what they report
of the learned policies.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fairgym import experiments as ex
from fairgym.config import RunConfig
from fairgym.experiments._measurements import CAPTION, curve, curve_legend
from fairgym.experiments.mafe._questions import QUESTIONS
from fairgym.experiments.mafe._readings import (
    CAPS,
    CHOSEN_CAP,
    CHOSEN_FORGIVEN,
    FORGIVEN,
    LAST,
    QUEUES,
    WITH_CAPS,
    lending_words,
)
from fairgym.experiments.mafe.fig10 import CHECKS, RELIEF
from fairgym.report import style
from fairgym.report.labels import capital, title

HELD = "figure 10"  # its checks that hold


@ex.experiments.register("mafe-readings")
class MafeReadings(ex.TrainingExperiment):
    """Readings of what is left open, and what F-MACEM learns under each of them."""

    title = "Readings of what the paper leaves open"
    source = "MAFE, figures 7 and 10, appendices D, F, G and H"
    claim = (
        'in loan relief is "neither too high to protect profits, nor too low", nearly all'
        " applicants are admitted when all terms weigh alike, and rates plateau lower with direct"
        " rewards alone; how much of the relief is forgiven, how much a bank pays out in a month,"
        " whose wait counts and what a failed episode is worth is not said"
    )

    def grid(self, size: ex.Size) -> dict[str, RunConfig]:
        """Every reading of every question."""
        assert size.people is not None
        return {
            f"{name}/{words}": reading.config(size)
            for name, question in QUESTIONS.items()
            for words, reading in question.readings(size.people).items()
        }

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> Any:
        """Question -> reading -> "columns" by name, and "checks": those of figure 10."""
        assert size.held_out is not None
        data: dict[str, Any] = {name: {} for name in QUESTIONS}
        for key, several in runs.items():
            name, _, words = key.partition("/")
            found = [ex.held_out_run(run, size.held_out, ex.PERMUTATIONS) for run in several]
            question, checks = QUESTIONS[name], CHECKS[several[0].config.environment]
            data[name][words] = {
                "columns": question.measure(several, found),
                "checks": checks(several, found) if question.judged else [],
            }
        return data

    def conclude(self, data: Any) -> ex.Outcome:
        """Published behaviour under the chosen readings, and what the others change."""
        lent = data["forgiveness"]
        chosen = lent[lending_words(CHOSEN_FORGIVEN)]
        others = {words: found["columns"]["admitted"] for words, found in data["rewards"].items()}
        uneven = {
            words: ex.beyond(
                found["columns"]["queue disparity"],
                found["columns"][f"queue disparity{ex.BY_LUCK}"],
            )
            for words, found in data["queues"].items()
        }
        lives = {words: found["columns"]["survived"] for words, found in data["failures"].items()}
        last, literal = LAST
        checks = [
            *chosen["checks"],
            ex.Check.higher(
                "loan: relief that is put off is given more freely than relief of which"
                f" {CHOSEN_FORGIVEN:g} is forgiven (by)",
                _relief(lent[lending_words(0.0)]),
                _relief(chosen),
            ),
            ex.Check.higher(
                "loan: direct rewards alone admit fewer than all terms (by)",
                chosen["columns"]["admitted"],
                others[f"{CHOSEN_FORGIVEN:g} forgiven, direct"],
            ),
            ex.Check.higher(
                "loan: an objective that sees the queue leaves less disparity beyond luck in it"
                " than the published wait (months, by)",
                *(uneven[words] for words in QUEUES),
            ),
            *(
                ex.Check.higher(
                    f"{name}: more episodes survive if failed ones rank last (by)",
                    lives[f"{name}, {last}"],
                    lives[f"{name}, {literal}"],
                )
                for name in ("loan", "education")
            ),
        ]
        return ex.Outcome(
            figures={"loan": _plot(lent)},
            caption=CAPTION,
            tables=[_table(name, found) for name, found in data.items()],
            checks=checks,
        )


def _relief(found: Mapping[str, Any]) -> np.ndarray:
    """Mean relief of the groups."""
    return np.mean([found["columns"][title(name)] for name in RELIEF], axis=0)


def _table(name: str, found: Mapping[str, Any]) -> ex.Table:
    """Readings in rows."""
    question, (first, *_) = QUESTIONS[name], found.values()
    rows = [
        [
            words,
            *(ex.cell(column, values) for column, values in one["columns"].items()),
            *(
                [f"{sum(c.holds for c in one['checks'])} of {len(one['checks'])}"]
                if question.judged
                else []
            ),
        ]
        for words, one in found.items()
    ]
    caption = f"**{question.title}** {question.caption}"
    if any(column.endswith(ex.BY_LUCK) for column in first["columns"]):
        caption += f" {ex.LUCK}"
    if question.judged:
        caption += f" “{HELD}”: how many of that figure's checks hold."
    return ex.Table(
        ["reading", *first["columns"], *([HELD] if question.judged else [])], rows, caption
    )


@style.styled
def _plot(lent: Mapping[str, Any]) -> Figure:
    """Relief, default and profit over the forgiven share, a line for each payout cap."""
    panels: dict[str, Callable[[Any], np.ndarray]] = {
        "relief": _relief,
        "share of loans that default": lambda one: one["columns"]["default"],
        "normalised profit": lambda one: one["columns"]["profit"],
    }
    figure, axes = style.panels(len(panels), len(panels), 3.0, legend_rows=1)
    for panel, (words, measure) in zip(axes, panels.items(), strict=True):
        for place, cap in enumerate(CAPS):
            shares = FORGIVEN if cap == CHOSEN_CAP else WITH_CAPS
            values = [measure(lent[lending_words(share, cap)]) for share in shares]
            curve(panel, shares, np.transpose(values), place, f"{cap:.1%}")
        style.set_title(panel, capital(words))
        panel.set_xlabel("share of the relief that is forgiven")
    curve_legend(figure, [f"{cap:.1%} of the people paid out a month" for cap in CAPS])
    return figure
