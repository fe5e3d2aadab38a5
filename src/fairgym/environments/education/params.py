"""Parameters of the education environment (MAFE, table 8, where published)."""

import numpy as np

from fairgym.core import fraction, param
from fairgym.core.params import Number
from fairgym.environments._common.regions import RegionParams

CALIBRATED_POPULATION = 10_000


class EducationParams(RegionParams):
    """Parameters of the education environment; every field may be vmapped over.

    Defaults are for 10,000 people; `at_population` scales the country's totals. Published values
    are marked with their source. The others are documented choices, see the environment's card.
    """

    minority_share: float = fraction(
        0.1, "Share of the minority in the population; by default that of the data."
    )
    planner_budget: float = param(
        2.5e7,
        "New money of the planner per semester, B-hat (table 8). The default is scaled with the"
        " population; a given value is not.",
        unit="dollars per semester",
        low=1.0,
        high=1e12,
    )
    pass_length: float = param(
        40.0,
        "Semesters from application to the return to the tertiary population (not published). If"
        " it is shorter than all programmes together, students return before they can finish.",
        unit="semesters",
        low=1.0,
        high=1e5,
    )
    bachelor_length: float = param(
        8.0,
        "Semesters to a bachelor's degree (not published).",
        unit="semesters",
        low=1.0,
        high=1e4,
    )
    master_length: float = param(
        4.0,
        "Additional semesters until a master's degree (not published).",
        unit="semesters",
        low=1.0,
        high=1e4,
    )
    doctorate_length: float = param(
        8.0,
        "Additional semesters until a doctorate (not published).",
        unit="semesters",
        low=1.0,
        high=1e4,
    )
    tuition: float = param(
        20_000.0,
        "Sticker price of a semester (not published).",
        unit="dollars per semester",
        low=0.0,
        high=1e7,
    )
    units_at_start: float = param(
        10.0,
        "Infrastructure units of the university at the start (not published). The default is scaled"
        " with the population; a given value is not.",
        unit="units",
        low=0.0,
        high=1e6,
    )
    reserve_at_start: float = param(
        2e6,
        "Money in the university's account at the start (not published). The default is scaled"
        " with the population; a given value is not.",
        unit="dollars",
        low=0.0,
        high=1e12,
    )
    faculty_per_unit: float = param(
        5.0, "Faculty per unit (table 8: 1 unit, 5 faculty, 75 students).", low=0.0, high=1e4
    )
    seats_per_unit: float = param(75.0, "Seats per unit (table 8).", low=0.0, high=1e5)
    faculty_salary: float = param(
        10_000.0,
        "Salary of a faculty member (not published).",
        unit="dollars per semester",
        low=0.0,
        high=1e7,
    )
    unit_base_cost: float = param(
        1e6,
        "Base cost of a building project (table 8). The default is scaled with the population; a"
        " given value is not.",
        unit="dollars",
        low=0.0,
        high=1e12,
    )
    unit_cost: float = param(
        1e6, "Cost of each unit (table 8).", unit="dollars", low=1e-3, high=1e12
    )
    build_base_time: float = param(
        6.0, "Base time of a building project (not published).", unit="semesters", low=0.0, high=1e6
    )
    build_unit_time: float = param(
        0.5,
        "Building time added by each unit (not published). The default is scaled inversely with"
        " the population; a given value is not.",
        unit="semesters",
        low=0.0,
        high=1e6,
    )
    mentorship_cost: float = param(
        5_000.0,
        "Cost of mentoring a student (not published).",
        unit="dollars per semester",
        low=1e-3,
        high=1e7,
    )
    gpa_scholarship: float = param(
        0.1,
        "Gain in the entering GPA from a full scholarship, gamma_1 (table 8).",
        low=0.0,
        high=4.0,
    )
    gpa_mentor: float = param(
        0.3, "Gain in the entering GPA from a mentor, gamma_2 (table 8).", low=0.0, high=4.0
    )
    gpa_noise: float = param(
        0.4, "Half-width of the entering GPA's noise, delta (table 8).", low=0.0, high=4.0
    )
    gpa_support: float = param(
        0.2,
        "Shift C of that noise for students with a mentor or a large scholarship (not published).",
        low=0.0,
        high=4.0,
    )
    large_scholarship: float = fraction(
        0.5, "Smallest share of the tuition at which a scholarship counts as large (not published)."
    )
    residual_share: float = fraction(
        1.0,
        "Share of the person's residual from f(u) in the baseline GPA (not published). 0: the"
        " baseline is the fitted value; 1: it is the GPA of the person's row of the data.",
    )
    gpa_kept: float = fraction(
        0.0,
        "Share of a pass's GPA in the baseline of the next pass (not published). 0: the GPA does"
        " not count in the next pass; 1: it is the new baseline.",
    )
    gpa_drift: float = param(
        0.25, "Half-width of the GPA's change per semester, Delta (table 8).", low=0.0, high=4.0
    )
    leave_base: float = param(
        0.0, "Weight alpha_0 of leaving: constant (table 8).", low=-100.0, high=100.0
    )
    leave_gpa: float = param(
        -1.0, "Weight alpha_1 of leaving: per grade point (table 8).", low=-100.0, high=100.0
    )
    leave_tuition: float = param(
        0.5, "Weight alpha_2 of leaving: at full tuition (table 8).", low=-100.0, high=100.0
    )
    leave_time: float = param(
        -0.05, "Weight alpha_3 of leaving: per semester (table 8).", low=-100.0, high=100.0
    )
    leave_time_squared: float = param(
        0.001, "Weight alpha_4 of leaving: per squared semester (table 8).", low=-100.0, high=100.0
    )
    max_salary: float = param(
        50_000.0,
        "Salary if the employer's action is 1 (not published).",
        unit="dollars per semester",
        low=1.0,
        high=1e9,
    )
    utility_base: float = param(
        0.1, "Constant alpha_0 of a worker's utility (table 8).", low=-100.0, high=100.0
    )
    utility_pay: float = param(
        1.2, "Weight alpha_1 of pay in a worker's utility (table 8).", low=0.0, high=100.0
    )
    cost_base: float = param(
        3.0, "Constant beta_0 of the cost of pay (table 8).", low=0.0, high=100.0
    )
    cost_gpa: float = param(
        -1.1, "Weight beta_1 of the GPA in the cost of pay (table 8).", low=-100.0, high=0.0
    )
    cost_university: float = param(
        -1.1, "Weight beta_2 of study time in the cost of pay (table 8).", low=-100.0, high=0.0
    )
    cost_experience: float = param(
        -1.1, "Weight beta_3 of experience in the cost of pay (table 8).", low=-100.0, high=0.0
    )
    supplement_in_salary: float = fraction(
        0.0,
        "Share of the diversity money that counts as salary in the metrics (not published). 1: S of"
        " table 7 is all that workers receive; 0: it is SALARY of equation 22.",
    )
    improve_base: Number = fraction(
        0.39, "Approximate probability Q of improving without money (table 8).", per="region"
    )
    gpa_change: float = param(
        0.01, "Step c of the baseline GPA when features move (not published).", low=0.0, high=4.0
    )
    hours_change: float = param(
        0.1, "Step c of HRSWK (not published).", unit="hours per week", low=0.0, high=100.0
    )
    employer_change: float = param(
        0.02, "Step c of the codes EMSEC and EMSIZE (not published).", low=0.0, high=8.0
    )
    loan_change: float = param(
        100.0, "Step c of UGLOAN and GRLOAN (not published).", unit="dollars", low=0.0, high=1e6
    )

    @property
    def leave_weights(self) -> tuple[Number, ...]:
        """Weights alpha_0 to alpha_4 of leaving."""
        return (
            self.leave_base,
            self.leave_gpa,
            self.leave_tuition,
            self.leave_time,
            self.leave_time_squared,
        )

    @property
    def cost_weights(self) -> tuple[Number, ...]:
        """Weights beta_0 to beta_3 of the cost of pay."""
        return self.cost_base, self.cost_gpa, self.cost_university, self.cost_experience

    @property
    def programme_lengths(self) -> tuple[Number, ...]:
        """Semesters of the bachelor's, the master's and the doctorate."""
        return self.bachelor_length, self.master_length, self.doctorate_length

    def at_population(self, population: int) -> "EducationParams":
        """Return the parameters for another population: money, units and building are scaled.

        A university has at least one unit; paying its salaries takes about 150 people.
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
