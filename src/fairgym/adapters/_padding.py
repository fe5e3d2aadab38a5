"""Observations and actions of one size for all agents, for networks that agents share."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np

from fairgym.adapters._flat import Ends, ends_of, names_of, size_of
from fairgym.core import ActionSpace, EntitySpace, Environment, FairgymError
from fairgym.core.spaces import Numbers


@dataclasses.dataclass(frozen=True)
class Padding:
    """Sizes of the largest agent for everybody, and which agent it is.

    A padded observation is the agent's own vector, zeros up to the longest one, and then one number
    per agent, which is 1 for the agent itself. A padded action is the agent's own action, followed
    by numbers that are ignored. So number i of an action concerns the same row as before. If
    actions are options, those beyond an agent's own count as its last one.

    Methods take NumPy arrays, JAX arrays and tracers, and return the same kind.

    Attributes:
        agents: Names of the agents, in the order of the one-hot code.
        observed: Space of each agent's observations.
        acted: Space of each agent's actions.

    Raises:
        FairgymError: If some agents choose an option and others give numbers.
    """

    agents: tuple[str, ...]
    observed: tuple[EntitySpace, ...]
    acted: tuple[ActionSpace, ...]

    @classmethod
    def of(cls, env: Environment, agents: Sequence[str]) -> "Padding":
        """Return the padding of some agents of an environment."""
        return cls(
            tuple(agents),
            tuple(env.observation_space(agent) for agent in agents),
            tuple(env.action_space(agent) for agent in agents),
        )

    def __post_init__(self) -> None:
        """Check that one action space serves everybody."""
        choosing = [a for a, space in zip(self.agents, self.acted, strict=True) if space.discrete]
        if choosing and len(choosing) < len(self.agents):
            other = next(agent for agent in self.agents if agent not in choosing)
            raise FairgymError(
                "padded needs agents whose actions are all numbers or all options, but"
                f" {choosing[0]!r} chooses an option and {other!r} gives numbers; fix one of them"
            )

    @property
    def discrete(self) -> bool:
        """Whether actions are options."""
        return self.acted[0].discrete

    @functools.cached_property
    def observation_size(self) -> int:
        """Length of a padded observation."""
        return max(size_of(space) for space in self.observed) + len(self.agents)

    @functools.cached_property
    def action_size(self) -> int:
        """Length of a padded action, or its number of options."""
        return max(self._sizes.values())

    @functools.cached_property
    def names(self) -> dict[str, tuple[str, ...]]:
        """Names of the numbers of each agent's padded observation.

        Those of the one-hot code are "is:AGENT", and those of the zeros before it "".
        """
        code = tuple(f"is:{agent}" for agent in self.agents)
        own = {a: names_of(space) for a, space in zip(self.agents, self.observed, strict=True)}
        most = self.observation_size - len(self.agents)
        return {a: (*names, *[""] * (most - len(names)), *code) for a, names in own.items()}

    @functools.cached_property
    def tails(self) -> dict[str, np.ndarray]:
        """What follows each agent's own observation: zeros and its one-hot code, float32."""
        code, most = np.eye(len(self.agents)), self.observation_size - len(self.agents)
        return {
            agent: np.concatenate([np.zeros(most - size_of(space)), own]).astype(np.float32)
            for agent, space, own in zip(self.agents, self.observed, code, strict=True)
        }

    def ends(self, *, scaled: bool = False) -> Ends:
        """Return the lowest and the highest value of each number in any agent's observation."""
        most = self.observation_size - len(self.agents)
        own = [ends_of(space, scaled=scaled) for space in self.observed]
        low, high = (
            np.stack([np.pad(ends[side], (0, most - len(ends[side]))) for ends in own])
            for side in (0, 1)
        )
        code = np.ones(len(self.agents), np.float32)
        return np.concatenate([low.min(0), 0.0 * code]), np.concatenate([high.max(0), code])

    def observation(self, agent: str, flat: Numbers) -> Numbers:
        """Return an agent's padded observation.

        Args:
            agent: Name of the agent.
            flat: Its observation as one vector.
        """
        both = (flat, self.tails[agent])
        joined = jnp.concatenate(both) if isinstance(flat, jax.Array) else np.concatenate(both)
        return cast(Numbers, joined)

    def action(self, agent: str, flat: Numbers) -> Numbers:
        """Return an agent's own action.

        Args:
            agent: Name of the agent.
            flat: A padded action: `action_size` numbers, or the number of an option.
        """
        size = self._sizes[agent]
        if not self.discrete:
            return cast(Numbers, flat[:size])
        if isinstance(flat, jax.Array):
            return cast(Numbers, jnp.minimum(flat, size - 1))
        return cast(Numbers, np.asarray(np.minimum(flat, size - 1)))

    @functools.cached_property
    def _sizes(self) -> dict[str, int]:
        """Length of each agent's own action, or its number of options."""
        spaces = zip(self.agents, self.acted, strict=True)
        return {a: len(s.elements) if s.discrete else s.shape[0] for a, s in spaces}
