"""Tasks and learners of the benchmark: what files say, what fits, what is tuned."""

import dataclasses
from typing import Any

import numpy as np
import paced
import pytest
from tiers import in_tiers

from fairgym.algorithms import algorithms
from fairgym.benchmark import Task, learner_names, learner_of, read_task, task_names, task_of
from fairgym.config.settings import algorithm_settings
from fairgym.core import FairgymError
from fairgym.experiments.fppo._systems import ATTENTION, BANK_LOANS, EPIDEMIC
from fairgym.experiments.mafe.learners import SYSTEMS
from fairgym.fairness import Objective


@pytest.fixture
def task(tmp_path):
    path = tmp_path / "two-servers-v0.toml"
    path.write_text(paced.TASK)
    return read_task(path)


@pytest.fixture
def learner(tmp_path):
    path = tmp_path / "walker.toml"
    path.write_text(paced.LEARNER)
    return learner_of(str(path))


# ---------------------------------------------------------------- tasks


@pytest.mark.parametrize("name", in_tiers(task_names(), "doughnut-3-v0"))
def test_the_default_episode_is_the_recorded_one(name):
    task = task_of(name)
    assert len(task.golden) > 2 and task.changes() == []


def test_a_changed_episode_is_seen(task, monkeypatch):
    recorded = dataclasses.replace(task, golden={"length": 5.0, "waiting": 10.0})
    now = {"length": 5.0, "waiting": 10.0005}
    monkeypatch.setattr(Task, "episode_sums", lambda self: now)
    assert recorded.changes() == []
    now |= {"waiting": 10.01}
    assert recorded.changes() == ["waiting is 10.01, was 10.0"]
    del now["waiting"]
    assert recorded.changes() == ["waiting is None, was 10.0"]


def test_the_fingerprint_follows_the_meaning_and_nothing_else(task):
    same = dataclasses.replace(task, title="another", learners=("ppo",), golden={"length": 1.0})
    assert same.fingerprint == task.fingerprint
    for change in (
        {"steps": 1_001},
        {"environment_args": {"horizon": 6}},
        {"reward": {"waiting": 2.0}},
        {"reference": (-2.0, 1.0)},  # the choice in tuning depends on the box
    ):
        assert dataclasses.replace(task, **change).fingerprint != task.fingerprint
    names = [task_of(name).fingerprint for name in task_names()]
    assert len(set(names)) == len(names) >= 10


def test_weights_are_those_of_the_published_frontier():
    """MAFE's frontier, less the terms that its table 1 leaves out."""
    task = task_of("loan-300-v0")
    env, _ = task.world
    for weight in (0.0, 0.25, 1.0):
        expected = {n: w for n, w in Objective.frontier(env, weight).weights.items() if w}
        assert task.objective(weight) == pytest.approx(expected)
    for name in task_names():
        if task_of(name).suite == "decisions":
            assert task_of(name).reward == pytest.approx(task_of(name).world[0].spec.published)
    pool = task_of("lending-pool-v0")
    assert pool.objective(0.5) == dict(pool.world[0].spec.published)


def test_the_box_has_its_corners_and_failing_does_not_pay(task):
    assert task.in_box(-1.0, 1.0).tolist() == [0.0, 0.0]
    assert task.in_box([0.0, -0.5], [0.0, 0.75]).tolist() == [[1.0, 1.0], [0.5, 0.25]]
    assert task.in_box(0.0, 0.0, 0.75).tolist() == [0.25, 0.25]


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("steps = 1_000", "stops = 1_000", "unknown key 'stops' in .*; did you mean 'steps'"),
        ("steps = 1_000\n", "", "steps is missing; a task needs it"),
        ("steps = 1_000", "steps = 0", "steps must be a whole number from 1, got 0"),
        ("steps = 1_000", "steps = true", "steps must be a whole number, got true"),
        ("[-1.0, 1.0]", "[0.0, 1.0]", "reference must have less reward"),
        ("[-1.0, 1.0]", "[1.0]", "reference must be a list of 2 values"),
        ("waiting = 1.0", "waited = 1.0", "unknown metric 'waited'"),
        ('disparity = "served_gap"', 'disparity = "gap"', "unknown metric 'gap'"),
        ("horizon = 5", "horizont = 5", "horizont"),
        ('"two_servers"', '"three_servers"', "unknown environment 'three_servers'"),
    ],
)
def test_a_wrong_task_is_refused_in_one_sentence(tmp_path, old, new, message):
    path = tmp_path / "wrong-v0.toml"
    assert old in paced.TASK
    path.write_text(paced.TASK.replace(old, new, 1))
    with pytest.raises(FairgymError, match=message) as caught:
        read_task(path)
    assert str(path) in str(caught.value)


