"""The centralised critic."""

import equinox as eqx
import jax
import numpy as np
import pytest
from toys import Toy

from fairgym.algorithms._networks import make_networks
from fairgym.core import Entities


@pytest.mark.parametrize("with_actions", [False, True])
def test_the_critic_does_not_know_an_order_of_people(with_actions):
    env = Toy(population=9, places=5)

    @jax.jit
    def make():
        seen, _ = env.reset(jax.random.key(1), env.default_params)
        return seen, {a: env.action_space(a).sample(jax.random.key(2)) for a in env.agents}

    seen, actions = make()
    nets = make_networks(
        env,
        env.default_params,
        env.agents,
        4,
        6,
        jax.random.key(0),
        values=3,
        with_actions=with_actions,
    )
    generator = np.random.default_rng(3)
    orders = {a: generator.permutation(own.mask.size) for a, own in seen.items()}
    shuffled = {a: jax.jit(Entities.permuted)(own, orders[a]) for a, own in seen.items()}
    moved = actions | {"rank": np.asarray(actions["rank"])[orders["rank"]]}
    present = np.array([1.0, 0.4, 1.0], np.float32)
    critic = eqx.filter_jit(nets.critic)
    if not with_actions:
        values = critic(seen, present), critic(shuffled, present)
    else:
        values = critic(seen, present, actions), critic(shuffled, present, moved)
        for agent in env.agents:
            other = actions | {agent: 1.0 - np.asarray(actions[agent])}
            assert np.abs(critic(seen, present, other) - values[0]).max() > 1e-5, agent
    assert values[0].shape == (3,)
    np.testing.assert_allclose(*values, rtol=1e-5, atol=1e-6)
