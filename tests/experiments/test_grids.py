"""Every registered experiment, as declared."""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from stand_ins import stand_in

from fairgym.algorithms import algorithms
from fairgym.benchmark.task import task_names
from fairgym.core import FairgymError
from fairgym.experiments import Experiment, Size, experiments
from fairgym.experiments._base import QUICK
from fairgym.experiments.fairqcm import _choices
from fairgym.experiments.fairqcm.tuning import DEEP, drawn
from fairgym.experiments.mafe import _tuned
from fairgym.experiments.mafe.fig7 import LITERAL
from fairgym.experiments.mafe.fig8 import fixed_policy
from fairgym.experiments.mafe.learners import LEARNERS, SYSTEMS
from fairgym.policies import fixed_policies
from fairgym.training.run import Run
from fairgym.utils import make

FAIRQCM = [f"fairqcm-fig{n}" for n in (2, 3, 4, 5)]
ROOT = Path(__file__).parents[2]
PAGES = {
    path.stem: name
    for path in sorted((ROOT / "docs" / "results").glob("*.md"))
    if (name := re.sub("-(quick|full)$", "", path.stem)) in experiments
}
NOTHING_TO_SAY = ("mafe-fig5", "fairqcm-fig1")  # all of their claims hold
NAMES = [f"mafe-fig{n}" for n in range(5, 12)] + ["mafe-table9"]


def test_all_are_found_by_their_modules():
    assert set(NAMES) <= set(experiments.names())
    assert not any(name.startswith("_") for name in experiments.names())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_its_grid_builds(name, scale):
    experiment = experiments.get(name)()
    assert isinstance(experiment, Experiment)
    assert experiment.title and experiment.source and experiment.claim
    size = experiment.size(scale)
    built = {}
    for key, config in experiment.grid(size).items():
        job: Any = config.build()
        built[key] = str(job.config.as_json())
        if job.config.algorithm == "grid-search":
            assert job.env.population == size.people
            continue
        assert job.algorithm.epochs == size.epochs
        if job.env.name == "loan_simple":  # is small by itself
            assert job.algorithm.episodes_per_epoch == (45 if scale == "quick" else 100)
            continue
        assert job.algorithm.episodes_per_epoch == size.episodes
        assert job.env.population == size.people
    assert len(set(built.values())) == len(built), "no configuration twice"


@pytest.mark.parametrize("name", FAIRQCM)
def test_grids_of_memories_build_with_the_published_numbers(name):
    experiment = experiments.get(name)()
    size = experiment.size("paper")
    assert size.seeds == 20  # the paper has ten; runs are short
    grid = experiment.grid(size)
    built = {key: config.build() for key, config in grid.items()}
    untuned = [job for key, job in built.items() if not key.startswith("equal tuning")]
    assert len({str(job.config.as_json()) for job in untuned}) == len(untuned)
    tabular = name == "fairqcm-fig4"
    for key, job in built.items():
        setting, _, label = key.partition(": ")
        if setting == "equal tuning":  # may be the published settings
            continue
        algorithm: Any = job.algorithm
        assert job.config.objective == "published"
        published = setting == "published settings"
        time_seen = not published and name != "fairqcm-fig2"
        assert job.env.unwrapped.shows_time == time_seen
        assert algorithm.bootstrap_truncated == (not time_seen)
        lending = job.env.name == "lending_pool"
        assert job.env.horizon == (40 if lending else 12 if tabular else 100)
        steps = algorithm.steps_per_epoch if tabular else 10 * job.env.horizon
        assert algorithm.epochs * steps == (100_000 if tabular else 1_000 * job.env.horizon)
        if not published:
            continue
        if tabular:
            assert (algorithm.gamma, algorithm.learning_rate) == (0.99, 0.1)
            continue
        # tables 1 and 2: learning rate, replay buffer, batch
        numbers = {
            False: {"RNN": (2e-3, 1_000, 256), "FairQCM": (1e-4, 6_400, 2_048)},
            True: {"RNN": (5e-3, 2_000, 512), "FairQCM": (1e-4, 8_000, 512)},
        }[lending].get(label, (1e-4, 1_000 if lending else 400, 64))
        assert algorithm.gamma == 0.95
        assert (algorithm.learning_rate, algorithm.buffer_size, algorithm.batch_size) == numbers


@pytest.mark.parametrize("name", FAIRQCM)
def test_the_caption_states_the_better_settings(name):
    """The caption names every changed number, except that of exploration."""
    experiment = experiments.get(name)()
    told = ("batch_size", "buffer_size", "gamma", "learning_rate", "target_network_frequency")
    for learner in experiment.learners.values():
        published: Any = experiment.config(Size(epochs=1), learner).build().algorithm
        for field, value in (learner.better or {}).items():
            if field in told and value != getattr(published, field):
                assert f" {value:,}" in experiment.better_words, field
    for learner in experiment.learners.values():
        if learner.algorithm == "drqn":
            steps = algorithms.get("drqn")(**learner.arguments).gradient_steps
            assert steps == 10 and "ten gradient steps" in experiment.further_words


