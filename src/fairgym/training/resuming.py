"""Continuation of a run: the same one, or a longer one."""

from pathlib import Path

from fairgym.algorithms import algorithms
from fairgym.core import FairgymError
from fairgym.training.config import RunConfig
from fairgym.training.settings import ALGORITHM


def is_longer(config: RunConfig, begun: RunConfig) -> bool:
    """True if a run differs from another one only in training for longer.

    The longer one then begins as the shorter one, bit for bit.

    Args:
        config: the longer run's complete configuration.
        begun: the shorter run's.
    """
    field = _length_field(config)
    differences = config.differences(begun)
    return [name for name, _, _ in differences] == [field] and all(
        _is_length(given) and _is_length(there) and given > there for _, given, there in differences
    )


def require_same_run(config: RunConfig, begun: RunConfig, folder: Path) -> None:
    """Raise a FairgymError that names a difference of two complete configurations.

    How long they train, which may grow, is named last.

    Args:
        config: the configuration to go on with.
        begun: that of the run in the folder.
        folder: the folder, for the message.
    """
    length = _length_field(config)
    differences = sorted(config.differences(begun), key=lambda difference: difference[0] == length)
    for field, given, there in differences:
        takes = "the same configuration"
        if field == length and _is_length(given) and _is_length(there):
            takes = f"{there} or more" if given < there else f"{there} until that run is finished"
        raise FairgymError(
            f"{field} is {given!r}, but the run in {folder} has {there!r}; resume takes {takes}"
        )


def _length_field(config: RunConfig) -> str:
    """The field of `RunConfig.differences` that says how long to train; empty without one."""
    name = algorithms.get(config.algorithm).extended_by
    return f"{ALGORITHM}.{name}" if name else ""


def _is_length(value: object) -> bool:
    return type(value) is int
