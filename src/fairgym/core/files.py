"""Writing files so that no reader ever meets half of one."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from fairgym.core.errors import FairgymError

TEMPORARY = ".fairgym-tmp"


@contextlib.contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn an operating system's error while writing (no right, full disk) into one sentence."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise FairgymError(
            f"{path} cannot be written ({reason}); what was there before is as it was"
        ) from error


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file whole or not at all: write aside, flush to the disk, rename.

    Raises:
        FairgymError: it cannot be written; an existing file of that name is untouched.
    """
    aside = path.with_name(f".{path.name}{TEMPORARY}")
    with write_errors(path):
        try:
            with open(aside, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(aside, path)
        except OSError:
            with contextlib.suppress(OSError):
                aside.unlink()
            raise
        _sync_folder(path.parent)


def append_line(path: Path, line: str) -> None:
    """Append one line, on the disk when this returns; on failure nothing of it stays.

    Raises:
        FairgymError: it cannot be written.
    """
    with write_errors(path), open(path, "ab", buffering=0) as stream:
        before = stream.tell()
        try:
            content = f"{line}\n".encode()
            while content:
                content = content[stream.write(content) :]
            os.fsync(stream.fileno())
        except OSError:
            with contextlib.suppress(OSError):
                stream.truncate(before)
            raise


def is_temporary(path: Path) -> bool:
    """Whether a file is one that `write_whole` was about to rename."""
    return path.name.startswith(".") and path.name.endswith(TEMPORARY)


def _sync_folder(folder: Path) -> None:
    """Bring renames to the disk, where the system knows how."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
