"""Reading an IPUMS extract: a DDI codebook (.xml) with its fixed-width or CSV data file.

    columns, report = read_extract(
        "meps",
        "meps_00001.xml",
        {
            "year": Variable(("YEAR",), between(1900, 2100)),
            "age": Variable(("AGE",), between(0, 120)),
            "female": Variable(("SEX",), recode({1: 0, 2: 1}), {2: "female"}),
        },
        years=(2014, 2015, 2016),
    )
    columns["age"]  # float64, shape (kept,)
    report.read, report.kept, report.dropped  # {"not of 2014, 2015, 2016": 5, "AGE missing": 1}

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import numpy as np

from fairgym.core.errors import FairgymError
from fairgym.data import store
from fairgym.data.importers._report import Report, Sieve, reading

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
        with warnings.catch_warnings(), reading(path):
            warnings.simplefilter("ignore")  # that IPUMS wants to be cited: the importers say so
            codebook = readers.read_ipums_ddi(path)
        structure = codebook.file_description.structure
    except FairgymError:
        raise
    except _NOT_A_DDI as error:
        raise FairgymError(f"{path} is not a DDI codebook as IPUMS writes it") from error
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
    source: str,
    path: str | Path,
    variables: Mapping[str, Variable],
    *,
    years: Sequence[int] | None = None,
    progress: Progress | None = None,
) -> tuple[dict[str, np.ndarray], Report]:
    """Reads the rows of an extract that have every variable.

    Args:
        source: name of the source.
        path: the DDI codebook (.xml). The data file lies beside it, under the name in the
            codebook or the codebook's own with .dat, .csv, .dat.gz or .csv.gz.
        variables: column -> variable. With `years`, one of the columns is "year".
        years: rows of other years are dropped and counted; None keeps all.
        progress: called with (rows read so far, rows in all) after every piece.

    Returns:
        Column -> values of the rows kept, float64, shape (kept,); and a report with the counts.

    Raises:
        FairgymError: no DDI or no data file; a hierarchical extract; a variable is absent (the
            sentence names it) or labelled otherwise than expected; a line is cut off; a
            truncated gzip file; no row can be used.
    """
    path = Path(path)
    codebook = read_codebook(path)
    found = _find(path, codebook, variables)
    data_file = _data_file(path, codebook)
    report, used = Report(source, str(data_file)), {c: one.name for c, one in found.items()}
    parts: list[dict[str, np.ndarray]] = []
    with reading(data_file):
        try:
            width = max(one.end for one in found.values()) if ".dat" in data_file.suffixes else 0
            rows = _rows(data_file, width) - (not width)  # a CSV has a header
            for codes in _pieces(data_file, codebook, found):
                parts.append(_keep(codes, variables, used, years, report))
                if progress is not None:
                    progress(report.read, max(rows, report.read))
        except FairgymError:
            raise
        except ValueError as error:  # what pandas says of a file that is not as described
            reason = " ".join(str(error).split())
            raise FairgymError(f"{data_file} is not as {path} describes it: {reason}") from error
    report.require_rows("row")
    return {name: np.concatenate([part[name] for part in parts]) for name in variables}, report


def _keep(
    codes: Mapping[str, np.ndarray],
    variables: Mapping[str, Variable],
    used: Mapping[str, str],
    years: Sequence[int] | None,
    report: Report,
) -> dict[str, np.ndarray]:
    """Decodes a piece and drops the rows of other years and those with a missing value."""
    values = {column: variables[column].decoder(used[column])(codes[column]) for column in codes}
    rows = Sieve(len(next(iter(values.values()))), report.dropped)
    if years is not None:
        rows.drop(f"not of {', '.join(map(str, years))}", ~np.isin(values["year"], years))
    for column, decoded in values.items():
        rows.drop(f"{used[column]} missing", np.isnan(decoded))
    report.read += len(rows.left)
    report.kept += int(rows.left.sum())
    return {column: decoded[rows.left] for column, decoded in values.items()}
