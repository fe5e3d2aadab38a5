"""Running many episodes at once: how they are spread over devices and batched on each."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import jax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

T = TypeVar("T")


def map_episodes(function: Callable[[Any], T], items: Any, batch_size: int | None = None) -> T:
    """Apply `function` to each entry along the first axis of `items` and stack the results.

    The entries are split evenly over all local devices; each device works through its share in
    batches. Pure; meant to be called inside jit.

    Args:
        function: a pure function of one entry, such as one episode.
        items: a pytree whose leaves have equal first axes.
        batch_size: how many entries are vmapped together. None: 1 on a CPU, where episodes that
            run one after another stay in the cache and stop when they end, and everything at
            once elsewhere.
    """
    count = jax.tree.leaves(items)[0].shape[0]
    devices = episode_mesh(count).size
    share = count // devices
    if batch_size is None:
        batch_size = 1 if jax.default_backend() == "cpu" else share
    batch_size = max(1, min(batch_size, share))

    def run(items: Any) -> T:
        if batch_size == share and share > 1:
            return jax.vmap(function)(items)
        return jax.lax.map(function, items, batch_size=batch_size if batch_size > 1 else None)

    if devices == 1:
        return run(items)
    spec = PartitionSpec("episodes")
    mesh = episode_mesh(count)
    return jax.shard_map(run, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)(items)


def replicated(tree: T) -> T:
    """Put the arrays of a pytree on all local devices, where `map_episodes` leaves its results.

    A compiled program is tied to where its arguments lie: a state that always lies on all devices
    is compiled for once.
    """
    sharding = NamedSharding(episode_mesh(jax.local_device_count()), PartitionSpec())
    return jax.tree.map(
        lambda x: jax.device_put(x, sharding) if isinstance(x, jax.Array) else x, tree
    )


def episode_mesh(count: int) -> Mesh:
    """The devices that `count` episodes are spread over: as many as divide them evenly."""
    devices = math.gcd(jax.local_device_count(), count) if count else 1
    return jax.make_mesh(
        (devices,), ("episodes",), (AxisType.Auto,), devices=jax.local_devices()[:devices]
    )
