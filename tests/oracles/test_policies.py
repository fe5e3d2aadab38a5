"""The two-layer policies of the benchmark are the networks that they stand for."""

import jax
import jax.numpy as jnp
import numpy as np
import numpy_policies
import pytest

import fairgym
from fairgym.policies import equivariant


@pytest.mark.parametrize("name", [pytest.param("loan", marks=pytest.mark.full), "education"])
def test_the_networks_are_the_same(name):
    """One number per person and short vectors by pooling (loan), and shares (education)."""
    env = fairgym.make(name, population=60)
    state = jax.jit(env.initial_state)(jax.random.key(0), env.default_params)
    state = state.replace(stage=jnp.asarray(np.arange(60, dtype=np.int32) % 3))
    seen = jax.jit(env.observe)(state, env.default_params)
    policies, key = equivariant(env, jax.random.key(1)), jax.random.key(0)
    actions = jax.jit(lambda seen: {a: p(seen[a], key) for a, p in policies.items()})(seen)
    for agent, policy in policies.items():
        mask, action = np.asarray(seen[agent].mask), np.asarray(actions[agent])
        theirs = numpy_policies.TwoLayer(policy)(
            np.asarray(seen[agent].features)[mask], np.asarray(seen[agent].context)
        )
        per_person = env.action_space(agent).per_entity
        np.testing.assert_allclose(action[mask] if per_person else action, theirs, atol=2e-5)
