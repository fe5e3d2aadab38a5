"""Reading an IPUMS extract: a DDI codebook (.xml) with its fixed-width or CSV data file.

    columns, counts = read_extract(
        "meps_00001.xml",
        {
            "year": Variable(("YEAR",), between(1900, 2100)),
            "age": Variable(("AGE",), between(0, 120)),
            "female": Variable(("SEX",), recode({1: 0, 2: 1}), {2: "female"}),
        },
        years=(2014, 2015, 2016),
    )
    columns["age"]  # float64, shape (kept,)
    counts.read, counts.kept, counts.dropped  # {"not of 2014, 2015, 2016": 5, "AGE missing": 1}

A `Variable` has the names under which IPUMS may have it (the first that the extract has is read),
a function from codes to values that gives NaN for every code that is no answer (not in universe,
refused, unknown), and labels by which the codebook must call some codes, if it labels them at
all. Rows with a NaN are dropped and counted, each for its first missing variable. Where the codes
depend on the name, give a function per name: `Variable({"HICOV": ..., "HINOTCOV": ...})`.

The file is read by ipumspy in pieces, so that memory holds only the rows and columns kept.
"""

import gzip
import re
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import numpy as np

from fairgym.core.errors import FairgymError
from fairgym.data import store

ROWS_AT_ONCE = 50_000
# What ipumspy raises at a codebook that lacks something.
_NOT_A_DDI = (
    ParseError,
    AttributeError,
    IndexError,
    KeyError,
    NotImplementedError,
    TypeError,
    ValueError,
)
Decode = Callable[[np.ndarray], np.ndarray]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Variable:
    """A variable of an extract.

    Attributes:
        names: names that IPUMS may use, the best first; or name -> decoding function.
        decode: codes (float64, NaN where blank, shape (n,)) -> values, NaN where missing. Not
            needed where `names` has the functions.
        labels: code -> a word of its label in the codebook, or the start of one, in lower case.
            An extract that labels one of these codes otherwise is refused.
    """

    names: Sequence[str] | Mapping[str, Decode]
    decode: Decode | None = None
    labels: Mapping[int, str] = field(default_factory=dict)

    def decoder(self, name: str) -> Decode:
        """The decoding function for a name."""
        if isinstance(self.names, Mapping):
            return self.names[name]
        assert self.decode is not None
        return self.decode


@dataclass
class Counts:
    """Numbers of rows of an extract that were kept and dropped.

    Attributes:
        data_file: the file that was read.
        read: rows read.
        kept: rows kept.
        dropped: reason -> rows; each row counts once, for the first reason.
        used: column -> name of the variable that was read for it.
    """

    data_file: Path
    read: int = 0
    kept: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    used: dict[str, str] = field(default_factory=dict)


def between(low: float, high: float) -> Decode:
    """Numbers from low to high, both included, as they are; all others are missing."""
    return lambda codes: np.where((codes >= low) & (codes <= high), codes, np.nan)


def recode(values: Mapping[int, float]) -> Decode:
    """Codes by a table; codes that are not in it are missing."""
    keys = np.array(sorted(values), np.float64)
    table = np.array([values[int(key)] for key in keys], np.float64)

    def decode(codes: np.ndarray) -> np.ndarray:
        at = np.clip(np.searchsorted(keys, codes), 0, len(keys) - 1)
        return np.where(keys[at] == codes, table[at], np.nan)

    return decode


def amounts(low: float, high: float) -> Decode:
    """Amounts in dollars from low to high; numbers of six or more nines are missing.

    IPUMS marks amounts that are unknown, refused or not in universe by a field full of nines,
    whose last digit may be 5 to 9: 999999, 9999998, 99999996.
    """

    def decode(codes: np.ndarray) -> np.ndarray:
        special = np.zeros(codes.shape, bool)
        for width in range(6, 11):
            full = 10.0**width - 1
            special |= (codes >= full - 4) & (codes <= full)
        return np.where(special | ~((codes >= low) & (codes <= high)), np.nan, codes)

    return decode


