"""Learners and agents that choose one of the people: who trains them, and who refuses."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.algorithms import algorithms
from fairgym.core import Entities, FairgymError
from fairgym.fairness import Objective
from fairgym.policies import equivariant

SHOP = fairgym.make("doughnut", population=3, horizon=8)
GIVEN = Objective(dict(SHOP.metrics), {"handed_out": 1.0})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("f-maddpg", "F-MADDPG trains agents with continuous actions"),
        ("grid-search", "'server' has discrete actions: give it a fixed policy"),
    ],
)
def test_refusals(name, message):
    with pytest.raises(FairgymError) as error:
        algorithms.get(name)().init(jax.random.key(0), SHOP, GIVEN)
    assert message in str(error.value)


@pytest.mark.full
def test_not_to_waste_is_learned():
    """Somebody is at the counter in 99.2% of the steps; at random a fifth is wasted."""
    learner = algorithms.get("f-mappo")(
        episodes_per_epoch=64,
        num_envs=8,
        num_steps=16,
        hidden=8,
        critic_hidden=8,
        learning_rate=0.02,
        gamma=0.5,
        evaluation_episodes=32,
    )
    state = learner.init(jax.random.key(0), SHOP, GIVEN)
    log = {}
    for _ in range(4):
        state, log = learner.update(state)
    assert float(log["metrics/handed_out"]) > 0.96 * SHOP.horizon
    shares = np.array([float(log[f"actions/server/person_{i}"]) for i in range(3)])
    np.testing.assert_allclose(shares.sum(), 1.0, rtol=1e-5)
    assert "exploration/server" not in log  # choices have no standard deviation


def test_logits_are_equivariant_and_there_is_one_for_each_person():
    policy = equivariant(SHOP, jax.random.key(0), hidden=4, pooled=True)["server"]

    def seen(present):
        return Entities(jnp.array(present)[:, None], jnp.ones(3, bool), jnp.zeros(0))

    logits_of = eqx.filter_jit(policy.logits)
    logits = np.asarray(logits_of(seen([1.0, 0.0, 1.0])))
    assert logits.shape == (3,)
    np.testing.assert_allclose(logits_of(seen([1.0, 1.0, 0.0])), logits[[2, 0, 1]], rtol=1e-6)
    assert int(eqx.filter_jit(policy)(seen([1.0, 0.0, 1.0]), jax.random.key(0))) == int(
        logits.argmax()
    )
