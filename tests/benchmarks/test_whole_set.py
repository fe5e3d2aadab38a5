"""The second sample of the script that estimates the time of all results."""

import numpy as np
import pytest
from scipy import stats


@pytest.fixture
def script(benchmark_script):
    return benchmark_script("whole_set")


def test_a_run_is_drawn_as_often_as_its_size_says(script):
    """Exactly for whole numbers of draws; else on average over the first place."""
    for start in (0.0, 0.3, 0.99):
        drawn = script.at_equal_distances(np.array([1.0, 1.0, 2.0, 4.0]), 8, start)
        assert drawn == [0, 1, 2, 2, 3, 3, 3, 3]
    sizes, starts = np.array([0.5, 3.0, 1.25, 0.25]), (np.arange(1_000) + 0.5) / 1_000
    counts = np.zeros(4)
    for start in starts:
        counts += np.bincount(script.at_equal_distances(sizes, 7, start), minlength=4)
    np.testing.assert_allclose(counts / 1_000, 7 * sizes / 5, atol=0.01)


def test_the_total_is_scaled_by_the_mean_ratio(script):
    """The interval of ratios that alternate, by hand; runs as long as expected leave no doubt."""
    found, half = script.scaled(20.0, np.array([0.9, 1.3] * 5))
    assert found == pytest.approx(22.0)
    assert half == pytest.approx(20.0 * 0.4 / np.sqrt(20) * stats.t.ppf(0.975, 9))
    assert script.scaled(20.0, np.ones(10)) == (20.0, 0.0)
