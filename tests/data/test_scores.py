import jax
import numpy as np
import pytest
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import train_test_split

from fairgym.core.errors import FairgymError
from fairgym.data import Score, fit_loan_scores, load_population
from fairgym.data.fitting import linear_score, split
from fairgym.data.populations.loan import FEATURES, SIGNS, fit_bias_strength


@pytest.fixture(scope="module")
def people():
    return load_population("loan")


@pytest.fixture(scope="module")
def table(people):
    """Features in raw units with a constant in front, outcome, label, and the rows of the split."""
    columns = {name: c.astype(float) for name, c in people.columns.items() if c.dtype.kind != "U"}
    columns["fico"] = (columns["fico_low"] + columns["fico_high"]) / 2
    x = np.stack([np.ones(len(people)), *(columns[name] for name in FEATURES)], axis=1)
    repaid = 1 - columns["defaulted"]
    label = np.where(repaid == 1, 1.0, columns["months_to_default"] / columns["term"])
    train, test = train_test_split(
        np.arange(len(people)), test_size=0.2, random_state=0, stratify=repaid == 0
    )
    return x, repaid, label, train, test


def raw_coefficients(score):
    weights = [
        2 * score.coefficients["fico_low"] if name == "fico" else score.coefficients[name]
        for name in FEATURES
    ]
    return np.array([score.intercept, *weights])


def check_optimum(x, residuals, weights):
    """The best fit with signs: residuals are orthogonal to every feature that has a weight.

    Those without one would have the wrong sign.
    """
    gradient = x.T @ residuals / np.abs(x).sum(axis=0)
    sign = np.array([0, *(SIGNS.get(name, 0) for name in FEATURES)])
    used = weights != 0
    np.testing.assert_allclose(gradient[used], 0, atol=1e-7)
    assert (weights * sign >= 0).all() and (gradient * sign)[~used].max(initial=-1) < 0
    assert [name for name, own in zip(FEATURES, used[1:], strict=True) if not own] == [
        "months_since_delinquency"
    ]


def test_qualification_is_the_maximum_likelihood_fit(people, table):
    x, repaid, _, train, test = table
    coefficients = raw_coefficients(people.scores["qualification"])
    fitted = 1 / (1 + np.exp(-x @ coefficients))
    check_optimum(x[train], (repaid - fitted)[train], coefficients)
    auc = roc_auc_score(repaid[test], fitted[test])
    assert people.scores["qualification"].metrics["auc"] == pytest.approx(auc, abs=1e-6)


def test_propensity_is_the_least_squares_fit(people, table):
    x, _, label, train, test = table
    score = people.scores["propensity"]
    coefficients = raw_coefficients(score)
    check_optimum(x[train], label[train] - x[train] @ coefficients, coefficients)
    r2 = r2_score(label[test], x[test] @ coefficients)
    assert score.metrics["r2"] == pytest.approx(r2, abs=1e-5)
    assert score.metrics["rows"] == 8000 and score.metrics["held_out_rows"] == 2000


def test_stored_scores_are_what_the_columns_give(people):
    fitted = fit_loan_scores(people.columns)
    for name, score in fitted.items():
        stored = people.scores[name]
        assert score.kind == stored.kind
        assert score.intercept == pytest.approx(stored.intercept, rel=1e-6)
        assert score.coefficients == pytest.approx(stored.coefficients, rel=1e-6)
        assert set(score.coefficients) == {*FEATURES, "fico_low", "fico_high"} - {"fico"}
    assert fit_bias_strength(people.columns, fitted) == pytest.approx(people.bias_strength)


def test_quantiles_are_of_the_expected_kind(people):
    expected = {
        "propensity": (0.757, 0.867, 0.902, 0.970),
        "qualification": (0.524, 0.790, 0.847, 0.928),
    }
    for name, values in expected.items():
        score = people.scores[name].predict(people.columns)
        np.testing.assert_allclose(np.quantile(score, [0.01, 0.25, 0.5, 0.99]), values, atol=0.06)


