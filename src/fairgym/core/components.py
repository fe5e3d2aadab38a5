"""Components, the counts and sums that a step emits, and memories, which are folded over them.

An environment never computes a rate, a reward or a disparity. It counts; `fairgym.fairness`
turns sums of these counts into measures.
"""

import dataclasses
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from fairgym.core.struct import Struct


@dataclasses.dataclass(frozen=True)
class ComponentInfo:
    """Meaning of one component.

    Attributes:
        description: meaning in plain words.
        unit: "people", "thousand dollars", ...
        symbol: the symbol in the source.
        used_by: agents whose reward or fairness function it belongs to; empty means all.
        per: "" for one number, otherwise the axis, or axes, with an entry for each of its things
            ("group", "region"); see `EnvironmentSpec.axes`.
        nonnegative: True if it can never be below zero.
        level: True for a state that is counted at every step, such as people insured: divided by
            the number of steps, its sum is a mean in the unit. False for events.
    """

    description: str
    unit: str
    symbol: str = ""
    used_by: tuple[str, ...] = ()
    per: str | tuple[str, ...] = ""
    nonnegative: bool = True
    level: bool = False

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the axes of the array, in order."""
        return (self.per,) if isinstance(self.per, str) and self.per else tuple(self.per)


def component(
    description: str,
    *,
    unit: str,
    symbol: str = "",
    used_by: tuple[str, ...] = (),
    per: str | tuple[str, ...] = "",
    nonnegative: bool = True,
    level: bool = False,
) -> Any:
    """Declare a field of a `Components` struct with its meaning."""
    info = ComponentInfo(description, unit, symbol, used_by, per, nonnegative, level)
    return eqx.field(metadata={"component": info})


class Components(Struct):
    """Base of the component structs: float32 fields, scalar or with the declared axes."""

    @classmethod
    def info(cls) -> dict[str, ComponentInfo]:
        """Meaning of each field, by name."""
        return {
            field.name: field.metadata["component"]
            for field in dataclasses.fields(cls)
            if "component" in field.metadata
        }


def add_compensated(total: Any, lost: Any, value: Any) -> tuple[Any, Any]:
    """Neumaier summation, leaf by leaf: `total + lost` is the exact sum to about 48 bits.

    Args:
        total: running sums, float32.
        lost: rounding errors so far.
        value: summand.

    Returns:
        The new `(total, lost)`. A plain float32 sum would lose people beyond 2^24.
    """

    def one(s: jax.Array, c: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        t = s + x
        c = c + jnp.where(jnp.abs(s) >= jnp.abs(x), (s - t) + x, (x - t) + s)
        return t, c

    leaves, treedef = jax.tree.flatten(total)
    pairs = [
        one(s, c, x)
        for s, c, x in zip(leaves, jax.tree.leaves(lost), jax.tree.leaves(value), strict=True)
    ]
    return (
        jax.tree.unflatten(treedef, [p[0] for p in pairs]),
        jax.tree.unflatten(treedef, [p[1] for p in pairs]),
    )


@runtime_checkable
class Counts(Protocol):
    """Anything with components as attributes: `Components`, sums of them, a namespace in a test."""

    def __getattribute__(self, name: str, /) -> Array:
        """Return a component by its name."""
        ...


@runtime_checkable
class Memory(Protocol):
    """A memory (M, m_init, mu) of an episode (Alamdari et al. 2024, definition 5.2).

    mu takes the components of a step, which are a function of (s, a, s'), in place of (a, s').

    A frozen, hashable object whose methods are pure and of JAX operations only. The memory that it
    hands out is a pytree of arrays, whose shapes and types no update changes.

    Examples:
        >>> import dataclasses, fairgym, jax
        >>> from fairgym.policies import fixed_policies
        >>> @dataclasses.dataclass(frozen=True)
        ... class MostAtOnce:
        ...     def initial(self, like):
        ...         return like.applied.max()
        ...
        ...     def update(self, memory, components):
        ...         return jax.numpy.maximum(memory, components.applied.max())
        >>> env = fairgym.make("loan_simple", population=100, horizon=3)
        >>> policies = fixed_policies(env, dict.fromkeys(env.agents, "random"))
        >>> episode = fairgym.rollout(
        ...     env,
        ...     env.default_params,
        ...     policies,
        ...     jax.random.key(0),
        ...     trace=True,
        ...     memories={"most": MostAtOnce()},
        ... )
        >>> bool(episode.memories["most"] == episode.trace.applied.max() > 0)
        True
    """

    def initial(self, like: Components) -> Any:
        """The memory m_init at the start of an episode.

        Args:
            like: components of the right shapes, all zero.
        """
        ...

    def update(self, memory: Any, components: Components) -> Any:
        """The memory mu(m, ...) after a step with these components."""
        ...


def no_components(env: Any, params: Any) -> Any:
    """Components of nothing, all zero, in the shapes that the environment emits.

    Nothing is computed: shapes are those of an abstract step.

    Args:
        env: an environment.
        params: as `env.default_params`.
    """

    def step(key: Any) -> Any:
        actions = {agent: env.action_space(agent).sample(key) for agent in env.agents}
        return env.advance(key, env.initial_state(key, params), actions, params)[1]

    shapes = jax.eval_shape(step, jax.random.key(0))
    return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
