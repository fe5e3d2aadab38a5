"""Files of an environment's logged decisions, and the roles of their columns beside them."""

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from fairgym.core import FairgymError
from fairgym.data.store import need
from fairgym.training.decisions import DecisionLog, Named
from fairgym.utils.files import require_folder, require_path, require_writable, write_whole

SUFFIXES = (".parquet", ".csv")
_MARK = "# fairgym audit"  # how a file of roles begins that is read without being named


def require_log(path: Path) -> None:
    """Raise a FairgymError unless a log, and the file of its roles, can be written to a path.

    The path must be new, or that of an earlier log, which is then replaced.
    """
    require_path(path, "log")
    if path.suffix.lower() not in SUFFIXES:
        raise FairgymError(f"log must be a .parquet or .csv file, got {str(path)!r}")
    need("pyarrow", "a log of decisions")
    require_folder(path.parent)
    for one in (path, roles_path(path)):
        require_writable(one)
        if one.exists() and roles_beside(path) is None:
            raise FairgymError(
                f"log must be a new file or an earlier log, got {path}; {one} is another file"
            )


def roles_beside(table: str | Path) -> Path | None:
    """Return the file of roles beside a table; None if there is none that begins as ours do."""
    path = roles_path(table)
    try:
        with path.open(encoding="utf-8") as stream:
            return path if stream.read(len(_MARK)) == _MARK else None
    except (OSError, ValueError):
        return None


def roles_path(table: str | Path) -> Path:
    """Return the path of the file beside a table with the roles of its columns."""
    return Path(table).with_suffix(".toml")


def write_log(log: DecisionLog, path: Path) -> None:
    """Write a log as a CSV or parquet file, and the roles of its columns as TOML beside it.

    `fairgym audit PATH` then needs no flags.

    Args:
        log: The log.
        path: A path that `require_log` accepts; the other file has the suffix .toml.

    Raises:
        FairgymError: A file cannot be written.
    """
    content = _content(log, path.suffix.lower())
    write_whole(path, content)
    write_whole(roles_path(path), _roles_text(log, path, content).encode())


def _content(log: DecisionLog, suffix: str) -> bytes:
    """Return the bytes of the table."""
    pa = need("pyarrow", "a log of decisions")
    truths = (log.decision.decision, log.decision.outcome)
    table = pa.table({name: _column(one, name in truths) for name, one in log.columns.items()})
    stream = io.BytesIO()
    if suffix == ".csv":
        need("pyarrow.csv", "a log of decisions").write_csv(table, stream)
    else:
        need("pyarrow.parquet", "a log of decisions").write_table(table, stream)
    return stream.getvalue()


def _column(column: np.ndarray | Named, truth: bool) -> Any:
    """Return a column of pyarrow: names as a dictionary, truths with null where not known."""
    pa = need("pyarrow", "a log of decisions")
    if isinstance(column, Named):
        return pa.DictionaryArray.from_arrays(column.codes, list(column.names))
    if truth and column.dtype != np.bool_:
        return pa.array(column == 1.0, mask=np.isnan(column))
    return pa.array(column)


def _roles_text(log: DecisionLog, path: Path, content: bytes) -> str:
    """Return the TOML file of the roles, with the hash of the table."""
    lines = [f"{_MARK} {path.name}", f"# {log.decision.about}"]
    lines += [f"# {log.decision.left_out}"] * bool(log.decision.left_out)
    lines += [f"{role} = {json.dumps(column)}" for role, column in log.roles.items()]
    return "\n".join(
        [*lines, "", "[made]", f'sha256 = "{hashlib.sha256(content).hexdigest()}"', ""]
    )
