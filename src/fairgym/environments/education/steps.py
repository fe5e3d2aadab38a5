"""The steps of one semester of the education environment, in the order of MAFE, appendix H.

Each function is a numbered step of the card and returns what later steps need.
`Education.transition` calls them; the formulas are in `dynamics.py`.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from fairgym.core import Struct, by_group, count_people, fill_places
from fairgym.environments._common.regions import move_features
from fairgym.environments._common.schedule import Construction, Schedule
from fairgym.environments.education import dynamics
from fairgym.environments.education.declarations import GROUPS, UNIVERSITY
from fairgym.environments.education.params import EducationParams
from fairgym.environments.education.types import (
    MINORITY,
    OUTSIDE,
    STUDYING,
    WORKING,
    EducationNoise,
    EducationState,
)


def _count(who: Bool[Array, " people"], group: Int[Array, " people"]) -> Float[Array, " groups"]:
    return by_group(who.astype(jnp.float32), group, len(GROUPS))


class Admission(Struct):
    """Step 2: who applied, entered or was rejected; all students and their TIMEINUNIV."""

    applied: Bool[Array, " people"]
    entered: Bool[Array, " people"]
    rejected: Bool[Array, " people"]
    student: Bool[Array, " people"]
    entered_at: Int[Array, " people"]
    time: Float[Array, " people"]


def admit(
    noise: EducationNoise,
    state: EducationState,
    scores: Float[Array, " applicants"],
    places: Float[Array, ""],
) -> Admission:
    """Step 2: admit the applicants with the highest scores to the free seats.

    Args:
        noise: Random numbers of this step.
        state: State at the start of the semester.
        scores: Action of admissions.
        places: Seats of the university, including those taken.
    """
    rows, nowhere = state.applicants, jnp.zeros(state.group.shape, bool)
    student = state.stage == STUDYING
    seats = jnp.floor(places) - jnp.sum(_count(student, state.group))
    taken = fill_places(
        scores, state.applying, jnp.zeros_like(rows), seats[None], noise.admission[rows]
    )
    applied = nowhere.at[rows].set(state.applying, unique_indices=True)
    entered = nowhere.at[rows].set(taken, unique_indices=True)
    entered_at = jnp.where(applied, state.time, state.entered_at)
    return Admission(
        applied=applied,
        entered=entered,
        rejected=applied & ~entered,
        student=student | entered,
        entered_at=entered_at,
        time=(state.time - entered_at).astype(jnp.float32),
    )


class Spending(Struct):
    """Step 3: how the university's money is spent, in dollars unless noted."""

    salaries: Float[Array, ""]
    salaries_due: Float[Array, ""]
    tuition_share: Float[Array, ""]  # share of the sticker price that students pay
    mentored: Bool[Array, " people"]
    building: Construction
    account: Float[Array, ""]


def spend(
    noise: EducationNoise,
    state: EducationState,
    admission: Admission,
    shares: Float[Array, " elements"],
    funding: Float[Array, ""],
    units: Float[Array, ""],
    params: EducationParams,
) -> Spending:
    """Step 3: collect tuition and spend the university's budget; the rest stays in the account.

    Args:
        noise: Random numbers of this step.
        state: State at the start of the semester.
        admission: Result of step 2.
        shares: Action of the university.
        funding: Dollars from the planner.
        units: Open infrastructure units.
        params: Prices.
    """
    students = jnp.sum(_count(admission.student, state.group))
    bill = students * params.tuition
    income = bill + funding
    money = UNIVERSITY.by_name((state.account + income) * shares)
    due = params.faculty_per_unit * units * params.faculty_salary
    salaries = jnp.minimum(money["salaries"], due)
    scholarships = jnp.minimum(money["scholarships"], bill)
    tuition_share = jnp.where(
        bill > 0.0,
        1.0 - scholarships / jnp.where(bill > 0.0, bill, 1.0),
        jnp.where(params.tuition > 0.0, 1.0, 0.0),  # no students; free tuition
    )
    mentored = fill_places(
        -admission.time,  # a mentor helps new students
        admission.student & (state.group == MINORITY),
        jnp.zeros_like(state.group),
        jnp.floor(money["mentorship"] / params.mentorship_cost)[None],
        noise.mentor,
    )
    mentorship = params.mentorship_cost * jnp.sum(_count(mentored, state.group))
    spent = money["infrastructure"] + salaries + scholarships + mentorship
    building = state.building.invest(
        money["infrastructure"][None],
        state.time,
        base_cost=params.unit_base_cost,
        unit_cost=params.unit_cost,
        base_time=params.build_base_time,
        unit_time=params.build_unit_time,
    )
    account = jnp.maximum(state.account + income - spent, 0.0)
    return Spending(salaries, due, tuition_share, mentored, building, account)


class Grades(Struct):
    """Step 4: GPA of the semester, and cumulative GPA."""

    semester_gpa: Float[Array, " people"]
    gpa: Float[Array, " people"]


def grade(
    noise: EducationNoise,
    state: EducationState,
    admission: Admission,
    spending: Spending,
    baseline: Float[Array, " people"],
    params: EducationParams,
) -> Grades:
    """Step 4: grade the students."""
    entering = dynamics.entering_gpa(
        baseline,
        noise.gpa,
        spending.tuition_share,
        spending.mentored,
        scholarship_gain=params.gpa_scholarship,
        mentor_gain=params.gpa_mentor,
        half_width=params.gpa_noise,
        support=params.gpa_support,
        large=params.large_scholarship,
    )
    drifted = dynamics.next_semester_gpa(state.semester_gpa, noise.gpa, params.gpa_drift)
    semester_gpa = jnp.where(admission.entered, entering, drifted)
    gpa = jnp.where(admission.applied, baseline, state.gpa)
    so_far = jnp.where(admission.entered, 0.0, gpa)
    mean = dynamics.running_mean(so_far, semester_gpa, admission.time + 1.0)
    return Grades(semester_gpa, jnp.where(admission.student, mean, gpa))


