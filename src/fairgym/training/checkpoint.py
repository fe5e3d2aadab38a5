"""Checkpoints: arrays of a training state with a header that reveals damaged files."""

import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree

from fairgym.config.files import differences
from fairgym.core import FairgymError
from fairgym.utils.files import read_regular, write_errors, write_whole

MARK = "fairgym-arrays-2"


class OtherConfiguration(FairgymError):
    """Arrays that belong to another configuration than that of config.json."""


def encode(tree: PyTree, **about: object) -> bytes:
    """Encode the arrays of a pytree: a line with a checksum, a line of JSON, and the arrays.

    Args:
        tree: Any pytree; its static part is not written.
        **about: JSON values for the line of JSON.
    """
    buffer = io.BytesIO()
    eqx.tree_serialise_leaves(buffer, tree)
    rest = json.dumps(about).encode() + b"\n" + buffer.getvalue()
    return _first_line(rest) + rest


def _first_line(rest: bytes) -> bytes:
    return f"{MARK} {hashlib.sha256(rest).hexdigest()}\n".encode()


def read_header(content: bytes, path: Path) -> tuple[dict[str, Any], bytes]:
    """Return the header, which describes the arrays, and the bytes of the arrays.

    Raises:
        FairgymError: If the content is truncated or altered.
    """
    first, _, rest = content.partition(b"\n")
    about, _, payload = rest.partition(b"\n")
    try:
        header = json.loads(about) if first + b"\n" == _first_line(rest) else None
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise FairgymError(f"{path} is truncated or altered, or not a file of fairgym")
    return header, payload


def decode(
    content: bytes, like: PyTree, path: Path, config: Mapping[str, object] | None = None
) -> tuple[Any, dict[str, Any]]:
    """Return the pytree and its header.

    Args:
        content: Bytes from `encode`.
        like: A pytree of the same structure, shapes and dtypes.
        path: Origin of the content, for messages.
        config: Configuration of config.json, which must equal that in the header; None for any.

    Raises:
        FairgymError: If the content is truncated, altered or of another structure.
        OtherConfiguration: If the configuration differs.
    """
    header, payload = read_header(content, path)
    if config is not None:
        require_same(header, config, path)
    try:
        return eqx.tree_deserialise_leaves(io.BytesIO(payload), like, _read_leaf), header
    except Exception as error:  # NumPy and equinox raise many kinds of errors here
        raise FairgymError(f"{path} holds arrays of another configuration") from error


def _read_leaf(file: io.BufferedIOBase, leaf: Any) -> Any:
    """Read one leaf as equinox does, but without a compiled program for every shape."""
    if not isinstance(leaf, jax.Array):
        return eqx.default_deserialise_filter_spec(file, leaf)
    found = np.load(file)
    return jax.device_put(found.view(leaf.dtype) if found.dtype.kind == "V" else found)


def require_same(header: Mapping[str, object], config: Mapping[str, object], path: Path) -> None:
    """Raise an error unless the configuration in a header equals that of config.json.

    Raises:
        FairgymError: If the header has no configuration.
        OtherConfiguration: If it differs; the message names the first difference.
    """
    made_with = header.get("config")
    if not isinstance(made_with, dict):
        raise FairgymError(f"{path} has no configuration; it is not a file of fairgym")
    for field, here, there in differences(config, made_with):
        raise OtherConfiguration(
            f"{field} is {here!r} in config.json, but {path} was made with {there!r}; restore the"
            " configuration with which the run began"
        )


class Checkpoints:
    """The checkpoints of a run: the last two while it is trained, and the last one of all after it.

    Args:
        folder: Folder of the files; created by the first `save`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def paths(self) -> list[Path]:
        """Return the files, newest first."""
        return sorted(self.folder.glob("epoch-*.eqx"), reverse=True)

    def save(self, epoch: int, state: PyTree, config: Mapping[str, object]) -> None:
        """Write the state after this many epochs, and keep the last two files.

        Raises:
            FairgymError: If the file cannot be written.
        """
        content = encode(state, epoch=epoch, config=config)
        write_whole(self._path(epoch), content)
        for path in self.paths()[2:]:
            path.unlink(missing_ok=True)

    def keep_only(self, epoch: int) -> None:
        """Delete all files but that of an epoch, as when a run is finished.

        When the others were written depends on time and interruptions, so that equal runs would
        end with different files.
        """
        with write_errors(self.folder):
            for path in self.paths():
                if path != self._path(epoch):
                    path.unlink(missing_ok=True)

    def _path(self, epoch: int) -> Path:
        return self.folder / f"epoch-{epoch:08d}.eqx"

    def latest(
        self, like: PyTree, at_most: int, config: Mapping[str, object]
    ) -> tuple[Any, int] | None:
        """Return the newest intact state of at most this many epochs with its epoch, or None.

        Files that are damaged, or later than the log of metrics, are skipped.

        Raises:
            OtherConfiguration: If a checkpoint was made with another configuration.
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
