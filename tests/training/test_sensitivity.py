"""Sensitivity of differences: a closed form, the sign, and the paired episodes behind them."""

import numpy as np
import pytest
from pairs import Pairs  # registers itself

from fairgym.core import FairgymError
from fairgym.statistics.comparisons import explained
from fairgym.statistics.sobol import variance_shares
from fairgym.training import Scenario, simulate
from fairgym.training.reforms import Factor, World
from fairgym.training.sensitivity import CHANCE, sensitivity

GIVE, EVEN = Scenario("give", {"giver": 1.0}), Scenario("today")


def linear(weights, base, seed=0):
    """Values of a linear function in a design of Saltelli, with plain random points."""
    rng = np.random.default_rng(seed)
    first, second = rng.random((2, base, len(weights)))
    blocks = [first, second]
    for place in range(len(weights)):
        mixed = first.copy()
        mixed[:, place] = second[:, place]
        blocks.append(mixed)
    return np.stack([block @ weights for block in blocks])


def test_shares_of_a_linear_function_are_the_squares_of_its_weights():
    weights = np.array([3.0, 2.0, 1.0, 0.0])
    shares = variance_shares("abcd", linear(weights, 20_000), resamples=50)
    for share, expected in zip(shares, weights**2 / (weights**2).sum(), strict=True):
        assert share.main == pytest.approx(expected, abs=0.02)
        assert share.total == pytest.approx(expected, abs=0.02)
        assert share.main_low <= share.main <= share.main_high
    assert shares[-1].total == 0.0


def test_an_interaction_is_in_the_total_share_and_not_in_the_main_one():
    rng = np.random.default_rng(1)
    a, b = rng.random((2, 20_000, 2)) - 0.5
    blocks = [a, b, np.stack([b[:, 0], a[:, 1]], 1), np.stack([a[:, 0], b[:, 1]], 1)]
    shares = variance_shares("ab", np.stack([x[:, 0] * x[:, 1] for x in blocks]), resamples=50)
    for share in shares:
        assert share.main == pytest.approx(0.0, abs=0.03)
        assert share.total == pytest.approx(1.0, abs=0.03)


def test_main_shares_are_those_of_a_crossed_design():
    """The correlation ratio, by which a sweep says how much each setting explains."""
    weights = np.array([3.0, 1.0])
    levels = (np.arange(40) + 0.5) / 40
    grid = np.stack(np.meshgrid(levels, levels, indexing="ij"), axis=-1).reshape(-1, 2)
    crossed = [
        float(explained(grid @ weights, np.unique(column, return_inverse=True)[1]))
        for column in grid.T
    ]
    found = [share.main for share in variance_shares("ab", linear(weights, 20_000), resamples=20)]
    assert found == pytest.approx(crossed, abs=0.02)


def test_values_that_are_equal_or_undefined_have_no_shares():
    assert variance_shares("ab", np.ones((4, 8))) == []
    assert variance_shares("ab", np.full((4, 8), np.nan)) == []


@pytest.fixture(scope="module")
def swung():
    factors = (
        Factor("reward", 0.0, 4.0),
        Factor("cost", "-100%", "+100%"),
        Factor("penalty", 0, 1),
    )
    return sensitivity(
        "pairs",
        GIVE,
        EVEN,
        factors=factors,
        base=32,
        episodes=2,
        points=5,
        seed=2,
        world=World("chancy", "", {"swing": 1.0}),
    )


def worth(evaluation):
    return evaluation.metrics["worth"]


def test_a_budget_that_is_linear_has_the_shares_of_a_closed_form(swung):
    """Worth gains 4 weeks x 1 unit x (reward - cost + chance): variances 16/12, 4/12, and 1/48."""
    variances = np.array([16 / 12, 4 / 12, 0.0, 1 / 48])  # the mean of four uniform numbers
    shares = {share.factor: share for share in swung.shares(worth)}
    assert list(shares) == ["reward", "cost", "penalty", CHANCE]
    for share, expected in zip(shares.values(), variances / variances.sum(), strict=True):
        assert share.main == pytest.approx(expected, abs=0.06)
        assert share.total == pytest.approx(expected, abs=0.06)
    assert shares["penalty"].total == 0.0, "both sides have it"


def test_the_sign_flips_where_the_line_crosses_0(swung):
    reward, cost, penalty = swung.courses(worth)
    mean = np.mean(reward.means) / 4 - (2.0 - 1.0)  # of the chance in the two episodes
    assert reward.values == (0.0, 1.0, 2.0, 3.0, 4.0)
    assert reward.flips == (pytest.approx(1.0 - mean, abs=1e-4),)
    assert cost.values == (0.0, 0.5, 1.0, 1.5, 2.0) and cost.flips == ()
    assert np.diff(cost.means) == pytest.approx([-2.0] * 4, rel=1e-4)
    assert penalty.flips == () and np.ptp(penalty.means) == 0.0
    assert penalty.lows[0] < penalty.means[0] < penalty.highs[0]


def test_a_point_is_the_simulation_with_these_parameters(swung):
    """The first values of the courses, in the same two episodes."""
    import jax

    from fairgym.training import evaluate
    from fairgym.training.scenarios import build_all

    fixed = {"reward": 0.0, "swing": 1.0}
    built = build_all("pairs", [Scenario("a", {"giver": 1.0}, fixed), Scenario("b", (), fixed)])
    keys = jax.random.split(jax.random.key(2), 64)
    assert built[0].env == Pairs()
    ends = []
    for one in built:
        from fairgym.training.evaluation import evaluate_each

        params = jax.tree.map(lambda x: np.full(2, x, np.float32), one.params)
        ends.append(evaluate_each(one.env, params, one.policies, keys[:2]).metrics["worth"])
    assert evaluate is not None
    assert swung.courses(worth)[0].means[0] == pytest.approx(float((ends[0] - ends[1]).mean()))


def test_schedules_hold_in_every_point():
    later = Scenario("later", {"giver": "1.0 from 2"}, {"reward": "+100% from 2"})
    found = sensitivity(
        "pairs", later, EVEN, factors=[Factor("reward", 1.0, 3.0)], base=2, episodes=1, points=3
    )
    (course,) = found.courses(worth)
    # two weeks with 2 units at twice the reward, instead of 1 unit
    expected = [2 * (2 * (2 * reward - 1) - (reward - 1)) for reward in (1.0, 2.0, 3.0)]
    assert course.means == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base": 3}, "base must be a power of 2, got 3"),
        ({"base": 1}, "base must be a whole number from 2"),
        ({"points": 1}, "points must be a whole number from 2"),
        ({"episodes": 0}, "episodes must be a whole number from 1"),
        ({"factors": None}, "pairs declares no uncertain parameters"),
        ({"factors": [Factor("nope", 0, 1)]}, "unknown parameter 'nope'"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(options, message):
    given = {"factors": [Factor("reward", 0.0, 1.0)], "base": 2} | options
    with pytest.raises(FairgymError, match=message):
        sensitivity("pairs", GIVE, EVEN, **given)


def test_with_no_change_every_difference_is_exactly_0():
    found = sensitivity(
        "pairs", Scenario("same"), EVEN, factors=[Factor("reward", 0.0, 1.0)], base=4, episodes=1
    )
    assert not found.difference(worth).any() and found.shares(worth) == []
    same = simulate("pairs", [EVEN, Scenario("same")], episodes=2)
    assert same.difference("same", worth) == (0.0, 0.0, 0.0)
