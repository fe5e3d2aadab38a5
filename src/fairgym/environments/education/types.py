"""State, noise and components of the education environment."""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core import Components, PopulationState, Struct, component, group_count, person_index
from fairgym.data.populations.education import GROUPS
from fairgym.environments._common.schedule import Construction, Schedule

OUTSIDE, STUDYING, WORKING = 0, 1, 2
MINORITY = 1


class Times(Struct):
    """Semesters in the university, in the workforce and in the environment so far."""

    in_university: Float[Array, " people"]
    in_workforce: Float[Array, " people"]
    in_environment: Float[Array, " people"]


class EducationState(PopulationState):
    """The country and its people; times are steps.

    Attributes:
        region: place of each person's region in the population's list of regions.
        data: columns of the data, and `gpa_shift`: what tertiary money has changed in f(u).
        residual: what the person's baseline GPA is above f(u), but for tertiary money.
        entered_at: step in which the current pass began (application).
        left_at: step in which work began to be looked for, by rejection, leaving or graduation.
        gpa: cumulative GPA; the baseline of those who have no grades.
        semester_gpa: GPA of the last semester.
        mentored: True if the student had a mentor in the last semester.
        degree: highest degree of this pass, 0 none to 3 doctorate.
        salary: last semester's salary with the supplement, share of the maximum salary.
        salary_sum: sum of these over the career.
        applying: True for those of them who really apply.
        classes: people by programme and group that begin a programme, by the step in which those
            who stay complete it.
        units: infrastructure units of the university.
        building: units under construction.
        tuition_share: share of the sticker price that students paid in the last semester.
        supplement: diversity supplement of the last semester, share of the maximum salary.
        account: the university's money, dollars.
        total_profit: sum of the employer's profits so far.
        applicants: rows of the people sampled for this semester.
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

    @classmethod
    def at_start(
        cls,
        group: Int[Array, " people"],
        region: Int[Array, " people"],
        data: Mapping[str, Float[Array, " people"]],
        residual: Float[Array, " people"],
        applicants: Int[Array, " applicants"],
        applying: Bool[Array, " applicants"],
        semesters: int,
        units: float | Float[Array, ""],
        account: float | Float[Array, ""],
    ) -> "EducationState":
        """State before the first semester: everybody is outside, nothing is built or spent.

        Args:
            group: group of each person.
            region: region of each person.
            data: columns of the data.
            residual: as of the state.
            applicants: rows of the people sampled for the first semester.
            applying: True for those of them who really apply.
            semesters: length of an episode.
            units: infrastructure units of the university.
            account: dollars of the university.
        """
        nothing = jnp.zeros(group.shape, jnp.float32)
        never = jnp.zeros(group.shape, jnp.int32)
        zero = jnp.float32(0.0)
        return cls(
            time=jnp.int32(0),
            group=group,
            region=region,
            stage=never,
            data={**data, "gpa_shift": nothing},
            residual=residual,
            entered_at=never,
            left_at=never,
            gpa=nothing,
            semester_gpa=nothing,
            mentored=jnp.zeros(group.shape, bool),
            degree=nothing,
            salary=nothing,
            salary_sum=nothing,
            applicants=applicants,
            applying=applying,
            classes=Schedule.empty(semesters, (3, len(GROUPS))),
            units=jnp.asarray(units, jnp.float32),
            building=Construction.at_start(1, semesters),
            tuition_share=jnp.float32(1.0),
            supplement=zero,
            account=jnp.asarray(account, jnp.float32),
            total_profit=zero,
        )

    @property
    def times(self) -> Times:
        """Times of each person at the beginning of the semester."""
        student, worker = self.stage == STUDYING, self.stage == WORKING
        until = jnp.where(student, self.time, self.left_at)
        inside = student | worker
        in_university = jnp.where(inside, until - self.entered_at, 0)
        # whoever is rejected begins to work in the next semester, like those who leave
        hired_at = jnp.maximum(self.left_at, self.entered_at + 1)
        in_workforce = jnp.where(worker, self.time - hired_at, 0)
        in_environment = jnp.where(inside, self.time - self.entered_at, 0)
        return Times(
            in_university.astype(jnp.float32),
            in_workforce.astype(jnp.float32),
            in_environment.astype(jnp.float32),
        )


class EducationNoise(Struct):
    """The randomness of one step, uniform in [0, 1), one number of each kind per person.

    Attributes:
        admission: breaks ties of the admission scores.
        mentor: selects the newest minority students who get a mentor.
        gpa: noise of the semester's GPA.
        leave: decides whether the student leaves the university.
        move: decides whether the person's features improve, stay or deteriorate.
        apply: samples who applies in the next semester.
    """

    admission: Float[Array, " people"]
    mentor: Float[Array, " people"]
    gpa: Float[Array, " people"]
    leave: Float[Array, " people"]
    move: Float[Array, " people"]
    apply: Float[Array, " people"]

    @classmethod
    def sample(cls, key: PRNGKeyArray, people: int) -> "EducationNoise":
        """Sample all of them, independently, except that `apply` is also `admission`.

        One is for those outside, the other for those who apply: no person is both, unless a pass
        lasts a single semester.
        """
        uniform = jax.random.uniform(key, (5, people))
        return cls(*uniform, apply=uniform[0])


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
        "size at its start of the class that completes the bachelor's now", "C^U", "university"
    )
    bachelors: Float[Array, " groups"] = group_count(
        "people who completed the bachelor's", "G^U", "university"
    )
    master_class: Float[Array, " groups"] = group_count(
        "size at its start of the class that completes the master's now", "C^M", "university"
    )
    masters: Float[Array, " groups"] = group_count(
        "people who completed the master's", "G^M", "university"
    )
    doctorate_class: Float[Array, " groups"] = group_count(
        "size at its start of the class that completes the doctorate now", "C^D", "university"
    )
    doctorates: Float[Array, " groups"] = group_count(
        "people who completed the doctorate", "G^D", "university"
    )
    classes: Float[Array, " groups"] = group_count(
        "size at their start of all classes that complete a programme now", "", "university"
    )
    graduates: Float[Array, " groups"] = group_count(
        "people who completed a programme", "", "university"
    )
    workers: Float[Array, " groups"] = group_count(
        "people in the workforce", "W", "employer", "planner", level=True
    )
    salaries: Float[Array, " groups"] = group_count(
        "sum of their salaries, with supplements as far as `supplement_in_salary` says, as shares"
        " of the maximum salary",
        "S",
        "employer",
        "planner",
        unit="maximum salaries",
        level=True,
    )
