"""Selective labels: banks that learn from their own loans, compared with an oracle."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import PyTree

from fairgym.core import Environment
from fairgym.experiments import _parts as ex
from fairgym.policies import fixed_policies
from fairgym.results.labels import title, words
from fairgym.utils import make

LOANS, STILL, FULL = "bank_loans", "bank_loans, fixed scores", "loan"
TRUTH, ESTIMATE = "tpr_disparity", "estimated_tpr_disparity"
LEARNED = {"trained on the truth": TRUTH, "trained on estimates": ESTIMATE}
ON_TRUTH, ON_ESTIMATES = LEARNED
KNOWING, FARSIGHTED = "knows probabilities", "knows probabilities, lends from the third score on"
# Rule of bank_loans -> (baseline, prior repayment probability, number of loans it counts as).
RULES: dict[str, tuple[str, float, float]] = {
    KNOWING: ("threshold", 0.6, 10.0),
    FARSIGHTED: ("threshold", 0.6, 10.0),
    "learns, prior .45 of 10 loans": ("learned_threshold", 0.45, 10.0),
    "learns, prior .6 of 2 loans": ("learned_threshold", 0.6, 2.0),
    "learns, prior .6 of 10 loans": ("learned_threshold", 0.6, 10.0),
    "learns, prior .9 of 20 loans": ("learned_threshold", 0.9, 20.0),
}
HASTY, CAUTIOUS, HOPEFUL = list(RULES)[-3:]
PROFIT, RATE, GAP, ESTIMATED = "profit", "true positive rate", "gap", "estimated gap"
GAPS = {GAP: TRUTH, ESTIMATED: ESTIMATE}
SIGNED = "signed gap"


@ex.experiments.register("mafe-labels")
class MafeLabels(ex.ComparisonFigure):
    """Rules in bank_loans and F-MACEM in loan, with outcomes of granted loans only."""

    title = "Beyond MAFE: selective labels"
    source = "beyond MAFE, after Lakkaraju et al. 2017"
    claim = (
        "decisions determine whose outcome is ever known (selective labels); a bank that learns"
        " from its own loans may refuse people who would repay and never find out, and a learner"
        " trained on the estimated gap of true positive rates instead of the true one may close"
        " the wrong gap"
    )
    height = 3.6
    legend = (GAP, ESTIMATED)
    # claims about the hopeful rule were stated after its profit had been seen
    claims = (
        ex.Claim(
            "bank_loans: the prior .6 of 2 loans earns less than knowing",
            *ex.pair(KNOWING, HASTY, PROFIT, LOANS),
        ),
        ex.Claim(
            "bank_loans: the prior .6 of 10 loans earns less than knowing",
            *ex.pair(KNOWING, CAUTIOUS, PROFIT, LOANS),
        ),
        ex.Claim(
            "bank_loans: the prior .6 of 10 loans refuses more of those who would repay than"
            " knowing (difference in true positive rates)",
            *ex.pair(KNOWING, CAUTIOUS, RATE, LOANS),
        ),
        ex.Claim(
            "bank_loans: the prior .9 of 20 loans earns more than .6 of 10",
            *ex.pair(HOPEFUL, CAUTIOUS, PROFIT, LOANS),
            "calibrated",
        ),
        ex.Claim(
            "bank_loans: the same prior earns less than knowing and lending from the third score"
            " on",
            *ex.pair(FARSIGHTED, HOPEFUL, PROFIT, LOANS),
            "calibrated",
        ),
        ex.Claim(
            "bank_loans, fixed scores: it earns less than knowing",
            *ex.pair(KNOWING, HOPEFUL, PROFIT, STILL),
            "calibrated",
        ),
        ex.Claim(
            "loan: the true gap (excess over the null) is larger if trained on estimates than on"
            " the truth",
            *ex.pair(ON_ESTIMATES, ON_TRUTH, GAP, FULL, excess=True),
        ),
        ex.Claim(
            "loan: trained on the truth, the estimated gap is larger than the true one (excess"
            " over the null)",
            ex.At(ON_TRUTH, ESTIMATED, FULL, excess=True),
            ex.At(ON_TRUTH, GAP, FULL, excess=True),
            "calibrated",  # its direction is that of a trial at quick scale
        ),
    )

    def grid(self, size: ex.Size) -> ex.Grid:
        """Return profit and the gap between groups, true and as the bank estimates it."""
        arguments = {"population": size.people, "selective_labels": True}
        return {
            label: ex.run_config(FULL, size, {"profit": 1.0, gap: 1.0}, environment_args=arguments)
            for label, gap in LEARNED.items()
        }

    def numbers(self, place: str, runs: Sequence[ex.Run], ends: ex.Ends) -> ex.Columns:
        """Return the same columns as for the rules."""
        return _columns(runs[0].env, ends)

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> ex.Compared:
        """Measure rules of bank_loans, and learned policies of loan."""
        assert size.held_out is not None
        learned = super().measure(size, runs, seeds)[""]
        return {**rules_measured(size.held_out, seeds), FULL: learned}

    def checks(self, data: ex.Compared) -> list[ex.Check]:
        """Check the claims, and the signed gap under both learned policies of loan."""
        signed = [data[FULL][label][SIGNED] for label in (ON_ESTIMATES, ON_TRUTH)]
        statement = (
            "loan: the true gap (signed) is larger if trained on estimates than on the truth"
        )
        return [*super().checks(data), ex.Check.above(statement, ex.narrowing(*signed))]

    def tables(self, data: ex.Compared) -> list[ex.Table]:
        """Return one table per environment."""
        return [_table(name, found) for name, found in data.items()]

    def panels(self, data: ex.Compared) -> list[ex.Panel]:
        """Return true and estimated gaps of every policy, one panel per environment."""
        shown = {label: one for label, one in data[LOANS].items() if label != FARSIGHTED}
        return [
            ex.Panel(shown, [GAP, ESTIMATED], title(LOANS), "gap of true positive rates ↓"),
            ex.Panel(data[FULL], [GAP, ESTIMATED], title(FULL)),
        ]


def rules_measured(episodes: int, seeds: Sequence[int]) -> ex.Compared:
    """Measure the rules of bank_loans: environment -> rule -> column -> (seeds,)."""
    env = make(LOANS, selective_labels=True)
    moving = env.default_params
    data: ex.Compared = {}
    for name, start in ((LOANS, moving), (STILL, moving.replace(shift=0.0))):
        data[name] = {}
        for label, (rule, prior, weight) in RULES.items():
            params = start.replace(prior_repayment=prior, prior_weight=weight)
            # the third score pays off later, through rising scores; here it pays off at once
            paying = params.replace(repayment=params.repayment.at[2].set(1.0))
            taken = paying if label == FARSIGHTED else params
            acting = fixed_policies(env, env.spec.baselines[rule], taken)
            ends = [ex.held_out(env, params, acting, seed, episodes) for seed in seeds]
            data[name][label] = _columns(env, ends)
    return data


def _columns(env: Environment, ends: ex.Ends) -> ex.Columns:
    """Return the numbers of one policy by column, (seeds,).

    If the environment models individuals, a gap has its null distribution, (seeds, permutations).
    """
    found = {PROFIT: ex.means(ends, "profit"), RATE: ex.means(ends, "tpr")}
    for gap, metric in GAPS.items():
        if all(metric in one.nulls for one in ends):
            found[gap], found[gap + ex.NULL_MEAN] = ex.disparity(ends, metric)
        else:
            found[gap] = -ex.means(ends, metric)
    found[SIGNED] = ex.signed_gap(ends, TRUTH)

    def lent(totals: PyTree) -> np.ndarray:
        applied = totals.applicants.sum(axis=2) if env.name == LOANS else totals.applied
        everybody = np.asarray(applied, np.float64).sum(axis=0)
        return np.asarray(totals.approved).sum(axis=0) / np.maximum(everybody, 1.0)

    rates = np.array([lent(one.totals) for one in ends])
    return found | {
        "lent, 1st": rates[:, 0],
        "lent, 2nd": rates[:, 1],
        "survived": ex.survival(ends),
    }


def _table(name: str, found: dict[str, ex.Columns]) -> ex.Table:
    columns = list(next(iter(found.values())))
    head = [
        column.replace("1st", "advantaged").replace("2nd", "disadvantaged") for column in columns
    ]
    caption = (
        f"{title(name)}. Held-out episodes. Gaps are differences between the groups' true positive"
        " rates; the signed one is the advantaged's minus that of the disadvantaged. “Lent” is the"
        " share of a group's applicants who were approved."
    )
    null = f" {ex.NULL_NOTE}" if any(column.endswith(ex.NULL_MEAN) for column in columns) else ""
    return ex.columns_table([words(name), *head], found, caption + null)
