import importlib
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split

from fairgym.core.errors import FairgymError
from fairgym.data import describe, load_population
from fairgym.data import standardised_mean_difference as difference
from fairgym.data.populations import education

PEOPLE = 12_000
# Weighted shares of the 35,223 working graduates of the CPS of 1994 and 1995.
RACES = {
    "white": 0.8489,
    "black": 0.0667,
    "asian": 0.0441,
    "hispanic": 0.0351,
    "other": 0.0028,
    "native": 0.0023,
}
DEGREES = (0.6720, 0.2226, 0.1054)
SIZES = (0.1802, 0.0762, 0.1109, 0.1417, 0.0691, 0.4218)  # the last: 1,000 and more
# NESARC 2001: college graduates by race (white, Black, Native, Asian, Hispanic) and region.
NESARC = np.array(
    [
        [1610, 1576, 2048, 1575],
        [245, 264, 711, 138],
        [24, 25, 36, 31],
        [140, 85, 129, 258],
        [198, 109, 463, 369],
    ]
)
NESARC_ROW = {"white": 0, "other": 0, "black": 1, "native": 2, "asian": 3, "hispanic": 4}
# College Scorecard: bachelors by division.
BACHELORS = np.array([144690, 286927, 300093, 153025, 401526, 112435, 210845, 205325, 294838.0])
OF_REGION = np.array([0, 0, 1, 1, 2, 2, 2, 3, 3])
# gpa2, students with 2.0 or more: mean GPA by sex and whether Black.
GPAS = {(0, 0): 2.8021, (0, 1): 2.4960, (1, 0): 2.8793, (1, 1): 2.6009}


