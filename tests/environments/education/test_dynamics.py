"""The formulas against closed forms and independent NumPy arithmetic."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairgym
from fairgym.environments._common.moves import improvement_probability
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


# ------------------------------------------------------------------------------- leaving


def test_a_known_student():
    """GPA 3, full tuition, first semester: sigmoid(-2.5) = 0.0759."""
    assert float(leaves(*arrays(3.0, 1.0, 0.0))[0]) == pytest.approx(0.0759, abs=5e-5)


@given(GPAS, SHARES, st.integers(0, 19))
def test_grades_money_and_time_keep_students(gpa, tuition, time):
    """Lower with a higher GPA, with less tuition and, in the first 20 semesters, with time."""
    here = float(leaves(*arrays(gpa, tuition, time))[0])
    for other in ((gpa + 0.1, tuition, time), (gpa, tuition - 0.1, time), (gpa, tuition, time + 1)):
        assert float(leaves(*arrays(*other))[0]) < here


# ------------------------------------------------------------------------------- work


def test_the_cost_of_pay_is_positive_everywhere():
    """The paper's condition, on a grid over all that can occur; the smallest is 0.525."""
    gpa, studied, worked = np.meshgrid(
        np.linspace(0, 4, 21), np.arange(21), np.arange(41), indexing="ij"
    )
    cost = np.asarray(pay_cost(*arrays(gpa, studied, worked)))
    assert cost.min() == pytest.approx(3.0 - 1.1 - 1.1 - 1.1 / 4, abs=1e-5)
    assert cost.max() == pytest.approx(3.0)


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
