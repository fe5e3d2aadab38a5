"""Populations and their fitted scores, read from package data or the user's data folder."""

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fairgym.core.errors import FairgymError
from fairgym.data import store
from fairgym.data.bias import TWO_GROUPS
from fairgym.data.populations import population_module
from fairgym.utils.changes import did_you_mean, unknown

BUILT_IN = "built-in"
FILES = Path(__file__).parent / "files"


@dataclass(frozen=True)
class Score:
    """A fitted regression, with coefficients in the raw units of the columns.

    Attributes:
        kind: "logistic" (a probability) or "linear" (clipped to [low, high]).
        intercept: The constant term.
        coefficients: Column name -> weight per unit of that column.
        metrics: Quality on held-out rows ("auc" or "r2"), number of training rows ("rows") and of
            held-out rows ("held_out_rows").
        low: Lower bound to which a linear score is clipped, in the score's unit.
        high: Upper bound to which it is clipped.
    """

    kind: Literal["logistic", "linear"]
    intercept: float
    coefficients: dict[str, float]
    metrics: dict[str, float] = field(default_factory=dict)
    low: float = 0.0
    high: float = 1.0

    def predictor(self, columns: Any) -> Any:
        """Return each person's linear predictor: intercept plus weighted columns.

        Args:
            columns: Mapping from column name to array of shape (n,), numpy or JAX (also inside
                jit), with every name in `coefficients`.

        Returns:
            Array of shape (n,), neither clipped nor converted to a probability.
        """
        total: Any = self.intercept
        for name, coefficient in self.coefficients.items():
            total = total + coefficient * columns[name]
        return total

    def predict(self, columns: Any) -> Any:
        """Return each person's score.

        Args:
            columns: As for `predictor`.

        Returns:
            Array of shape (n,), in [low, high] or, for a logistic score, in (0, 1).
        """
        total = self.predictor(columns)
        if not hasattr(total, "__array_namespace__"):
            total = np.asarray(total, np.float64)
        xp = total.__array_namespace__()
        if self.kind == "linear":
            return xp.clip(total, self.low, self.high)
        return 1.0 / (1.0 + xp.exp(-xp.clip(total, -80.0, 80.0)))

    def as_json(self) -> dict[str, Any]:
        """Return the score as JSON values; the range is included only if it is not [0, 1]."""
        values: dict[str, Any] = {
            "kind": self.kind,
            "intercept": self.intercept,
            "coefficients": dict(self.coefficients),
            "metrics": dict(self.metrics),
        }
        if (self.low, self.high) != (0.0, 1.0):
            values |= {"low": self.low, "high": self.high}
        return values


@dataclass(frozen=True)
class Population:
    """The people from whom an environment samples.

    Attributes:
        name: Name of the system, such as "loan".
        source: "built-in" or the name of an import, such as "lending-club".
        columns: Column name -> read-only array of shape (n,), float32, int8 or text.
        imputed: Imputed column -> how it was imputed; all other columns are observed.
        units: Column name -> unit.
        scores: The fitted scores by name.
        checksum: sha256 of the parquet file; runs record it.
        bias_strength: Resampling strength at which the core scores of the best and the worst
            group differ by 0.5 pooled standard deviations (`resampling_weights`).
        directions: Direction of resampling of each group, by code (`resampling_weights`).
        details: Further entries of the scores file, such as calibration figures.
    """

    name: str
    source: str
    columns: dict[str, np.ndarray]
    imputed: dict[str, str]
    units: dict[str, str]
    scores: dict[str, Score]
    checksum: str
    bias_strength: float = 0.0
    directions: tuple[float, ...] = TWO_GROUPS
    details: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of people."""
        return len(next(iter(self.columns.values())))


def sources(name: str = "loan") -> list[str]:
    """Return the sources of a population: "built-in" and the user's imports."""
    found = []
    for source, folder in _folders().items():
        with contextlib.suppress(FairgymError):  # an unreadable folder is not a source
            if f"{name}.parquet" in store.read_checksums(folder):
                found.append(source)
    return found


