import math

import numpy as np
import pytest
from scipy import stats

from fairgym.statistics import mean_interval
from fairgym.statistics.intervals import t_quantile


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 9, 31, 100, 9999])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_quantile_is_that_of_scipy(degrees, level):
    assert t_quantile(level, degrees) == pytest.approx(
        stats.t.ppf((1 + level) / 2, degrees), rel=1e-9
    )


def test_interval_by_hand():
    # mean 4, standard deviation 2, three values: 4.303 * 2 / sqrt(3)
    mean, low, high = mean_interval([2.0, 4.0, 6.0])
    assert mean == 4.0
    assert high - mean == pytest.approx(4.302653 * 2 / math.sqrt(3), rel=1e-6)
    assert mean - low == pytest.approx(high - mean)


def test_intervals_hold_the_mean_as_often_as_they_say():
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(2000):
        _, low, high = mean_interval(rng.normal(3.0, 2.0, 6), 0.9)
        inside += low < 3.0 < high
    assert inside / 2000 == pytest.approx(0.9, abs=0.02)


def test_one_value_and_none_have_no_interval():
    mean, low, high = mean_interval([5.0])
    assert mean == 5.0 and math.isnan(low) and math.isnan(high)
    assert all(math.isnan(x) for x in mean_interval([]))
