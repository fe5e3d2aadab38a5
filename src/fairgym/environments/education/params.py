"""The numbers of the education environment (MAFE, table 8, where published)."""

import numpy as np

from fairgym.core import fraction, param
from fairgym.core.params import Number
from fairgym.environments._common.regions import RegionParams

CALIBRATED_POPULATION = 10_000


class EducationParams(RegionParams):
    """Parameters of the education environment; every field may be vmapped over.

    Defaults are for 10,000 people; `at_population` scales what belongs to the whole country.
    Published values are marked with their source; the others are documented choices, see the
    environment's card.
    """

    minority_share: float = fraction(
        0.1, "share of the minority in the population; the default is that of the data"
    )
    planner_budget: float = param(
        2.5e7,
        "B-hat: new money of the planner in each semester (table 8); the default is scaled"
        " with the population, a given value is taken as it is",
        unit="dollars per semester",
        low=1.0,
        high=1e12,
    )
    pass_length: float = param(
        40.0,
        "semesters from application to the return to the tertiary population (not published);"
        " shorter than the programmes together, it sends students home before they can finish",
        unit="semesters",
        low=1.0,
        high=1e5,
    )
    bachelor_length: float = param(
        8.0, "semesters to a bachelor's degree (not published)", unit="semesters", low=1.0, high=1e4
    )
    master_length: float = param(
        4.0, "further semesters to a master's (not published)", unit="semesters", low=1.0, high=1e4
    )
    doctorate_length: float = param(
        8.0,
        "further semesters to a doctorate (not published)",
        unit="semesters",
        low=1.0,
        high=1e4,
    )
    tuition: float = param(
        20_000.0,
        "sticker price of a semester (not published)",
        unit="dollars per semester",
        low=0.0,
        high=1e7,
    )
    units_at_start: float = param(
        10.0,
        "infrastructure units of the university at the start (not published); the default is scaled"
        " with the population, a given value is taken as it is",
        unit="units",
        low=0.0,
        high=1e6,
    )
    reserve_at_start: float = param(
        2e6,
        "money in the university's account at the start (not published); the default is scaled"
        " with the population, a given value is taken as it is",
        unit="dollars",
        low=0.0,
        high=1e12,
    )
    faculty_per_unit: float = param(
        5.0, "faculty of each unit (table 8: 1 unit, 5 faculty, 75 students)", low=0.0, high=1e4
    )
    seats_per_unit: float = param(75.0, "students of each unit (table 8)", low=0.0, high=1e5)
    faculty_salary: float = param(
        10_000.0,
        "salary of one of the faculty (not published)",
        unit="dollars per semester",
        low=0.0,
        high=1e7,
    )
    unit_base_cost: float = param(
        1e6,
        "cost of any building project (table 8); the default is scaled"
        " with the population, a given value is taken as it is",
        unit="dollars",
        low=0.0,
        high=1e12,
    )
    unit_cost: float = param(
        1e6, "cost of each unit (table 8)", unit="dollars", low=1e-3, high=1e12
    )
    build_base_time: float = param(
        6.0, "semesters that any project takes (not published)", unit="semesters", low=0.0, high=1e6
    )
    build_unit_time: float = param(
        0.5,
        "semesters that each unit adds (not published); the default is scaled"
        " inversely with the population, a given value is taken as it is",
        unit="semesters",
        low=0.0,
        high=1e6,
    )
    mentorship_cost: float = param(
        5_000.0,
        "cost of mentoring a student (not published)",
        unit="dollars per semester",
        low=1e-3,
        high=1e7,
    )
    gpa_scholarship: float = param(
        0.1, "gamma_1: what full scholarship adds to the entering GPA (table 8)", low=0.0, high=4.0
    )
    gpa_mentor: float = param(
        0.3, "gamma_2: what a mentor adds to the entering GPA (table 8)", low=0.0, high=4.0
    )
    gpa_noise: float = param(
        0.4, "delta: half width of the entering GPA's noise (table 8)", low=0.0, high=4.0
    )
    gpa_support: float = param(
        0.2,
        "C: shift of that noise for those with a mentor or a large scholarship (not published)",
        low=0.0,
        high=4.0,
    )
    large_scholarship: float = fraction(
        0.5, "share of the tuition from which a scholarship is large (not published)"
    )
    residual_share: float = fraction(
        1.0,
        "share of the own residual of f(u) that each person carries (not published; 0: everybody's"
        " baseline is what is usual for their features, 1: it is that of their row of the data)",
    )
    gpa_kept: float = fraction(
        0.0,
        "share of the GPA of a pass in the baseline of the next one (not published; 0: what"
        " somebody achieved in a pass does not count in the next, 1: the GPA is the new baseline)",
    )
    gpa_drift: float = param(
        0.25, "Delta: half width of a GPA's change per semester (table 8)", low=0.0, high=4.0
    )
    leave_base: float = param(0.0, "alpha_0 of leaving (table 8)", low=-100.0, high=100.0)
    leave_gpa: float = param(-1.0, "alpha_1, per grade point (table 8)", low=-100.0, high=100.0)
    leave_tuition: float = param(0.5, "alpha_2, at full tuition (table 8)", low=-100.0, high=100.0)
    leave_time: float = param(-0.05, "alpha_3, per semester (table 8)", low=-100.0, high=100.0)
    leave_time_squared: float = param(
        0.001, "alpha_4, per squared semester (table 8)", low=-100.0, high=100.0
    )
    max_salary: float = param(
        50_000.0,
        "salary that the employer's action 1 stands for (not published)",
        unit="dollars per semester",
        low=1.0,
        high=1e9,
    )
    utility_base: float = param(
        0.1, "alpha_0 of a worker's utility (table 8)", low=-100.0, high=100.0
    )
    utility_pay: float = param(1.2, "alpha_1: what pay adds (table 8)", low=0.0, high=100.0)
    cost_base: float = param(3.0, "beta_0 of the cost of pay (table 8)", low=0.0, high=100.0)
    cost_gpa: float = param(-1.1, "beta_1 (table 8)", low=-100.0, high=0.0)
    cost_university: float = param(-1.1, "beta_2 (table 8)", low=-100.0, high=0.0)
    cost_experience: float = param(-1.1, "beta_3 (table 8)", low=-100.0, high=0.0)
    supplement_in_salary: float = fraction(
        0.0,
        "share of the diversity money that measured salaries contain (not published; 1: S of table"
        " 7 is all that workers receive, 0: it is SALARY of equation 22)",
    )
    improve_base: Number = fraction(
        0.39, "Q: chance that features improve without money, nearly (table 8)", per="region"
    )
    gpa_change: float = param(
        0.01, "c of the baseline GPA when features move (not published)", low=0.0, high=4.0
    )
    hours_change: float = param(
        0.1, "c of HRSWK (not published)", unit="hours per week", low=0.0, high=100.0
    )
    employer_change: float = param(
        0.02, "c of the codes EMSEC and EMSIZE (not published)", low=0.0, high=8.0
    )
    loan_change: float = param(
        100.0, "c of UGLOAN and GRLOAN (not published)", unit="dollars", low=0.0, high=1e6
    )

    @property
    def leave_weights(self) -> tuple[Number, ...]:
        """The weights alpha_0 to alpha_4 of leaving."""
        return (
            self.leave_base,
            self.leave_gpa,
            self.leave_tuition,
            self.leave_time,
            self.leave_time_squared,
        )

    @property
    def cost_weights(self) -> tuple[Number, ...]:
        """The weights beta_0 to beta_3 of the cost of pay."""
        return self.cost_base, self.cost_gpa, self.cost_university, self.cost_experience

    @property
    def programme_lengths(self) -> tuple[Number, ...]:
        """Semesters of bachelor's, master's and doctorate."""
        return self.bachelor_length, self.master_length, self.doctorate_length

    def at_population(self, population: int) -> "EducationParams":
        """The same country with other numbers of people: money, units and building scaled.

        A university has at least one unit, whose salaries take about 150 people to pay for.
        """
        scale = population / CALIBRATED_POPULATION
        units = np.maximum(1.0, np.round(self.units_at_start * scale))
        return self.replace(
            planner_budget=self.planner_budget * scale,
            units_at_start=units if np.ndim(units) else float(units),
            reserve_at_start=self.reserve_at_start * scale,
            unit_base_cost=self.unit_base_cost * scale,
            build_unit_time=self.build_unit_time / scale,
        )