def _folders() -> dict[str, Path]:
    """Return source -> folder: the built-in files and the user's data folder."""
    home = store.data_home()
    imported = sorted(path for path in home.iterdir() if path.is_dir()) if home.is_dir() else []
    return {BUILT_IN: FILES, **{path.name: path for path in imported}}


def load_population(name: str = "loan", source: str = BUILT_IN) -> Population:
    """Load a population, after checking that its files are complete and unaltered.

    Args:
        name: Name of the system, such as "loan".
        source: "built-in", or an import in the user's data folder, such as "lending-club".

    Raises:
        FairgymError: If the population or source is unknown, a file is missing, truncated, altered
            or of another schema (the message says what was found and expected), or pyarrow is not
            installed.
    """
    module = population_module(name)
    folder = _folder(name, source)
    content, checksum, path = store.read_verified(folder, f"{name}.parquet")
    columns, imputed = store.decode_table(content, module.COLUMNS, path)
    content, _, path = store.read_verified(folder, f"{name}_scores.json")
    try:
        fitted = json.loads(content)
        scores = {key: Score(**value) for key, value in fitted.pop("scores").items()}
        strength = float(fitted.pop("bias_strength"))
        directions = tuple(float(d) for d in fitted.pop("directions", TWO_GROUPS))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise FairgymError(
            f"{path} cannot be read; it must be JSON with scores and bias_strength"
        ) from error
    return Population(
        name=name,
        source=source,
        columns=columns,
        imputed=imputed,
        units={key: column.unit for key, column in module.COLUMNS.items()},
        scores=scores,
        checksum=checksum,
        bias_strength=strength,
        directions=directions,
        details=fitted,
    )


def _folder(name: str, source: str) -> Path:
    """Return the folder of a source, or raise an error that lists the sources."""
    # Sources are looked up in the listing, so that a source cannot be a path to another place.
    folders = _folders()
    if source == BUILT_IN:
        return FILES
    if source in folders and f"{name}.parquet" in store.read_checksums(folders[source]):
        return folders[source]
    from fairgym.data.importers import importer_modules

    where = f" for population {name!r}"
    importer = importer_modules().get(source)
    if importer is not None and importer.POPULATION == name:
        hint = f"import it first: fairgym data import {source} FILE"
        raise FairgymError(f"unknown source {source!r}{where}; {hint}")
    known = [one for one, module in importer_modules().items() if module.POPULATION == name]
    if hint := did_you_mean(source, [*sources(name), *known]):
        raise FairgymError(f"unknown source {source!r}{where}{hint}")
    raise unknown("source", source, sources(name), "there are", where)


def encode_scores(scores: dict[str, Score], bias_strength: float, **details: Any) -> bytes:
    """Return the content of a scores file, as `load_population` reads it.

    Args:
        scores: Scores by name.
        bias_strength: See `Population`.
        details: Further entries. "directions" becomes `Population.directions`, which is (1, -1)
            by default.
    """
    content = {
        "scores": {name: score.as_json() for name, score in scores.items()},
        "bias_strength": bias_strength,
        **details,
    }
    return (json.dumps(content, indent=2, sort_keys=True) + "\n").encode()


def write_population(
    name: str,
    source: str,
    columns: Mapping[str, np.ndarray],
    imputed: Mapping[str, str],
    scores: dict[str, Score],
    bias_strength: float,
    **details: Any,
) -> Path:
    """Write an imported population. An earlier import is replaced once the new one is complete.

    Args:
        name: Name of the system, such as "loan".
        source: Name of the import.
        columns: Columns of the people.
        imputed: Imputed column -> how it was imputed.
        scores: Scores by name.
        bias_strength: See `Population`.
        details: As for `encode_scores`.

    Returns:
        The folder.

    Raises:
        FairgymError: If the folder cannot be written.
    """
    folder = store.data_home() / source
    about = {"population": name, "source": source}
    schema = population_module(name).COLUMNS
    files = {
        f"{name}.parquet": store.encode_table(columns, schema, imputed, about),
        f"{name}_scores.json": encode_scores(scores, bias_strength, **details),
    }
    store.write_files(folder, files, versioned=True)
    return folder
