"""State, noise and components of the education environment."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from fairgym.core import Components, PopulationState, Struct, component, group_count, person_index
from fairgym.environments._common.schedule import Construction, Schedule

OUTSIDE, STUDYING, WORKING = 0, 1, 2
MINORITY = 1


class Times(Struct):
    """Semesters in the university, in the workforce and in the environment so far."""

    in_university: Float[Array, " people"]
    in_workforce: Float[Array, " people"]
    in_environment: Float[Array, " people"]


class EducationState(PopulationState):
    """State of the country and its people; times are steps.

    Attributes:
        region: Index of each person's region in the population's list of regions.
        data: Columns of the people's data, and `gpa_shift`, the changes of f(u) by tertiary money.
        residual: The person's baseline GPA minus f(u), without the changes by tertiary money.
        entered_at: Step in which the current pass began (application).
        left_at: Step of rejection, leaving or graduation, when the person began to look for work.
        gpa: Cumulative GPA; the baseline for people without grades.
        semester_gpa: GPA of the last semester.
        mentored: Whether the student had a mentor in the last semester.
        degree: Highest degree of this pass, 0 none to 3 doctorate.
        salary: Last semester's salary with the supplement, share of the maximum salary.
        salary_sum: Sum of the salaries over the career.
        applying: True for the sampled people who apply.
        classes: Number of people who begin each programme, by group and by the step in which
            those who stay complete it.
        units: Infrastructure units of the university.
        building: Units under construction.
        tuition_share: Share of the sticker price that students paid in the last semester.
        supplement: Diversity supplement of the last semester, share of the maximum salary.
        account: The university's money, dollars.
        total_profit: Sum of the employer's profits so far.
        applicants: Rows of the people sampled for this semester.
    """

    region: Int[Array, " people"]
    data: dict[str, Float[Array, " people"]]
    residual: Float[Array, " people"]
    entered_at: Int[Array, " people"]
    left_at: Int[Array, " people"]
    gpa: Float[Array, " people"]
    semester_gpa: Float[Array, " people"]
    mentored: Bool[Array, " people"]
    degree: Float[Array, " people"]
    salary: Float[Array, " people"]
    salary_sum: Float[Array, " people"]
    applying: Bool[Array, " applicants"]
    classes: Schedule
    units: Float[Array, ""]
    building: Construction
    tuition_share: Float[Array, ""]
    supplement: Float[Array, ""]
    account: Float[Array, ""]
    total_profit: Float[Array, ""]
    applicants: Int[Array, " applicants"] = person_index()

    @property
    def times(self) -> Times:
        """Times of each person at the start of the semester."""
        student, worker = self.stage == STUDYING, self.stage == WORKING
        until = jnp.where(student, self.time, self.left_at)
        inside = student | worker
        in_university = jnp.where(inside, until - self.entered_at, 0)
        # rejected people begin to work in the next semester, like those who leave
        hired_at = jnp.maximum(self.left_at, self.entered_at + 1)
        in_workforce = jnp.where(worker, self.time - hired_at, 0)
        in_environment = jnp.where(inside, self.time - self.entered_at, 0)
        return Times(
            in_university.astype(jnp.float32),
            in_workforce.astype(jnp.float32),
            in_environment.astype(jnp.float32),
        )


class EducationNoise(Struct):
    """Random numbers of one step: uniform in [0, 1), one of each kind per person.

    Attributes:
        admission: Breaks ties of the admission scores. `apply` is the same number: one is used for
            applicants, the other for people outside, and nobody is both unless a pass lasts a
            single semester.
        mentor: Breaks ties among minority students who may get a mentor.
        gpa: Noise of the semester's GPA.
        leave: Decides whether the student leaves the university.
        move: Decides whether the person's features improve, stay or deteriorate.
        apply: Samples who applies in the next semester.
    """

    admission: Float[Array, " people"]
    mentor: Float[Array, " people"]
    gpa: Float[Array, " people"]
    leave: Float[Array, " people"]
    move: Float[Array, " people"]
    apply: Float[Array, " people"]


class EducationComponents(Components):
    """Components of each semester (MAFE, table 7)."""

    profit: Float[Array, ""] = component(
        "sum of the workers' utilities to the employer",
        unit="utility",
        symbol="P_t",
        nonnegative=False,
        used_by=("employer",),
    )
    applied: Float[Array, " groups"] = group_count(
        "people who applied to the university", "A_U", "admissions"
    )
    entered: Float[Array, " groups"] = group_count(
        "people who entered the university", "E^U", "admissions"
    )
    bachelor_class: Float[Array, " groups"] = group_count(
        "initial size of the class that completes the bachelor's now", "C^U", "university"
    )
    bachelors: Float[Array, " groups"] = group_count(
        "people who completed the bachelor's", "G^U", "university"
    )
    master_class: Float[Array, " groups"] = group_count(
        "initial size of the class that completes the master's now", "C^M", "university"
    )
    masters: Float[Array, " groups"] = group_count(
        "people who completed the master's", "G^M", "university"
    )
    doctorate_class: Float[Array, " groups"] = group_count(
        "initial size of the class that completes the doctorate now", "C^D", "university"
    )
    doctorates: Float[Array, " groups"] = group_count(
        "people who completed the doctorate", "G^D", "university"
    )
    classes: Float[Array, " groups"] = group_count(
        "initial size of all classes that complete a programme now", "", "university"
    )
    graduates: Float[Array, " groups"] = group_count(
        "people who completed a programme", "", "university"
    )
    workers: Float[Array, " groups"] = group_count(
        "people in the workforce", "W", "employer", "planner", level=True
    )
    salaries: Float[Array, " groups"] = group_count(
        "sum of their salaries as shares of the maximum salary (supplements count by"
        " `supplement_in_salary`)",
        "S",
        "employer",
        "planner",
        unit="maximum salaries",
        level=True,
    )
