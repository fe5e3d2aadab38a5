"""F-MADDPG: replay, targets and losses, each alone."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from learners import AIMS, BOUNDED, ENV, OWN, learner, pulled, sampled

from fairgym.algorithms.f_maddpg import _read, _stored
from fairgym.core import Entities
from fairgym.policies.networks import Standardiser


@pytest.fixture(scope="module")
def begun():
    """F-MADDPG and its state after one update."""
    ddpg = learner("f-maddpg")
    state = ddpg.init(jax.random.key(0), ENV, BOUNDED)
    return ddpg, ddpg.update(state)[0]


def test_the_buffer_of_f_maddpg_keeps_the_last_steps_in_order(begun):
    """Also after it is full: who is drawn is followed by the next step of the same world."""
    ddpg, state = begun
    seen = set()
    for _ in range(3):
        state, _ = ddpg.update(state)
        assert int(state.buffer.added) > ddpg.places == 12
        step, later = sampled(ddpg, state, jax.random.key(3))
        time, after = (np.asarray(s.observations["level"][2])[..., 0] for s in (step, later))
        ended = np.asarray(step.done)
        assert step.done.shape == (2, 3)
        np.testing.assert_array_equal(ended, time == 4)
        np.testing.assert_array_equal(after, np.where(ended, 0, time + 1))
        seen |= set(time.reshape(-1).tolist())
    assert len(seen) > 2


def test_what_f_maddpg_remembers_is_exact_beside_the_spread():
    """A year is large and hardly varies: it has to be told from the next one."""
    years = np.array([2014.0, 2015.0, 2016.0, 2018.0], np.float32)
    scaling = Standardiser(*(jnp.array([x]) for x in (2016.0, 2.0, 0.0, 1.0)))
    seen = Entities(jnp.array(years)[:, None], jnp.ones(4, bool), jnp.ones(1))
    stored = _stored(seen, scaling)
    assert stored[0].dtype == jnp.bfloat16
    np.testing.assert_allclose(_read(stored, scaling).features[:, 0], years, atol=2.0 / 128)


def test_policies_and_critic_of_f_maddpg_are_pulled_apart(begun):
    """The critic by its error alone; the policies by the critic, not by its error."""
    ddpg, state = begun
    batch = sampled(ddpg, state, jax.random.key(1))

    def losses(learned):
        found = ddpg._loss(learned, state.targets, state, batch)[1]
        return found["value_error"], found["actor_objective"]

    error, value = jax.jit(jax.jacrev(losses))(state.learned)
    size = {
        (name, part): float(sum(np.abs(x).sum() for x in jax.tree.leaves(getattr(pulled, part))))
        for name, pulled in (("error", error), ("value", value))
        for part in ("actors", "critic")
    }
    assert size["error", "actors"] == size["value", "critic"] == 0.0
    assert size["error", "critic"] > 0.0 < size["value", "actors"]


def test_the_target_of_f_maddpg_is_the_bellman_equation(begun):
    """With a critic that says 0 everywhere the error is that of the rewards alone."""
    ddpg, state = begun
    step, later = sampled(ddpg, state, jax.random.key(1))
    level = 0.7
    silent = eqx.tree_at(
        lambda nets: (nets.critic.head.weight, nets.critic.head.bias),
        state.learned,
        (jnp.zeros((3, 4)), jnp.zeros(3)),
    )
    ahead = eqx.tree_at(lambda nets: nets.critic.head.bias, silent, jnp.full(3, level))
    _, found = eqx.filter_jit(ddpg._loss)(silent, ahead, state, (step, later))
    going_on = 1.0 - np.asarray(step.done, float)
    target = np.abs(np.asarray(step.rewards) + 0.99 * going_on[..., None] * level)
    error = np.mean(np.where(target <= 1, 0.5 * target**2, target - 0.5))
    np.testing.assert_allclose(found["value_error"], error, rtol=1e-5)


def test_agents_of_f_maddpg_climb_their_own_values(begun):
    ddpg, state = begun
    batch = sampled(ddpg, state, jax.random.key(1))
    ddpg = learner("f-maddpg", logit_penalty=0.0)
    state = ddpg.init(jax.random.key(0), OWN, AIMS)

    @jax.jit
    @jax.grad
    def gradient(learned, head):
        nets = eqx.tree_at(lambda n: n.critic.head.weight, learned, head)
        return ddpg._loss(nets, state.targets, state, batch)[0]

    for index, agent in enumerate(OWN.agents):
        head = jnp.zeros((3, 4)).at[index].set(1.0)
        assert pulled(gradient(state.learned, head)) == {agent}
