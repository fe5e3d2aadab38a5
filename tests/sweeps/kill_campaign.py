"""Campaigns of kills: sweeps whose workers and nodes are killed in the middle.

    python tests/sweeps/kill_campaign.py ray --campaigns 20
    python tests/sweeps/kill_campaign.py processes --campaigns 10 --kills 10

A campaign trains a sweep of 20 short runs while SIGKILL meets workers at random moments, and on a
Ray cluster of two nodes, which are processes of their own, also the second node. Then every run
must be finished, none done twice, and all bits those of runs that were trained alone.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
for folder in (HERE, HERE.parent / "support"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import fates  # noqa: E402 - registers an algorithm

from fairgym.config import sweep_of  # noqa: E402
from fairgym.sweeps import entries_of, run_sweep  # noqa: E402
from fairgym.sweeps.engines import Local, Processes  # noqa: E402
from fairgym.training import devices  # noqa: E402

if __name__ == "__mp_main__":  # of a worker process, which reads the script before all else
    fates.keep_every_update()

EPOCHS = 30  # of at least 0.05 s each
TIMES = ("wall_time_s", "steps_a_second", "started", "finished")


def sweep_with(runs):
    """Runs that differ in a name, by which their updates are told apart."""
    base = {"environment": "two_servers", "algorithm": "fated", "epochs": EPOCHS}
    return sweep_of({"base": base, "grid": {"fate": [f"run{k}" for k in range(runs)]}})


def bits(folder):
    """Everything that must be equal between equal runs."""
    summary = json.loads((folder / "summary.json").read_text())
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for values in (summary, *lines):
        for name in TIMES:
            values.pop(name, None)
    return summary, lines, (folder / "policy.eqx").read_bytes()


def quietly(one):
    return contextlib.nullcontext(lambda done, total, line: None)


class Killer(threading.Thread):
    """SIGKILL at random moments, as long as there is somebody to meet.

    Args:
        victims: returns the workers that train now.
        kills: number of kills.
        pause: (least, most) seconds between them.
        last: called after them and one more pause, until it returns True.

    Attributes:
        met: kills so far.
        ended: True once `last` has returned True.
    """

    def __init__(self, victims, kills, pause, seed, last=lambda: False):
        super().__init__(daemon=True)
        self.victims, self.kills, self.pause, self.last = victims, kills, pause, last
        self.random, self.over = random.Random(seed), threading.Event()
        self.met, self.ended = 0, False

    def run(self):
        while self.met < self.kills and not self._wait():
            found = self.victims()
            if found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.random.choice(found), signal.SIGKILL)
                    self.met += 1
        while not self.ended and not self._wait():
            self.ended = self.last()

    def _wait(self):
        return self.over.wait(self.random.uniform(*self.pause))


def children(parent):
    """Processes below a process that are alive: their numbers."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            status = (place / "stat").read_text()
            state, above = status.rpartition(")")[2].split()[:2]
            if state != "Z" and int(above) == parent:
                found.append(int(place.name))
    return found


def trainers(parent):
    """Processes below a process that have made updates: one that only begins has none to lose."""
    lines = Path(os.environ["FATES"], "updates")
    known = {line.split()[0] for line in lines.read_text().splitlines()} if lines.exists() else ()
    return [pid for pid in children(parent) if str(pid) in known]


def workers_of(node, among=trainers):
    """Worker processes of a Ray node that have a task now."""
    found = []
    for pid in among(node.all_processes["raylet"][0].process.pid):
        with contextlib.suppress(OSError):
            if b"ray::trained" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def started(count):
    """A cluster of this many nodes, which are processes of this machine."""
    from ray.cluster_utils import Cluster

    small: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
    for left in reversed(range(5)):
        nodes = Cluster()
        try:
            for _ in range(count):
                nodes.add_node(**small)
            nodes.wait_for_nodes()
        except Exception:  # a node gives itself 15 s to start, too few on a busy machine
            nodes.shutdown()
            if not left:
                raise
        else:
            return nodes
    raise AssertionError


