"""Interventions for one group compared with none: signed gaps between groups before and after.

Policies are fixed, and the arms of an intervention are measured in the same episodes.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fairgym.experiments import _parts as ex
from fairgym.policies import fixed_policies
from fairgym.results.labels import those, title, words
from fairgym.utils import make

GAP, SPREAD = "signed gap", "standard deviation"
HELPED, OTHERS = "rate of the helped group", "rate of the others"
HIGHER_IS_BETTER = ("bachelor_disparity",)
LEVEL = 0.02  # absolute gap of rates that are level


class Arm(NamedTuple):
    """Arm of a comparison.

    Attributes:
        name: What the arm does, in a few words.
        policy: Parts of the fixed policy that differ from the baseline.
    """

    name: str
    policy: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Target:
    """Intervention for one group, and the rates that it should bring closer.

    Attributes:
        environment: Name of the environment.
        baseline: Fixed joint policy of all arms, by its name in `env.spec.baselines`.
        group: The group that is helped.
        helped: Its index.
        metrics: Disparities whose rates are compared.
        without: Arm without the intervention.
        given: Arm with the intervention.
        reacting: Arm whose rule reacts to last year's gap (`fairgym.policies.reacting`).
        others: Further arms, which the table shows.
        untargeted: Arm that gives all groups more, which should narrow the gap less; "" if none.
        levels: Whether `given` is claimed to make the rates level.
        kind: Kind of the checks of `given`.
    """

    environment: str
    baseline: str
    group: str
    helped: int
    metrics: tuple[str, ...]
    without: Arm
    given: Arm
    reacting: Arm
    others: tuple[Arm, ...] = ()
    untargeted: str = ""
    levels: bool = False
    kind: ex.Kind = "predicted"

    @property
    def arms(self) -> tuple[Arm, ...]:
        """All arms."""
        return self.without, self.given, self.reacting, *self.others


def _relief(advantaged: float, disadvantaged: float) -> Arm:
    return Arm(
        f"relief {advantaged:g} / {disadvantaged:g}",
        {"debt_management": [advantaged, disadvantaged]},
    )


def _mentors(share: float) -> Arm:
    """Return an arm with this share of the university's budget for mentors; the rest is kept."""
    name = f"{share:.0%} for mentors" if share else "no mentors"
    return Arm(name, {"university": [0.05, 0.40, 0.25, share, 0.30 - share]})


def _public_health(south: float) -> Arm:
    """Return an arm with this share of the public health money for the South."""
    evenly, rest = [0.25] * 4, (1.0 - south) / 3
    split = [rest, rest, south, rest]
    name = "evenly" if south == rest else f"{south:.0%} for the South"
    return Arm(name, {"planner": [0.25] * 4 + evenly + split + evenly})


SAME_FOR_ALL = _relief(0.15, 0.15)
TARGETS = (
    Target(
        "loan",
        "published_fixed_policy",
        "disadvantaged",
        1,
        ("default_disparity",),
        _relief(0.12, 0.12),
        _relief(0.12, 0.18),
        Arm("reacting relief", {"debt_management": "level-relief"}),
        (SAME_FOR_ALL,),
        SAME_FOR_ALL.name,
        levels=True,  # the published relief
    ),
    Target(
        "education",
        "plausible_fixed_policy",
        "minority",
        1,
        ("bachelor_disparity",),
        _mentors(0.0),
        _mentors(0.20),
        Arm("reacting mentors", {"university": "level-mentors"}),
        (_mentors(0.01),),
    ),
    Target(
        "health",
        "premium_half_uniform_planner",
        "South",
        2,
        ("incidence_disparity", "mortality_disparity"),
        _public_health(0.25),
        _public_health(0.55),
        Arm("reacting money", {"planner": "level-regions"}),
        kind="calibrated",  # the South's share was chosen by its effect
    ),
)


def place_of(target: Target, metric: str) -> str:
    """Return the title of a panel: "Loan: default"."""
    return f"{title(target.environment)}: {words(metric.removesuffix('_disparity'))}"


PLACES = {place_of(one, metric): (one, metric) for one in TARGETS for metric in one.metrics}


