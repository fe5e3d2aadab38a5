"""Declarations that all environments share: words, elements, features, units, the envelope."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.core import FairgymError, Feature, counts_people, rollout
from fairgym.environments._common.base import PublishedProfit
from fairgym.environments._common.regions import Move, RegionParams, move_features
from fairgym.policies import fixed_policies
from fairgym.utils.registry import environments
from fairgym.wrappers import EndsAfter

NAMES = ("loan", "loan_simple", "health", "education")
OWN = [n for n in environments.names() if environments.get(n).__module__.startswith("fairgym.")]


@pytest.fixture(scope="module", params=NAMES)
def env(request):
    return fairgym.make(request.param, population=60, horizon=10)


@pytest.mark.parametrize(
    ("name", "time_unit", "group_word", "failure"),
    [
        ("loan", "months", "group", "the bank goes bankrupt"),
        ("loan_simple", "steps", "group", "the bank goes bankrupt"),
        ("health", "months", "region", "the insurer fails"),
        ("education", "semesters", "group", "the university or the employer fails"),
    ],
)
def test_a_step_a_group_and_an_early_end_have_a_word(name, time_unit, group_word, failure):
    env = fairgym.make(name, population=60, horizon=10)
    assert (env.spec.time_unit, env.spec.group_word, env.spec.failure) == (
        time_unit,
        group_word,
        failure,
    )
    assert EndsAfter(env, 5).spec.failure == failure, "wrappers, too"
    time = next(f for f in env.observation_space(env.agents[0]).context if f.name == "time")
    assert time.unit == time_unit


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        ("loan", {"waiting", "never_paid_out", "people"}),
        ("loan_simple", set()),
        ("health", {"people", "insured", "healthy"}),
        ("education", {"workers", "salaries"}),
    ],
)
def test_components_that_count_a_state_are_levels(name, levels):
    env = fairgym.make(name, population=60, horizon=10)
    assert {key for key, info in env.spec.component_info.items() if info.level} == levels


@pytest.mark.parametrize("wrong", ["no", "", 2, 0, None])
@pytest.mark.parametrize("name", OWN)
def test_flags_are_true_or_false(name, wrong):
    """What is merely truthy, such as "no", would leave a group visible that is to be hidden."""
    flags = [f.name for f in dataclasses.fields(environments.get(name)) if f.type is bool]
    for flag in flags:
        env = fairgym.make(name)
        object.__setattr__(env, flag, wrong)  # past the tests' own check of types
        with pytest.raises(FairgymError, match=f"^{flag} must be True or False, got {wrong!r}$"):
            env.__post_init__()


def test_elements_are_slugs_for_groups_and_regions(env):
    for agent in env.agents:
        elements = env.action_space(agent).elements
        places = {
            *env.spec.groups,
            *(part for parts in env.spec.partitions.values() for part in parts),
        }
        for element in elements:
            assert element.name == element.name.lower() and " " not in element.name
            assert not element.group or element.group in places
            assert not element.of or element.of in {e.name for e in elements}


@pytest.mark.parametrize(
    ("name", "agent", "element", "title", "of", "unit"),
    [
        ("loan", "admissions", "threshold_disadvantaged", "threshold, disadvantaged", "", ""),
        ("loan_simple", "debt_management", "relief_advantaged", "relief, advantaged", "", ""),
        ("health", "planner", "public_health", "public health", "", ""),
        (
            *("health", "planner", "public_health_south"),
            *("public health, South", "public_health", ""),
        ),
        ("health", "insurer", "premium", "premium", "", "share of the maximum"),
        ("education", "employer", "salary", "salary", "", "share of the maximum"),
        (
            *("education", "planner", "tertiary_education_new_england"),
            *("tertiary education, New England", "tertiary_education", ""),
        ),
    ],
)
def test_an_element(name, agent, element, title, of, unit):
    env = fairgym.make(name, population=60, horizon=10)
    found = {e.name: e for e in env.action_space(agent).elements}[element]
    assert (found.title, found.of, found.unit) == (title, of, unit)


def test_columns_of_one_variable_say_so():
    for name, agent, variable, marked in (
        ("health", "insurer", "region", 4),
        ("health", "insurer", "race", 3),
        ("education", "planner", "region", 9),
        ("education", "admissions", "race", 3),
    ):
        space = fairgym.make(name, population=60, horizon=10).observation_space(agent)
        assert sum(feature.of == variable for feature in space.features) == marked


def test_every_metric_has_a_unit(env):
    units = {name: metric.unit_in(env.spec.component_info) for name, metric in env.metrics.items()}
    assert all(units.values())
    if "wait_disparity" in units:
        assert units["wait_disparity"] == "months"
        assert env.metrics["wait_disparity"].rate.title == "Wait of those paid out"
    if "average_salary" in units:
        assert units["average_salary"] == units["salary_disparity"] == "share of the maximum"


def test_a_state_after_a_step_has_the_types_of_the_first(env):
    """Weak types too: otherwise every function of a state is compiled twice."""
    key, params = jax.random.key(0), env.default_params
    state = jax.eval_shape(env.initial_state, key, params)
    actions = {a: np.zeros(env.action_space(a).shape, np.float32) for a in env.agents}
    after = jax.eval_shape(env.step, key, state, actions, params)[1]
    kinds = [[(x.dtype, x.weak_type) for x in jax.tree.leaves(tree)] for tree in (state, after)]
    assert kinds[0] == kinds[1]


def test_baselines_have_slugs(env):
    for name in env.spec.baselines:
        assert name.isidentifier() and name == name.lower()


# ------------------------------------------------------------------------- context by name


def with_context(env, change):
    """The environment with another declared context of all agents."""
    env = dataclasses.replace(env)
    spaces = {}
    for agent in env.agents:
        space = env.observation_space(agent)
        spaces[agent] = dataclasses.replace(space, context=change(space.context))
    env.__dict__["_observation_spaces"] = spaces
    return env


def test_context_follows_its_declared_order(env):
    turned = with_context(env, lambda context: context[::-1])

    @jax.jit
    def contexts(params):
        state = env.initial_state(jax.random.key(0), params).replace(time=jnp.int32(3))
        seen = env.observe(state, params), turned.observe(state, params)
        return [{agent: x.context for agent, x in each.items()} for each in seen]

    before, after = contexts(env.default_params)
    for agent in env.agents:
        np.testing.assert_array_equal(before[agent], after[agent][::-1])
        assert len(set(before[agent].tolist())) > 1


def test_a_context_that_does_not_fit_is_named_when_traced(env):
    params = env.default_params
    state = jax.eval_shape(env.initial_state, jax.random.key(0), params)
    more = with_context(env, lambda context: (*context, Feature("weather")))
    with pytest.raises(FairgymError, match="context 'weather' is declared but not given"):
        jax.eval_shape(more.observe, state, params)
    fewer = with_context(env, lambda context: tuple(f for f in context if f.name != "time"))
    with pytest.raises(FairgymError, match="context 'time' is given but not declared"):
        jax.eval_shape(fewer.observe, state, params)


# ------------------------------------------------------------------------- what is shared


def test_a_profit_is_scaled_with_people_and_steps():
    profit = PublishedProfit(8.9e4, population=10_000, horizon=400)
    assert profit.at(10_000, 400) == 8.9e4
    assert profit.at(5_000, 100) == pytest.approx(8.9e4 / 8)


def test_moves_leave_other_columns_alone():
    """Everything improves where P = 1; income by its change, distress downwards, within ranges."""
    moves = {
        "income": Move("improve_gain", 1.0, 0.0, np.inf),
        "distress": Move("improve_gain", -1.0, 0.0, 4.0),
    }
    data = {
        "income": jnp.array([10.0, 20.0]),
        "distress": jnp.array([0.1, 4.0]),
        "age": jnp.array([30.0, 40.0]),
    }
    after = move_features(
        data,
        moves,
        jnp.array([0.5, 0.99]),
        jnp.array([0, 1]),
        jnp.array([0.0, 1e9]),
        RegionParams(improve_gain=0.5, stay=0.0),
        base=0.5,
        budget=1e3,
    )
    # region 0 without money: P = 0.5 + 0.5 sigmoid(-4) = 0.509; region 1: P = 1
    np.testing.assert_allclose(after["income"], [10.5, 20.5])
    np.testing.assert_allclose(after["distress"], [0.0, 3.5])
    assert after["age"] is data["age"] and list(after) == list(data)


@pytest.mark.parametrize("name", OWN)
def test_every_environment_declares_what_a_log_of_decisions_has(name):
    """Columns of one number per person or place, and the roles that they have."""
    sized: dict[str, Any] = {"population": 20} if name in NAMES else {}
    env = fairgym.make(name, horizon=3, **sized)
    policies = fixed_policies(env, dict.fromkeys(env.agents, "random"))
    for decision in env.spec.decisions.values():

        def logged(key, rows=decision.rows):
            tally = counts_people(env)
            return rollout(env, env.default_params, policies, key, tally=tally, log=rows).logged

        columns = jax.eval_shape(logged, jax.random.key(0))
        assert {column.shape for column in columns.values()} == {columns["asked"].shape}
        assert columns["asked"].shape[0] == 3 and columns["asked"].ndim == 2
        roles = (decision.decision, decision.outcome, decision.score, decision.amount)
        assert {name for name in (*roles, *decision.groups) if name} <= set(columns)
        assert ("settled" in columns) == bool(decision.outcome)
        assert {*decision.groups} <= {*env.spec.axes, *decision.names}
        assert decision.about.endswith(".") and decision.about.startswith(("A row", "No decision"))
    assert env.spec.decisions
