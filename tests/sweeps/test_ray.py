"""The Ray engine: kills on a cluster of two nodes, and machines without the same folders."""

import dataclasses
import os
import signal
import socket
import sys
import threading
import time
from collections import Counter

import fates  # noqa: F401 - registers an algorithm
import pytest
import two_servers  # noqa: F401 - registers an environment that compiles quickly
from kill_campaign import EPOCHS, bits, campaign, cluster, quietly, sweep_with

from fairgym.core import FairgymError
from fairgym.sweeps import Local, engine_of, entries_of, ray_engine
from fairgym.sweeps._worker import Order
from fairgym.training import train
from fairgym.training.lock import lock_folder


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


def test_workers_and_a_node_die_and_nothing_is_lost(tmp_path, monkeypatch):
    """The checks are those of the campaign, which `python kill_campaign.py ray` repeats."""
    monkeypatch.setenv("RAY_ADDRESS", "")  # whatever it is, it comes back
    killed, lost, _ = campaign(cluster, tmp_path, seed=1, runs=4, kills=2, pause=(0.2, 0.5))
    assert killed == 2 and lost


def test_ctrl_c_ends_runs_after_their_epoch_and_they_go_on(tmp_path, monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    marks = tmp_path / "fates"
    (marks / "slow").touch()
    entries = entries_of(sweep_with(2), tmp_path / "out")
    planned = [entry.run for entry in entries]

    def updates():
        lines = (marks / "updates").read_text().split("\n") if (marks / "updates").exists() else []
        return [tuple(line.split(" ")[1:]) for line in lines if line]

    def press():
        while len({fate for fate, number in updates() if number != "0"}) < 2:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        engine_of(2, "ray").run(planned, quietly, print)
    assert 4 <= len(updates()) < 2 * EPOCHS and not any(one.finished for one in planned)
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
    return Order(entry.run.config, entry.run.folder, ("fates",), resume=True, overwrite=False)


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
    assert sentence == "ZeroDivisionError: x" and content == b""
    bad = order._replace(config=dataclasses.replace(order.config, memory="nope"))
    sentence, _ = ray_engine.trained(bad, tmp_path / "no mark", b"", 0)
    assert "nope" in sentence


def test_without_ray_it_is_told_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(FairgymError, match=r"the engine ray needs ray: pip install 'fairgym.ray.'"):
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
    with pytest.raises(FairgymError, match="gpus is -1"):
        engine_of(name="ray", gpus=-1.0)
    with pytest.raises(FairgymError, match=r"gpus is 0.5; the engine processes takes 0"):
        engine_of(2, gpus=0.5)
