"""Custom weights and metrics, from the configuration to the report."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any, cast

import jax
import numpy as np
import pytest
import toy_algorithm  # noqa: F401 - registers itself
import two_servers  # noqa: F401 - as well
import yaml

import fairgym
from fairgym.cli import main
from fairgym.config import RunConfig
from fairgym.core import FairgymError, PopulationEnvironment
from fairgym.fairness import Gini, GroupRatio, Objective, Rate, WorstGroup
from fairgym.policies import fixed_policies
from fairgym.report import write_report
from fairgym.sweeps import folder_name, label_of
from fairgym.training import devices, evaluate, load, train
from fairgym.training.comparison import compare
from fairgym.training.run import load_runs

WEIGHTS = {"profit": 1, "wait_disparity": 2}
ACCESS = Rate("disbursed", "applied")
FURTHER = {
    "weights": {"profit": 1, "worst_access": 2},
    "metrics": {
        "worst_access": {
            "type": "WorstGroup",
            "rate": {"numerator": "disbursed", "denominator": "applied"},
        },
        "access_gini": {"type": "Gini", "rate": "admission_rate", "title": "Gini of admission"},
    },
}
# The same for two queues, in which all runs here are: they compile quickly.
SERVED = Rate("served", "arrived")
QUEUES = {
    "weights": {"waiting": 1, "worst_served": 2},
    "metrics": {
        "worst_served": {
            "type": "WorstGroup",
            "rate": {"numerator": "served", "denominator": "arrived"},
        },
        "served_gini": {"type": "Gini", "rate": "served_rate", "title": "Gini of service"},
    },
}
LOAN: Any = RunConfig("loan", {"population": 60, "horizon": 20})


def walk(**changes):
    """A run that learns nothing; its policies run the program of the baseline."""
    return RunConfig("two_servers", algorithm="toy", algorithm_args={"epochs": 1}, **changes)


@pytest.fixture(scope="module")
def further(small, tmp_path_factory):
    """A finished run with two further metrics; not to be written to."""
    config = dataclasses.replace(small, objective=QUEUES)
    return train(config, tmp_path_factory.mktemp("own") / "further")


class TestConfiguration:
    def test_weights_are_the_objective(self):
        job = dataclasses.replace(LOAN, objective=WEIGHTS).build()
        assert job.objective == Objective.weighted(job.env, {"profit": 1.0, "wait_disparity": 2.0})
        assert job.config.objective == {"profit": 1.0, "wait_disparity": 2.0}
        assert isinstance(job.env, PopulationEnvironment)  # nothing is put around it

    def test_an_objective_in_python_becomes_plain_data(self):
        env = fairgym.make("loan", population=60, horizon=20)
        metrics = {**env.metrics, "worst_access": WorstGroup(ACCESS)}
        objective = Objective(metrics, {"worst_access": 2.0, "profit": 1.0})
        config = dataclasses.replace(LOAN, objective=objective)
        assert RunConfig(**config.as_json()) == config
        job = config.build()
        assert job.objective == Objective(metrics, {"profit": 1.0, "worst_access": 2.0})
        assert list(job.env.metrics) == [*env.metrics, "worst_access"]
        assert job.env.unwrapped == env
        assert (
            dataclasses.replace(LOAN, objective=Objective.weighted(env, WEIGHTS)).objective
            == WEIGHTS
        )

    def test_what_cannot_be_written_is_refused_at_once(self):
        env = fairgym.make("loan", population=60, horizon=20)
        with pytest.raises(FairgymError, match=r"bounds.*give them as bounds of the run"):
            dataclasses.replace(LOAN, objective=Objective.uniform(env).bounded(0.1))

    def test_a_complete_configuration_builds_to_itself(self):
        for objective in (WEIGHTS, FURTHER, {**WEIGHTS, "profit": 0}):
            complete = dataclasses.replace(LOAN, objective=objective).build().config
            assert complete.build().config == complete
            assert RunConfig(**complete.as_json()) == complete

    def test_agents_with_weights_of_their_own(self):
        own = {"admissions": WEIGHTS, "disbursement": FURTHER}
        job = dataclasses.replace(LOAN, objectives=own, bounds={"default_disparity": 0.1}).build()
        env = fairgym.make("loan", population=60, horizon=20)
        assert list(job.env.metrics) == [*env.metrics, "access_gini", "worst_access"]
        assert job.objective["admissions"].weights == {"profit": 1.0, "wait_disparity": 2.0}
        assert job.objective["disbursement"].weights == {"profit": 1.0, "worst_access": 2.0}
        uniform = Objective.uniform(env).bounded({"default_disparity": 0.1})
        assert job.objective["debt_management"].weights == uniform.weights  # of its own metrics
        assert all(o.bounds == {"default_disparity": 0.1} for o in job.objective.values())
        assert job.config.build().config == job.config
        assert job.config.objectives["debt_management"] == "uniform"

    def test_two_meanings_of_a_name_are_refused(self):
        other = {
            "weights": {"profit": 1},
            "metrics": {"worst_access": {"type": "WorstGroup", "rate": "admission_rate"}},
        }
        config = dataclasses.replace(
            LOAN, objectives={"admissions": FURTHER, "disbursement": other}
        )
        with pytest.raises(FairgymError, match="metric 'worst_access' exists already"):
            config.build()

    def test_a_bound_on_a_further_metric(self):
        job = dataclasses.replace(LOAN, objective=FURTHER, bounds={"access_gini": 0.1}).build()
        assert job.objective.bounds == {"access_gini": 0.1}

    def test_the_example_of_the_docs(self):
        page = (Path(__file__).parents[2] / "docs" / "own-metric.md").read_text(encoding="utf-8")
        (block,) = re.findall(r"```yaml\n(environment: .*?)```", page, re.DOTALL)
        assert len(block.splitlines()) <= 10
        job = RunConfig.from_mapping(yaml.safe_load(block)).build()
        own = fairgym.make("loan_simple").metrics
        assert cast(Objective, job.objective).weights == {"profit": 1.0, "access_disparity": 2.0}
        assert [n for n in job.env.metrics if n not in own] == [
            "access_disparity",
            "worst_admission",
        ]

    def test_names_of_experiments_folders(self):
        weighted = dataclasses.replace(LOAN, objective=WEIGHTS).build().config
        other = dataclasses.replace(LOAN, objective={**WEIGHTS, "profit": 3}).build().config
        assert folder_name(weighted).startswith("loan-f-macem-weighted-")
        assert folder_name(weighted) != folder_name(other)
        assert label_of(weighted) == "loan, f-macem, profit=1,wait_disparity=2"


class TestRuns:
    def test_equal_weights_learn_what_uniform_learns(self, small, finished, tmp_path):
        env = finished.env
        same = dict.fromkeys(reversed(env.metrics), 1 / len(env.metrics))
        run = train(dataclasses.replace(small, objective=same), tmp_path / "x")
        for mine, other in zip(
            *map(jax.tree.leaves, (run.policies, finished.policies)), strict=True
        ):
            np.testing.assert_array_equal(mine, other)
        assert run.summary["objective"] == finished.summary["objective"]

    def test_further_metrics_are_logged_after_the_environments(self, further, finished):
        names = [key for key in further.metrics[0] if key.startswith("metrics/")]
        own = [key for key in finished.metrics[0] if key.startswith("metrics/")]
        assert names == [*own, "metrics/served_gini", "metrics/worst_served"]
        assert list(further.summary["metrics"])[-2:] == ["served_gini", "worst_served"]
        assert further.summary["objective_name"] == "waiting=1,worst_served=2"
        line = further.metrics[-1]
        normaliser = further.env.metrics["waiting"].normaliser
        by_hand = line["metrics/waiting"] / normaliser + 2 * line["metrics/worst_served"]
        assert line["objective"] == pytest.approx(by_hand, rel=1e-5)

    def test_they_are_read_back(self, further):
        again = load(further.folder)
        assert again.config == further.config
        assert cast(Objective, again.objective).metrics["worst_served"] == WorstGroup(SERVED)
        assert again.env.metrics["served_gini"].title == "Gini of service"
        content = json.loads((further.folder / "config.json").read_text())
        assert content["objective"]["weights"] == {"waiting": 1.0, "worst_served": 2.0}

    def test_evaluate_measures_what_its_objective_brings(self):
        """In a system of people; against NumPy, from the sums of the components."""
        env = fairgym.make("loan_simple", population=60, horizon=5)
        own = {
            "worst_access": WorstGroup(ACCESS),
            "access_gini": Gini(env.metrics["admission_rate"]),
            "ratio": GroupRatio(ACCESS),
        }
        found = evaluate(
            env,
            env.default_params,
            fixed_policies(env, dict.fromkeys(env.agents, "random")),
            jax.random.key(1),
            4,
            objective=Objective({**env.metrics, **own}, {"ratio": 1.0}),
            discount=0.9,
            trace=True,
            people_episodes=2,
        )
        assert list(found.metrics) == [*env.metrics, *own]
        access = np.asarray(found.totals.disbursed) / np.asarray(found.totals.applied)
        np.testing.assert_allclose(found.metrics["worst_access"], access.min(axis=1), rtol=1e-5)
        ratio = access.min(axis=1) / access.max(axis=1)
        np.testing.assert_allclose(found.metrics["ratio"], ratio, rtol=1e-5)
        np.testing.assert_array_equal(found.metrics["ratio"], found.objective)
        admitted = np.asarray(found.totals.approved) / np.asarray(found.totals.applied)
        low, high = np.sort(admitted, axis=1).T
        by_hand = -(high - low) / (2 * (high + low))
        np.testing.assert_allclose(found.metrics["access_gini"], by_hand, rtol=1e-4, atol=1e-6)
        assert len(found.people_start["group"]) == 2 and found.trace is not None

    def test_resume_is_bit_equal_and_refuses_other_weights(self, small, further, results, tmp_path):
        def stopped(epoch, *_):
            if epoch == 1:
                raise KeyboardInterrupt

        config = dataclasses.replace(small, objective=QUEUES)
        with pytest.raises(KeyboardInterrupt):
            train(config, tmp_path / "x", progress=stopped)
        other = {**QUEUES, "weights": {"waiting": 1, "worst_served": 3}}
        for objective in (other, "uniform", {"waiting": 1, "served_gap": 2}):
            with pytest.raises(FairgymError, match=r"objective.* resume needs the same"):
                train(dataclasses.replace(small, objective=objective), tmp_path / "x", resume=True)
        train(config, tmp_path / "x", resume=True)
        assert results(tmp_path / "x") == results(further.folder)

    def test_runs_side_by_side_are_measured_alike(self, tmp_path):
        """One objective has metrics that the other one lacks."""
        plain = train(walk(), tmp_path / "plain")
        further = train(walk(objective=QUEUES), tmp_path / "further")
        runs = load_runs(plain.folder, further.folder)
        first, second = compare([("a", [runs[0]]), ("b", [runs[1]])], 4, 1)
        for comparison in (first, second):
            for one in comparison.policies:
                assert list(one.evaluations[0].metrics) == list(further.env.metrics)
        assert first.learned[0].evaluations[0].metrics.keys() == further.env.metrics.keys()
        assert list(plain.env.metrics) == list(further.env.metrics)[:-2]
        lone = compare([("a", [plain]), ("b", [further])], 4, 1)  # not read together
        assert list(lone[0].baselines[0].evaluations[0].metrics) == list(plain.env.metrics)
        assert list(lone[1].baselines[0].evaluations[0].metrics) == list(further.env.metrics)

    @pytest.mark.full
    def test_the_report_shows_them(self, further, finished, tmp_path):
        page = write_report(
            [finished.folder, further.folder], tmp_path / "r.html", episodes=2, worlds=False
        )
        text = page.read_text()
        assert "Worst served" in text and "Gini of service" in text
        assert "waiting=1, worst_served=2" in text
        assert "weights: waiting 1, worst served 2" in text


class TestCommandLine:
    @pytest.fixture(autouse=True)
    def here(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(devices, "configure", lambda: None)
        return tmp_path

    def test_weights_by_flag(self, capsys):
        words = "train two_servers --algorithm toy --epochs 1".split()
        assert main([*words, "--objective", "waiting=1,served_gap=2"]) == 0
        run = load("runs/two_servers-toy-weighted")
        assert run.config.objective == {"waiting": 1.0, "served_gap": 2.0}
        capsys.readouterr()
        assert main(["train", "--resume", "--out", str(run.folder)]) == 0
        assert main(["evaluate", str(run.folder), "--episodes", "4"]) == 0
        assert "(weighted)" in capsys.readouterr().out

    def test_further_metrics_by_file(self, here, capsys):
        content = {"environment": "two_servers", "algorithm": "toy", "objective": QUEUES}
        (here / "own.yaml").write_text(yaml.safe_dump(content))
        assert main(["train", "--config", "own.yaml", "--epochs", "1", "--out", "x"]) == 0
        assert main(["train", "--resume", "--out", "x"]) == 0
        capsys.readouterr()
        assert main(["evaluate", "x", "--episodes", "4", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        worst = [one["policy"] for one in found["results"] if one["measure"] == "worst_served"]
        assert worst == [one["policy"] for one in found["policies"]]
        assert main(["evaluate", "x", "--episodes", "4", "--all"]) == 0
        assert "Worst served" in capsys.readouterr().out

    def test_weights_of_one_agent_by_flag(self):
        from fairgym.cli.train import plan_of

        plan = plan_of("loan --agent-objective admissions=profit=1,wait_disparity=2".split())
        assert plan.config.objectives == {"admissions": {"profit": 1.0, "wait_disparity": 2.0}}

    def test_every_agent_has_the_terms_that_concern_it(self):
        """Insurer, hospital and planner of health: what the components are declared for."""
        job = RunConfig("health", {"population": 200}, objective="own").build()
        weighed = {agent: dict(own.weights) for agent, own in cast(Any, job.objective).items()}
        of_the_planner = [name for name in job.env.spec.terms if name != "profit"]
        assert weighed == {
            "insurer": dict.fromkeys(["profit", "insured_rate", "insured_disparity"], 1 / 3),
            "hospital": dict.fromkeys(["mortality_rate", "mortality_disparity"], 1 / 2),
            "planner": dict.fromkeys(of_the_planner, 1 / 6),
        }
        again = job.config.build()
        assert again.config == job.config and again.objective == job.objective

    def test_one_agent_may_want_something_else(self):
        given = {"insurer": {"profit": 1.0}}
        job = RunConfig("health", {"population": 200}, objective="own", objectives=given).build()
        (insurer, hospital, _) = (dict(own.weights) for own in cast(Any, job.objective).values())
        assert insurer == {"profit": 1.0}
        assert hospital == dict.fromkeys(["mortality_rate", "mortality_disparity"], 1 / 2)

    @pytest.mark.parametrize("name", ["own:bank", "own:", "own"])
    def test_own_objectives_are_of_agents(self, name):
        with pytest.raises(FairgymError, match="own:AGENT with AGENT one of admissions, disb"):
            Objective.named(fairgym.make("loan", population=60), name)

    def test_a_flag_replaces_the_files_objective(self, here):
        from fairgym.cli.train import plan_of

        (here / "a.yaml").write_text("objective: {profit: 1}\nenvironment: loan\n")
        assert plan_of("--config a.yaml".split()).config.objective == {"profit": 1}
        over = plan_of("--config a.yaml --objective direct".split())
        assert over.config.objective == "direct"

    @pytest.mark.parametrize(
        ("objective", "message"),
        [
            ("--objective profits=1", "unknown metric 'profits' .*; did you mean 'profit'"),
            (
                "--objective insured_rate=1",
                "unknown metric 'insured_rate' in the objective for loan",
            ),
            ("--objective profit=much", "must be METRIC=NUMBER, got 'profit=much'"),
            ("--objective =", "must be METRIC=NUMBER, got '='"),
            ("--agent-objective admissions=profits=1", "unknown metric 'profits'"),
            ("{}", "without a weight"),
            ("{profit: a lot}", "weight of 'profit' must be a number.*got 'a lot'"),
            ("{profit: .inf}", "weight of 'profit' must be a number.*got inf"),
            ("[profit]", "objective must be a name, or weights.*got .*"),
            ("{weights: {x: 1}, metrics: {x: {type: Gini}}}", "'x' is not complete"),
            (
                "{weights: {x: 1}, metrics: {x: {type: Direct, component: loans}}}",
                "must be a component .*, got 'loans'",
            ),
        ],
    )
    def test_bad_objectives_are_one_sentence_and_nothing_is_written(
        self, objective, message, here, capsys
    ):
        words = ["train", "loan", "--out", "x"]
        if objective.startswith("--"):
            words += objective.split(" ", 1)
        else:
            (here / "bad.yaml").write_text(f"objective: {objective}\n")
            words += ["--config", "bad.yaml"]
        assert main(words) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1 and len(error) < 600, error
        assert re.search(message, error), error
        assert not (here / "x").exists() and not (here / "runs").exists()


def test_gini_of_two_groups_in_a_run_is_at_most_a_half(further):
    assert isinstance(further.env.metrics["served_gini"], Gini)
    assert all(-0.5 <= line["metrics/served_gini"] <= 0 for line in further.metrics)
