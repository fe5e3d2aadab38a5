import numpy as np
import pytest

from fairgym.core.errors import FairgymError
from fairgym.data import describe, load_population, sources
from fairgym.data.importers import higher_ed, importer_modules
from fairgym.data.importers.higher_ed import import_higher_ed
from fairgym.data.populations import education

WIDTHS = {
    "PERSONID": 9,  # not needed
    "YEAR": 4,
    "AGE": 2,
    "GENDER": 1,
    "MINRTY": 1,
    "RACETH": 2,
    "NBAMEMG": 2,
    "NDGMEMG": 2,
    "REGION": 2,
    "NOCPRMG": 2,
    "SALARY": 7,
    "HRSWK": 2,
    "EMSEC": 2,
    "EMSIZE": 2,
    "UGLOANR": 2,
    "GRLOANR": 2,
    "DGRDG": 1,
    "GPA": 2,
}
NONE = {98: "Logical Skip", 99: "Missing"}
LOANS = {
    1: "Did not earn a degree at this level",
    2: "$0",
    3: "$1 - $10,000",
    4: "$10,001 - $20,000",
    5: "$20,001 or more",
}
LABELS = {
    "GENDER": {1: "Female", 2: "Male"},
    "MINRTY": {0: "No", 1: "Yes"},
    "RACETH": {1: "Asian", 2: "White", 3: "Under-represented minorities", 4: "Other"},
    "NOCPRMG": {1: "Computer and mathematical scientists", 5: "Engineers", **NONE},
    "REGION": {
        **{code: name for code, name in enumerate(education.REGIONS[:-1], 1)},
        9: "Pacific and US territories",
        10: "Europe",
    },
    "SALARY": {9999998: "Logical Skip", 9999999: "Missing"},
    "EMSIZE": {1: "10 or fewer employees", 8: "25000+ employees", **NONE},
    "DGRDG": {1: "Bachelor's", 2: "Master's", 3: "Doctorate", 4: "Professional"},
    "UGLOANR": LOANS | NONE,
    "GRLOANR": LOANS | NONE,
    "GPA": {
        1: "3.75 - 4.00 (mostly A's)",
        2: "3.25 - 3.74",
        3: "2.75 - 3.24",
        4: "Less than 2.75",
        5: "Have not taken courses for which grades were given",
        **NONE,
    },
}
PERSON = {
    "PERSONID": 7,
    "YEAR": 2015,
    "AGE": 40,
    "GENDER": 1,
    "MINRTY": 0,
    "RACETH": 2,
    "NBAMEMG": 4,
    "NDGMEMG": 7,
    "REGION": 5,
    "NOCPRMG": 6,
    "SALARY": 62000,
    "HRSWK": 40,
    "EMSEC": 4,
    "EMSIZE": 8,
    "UGLOANR": 4,
    "GRLOANR": 98,
    "DGRDG": 1,
    "GPA": 2,
}


def person(**changes):
    assert not set(changes) - set(PERSON)
    return {**PERSON, **changes}


