"""Training logs as event files of TensorBoard, written without TensorBoard.

An event file is a sequence of records (TFRecord): the length, its checksum, the content, its
checksum. The content is a protocol buffer `Event` with the fields wall_time (1), step (2),
file_version (3) and summary (5); a summary is a list (1) of values with a tag (1) and a float (2).
"""

import contextlib
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from fairgym.core import FairgymError
from fairgym.core.errors import is_number
from fairgym.training.folder import RunFolder
from fairgym.training.loop import Progress
from fairgym.utils.files import make_folder, require_path, require_writable, write_errors

NAME = "events.out.tfevents.fairgym"  # TensorBoard reads every file with "tfevents" in its name
PREFIX = "tensorboard:"
NOT_DRAWN = ("epoch", "wall_time_s")  # they are the step and the time of an event
LARGEST = 3.4e38  # number in an event


class TensorBoard:
    """The log of one run as an event file, for the argument `progress` of `fairgym.train`.

    The file has a scalar for every number of the log that is defined, at the step of its epoch. It
    is written anew when a training begins or is resumed, with all epochs so far. So it never holds
    an epoch twice, nor one of a run that was replaced.

    Args:
        folder: Folder of the event file; created if absent.
        run: The run folder that is trained.

    Raises:
        FairgymError: A file cannot be written in the folder; nothing is left there.

    Examples:
        >>> import fairgym
        >>> from fairgym.training import TensorBoard
        >>> config = fairgym.RunConfig("loan_simple", algorithm_args={"epochs": 5})
        >>> with TensorBoard("tensorboard/first", "runs/first") as log:  # doctest: +SKIP
        ...     fairgym.train(config, "runs/first", progress=log)
    """

    def __init__(self, folder: str | Path, run: str | Path) -> None:
        self.path, self.run = Path(folder) / NAME, RunFolder(run)
        require_writable(self.path)
        self.stream: BinaryIO | None = None
        self.written = 0  # epochs
        self.began: float | None = None  # time at which the clock of the log was 0

    def __call__(self, epoch: int, epochs: int, line: Mapping[str, object] | None) -> None:
        """Write the epochs that have ended since the last call."""
        if line is None or self.stream is None:
            self._begin()
        if line is not None and epoch == self.written + 1:
            self._write([line])
        elif epoch > self.written:  # after others, of another process or machine
            self._write(self.run.current.read_metrics()[self.written : epoch])

    def __enter__(self) -> "TensorBoard":
        """Return this object."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        if self.stream is not None:
            self.stream.close()

    def _begin(self) -> None:
        make_folder(self.path.parent)
        with write_errors(self.path):
            if self.stream is not None:
                self.stream.close()
            self.stream, self.written, self.began = self.path.open("wb"), 0, None
            self.stream.write(record(event(time.time(), version="brain.Event:2")))
            self.stream.flush()

    def _write(self, lines: Sequence[Mapping[str, object]]) -> None:
        assert self.stream is not None
        if self.began is None and lines:
            self.began = time.time() - _seconds(lines[-1])
        with write_errors(self.path):
            for line in lines:
                numbers = {
                    name: float(value)
                    for name, value in line.items()
                    if name not in NOT_DRAWN and is_number(value) and abs(value) < LARGEST
                }
                self.written += 1
                at = (self.began or 0.0) + _seconds(line)
                self.stream.write(record(event(at, self.written, numbers)))
            self.stream.flush()


def log_folder(text: str | None) -> Path | None:
    """Return the folder that `--log tensorboard:DIR` names; None if the flag is not given.

    Raises:
        FairgymError: The text has another form, or a file cannot be written in the folder.
    """
    if text is None:
        return None
    place = text.removeprefix(PREFIX)
    if place == text or not place.strip():
        raise FairgymError(f"log must be {PREFIX}DIR, such as {PREFIX}runs/tb, got {text!r}")
    require_path(place, "log")
    require_writable(Path(place) / NAME)
    return Path(place)


@contextlib.contextmanager
def also_logged(
    shown: contextlib.AbstractContextManager[Progress], folder: Path | None, run: Path
) -> Iterator[Progress]:
    """Context with the progress of a run that is shown, and logged if a folder is given.

    Args:
        shown: Context that yields the progress on the screen.
        folder: Folder of the event file; None for no log.
        run: The run folder.
    """
    with contextlib.ExitStack() as stack:
        show = stack.enter_context(shown)
        if folder is None:
            yield show
            return
        log = stack.enter_context(TensorBoard(folder, run))

        def progress(epoch: int, epochs: int, line: Mapping[str, object] | None) -> None:
            log(epoch, epochs, line)
            show(epoch, epochs, line)

        yield progress


def _seconds(line: Mapping[str, object]) -> float:
    seconds = line.get("wall_time_s")
    return float(seconds) if isinstance(seconds, int | float) else 0.0


# ------------------------------------------------------------------------------ encoding


def event(
    wall_time: float, step: int = 0, numbers: Mapping[str, float] | None = None, version: str = ""
) -> bytes:
    """Return an `Event`.

    Args:
        wall_time: Seconds since 1970.
        step: The epoch.
        numbers: Scalars by tag.
        version: Version of the file, for the first event alone.
    """
    content = b"\x09" + struct.pack("<d", wall_time)
    content += b"\x10" + _varint(step) if step else b""
    content += _field(3, version.encode()) if version else b""
    values = (
        _field(1, _field(1, tag.encode()) + b"\x15" + struct.pack("<f", number))
        for tag, number in (numbers or {}).items()
    )
    summary = b"".join(values)
    return content + _field(5, summary) if summary else content


def record(content: bytes) -> bytes:
    """Return a record of a TFRecord file."""
    length = struct.pack("<Q", len(content))
    return length + _masked(length) + content + _masked(content)


def _field(number: int, content: bytes) -> bytes:
    """Field of bytes, a text or a message."""
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    """Return a whole number from 0 in groups of seven bits, the least first."""
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def _table() -> list[int]:
    rows = list(range(256))
    for _ in range(8):
        rows = [(row >> 1) ^ (0x82F63B78 if row & 1 else 0) for row in rows]
    return rows


_TABLE = _table()


def crc32c(content: bytes) -> int:
    """Return the CRC-32C (Castagnoli) checksum.

    Examples:
        >>> from fairgym.training.tensorboard import crc32c
        >>> hex(crc32c(b"123456789"))
        '0xe3069283'
    """
    crc = 0xFFFFFFFF
    for byte in content:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _masked(content: bytes) -> bytes:
    """Return the checksum as TFRecord stores it: rotated, with a constant added."""
    crc = crc32c(content)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
