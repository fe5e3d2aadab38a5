"""`--json` and `--csv FILE`: which commands take them, one schema, and a golden document of each.

`GOLDEN=write pytest tests/cli/test_output.py` writes the golden documents anew.
"""

import csv
import json
import math
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
import toy_algorithm  # noqa: F401 - registers itself, and the environment two_servers

from fairgym.bench import measuring
from fairgym.cli import COMMANDS, main, reproduce
from fairgym.results.table import SCHEMA, VERSION, plain, write_rows
from fairgym.statistics.checks import Check
from fairgym.training import devices

GOLDEN = Path(__file__).parent / "golden"
PLAN = """
seeds = "0:2"
[base]
environment = "two_servers"
algorithm = "toy"
epochs = 2
horizon = 3
[grid]
step = [0.1, 0.5]
"""
ON_PLAN = "plan.toml --out swept"
# Name of a golden document -> the command.
CALLS = {
    "evaluate": "evaluate run --episodes 3 --scheme max-min:served",
    "simulate": "simulate two_servers --horizon 3 --episodes 3 --params arrivals=+50%",
    "audit": "audit log.csv --decision ok --group sex --reference f --fail-if ratio<0.1",
    "sweep-table": f"sweep table {ON_PLAN}",
    "sweep-settings": f"sweep table {ON_PLAN} --rows setting",
    "sweep-pareto": f"sweep pareto {ON_PLAN} --x score --y profit",
    "sweep-effects": f"sweep effects {ON_PLAN} --measure profit",
    "sweep-status": f"sweep status {ON_PLAN}",
    "benchmark-list": "benchmark list --task doughnut-3-v0",
    "bench": "bench two_servers --batches 1 --repetitions 1",
    "data-describe": "data describe loan",
    "list": "list",
    "reproduce-list": "reproduce --list",
}
# Documents that grow with the package, of which the first records are compared.
FIRST = {"data-describe": 12, "list": 1, "reproduce-list": 1}
OTHERS = {  # that are given by machines, folders and versions: the kind of value is compared
    "folder",
    *("us_per_step", "steps_per_s", "compile_s"),
    *("probability", "hypervolume"),
}
WITHOUT_TABLES = {"train", "report", "demo", "version"}


@pytest.fixture(scope="module")
def worked(tmp_path_factory):
    """A folder with a run and a sweep."""
    folder = tmp_path_factory.mktemp("cli")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(devices, "configure", lambda: None)
        Path("plan.toml").write_text(PLAN)
        Path("log.csv").write_text("ok,sex\n" + 40 * "yes,f\nno,f\nyes,m\nyes,m\nno,m\n")
        train = "train two_servers --algorithm toy --epochs 2 --horizon 3 --out run"
        assert main(train.split()) == main(f"sweep run {ON_PLAN}".split()) == 0
    return folder


@pytest.fixture
def here(worked, monkeypatch):
    monkeypatch.chdir(worked)
    monkeypatch.setattr(devices, "configure", lambda: None)
    monkeypatch.setattr(measuring, "WARM_UP", 2)
    monkeypatch.setattr(measuring, "PERSON_STEPS", 1)
    return worked


def assert_alike(found, golden, place=""):
    """The same but for rounding; of what is the machine's, the same kind of value."""
    where = f"at {place}: {found!r} is not {golden!r}"
    if place.rpartition(".")[2] in OTHERS:
        assert type(found) is type(golden), where
    elif isinstance(golden, dict):
        assert list(found) == list(golden), where
        for name, value in golden.items():
            assert_alike(found[name], value, f"{place}.{name}")
    elif isinstance(golden, list):
        assert len(found) == len(golden), where
        for number, (one, other) in enumerate(zip(found, golden, strict=True)):
            assert_alike(one, other, f"{place}[{number}]")
    elif isinstance(golden, float) and isinstance(found, float | int):
        assert found == pytest.approx(golden, rel=1e-3, abs=1e-5), where
    else:
        assert found == golden and isinstance(found, type(golden)), where


