"""Selective labels: what banks learn from their own loans, beside what only an oracle knows."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgym import experiments as ex
from fairgym.config import RunConfig
from fairgym.experiments._measurements import dot
from fairgym.policies import fixed_policies
from fairgym.report import style
from fairgym.report.labels import title, words
from fairgym.utils import make

LOANS, STILL, FULL = "bank_loans", "bank_loans, scores that stay", "loan"
TRUTH, ESTIMATE = "tpr_disparity", "estimated_tpr_disparity"
LEARNED = {"trained on the truth": TRUTH, "trained on estimates": ESTIMATE}
KNOWING, FARSIGHTED = "knows the chances", "knows, lends from the third score on"
# Rules of bank_loans -> (baseline, prior chance to repay, loans that it counts as).
RULES: dict[str, tuple[str, float, float]] = {
    KNOWING: ("threshold", 0.6, 10.0),
    FARSIGHTED: ("threshold", 0.6, 10.0),
    "learns, prior .45 of 10 loans": ("learned_threshold", 0.45, 10.0),
    "learns, prior .6 of 2 loans": ("learned_threshold", 0.6, 2.0),
    "learns, prior .6 of 10 loans": ("learned_threshold", 0.6, 10.0),
    "learns, prior .9 of 20 loans": ("learned_threshold", 0.9, 20.0),
}
HASTY, WARY, HOPEFUL = list(RULES)[-3:]
PROFIT, RATE, GAP, BELIEVED = "profit", "true positive rate", "gap", "gap believed"
GAPS = {GAP: TRUTH, BELIEVED: ESTIMATE}


@ex.experiments.register("mafe-labels")
class MafeLabels(ex.TrainingExperiment):
    """Rules in bank_loans and F-MACEM in loan, with outcomes of their own loans alone."""

    title = "Selective labels"
    source = "beyond MAFE, after Lakkaraju et al. 2017"
    claim = (
        "decisions determine whose outcome is ever known (selective labels); a bank that learns"
        " from its own loans may give up people who would repay and never find out, and a learner"
        " that is shown the estimated gap of true positive rates instead of the true one may close"
        " the wrong gap"
    )
    sizes: ClassVar = {"paper": ex.PAPER, "quick": ex.QUICK}

    def grid(self, size: ex.Size) -> dict[str, RunConfig]:
        """Profit and the gap between groups, as it is and as the bank estimates it."""
        arguments = {"population": size.people, "selective_labels": True}
        return {
            label: ex.run_config(FULL, size, {"profit": 1.0, gap: 1.0}, environment_args=arguments)
            for label, gap in LEARNED.items()
        }

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> Any:
        """Environment -> policy -> column -> (seeds,)."""
        assert size.held_out is not None
        data = {**rules_measured(size.held_out, seeds), FULL: {}}
        for label, several in runs.items():
            ends = [ex.held_out_run(run, size.held_out, ex.PERMUTATIONS) for run in several]
            data[FULL][label] = _columns(several[0].env, ends)
        return data

    def conclude(self, data: Any) -> ex.Outcome:
        """Cost of learning from few loans, gain by hope, and the gap that is not seen."""
        rules, still, on_truth, on_estimates = data[LOANS], data[STILL], *LEARNED
        checks = [
            ex.Check.higher(
                "bank_loans: the prior .6 of 2 loans earns less than knowing (by)",
                rules[KNOWING][PROFIT],
                rules[HASTY][PROFIT],
            ),
            ex.Check.higher(
                "bank_loans: the prior .6 of 10 loans earns less than knowing (by)",
                rules[KNOWING][PROFIT],
                rules[WARY][PROFIT],
            ),
            ex.Check.higher(
                "bank_loans: the prior .6 of 10 loans refuses more of those who would repay than"
                " knowing (true positive rate lower by)",
                rules[KNOWING][RATE],
                rules[WARY][RATE],
            ),
            ex.Check.higher(
                "bank_loans: the prior .9 of 20 loans earns more than .6 of 10 (by)",
                rules[HOPEFUL][PROFIT],
                rules[WARY][PROFIT],
            ),
            ex.Check.higher(
                "bank_loans: it earns less than knowing and lending from the third score on (by)",
                rules[FARSIGHTED][PROFIT],
                rules[HOPEFUL][PROFIT],
            ),
            ex.Check.higher(
                "bank_loans, scores that stay: it earns less than knowing (by)",
                still[KNOWING][PROFIT],
                still[HOPEFUL][PROFIT],
            ),
        ]
        seen, unseen = (
            {gap: ex.beyond(one[gap], one[gap + ex.BY_LUCK]) for gap in GAPS}
            for one in (data[FULL][label] for label in (on_truth, on_estimates))
        )
        checks += [
            ex.Check.higher(
                "loan: trained on estimates, the true gap beyond luck is larger than trained on the"
                " truth (by)",
                unseen[GAP],
                seen[GAP],
            ),
            ex.Check.higher(
                "loan: trained on the truth, the bank believes in a gap that is not there (beyond"
                " luck, by)",
                seen[BELIEVED],
                seen[GAP],
            ),
        ]
        caption = (
            "Held-out episodes; gaps are differences of the groups' true positive rates; lent is"
            " the share of a group's applicants who were approved."
        )
        shown = {label: one for label, one in rules.items() if label != FARSIGHTED}
        tables = [_table(name, found, caption) for name, found in data.items()]
        return ex.Outcome(
            figures={"": _plot({LOANS: shown, FULL: data[FULL]})},
            caption="Large marks are interquartile means over seeds with stratified bootstrap 95%"
            " intervals, faint dots are seeds.",
            tables=tables,
            checks=checks,
        )


def rules_measured(episodes: int, seeds: Sequence[int]) -> dict[str, Any]:
    """Rules of bank_loans: environment -> rule -> column -> (seeds,); nothing is trained."""
    env = make(LOANS, selective_labels=True)
    moving = env.default_params
    data: dict[str, Any] = {}
    for name, start in ((LOANS, moving), (STILL, moving.replace(shift=0.0))):
        data[name] = {}
        for label, (rule, prior, weight) in RULES.items():
            params = start.replace(prior_repayment=prior, prior_weight=weight)
            # the third score pays off later, by those who rise: as if it paid off at once
            paying = params.replace(repayment=params.repayment.at[2].set(1.0))
            taken = paying if label == FARSIGHTED else params
            acting = fixed_policies(env, env.spec.baselines[rule], taken)
            ends = [ex.held_out(env, params, acting, seed, episodes) for seed in seeds]
            data[name][label] = _columns(env, ends)
    return data


def _columns(env: Any, ends: Sequence[Any]) -> dict[str, np.ndarray]:
    """Numbers of one policy by column, (seeds,).

    Where people are counted one by one, what luck alone makes of a gap stands beside it, (seeds,
    permutations).
    """
    found: dict[str, Any] = {}

    def add(name: str, value: Any) -> None:
        found.setdefault(name, []).append(float(value))

    for one in ends:
        add(PROFIT, np.mean(one.metrics["profit"]))
        add(RATE, np.mean(one.metrics["tpr"]))
    for gap, metric in GAPS.items():
        if all(metric in one.nulls for one in ends):
            found[gap], found[gap + ex.BY_LUCK] = ex.disparity(ends, metric)
        else:
            found[gap] = [-np.mean(one.metrics[metric]) for one in ends]
    for one in ends:
        totals = one.totals
        applied = np.asarray(
            totals.applicants.sum(axis=2) if env.name == LOANS else totals.applied, np.float64
        )
        rates = np.asarray(totals.approved).sum(axis=0) / np.maximum(applied.sum(axis=0), 1.0)
        for group, rate in zip(("1st", "2nd"), rates, strict=True):
            add(f"lent, {group}", rate)
        add("survived", 1.0 - np.mean(one.terminated))
    return {name: np.array(values) for name, values in found.items()}


def _table(name: str, found: Mapping[str, Any], caption: str) -> ex.Table:
    columns = list(next(iter(found.values())))
    head = [
        column.replace("1st", "advantaged").replace("2nd", "disadvantaged") for column in columns
    ]
    rows = [[label, *(ex.cell(c, one[c]) for c in columns)] for label, one in found.items()]
    luck = f" {ex.LUCK}" if any(column.endswith(ex.BY_LUCK) for column in columns) else ""
    return ex.Table([words(name), *head], rows, f"{title(name)}. {caption}{luck}")


@style.styled
def _plot(data: Any) -> Figure:
    """True and believed gaps of every policy, systems in panels."""
    figure, axes = style.panels(len(data), len(data), 3.6, legend_rows=1)
    colours = dict(zip((GAP, BELIEVED), style.POLICY_COLOURS, strict=False))
    for panel, (name, found) in zip(axes, data.items(), strict=True):
        for place, one in enumerate(found.values()):
            for shift, (column, colour) in enumerate(colours.items()):
                dot(panel, place + 0.35 * shift, one[column], colour)
        panel.set_xticks(range(len(found)), list(found), rotation=45, ha="right")
        style.set_title(panel, title(name))
    axes[0].set_ylabel("gap of true positive rates ↓")
    style.top_legend(
        figure,
        [
            Line2D([], [], color=colour, marker="o", label=column)
            for column, colour in colours.items()
        ],
    )
    return figure
