"""Ctrl-C is answered at once, even while a compiled program runs, and never lost."""

import dataclasses
import hashlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from toy_algorithm import Toy

from fairgym.cli import listing, main
from fairgym.training import devices, load
from fairgym.utils import interrupts

TRAIN = "train loan --algorithm toy --population-size 30 --horizon 5 --epochs 3 --out x".split()


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(devices, "configure", lambda: None)
    # what a shell starts in the background ignores Ctrl-C, and its children inherit that
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield tmp_path
    signal.signal(signal.SIGINT, before)


def press():
    os.kill(os.getpid(), signal.SIGINT)


def compute(rounds):
    """Block Python in this thread, as a compiled program does."""
    hashlib.pbkdf2_hmac("sha256", b"", b"", rounds)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_one_that_is_swallowed_still_ends_the_command(monkeypatch, capsys):
    class Garbage:
        def __del__(self):
            press()
            time.sleep(0.01)  # the handler runs here, and Python ignores what it raises

    def list_all(arguments):
        Garbage()
        print("done")

    monkeypatch.setattr(listing, "list_all", list_all)
    assert main(["list"]) == 130
    out, err = capsys.readouterr()
    assert out == "done\n" and err.endswith("interrupted\n")


def test_others_handlers_are_left_alone_and_python_has_its_own_back(monkeypatch):
    seen = []
    monkeypatch.setattr(listing, "list_all", lambda _: press())
    assert main(["list"]) == 130
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        assert main(["list"]) == 0 and seen == [1]
    finally:
        signal.signal(signal.SIGINT, before)
    interrupts.look()  # nobody listens: nothing is raised
    thread = threading.Thread(target=main, args=(["nope"],))
    thread.start()
    thread.join()


def test_the_first_epoch_is_finished_and_the_answer_comes_before(monkeypatch, capfd, here):
    """The run stops after the epoch, keeps it, and can be resumed with the same result."""
    answers = []
    update = Toy.update

    def press_and_read():
        press()
        while not answers:
            time.sleep(0.05)
            answers.extend(capfd.readouterr().err.splitlines())

    def slow(self, state):
        threading.Thread(target=press_and_read, daemon=True).start()
        for _ in range(600):
            compute(100_000)
            if answers:
                break
        return update(self, state)

    monkeypatch.setattr(Toy, "update", slow)
    assert main(TRAIN) == 130
    assert answers == ["stopping after this epoch; Ctrl-C again ends it at once"]
    err = capfd.readouterr().err
    assert err == f"interrupted; continue with: fairgym {' '.join(TRAIN)} --resume\n"
    assert len(load("x").metrics) == 1 and not load("x").summary
    monkeypatch.setattr(Toy, "update", update)
    assert main([*TRAIN, "--resume"]) == 0
    assert len(load("x").metrics) == 3
    whole = [line["objective"] for line in load("x").metrics]
    assert main([*TRAIN[:-1], "y"]) == 0
    assert [line["objective"] for line in load("y").metrics] == whole
    assert dataclasses.replace(load("x").config) == load("y").config


@pytest.mark.full
def test_the_second_one_ends_it_at_once(here):
    code = f"""
        import signal, sys, threading, time
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from test_interrupts import Toy, compute, press
        from fairgym.cli import main

        def slow(self, state):
            for delay in (0.3, 0.8):
                threading.Timer(delay, press).start()
            compute(2**31 - 1)  # many minutes

        Toy.update = slow
        sys.exit(main({TRAIN!r}))
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 130
    assert done.stderr.splitlines() == [
        "stopping after this epoch; Ctrl-C again ends it at once",
        f"interrupted; continue with: fairgym {' '.join(TRAIN)} --resume",
    ]
    assert load("x").metrics == [] and not load("x").summary
