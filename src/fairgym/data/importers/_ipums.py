"""Reading IPUMS extracts: a DDI codebook (.xml) with its fixed-width or CSV data file.

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

A `Variable` has three parts. Its names are those that IPUMS may use; the first one in the extract
is read. Its function maps codes to values, and to NaN for codes that are not answers (not in
universe, refused, unknown). Its labels must occur in the codebook, if that labels these codes. Rows
with a NaN are dropped and counted, each for its first missing variable. If the codes depend on the
name, give a function per name: `Variable({"HICOV": ..., "HINOTCOV": ...})`.

ipumspy reads the file in chunks, so that memory holds only the rows and columns kept.
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
# Errors of ipumspy at an incomplete codebook.
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
        names: Names that IPUMS may use, the best first; or name -> decoding function.
        decode: Maps codes (float64, NaN where blank, shape (n,)) to values, NaN where missing.
            None if `names` has the functions.
        labels: Code -> a word of its label in the codebook, or the start of one, in lower case.
            Extracts with other labels are refused.
    """

    names: Sequence[str] | Mapping[str, Decode]
    decode: Decode | None = None
    labels: Mapping[int, str] = field(default_factory=dict)

    def decoder(self, name: str) -> Decode:
        """Return the decoding function for a name."""
        if isinstance(self.names, Mapping):
            return self.names[name]
        assert self.decode is not None
        return self.decode


def between(low: float, high: float) -> Decode:
    """Keep numbers from low to high, both included; all others are missing."""
    return lambda codes: np.where((codes >= low) & (codes <= high), codes, np.nan)


def recode(values: Mapping[int, float]) -> Decode:
    """Map codes by a table; codes that are not in it are missing."""
    keys = np.array(sorted(values), np.float64)
    table = np.array([values[int(key)] for key in keys], np.float64)

    def decode(codes: np.ndarray) -> np.ndarray:
        at = np.clip(np.searchsorted(keys, codes), 0, len(keys) - 1)
        return np.where(keys[at] == codes, table[at], np.nan)

    return decode


def amounts(low: float, high: float) -> Decode:
    """Keep amounts in dollars from low to high; numbers of six or more nines are missing.

    IPUMS marks amounts that are unknown, refused or not in universe by a field of nines, whose last
    digit may be 5 to 9: 999999, 9999998, 99999996.
    """

    def decode(codes: np.ndarray) -> np.ndarray:
        special = np.zeros(codes.shape, bool)
        for width in range(6, 11):
            full = 10.0**width - 1
            special |= (codes >= full - 4) & (codes <= full)
        return np.where(special | ~((codes >= low) & (codes <= high)), np.nan, codes)

    return decode


def read_codebook(path: Path) -> Any:
    """Read the DDI codebook, or raise an error that says why it cannot be read."""
    readers = store.need("ipumspy.readers", "importing IPUMS extracts")
    if not path.is_file() or path.suffix.lower() != ".xml":
        raise FairgymError(
            f"{path} is not an .xml file; give the DDI codebook of the IPUMS extract, with the "
            "data file beside it"
        )
    try:
        with warnings.catch_warnings(), reading(path):
            warnings.simplefilter("ignore")  # the request to cite IPUMS: importers print it
            codebook = readers.read_ipums_ddi(path)
        structure = codebook.file_description.structure
    except FairgymError:
        raise
    except _NOT_A_DDI as error:
        raise FairgymError(f"{path} is not an IPUMS DDI codebook") from error
    if structure != "rectangular":
        raise FairgymError(
            f"{path} describes a {structure} extract; make a rectangular one at IPUMS"
        )
    return codebook


def _data_file(path: Path, codebook: Any) -> Path:
    """Return the data file beside the DDI: the file it names, or one with the DDI's name."""
    named = Path(codebook.file_description.filename or path.stem).name
    stems = dict.fromkeys((named.split(".")[0], path.stem))
    names = [named, f"{named}.gz"]
    names += [f"{stem}{end}" for stem in stems for end in (".dat", ".dat.gz", ".csv", ".csv.gz")]
    for name in dict.fromkeys(names):
        found = path.parent / name
        if found.is_file() and {".dat", ".csv"} & set(found.suffixes):
            return found
    raise FairgymError(
        f"there is no data file beside {path}; expected {named}, or {path.stem} with .dat, .csv, "
        ".dat.gz or .csv.gz"
    )


def _find(path: Path, codebook: Any, variables: Mapping[str, Variable]) -> dict[str, Any]:
    """Return the codebook's description of each column's variable."""
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
            f"{path} has no variable {', '.join(absent)}; add what is missing to the extract at "
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
    """Return the number of lines of a data file.

    Raises:
        FairgymError: If a line is shorter than `width` characters (the file is truncated).
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
                    f"{path}: line {number:,} has {len(text)} characters, expected at least"
                    f" {width}: the file is truncated or not the one that the codebook describes"
                )
    return number


def _pieces(path: Path, codebook: Any, found: Mapping[str, Any]) -> Iterator[dict[str, np.ndarray]]:
    """Yield the codes of the variables in chunks, as float64 with NaN if not a number."""
    readers = store.need("ipumspy.readers", "importing IPUMS extracts")
    pd = store.need("pandas", "importing IPUMS extracts")
    # Numbers are read as text and scaled here, because ipumspy turns blanks into 0.
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
    """Read the rows of an extract that have every variable.

    Args:
        source: Name of the source.
        path: The DDI codebook (.xml). The data file is beside it; it has the name in the codebook,
            or the codebook's name with .dat, .csv, .dat.gz or .csv.gz.
        variables: Column -> variable. With `years`, one of the columns is "year".
        years: Rows of other years are dropped and counted; None keeps all.
        progress: Called with (rows read so far, total rows) after every chunk.

    Returns:
        Column -> values of the kept rows, float64, shape (kept,); and a report with the counts.

    Raises:
        FairgymError: If the DDI or the data file is missing, the extract is hierarchical, a
            variable is missing (the message names it) or has unexpected labels, a line or a gzip
            file is truncated, or no row can be used.
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
        except ValueError as error:  # error of pandas if the file is not as described
            reason = " ".join(str(error).split())
            raise FairgymError(
                f"{data_file} does not match its codebook {path}: {reason}"
            ) from error
    report.require_rows("row")
    return {name: np.concatenate([part[name] for part in parts]) for name in variables}, report


def _keep(
    codes: Mapping[str, np.ndarray],
    variables: Mapping[str, Variable],
    used: Mapping[str, str],
    years: Sequence[int] | None,
    report: Report,
) -> dict[str, np.ndarray]:
    """Decode a chunk; drop rows of other years and rows with a missing value."""
    values = {column: variables[column].decoder(used[column])(codes[column]) for column in codes}
    rows = Sieve(len(next(iter(values.values()))), report.dropped)
    if years is not None:
        rows.drop(f"not of {', '.join(map(str, years))}", ~np.isin(values["year"], years))
    for column, decoded in values.items():
        rows.drop(f"{used[column]} missing", np.isnan(decoded))
    report.read += len(rows.left)
    report.kept += int(rows.left.sum())
    return {column: decoded[rows.left] for column, decoded in values.items()}
