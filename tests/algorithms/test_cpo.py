"""CPO: its step by brute force, and a constrained problem whose solution is known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fair_tasks import Desk, TwoArms
from jax.flatten_util import ravel_pytree
from scipy import optimize
from tiers import in_tiers
from toys import Toy

from fairgym.algorithms import algorithms
from fairgym.algorithms.cpo import constrained_step
from fairgym.config.settings import algorithm_settings
from fairgym.core import FairgymError
from fairgym.fairness import Objective

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


@pytest.mark.parametrize("excess", in_tiers([-0.01, 0.01]))
def test_only_steps_in_which_the_agent_acts_teach_the_policy(excess):
    """As if the other steps were not there; but they share in the mean cost, which moves less."""
    learner = algorithms.get("cpo")(
        num_envs=2, num_steps=30, num_minibatches=1, layers=(4,), critic_layers=(4,)
    )
    state = learner.init(jax.random.key(0), Desk(), Objective.direct(Desk()))
    _, batch, _ = eqx.filter_jit(learner._experience)(state, jax.random.key(1))
    generator = np.random.default_rng(0)
    signal = {"short_term": jnp.full((2, 30), learner.cost_limit + excess)}
    everywhere = batch.replace(
        steps=batch.steps.replace(signals=signal),
        advantage=jnp.array(generator.normal(size=(2, 30, 2)), jnp.float32),
    )
    first = batch.steps.observations["clerk"].features[..., 0, 0] == 0
    acts = np.where(first, 0.6, 0.2) > generator.uniform(size=(2, 30))  # another mix of groups
    assert 15 < acts.sum() < 45
    with_acts = eqx.tree_at(lambda b: b.steps.acts["clerk"], everywhere, jnp.array(acts))

    alone = jax.tree.map(lambda x: x.reshape(60, *x.shape[2:])[acts.ravel()][None], everywhere)
    weights = jnp.array([1.0, acts.mean()])  # of the rewards and of the costs
    alone = alone.replace(advantage=weights * alone.advantage)

    step = eqx.filter_jit(learner._step_policy)
    (found, log), (known, known_log) = step(state, with_acts), step(state, alone)
    (others, _) = step(state, everywhere)
    moved = [
        ravel_pytree(s.trainable.actors)[0] - ravel_pytree(state.trainable.actors)[0]
        for s in (found, known, others)
    ]
    reach = np.abs(moved[1]).max()
    assert reach > 1e-3 and float(log["step_size"]) == float(known_log["step_size"])
    np.testing.assert_allclose(moved[0], moved[1], atol=0.01 * reach)
    np.testing.assert_allclose(log["divergence"], known_log["divergence"], rtol=0.02)
    assert np.abs(moved[2] - moved[1]).max() > 0.1 * reach


@pytest.mark.full
def test_far_from_the_limit_it_is_a_step_along_the_natural_gradient():
    """F^-1 g, as long as the trust region: scores of each step and each option by plain NumPy."""
    learner = algorithms.get("cpo")(
        num_envs=2, num_steps=30, num_minibatches=1, layers=(4,), critic_layers=(4,)
    )
    state = learner.init(jax.random.key(0), Desk(), Objective.direct(Desk()))
    # options of different chances
    other = jax.tree.map(lambda x: x + jnp.cos(3.0 * jnp.arange(x.size)).reshape(x.shape), state)
    state = eqx.tree_at(lambda s: s.trainable.actors, state, other.trainable.actors)
    _, batch, _ = eqx.filter_jit(learner._experience)(state, jax.random.key(1))
    advantage = np.random.default_rng(0).normal(size=(2, 30, 2)).astype(np.float32)
    batch = batch.replace(
        steps=batch.steps.replace(signals={"short_term": jnp.full((2, 30), -10.0)}),
        advantage=jnp.array(advantage),
    )
    moved, log = eqx.filter_jit(learner._step_policy)(state, batch)

    start, restored = ravel_pytree(state.trainable.actors["clerk"])

    def log_chances(numbers):
        network = eqx.combine(restored(numbers), state.static.actors["clerk"])
        logits = jax.vmap(jax.vmap(network.logits))(batch.steps.observations["clerk"])
        return jax.nn.log_softmax(logits).reshape(60, 2)

    chances = np.exp(np.asarray(log_chances(start), float))
    assert chances.std(axis=1).min() > 0.1
    scores = np.asarray(jax.jit(jax.jacobian(log_chances))(start), float)
    fisher = np.einsum("so,sop,soq->pq", chances, scores, scores) / 60
    fisher += learner.damping * np.eye(start.size)
    own = advantage[..., 0].ravel().astype(float)
    own = (own - own.mean()) / own.std()
    chosen = np.asarray(batch.steps.actions["clerk"]).ravel().astype(int)
    gradient = (own[:, None] * scores[np.arange(60), chosen]).mean(axis=0)
    along = np.linalg.solve(fisher, gradient)
    step = along * np.sqrt(2 * learner.trust_region / (gradient @ along))
    found = np.asarray(ravel_pytree(moved.trainable.actors["clerk"])[0] - start, float)
    np.testing.assert_allclose(
        found, float(log["step_size"]) * step, atol=0.03 * np.abs(step).max()
    )
    assert float(log["step_size"]) > 0.0


@pytest.mark.parametrize(
    ("env", "settings", "message"),
    [
        (
            Toy(population=8, horizon=5, places=3),
            {"network": "equivariant"}
            | dict.fromkeys(("short_term", "long_term"), "treated_disparity"),
            "cpo would train .* with equivariant networks; it trains one agent with flat networks",
        ),
        (Desk(), {"short_term": "x"}, "short_term must be a measure of desk .*, got 'x'"),
    ],
)
def test_what_cannot_be_learned_is_refused(env, settings, message):
    with pytest.raises(FairgymError, match=message):
        algorithms.get("cpo")(**settings).init(jax.random.key(0), env, Objective.direct(env))


def test_a_trust_region_of_nothing_is_refused():
    with pytest.raises(FairgymError, match=r"trust_region must be a number above 0.*got 0"):
        algorithms.get("cpo")(trust_region=0)


def test_it_has_no_hyperparameters_of_what_it_does_not_do():
    names = {setting.name for setting in algorithm_settings("cpo")}
    assert not names & {"clip_eps", "ent_coef", "vf_coef", "scale"} and "trust_region" in names
