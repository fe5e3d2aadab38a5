"""Spaces that a system declares by agent."""

from typing import Any

from fairgym.core import ActionSpace, EntitySpace, Environment, require_agent


class SpacesByAgent(Environment):
    """An environment with a mapping from agents to spaces for each of the two kinds, cached."""

    _observation_spaces: Any
    _action_spaces: Any

    def observation_space(self, agent: str) -> EntitySpace:
        """Space of the agent's observations."""
        return self._observation_spaces[require_agent(self, agent)]

    def action_space(self, agent: str) -> ActionSpace:
        """Space of the agent's actions."""
        return self._action_spaces[require_agent(self, agent)]
