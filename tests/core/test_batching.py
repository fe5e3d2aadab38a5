"""Episodes spread over devices and in batches: always the same episodes."""

import functools
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.core.batching import map_episodes, replicated


def episode(item):
    """Something with a loop of data-dependent length, as an episode has."""
    start, key = item
    noise = jax.random.normal(key, (4,))

    def body(carry):
        step, x = carry
        return step + 1, jnp.tanh(x @ jnp.outer(noise, noise) + start)

    steps, x = jax.lax.while_loop(
        lambda c: (c[0] < 12) & (jnp.max(c[1]) < 0.97), body, (0, jnp.zeros(4))
    )
    return {"x": x, "steps": steps}


def items(count):
    return jnp.linspace(-1.0, 2.0, count), jax.random.split(jax.random.key(0), count)


@functools.cache
def results(count, vmap_size, devices):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax, "local_device_count", lambda: devices)
        # a function of its own: the number of devices is no argument of the compiled program
        return jax.jit(lambda i: map_episodes(episode, i, vmap_size))(items(count))


def test_two_devices_are_there():
    """The tests ask for two CPU devices before JAX starts (`tests/conftest.py`)."""
    assert jax.local_device_count() == 2


COUNT = 6
LOOP = [jax.jit(episode)(jax.tree.map(lambda x, i=i: x[i], items(COUNT))) for i in range(COUNT)]


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("vmap_size", [None, 1, 2, 3, 100])
def test_every_vmap_size_and_number_of_devices(devices, vmap_size):
    found = results(COUNT, vmap_size, devices)
    expected = jax.tree.map(lambda *x: np.stack(x), *LOOP)
    assert found["steps"].tolist() == expected["steps"].tolist()
    assert len(set(found["steps"].tolist())) > 1
    np.testing.assert_allclose(found["x"], expected["x"], rtol=1e-5)
    reference = results(COUNT, 1, 1)
    if vmap_size in (None, 1):  # on a CPU None is one after another
        assert np.asarray(found["x"]).tobytes() == np.asarray(reference["x"]).tobytes()


def test_a_count_that_the_devices_do_not_divide():
    found = results(5, None, 2)
    assert found["x"].shape == (5, 4)
    expected = jax.jit(episode)(jax.tree.map(lambda x: x[4], items(5)))
    np.testing.assert_allclose(found["x"][4], expected["x"], rtol=1e-5)


def test_a_single_episode():
    assert results(1, None, 2)["x"].shape == (1, 4)


@pytest.mark.parametrize(("count", "vmap_size"), [(6, 2), (5, 3)])
def test_batches_on_one_device_are_those_of_jax(count, vmap_size):
    """The same bits as with `jax.lax.map`."""
    known = jax.jit(lambda i: jax.lax.map(episode, i, batch_size=vmap_size))(items(count))
    found = results(count, vmap_size, 1)
    assert np.asarray(found["x"]).tobytes() == np.asarray(known["x"]).tobytes()
    assert found["steps"].tolist() == known["steps"].tolist()


@pytest.mark.parametrize("devices", [1, 2])
def test_results_may_have_empty_arrays(devices, monkeypatch):
    monkeypatch.setattr(jax, "local_device_count", lambda: devices)
    given = {"empty": jnp.zeros((7, 0)), "number": jnp.arange(7)}
    found = jax.jit(lambda i: map_episodes(lambda one: one, i, 3))(given)
    assert found["empty"].shape == (7, 0) and found["number"].tolist() == list(range(7))


def test_two_devices_share_the_work():
    found = results(COUNT, 1, 2)
    assert len(found["x"].sharding.device_set) == 2


@pytest.mark.full
def test_any_number_of_devices_goes_with_a_state_on_all_of_them():
    """In a process of its own: entries that the devices do not divide, and a replicated state.

    With the partitioner that users have, too.
    """
    code = """
import jax, jax.numpy as jnp
jax.config.update("jax_num_cpu_devices", 3)
from fairgym.core.batching import map_episodes, replicated
assert jax.local_device_count() == 3
state = replicated(jnp.float32(3.0))
for count in (1, 2, 4, 10, 16):
    items = jnp.arange(float(count))
    found = jax.jit(lambda s, i: (s + map_episodes(lambda x: s * x, i), s))(state, items)[0]
    assert found.tolist() == [3.0 + 3.0 * i for i in range(count)], (count, found)
    again = jax.jit(lambda s, f: s + f)(state, found)
    assert again.shape == (count,)
"""
    users = {k: v for k, v in os.environ.items() if k != "JAX_USE_SHARDY_PARTITIONER"}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, env=users)


def test_replicated_puts_arrays_on_all_devices_and_leaves_the_rest():
    tree = replicated({"a": jnp.ones(3), "b": "word", "c": None})
    assert tree["a"].sharding.is_fully_replicated and len(tree["a"].devices()) == 2
    assert tree["b"] == "word" and tree["c"] is None


@pytest.mark.parametrize(
    ("name", "people", "one_by_one"),
    [("doughnut", 3, False), ("loan_simple", 60, True), ("loan", 60, True)],
)
def test_on_a_cpu_episodes_of_few_people_are_vmapped(name, people, one_by_one):
    env = fairgym.make(name, population=people, horizon=2)
    program = jax.make_jaxpr(lambda i: map_episodes(jnp.sin, i, env=env))(jnp.zeros(4))
    assert ("scan" in str(program)) == one_by_one
