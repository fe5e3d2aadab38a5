import contextlib
import dataclasses
import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from toy_algorithm import toy_config, toy_loan

import fairgym
from fairgym.cli import main
from fairgym.config import RunConfig
from fairgym.core import FairgymError
from fairgym.policies import fixed_policies
from fairgym.sweeps import train_seeds
from fairgym.training import devices, load, train
from fairgym.training.folder import RunFolder
from fairgym.training.run import Run

HEAD = '{"format": "fairgym-run-1", "provenance": {}'


# ------------------------------------------------------------------ what a run leaves


def test_the_folder_is_complete(finished, tmp_path):
    folder = finished.folder
    stored = json.loads((folder / "config.json").read_text())
    assert stored["environment_args"]["horizon"] == 6
    assert stored["params"]["arrivals"] == 2.0
    assert stored["algorithm_args"]["elite_share"] == 0.2
    loan = train(toy_loan(), tmp_path / "loan")
    stored = json.loads((loan.folder / "config.json").read_text())
    assert stored["environment_args"]["applicants"] == 1
    assert stored["params"]["payment_noise"] == 0.025
    origin = stored["provenance"]
    assert origin["versions"]["jax"] == jax.__version__
    assert origin["versions"]["fairgym"] == fairgym.__version__
    assert origin["device"]["count"] == jax.local_device_count()
    assert len(origin["data_checksum"]) == 64
    assert str(Path.home()) not in json.dumps(stored), "no path of this machine"

    lines = finished.metrics
    assert [line["epoch"] for line in lines] == [1, 2, 3, 4]
    for name in finished.env.metrics:
        assert {f"metrics/{name}", f"candidates/metrics/{name}"} <= set(lines[0])
    assert "actions/router/left" in lines[0]
    assert all(line["wall_time_s"] > 0 for line in lines)

    summary = finished.summary
    assert summary["objective"] == lines[-1]["objective"]
    assert summary["metrics"]["waiting"] == lines[-1]["metrics/waiting"]
    assert list(summary)[-3:] == ["started", "finished", "wall_time_s"]
    assert {p.name for p in folder.iterdir()} == {
        "config.json",
        "metrics.jsonl",
        "policy.eqx",
        "summary.json",
        "checkpoints",
    }


def test_load_gives_everything_back(finished, small):
    run = fairgym.load(finished.folder)
    assert run.env == fairgym.make("two_servers")
    assert run.params == run.env.default_params
    assert run.objective == fairgym.fairness.Objective.uniform(run.env)
    assert list(run.policies) == list(run.env.agents)
    # the mean policy, as the algorithm has it at the end
    algorithm = small.build().algorithm
    state = algorithm.init(jax.random.key(0), run.env, run.objective, params=run.params)
    latest = RunFolder(finished.folder).checkpoints.latest(state, 4, finished.config.as_json())
    assert latest is not None and latest[1] == 4
    policies = algorithm.policies(latest[0])
    for here, there in zip(
        jax.tree.leaves(run.policies),
        jax.tree.leaves({agent: policies[agent] for agent in run.env.agents}),
        strict=True,
    ):
        np.testing.assert_array_equal(here, there)


def test_a_run_measures_its_policies_as_the_command_does(finished, capsys, monkeypatch):
    monkeypatch.setattr(devices, "configure", lambda: None)
    found = fairgym.load(finished.folder).evaluate(episodes=4, seed=5)
    arguments = ["evaluate", str(finished.folder), "--episodes", "4", "--seed", "5", "--json"]
    assert main(arguments) == 0
    rows = json.loads(capsys.readouterr().out)["results"]
    told = {(r["policy"], r["measure"]): r["mean"] for r in rows if r["kind"] == "measure"}
    assert found.episodes == 4 and set(found.metrics) == set(finished.env.metrics)
    for name in ("objective", *found.metrics, "survived"):
        assert found.interval(name)[0] == told["learned", name]
    fixed = fixed_policies(finished.env, dict.fromkeys(finished.env.agents, "random"))
    others = finished.evaluate(4, 5, policies=fixed)
    assert others.interval("objective")[0] == told["random", "objective"]
    assert others.interval("objective") != found.interval("objective")
    for options, message in (
        ({"episodes": 0}, "episodes must be .*, got 0"),
        ({"seed": -1}, "seed must be .*, got -1"),
    ):
        with pytest.raises(FairgymError, match=message):
            finished.evaluate(**options)


