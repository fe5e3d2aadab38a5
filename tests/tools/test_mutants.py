"""Mutants: each is one changed line that Python still reads, and is found again by its text."""

import ast
from pathlib import Path

import mutants

ROOT = Path(__file__).parents[2]


def test_a_drawn_list_is_the_same_again_and_each_changes_one_readable_line():
    drawn = mutants.draw(40, seed=3)
    assert drawn == mutants.draw(40, seed=3) and len(drawn) == 40
    assert {mutant["kind"] for mutant in drawn} == {"operator", "constant", "arguments"}
    for mutant in drawn:
        lines = (ROOT / str(mutant["file"])).read_text().split("\n")
        index = int(mutant["line"]) - 1
        assert lines[index] == mutant["old"] != mutant["new"]
        lines[index] = str(mutant["new"])
        ast.parse("\n".join(lines))


def test_the_faults_of_a_line():
    line = b"a < f(b, 2)"
    found = [
        line[:begin] + new + line[end:]
        for node in ast.walk(ast.parse(line))
        for _, begin, end, new in mutants.edits(node, line)
    ]
    assert sorted(found) == [b"a < f(2, b)", b"a < f(b, 3)", b"a <= f(b, 2)"]


def test_a_line_is_found_nearest_to_its_number_or_in_the_only_other_file(tmp_path):
    mutant: mutants.Mutant = {"file": "src/fairgym/a.py", "line": 4, "old": "x"}
    assert mutants.found_line(["x", "", "", "", "x", "x"], mutant) == 4
    assert mutants.found_line(["y"], mutant) is None
    folder = tmp_path / "src/fairgym"
    folder.mkdir(parents=True)
    for name in ("b", "c"):
        (folder / f"{name}.py").write_text("x\n" if name == "b" else "y\n")
    assert mutants.found_file(tmp_path, mutant) == folder / "b.py"
    assert mutants.found_file(tmp_path, mutant | {"old": "z"}) is None
    (folder / "c.py").write_text("x\n")
    assert mutants.found_file(tmp_path, mutant) is None


def test_a_mutant_is_put_in_and_taken_out(tmp_path, monkeypatch):
    file, seen = tmp_path / "src/fairgym/statistics/a.py", []
    file.parent.mkdir(parents=True)
    file.write_text("a = 1\nb = 2\n")

    def failing(tree, words, timeout):
        seen.append((file.read_text(), words[-1]))
        return "" if len(seen) == 1 else "a test"

    monkeypatch.setattr(mutants, "failing", failing)
    mutant = {"file": "src/fairgym/statistics/a.py", "line": 9, "old": "b = 2", "new": "b = 3"}
    found = mutants.killed_by(tmp_path, mutant, "not full", False, 1.0)
    assert found == {"result": "rest", "test": "a test"}
    changed = "a = 1\nb = 3\n"
    assert seen == [(changed, "tests/statistics"), (changed, "--ignore=tests/statistics")]
    assert file.read_text() == "a = 1\nb = 2\n"
    gone = mutants.killed_by(tmp_path, mutant | {"old": "c"}, "not full", False, 1.0)
    assert gone == {"result": "gone"}
