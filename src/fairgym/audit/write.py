"""What an audit writes: JSON, a CSV file per table, and the file that repeats it."""

import dataclasses
import importlib.metadata
import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairgym._version import __version__
from fairgym.audit.parts import Cell
from fairgym.audit.profiles import read_profile
from fairgym.audit.result import Audit
from fairgym.audit.roles import Roles
from fairgym.config.files import read_config_file
from fairgym.config.settings import checked, fields_of
from fairgym.core import FairgymError
from fairgym.results.table import csv_text, plain, results_json
from fairgym.utils.changes import unknown
from fairgym.utils.files import make_folder, require_folder, require_writable, write_whole

JSON, CONFIG, PAGE, TABLES = "audit.json", "audit.toml", "audit.html", "tables"
MAPS = Path(__file__).with_name("maps")
_LIBRARIES = ("numpy", "scipy", "pyarrow", "pandas", "statsmodels", "jax")


def map_names() -> list[str]:
    """Return the names of the built-in maps of columns."""
    return sorted(path.stem for path in MAPS.glob("*.toml"))


def require_audit_folder(folder: Path) -> None:
    """Raise a FairgymError unless results can be written to a folder.

    It must be new, empty, or hold an earlier audit, which is then replaced.
    """
    require_folder(folder)
    if folder.is_dir() and any(folder.iterdir()) and not (folder / JSON).is_file():
        raise FairgymError(
            f"out must be a new folder or that of an earlier audit, got {folder}, which holds other"
            " files"
        )
    require_writable(folder / JSON)


def records(found: Audit) -> list[dict[str, Cell]]:
    """Return the rows of all tables, each with the name of its table as "part"."""
    return [{"part": part.name, **row} for part in found.parts for row in part.rows]


def members(found: Audit) -> dict[str, Any]:
    """Return the members of the JSON document, "results" among them."""
    profile = read_profile(found.roles.profile)
    return {
        "profile": dataclasses.asdict(profile),
        "source": dataclasses.asdict(found.decisions.source),
        "limits": list(found.limits),
        "findings": list(found.findings),
        "parts": [
            {
                "name": part.name,
                "title": part.title,
                "about": part.about,
                "columns": [dataclasses.asdict(column) for column in part.columns],
            }
            for part in found.parts
        ],
        "failing": [dict(row) for row in found.failing],
        "results": records(found),
    }


def document(found: Audit) -> str:
    """Return the JSON document of an audit."""
    return results_json("audit", settings(found.roles), **members(found))


def settings(roles: Roles) -> dict[str, object]:
    """Return the roles and settings, without roles that no column has."""
    return {name: x for name, x in dataclasses.asdict(roles).items() if x != "" and x != ()}


def config_text(found: Audit) -> str:
    """Return the TOML file that repeats an audit: its roles, the file's hash, and versions."""
    source = found.decisions.source
    made = {"fairgym": __version__, "python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            made[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    lines = [f"# fairgym audit --config {CONFIG}", _line("table", source.path)]
    lines += [_line(name, value) for name, value in settings(found.roles).items()]
    lines += ["", "[made]", _line("sha256", source.sha256), _line("rows", source.rows)]
    return "\n".join([*lines, "", "[versions]", *(_line(*one) for one in made.items()), ""])


def read_config(path: str | Path) -> tuple[dict[str, Any], str, str]:
    """Return the roles of a file, the table that it names, and the table's sha256.

    Args:
        path: TOML, YAML or JSON file with fields of `Roles`, and perhaps "table"; or the name of a
            built-in map of the columns of a public data set, such as "hmda-lar".

    Raises:
        FairgymError: The file cannot be read, or has an unknown key or a bad value.
    """
    path = MAPS / f"{path}.toml" if path in map_names() else path
    given: Mapping[str, Any] = read_config_file(path)
    own = ("table", "made", "versions", "title", "about")
    roles = {name: value for name, value in given.items() if name not in own}
    fields = {one.name: one for one in fields_of(Roles)}
    for name in roles:
        if name not in fields:
            raise unknown("key", name, fields, "there are", f" in {path}")
    table, made = given.get("table", ""), given.get("made", {})
    if not isinstance(table, str):
        raise FairgymError(f"table in {path} must be a path, got {table!r}")
    digest = made.get("sha256", "") if isinstance(made, Mapping) else ""
    return checked(fields.values(), roles), table, str(digest)


def write_audit(found: Audit, folder: Path, page: str = "") -> list[Path]:
    """Write an audit into a folder, and return the written files.

    Args:
        found: The audit.
        folder: Folder that `require_audit_folder` accepts.
        page: The HTML page; "" for none.

    Raises:
        FairgymError: A file cannot be written.
    """
    tables = folder / TABLES
    make_folder(tables)
    written = {
        tables / f"{part.name}.csv": csv_text(part.rows) for part in found.parts if part.rows
    }
    for path in tables.glob("*.csv"):  # of an earlier audit
        if path not in written:
            path.unlink()
    written |= {folder / CONFIG: config_text(found), folder / JSON: f"{document(found)}\n"}
    written |= {folder / PAGE: page} if page else {}
    for path, text in written.items():
        write_whole(path, text.encode())
    return list(written)


def _line(name: str, value: object) -> str:
    """Return a line of TOML; its texts, numbers, lists and truths are written as in JSON."""
    text = json.dumps(plain(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"{name} = {text}"
