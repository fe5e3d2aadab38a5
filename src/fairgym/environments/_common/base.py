"""Base classes of the systems: spaces by agent, parameters of people, normalisers of profit."""

from typing import Any, NamedTuple

from fairgym.core import ActionSpace, EntitySpace, Environment, Params, param, require_agent


class SpacesByAgent(Environment):
    """An environment that caches its observation and action spaces in mappings by agent."""

    _observation_spaces: Any
    _action_spaces: Any

    def observation_space(self, agent: str) -> EntitySpace:
        """Return the space of the agent's observations."""
        return self._observation_spaces[require_agent(self, agent)]

    def action_space(self, agent: str) -> ActionSpace:
        """Return the space of the agent's actions."""
        return self._action_spaces[require_agent(self, agent)]


class SampledParams(Params):
    """Parameters of every environment whose people are sampled from data."""

    bias_strength: float = param(
        0.0,
        "Bias strength s, which sets the groups' core attributes apart at the start: people are"
        " resampled with weights exp(s d z), d from 1 (best group) to -1 (worst).",
        low=-10.0,
        high=10.0,
    )


class PublishedProfit(NamedTuple):
    """A published normaliser of profit and the size of the system that it belongs to.

    The size is inferred: MAFE's table 8 prints bare numbers.
    """

    amount: float
    population: int
    horizon: int

    def at(self, population: int, horizon: int) -> float:
        """Return the normaliser for other numbers of people and steps, in proportion to both."""
        return self.amount * (population / self.population) * (horizon / self.horizon)
