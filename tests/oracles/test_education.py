"""The NumPy rewrite and the JAX environment are the same country, semester by semester.

With drawn parameters, drawn actions, and the environment's noise told to the rewrite.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import numpy_education
import pytest
import stepwise

import fairgym

PEOPLE, SEMESTERS, APPLICANTS = 300, 40, 14
RANGES = {
    "minority_share": (0.15, 0.5),
    "pass_length": [18.0, 25.0, 30.0],
    "bachelor_length": [6.0, 8.0],
    "master_length": [2.0, 4.0],
    "doctorate_length": [5.0, 8.0],
    "units_at_start": [1.0, 2.0, 3.0],
    "seats_per_unit": (10.0, 25.0),
    "faculty_salary": (1_000.0, 8_000.0),
    "mentorship_cost": (10_000.0, 60_000.0),
    "unit_base_cost": (0.0, 4e5),
    "unit_cost": (2e5, 6e5),
    # semesters that float32 and float64 round up alike
    "build_base_time": [0.0, 1.0, 2.5],
    "build_unit_time": [0.5, 1.25],
    "gpa_change": (0.01, 0.05),
    "employer_change": (0.05, 0.3),
    "loan_change": [500.0, 2_000.0],
    "bias_strength": (0.0, 0.6),
    "supplement_in_salary": (0.0, 1.0),
    "residual_share": (0.0, 1.0),
    "gpa_kept": (0.0, 1.0),
    "leave_base": (-1.5, 0.5),
    "improve_base": (0.2, 0.4),
}
EXTREMES = {
    "nothing costs anything": {"tuition": 0.0, "faculty_salary": 0.0, "unit_base_cost": 0.0},
    "no money to speak of": {"planner_budget": 1.0, "reserve_at_start": 0.0},
    "no units": {"units_at_start": 0.0, "unit_base_cost": 1e12},
    "mentors for everybody": {"mentorship_cost": 1e-3, "reserve_at_start": 3e7},
    "salaries of a dollar": {"max_salary": 1.0, "utility_base": 0.0},
    "a pass of a semester": {"pass_length": 1.0},
    "nobody leaves": {"leave_base": -100.0},
    "everybody leaves": {"leave_base": 100.0},
    "no scholarship is large": {"large_scholarship": 1.0},
    "any scholarship is large": {"large_scholarship": 0.0},
}

CHEAP = ("nothing costs anything", "a pass of a semester", "no units")


class Told(numpy_education.NumpyEducation):
    """The rewrite in double precision, which reads its luck from `luck`."""

    luck: dict[str, np.ndarray]

    def chance(self, kind, rows):
        return self.luck[kind][rows].astype(np.float64)


@pytest.fixture(scope="module")
def env():
    return fairgym.make("education", population=PEOPLE, horizon=SEMESTERS, applicants=APPLICANTS)


@pytest.fixture(scope="module")
def compiled(env):
    blind = jax.jit(dataclasses.replace(env, observe_group=False).observe)
    return *stepwise.programs(env), blind


def told(env, params, state):
    """The rewrite with the people of `state`."""
    country = Told(env, params, np.float64)
    country.luck = {"apply": np.zeros(PEOPLE)}
    people = {name: np.asarray(column) for name, column in state.data.items()}
    for name in ("group", "region", "residual"):
        people[name] = np.asarray(getattr(state, name))
    country.start(people)
    country.applying = np.asarray(state.applicants)[np.asarray(state.applying)]
    return country


def random_actions(env, rng):
    """Around a policy that survives; many scores are tied, some salaries are 0."""

    def around(agent, middle):
        shares = np.array(middle) * rng.uniform(0.3, 1.3, len(middle))
        return env.action_space(agent).clip(jnp.asarray(shares, jnp.float32))

    return {
        "admissions": jnp.asarray(np.round(rng.random(APPLICANTS, np.float32) * 5) / 5),
        "employer": jnp.asarray(np.round(rng.random(PEOPLE, np.float32) * 0.5, 1)),
        "university": around("university", [0.12, 0.45, 0.20, 0.06, 0.17]),
        "planner": around("planner", [0.4, 0.25, 0.35] + [1.0] * 9),
    }


def ahead(state, country):
    """What falls due after this semester by the rewrite's lists, like the schedules of `state`."""
    openings = np.zeros_like(state.building.openings.amounts)
    for wait, units in country.projects:
        openings[0, min(country.time + int(wait), SEMESTERS)] += units
    classes = np.zeros_like(state.classes.amounts)
    for place, cohorts in enumerate(country.classes):
        for wait, people in cohorts:
            classes[place, :, min(country.time + int(wait) - 1, SEMESTERS)] += people
    return openings, classes