def test_a_learners_own_discount_is_not_that_of_the_score(tmp_path, small):
    def run(algorithm, **changes):
        config = dataclasses.replace(small, algorithm=algorithm, algorithm_args=changes)
        return Run(tmp_path, config, 1, {})

    assert run("f-macem", discount=0.9).discount == 0.9
    assert run("f-mappo", gamma=0.9).discount == run("grid-search").discount == 1.0


def test_what_is_not_a_number_is_null(tmp_path):
    run = train(toy_config(), tmp_path / "x")
    assert all(line["odd"] is None for line in run.metrics)


# ------------------------------------------------------------------ which folders are taken


def test_a_run_is_neither_overwritten_nor_resumed_unasked(tmp_path, results):
    train(toy_config(), tmp_path)
    before = results(tmp_path)
    with pytest.raises(FairgymError, match=r"already holds a run.*--resume.*--overwrite"):
        train(toy_config(), tmp_path)
    with pytest.raises(FairgymError, match=r"algorithm_args.epochs is 4, but .* has 5"):
        train(toy_config(epochs=4), tmp_path, resume=True)
    with pytest.raises(FairgymError, match=r"seed is 3, but .* has 0"):
        train(toy_config(seed=3), tmp_path, resume=True)
    with pytest.raises(FairgymError, match="resume and overwrite cannot both be set"):
        train(toy_config(), tmp_path, resume=True, overwrite=True)
    assert results(tmp_path) == before
    assert train(toy_config(), tmp_path, resume=True).summary == load(tmp_path).summary


def test_overwrite_deletes_what_fairgym_wrote_only(tmp_path):
    train(toy_config(), tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    run = train(toy_config(seed=1, epochs=2), tmp_path, overwrite=True)
    assert run.config.seed == 1 and len(run.metrics) == 2
    assert [p.name for p in RunFolder(tmp_path).checkpoints.paths()] == ["epoch-00000002.eqx"]
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("flags", [{}, {"resume": True}, {"overwrite": True}])
@pytest.mark.parametrize(
    "content", [{"notes.txt": "mine"}, {"config.json": "{}"}, {"config.json": "{"}]
)
def test_foreign_folders_are_left_alone(tmp_path, flags, content):
    for name, text in content.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(FairgymError, match="holds something that is not a fairgym run"):
        train(toy_config(), tmp_path, **flags)
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == content


def test_bad_configurations_write_nothing(tmp_path):
    with pytest.raises(FairgymError):
        train(toy_config(fixed={"router": 7}), tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_other_data_are_noticed(tmp_path):
    train(toy_loan(), tmp_path)
    stored = json.loads((tmp_path / "config.json").read_text())
    stored["provenance"]["data_checksum"] = "0" * 64
    (tmp_path / "config.json").write_text(json.dumps(stored))
    with pytest.raises(FairgymError, match="resume needs the same data"):
        train(toy_loan(), tmp_path, resume=True)


def test_another_version_of_the_environment_is_noticed(tmp_path, monkeypatch):
    """Its dynamics or defaults are others, so that the rest of the run would be another run's."""
    run = train(toy_config(), tmp_path)
    stored = json.loads((tmp_path / "config.json").read_text())
    assert stored["environment_version"] == run.environment_version == run.env.spec.version == 1
    assert RunConfig.from_mapping(stored) == run.config, "config.json is a configuration file too"
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    spec = type(run.env).spec
    newer = property(lambda env: dataclasses.replace(spec.__get__(env), version=2))
    monkeypatch.setattr(type(run.env), "spec", newer)
    with pytest.raises(
        FairgymError,
        match=r"two_servers has version 2, but the run in .* began in version 1; resume needs",
    ):
        train(toy_config(), tmp_path, resume=True)
    assert before == {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    assert train(toy_config(), tmp_path, overwrite=True).environment_version == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "config.json cannot be read"),
        ("{}", "config.json cannot be read"),
        ('{"format": "fairgym-run-1"}', "config.json cannot be read"),
        ('{"format": "fairgym-run-9", "provenance": {}}', "its format is not fairgym-run-1"),
        (f"{HEAD}}}", r"cannot be read \(environment_version is not given"),
        (f'{HEAD}, "environment_version": 1, "x": 1}}', "config.json cannot be read"),
        (f'{HEAD}, "environment_version": "x"}}', "config.json cannot be read"),
        (f'{HEAD}, "environment_version": 1, "environment": 3}}', "is damaged: env"),
    ],
)
def test_unreadable_runs(tmp_path, content, message):
    with pytest.raises(FairgymError, match="is not a folder"):
        load(tmp_path / "absent")
    with pytest.raises(FairgymError, match=r"has no config\.json"):
        load(tmp_path)
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(FairgymError, match=message):
        load(tmp_path)