@pytest.fixture
def tool(monkeypatch):
    """The modules of the build tool."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "tools"))
    names = ("education_data", "education_fields")
    return tuple(importlib.import_module(name) for name in names)


@pytest.fixture(scope="module")
def people():
    return load_population("education")


@pytest.fixture(scope="module")
def c(people):
    return people.columns


@pytest.fixture(scope="module")
def score(people):
    columns = {name: people.columns[name].astype(float) for name in education.FEATURES}
    return people.scores["gpa"].predict(columns)


def test_built_in_population(people, c):
    assert len(people) == PEOPLE and (people.name, people.source) == ("education", "built-in")
    assert set(c) == set(education.COLUMNS) == set(people.units)
    for name, column in education.COLUMNS.items():
        assert c[name].shape == (PEOPLE,)
        if column.kind == "string":
            assert c[name].dtype.kind == "U"
        else:
            assert c[name].dtype == column.kind and np.isfinite(c[name]).all()
    for name in ("female", "race_black", "race_asian", "race_other", "group"):
        assert set(c[name]) == {0, 1}, name
    for name in ("major_first", "major_highest", "occupation"):
        assert set(c[name]) == set(range(1, 8)), name
    assert set(c["employer_sector"]) == {1, 2, 3, 4}
    assert set(c["employer_size"]) == set(range(1, 9))
    assert set(c["degree"]) == {1, 2, 3} and set(c["region"]) == set(range(9))
    assert c["age"].min() >= 22 and c["age"].max() <= 75
    assert c["gpa"].min() >= 2 and c["gpa"].max() <= 4
    assert c["salary"].min() > 1_000 and c["salary"].max() < 400_000
    assert c["hours_per_week"].min() >= 1 and c["hours_per_week"].max() <= 99
    assert (c["salary"] % 1 == 0).all() and (c["graduate_loans"] % 1 == 0).all()


def test_race_columns_are_the_race(c):
    race = c["race"]
    assert set(race) == set(RACES)
    np.testing.assert_array_equal(c["race_black"], race == "black")
    np.testing.assert_array_equal(c["race_asian"], race == "asian")
    np.testing.assert_array_equal(c["race_other"], np.isin(race, ["hispanic", "native", "other"]))
    np.testing.assert_array_equal(c["group"], np.isin(race, ["black", "hispanic", "native"]))


def test_imputed_columns_are_marked(people):
    observed = {
        "female",
        "race_black",
        "race_asian",
        "race_other",
        "degree",
        "age",
        "group",
        "race",
    }
    assert set(people.imputed) == set(education.COLUMNS) - observed
    assert all(people.imputed.values())


def test_shares_are_those_of_the_survey(c):
    for race, share in RACES.items():
        assert (c["race"] == race).mean() == pytest.approx(share, abs=0.0005)
    for code, share in enumerate(DEGREES, 1):
        assert (c["degree"] == code).mean() == pytest.approx(share, abs=0.002)
    assert c["female"].mean() == pytest.approx(0.4374, abs=0.005)
    assert c["age"].mean() == pytest.approx(40.40, abs=0.1)
    for code, share in enumerate(SIZES[:-1], 1):
        assert (c["employer_size"] == code).mean() == pytest.approx(share, abs=0.01)
    for code in (6, 7, 8):
        assert (c["employer_size"] == code).mean() == pytest.approx(SIZES[-1] / 3, abs=0.012)


def test_regions_are_those_of_race_and_completers(c):
    region = NESARC + 2.0  # two people added to each cell
    region /= region.sum(axis=1, keepdims=True)
    within = BACHELORS / np.bincount(OF_REGION, BACHELORS)[OF_REGION]
    rows = np.array([NESARC_ROW[race] for race in c["race"]])
    for row in range(5):
        inside = rows == row
        found = np.bincount(c["region"][inside], minlength=9) / inside.sum()
        np.testing.assert_allclose(
            found, region[row][OF_REGION] * within, atol=0.002 + 2 / inside.sum()
        )


def test_gpa_is_that_of_sex_and_race(c):
    black = c["race"] == "black"
    for (female, is_black), mean in GPAS.items():
        inside = (c["female"] == female) & (black == bool(is_black))
        assert c["gpa"][inside].mean() == pytest.approx(mean, abs=0.01)
    for race in ("asian", "hispanic"):  # not Black: as everyone of the sex
        for female in (0, 1):
            inside = (c["race"] == race) & (c["female"] == female)
            assert c["gpa"][inside].mean() == pytest.approx(GPAS[female, 0], abs=0.03)


def test_loans(c):
    assert (c["undergraduate_loans"] == 0).mean() == pytest.approx(0.5, abs=0.015)
    further = c["degree"] > 1
    assert (c["graduate_loans"][~further] == 0).all()
    assert (c["graduate_loans"][further] == 0).mean() == pytest.approx(0.5, abs=0.03)
    owed = c["undergraduate_loans"][c["undergraduate_loans"] > 0]
    # the mean over programmes of the Scorecard's median debts of bachelors is 21,105 dollars
    assert np.median(owed) == pytest.approx(21_105, rel=0.05)
    assert np.log(owed).std() == pytest.approx(0.6, abs=0.05)
    doctors = c["graduate_loans"][(c["degree"] == 3) & (c["graduate_loans"] > 0)]
    masters = c["graduate_loans"][(c["degree"] == 2) & (c["graduate_loans"] > 0)]
    assert np.median(doctors) > 2 * np.median(masters) > 2 * np.median(owed)


def test_fields_occupations_and_salaries_hang_together(c):
    bachelor = c["degree"] == 1
    np.testing.assert_array_equal(c["major_first"][bachelor], c["major_highest"][bachelor])
    other = c["degree"] == 2
    same = (c["major_first"] == c["major_highest"])[other].mean()
    assert 0.5 < same < 0.9  # half stay in their field; some others are of the same group
    engineers = c["occupation"] == 5
    # three in four for a field of the occupation, and their share of all others
    assert (c["major_first"][engineers] == 5).mean() == pytest.approx(0.76, abs=0.05)
    assert (c["major_first"] == 5).mean() < 0.12
    for low, high in ((1, 2), (2, 3)):
        rich, poor = (c["salary"][c["degree"] == code].mean() for code in (high, low))
        assert rich > 1.1 * poor
    assert c["salary"][c["female"] == 0].mean() > 1.2 * c["salary"][c["female"] == 1].mean()
    assert np.corrcoef(c["hours_per_week"], c["salary"])[0, 1] > 0.3


def test_score_is_the_ridge_fit(people, c):
    x = np.stack([c[name].astype(float) for name in education.FEATURES], axis=1)
    target = c["gpa"].astype(float)
    train, test = train_test_split(np.arange(PEOPLE), test_size=0.2, random_state=0)
    centre, scale = x[train].mean(axis=0), x[train].std(axis=0)
    z = (x - centre) / scale
    mean = target[train].mean()
    fitted = people.scores["gpa"]
    found = np.array([fitted.coefficients[name] for name in education.FEATURES])
    # the solution among the features that have a weight; the others would have the wrong sign
    used, weights = found != 0, np.zeros(len(found))
    own = z[train][:, used]
    weights[used] = np.linalg.solve(
        own.T @ own + np.eye(used.sum()), own.T @ (target[train] - mean)
    )
    np.testing.assert_allclose(found, weights / scale, rtol=1e-6)
    sign = np.array([education.SIGNS.get(name, 0) for name in education.FEATURES])
    slope = z[train].T @ (target[train] - mean - z[train] @ weights)
    assert (found * sign >= 0).all() and (slope * sign)[~used].max() < 0
    assert {name for name, has in zip(education.FEATURES, used, strict=True) if not has} == {
        "employer_sector",
        "undergraduate_loans",
        "graduate_loans",
    }
    assert fitted.intercept == pytest.approx(mean - weights @ (centre / scale), rel=1e-7)
    rest = target[test] - mean - z[test] @ weights
    r2 = 1 - (rest**2).sum() / ((target[test] - target[test].mean()) ** 2).sum()
    assert fitted.metrics["r2"] == pytest.approx(r2, abs=2e-6)
    assert fitted.metrics["rows"] == 9600 and fitted.metrics["held_out_rows"] == 2400
    assert (fitted.kind, fitted.low, fitted.high) == ("linear", 0, 4)
    assert 0.01 < r2 < 0.03


def test_what_the_environment_moves_is_not_in_the_score(people):
    assert set(people.scores["gpa"].coefficients) == set(education.FEATURES)
    assert not {"salary", "degree", "age", "gpa", "region"} & set(education.FEATURES)


def test_stored_scores_are_what_the_columns_give(people, c):
    fitted = education.fit_education_scores(c)["gpa"]
    stored = people.scores["gpa"]
    assert fitted.coefficients == pytest.approx(stored.coefficients, rel=1e-6)
    assert education.fit_bias_strength(c) == people.bias_strength


def test_scores_of_the_groups_are_apart(c, score):
    """The score depends mostly on sex and race, so it varies little."""
    assert difference(score, c["group"]) > 0.5
    gap = score[c["group"] == 0].mean() - score[c["group"] == 1].mean()
    observed = c["gpa"][c["group"] == 0].mean() - c["gpa"][c["group"] == 1].mean()
    assert gap == pytest.approx(observed, abs=0.02) and 0.15 < gap < 0.22
    assert difference(c["gpa"], c["group"]) == pytest.approx(0.34, abs=0.01)


def test_score_in_jit_and_at_the_ends(people, c, score):
    columns = {name: c[name] for name in education.FEATURES}
    inside = jax.jit(people.scores["gpa"].predict)(columns)
    np.testing.assert_allclose(inside, score, atol=2e-6)
    far = {name: np.full(2, 1.0) for name in education.FEATURES}
    far["hours_per_week"] = np.array([-1e9, 1e9])
    np.testing.assert_array_equal(people.scores["gpa"].predict(far), [0, 4])


def test_too_few_people(c):
    with pytest.raises(FairgymError, match="at least 20 people"):
        education.fit_education_scores({name: values[:19] for name, values in c.items()})


def test_describe_says_who_is_in_it(people, c):
    text = describe("education")
    for part in (
        "12,000 people",
        people.checksum,
        "0 majority",
        "1 minority",
        f"{c['group'].mean():.1%}",
        f"{(c['degree'] >= 2).mean():.1%}",
        f"{(c['salary'] > 50_000).mean():.1%}",
        "By region",
        "4 South Atlantic",
        "0 to 4",
        "hispanic 3.5%",
    ):
        assert part in text
    assert max(len(line) for line in text.splitlines()) <= 120


def test_occupation_groups(tool):
    _, fields = tool
    codes = np.array(["11", "26", "40", "45", "14", "51", "13"])
    np.testing.assert_array_equal(fields.field_groups(codes), [1, 2, 3, 4, 5, 6, 7])
    cases = [  # CPS recode, group of the field, degree -> group of the occupation
        (4, 7, 1, 5),
        (5, 7, 1, 1),
        (6, 2, 3, 2),
        (6, 3, 3, 3),
        (9, 4, 3, 4),
        (9, 7, 2, 7),
        (10, 1, 1, 6),
        (10, 7, 2, 7),
        (12, 4, 2, 4),
        (12, 4, 1, 7),
        (7, 6, 3, 6),
        (15, 7, 1, 6),
        (2, 5, 2, 7),
    ]
    job, field, degree, expected = np.array(cases).T
    found = fields.occupation_group(job, field, degree, np.random.default_rng(0))
    np.testing.assert_array_equal(found, expected)


def test_employer_sectors(tool):
    data, _ = tool
    cases = [  # recode of the occupation, industry, class of worker -> sector
        (10, "Education", "Local government", 1),
        (10, "Education", "Private", 1),
        (9, "Education", "Local government", 1),
        (9, "Education", "State government", 2),
        (2, "Education", "Private", 2),
        (10, "Education", "Self-employed-incorporated", 4),
        (7, "Hospital services", "Federal government", 3),
        (7, "Hospital services", "Private", 4),
    ]
    names = ["occupation", "industry", "class_worker", "expected"]
    rows = pd.DataFrame(cases, columns=names).assign(employer_size=3)
    np.testing.assert_array_equal(data.recoded(rows)["employer_sector"], rows["expected"])


def test_sample_follows_the_weights(tool, monkeypatch):
    data, _ = tool
    monkeypatch.setattr(data, "PEOPLE", 100)
    frame = pd.DataFrame(
        {
            "race": ["White", "Black"] * 200,
            "hispanic": "All other",
            "education": "Bachelors degree(BA AB BS)",
            "sex": ["Male", "Male", "Female", "Female"] * 100,
            "age": np.arange(400) % 50 + 22,
            "weight": np.where(np.arange(400) % 2 == 0, 300.0, 100.0),
        }
    )
    drawn = data.sample(frame, np.random.default_rng(0))
    assert len(drawn) == 100
    assert (drawn["race"] == "White").sum() == pytest.approx(75, abs=1)
    assert (drawn["sex"] == "Male").sum() == pytest.approx(50, abs=2)
