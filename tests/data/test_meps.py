import gzip

import numpy as np
import pytest

from fairgym.cli.data import data
from fairgym.core.errors import FairgymError
from fairgym.data import describe, import_meps, load_population, sources
from fairgym.data.importers import _ipums, importer_modules, meps
from fairgym.data.populations import health

WIDTHS = {
    "YEAR": 4,
    "SERIAL": 7,  # not needed
    "REGIONMEPS": 2,
    "FAMSIZE": 2,
    "AGE": 3,
    "SEX": 1,
    "RACEA": 3,
    "USBORN": 2,
    "EDUC": 3,
    "HEALTH": 1,
    "HINOTCOV": 1,
    "CHOLHIGHEV": 1,
    "SMOKENOW": 1,
    "INCTOT": 7,
    "FTOTVAL": 7,
    "POVLEV": 7,
    "AEFFORT": 1,
    "ANERVOUS": 1,
    "ARESTLESS": 1,
    "AHOPELESS": 1,
    "ASAD": 1,
    "AWORTHLESS": 1,
}
DECIMALS = {"POVLEV": 2}
LABELS = {
    "SEX": {1: "Male", 2: "Female", 7: "Unknown-refused"},
    "RACEA": {100: "White", 200: "Black/African-American", 980: "Unknown-not ascertained"},
    "AEFFORT": {0: "None of the time", 4: "All of the time", 6: "NIU"},
    "REGIONMEPS": {1: "Northeast", 2: "Midwest", 3: "South", 4: "West"},
}
PERSON = {
    "YEAR": 2015,
    "SERIAL": 12,
    "REGIONMEPS": 2,
    "FAMSIZE": 3,
    "AGE": 40,
    "SEX": 2,
    "RACEA": 100,
    "USBORN": 20,
    "EDUC": 400,
    "HEALTH": 2,
    "HINOTCOV": 1,
    "CHOLHIGHEV": 1,
    "SMOKENOW": 1,
    "INCTOT": 30000,
    "FTOTVAL": 60000,
    "POVLEV": 298.57,
    "AEFFORT": 1,
    "ANERVOUS": 2,
    "ARESTLESS": 0,
    "AHOPELESS": 0,
    "ASAD": 3,
    "AWORTHLESS": 4,
}


def person(**changes):
    assert not set(changes) - set(PERSON)
    return {**PERSON, **changes}