def require_same_state(people, state, country):
    """Every field of the state, by what it means."""
    for found, expected in (
        (state.stage, country.stage),
        (state.group, country.group),
        (state.time, country.time),
        (people["time_in_university"], country.studied),
        (people["time_in_workforce"], country.worked),
        (people["time_in_environment"], country.inside),
        (people["degree"], country.degree),
        (people["mentored"], country.mentored),
        (np.asarray(state.applicants)[np.asarray(state.applying)], country.applying),
    ):
        np.testing.assert_array_equal(found, expected)
    columns = {name: column for name, column in country.people.items() if name in state.data}
    stepwise.require_close(state.data, columns, rtol=1e-5, atol=1e-5)
    of_people = {
        "gpa": country.gpa,
        "semester_gpa": country.semester_gpa,
        "salary": country.salary,
        "baseline_gpa": country.baseline_gpa(np.arange(PEOPLE)),
        "age": 18.0 + country.inside / 2.0,
        "average_salary": country.earned / np.maximum(country.worked, 1),
    }
    stepwise.require_close(people, of_people, rtol=2e-5, atol=3e-5)
    stepwise.require_close(state, {"account": country.account}, atol=0.1)
    numbers = {
        "total_profit": country.profit,
        "tuition_share": country.tuition_share,
        "supplement": country.supplement,
    }
    stepwise.require_close(state, numbers)
    stepwise.require_close(state.building, {"fund": [country.fund]}, atol=2)
    openings, classes = ahead(state, country)
    due = np.asarray(state.building.openings.amounts)
    assert float(state.units) + due[0, country.time] == country.units
    np.testing.assert_array_equal(due[:, country.time + 1 :], openings[:, country.time + 1 :])
    np.testing.assert_array_equal(
        np.asarray(state.classes.amounts)[..., country.time :], classes[..., country.time :]
    )


def follow(env, compiled, params, seed):
    """Require the same semesters of both; returns sums of components and passes that ended."""
    start, transition, observe, noise_of, look, blind = compiled
    rng, key = np.random.default_rng([seed, 1]), jax.random.key(seed)
    state = start(key, params)
    country = told(env, params, state)
    country.observe_group = seed % 2 == 0
    total, passes = dict.fromkeys(env.spec.component_info, np.zeros(())), 0
    for semester in range(SEMESTERS - 1):
        seen = (observe if country.observe_group else blind)(state, params)
        stepwise.require_same_views(env, seen, country)
        noise = noise_of(jax.random.fold_in(key, semester), params)
        country.luck = stepwise.arrays(noise)
        actions = random_actions(env, rng)
        before = country.stage.copy()
        state, ours, failed = transition(noise, state, actions, params)
        theirs, also_failed = country.step(actions)
        stepwise.require_same_components(env, ours, theirs)
        assert bool(failed) == also_failed
        require_same_state(look(state), state, country)
        total = {name: value + theirs[name] for name, value in total.items()}
        passes += ((before > 0) & (country.stage == 0)).sum()
    return total, passes


@pytest.mark.parametrize(
    "draw", [*range(3), *(pytest.param(draw, marks=pytest.mark.full) for draw in range(3, 8))]
)
def test_the_same_luck_gives_the_same_semesters(env, compiled, draw):
    """Components, state and what all agents see, at every step."""
    rng = np.random.default_rng(draw)
    params = stepwise.drawn(env.default_params, rng, RANGES)
    total, passes = follow(env, compiled, params, draw)
    # it was about something
    assert (total["applied"] - total["entered"]).sum() > 10
    assert passes > 40
    assert all(total[name].sum() > 3 for name in ("bachelors", "masters"))


@pytest.mark.parametrize(
    "case",
    [case if case in CHEAP else pytest.param(case, marks=pytest.mark.full) for case in EXTREMES],
)
def test_extreme_countries(env, compiled, case):
    params = stepwise.drawn(env.default_params, np.random.default_rng(0), RANGES)
    follow(env, compiled, params.replace(**EXTREMES[case]), 20)
