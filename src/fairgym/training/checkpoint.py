"""Checkpoints: the arrays of a train state, with a header by which a damaged file is noticed."""

import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
from jaxtyping import PyTree

from fairgym.config.files import differences
from fairgym.core import FairgymError
from fairgym.utils.files import read_regular, write_whole

MARK = "fairgym-arrays-2"


class OtherConfiguration(FairgymError):
    """The arrays are of a run with another configuration than its config.json."""


def encode(tree: PyTree, **about: object) -> bytes:
    """The arrays of a pytree as bytes: a line with a checksum of the rest, one of JSON, the arrays.

    Args:
        tree: any pytree; what is static in it is not written.
        **about: JSON values kept in the line of JSON.
    """
    buffer = io.BytesIO()
    eqx.tree_serialise_leaves(buffer, tree)
    rest = json.dumps(about).encode() + b"\n" + buffer.getvalue()
    return _first_line(rest) + rest


def _first_line(rest: bytes) -> bytes:
    return f"{MARK} {hashlib.sha256(rest).hexdigest()}\n".encode()


def read_header(content: bytes, path: Path) -> tuple[dict[str, Any], bytes]:
    """The header, which describes the arrays, and the arrays' bytes.

    Raises:
        FairgymError: the content is truncated or altered.
    """
    first, _, rest = content.partition(b"\n")
    about, _, payload = rest.partition(b"\n")
    try:
        header = json.loads(about) if first + b"\n" == _first_line(rest) else None
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise FairgymError(f"{path} is truncated or altered; it takes a file that fairgym wrote")
    return header, payload


def decode(
    content: bytes, like: PyTree, path: Path, config: Mapping[str, object] | None = None
) -> tuple[Any, dict[str, Any]]:
    """The pytree and what was written about it.

    Args:
        content: as `encode` made it.
        like: a pytree of the same structure, shapes and dtypes.
        path: origin of the content, for messages.
        config: configuration of config.json, which must be that in the header; None for any.

    Raises:
        FairgymError: the content is truncated, altered or of another structure.
        OtherConfiguration: the configuration is another one.
    """
    header, payload = read_header(content, path)
    if config is not None:
        require_same(header, config, path)
    try:
        return eqx.tree_deserialise_leaves(io.BytesIO(payload), like), header
    except Exception as error:  # whatever NumPy or equinox make of foreign arrays
        raise FairgymError(f"{path} holds arrays of another configuration") from error


def require_same(header: Mapping[str, object], config: Mapping[str, object], path: Path) -> None:
    """Raise an error unless the configuration in a header is that of config.json.

    Raises:
        FairgymError: there is none in the header.
        OtherConfiguration: it is another one; the sentence names the first difference.
    """
    made_with = header.get("config")
    if not isinstance(made_with, dict):
        raise FairgymError(f"{path} names no configuration; it takes a file that fairgym wrote")
    for field, here, there in differences(config, made_with):
        raise OtherConfiguration(
            f"{field} is {here!r} in config.json, but {path} was made with {there!r}; it takes the"
            " configuration that the run began with"
        )


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

    def save(self, epoch: int, state: PyTree, config: Mapping[str, object]) -> None:
        """Write the state after this many epochs of a configuration, and keep the last two.

        Raises:
            FairgymError: it cannot be written.
        """
        content = encode(state, epoch=epoch, config=config)
        write_whole(self.folder / f"epoch-{epoch:08d}.eqx", content)
        for path in self.paths()[2:]:
            path.unlink(missing_ok=True)

    def latest(
        self, like: PyTree, at_most: int, config: Mapping[str, object]
    ) -> tuple[Any, int] | None:
        """The newest whole state of at most this many epochs, with its epoch; None without one.

        Files that are damaged, or further than the log of metrics, are passed over.

        Raises:
            OtherConfiguration: a checkpoint was made with another configuration.
        """
        for path in self.paths():
            try:
                state, header = decode(read_regular(path), like, path, config)
            except OtherConfiguration:
                raise
            except (FairgymError, OSError):
                continue
            epoch = header.get("epoch")
            if type(epoch) is int and 0 <= epoch <= at_most:
                return state, epoch
        return None
