"""The maps of the papers: complete, every name exists, and every formula names its number."""

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from paper_maps import docstring, resolved

import fairgym
from fairgym.algorithms import algorithms
from fairgym.cli import COMMANDS
from fairgym.cli.train import plan_of
from fairgym.config import RunConfig
from fairgym.experiments import experiments
from fairgym.utils.registry import environments

MAP = Path(__file__).parents[1] / "docs" / "paper-map.md"

# Everything that version 2 numbers, and the equations of version 1.
NUMBERS = {
    "Main text": ["3", "4", "5", "6.1", "6.2"],
    "Equations": [str(n) for n in range(1, 26)],
    "Algorithms": ["1"],
    "Tables": [str(n) for n in range(1, 10)],
    "Figures": [str(n) for n in range(1, 18)],
    "Sections of the appendix": [
        *("A", "B.1", "B.2", "C"),
        *(f"D.{n}" for n in range(1, 7)),
        *(f"E.{n}" for n in range(1, 7)),
        *"FGHIJ",
    ],
    "Equations of version 1": [str(n) for n in range(1, 8)],
}
OTHERS = ("Rules without a number", "Errata")
# Sections whose Python names are formulas or lists: their docstrings name the number.
NAMED = {"Equations": "equation", "Algorithms": "algorithm", "Tables": "table"}
WITHOUT = {"fairgym.environments._common.moves.divided_by_weight"}  # serves any budget
DYNAMICS = [f"fairgym.environments.{name}.dynamics" for name in ("loan", "health", "education")]


def rows(path: Path = MAP) -> list[tuple[str, str, list[str]]]:
    """Of each row of a map: section, number (or rule), and the code in its last cell."""
    found, section = [], ""
    for line in path.read_text(encoding="utf-8").splitlines():
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


