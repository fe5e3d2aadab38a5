"""Safe file access: atomic writes that never follow links, and locks of run folders."""

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
# Flags that some systems lack: binary mode, an error for links, no waiting for a writer.
_BYTES = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINK, _NO_WAIT = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_NONBLOCK", 0)


@contextlib.contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn a system error while writing (no permission, full disk) into a FairgymError."""
    try:
        yield
    except OSError as error:
        reason = "it is a link" if path.is_symlink() else error.strerror or error
        raise FairgymError(
            f"{path} cannot be written ({reason}); its previous content is unchanged"
        ) from error


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file atomically: write a temporary file, flush it to the disk, and rename it.

    The temporary file is new and has an unpredictable name. A link at the path is replaced, not
    followed.

    Raises:
        FairgymError: The file cannot be written; an existing one is unchanged.
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
    """Append one line and flush it to the disk; on failure, remove what was written of it.

    Raises:
        FairgymError: The file cannot be written, or is a link.
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
    """Make a folder and its parents, unless it exists.

    Raises:
        FairgymError: The folder cannot be made, or the path is a link or no folder.
    """
    with write_errors(path), contextlib.suppress(FileExistsError):
        path.mkdir(parents=True)
    require_folder(path)


def require_folder(path: Path) -> None:
    """Raise a FairgymError if the path exists and is a link or no folder."""
    if path.is_symlink():
        raise FairgymError(f"{path} must be a folder, got a link")
    if path.exists() and not path.is_dir():
        raise FairgymError(f"{path} must be a folder, got a file")


def require_writable(path: Path) -> None:
    """Raise a FairgymError unless a file can be written at this path.

    Missing folders are fine if they can be made. Nothing is left on the disk.
    """
    with write_errors(path):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        above = next((p for p in path.parents if os.path.lexists(p)), Path())
        with tempfile.TemporaryFile(dir=above):
            pass


def read_regular(path: Path, most: int | None = None) -> bytes:
    """Read a regular file; pipes and devices, which may be endless, are refused.

    Args:
        path: The file.
        most: Largest number of bytes; None for no limit.

    Raises:
        OSError: The file cannot be read, is not regular, or is too large.
    """
    handle = os.open(path, os.O_RDONLY | _NO_WAIT | _BYTES)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError("the path is not a regular file")
    with open(handle, "rb") as stream:
        try:
            content = stream.read(-1 if most is None else most + 1)
        except MemoryError as error:
            raise OSError("it does not fit in memory") from error
    if most is not None and len(content) > most:
        raise OSError(f"the file is larger than {most:,} bytes")
    return content


def require_path(path: str | Path, field: str) -> None:
    """Raise a FairgymError unless a path is a valid name of a file or folder.

    Args:
        path: The path, as the user gave it.
        field: Name of the setting, for the message.
    """
    text = str(path)
    try:
        if text and "\0" not in text:
            os.fsencode(text)
            with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                os.lstat(text)
            return
    except OSError as error:
        raise FairgymError(f"{field} must be a path, got {text!r} ({error.strerror})") from error
    except ValueError:  # half of a surrogate pair
        pass
    raise FairgymError(f"{field} must be a path, got {text!r}")


def is_temporary(path: Path) -> bool:
    """Return whether a file is a temporary one that `write_whole` left behind."""
    return path.name.startswith(".") and path.name.endswith(TEMPORARY)


def _sync_folder(folder: Path) -> None:
    """Flush renames in a folder to the disk, if the system supports it."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class FolderHeld(FairgymError):
    """Error for a run folder in which another process is training."""


def lock_folder(path: Path) -> int | None:
    """Lock a folder, which is made if it does not exist.

    Args:
        path: The folder.

    Returns:
        An open file descriptor; closing it releases the lock. None on a system without locks.

    Raises:
        FolderHeld: Another process is training in the folder.
        FairgymError: The folder cannot be made or opened.
    """
    while True:
        with write_errors(path):
            try:
                path.mkdir(parents=True, exist_ok=True)
            except FileExistsError as error:
                there = error.filename  # or a parent folder
                if os.path.lexists(there) and not os.path.isdir(there):
                    raise
                continue  # it existed, but a process that wrote nothing has just deleted it
        if os.name != "posix":
            return None
        import fcntl

        try:
            handle = os.open(path, os.O_RDONLY)
        except FileNotFoundError:  # deleted by a process that wrote nothing
            continue
        except OSError as error:
            raise FairgymError(f"{path} cannot be opened ({error.strerror})") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(handle)
            raise FolderHeld(
                f"another process is training in {path}; use another folder, or wait until"
                " it has finished"
            ) from error
        except OSError:
            pass  # a file system without locks
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        os.close(handle)  # of a folder that was deleted meanwhile: try again
