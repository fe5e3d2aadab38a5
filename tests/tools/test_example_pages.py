"""The example pages of the gallery are those that `make docs` makes."""

import re
import shlex

import example_pages
import pytest

from fairgym.cli.audit import AuditFlags
from fairgym.cli.parsing import parse

GALLERY = example_pages.ROOT / "docs" / "gallery.md"


def test_the_gallery_opens_every_page_and_shows_its_command():
    text = GALLERY.read_text(encoding="utf-8")
    linked = set(re.findall(r"\(examples/([\w-]+)\.html\)", text))
    assert linked == set(example_pages.PAGES)
    for words in example_pages.PAGES.values():
        assert f"`fairgym {words} --out page.html`" in text
    makefile = (example_pages.ROOT / "Makefile").read_text(encoding="utf-8")
    assert makefile.index("zensical build") < makefile.index("example_pages.py site/examples\n")


def test_its_audits_are_of_built_in_tables():
    for words in example_pages.PAGES.values():
        command, *flags = shlex.split(words)
        if command == "audit":
            assert parse(AuditFlags, flags, "fairgym audit").example


def test_pages_are_written_and_faults_end_the_build(monkeypatch, tmp_path, capsys):
    calls = []
    monkeypatch.setattr(example_pages, "fairgym", lambda words: calls.append(words) or 0)
    example_pages.main(str(tmp_path / "new"))
    assert [words[-1] for words in calls] == [
        str(tmp_path / "new" / f"{name}.html") for name in example_pages.PAGES
    ]
    monkeypatch.setattr(example_pages, "fairgym", lambda words: 2)
    with pytest.raises(SystemExit, match="ended with code 2"):
        example_pages.main(str(tmp_path))