class Progress(Struct):
    """Step 5: class sizes by programme and group, who goes on studying, and degrees."""

    classes: Schedule
    completing: Float[Array, "programmes groups"]
    finishing: Float[Array, "programmes groups"]
    goes_on: Bool[Array, " people"]
    degree: Float[Array, " people"]


def progress(
    noise: EducationNoise,
    state: EducationState,
    admission: Admission,
    spending: Spending,
    grades: Grades,
    params: EducationParams,
) -> Progress:
    """Step 5: let students leave or graduate."""
    leave = dynamics.leaves(
        grades.gpa, spending.tuition_share, admission.time, params.leave_weights
    )
    stays = admission.student & (noise.leave >= leave)
    lengths = dynamics.whole_semesters(params.programme_lengths)
    finishers = [stays & (admission.time + 1.0 == end) for end in jnp.cumsum(lengths)]
    entered, *finishing = (
        count_people(who, state, len(GROUPS)) for who in (admission.entered, *finishers)
    )
    begins = jnp.stack([entered, *finishing[:2]])
    # the bachelor's class begins this semester and completes in its last one; the other classes
    # begin next semester
    semesters_left = (lengths - jnp.array([1.0, 0.0, 0.0])).astype(jnp.int32)
    classes = state.classes.add((state.time + semesters_left)[:, None], begins)
    degree = jnp.where(admission.applied, 0.0, state.degree)
    for code, who in enumerate(finishers, start=1):
        degree = jnp.where(who, float(code), degree)
    return Progress(
        classes=classes,
        completing=classes.due(state.time),
        finishing=jnp.stack(finishing),
        goes_on=stays & ~finishers[-1],
        degree=degree,
    )


class Work(Struct):
    """Step 6: the workers' pay with the supplement, their measured pay, and the profit.

    Pay is in shares of the maximum.
    """

    worker: Bool[Array, " people"]
    salary: Float[Array, " people"]
    measured: Float[Array, " people"]
    supplement: Float[Array, ""]
    profit: Float[Array, ""]


def work(
    state: EducationState,
    salary: Float[Array, " people"],
    incentives: Float[Array, ""],
    params: EducationParams,
) -> Work:
    """Step 6: pay everybody who was in the workforce at the start of the semester.

    Args:
        state: State at the start of the semester.
        salary: Action of the employer.
        incentives: Dollars of the planner for diversity.
        params: Parameters of pay.
    """
    worker, minority = state.stage == WORKING, state.group == MINORITY
    pay_of_minority = jnp.sum(_count(worker & minority, state.group)) * params.max_salary
    distributed = jnp.minimum(incentives, pay_of_minority)  # a supplement is at most 1
    supplement = jnp.where(
        pay_of_minority > 0.0, distributed / jnp.maximum(pay_of_minority, 1.0), 0.0
    )
    extra = jnp.where(minority, supplement, 0.0)
    past = state.times
    utility = utility_of_worker(
        salary, extra, state.gpa, past.in_university, past.in_workforce, params
    )
    return Work(
        worker=worker,
        salary=jnp.where(worker, salary + extra, 0.0),
        measured=jnp.where(worker, salary + params.supplement_in_salary * extra, 0.0),
        supplement=supplement,
        profit=jnp.sum(jnp.where(worker, utility, 0.0)),
    )


def utility_of_worker(
    salary: Float[Array, "..."],
    supplement: Float[Array, "..."],
    gpa: Float[Array, " people"],
    time_in_university: Float[Array, " people"],
    experience: Float[Array, " people"],
    params: EducationParams,
) -> Float[Array, " people"]:
    """Equations (22) and (23): utility of a worker to the employer."""
    cost = dynamics.pay_cost(
        gpa,
        time_in_university,
        experience,
        params.cost_weights,
        jnp.sum(dynamics.whole_semesters(params.programme_lengths)),
        params.pass_length,
    )
    return dynamics.utility(salary, supplement, cost, params.utility_base, params.utility_pay)


def educate(
    noise: EducationNoise,
    state: EducationState,
    money: Float[Array, " regions"],
    params: EducationParams,
) -> dict[str, Float[Array, " people"]]:
    """Step 7: let tertiary money move everybody's features."""
    return move_features(
        state.data,
        dynamics.MOVES,
        noise.move,
        state.region,
        money,
        params,
        base=params.improve_base,
        budget=params.planner_budget,
    )


class Ending(Struct):
    """Step 8: each person's stage after this semester, and when they began to look for work.

    `returning` marks people who have studied and are back in the tertiary population.
    """

    stage: Int[Array, " people"]
    left_at: Int[Array, " people"]
    returning: Bool[Array, " people"]


def end_passes(
    state: EducationState,
    admission: Admission,
    progress: Progress,
    worker: Bool[Array, " people"],
    pass_length: float | Float[Array, ""],
) -> Ending:
    """Step 8: send rejected and leaving people to work, and end passes that are over."""
    looks_for_work = admission.rejected | admission.student & ~progress.goes_on
    inside = progress.goes_on | looks_for_work | worker
    over = inside & (admission.time + 1.0 >= pass_length)
    works = jnp.where(looks_for_work | worker, WORKING, OUTSIDE)
    stage = jnp.where(progress.goes_on, STUDYING, works)
    left_at = jnp.where(
        admission.rejected,
        state.time,
        jnp.where(looks_for_work, state.time + 1, state.left_at),
    )
    studied = progress.goes_on | (left_at > admission.entered_at)
    return Ending(jnp.where(over, OUTSIDE, stage), left_at, over & studied)
