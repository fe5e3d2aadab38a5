"""Engines that train the runs of a plan, in this process or in several.

Results are the same bits with either engine. A worker process has the same number of devices as
this one, because algorithms that spread episodes over devices round sums differently on another
number. It has the same number of threads, because products of large matrices do so too.
"""

import contextlib
import multiprocessing
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import connection
from pathlib import Path

import jax
from jaxtyping import PyTree

from fairgym.core import FairgymError
from fairgym.sweeps import _worker
from fairgym.sweeps.plan import Failed, Planned, Show, unfinished
from fairgym.training.loop import Progress
from fairgym.utils import interrupts
from fairgym.utils.own_code import reason_of, traceback_of

RETRIES = 3  # of a run whose worker died
PATIENT = "stopping after this epoch of each run; Ctrl-C again ends them at once"


def devices() -> int:
    """Return the number of CPU devices, on which rounding depends; 0 if JAX uses GPUs."""
    return jax.local_device_count() if jax.default_backend() == "cpu" else 0


def failure_by(error: Exception, one: Planned) -> Failed:
    """Return the failure of a run; print the traceback of own code, or of a bug."""
    if own := traceback_of(error):
        print(own, end="", file=sys.stderr)
    elif not isinstance(error, FairgymError):
        traceback.print_exception(error)
    return Failed(one, reason_of(error))


def failure_of(failed: Sequence[Failed], runs: int) -> FairgymError:
    """Return one error for all failed runs.

    Args:
        failed: Failures of runs.
        runs: Number of all runs.
    """
    labels: dict[str, list[str]] = {}
    for one in failed:
        labels.setdefault(one.sentence, []).append(one.run.label)
    text = "; ".join(f"{reason} ({_listed(names)})" for reason, names in labels.items())
    return FairgymError(f"{len(failed)} of {runs} runs failed: {text}")


def _listed(names: Sequence[str]) -> str:
    more = f"; and {len(names) - 3} more" if len(names) > 3 else ""
    return "; ".join(names[:3]) + more


class Local:
    """Training in this process, one run after another. Equal programs are compiled once."""

    def run(
        self, planned: Sequence[Planned], show: Show, say: Callable[[str], None]
    ) -> list[Failed]:
        """Train as in `Engine.run`."""
        failed = []
        for one in unfinished(planned):
            try:
                with show(one) as progress:
                    one.train(progress)
            except Exception as error:
                failed.append(failure_by(error, one))
        return failed


