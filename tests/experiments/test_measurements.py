"""Measurements in held-out episodes: disparities with null distributions, and the queue."""

import dataclasses
import functools
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from stand_ins import stand_in

from fairgym.config import RunConfig
from fairgym.core import rollout
from fairgym.experiments import _parts as ex
from fairgym.experiments.mafe._parts_of_gaps import parts_of_gaps
from fairgym.experiments.mafe._readings import queue, served
from fairgym.experiments.mafe.aims import exchanged, in_bed
from fairgym.experiments.mafe.groups import flips_of
from fairgym.experiments.mafe.learners import REWARD, SCORE, SURVIVED, UNFAIR, ended
from fairgym.fairness import Objective
from fairgym.policies import fixed_policies
from fairgym.training import load, train
from fairgym.training.evaluation import Evaluation
from fairgym.training.run import Run
from fairgym.utils import make

ENV = make("loan", population=400, horizon=60)


@functools.cache
def bank(relief):
    """Return held-out episodes of a bank that admits everybody, with a random queue."""
    rules = {"admissions": 0.0, "disbursement": "random", "debt_management": list(relief)}
    params = ENV.default_params.replace(bias_strength=0.0)
    return ex.held_out(ENV, params, fixed_policies(ENV, rules), 0, 24, ex.PERMUTATIONS)


@pytest.mark.full
def test_the_disparity_of_a_bank_that_treats_all_alike_is_its_null_mean():
    fair = [name for name in ENV.spec.terms if ENV.metrics[name].kind == "fair"]
    alike, apart = bank((0.3, 0.3)), bank((0.3, 0.0))
    for found, excess in ((alike, False), (apart, True)):
        objective = Objective.weighted(ENV, dict.fromkeys(fair, 1.0))
        scores = found.scored_by(objective).values("objective")
        null_mean = ex.null_sums([found], ENV).mean()
        assert -1.0 < null_mean < 0.0
        difference = scores.mean() - null_mean
        error = scores.std(ddof=1) / np.sqrt(len(scores))
        assert (difference < -10.0 * error) if excess else (abs(difference) < 4.0 * error)


@pytest.mark.full
def test_a_normaliser_is_that_of_the_episode():
    """Waits are divided by the sum of the groups' mean waits, other disparities by 1."""
    found = bank((0.3, 0.0))
    waits = np.asarray(found.totals.waited) / np.asarray(found.totals.disbursed)
    divisors = {"wait_disparity": waits.sum(axis=1), "admission_disparity": 1.0}
    divisors["default_disparity"] = 1.0
    expected = {n: (found.nulls[n].T / d).mean(axis=1) for n, d in divisors.items()}
    assert waits.sum(axis=1).min() > 1.0
    np.testing.assert_allclose(ex.null_sums([found], ENV)[0], sum(expected.values()), rtol=1e-4)
    for name, value in expected.items():
        np.testing.assert_allclose(ex.null_sums([found], ENV, [name])[0], value, rtol=1e-4)


def test_a_disparity_counts_where_it_is_defined():
    """Agrees with the null of the episodes; a bank without loans does not count as fair."""
    name, found = "default_disparity", bank((0.3, 0.0))
    some, none = (dict(found.defined) for _ in range(2))
    some[name], none[name] = np.arange(24) < 5, np.zeros(24, bool)
    seeds = [dataclasses.replace(found, defined=known) for known in (found.defined, some, none)]
    values, null = ex.disparity(seeds, name)
    assert values.shape == (3,) and null.shape == (3, ex.PERMUTATIONS)
    for seed in (0, 1):
        expected = seeds[seed].null(name)
        assert values[seed] == pytest.approx(-expected.value) and values[seed] > 0.0
        assert null[seed].mean() == pytest.approx(-expected.mean)
        assert np.quantile(null[seed], 0.95) == pytest.approx(-expected.bound)
        assert ex.excess(values, null)[seed] == pytest.approx(-expected.excess)
    np.testing.assert_allclose(values[1], -found.metrics[name][:5].mean(), rtol=1e-6)
    assert np.isnan(values[2]) and np.isnan(null[2]).all()


