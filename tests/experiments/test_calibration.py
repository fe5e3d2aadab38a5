"""Calibration within groups: stays, outcomes and their null distribution."""

import jax
import numpy as np
import pytest
from tiers import in_tiers

from fairgym.core import rollout
from fairgym.experiments.mafe._calibration import calibration, outcomes, spells, spells_of
from fairgym.policies import fixed_policies
from fairgym.utils import make

RULES = {
    "loan": {"admissions": 0.0, "disbursement": "random", "debt_management": [0.1, 0.0]},
    "education": "plausible_fixed_policy",
}


def test_stays_by_hand():
    """Three people: one has two stays, one is inside from the start, one never leaves."""
    inside = np.array([[0, 1, 0], [1, 1, 0], [1, 0, 1], [0, 0, 1], [1, 0, 1], [0, 0, 1]], bool)
    score = np.arange(18.0).reshape(6, 3)
    mark = 100.0 + score
    found = spells_of(inside, score, mark, np.array([0, 1, 1]))
    np.testing.assert_array_equal(found.score, [0.0, 9.0])
    np.testing.assert_array_equal(found.before, [106.0, 112.0])
    np.testing.assert_array_equal(found.after, [109.0, 115.0])
    np.testing.assert_array_equal(found.group, [0, 0])


@pytest.mark.full
@pytest.mark.parametrize("name", in_tiers(RULES, "loan"))
def test_stays_agree_with_the_components(name):
    """Ended and defaulted loans, and degrees, by group."""
    env = make(name, population=300, horizon=60)
    rules = RULES[name] if name == "loan" else env.spec.baselines[RULES[name]]
    policies, params, seed = fixed_policies(env, rules), env.default_params, 5
    found = spells(env, params, policies, seed, 1)
    good = outcomes(env, found)
    totals = jax.jit(lambda key: rollout(env, params, policies, key).totals)(
        jax.random.split(jax.random.key(seed), 1)[0]
    )
    counts = [np.bincount(found.group[rows], minlength=2) for rows in (good, ~good)]
    if name == "loan":
        np.testing.assert_array_equal(counts[1], totals.defaulted)
        np.testing.assert_array_equal(counts[0], totals.ended - totals.defaulted)
        assert counts[1].min() > 3
    else:  # a bachelor's degree at least, of those who have left since
        assert 20 < counts[0].sum() <= float(np.sum(totals.bachelors))
    measured = calibration(env, params, policies, seed, 2, 400)
    shares, difference = measured.shares, measured.difference
    assert shares.shape == (3, 2) and np.nanmin(shares) >= 0.0 and np.nanmax(shares) <= 1.0
    assert difference == pytest.approx(np.nanmean(np.abs(shares[:, 0] - shares[:, 1])))
    assert measured.gap == pytest.approx(np.nanmean(shares[:, 0] - shares[:, 1]))
    tenth = np.digitize(found.score, np.quantile(found.score, np.arange(1, 10) / 10))
    whole = calibration(env, params, policies, seed, 1)
    for place in (0, 4, 9):
        for code in (0, 1):
            rows = (tenth == place) & (found.group == code)
            if rows.any():
                assert whole.deciles[place, code] == pytest.approx(good[rows].mean())
                assert whole.scores[place, code] == pytest.approx(
                    found.score[rows].mean(), rel=1e-6
                )
            else:
                assert np.isnan(whole.deciles[place, code])
    if name == "loan":  # without relief the disadvantaged cannot pay
        assert (shares[:, 0] > shares[:, 1] + 0.1).any() and difference > 0.05
        assert difference > measured.null.max()
    # group labels permuted over the stays of each third
    several = spells(env, params, policies, seed, 2)
    well, rng = outcomes(env, several), np.random.default_rng(0)
    third = np.digitize(several.score, np.quantile(several.score, [1 / 3, 2 / 3]))
    expected = []
    for _ in range(400):
        away = []
        for rows in (third == b for b in range(3)):
            group = rng.permutation(several.group[rows])
            if 0 < group.sum() < len(group):
                away.append(well[rows][group == 0].mean() - well[rows][group == 1].mean())
        expected.append(np.mean(np.abs(away)))
    assert measured.null.shape == (400,)
    error = np.std(expected) / np.sqrt(200)  # of the difference of two means
    assert abs(measured.null.mean() - np.mean(expected)) < 5.0 * error
    assert measured.null.std() == pytest.approx(np.std(expected), rel=0.25)
