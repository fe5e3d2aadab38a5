"""Files about the project: version, citation, workflows, forms and hooks."""

import re
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


def test_workflows_run_what_the_project_has():
    """The Pythons of the metadata, targets of the Makefile, extras of the metadata."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    workflow = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())
    jobs = workflow["jobs"]
    versions = jobs["locked"]["strategy"]["matrix"]["python"]
    classifiers = [f"Programming Language :: Python :: {version}" for version in versions]
    assert classifiers == [text for text in project["classifiers"] if ":: Python :: 3." in text]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    made = {command.split()[1] for command in commands if command.startswith("make ")}
    assert made == {"test", "test-all", "docs", ".venv"} and made <= {*targets, ".venv"}
    (install,) = (command for command in commands if "--editable" in command)
    assert set(re.findall(r"\[(.*)\]", install)[0].split(",")) <= set(
        project["optional-dependencies"]
    )
    # PyYAML reads the key `on` as a boolean.
    assert {"push", "pull_request", "schedule"} <= set(workflow[True])


def test_every_form_and_hook_is_readable():
    for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text())
        if path.name != "config.yml":
            assert form["name"] and form["description"]
            ids = [field["id"] for field in form["body"]]
            assert len(ids) == len(set(ids)) > 0
    locked = (ROOT / "requirements.lock").read_text()
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        tool = hook["entry"].split()[0].removeprefix(".venv/bin/")
        assert re.search(rf"^{tool}==", locked, re.MULTILINE)
