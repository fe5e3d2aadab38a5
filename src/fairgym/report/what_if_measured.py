"""What a page about a what-if shows: a simulation, its people, and what could overturn it."""

import dataclasses
from collections.abc import Callable, Mapping

from fairgym.core import Environment
from fairgym.results.labels import has_people
from fairgym.results.rows import Row, effects
from fairgym.results.what_if import Record, clear_measures, ordered, swings
from fairgym.results.what_if_page import course_records, gain_records, grid_records
from fairgym.training.building import Built
from fairgym.training.decomposition import Decomposition
from fairgym.training.gains import counts_benefit, gains
from fairgym.training.grids import grid
from fairgym.training.reforms import Factor, declared_by
from fairgym.training.scenarios import Simulation
from fairgym.training.sensitivity import Sensitivity


@dataclasses.dataclass(frozen=True)
class WhatIf:
    """What a page about a what-if shows.

    Attributes:
        simulation: Scenarios measured with `trace=True`.
        rows: Their effects.
        people: Name of a scenario -> records of kind "people"; none where people cannot be
            compared.
        courses: Name of a scenario -> records of kind "time".
        grids: Name of a scenario -> records of kind "grid"; none without an uncertain parameter.
        sensitivities: Sensitivities of scenarios.
        decompositions: Divided gaps.
    """

    simulation: Simulation
    rows: tuple[Row, ...]
    people: Mapping[str, list[Record]]
    courses: Mapping[str, list[Record]]
    grids: Mapping[str, list[Record]]
    sensitivities: tuple[Sensitivity, ...] = ()
    decompositions: tuple[Decomposition, ...] = ()

    @property
    def env(self) -> Environment:
        """Environment of the reference."""
        return self.simulation.base.env

    @property
    def benefit(self) -> str:
        """What people receive, in words; "" if it is not counted person by person."""
        spec = self.env.spec
        if not counts_benefit(self.env):
            return ""
        return spec.component_info[spec.benefit].description.replace("`", "")

    def records(self) -> list[Record]:
        """Return people, courses and grids as flat records."""
        return [
            record
            for kind in (self.people, self.courses, self.grids)
            for several in kind.values()
            for record in several
        ]


def measure_what_if(
    simulation: Simulation,
    sensitivities: tuple[Sensitivity, ...] = (),
    decompositions: tuple[Decomposition, ...] = (),
    *,
    progress: Callable[[str], None] | None = None,
) -> WhatIf:
    """Run what a page shows beyond a simulation: who gains, and a grid of sizes.

    Args:
        simulation: Scenarios measured with `trace=True`.
        sensitivities: Sensitivities of its scenarios, if any.
        decompositions: Divided gaps, if any.
        progress: Called with a short text before each part.

    Raises:
        FairgymError: A scenario cannot be run.
    """
    say = progress or (lambda text: None)
    env, base = simulation.base.env, simulation.base
    rows = tuple(effects(simulation))
    swung = {one.name: one for one in sensitivities}
    people, courses, grids = {}, {}, {}
    for one in simulation.others:
        name = one.name
        sides = (simulation.evaluations[side] for side in (name, base.name))
        courses[name] = course_records(env, name, base.name, *sides)
        if has_people(env) and simulation.same_people(name):
            say(f"people of {name}")
            people[name] = gain_records(name, base.name, gains(simulation, name))
        factor = _factor(one, base, swung.get(name), rows)
        if factor is not None:
            say(f"sizes of {name}")
            found = grid(
                simulation.source,
                one.scenario,
                base.scenario,
                factor,
                seed=simulation.seed,
                world=simulation.world,
            )
            grids[name] = grid_records(env, base.name, found)
    return WhatIf(simulation, rows, people, courses, grids, sensitivities, decompositions)


def _factor(
    one: Built, base: Built, swung: Sensitivity | None, rows: tuple[Row, ...]
) -> Factor | None:
    """Return the uncertain parameter of a grid: the most telling one, by default the first.

    Parameters that a scenario sets itself are left out.
    """
    env = one.env
    own = {
        str(name).partition(".")[0]
        for side in (one, base)
        for name, _ in side.scenario.changes(side.env)[1]
    }
    factors = {factor.name: factor for factor in declared_by(env).uncertain}
    left = [factor for name, factor in factors.items() if name not in own]
    if swung is None or not left:
        return left[0] if left else None
    several = ordered(swings(env, swung), clear_measures(env, rows, one.name))
    shares = {swing.share.factor: swing.share.total for swing in (several[0] if several else ())}
    known = [factor for factor in left if shares.get(factor.name, 0.0) > 0.0]
    return max(known, key=lambda factor: shares[factor.name]) if known else left[0]
