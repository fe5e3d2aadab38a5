"""Files about the project: its version and its citation."""

import tomllib
from pathlib import Path

import yaml

import fairgym

ROOT = Path(__file__).parents[1]


def test_the_version_has_one_place():
    """Hatchling reads it where the code does."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert settings["project"]["dynamic"] == ["version"]
    source = ROOT / settings["tool"]["hatch"]["version"]["path"]
    assert source.read_text().splitlines()[-1] == f'__version__ = "{fairgym.__version__}"'


def test_the_citation_agrees_with_the_metadata():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert citation["cff-version"] == "1.2.0" and citation["message"]
    assert str(citation["version"]) == fairgym.__version__
    assert citation["authors"] == project["authors"]
    assert citation["license"] == project["license"]
    assert citation["repository-code"] == project["urls"]["Source"]
