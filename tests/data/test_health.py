import importlib

import jax
import numpy as np
import pytest
from hotdeck import donors_alike, sample_levels
from sklearn.model_selection import train_test_split

from fairgym.core.errors import FairgymError
from fairgym.data import describe, fit_health_scores, load_population
from fairgym.data import standardised_mean_difference as difference
from fairgym.data.populations import health
from fairgym.data.sampling import stream

# NESARC 2001: people by race (white, black, other, asian, hispanic), college, region.
NESARC = np.array(
    [
        [[3445, 4945, 5950, 3358], [1610, 1576, 2048, 1575]],
        [[1099, 1169, 4066, 553], [245, 264, 711, 138]],
        [[69, 124, 228, 164], [24, 25, 36, 31]],
        [[138, 75, 126, 381], [140, 85, 129, 258]],
        [[1241, 619, 2399, 2910], [198, 109, 463, 369]],
    ]
)
RACES = ("white", "black", "other", "asian", "hispanic")
# MEPS 1996: without and with insurance, by college and region.
MEPS = np.array(
    [
        [[238, 941], [265, 1265], [605, 1751], [434, 1095]],
        [[45, 458], [31, 462], [68, 651], [64, 429]],
    ]
)
# Adults born abroad, CPS 1994 and 1995.
FOREIGN_BORN = (0.041, 0.057, 0.018, 0.792, 0.504)


@pytest.fixture(scope="module")
def people():
    return load_population("health")


@pytest.fixture(scope="module")
def risk(people):
    columns = {name: people.columns[name].astype(float) for name in health.FEATURES}
    return people.scores["health_risk"].predict(columns)


def test_built_in_population(people):
    assert len(people) == 5_135 and (people.name, people.source) == ("health", "built-in")
    assert set(people.columns) == set(health.COLUMNS) == set(people.units)
    c = people.columns
    for name, column in health.COLUMNS.items():
        assert c[name].shape == (5_135,)
        if column.kind == "string":
            assert c[name].dtype.kind == "U"
        else:
            assert c[name].dtype == column.kind and np.isfinite(c[name]).all()
    yes_no = ("female", "born_in_us", "high_cholesterol", "smokes_now", "insured")
    for name in (*yes_no, "race_black", "race_asian", "race_other"):
        assert set(c[name]) == {0, 1}, name
    for name in health.DISTRESS:
        assert set(c[name]) <= {0, 1, 2, 3, 4} and c[name].min() == 0 and c[name].max() == 4
    assert set(c["self_rated_health"]) == {1, 2, 3, 4, 5} and set(c["group"]) == {0, 1, 2, 3}
    assert set(c["year"]) == {2017}
    assert c["age"].min() == 18 and c["age"].max() == 80
    assert c["family_size"].min() == 1 and c["family_size"].max() == 7
    assert c["education_years"].min() == 7 and c["education_years"].max() == 16


def test_race_columns_are_the_race(people):
    c = people.columns
    assert set(c["race"]) == set(RACES)
    np.testing.assert_array_equal(c["race_black"], c["race"] == "black")
    np.testing.assert_array_equal(c["race_asian"], c["race"] == "asian")
    np.testing.assert_array_equal(c["race_other"], np.isin(c["race"], ["other", "hispanic"]))


def test_incomes_hang_together(people):
    c = people.columns
    assert c["personal_income"].min() >= 1000 and c["family_income"].max() <= 300_000
    assert (c["personal_income"] <= c["family_income"]).all()
    alone = c["family_size"] == 1
    np.testing.assert_array_equal(c["personal_income"][alone], c["family_income"][alone])
    assert 0.2 < np.median(c["personal_income"][~alone] / c["family_income"][~alone]) < 0.6
    guideline = 12_060 + 4_180 * (c["family_size"] - 1)
    implied = 100 * c["family_income"] / guideline
    top = c["poverty_level"] > 500
    np.testing.assert_allclose(c["poverty_level"][top], implied[top], rtol=1e-4)
    # below, the reported ratio stays, and the income is kept within the reported band
    assert np.corrcoef(implied[~top], c["poverty_level"][~top])[0, 1] > 0.97
    assert (c["poverty_level"] >= 0).all() and 0.1 < top.mean() < 0.2


def test_imputed_columns_are_marked(people):
    observed = {"age", "female", "family_size", "race", "self_rated_health"}
    observed |= {"race_black", "race_asian", "race_other"}
    assert set(people.imputed) == set(health.COLUMNS) - observed
    assert all(people.imputed.values())
    assert people.imputed["insured"] == "observed; 13 missing from people alike"
    assert "641 missing" in people.imputed["family_income"]


