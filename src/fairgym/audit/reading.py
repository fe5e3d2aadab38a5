"""Files and data frames as tables of pyarrow, with the columns that an audit needs."""

import codecs
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from fairgym.core import FairgymError
from fairgym.data.store import need
from fairgym.utils.changes import unknown
from fairgym.utils.files import require_path

SUFFIXES = (".csv", ".tsv", ".parquet")
DELIMITERS = ",;\t|"
_BLOCK = 1 << 22  # bytes of a CSV file that are parsed at a time
# Numbers of a column with decimal commas. Three digits behind a comma may be thousands.
_NUMBER, _COMMA = r"^\s*[+-]?\d+(,\d+)?\s*$", r",(\d{1,2}|\d{4,})\s*$"


def read_table(
    table: object, wanted: Sequence[str], numeric: Sequence[str], missing: Sequence[str]
) -> tuple[Any, str, str, tuple[str, ...]]:
    """Return some columns of a table, and where they come from.

    Args:
        table: Path of a file, a data frame, or a dictionary of columns.
        wanted: Names of the columns.
        numeric: Names of those with a number in almost every row, each another one.
        missing: Texts that stand for no value in a CSV file.

    Returns:
        The table of pyarrow, the path or the kind of data frame, the file's sha256 ("" for data
        frames), and sentences about how the file was read.

    Raises:
        FairgymError: The file cannot be read or is of another kind, or a column is missing.
    """
    if not isinstance(table, str | Path):
        return _checked(_of_frame(table, wanted)), f"a {type(table).__name__} in memory", "", ()
    require_path(table, "table")
    path = Path(table)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise FairgymError(f"the table must be a file that ends in {_or(SUFFIXES)}, got {path}")
    if not path.is_file():
        there = "is a folder" if path.is_dir() else "does not exist"
        raise FairgymError(f"the table {path} {there}; it must be a {_or(SUFFIXES)} file")
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
            stream.seek(0)
            start = stream.read(1 << 16)
    except OSError as error:
        raise FairgymError(f"{path} cannot be read: {error.strerror or error}") from error
    if suffix == ".parquet":
        return _checked(_of_parquet(path, start, wanted)), str(path), digest, ()
    found, notes = _of_csv(path, start, wanted, numeric, missing)
    return found, str(path), digest, notes


def _checked(table: Any) -> Any:
    """Return a table whose columns have texts, numbers, dates or truths, with bytes as texts."""
    pa = need("pyarrow", "an audit")
    for place, (name, kind) in enumerate(zip(table.column_names, table.schema.types, strict=True)):
        own = kind.value_type if pa.types.is_dictionary(kind) else kind
        binary = pa.types.is_binary(own) or pa.types.is_large_binary(own)
        try:
            if pa.types.is_nested(own):
                raise pa.ArrowInvalid("it is nested")
            if binary:
                table = table.set_column(place, name, table.column(place).cast(pa.string()))
        except pa.ArrowException as error:
            raise FairgymError(
                f"the column {name!r} must have texts, numbers, dates or truths, got {kind}"
            ) from error
    return table


def _or(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}"


def _require_columns(there: list[str], wanted: Sequence[str], where: str) -> None:
    """Raise an error for a column that a role names and the table lacks, or has twice."""
    for name in wanted:
        if name not in there:
            raise unknown("column", name, there, "the table has", f" in {where}")
        if there.count(name) > 1:
            raise FairgymError(f"{where} has two columns named {name!r}; each name must be unique")


def _of_parquet(path: Path, start: bytes, wanted: Sequence[str]) -> Any:
    pa, pq = (
        need(module, "an audit of a parquet file") for module in ("pyarrow", "pyarrow.parquet")
    )
    try:
        if start[:4] != b"PAR1":
            raise pa.ArrowInvalid("its first bytes are not those of parquet")
        file = pq.ParquetFile(path)
        _require_columns(file.schema_arrow.names, wanted, str(path))
        # single-threaded: threads that release Python objects late abort the process at its end
        return file.read(columns=list(wanted), use_threads=False)
    except FairgymError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise FairgymError(f"{path} is not a readable parquet file: {_reason(error)}") from error


