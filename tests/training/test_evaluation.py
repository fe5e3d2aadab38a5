import dataclasses
from typing import Any

import jax
import numpy as np
import pytest
from two_servers import TwoServers

import fairgym
from fairgym.core import FairgymError
from fairgym.fairness import Objective
from fairgym.policies import fixed_policies
from fairgym.statistics import mean_interval
from fairgym.training import _measuring, evaluate, evaluation

ADMIT_ALL = {"admissions": 0.0, "debt_management": 0.0, "disbursement": "random"}
RELIEF = {"admissions": 0.0, "debt_management": 0.3, "disbursement": "random"}


@pytest.fixture(scope="module")
def env():
    return fairgym.make("loan", population=60, horizon=20)


def everything(env, fixed, **changes):
    """Five episodes with all options: one program for all policies."""
    options = {"discount": 1.0, "people_episodes": 5} | changes
    return evaluate(
        env,
        env.default_params,
        fixed_policies(env, fixed),
        jax.random.key(1),
        5,
        objective=Objective.uniform(env),
        trace=True,
        ends=True,
        **options,
    )


@pytest.fixture(scope="module")
def measured(env):
    return everything(env, ADMIT_ALL)


def test_schemes_are_measured_beside_metrics():
    """Also those of an objective; against NumPy on the trace."""
    env = fairgym.make("doughnut", population=2, horizon=5)
    objective = Objective.weighted(env, {"welfare": 1.0, "nash": 2.0})
    found = evaluate(
        env,
        env.default_params,
        fixed_policies(env, {"server": "random"}),
        jax.random.key(0),
        6,
        objective=objective,
        trace=True,
    )
    assert list(found.metrics) == [*env.metrics, *env.spec.schemes, "nash"]
    got = np.asarray(found.trace.handed_out)
    status = np.cumsum(got, axis=1)
    nash = np.sum(np.log(status + 1), axis=2)
    welfare = np.sum(nash * (got.sum(axis=2) > 0), axis=1)
    assert np.ptp(welfare) > 0.1
    np.testing.assert_allclose(found.metrics["welfare"], welfare, rtol=1e-5)
    np.testing.assert_allclose(found.metrics["nash"], nash[:, -1], rtol=1e-5)
    np.testing.assert_allclose(found.metrics["worst_off"], status[:, -1].min(axis=1))
    assert found.defined["welfare"].all() and found.undefined("nash") == 0
    normaliser = objective.schemes["nash"].normaliser
    np.testing.assert_allclose(
        found.values("objective"), welfare + 2.0 * nash[:, -1] / normaliser, rtol=1e-5
    )
    assert found.interval("welfare")[0] == pytest.approx(welfare.mean(), rel=1e-5)
    other = found.scored_by(Objective.weighted(env, {"worst_off": -1.0}))
    np.testing.assert_allclose(other.values("objective"), -status[:, -1].min(axis=1))


def test_values_are_those_of_single_episodes(env, measured):
    keys = jax.random.split(jax.random.key(1), 5)
    policies = fixed_policies(env, ADMIT_ALL)

    @jax.jit
    def run(key):
        episode = fairgym.rollout(env, env.default_params, policies, key)
        values = {name: m.value(episode.totals) for name, m in env.metrics.items()}
        defined = {name: m.defined(episode.totals) for name, m in env.metrics.items()}
        score = Objective.uniform(env).score(episode.totals)
        return values, defined, score, episode.length, env.people(episode.final_state)

    for index, key in enumerate(keys):
        values, defined, score, length, people = run(key)
        for name in env.metrics:
            shown = measured.metrics[name][index]
            assert shown == pytest.approx(float(values[name]), rel=1e-5, abs=1e-6)
            assert measured.defined[name][index] == bool(defined[name])
        assert measured.objective[index] == pytest.approx(float(score), rel=1e-5)
        assert measured.lengths[index] == int(length)
        for name, column in people.items():
            np.testing.assert_allclose(measured.people_end[name][index], column, rtol=1e-4)


def test_shapes(env, measured):
    assert measured.episodes == 5
    assert list(measured.metrics) == list(env.metrics)
    assert measured.trace.profit.shape == (5, 20)
    assert measured.trace.approved.shape == (5, 20, 2)
    assert measured.mean_actions["admissions"].shape == (5, 2)
    assert measured.mean_actions["disbursement"].shape == (5, 1)
    assert measured.people_start["fico_low"].shape == (5, 60)
    for name in ("group", "annual_income"):  # which nothing changes
        np.testing.assert_array_equal(measured.people_start[name], measured.people_end[name])
    assert not measured.people_start["balance"].any(), "nobody has a loan at the start"


