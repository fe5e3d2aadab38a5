"""Commands in processes of their own that are killed: run by `test_kills.py`.

Everything is imported once; each command then runs in a fork of this process, which has not used
JAX yet. It reads lines of JSON, {"words", "after", "lines", "watch"}: the command's words, and when
to kill it: this many seconds after the file `watch` has this many lines, or never. It answers with
the exit code, or "killed".
"""

import dataclasses
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import ClassVar

from matplotlib.figure import Figure

import fairgym.algorithms.f_macem
import fairgym.algorithms.f_maddpg
import fairgym.algorithms.f_mappo
import fairgym.algorithms.grid_search
import fairgym.cli.reproduce
import fairgym.cli.train
import fairgym.report.svg
import fairgym.training.progress
from fairgym.config import RunConfig
from fairgym.experiments import Check, Experiment, Outcome, Size, experiments
from fairgym.training import loop
from fairgym.utils.plugins import import_plugin

import_plugin("two_servers")  # an environment that compiles quickly
loop.train.__kwdefaults__ = {**(loop.train.__kwdefaults__ or {}), "checkpoint_seconds": 0.0}
QUICK = Size(epochs=4, episodes=4, seeds=2)


@experiments.register("queues")
class Queues(Experiment):
    """Two seeds of one small training."""

    title = "Queues"
    source = "nowhere"
    claim = "a number is a number"
    sizes: ClassVar = {"quick": QUICK, "paper": dataclasses.replace(QUICK, seeds=3)}

    def grid(self, size):
        arguments = {**size.training(), "hidden": 2, "evaluation_episodes": 1}
        return {"": RunConfig("two_servers", {"horizon": 4}, algorithm_args=arguments)}

    def measure(self, size, runs, seeds):
        return [run.summary["objective"] for run in runs[""]]

    def conclude(self, data):
        figure = Figure(figsize=(1, 1))
        figure.subplots().plot(data)
        return Outcome({"": figure}, "A line.", [], [Check.above("more", data, -1e9)])


def lines_of(path):
    """Number of lines written so far."""
    try:
        return path.read_bytes().count(b"\n")
    except OSError:
        return 0


def command(words):
    """One command, in a fork."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for handle in (0, 1):
        os.dup2(nothing, handle)
    code = 1
    try:
        code = fairgym.cli.main(words)
    finally:
        os._exit(code)


def watched(pid, order):
    """Exit code of a process, which is killed in time."""
    path, reached = Path(order["watch"]), None
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        now = time.monotonic()
        if reached is None and order["after"] is not None and lines_of(path) >= order["lines"]:
            reached = now
        if reached is not None and now - reached >= order["after"]:
            os.kill(pid, signal.SIGKILL)
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        time.sleep(0.0005 if order["after"] is not None else 0.02)


print(json.dumps("ready"), flush=True)
for line in sys.stdin:
    order = json.loads(line)
    pid = os.fork()
    if pid == 0:
        command(order["words"])
    print(json.dumps(watched(pid, order)), flush=True)