def test_a_task_needs_a_version_in_its_name(tmp_path):
    (tmp_path / "servers.toml").write_text(paced.TASK)
    with pytest.raises(
        FairgymError, match=r"words and a version, such as loan-300-v0, got 'servers'"
    ):
        read_task(tmp_path / "servers.toml")
    with pytest.raises(FairgymError, match=r"unknown task 'loan-300-v9'.*did you mean"):
        task_of("loan-300-v9")
    assert task_of("fairgym/loan-300-v0").name == "loan-300-v0"


# ---------------------------------------------------------------- learners


def test_every_declared_learner_and_hyperparameter_exists():
    known = learner_names()
    assert {learner_of(name).algorithm for name in known} <= set(algorithms.names())
    assert len(known) >= 15
    for name in task_names():
        task = task_of(name)
        assert set(task.learners) <= set(known) and not set(task.left_out) & set(task.learners)
        for own in task.learners:
            learner_of(own).hyperparameters(task)  # refuses unknown ones
    for name in known:
        settings = {one.name for one in algorithm_settings(learner_of(name).algorithm)}
        assert set(learner_of(name).space) <= settings


@pytest.mark.full
@pytest.mark.parametrize("name", task_names())
def test_what_fits_is_what_algorithms_accept(name):
    """A learner takes part exactly where its algorithm does not refuse, but for named reasons."""
    task = task_of(name)
    accepted = {own for own in learner_names() if not learner_of(own).refusal(task)}
    assert accepted == set(task.learners) | set(task.left_out)


def test_published_settings_are_those_of_the_experiments():
    for system in (BANK_LOANS, ATTENTION, EPIDEMIC):
        published = {n: learner_of(n).published[system.name] for n in ("f-ppo", "a-ppo", "cpo")}
        # in attention the task's unfairness is another one than that of the paper
        own = {"short_term": "short_term", "long_term": "long_term_window", "window": 300}
        kept = own if system is ATTENTION else {}
        assert published["f-ppo"] == {**kept, **system.authors.f_ppo}
        assert published["a-ppo"] == system.authors.a_ppo
        assert published["cpo"] == {"cost_limit": system.limit}
        assert learner_of("ppo-lagrangian").published[system.name] == published["cpo"]
        weight = learner_of("elbert-po").published[system.name]["bias_weight"]
        assert weight == system.bias_weight
    for environment, system in SYSTEMS.items():
        assert learner_of("a-ppo").published[environment]["tolerance"] == system.limit
        horizon = task_of(f"{environment}-300-v0").world[0].horizon
        elbert = learner_of("elbert-po").published[environment]
        assert elbert["bias_weight"] == pytest.approx(horizon / (2.0 * system.limit))
        assert elbert["standardise"] is False  # this weight is in the unit of rewards
        assert task_of(f"{environment}-300-v0").disparity == system.disparity


def test_variants_have_the_published_settings_of_their_own():
    """Xu et al. (2024) give the bias weights 20,000 and 50 in the harder variants."""
    elbert = learner_of("elbert-po")
    for name, weight in (("attention", (50.0, 20_000.0)), ("epidemic", (20.0, 50.0))):
        found = [
            elbert.hyperparameters(task_of(f"{name}{which}-v0"))["bias_weight"]
            for which in ("", "-harder")
        ]
        assert found == list(weight)


def test_learners_with_a_fairness_method_are_given_the_tasks_disparity():
    """A-PPO and the learners with limits observe it, as ELBERT-PO does."""
    for name in task_names():
        task = task_of(name)
        for one in map(learner_of, ("a-ppo", "cpo", "ppo-lagrangian")):
            if one.name in task.learners:
                job: Any = one.config(task, None, 1.0, 1.0).build()
                measure = job.algorithm.measures(job.env)["short_term"].metric
                assert measure == job.env.metrics[task.disparity], (name, one.name)


def test_updates_are_counted_in_shares_of_the_budget(task):
    learner = dataclasses.replace(learner_of("f-ppo"), settings={}, published={})
    long, short = (
        learner.config(task_of("epidemic-v0"), {"threshold_start": 40}, 1.0, share)
        for share in (1.0, 0.25)
    )
    assert long.algorithm_args["threshold_start"] == 40
    assert short.algorithm_args["threshold_start"] == 10