class Processes:
    """Training in worker processes, each of which trains one run at a time.

    A worker that dies is replaced, and its run continues from its last checkpoint, up to three
    times. Ctrl-C stops every run after its epoch, and no worker outlives this process. Workers
    reuse programs that others have compiled. So runs are distributed such that two workers do not
    compile the same program at a time if there is other work.

    Args:
        workers: Largest number of processes.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        # Processes can share a GPU only if none of them allocates all of its memory at the start.
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

    def run(
        self, planned: Sequence[Planned], show: Show, say: Callable[[str], None]
    ) -> list[Failed]:
        """Train as in `Engine.run`.

        Raises:
            FairgymError: No worker can be started.
        """
        waiting = unfinished(planned)
        crew = _Crew(waiting, min(self.workers, len(waiting)), show, say)
        with interrupts.patiently(PATIENT):
            try:
                while crew.busy:
                    crew.hand_out()
                    crew.hear(0.2)
                    interrupts.look()
            except KeyboardInterrupt:
                crew.stop()
                raise
            finally:
                crew.end()
        return crew.failed


class _Worker:
    """A worker process, seen from its parent process."""

    def __init__(self, devices: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_worker.work, args=(theirs, devices), daemon=True)
        with _deaf():
            self.process.start()
        theirs.close()  # so that reading ends when the process does
        self.ready = False
        self.task: Planned | None = None
        self.compiled = False  # the task's program
        self.programs: set[str] = set()
        self.progress: Progress | None = None
        self.shown = contextlib.ExitStack()

    def begin(self, one: Planned, show: Show) -> None:
        """Send it a run."""
        self.task, self.compiled = one, False
        self.programs.add(one.program)
        self.progress = self.shown.enter_context(show(one))
        self.tell(one.elsewhere())

    def tell(self, message: object) -> None:
        """Send it a message; if it has died, `hear` notices."""
        with contextlib.suppress(OSError):
            self.pipe.send(message)

    def let_go(self) -> Planned | None:
        """Take its run from it."""
        self.shown.close()
        task, self.task, self.progress = self.task, None, None
        return task

    def end(self) -> None:
        """Kill it."""
        self.shown.close()
        self.pipe.close()
        self.process.kill()
        self.process.join()


class _Crew:
    """The worker processes of one plan, and the runs that are left."""

    def __init__(
        self, waiting: list[Planned], size: int, show: Show, say: Callable[[str], None]
    ) -> None:
        self.waiting, self.size, self.show, self.say = waiting, size, show, say
        self.workers: list[_Worker] = []
        self.failed: list[Failed] = []
        self.devices = devices()
        self.deaths: dict[Path, int] = {}  # by run folder
        self.stillborn = 0  # workers in a row that died before they were ready

    @property
    def busy(self) -> bool:
        """Whether runs are left or being trained."""
        return bool(self.waiting) or any(worker.task for worker in self.workers)

    def hand_out(self) -> None:
        """Give every idle worker a run, and start missing workers."""
        for worker in self.workers:
            if self.waiting and worker.ready and worker.task is None:
                one = self._choose(worker)
                self.waiting.remove(one)
                worker.begin(one, self.show)
        idle = sum(worker.task is None for worker in self.workers)
        for _ in range(min(self.size - len(self.workers), len(self.waiting) - idle)):
            self.workers.append(_Worker(self.devices))

    def _choose(self, worker: _Worker) -> Planned:
        """Choose a run whose program the worker has, else one that no worker is compiling."""
        compiling = {w.task.program for w in self.workers if w.task and not w.compiled}

        def cost(one: Planned) -> int:
            return 0 if one.program in worker.programs else 2 if one.program in compiling else 1

        return min(self.waiting, key=cost)

    def hear(self, seconds: float | None) -> None:
        """Wait for messages of the workers for so many seconds, or without limit if None."""
        talking = connection.wait([worker.pipe for worker in self.workers], seconds)
        for worker in [worker for worker in self.workers if worker.pipe in talking]:
            try:
                message = worker.pipe.recv()
            except (EOFError, OSError):
                self._lose(worker)
            else:
                self._answer(worker, *message)

    def _answer(self, worker: _Worker, word: str, *rest: PyTree) -> None:
        if word == _worker.READY:
            worker.ready, self.stillborn = True, 0
        elif word == _worker.PROGRESS:
            worker.compiled |= rest[-1] is not None
            if worker.progress is not None:
                worker.progress(*rest)
        else:
            task = worker.let_go()
            if task is not None and word == _worker.FAILED:
                self.failed.append(Failed(task, *rest))
                self.say(f"{task.label} failed: {rest[0]}")

    def _lose(self, worker: _Worker) -> None:
        """Remove a dead worker, and put its run first in the queue."""
        self.workers.remove(worker)
        worker.process.join()  # only then are the locks of its run folder free
        cause, task = _cause(worker.process.exitcode), worker.let_go()
        worker.pipe.close()
        if not worker.ready:
            self.stillborn += 1
            if self.stillborn > RETRIES:
                raise FairgymError(
                    f"worker processes end before they start to train ({cause}): each needs memory"
                    ' of its own, and a script needs `if __name__ == "__main__":` around training'
                )
        if task is None:
            return
        deaths = self.deaths[task.folder] = self.deaths.get(task.folder, 0) + 1
        if deaths <= RETRIES:
            self.waiting.insert(0, task.again())
            self.say(f"{task.label}: its process died ({cause}); a new process continues it")
        else:
            sentence = f"its process died {deaths} times ({cause})"
            self.failed.append(Failed(task, f"{sentence}; fewer workers may help"))
            self.say(f"{task.label}: {sentence}; giving up")

    def stop(self) -> None:
        """Let every run finish and save its epoch; do not start waiting runs."""
        self.waiting.clear()
        for worker in self.workers:
            worker.progress = None  # the display may have been interrupted
            worker.tell(_worker.STOP)
        while self.busy:
            self.hear(None)
            self.waiting.clear()  # the run of a worker that died meanwhile

    def end(self) -> None:
        """Kill all workers."""
        for worker in self.workers:
            worker.end()


def _cause(code: int | None) -> str:
    """Why a process ended, in words."""
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}"


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Context to start a process that never receives a terminal's Ctrl-C, not even at its start."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # it would change the mask
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