def region_shares():
    """P(region | race, college, insured), shape (5, 2, 2, 4), cell by cell."""
    shares = np.zeros((5, 2, 2, 4))
    for race in range(5):
        for college in range(2):
            prior = NESARC[race, college] + 2.0  # two people added to each cell
            for insured in range(2):
                likelihood = MEPS[college, :, insured] / MEPS[college].sum(axis=1)
                shares[race, college, insured] = prior / prior.sum() * likelihood
    return shares / shares.sum(axis=-1, keepdims=True)


def test_region_shares_are_those_of_the_tables(people):
    c = people.columns
    race = np.array([RACES.index(name) for name in c["race"]])
    college, insured = (c["education_years"] == 16).astype(int), c["insured"].astype(int)
    expected = region_shares()[race, college, insured]
    drawn = np.eye(4)[c["group"]]
    np.testing.assert_allclose(drawn.mean(axis=0), expected.mean(axis=0), atol=0.002)
    for code in range(5):
        inside = race == code
        found, wanted = drawn[inside].mean(axis=0), expected[inside].mean(axis=0)
        np.testing.assert_allclose(found, wanted, atol=0.01 + 2 / inside.sum())
    for value in (0, 1):
        inside = insured == value
        np.testing.assert_allclose(
            drawn[inside].mean(axis=0), expected[inside].mean(axis=0), atol=0.01
        )


def test_born_in_us_given_race(people):
    c = people.columns
    for name, share in zip(RACES, FOREIGN_BORN, strict=True):
        inside = c["race"] == name
        assert 1 - c["born_in_us"][inside].mean() == pytest.approx(share, abs=3 / inside.sum())


