"""The lock of a run folder: one process at a time trains in it."""

import contextlib
import os
from pathlib import Path

from fairgym.core import FairgymError
from fairgym.core.files import write_errors


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