def people(number=200, seed=0):
    """Made-up graduates; women have the better grades."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(number):
        race = int(rng.choice([1, 2, 2, 3]))
        gender = int(rng.integers(1, 3))
        rows.append(
            person(
                AGE=int(rng.integers(22, 76)),
                GENDER=gender,
                RACETH=race,
                MINRTY=int(race == 3),
                NBAMEMG=int(rng.integers(1, 8)),
                REGION=int(rng.integers(1, 10)),
                NOCPRMG=int(rng.integers(1, 8)),
                SALARY=int(rng.integers(20_000, 150_000)),
                HRSWK=int(rng.integers(10, 70)),
                EMSIZE=int(rng.integers(1, 9)),
                UGLOANR=int(rng.integers(2, 6)),
                DGRDG=int(rng.integers(1, 5)),
                GPA=int(rng.integers(1, 3)) + gender - 1 + int(rng.random() < 0.3 and race == 3),
            )
        )
    return rows


@pytest.fixture
def write(tmp_path, ipums_extract):
    """Writes an extract with these rows; further arguments as `write_extract` takes them."""

    def one(rows, widths=WIDTHS, **options):
        options = {"labels": LABELS, "collection": "highered"} | options
        return ipums_extract(tmp_path, rows, widths, **options)

    return one


def test_import_round_trip(write, home):
    seen = []
    path = write(people())
    report = import_higher_ed(path, progress=lambda done, total: seen.append((done, total)))
    assert (report.read, report.kept, report.dropped) == (200, 200, {})
    assert report.years == (2015,) and seen[-1] == (200, 200)
    assert sources("education") == ["built-in", "higher-ed"]
    found = load_population("education", "higher-ed")
    assert len(found) == 200 and not found.imputed
    assert set(found.columns) == set(education.COLUMNS)
    assert found.scores["gpa"].coefficients["female"] > 0.1
    assert found.bias_strength == report.bias_strength
    text = str(report)
    for part in ("rows read", "people kept", "2015", "minority share", "R2", "cite", str(home)):
        assert part in text
    assert "200 people" in describe("education", "higher-ed")
    assert importer_modules()["higher-ed"].run is import_higher_ed


def test_values_by_hand(write):
    rows = [
        person(),
        person(GENDER=2, RACETH=1, UGLOANR=1, GRLOANR=3, DGRDG=4, GPA=1, REGION=1, HRSWK=96),
        person(RACETH=3, MINRTY=1, UGLOANR=2, GRLOANR=5, DGRDG=3, GPA=4, REGION=9, EMSIZE=1),
        person(RACETH=4, UGLOANR=98, DGRDG=2, NDGMEMG=1, NOCPRMG=5, SALARY=0, EMSEC=5),
    ]
    import_higher_ed(write(rows + people()))
    c = {k: v[:4] for k, v in load_population("education", "higher-ed").columns.items()}
    expected = {
        "female": [1, 0, 1, 1],
        "race_black": [0, 0, 0, 0],
        "race_asian": [0, 1, 0, 0],
        "race_other": [0, 0, 1, 1],
        "race": ["white", "asian", "underrepresented", "other"],
        "group": [0, 0, 1, 0],
        "major_first": [4, 4, 4, 4],
        "major_highest": [7, 7, 7, 1],
        "occupation": [6, 6, 6, 5],
        "salary": [62_000, 62_000, 62_000, 0],
        "hours_per_week": [40, 96, 40, 40],
        "employer_sector": [4, 4, 4, 5],
        "employer_size": [8, 8, 1, 8],
        "undergraduate_loans": [15_000, 0, 0, 0],
        "graduate_loans": [0, 5_000, 20_000, 0],
        "degree": [1, 3, 3, 2],
        "gpa": np.array([3.495, 3.875, 1.375, 3.495], np.float32),
        "age": [40, 40, 40, 40],
        "region": [4, 0, 8, 4],
    }
    assert set(expected) == set(c)
    for name, values in expected.items():
        np.testing.assert_array_equal(c[name], values, err_msg=name)


def test_special_codes_and_other_years_are_dropped(write):
    left_out = [
        person(YEAR=2013),
        person(YEAR=2017, SALARY=9999998),  # counts once
        person(AGE=98),
        person(NBAMEMG=9),
        person(NDGMEMG=99),
        person(NOCPRMG=98),
        person(SALARY=9999998, HRSWK=98),
        person(SALARY=9999999),
        person(HRSWK=98),
        person(EMSEC=98),
        person(EMSIZE=99),
        person(UGLOANR=99),
        person(GRLOANR=99),
        person(DGRDG=5),
        person(GENDER=8),
        person(MINRTY=8),
        person(RACETH=98),
        person(REGION=10),
        person(GPA=5),
        person(GPA=98),
        person(GPA=None),
    ]
    report = import_higher_ed(write(left_out + people()))
    assert report.dropped == {
        "not of 2015": 2,
        "AGE missing": 1,
        "NBAMEMG missing": 1,
        "NDGMEMG missing": 1,
        "NOCPRMG missing": 1,
        "SALARY missing": 2,
        "HRSWK missing": 1,
        "EMSEC missing": 1,
        "EMSIZE missing": 1,
        "UGLOANR missing": 1,
        "GRLOANR missing": 1,
        "DGRDG missing": 1,
        "GENDER missing": 1,
        "MINRTY missing": 1,
        "RACETH missing": 1,
        "REGION missing": 1,
        "GPA missing": 3,
    }
    assert report.kept == 200 and report.read == 200 + len(left_out)


def test_years(write):
    older = [{**row, "YEAR": 2010} for row in people(50)]
    latest = [{**row, "YEAR": 2013} for row in people(30)]
    report = import_higher_ed(write(older + latest))
    assert report.years == (2013,) and report.kept == 30
    assert report.dropped == {"not of 2013": 50}
    assert import_higher_ed(write(older + latest), years=[2010]).kept == 50
    with pytest.raises(FairgymError, match="has no survey of 2019; it has 2010, 2013"):
        import_higher_ed(write(older + latest), years=[2019])
    assert import_higher_ed(write(older + latest + people(25))).years == (2015,)


def test_names_of_the_paper(write):
    """SEX has the codes the other way round, and its labels say so."""
    import_higher_ed(write(people()))
    first = load_population("education", "higher-ed")
    other = {"GENDER": "SEX", "RACETH": "RACE", "UGLOANR": "UGLOAN", "GRLOANR": "GRLOAN"}
    rows = [{other.get(k, k): v for k, v in row.items()} for row in people()]
    for row in rows:
        row["SEX"] = 3 - row["SEX"]
    widths = {other.get(name, name): width for name, width in WIDTHS.items()}
    labels = {other.get(name, name): one for name, one in LABELS.items()}
    labels |= {"SEX": {1: "Male", 2: "Female"}}
    import_higher_ed(write(rows, widths, labels=labels))
    assert load_population("education", "higher-ed").checksum == first.checksum


def test_amounts_and_grades_that_are_numbers(write):
    rows = [{**row, "UGLOANR": 12_345, "GPA": 3.21} for row in people()]
    rows.append(person(UGLOANR=9_999_998, GPA=3.5))
    rows.append(person(UGLOANR=9_999_999, GPA=3.5))
    labels = LABELS | {"UGLOANR": {9_999_998: "Logical skip", 9_999_999: "Missing"}, "GPA": {}}
    widths = WIDTHS | {"UGLOANR": 7, "GPA": 3}
    report = import_higher_ed(write(rows, widths, labels=labels, decimals={"GPA": 2}))
    assert report.dropped == {"UGLOANR missing": 1}
    c = load_population("education", "higher-ed").columns
    assert set(c["undergraduate_loans"][:200]) == {12_345} and c["undergraduate_loans"][200] == 0
    assert c["gpa"][0] == np.float32(3.21)


def test_codes_without_labels(write):
    import_higher_ed(write(people()))
    first = load_population("education", "higher-ed").checksum
    named = ("UGLOANR", "GRLOANR", "GPA")
    labels = {name: LABELS[name] for name in named}
    import_higher_ed(write(people(), labels=labels))
    assert load_population("education", "higher-ed").checksum == first


def test_hours_in_bands(write):
    rows = people() + [person(HRSWK=code) for code in (1, 2, 3, 4)]
    rows = [{**row, "HRSWKGR": row["HRSWK"] % 4 + 1} for row in rows]
    widths = {"HRSWKGR" if name == "HRSWK" else name: width for name, width in WIDTHS.items()}
    import_higher_ed(write(rows, widths))
    hours = load_population("education", "higher-ed").columns["hours_per_week"]
    np.testing.assert_array_equal(hours[-4:], [28, 40, 50, 15])


def test_csv_gives_the_same(write):
    import_higher_ed(write(people()))
    checksum = load_population("education", "higher-ed").checksum
    report = import_higher_ed(write(people(), name="y", kind=".csv.gz"))
    assert report.path.endswith("y.csv.gz")
    assert load_population("education", "higher-ed").checksum == checksum


def broken(write, folder):
    """Path of a damaged extract, and the expected error."""
    rows = people()
    widths = {k: v for k, v in WIDTHS.items() if k not in ("GPA", "UGLOANR")}
    yield write(rows, widths, name="a"), "no variable GPA, UGLOANR or UGLOAN; add"
    widths = {k: v for k, v in WIDTHS.items() if k != "YEAR"}
    yield write(rows, widths, name="b"), "no variable YEAR"
    labels = LABELS | {"REGION": {1: "Northeast", 2: "Midwest", 3: "South", 4: "West"}}
    yield write(rows, name="c", labels=labels), "no code of REGION as a Census division.*midwest"
    labels = LABELS | {"EMSEC": {1: "Government", 3: "Business"}}
    yield write(rows, name="d", labels=labels), "labels code 3 of EMSEC 'Business'"
    renamed = [{("RACE" if k == "RACETH" else k): v for k, v in row.items()} for row in rows]
    widths = {("RACE" if k == "RACETH" else k): v for k, v in WIDTHS.items()}
    yield write(renamed, widths, name="e"), "no code of RACE as a race; its labels are none"
    yield write(rows, name="f", structure="hierarchical"), "hierarchical extract"
    yield write(rows[:10], name="g"), "at least 20 people"
    yield (
        write([person(GPA=98)] * 3, name="h"),
        "no usable row .*3 rows read; dropped: 3 GPA missing",
    )
    yield folder / "absent.xml", "is not an .xml file"


def test_broken_extracts_leave_the_old_import(write, tmp_path, home):
    import_higher_ed(write(people()))
    before = {p.name: p.read_bytes() for p in (home / "higher-ed").iterdir()}
    for path, message in broken(write, tmp_path):
        with pytest.raises(FairgymError, match=message) as caught:
            import_higher_ed(path)
        assert "\n" not in str(caught.value), path
        after = {p.name: p.read_bytes() for p in (home / "higher-ed").iterdir()}
        assert after == before, path


@pytest.mark.parametrize(
    ("label", "dollars"),
    [
        ("none", 0),
        ("$0", 0),
        ("did not earn a degree at this level", 0),
        ("1 - 10000", 5_000),
        ("$5,001-$7,500", 6_250),
        ("less than $10,000", 5_000),
        ("90001 or more", 90_000),
        ("borrowed", None),
    ],
)
def test_labels_of_loans(label, dollars):
    assert higher_ed.dollars(label) == dollars


@pytest.mark.parametrize(
    ("label", "race"),
    [
        ("white, non-hispanic only", "white"),
        ("black, not hispanic or latino", "black"),
        ("hispanic, any race", "hispanic"),
        ("american indian/alaska native, non-hispanic only", "native"),
        ("native hawaiian/other pacific islander", "native"),
        ("asian, non-hispanic only", "asian"),
        ("multiple race, non-hispanic", "other"),
        ("underrepresented minority", "underrepresented"),
    ],
)
def test_labels_of_races(label, race):
    found = higher_ed.race(label)
    assert found is not None and education.RACES[int(found)] == race


def test_grades_out_of_range_are_not_understood():
    assert higher_ed.grade("90 - 100") is None and higher_ed.grade("no grades") is None
    assert higher_ed.division("mid-atlantic") == 1 and higher_ed.division("europe") is None