def test_risk_is_the_least_squares_fit(people):
    c, score = people.columns, people.scores["health_risk"]
    assert set(score.coefficients) == set(health.FEATURES)
    train, test = train_test_split(np.arange(len(people)), test_size=0.2, random_state=0)
    y = c["self_rated_health"].astype(float)
    # the year does not vary, and personal income would have the wrong sign
    used = [name for name in health.FEATURES if score.coefficients[name] != 0]
    assert set(health.FEATURES) - set(used) == {"year", "personal_income"}
    x = np.stack([np.ones(len(y)), *(c[name].astype(float) for name in used)], axis=1)
    scale = np.abs(x).max(axis=0)
    expected = np.linalg.lstsq(x[train] / scale, y[train], rcond=None)[0] / scale
    found = [score.intercept, *(score.coefficients[name] for name in used)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    residual = y - x @ expected
    r2 = 1 - (residual[test] ** 2).sum() / ((y[test] - y[test].mean()) ** 2).sum()
    assert score.metrics["r2"] == pytest.approx(r2, abs=1e-5)
    assert score.metrics["rows"] == 4108 and score.metrics["held_out_rows"] == 1027
    # at the bound: more personal income would go with a higher risk
    assert residual[train] @ (c["personal_income"][train] - c["personal_income"].mean()) > 0


def test_stored_score_is_what_the_columns_give(people):
    fitted = fit_health_scores(people.columns)["health_risk"]
    stored = people.scores["health_risk"]
    assert fitted.coefficients == pytest.approx(stored.coefficients, rel=1e-6)
    assert (fitted.low, fitted.high) == (stored.low, stored.high) == (1, 5)
    directions, strength = health.fit_regions(people.columns, people.scores)
    assert directions == people.directions and strength == people.bias_strength


def test_quantiles_are_of_the_expected_kind(risk):
    np.testing.assert_allclose(np.quantile(risk, [0.05, 0.5, 0.95]), [2.25, 2.79, 3.68], atol=0.06)


def test_movable_columns_move_the_risk_the_right_way(people, risk):
    coefficients = people.scores["health_risk"].coefficients
    assert all(coefficients[name] <= 0 for name in health.INCOMES)
    assert all(coefficients[name] > 0 for name in health.DISTRESS)
    better = {name: people.columns[name].astype(float) for name in health.FEATURES}
    for name in health.DISTRESS:
        better[name] = np.zeros(len(people))
    for name in health.INCOMES:
        better[name] = better[name] * 2
    improved = people.scores["health_risk"].predict(better)
    assert (improved <= risk).all() and (risk - improved).mean() > 0.2


def test_risk_is_clipped_and_the_same_inside_jit(people):
    score = people.scores["health_risk"]
    columns = {name: people.columns[name] for name in score.coefficients}
    inside = jax.jit(score.predict)(columns)
    np.testing.assert_allclose(inside, score.predict(columns), rtol=2e-5)
    for factor, end in ((-1e6, 1.0), (1e6, 5.0)):
        extreme = {**columns, "age": np.full(len(people), factor)}
        np.testing.assert_array_equal(score.predict(extreme), end)


def test_bias_strength_sets_the_regions_half_a_deviation_apart(people, risk):
    group = people.columns["group"]
    means = [risk[group == g].mean() for g in range(4)]
    order = np.argsort(means)  # the lowest risk is the best
    expected = np.empty(4)
    expected[order] = [1, 1 / 3, -1 / 3, -1]
    np.testing.assert_allclose(people.directions, expected, atol=1e-6)
    weights = np.empty(len(risk))
    for g in range(4):
        x = -risk[group == g]
        z = (x - x.mean()) / x.std()
        weights[group == g] = np.exp(people.directions[g] * people.bias_strength * z)
    pair = (int(order[-1]), int(order[0]))
    assert difference(risk, group, weights, pair) == pytest.approx(0.5, abs=0.002)
    assert 0 < difference(risk, group, None, pair) < 0.5


def test_describe_says_who_is_in_it(people):
    text = describe("health")
    for part in (
        "5,135 people",
        people.checksum,
        "0 Northeast",
        "3 West",
        "insured",
        "fair or poor health",
        "mean health_risk",
        "1 to 5",
        "drawn from P(region | race, college, insured)",
        f"bias_strength {people.bias_strength:g}",
        "0.500",
        "health_risk score (South minus Northeast)",
    ):
        assert part in text
    assert max(len(line) for line in text.splitlines()) <= 140


def test_too_few_people_or_one_answer(people):
    few = {name: values[:10] for name, values in people.columns.items()}
    with pytest.raises(FairgymError, match="at least 20 people"):
        fit_health_scores(few)
    same = {**people.columns, "self_rated_health": np.full(len(people), 2, np.float32)}
    with pytest.raises(FairgymError, match="all 5,135 people have the same self-rated health, 2"):
        fit_health_scores(same)


def test_draw_levels_keeps_shares_in_every_stretch():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 3000)
    shares = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.0, 1.0, 0.0]])[kind]
    other = rng.integers(0, 5, 3000)
    drawn = sample_levels(shares, (kind, other), stream(0, "test"))
    for k in range(3):
        for o in range(5):
            inside = (kind == k) & (other == o)
            found = np.bincount(drawn[inside], minlength=3)
            np.testing.assert_allclose(found, shares[inside].sum(axis=0), atol=4)
    assert np.array_equal(drawn, sample_levels(shares, (kind, other), stream(0, "test")))
    # the level tells nothing of the order of the rows
    first = kind == 0
    assert abs(np.corrcoef(drawn[first], np.flatnonzero(first))[0, 1]) < 0.06


def test_donors_are_alike_where_there_are_enough():
    known = np.array([True] * 6 + [False] + [True] * 2 + [False] * 2)
    first = np.array([0] * 7 + [1] * 3 + [2])
    second = np.array([0] * 5 + [1, 0, 0, 1, 1, 0])
    donor = donors_alike(known, (first, second), stream(0, "test"))
    np.testing.assert_array_equal(donor[known], np.flatnonzero(known))
    assert donor[6] in range(5)  # five with both keys the same
    assert known[donor[[9, 10]]].all()  # too few alike: anyone who is known
    rng = stream(1, "test")
    givers = [donors_alike(known, (first, second), rng)[9] for _ in range(200)]
    assert set(givers) == set(np.flatnonzero(known))


def test_family_income_from_band_and_ratio():
    tool = importlib.import_module("health_data")
    columns = {
        "band": np.array([12_500.0, 12_500, 60_000, 100_000, 100_000]),
        "ratio": np.array([1.0, 2.0, 5.0, 4.0, 5.0]),
        "family_size": np.array([1.0, 3, 1, 4, 2]),
    }
    income, level = tool.family_income(columns)
    # 12,060; 2 x 20,420 is above the band; from 60,300 to 65,000; 4 x 24,600 is below the band
    assert income[0] == 12_060 and income[1] == 15_000 and income[3] == 100_000
    assert 60_300 <= income[2] <= 65_000 and 100_000 <= income[4] <= 300_000
    np.testing.assert_allclose(level[[0, 1, 3]], [100, 200, 400])
    assert level[2] == pytest.approx(100 * income[2] / 12_060)
