"""A game as pure functions of arrays: what the interfaces of compiled programs share."""

import dataclasses
import functools
import importlib
import math
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Int, PRNGKeyArray, PyTree

from fairgym.adapters._flat import ends_of, names_of, size_of
from fairgym.adapters._game import Play
from fairgym.adapters._padding import Padding
from fairgym.adapters._setting import Setting
from fairgym.core import FairgymError, Params


@dataclasses.dataclass(frozen=True, eq=False)
class Box:
    """Space of numbers between two bounds.

    Attributes:
        low: Lower bound, of all numbers or of each.
        high: Upper bound.
        shape: Shape of an array.
        dtype: Type of its numbers.
    """

    low: float | np.ndarray
    high: float | np.ndarray
    shape: tuple[int, ...]
    dtype: DTypeLike = jnp.float32

    def sample(self, rng: PRNGKeyArray) -> Array:
        """Sample uniformly; a missing bound is one beyond the other one and 0."""
        low = np.where(np.isfinite(self.low), self.low, np.minimum(self.high, 0.0) - 1.0)
        high = np.where(np.isfinite(self.high), self.high, np.maximum(self.low, 0.0) + 1.0)
        return jax.random.uniform(rng, self.shape, self.dtype, low, high)

    def contains(self, x: Array) -> Bool[Array, ""]:
        """Return whether all numbers are within the bounds."""
        return jnp.all((x >= self.low) & (x <= self.high))


@dataclasses.dataclass(frozen=True)
class Discrete:
    """Space of the number of an option.

    Attributes:
        n: Number of options.
    """

    n: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one action: `()`."""
        return ()

    @property
    def dtype(self) -> DTypeLike:
        """Type of an action."""
        return jnp.int32

    def sample(self, rng: PRNGKeyArray) -> Int[Array, ""]:
        """Sample uniformly."""
        return jax.random.randint(rng, (), 0, self.n)

    def contains(self, x: Array) -> Bool[Array, ""]:
        """Return whether there is such an option."""
        return (x >= 0) & (x < self.n)


@dataclasses.dataclass(frozen=True)
class Pure:
    """A game whose observations are vectors and whose steps have their own keys.

    Attributes:
        setting: The game with its parameters and policies.
        padding: Common sizes of observations and actions; None for each agent's own.
    """

    setting: Setting
    padding: Padding | None = None

    def start(self, params: Params, key: PRNGKeyArray) -> Play:
        """Begin an episode."""
        return self.setting.game.start(params, self.setting.policies, key)

    def go_on(
        self, key: PRNGKeyArray, params: Params, play: Play, actions: PyTree
    ) -> tuple[Play, dict[str, Array], Bool[Array, ""]]:
        """Make one step; return the episode, the rewards by agent, and whether it terminated.

        Raises:
            FairgymError: If an action is missing or has the wrong shape, or an agent does not play.
        """
        taken = self._taken(actions)
        policy_key, noise_key = jax.random.split(key)
        play = play.replace(policy_key=policy_key, noise_key=noise_key)
        game = self.setting.game
        play, rewards, terminated = game.go_on(params, self.setting.policies, play, taken)
        return play, dict(zip(game.agents, rewards, strict=True)), terminated

    def observations(self, params: Params, play: Play) -> dict[str, Array]:
        """Return each playing agent's observation."""
        shown = self.setting.game.show(params, play)
        flat = {
            agent: jnp.concatenate([part.reshape(-1) for part in parts.values()])
            for agent, parts in shown.items()
        }
        if self.padding is None:
            return flat
        return {agent: self.padding.observation(agent, one) for agent, one in flat.items()}

    def metrics(self, params: Params, play: Play) -> dict[str, Array]:
        """Return every metric of the episode so far, 0 where it is undefined."""
        found = self.setting.game.measured(params, play)
        return {name: jnp.where(defined, value, 0.0) for name, (value, defined) in found.items()}

    @functools.cached_property
    def observation_names(self) -> dict[str, tuple[str, ...]]:
        """Names of the numbers of each agent's observation."""
        if self.padding is not None:
            return self.padding.names
        game = self.setting.game
        return {agent: names_of(game.env.observation_space(agent)) for agent in game.agents}

    def observation_space(self, agent: str, box: type[Any]) -> Any:
        """Return the space of an agent's observations, as a box of some class."""
        scaled = self.setting.game.observed == "scaled"
        if self.padding is not None:
            return box(*self.padding.ends(scaled=scaled), (self.padding.observation_size,))
        space = self.setting.game.env.observation_space(agent)
        return box(*ends_of(space, scaled=scaled), (size_of(space),))

    def action_space(self, agent: str, box: type[Any], discrete: type[Any]) -> Any:
        """Return the space of an agent's actions, of one of two classes."""
        space = self.setting.game.env.action_space(agent)
        if space.discrete:
            return discrete(self.padding.action_size if self.padding else len(space.elements))
        return box(0.0, 1.0, self._shape(agent))

    def _shape(self, agent: str) -> tuple[int, ...]:
        """Shape of an agent's action."""
        space = self.setting.game.env.action_space(agent)
        return (
            space.shape if self.padding is None or space.discrete else (self.padding.action_size,)
        )

    def _taken(self, actions: PyTree) -> dict[str, Array]:
        """Return the playing agents' own actions in their shapes, after checking them."""
        agents = self.setting.game.agents
        if not isinstance(actions, Mapping):
            raise FairgymError(
                f"actions must have one array for each of {', '.join(agents)}, got"
                f" {type(actions).__name__}"
            )
        for agent in actions:
            if agent not in agents:
                raise FairgymError(
                    f"actions has {agent!r}, which does not play; the playing agents are:"
                    f" {', '.join(agents)}"
                )
        return {agent: self._own(agent, actions) for agent in agents}

    def _own(self, agent: str, actions: PyTree) -> Array:
        """Return an agent's own action; one number is taken in any shape."""
        if agent not in actions:
            raise FairgymError(f"no action for {agent!r}; give one for each agent")
        action, shape = jnp.asarray(actions[agent]), self._shape(agent)
        if action.size == math.prod(shape) == 1:
            action = action.reshape(shape)
        if action.shape != shape:
            space = self.setting.game.env.action_space(agent)
            takes = space.takes if shape == space.shape else f"{shape[0]} numbers in [0, 1]"
            raise FairgymError(
                f"the action of {agent!r} must be {takes}, got an array of shape {action.shape};"
                " use jax.vmap for several episodes"
            )
        return action if self.padding is None else self.padding.action(agent, action)


def typed(key: PRNGKeyArray) -> PRNGKeyArray:
    """Return a new-style key from a key of either style."""
    return key if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else jax.random.wrap_key_data(key)


def installed(module: str) -> ModuleType | None:
    """Return a module of an optional package, or None if it cannot be imported."""
    try:
        return importlib.import_module(module)
    except Exception:  # an installation that is broken is none
        return None
