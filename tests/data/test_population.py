import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fairgym.core.errors import FairgymError
from fairgym.data import data_home, describe, load_population, population, sources, store
from fairgym.data import standardised_mean_difference as difference
from fairgym.data.populations import loan, population_names


@pytest.fixture
def copy(home):
    """The built-in files as a source of the user's, free to be damaged."""
    folder = home / "mine"
    shutil.copytree(population.FILES, folder)
    return folder


def reseal(folder, name, content):
    """Replaces a file and its checksum."""
    (folder / name).write_bytes(content)
    entries = json.loads((folder / "checksums.json").read_text())
    digest = hashlib.sha256(content).hexdigest()
    entries[name] |= {"bytes": len(content), "sha256": digest}
    (folder / "checksums.json").write_text(json.dumps(entries))


def test_built_in_population():
    people = load_population()
    assert len(people) == 10_000 and (people.name, people.source) == ("loan", "built-in")
    assert set(people.columns) == set(loan.COLUMNS) == set(people.units)
    c = people.columns
    for name, column in loan.COLUMNS.items():
        assert c[name].shape == (10_000,)
        if column.kind == "string":
            assert c[name].dtype.kind == "U"
        else:
            assert c[name].dtype == column.kind and np.isfinite(c[name]).all()
    with pytest.raises(ValueError, match="read-only"):
        c["term"][0] = 1
    assert 0.05 < c["interest_rate"].min() and c["interest_rate"].max() < 0.32
    assert set(c["term"]) == {36, 60}
    assert c["principal"].min() >= 1000 and c["principal"].max() <= 40_000
    assert c["annual_income"].min() > 0 and c["debt_to_income"].min() >= 0
    assert (c["fico_high"] == c["fico_low"] + 4).all() and (c["fico_low"] % 5 == 0).all()
    assert set(c["race"]) == {"white", "asian", "black", "hispanic"}
    np.testing.assert_array_equal(c["group"], np.isin(c["race"], ["black", "hispanic"]))
    repaid = c["defaulted"] == 0
    np.testing.assert_array_equal(c["months_to_default"][repaid], c["term"][repaid])
    assert (c["months_to_default"][~repaid] < c["term"][~repaid]).all()
    share = c["months_to_default"][~repaid] / c["term"][~repaid]
    assert share.mean() == pytest.approx(0.4, abs=0.02)


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="counts threads under /proc")
def test_reading_people_starts_no_thread_that_could_outlive_python():
    """Arrow's threads hold Python's objects: one that drops them at exit aborts the process."""
    code = (
        "import pathlib, sys, pyarrow.parquet\n"
        "from fairgym.data import load_population\n"
        "threads = lambda: len(list(pathlib.Path('/proc/self/task').iterdir()))\n"
        "before = threads()\n"
        "load_population('loan'), load_population('health'), load_population('education')\n"
        "print(threads() - before, [m for m in ('pandas', 'sklearn') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "0 []\n"


def test_imputed_columns_are_marked():
    people = load_population()
    assert set(people.imputed) == {
        "fico_low",
        "fico_high",
        "months_since_delinquency",
        "group",
        "race",
        "defaulted",
        "months_to_default",
    }
    assert all(people.imputed.values())


def test_charge_off_shares_and_fico_slope():
    people = load_population()
    c = people.columns
    grade = np.array([g[0] for g in c["sub_grade"]])
    for letter, share in zip("ABCDEF", np.linspace(0.061, 0.525, 7), strict=False):
        inside = grade == letter
        assert c["defaulted"][inside].mean() == pytest.approx(share, abs=2 / inside.sum())
    slopes = people.details["calibration"]["fico_log_odds_slope"]
    assert slopes["in_the_sample"] == pytest.approx(slopes["wanted"], rel=0.05)
    # an independent figure: log-odds in the lower and upper half of the scores
    fico = c["fico_low"].astype(float)
    x = np.stack([np.ones(len(fico)), (fico - 700) / 30], axis=1)
    b = np.zeros(2)
    for _ in range(20):
        p = 1 / (1 + np.exp(-x @ b))
        b += np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x, x.T @ (c["defaulted"] - p))
    assert b[1] / 30 == pytest.approx(slopes["in_the_sample"], rel=1e-3)


def test_bias_strength_sets_the_groups_half_a_deviation_apart():
    people = load_population()
    score = people.scores["qualification"].predict(people.columns)
    group = people.columns["group"]
    weights = population_weights(score, group, people.bias_strength)
    assert difference(score, group, weights) == pytest.approx(0.5, abs=0.002)
    assert 0 < difference(score, group) < 0.5


def population_weights(score, group, strength):
    out = np.empty(len(score))
    for code, sign in ((0, 1), (1, -1)):
        z = (score[group == code] - score[group == code].mean()) / score[group == code].std()
        out[group == code] = np.exp(sign * strength * z)
    return out


@pytest.mark.parametrize("name", population_names())
def test_checksum_is_of_the_parquet_file(name):
    content = (population.FILES / f"{name}.parquet").read_bytes()
    assert load_population(name).checksum == hashlib.sha256(content).hexdigest()
    assert len(content) < 1_000_000