def test_a_damaged_policy_is_not_read(tmp_path):
    run = train(toy_config(), tmp_path)
    path = tmp_path / "policy.eqx"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FairgymError, match=r"policy\.eqx is truncated or altered"):
        print(run.policies)


def test_only_one_process_trains_in_a_folder(tmp_path):
    with RunFolder(tmp_path / "x").held():
        with pytest.raises(FairgymError, match="another process is training"):
            train(toy_config(), tmp_path / "x")
    train(toy_config(), tmp_path / "x")


# ------------------------------------------------------------------ interrupted and resumed


# What is replaced so that a training is killed, and when.
MOMENTS = {
    "before config.json is there": (
        "files.os.replace = lambda a, b: die() if b.name == 'config.json' else move(a, b)"
    ),
    "before the first update is over": "toy_algorithm.Toy.update = lambda *_: die()",
    "a line of the log half written": (
        "folder.append_line = lambda path, line: (path.open('a').write(line[:30]) and 0, die())"
    ),
    "between the log and the checkpoint": (
        "checkpoint.Checkpoints.save = lambda self, n, *x: die() if n == 3 else save(self, n, *x)"
    ),
    "a checkpoint written aside, not renamed": (
        "files.os.replace = lambda a, b: die() if b.name == 'epoch-00000004.eqx' else move(a, b)"
    ),
    "all but policy and summary": (
        "files.os.replace = lambda a, b: die() if b.name == 'policy.eqx' else move(a, b)"
    ),
    "all but the summary": (
        "files.os.replace = lambda a, b: die() if b.name == 'summary.json' else move(a, b)"
    ),
}
# Imports everything once, and trains in a fork of itself for each moment, one after the other.
KILLED = """
import jax, os, signal, sys
jax.config.update("jax_num_cpu_devices", 2)
sys.path.insert(0, {here!r})
import toy_algorithm
from fairgym.utils import files
from fairgym.training import checkpoint, folder, train
def die(): os.kill(os.getpid(), signal.SIGKILL)
move, save = os.replace, checkpoint.Checkpoints.save
config = toy_algorithm.toy_loan(fixed={{"disbursement": "random"}}, params={{"deposit_rate": 0.02}})
for number, moment in enumerate({moments!r}):
    child = os.fork()
    if not child:
        exec(moment)
        train(config, os.path.join({out!r}, str(number)), checkpoint_seconds=0)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A folder with a killed training for each moment, and the same one in one go."""
    out = tmp_path_factory.mktemp("killed")
    here = str(Path(__file__).parent)
    code = KILLED.format(here=here, moments=list(MOMENTS.values()), out=str(out))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == [str(-signal.SIGKILL)] * len(MOMENTS), done.stderr
    train(KILLED_CONFIG, out / "whole")
    return out


KILLED_CONFIG = toy_loan(fixed={"disbursement": "random"}, params={"deposit_rate": 0.02})


@pytest.mark.parametrize("number", range(len(MOMENTS)), ids=list(MOMENTS))
def test_killed_at_any_moment(killed, number, results):
    folder = killed / str(number)
    assert not (folder / "summary.json").exists()
    train(KILLED_CONFIG, folder, resume=True)
    assert results(folder) == results(killed / "whole")
    assert checkpoints_of(folder) == checkpoints_of(killed / "whole")
    assert not list(folder.rglob(".*")), "files that were never finished are gone"


def checkpoints_of(folder):
    """Content of every file among the checkpoints, by name."""
    return {path.name: path.read_bytes() for path in (folder / "checkpoints").iterdir()}


@pytest.mark.parametrize("seconds", [0.0, 60.0], ids=["every epoch", "rarely"])
@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_finished_run_has_the_same_checkpoints_whatever_it_met(tmp_path, at, seconds):
    def interrupt(epoch, epochs, line):
        if epoch == at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(toy_config(), tmp_path / "x", progress=interrupt, checkpoint_seconds=seconds)
    train(toy_config(), tmp_path / "x", resume=True, checkpoint_seconds=60.0 - seconds)
    train(toy_config(), tmp_path / "whole")
    assert [*checkpoints_of(tmp_path / "whole")] == ["epoch-00000005.eqx"]
    assert checkpoints_of(tmp_path / "x") == checkpoints_of(tmp_path / "whole")


