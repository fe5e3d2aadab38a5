"""The environment as a whole: contract, ends and observations."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.core import FairgymError
from fairgym.data import load_population
from fairgym.data.bias import standardised_mean_difference, strength_for
from fairgym.environments.education import Education
from fairgym.testing import check_environment

TERTIARY, UNIVERSITY, WORKFORCE = range(3)
ALL_SALARIES = (0.0, 1.0, 0.0, 0.0, 0.0)
NO_SALARIES = (0.25, 0.0, 0.25, 0.25, 0.25)


# ------------------------------------------------------------------------------- the contract


@pytest.mark.full
def test_the_environment_keeps_the_contract(env, params, record):
    """From the start, with seats for some of those who apply, and later in an episode.

    Then the last twelve apply, nobody is left outside, units open and classes finish.
    """
    later = jax.tree.map(lambda x: jnp.asarray(x[19]), record(params).before)
    assert set(later.stage.tolist()) == {TERTIARY, UNIVERSITY, WORKFORCE}
    assert later.stage.tolist().count(TERTIARY) == env.applicants
    assert float(later.units) > params.units_at_start
    assert np.asarray(later.mentored).any()
    check_environment(env, params=params, steps=4, later=later)


def test_a_dozen_people():
    """The shapes that follow from 12 people; everybody may apply at once."""
    assert Education(population=12).applicants == 1
    env = Education(population=12, horizon=30, applicants=12)
    small = env.default_params.replace(pass_length=9.0, tuition=0.0, faculty_salary=0.0)
    assert float(small.units_at_start) == 1.0
    state = jax.jit(env.initial_state)(jax.random.key(0), small)
    step = jax.jit(env.step)
    rng = np.random.default_rng(0)
    seen = set()
    for semester in range(env.horizon):
        actions = {
            "admissions": rng.random(12),
            "university": rng.dirichlet(np.ones(5)),
            "employer": rng.random(12),
            "planner": [*rng.dirichlet(np.ones(3)), *rng.dirichlet(np.ones(9))],
        }
        actions = {agent: jnp.asarray(x, jnp.float32) for agent, x in actions.items()}
        observations, state, components, _, truncated, _ = step(
            jax.random.key(semester), state, actions, small
        )
        leaves = jax.tree.leaves((observations, components))
        assert all(np.isfinite(leaf).all() for leaf in leaves)
        assert bool(truncated) == (semester == env.horizon - 1)
        assert set(np.asarray(state.stage).tolist()) <= {TERTIARY, UNIVERSITY, WORKFORCE}
        seen |= set(np.asarray(state.stage).tolist())
    assert seen == {TERTIARY, UNIVERSITY, WORKFORCE}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"population": 1}, "population must be a whole number from 2 to 1000000, got 1"),
        ({"population": 1_000_001}, "population must be .*, got 1000001"),
        ({"horizon": 0}, "horizon must be .*, got 0"),
        ({"population": 50, "applicants": 0}, "applicants must be .* from 1 to 50, got 0"),
        ({"population": 50, "applicants": 51}, "applicants must be .* from 1 to 50, got 51"),
        ({"population": 50, "applicants": True}, "applicants must be .*, got True"),
        ({"population_source": "nowhere"}, "nowhere"),
    ],
)
def test_bad_arguments(arguments, sentence):
    with pytest.raises(FairgymError, match=sentence) as caught:
        Education(**arguments)
    assert "\n" not in str(caught.value)


def test_shapes_follow_the_population():
    env: Any = fairgym.make("education")
    assert (env.population, env.horizon, env.applicants) == (10_000, 100, 200)
    assert env.action_space("admissions").shape == (200,)
    assert env.action_space("employer").shape == (10_000,)
    assert env.action_space("university").shape == (5,)
    assert env.action_space("planner").shape == (3 + 9,)
    assert float(env.metrics["profit"].normaliser) == pytest.approx(3.0e5)
    assert float(fairgym.make("education", population=20_000).metrics["profit"].normaliser) == 6e5
    kinds = [env.metrics[name].kind for name in env.spec.terms]
    assert kinds.count("fair") == 5
    assert len(kinds) == 11
    more = [name for name in env.metrics if name not in env.spec.terms]
    assert more == ["graduation_rate", "graduation_disparity"]


def test_the_people_are_those_of_the_data(env, params, start):
    """Group shares to the person; every row is one of the data."""
    data = load_population("education")
    state = start(jax.random.key(0), params)
    share = (np.asarray(data.columns["group"]) == 1).mean()
    assert int(state.group.sum()) == round(share * env.population)
    assert not np.asarray(state.stage).any()
    names = ("female", "major_first", "hours_per_week", "graduate_loans", "employer_size")
    rows = set(zip(*(np.float32(data.columns[name]).tolist() for name in names), strict=True))
    drawn = zip(*(np.asarray(state.data[name]).tolist() for name in names), strict=True)
    assert set(drawn) <= rows
    assert int(state.applying.sum()) == env.applicants


# ------------------------------------------------------------------------------- the ends


def ends_at(run):
    """The first semester that terminates, None if none does."""
    found = np.flatnonzero(run.terminated)
    return int(found[0]) if len(found) else None


@pytest.mark.parametrize("share", [0.0, 0.11, 0.5, 1.0])
def test_group_shares_are_kept(env, params, start, share):
    state = start(jax.random.key(0), params.replace(minority_share=share))
    assert int(state.group.sum()) == round(share * env.population)


def test_a_university_that_cannot_pay_its_faculty_fails(record, params):
    """It fails at once if it pays nothing, and never if all money is for salaries."""
    assert ends_at(record(params, university=NO_SALARIES)) == 0
    assert ends_at(record(params, university=ALL_SALARIES)) is None
    # 2 units of 5 faculty at 4,000 are 40,000 dollars of the 100,000 there are
    poor = params.replace(tuition=0.0, reserve_at_start=100_000.0)
    planner = [0.5, 0.0, 0.5] + [1 / 9] * 9
    for share, ends in ((0.401, 1), (0.399, 0)):
        run = record(poor, university=[0, share, 0, 0, 1 - share], planner=planner)
        assert ends_at(run) == ends  # a semester later too little is left
    run = record(poor.replace(units_at_start=0.0), university=NO_SALARIES, planner=planner)
    assert ends_at(run) is None


def test_new_units_bring_salaries(record, params):
    """Two units can be paid from the planner's money; three cannot."""
    poor = params.replace(tuition=0.0, reserve_at_start=0.0, planner_budget=500_000.0)
    planner = [0.5, 0.5, 0.0] + [1 / 9] * 9
    run = record(poor, university=[0.8, 0.2, 0, 0, 0], planner=planner)
    assert run.before.units[0] == 2
    opened = np.flatnonzero(run.after.units > run.before.units)
    assert ends_at(run) == opened[0]
    assert ends_at(record(poor, university=[0, 0.2, 0, 0, 0.8], planner=planner)) is None


