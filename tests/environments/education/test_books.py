"""People, seats, money and classes of whole runs, recomputed in double precision."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

TERTIARY, UNIVERSITY, WORKFORCE = range(3)
PROGRAMMES = (("bachelor", 8), ("master", 4), ("doctorate", 8))


def before(run, name):
    return run.states[name][:-1]


def after(run, name):
    return run.states[name][1:]


def semesters(run):
    return len(run.terminated)


def by_group(run, who):
    """Counts (or sums) per semester and group."""
    group = run.states["group"][0]
    return np.stack([(who * (group == g)).sum(axis=1) for g in (0, 1)], axis=1)


def marks(run):
    """Semester by person: who applies, who enters, who is a student, who works."""
    stage = before(run, "stage")
    applied = np.zeros(stage.shape, bool)
    for t in range(semesters(run)):
        applied[t, before(run, "applicants")[t][before(run, "applying")[t]]] = True
    now = np.arange(semesters(run))[:, None]
    # who is rejected looks for work now, who leaves does so from the next semester on
    entered = applied & ((after(run, "stage") == UNIVERSITY) | (after(run, "left_at") == now + 1))
    return applied, entered, (stage == UNIVERSITY) | entered, stage == WORKFORCE


def units(run):
    """Units that are open in each semester, and units begun in it."""
    openings = run.states["building"]["openings"]["amounts"][:, 0]
    begun = np.diff(openings, axis=0)
    opened = openings[np.arange(semesters(run)), np.arange(semesters(run))]
    return before(run, "units") + opened, begun


def close(a, b, scale):
    """Equal to a millionth of the largest amount involved and a cent."""
    np.testing.assert_allclose(a, b, rtol=0, atol=4e-6 * np.max(scale) + 0.01)


# ------------------------------------------------------------------------------- people


def check_people(run):
    stage, group = run.states["stage"], run.states["group"]
    assert np.isin(stage, (TERTIARY, UNIVERSITY, WORKFORCE)).all()
    assert (group == group[0]).all()
    assert (run.states["region"] == run.states["region"][0]).all()
    applied, entered, _, workers = marks(run)
    for t in range(semesters(run)):
        drawn = before(run, "applicants")[t][before(run, "applying")[t]]
        outside = (stage[t] == TERTIARY).sum()
        assert len(set(drawn)) == len(drawn) == min(before(run, "applying").shape[1], outside)
        assert (stage[t][drawn] == TERTIARY).all()
    np.testing.assert_array_equal(run.components["applied"], by_group(run, applied))
    np.testing.assert_array_equal(run.components["entered"], by_group(run, entered))
    np.testing.assert_array_equal(run.components["workers"], by_group(run, workers))
    # nobody moves but applicants, leavers and those whose pass is over
    assert not (applied & (before(run, "stage") != TERTIARY)).any()
    stays = (before(run, "stage") == TERTIARY) & ~applied
    assert (after(run, "stage")[stays] == TERTIARY).all()
    assert (after(run, "stage")[workers] != UNIVERSITY).all()


def check_passes(run):
    """A pass lasts exactly pass_length semesters, the one of the application included."""
    length = int(run.params["pass_length"])
    stage = run.states["stage"]
    applied = marks(run)[0]
    for t, person in np.argwhere(applied):
        inside = stage[t + 1 : t + length, person]
        assert (inside != TERTIARY).all()
        if t + length < len(stage):
            assert stage[t + length, person] == TERTIARY


def check_seats(run):
    _, entered, students, _ = marks(run)
    opened, _ = units(run)
    seats = np.floor(run.params["seats_per_unit"] * opened)
    already = (before(run, "stage") == UNIVERSITY).sum(axis=1)
    assert (students.sum(axis=1) <= np.maximum(seats, already)).all()
    applying = before(run, "applying").sum(axis=1)
    free = np.maximum(seats - already, 0)
    np.testing.assert_array_equal(entered.sum(axis=1), np.minimum(applying, free))
    for t in range(semesters(run)):
        rows, real = before(run, "applicants")[t], before(run, "applying")[t]
        score = run.actions["admissions"][t]
        taken = entered[t][rows]
        if (taken & real).any() and (~taken & real).any():
            assert score[taken & real].min() >= score[~taken & real].max()


# ------------------------------------------------------------------------------- money


def check_planner(run):
    """What is new is spent, paid out or goes back; a supplement is at most 1."""
    _, _, _, workers = marks(run)
    minority = (workers & (run.states["group"][0] == 1)).sum(axis=1)
    budget = np.full(semesters(run), run.params["planner_budget"])
    share = run.actions["planner"][:, :3]
    paid = after(run, "supplement") * run.params["max_salary"] * minority
    supplement = after(run, "supplement")
    assert (supplement >= 0).all()
    assert (supplement <= 1 + 1e-6).all()
    gone_back = share[:, 2] * budget - paid
    assert (gone_back >= -4e-6 * budget).all()
    # nothing goes back while a minority worker could still be paid more
    assert (gone_back[(supplement < 1 - 1e-5) & (minority > 0)] <= 4e-6 * budget.max()).all()
    return share[:, 1] * budget


def check_university(run):
    """In = out + held; nothing is paid that is not due or not covered; the fund likewise."""
    params = run.params
    funding = check_planner(run)
    _, _, students, _ = marks(run)
    opened, begun = units(run)
    bill = students.sum(axis=1) * params["tuition"]
    budget = before(run, "account") + bill + funding
    share = run.actions["university"]
    due = params["faculty_per_unit"] * opened * params["faculty_salary"]

    infrastructure = share[:, 0] * budget
    salaries = np.minimum(share[:, 1] * budget, due)
    scholarships = (1.0 - after(run, "tuition_share")) * bill
    mentored = after(run, "mentored")
    mentorship = params["mentorship_cost"] * mentored.sum(axis=1)
    close(
        budget,
        infrastructure + salaries + scholarships + mentorship + after(run, "account"),
        budget,
    )
    assert (after(run, "account") >= 0).all()
    close(scholarships, np.minimum(share[:, 2] * budget, bill), budget)
    assert (after(run, "tuition_share") >= -1e-6).all()
    assert (after(run, "tuition_share") <= 1).all()

    # mentors: for minority students only, the newest first, as many as the money covers
    minority = students & (run.states["group"][0] == 1)
    assert not (mentored & ~minority).any()
    covered = share[:, 3] * budget / params["mentorship_cost"]
    count = mentored.sum(axis=1)
    clear = np.abs(covered - np.round(covered)) > 1e-5 * np.maximum(covered, 1.0)
    expected = np.minimum(np.floor(covered), minority.sum(axis=1))
    np.testing.assert_array_equal(count[clear], expected[clear])
    time = np.arange(semesters(run))[:, None] - after(run, "entered_at")
    oldest = np.where(mentored, time, -1).max(axis=1)
    newest = np.where(minority & ~mentored, time, 10**6).min(axis=1)
    assert (oldest <= newest).all()

    # the building fund: what is paid in is there or has been built with
    fund = run.states["building"]["fund"][:, 0]
    paid_in = np.concatenate([[0.0], infrastructure.cumsum()])
    projects = np.where(begun > 0, begun, 0.0).sum(axis=1)
    cost = np.where(projects > 0, params["unit_base_cost"] + params["unit_cost"] * projects, 0.0)
    spent = np.concatenate([[0.0], cost.cumsum()])
    close(fund + spent, paid_in, paid_in)
    assert (fund >= 0).all()
    # no unit that the fund could buy is left
    rest = fund[1:] - np.where(projects > 0, 0.0, params["unit_base_cost"])
    assert (rest < params["unit_cost"] * (1 + 1e-5) + 1e-6 * paid_in[1:]).all()
    # and every project opens when it should
    for t in np.flatnonzero(projects):
        wait = params["build_base_time"] + params["build_unit_time"] * projects[t]
        opens = min(t + max(1, int(np.ceil(wait - 1e-6))), semesters(run))
        assert np.flatnonzero(begun[t]).tolist() == [opens]
    return share[:, 1] * budget, due


def check_employer(run):
    """Profit and salaries from the people as they were before the semester."""
    params, people = run.params, {name: v[:-1] for name, v in run.people.items()}
    _, _, _, workers = marks(run)
    minority = run.states["group"][0] == 1
    e = people["time_in_workforce"] / params["pass_length"]
    cost = (
        3.0
        - 1.1 * people["gpa"] / 4.0
        - 1.1 * people["time_in_university"] / 20.0
        - 1.1 * (e - e**2)
    )
    salary = run.actions["employer"]
    extra = minority * after(run, "supplement")[:, None]
    received, measured = salary + extra, salary + run.params["supplement_in_salary"] * extra
    utility = np.where(workers, 0.1 + 1.2 * received - cost * salary**2, 0.0)
    assert (cost[workers] > 0).all()
    profit = utility.sum(axis=1)
    np.testing.assert_allclose(run.components["profit"], profit, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(
        run.components["salaries"], by_group(run, workers * measured), rtol=1e-4, atol=1e-4
    )
    np.testing.assert_allclose(
        after(run, "salary"), np.where(workers, received, 0.0), rtol=1e-5, atol=1e-6
    )
    return profit.cumsum()


def check_termination(run):
    """The university that cannot pay its faculty, the employer that has lost money."""
    covered, due = check_university(run)
    total = check_employer(run)
    clear = (np.abs(covered - due) > 1e-5 * (due + 1.0)) & (np.abs(total) > 1e-3)
    exact = (covered == 0) & (due == 0) | (total == 0)
    clear |= exact
    failed = (covered < due) | (total < 0)
    np.testing.assert_array_equal(run.terminated[clear], failed[clear])


# ------------------------------------------------------------------------------- classes


def check_classes(run):
    """Every class by its people: who begins, who is left in its last semester."""
    _, entered, students, _ = marks(run)
    group, end = run.states["group"][0], semesters(run)
    c = run.components
    stays = students & (after(run, "stage") == UNIVERSITY)
    graduated = after(run, "degree") > np.where(entered, 0.0, before(run, "degree"))
    graduated &= students
    assert (c["bachelors"] <= c["bachelor_class"]).all()
    assert (c["masters"] <= c["master_class"]).all()
    assert (c["doctorates"] <= c["doctorate_class"]).all()
    np.testing.assert_array_equal(c["graduates"], by_group(run, graduated))
    sizes = c["bachelor_class"] + c["master_class"] + c["doctorate_class"]
    np.testing.assert_array_equal(c["classes"], sizes)
    for start in range(end):
        members, at = entered[start], start
        for place, (name, length) in enumerate(PROGRAMMES):
            # `at`: the semester before the programme's first
            last = at + length - (1 if place == 0 else 0)
            if last >= end:
                break
            size = np.bincount(group[members], minlength=2)
            np.testing.assert_array_equal(c[f"{name}_class"][last], size)
            first = at if place == 0 else at + 1
            # nobody of the class graduates on the way
            assert not graduated[first:last, members].any()
            through = members & students[first : last + 1].all(axis=0)
            done = through & graduated[last]
            finished = np.bincount(group[done], minlength=2)
            np.testing.assert_array_equal(c[f"{name}s"][last], finished)
            # the others have left, one by one: each was a student until a semester, then not
            gone = members & ~done
            path = students[first : last + 1, :][:, gone]
            assert (np.diff(path.astype(int), axis=0) <= 0).all()
            assert not stays[last][gone].any()
            assert (after(run, "degree")[last][done] == place + 1).all()
            members, at = done, last
    # and no class or graduation comes from nowhere
    for place, (name, _) in enumerate(PROGRAMMES):
        early = sum(length for _, length in PROGRAMMES[: place + 1]) - 1
        assert not c[f"{name}s"][:early].any()
        assert not c[f"{name}_class"][:early].any()


def check_times(run):
    """A bookkeeper of each person: semesters in the university, at work, in the environment."""
    applied, _, students, workers = marks(run)
    people_count = len(applied.T)
    inside, studied, worked, earned = (np.zeros(people_count) for _ in range(4))
    for t in range(semesters(run)):
        for counter in (inside, studied, worked, earned):
            counter[applied[t]] = 0.0
        inside += applied[t] | students[t] | workers[t]
        studied += students[t]
        worked += workers[t]
        earned += after(run, "salary")[t]
        here = after(run, "stage")[t] != TERTIARY
        people = {name: v[t + 1] for name, v in run.people.items()}
        for name, counter in (
            ("time_in_environment", inside),
            ("time_in_university", studied),
            ("time_in_workforce", worked),
        ):
            np.testing.assert_array_equal(people[name], np.where(here, counter, 0.0), err_msg=name)
        at_work = after(run, "stage")[t] == WORKFORCE
        mean = np.where(at_work, earned / np.maximum(worked, 1), 0.0)
        np.testing.assert_allclose(people["average_salary"], mean, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(people["age"], 18.0 + people["time_in_environment"] / 2.0)


def check_grades(run):
    """The cumulative GPA is the mean of the semesters; the rejected keep their baseline."""
    applied, entered, students, _ = marks(run)
    baseline = run.people["baseline_gpa"][:-1]
    total, count = (np.zeros(len(applied.T)) for _ in range(2))
    for t in range(semesters(run)):
        total[entered[t]] = count[entered[t]] = 0.0
        total += np.where(students[t], after(run, "semester_gpa")[t], 0.0)
        count += students[t]
        gpa = after(run, "gpa")[t]
        expected = (total / np.maximum(count, 1))[students[t]]
        np.testing.assert_allclose(gpa[students[t]], expected, atol=1e-5)
        rejected = applied[t] & ~entered[t]
        np.testing.assert_allclose(gpa[rejected], baseline[t][rejected], atol=1e-6)
        others = ~students[t] & ~applied[t]
        np.testing.assert_array_equal(gpa[others], before(run, "gpa")[t][others])
        semester = after(run, "semester_gpa")[t][students[t]]
        assert ((semester >= 0) & (semester <= 4)).all()


CHECKS = (
    check_people,
    check_passes,
    check_seats,
    check_planner,
    check_university,
    check_employer,
    check_termination,
    check_classes,
    check_times,
    check_grades,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__[6:])
def test_a_run(episode, check):
    """One run in which everything happens."""
    check(episode)


# ------------------------------------------------------------------------------- any actions


def shares(blocks):
    """All on one thing, even, or anything in between, for each block."""

    def of(size):
        corner = st.integers(0, size - 1).map(lambda k: np.eye(size)[k])
        mixed = st.lists(st.floats(0.01, 1.0), min_size=size, max_size=size).map(np.array)
        return st.one_of(corner, st.just(np.ones(size)), mixed)

    return st.tuples(*(of(size) for size in blocks)).map(
        lambda parts: np.concatenate([part / part.sum() for part in parts])
    )


PEOPLE_ACTIONS = st.sampled_from([0.0, 1.0, 0.35, "random"])


def action(value, size):
    return (lambda rng: rng.random(size)) if value == "random" else value


@pytest.mark.full
@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(
    PEOPLE_ACTIONS,
    shares([5]),
    PEOPLE_ACTIONS,
    shares([3, 9]),
    st.fixed_dictionaries(
        {
            "reserve_at_start": st.sampled_from([0.0, 1e5, 3e7]),
            "tuition": st.sampled_from([0.0, 10_000.0]),
            "mentorship_cost": st.sampled_from([1e-3, 25_000.0, 1e7]),
            "max_salary": st.sampled_from([100.0, 50_000.0]),
            "supplement_in_salary": st.sampled_from([0.0, 0.4, 1.0]),
            "units_at_start": st.sampled_from([0.0, 2.0, 8.0]),
            "faculty_salary": st.sampled_from([0.0, 4_000.0]),
            "unit_base_cost": st.sampled_from([0.0, 1e5]),
        }
    ),
    st.integers(0, 3),
)
def test_any_actions(env, params, record, admissions, university, employer, planner, other, seed):
    """Also all money on one thing, salaries of 0 and 1, equal scores, free or dear mentors."""
    run = record(
        params.replace(**other),
        seed,
        admissions=action(admissions, env.applicants),
        university=university,
        employer=action(employer, env.population),
        planner=planner,
    )
    for check in CHECKS:
        check(run)