def test_the_ends_of_a_comparison_of_learners_are_sums_of_components():
    """In NumPy; episodes with undefined values are dropped and do not count as parity."""
    found = bank((0.3, 0.0))
    target = "admission_disparity"
    one = {name: of[0] for name, of in ended(ENV, [found], target)["ends"].items()}
    totals = {n: np.asarray(getattr(found.totals, n), float) for n in ("approved", "applied")}
    rates = totals["approved"] / totals["applied"]
    assert one[target] == pytest.approx(np.abs(np.diff(rates)).mean(), abs=1e-5)
    assert one["signed gap"] == pytest.approx(-np.diff(rates).mean(), abs=1e-5)
    admitted = totals["approved"].sum(axis=1) / totals["applied"].sum(axis=1)
    assert one["admission_rate"] == pytest.approx(admitted.mean(), abs=1e-5)
    profit = np.mean(np.asarray(found.totals.profit) / ENV.metrics["profit"].normaliser)
    assert one[REWARD] == pytest.approx(profit, rel=1e-4)
    assert one[SCORE] == pytest.approx(0.5 * one[REWARD] - 0.5 * one[UNFAIR], abs=1e-5)
    assert one[SURVIVED] == 1.0 - found.terminated.mean()
    name, gaps = "default_disparity", -found.metrics["default_disparity"]
    for known, expected in ((np.arange(24) < 5, gaps[:5].mean()), (np.zeros(24, bool), np.nan)):
        some = dataclasses.replace(found, defined={**found.defined, name: known})
        assert ended(ENV, [some], target)["ends"][name] == pytest.approx([expected], nan_ok=True)


def test_the_null_mean_in_a_table_is_that_of_the_measure():
    """In every permutation, the middle two of four seeds count."""
    null = np.arange(1001.0) + np.array([[-5_000.0], [0.0], [2.0], [9_000.0]])
    assert ex.null_text(null) == "501 [26.0, 976]"


def test_the_queue_is_that_at_the_end_of_each_episode():
    """Made-up episodes of two seeds, after three steps and after two; in one nobody waits."""
    share, median = np.zeros((2, 2, 4, 3))
    share[0, 3, -1], share[1, 2, -1] = 0.5, 0.0
    median[0, 3, -1], median[1, 1, -1] = 30.0, 7.0
    # 100 people begin to wait at once; half of the waits last one month, the others to the end
    reached = np.zeros((2, 4, 2, 4))
    for month, people in enumerate((50.0, 50.0, 25.0, 25.0)):
        reached[:, month, :, month] = people
    reached[1, 3] = 0.0  # the second episode has ended
    names = {"wait_disparity": -2.0, "queue_disparity": -5.0}

    def seed(served):
        values = {name: np.full(2, value) for name, value in names.items()}
        return Evaluation(
            objective=None,
            lengths=np.array([3, 2]),
            terminated=np.zeros(2, bool),
            mean_actions={},
            trace=None,
            people_start={},
            people_end={},
            waits={"waiting": {"share": share, "median": median, "reached": reached}},
            totals=SimpleNamespace(
                waited=np.array([[50.0, 30.0], [20.0, 0.0]]),
                disbursed=np.full((2, 2), 5.0),
                waiting=np.array([[90.0, 60.0], [30.0, 40.0]]),
                approved=np.array([[2.0, 1.0], [1.0, 1.0]]),
                first_approved=np.array([[6.0, 4.0], [4.0, 0.0]]),
                first_disbursed=np.array([[6.0, served], [3.0, 0.0]]),
            ),
            metrics=values,
            defined=dict.fromkeys(names, np.ones(2, bool)),
            nulls={name: np.full((2, 3), 0.5 * value) for name, value in names.items()},
        )

    found = queue(ENV, [seed(1.0), seed(4.0)])
    expected = {
        "never paid out, advantaged": [0.125, 0.125],
        "never paid out, disadvantaged": [0.75, 0.0],
        "waiting at the end": [0.25, 0.25],
        "median wait of these": [30.0, 30.0],
        "half of waits end within": [1.0, 1.0],
        "nine tenths of waits end within": [60.0, 60.0],  # half never end
        "time in the queue, advantaged": [37.5, 37.5],
        "time in the queue, disadvantaged": [50.0, 50.0],
        "queue disparity": [5.0, 5.0],
        "queue disparity, null mean": np.full((2, 3), 2.5),
        "wait disparity": [2.0, 2.0],
        "wait disparity, null mean": np.full((2, 3), 1.0),
        "mean wait of those paid out": [5.0, 5.0],
    }
    assert list(found) == list(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, atol=1e-12, err_msg=name)