def test_an_employer_whose_profits_sum_to_less_than_nothing_fails(record, params):
    """A salary of 1 loses money from the first worker on; a loss after gains is survived."""
    # without diversity money, which is profit to the employer
    planner = [0.5, 0.5, 0.0] + [1 / 9] * 9
    run = record(params, employer=1.0, planner=planner)
    first = np.flatnonzero(run.components.workers.sum(axis=1) > 0)[0]
    assert ends_at(run) == first
    assert ends_at(record(params, employer=0.0)) is None
    salaries = iter([0.3] * 30 + [1.0] * 100)
    run = record(params, employer=lambda rng: next(salaries), planner=planner)
    total = run.components.profit.cumsum()
    loss = np.flatnonzero(run.components.profit < 0)[0]
    assert loss == 30
    assert not run.terminated[30]
    assert ends_at(run) == (np.flatnonzero(total < 0)[0] if (total < 0).any() else None)


def test_what_does_not_fail_goes_on_to_the_horizon(env, record, params):
    plausible = env.spec.baselines["plausible_fixed_policy"]
    actions = {agent: plausible[agent] for agent in ("university", "employer", "planner")}
    assert ends_at(record(params.replace(reserve_at_start=1e7), **actions)) is None


# ------------------------------------------------------------------------------- who acts on whom


def test_those_who_have_a_master_are_not_counted_again(record, params):
    """If nobody leaves, everybody completes all programmes."""
    run = record(params.replace(leave_base=-100.0, seats_per_unit=1_000.0))
    c = vars(run.components)
    for name in ("bachelor", "master", "doctorate"):
        np.testing.assert_array_equal(c[f"{name}_class"], c[f"{name}s"])
    for semesters, name in ((7, "bachelors"), (11, "masters"), (19, "doctorates")):
        np.testing.assert_array_equal(c[name][semesters:], c["entered"][:-semesters])
        assert not c[name][:semesters].any()
    run = record(params.replace(leave_base=100.0))
    assert not run.components.bachelors.any()
    assert run.components.bachelor_class.sum() > 50
    assert not run.components.master_class.any()


def test_the_last_observation_counts_open_units_only(env, params, start):
    """Units that open after the horizon are not open at the horizon."""
    state = start(jax.random.key(0), params)
    building = state.building.replace(
        openings=state.building.openings.add(jnp.int32(env.horizon + 5), jnp.array([7.0]))
    )
    end = state.replace(time=jnp.int32(env.horizon), building=building)
    names = [feature.name for feature in env.observation_space("planner").context]
    context = np.asarray(jax.jit(env.observe)(end, params)["planner"].context)
    assert context[names.index("units")] == params.units_at_start
    assert context[names.index("faculty")] == 5 * params.units_at_start


def test_people_carry_a_share_of_their_own_residual():
    """With a share of 1 it is the GPA of the row; groups differ as in the data, or by 0.5."""
    data = load_population("education").columns
    many = fairgym.make("education", population=20_000)
    group_of = jax.jit(lambda params: many.initial_state(jax.random.key(0), params))
    look = jax.jit(many.people)

    def start(**changes):
        state = group_of(many.default_params.replace(**{"bias_strength": 0.0, **changes}))
        return np.asarray(look(state)["baseline_gpa"], np.float64), np.asarray(state.group)

    usual, _ = start(residual_share=0.0)
    own, group = start(residual_share=1.0)
    assert set(np.round(own, 4)) <= set(np.round(data["gpa"].astype(np.float64), 4))
    half, _ = start(residual_share=0.5)
    np.testing.assert_allclose(half, (usual + own) / 2, atol=1e-5)  # the same people

    there = standardised_mean_difference(data["gpa"].astype(np.float64), data["group"])
    assert standardised_mean_difference(own, group) == pytest.approx(there, abs=0.08)
    strength = strength_for(data["gpa"], data["group"])
    assert round(strength, 4) == many.default_params.bias_strength
    assert many.default_params.residual_share == 1.0
    apart, group = start(bias_strength=strength)
    assert standardised_mean_difference(apart, group) == pytest.approx(0.5, abs=0.08)
