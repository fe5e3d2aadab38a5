"""The replay buffer against a list of rows."""

import jax
import jax.numpy as jnp
import numpy as np

from fairgym.algorithms import ReplayBuffer

WORLDS, PLACES, STEPS = 3, 8, 4


def rows(begin):
    """Numbered steps: the world in the hundreds, the step below."""
    step = jnp.arange(begin, begin + STEPS)[None]
    number = 100 * jnp.arange(WORLDS)[:, None] + step
    return {"number": number, "wide": jnp.stack([number, -number], axis=-1).astype(jnp.float32)}


def test_a_ring_keeps_the_last_rows_of_every_world():
    like = jax.eval_shape(lambda: jax.tree.map(lambda x: x[0, 0], rows(0)))
    buffer = ReplayBuffer.empty(like, WORLDS, PLACES)
    assert (buffer.worlds, buffer.places, int(buffer.held)) == (WORLDS, PLACES, 0)
    assert not buffer.filled.any() and buffer.rows["wide"].shape == (WORLDS, PLACES, 2)
    add = jax.jit(lambda buffer, new: buffer.add(new))
    for begin in range(0, 6 * STEPS, STEPS):
        buffer = add(buffer, rows(begin))
        end = begin + STEPS
        kept = np.arange(max(0, end - PLACES), end)
        assert int(buffer.added) == end and int(buffer.held) == len(kept)
        assert int(buffer.filled.sum()) == len(kept)
        for world in range(WORLDS):
            held = np.asarray(buffer.rows["number"][world])[np.asarray(buffer.filled)]
            assert sorted(held) == list(100 * world + kept)
        samples, following = buffer.sample(jax.random.key(begin), 50)
        step = np.asarray(samples["number"]) - 100 * np.arange(WORLDS)[:, None]
        assert step.shape == (WORLDS, 50)
        assert set(step.reshape(-1)) == set(kept[:-1]), "the newest has no successor yet"
        np.testing.assert_array_equal(following["number"], samples["number"] + 1)
        np.testing.assert_array_equal(following["wide"][..., 1], -following["wide"][..., 0])
