"""F-MADDPG: replay, targets and losses, each alone."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from learners import AIMS, OWN, collected, learner, pulled

from fairgym.algorithms.f_maddpg import _read, _stored
from fairgym.core import Entities
from fairgym.policies.networks import Standardiser

NOW, LATER = (lambda x: x[:, :-1]), (lambda x: x[:, 1:])


@pytest.fixture(scope="module")
def begun():
    """F-MADDPG, its state with an objective for each agent, and steps with those after them."""
    ddpg = learner("f-maddpg", num_steps=6, logit_penalty=0.0)
    state = ddpg.init(jax.random.key(0), OWN, AIMS)
    steps = jax.tree.map(np.asarray, collected(ddpg, state, jax.random.key(1)))
    return ddpg, state, tuple(jax.tree.map(part, steps) for part in (NOW, LATER))


def test_what_f_maddpg_remembers_is_exact_beside_the_spread():
    """A year is large and hardly varies: it has to be told from the next one."""
    years = np.array([2014.0, 2015.0, 2016.0, 2018.0], np.float32)
    scaling = Standardiser(*(jnp.array([x]) for x in (2016.0, 2.0, 0.0, 1.0)))
    observation = Entities(jnp.array(years)[:, None], jnp.ones(4, bool), jnp.ones(1))
    stored = _stored(observation, scaling)
    assert stored[0].dtype == jnp.bfloat16
    np.testing.assert_allclose(_read(stored, scaling).features[:, 0], years, atol=2.0 / 128)


@eqx.filter_jit
def gradients(ddpg, trainable, targets, state, batch):
    """The parts of the loss, and the gradients of them and of the whole."""

    def parts(trainable):
        loss, found = ddpg._loss(trainable, targets, state, batch)
        return (found["value_error"], found["actor_objective"], loss), found

    return jax.jacrev(parts, has_aux=True)(trainable)


@pytest.mark.full
def test_policies_and_critic_of_f_maddpg_are_pulled_apart(begun):
    """The critic by its error alone; the policies by the critic, not by its error."""
    ddpg, state, batch = begun
    (error, value, _), _ = gradients(ddpg, state.trainable, state.targets, state, batch)
    size = {
        (name, part): float(sum(np.abs(x).sum() for x in jax.tree.leaves(getattr(pulled, part))))
        for name, pulled in (("error", error), ("value", value))
        for part in ("actors", "critic")
    }
    assert size["error", "actors"] == size["value", "critic"] == 0.0
    assert size["error", "critic"] > 0.0 < size["value", "actors"]


def test_the_target_of_f_maddpg_is_the_bellman_equation(begun):
    """With a critic that says 0 everywhere the error is that of the rewards alone."""
    ddpg, state, (step, later) = begun
    level = 0.7
    silent = eqx.tree_at(
        lambda nets: (nets.critic.head.weight, nets.critic.head.bias),
        state.trainable,
        (np.zeros((3, 4), np.float32), np.zeros(3, np.float32)),
    )
    biased = eqx.tree_at(lambda nets: nets.critic.head.bias, silent, np.full(3, level, np.float32))
    _, found = gradients(ddpg, silent, biased, state, (step, later))
    going_on = 1.0 - np.asarray(step.done, float)
    assert set(going_on.reshape(-1)) == {0.0, 1.0}
    aim = np.asarray(step.rewards) + 0.99 * going_on[..., None] * level
    assert float(found["explained_variance"]) == pytest.approx(0.0, abs=1e-3), "it explains nothing"
    target = np.abs(aim)
    error = np.mean(np.where(target <= 1, 0.5 * target**2, target - 0.5))
    np.testing.assert_allclose(found["value_error"], error, rtol=1e-5)


def test_agents_of_f_maddpg_climb_their_own_values(begun):
    ddpg, state, batch = begun
    for index, agent in enumerate(OWN.agents):
        head = np.zeros((3, 4), np.float32)
        head[index] = 1.0
        nets = eqx.tree_at(lambda n: n.critic.head.weight, state.trainable, head)
        (_, _, whole), _ = gradients(ddpg, nets, state.targets, state, batch)
        assert pulled(whole) == {agent}
