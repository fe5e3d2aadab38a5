"""Parameters of the health environment (MAFE, table 8, where published)."""

import numpy as np

from fairgym.core import fraction, param
from fairgym.core.params import Number
from fairgym.environments._common.regions import RegionParams
from fairgym.environments.health.declarations import PROFIT


class HealthParams(RegionParams):
    """Parameters of the health environment; every field may be vmapped over.

    Defaults are for 10,000 people; `at_population` scales the country's totals. Published values
    are marked with their source. The others are documented choices, see the environment's card.
    """

    planner_budget: float = param(
        2.5e8,
        "New money of the planner per cycle, B-hat (table 8). The default is scaled with the"
        " population; a given value is not.",
        unit="dollars per cycle",
        low=1.0,
        high=1e12,
    )
    max_premium: float = param(
        1000.0,
        "Monthly premium if the insurer's action is 1 (appendix D).",
        unit="dollars per month",
        low=0.0,
        high=1e6,
    )
    hospital_cost: Number = param(
        2000.0,
        "Cost of a hospital stay, HOSPCOST (not published).",
        unit="dollars per month",
        low=0.0,
        high=1e6,
        per="region",
    )
    region_size: Number = param(
        1.0,
        "Size of a region, as a multiple of its size in the data.",
        low=1e-6,
        high=1e6,
        per="region",
    )
    beds_at_start: Number = param(
        300.0,
        "Beds per region at the start; the average over regions if they follow the people (not"
        " published). The default is scaled with the population; a given value is not.",
        unit="beds",
        low=0.0,
        high=1e6,
        per="region",
    )
    beds_by_people: float = fraction(
        1.0,
        "Share of the initial beds that is distributed in proportion to the regions' people (not"
        " published). 0 gives every region the same number.",
    )
    months_of_premium_per_income: float = param(
        12.0,
        "Number of monthly premiums m that people compare with their annual income when they decide"
        " on coverage (12: a year's premiums; 1: equation 14 read literally).",
        unit="months",
        low=1e-6,
        high=1e6,
    )
    illness_uninsured: Number = fraction(
        0.4,
        "Increase A of the probability of falling ill without insurance (table 8).",
        per="region",
    )
    illness_risk: Number = fraction(
        0.4,
        "Probability B of falling ill at a health risk of 5 if insured (table 8).",
        per="region",
    )
    end_base: float = param(
        1.03,
        "Base D of the probability that an illness ends, D^(E ILLTIME) (table 8).",
        low=1.0,
        high=10.0,
    )
    end_illness_time: float = param(
        -7.0, "Exponent E of the probability that an illness ends (table 8).", low=-100.0, high=0.0
    )
    survival_ceiling: float = param(
        1.96,
        "C of mortality: the probability of survival is C - D^(...) (table 8).",
        low=0.0,
        high=10.0,
    )
    survival_base: float = param(
        1.02, "D of mortality (printed as -1.02, see the card).", low=1.0, high=10.0
    )
    survival_illness_time: float = param(
        3.0, "E of mortality, per month of illness (table 8).", low=0.0, high=100.0
    )
    survival_wait: float = param(
        3.0, "F of mortality, per month without a bed (table 8).", low=0.0, high=100.0
    )
    survival_risk: float = param(
        3.0, "G of mortality, per point of health risk (table 8).", low=0.0, high=100.0
    )
    survival_offset: float = param(-7.0, "H of mortality (table 8).", low=-100.0, high=100.0)
    improve_base: Number = fraction(
        0.29, "Approximate probability Q of improving without money (table 8).", per="region"
    )
    public_health_months: float = param(
        1.0,
        "Months over which a cycle's public health money is spread (not published). 1: all of it"
        " works in every month of the cycle; 6: a sixth does, as with subsidies.",
        unit="months",
        low=1.0,
        high=1e6,
    )
    income_change: float = param(
        500.0,
        "Step c of INCTOT and FTOTVAL when features move (not published).",
        unit="dollars per year",
        low=0.0,
        high=1e6,
    )
    poverty_change: float = param(
        2.0, "Step c of POVLEV (not published).", unit="percent", low=0.0, high=1000.0
    )
    distress_change: float = param(
        0.2, "Step c of the six distress items (not published).", low=0.0, high=4.0
    )
    bed_base_cost: Number = param(
        3e7,
        "Base cost of a building project (table 8). The default is scaled with the population; a"
        " given value is not.",
        unit="dollars",
        low=0.0,
        high=1e12,
        per="region",
    )
    bed_cost: Number = param(
        1e6,
        "Cost of each bed (table 8).",
        unit="dollars",
        low=1e-3,
        high=1e12,
        per="region",
    )
    build_base_time: Number = param(
        2.0,
        "Base time of a building project (table 8 exchanges 0.5 and 2, see the card).",
        unit="months",
        low=0.0,
        high=1e6,
        per="region",
    )
    build_bed_time: Number = param(
        0.5,
        "Building time added by each bed (table 8 exchanges 0.5 and 2, see the card). The default"
        " is scaled inversely with the population; a given value is not.",
        unit="months",
        low=0.0,
        high=1e6,
        per="region",
    )

    def at_population(self, population: int) -> "HealthParams":
        """Return the parameters for another population: money, beds and building are scaled."""
        scale = population / PROFIT.population
        beds = np.round(self.beds_at_start * scale)
        return self.replace(
            planner_budget=self.planner_budget * scale,
            beds_at_start=beds if np.ndim(beds) else float(beds),
            bed_base_cost=self.bed_base_cost * scale,
            build_bed_time=self.build_bed_time / scale,
        )
