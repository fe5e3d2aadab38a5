"""The run folder: its files, locking, writing and reading."""

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from jaxtyping import PyTree

from fairgym.config.differences import is_longer, require_same_run
from fairgym.config.run_config import RunConfig
from fairgym.core import Environment, FairgymError
from fairgym.training import stored
from fairgym.training.checkpoint import Checkpoints, decode, read_header, require_same
from fairgym.training.stored import Stored
from fairgym.utils.files import (
    append_line,
    is_temporary,
    lock_folder,
    make_folder,
    read_regular,
    require_folder,
    require_path,
    write_errors,
    write_whole,
)


def seed_folder(folder: str | Path, seed: int) -> Path:
    """Return the run folder of one seed in a folder of several seeds."""
    return Path(folder) / f"seed-{seed}"


def seed_of(folder: str | Path) -> int | None:
    """Return the seed in the name of a run folder; None for other names."""
    found = re.fullmatch(r"seed-(\d+)", Path(folder).name)
    return int(found[1]) if found else None


def run_folders(folder: str | Path) -> list[Path]:
    """Return the run folders of the seeds in a folder, or the folder itself if it has none.

    All commands resolve a user's folder in this way.
    """
    return RunFolder(folder).seeds or [Path(folder)]


class RunFolder:
    """The files of one run.

    Attributes:
        path: The folder.
        config: The file config.json: configuration, version of the environment, and provenance.
        metrics: The file metrics.jsonl: one line per update.
        policy: The file policy.eqx: the learned policies.
        summary: The file summary.json. It is written last: a run with one is finished.
        checkpoints: The checkpoints.
    """

    def __init__(self, path: str | Path) -> None:
        require_path(path, "the run folder")
        self.path = Path(path)
        self.config = self.path / "config.json"
        self.metrics = self.path / "metrics.jsonl"
        self.policy = self.path / "policy.eqx"
        self.summary = self.path / "summary.json"
        self.checkpoints = Checkpoints(self.path / "checkpoints")

    @property
    def seeds(self) -> list[Path]:
        """Run folders of the seeds in this folder, by seed; empty if it is itself a run."""
        if self.config.exists():
            return []
        named = [(seed_of(path), path) for path in self.path.glob("seed-*")]
        found = [(seed, path) for seed, path in named if seed is not None]
        return [path for _, path in sorted(found) if (path / self.config.name).is_file()]

    @property
    def replacement(self) -> "RunFolder":
        """Run that replaces this one when it is finished."""
        return RunFolder(self.path / ".replacement")

    @property
    def current(self) -> "RunFolder":
        """Run that `resume` continues: a replacement under way, or this run."""
        return self.replacement if self.replacement.config.exists() else self

    @property
    def finished(self) -> bool:
        """Whether there is a run with nothing left to do."""
        return bool(self.read_summary()) and not os.path.lexists(self.replacement.path)

    def is_extended_by(self, config: RunConfig) -> bool:
        """Return whether this (complete) configuration extends the run here to more epochs.

        It does not while a replacement is under way, which is finished first.
        """
        if self.current is not self or not self.config.exists():
            return False
        return is_longer(config, self.read_config().config)

    # ---------------------------------------------------------------- before anything is written

    def kind(self) -> Literal["free", "run", "foreign"]:
        """Return the kind of the content: nothing yet, a run, or something else."""
        try:
            names = sorted(self.path.iterdir()) if os.path.lexists(self.path) else []
        except OSError:
            return "foreign"
        if all(is_temporary(name) or self._is_empty_checkpoints(name) for name in names):
            return "free"
        # checked again: another process may be beginning a run
        return "run" if self.config.exists() and self._claims_to_be_a_run() else "foreign"

    def _is_empty_checkpoints(self, path: Path) -> bool:
        """Return whether this is the remainder of a run killed before it wrote its config.json."""
        if path != self.checkpoints.folder or path.is_symlink() or not path.is_dir():
            return False
        return not any(path.iterdir())

    def _claims_to_be_a_run(self) -> bool:
        with contextlib.suppress(OSError, ValueError):
            content = stored.read_names(self.config)
            return str(content.get("format", "")).startswith("fairgym-run")
        return False

    def admit(self, config: RunConfig, env: Environment, *, resume: bool, overwrite: bool) -> None:
        """Check that a run of this (complete) configuration may be written here.

        Raises:
            FairgymError: If the folder holds something else, or a run while neither `resume` nor
                `overwrite` is set. Also if `resume` is set and the run has another configuration
                (apart from fewer epochs), another version of the environment or other data.
        """
        if resume and overwrite:
            raise FairgymError("resume and overwrite cannot both be set")
        kind = self.kind()
        if kind == "foreign":
            raise FairgymError(
                f"{self.path} holds something that is not a fairgym run; out must be a new or empty"
                " folder, or one with a run"
            )
        for part in (self.checkpoints.folder, self.replacement.path):
            require_folder(part)
        if kind == "free" or overwrite:
            return
        if not resume:
            raise FairgymError(
                f"{self.path} already holds a run; give a new folder, --resume to continue the run,"
                " or --overwrite to replace it"
            )
        there = self.current
        begun_with = there.read_config()
        if not self.is_extended_by(config):
            require_same_run(config, begun_with.config, there.path)
        if begun_with.environment_version != env.spec.version:
            raise FairgymError(
                f"the environment {config.environment} has version {env.spec.version}, but the run"
                f" in {there.path} began in version {begun_with.environment_version}; resume needs"
                " the same version"
            )
        began_on = begun_with.provenance.get("data_checksum", "")
        if began_on != env.spec.data_checksum:
            raise FairgymError(
                f"the data of {config.environment} have sha256 {env.spec.data_checksum!r}, but the"
                f" run in {there.path} began on {began_on!r}; resume needs the same data"
            )

    # ---------------------------------------------------------------- writing

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Create the folder and lock it against other processes.

        Raises:
            FairgymError: If it cannot be created, or another process is training in it.
        """
        handle = lock_folder(self.path)
        try:
            make_folder(self.checkpoints.folder)
            yield
        finally:
            if not self.config.exists():  # nothing was begun
                with contextlib.suppress(OSError):
                    self.checkpoints.folder.rmdir()
                    self.path.rmdir()
            if handle is not None:
                os.close(handle)  # which also releases the lock

    def clear(self) -> None:
        """Delete fairgym's results in this folder; config.json and other files stay."""
        with write_errors(self.path):
            for path in (self.summary, self.policy, *self.checkpoints.paths(), self.metrics):
                path.unlink(missing_ok=True)

    def forget(self) -> None:
        """Delete a run of which nothing was trained; `held` then deletes the folder."""
        self.clean()
        self.clear()
        with write_errors(self.path):
            self.config.unlink(missing_ok=True)

    def clean(self) -> None:
        """Delete unfinished files."""
        with write_errors(self.path):
            for folder in (self.path, self.checkpoints.folder):
                for path in folder.iterdir() if folder.is_dir() else ():
                    if is_temporary(path):
                        path.unlink(missing_ok=True)

    def settle(self) -> None:
        """Move a finished replacement into this folder, and delete one that never began.

        If it is killed, the next call continues: the configuration is the first file to move and
        the summary the last one.
        """
        new = self.replacement
        if not new.path.is_dir():
            return
        with write_errors(self.path):
            if new.summary.exists():
                if new.config.exists():
                    self.clear()
                    os.replace(new.config, self.config)
                for path in new.checkpoints.paths():
                    os.replace(path, self.checkpoints.folder / path.name)
                for path in (new.metrics, new.policy, new.summary):
                    if path.exists():
                        os.replace(path, self.path / path.name)
        if not new.config.exists():
            new.clear()
            new.clean()
            for folder in (new.checkpoints.folder, new.path):
                with contextlib.suppress(OSError):
                    folder.rmdir()

    def write_config(self, content: Stored) -> None:
        """Write config.json."""
        records = {
            "environment_version": content.environment_version,
            "provenance": content.provenance,
            **({"imports": list(content.imports)} if content.imports else {}),
        }
        self._write_json(
            self.config, {"format": stored.FORMAT, **content.config.as_json(), **records}
        )

    def write_summary(self, summary: Mapping[str, object]) -> None:
        """Write summary.json."""
        self._write_json(self.summary, summary)

    def append_metrics(self, line: Mapping[str, object]) -> None:
        """Append a line to metrics.jsonl."""
        append_line(self.metrics, json.dumps(line, allow_nan=False))

    def cut_metrics(self, epochs: int) -> list[dict[str, Any]]:
        """Keep only the lines of the first epochs, and return them."""
        lines = self.read_metrics()[:epochs]
        self.write_metrics(lines)
        return lines

    def write_metrics(self, lines: Sequence[Mapping[str, object]]) -> None:
        """Write metrics.jsonl."""
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        write_whole(self.metrics, text.encode())

    # ---------------------------------------------------------------- reading

    def read_config(self) -> Stored:
        """Read config.json and import the modules that it names.

        Raises:
            FairgymError: If there is no run here, config.json cannot be read, or a module cannot be
                imported.
        """
        if not self.path.is_dir():
            raise FairgymError(f"{self.path} is not a folder; give the folder of a run")
        if not self.config.exists():
            raise FairgymError(f"{self.path} has no config.json; give the folder of a run")
        return stored.read_config(self.config)

    def read_metrics(self) -> list[dict[str, Any]]:
        """Return the lines of metrics.jsonl up to the first damaged one."""
        return stored.read_metrics(self.metrics)

    def read_policy(self, like: PyTree, config: RunConfig) -> Any:
        """Return the policies in policy.eqx.

        Args:
            like: Policies of the same structure.
            config: Configuration of config.json.

        Raises:
            FairgymError: If it cannot be read, is damaged, or belongs to another configuration.
        """
        return decode(self._policy_bytes(), like, self.policy, config.as_json())[0]

    def check_policy(self, config: RunConfig) -> None:
        """Raise a FairgymError unless policy.eqx was made with this configuration."""
        header, _ = read_header(self._policy_bytes(), self.policy)
        require_same(header, config.as_json(), self.policy)

    def _policy_bytes(self) -> bytes:
        try:
            return read_regular(self.policy)
        except OSError as error:
            raise FairgymError(
                f"{self.policy} cannot be read ({error.strerror or error})"
            ) from error

    def read_summary(self) -> dict[str, Any]:
        """Return the content of summary.json; empty for an unfinished run."""
        return stored.read_summary(self.summary)

    @staticmethod
    def _write_json(path: Path, content: Mapping[str, object]) -> None:
        write_whole(path, (json.dumps(content, indent=2, allow_nan=False) + "\n").encode())