def people(number=300, seed=0):
    """Made-up people in whom distress and little money go with poor health."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(number):
        effort, income = int(rng.integers(0, 5)), int(rng.integers(1000, 150_000))
        worse = 1.5 + 0.5 * effort - income / 150_000 + rng.normal(0, 0.7)
        rows.append(
            person(
                YEAR=int(rng.choice([2014, 2015, 2016])),
                REGIONMEPS=int(rng.integers(1, 5)),
                AGE=int(rng.integers(18, 86)),
                SEX=int(rng.integers(1, 3)),
                RACEA=int(rng.choice([100, 200, 310, 411])),
                FAMSIZE=int(rng.integers(1, 6)),
                HEALTH=int(np.clip(round(worse), 1, 5)),
                HINOTCOV=int(rng.integers(1, 3)),
                INCTOT=income // 2,
                FTOTVAL=income,
                POVLEV=round(income / 120, 2),
                AEFFORT=effort,
                ASAD=int(rng.integers(0, 5)),
            )
        )
    return rows


@pytest.fixture
def write(tmp_path, ipums_extract):
    """Writes an extract with these rows; further arguments as `write_extract` takes them."""

    def one(rows, widths=WIDTHS, **options):
        options = {"decimals": DECIMALS, "labels": LABELS} | options
        return ipums_extract(tmp_path, rows, widths, **options)

    return one


def test_import_round_trip(write, home):
    seen = []
    path = write(people())
    report = import_meps(path, progress=lambda done, total: seen.append((done, total)))
    assert (report.read, report.kept, report.dropped) == (300, 300, {})
    assert seen[-1] == (300, 300)
    assert sources("health") == ["built-in", "meps"] and "meps" not in sources("loan")
    found = load_population("health", "meps")
    assert len(found) == 300 and found.source == "meps"
    # all is observed; these hold a repair, or a table's numbers
    incomes = {"personal_income", "family_income", "poverty_level"}
    assert set(found.imputed) == incomes | {"education_years"}
    assert set(found.columns) == set(health.COLUMNS)
    assert found.bias_strength == report.bias_strength and len(found.directions) == 4
    assert found.scores["health_risk"].coefficients["effort"] > 0.2
    text = str(report)
    assert "rows read" in text and "people kept" in text and "R2" in text and str(home) in text
    assert "cite" in text and "300 people" in describe("health", "meps")
    assert importer_modules()["meps"].run is import_meps


def test_values_by_hand(write):
    rows = [
        person(),
        person(SEX=1, RACEA=200, USBORN=11, EDUC=116, REGIONMEPS=1, HINOTCOV=2, HEALTH=5),
        person(RACEA=411, EDUC=503, CHOLHIGHEV=2, SMOKENOW=2, REGIONMEPS=3, FAMSIZE=1),
        person(RACEA=340, INCTOT=-2500, FTOTVAL=0, POVLEV=-11.25, REGIONMEPS=4, YEAR=2016),
    ]
    import_meps(write(rows + people()))
    c = {k: v[:4] for k, v in load_population("health", "meps").columns.items()}
    expected = {
        "year": [2015, 2015, 2015, 2016],
        "age": [40, 40, 40, 40],
        "female": [1, 0, 1, 1],
        "family_size": [3, 3, 1, 3],
        "race_black": [0, 1, 0, 0],
        "race_asian": [0, 0, 1, 0],
        "race_other": [0, 0, 0, 1],
        "race": ["white", "black", "asian", "other"],
        "born_in_us": [1, 0, 1, 1],
        "education_years": [16, 12, 20, 16],
        "high_cholesterol": [0, 0, 1, 0],
        "smokes_now": [0, 0, 1, 0],
        "personal_income": [30000, 30000, 30000, 1000],
        "family_income": [60000, 60000, 60000, 1000],
        "poverty_level": np.array([298.57, 298.57, 298.57, 0], np.float32),
        "effort": [1] * 4,
        "nervous": [2] * 4,
        "restless": [0] * 4,
        "hopeless": [0] * 4,
        "sad": [3] * 4,
        "worthless": [4] * 4,
        "insured": [1, 0, 1, 1],
        "self_rated_health": [2, 5, 2, 2],
        "group": [1, 0, 2, 3],
    }
    assert set(expected) == set(c)
    for name, values in expected.items():
        np.testing.assert_array_equal(c[name], values, err_msg=name)


def test_special_codes_and_other_years_are_dropped(write):
    left_out = [
        person(YEAR=2013),
        person(YEAR=2017, SEX=9),  # counts once
        person(AGE=998),
        person(SEX=7),
        person(FAMSIZE=99),
        person(RACEA=980),
        person(USBORN=97),
        person(EDUC=997),
        person(EDUC=0),
        person(CHOLHIGHEV=9),
        person(SMOKENOW=0),
        person(INCTOT=9999998),
        person(FTOTVAL=9999999),
        person(POVLEV=99999.99),
        person(AEFFORT=6),
        person(AWORTHLESS=8),
        person(HINOTCOV=9),
        person(HEALTH=8),
        person(REGIONMEPS=0),
        person(ASAD=None),
        person(POVLEV=None),
    ]
    report = import_meps(write(left_out + people()))
    assert report.dropped == {
        "not of 2014, 2015, 2016": 2,
        "AGE missing": 1,
        "SEX missing": 1,
        "FAMSIZE missing": 1,
        "RACEA missing": 1,
        "USBORN missing": 1,
        "EDUC missing": 2,
        "CHOLHIGHEV missing": 1,
        "SMOKENOW missing": 1,
        "INCTOT missing": 1,
        "FTOTVAL missing": 1,
        "POVLEV missing": 2,
        "AEFFORT missing": 1,
        "AWORTHLESS missing": 1,
        "ASAD missing": 1,
        "HINOTCOV missing": 1,
        "HEALTH missing": 1,
        "REGIONMEPS missing": 1,
    }
    assert report.kept == 300 and report.read == 300 + len(left_out)


def test_names_of_the_paper(write):
    other = {"REGIONMEPS": "REGION", "RACEA": "RACE", "HINOTCOV": "HICOV"}
    rows = people()
    import_meps(write(rows))
    first = load_population("health", "meps")
    renamed = [{other.get(k, k): v for k, v in row.items()} for row in rows]
    for row in renamed:
        row["HICOV"] = 3 - row["HICOV"]  # 1 no, 2 yes, where HINOTCOV has 1 covered, 2 not
    widths = {other.get(name, name): width for name, width in WIDTHS.items()}
    labels = {"RACE": LABELS["RACEA"], "REGION": LABELS["REGIONMEPS"]}
    import_meps(write(renamed, widths, labels=labels))
    assert load_population("health", "meps").checksum == first.checksum


@pytest.mark.parametrize("kind", [".dat.gz", ".csv", ".csv.gz"])
def test_other_files_give_the_same(write, kind, tmp_path):
    rows = [person(POVLEV=12.5), person(ASAD=None), *people()]
    import_meps(write(rows))
    checksum = load_population("health", "meps").checksum
    for path in tmp_path.glob("x_00001*"):
        path.unlink()
    assert import_meps(write(rows, kind=kind)).path.endswith(kind)
    assert load_population("health", "meps").checksum == checksum


def test_in_pieces_and_under_another_name(write, tmp_path, monkeypatch):
    path = write(people())
    import_meps(path)
    checksum = load_population("health", "meps").checksum
    monkeypatch.setattr(_ipums, "ROWS_AT_ONCE", 7)
    for end in (".xml", ".dat"):
        (tmp_path / f"x_00001{end}").rename(tmp_path / f"renamed{end}")
    import_meps(tmp_path / "renamed.xml")
    assert load_population("health", "meps").checksum == checksum


def without(*names):
    return {name: width for name, width in WIDTHS.items() if name not in names}


def broken(write, folder):
    """Path of a damaged extract, and the expected error."""
    rows = people()
    yield write(rows, without("ASAD", "RACEA"), name="a"), "no variable RACEA or RACE.*, ASAD; add"
    yield write(rows, name="b", structure="hierarchical"), "hierarchical extract; make a rect"
    wrong = {"SEX": {1: "Female", 2: "Male"}}
    yield write(rows, name="c", labels=wrong), "labels code 1 of SEX 'Female', expected 'male'"
    path = write(rows, name="d")
    (folder / "d.dat").unlink()
    yield path, "no data file beside .*d.xml; expected d.dat"
    path = write(rows, name="e")
    content = (folder / "e.dat").read_bytes()
    (folder / "e.dat").write_bytes(content[:-10])
    yield path, "line 300 has 49 characters, expected at least 58: the file is truncated"
    path = write(rows, name="f", kind=".dat.gz")
    packed = (folder / "f.dat.gz").read_bytes()
    (folder / "f.dat.gz").write_bytes(packed[: len(packed) // 2])
    yield path, "truncated or damaged gzip"
    path = write(rows, name="g", kind=".csv")
    text = (folder / "g.csv").read_text()
    (folder / "g.csv").write_text(text.replace("AGE", "YEARS", 1))
    yield path, "g.csv does not match its codebook .*g.xml"
    yield (
        write([person(YEAR=2001)] * 3, name="h"),
        "no usable row .*3 rows read; dropped: 3 not of 2014",
    )
    yield write(people(10), name="i"), "at least 20 people"
    (folder / "j.xml").write_text("<codeBook>")
    yield folder / "j.xml", "not an IPUMS DDI codebook"
    (folder / "k.xml").write_text("<html><body/></html>")
    yield folder / "k.xml", "not an IPUMS DDI codebook"
    yield folder / "e.dat", "is not an .xml file; give the DDI codebook"
    yield folder / "absent.xml", "is not an .xml file"
    yield (
        write([person(HEALTH=3)] * 40, name="l"),
        "all 40 people have the same self-rated health, 3",
    )
    (folder / "m.dat").write_bytes(gzip.compress(b"x"))
    write(rows, name="m", kind=".csv")
    yield folder / "m.xml", r"m.dat: line 1 has|m.dat does not match"


def test_broken_extracts_leave_the_old_import(write, tmp_path, home):
    import_meps(write(people()))
    before = {p.name: p.read_bytes() for p in (home / "meps").iterdir()}
    for path, message in broken(write, tmp_path):
        with pytest.raises(FairgymError, match=message) as caught:
            import_meps(path)
        assert "\n" not in str(caught.value), path
        after = {p.name: p.read_bytes() for p in (home / "meps").iterdir()}
        assert after == before, path


def test_education_table_covers_the_codes():
    codes = np.array([0, 104, 111, 116, 202, 303, 400, 503, 996, 999, np.nan])
    decoded = meps.VARIABLES["education_years"].decoder("EDUC")(codes)
    np.testing.assert_array_equal(
        decoded, [np.nan, 1, 8, 12, 12, 14, 16, 20, np.nan, np.nan, np.nan]
    )


def test_amounts_know_fields_full_of_nines():
    codes = np.array([999_999, 9_999_998, 999_994, 99_999, -500, 6e6, np.nan])
    decoded = _ipums.amounts(-1000, 5e6)(codes)
    np.testing.assert_array_equal(decoded, [np.nan, np.nan, 999_994, 99_999, -500, np.nan, np.nan])


def test_command_line(write, capsys):
    data(["import", "--help"])
    told = capsys.readouterr().out
    assert "meps" in told and "DDI codebook (.xml)" in told and "lending-club" in told
    data(["import", "meps", str(write(people()))])
    assert "people kept" in capsys.readouterr().out
    data(["describe", "health", "--source", "meps"])
    assert "health (meps): 300 people" in capsys.readouterr().out
