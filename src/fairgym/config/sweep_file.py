"""Sweep files: a base configuration, and settings that vary between runs."""

import dataclasses
import itertools
import math
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairgym.config.files import describe, import_listed, read_config_file
from fairgym.config.run_config import RECORDS, RunConfig
from fairgym.config.text import by_field, read_seeds
from fairgym.core import FairgymError
from fairgym.utils.changes import unknown

BASE, GRID, ZIP, LIST, EXCLUDE, SEEDS = "base", "grid", "zip", "list", "exclude", "seeds"
IMPORTS = "imports"
_HEAD = (BASE, GRID, ZIP, LIST, EXCLUDE, SEEDS, IMPORTS)
# Setting of a run -> the key at the head of a sweep that stands for it, and why.
_ELSEWHERE = {
    IMPORTS: (IMPORTS, "modules are imported once, before the runs are made"),
    "seed": (SEEDS, "each setting is run with all of them"),
}
MOST_RUNS = 100_000


@dataclasses.dataclass(frozen=True)
class Sweep:
    """Configurations of a sweep, with several seeds each.

    Attributes:
        configs: Label of the settings -> configuration.
        settings: The same label -> the settings that vary, by name.
        seeds: Seeds of each configuration.
    """

    configs: Mapping[str, RunConfig]
    settings: Mapping[str, Mapping[str, object]]
    seeds: tuple[int, ...]

    @property
    def names(self) -> list[str]:
        """Names of the settings that vary, in the order of the file."""
        return list(dict.fromkeys(name for one in self.settings.values() for name in one))


def read_sweep(path: str | Path) -> Sweep:
    """Read a sweep from a TOML, YAML or JSON file.

    Args:
        path: A file with `base` (settings as in a file of one run), and any of `grid` (setting ->
            values, in all combinations), `zip` (setting -> values, combined element by element),
            `list` (settings of one run each), `exclude` (settings of runs to leave out) and
            `seeds` ("0:5", "0,3,7", or a list). `imports` lists modules to import first.

    Raises:
        FairgymError: The file cannot be read, or is no valid sweep.
    """
    content = read_config_file(path)
    try:
        return sweep_of(content)
    except FairgymError as error:
        raise FairgymError(f"{path}: {error}") from error


def sweep_of(content: Mapping[str, object]) -> Sweep:
    """Return the sweep that the content of a file describes, as in `read_sweep`.

    Raises:
        FairgymError: A part is unknown, a setting is given twice, lists differ in length, or
            there is no run or more than 100,000.

    Examples:
        >>> from fairgym.config import sweep_of
        >>> sweep = sweep_of(
        ...     {
        ...         "base": {"environment": "loan_simple", "population": 100, "epochs": 2},
        ...         "grid": {"deposit_rate": [0.01, 0.02], "objective": ["direct", "uniform"]},
        ...         "exclude": [{"deposit_rate": 0.02, "objective": "direct"}],
        ...         "seeds": "0:3",
        ...     }
        ... )
        >>> list(sweep.configs)[0], len(sweep.configs), sweep.seeds
        ('deposit_rate=0.01, objective=direct', 3, (0, 1, 2))
    """
    parts = by_field(content)
    for name in parts:
        if name not in _HEAD:
            raise unknown("part", name, _HEAD, "a sweep takes")
    base = _named(BASE, _table(parts, BASE))
    grid, side = _lists(parts, GRID), _lists(parts, ZIP)
    alone, left_out = _tables(parts, LIST), _tables(parts, EXCLUDE)
    lengths = {name: len(values) for name, values in side.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} {count}" for name, count in lengths.items())
        raise FairgymError(f"zip has lists of different lengths ({found}); they must be equal")
    listed = {name for row in alone for name in row}
    for name in (grid.keys() & side.keys()) | (grid.keys() | side.keys()) & listed:
        raise FairgymError(f"{name!r} is in two of grid, zip and list; put it in one")
    known_settings = base.keys() | grid.keys() | side.keys() | listed
    for name in {name for without in left_out for name in without} - known_settings:
        raise FairgymError(f"exclude names {name!r}, which no run of the sweep sets")
    seeds = read_seeds(parts.get(SEEDS, [0]))
    count = math.prod(map(len, grid.values())) * max(lengths.values(), default=1)
    if count * max(1, len(alone)) * len(seeds) > MOST_RUNS:
        raise FairgymError(f"the sweep has more than {MOST_RUNS:,} runs")
    rows = _left(base, list(_rows(grid, side, alone)), left_out)
    import_listed(parts)
    configs: dict[str, RunConfig] = {}
    settings: dict[str, Mapping[str, object]] = {}
    for row in rows:
        words = ", ".join(f"{name}={_short(value)}" for name, value in row.items()) or "base"
        try:
            config = RunConfig.from_mapping({**base, **row})
        except FairgymError as error:
            raise FairgymError(f"{words}: {error}") from error
        if words in configs:
            words = f"{words} ({len(configs) + 1})"
        configs[words], settings[words] = config, row
    return Sweep(configs, settings, seeds)


