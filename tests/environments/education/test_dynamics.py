"""The formulas against closed forms and independent NumPy arithmetic."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairgym
from fairgym.environments._common.moves import improvement_probability, moved
from fairgym.environments.education import EducationParams, dynamics

settings.register_profile("education", max_examples=40)
settings.load_profile("education")

PARAMS = EducationParams()


def entering_gpa(baseline, uniform, tuition_share, *, mentored, params=PARAMS):
    return dynamics.entering_gpa(
        baseline,
        uniform,
        tuition_share,
        mentored=jnp.array([mentored]),
        scholarship_gain=params.gpa_scholarship,
        mentor_gain=params.gpa_mentor,
        half_width=params.gpa_noise,
        support=params.gpa_support,
        large=params.large_scholarship,
    )


def leaves(gpa, tuition_share, time):
    return dynamics.leaves(gpa, tuition_share, time, alpha=PARAMS.leave_weights)


def pay_cost(gpa, in_university, experience, *, params=PARAMS):
    programmes = jnp.sum(dynamics.whole_semesters(params.programme_lengths))
    return dynamics.pay_cost(
        gpa,
        in_university,
        experience,
        beta=params.cost_weights,
        longest_study=programmes,
        longest_pass=params.pass_length,
    )


def utility(*numbers):
    return dynamics.utility(*numbers, base=PARAMS.utility_base, pay=PARAMS.utility_pay)


def floats(low, high):
    """Numbers that float32 can hold."""
    numbers = st.floats(low, high, allow_subnormal=False)
    return numbers.map(lambda x: float(np.float32(x)))


GPAS = floats(0.0, 4.0)
SHARES = floats(0.0, 1.0)
TIMES = st.integers(0, 20)


def arrays(*values):
    return tuple(jnp.array([v], jnp.float32) for v in values)


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


# ------------------------------------------------------------------------------- grades


@given(GPAS, floats(0.0, 0.999), SHARES, st.booleans())
def test_the_entering_gpa(baseline, u, tuition, mentored):
    """Equation (20), with the window shifted for a mentor or half of the tuition."""
    found = entering_gpa(*arrays(baseline, u, tuition), mentored=mentored)
    centre = 0.2 if mentored or np.float32(1.0) - np.float32(tuition) >= 0.5 else 0.0
    g0 = centre - 0.4 + 0.8 * u
    expected = baseline + g0 + 0.1 * (1.0 - tuition) + 0.3 * mentored
    assert float(found[0]) == pytest.approx(np.clip(expected, 0.0, 4.0), abs=1e-5)


@pytest.mark.parametrize(
    ("tuition", "mentored", "low", "high"),
    [
        (1.0, False, 1.6, 2.4),
        (0.6, False, 1.64, 2.44),
        (0.5, False, 1.85, 2.65),  # half of the tuition is a large scholarship
        (0.0, False, 1.9, 2.7),
        (1.0, True, 2.1, 2.9),
        (0.0, True, 2.2, 3.0),  # supported once, not twice
    ],
)
def test_the_window_of_the_entering_gpa(tuition, mentored, low, high):
    for u, end in ((0.0, low), (0.5, (low + high) / 2), (1.0, high)):
        gpa = entering_gpa(*arrays(2.0, u, tuition), mentored=mentored)
        assert float(gpa[0]) == pytest.approx(end, abs=1e-5)


def test_no_scholarship_is_never_a_large_one():
    """Even where the bar for a large scholarship is 0."""
    params = PARAMS.replace(large_scholarship=0.0)
    for tuition, expected in ((1.0, 2.0), (0.9, 2.21)):
        gpa = entering_gpa(*arrays(2.0, 0.5, tuition), mentored=False, params=params)
        assert float(gpa[0]) == pytest.approx(expected, abs=1e-5)


@given(GPAS, floats(0.0, 0.999))
def test_the_next_semester(gpa, u):
    """Equation (19), within the scale."""
    found = float(dynamics.next_semester_gpa(*arrays(gpa, u), half_width=PARAMS.gpa_drift)[0])
    assert found == pytest.approx(np.clip(gpa - 0.25 + 0.5 * u, 0.0, 4.0), abs=1e-5)
    assert 0.0 <= found <= 4.0


@given(st.lists(GPAS, min_size=1, max_size=20))
def test_the_cumulative_gpa_is_the_mean_of_the_semesters(semesters):
    """Equation (18), from the first semester on."""
    (mean,) = arrays(0.0)
    for t, value in enumerate(semesters, start=1):
        mean = dynamics.running_mean(mean, jnp.array([value]), jnp.array([float(t)]))
    assert float(mean[0]) == pytest.approx(np.mean(semesters), abs=2e-5)


# ------------------------------------------------------------------------------- leaving


def test_a_known_student():
    """GPA 3, full tuition, first semester: sigmoid(-2.5) = 0.0759."""
    assert float(leaves(*arrays(3.0, 1.0, 0.0))[0]) == pytest.approx(0.0759, abs=5e-5)


@given(GPAS, SHARES, TIMES)
def test_leaving(gpa, tuition, time):
    """Equation (21)."""
    found = float(leaves(*arrays(gpa, tuition, time))[0])
    expected = sigmoid(-gpa + 0.5 * tuition - 0.05 * time + 0.001 * time**2)
    assert found == pytest.approx(expected, abs=1e-6)


@given(GPAS, SHARES, st.integers(0, 19))
def test_grades_money_and_time_keep_students(gpa, tuition, time):
    """Lower with a higher GPA, with less tuition and, in the first 20 semesters, with time."""
    here = float(leaves(*arrays(gpa, tuition, time))[0])
    for other in ((gpa + 0.1, tuition, time), (gpa, tuition - 0.1, time), (gpa, tuition, time + 1)):
        assert float(leaves(*arrays(*other))[0]) < here


# ------------------------------------------------------------------------------- work


@given(GPAS, TIMES, st.integers(0, 40))
def test_the_cost_of_pay(gpa, studied, worked):
    """Equation (23) with shares of 4, of 20 semesters and of 40; above 0."""
    found = float(pay_cost(*arrays(gpa, studied, worked))[0])
    e = worked / 40.0
    expected = 3.0 - 1.1 * gpa / 4.0 - 1.1 * studied / 20.0 - 1.1 * (e - e**2)
    assert found == pytest.approx(expected, abs=1e-5)
    assert found > 0.0


def test_the_cost_of_pay_is_positive_everywhere():
    """The paper's condition, on a grid over all that can occur; the smallest is 0.525."""
    gpa, studied, worked = np.meshgrid(
        np.linspace(0, 4, 21), np.arange(21), np.arange(41), indexing="ij"
    )
    cost = np.asarray(pay_cost(*arrays(gpa, studied, worked)))
    assert cost.min() == pytest.approx(3.0 - 1.1 - 1.1 - 1.1 / 4, abs=1e-5)
    assert cost.max() == pytest.approx(3.0)