@pytest.mark.full
@pytest.mark.parametrize("seen", [True, False])
def test_flips_of_a_run_whose_policies_are_not_read_yet(seen, tmp_path):
    shape = {"population": 200, "horizon": 6, "observe_group": seen}
    training = {"epochs": 1, "episodes_per_epoch": 4, "hidden": 2, "evaluation_episodes": 2}
    train(RunConfig("education", environment_args=shape, algorithm_args=training), tmp_path / "run")
    flips = flips_of(load(tmp_path / "run"))
    assert "admissions" in flips
    for size, by_group in flips.values():
        assert len(by_group) == 2 and ((size > 0.0) is seen)


@pytest.mark.full
def test_the_parts_of_a_gap_under_learned_policies_sum_to_it(tmp_path):
    shape = {"population": 600, "horizon": 12}
    training = {"epochs": 1, "episodes_per_epoch": 4, "hidden": 2, "evaluation_episodes": 2}
    config = RunConfig("loan", environment_args=shape, algorithm_args=training, seed=3)
    train(config, tmp_path / "run")
    run = load(tmp_path / "run")
    found = parts_of_gaps("loan", [run], 8)["admission_disparity"]
    gaps = []
    for key in jax.random.split(jax.random.key(3), 8):
        totals = rollout(run.env, run.params, run.policies, key).totals
        first, second = np.asarray(totals.approved, np.float64) / np.asarray(totals.applied)
        gaps.append(first - second)
    assert found["gap"] == pytest.approx([np.mean(gaps)], abs=1e-6)
    parts = [values for name, values in found.items() if name != "gap"]
    assert np.sum(parts, axis=0) == pytest.approx(found["gap"], abs=1e-6)
    assert len(parts) == 5 and any(abs(values[0]) > 1e-3 for values in parts)


@pytest.mark.full
def test_exchanged_policies():
    """With runs that differ only in the insurer, only exchanging it changes the result."""
    env = make("health", population=100, horizon=6)

    def run(premium):
        policies = fixed_policies(
            env, next(iter(env.spec.baselines.values())) | {"insurer": premium}
        )
        config = RunConfig("health", seed=0)
        return stand_in(Run, env=env, params=env.default_params, policies=policies, config=config)

    cheap, dear = run(0.1), run(0.9)
    profit = {
        agent: exchanged(cheap, dear, agent, 3).metrics["profit"]
        for agent in ("nobody", *env.agents)
    }
    theirs = ex.held_out(env, env.default_params, dear.policies, 0, 3).metrics["profit"]
    assert (profit["insurer"] == theirs).all() and (profit["insurer"] != profit["nobody"]).all()
    assert (profit["hospital"] == profit["nobody"]).all()
    assert (profit["planner"] == profit["nobody"]).all()


def test_who_is_in_a_bed():
    """Of five insured, two wait and one is in a bed; of two uninsured, one is in a bed."""
    people = {
        "insured": np.array([[1, 1, 1, 1, 1, 0, 0]], np.float32),
        "needs_bed": np.array([[1, 1, 0, 0, 0, 0, 0]], np.float32),
        "in_hospital": np.array([[0, 0, 1, 0, 0, 1, 0]], np.float32),
    }
    assert in_bed(people, 1.0) == pytest.approx(1 / 3) and in_bed(people, 0.0) == 1.0
    assert np.isnan(in_bed({name: column[:, 6:] for name, column in people.items()}, 0.0))


def test_the_share_served_is_of_all_episodes():
    """Six of ten people over two groups and two episodes; nobody is approved in another seed."""

    def seed(paid, approved):
        totals = SimpleNamespace(first_disbursed=np.array(paid), first_approved=np.array(approved))
        return stand_in(Evaluation, totals=totals)

    some, none = seed([[4.0, 0.0], [1.0, 1.0]], [[5.0, 2.0], [1.0, 2.0]]), np.zeros((2, 2))
    np.testing.assert_allclose(served([some, seed(none, none)]), [0.6, 0.0])


def test_values_of_few_seeds_follow_their_interval():
    assert ex.iqm_text([1.0, 2.0, 3.0]).endswith("] (1.00, 2.00, 3.00)")
    assert ex.mean_text([1.0, 2.0]).startswith("1.50 [") and "(1.00, 2.00)" in ex.mean_text([1, 2])
    assert "(" not in ex.iqm_text([1.0, 1.0, 1.0]) + ex.iqm_text([1.0, 2.0, 3.0, 4.0])