def _left(
    base: Mapping[str, object],
    rows: Sequence[dict[str, object]],
    left_out: Sequence[Mapping[str, object]],
) -> Sequence[dict[str, object]]:
    """Return the rows that no table of `exclude` matches.

    Raises:
        FairgymError: A table matches no row, or none is left.
    """
    left, idle = [], list(left_out)
    for row in rows:
        given = {**base, **row}
        matching = [out for out in left_out if all(_equal(given, n, v) for n, v in out.items())]
        idle = [out for out in idle if out not in matching] if matching else idle
        if not matching:
            left.append(row)
    if idle:
        table = ", ".join(f"{name}={_short(value)}" for name, value in idle[0].items())
        raise FairgymError(
            f"exclude has {table}, which matches no run of the sweep; give values as base, grid,"
            " zip and list do"
        )
    if not left:
        raise FairgymError("exclude leaves no run; a sweep needs at least one")
    return left


def _equal(given: Mapping[str, object], name: str, value: object) -> bool:
    """Return whether a run has a value; `true` is not 1."""
    there = given.get(name)
    return name in given and there == value and isinstance(there, bool) == isinstance(value, bool)


def _rows(
    grid: Mapping[str, Sequence[object]],
    side: Mapping[str, Sequence[object]],
    alone: Sequence[Mapping[str, object]],
) -> Iterator[dict[str, object]]:
    """Yield each combination of the grid with each row of `zip` and `list`."""
    together = [dict(zip(side, row, strict=True)) for row in zip(*side.values(), strict=True)]
    for values in itertools.product(*grid.values()):
        for beside, one in itertools.product(together or [{}], alone or [{}]):
            yield {**dict(zip(grid, values, strict=True)), **beside, **one}


def _table(parts: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = parts.get(name, {})
    if not isinstance(found, Mapping):
        raise FairgymError(f"{name} must be names with values, got {describe(found)}")
    return found


def _named(part: str, settings: Mapping[str, object]) -> dict[str, Any]:
    """Return the settings of a part by field.

    Raises:
        FairgymError: One is given twice, or belongs to the head of the file.
    """
    found = by_field(settings)
    for name in found:
        if name in _ELSEWHERE:
            key, why = _ELSEWHERE[name]
            raise FairgymError(
                f"{part} has {name!r}; give {key} at the head of the file, beside {BASE}, since"
                f" {why}"
            )
        if name in RECORDS and part != BASE:
            raise FairgymError(f"{part} has {name!r}, which is a record of a run and no setting")
    return found


def _lists(parts: Mapping[str, object], name: str) -> Mapping[str, Sequence[object]]:
    found = {}
    for setting, values in _named(name, _table(parts, name)).items():
        if not isinstance(values, list) or not values:
            given = "an empty list" if values == [] else describe(values)
            raise FairgymError(
                f"{name}.{setting} must be a list of one or more values, got {given}"
            )
        found[setting] = values
    return found


def _tables(parts: Mapping[str, object], name: str) -> Sequence[Mapping[str, object]]:
    found = parts.get(name, [])
    if not isinstance(found, list) or not all(isinstance(one, Mapping) and one for one in found):
        raise FairgymError(f"{name} must be a list of tables, each with names and values")
    return [_named(name, one) for one in found]


def _short(value: object) -> str:
    return value if isinstance(value, str) else reprlib.repr(value)