@pytest.mark.parametrize("damage", ["newest", "all", "log", "no log"])
def test_damaged_files_are_not_trusted(tmp_path, damage, results):
    out = tmp_path / "x"

    def stop(epoch, epochs, line):
        if epoch == 4:
            raise RuntimeError

    with contextlib.suppress(RuntimeError):
        train(toy_config(), out, progress=stop, checkpoint_seconds=0)
    checkpoints = RunFolder(out).checkpoints.paths()
    assert [p.name for p in checkpoints] == ["epoch-00000004.eqx", "epoch-00000003.eqx"]
    if damage == "log":
        log = (out / "metrics.jsonl").read_text()
        (out / "metrics.jsonl").write_text(log[:-20])
    elif damage == "no log":
        (out / "metrics.jsonl").unlink()
    else:
        for path in checkpoints[: 1 if damage == "newest" else 2]:
            path.write_bytes(path.read_bytes()[:100])
    train(toy_config(), out, resume=True)
    train(toy_config(), tmp_path / "whole")
    assert results(out) == results(tmp_path / "whole")


def test_the_last_two_checkpoints_are_kept_in_training_and_the_last_one_after_it(tmp_path):
    checkpoints, kept = RunFolder(tmp_path).checkpoints, []

    def look(epoch, epochs, line):
        kept.append([int(path.stem[-1]) for path in checkpoints.paths()])

    train(toy_config(), tmp_path, checkpoint_seconds=0, progress=look)
    assert kept == [[], [1], [2, 1], [3, 2], [4, 3], [5, 4]]
    assert [path.name for path in checkpoints.paths()] == ["epoch-00000005.eqx"]


def test_ctrl_c_keeps_what_was_done(tmp_path, results):
    def interrupt(epoch, epochs, line):
        if epoch == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(toy_config(), tmp_path / "x", progress=interrupt)
    assert RunFolder(tmp_path / "x").checkpoints.paths()[0].name == "epoch-00000003.eqx"
    unfinished = load(tmp_path / "x")
    assert unfinished.summary == {} and set(unfinished.policies) == set(unfinished.env.agents)
    train(toy_config(), tmp_path / "x", resume=True)
    train(toy_config(), tmp_path / "whole")
    assert results(tmp_path / "x") == results(tmp_path / "whole")


def test_a_run_without_checkpoint_has_no_policy(tmp_path):
    def interrupt(epoch, epochs, line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(toy_config(), tmp_path, progress=interrupt)
    with pytest.raises(FairgymError, match="has no policy yet"):
        print(load(tmp_path).policies)


@pytest.mark.parametrize("after", range(0, 12, 3))
def test_a_disk_that_fills_up(tmp_path, monkeypatch, after, results):
    """Failed writes raise one sentence, and the run continues once there is room."""
    sync, calls = os.fsync, iter(range(1000))

    def fsync(handle):
        if next(calls) >= after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(FairgymError, match=r"cannot be written .No space left on device"):
        train(toy_config(), tmp_path / "x", checkpoint_seconds=0)
    monkeypatch.undo()
    if after == 0:
        assert not (tmp_path / "x").exists(), "nothing was begun"
    train(toy_config(), tmp_path / "x", resume=True)
    train(toy_config(), tmp_path / "whole")
    assert results(tmp_path / "x") == results(tmp_path / "whole")


# ------------------------------------------------------------------ several seeds


def test_seeds_are_full_runs(tmp_path, results):
    runs = train_seeds(toy_config(), tmp_path / "many", [0, 3])
    assert [run.folder.name for run in runs] == ["seed-0", "seed-3"]
    assert [run.config.seed for run in runs] == [0, 3]
    train(dataclasses.replace(toy_config(), seed=3), tmp_path / "one")
    assert results(tmp_path / "one") == results(tmp_path / "many" / "seed-3")
    assert results(tmp_path / "one")[2] != results(tmp_path / "many" / "seed-0")[2]
    with pytest.raises(FairgymError, match="seed-3 already holds a run"):
        train_seeds(toy_config(), tmp_path / "many", [2, 3])
    assert not (tmp_path / "many" / "seed-2").exists(), "nothing is trained"
    with pytest.raises(FairgymError, match="is itself the folder of a run"):
        train_seeds(toy_config(), tmp_path / "one", [1])
    assert len(train_seeds(toy_config(), tmp_path / "many", [0, 1, 3], resume=True)) == 3


def test_seeds_share_one_compiled_program(tmp_path, small, caplog):
    train(dataclasses.replace(small, seed=1), tmp_path / "first")
    with jax.log_compiles():
        train(dataclasses.replace(small, seed=2), tmp_path / "second")
    told = [record.getMessage() for record in caplog.records]
    assert not [text for text in told if "Finished XLA compilation" in text]
