"""Dates of payments and of buildings, against lists in Python."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgym.environments._common.schedule import Construction, Schedule

STEPS, PLACES = 12, 3
add = jax.jit(Schedule.add)
add_from = jax.jit(Schedule.add_from)
due = jax.jit(Schedule.due)

steps = st.integers(0, STEPS - 1)
later = st.integers(0, 3 * STEPS)
amounts = st.lists(st.integers(0, 1000), min_size=PLACES, max_size=PLACES)
thorough = settings(max_examples=60)


def numbers(values):
    return jnp.array(values, jnp.float32)


def step_number(value):
    return jnp.int32(value)


# ------------------------------------------------------------------------------- dates


@thorough
@given(st.lists(st.tuples(later, amounts), max_size=6))
def test_what_is_entered_falls_due_on_its_date(entries):
    """Amounts due after the end are kept in the last column."""
    schedule = Schedule.empty(STEPS, (PLACES,))
    expected = np.zeros((PLACES, STEPS + 1))
    for at, amount in entries:
        schedule = add(schedule, step_number(at), numbers(amount))
        expected[:, min(at, STEPS)] += amount
    np.testing.assert_array_equal(schedule.amounts, expected)
    for now in range(STEPS):
        np.testing.assert_array_equal(due(schedule, step_number(now)), expected[:, now])


@thorough
@given(st.lists(later, min_size=PLACES, max_size=PLACES), amounts)
def test_each_place_has_a_date_of_its_own(at, amount):
    schedule = add(Schedule.empty(STEPS, (PLACES,)), jnp.array(at, jnp.int32), numbers(amount))
    expected = np.zeros((PLACES, STEPS + 1))
    expected[range(PLACES), np.minimum(at, STEPS)] = amount
    np.testing.assert_array_equal(schedule.amounts, expected)


@thorough
@given(st.integers(0, STEPS - 4), st.lists(st.integers(0, 1000), min_size=4, max_size=4))
def test_a_series_begins_on_its_date(start, series):
    schedule = Schedule.empty(STEPS)
    for _ in range(2):
        schedule = add_from(schedule, step_number(start), numbers(series))
    expected = np.zeros(STEPS + 1)
    expected[start : start + 4] = 2 * np.array(series)
    np.testing.assert_array_equal(schedule.amounts, expected)


def test_without_places_it_is_one_row():
    schedule = add(Schedule.empty(STEPS), step_number(5), jnp.float32(2.0))
    assert schedule.amounts.shape == (STEPS + 1,)
    assert float(due(schedule, step_number(5))) == 2.0
    assert float(due(schedule, step_number(4))) == 0.0


# ------------------------------------------------------------------------------- building

COSTS = {"base_cost": 30.0, "unit_cost": 2.0}
TIMES = {"base_time": 2.0, "unit_time": 0.5}
# as arrays, so that one compiled program serves all values
invest = jax.jit(Construction.invest)


def invested(construction, money, now, **changes):
    prices = {k: jnp.float32(v) for k, v in {**COSTS, **TIMES, **changes}.items()}
    return invest(construction, numbers(money), step_number(now), **prices)


def place(construction, number=0):
    """`(fund, {step: units})` of one place."""
    row = np.asarray(construction.openings.amounts[number])
    opening = {int(step): float(row[step]) for step in np.flatnonzero(row)}
    return float(construction.fund[number]), opening


@pytest.mark.parametrize(
    ("money", "fund", "units", "wait"),
    [
        (0.0, 0.0, 0, None),
        (29.0, 29.0, 0, None),
        (30.0, 30.0, 0, None),  # the base alone builds nothing
        (31.9, 31.9, 0, None),
        (32.0, 0.0, 1, 3),  # 2 + 0.5 steps, rounded up
        (33.9, 1.9, 1, 3),
        (34.0, 0.0, 2, 3),
        (41.0, 1.0, 5, 5),
    ],
)
def test_a_project_costs_and_takes_what_it_says(money, fund, units, wait):
    start = Construction.at_start(1, STEPS)
    found, opening = place(invested(start, [money], 4))
    assert found == pytest.approx(fund, abs=1e-5)
    assert opening == ({4 + wait: units} if units else {})


@pytest.mark.parametrize("name", [*COSTS, *TIMES])
def test_every_place_builds_at_its_own_prices(name):
    """As three systems of one place each, with its price for all."""
    prices, money = numbers([1.0, 5.0, 2.2]), [38.0, 38.0, 38.0]
    together = invested(Construction.at_start(3, STEPS), money, 0, **{name: prices})
    built = []
    for number, (price, paid) in enumerate(zip(prices, money, strict=True)):
        alone = invested(Construction.at_start(1, STEPS), [paid], 0, **{name: price})
        assert place(together, number) == place(alone)
        built.append(place(alone)[1])
    assert built[0] != built[1] != built[2] != built[0]


def test_no_project_opens_in_the_step_that_it_begins_in():
    start = Construction.at_start(1, STEPS)
    at_once = invested(start, [40.0], 4, base_time=0.0, unit_time=0.0)
    assert place(at_once)[1] == {5: 5.0}


def test_what_opens_after_the_end_is_not_forgotten():
    start = Construction.at_start(1, STEPS)
    for slow in ({"unit_time": 100.0}, {"base_time": 1e30}, {"unit_time": 1e30}):
        assert place(invested(start, [40.0], 4, **slow))[1] == {STEPS: 5.0}


def test_the_fund_waits_for_the_next_payment():
    """Twenty dollars a step: nothing, then five units, then nothing."""
    construction, seen = Construction.at_start(2, STEPS), []
    for now in range(3):
        construction = invested(construction, [20.0, 0.0], now)
        seen.append(place(construction))
    assert seen == [(20.0, {}), (0.0, {6: 5.0}), (20.0, {6: 5.0})]
    assert place(construction, 1) == (0.0, {})
    opened = [np.asarray(construction.opened(step_number(n))).tolist() for n in range(STEPS)]
    assert opened == [[5.0, 0.0] if now == 6 else [0.0, 0.0] for now in range(STEPS)]


@thorough
@given(
    st.lists(st.tuples(steps, amounts), max_size=8),
    st.sampled_from([0.0, 1.0, 30.0, 500.0]),
    st.sampled_from([0.5, 1.0, 7.0]),
)
def test_every_dollar_is_in_the_fund_or_in_a_building(payments, base_cost, unit_cost):
    """Place by place against a plain loop; whole and half numbers, so that float32 is exact."""
    construction = Construction.at_start(PLACES, STEPS)
    fund, spent, opening = np.zeros(PLACES), np.zeros(PLACES), np.zeros((PLACES, STEPS + 1))
    for now, money in sorted(payments, key=lambda payment: payment[0]):
        changes = {"base_cost": base_cost, "unit_cost": unit_cost}
        construction = invested(construction, money, now, **changes)
        for p in range(PLACES):
            fund[p] += money[p]
            units = int(max(fund[p] - base_cost, 0.0) // unit_cost)
            if units:
                spent[p] += base_cost + units * unit_cost
                fund[p] -= base_cost + units * unit_cost
                opening[p, min(STEPS, now + -(-(4 + units) // 2))] += units
    np.testing.assert_array_equal(construction.fund, fund)
    np.testing.assert_array_equal(construction.openings.amounts, opening)
    paid = np.sum([money for _, money in payments], axis=0) if payments else np.zeros(PLACES)
    np.testing.assert_array_equal(fund + spent, paid)
    assert (fund >= 0).all()
