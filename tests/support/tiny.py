"""What tiny environments have in common."""

from functools import cached_property
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from fairgym.core import EntitySpace, Params, require_agent


class Tiny:
    """No numbers to choose, no randomness, and spaces that are made once.

    A subclass writes `_spaces`: what every agent sees, and the actions of each by its name.
    """

    @cached_property
    def _spaces(self) -> tuple[EntitySpace, dict[str, Any]]:
        raise NotImplementedError

    @property
    def default_params(self) -> Params:
        return Params()

    def observation_space(self, agent: str) -> EntitySpace:
        require_agent(self, agent)  # pyright: ignore[reportArgumentType]
        return self._spaces[0]

    def action_space(self, agent: str) -> Any:
        require_agent(self, agent)  # pyright: ignore[reportArgumentType]
        return self._spaces[1][agent]

    def noise(self, key: Array, params: Any) -> Array:
        return jnp.zeros(())
