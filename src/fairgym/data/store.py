"""Population files on disk: written completely, and read only if complete.

A folder holds `<name>.parquet` (the people), `<name>_scores.json` (their fitted scores) and
`checksums.json`, which records the name, size and sha256 of each file. Writing replaces
`checksums.json` last, by one rename, so that a reader sees either the old files or the new ones.
"""

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairgym.core.errors import FairgymError
from fairgym.utils.files import write_errors, write_whole

CHECKSUMS = "checksums.json"


@dataclass(frozen=True)
class Column:
    """Type and unit of a population's column.

    Attributes:
        kind: "float32", "int8" or "string" (stored as a dictionary).
        unit: Unit, or meaning of the codes.
    """

    kind: str
    unit: str


def data_home() -> Path:
    """Return the user's data folder: `FAIRGYM_DATA_HOME`, or the platform's default."""
    chosen = os.environ.get("FAIRGYM_DATA_HOME")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return base / "fairgym"


def need(module: str, doing: str) -> Any:
    """Import a module of an optional extra, or raise an error that says how to install it."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        top = module.split(".")[0]
        package = {"sklearn": "scikit-learn"}.get(top, top)
        extra = {"pyarrow": "data", "ray": "ray", "statsmodels": "audit"}.get(top, "importers")
        raise FairgymError(
            f"{doing} needs {package}: pip install -e '.[{extra}]' in a clone of fairgym"
        ) from error


def read_checksums(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the entries of a folder's checksums.json; empty if there is no such file.

    Raises:
        FairgymError: If the file was not written by `write_files`.
    """
    path = folder / CHECKSUMS
    if not path.is_file():
        return {}
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        whole = all(map(_is_entry, entries.values()))
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        raise FairgymError(
            f"{path} cannot be read; it must be JSON with file, bytes and sha256 for each entry"
        ) from error
    if not whole:
        raise FairgymError(
            f"{path} is damaged: each entry must have a file name, its bytes and its sha256"
        )
    return entries


def _is_entry(entry: Any) -> bool:
    """Return whether an entry has a file name in the same folder, a size and a sha256."""
    if not isinstance(entry, dict):
        return False
    file, digest = entry.get("file"), entry.get("sha256")
    named = isinstance(file, str) and Path(file).name == file and "\0" not in file
    return named and type(entry.get("bytes")) is int and isinstance(digest, str)


def read_verified(folder: Path, entry_name: str) -> tuple[bytes, str, Path]:
    """Return a file's bytes, sha256 and path, after checking size and sha256.

    Raises:
        FairgymError: If the file is not recorded, missing, truncated or altered.
    """
    entry = read_checksums(folder).get(entry_name)
    if entry is None:
        raise FairgymError(f"{folder / CHECKSUMS} has no entry for {entry_name}")
    path = folder / entry["file"]
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FairgymError(f"{path} cannot be read: {error.strerror or error}") from error
    if len(content) != entry["bytes"]:
        raise FairgymError(
            f"{path} has {len(content):,} bytes, expected {entry['bytes']:,}: it is truncated "
            "or altered; install or import it again"
        )
    found = hashlib.sha256(content).hexdigest()
    if found != entry["sha256"]:
        raise FairgymError(
            f"{path} has sha256 {found[:16]}..., expected {entry['sha256'][:16]}...: it is "
            "altered; install or import it again"
        )
    return content, found, path


def typed(columns: Mapping[str, np.ndarray], schema: Mapping[str, Column]) -> dict[str, np.ndarray]:
    """Return the columns of a schema, in its order and with its types."""
    return {
        name: columns[name] if column.kind == "string" else columns[name].astype(column.kind)
        for name, column in schema.items()
    }


