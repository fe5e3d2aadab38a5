"""Checkpoints: the arrays of a train state, with a header by which a damaged file is noticed."""

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import equinox as eqx

from fairgym.core import FairgymError
from fairgym.core.files import write_whole

_MARK = "fairgym-arrays-1"


def encode(tree: Any, **about: Any) -> bytes:
    """The arrays of a pytree as bytes: one line of JSON, then the arrays.

    Args:
        tree: any pytree; what is static in it is not written.
        **about: JSON values kept in the first line.
    """
    buffer = io.BytesIO()
    eqx.tree_serialise_leaves(buffer, tree)
    payload = buffer.getvalue()
    header = {"mark": _MARK, **about, "sha256": hashlib.sha256(payload).hexdigest()}
    return json.dumps(header).encode() + b"\n" + payload


def decode(content: bytes, like: Any, path: Path) -> tuple[Any, dict[str, Any]]:
    """The pytree and what was written about it.

    Args:
        content: as `encode` made it.
        like: a pytree of the same structure, shapes and dtypes.
        path: origin of the content, for messages.

    Raises:
        FairgymError: the content is truncated, altered or of another structure.
    """
    first, _, payload = content.partition(b"\n")
    try:
        header = json.loads(first)
        if (header["mark"], header["sha256"]) != (_MARK, hashlib.sha256(payload).hexdigest()):
            raise ValueError("not what was written")
    except (ValueError, KeyError, TypeError) as error:
        raise FairgymError(
            f"{path} is truncated or altered; it takes a file that fairgym wrote"
        ) from error
    try:
        return eqx.tree_deserialise_leaves(io.BytesIO(payload), like), header
    except Exception as error:  # whatever NumPy or equinox make of foreign arrays
        raise FairgymError(f"{path} holds arrays of another configuration") from error


class Checkpoints:
    """The checkpoints of a run, of which the last two are kept.

    Args:
        folder: folder of the files; made by the first `save`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def paths(self) -> list[Path]:
        """The files there are, newest first."""
        return sorted(self.folder.glob("epoch-*.eqx"), reverse=True)

    def save(self, epoch: int, state: Any) -> None:
        """Write the state after this many epochs, and drop all but the last two.

        Raises:
            FairgymError: it cannot be written.
        """
        write_whole(self.folder / f"epoch-{epoch:08d}.eqx", encode(state, epoch=epoch))
        for path in self.paths()[2:]:
            path.unlink(missing_ok=True)

    def latest(self, like: Any, at_most: int) -> tuple[Any, int] | None:
        """The newest whole state of at most this many epochs, with its epoch; None without one.

        Files that are damaged, or further than the log of metrics, are passed over.
        """
        for path in self.paths():
            try:
                state, header = decode(path.read_bytes(), like, path)
            except (FairgymError, OSError):
                continue
            if int(header["epoch"]) <= at_most:
                return state, int(header["epoch"])
        return None