def test_the_fingerprint_of_a_learner_is_that_of_its_settings_in_a_task(learner, task):
    """Results of another definition do not count; a title is no definition."""
    own = learner.fingerprint_in(task)
    assert dataclasses.replace(learner, title="another").fingerprint_in(task) == own
    for change in (
        {"levels": (0.2, 0.9)},
        {"space": {}},
        {"published": {"two_servers": {"step": 0.4}}},
    ):
        assert dataclasses.replace(learner, **change).fingerprint_in(task) != own
    elsewhere = {**learner.published, "others-v0": {"step": 0.4}}
    assert dataclasses.replace(learner, published=elsewhere).fingerprint_in(task) == own


def test_settings_are_the_published_one_and_random_ones_in_their_space(task, learner):
    four, many = learner.tried(task, 4), learner.tried(task, 200)
    assert four == many[:4] and four[0] == {}
    steps = np.array([one["step"] for one in many[1:]])
    assert (steps >= 0.01).all() and (steps <= 1.0).all()
    assert np.median(steps) == pytest.approx(0.1, rel=0.5)  # uniform in the logarithm
    other = dataclasses.replace(task, name="others-v0")
    assert learner.tried(other, 4)[1:] != four[1:]
    assert dataclasses.replace(learner, space={}).tried(task, 4) == [{}]
    factors = dataclasses.replace(learner, space={"step": {"factor": [0.5, 2.0]}})
    found = np.array([one["step"] for one in factors.tried(task, 50)[1:]])
    assert (found >= 0.15 - 1e-9).all() and (found <= 0.6 + 1e-9).all()  # 0.3 is published


def test_later_hyperparameters_win_and_levels_scale(task, learner):
    task = dataclasses.replace(
        task, settings={"short_term": "served_gap", "unknown": 1}, family={"toys": {"walks": 7}}
    )
    assert learner.hyperparameters(task) == {"short_term": "served_gap", "walks": 10, "step": 0.3}
    assert learner.hyperparameters(task, {"step": 0.5})["step"] == 0.5
    own = dataclasses.replace(learner, settings={}, published={}, family="toys", scales=("step",))
    assert own.hyperparameters(task, None, 3.0) == {
        "short_term": "served_gap",
        "walks": 7,
        "step": pytest.approx(0.3),  # three times the algorithm's default
    }
    with pytest.raises(FairgymError, match="unknown hyperparameter 'stop' of paced"):
        dataclasses.replace(learner, settings={"stop": 1}).hyperparameters(task)


def test_runs_are_as_long_as_the_budget(task, learner):
    """1,000 steps in updates of 10 walks of 5 steps each."""
    assert learner.config(task, None, 0.2, 1.0).algorithm_args["epochs"] == 20
    assert learner.config(task, None, 0.2, 0.25).algorithm_args["epochs"] == 5
    assert learner.config(task, None, 0.2, 0.0).algorithm_args["epochs"] == 1
    config = learner.config(task, {"step": 0.7}, 0.2, 1.0)
    assert config.algorithm_args["step"] == 0.7
    assert config.objective == {"weights": {"waiting": 0.2, "served_gap": 0.8}}
    scaled = dataclasses.replace(learner, scales=("step",), levels=(2.0,))
    assert scaled.config(task, None, 2.0, 1.0).objective == {"weights": {"waiting": 1.0}}


def test_a_learner_that_does_not_tell_its_steps_is_refused(task):
    with pytest.raises(FairgymError, match=r"toy must have a method steps_per_update\(env\)"):
        learner_of("toy").config(task, None, 0.5, 1.0)
    assert "steps_per_update" in learner_of("toy").refusal(task)
    assert learner_of("paced:Paced").refusal(task) == ""
    assert learner_of("fairgym.algorithms.ppo:Ppo") == learner_of("ppo")


@pytest.mark.parametrize(
    "name, message",
    [
        ("f-mapo", "unknown algorithm 'f-mapo'.*did you mean 'f-mappo'"),
        ("paced:Nobody", "the module 'paced' has no 'Nobody'"),
        ("nowhere:Nobody", "there is no module 'nowhere'"),
        ("paced:row", "must be registered as an algorithm"),
    ],
)
def test_an_unknown_learner_is_refused(name, message):
    with pytest.raises(FairgymError, match=message):
        learner_of(name)


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("[0.2, 0.8]", "[0.2, 1.8]", "levels must be weights from 0 to 1"),
        ("[0.2, 0.8]", "[]", "levels must be numbers from 0"),
        ("low = 0.01", "lowest = 0.01", "unknown key 'lowest' of 'step'"),
        ('"paced:Paced"', "7", "algorithm must be text, got a number"),
    ],
)
def test_a_wrong_learner_is_refused(tmp_path, old, new, message):
    path = tmp_path / "walker.toml"
    path.write_text(paced.LEARNER.replace(old, new, 1))
    with pytest.raises(FairgymError, match=message):
        learner_of(str(path))