def _of_csv(
    path: Path, start: bytes, wanted: Sequence[str], numeric: Sequence[str], missing: Sequence[str]
) -> tuple[Any, tuple[str, ...]]:
    pa, csv = (need(module, "an audit of a CSV file") for module in ("pyarrow", "pyarrow.csv"))
    encoding, notes = _encoding(path, start)
    head = start.decode(encoding, errors="ignore").lstrip("\ufeff")
    if "\0" in head or start[:4] in (b"PAR1", b"PK\3\4", b"\xd0\xcf\x11\xe0"):
        raise FairgymError(
            f"{path} is no text; it must be a CSV file with one row per decision; save a"
            " spreadsheet as CSV first"
        )
    line = next((line for line in head.splitlines() if line.strip()), "")
    if not line:
        raise FairgymError(f"{path} is empty; it must have a line of column names, then rows")
    delimiter = max(DELIMITERS, key=re.sub('"[^"]*"', "", line).count)
    reading = csv.ReadOptions(encoding=encoding, block_size=_BLOCK)
    parsing = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    try:
        names = csv.open_csv(path, reading, parsing).schema.names
        twice = [name for name in wanted if [one.strip() for one in names].count(name) > 1]
        if twice:
            notes += tuple(
                f"Of several columns named {name!r} the first was read." for name in twice
            )
            names = _renamed(names)
            reading = csv.ReadOptions(
                encoding=encoding, block_size=_BLOCK, column_names=names, skip_rows=1
            )
        _require_columns([name.strip() for name in names], wanted, str(path))
        own = {name.strip(): name for name in names if name.strip() in wanted}
        category = pa.dictionary(pa.int32(), pa.string())
        converting = csv.ConvertOptions(
            column_types={
                there: pa.string() if name in numeric else category for name, there in own.items()
            },
            include_columns=list(own.values()),
            null_values=[one.upper() for one in missing] + list(missing),
            strings_can_be_null=True,
        )
        found = csv.read_csv(path, reading, parsing, converting)
    except FairgymError:
        raise
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise FairgymError(f"{path} is not a readable CSV file: {_reason(error)}") from error
    found = found.rename_columns(list(own))
    if delimiter != ",":
        found, with_commas = _with_points(found)
        notes += with_commas
    return found, notes


def _with_points(table: Any) -> tuple[Any, tuple[str, ...]]:
    """Return a table with points for decimal commas, in columns that have numbers alone."""
    pa, pc = (need(module, "an audit of a CSV file") for module in ("pyarrow", "pyarrow.compute"))
    names = []
    for place, name in enumerate(table.column_names):
        column = table.column(place)
        encoded = pa.types.is_dictionary(column.type)
        array = column.unify_dictionaries().combine_chunks() if encoded else column
        values = array.dictionary if encoded else array
        commas = pc.match_substring_regex(values, _COMMA)
        numbers = pc.match_substring_regex(values, _NUMBER)
        if not (pc.any(commas).as_py() and pc.all(numbers).as_py()):
            continue
        values = pc.replace_substring(values, ",", ".")
        if encoded:
            values = pa.DictionaryArray.from_arrays(array.indices, values)
        table = table.set_column(place, name, values)
        names.append(name)
    told = f"Decimal commas were read as points: {', '.join(names)}."
    return table, (told,) if names else ()


def _renamed(names: Sequence[str]) -> list[str]:
    """Return names with a number after those that occurred before."""
    found: list[str] = []
    for place, name in enumerate(names):
        before = [one.strip() for one in names[:place]].count(name.strip())
        found.append(f"{name.strip()}.{before}" if before else name)
    return found


def _encoding(path: Path, start: bytes) -> tuple[str, tuple[str, ...]]:
    """Return the encoding of a text file, and a sentence if it is not UTF-8."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16", ()
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "cp1252", (f"{path.name} is not UTF-8; its letters were read as Windows-1252.",)
    return "utf-8", ()


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())


def _of_frame(frame: object, wanted: Sequence[str]) -> Any:
    """Return a data frame of pandas, polars or pyarrow, or a dictionary, as a table of pyarrow."""
    pa, given = need("pyarrow", "an audit"), cast(Any, frame)
    if isinstance(frame, Mapping):
        columns: dict[str, Any] = {str(name): values for name, values in frame.items()}
    elif isinstance(frame, pa.Table | pa.RecordBatch):
        columns = {}
        _require_columns(given.schema.names, wanted, "the table")
        return pa.table(given).select(list(wanted))
    elif not hasattr(frame, "collect") and hasattr(frame, "columns"):
        names = [str(name) for name in given.columns]
        _require_columns(names, wanted, "the table")
        columns = {name: given[name] for name in wanted if name in list(given.columns)}
    else:
        raise FairgymError(
            "the table must be the path of a CSV or parquet file, a data frame of pandas, polars or"
            f" pyarrow in memory, or a dictionary of columns, got a {type(frame).__name__}"
        )
    _require_columns(list(columns), wanted, "the table")
    arrays = {name: _array(pa, name, columns[name]) for name in wanted}
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
        raise FairgymError(f"the columns must be equally long, got {told} rows")
    return pa.table(arrays)


def _array(pa: Any, name: str, values: Any) -> Any:
    """Return a column as an array of pyarrow; values of several kinds become texts."""
    if hasattr(values, "to_arrow"):  # polars
        return pa.chunked_array([values.to_arrow()])
    kind = str(getattr(values, "dtype", ""))
    if kind == "category":
        kind = str(values.cat.categories.dtype)
    if kind.startswith(("period", "interval")):  # of pandas
        values = values.astype(str)
    try:
        found = pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        try:
            found = pa.array([None if v is None or v != v else str(v) for v in values], pa.string())
        except (TypeError, ValueError) as error:
            raise FairgymError(f"the column {name!r} must be a list of values") from error
    return found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])
