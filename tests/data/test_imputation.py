import imputation as imp
import numpy as np
import pytest

from fairgym.core.errors import FairgymError
from fairgym.data import population, race, store
from fairgym.data.sampling import stream


@pytest.fixture(scope="module")
def loans():
    rng = np.random.default_rng(1)
    number = rng.integers(0, 35, 6000)
    grade = np.array(list(imp.GRADES))[number // 5]
    return number, grade, imp.impute_fico(grade, stream(0, "fico"))


def test_streams_repeat_and_differ():
    a, b = stream(0, "loan", "fico"), stream(0, "loan", "fico")
    np.testing.assert_array_equal(a.random(5), b.random(5))
    others = [stream(1, "loan", "fico"), stream(0, "loan", "race")]
    assert all(stream(0, "loan", "fico").random() != other.random() for other in others)


def test_sub_grade_number():
    np.testing.assert_array_equal(imp.sub_grade_number(np.array(["A1", "B1", "G5"])), [0, 5, 34])


def test_fico_given_grade(loans):
    _, grade, fico = loans
    again = imp.impute_fico(grade, stream(0, "fico"))
    np.testing.assert_array_equal(fico, again)
    assert fico.min() >= 660 and fico.max() <= 845 and (fico % 5 == 0).all()
    for letter, (mean, _) in imp.FICO_MOMENTS.items():
        assert fico[grade == letter].mean() + 2 == pytest.approx(mean, abs=4)


def test_logistic_against_a_closed_form():
    # one binary regressor: the slope is the log odds ratio
    x = np.repeat([0.0, 10.0], 50)
    y = np.concatenate([np.arange(50) < 10, np.arange(50) < 30]).astype(float)
    expected = (np.log(30 / 20) - np.log(10 / 40)) / 10
    assert imp.log_odds_slope(x, y, np.ones(100)) == pytest.approx(expected)


def test_shares_follow_grades_and_rise_with_sub_grade(loans):
    number, _, _ = loans
    rng = np.random.default_rng(2)
    bad = rng.random(len(number)) < 0.01 + 0.007 * number
    shares = imp.sub_grade_shares(imp.sub_grade_pattern(number, bad.astype(float)), number)
    for i, wanted in enumerate(imp.CHARGE_OFF_SHARES.values()):
        assert shares[number][number // 5 == i].mean() == pytest.approx(wanted)
        assert (np.diff(shares[5 * i : 5 * i + 5]) > 0).all()


def test_default_falls_with_fico_and_keeps_each_sub_grade(loans):
    number, _, fico = loans
    shares = np.linspace(0.03, 0.55, 35)
    probability = imp.default_probabilities(number, shares, fico, -0.008)
    for cell in range(35):
        inside = number == cell
        assert probability[inside].mean() == pytest.approx(shares[cell])
        log_odds = np.log(probability[inside] / (1 - probability[inside]))
        slope = np.polyfit(fico[inside], log_odds, 1)[0]
        assert slope == pytest.approx(-0.008)


def test_slope_within_gives_the_overall_slope(loans):
    number, _, fico = loans
    shares = np.linspace(0.03, 0.55, 35)
    within = imp.slope_within(number, shares, fico, -0.02)
    probability = imp.default_probabilities(number, shares, fico, within)
    overall = imp.log_odds_slope(fico, probability, np.ones(len(fico)))
    assert overall == pytest.approx(-0.02, rel=1e-6)
    assert -0.02 < within < 0


def test_even_draws():
    probability = np.random.default_rng(3).uniform(0, 0.6, 5000)
    order = (np.arange(5000) // 100, probability)
    drawn = imp.sample_evenly(probability, order, stream(0, "x"))
    np.testing.assert_array_equal(drawn, imp.sample_evenly(probability, order, stream(0, "x")))
    for block in range(50):
        part = slice(100 * block, 100 * block + 100)
        assert abs(drawn[part].sum() - probability[part].sum()) < 1
    # over many draws each row has its own probability
    few = np.array([0.1, 0.5, 0.9, 0.3])
    rng = np.random.default_rng(4)
    mean = np.mean([imp.sample_evenly(few, (few,), rng) for _ in range(4000)], axis=0)
    np.testing.assert_allclose(mean, few, atol=0.03)


def test_months_to_default():
    term = np.tile([36.0, 60.0], 5000)
    defaulted = np.repeat([0, 1], 5000)
    months = imp.impute_months_to_default(term, defaulted, stream(0, "m"))
    np.testing.assert_array_equal(months[:5000], term[:5000])
    late = months[5000:]
    assert late.min() >= 1 and (late < term[5000:]).all() and (late == late.round()).all()
    assert (late / term[5000:]).mean() == pytest.approx(0.4, abs=0.01)


def test_race_table_and_draws():
    low = np.array([600.0, 605.0])
    table = race.RaceTable(low, ("white", "black"), np.array([[0.25, 0.75], [1.0, 0.0]]))
    again = race.table_from_json(imp.race_table_json(table))
    np.testing.assert_allclose(again.probability, table.probability)
    fico = np.repeat([300.0, 600.0, 604.0, 850.0], 4000)  # outside: the nearest band
    drawn = race.sample_race(table, fico, stream(0, "r"))
    np.testing.assert_array_equal(drawn, race.sample_race(table, fico, stream(0, "r")))
    black = (drawn == "black").reshape(4, -1).mean(axis=1)
    np.testing.assert_allclose(black, [0.75, 0.75, 0.75, 0.0], atol=0.03)
    np.testing.assert_array_equal(race.group_of_race(drawn), drawn == "black")
    with pytest.raises(FairgymError, match="not a table of race by FICO"):
        race.table_from_json(b"[]")


def test_people_by_band_against_hand_figures():
    assert imp.percentile_to_fico(np.array([0, 2.1, 47.7, 100])) == pytest.approx(
        [300, 350, 650, 850]
    )
    # all people spread evenly over the percentiles: bands hold the shares of FICO_BANDS
    percentile = np.linspace(0, 100, 1001)
    people = imp.people_by_band(percentile, percentile[:, None], [1000.0], np.arange(650, 700, 5))
    assert people.sum() == pytest.approx(138.0, rel=0.01)


def test_built_race_table_favours_no_one_by_mistake():
    table = race.table_from_json(store.read_verified(population.FILES, race.ENTRY)[0])
    black = table.probability[:, table.races.index("black")]
    low, high = np.searchsorted(table.fico_low, [500, 750])
    assert black[low] > 3 * black[high] > 0
    np.testing.assert_allclose(table.probability.sum(axis=1), 1)
