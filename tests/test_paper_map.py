"""The map of the MAFE paper: complete, every name exists, and every formula names its number."""

import importlib
import inspect
import re
from pathlib import Path

import pytest
from paper_maps import docstring, resolved

from fairgym.cli import COMMANDS
from fairgym.experiments import experiments
from fairgym.utils.registry import environments

MAP = Path(__file__).parents[1] / "docs" / "paper-map.md"

# Everything that the paper numbers; appendix A, on related work, has nothing to map.
NUMBERS = {
    "Equations": [str(n) for n in range(1, 26)],
    "Algorithms": ["1"],
    "Tables": [str(n) for n in range(1, 10)],
    "Figures": [str(n) for n in range(1, 18)],
    "Sections of the appendix": [
        *("B.1", "B.2", "C"),
        *(f"D.{n}" for n in range(1, 7)),
        *(f"E.{n}" for n in range(1, 7)),
        *"FGHIJ",
    ],
}
# Sections whose Python names are formulas or lists: their docstrings name the number.
NAMED = {"Equations": "equation", "Algorithms": "algorithm", "Tables": "table"}
WITHOUT = {"fairgym.environments._common.moves.divided_by_weight"}  # serves any budget
DYNAMICS = [f"fairgym.environments.{name}.dynamics" for name in ("loan", "health", "education")]


def rows() -> list[tuple[str, str, list[str]]]:
    """Of each row of the map: section, number (or rule), and the code in its last cell."""
    found, section = [], ""
    for line in MAP.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        elif line.startswith("| ") and not line.startswith("| ---"):
            first, *_, last = (cell.strip() for cell in line.strip("| ").split(" | "))
            if last != "where":
                found.append((section, first, re.findall("`([^`]+)`", last)))
    return found


ROWS = rows()
OBJECTS = [(s, n, name) for s, n, code in ROWS for name in code if " " not in name]
CALLS = [(s, n, call) for s, n, code in ROWS for call in code if " " in call]


def numbers(kind: str, text: str) -> set[int]:
    """Numbers that a docstring names: "equation (6)", "Equations 9, 16 and 24", "tables 1 to 3"."""
    found: set[int] = set()
    for group in re.findall(
        rf"{kind}s?\s+((?:\(?\d+\)?(?:,\s+|\s+and\s+|\s+to\s+)?)+)", text, re.I
    ):
        for first, last in re.findall(r"(\d+)\)?(?:\s+to\s+\(?(\d+))?", group):
            found |= set(range(int(first), int(last or first) + 1))
    return found


def test_every_number_of_the_paper_has_one_row():
    assert NUMBERS == {s: [number for of, number, _ in ROWS if of == s] for s in NUMBERS}


def test_every_row_says_where():
    assert all(code for *_, code in ROWS)
    assert {section for section, *_ in ROWS} == {*NUMBERS, "Rules without a number"}


def test_names_exist_and_are_documented():
    faults = [name for *_, name in OBJECTS if not docstring(resolved(name))]
    assert faults == []


def test_formulas_name_their_number():
    faults = [
        (section, number, name)
        for section, number, name in OBJECTS
        if section in NAMED and name not in WITHOUT
        if int(number) not in numbers(NAMED[section], docstring(resolved(name)))
    ]
    assert faults == []


def test_commands_exist():
    faults = []
    for *_, call in CALLS:
        program, command, *rest = call.split()
        known = program == "fairgym" and command in COMMANDS
        if command == "reproduce":
            known &= len(rest) == 1 and rest[0] in experiments.names()
        if command == "train":
            known &= rest[0] in environments.names()
        faults += [] if known else [call]
    assert faults == []


def test_every_experiment_of_the_paper_is_on_the_map():
    called = {call.split()[-1] for *_, call in CALLS}
    assert {name for name in experiments.names() if name.startswith("mafe-")} <= called


@pytest.mark.parametrize("path", DYNAMICS)
def test_every_formula_with_a_number_is_on_the_map(path):
    """The other way round: what a function says of itself in its first line."""
    module, formulas = importlib.import_module(path), 0
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if function.__module__ == path and not name.startswith("_"):
            for number in numbers("equation", docstring(function).split("\n\n")[0]):
                formulas += 1
                assert ("Equations", str(number), f"{path}.{name}") in OBJECTS
    assert formulas >= 3


def test_numbers_are_read_from_docstrings():
    assert numbers("equation", "Equation (6): a. As equations 9, 16 and (24).") == {6, 9, 16, 24}
    assert numbers("equation", "equations (10) to (12)") == {10, 11, 12}
    assert numbers("table", "Table 8 has 0.5; equation 3") == {8}
