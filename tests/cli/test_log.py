"""`fairgym evaluate --log`, and an audit of the file without flags."""

import json

import numpy as np
import pandas as pd
import pytest

from fairgym.cli import main
from fairgym.training import devices, load


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("log") / "run"
    words = ["train", "lending_pool", "--algorithm", "tabular-q", "--horizon", "8", "--epochs", "1"]
    assert main([*words, "--out", str(out)]) == 0
    return out


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(devices, "configure", lambda: None)
    return tmp_path


def test_the_log_is_that_of_the_measured_episodes_and_is_audited_without_flags(run, here, capsys):
    words = ["evaluate", str(run), "--episodes", "3", "--seed", "5", "--log", "log.csv", "--json"]
    assert main(words) == 0
    told = capsys.readouterr()
    table = pd.read_csv("log.csv")
    assert f"wrote log.csv and log.toml: {len(table)} decisions\nfairgym audit log.csv" in told.err
    measured = load(run).evaluate(3, 5).totals
    by_group = table.groupby(["episode", "group"])["granted"].agg(["size", "sum"])
    assert by_group["size"].tolist() == measured.applied.reshape(-1).tolist()
    assert by_group["sum"].tolist() == measured.loans.reshape(-1).tolist()
    assert main(["audit", "log.csv", "--json", "--min-n", "5"]) == 0
    told = capsys.readouterr()
    assert "roles of the columns: log.toml" in told.err
    audited = json.loads(told.out)
    assert audited["settings"]["decision"] == "granted" and audited["settings"]["min_n"] == 5
    assert audited["settings"]["time"] == "step"


def test_a_baseline_may_be_logged(run, here):
    words = ["evaluate", str(run), "--episodes", "2", "--log", "loan=log.parquet"]
    assert main([*words, "--log-policy", "random_present"]) == 0
    table = pd.read_parquet("log.parquet")
    granted = table.groupby(["episode", "step"])["granted"].sum()
    assert np.all(np.asarray(granted) == 1)  # the rule offers the loan to somebody who applies


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--log log.txt", "log must be a .parquet or .csv file, got 'log.txt'"),
        ("--log lone=log.csv", "unknown decision 'lone' in lending_pool; did you mean 'loan'?"),
        (
            "--log log.csv --log-policy rndom",
            "unknown policy 'rndom' of lending_pool; did you mean",
        ),
        ("--log-policy random", "log_policy needs --log FILE, got 'random' without it"),
        ("--log own.csv", "log must be a new file or an earlier log, got own.csv"),
    ],
)
def test_bad_flags_are_told_before_anything_is_measured(run, here, capsys, words, message):
    (here / "own.csv").write_text("mine")
    assert main(["evaluate", str(run), *words.split()]) == 2
    told = capsys.readouterr()
    assert message in told.err and "measuring" not in told.err and not told.out
    assert [path.name for path in here.iterdir()] == ["own.csv"]


def test_several_runs_have_no_single_log(run, here, capsys):
    assert main(["evaluate", str(run), str(run), "--log", "log.csv"]) == 2
    assert "log needs a single run, got 2" in capsys.readouterr().err


def test_a_toml_file_of_another_kind_is_not_read_as_roles(here, capsys):
    rows = {"ok": [1, 0] * 40, "sex": ["f", "m"] * 40}
    pd.DataFrame(rows).to_csv("own.csv", index=False)
    (here / "own.toml").write_text("decision = 'ok'\n")
    assert main(["audit", "own.csv"]) == 2
    assert "decision is not given" in capsys.readouterr().err
    (here / "own.toml").write_text("# fairgym audit own.csv\ndecision = 'ok'\ngroups = ['sex']\n")
    assert main(["audit", "own.csv"]) == 0