@contextlib.contextmanager
def cluster(seed, kills, pause):
    """An engine on a cluster of two nodes, and what kills its workers and the second node."""
    from fairgym.sweeps.ray_engine import Ray

    nodes = started(2)
    (second,) = nodes.worker_nodes
    lost = []

    def lose():
        if workers_of(second, children):
            os.kill(second.all_processes["raylet"][0].process.pid, signal.SIGKILL)
            lost.append(second)
        return bool(lost)

    def victims():
        return workers_of(head) + ([] if lost else workers_of(second))

    def alive():
        return [node["NodeID"] for node in nodes.global_state.node_table() if node["Alive"]]

    head = nodes.head_node
    assert head is not None
    os.environ["RAY_ADDRESS"] = str(nodes.address)
    try:
        yield Ray(), Killer(victims, kills, pause, seed, lose)
        until = time.monotonic() + 60.0
        while lost and alive() != [head.node_id]:
            assert time.monotonic() < until, "the cluster still counts on the node that was killed"
            time.sleep(0.2)
    finally:
        del os.environ["RAY_ADDRESS"]
        nodes.shutdown()


@contextlib.contextmanager
def processes(seed, kills, pause):
    """The engine of two worker processes, and what kills them."""

    def victims():
        return trainers(os.getpid())

    yield Processes(2), Killer(victims, kills, pause, seed)


def campaign(engine, place, seed, runs=20, kills=3, pause=(0.5, 2.0)):
    """Train a sweep under fire, and check it.

    Args:
        engine: `cluster` or `processes`.
        place: an empty folder.
        seed: seed of the moments.
        runs: number of runs.
        kills: kills of workers.
        pause: seconds between them.

    Returns:
        Number of kills of workers, whether a node was lost, updates that were done again.
    """
    marks = Path(os.environ["FATES"])
    (marks / "slow").touch()
    with contextlib.suppress(FileNotFoundError):
        (marks / "updates").unlink()
    sweep = sweep_with(runs)
    entries, said = entries_of(sweep, place / "met"), []
    with engine(seed, kills, pause) as (trainer, killer):
        killer.start()
        failed = run_sweep(entries, place / "met", trainer, quietly, said.append)
        killer.over.set()
        killer.join()
    assert failed == [], [one.sentence for one in failed]
    assert killer.met == kills, f"{killer.met} kills of {kills}"
    if engine is cluster:
        assert killer.ended, "the sweep ended before its node was lost"
    else:
        assert sum("killed by SIGKILL" in text for text in said) == kills
    done = [line.split() for line in (marks / "updates").read_text().splitlines()]
    (marks / "slow").unlink()
    (marks / "updates").unlink()
    alone = entries_of(sweep, place / "alone")
    assert run_sweep(alone, place / "alone", Local(), quietly, said.append) == []
    for one, other in zip(entries, alone, strict=True):
        assert one.run.finished and bits(one.run.folder) == bits(other.run.folder), one.words
    journal = (place / "met" / "sweep.jsonl").read_text().splitlines()
    ends = Counter(e["run"] for e in map(json.loads, journal) if e["event"] == "finished")
    assert len(ends) == runs and set(ends.values()) == {1}, ends
    # A kill costs the update that is under way, and one whose checkpoint is; more would be done
    # twice. A node that is lost takes one worker along.
    again = len(done) - runs * EPOCHS
    assert 0 <= again <= 2 * (killer.met + 1), again
    return killer.met, killer.ended, again


def main():
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("engine", choices=["ray", "processes"])
    parser.add_argument("--campaigns", type=int, default=20)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--kills", type=int, default=3, help="of workers, in each campaign")
    parser.add_argument("--seed", type=int, default=0, help="of the first campaign's moments")
    words = parser.parse_args()
    devices.configure()
    engine = cluster if words.engine == "ray" else processes
    total, nodes = 0, 0
    for number in range(words.campaigns):
        with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory() as marks:
            os.environ["FATES"] = marks
            began = time.monotonic()
            seed = words.seed + number
            killed, node, again = campaign(engine, Path(place), seed, words.runs, words.kills)
            total, nodes = total + killed, nodes + node
            print(
                f"campaign {number + 1}: {words.runs} runs finished, {killed} workers killed,"
                f" {int(node)} node lost, {again} updates done again,"
                f" {time.monotonic() - began:.0f} s",
                flush=True,
            )
    print(
        f"{words.campaigns} campaigns: {total} workers killed, {nodes} nodes lost; no run lost or"
        " done twice, all bits equal"
    )


if __name__ == "__main__":
    main()