def write_golden(path, document):
    """One line for each record."""
    head = json.dumps({**document, "results": []}, indent=1).removesuffix("[]\n}")
    rows = ",\n".join(f"  {json.dumps(row)}" for row in document["results"])
    path.write_text(f"{head}[\n{rows}\n ]\n}}\n")


def as_csv(value):
    """A value as it stands in a cell."""
    return "" if value is None else str(value)


@pytest.mark.parametrize("name", CALLS)
def test_the_document_is_the_golden_one_and_the_table_has_its_records(name, here, capsys):
    words = CALLS[name].split()
    assert main([*words, "--json", "--csv", f"{name}.csv"]) == 0
    document = json.loads(capsys.readouterr().out)
    rows = document["results"]
    assert (document["schema"], document["version"]) == (SCHEMA, VERSION)
    assert CALLS[name].startswith(document["command"])
    columns = list(dict.fromkeys(column for row in rows for column in row))
    with (here / f"{name}.csv").open() as stream:
        table = list(csv.DictReader(stream))
    assert table and list(table[0]) == columns
    assert table == [{column: as_csv(row.get(column)) for column in columns} for row in rows]

    document["results"] = rows[: FIRST.get(name)]
    path = GOLDEN / f"{name}.json"
    if os.environ.get("GOLDEN") == "write":
        write_golden(path, document)
    assert_alike(document, json.loads(path.read_text()))


def test_the_page_names_every_field():
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
    for name in (
        "evaluate",
        "simulate",
        "bench",
        "benchmark-list",
        "data-describe",
        "list",
        "sweep-effects",
    ):
        for row in json.loads((GOLDEN / f"{name}.json").read_text())["results"]:
            assert [field for field in row if f"`{field}`" not in page] == [], name


def test_without_the_flags_tables_are_for_people(here, capsys):
    for words in CALLS.values():
        if not words.startswith("bench "):
            assert main(words.split()) == 0
            assert SCHEMA not in capsys.readouterr().out, words


def test_every_command_with_tables_takes_both(capsys):
    assert {words.split()[0] for words in CALLS.values()} == set(COMMANDS) - WITHOUT_TABLES
    for words in CALLS.values():
        command = (
            words.split()[:2]
            if words.startswith(("sweep", "data", "sim", "benchmark"))
            else [words.split()[0]]
        )
        assert main([*command, "--help"]) == 0
        text = capsys.readouterr().out
        assert "--json" in text and "--csv FILE" in text, command


def test_verdicts_are_records():
    check = Check("Relief helps", 0.2, 0.1, math.nan, lowest=0.0)
    outcome = SimpleNamespace(verdict="reproduced", checks=[check])
    (row,) = reproduce._records([SimpleNamespace(name="fig", outcome=outcome, page=Path("p.md"))])
    assert plain(row) == {
        "experiment": "fig",
        "verdict": "reproduced",
        "statement": "Relief helps",
        "kind": "predicted",
        "outcome": check.outcome,
        "mean": 0.2,
        "low": 0.1,
        "high": None,
        "claimed_low": 0.0,
        "claimed_high": None,
        "detail": None,
        "page": "p.md",
    }


def test_a_parquet_table_has_nulls_for_what_is_missing(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [{"name": "=1+1", "mean": math.nan, "clear": True}, {"name": "b", "mean": 2.0, "old": 3}]
    write_rows(tmp_path / "t.parquet", rows)
    assert parquet.read_table(tmp_path / "t.parquet").to_pylist() == [
        {"name": "=1+1", "mean": None, "clear": True, "old": None},
        {"name": "b", "mean": 2.0, "clear": None, "old": 3},
    ]


@pytest.mark.parametrize("call", CALLS.values())
@pytest.mark.parametrize("file", ["run", "t.txt", "/proc/t.csv"])
def test_a_table_that_cannot_be_written_is_refused_first(call, file, here, monkeypatch, capsys):
    for work in ("training.evaluation.measure", "bench.command.measure", "sweeps.entries_of"):
        monkeypatch.setattr(f"fairgym.{work}", None)
    assert main([*call.split(), "--csv", file]) == 2
    err = capsys.readouterr().err
    assert file in err and err.count("\n") == 1
