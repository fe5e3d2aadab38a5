"""Docstrings open with a plain noun phrase: neither a question word nor a genitive stub."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "fairgym"
QUESTION = re.compile(r"(What|How|Who|Whom|Whose|Where|Whether|When|Which|Why)\b")
SECTION = re.compile(r"^([A-Z][\w ]*):\n +\S", re.MULTILINE)
SECTIONS = {"Args", "Attributes", "Examples", "Raises", "Returns", "Warns", "Yields"}
STUB = re.compile(r"^\s+(\w[\w, ]*): of\b", re.MULTILINE)


def faults(text: str) -> list[str]:
    """Names of what is documented badly in a module's source."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
            continue
        name, doc = getattr(node, "name", "module"), ast.get_docstring(node) or ""
        if QUESTION.match(doc):
            found.append(f"{name}: {doc.splitlines()[0]}")
        found += [f"{name}: {stub}: of ..." for stub in STUB.findall(doc)]
        # the site makes a list of each section that it knows, and running text of any other
        sections = SECTION.findall(doc)
        found += [f"{name}: {title}:" for title in sections if title not in SECTIONS]
        found += [f"{name}: {title} twice" for title in SECTIONS if sections.count(title) > 1]
    return found


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.name))
def test_docstrings_open_with_a_noun_phrase(path):
    assert not faults(path.read_text())


def test_faults_are_found():
    assert faults('"""What there is."""') == ["module: What there is."]
    bad = 'def f():\n    """Sum.\n\n    Args:\n        rate: of Adam.\n    """'
    assert faults(bad) == ["f: rate: of ..."]
    bad = 'class A:\n    """A.\n\n    Class attributes:\n        name: a name.\n    """'
    assert faults(bad) == ["A: Class attributes:"]
    assert faults(bad.replace("Class attributes:", "Attributes:") + "\n") == []
    assert not faults('"""Rates of whatever is learned."""')
