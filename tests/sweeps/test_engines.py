"""Runs of a plan in worker processes: equal bits, deaths, failures, Ctrl-C, and nothing left."""

import contextlib
import dataclasses
import multiprocessing
import os
import signal
import threading
import time
from typing import ClassVar

import fates
import pytest
import two_servers  # noqa: F401 - registers an environment that compiles quickly
from matplotlib.figure import Figure

from fairgym.cli import main
from fairgym.config import RunConfig
from fairgym.core import FairgymError
from fairgym.experiments import Check, Experiment, Outcome, Size, experiments
from fairgym.sweeps import Local, Processes, engine_of, engines, failure_of, plan
from fairgym.training import devices

MACEM = {"epochs": 2, "episodes_per_epoch": 4, "hidden": 2, "evaluation_episodes": 3}


def walk(fate="", epochs: int | None = 5):
    return RunConfig(
        "two_servers", algorithm="fated", algorithm_args={"fate": fate, "epochs": epochs}
    )


CONFIGS = {
    "f-macem": RunConfig("two_servers", {"horizon": 4}, algorithm_args=MACEM),
    **{fate: walk(fate) for fate in ("calm", "killed", "doomed", "refused", "broken")},
}


def planned_in(out, *keys, seeds=1):
    found = plan({key: CONFIGS[key] for key in keys}, range(seeds), out)
    return [one for several in found.values() for one in several]


class Watched:
    """A `show` that notes the progress of every run."""

    def __init__(self):
        self.epochs = {}

    @contextlib.contextmanager
    def __call__(self, one):
        def progress(epoch, epochs, line):
            self.epochs.setdefault(one.label, []).append((epoch, line and line["objective"]))

        yield progress


@pytest.fixture(autouse=True)
def marks(tmp_path, monkeypatch):
    """The folder of fates."""
    folder = tmp_path / "fates"
    folder.mkdir()
    monkeypatch.setenv("FATES", str(folder))
    monkeypatch.setattr(devices, "configure", lambda: None)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield folder
    signal.signal(signal.SIGINT, before)
    assert multiprocessing.active_children() == []


def updates(marks, fate):
    """(process, update) of each update that was begun, in order."""
    if not (marks / "updates").exists():
        return []
    lines = [line.split(" ") for line in (marks / "updates").read_text().splitlines()]
    return [(process, int(number)) for process, its, number in lines if its == fate]


@pytest.mark.parametrize("doomed", [False, pytest.param(True, marks=pytest.mark.full)])
def test_runs_are_finished_to_equal_bits_whatever_their_workers_meet(
    tmp_path, marks, results, monkeypatch, capfd, doomed
):
    monkeypatch.setattr(engines, "RETRIES", 1)
    one, other = tmp_path / "one", tmp_path / "other"
    assert Local().run(planned_in(one, *CONFIGS), Watched(), print) == []  # no fate is met
    (marks / "updates").unlink()
    deaths = ["killed-1", *["doomed-1", "doomed-2"] * doomed]
    for name in (*deaths, "refused-1", "broken-1"):
        (marks / name).touch()
    said, watched = [], Watched()
    planned = planned_in(other, *CONFIGS)
    failed = Processes(2).run(planned, watched, said.append)

    expected = {"refused": "step must be good, got bad", "broken": "ZeroDivisionError: a bug"}
    if doomed:
        died = "its process died 2 times (killed by SIGKILL); fewer workers may help"
        expected["doomed"] = died
    found = {run.config.algorithm_args["fate"]: sentence for run, sentence in failed}
    assert found == expected
    assert "Traceback" in capfd.readouterr().err  # of the bug
    assert sum("killed by SIGKILL" in text for text in said) == len(deaths)
    assert len(said) == len(deaths) + 2
    first, *_, last = updates(marks, "killed")
    assert first[0] != last[0] and str(os.getpid()) not in (first[0], last[0])
    assert [n for _, n in updates(marks, "killed")] == [0, 1, 2, 2, 3, 4]  # from the checkpoint
    assert [n for _, n in updates(marks, "refused")] == [0, 1, 2]  # not tried again
    (macem,) = [watched.epochs[run.label] for run in planned if run.config.algorithm == "f-macem"]
    assert [epoch for epoch, _ in macem] == [0, 1, 2] and macem[0][1] is None

    done = [run for run in planned if run.finished]
    assert len(done) == 4 - doomed
    # what failed goes on in this process, where the cause is gone
    assert Local().run(planned, Watched(), said.append) == []
    for run in planned:
        folder = run.folder.relative_to(other)
        assert results(one / folder) == results(other / folder), folder
        kept, there = ((place / folder / "checkpoints").iterdir() for place in (one, other))
        assert {path.name for path in kept} == {path.name for path in there}, folder


