"""What could overturn a what-if: rival worlds, sensitivity, and the parts of a gap."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from fairgym.config.differences import small, words
from fairgym.core import Environment
from fairgym.results.gaps import compared_rates
from fairgym.results.labels import rate_title
from fairgym.results.numbers import Estimate, difference_text, in_plain_unit
from fairgym.results.quantities import FAILED, LENGTH, Quantity, quantities
from fairgym.results.rows import Row, effects
from fairgym.statistics.sobol import Share
from fairgym.training.decomposition import Decomposition, Part
from fairgym.training.scenarios import Simulation
from fairgym.training.sensitivity import CHANCE, Course, Sensitivity

Record = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Rival:
    """The difference of a quantity in a rival world.

    Attributes:
        scenario: Name of the scenario.
        world: Name of the world.
        about: What holds in the world, in words.
        quantity: The quantity.
        here: Difference from the reference in the world of the simulation.
        there: Difference in the rival world.
    """

    scenario: str
    world: str
    about: str
    quantity: Quantity
    here: Estimate
    there: Estimate

    @property
    def overturned(self) -> bool:
        """Whether both differences are clear, with opposite signs."""
        return self.here.clear and self.there.clear and self.here.mean * self.there.mean < 0.0

    @property
    def text(self) -> str:
        """The two differences: "profit (dollars) −4.7 million [...] instead of +13 million"."""
        here, there = (difference_text(x, self.quantity.unit) for x in (self.here, self.there))
        unit = "" if self.quantity.unit in ("", "share") else f" ({self.quantity.unit})"
        return f"{small(self.quantity.title)}{unit} {there} instead of {here}"


def clear_measures(env: Environment, found: Sequence[Row], scenario: str) -> list[str]:
    """Return the names of measures of all people that clearly differ in a scenario."""
    names = {quantity.name for quantity in of_everybody(env)}
    return [
        row.quantity.name
        for row in found
        if row.quantity.name in names
        and not row.quantity.group
        and row.quantity.kind in ("measure", "rate")
        and row.differences[scenario].clear
    ]


def of_everybody(env: Environment) -> list[Quantity]:
    """Return the measures and rates of all people, without failures and lengths."""
    return [
        quantity
        for quantity in quantities(env)
        if quantity.kind in ("measure", "rate")
        and not quantity.group
        and quantity.name not in (FAILED, LENGTH)
    ]


def rivals(simulation: Simulation, found: Sequence[Row]) -> list[Rival]:
    """Return the differences of all measures and rates in every rival world.

    Args:
        simulation: A simulation with `worlds`.
        found: Its effects.
    """
    made = []
    for name, rival in simulation.worlds.items():
        assert rival.world is not None
        for here, there in zip(found, effects(rival), strict=True):
            if here.quantity.kind in ("measure", "rate"):
                made += [
                    Rival(
                        scenario,
                        name,
                        rival.world.about,
                        here.quantity,
                        here.differences[scenario],
                        there.differences[scenario],
                    )
                    for scenario in here.differences
                ]
    return made


def rival_records(simulation: Simulation, found: Sequence[Row]) -> list[Record]:
    """Return the differences in rival worlds as records of kind "world"."""
    return [
        {
            "policy": one.scenario,
            "reference": simulation.reference,
            "kind": "world",
            "measure": one.quantity.name,
            "title": one.quantity.title,
            "part": one.quantity.group or None,
            "unit": one.quantity.unit,
            "better": one.quantity.better,
            "world": one.world,
            "about": one.about,
            "difference": one.there.mean,
            "difference_low": one.there.low,
            "difference_high": one.there.high,
            "clear": one.there.clear,
            "difference_here": one.here.mean,
            "overturned": one.overturned,
        }
        for one in rivals(simulation, found)
    ]


# ---------------------------------------------------------------- sensitivity


@dataclasses.dataclass(frozen=True)
class Swing:
    """What one uncertain parameter does to the difference in one quantity.

    Attributes:
        quantity: The quantity.
        share: Shares of the variance of the difference.
        course: The difference over the range of the parameter; None for chance.
        unit: Unit of the parameter.
    """

    quantity: Quantity
    share: Share
    course: Course | None
    unit: str


def swings(env: Environment, found: Sensitivity) -> dict[str, list[Swing]]:
    """Return what each parameter does to each measure: name of a quantity -> one per factor.

    Measures whose difference is undefined in some point, or equal in all, are left out.
    """
    info = env.default_params.info()
    made = {}
    for quantity in of_everybody(env):
        courses = {one.factor: one for one in found.courses(quantity.values)}
        shares = found.shares(quantity.values)
        if shares:
            made[quantity.name] = [
                Swing(
                    quantity,
                    share,
                    courses.get(share.factor),
                    "" if share.factor == CHANCE else info[share.factor].unit,
                )
                for share in shares
            ]
    return made


def sensitivity_records(env: Environment, found: Sensitivity) -> list[Record]:
    """Return shares of variance as records, and courses as records of kind "range"."""
    made: list[Record] = []
    for several in swings(env, found).values():
        for one in several:
            about = {
                "policy": found.name,
                "reference": found.reference,
                "measure": one.quantity.name,
                "title": one.quantity.title,
                "unit": one.quantity.unit,
                "better": one.quantity.better,
                "factor": one.share.factor,
                "factor_unit": one.unit,
            }
            course, shares = one.course, one.share._asdict()
            shares.pop("factor")
            made.append(
                {
                    **about,
                    "kind": "sensitivity",
                    **shares,
                    "factor_low": course.values[0] if course else None,
                    "factor_high": course.values[-1] if course else None,
                    "flips_at": course.flips[0] if course and course.flips else None,
                }
            )
            if course is None:
                continue
            for point in zip(course.values, course.means, course.lows, course.highs, strict=True):
                names = ("factor_value", "difference", "difference_low", "difference_high")
                made.append({**about, "kind": "range", **dict(zip(names, point, strict=True))})
    return made


# ---------------------------------------------------------------- parts of a gap


def gap_parts(
    env: Environment, found: Decomposition
) -> tuple[str, str, list[tuple[str, Estimate]]]:
    """Return the rate in words, its unit, and the parts of a gap and the gap in plain units."""
    rate = compared_rates(env).get(found.measure) or env.metrics[found.measure].rate
    unit, factor = in_plain_unit(rate.unit_in(env.spec.component_info))

    def plain(part: Part) -> Estimate:
        return Estimate(part.mean, part.low, part.high).times(factor)

    parts = [(part.name, plain(part)) for part in (*found.parts, found.gap)]
    return rate_title(env, found.measure), unit, parts


def decomposition_records(env: Environment, found: Decomposition) -> list[Record]:
    """Return the parts of a gap, and the gap, as records of kind "decomposition"."""
    title, unit, parts = gap_parts(env, found)
    return [
        {
            "policy": found.scenario,
            "kind": "decomposition",
            "measure": found.measure,
            "title": title,
            "part": found.groups[0],
            "against": found.groups[1],
            "unit": unit,
            "component": name,
            "mean": one.mean,
            "low": one.low,
            "high": one.high,
            "episodes": found.episodes,
        }
        for name, one in parts
    ]


def ordered(several: dict[str, list[Swing]], clear: Sequence[str]) -> list[list[Swing]]:
    """Return the swings of each measure, measures with a clear difference first."""
    first = [several[name] for name in clear if name in several]
    return first + [one for name, one in several.items() if name not in clear]


def part_title(name: str) -> str:
    """Return the name of a part of a gap in words."""
    if " x " in name:
        return f"interaction: {name.replace(' x ', ' × ')}"
    known = {
        "decision": "decisions that depend on the group",
        "start": "starting attributes of the people",
        "dynamics": "everything else that goes with the group",
        "neither": "none of them",
        "gap": "the gap",
    }
    return known.get(name, words(name))
