"""F-MAPPO: advantages, surrogate and exploration against NumPy."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from learners import AIMS, OWN, collected, learner, pulled

from fairgym.algorithms._on_policy import Batch, generalised_advantages
from fairgym.policies.exploration import log_probability


def test_advantages_are_sums_of_errors_up_to_the_end():
    """A_t = sum over l of (gamma lambda)^l delta_{t+l}, to the end of the episode; NumPy."""
    generator = np.random.default_rng(0)
    rewards = generator.normal(size=(7, 2)).astype(np.float32)
    values = generator.normal(size=(8, 2)).astype(np.float32)
    done = np.array([0, 0, 1, 0, 0, 0, 0], np.float32)
    gamma, decay = 0.9, 0.7
    errors = rewards + gamma * (1 - done)[:, None] * values[1:] - values[:-1]
    expected = np.zeros_like(errors)
    for t in range(7):
        last = 2 if t <= 2 else 6
        for later in range(t, last + 1):
            expected[t] += (gamma * decay) ** (later - t) * errors[later]
    ends = jnp.array(done)
    found = generalised_advantages(
        jnp.array(rewards), jnp.array(values[:-1]), jnp.array(values[1:]), ends, ends, gamma, decay
    )
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.fixture(scope="module")
def begun():
    """A learner, its state with an objective for each agent, and the steps of a round."""
    some = learner("f-mappo", clip_eps=0.05, ent_coef=0.01)
    state = some.init(jax.random.key(0), OWN, AIMS)
    return some, state, collected(some, state, jax.random.key(1))


@eqx.filter_jit
def measured(nets, log_std, steps):
    """Log-probabilities of what was explored, and the critic's values, of every step."""

    def every(function, *steps):
        return jax.vmap(jax.vmap(function))(*steps)

    likely = {
        agent: every(
            lambda seen, raw, actor=actor, own=log_std[agent]: log_probability(
                actor.space, actor.logits(seen), own, raw, seen.mask
            ),
            steps.observations[agent],
            steps.actions[agent],
        )
        for agent, actor in nets.actors.items()
    }
    return likely, every(nets.critic, steps.observations, steps.present)


@eqx.filter_jit
def loss_and_gradient(some, trainable, state, batch):
    """The loss, what it reports, and its gradient."""
    return jax.value_and_grad(some._loss, has_aux=True)(trainable, state, batch)


def test_the_loss_of_f_mappo_is_the_clipped_surrogate(begun):
    """Against NumPy, with policies that have moved since the actions were drawn."""
    some, state, steps = begun
    generator = np.random.default_rng(0)
    advantage, returns = generator.normal(size=(2, *steps.rewards.shape)).astype(np.float32)
    before, _ = measured(state.networks, state.log_std, steps)
    moved = jax.tree.map(lambda x: np.asarray(x) + np.float32(0.05), state.trainable)
    stds = {agent: np.asarray(std) - np.float32(0.01) for agent, std in state.log_std.items()}
    after, values = measured(eqx.combine(moved, state.static), stds, steps)
    batch = Batch(steps, jnp.array(advantage), jnp.array(returns), before)
    (loss, found), _ = loss_and_gradient(some, (moved, stds), state, batch)

    surrogate, entropy, outside = 0.0, 0.0, []
    for index, agent in enumerate(state.trained):
        own = advantage[..., index].astype(float)
        own = (own - own.mean()) / own.std()
        ratio = np.exp(np.asarray(after[agent]) - np.asarray(before[agent]))
        surrogate += np.mean(np.minimum(ratio * own, np.clip(ratio, 0.95, 1.05) * own))
        entropy += np.sum(stds[agent] + 0.5 * np.log(2 * np.pi * np.e))
        outside.append(np.mean(np.abs(ratio - 1) > 0.05))
    assert 0 < np.mean(outside) < 1, "some ratios are clipped, some are not"
    apart = np.abs(np.asarray(values) - returns)
    error = np.mean(np.where(apart <= 1, 0.5 * apart**2, apart - 0.5))
    np.testing.assert_allclose(loss, 0.5 * error - surrogate - 0.01 * entropy, rtol=1e-4)
    np.testing.assert_allclose(found["clipped"], np.mean(outside), rtol=1e-5)


def test_agents_of_f_mappo_follow_their_own_advantages(begun):
    some, state, steps = begun
    assert list(state.trained) == list(OWN.agents) != list(state.networks.actors), "another order"
    before, _ = measured(state.networks, state.log_std, steps)
    nothing = np.zeros(steps.rewards.shape, np.float32)
    for index, agent in enumerate(OWN.agents):
        advantage = nothing.copy()
        advantage[..., index] = [1.0, -1.0, 2.0, 0.0]
        batch = Batch(steps, jnp.array(advantage), jnp.array(nothing), before)
        _, gradient = loss_and_gradient(some, (state.trainable, state.log_std), state, batch)
        assert pulled(gradient[0]) == {agent}


def test_rewards_are_those_of_the_agents_in_acting_order(begun):
    gain, treated, against = np.moveaxis(np.asarray(begun[2].rewards), -1, 0)
    assert (gain < 0).all() and (treated > 0).all()
    np.testing.assert_allclose(against, -treated)