def test_the_longest_time_is_that_of_the_programmes_and_a_pass_that_of_the_pass():
    params = PARAMS.replace(
        bachelor_length=3.0, master_length=2.0, doctorate_length=5.0, pass_length=16.0
    )
    found = float(pay_cost(*arrays(2.0, 5.0, 8.0), params=params)[0])
    assert found == pytest.approx(3.0 - 1.1 * 0.5 - 1.1 * 0.5 - 1.1 * 0.25, abs=1e-5)


@given(SHARES, SHARES, floats(0.525, 3.0))
def test_utility(salary, supplement, cost):
    """Equation (22)."""
    found = float(utility(*arrays(salary, supplement, cost))[0])
    expected = 0.1 + 1.2 * (salary + supplement) - cost * salary**2
    assert found == pytest.approx(expected, abs=1e-5)


@given(floats(0.6, 3.0), SHARES)
def test_the_best_salary(cost, supplement):
    """The utility is highest at 1.2 / (2 alpha_2), with or without a supplement."""
    salaries = np.linspace(0.0, 1.0, 2001, dtype=np.float32)
    found = np.asarray(
        utility(
            jnp.asarray(salaries),
            jnp.full(2001, supplement, jnp.float32),
            jnp.full(2001, cost, jnp.float32),
        )
    )
    best = 1.2 / (2.0 * cost)
    assert salaries[found.argmax()] == pytest.approx(min(best, 1.0), abs=2e-3)
    highest = 0.1 + 1.2 * supplement + 0.36 / cost
    assert found.max() == pytest.approx(highest, abs=1e-5)


# ------------------------------------------------------------------------------- tertiary money


def improves(money, params, regions=9):
    return float(
        improvement_probability(
            jnp.array([money], jnp.float32),
            base=params.improve_base,
            gain=params.improve_gain,
            slope=params.improve_slope * regions / params.planner_budget,
            shift=params.improve_shift,
        )[0]
    )


def test_improvement_without_money_and_with_all_the_money_there_is():
    """Equations (24) and (25): P(0) = 0.3972, P(B / 9) = 0.79, sup P + U = 0.99."""
    params: Any = fairgym.make("education", population=500).default_params
    assert improves(0.0, params) == pytest.approx(0.39 + 0.4 * sigmoid(-4.0), abs=1e-6)
    even = float(params.planner_budget) / 9
    assert improves(even, params) == pytest.approx(0.79, abs=1e-4)
    assert improves(even / 4, params) == pytest.approx(0.39 + 0.4 * 0.5, abs=1e-6)
    assert improves(1e3 * even, params) == pytest.approx(0.79, abs=1e-6)


@given(floats(0.0, 1e7))
def test_improvement(money):
    found = improves(money, PARAMS)
    expected = 0.39 + 0.4 * sigmoid(16.0 * 9.0 / 2.5e7 * money - 4.0)
    assert found == pytest.approx(expected, abs=1e-5)
    assert 0.39 <= found <= 0.79 + 1e-6


@given(st.sampled_from(sorted(dynamics.MOVES)), st.sampled_from([-1.0, 0.0, 1.0]), SHARES)
def test_what_an_improvement_is(name, direction, place):
    """More hours, larger codes, higher GPA, less debt; within their ranges."""
    sizes = {"hours_per_week": 0.1, "gpa_shift": 0.01, "employer_size": 0.02}
    sizes |= {"employer_sector": 0.02, "undergraduate_loans": -100.0, "graduate_loans": -100.0}
    move = dynamics.MOVES[name]
    low, high = move.low, move.high
    value = low + place * (min(high, 1e5) - low)
    after = moved(
        *arrays(value, direction),
        change=float(move.improvement(PARAMS)),
        low=low,
        high=high,
    )
    expected = np.clip(value + direction * sizes[name], low, high)
    assert float(after[0]) == pytest.approx(expected, rel=1e-5, abs=1e-5)


# ------------------------------------------------------------------------------- the size


def test_the_numbers_of_other_populations():
    """Money, units and building of the whole country; prices stay."""
    params = PARAMS.at_population(20_000)
    assert params.planner_budget == pytest.approx(5e7)
    assert params.units_at_start == pytest.approx(20.0)
    assert params.reserve_at_start == pytest.approx(4e6)
    assert params.unit_base_cost == pytest.approx(2e6)
    assert params.build_unit_time == pytest.approx(PARAMS.build_unit_time / 2)
    assert params.unit_cost == PARAMS.unit_cost
    assert params.seats_per_unit == PARAMS.seats_per_unit
    assert PARAMS.at_population(12).units_at_start == 1.0
