"""Many episodes at once, spread over devices and batched on each."""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

from fairgym.core.environment import Environment, PopulationEnvironment

T = TypeVar("T")
FEW = 36  # people (the karate club), up to which episodes are vmapped on a CPU as well
TOGETHER = 512  # episodes, then


def map_episodes(
    function: Callable[[PyTree], T],
    items: PyTree,
    vmap_size: int | None = None,
    *,
    env: Environment | None = None,
) -> T:
    """Apply `function` to each entry along the first axis of `items` and stack the results.

    The entries are split over all local devices; each device works through its share in batches.
    Pure; meant to be called inside jit.

    Args:
        function: A pure function of one entry, such as one episode.
        items: A pytree whose leaves have equal first axes.
        vmap_size: Number of entries that are vmapped together. None: 1 on a CPU, where episodes
            that run one after another stay in the cache and stop when they end, and everything
            at once elsewhere.
        env: The environment of the episodes; with few people in it None means 512 on a CPU, where
            what surrounds a step takes longer than the step itself.
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
    # All devices, also where they do not divide the entries: a program cannot mix arrays that lie
    # on some of them with arrays that lie on all. The last entry fills up, and is cut off again.
    places = jnp.minimum(jnp.arange(share * devices), count - 1)
    whole = items if share * devices == count else jax.tree.map(lambda x: x[places], items)
    spec = PartitionSpec("episodes")
    mesh = episode_mesh()
    found = jax.shard_map(run, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)(whole)
    return found if share * devices == count else jax.tree.map(lambda x: x[:count], found)


def _in_batches(function: Callable[[PyTree], T], items: PyTree, size: int) -> T:
    """`jax.lax.map` with a `batch_size`, which fails where an entry's result has an empty array.

    Args:
        function: A function of one entry.
        items: At least `size` entries.
        size: Number of entries that are vmapped together.
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
    """Number of people, or of rows that the agents see at most."""
    if isinstance(env, PopulationEnvironment):
        return env.population
    return max(env.observation_space(agent).capacity for agent in env.agents)


def replicated(tree: T) -> T:
    """Put the arrays of a pytree on all local devices, where `map_episodes` leaves its results.

    A compiled program is tied to where its arguments lie: a state that always lies on all devices
    is compiled for once.
    """
    sharding = NamedSharding(episode_mesh(), PartitionSpec())
    return jax.tree.map(
        lambda x: jax.device_put(x, sharding) if isinstance(x, jax.Array) else x, tree
    )


def episode_mesh() -> Mesh:
    """All local devices in a row."""
    devices = jax.local_devices()
    return jax.make_mesh((len(devices),), ("episodes",), (AxisType.Auto,), devices=devices)
