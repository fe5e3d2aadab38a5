"""Batches of episodes, distributed over devices."""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

from fairgym.core.environment import Environment, PopulationEnvironment

T = TypeVar("T")
FEW = 36  # people (the karate club) up to which episodes are also vmapped on a CPU
TOGETHER = 512  # episodes per vmap in that case


def map_episodes(
    function: Callable[[PyTree], T],
    items: PyTree,
    vmap_size: int | None = None,
    *,
    env: Environment | None = None,
) -> T:
    """Apply `function` to each entry along the first axis of `items` and stack the results.

    The entries are split over all local devices; each device processes its share in batches.
    Pure; call it inside jit.

    Args:
        function: A pure function of one entry, such as one episode.
        items: A pytree whose leaves have equal first axes.
        vmap_size: Number of entries per vmap. None means 1 on a CPU, where sequential episodes stay
            in the cache and stop when they end, and all entries elsewhere.
        env: The environment of the episodes. With few people, None means 512 on a CPU, where the
            overhead of a step takes longer than the step itself.
    """
    count = jax.tree.leaves(items)[0].shape[0]
    devices = jax.local_device_count() if count > 1 else 1
    share = -(-count // devices)
    if vmap_size is None:
        few = env is not None and _rows(env) <= FEW
        vmap_size = share if jax.default_backend() != "cpu" else TOGETHER if few else 1
    vmap_size = max(1, min(vmap_size, share))

    def run(items: PyTree) -> T:
        if vmap_size == share and share > 1:
            return jax.vmap(function)(items)
        if vmap_size == 1:
            return jax.lax.map(function, items)
        return _in_batches(function, items, vmap_size)

    if devices == 1:
        return run(items)
    # Use all devices even if their number does not divide the entries: a program cannot mix arrays
    # on some devices with arrays on all. Repeats of the last entry pad the batch.
    places = jnp.minimum(jnp.arange(share * devices), count - 1)
    whole = items if share * devices == count else jax.tree.map(lambda x: x[places], items)
    spec = PartitionSpec("episodes")
    mesh = episode_mesh()
    found = jax.shard_map(run, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)(whole)
    return found if share * devices == count else jax.tree.map(lambda x: x[:count], found)


def _in_batches(function: Callable[[PyTree], T], items: PyTree, size: int) -> T:
    """Replace `jax.lax.map` with `batch_size`, which fails for results with an empty array.

    Args:
        function: A function of one entry.
        items: At least `size` entries.
        size: Number of entries per vmap.
    """
    count = jax.tree.leaves(items)[0].shape[0]
    whole = count // size * size
    batches = jax.tree.map(lambda x: x[:whole].reshape(whole // size, size, *x.shape[1:]), items)
    found = jax.lax.map(jax.vmap(function), batches)
    found = jax.tree.map(lambda x: x.reshape(whole, *x.shape[2:]), found)
    if whole == count:
        return found
    rest = jax.vmap(function)(jax.tree.map(lambda x: x[whole:], items))
    return jax.tree.map(lambda x, y: jax.lax.concatenate([x, y], dimension=0), found, rest)


def _rows(env: Environment) -> int:
    """Return the number of people, or the largest number of observed rows."""
    if isinstance(env, PopulationEnvironment):
        return env.population
    return max(env.observation_space(agent).capacity for agent in env.agents)


def replicated(tree: T) -> T:
    """Put the arrays of a pytree on all local devices, where `map_episodes` leaves its results.

    A compiled program depends on the devices of its arguments. With this, the first call and later
    ones share one program.
    """
    sharding = NamedSharding(episode_mesh(), PartitionSpec())
    return jax.tree.map(
        lambda x: jax.device_put(x, sharding) if isinstance(x, jax.Array) else x, tree
    )


def episode_mesh() -> Mesh:
    """Return a mesh of all local devices in one dimension."""
    devices = jax.local_devices()
    return jax.make_mesh((len(devices),), ("episodes",), (AxisType.Auto,), devices=devices)
