"""What an audit writes, and that its audit.toml repeats it."""

import csv
import json
import tomllib

import pandas as pd
import pytest
from decided import decisions_table

from fairgym.audit import Part, Roles, audit
from fairgym.audit.parts import Column, cell_text
from fairgym.audit.write import (
    document,
    read_config,
    records,
    require_audit_folder,
    write_audit,
)
from fairgym.core import FairgymError
from fairgym.results.table import SCHEMA, VERSION

ROLES = Roles(decision="ok", groups=("sex", "race"), cross=True, time="year", suppress=0)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    pd.DataFrame(decisions_table()).to_csv(path, index=False)
    return path


def test_a_folder_has_json_tables_and_the_call(log, tmp_path):
    found = audit(log, ROLES)
    out = tmp_path / "out"
    require_audit_folder(out)
    written = {str(path.relative_to(out)) for path in write_audit(found, out)}
    assert {"audit.json", "audit.toml", "tables/rates.csv", "tables/gaps.csv"} <= written
    told = json.loads((out / "audit.json").read_text())
    assert (told["schema"], told["version"], told["command"]) == (SCHEMA, VERSION, "audit")
    assert told["settings"]["groups"] == ["sex", "race"]
    assert told["limits"] == list(found.limits) and told["findings"] == list(found.findings)
    assert len(told["results"]) == len(records(found))
    for part in found.parts:
        with (out / "tables" / f"{part.name}.csv").open() as stream:
            rows = list(csv.DictReader(stream))
        own = [row for row in told["results"] if row["part"] == part.name]
        assert len(rows) == len(own) == len(part.rows)
    with (out / "tables" / "gaps.csv").open() as stream:
        first = next(csv.DictReader(stream))
    assert float(first["difference"]) == found.part("gaps").rows[0]["difference"]


def test_its_config_repeats_the_audit(log, tmp_path):
    found = audit(log, ROLES)
    write_audit(found, tmp_path / "out")
    made = tomllib.loads((tmp_path / "out" / "audit.toml").read_text())
    assert made["made"] == {"sha256": found.decisions.source.sha256, "rows": 2000}
    assert {"fairgym", "python", "numpy", "pyarrow"} <= set(made["versions"])
    given, table, digest = read_config(tmp_path / "out" / "audit.toml")
    assert table == str(log) and digest == found.decisions.source.sha256
    again = audit(table, Roles(**given))
    assert document(again) == document(found)


def test_only_new_folders_and_earlier_audits_are_written_to(log, tmp_path):
    out = tmp_path / "out"
    write_audit(audit(log, ROLES), out)
    require_audit_folder(out)
    fewer = audit(log, Roles(decision="ok", groups=("sex",)))
    write_audit(fewer, out)
    assert not (out / "tables" / "pairs.csv").exists(), "a table of the earlier audit"
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.docx").touch()
    with pytest.raises(FairgymError, match="out must be a new folder or that of an earlier audit"):
        require_audit_folder(other)
    with pytest.raises(FairgymError, match="must be a folder, got a file"):
        require_audit_folder(log)


def test_cells_are_no_formulas_and_odd_names_survive(tmp_path):
    odd = ["=1+1", "@x", '<b>"bold"</b>', "a, b"]
    table = {"ok": [1, 0] * 200, "who": odd * 100}
    found = audit(table, Roles(decision="ok", groups=("who",)))
    write_audit(found, tmp_path / "out")
    with (tmp_path / "out" / "tables" / "rates.csv").open() as stream:
        names = [row["group"] for row in csv.DictReader(stream)]
    assert sorted(names) == sorted(["'=1+1", "'@x", *odd[2:]])
    told = json.loads((tmp_path / "out" / "audit.json").read_text())
    groups = {row["group"] for row in told["results"] if row["part"] == "rates"}
    assert groups == set(odd)


def test_configs_with_mistakes_are_one_sentence(tmp_path):
    path = tmp_path / "roles.toml"
    for text, message in [
        ('decison = "ok"', "unknown key 'decison' in .*; did you mean 'decision'"),
        ("decision = 3", "decision must be text, got 3"),
        ('groups = "sex"', "groups must be a list"),
        ("table = 3", "table in .* must be a path, got 3"),
        ("decision = ", "is not valid TOML"),
    ]:
        path.write_text(text)
        with pytest.raises(FairgymError, match=message):
            read_config(path)


def test_cells_for_people():
    row = {
        "rate": 0.25,
        "low": 0.2,
        "high": 0.31,
        "n": 1234,
        "name": "a",
        "none": None,
        "yes": True,
    }
    p = Column("p_holm", "p")
    assert [cell_text({"p_holm": x}, p) for x in (4e-22, 0.0, 0.001, 0.04)] == [
        "<0.001",
        "<0.001",
        "0.001",
        "0.040",
    ]
    share = Column("rate", "rate", "share", ("low", "high"))
    assert share.heading == "rate (%)" and cell_text(row, share) == "25.0 [20.0, 31.0]"
    points = Column("rate", "gap", "points", ("low", "high"), signed=True)
    assert points.heading == "gap (points)"
    assert cell_text(row, points) == "+25.0 [+20.0, +31.0]"
    assert cell_text(row, Column("n", "n")) == "1,234"
    assert cell_text(row, Column("name", "")) == "a" and cell_text(row, Column("none", "")) == ""
    assert cell_text(row, Column("yes", "")) == "yes" and cell_text(row, Column("gone", "")) == ""
    assert cell_text({"rate": float("nan")}, Column("rate", "")) == "undefined"
    rows = [{"grouping": "sex", "n": 1}, {"grouping": "sex", "n": 2}, {"grouping": "race", "n": 3}]
    columns = [Column("grouping", "by"), Column("n", "decisions")]
    table = Part("a", "A", "About.", rows, columns).table()
    assert table.head == ["decisions"]
    assert table.rows == [["By sex"], ["1"], ["2"], ["By race"], ["3"]]
    single = Part("a", "A", "About.", rows[1:], columns).table()
    assert single.head == ["by", "decisions"] and single.rows == [["sex", "2"], ["race", "3"]]
    table = Part("a", "A", "About.", [row]).table()
    assert (
        list(table.head) == [key for key in row if key != "none"]
        and table.title == "A"
        and table.caption == "About."
    )