@pytest.mark.parametrize("name", ["qualification", "propensity"])
def test_fico_raises_both_scores(people, name):
    score = people.scores[name]
    before = score.predict(people.columns)
    better = dict(people.columns)
    better["fico_low"] = better["fico_low"] + 100
    better["fico_high"] = better["fico_high"] + 100
    gain = score.predict(better) - before
    assert (gain >= 0).all() and gain.mean() > 0.02
    assert score.coefficients["fico_low"] == score.coefficients["fico_high"]
    assert score.coefficients["interest_rate"] < 0


def test_predict_agrees_between_numpy_and_jit(people):
    for score in people.scores.values():
        inside = jax.jit(score.predict)({k: people.columns[k] for k in score.coefficients})
        assert isinstance(inside, jax.Array)
        np.testing.assert_allclose(inside, score.predict(people.columns), rtol=2e-5)
    line = Score("linear", 0.5, {"a": 1.0})
    np.testing.assert_array_equal(line.predict({"a": np.array([-2.0, 0.1, 3.0])}), [0, 0.6, 1])


def test_too_few_of_an_outcome(people):
    columns = {name: values[:100] for name, values in people.columns.items()}
    columns["defaulted"] = np.zeros(100, np.int8)
    with pytest.raises(FairgymError, match="with 5 defaulted"):
        fit_loan_scores(columns)


def test_range_of_a_linear_score():
    wide = Score("linear", 3.0, {"a": 1.0}, low=1.0, high=5.0)
    np.testing.assert_array_equal(wide.predict({"a": np.array([-9.0, 0.5, 9.0])}), [1, 3.5, 5])
    assert wide.as_json()["low"] == 1.0 and Score(**wide.as_json()) == wide
    assert "low" not in Score("linear", 3.0, {"a": 1.0}).as_json()


def test_linear_fit_with_penalty_and_signs():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 200))
    columns = {"a": a, "b": b, "constant": np.ones(200)}
    target = 2 + 3 * a - 0.5 * b + rng.normal(0, 0.1, 200)
    parts = split(columns, tuple(columns))
    plain = linear_score(parts, target, low=-9, high=9)
    assert plain.coefficients["a"] == pytest.approx(3, abs=0.05)
    assert plain.coefficients["constant"] == 0 and plain.metrics["r2"] > 0.99
    free = linear_score(parts, target, signs={"a": 1, "b": -1})
    assert free.coefficients == pytest.approx(plain.coefficients, rel=1e-6, abs=1e-9)
    held = linear_score(parts, target, signs={"b": 1})
    assert held.coefficients["b"] == 0
    alone = linear_score(split({"a": a}, ("a",)), target)
    assert held.coefficients["a"] == pytest.approx(alone.coefficients["a"], rel=1e-6)
    for signs in (None, {"a": 1}):
        ridge = linear_score(parts, target, ridge=1e4, signs=signs)
        assert abs(ridge.coefficients["a"]) < 0.1
    same = linear_score(parts, target, ridge=7.0)
    signed = linear_score(parts, target, ridge=7.0, signs={"a": 1})
    assert signed.coefficients == pytest.approx(same.coefficients, rel=1e-6, abs=1e-9)


def test_a_predictor_is_the_log_odds_of_a_logistic_score():
    """And a linear score before it is clipped."""
    columns = {"a": np.array([-40.0, 0.0, 1.0]), "b": np.array([1.0, 2.0, 30.0])}
    weights = {"a": 0.5, "b": -2.0}
    expected = 0.25 + 0.5 * columns["a"] - 2.0 * columns["b"]
    logistic = Score("logistic", 0.25, weights)
    np.testing.assert_allclose(logistic.predictor(columns), expected)
    np.testing.assert_allclose(logistic.predict(columns), 1 / (1 + np.exp(-expected)))
    linear = Score("linear", 0.25, weights, low=-4.0, high=4.0)
    np.testing.assert_allclose(linear.predictor(columns), expected)
    np.testing.assert_allclose(linear.predict(columns), np.clip(expected, -4.0, 4.0))
