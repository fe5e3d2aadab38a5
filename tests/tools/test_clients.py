"""The learners of other libraries: their scripts, their pins, and the command that runs them."""

import re
from pathlib import Path

import pytest
import yaml

import clients

ROOT = Path(__file__).parents[2]
NAMES = clients.names()


def pins(name):
    """The releases that a client's file pins: package -> version."""
    lines = (clients.SCRIPTS / f"requirements-{name}.txt").read_text().splitlines()
    found = [re.fullmatch(r"([\w-]+)(?:\[\w+\])?==([\d.]+)", line) for line in lines]
    assert lines and all(found), f"{name}: versions only"
    return {one[1]: one[2] for one in found if one}


def test_every_client_is_pinned_listed_and_run_every_week():
    assert len(NAMES) >= 10
    workflow = yaml.safe_load((ROOT / ".github/workflows/clients.yml").read_text())
    assert workflow["jobs"]["client"]["strategy"]["matrix"]["client"] == NAMES
    assert workflow[True]["schedule"], "PyYAML reads the key `on` as a boolean"
    page = (ROOT / "docs/adapters.md").read_text()
    table = page.split("| client | release | works on |")[1].split("\n\n")[0]
    assert len(table.strip().splitlines()) == 1 + len(NAMES)
    for name in NAMES:
        assert any(f"| {version}" in table for version in pins(name).values()), name
    assert set(clients.sources()) <= set(NAMES)


def test_a_failure_does_not_stop_the_other_clients(monkeypatch, tmp_path, capsys):
    def run(name):
        line = "" if name == NAMES[0] else f"{name} | 1.0 | PPO: loan"
        (tmp_path / f"{name}.log").write_text("what went wrong\n")
        return clients.Outcome(name, line, 1.0)

    monkeypatch.setattr(clients, "BUILD", tmp_path)
    monkeypatch.setattr(clients, "run", run)
    assert clients.main([]) == 1
    printed = capsys.readouterr().out
    assert printed.count("what went wrong") == 1
    rows = [line for line in printed.splitlines() if line.startswith("| ")]
    assert rows[2] == f"| {NAMES[0]} | FAILED | see build/clients/{NAMES[0]}.log |"
    assert rows[3:] == [f"| {name} | 1.0 | PPO: loan |" for name in NAMES[1:]]
    assert clients.main(NAMES[1:3]) == 0
    assert clients.main(["no-such-client"]) == 2
    assert "unknown client 'no-such-client'; the clients are: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("script", "line"),
    [
        ("print('a | 1 | PPO: loan')", "a | 1 | PPO: loan"),
        ("print('a | 1 | PPO: loan'); print('goodbye')", "a | 1 | PPO: loan"),
        ("print('a | 1 | PPO: loan'); raise SystemExit(3)", ""),
        ("print('nothing was run')", ""),
        ("", ""),
    ],
)
def test_a_client_passes_if_its_script_ends_well_and_says_what_was_run(
    monkeypatch, tmp_path, script, line
):
    """The environment is this one, and pip installs nothing."""
    monkeypatch.setattr(clients, "BUILD", tmp_path)
    monkeypatch.setattr(clients, "SCRIPTS", tmp_path)
    monkeypatch.setattr(clients, "install", lambda name, log: Path(clients.sys.executable))
    (tmp_path / "sources.txt").write_text("")
    (tmp_path / "run_a.py").write_text(script)
    assert clients.run("a").line == line