@pytest.mark.full
def test_import_needs_numpy_only():
    code = (
        "import sys, fairgym.data; "
        "print([m for m in ('pandas', 'pyarrow', 'sklearn') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_without_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(FairgymError, match=r"reading populations needs pyarrow: pip install"):
        load_population()


def test_unknown_names():
    with pytest.raises(FairgymError, match=r"unknown population 'boats'; there are: .*loan"):
        load_population("boats")
    with pytest.raises(FairgymError, match=r"unknown source 'nowhere' .*; there are: built-in"):
        load_population("loan", "nowhere")
    with pytest.raises(FairgymError, match="import it first: fairgym data import lending-club"):
        load_population("loan", "lending-club")
    with pytest.raises(FairgymError, match="import it first: fairgym data import meps"):
        load_population("health", "meps")
    # an import of other people is no help
    with pytest.raises(FairgymError, match="unknown source 'meps' for population 'loan'; there"):
        load_population("loan", "meps")


def test_source_is_no_path(copy):
    for source in ("../home/mine", str(copy), ".", ""):
        with pytest.raises(FairgymError, match="unknown source"):
            load_population("loan", source)


def test_sources_lists_imports(copy, home):
    (home / "broken").mkdir()
    (home / "broken" / "checksums.json").write_text("{")
    assert sources("loan") == ["built-in", "mine"]
    assert len(load_population("loan", "mine")) == 10_000
    with pytest.raises(FairgymError, match=r"broken.checksums.json cannot be read"):
        load_population("loan", "broken")


@pytest.mark.parametrize("name", ["loan.parquet", "loan_scores.json"])
def test_truncated_altered_or_absent_file(copy, name):
    path = copy / name
    content = path.read_bytes()
    path.write_bytes(content[:-100])
    expected = f"{name} has {len(content) - 100:,} bytes, expected {len(content):,}"
    with pytest.raises(FairgymError, match=expected):
        load_population("loan", "mine")
    path.write_bytes(content[:50] + bytes([content[50] ^ 1]) + content[51:])
    with pytest.raises(FairgymError, match=f"{name} has sha256 .*expected"):
        load_population("loan", "mine")
    path.unlink()
    with pytest.raises(FairgymError, match=f"{name} cannot be read"):
        load_population("loan", "mine")


def test_wrong_schema(copy):
    people = load_population()

    def encoded(schema):
        columns = {name: people.columns.get(name, people.columns["term"]) for name in schema}
        return store.encode_table(columns, schema, {}, {})

    fewer = {name: c for name, c in loan.COLUMNS.items() if name != "fico_low"}
    reseal(copy, "loan.parquet", encoded(fewer))
    with pytest.raises(FairgymError, match=r"loan.parquet has no column fico_low; expected"):
        load_population("loan", "mine")
    other = loan.COLUMNS | {"term": store.Column("int8", "months")}
    reseal(copy, "loan.parquet", encoded(other))
    with pytest.raises(FairgymError, match="column term is int8, expected float32"):
        load_population("loan", "mine")
    reseal(copy, "loan.parquet", b"PAR1 but nothing else")
    with pytest.raises(FairgymError, match="not a readable parquet file"):
        load_population("loan", "mine")


def test_wrong_scores(copy):
    reseal(copy, "loan_scores.json", b'{"scores": {"qualification": {"slope": 1}}}')
    with pytest.raises(FairgymError, match=r"loan_scores.json cannot be read; it must be JSON"):
        load_population("loan", "mine")


def test_describe_says_who_is_in_it():
    text = describe("loan")
    people = load_population()
    for part in (
        "10,000 people",
        people.checksum,
        "0 advantaged",
        "1 disadvantaged",
        f"{people.columns['defaulted'].mean():.1%}",
        "Imputed columns",
        "drawn from P(race | FICO)",
        "qualification score",
        "AUC",
        f"{people.scores['propensity'].metrics['r2']:.3f}",
        f"bias_strength {people.bias_strength:g}",
        "0.500",
    ):
        assert part in text
    for name, column in people.columns.items():
        assert name in text or column.dtype.kind == "U"
    assert max(len(line) for line in text.splitlines()) <= 120


def test_data_home(monkeypatch, tmp_path):
    assert data_home().name == "home"
    monkeypatch.delenv("FAIRGYM_DATA_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert data_home().name == "fairgym" and data_home() != Path("fairgym")


def test_write_replaces_whole(tmp_path):
    store.write_files(tmp_path, {"a.json": b"old", "b.json": b"keep"}, versioned=True)
    store.write_files(tmp_path, {"a.json": b"new"}, versioned=True)
    assert store.read_verified(tmp_path, "a.json")[0] == b"new"
    assert store.read_verified(tmp_path, "b.json")[0] == b"keep"
    assert len(list(tmp_path.iterdir())) == 3  # the old a.json is gone


def test_full_disk_leaves_the_old_files(tmp_path, monkeypatch):
    store.write_files(tmp_path, {"a.json": b"old"}, versioned=True)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FairgymError, match=r"cannot be written \(No space left on device"):
        store.write_files(tmp_path, {"a.json": b"new"}, versioned=True)
    assert store.read_verified(tmp_path, "a.json")[0] == b"old"
    assert len(list(tmp_path.iterdir())) == 2
