"""Resampled totals against closed forms and a plain loop."""

import numpy as np
import pytest

from fairgym.statistics import resampling
from fairgym.statistics.clusters import effective_shares
from fairgym.statistics.resampling import circular_blocks, critical_value, resampled_totals


def clustered(rows=3000, persons=300):
    rng = np.random.default_rng(0)
    person = rng.integers(0, persons, rows)
    rate = rng.beta(2, 3, persons)[person]
    return (
        (rng.random(rows) < rate).astype(float),
        rng.integers(0, 4, rows),
        person,
        rng.random(rows),
    )


def spread(total):
    return (total[:, 1] / total[:, 0]).std(axis=0)


def test_persons_drawn_again_spread_as_the_linearised_variance_says():
    values, cells, person, weight = clustered()
    for w in (None, weight + 0.5):
        found = spread(resampled_totals(values, cells, 4, 2000, 1, w, person))
        shares = effective_shares(values, cells, 4, w, person)
        expected = np.sqrt(shares.rate * (1 - shares.rate) / shares.n)
        np.testing.assert_allclose(found, expected, rtol=0.08)
        rows = spread(resampled_totals(values, cells, 4, 2000, 1, w))
        assert (rows[:2] < 0.95 * found[:2]).all(), "rows are not independent"


def test_weights_are_poisson_numbers_of_mean_1_and_resamples_as_large_as_the_table():
    table = resampling._poisson_table()
    counts = np.bincount(table.astype(int)) / len(table)
    assert counts[:4] == pytest.approx(np.exp(-1) / np.array([1, 1, 2, 6]), abs=2e-5)
    values, cells, person, _ = clustered()
    total = resampled_totals(values, cells, 4, 500, 2, units=person)
    assert total.shape == (500, 2, 4)
    one = total[:, 0].sum(axis=1)  # the number of decisions varies only as persons have more
    sizes = np.bincount(person)
    assert one.std() == pytest.approx(np.sqrt(len(sizes)) * sizes.std(), rel=0.1)
    np.testing.assert_allclose(total.mean(axis=0)[1], np.bincount(cells, values, 4), rtol=0.02)


def test_persons_with_one_row_are_drawn_by_their_number():
    values, cells, _, _ = clustered()
    alone = resampled_totals(values, cells, 4, 3000, 3, units=np.arange(len(values)))
    weighted = resampled_totals(values, cells, 4, 3000, 3, np.ones(len(values)))
    np.testing.assert_allclose(spread(alone), spread(weighted), rtol=0.06)
    np.testing.assert_allclose(alone[:, 0].std(axis=0), weighted[:, 0].std(axis=0), rtol=0.06)
    assert alone[:, 0].sum(axis=1) == pytest.approx(np.full(3000, len(values)), rel=1e-5)


def test_blocks_are_neighbours_and_every_period_is_drawn_alike():
    found = circular_blocks(10, 4, 4000, 0)
    assert found.shape == (4000, 10)
    steps = np.diff(found, axis=1) % 10
    assert (steps[:, [0, 1, 2, 4, 5, 6, 8]] == 1).all()
    np.testing.assert_allclose(np.bincount(found.ravel()) / 4000, 1.0, atol=0.08)


def test_the_critical_value_of_independent_estimates_is_sidaks():
    from scipy.special import ndtri

    noise = np.random.default_rng(0).normal(size=(40000, 12)) * np.arange(1, 13)
    expected = ndtri((1 + 0.95 ** (1 / 12)) / 2)
    assert critical_value(noise, 0.95) == pytest.approx(expected, abs=0.03)
    assert critical_value(np.zeros((10, 3)), 0.95) == 0.0
    same = np.repeat(noise[:, :1], 5, axis=1)
    assert critical_value(same, 0.95) == pytest.approx(1.96, abs=0.03)
