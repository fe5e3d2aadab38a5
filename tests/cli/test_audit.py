"""`fairgym audit`: flags, terminal output, exit codes, and what it writes."""

import csv
import json
import re
import sys
from pathlib import Path

import pandas as pd
import pytest
from decided import decisions_table

from fairgym.cli import main
from fairgym.training import devices


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(devices, "configure", lambda: None)
    pd.DataFrame(decisions_table()).to_csv("log.csv", index=False)
    return tmp_path


PLAIN = "audit log.csv --decision ok --group sex --group race"


def test_findings_and_limits_are_on_25_lines(here, capsys):
    assert main(PLAIN.split()) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 25 and max(map(len, lines)) <= 100
    assert re.match(r"log\.csv: 2,000 decisions, \d\d\.\d% favourable\.", lines[0])
    assert "Findings:" in lines and "Cannot be concluded:" in lines
    assert any(line.startswith("- By sex, f has") for line in lines)
    assert lines[-1] == "--all prints every table; --out FOLDER writes them."
    many = f"{PLAIN} --cross --profile ll144 --score score --time year".split()
    assert main(many) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 25 and any(re.match(r"- and \d+ more", line) for line in lines)


def test_all_prints_limits_first_and_every_table(here, capsys):
    assert main([*PLAIN.split(), "--all"]) == 0
    out = capsys.readouterr().out
    assert out.index("Cannot be concluded:") < out.index("Findings:") < out.index("Rates by group")
    for title in ("Data", "Rates by group", "Gaps against the reference", "Largest gap"):
        assert title in out