QUICK = Size(epochs=40, episodes=1, seeds=2)


class Walks(Experiment):
    """Two seeds of a walk."""

    title = "Walks"
    source = "nowhere"
    claim = "a number is a number"
    sizes: ClassVar = {"quick": QUICK, "paper": dataclasses.replace(QUICK, seeds=3)}

    def grid(self, size):
        return {"": walk("refused", size.epochs)}

    def measure(self, size, runs, seeds):
        return [run.summary["objective"] for run in runs[""]]

    def conclude(self, data):
        figure = Figure(figsize=(1, 1))
        figure.subplots().plot(data)
        return Outcome({"": figure}, "A line.", [], [Check.above("more", data, -1e9)])


@pytest.fixture
def walks():
    experiments.register("walks")(Walks)
    yield
    experiments._things.pop("walks")


@pytest.mark.full
def test_ctrl_c_keeps_all_runs_and_leaves_no_worker(walks, tmp_path, marks, results, capsys):
    words = ["reproduce", "walks", "--out", str(tmp_path / "x")]
    (marks / "slow").touch()

    def press():
        while len({who for who, number in updates(marks, "refused") if number > 1}) < 2:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    assert main([*words, "--workers", "2"]) == 130
    out, err = capsys.readouterr()
    assert err.splitlines() == [
        "stopping after this epoch of each run; Ctrl-C again ends them at once",
        f"interrupted; continue with: fairgym {' '.join(words)} --workers 2",
    ]
    assert "run 1 of 2: two_servers, fated, uniform, seed 0: epoch 1/40" in out
    assert multiprocessing.active_children() == []
    (marks / "slow").unlink()
    begun = updates(marks, "refused")
    assert len({process for process, _ in begun}) == 2 and len(begun) < 80

    assert main(words) == 0
    numbers = sorted(n for _, n in updates(marks, "refused"))
    assert numbers == sorted([*range(40), *range(40)])  # each update once
    assert main(["reproduce", "walks", "--out", str(tmp_path / "y")]) == 0
    folders = [run.parent for run in sorted((tmp_path / "x").rglob("summary.json"))]
    assert len(folders) == 2
    for folder in folders:
        whole = tmp_path / "y" / folder.relative_to(tmp_path / "x")
        assert results(folder) == results(whole)


@pytest.mark.full
def test_workers_end_with_the_process_that_began_them(tmp_path, marks):
    """The pipe is closed then, and no other worker holds its end of it."""
    (marks / "slow").touch()
    crew = [engines._Worker(2), engines._Worker(2)]
    try:
        (run,) = planned_in(tmp_path, "calm")
        assert crew[0].pipe.recv() == crew[1].pipe.recv() == ("ready",)
        run = dataclasses.replace(run, config=walk("calm", epochs=10_000))
        crew[0].begin(run, Watched())
        assert crew[0].pipe.recv()[:2] == ("progress", 0)
        crew[0].pipe.close()
        crew[0].process.join(20)
        assert crew[0].process.exitcode == 0 and crew[1].process.exitcode is None
    finally:
        for worker in crew:
            worker.end()


