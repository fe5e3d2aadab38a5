"""The pages for analysts: their commands print what they show, and the names they list exist.

`GOLDEN=write pytest tests/test_analysts.py` writes the outputs into the pages.
"""

import contextlib
import dataclasses
import io
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from fairgym.audit import Part, Roles, audit
from fairgym.audit.examples import example_config
from fairgym.audit.parts import cell_text
from fairgym.audit.profiles import MEASURES, Profile, profile_names
from fairgym.audit.write import map_names, read_config
from fairgym.cli import main
from fairgym.cli.output import WIDTH, folded

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "analysts"
BLOCK = re.compile(r"^```(\w+)(?: title=\"(.*?)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
QUICK = ["write-a-profile"]
SLOW = ["audit-my-table", "compare-two-reforms"]  # tables over time, simulations


def printed(words):
    """What a command prints, both streams in their order, and the code it ends with."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = main(words)
    return out.getvalue().replace(f"{ROOT}/", ""), code


def shown(found, there):
    """An output as a page shows it: folded, and up to the line of dots, if it has one."""
    lines = [
        line.rstrip()
        for text in found.splitlines()
        for line in (folded(text) if len(text) > WIDTH and text[0].isascii() else [text])
    ]
    if there and there[-1] == "...":
        lines = [*lines[: len(there) - 1], "..."]
    return lines


def checked(name, folder, monkeypatch):
    """Run a page's commands in a folder, and return the page with what they print."""
    monkeypatch.chdir(folder)
    (folder / "examples").symlink_to(ROOT / "examples")
    path = FOLDER / f"{name}.md"

    def filled(block):
        kind, title, text = block.groups()
        if title:
            (folder / title).write_text(text, encoding="utf-8")
        if kind != "console":
            return block[0]
        call, _, _ = text.replace("\\\n", "\0").partition("\n")
        length = call.count("\0") + 1
        lines = text.splitlines()
        words = shlex.split(call.replace("\0", " ").removeprefix("$ fairgym "))
        out, code = printed(words)
        assert code in (0, 3), (call, out)
        told = "\n".join([*lines[:length], *shown(out, lines[length:])])
        return f"```console\n{told}\n```"

    before = path.read_text(encoding="utf-8")
    return path, before, BLOCK.sub(filled, before)


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(name, marks=pytest.mark.full) for name in SLOW)]
)
def test_commands_print_what_the_page_shows(name, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    path, before, now = checked(name, tmp_path, monkeypatch)
    if os.environ.get("GOLDEN") == "write":
        path.write_text(now, encoding="utf-8")
    assert now == path.read_text(encoding="utf-8"), before


def test_the_page_shows_the_first_lines_of_its_table():
    (head,) = re.findall(r"```csv\n(.*?)```", (FOLDER / "audit-my-table.md").read_text(), re.DOTALL)
    lines = (ROOT / "examples" / "bank.csv").read_text().splitlines()
    assert lines[: len(head.splitlines())] == head.splitlines() and len(lines) == 1201


def test_pages_list_what_there_is():
    table, profile = (
        (FOLDER / f"{name}.md").read_text() for name in ("audit-my-table", "write-a-profile")
    )
    assert all(f"| `{name}` |" in table for name in map_names())
    assert all(f"`{name}`" in table for name in MEASURES)
    assert all(f"| `{name}` |" in profile for name in profile_names())
    assert all(f"`{one.name}`" in profile for one in dataclasses.fields(Profile))


@pytest.mark.full
def test_the_numbers_of_fairlearn_are_those_of_the_page(capsys, monkeypatch):
    pytest.importorskip("fairlearn")
    monkeypatch.chdir(ROOT)
    text = (FOLDER / "coming-from-fairlearn.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (out,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    exec(code, {})
    told = capsys.readouterr().out
    assert told == out
    first, gaps, ratios = told.splitlines()
    assert first == "True"
    assert len(set(gaps.split())) == len(set(ratios.split())) == 1


def test_the_memo_quotes_the_audit():
    """Numbers of the example of a memo."""
    text = (FOLDER / "read-the-report.md").read_text()
    (memo,) = re.findall(r"^> (.*)$", text, re.MULTILINE)
    roles = Roles(**read_config(example_config("arrests"))[0])
    found = audit("example:arrests", dataclasses.replace(roles, time=""))

    def texts(part: Part, key: str, **where: Any) -> list[str]:
        (column,) = (one for one in part.columns if one.key == key)
        rows = [row for row in part.rows if where.items() <= row.items()]
        return [cell_text(row, column) for row in rows]

    for rate in texts(found.part("rates"), "rate", grouping="colour"):
        assert rate.replace(" [", "% [") in memo
    (gap,) = texts(found.part("gaps"), "difference", grouping="colour")
    (left,) = texts(found.part("adjusted"), "difference", grouping="colour", method="regression")
    for one in (gap, left):
        assert re.sub(r"[−+]", "", one.partition(" ")[0]) in memo
    assert f"{found.decisions.rows:,}" in memo
