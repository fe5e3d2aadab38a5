"""The modules of reports stand on floors, and import only from below."""

import ast
from pathlib import Path

import fairgym.report

FLOORS = {
    "words": 1,
    "style": 1,
    "card": 1,
    "html_table": 1,
    "template": 1,
    "grouping": 2,
    "labels": 2,
    "svg": 2,
    "action_panels": 3,
    "results": 3,
    "actions": 4,
    "distributions": 4,
    "effects": 4,
    "episodes": 4,
    "findings": 4,
    "learning": 4,
    "over_time": 4,
    "stakeholders": 4,
    "summary": 4,
    "figures": 5,
    "html": 5,
    "sweep": 5,
    "tables": 5,
    "waits": 4,
    "write": 6,
}


def imported(path: Path) -> set[str]:
    """The modules of fairgym.report that a file imports, also inside of functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        found |= {name.split(".")[2] for name in names if name.startswith("fairgym.report.")}
    return found & FLOORS.keys()


def test_imports_go_down_six_floors():
    folder = Path(fairgym.report.__file__).parent
    modules = {path.stem: path for path in folder.glob("*.py") if path.stem != "__init__"}
    assert modules.keys() == FLOORS.keys() and max(FLOORS.values()) == 6
    for name, path in modules.items():
        for other in imported(path):
            assert FLOORS[other] < FLOORS[name], f"{name} imports {other}"


def test_words_and_numbers_need_no_matplotlib():
    folder = Path(fairgym.report.__file__).parent
    for name in ("words", "html_table", "grouping", "labels", "results", "findings", "summary"):
        assert "matplotlib" not in (folder / f"{name}.py").read_text(encoding="utf-8")
        assert "style" not in imported(folder / f"{name}.py")
