"""Runs of F-PPO with massaging after their training: from folders, and from the command line."""

import dataclasses
import json

import jax
import numpy as np
import pytest

import fairgym
from fairgym.cli import main
from fairgym.config import RunConfig
from fairgym.core import FairgymError
from fairgym.policies import sampled
from fairgym.training import devices, train
from fairgym.training.run import initial_state

LEARNER = {
    "num_envs": 2,
    "num_steps": 20,
    "num_minibatches": 2,
    "update_epochs": 1,
    "layers": (4,),
    "critic_layers": (4,),
    "evaluation_episodes": 1,
    "episodes_per_epoch": 4,  # of 40 steps: four rounds
    "epochs": 2,
}
MASSAGING = {"short_term": "tpr_disparity", "window": 15, "threshold_start": 2}
F_PPO = LEARNER | MASSAGING | {"threshold_rate": 0.9}
CONFIG = RunConfig(
    "bank_loans",
    environment_args={"horizon": 40},
    algorithm="f-ppo",
    algorithm_args=F_PPO,
    memory="window",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run whose bank is shown the window of the system, which is longer than that of F-PPO."""
    return train(CONFIG, tmp_path_factory.mktemp("massaged") / "x")


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A run of PPO."""
    changes = {"algorithm": "ppo", "algorithm_args": LEARNER | {"epochs": 1}, "memory": ""}
    return train(dataclasses.replace(CONFIG, **changes), tmp_path_factory.mktemp("plain") / "x")


@pytest.mark.full
def test_tau_is_that_of_the_last_round(run):
    learner, state = run.job.algorithm, initial_state(run.job)
    for updates in (1, 2):
        state, _ = learner.update(state)
        found = learner.last_tau(run.job.env, updates)
        last = int(state.carried["rounds"]) - 1
        assert last == 4 * updates - 1
        assert found == pytest.approx(1.0 - 0.9 ** (last - 2))
    assert float(run.massaged()[1]["bank"].threshold) == found == learner.last_tau(run.job.env)


@pytest.mark.full
def test_a_run_in_its_own_environment_and_in_a_longer_one(run):
    """Its loans are the fairest in its own window, since an untrained network allows any."""
    longer = dataclasses.replace(run.env.unwrapped, horizon=60)
    longer = fairgym.wrappers.augmented(longer, "window")
    chance = np.array(run.params.repayment)
    for env, horizon in ((None, 40), (longer, 60)):
        env, policies = run.massaged(env)
        assert env.horizon == horizon and env.metrics.keys() == run.env.metrics.keys()
        found = run.evaluate(2, 5, env=env, policies=policies, trace=True)
        for episode in range(2):
            rows = np.concatenate(
                [found.trace.successful[episode], found.trace.would_repay[episode]], axis=1
            )
            applicants, changed = found.trace.applicants[episode], 0
            assert len(rows) == horizon
            for step in range(horizon):
                past = rows[max(0, step - 14) : step].sum(axis=0)
                (group,), (score,) = np.nonzero(applicants[step])
                unfair = []
                for option in (0, 1):
                    sums = past.copy()
                    sums[[group, 2 + group]] += np.array([option, 1]) * chance[score]
                    rates = np.divide(sums[:2], sums[2:], out=np.zeros(2), where=sums[2:] > 0)
                    unfair.append(abs(rates[0] - rates[1]))
                if abs(unfair[0] - unfair[1]) > 1e-5:
                    approved = found.trace.approved[episode][step].sum()
                    assert approved == np.argmin(unfair), step
                    changed += 1
            assert changed > 10


@pytest.fixture
def command(monkeypatch):
    """The command line, with JAX as the tests have set it up."""
    monkeypatch.setattr(devices, "configure", lambda: None)
    monkeypatch.setenv("COLUMNS", "300")
    return main


def means_of(document):
    """(policy, measure) -> mean."""
    rows = [row for row in document["results"] if row["kind"] == "measure"]
    return {(row["policy"], row["measure"]): row["mean"] for row in rows}


def test_evaluate_massages(run, command, capsys):
    arguments = ["evaluate", str(run.folder), "--massage", "--episodes", "3", "--seed", "4"]
    assert command([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    policies = [one["policy"] for one in document["policies"]]
    assert policies == ["learned, massaged", "threshold", "everybody", "random"]
    found = means_of(document)
    env, policies = run.massaged()
    evaluation = fairgym.evaluate(
        env, run.params, policies, jax.random.key(4), 3, objective=run.objective
    )
    for name in ("objective", *run.env.metrics):
        mean = found["learned, massaged", name]
        assert mean == pytest.approx(float(evaluation.values(name).mean()), abs=1e-6)
    without = run.evaluate(3, 4)
    assert without.interval("profit") != evaluation.interval("profit")


@pytest.mark.full
def test_evaluate_samples(run, command, capsys):
    arguments = ["evaluate", str(run.folder), "--sample", "--massage", "--episodes", "3", "--json"]
    assert command(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    first = "learned, sampled, massaged"
    assert document["policies"][0]["policy"] == first
    env, policies = run.massaged(policies=sampled(run.env, run.policies))
    found = run.evaluate(3, env=env, policies=policies)
    assert means_of(document)[first, "profit"] == pytest.approx(found.values("profit").mean())


def test_other_observations_are_refused(run):
    with pytest.raises(FairgymError, match="'bank' observes something else"):
        run.massaged(run.env.unwrapped)


@pytest.mark.full
def test_runs_without_massaging_are_refused(run, plain, command, capsys, tmp_path):
    assert command(["evaluate", str(run.folder), str(plain.folder), "--massage"]) == 2
    error = capsys.readouterr().err
    assert f"{plain.folder} is a run of ppo; massage needs a run of f-ppo that was trained" in error
    assert "measuring" not in error
    for changes, message in (
        ({"massage": False}, "is a run of f-ppo; massage needs a run of f-ppo that"),
        ({"threshold_start": 100}, "f-ppo; it ended before massaging began; massage needs"),
    ):
        other = dataclasses.replace(CONFIG, algorithm_args=F_PPO | changes)
        with pytest.raises(FairgymError, match=message):
            dataclasses.replace(run, config=other).massaged(policies=run.policies)


WINDOWS = {"attention": ["sent"], "epidemic": ["newly_infected", "vaccinated"]}


@pytest.mark.parametrize("name", WINDOWS)
def test_the_window_is_shown_by_name(name, command, capsys):
    env = RunConfig(name, algorithm="ppo", memory="window").build().env
    (agent,) = env.agents
    context = env.observation_space(agent).context
    entries = range(len(env.spec.groups))
    assert [one.name for one in context] == [
        f"window_{x}_{i}" for x in WINDOWS[name] for i in entries
    ]
    assert command(["train", name, "--memory", "windows", "--algorithm", "ppo"]) == 2
    assert "unknown memory 'windows'; did you mean 'window'?" in capsys.readouterr().err


@pytest.mark.full
@pytest.mark.parametrize("name", WINDOWS)
def test_with_a_window_it_is_trained_and_measured(name, command, tmp_path):
    """Training with `--memory window`, and the rules of the system beside what is learned."""
    out = str(tmp_path / "x")
    sizes = [
        f"--{key.replace('_', '-')}={value}" for key, value in LEARNER.items() if key != "layers"
    ]
    sizes = [size.replace("(4,)", "4") for size in sizes]
    flags = ["--algorithm", "ppo", "--memory", "window", "--horizon", "5", "--out", out]
    assert command(["train", name, *flags, *sizes, "--layers", "4", "--epochs", "1"]) == 0
    assert command(["evaluate", out, "--episodes", "2"]) == 0
    assert fairgym.load(out).config.memory == "window"
