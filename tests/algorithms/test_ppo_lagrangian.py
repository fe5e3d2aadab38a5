"""PPO-Lagrangian on a constrained problem whose multiplier is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fair_tasks import OFFICE, Office, TwoArms

from fairgym.algorithms import algorithms
from fairgym.core import FairgymError
from fairgym.fairness import Objective

LIMIT = 0.3


def test_two_arms_of_which_one_costs_what_it_pays():
    """The mean cost comes to the limit, and the multiplier to 1."""
    learner = algorithms.get("ppo-lagrangian")(
        epochs=16,
        episodes_per_epoch=8 * 16 * 10,
        num_envs=8,
        num_steps=16,
        num_minibatches=2,
        update_epochs=4,
        layers=(4,),
        critic_layers=(4,),
        learning_rate=0.02,
        gamma=0.0,
        ent_coef=2.0,  # advantages are of size 1 however small the difference of the arms is,
        cost_limit=LIMIT,
        cost_multiplier_rate=0.05,
        evaluation_episodes=1,
    )
    state = learner.init(jax.random.key(0), TwoArms(), Objective.direct(TwoArms()))
    costs, multipliers = [], []
    for _ in range(learner.epochs):
        state, log = learner.update(state)
        costs.append(float(log["short_term"]))
        multipliers.append(float(log["cost_multiplier"]))
    assert np.mean(costs[6:]) == pytest.approx(LIMIT, abs=0.03)
    assert np.mean(multipliers[6:]) == pytest.approx(1.0, abs=0.05)


@pytest.mark.full
def test_agents_with_equivariant_networks_share_the_bound():
    """What a step is unfair by is what it pays, 1 at most; its mean comes to the limit."""
    env = Office()
    learner = algorithms.get("ppo-lagrangian")(
        **OFFICE | {"epochs": 12},
        short_term="gap",
        long_term="",
        window=1,
        cost_limit=LIMIT,
        cost_multiplier_rate=1.0,
        cost_multiplier_init=1.0,
    )
    state = learner.init(jax.random.key(0), env, Objective.weighted(env, {"points": 0.1}))
    costs = []
    for _ in range(learner.epochs):
        state, log = learner.update(state)
        costs.append(float(log["short_term"]))
        assert "long_term" not in log
    # nothing damps the price where what is paid and what it costs are both linear: it goes around 1
    assert np.mean(costs[4:]) == pytest.approx(LIMIT, abs=0.05), costs


def test_the_price_is_taken_off_the_reward():
    learner = algorithms.get("ppo-lagrangian")(cost_multiplier_init=3.0)
    terms = learner.terms(TwoArms(), TwoArms().agents)
    rewards, costs = np.random.default_rng(0).normal(size=(2, 2, 5)).astype(np.float32)
    given = jnp.array(rewards)[..., None], {"short_term": jnp.array(costs)}
    found = terms.reward(terms.start, *given)
    np.testing.assert_allclose(found[..., 0], (rewards - 3.0 * costs) / 4.0, rtol=1e-5)


def test_a_negative_limit_is_refused():
    with pytest.raises(FairgymError, match=r"cost_limit must be a number from 0.*got -1"):
        algorithms.get("ppo-lagrangian")(cost_limit=-1)