def test_runs_are_handed_out_so_that_programs_are_compiled_once(tmp_path):
    """A worker keeps to its program; another begins one that nobody compiles."""
    planned = planned_in(tmp_path, "calm", "killed", "doomed", seeds=3)
    crew = engines._Crew(list(planned), 2, Watched(), print)
    begun = []

    class Hand(engines._Worker):
        def __init__(self):
            self.programs, self.task, self.compiled, self.ready = set(), None, False, True

        def begin(self, one, show):
            self.task = one
            self.programs.add(one.program)
            begun.append((one.config.algorithm_args["fate"], one.config.seed))

    first, second = Hand(), Hand()
    crew.workers = [first, second]
    crew.hand_out()
    assert begun == [("calm", 0), ("killed", 0)]
    first.compiled, first.task = True, None
    crew.hand_out()
    assert begun[2:] == [("calm", 1)]
    second.programs.clear()  # one that took the place of a dead one
    second.task = None
    first.compiled = False
    crew.hand_out()
    assert begun[3:] == [("killed", 1)]
    crew.waiting = [one for one in crew.waiting if one.config.algorithm_args["fate"] == "calm"]
    second.task, second.programs = None, set()
    crew.hand_out()  # better twice than not at all
    assert begun[4:] == [("calm", 2)] and crew.waiting == []


def test_one_worker_is_this_process_and_failures_are_one_sentence(walks, tmp_path, marks, capsys):
    assert isinstance(engine_of(1), Local) and isinstance(engine_of(3), Processes)
    for number in (0, 257, True):
        with pytest.raises(FairgymError, match=r"workers must be a whole number from 1 to.*got .*"):
            engine_of(number)
    (marks / "refused-1").touch()
    assert main(["reproduce", "walks", "--out", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert err == (
        "fairgym: 1 of 2 runs failed: step must be good, got bad"
        " (two_servers, fated, uniform, seed 0)\n"
    )
    assert "walks: left out, as runs of it failed" in out
    assert [run.finished for run in plan({"": walk("refused", 40)}, [0, 1], tmp_path)[""]] == [
        False,
        True,
    ]
    many = [engines.Failed(run, "no") for run in planned_in(tmp_path, "calm", seeds=5)]
    assert str(failure_of(many, 9)).endswith("seed 2; and 2 more)")
    assert str(failure_of(many, 9)).startswith("5 of 9 runs failed: no (two_servers, ")
    assert fates.Fated.extended_by == ""


def test_seeds_of_one_training_take_the_same_road(tmp_path, marks, monkeypatch, results, capsys):
    """`train --workers` resumes, replaces and refuses as with one; here within this process."""
    given = []

    def run(self, planned, show, say):
        given.append((self.workers, [(one.config.seed, one.resume) for one in planned]))
        return Local().run(planned, show, say)

    monkeypatch.setattr(Processes, "run", run)
    words = "train two_servers --algorithm fated --epochs 3 --seeds 1:3".split()
    out = ["--out", str(tmp_path / "x")]
    assert main([*words, *out, "--workers", "2"]) == 0
    assert given == [(2, [(1, False), (2, False)])]
    assert main([*words, "--out", str(tmp_path / "y")]) == 0
    before = [results(tmp_path / "x" / f"seed-{seed}") for seed in (1, 2)]
    assert before == [results(tmp_path / "y" / f"seed-{seed}") for seed in (1, 2)]
    assert main([*words, *out, "--workers", "2"]) == 2
    assert "already holds a run" in capsys.readouterr().err
    done = len(updates(marks, ""))
    assert main([*words, *out, "--workers", "2", "--resume"]) == 0
    assert len(updates(marks, "")) == done
    assert main([*words, *out, "--workers", "2", "--overwrite"]) == 0
    assert len(updates(marks, "")) == done + 6
    assert before == [results(tmp_path / "x" / f"seed-{seed}") for seed in (1, 2)]


def test_a_run_that_replaces_another_goes_on_after_a_death(tmp_path):
    """It begins again as a replacement, until one was begun, which then goes on."""
    (run,) = planned_in(tmp_path, "calm")
    again = dataclasses.replace(run, resume=False, overwrite=True)
    assert again.again() == again
    Local().run([run], Watched(), print)
    assert not again.finished and run.finished
    folder = run.folder / ".replacement"
    folder.mkdir()
    (folder / "config.json").write_bytes((run.folder / "config.json").read_bytes())
    assert again.again() == dataclasses.replace(again, resume=True, overwrite=False)
