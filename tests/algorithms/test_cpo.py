"""CPO: its step by brute force, and a constrained problem whose solution is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fair_tasks import Desk, TwoArms
from scipy import optimize

from fairgym.algorithms import algorithms
from fairgym.algorithms.cpo import constrained_step
from fairgym.core import FairgymError
from fairgym.fairness import Objective
from fairgym.testing.toys import Toy

LIMIT = 0.3


@pytest.mark.parametrize("seed", range(12))
def test_the_step_is_the_best_within_the_trust_region_and_the_bound(seed):
    """Against a general solver; where the bound cannot be met, the least cost."""
    generator = np.random.default_rng(seed)
    size, radius = 3, 0.05
    root = generator.normal(size=(size, size))
    fisher = root @ root.T + 0.5 * np.eye(size)
    gradient, cost = generator.normal(size=(2, size))
    reach = np.sqrt(2 * radius * cost @ np.linalg.solve(fisher, cost))
    excess = reach * (-1.5, -0.5, 0.5, 1.5)[seed % 4]
    step = jax.jit(
        lambda g, b, c, h: constrained_step(g, b, c, lambda y: jnp.linalg.solve(h, y), radius)
    )
    found = np.array(
        step(*(jnp.array(x, jnp.float32) for x in (gradient, cost, excess, fisher))), float
    )
    assert 0.5 * found @ fisher @ found <= radius * 1.01
    trust = {"type": "ineq", "fun": lambda x: radius - 0.5 * x @ fisher @ x}
    bound = {"type": "ineq", "fun": lambda x: -(excess + cost @ x)}
    if excess > reach:  # out of reach
        best = optimize.minimize(lambda x: cost @ x, np.zeros(size), constraints=[trust])
        assert cost @ found == pytest.approx(best.fun, rel=1e-2)
        return
    start = -0.9 * reach * np.linalg.solve(fisher, cost) / (cost @ np.linalg.solve(fisher, cost))
    best = optimize.minimize(lambda x: -gradient @ x, start, constraints=[trust, bound])
    assert excess + cost @ found <= 1e-3
    assert gradient @ found == pytest.approx(-best.fun, rel=2e-2, abs=1e-3)


def test_two_arms_of_which_one_costs_what_it_pays():
    """The costly arm is taken as often as the limit allows."""
    learner = algorithms.get("cpo")(
        epochs=16,
        episodes_per_epoch=8 * 32 * 5,
        num_envs=8,
        num_steps=32,
        num_minibatches=2,
        update_epochs=2,
        layers=(4,),
        critic_layers=(4,),
        gamma=0.0,
        cost_limit=LIMIT,
        evaluation_episodes=1,
    )
    state = learner.init(jax.random.key(0), TwoArms(), Objective.direct(TwoArms()))
    costs, steps = [], []
    for _ in range(learner.epochs):
        state, log = learner.update(state)
        costs.append(float(log["short_term"]))
        steps.append(float(log["divergence"]))
    assert np.mean(costs[8:]) == pytest.approx(LIMIT, abs=0.05), costs
    assert max(steps) <= 1.5 * learner.trust_region


@pytest.mark.parametrize(
    ("env", "settings", "message"),
    [
        (
            Toy(population=8, horizon=5, places=3),
            {"network": "equivariant"}
            | dict.fromkeys(("short_term", "long_term"), "treated_disparity"),
            "cpo would train .* with equivariant networks; it takes one agent and flat networks",
        ),
        (Desk(), {"short_term": "x"}, "short_term is 'x', which desk does not measure"),
    ],
)
def test_what_cannot_be_learned_is_refused(env, settings, message):
    with pytest.raises(FairgymError, match=message):
        algorithms.get("cpo")(**settings).init(jax.random.key(0), env, Objective.direct(env))


def test_a_trust_region_of_nothing_is_refused():
    with pytest.raises(FairgymError, match="trust_region is 0; it takes a number above 0"):
        algorithms.get("cpo")(trust_region=0)