TUNED = {"choices": {"fairqcm-fig4": {"Full": {"gamma": 1.0}}}, "tried": 4, "seeds": [7, 8]}


def test_equal_tuning_is_a_third_condition_where_choices_are_stored(tmp_path, monkeypatch):
    monkeypatch.setattr(_choices, "FILE", tmp_path / "tuned.json")
    experiment = experiments.get("fairqcm-fig4")()
    size = experiment.size("quick")
    _choices._content.cache_clear()
    assert not any(key.startswith("equal tuning") for key in experiment.grid(size))
    (tmp_path / "tuned.json").write_text(json.dumps(TUNED))
    _choices._content.cache_clear()
    grid = experiment.grid(size)
    (key,) = (key for key in grid if key.startswith("equal tuning"))
    job = grid[key].build()
    assert key == "equal tuning: Full" and job.algorithm.gamma == 1.0
    assert job.env.unwrapped.shows_time, "in the environment of the better settings"
    assert "the best of 4 settings" in _choices.words() and "2 other seeds" in _choices.words()
    _choices._content.cache_clear()


@pytest.mark.parametrize("name", FAIRQCM)
def test_every_memory_is_tuned_with_as_many_settings(name):
    """The published ones among them, and the same draws where hyperparameters are shared.

    All draws of deep learners begin to learn after as many experiences, whatever their buffers.
    """
    figure = experiments.get(name)
    every = {label: drawn(figure, learner, 5) for label, learner in figure.learners.items()}
    assert {"FairQCM", "Full", "Min", "None"} <= set(every)
    for label, settings in every.items():
        assert len(settings) == 5 and settings[0] == {}
        for number, setting in enumerate(settings):
            same = {key: setting[key] for key in setting.keys() & every["Full"][number].keys()}
            assert same == {key: every["Full"][number][key] for key in same}
            assert ("offsets" in setting) == (label == "FairQCM" and number > 0)
            if number and name != "fairqcm-fig4":
                assert setting["learning_starts"] < min(DEEP["buffer_size"])
    size = experiments.get("fairqcm-tuning").sizes["paper"]
    seeds = experiments.get("fairqcm-tuning")().seeds(size)
    assert not set(seeds) & set(figure().seeds(figure.sizes["paper"]))


def test_equal_tuning_and_recurrent_networks_have_fewer_seeds():
    deep, tabular = (experiments.get(f"fairqcm-{name}")() for name in ("fig2", "fig4"))
    size = deep.sizes["paper"]
    assert len(deep.seeds_of("equal tuning: Full", size)) == 10
    assert len(deep.seeds_of("better settings: Full", size)) == size.seeds == 20
    settings = ("published settings", "better settings", "equal tuning")
    assert [len(deep.seeds_of(f"{s}: RNN", size)) for s in settings] == [10, 5, 10]
    assert list(deep.seeds_of("better settings: RNN", size)) == [0, 1, 2, 3, 4]
    assert len(tabular.seeds_of("equal tuning: Full", tabular.sizes["paper"])) == 20


def test_the_choice_is_the_setting_with_the_best_mean():
    experiment = experiments.get("fairqcm-tuning")()
    settings = [{}, {"gamma": 0.5}, {"gamma": 0.8}]
    scores = np.array([[1.0, 1.0], [0.0, 4.0], [3.0, 0.0]])
    one = {"Full": {"settings": settings, "scores": scores}}
    outcome = experiment.conclude(
        {"figures": {"fairqcm-fig4": one}, "seeds": [1_000, 1_001], "tried": 3}
    )
    made = json.loads(outcome.files["tuned.json"])
    assert made["choices"] == {"fairqcm-fig4": {"Full": {"gamma": 0.5}}}
    assert made["tried"] == 3 and made["seeds"] == [1_000, 1_001]
    assert [row[-1] for row in outcome.tables[0].rows] == ["1.00", "**2.00**", "1.50"]


def test_paper_is_the_published_size():
    for name in NAMES:
        size = experiments.get(name).sizes["paper"]
        ten = ("mafe-fig6", "mafe-fig7", "mafe-fig8", "mafe-fig10")
        assert size.seeds == (10 if name in ten else 5)
        if size.epochs is not None:
            people = 300 if name == "mafe-fig11" else 1_000  # settings are tuned with 300
            assert (size.people, size.epochs, size.episodes) == (people, 40, 100)
    weights = experiments.get("mafe-fig9").sizes["paper"].weights
    assert weights == (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)  # the paper samples them
    horizons = {
        config.environment: config.build().env.horizon
        for config in experiments.get("mafe-fig7")().grid(QUICK).values()
    }
    assert horizons == {"loan": 400, "health": 100, "education": 100}


