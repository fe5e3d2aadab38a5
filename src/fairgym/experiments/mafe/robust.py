"""Policies learned under one interpretation of loan, judged under others."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from fairgym.experiments import _parts as ex
from fairgym.experiments.mafe._readings import CHOSEN_FORGIVEN, lending, served
from fairgym.experiments.mafe.targeted import GAP
from fairgym.fairness import Objective
from fairgym.policies import fixed_policies
from fairgym.results.labels import capital

DEFAULT = f"relief {CHOSEN_FORGIVEN:g} forgiven"
# World -> parameters that differ from the defaults.
WORLDS: dict[str, dict[str, float]] = {
    DEFAULT: {},
    "relief postponed": {"relief_forgiven": 0.0},
    "relief forgiven": {"relief_forgiven": 1.0},
    "defaults as in the data": {"residual_share": 0.75},
}
OTHERS = tuple(name for name in WORLDS if name != DEFAULT)
LEARNED, AT_HOME = "learned (default)", "learned here"
PUBLISHED, SEARCHED = "published policy", "grid search"
EQUAL, REACTING = "equal relief", "reacting relief"
# Fixed policies with a random queue: relief of the advantaged and of the disadvantaged, or a rule.
FIXED: dict[str, Any] = {
    PUBLISHED: [0.12, 0.18],
    SEARCHED: [0.2, 0.225],
    EQUAL: [0.15, 0.15],
    REACTING: "level-relief",
}
SCORE, PROFIT, SURVIVED, ADMITTED = "objective", "profit", "survived", "admitted"
DEFAULTED, NEVER = "default", "never paid out"
ALIVE, NEARLY_ALL = 0.95, 0.95
CLOSE = 0.05  # gap between two default rates


@ex.experiments.register("mafe-robust")
class MafeRobust(ex.ComparisonFigure):
    """Learned, fixed and adaptive policies of loan under four interpretations."""

    title = "Beyond MAFE: policies judged under other interpretations"
    source = "beyond MAFE, figures 8 and 10"
    claim = (
        "how much relief is forgiven, and how far people pay what is predicted from their features,"
        " is not published; conclusions about a policy that was learned under one answer should"
        " survive under the others"
    )
    height = 3.2
    rotation = 60
    sizes: ClassVar = {"paper": ex.STUDY, "quick": dataclasses.replace(ex.QUICK, seeds=3)}

    def grid(self, size: ex.Size) -> ex.Grid:
        """Return all terms weighted equally, in every world."""
        assert size.people is not None
        share, residual = "relief_forgiven", "residual_share"
        return {
            name: lending(
                size.people,
                forgiven=params.get(share, CHOSEN_FORGIVEN),
                residual=params.get(residual, 0.0),
            ).config(size)
            for name, params in WORLDS.items()
        }

    def numbers(self, place: str, runs: Sequence[ex.Run], ends: ex.Ends) -> ex.Columns:
        """Return the outcomes of one policy in one world."""
        env = runs[0].env
        ended, defaulted = (
            np.array([getattr(one.totals, name).sum() for one in ends], np.float64)
            for name in ("ended", "defaulted")
        )
        return {
            SCORE: ex.score(ends, Objective.uniform(env)),
            PROFIT: ex.score(ends, Objective.direct(env)),
            SURVIVED: ex.survival(ends),
            ADMITTED: ex.means(ends, "admission_rate"),
            DEFAULTED: defaulted / np.maximum(ended, 1.0),
            GAP: ex.signed_gap(ends, "default_disparity"),
            NEVER: 1.0 - served(ends),
        }

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> ex.Compared:
        """Return world -> policy -> `numbers`, all policies of a seed in the same episodes."""
        assert size.held_out is not None
        home, data = runs[DEFAULT], {}
        for world, several in runs.items():
            policies: dict[str, list[Mapping[str, Any]]] = {
                LEARNED: [run.policies for run in home],
                **({} if world == DEFAULT else {AT_HOME: [run.policies for run in several]}),
            }
            for name, relief in FIXED.items():
                rules = {"admissions": 0.0, "disbursement": "random", "debt_management": relief}
                policies[name] = [fixed_policies(home[0].env, rules)] * len(home)
            data[world] = {}
            for name, own in policies.items():
                ends = [
                    ex.held_out(run.env, run.params, policy, run.config.seed, size.held_out)
                    for run, policy in zip(several, own, strict=True)
                ]
                data[world][name] = self.numbers(world, several, ends)
        return data

    def checks(self, data: ex.Compared) -> list[ex.Check]:
        """Check the same conclusions in every world.

        In the default world they were seen before the others were looked at.
        """
        checks = []
        for world, found in data.items():
            kind: ex.Kind = "calibrated" if world == DEFAULT else "predicted"
            own = found[LEARNED]
            checks += [
                ex.Check.above(
                    f"{world}: the learned policy keeps the bank alive (above {ALIVE} of the"
                    " episodes)",
                    own[SURVIVED],
                    ALIVE,
                    kind,
                ),
                ex.Check.above(
                    f"{world}: it admits nearly everybody (above {NEARLY_ALL})",
                    own[ADMITTED],
                    NEARLY_ALL,
                    kind,
                ),
                *(
                    ex.Check.higher(
                        f"{world}: it scores above the {other}",
                        own[SCORE],
                        found[other][SCORE],
                        kind,
                    )
                    for other in (PUBLISHED, SEARCHED)
                ),
                ex.Check.between(
                    f"{world}: under it the groups' default rates are close (signed gap within"
                    f" {CLOSE})",
                    own[GAP],
                    -CLOSE,
                    CLOSE,
                    "by construction",  # in figure 10, too: few loans default
                ),
                *(
                    ex.Check.above(
                        f"{world}: the gap of default rates is smaller with {other} than with"
                        f" {EQUAL}",
                        ex.narrowing(found[EQUAL][GAP], found[other][GAP]),
                        kind=kind,
                    )
                    for other in (PUBLISHED, REACTING)
                ),
            ]
        return checks

    def tables(self, data: ex.Compared) -> list[ex.Table]:
        """Return which conclusions survive, and every policy in every world."""
        caption = (
            "Held-out episodes. “Learned (default)” is learned in the default world, “learned here”"
            " in the world of the row. “Default” is the share of ended loans that defaulted;"
            " “signed gap” is the advantaged's default rate minus that of the disadvantaged; profit"
            " is normalised; “never paid out” is a share of the ever approved. Fixed policies admit"
            " everybody and have a random queue. Interquartile mean over seeds [95% CI]."
        )
        head = ["world", "policy", *next(iter(next(iter(data.values())).values()))]
        return [
            _survival_table(self.checks(data)),
            ex.columns_table(head, ex.by_place(data), caption),
        ]

    def panels(self, data: ex.Compared) -> list[ex.Panel]:
        """Return the objective of every policy, a panel per world."""
        return [
            ex.Panel(found, [SCORE], capital(world), "" if place else "objective ↑")
            for place, (world, found) in enumerate(data.items())
        ]


def _survival_table(checks: Sequence[ex.Check]) -> ex.Table:
    """Return the outcome of each conclusion in each world."""
    outcomes: dict[str, dict[str, str]] = {}
    for check in checks:
        world, conclusion = check.statement.split(": ", 1)
        outcomes.setdefault(conclusion, {})[world] = check.outcome
    return ex.Table(
        ["conclusion", *WORLDS],
        [
            [capital(words), *(found[world] for world in WORLDS)]
            for words, found in outcomes.items()
        ],
        "Which conclusions survive, in loan. The policies were learned in the first world.",
        words=True,
    )
