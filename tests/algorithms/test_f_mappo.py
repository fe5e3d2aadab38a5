"""F-MAPPO: advantages, surrogate and exploration against NumPy."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from learners import AIMS, OWN, learner, pulled, run_one_world
from tasks import Crowd

from fairgym.algorithms._ppo import generalised_advantages
from fairgym.algorithms.f_mappo import FMappo
from fairgym.fairness import Objective
from fairgym.policies.exploration import log_probability
from fairgym.testing.toys import Toy


def probability(actor, log_std, seen, explored):
    """Log-probability of explored logits under an actor that saw these people."""
    return log_probability(actor.space, actor.logits(seen), log_std, explored, seen.mask)


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
    found = generalised_advantages(
        jnp.array(rewards), jnp.array(values), jnp.array(done), gamma, decay
    )
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_exploration_of_f_mappo_has_a_limit():
    """The entropy bonus alone would have it grow for ever."""
    some = learner("f-mappo", ent_coef=100.0, learning_rate=0.1, max_std=0.8)
    state = some.init(jax.random.key(0), Crowd(), Objective.direct(Crowd()))
    state, _ = some.update(state)
    _, log = some.update(state)
    assert float(log["exploration/judge"]) == pytest.approx(0.8)


def test_the_loss_of_f_mappo_is_the_clipped_surrogate():
    """Against NumPy, with policies that have moved since the actions were drawn."""
    env = Toy(population=8, horizon=4, places=3)
    ppo = learner("f-mappo", clip_eps=0.05, ent_coef=0.01)
    state = ppo.init(jax.random.key(0), env, Objective.uniform(env))
    steps = run_one_world(ppo, state, jax.random.key(1))
    steps = jax.tree.map(lambda x: x[None], steps)
    generator = np.random.default_rng(0)
    advantage, returns = (jnp.array(generator.normal(size=(1, 4, 3)), jnp.float32) for _ in "ab")
    nets = state.networks
    agents = list(nets.actors)

    def probabilities(actors, stds):
        return {
            agent: np.array(
                [
                    probability(
                        actors[agent],
                        stds[agent],
                        jax.tree.map(lambda x, t=t: x[0, t], steps.observations[agent]),
                        steps.actions[agent][0, t],
                    )
                    for t in range(4)
                ]
            )
            for agent in agents
        }

    before = probabilities(nets.actors, state.log_std)
    moved = jax.tree.map(lambda x: x + 0.05, state.learned)
    stds = {agent: std - 0.01 for agent, std in state.log_std.items()}
    after_nets = eqx.combine(moved, state.skeleton)
    after = probabilities(after_nets.actors, stds)
    batch = (steps, advantage, returns, {a: jnp.array(p)[None] for a, p in before.items()})
    loss, found = eqx.filter_jit(ppo._loss)((moved, stds), state, batch)

    surrogate, entropy, outside = 0.0, 0.0, []
    for index, agent in enumerate(agents):
        own = np.asarray(advantage[0, :, index], float)
        own = (own - own.mean()) / own.std()
        ratio = np.exp(after[agent] - before[agent])
        surrogate += np.mean(np.minimum(ratio * own, np.clip(ratio, 0.95, 1.05) * own))
        entropy += np.sum(np.asarray(stds[agent]) + 0.5 * np.log(2 * np.pi * np.e))
        outside.append(np.mean(np.abs(ratio - 1) > 0.05))
    assert 0 < np.mean(outside) < 1, "some ratios are clipped, some are not"
    values = np.stack(
        [
            after_nets.critic(
                jax.tree.map(lambda x, t=t: x[0, t], steps.observations), steps.present[0, t]
            )
            for t in range(4)
        ]
    )
    apart = np.abs(values - np.asarray(returns[0]))
    error = np.mean(np.where(apart <= 1, 0.5 * apart**2, apart - 0.5))
    np.testing.assert_allclose(loss, 0.5 * error - surrogate - 0.01 * entropy, rtol=1e-4)
    np.testing.assert_allclose(found["clipped"], np.mean(outside), rtol=1e-5)


def test_agents_of_f_mappo_follow_their_own_advantages():
    ppo = learner("f-mappo", ent_coef=0.0)
    state = ppo.init(jax.random.key(0), OWN, AIMS)
    assert state.trained == list(OWN.agents) != list(state.networks.actors), "another order"
    steps = run_one_world(ppo, state, jax.random.key(1))
    steps = jax.tree.map(lambda x: x[None], steps)
    before = {
        a: jax.vmap(lambda o, x, p=actor, std=state.log_std[a]: probability(p, std, o, x))(
            jax.tree.map(lambda x: x[0], steps.observations[a]), steps.actions[a][0]
        )[None]
        for a, actor in state.networks.actors.items()
    }

    @jax.jit
    @jax.grad
    def gradient(learned, advantage):
        batch = (steps, advantage, jnp.zeros((1, 4, 3)), before)
        return ppo._loss((learned, state.log_std), state, batch)[0]

    for index, agent in enumerate(OWN.agents):
        advantage = jnp.zeros((1, 4, 3)).at[0, :, index].set(jnp.array([1.0, -1.0, 2.0, 0.0]))
        assert pulled(gradient(state.learned, advantage)) == {agent}


def test_rewards_are_those_of_the_agents_in_acting_order():
    some = learner("f-mappo")
    state = some.init(jax.random.key(0), OWN, AIMS)
    steps = run_one_world(some, state, jax.random.key(1))
    gain, treated, against = steps.rewards.T
    assert (gain < 0).all() and (treated > 0).all()
    np.testing.assert_allclose(against, -treated)


@pytest.mark.slow
def test_group_level_actions_find_their_targets():
    """The constant optimum of `Toy`; the middle of all actions gains -0.17.

    One epoch, which takes less time than compiling it with all optimisations would.
    """
    some = FMappo(
        epochs=1,
        episodes_per_epoch=4_000,
        num_steps=50,
        learning_rate=2e-3,
        gamma=0.99,
        gae_lambda=0.95,
    )
    env = Toy(population=6, horizon=3, places=3, seats=1)
    for seed in range(2):
        state = some.init(jax.random.key(seed), env, Objective.direct(env))
        _, log = some.update(state)
        assert float(log["objective"]) > -0.02