def test_intervals_are_those_of_the_episodes(measured):
    assert measured.interval("profit") == mean_interval(measured.metrics["profit"])
    assert measured.interval("objective") == mean_interval(measured.objective)
    assert measured.interval("survived")[0] == 1.0 - measured.terminated.mean()
    # by hand, with the quantile of four degrees of freedom
    profit = measured.metrics["profit"].astype(float)
    half = 2.7764451 * profit.std(ddof=1) / np.sqrt(5)
    assert measured.interval("profit")[2] == pytest.approx(profit.mean() + half, rel=1e-6)


def test_undefined_values_count_as_zero_and_are_counted(env, measured):
    assert measured.undefined("default_rate") == 0
    # who need not pay ends no loan in 20 months, so that there is no rate of default
    other = everything(env, ADMIT_ALL | {"debt_management": 1.0})
    assert other.undefined("default_rate") == 5
    assert not other.metrics["default_rate"].any()
    assert other.interval("default_rate") == (0.0, 0.0, 0.0)
    assert other.undefined("profit") == 0


def test_the_same_luck_for_every_policy(env, measured):
    other = everything(env, RELIEF)
    for name, column in measured.people_start.items():
        np.testing.assert_array_equal(column, other.people_start[name])
    assert (measured.metrics["profit"] != other.metrics["profit"]).any()


def test_parts_are_the_whole(env, measured, monkeypatch):
    """Many people are measured a few episodes at a time; nothing changes."""
    monkeypatch.setattr(evaluation, "_PEOPLE_AT_ONCE", 60)
    measure: Any = evaluation.measure
    asked = []

    def one_program(*arguments):
        """Measure people even if they are not requested."""
        *others, with_people, ends, permutations = arguments
        asked.append(with_people)
        part, everybody = measure(*others, True, ends, permutations)
        return part, everybody if with_people else None

    monkeypatch.setattr(evaluation, "measure", one_program)
    other = everything(env, ADMIT_ALL, people_episodes=3)
    assert asked == [True, True, False], "two episodes at once, on two devices"
    for name in measured.metrics:
        np.testing.assert_allclose(measured.metrics[name], other.metrics[name], rtol=1e-5)
    assert other.people_end["fico_low"].shape == (3, 60)
    np.testing.assert_allclose(
        measured.people_end["fico_low"][:3], other.people_end["fico_low"], rtol=1e-5
    )
    for name, column in measured.ends.items():
        np.testing.assert_allclose(column, other.ends[name], rtol=1e-5)


@pytest.mark.parametrize("episodes", [0, -3])
def test_bad_number_of_episodes(env, episodes):
    policies = fixed_policies(env, ADMIT_ALL)
    with pytest.raises(FairgymError, match=r"episodes must be a whole number from 1.*got .*"):
        evaluate(env, env.default_params, policies, jax.random.key(0), episodes)


def test_missing_agent(env):
    policies = fixed_policies(env, {"admissions": 0.0})
    with pytest.raises(FairgymError, match="no policy for 'disbursement'"):
        evaluate(env, env.default_params, policies, jax.random.key(0), 2)


@pytest.mark.full
def test_the_parts_of_the_people_at_every_step():
    """Regions of the education environment: numbers, stages and baseline GPA, counted by hand."""
    env = fairgym.make("education", population=200, horizon=12)
    policies = fixed_policies(env, env.spec.baselines["plausible_fixed_policy"])
    params = env.default_params.replace(faculty_salary=0.0)
    found = evaluate(env, params, policies, jax.random.key(2), 2, trace=True, people_episodes=2)
    parts = found.parts["region"]
    assert set(parts) == {"people", *env.spec.stages, env.spec.core_attribute}
    assert all(rows.shape == (2, 13, 9) for rows in parts.values())
    np.testing.assert_array_equal(parts["people"].sum(axis=2), 200)
    stages = sum(parts[stage] for stage in env.spec.stages)
    np.testing.assert_array_equal(stages, parts["people"])
    for moment, people in ((0, found.people_start), (12, found.people_end)):
        for code in range(9):
            own = people["region"] == code
            np.testing.assert_array_equal(parts["people"][:, moment, code], own.sum(axis=1))
            working = (people["in_workforce"] > 0) & own
            np.testing.assert_array_equal(parts["workforce"][:, moment, code], working.sum(axis=1))
            gpa = np.where(own, people["baseline_gpa"], 0.0).sum(axis=1)
            np.testing.assert_allclose(parts["baseline_gpa"][:, moment, code], gpa, rtol=1e-5)
    assert parts["university"][:, -1].sum() > 0 < parts["workforce"][:, -1].sum()


