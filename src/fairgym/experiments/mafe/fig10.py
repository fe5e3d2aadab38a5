"""What the agents learn to do when all terms weigh alike."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from fairgym.core import Shares
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
from fairgym.experiments._measurements import first_and_last, logged
from fairgym.report.actions import mean_actions
from fairgym.training.config import RunConfig
from fairgym.training.statistics import bootstrap_interval

ENVIRONMENTS = ("loan", "health", "education")
INNER = (0.02, 0.98)  # between the extremes of an action
NEARLY_ALL = 0.95  # of the applicants
SIMILAR = 0.05  # difference of two default rates
NEAR_CAP = 0.9  # share of the highest premium


@experiments.register("mafe-fig10")
class MafeFig10(Experiment):
    """Mean actions over training in three environments."""

    title: ClassVar[str] = "What the agents do over training"
    source: ClassVar[str] = "MAFE, figure 10 and appendix D.5"
    claim: ClassVar[str] = (
        'in loan "the agent learns to lower the threshold, effectively admitting nearly all'
        ' applicants", with relief "neither too high to protect profits, nor too low" and "similar'
        ' default rates across both groups"; in health premiums go "near the upper limit", the'
        ' "largest share of the planner\'s budget is allocated to public health", the next to'
        ' premium subsidies; in education the planner "primarily invests in tertiary resources and'
        ' employer diversity incentives", and the university moves money from faculty salaries to'
        " scholarships and mentorship"
    )
    sizes: ClassVar[Mapping[str, Size]] = {"paper": PAPER, "quick": QUICK}
    notes: ClassVar[str] = (
        "First: after the first epoch; last: mean of the last tenth of the epochs. The university"
        " is said to put much into salaries early in training, which is taken as the first quarter"
        " of the epochs.\n\n"
        "What was tried about health. Public health and subsidies end close to each other, in one"
        " of the five seeds in the other order. Which is first depends on numbers that are not"
        " published: with features that move a quarter as far (distress_change 0.05, income_change"
        " 250; one seed) public health gets 0.30 and subsidies 0.66, so the defaults have features"
        " move by more.\n\n"
        "What was tried about education. A tenth of the workers are of the minority, and the"
        " employer pays both groups alike or closes the gap by itself; diversity money on top soon"
        " pays the minority more than the majority, which the objective charges as well. Trials at"
        " this size: if no agent sees who is of the minority (observe_group 0, two seeds), the"
        " incentives end at 0.02 and 0.07 of the budget and the university at 0.42 and 0.46; with"
        " tuition of 20,000 instead of 10,000 dollars (one seed) at 0.06 and 0.43; with both (one"
        " seed) at 0.08 and 0.41. The share of salaries is highest around a third of the epochs,"
        " later than the check looks for it. Mentors lose their share in all seeds to"
        " scholarships, which keep students of both groups. With the higher tuition salaries fall"
        " from 0.55 to 0.15, mentorship rises to 0.32 and scholarships to 0.47 (fairgym train"
        " education --population 1000 --params tuition=20000 --seed 0)."
    )

    def grid(self, size: Size) -> dict[str, RunConfig]:
        """The objective with all terms in three environments."""
        return {name: run_config(name, size) for name in ENVIRONMENTS}

    def measure(self, size: Size, runs: Mapping[str, Sequence[Any]], seeds: Sequence[int]) -> Any:
        """The runs themselves: what they logged is all there is to measure."""
        return runs

    def conclude(self, data: Any) -> Outcome:
        """The directions that the specification lists."""
        checks = [*_loan(data["loan"]), *_health(data["health"]), *_education(data["education"])]
        rows = []
        for name, runs in data.items():
            for key in (k for k in runs[0].metrics[0] if k.startswith("actions/")):
                agent, _, element = key.removeprefix("actions/").partition("/")
                if "," in element and isinstance(runs[0].env.action_space(agent), Shares):
                    continue  # how a share is split further is in the figure
                pairs = np.array([first_and_last(logged(run, key)) for run in runs])
                ends = (with_interval(bootstrap_interval(column)) for column in pairs.T)
                rows.append([name, agent.replace("_", " "), element, *ends])
        caption = (
            "Mean actions of the learned policy, interquartile mean over seeds (95% interval)."
        )
        head = ["environment", "agent", "action", "first epoch", "last tenth of the epochs"]
        return Outcome(
            figures={name: mean_actions(list(runs)) for name, runs in data.items()},
            caption="Lines and colours are means over seeds, bands run from the lowest to the"
            " highest seed.",
            tables=[Table(head, rows, caption)],
            checks=checks,
        )


def _ends(runs: Sequence[Any], *keys: str) -> np.ndarray:
    """First and last of the mean of these logged numbers: shape (2, seeds)."""
    curves = [np.mean([logged(run, key) for key in keys], axis=0) for run in runs]
    return np.array([first_and_last(curve) for curve in curves]).T


def _loan(runs: Sequence[Any]) -> list[Check]:
    groups = runs[0].env.groups
    thresholds = _ends(runs, *(f"actions/admissions/threshold, {g}" for g in groups))
    relief = _ends(runs, *(f"actions/debt_management/relief, {g}" for g in groups))[1]
    inside = np.minimum(relief - INNER[0], INNER[1] - relief)
    return [
        Check.higher("loan: thresholds fall (by)", thresholds[0], thresholds[1]),
        Check.above(
            f"loan: nearly everybody is admitted in the end (above {NEARLY_ALL})",
            _ends(runs, "metrics/admission_rate")[1],
            NEARLY_ALL,
        ),
        Check.above(
            f"loan: relief ends between its extremes (distance from {INNER[0]} and {INNER[1]})",
            inside,
        ),
        Check.below(
            f"loan: default rates of the groups end alike (difference below {SIMILAR})",
            np.abs(_ends(runs, "metrics/default_disparity")[1]),
            SIMILAR,
        ),
    ]


def _health(runs: Sequence[Any]) -> list[Check]:
    premium = _ends(runs, "actions/insurer/premium")
    public, subsidies, beds, rollover = (
        _ends(runs, f"actions/planner/{kind}")[1]
        for kind in ("public health", "insurance subsidies", "hospital infrastructure", "rollover")
    )
    return [
        Check.higher("health: premiums climb (by)", premium[1], premium[0]),
        Check.above(f"health: premiums end near the cap (above {NEAR_CAP})", premium[1], NEAR_CAP),
        Check.higher(
            "health: the planner's largest share is public health (above the next by)",
            public,
            np.max([subsidies, beds, rollover], axis=0),
        ),
        Check.higher(
            "health: subsidies are the next (above beds and rollover by)",
            subsidies,
            np.maximum(beds, rollover),
        ),
    ]


def _education(runs: Sequence[Any]) -> list[Check]:
    tertiary, university, diversity = (
        _ends(runs, f"actions/planner/{kind}")[1]
        for kind in ("tertiary education", "university", "diversity incentives")
    )
    salaries = [logged(run, "actions/university/salaries") for run in runs]
    early = [np.mean(s[: max(1, len(s) // 4)]) for s in salaries]
    return [
        Check.higher(
            "education: the planner gives tertiary education more than the university (by)",
            tertiary,
            university,
        ),
        Check.higher(
            "education: and diversity incentives more than the university (by)",
            diversity,
            university,
        ),
        Check.higher(
            "education: the university's share for salaries falls from the first quarter of the"
            " epochs (by)",
            early,
            [first_and_last(s)[1] for s in salaries],
        ),
        *(
            Check.higher(
                f"education: {kind} rise{'s' * (kind == 'mentorship')} from the first epoch (by)",
                *_ends(runs, f"actions/university/{kind}")[::-1],
            )
            for kind in ("scholarships", "mentorship")
        ),
    ]