@pytest.mark.parametrize("scale", ["quick", "paper"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_learners_differ_only_in_their_fairness_method(name, scale, monkeypatch):
    """Equal numbers of steps, up to one round, and the hyperparameters of F-MAPPO."""
    monkeypatch.setattr(_tuned, "better_of", lambda *_: None)
    experiment = experiments.get("mafe-learners")()
    size = experiment.size(scale)
    grid = experiment.grid(size)
    jobs: dict[str, Any] = {label: grid[f"{name}/{label}"].build() for label in LEARNERS}
    env = jobs["PPO"].env
    assert env.population == size.people and size.seeds == 5
    steps = {
        label: job.algorithm.episodes_per_epoch * env.horizon
        if label == "F-MACEM"
        else job.algorithm.rounds(env) * job.algorithm.num_envs * job.algorithm.num_steps
        for label, job in jobs.items()
    }
    own = steps.pop("F-MACEM")
    assert len(set(steps.values())) == 1
    assert steps["PPO"] == own or (scale == "paper" and steps["PPO"] > 0.95 * own)

    assert {job.algorithm.epochs for job in jobs.values()} == {size.epochs}
    like = vars(jobs["F-MAPPO"].algorithm)
    disparity, limit = SYSTEMS[name]
    assert env.metrics[disparity].kind == "fair"
    for label in ("ELBERT-PO", "A-PPO", "PPO-Lagrangian", "PPO"):
        learner = vars(jobs[label].algorithm)
        assert {key: learner[key] for key in like} == like
        assert learner["network"] == "equivariant" and not learner["bootstrap_truncated"]
        assert jobs[label].objective.weights == dict.fromkeys(["profit"], 1.0)
    for label in ("A-PPO", "PPO-Lagrangian"):
        (measure,) = jobs[label].algorithm.measures(env).values()
        assert measure.metric == env.metrics[disparity] and measure.steps == 0
    assert jobs["A-PPO"].algorithm.tolerance == jobs["PPO-Lagrangian"].algorithm.cost_limit == limit
    elbert = jobs["ELBERT-PO"].algorithm
    assert elbert.rate(env) == env.metrics[disparity].rate
    # derivative of alpha b^2 by b, at the limit, per step
    assert 2 * elbert.bias_weight * limit / env.horizon == pytest.approx(1.0)


def test_learners_have_the_presets_of_the_benchmark(monkeypatch):
    """The episodes of an epoch may be tuned; all learners still have equally many episodes."""
    found = SimpleNamespace(setting={"elite_share": 0.1, "episodes_per_epoch": 25})
    monkeypatch.setattr(
        _tuned,
        "better_of",
        lambda task, algorithm: found if (task.name, algorithm) == wanted else None,
    )
    wanted = ("loan-300-v0", "f-macem")
    plain = {"epochs": 40, "episodes_per_epoch": 100}
    for name, one, other in (
        ("mafe-fig11", "loan/f-macem", "loan/f-mappo"),
        ("mafe-learners", "loan/F-MACEM", "loan/F-MAPPO"),
    ):
        experiment = experiments.get(name)()
        grid = experiment.grid(experiment.size("paper"))
        assert grid[one].algorithm_args == found.setting | {"epochs": 160}
        assert grid[other].algorithm_args == plain
    tasks = [f"{name}-300-v0" for name in SYSTEMS]
    assert set(tasks) <= set(task_names())  # where presets are looked up


def test_experiments_share_what_they_can():
    """All agents with all terms: figures 7, 8 and 10 have the same runs."""
    size = QUICK
    fig7, fig8, fig10 = (experiments.get(f"mafe-fig{n}")().grid(size) for n in (7, 8, 10))
    assert fig7["loan/uniform"] == fig8["all trained"] == fig10["loan"]
    assert fig7["health/uniform"] == fig10["health"]
    readings = experiments.get("mafe-readings")().grid(size)
    for key, same in {
        "forgiveness/0.5 forgiven, 1.0% paid out": "loan/uniform",
        "rewards/0.5 forgiven, direct": "loan/direct",
        "rewards/0.5 forgiven, direct-fair": "loan/direct-fair",
        "borrowers/0 of the residual, uniform": "loan/uniform",
        "queues/published wait": "loan/uniform",
        "failures/loan, failed episodes last": "loan/direct-fair",
        "failures/loan, by their score": f"loan/{LITERAL}",
        "failures/education, by their score": f"education/{LITERAL}",
        "failures/health, failed episodes last": "health/direct-fair",
        "schooling/appendix H, salaries without, tuition 20,000": "education/uniform",
        "students/1 of the residual": "education/uniform",
        "care/beds by people": "health/uniform",
    }.items():
        assert readings[key] == fig7[same], key


def test_experiments_on_loan_share_runs_with_figure_7():
    """The default world and the published terms are the run of all terms."""
    size = experiments.get("mafe-fig7")().size("paper")
    shared = experiments.get("mafe-fig7")().grid(size)["loan/uniform"]
    robust, served = (experiments.get(f"mafe-{name}")().grid(size) for name in ("robust", "served"))
    assert next(iter(robust.values())) == served["1%/published terms"] == shared
    assert len({str(config.build().config.as_json()) for config in served.values()}) == 12
    assert served["2%/and the share served"].environment_args["disbursement_cap"] == 20


@pytest.mark.parametrize("name", ["readings", "ablations", "served", "robust", "two-banks", "aims"])
def test_studies_of_many_runs_have_fewer_people(name):
    experiment = experiments.get(f"mafe-{name}")()
    for config in experiment.grid(experiment.size("paper")).values():
        assert config.environment_args["population"] == 400


def test_ten_thousand_people_have_the_published_training():
    for number in (7, 8, 10):
        experiment = experiments.get(f"mafe-fig{number}")()
        full, paper = (experiment.size(scale) for scale in ("full", "paper"))
        assert full.people == 10_000 and full.held_out == paper.held_out
        assert (full.epochs, full.episodes) == (paper.epochs, paper.episodes) == (40, 100)


def test_health_terms_of_table_1_exclude_only_incidence():
    readings = experiments.get("mafe-readings")().grid(QUICK)
    ours, theirs = (readings[f"care/beds by people{end}"].build() for end in ("", ", table 1"))
    left = {"incidence_rate", "incidence_disparity"}
    assert set(theirs.objective.weights) == set(ours.objective.weights) - left
    assert len(theirs.objective.weights) == 5 and set(theirs.objective.weights.values()) == {1.0}
    assert theirs.config.params == ours.config.params
    assert theirs.config.environment_args == ours.config.environment_args


def test_the_fixed_policy_of_figure_8_is_the_median_of_the_searches():
    experiment = experiments.get("mafe-fig8")()
    env = make("loan", population=60)

    def search(thresholds, relief):
        rules = {"admissions": thresholds, "disbursement": "random", "debt_management": relief}
        return stand_in(Run, env=env, policies=fixed_policies(env, rules))

    searches = [search((0.0, 0.1), 0.2), search((0.0, 0.3), 0.4), search((0.6, 0.2), (0.3, 0.1))]
    expected = {
        "admissions": [0.0, 0.2],
        "disbursement": "random",
        "debt_management": [0.3, 0.2],
    }
    assert fixed_policy(searches) == expected
    later = experiment.then(QUICK, {"grid search": searches})
    assert list(later) == ["only admissions", "only disbursement", "only debt management"]
    for agent, config in zip(expected, later.values(), strict=True):
        fixed = config.build().config.fixed
        assert fixed == {a: value for a, value in expected.items() if a != agent}
    assert experiment.following == len(later), "all runs are counted from the start"


@pytest.mark.parametrize("stem", PAGES)
def test_the_committed_page_ends_with_the_notes(stem):
    page = (ROOT / "docs" / "results" / f"{stem}.md").read_text(encoding="utf-8")
    name = PAGES[stem]
    scale = stem.removeprefix(name).lstrip("-")
    experiment = experiments.get(name)()
    notes = experiment.notes()
    assert page.startswith(f"# {experiment.title}{scale and f' ({scale} scale)'}\n")
    assert (name in NOTHING_TO_SAY) == (notes == "")
    assert page.endswith(f"\n\n{notes}\n") if notes else "## Notes" not in page


def test_the_notes_are_in_the_wheel(tmp_path):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read("fairgym/experiments/mafe/fig7.md").decode()
    assert text.strip() == experiments.get("mafe-fig7")().notes()


def test_cuts_are_in_words():
    full = Size(people=1_000, epochs=40, seeds=5)
    assert Size(people=500, epochs=40, seeds=3).cuts(full) == [
        "500 people instead of 1,000",
        "3 seeds instead of 5",
    ]
    assert full.cuts(full) == []
    assert Size(people=300, seeds=5).cuts(Size(seeds=5)) == ["300 people instead of its own"]
    assert "weights 0, 0.5" in Size(weights=(0.0, 0.5)).words()


@pytest.mark.parametrize("seeds", [1, 0, -3, True])
def test_too_few_seeds_are_refused(seeds):
    with pytest.raises(FairgymError, match=r"seeds must be a whole number from 2.*got .*"):
        experiments.get("mafe-fig8")().size("quick", seeds)


def test_unknown_scales_are_refused():
    with pytest.raises(FairgymError, match=r"scale must be one of paper, quick.*got 'huge'"):
        experiments.get("mafe-fig8")().size("huge")
