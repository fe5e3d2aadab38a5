"""Docstrings have sections that the site knows, each once."""

import ast
import re
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "fairgym"
SECTION = re.compile(r"^([A-Z][\w ]*):\n +\S", re.MULTILINE)
SECTIONS = {"Args", "Attributes", "Examples", "Raises", "Returns", "Warns", "Yields"}


def faults(text: str) -> list[str]:
    """Names of what is documented badly in a module's source."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
            continue
        name, doc = getattr(node, "name", "module"), ast.get_docstring(node) or ""
        # the site makes a list of each section that it knows, and running text of any other
        sections = SECTION.findall(doc)
        found += [f"{name}: {title}:" for title in sections if title not in SECTIONS]
        found += [f"{name}: {title} twice" for title in SECTIONS if sections.count(title) > 1]
    return found


def test_docstrings_have_no_faults():
    found = {str(path): faults(path.read_text()) for path in SOURCE.rglob("*.py")}
    assert {name: some for name, some in found.items() if some} == {}


def test_faults_are_found():
    bad = 'class A:\n    """A.\n\n    Class attributes:\n        name: a name.\n    """'
    assert faults(bad) == ["A: Class attributes:"]
    assert faults(bad.replace("Class attributes:", "Attributes:") + "\n") == []
