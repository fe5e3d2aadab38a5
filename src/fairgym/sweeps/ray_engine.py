"""Engine for many machines: runs as tasks of a Ray cluster.

Ray restarts a task when its worker or node dies; the run then continues from its last checkpoint.
If all nodes see the folder of the runs, workers write there. Otherwise each trains in a local
folder, whose content is sent back when the run is finished.
"""

import contextlib
import dataclasses
import io
import os
import secrets
import shlex
import socket
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax

from fairgym.core import FairgymError
from fairgym.data.store import need
from fairgym.sweeps.engines import PATIENT, RETRIES, devices
from fairgym.sweeps.plan import Failed, Planned, Show, unfinished
from fairgym.training.folder import RunFolder
from fairgym.training.loop import Progress
from fairgym.utils import interrupts
from fairgym.utils.files import FolderHeld, make_folder
from fairgym.utils.plugins import import_plugin, reason_of

HELD_SECONDS = 120.0  # that a run waits for a dying worker to release its folder
REACH_SECONDS = 10.0  # to reach the head of a cluster; Ray itself tries for minutes
STOP_SECONDS = 60.0  # that runs have to finish their epoch after Ctrl-C
_PASSED_ON = ("JAX_", "XLA_", "FAIRGYM_")


class Ray:
    """Training as tasks of a Ray cluster, one run each.

    The cluster is that of the environment variable RAY_ADDRESS ("auto" for the one on this
    machine), or else a new one on this machine while it trains. Results are the same bits if nodes
    have the same processors and versions.

    Args:
        workers: Largest number of runs at a time; the number of CPUs of the cluster if None.
        gpus: GPUs, or share of one, for each run.

    Raises:
        FairgymError: Ray is not installed, `gpus` is negative, or above 1 and not a whole number.
    """

    def __init__(self, workers: int | None = None, gpus: float = 0.0) -> None:
        self.ray = need("ray", "the engine ray")
        if not 0.0 <= gpus <= 1024.0:
            raise FairgymError(f"gpus must be a number from 0, such as 0.25, got {gpus}")
        if gpus > 1.0 and gpus % 1.0:
            raise FairgymError(f"gpus above 1 must be a whole number, got {gpus}")
        self.workers, self.gpus = workers, gpus
        # Runs can share a GPU only if no process allocates all of its memory at the start; the
        # cluster's workers inherit this.
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

    def run(
        self, planned: Sequence[Planned], show: Show, say: Callable[[str], None]
    ) -> list[Failed]:
        """Train as in `Engine.run`.

        Raises:
            FairgymError: The cluster cannot be reached, or no machine of it has so many GPUs.
        """
        waiting = unfinished(planned)
        waiting.sort(key=lambda one: one.program)  # a node compiles each program once
        if not waiting:
            return []
        with self._connected():
            self._check_cards()
            with _marked(waiting) as marks, interrupts.patiently(PATIENT):
                crew = _Tasks(self, waiting, marks, show, say)
                try:
                    while crew.busy:
                        crew.hand_out()
                        crew.hear(1.0)
                        interrupts.look()
                except KeyboardInterrupt:
                    crew.stop()
                    raise
                finally:
                    crew.end()
        return crew.failed

    def _check_cards(self) -> None:
        """Raise if a run would wait forever for GPUs that no machine has."""
        nodes = [node for node in self.ray.nodes() if node["Alive"]]
        most = max((node["Resources"].get("GPU", 0.0) for node in nodes), default=0.0)
        if self.gpus > most:
            raise FairgymError(
                f"gpus must be at most {most:g}, the largest number on one machine of this Ray"
                f" cluster, got {self.gpus:g}"
            )

    @contextlib.contextmanager
    def _connected(self) -> Iterator[None]:
        """Context with a connection to a cluster, unless there is one already."""
        ray = self.ray
        if ray.is_initialized():
            yield
            return
        passed = {k: v for k, v in os.environ.items() if k.startswith(_PASSED_ON)}
        passed["PYTHONPATH"] = os.pathsep.join(_own_path())
        environment: dict[str, Any] = {"env_vars": passed}
        python = shlex.quote(sys.executable)
        if python != sys.executable:  # Ray does not quote paths with spaces
            environment["py_executable"] = python
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            _reach(os.environ.get("RAY_ADDRESS", ""))
            ray.init(log_to_driver=False, include_dashboard=False, runtime_env=environment)
        except Exception as error:
            where = os.environ.get("RAY_ADDRESS", "this machine")
            raise FairgymError(
                f"the Ray cluster of {where} cannot be reached ({reason_of(error)})"
            ) from error
        try:
            yield
        finally:
            ray.shutdown()