def whole_numbers(text: str) -> list[int]:
    """Whole numbers of a text, such as 64 and 2,048."""
    return [int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*\d|\d", text)]


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


def test_compatibility_names_both_libraries_of_the_paper():
    """Section 4 names PettingZoo and EPyMARL."""
    (row,) = re.findall(r"^\| 4 \| three environments.*$", MAP.read_text("utf-8"), re.MULTILINE)
    assert "fairgym.adapters.pettingzoo" in row and "EPyMARL" in row
    clients = {path.stem.removeprefix("run_") for path in MAP.parents[1].glob("tests/clients/*.py")}
    assert clients and "epymarl" not in clients  # as the row says


def test_every_row_says_where():
    assert all(code for *_, code in ROWS)
    assert {section for section, *_ in ROWS} == {*NUMBERS, *OTHERS}


def test_errata_name_a_place_of_the_paper():
    """Each is about an equation, a table, a figure or a section that the map lists."""
    places = [place for section, place, _ in ROWS if section == "Errata"]
    assert len(places) >= 12
    known = {"equation": "Equations", "table": "Tables", "figure": "Figures"}
    for place in places:
        found = False
        for kind, section in known.items():
            named = numbers(kind, place)
            found |= bool(named)
            assert {str(number) for number in named} <= set(NUMBERS[section]), place
        for letter in re.findall(r"appendi(?:x|ces) ([A-J])", place):
            found = True
            assert any(s.startswith(letter) for s in NUMBERS["Sections of the appendix"])
        assert found, place


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


# ---------------------------------------------------------------- the map of the FairQCM paper

FAIRQCM_MAP = MAP.with_name("paper-map-fairqcm.md")
# The paper numbers definitions and theorems together, section by section.
FAIRQCM_NUMBERS = {
    "Main text": ["1", "2", "3", "4", "4.1", "4.2", "4.2.1", "5.1", "5.2", "5.3", "6.1", "6.2"],
    "Definitions": [
        *("3.1", *(f"4.{n}" for n in range(1, 12))),
        *("5.1", "5.2", "5.3", "5.6", "5.8"),
    ],
    "Theorems": ["5.4", "5.5", "5.7"],
    "Algorithms": ["1"],
    "Equations": ["1", "2"],
    "Tables": ["1", "2"],
    "Figures": ["1", "2", "3", "4", "5"],
    "Sections of the appendix": ["A.1", "A.2", "A.3", "A.4.1", "A.4.2"],
}
WORDS = {"Algorithms": "algorithm", "Equations": "equation", "Tables": "table"}
FAIRQCM_PLAIN = ("Main text", "Figures", "Sections of the appendix")  # names need no number
# Notions that the code has without their number: it serves all papers.
FAIRQCM_WITHOUT = {
    "fairgym.core.Components",
    "fairgym.core.EnvironmentSpec",
    "fairgym.training.evaluate",
    "fairgym.fairness.Counter",
}
FAIRQCM_ROWS = [row for row in rows(FAIRQCM_MAP) if row[0] in FAIRQCM_NUMBERS]


def test_every_number_of_the_fairqcm_paper_has_one_row():
    found = {s: [number for of, number, _ in FAIRQCM_ROWS if of == s] for s in FAIRQCM_NUMBERS}
    assert found == FAIRQCM_NUMBERS
    assert all(code for *_, code in FAIRQCM_ROWS)
    assert "arxiv.org/abs/2312.04772v4" in FAIRQCM_MAP.read_text("utf-8")


def test_names_of_the_fairqcm_map_say_which_number_they_are():
    for section, number, code in FAIRQCM_ROWS:
        for name in code:
            if " " in name or not name.startswith("fairgym."):
                continue
            text = docstring(resolved(name))
            assert text, name
            if name in FAIRQCM_WITHOUT or section in FAIRQCM_PLAIN:
                continue
            if section in WORDS:
                assert int(number) in numbers(WORDS[section], text), name
            elif section == "Theorems":
                assert re.search(rf"theorem {re.escape(number)}\b", text), name
            else:
                assert re.search(rf"\b{re.escape(number)}(?![.\d]*\d)", text), (name, number)


def test_commands_of_the_fairqcm_map_exist():
    every = re.findall(r"`(fairgym (?:reproduce|train) [^`]+)`", FAIRQCM_MAP.read_text("utf-8"))
    reproduced = {call.split()[2] for call in every if call.split()[1] == "reproduce"}
    ours = {name for name in experiments.names() if name.startswith("fairqcm-")}
    assert reproduced == ours
    for call in every:
        _, command, what, *flags = call.split()
        if command == "train":
            assert plan_of([what, *flags]).config.environment == what


def test_settings_beside_those_of_the_authors():
    """What the table says is the same, is."""
    text = FAIRQCM_MAP.read_text("utf-8").partition("## Settings of the authors")[2]
    cells = re.findall(r"^\| ([^|]+?) \| ([^|]+?) \| ([^|]+?) \|$", text, re.MULTILINE)
    rows = {name: theirs for name, theirs, _ in cells}
    here = {name: ours for name, _, ours in cells}
    deep, qcm, recurrent = (algorithms.get(name)() for name in ("dqn", "fair-qcm", "drqn"))
    lending: dict[str, Any] = {
        name: RunConfig("lending_pool", algorithm=name, objective="published").build().algorithm
        for name in ("dqn", "fair-qcm", "drqn")
    }
    layers = "; ".join((f"{deep.hidden}", f"{lending['dqn'].hidden}"))
    assert layers == "(32, 16, 8); (32, 8)" and rows["layers"].startswith("32, 16, 8")
    buffers = [deep.buffer_size, qcm.buffer_size]
    buffers += [lending[name].buffer_size for name in ("dqn", "fair-qcm")]
    buffers += [recurrent.buffer_size, lending["drqn"].buffer_size]
    assert (
        buffers == whole_numbers(rows["replay buffer"]) == [400, 6_400, 1_000, 8_000, 1_000, 2_000]
    )
    rates = [deep.learning_rate, recurrent.learning_rate, lending["drqn"].learning_rate]
    assert rates == [float(n) for n in re.findall(r"0\.\d+", rows["learning rate"])]
    assert deep.target_network_frequency == 1_000
    assert lending["fair-qcm"].target_network_frequency == 100
    assert (deep.weight_init, recurrent.weight_init) == ("orthogonal", "unit-rows")
    assert (deep.epsilon_decay, deep.epsilon_end) == (0.999, 0.2)
    assert rows["initial weights"] == "orthogonal, biases 0"
    batches = [one.batch_size for one in (deep, qcm, lending["dqn"], lending["fair-qcm"])]
    batches += [recurrent.batch_size, lending["drqn"].batch_size]
    assert batches == whole_numbers(rows["batch size"]) == [64, 2_048, 64, 512, 256, 512]
    table = algorithms.get("tabular-fair-qcm")()
    many = [one.counterfactuals for one in (qcm, table, lending["fair-qcm"])]
    assert many == whole_numbers(rows["counterfactuals per step"]) == [32, 8, 10]
    assert qcm.offsets == table.offsets == (1, 2)
    assert lending["fair-qcm"].offsets == (*range(-5, 0), *range(1, 6))
    units = "recurrent units"
    assert rows[units] == "16" and here[units].startswith(f"{recurrent.recurrent_units}, ")
    assert recurrent.gradient_steps == 10 and "ten after each episode" in here["gradient steps"]
    credit = "credit of group A at the start"
    start = fairgym.make("lending_pool").default_params.start_a
    assert rows[credit] == "0.6" and here[credit].startswith(f"{start:g}, ")
    (flags,) = re.findall("`([^`]+)`", here[credit])
    assert plan_of(["lending_pool", *flags.split()]).config.params == {"start_a": 0.6}
