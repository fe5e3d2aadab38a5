"""Safe writing of files, never half and never through a link; and the lock of a run folder."""

import contextlib
import errno
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fairgym.core.errors import FairgymError

TEMPORARY = ".fairgym-tmp"
# Flags that not every system has: bytes as they are, an error for a link, no waiting for a writer.
_BYTES = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINK, _NO_WAIT = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_NONBLOCK", 0)


@contextlib.contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn an operating system's error while writing (no right, full disk) into one sentence."""
    try:
        yield
    except OSError as error:
        reason = "it is a link" if path.is_symlink() else error.strerror or error
        raise FairgymError(
            f"{path} cannot be written ({reason}); what was there before is as it was"
        ) from error


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file whole or not at all: write aside, flush to the disk, rename.

    The file aside is a new one with a name that nobody can foresee. A link in the file's place is
    replaced, not followed.

    Raises:
        FairgymError: it cannot be written; an existing file of that name is untouched.
    """
    aside = path.with_name(f".{path.name}.{secrets.token_hex(8)}{TEMPORARY}")
    with write_errors(path):
        handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | _BYTES, 0o666)
        try:
            with open(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(aside, path)
        except BaseException:
            with contextlib.suppress(OSError):
                aside.unlink()
            raise
        _sync_folder(path.parent)


def append_line(path: Path, line: str) -> None:
    """Append one line, on the disk when this returns; on failure nothing of it stays.

    Raises:
        FairgymError: it cannot be written, or is a link.
    """
    with write_errors(path):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _NO_LINK | _BYTES, 0o666)
        with open(handle, "ab", buffering=0) as stream:
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


def make_folder(path: Path) -> None:
    """Make a folder and those above it; one that is there will do, a link to one will not.

    Raises:
        FairgymError: it cannot be made, is a link, or something else than a folder.
    """
    with write_errors(path), contextlib.suppress(FileExistsError):
        path.mkdir(parents=True)
    require_folder(path)


def require_folder(path: Path) -> None:
    """Raise a FairgymError if there is a link or anything but a folder; nothing at all will do."""
    if path.is_symlink():
        raise FairgymError(f"{path} is a link; it takes a folder of its own")
    if path.exists() and not path.is_dir():
        raise FairgymError(f"{path} is not a folder; it takes one")


def require_writable(path: Path) -> None:
    """Raise a FairgymError unless a file can be written here; nothing is left, not even folders.

    A folder that is absent will do if it can be made.
    """
    with write_errors(path):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        above = next((p for p in path.parents if os.path.lexists(p)), Path())
        with tempfile.TemporaryFile(dir=above):
            pass


def read_regular(path: Path, most: int | None = None) -> bytes:
    """The content of a file, which is neither a pipe nor a device nor of any other endless kind.

    Args:
        path: the file.
        most: largest number of bytes; None for any.

    Raises:
        OSError: it cannot be read, is no regular file, or larger.
    """
    handle = os.open(path, os.O_RDONLY | _NO_WAIT | _BYTES)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError("it is not a regular file")
    with open(handle, "rb") as stream:
        try:
            content = stream.read(-1 if most is None else most + 1)
        except MemoryError as error:
            raise OSError("it is larger than the memory") from error
    if most is not None and len(content) > most:
        raise OSError(f"it is larger than {most:,} bytes")
    return content


def require_path(path: str | Path, field: str) -> None:
    """Raise a FairgymError unless there may be a file or a folder of this name.

    Args:
        path: as the user gave it.
        field: name of the setting, for the message.
    """
    text = str(path)
    try:
        if text and "\0" not in text:
            os.fsencode(text)
            with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                os.lstat(text)
            return
    except OSError as error:
        raise FairgymError(f"{field} is {text!r} ({error.strerror}); it takes a path") from error
    except ValueError:  # half of a surrogate pair
        pass
    raise FairgymError(f"{field} is {text!r}; it takes a path")


def is_temporary(path: Path) -> bool:
    """True for a file that `write_whole` was about to rename."""
    return path.name.startswith(".") and path.name.endswith(TEMPORARY)


def _sync_folder(folder: Path) -> None:
    """Bring renames to the disk, where the system knows how."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class FolderHeld(FairgymError):
    """Refusal of a run folder in which another process is training."""


def lock_folder(path: Path) -> int | None:
    """Handle that holds the lock of a folder, which is made if it is absent.

    Args:
        path: the folder.

    Returns:
        An open file; closing it lets go of the lock. None on a system without locks.

    Raises:
        FolderHeld: another process is training in it.
        FairgymError: it cannot be made or opened.
    """
    while True:
        with write_errors(path):
            try:
                path.mkdir(parents=True, exist_ok=True)
            except FileExistsError as error:
                there = error.filename  # or a folder above
                if os.path.lexists(there) and not os.path.isdir(there):
                    raise
                continue  # it was there, and a holder that began nothing has deleted it
        if os.name != "posix":
            return None
        import fcntl

        try:
            handle = os.open(path, os.O_RDONLY)
        except FileNotFoundError:  # deleted by a holder that began nothing
            continue
        except OSError as error:
            raise FairgymError(f"{path} cannot be opened ({error.strerror})") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(handle)
            raise FolderHeld(
                f"another process is training in {path}; out takes another folder,"
                " or wait until it is done"
            ) from error
        except OSError:
            pass  # a file system without locks
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        os.close(handle)  # that of a folder which was deleted meanwhile: once more
