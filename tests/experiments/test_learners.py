"""Comparison of learners end to end, on a very small bank."""

import dataclasses

import jax
import numpy as np
import pytest

from fairgym.algorithms import log_keys
from fairgym.experiments import Size
from fairgym.experiments._measurements import HELD_OUT, null_sums, steps_per_epoch
from fairgym.experiments.mafe.learners import (
    LEARNERS,
    SCORE,
    SYSTEMS,
    UNFAIR,
    UNTRAINED,
    MafeLearners,
    ended,
)
from fairgym.training import evaluate, train

pytestmark = pytest.mark.full  # test_measurements.py and test_analysis.py have the parts

TRAINED = ("F-MAPPO", "ELBERT-PO")  # two compiled programs
SMALL = {"hidden": 8, "critic_hidden": 8, "num_envs": 2, "num_steps": 20, "update_epochs": 1}
HORIZON = 40
TARGET = SYSTEMS["loan"].disparity


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return runs of two learners in one environment with two seeds, and their numbers."""
    size = Size(people=60, epochs=2, episodes=2, held_out=3, seeds=2)
    grid, runs = MafeLearners().grid(size), {}
    for label in TRAINED:
        config = dataclasses.replace(
            grid[f"loan/{label}"], environment_args={"population": 60, "horizon": HORIZON}
        )
        more = {**config.algorithm_args, **SMALL, "evaluation_episodes": 2}
        out = tmp_path_factory.mktemp("learners")
        runs[f"loan/{label}"] = [
            train(dataclasses.replace(config, algorithm_args=more, seed=seed), out / f"{seed}")
            for seed in range(size.seeds)
        ]
    return runs, MafeLearners().measure(size, runs, range(size.seeds))["loan"]


@pytest.mark.parametrize("label", TRAINED)
def test_numbers_are_those_of_the_held_out_episodes(made, label):
    runs, data = made
    assert set(data) == {*TRAINED, UNTRAINED}
    for seed, run in enumerate(runs[f"loan/{label}"]):
        key = jax.random.fold_in(jax.random.key(HELD_OUT), seed)
        found = evaluate(run.env, run.params, run.policies, key, 3, permutations=1)
        expected = {name: of[0] for name, of in ended(run.env, [found], TARGET)["ends"].items()}
        for name, values in data[label]["ends"].items():
            assert values[seed] == pytest.approx(expected[name], abs=1e-6, nan_ok=True)


def test_what_is_measured_can_be_shown(made):
    """The other learners get the numbers of ELBERT-PO."""
    one = made[1]
    every = {label: one.get(label, one["ELBERT-PO"]) for label in (*LEARNERS, UNTRAINED)}
    data = {"loan": every}
    table, settings = MafeLearners().tables(data)
    assert [row[:2] for row in settings.rows] == [["loan", label] for label in LEARNERS]
    assert len(table.rows[0]) == len(table.head) == 1 + len(every)
    assert all(figure.axes for figure in MafeLearners().figures(data).values())


def test_nulls_are_those_of_permuted_groups_in_the_same_episodes(made):
    """Checks each defined disparity, and the mean of the normalised ones among the terms."""
    runs, data = made
    for seed, run in enumerate(runs["loan/F-MAPPO"]):
        key = jax.random.fold_in(jax.random.key(HELD_OUT), seed)
        found = evaluate(run.env, run.params, run.policies, key, 3, permutations=100)
        null = {name: of[seed] for name, of in data["F-MAPPO"]["null"].items()}
        assert set(null) == {*found.nulls, UNFAIR}
        for name in found.nulls:
            if found.defined[name].any():
                assert null[name].mean() == pytest.approx(-found.null(name).mean, rel=1e-5)
        np.testing.assert_allclose(null[UNFAIR], -null_sums([found], run.env)[0] / 3.0, rtol=1e-6)


def test_curves_are_those_of_the_log(made):
    runs, data = made
    for label in TRAINED:
        several, found = runs[f"loan/{label}"], data[label]
        assert steps_per_epoch(several[0]) == 80  # two rounds of two environments with 20 steps
        np.testing.assert_array_equal(found["steps"], [80, 160])
        for seed, run in enumerate(several):
            gaps = [-line[log_keys.metric("admission_disparity")] for line in run.metrics]
            np.testing.assert_allclose(found["curves"]["admission_disparity"][seed], gaps)
    # F-MAPPO is trained on the objective that scores all learners, ELBERT-PO on profit
    for label, same in (("F-MAPPO", True), ("ELBERT-PO", False)):
        logged = [[line["objective"] for line in run.metrics] for run in runs[f"loan/{label}"]]
        assert np.allclose(data[label]["curves"][SCORE], logged, atol=1e-5) == same


def test_untrained_policies_are_the_initial_ones_of_f_mappo(made):
    runs, data = made
    run = runs["loan/F-MAPPO"][0]
    state = run.job.algorithm.init(jax.random.key(0), run.env, run.objective)
    key = jax.random.fold_in(jax.random.key(HELD_OUT), 0)
    found = evaluate(run.env, run.params, run.job.algorithm.policies(state), key, 3, permutations=1)
    expected = {name: of[0] for name, of in ended(run.env, [found], TARGET)["ends"].items()}
    for name, values in data[UNTRAINED]["ends"].items():
        assert values[0] == pytest.approx(expected[name], abs=1e-6, nan_ok=True)
