"""Parsers of texts in flags and files: keys, seeds, NAME=VALUE pairs and lists."""

import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

from fairgym.core import FairgymError
from fairgym.utils.changes import slug

MOST_SEEDS = 10_000
ALIASES = {"population_size": "population"}


def read_seeds(given: object) -> tuple[int, ...]:
    """Return the seeds in a text, or in a list of a file.

    Args:
        given: "0:5" for 0, 1, 2, 3, 4; "0,3,7" for these three; a mixture such as "0:3,7"; or a
            list of such texts or of whole numbers.

    Raises:
        FairgymError: The value is none of these, has no seed, or has a seed twice.

    Examples:
        >>> from fairgym.config.text import read_seeds
        >>> read_seeds("0:3,7"), read_seeds([0, 3])
        ((0, 1, 2, 7), (0, 3))
    """
    seeds: list[int] = []
    try:
        for part in split_list(
            ",".join(map(str, given)) if isinstance(given, list) else str(given)
        ):
            if not part.isascii():  # digits of other scripts
                raise ValueError
            start, colon, stop = part.partition(":")
            first = int(start or 0) if colon else int(start)
            last = int(stop) if colon else first + 1
            if last - first > MOST_SEEDS or not 0 <= first < last <= 2**32:
                raise ValueError
            seeds += range(first, last)
    except ValueError:
        seeds = []
    if not seeds or len(set(seeds)) < len(seeds) or len(seeds) > MOST_SEEDS:
        raise FairgymError(
            "seeds must be START:STOP or a list such as 0,3,7, each seed once, at most"
            f" {MOST_SEEDS:,} from 0 to {2**32 - 1}, got {reprlib.repr(given)}"
        )
    return tuple(seeds)


def field_name(key: object) -> str:
    """Return the field that a key of a file means: "_" for "-", and aliases resolved."""
    name = str(key).replace("-", "_")
    return ALIASES.get(name, name)


def by_field(given: Mapping[Any, Any], where: str = "") -> dict[str, Any]:
    """Return the values of a file by the fields that their keys mean.

    Args:
        given: Keys and values.
        where: Place of the keys for the message, such as " in a.yaml".

    Raises:
        FairgymError: Two keys mean the same field, such as population and population_size.
    """
    found: dict[str, Any] = {}
    for key, value in given.items():
        name = field_name(key)
        if name in found:
            raise FairgymError(f"{name} is given twice{where}; give one value")
        found[name] = value
    return found


def split_list(text: str) -> list[str]:
    """Return the parts of a comma-separated list, such as "1,2,3"."""
    return [part.strip() for part in text.split(",")]


def split_pair(text: str) -> tuple[str, str]:
    """Return the two sides of NAME=VALUE; the second is "" without an equals sign."""
    name, _, value = text.partition("=")
    return name.strip(), value.strip()


def read_pairs(name: str, takes: str, given: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return NAME=VALUE texts as pairs; names are compared without case.

    Args:
        name: Name of the flag.
        takes: Form of its value, for messages.
        given: The texts.

    Raises:
        FairgymError: A text has no name or no value, or a name is given twice.
    """
    pairs: dict[str, tuple[str, str]] = {}
    flag = name.replace("_", "-")
    for text in given:
        key, value = split_pair(text)
        if not (key and value):
            raise FairgymError(f"{flag} must be {takes}, got {text!r}")
        if slug(key) in pairs:
            raise FairgymError(f"{flag} must have each name once, got {key} twice")
        pairs[slug(key)] = key, value
    return tuple(pairs.values())


def slug_of(name: str) -> str:
    """Return a name with its colons and slashes replaced, for a folder."""
    return name.replace(":", "-").replace("/", "-")
