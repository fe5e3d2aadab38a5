"""Random numbers, functions and selection of the Numba rewrite."""

import numpy as np
import pytest
from scipy import stats

pytest.importorskip("numba", reason="needs pip install -r benchmarks/requirements-numba.txt")
NOBODY, UNTOLD = np.empty(0, np.int32), np.empty(0, np.float32)


@pytest.fixture(scope="module")
def parts(benchmark_script):
    return benchmark_script("numba_loan.parts")


def test_normal_numbers_are_normal(parts):
    """By their distribution, their tails and their independence."""
    drawn, counter = np.empty(2_000_000, np.float32), np.array([5 << 32], np.uint64)
    parts.normals(drawn, drawn.size, counter)
    assert stats.kstest(drawn[:200_000], "norm").pvalue > 1e-3
    drawn = drawn.astype(float)
    moments = [np.mean(drawn**k) for k in range(1, 7)]
    np.testing.assert_allclose(moments, [0, 1, 0, 3, 0, 15], atol=0.3, rtol=0.02)
    assert 4.5 < np.abs(drawn).max() < 5.6
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 3e-3
    assert counter[0] == (5 << 32) + drawn.size
    more = np.empty(3, np.float32)
    parts.normals(more, 3, counter)
    assert not np.isin(more, drawn[:3]).any()


def test_sigmoid(parts):
    x = np.linspace(-90, 90, 4_001, dtype=np.float32)
    found = np.array([parts.sigmoid(value) for value in x])
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-x.astype(float))), rtol=2e-5, atol=1e-37)


@pytest.mark.parametrize("levels", [1, 3, 0])
def test_the_best_are_found_and_ties_are_broken_by_chance(parts, levels):
    """With one score for all, three, or different ones."""
    rng, size, count = np.random.default_rng(levels), 700, 11
    times, counter = np.zeros(size), np.array([1], np.uint64)
    scores = rng.random(size, np.float32) if not levels else rng.integers(0, levels, size)
    scores = scores.astype(np.float32)
    chosen, values = np.empty(size, np.int32), np.empty(size, np.float32)
    rounds = 3_000 if levels else 3
    for _ in range(rounds):
        parts.best(scores, size, count, NOBODY, UNTOLD, counter, chosen, values)
        rows = chosen[:count]
        assert (np.diff(rows) > 0).all()
        np.testing.assert_array_equal(np.sort(scores[rows]), np.sort(scores)[-count:])
        times[rows] += 1
    if levels:
        tied = times[scores == scores.max()]
        expected = rounds * count / len(tied)
        assert stats.chisquare(tied, np.full(len(tied), expected)).pvalue > 1e-3


def test_a_sample_is_uniform(parts):
    times, counter = np.zeros(20), np.array([9], np.uint64)
    for _ in range(5_000):
        rows = np.arange(20, dtype=np.int32)
        parts.pick(rows, 20, 4, NOBODY, UNTOLD, counter)
        assert len(set(rows)) == 20
        times[rows[:4]] += 1
    assert stats.chisquare(times).pvalue > 1e-3
