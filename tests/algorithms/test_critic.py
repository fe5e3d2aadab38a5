"""The centralised critic."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fairgym.algorithms._networks import make_networks
from fairgym.testing.toys import Toy


@pytest.mark.parametrize("with_actions", [False, True])
def test_the_critic_does_not_know_an_order_of_people(with_actions):
    env = Toy(population=9, places=5)
    nets = make_networks(
        env,
        env.default_params,
        env.agents,
        4,
        6,
        jax.random.key(0),
        with_actions=with_actions,
    )
    seen, _ = env.reset(jax.random.key(1), env.default_params)
    actions = {a: env.action_space(a).sample(jax.random.key(2)) for a in env.agents}
    orders = {a: jax.random.permutation(jax.random.key(3), s.mask.size) for a, s in seen.items()}
    shuffled = {a: s.permuted(orders[a]) for a, s in seen.items()}
    moved = actions | {"rank": actions["rank"][orders["rank"]]}
    present = jnp.array([1.0, 0.4, 1.0])
    if not with_actions:
        values = nets.critic(seen, present), nets.critic(shuffled, present)
    else:
        values = nets.critic(seen, present, actions), nets.critic(shuffled, present, moved)
        for agent in env.agents:
            other = actions | {agent: 1.0 - actions[agent]}
            assert np.abs(nets.critic(seen, present, other) - values[0]).max() > 1e-5, agent
    assert values[0].shape == (3,)
    np.testing.assert_allclose(*values, rtol=1e-5, atol=1e-6)