def encode_table(
    columns: Mapping[str, np.ndarray],
    schema: Mapping[str, Column],
    imputed: Mapping[str, str],
    about: Mapping[str, str],
) -> bytes:
    """Return a population as the bytes of a parquet file.

    Args:
        columns: One array of equal length for each name in `schema`.
        schema: Columns in the order in which they are written.
        imputed: Imputed column -> method; stored with the unit in the field's metadata.
        about: Facts about the whole file; stored in the schema's metadata.
    """
    pa = need("pyarrow", "writing populations")
    pq = need("pyarrow.parquet", "writing populations")
    types = {"float32": pa.float32(), "int8": pa.int8()}
    fields, arrays = [], []
    for name, column in schema.items():
        if column.kind == "string":
            levels, codes = np.unique(np.asarray(columns[name], dtype=str), return_inverse=True)
            array = pa.DictionaryArray.from_arrays(
                pa.array(codes.astype(np.int8)), pa.array(levels.tolist(), pa.string())
            )
        else:
            array = pa.array(np.asarray(columns[name]).astype(column.kind), types[column.kind])
        metadata = {"unit": column.unit}
        if name in imputed:
            metadata["imputed"] = imputed[name]
        fields.append(pa.field(name, array.type, nullable=False, metadata=metadata))
        arrays.append(array)
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata=dict(about)))
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", compression_level=19)
    return sink.getvalue().to_pybytes()


def decode_table(
    content: bytes, schema: Mapping[str, Column], path: Path
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Return the columns of a population file and the method of each imputed column.

    Raises:
        FairgymError: If it is not a parquet file, or has other columns and types than `schema`.
    """
    pa = need("pyarrow", "reading populations")
    pq = need("pyarrow.parquet", "reading populations")
    try:
        # Single-threaded: read_table's threads release Python objects after it has returned, which
        # aborts the process if Python exits meanwhile.
        table = pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise FairgymError(f"{path} is not a readable parquet file") from error
    absent = [name for name in schema if name not in table.column_names]
    if absent:
        raise FairgymError(
            f"{path} has no column {', '.join(absent)}; expected {', '.join(schema)}"
        )
    columns, imputed = {}, {}
    for name, column in schema.items():
        data, field = table.column(name), table.schema.field(name)
        text = pa.types.is_dictionary(field.type) or pa.types.is_string(field.type)
        found = "string" if text else {"float": "float32"}.get(str(field.type), str(field.type))
        if found != column.kind:
            raise FairgymError(f"{path}: column {name} is {found}, expected {column.kind}")
        if data.null_count:
            raise FairgymError(f"{path}: column {name} has missing values, expected none")
        if text:
            array = data.cast(pa.string()).dictionary_encode().combine_chunks()
            levels = np.array(array.dictionary.to_pylist(), dtype=str)
            values = levels[np.asarray(np.from_dlpack(array.indices), np.intp)]
        else:  # copied: Arrow's buffers go with the table; its to_numpy would import pandas
            values = np.array(np.from_dlpack(data.combine_chunks()))
        values.flags.writeable = False
        columns[name] = values
        how = (field.metadata or {}).get(b"imputed")
        if how is not None:
            imputed[name] = how.decode()
    return columns, imputed


def write_files(folder: Path, files: Mapping[str, bytes], versioned: bool) -> None:
    """Write files and the checksums.json that names them, replacing existing ones.

    Args:
        folder: Folder; created if missing.
        files: Content by entry name, such as "loan.parquet". Other entries of an existing
            checksums.json stay.
        versioned: Whether to put the start of the sha256 into the file names. A reader of the old
            checksums.json then finds the old files until the new one is in place. Files that are
            no longer named are removed.

    Raises:
        FairgymError: If the folder cannot be written (no permission, full disk).
    """
    with write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        entries = {}
        with contextlib.suppress(FairgymError):  # an unreadable file is replaced
            entries = read_checksums(folder)
        for name, content in sorted(files.items()):
            digest = hashlib.sha256(content).hexdigest()
            stem, dot, suffix = name.partition(".")
            file = f"{stem}-{digest[:12]}{dot}{suffix}" if versioned else name
            write_whole(folder / file, content)
            entries[name] = {"file": file, "bytes": len(content), "sha256": digest}
        text = json.dumps(entries, indent=2, sort_keys=True) + "\n"
        write_whole(folder / CHECKSUMS, text.encode())
    if versioned:
        named = {entry["file"] for entry in entries.values()} | {CHECKSUMS}
        for name in files:
            stem, _, suffix = name.partition(".")
            for path in folder.glob(f"{stem}-*.{suffix}*"):
                if path.name not in named:
                    with contextlib.suppress(OSError):
                        path.unlink()