def test_the_groups_at_the_start_and_at_the_end(env, measured, monkeypatch):
    """Numbers, stages and scores, counted by hand; alone they are the same."""
    ends = measured.ends
    assert set(ends) == {"people", *env.spec.stages, env.spec.core_attribute}
    assert all(rows.shape == (5, 2, 2) for rows in ends.values())
    for moment, people in enumerate((measured.people_start, measured.people_end)):
        for code in range(2):
            own = people["group"] == code
            np.testing.assert_array_equal(ends["people"][:, moment, code], own.sum(axis=1))
            score = np.where(own, people["qualification_score"], 0.0).sum(axis=1)
            shown = ends["qualification_score"][:, moment, code]
            np.testing.assert_allclose(shown, score, rtol=1e-5)
    np.testing.assert_array_equal(ends["idle"][:, 0], ends["people"][:, 0])
    owing = (measured.people_end["balance"] > 0).sum(axis=1)
    np.testing.assert_array_equal(ends["repaying"][:, 1].sum(axis=1), owing)
    assert owing.all()
    stages = sum(ends[stage] for stage in env.spec.stages)
    np.testing.assert_array_equal(stages, ends["people"])
    policies = fixed_policies(env, ADMIT_ALL)
    monkeypatch.setattr(_measuring, "_parts", None)  # which only a trace calls
    alone = evaluate(env, env.default_params, policies, jax.random.key(1), 5, ends=True)
    assert alone.people_end == {} and alone.trace is None and alone.objective is None
    np.testing.assert_allclose(alone.ends["repaying"], ends["repaying"])
    for name, values in measured.metrics.items():
        np.testing.assert_allclose(alone.metrics[name], values, rtol=1e-6)


def test_an_episode_that_failed_counts_nobody_afterwards():
    env = fairgym.make("education", population=200, horizon=12)
    policies = fixed_policies(env, env.spec.baselines["plausible_fixed_policy"])
    ruined = env.default_params.replace(faculty_salary=1e7)
    found = evaluate(env, ruined, policies, jax.random.key(2), 2, trace=True, people_episodes=2)
    assert (found.lengths == 1).all()
    people = found.parts["region"]["people"].sum(axis=2)
    np.testing.assert_array_equal(people, [[200, 200] + [0] * 11] * 2)


def test_another_objective_scores_the_same_episodes(env, measured):
    for other in (Objective.direct(env), {"bank": Objective.uniform(env)}, None):
        rescored = measured.scored_by(other)
        assert rescored.metrics is measured.metrics
        if other is None:
            assert rescored.objective is None
            continue
        several = other.values() if isinstance(other, dict) else [other]
        score = jax.jit(lambda totals, several=tuple(several): [o.score(totals) for o in several])
        episodes = [jax.tree.map(lambda x, i=i: x[i], measured.totals) for i in range(5)]
        expected = [np.mean(score(totals)) for totals in episodes]
        np.testing.assert_allclose(rescored.objective, expected, rtol=1e-6)
    again = measured.scored_by(Objective.uniform(env))
    np.testing.assert_allclose(again.objective, measured.objective, rtol=1e-6)
    with_own = {"a": Objective.direct(env), "b": Objective.uniform(env)}
    mean = (measured.scored_by(with_own["a"]).objective + measured.objective) / 2
    np.testing.assert_allclose(measured.scored_by(with_own).objective, mean, rtol=1e-5)


def test_totals_are_the_discounted_sums_of_the_trace(env):
    found = everything(env, ADMIT_ALL, discount=0.9)
    weights = 0.9 ** np.arange(20)
    for name in env.spec.component_info:
        summed = np.tensordot(getattr(found.trace, name), weights, (1, 0))
        np.testing.assert_allclose(getattr(found.totals, name), summed, rtol=1e-5, atol=1e-4)


def test_a_system_without_people_is_measured_too():
    env = TwoServers()
    policies = fixed_policies(env, {"router": 1.0})
    found = evaluate(
        env,
        env.default_params,
        policies,
        jax.random.key(0),
        7,
        objective=Objective.uniform(env),
        trace=True,
        people_episodes=3,
        ends=True,
    )
    assert found.ends == {}
    assert found.episodes == 7 and found.trace.arrived.shape == (7, 6, 2)
    assert found.people_start == found.people_end == found.parts == {}
    served, arrived = found.trace.served.sum(axis=1), found.trace.arrived.sum(axis=1)
    np.testing.assert_array_equal(served[:, 1], 0.0)
    np.testing.assert_allclose(found.metrics["served_gap"], -served[:, 0] / arrived[:, 0])


def test_a_difference_counts_episodes_in_which_both_are_defined(measured):
    def made_up(values: list[float], defined: list[bool]):
        return dataclasses.replace(
            measured,
            metrics={"rate": np.array(values)},
            defined={"rate": np.array(defined)},
            terminated=np.zeros(3, bool),
        )

    ours = made_up([0.0, 0.5, 0.7], [False, True, True])  # 0/0 counts as 0 in means only
    theirs = made_up([0.9, 0.4, 0.4], [True, True, True])
    assert ours.difference(theirs, "rate") == pytest.approx(mean_interval([0.1, 0.3]))
    assert ours.difference(theirs, "survived") == (0.0, 0.0, 0.0)
    nowhere = made_up([0.0, 0.0, 0.0], [False] * 3)
    assert np.isnan(ours.difference(nowhere, "rate")).all()
