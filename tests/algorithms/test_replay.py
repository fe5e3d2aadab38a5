"""The replay buffer against a list of rows."""

import jax
import jax.numpy as jnp
import numpy as np

from fairgym.algorithms import ReplayBuffer

ENVS, PLACES, STEPS = 3, 8, 4


def rows(begin):
    """Numbered steps: the environment in the hundreds, the step below."""
    step = jnp.arange(begin, begin + STEPS)[None]
    number = 100 * jnp.arange(ENVS)[:, None] + step
    return {"number": number, "wide": jnp.stack([number, -number], axis=-1).astype(jnp.float32)}


def test_a_ring_keeps_the_last_rows_of_every_environment():
    like = jax.eval_shape(lambda: jax.tree.map(lambda x: x[0, 0], rows(0)))
    buffer = ReplayBuffer.empty(like, ENVS, PLACES)
    assert (buffer.envs, buffer.places, int(buffer.held)) == (ENVS, PLACES, 0)
    assert not buffer.filled.any() and buffer.rows["wide"].shape == (ENVS, PLACES, 2)
    add = jax.jit(lambda buffer, new: buffer.add(new))
    for begin in range(0, 6 * STEPS, STEPS):
        buffer = add(buffer, rows(begin))
        end = begin + STEPS
        kept = np.arange(max(0, end - PLACES), end)
        assert int(buffer.added) == end and int(buffer.held) == len(kept)
        assert int(buffer.filled.sum()) == len(kept)
        for env in range(ENVS):
            held = np.asarray(buffer.rows["number"][env])[np.asarray(buffer.filled)]
            assert sorted(held) == list(100 * env + kept)
        samples, following = buffer.sample(jax.random.key(begin), 50)
        step = np.asarray(samples["number"]) - 100 * np.arange(ENVS)[:, None]
        assert step.shape == (ENVS, 50)
        assert set(step.reshape(-1)) == set(kept[:-1]), "the newest has no successor yet"
        np.testing.assert_array_equal(following["number"], samples["number"] + 1)
        np.testing.assert_array_equal(following["wide"][..., 1], -following["wide"][..., 0])