def test_json_and_csv_have_the_rows_of_all_tables(here, capsys):
    assert main([*PLAIN.split(), "--json", "--csv", "rows.csv"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["command"] == "audit" and told["settings"]["decision"] == "ok"
    parts = {row["part"] for row in told["results"]}
    assert {"data", "rates", "gaps", "pairs", "largest_gap"} <= parts
    with Path("rows.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["part"] for row in rows] == [row["part"] for row in told["results"]]


def test_a_folder_is_written_and_repeated_from_its_config(here, capsys):
    assert main([*PLAIN.split(), "--out", "out"]) == 0
    first = capsys.readouterr()
    assert "wrote out" in first.err and Path("out/tables/rates.csv").is_file()
    assert main(["audit", "--config", "out/audit.toml"]) == 0
    again = capsys.readouterr()
    assert again.out == first.out and again.err == ""
    with Path("log.csv").open("a") as stream:
        stream.write("yes,f,a,1997,0.5,3\n")
    assert main(["audit", "--config", "out/audit.toml", "--group", "sex"]) == 0
    again = capsys.readouterr()
    assert "2,001 decisions" in again.out and "race" not in again.out.partition("Cannot")[0]
    assert "log.csv is not the file that out/audit.toml was written for" in again.err


def test_a_page_is_written_with_the_folder_or_alone(here, capsys, monkeypatch):
    assert main([*PLAIN.split(), "--out", "out"]) == 0
    beside = Path("out/audit.html").read_text(encoding="utf-8")
    assert beside.startswith("<!doctype html>") and "log.csv: decisions by sex and race" in beside
    capsys.readouterr()
    assert main([*PLAIN.split(), "--out", "pages/one.html"]) == 0
    assert "wrote pages/one.html" in capsys.readouterr().err
    assert [path.name for path in Path("pages").iterdir()] == ["one.html"]
    assert Path("pages/one.html").read_text(encoding="utf-8") == beside
    Path("folder.html").mkdir()
    assert main([*PLAIN.split(), "--out", "folder.html"]) == 2
    assert "folder.html" in capsys.readouterr().err
    monkeypatch.delitem(sys.modules, "fairgym.audit.page")
    monkeypatch.delitem(sys.modules, "fairgym.report.style", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main([*PLAIN.split(), "--out", "new"]) == 2
    assert "matplotlib is not installed" in capsys.readouterr().err
    assert not Path("new").exists()


def test_a_condition_ends_with_code_3(here, capsys):
    assert main([*PLAIN.split(), "--fail-if", "ratio<0.9"]) == 3
    told = capsys.readouterr()
    assert "ratio<0.9 holds for sex: f" in told.err and "Findings:" in told.out
    assert main([*PLAIN.split(), "--fail-if", "ratio<0.1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["failing"] == []
    assert main([*PLAIN.split(), "--fail-if", "ratio<0.9", "--json", "--out", "out"]) == 3
    assert len(json.loads(capsys.readouterr().out)["failing"]) == 1
    assert Path("out/audit.json").is_file()


def test_examples_are_listed_and_audited(here, capsys):
    assert main("audit --example list".split()) == 0
    out = capsys.readouterr().out
    assert all(f"{name}: " in out for name in ("admissions", "arrests", "hmda", "resume-names"))
    assert main("audit --example admissions".split()) == 0
    out = capsys.readouterr().out
    assert "4,526 decisions" in out
    assert "By gender, female has 30.4% favourable decisions and male 44.5%: 14.2 points" in out
    assert main("audit --example admissions --reference female --json".split()) == 0
    told = json.loads(capsys.readouterr().out)
    (row,) = (row for row in told["results"] if row["part"] == "gaps")
    assert row["group"] == "male" and row["difference"] > 0.1


def test_a_built_in_map_names_the_columns_of_a_public_data_set(here, capsys):
    rows = 60 * ["2013-01-01,F,White,Low,1", "2013-02-01,M,Black,High,0"]
    rows += 60 * ["2013-02-01,M,White,Low,1", "2013-01-01,F,Black,Low,0"]
    head = "compas_screening_date,sex,race,score_text,two_year_recid"
    Path("compas.csv").write_text("\n".join([head, *rows]))
    assert main("audit compas.csv --config compas".split()) == 2
    assert "unknown column 'age_cat' in compas.csv" in capsys.readouterr().err
    assert main("audit compas.csv --config compas --legit sex --group race".split()) == 0
    told = capsys.readouterr().out
    assert "2013-01 to 2013-02" in told and "By race, Black has 50.0% favourable" in told


def test_a_file_of_roles_may_name_unknown_values_that_a_table_lacks(here, capsys):
    text = 'decision = "ok"\ngroups = ["sex", "race"]\nunknown = ["c", "Declined"]\n'
    Path("roles.toml").write_text(text)
    assert main("audit log.csv --config roles.toml".split()) == 0
    assert "left out by race, which is unknown" in capsys.readouterr().out
    assert main("audit log.csv --config roles.toml --unknown Declined".split()) == 2


@pytest.mark.parametrize(
    "words, message",
    [
        ("audit", "no table is given; give a .csv or .parquet file, or --example with one of"),
        ("audit log.csv", "decision is not given; name the column with the decisions: --decision"),
        ("audit log.csv --decision ok", "group is not given"),
        ("audit log.csv log.csv --decision ok --group sex", "one table can be audited at a time"),
        ("audit log.csv --example arrests", "one table can be audited at a time"),
        ("audit --example moon", "unknown example 'moon'"),
        ("audit none.csv --decision ok --group sex", "the table none.csv does not exist"),
        ("audit log.csv --decision okay --group sex", "unknown column 'okay' in log.csv"),
        ("audit log.csv --decision ok=maybe --group sex", "the favourable value 'maybe' does not"),
        ("audit log.csv --decision ok --group sex --profile x", "unknown profile 'x'"),
        ("audit log.csv --decision ok --group sex --fail-if x", "fail_if must be a condition"),
        ("audit log.csv --decision ok --group sex --min-n many", "min_n must be a whole number"),
        ("audit log.csv --decision ok --group sex --out .", "out must be a new folder"),
        ("audit log.csv --decision ok --group sex --csv x.txt", "csv must be a file that ends in"),
        ("audit log.csv --decision= --group sex", "decision must be a text, got ''"),
        ("audit log.csv --decision ok --group sex --reference woman", "unknown reference 'woman'"),
        (
            "audit log.csv --decision ok --group race --unknown c,x --out new",
            "unknown must name values of the groups, got 'x', which does not occur in the column"
            " 'race'; it has: a, b, c",
        ),
        (
            "audit log.csv --decision ok --group sex --group race --unknown x",
            "got 'x', which occurs in none of the columns 'sex', 'race'",
        ),
        ("audit --config none.toml", "none.toml cannot be read"),
    ],
)
def test_mistakes_are_one_sentence_and_code_2(words, message, here, capsys):
    assert main(words.split()) == 2
    told = capsys.readouterr()
    assert message in told.err and told.err.count("\n") == 1
    assert sorted(path.name for path in here.iterdir()) == ["log.csv"]
