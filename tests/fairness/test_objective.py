"""Objectives: weights, equations (1) and (5), and the constrained form."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toys import Toy, ToyComponents

from fairgym.core import FairgymError
from fairgym.fairness import Direct, Disparity, Objective, Rate
from fairgym.utils import make

ENV = Toy(horizon=6)
DIRECT, RATES = ["gain"], ["treated_rate", "served_rate"]
FAIR = ["treated_disparity", "served_disparity"]


def totals(gain=-3.0, members=(6, 6), treated=(1.5, 4.5), queued=(4, 8), served=(3, 2)):
    groups = (jnp.array(x, jnp.float32) for x in (members, treated, queued, served))
    return ToyComponents(jnp.float32(gain), *groups)


# by hand: gain / 6; 6 of 12; 5 of 12; |0.25 - 0.75|; |0.75 - 0.25| / (0.75 + 0.25)
NORMALISED = {
    "gain": -0.5,
    "treated_rate": 0.5,
    "served_rate": 5 / 12,
    "treated_disparity": -0.5,
    "served_disparity": -0.5,
}


def weights(objective):
    return {name: w for name, w in objective.weights.items() if w != 0.0}


class TestConstructors:
    def test_uniform(self):
        assert weights(Objective.uniform(ENV)) == pytest.approx(dict.fromkeys(NORMALISED, 1 / 5))

    def test_direct(self):
        assert weights(Objective.direct(ENV)) == {"gain": 1.0}

    def test_direct_fair(self):
        expected = dict.fromkeys(DIRECT + FAIR, 1 / 3)
        assert weights(Objective.direct_fair(ENV)) == pytest.approx(expected)

    def test_direct_fair_rate_is_uniform(self):
        assert weights(Objective.direct_fair_rate(ENV)) == weights(Objective.uniform(ENV))

    def test_weighted(self):
        chosen = Objective.weighted(ENV, {"served_rate": 2, "gain": -0.5})
        assert weights(chosen) == {"served_rate": 2, "gain": -0.5}
        assert chosen.metrics == ENV.metrics

    @pytest.mark.parametrize("lam", [0.0, 0.3, 1.0])
    def test_frontier(self, lam):
        """lambda / K for each of 3 rewards, (1 - lambda) / M for each of 2 disparities."""
        found = Objective.frontier(ENV, lam).weights
        assert {n: found[n] for n in DIRECT + RATES} == pytest.approx(
            dict.fromkeys(DIRECT + RATES, lam / 3)
        )
        assert {n: found[n] for n in FAIR} == pytest.approx(dict.fromkeys(FAIR, (1 - lam) / 2))
        assert sum(found.values()) == pytest.approx(1.0)

    def test_the_ends_of_the_frontier(self):
        fair = sum(NORMALISED[n] for n in FAIR) / 2
        assert Objective.frontier(ENV, 0.0).score(totals()) == pytest.approx(fair)
        rewards = sum(NORMALISED[n] for n in DIRECT + RATES) / 3
        assert Objective.frontier(ENV, 1.0).score(totals()) == pytest.approx(rewards)

    @pytest.mark.parametrize("lam", [-0.1, 1.1, float("nan")])
    def test_the_frontier_has_ends(self, lam):
        with pytest.raises(FairgymError, match="lambda must be a number from 0 to 1"):
            Objective.frontier(ENV, lam)


class TestNamed:
    @pytest.mark.parametrize(
        "name", ["uniform", "direct", "direct-fair", "direct-fair-rate", "half-direct"]
    )
    def test_simple(self, name):
        assert Objective.named(ENV, name) == getattr(Objective, name.replace("-", "_"))(ENV)

    def test_without_a_metric_of_the_kind(self):
        epidemic = make("epidemic")
        with pytest.raises(FairgymError) as caught:
            Objective.named(epidemic, "direct")
        assert str(caught.value) == (
            "objective must be one of uniform, direct-fair, direct-fair-rate, published, got"
            " 'direct', but epidemic has no metric of the kind direct"
        )

    def test_frontier(self):
        assert Objective.named(ENV, "frontier:0.25") == Objective.frontier(ENV, 0.25)

    @pytest.mark.parametrize("name", ["good", "frontier", "frontier:x", "frontier:2", "Unison", ""])
    def test_anything_else(self, name):
        with pytest.raises(
            FairgymError, match=r"uniform, direct.*frontier:LAMBDA|lambda must|did you mean"
        ) as caught:
            Objective.named(ENV, name)
        assert "\n" not in str(caught.value)


class TestChecks:
    def test_unknown_metrics(self):
        with pytest.raises(FairgymError, match=r"unknown metric 'profit'; there are: gain, "):
            Objective.weighted(ENV, {"profit": 1.0})
        with pytest.raises(FairgymError, match="unknown metric 'profit'"):
            Objective.uniform(ENV).bounded({"profit": 0.1})

    def test_bounds_are_of_disparities(self):
        """Others are not 0 at parity: a bound on a profit would punish it."""
        disparities = ", ".join(n for n, m in ENV.metrics.items() if m.kind == "fair")
        for name in (n for n, m in ENV.metrics.items() if m.kind != "fair"):
            message = f"be on a disparity.*, got '{name}'; disparities: {disparities}"
            with pytest.raises(FairgymError, match=message):
                Objective.uniform(ENV).bounded({name: 1.0})

    @pytest.mark.parametrize("weight", [True, float("nan"), float("inf")])
    def test_weights_are_numbers(self, weight):
        with pytest.raises(FairgymError, match=r"weights of 'gain' must be a number"):
            Objective(ENV.metrics, {"gain": weight})

    @pytest.mark.parametrize("bound", [-0.1, float("nan")])
    def test_bounds_are_not_negative(self, bound):
        with pytest.raises(FairgymError, match="treated_disparity"):
            Objective(ENV.metrics, {}, {"treated_disparity": bound})


class TestUse:
    def test_score_is_equation_1_over_normalised_terms(self):
        chosen = {
            "gain": 0.4,
            "served_rate": 0.1,
            "treated_disparity": 0.2,
            "served_disparity": 0.3,
        }
        by_hand = sum(w * NORMALISED[name] for name, w in chosen.items())
        assert Objective.weighted(ENV, chosen).score(totals()) == pytest.approx(by_hand)
        assert Objective.uniform(ENV).score(totals()) == pytest.approx(
            np.mean(list(NORMALISED.values()))
        )

    def test_step_reward_is_equation_5_on_one_step(self):
        objective = Objective.uniform(ENV)
        one = totals(gain=-0.6, treated=(6, 0))
        by_hand = (-0.6 / 6 + 6 / 12 + 5 / 12 - 1.0 - 0.5) / 5
        assert objective.step_reward(one) == pytest.approx(by_hand)
        # a sum of direct rewards, not of rates: the rewards of two steps do not add up to a score
        two = jax.tree.map(jnp.add, totals(), one)
        added = objective.step_reward(totals()) + objective.step_reward(one)
        assert abs(float(objective.score(two) - added)) > 0.1

    def test_the_mean_of_equal_steps_rewards_is_their_score(self):
        objective = Objective.half_direct(ENV)
        step = totals(gain=-0.6, treated=(6, 0))
        episode = jax.tree.map(lambda x: 7 * x, step)
        found = objective.step_reward(step, 7)
        assert found == pytest.approx(float(objective.score(episode)), rel=1e-5)
        assert abs(found - float(objective.step_reward(step))) > 0.1
        bounded = objective.bounded({"treated_disparity": 0.1})
        multipliers = jnp.array([2.0])
        assert bounded.step_reward(step, 7, multipliers) == pytest.approx(
            float(bounded.score(episode, None, multipliers)), rel=1e-5
        )

    def test_what_a_step_leaves_undefined_costs_nothing(self):
        """Nobody of the second group is in the queue: no disparity of being served."""
        objective = Objective.weighted(ENV, {"served_disparity": 1.0, "served_rate": 0.5})
        one = totals().replace(queued=jnp.array([4.0, 0.0]), served=jnp.array([2.0, 0.0]))
        assert objective.score(one) == pytest.approx(-1.0 + 0.5 * 0.5)
        assert objective.step_reward(one) == pytest.approx(0.5 * 0.5)
        bounded = Objective.weighted(ENV, {}).bounded({"served_disparity": 0.1})
        assert bounded.step_reward(one, 1, jnp.array([3.0])) == 0.0
        # 0.5 of one group and 0/0 of the other, as a share of the sum: 1
        assert bounded.score(one, None, jnp.array([3.0])) == pytest.approx(-3.0 * 0.9)

    def test_half_of_the_weight_is_on_direct_rewards(self):
        weights = Objective.half_direct(ENV).weights
        assert sum(weights[n] for n in DIRECT) == pytest.approx(0.5)
        assert [weights[n] for n in FAIR] == pytest.approx([0.5 / len(FAIR)] * len(FAIR))
        assert set(weights) == {*DIRECT, *FAIR}

    def test_values_are_raw_and_of_every_metric(self):
        values = Objective.direct(ENV).values(totals())
        assert list(values) == list(ENV.metrics)
        assert values["gain"] == -3.0

    def test_a_metric_of_the_users_own(self):
        mine = {"mine": Rate("served", "members")}
        assert Objective(mine, {"mine": 2.0}).score(totals()) == pytest.approx(2 * 5 / 12)

    def test_equal_objectives_are_one_static_argument(self):
        first, second = Objective.uniform(ENV), Objective.uniform(Toy(horizon=6))
        assert first == second and hash(first) == hash(second)
        assert len({first, second, Objective.direct(ENV), first.bounded(0.1)}) == 3
        assert first != "uniform"

    def test_the_order_of_the_bounds_counts(self):
        """Multipliers are kept in that order: a program compiled for one must not serve another."""
        bounds = {"treated_disparity": 0.1, "served_disparity": 0.2}
        there = Objective.uniform(ENV).bounded(bounds)
        back = Objective.uniform(ENV).bounded(dict(reversed(bounds.items())))
        assert there != back


class TestBounded:
    def test_bounded_disparities_leave_the_sum(self):
        objective = Objective.uniform(ENV).bounded(0.1)
        assert objective.bounds == {"treated_disparity": 0.1, "served_disparity": 0.1}
        assert set(objective.weights) == set(DIRECT + RATES)
        one = Objective.uniform(ENV).bounded({"served_disparity": 0.3})
        assert "treated_disparity" in one.weights and "served_disparity" not in one.weights

    def test_excess_is_on_raw_values(self):
        objective = Objective.uniform(ENV).bounded(
            {"served_disparity": 0.2, "treated_disparity": 0.6}
        )
        np.testing.assert_allclose(objective.excess(totals()), [0.3, -0.1], rtol=1e-5)

    def test_score_subtracts_multipliers_times_excess(self):
        objective = Objective.direct(ENV).bounded(
            {"served_disparity": 0.2, "treated_disparity": 0.6}
        )
        plain = float(objective.score(totals()))
        assert plain == pytest.approx(-0.5)
        multipliers = jnp.array([2.0, 5.0])
        assert objective.score(totals(), None, multipliers) == pytest.approx(
            plain - 2 * 0.3 + 5 * 0.1
        )

    def test_multipliers_rise_while_broken_and_never_fall_below_zero(self):
        objective = Objective.direct(ENV).bounded(0.1)
        assert objective.initial_multipliers().tolist() == [0.0, 0.0]
        raised = objective.raise_multipliers(jnp.array([0.5, 0.1]), jnp.array([0.2, -0.4]), 2.0)
        np.testing.assert_allclose(raised, [0.9, 0.0], rtol=1e-6)

    def test_without_bounds_there_is_nothing_to_raise(self):
        objective = Objective.direct(ENV)
        assert objective.excess(totals()).shape == objective.initial_multipliers().shape == (0,)
        assert objective.score(totals(), None, jnp.zeros(0)) == objective.score(totals())

    def test_dual_ascent_solves_a_constrained_problem(self):
        """Maximise -(a - 0.3)^2 - (b - 0.8)^2 subject to |a - b| < 0.2: a = 0.45, b = 0.65.

        Multiplier: the price of the bound, 2 * 0.15 = 0.3.
        """
        rate = Rate("levels", "ones")
        objective = Objective(
            {"gain": Direct("gain"), "gap": Disparity(rate)}, {"gain": 1.0}
        ).bounded({"gap": 0.2})
        grid = jnp.linspace(0, 1, 201)
        pairs = jnp.stack([x.reshape(-1) for x in jnp.meshgrid(grid, grid)], axis=1)

        def outcome(pair):
            gain = -((pair[0] - 0.3) ** 2) - (pair[1] - 0.8) ** 2
            return SimpleNamespace(gain=gain, levels=pair, ones=jnp.ones(2))

        def best(multipliers):
            scores = jax.vmap(lambda p: objective.score(outcome(p), None, multipliers))(pairs)
            return pairs[jnp.argmax(scores)]

        def ascend(multipliers, _):
            pair = best(multipliers)
            excess = objective.excess(outcome(pair))
            return objective.raise_multipliers(multipliers, excess, 0.2), pair

        multipliers, path = jax.jit(lambda start: jax.lax.scan(ascend, start, None, length=60))(
            objective.initial_multipliers()
        )
        np.testing.assert_allclose(path[0], [0.3, 0.8], atol=1e-6)
        np.testing.assert_allclose(path[-20:].mean(0), [0.45, 0.65], atol=0.01)
        np.testing.assert_allclose(multipliers, [0.3], atol=0.03)


def test_each_agent_may_have_an_objective_of_its_own():
    own = {
        "level": Objective.weighted(ENV, {"treated_disparity": 1.0}),
        "rank": Objective.weighted(ENV, {"served_rate": 1.0}),
    }
    scores = {agent: float(objective.score(totals())) for agent, objective in own.items()}
    assert scores == pytest.approx({"level": -0.5, "rank": 5 / 12})
