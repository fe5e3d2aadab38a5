"""What the education environment keeps and reports: state, noise and components."""

from typing import Any

import jax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core import Components, Construction, Schedule, Struct, component, person_index


class EducationState(Struct):
    """The country and its people. Per-person arrays have length `population`; times are steps.

    Attributes:
        data: columns of the data, and `gpa_shift`: what tertiary money has changed in f(u).
        entered_at: step in which the current pass began (application).
        left_at: step in which work began to be looked for, by rejection, leaving or graduation.
        salary, salary_sum: last semester's salary and the sum over the career, both with the
            supplement, as shares of the maximum salary.
        classes: people by programme and group that begin a programme, by the step in which those
            who stay complete it.
        account: the university's money, dollars.
    """

    time: Int[Array, ""]
    group: Int[Array, " people"]
    region: Int[Array, " people"]
    stage: Int[Array, " people"]
    data: dict[str, Float[Array, " people"]]
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


class EducationNoise(Struct):
    """The randomness of one step, uniform in [0, 1), one number of each kind per person.

    Attributes:
        admission: breaks ties of the admission scores.
        mentor: which of the newest minority students get a mentor.
        gpa: noise of the semester's GPA.
        leave: leaves the university?
        move: do the person's features improve, stay or deteriorate?
        apply: draws who applies in the next semester.
    """

    admission: Float[Array, " people"]
    mentor: Float[Array, " people"]
    gpa: Float[Array, " people"]
    leave: Float[Array, " people"]
    move: Float[Array, " people"]
    apply: Float[Array, " people"]

    @classmethod
    def sample(cls, key: PRNGKeyArray, people: int) -> "EducationNoise":
        """All of them independent, except that `apply` is also `admission`.

        One is for those outside, the other for those who apply: no person is both, unless a pass
        lasts a single semester.
        """
        draws = jax.random.uniform(key, (5, people))
        return cls(draws[0], draws[1], draws[2], draws[3], draws[4], draws[0])


def _of_group(description: str, symbol: str, *used_by: str, unit: str = "people") -> Any:
    return component(description, unit=unit, symbol=symbol, per="group", used_by=used_by)


class EducationComponents(Components):
    """What is reported each semester (MAFE, table 7)."""

    profit: Float[Array, ""] = component(
        "sum of the workers' utilities to the employer",
        unit="utility",
        symbol="P_t",
        nonnegative=False,
        used_by=("employer",),
    )
    applied: Float[Array, " groups"] = _of_group(
        "people who applied to the university", "A_U", "admissions"
    )
    entered: Float[Array, " groups"] = _of_group(
        "people who entered the university", "E^U", "admissions"
    )
    bachelor_class: Float[Array, " groups"] = _of_group(
        "size at its start of the class that completes the bachelor's now", "C^U", "university"
    )
    bachelors: Float[Array, " groups"] = _of_group(
        "people who completed the bachelor's", "G^U", "university"
    )
    master_class: Float[Array, " groups"] = _of_group(
        "size at its start of the class that completes the master's now", "C^M", "university"
    )
    masters: Float[Array, " groups"] = _of_group(
        "people who completed the master's", "G^M", "university"
    )
    doctorate_class: Float[Array, " groups"] = _of_group(
        "size at its start of the class that completes the doctorate now", "C^D", "university"
    )
    doctorates: Float[Array, " groups"] = _of_group(
        "people who completed the doctorate", "G^D", "university"
    )
    workers: Float[Array, " groups"] = _of_group(
        "people in the workforce", "W", "employer", "planner"
    )
    salaries: Float[Array, " groups"] = _of_group(
        "sum of their salaries, supplements included, as shares of the maximum salary",
        "S",
        "employer",
        "planner",
        unit="maximum salaries",
    )
