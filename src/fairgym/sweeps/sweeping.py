"""Running of sweeps, and the state of their runs.

The state of a sweep is in the run folders. The journal, `sweep.jsonl`, records events with their
time, and why runs failed. It is only appended to, and training does not depend on it.
"""

import contextlib
import dataclasses
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from fairgym.config.sweep_file import Sweep
from fairgym.core import FairgymError
from fairgym.sweeps.plan import Engine, Failed, Planned, Show, plan, unique
from fairgym.training.folder import RunFolder
from fairgym.training.loop import Progress
from fairgym.training.provenance import now
from fairgym.utils.files import append_line, make_folder

JOURNAL = "sweep.jsonl"
FINISHED, FAILED, BEGUN, WAITING = "finished", "failed", "begun", "waiting"


class Entry(NamedTuple):
    """A run of a sweep.

    Attributes:
        words: Settings that differ, in words.
        settings: Settings that differ, by name.
        run: The planned run.
        out: Folder of the sweep.
    """

    words: str
    settings: Mapping[str, object]
    run: Planned
    out: Path

    @property
    def status(self) -> str:
        """State of the run: "finished", "failed", "begun" or "waiting"."""
        if self.run.finished:
            return FINISHED
        if self.failure:
            return FAILED
        return BEGUN if RunFolder(self.run.folder).kind() == "run" else WAITING

    @property
    def failure(self) -> str:
        """Reason of the last failure; "" if the last training did not fail or is running."""
        journal = self.out / JOURNAL
        try:
            size = os.stat(journal).st_size
        except OSError:
            return ""
        return _failures(journal, size).get(_name(self.run, self.out), "")

    @property
    def epochs(self) -> int:
        """Number of trained epochs."""
        folder = RunFolder(self.run.folder)
        return len(folder.read_metrics()) if folder.kind() == "run" else 0


@lru_cache(maxsize=4)
def _failures(journal: Path, size: int) -> dict[str, str]:
    """Reason of the failure of each run whose last event in the journal is one."""
    found: dict[str, str] = {}
    with journal.open("rb") as stream:
        for line in stream.read(size).splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError):  # a broken line
                event = json.loads(line)
                reason = event["reason"] if event["event"] == FAILED else ""
                found[event["run"]] = str(reason).partition("\n")[0]
    return found


def _name(run: Planned, out: Path) -> str:
    """Name of a run in the journal."""
    return str(run.folder.relative_to(out))


def entries_of(sweep: Sweep, out: str | Path, shard: tuple[int, int] = (1, 1)) -> list[Entry]:
    """Return the runs of a sweep in the order of the settings, without writing anything.

    Args:
        sweep: The sweep.
        out: Folder of the sweep; its runs are in `out`/runs.
        shard: (k, n) for the k-th of n equal parts of the runs.

    Raises:
        FairgymError: A configuration cannot be built, or a folder holds something else.
    """
    part, parts = shard
    if not 1 <= part <= parts:
        raise FairgymError(f"shard must be K/N with K from 1 to N, got {part}/{parts}")
    planned = plan(sweep.configs, sweep.seeds, Path(out))
    every = []
    for words, runs in planned.items():
        for one in runs:
            one = dataclasses.replace(one, label=f"{words}, seed {one.config.seed}")
            every.append(Entry(words, sweep.settings[words], one, Path(out)))
    return every[part - 1 :: parts]


def run_sweep(
    entries: Sequence[Entry],
    out: str | Path,
    engine: Engine,
    show: Show,
    say: Callable[[str], None],
) -> list[Failed]:
    """Train every run that is not finished, and retry each failed run once.

    Args:
        entries: Runs from `entries_of`.
        out: Folder of the sweep, for the journal.
        engine: Engine that trains.
        show: As for `Engine.run`.
        say: As for `Engine.run`.

    Returns:
        The runs that failed twice.
    """
    out = Path(out)
    make_folder(out)
    _note(out, "sweep", runs=len(entries), finished=sum(e.run.finished for e in entries))

    @contextlib.contextmanager
    def noting(one: Planned) -> Iterator[Progress]:
        _note(out, BEGUN, one)
        try:
            with show(one) as progress:
                yield progress
        finally:
            if one.finished:
                _note(out, FINISHED, one)

    def tried(runs: Sequence[Planned]) -> list[Failed]:
        failed = engine.run(runs, noting, say)
        for failure in failed:
            _note(out, FAILED, failure.run, reason=failure.sentence)
        return failed

    todo = unique(entry.run for entry in entries)
    failed = tried(todo)
    if failed:
        say(f"{len(failed)} of {len(todo)} runs failed; trying them once more")
        failed = tried([dataclasses.replace(failure.run, resume=True) for failure in failed])
    return failed


def _note(out: Path, event: str, one: Planned | None = None, **more: object) -> None:
    """Append a line to the journal of a sweep in one write."""
    line: dict[str, Any] = {"time": now(), "event": event, **more}
    if one is not None:
        line["run"] = _name(one, out)
    append_line(out / JOURNAL, json.dumps(line))