@ex.experiments.register("mafe-targeted")
class MafeTargeted(ex.ComparisonFigure):
    """Targeted interventions in three environments, and the gaps between groups."""

    title = "MAFE section 6.1: targeted interventions and the gaps between groups"
    source = "MAFE, section 6.1 and appendix D.1"
    claim = (
        '"applying such interventions strategically for sub-population groups allows agents to'
        ' effectively mitigate disparities across sensitive attributes"; "targeted interventions'
        ' improve outcomes and reduce disparities across demographic groups"'
    )
    sizes: ClassVar = {
        "paper": ex.Size(people=10_000, held_out=6, seeds=10),
        "quick": ex.Size(people=2_000, held_out=4, seeds=5),
    }
    height = 3.2
    rotation = 60
    caption = (
        "Mean rate of the group that is not helped minus that of the group that is (health: the"
        " mean of the other regions minus that of the South). Faint dots are seeds of the episodes,"
        " large marks interquartile means with bootstrap 95% intervals."
    )

    def numbers(self, place: str, runs: Sequence[ex.Run], ends: ex.Ends) -> ex.Columns:
        """Return the signed gap and the spread of one arm; `runs` is empty."""
        target, metric = PLACES[place]
        rates = np.array([np.nanmean(one.rates[metric], axis=0) for one in ends])
        return columns(rates, target.helped)

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> ex.Compared:
        """Return rate -> arm -> `numbers`, one row per seed of the episodes."""
        assert size.people is not None and size.held_out is not None
        data: dict[str, dict[str, ex.Columns]] = {}
        for target in TARGETS:
            env = make(target.environment, population=size.people)
            for arm in target.arms:
                policy = {**env.spec.baselines[target.baseline], **arm.policy}
                policies = fixed_policies(env, policy)
                ends = [
                    ex.held_out(env, env.default_params, policies, seed, size.held_out)
                    for seed in seeds
                ]
                for metric in target.metrics:
                    place = place_of(target, metric)
                    data.setdefault(place, {})[arm.name] = self.numbers(place, (), ends)
        return data

    def checks(self, data: ex.Compared) -> list[ex.Check]:
        """Check that a group is behind without the intervention, and less so with either arm.

        The group's own rate should also improve: a gap can close because others fare worse. Rules
        that react to last year's gap are not in the paper.
        """
        checks = []
        for place, (target, metric) in PLACES.items():
            found, two = data[place], target.environment != "health"
            without, better = found[target.without.name], metric in HIGHER_IS_BETTER
            if two:
                who = f"{place}, {target.without.name}: the gap is at the cost of"
                behind = without[GAP] if better else -without[GAP]
                checks.append(ex.Check.above(f"{who} {those(target.group)}", behind))
            what = "the gap is" if two else "the standard deviation over the regions is"
            for arm in (target.given, target.reacting):
                given = found[arm.name]
                kind: ex.Kind = "own prediction" if arm is target.reacting else target.kind
                arms = f"under “{arm.name}” than under “{target.without.name}”"
                less = (
                    ex.narrowing(without[GAP], given[GAP])
                    if two
                    else without[SPREAD] - given[SPREAD]
                )
                checks.append(ex.Check.above(f"{place}: {what} smaller {arms}", less, kind=kind))
                gain = given[HELPED] - without[HELPED]
                rate = f"the rate of {those(target.group)} is {'higher' if better else 'lower'}"
                gain = gain if better else -gain
                checks.append(ex.Check.above(f"{place}: {rate} {arms}", gain, kind=kind))
            if target.untargeted:
                arms = f"under “{target.given.name}” than under “{target.untargeted}”"
                less = ex.narrowing(found[target.untargeted][GAP], found[target.given.name][GAP])
                checks.append(ex.Check.above(f"{place}: {what} smaller {arms}", less))
            if target.levels:  # seen before it was claimed
                statement = f"{place}: the rates are level under “{target.given.name}” (±{LEVEL})"
                gap = found[target.given.name][GAP]
                checks.append(ex.Check.between(statement, gap, -LEVEL, LEVEL, "calibrated"))
        return checks

    def tables(self, data: ex.Compared) -> list[ex.Table]:
        """Return gaps and spreads of all arms."""
        rows = [
            [
                place,
                arm,
                *(ex.mean_text(own[column]) for column in (HELPED, OTHERS, GAP)),
                ex.mean_text(own[SPREAD]) if PLACES[place][0].environment == "health" else "",
            ]
            for place, found in data.items()
            for arm, own in found.items()
        ]
        return [
            ex.Table(
                ["rate", "fixed policy", HELPED, OTHERS, GAP, f"{SPREAD} over regions"],
                rows,
                "Gaps as in the figure: above 0 the group that is helped has the lower rate. Mean"
                " over the seeds of the episodes [95% CI]; the arms of an intervention have the"
                " same episodes. The standard deviation is that of the regions' mean rates [95%"
                " jackknife CI].",
            )
        ]

    def panels(self, data: ex.Compared) -> list[ex.Panel]:
        """Return the signed gaps, a panel per rate."""
        return [
            ex.Panel(found, [GAP], place, "" if number else GAP)
            for number, (place, found) in enumerate(data.items())
        ]


def columns(rates: np.ndarray, helped: int) -> ex.Columns:
    """Return rates and gaps of each seed, and the spread over groups as jackknife pseudo-values.

    The spread is the standard deviation over groups of their mean rates. Pseudo-values are those of
    `fig7.differences`: their mean has about half of the bias that the noise of the rates makes.

    Args:
        rates: Mean rate of each group in the episodes of a seed, (seeds, groups).
        helped: Index of the group that is helped.
    """
    others = np.delete(rates, helped, axis=1).mean(axis=1)
    n, every = len(rates), np.arange(len(rates))
    whole = float(rates.mean(axis=0).std())
    left_out = np.array([rates[every != i].mean(axis=0).std() for i in every])
    return {
        HELPED: rates[:, helped],
        OTHERS: others,
        GAP: others - rates[:, helped],
        SPREAD: n * whole - (n - 1) * left_out,
    }