def read_codebook(path: Path) -> Any:
    """The DDI, or one sentence that says why there is none."""
    readers = store.need("ipumspy.readers", "importing IPUMS extracts")
    if not path.is_file() or path.suffix.lower() != ".xml":
        raise FairgymError(
            f"{path} is not an .xml file, expected the DDI codebook that IPUMS gives with an "
            "extract (the data file beside it)"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that IPUMS wants to be cited: the importers say so
            codebook = readers.read_ipums_ddi(path)
        structure = codebook.file_description.structure
    except _NOT_A_DDI as error:
        raise FairgymError(f"{path} is not a DDI codebook as IPUMS writes it") from error
    except OSError as error:
        raise FairgymError(f"{path} cannot be read: {error.strerror or error}") from error
    if structure != "rectangular":
        raise FairgymError(
            f"{path} describes a {structure} extract, expected a rectangular one: choose that "
            "when making the extract"
        )
    return codebook


def _data_file(path: Path, codebook: Any) -> Path:
    """The data file: the one that the DDI names, or one of the DDI's own name, beside it."""
    named = Path(codebook.file_description.filename or path.stem).name
    stems = dict.fromkeys((named.split(".")[0], path.stem))
    names = [named, f"{named}.gz"]
    names += [f"{stem}{end}" for stem in stems for end in (".dat", ".dat.gz", ".csv", ".csv.gz")]
    for name in dict.fromkeys(names):
        found = path.parent / name
        if found.is_file() and {".dat", ".csv"} & set(found.suffixes):
            return found
    raise FairgymError(
        f"there is no data file beside {path}: expected {named}, or {path.stem} with .dat, .csv, "
        ".dat.gz or .csv.gz"
    )


def _find(path: Path, codebook: Any, variables: Mapping[str, Variable]) -> dict[str, Any]:
    """For each column the codebook's description of its variable."""
    described = {one.name.upper(): one for one in codebook.data_description}
    found, absent = {}, []
    for column, variable in variables.items():
        names = [name for name in variable.names if name in described]
        if names:
            found[column] = described[names[0]]
        else:
            absent.append(" or ".join(variable.names))
    if absent:
        raise FairgymError(
            f"{path} has no variable {', '.join(absent)}: add what is missing to the extract at "
            "IPUMS and import it again"
        )
    for column, one in found.items():
        for label, code in one.codes.items():
            words = variables[column].labels.get(int(code), "") if str(code).isdigit() else ""
            if words and not re.search(rf"\b{re.escape(words)}", str(label).lower()):
                raise FairgymError(
                    f"{path} labels code {code} of {one.name} {label!r}, expected {words!r}"
                )
    return found


def _rows(path: Path, width: int) -> int:
    """The number of lines of a data file.

    Raises:
        FairgymError: a line is shorter than `width` characters: the file was cut off.
    """
    opener: Any = gzip.open if path.suffix == ".gz" else open
    number = 0
    with opener(path, "rb") as lines:
        for line in lines:
            text = line.rstrip(b"\r\n")
            if not text:
                continue
            number += 1
            if len(text) < width:
                raise FairgymError(
                    f"{path}: line {number:,} has {len(text)} characters, expected {width} or "
                    "more: the file was cut off or is not the one that the codebook describes"
                )
    return number


def _pieces(path: Path, codebook: Any, found: Mapping[str, Any]) -> Iterator[dict[str, np.ndarray]]:
    """The codes of the variables, piece by piece, as float64 with NaN where there is no number."""
    readers = store.need("ipumspy.readers", "importing IPUMS extracts")
    pd = store.need("pandas", "importing IPUMS extracts")
    # Numbers are read as text and get their decimals here: ipumspy makes a blank into a 0.
    plain = [replace(one, shift=None) for one in codebook.data_description]
    codebook = replace(codebook, data_description=plain)
    fixed_width = ".dat" in path.suffixes
    names = list(dict.fromkeys(one.name for one in found.values()))
    for piece in readers.read_microdata_chunked(
        codebook,
        filename=path,
        subset=names,
        chunksize=ROWS_AT_ONCE,
        dtype=dict.fromkeys(names, pd.StringDtype()),
    ):
        codes = {}
        for column, one in found.items():
            values = pd.to_numeric(piece[one.name], errors="coerce").to_numpy(
                np.float64, na_value=np.nan
            )
            codes[column] = values / 10 ** (one.shift or 0) if fixed_width else values
        yield codes


def read_extract(
    path: str | Path,
    variables: Mapping[str, Variable],
    *,
    years: Sequence[int] | None = None,
    progress: Progress | None = None,
) -> tuple[dict[str, np.ndarray], Counts]:
    """Reads the rows of an extract that have every variable.

    Args:
        path: the DDI codebook (.xml). The data file lies beside it, under the name in the
            codebook or the codebook's own with .dat, .csv, .dat.gz or .csv.gz.
        variables: column -> variable. With `years`, one of the columns is "year".
        years: rows of other years are dropped and counted; None keeps all.
        progress: called with (rows read so far, rows in all) after every piece.

    Returns:
        Column -> values of the rows kept, float64, shape (kept,); and the counts.

    Raises:
        FairgymError: no DDI or no data file; a hierarchical extract; a variable is absent (the
            sentence names it) or labelled otherwise than expected; a line is cut off; a
            truncated gzip file; no row can be used.
    """
    path = Path(path)
    codebook = read_codebook(path)
    found = _find(path, codebook, variables)
    data_file = _data_file(path, codebook)
    counts = Counts(data_file, used={column: one.name for column, one in found.items()})
    parts: list[dict[str, np.ndarray]] = []
    try:
        width = max(one.end for one in found.values()) if ".dat" in data_file.suffixes else 0
        rows = _rows(data_file, width) - (not width)  # a CSV has a header
        for codes in _pieces(data_file, codebook, found):
            parts.append(_keep(codes, variables, years, counts))
            if progress is not None:
                progress(counts.read, max(rows, counts.read))
    except FairgymError:
        raise
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FairgymError(f"{data_file} is a truncated or damaged gzip file: {error}") from error
    except ValueError as error:  # what pandas says of a file that is not as described
        reason = " ".join(str(error).split())
        raise FairgymError(f"{data_file} is not as {path} describes it: {reason}") from error
    except OSError as error:
        raise FairgymError(f"{data_file} cannot be read: {error.strerror or error}") from error
    counts.dropped = {reason: count for reason, count in counts.dropped.items() if count}
    if not counts.kept:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in counts.dropped.items())
        raise FairgymError(
            f"{data_file} has no row that can be used ({counts.read:,} rows read; dropped: "
            f"{reasons or 'none'})"
        )
    return {name: np.concatenate([part[name] for part in parts]) for name in variables}, counts


def _keep(
    codes: Mapping[str, np.ndarray],
    variables: Mapping[str, Variable],
    years: Sequence[int] | None,
    counts: Counts,
) -> dict[str, np.ndarray]:
    """Decodes a piece and drops the rows of other years and those with a missing value."""
    values = {
        column: variables[column].decoder(counts.used[column])(codes[column]) for column in codes
    }
    length = len(next(iter(values.values())))
    left = np.ones(length, bool)

    def drop(reason: str, rows: np.ndarray) -> None:
        nonlocal left
        counts.dropped[reason] = counts.dropped.get(reason, 0) + int((left & rows).sum())
        left = left & ~rows

    if years is not None:
        drop(f"not of {', '.join(map(str, years))}", ~np.isin(values["year"], years))
    for column, decoded in values.items():
        drop(f"{counts.used[column]} missing", np.isnan(decoded))
    counts.read += length
    counts.kept += int(left.sum())
    return {column: decoded[left] for column, decoded in values.items()}
