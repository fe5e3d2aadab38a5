"""Memories: what is remembered of an episode, folded over the components of its steps.

Components are the one record of a step. A memory runs over them wherever they are: in a rollout,
in a learner's loop, along a stored trace, over a table of logged decisions.
"""

from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp

from fairgym.core.components import Components


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


__all__ = ["Memory", "no_components"]