def _reach(address: str) -> None:
    """Raise an OSError if nothing listens at HOST:PORT; Ray checks other addresses."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=REACH_SECONDS).close()


def _own_path() -> list[str]:
    """Folders of the import path without those of Python itself, where plug-ins may be."""
    python = {os.path.realpath(path) for path in (sys.prefix, sys.base_prefix)}
    folders = [os.path.realpath(path) for path in sys.path if os.path.isdir(path or ".")]
    return [one for one in folders if not any(Path(one).is_relative_to(p) for p in python)]


class _Tasks:
    """The runs of one plan as tasks of a cluster."""

    def __init__(
        self,
        engine: Ray,
        waiting: list[Planned],
        marks: Mapping[Path, Path],
        show: Show,
        say: Callable[[str], None],
    ) -> None:
        self.ray, self.marks, self.places = engine.ray, marks, engine.workers
        self.waiting, self.show, self.say = waiting, show, say
        self.failed: list[Failed] = []
        self.under_way: dict[Any, _Task] = {}
        options = {"num_cpus": 1, "num_gpus": engine.gpus, "max_retries": RETRIES}
        self.remote = self.ray.remote(**options)(trained)

    @property
    def busy(self) -> bool:
        """Whether runs are left or being trained."""
        return bool(self.waiting or self.under_way)

    def hand_out(self) -> None:
        """Submit as many runs as there is room for."""
        room = self.places or max(1, int(self.ray.cluster_resources().get("CPU", 1)))
        while self.waiting and len(self.under_way) < room:
            one = self.waiting.pop(0)
            task = _Task(one, self.show(one))
            given = one.elsewhere(), self.marks[one.folder], _packed(one.folder), devices()
            self.under_way[self.remote.remote(*given)] = task

    def hear(self, seconds: float) -> None:
        """Collect runs that end within this time, and show the progress of the others."""
        ended, _ = self.ray.wait(list(self.under_way), timeout=seconds)
        for reference in ended:
            task = self.under_way.pop(reference)
            try:
                sentence, content = self.ray.get(reference)
            except self.ray.exceptions.TaskCancelledError:
                sentence, content = "", b""
            except self.ray.exceptions.RayError as error:
                sentence, content = f"its task was given up ({reason_of(error)})", b""
            if content:
                _unpacked(content, task.one.folder)
            task.look()
            task.shown.close()
            if sentence:
                self.failed.append(Failed(task.one, sentence))
                self.say(f"{task.one.label} failed: {sentence}")
        for task in self.under_way.values():
            task.look()

    def stop(self) -> None:
        """Let every run finish and save its epoch; do not start waiting runs."""
        self.waiting.clear()
        for reference in self.under_way:
            self.ray.cancel(reference, force=False)
        until = time.monotonic() + STOP_SECONDS
        while self.under_way and time.monotonic() < until:
            self.hear(0.5)

    def end(self) -> None:
        """Cancel all running tasks."""
        for reference, task in self.under_way.items():
            task.shown.close()
            with contextlib.suppress(self.ray.exceptions.RayError):
                self.ray.cancel(reference, force=True)


class _Task:
    """A running task, whose progress is read from its run folder."""

    def __init__(self, one: Planned, shown: contextlib.AbstractContextManager[Progress]) -> None:
        self.one, self.shown = one, contextlib.ExitStack()
        self.progress = self.shown.enter_context(shown)
        self.epochs, self.seen = one.config.build().algorithm.num_updates, -1

    def look(self) -> None:
        """Show new epochs."""
        folder = RunFolder(self.one.folder)
        lines = []
        with contextlib.suppress(FairgymError):  # the folder may be incomplete
            lines = folder.read_metrics() if folder.kind() == "run" else []
        if len(lines) > self.seen:
            self.seen = len(lines)
            self.progress(self.seen, self.epochs, lines[-1] if lines else None)


@contextlib.contextmanager
def _marked(planned: Sequence[Planned]) -> Iterator[dict[Path, Path]]:
    """Context with a file in the folder of the runs, to test whether a worker sees that folder."""
    marks: dict[Path, Path] = {}
    named: dict[Path, Path] = {}
    name = f".shared-{secrets.token_hex(8)}"
    try:
        for one in planned:
            where = one.folder.absolute().parent.parent
            if where not in marks:
                make_folder(where)
                marks[where] = where / name
                marks[where].touch()
            named[one.folder] = marks[where]
        yield named
    finally:
        for mark in marks.values():
            mark.unlink(missing_ok=True)


def trained(order: Planned, mark: Path, begun: bytes, devices: int) -> tuple[str, bytes]:
    """Train one run in a task.

    Args:
        order: The run.
        mark: File that exists if this machine sees the folder of the runs.
        begun: Content of the run folder so far, for a machine that does not see it.
        devices: Number of CPU devices of the process that submitted it; 0 for GPUs.

    Returns:
        The reason if the run failed, else ""; and the content of the folder if it is not shared.
    """
    if devices:
        with contextlib.suppress(RuntimeError):  # this worker has trained before
            jax.config.update("jax_num_cpu_devices", devices)
    with interrupts.listening(), _folder(order, mark, begun) as (folder, shared):
        try:
            for module in order.imports:
                import_plugin(module)
            _patiently_trained(order, folder)
        except KeyboardInterrupt:
            pass  # it was told to stop, and has saved its epoch
        except Exception as error:
            return reason_of(error), b""
        return "", b"" if shared else _packed(folder)


def _patiently_trained(order: Planned, folder: Path) -> None:
    """Train, and wait if a worker dying on a lost node still holds the folder."""
    until = time.monotonic() + HELD_SECONDS
    while True:
        try:
            # an earlier attempt of this task is continued
            resume = order.resume or RunFolder(folder).kind() == "run"
            resume = resume and not order.overwrite
            dataclasses.replace(order, folder=folder, resume=resume).train()
            return
        except FolderHeld:
            if time.monotonic() > until:
                raise
            time.sleep(0.5)


@contextlib.contextmanager
def _folder(order: Planned, mark: Path, begun: bytes) -> Iterator[tuple[Path, bool]]:
    """Context with the run folder, or a local copy of it; and whether the folder is shared."""
    if mark.exists():
        yield order.folder, True
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / order.folder.name
        if begun:
            _unpacked(begun, folder)
        yield folder, False


def _packed(folder: Path) -> bytes:
    """Content of a folder as bytes; empty without a folder."""
    if not folder.is_dir():
        return b""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        archive.add(folder, arcname=".")
    return content.getvalue()


def _unpacked(content: bytes, folder: Path) -> None:
    """Write the content of a folder."""
    make_folder(folder)
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        archive.extractall(folder, filter="data")
