"""Built-in tables of decisions, with the roles of their columns."""

from pathlib import Path
from typing import Any

from fairgym.config.files import read_config_file
from fairgym.data.population import FILES
from fairgym.utils.changes import unknown

FOLDER = Path(__file__).with_name("examples")
PREFIX = "example:"  # of an example as a table


def example_names() -> list[str]:
    """Return the names of the built-in tables."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def example_config(name: str) -> Path:
    """Return the TOML file of an example: its roles, title and description.

    Raises:
        FairgymError: There is no such example.
    """
    if name not in example_names():
        raise unknown("example", name, example_names())
    return FOLDER / f"{name}.toml"


def example_table(name: str) -> Path:
    """Return the parquet file of an example.

    Raises:
        FairgymError: There is no such example.
    """
    example_config(name)
    return FILES / f"audit_{name}.parquet"


def describe_examples() -> list[dict[str, Any]]:
    """Return name, title and description of every example."""
    found = []
    for name in example_names():
        given = read_config_file(example_config(name))
        found.append({"name": name, "title": given["title"], "about": given["about"]})
    return found
