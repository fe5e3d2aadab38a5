"""The Ray engine: kills on a cluster of two nodes, and machines without the same folders."""

import contextlib
import dataclasses
import json
import os
import re
import signal
import socket
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import fates  # noqa: F401 - registers an algorithm
import pytest
import two_servers  # noqa: F401 - registers an environment that compiles quickly
from kill_campaign import EPOCHS, bits, campaign, cluster, quietly, started, sweep_with

from fairgym.cli import main
from fairgym.config import sweep_of
from fairgym.core import FairgymError
from fairgym.sweeps import Local, Ray, engine_of, entries_of, ray_engine
from fairgym.training import train
from fairgym.utils.files import lock_folder


@pytest.fixture(autouse=True)
def fates_folder(tmp_path, monkeypatch):
    folder = tmp_path / "fates"
    folder.mkdir()
    monkeypatch.setenv("FATES", str(folder))


@pytest.fixture(autouse=True)
def ctrl_c():
    """Python's own answer to Ctrl-C, also where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.full
def test_workers_and_a_node_die_and_nothing_is_lost(tmp_path, monkeypatch):
    """The checks are those of the campaign, which `python kill_campaign.py ray` repeats."""
    monkeypatch.setenv("RAY_ADDRESS", "")  # whatever it is, it comes back
    killed, lost, _ = campaign(cluster, tmp_path, seed=1, runs=6, kills=2, pause=(0.2, 0.5))
    assert killed == 2 and lost


@pytest.fixture
def node(monkeypatch):
    """A cluster of one node, which is a process of its own in the folder of the tests."""
    nodes = started(1)
    monkeypatch.setenv("RAY_ADDRESS", str(nodes.address))
    yield
    nodes.shutdown()


@pytest.mark.full
def test_folders_are_those_of_the_command_and_a_learner_has_its_bits(
    tmp_path, monkeypatch, capsys, node
):
    """A relative folder is meant from here; workers are elsewhere. One run is a real learner's."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "true")
    monkeypatch.delenv("XLA_PYTHON_CLIENT_PREALLOCATE")
    base = {"environment": "loan_simple", "population": 40, "horizon": 6, "epochs": 2}
    base |= {"episodes_per_epoch": 4, "hidden": 2, "evaluation_episodes": 2}
    plan = {"base": base, "grid": {"deposit_rate": [0.01, 0.02]}}
    Path("plan.json").write_text(json.dumps(plan))
    assert main(["sweep", "run", "plan.json", "--engine", "ray", "--out", "mine"]) == 0
    assert f"2 runs are finished in {Path('mine', 'runs')}" in capsys.readouterr().out
    for entry in entries_of(sweep_of(plan), "mine"):
        assert entry.status == "finished" and (tmp_path / "here" / entry.run.folder).is_dir()
        alone = tmp_path / "alone" / entry.run.folder
        train(entry.run.config, alone)
        assert bits(entry.run.folder) == bits(alone)

    # Cards that no machine has are refused at once, and workers leave room on those they share.
    (one,) = [entry.run for entry in entries_of(sweep_with(1), "cards")]
    trainer = Ray(gpus=0.25)
    with pytest.raises(FairgymError, match=r"gpus must be at most 0, .*, got 0.25$"):
        trainer.run([one], quietly, print)
    assert not Path("cards").exists()
    with trainer._connected():
        told = trainer.ray.remote(lambda: os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"]).remote()
        assert trainer.ray.get(told) == "false"


@pytest.mark.full
def test_workers_without_the_folder_send_it_and_begin_again_after_a_death(
    tmp_path, monkeypatch, node
):
    """What such a worker has trained is lost with it; what it was given is not."""

    @contextlib.contextmanager
    def unseen(planned):
        yield {one.folder: tmp_path / "no mark" for one in planned}

    class Watched:
        def __init__(self):
            self.seen = {}

        def __call__(self, one):
            seen = self.seen.setdefault(one.label, [])
            return contextlib.nullcontext(lambda done, total, line: seen.append(done))

    entries = entries_of(sweep_with(2), tmp_path / "out")
    planned = [entry.run for entry in entries]

    def progress(done, total, line):
        if done == 2:
            raise KeyboardInterrupt

    for one in planned[1:]:  # what was begun here goes on there, twice
        with pytest.raises(KeyboardInterrupt):
            Local().run([one], lambda one: contextlib.nullcontext(progress), print)
    monkeypatch.setattr(ray_engine, "_marked", unseen)
    marks, watched = tmp_path / "fates", Watched()
    for fate in ("run0", "run1"):
        (marks / f"{fate}-1").touch()  # SIGKILL in the third update
    assert engine_of(2, "ray").run(planned, watched, print) == []
    assert list(watched.seen.values()) == [[0, EPOCHS], [2, EPOCHS]], "nobody wrote meanwhile"
    done = [line.split()[1:] for line in (marks / "updates").read_text().splitlines()]
    for fate, first in (("run0", 0), ("run1", 2)):
        numbers = [int(number) for its, number in done if its == fate]
        assert numbers == [*range(3), *range(first, EPOCHS)], fate
    for one in planned:
        alone = tmp_path / "alone" / one.folder.relative_to(tmp_path / "out")
        train(one.config, alone)
        assert bits(one.folder) == bits(alone)


@pytest.mark.full
def test_ctrl_c_ends_runs_after_their_epoch_and_they_go_on(tmp_path, monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    marks = tmp_path / "fates"
    (marks / "slow").touch()
    (marks / "together").touch()
    entries = entries_of(sweep_with(2), tmp_path / "out")
    planned = [entry.run for entry in entries]

    def updates():
        lines = (marks / "updates").read_text().split("\n") if (marks / "updates").exists() else []
        return [tuple(line.split(" ")[1:]) for line in lines if line]

    def press():
        while [number for _, number in updates()].count("2") < 2:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)
        (marks / "together").unlink()

    threading.Thread(target=press, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        engine_of(2, "ray").run(planned, quietly, print)
    assert 6 <= len(updates()) < 2 * EPOCHS and not any(one.finished for one in planned)
    (marks / "slow").unlink()
    assert Local().run(planned, quietly, print) == []
    assert Counter(updates()) == Counter(
        {(f"run{run}", str(number)): 1 for run in range(2) for number in range(EPOCHS)}
    )
    for one in planned:
        alone = tmp_path / "alone" / one.folder.relative_to(tmp_path / "out")
        train(one.config, alone)
        assert bits(one.folder) == bits(alone)


@pytest.fixture
def order(tmp_path):
    """A run that is ordered."""
    (entry,) = entries_of(sweep_with(1), tmp_path / "out")
    return dataclasses.replace(entry.run, imports=("fates",))


def finished_alone(order, tmp_path):
    train(order.config, tmp_path / "alone")
    return bits(tmp_path / "alone")


def test_a_machine_that_does_not_see_the_folder_sends_its_content(order, tmp_path):
    sentence, content = ray_engine.trained(order, tmp_path / "no mark", b"", 0)
    assert sentence == "" and not order.folder.exists()
    ray_engine._unpacked(content, order.folder)
    assert bits(order.folder) == finished_alone(order, tmp_path)


def test_it_goes_on_with_what_was_begun(order, tmp_path):
    class Enough(BaseException):
        pass

    def progress(done, total, line):
        if done == 7:
            raise Enough

    with pytest.raises(Enough):
        train(order.config, order.folder, progress=progress, checkpoint_seconds=0.0)
    before = (tmp_path / "fates" / "updates").read_text().count("\n")
    begun = ray_engine._packed(order.folder)
    sentence, content = ray_engine.trained(order, tmp_path / "no mark", begun, 0)
    assert sentence == ""
    ray_engine._unpacked(content, order.folder)
    again = (tmp_path / "fates" / "updates").read_text().count("\n") - before
    assert again == order.config.build().algorithm.num_updates - 7
    assert bits(order.folder) == finished_alone(order, tmp_path)


@pytest.mark.full
def test_one_that_is_told_to_stop_sends_what_it_has(order, tmp_path):
    (tmp_path / "fates" / "slow").touch()

    def press():
        while not (tmp_path / "fates" / "updates").exists():
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    sentence, content = ray_engine.trained(order, tmp_path / "no mark", b"", 0)
    assert sentence == ""
    ray_engine._unpacked(content, order.folder)
    done = (tmp_path / "fates" / "updates").read_text().count("\n")
    assert 1 <= done < EPOCHS
    train(order.config, order.folder, resume=True)
    assert (tmp_path / "fates" / "updates").read_text().count("\n") == EPOCHS
    assert bits(order.folder) == finished_alone(order, tmp_path)


def test_a_machine_that_sees_the_folder_writes_there_and_waits_for_a_dying_one(order, tmp_path):
    mark = tmp_path / "mark"
    mark.touch()
    handle = lock_folder(order.folder)
    assert handle is not None

    def die():
        time.sleep(1.0)
        os.close(handle)

    dying = threading.Thread(target=die)
    dying.start()
    assert ray_engine.trained(order, mark, b"", 0) == ("", b"")
    dying.join()
    assert bits(order.folder) == finished_alone(order, tmp_path)


def test_errors_come_back_as_sentences(order, tmp_path, monkeypatch):
    (tmp_path / "fates" / "run0-1").touch()  # SIGKILL is not for this process
    monkeypatch.setattr(
        "os.kill", lambda pid, signal: (_ for _ in ()).throw(ZeroDivisionError("x"))
    )
    sentence, content = ray_engine.trained(order, tmp_path / "no mark", b"", 0)
    where = r"error in update\(\) of the algorithm 'fated' \(fates\.py:\d+\)"
    assert re.fullmatch(f"{where}: ZeroDivisionError: x", sentence) and content == b""
    bad = dataclasses.replace(order, config=dataclasses.replace(order.config, memory="nope"))
    sentence, _ = ray_engine.trained(bad, tmp_path / "no mark", b"", 0)
    assert "nope" in sentence


def test_without_ray_it_is_told_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(FairgymError, match=r"the engine ray needs ray: pip install -e '..ray.'"):
        engine_of(name="ray")


def test_finished_plans_need_no_cluster(tmp_path):
    entries = entries_of(sweep_with(1), tmp_path / "out")
    planned = [entry.run for entry in entries]
    assert Local().run(planned, quietly, print) == []
    assert engine_of(name="ray").run(planned, quietly, print) == []


def test_a_cluster_that_does_not_answer_is_told_at_once(tmp_path, monkeypatch):
    with socket.socket() as free:  # a port that nobody listens at
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        for begins in ("", "ray://"):
            monkeypatch.setenv("RAY_ADDRESS", begins + address)
            planned = [entry.run for entry in entries_of(sweep_with(1), tmp_path / "out")]
            with pytest.raises(FairgymError, match=f"{address} cannot be reached .*refused"):
                engine_of(name="ray").run(planned, quietly, print)
    assert not planned[0].folder.exists()


def test_shares_of_cards_are_checked():
    with pytest.raises(FairgymError, match=r"gpus must be a number from 0.*, got -1"):
        engine_of(name="ray", gpus=-1.0)
    with pytest.raises(FairgymError, match=r"gpus above 1 must be a whole number, got 1.5"):
        engine_of(name="ray", gpus=1.5)
    with pytest.raises(FairgymError, match=r"gpus must be 0 for the engine processes .*, got 0.5"):
        engine_of(2, gpus=0.5)
