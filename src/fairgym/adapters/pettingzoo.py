"""PettingZoo interface (parallel): all agents act at once, each with its own reward."""

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import PyTree

from fairgym.adapters import _spaces  # first: its error says what to install
from fairgym.adapters._flat import names_of
from fairgym.adapters._padding import Padding
from fairgym.adapters._picture import check_render_mode
from fairgym.adapters._setting import made, set_up
from fairgym.adapters._table import Table
from fairgym.core import Environment, FairgymError, Params

from gymnasium.utils import seeding  # isort: skip
from pettingzoo import ParallelEnv  # isort: skip
from pettingzoo.utils import parallel_to_aec  # isort: skip


class PettingZooEnv(ParallelEnv[str, Any, Any]):
    """An environment as a parallel environment of PettingZoo.

    Observations, actions and rewards are those of `fairgym.adapters.gymnasium.GymnasiumEnv`, for
    every agent that is not fixed. All agents end together. An agent that does not act in every step
    (`EnvironmentSpec.periods`) still gives an action, which is ignored.

    Args:
        env: Environment, or the name of one.
        fixed: Policies of agents that do not play, as for `GymnasiumEnv`; none by default.
        objective: As for `GymnasiumEnv`; "own" gives every agent the terms that concern it.
        objectives: Objectives of single agents: agent -> objective.
        params: As for `GymnasiumEnv`.
        failure_penalty: As for `GymnasiumEnv`.
        vector_rewards: Whether rewards have one number per term (`reward_names`), as in MOMAland;
            objectives are then ignored. Only then there are `reward_spaces` and
            `reward_space(agent)`.
        structured: As for `GymnasiumEnv`.
        scaled: As for `GymnasiumEnv`.
        padded: Whether all agents have equal spaces, for networks that they share. A padded
            observation ends with zeros up to the longest one and a one-hot code of the agent; a
            padded action ends with numbers that are ignored, and an option beyond an agent's own
            counts as its last one. Number i of an action concerns the same row as without padding.
        render_mode: "ansi" for text, "rgb_array" for a picture (needs matplotlib), "human" to print
            the text, or None.
        max_cycles: Largest number of steps of an episode; the horizon if None. It can be changed
            later.
        cost: As for `GymnasiumEnv`.

    Attributes:
        feature_names: Names of each agent's features of a row.
        context_names: Names of each agent's numbers of the context.
        reward_names: Names of the numbers of a vector reward.

    Raises:
        FairgymError: If an argument is unknown or out of its range, or pettingzoo is not installed.

    Examples:
        >>> import fairgym
        >>> from fairgym.adapters.pettingzoo import PettingZooEnv
        >>> env = PettingZooEnv(fairgym.make("loan_simple", population=100, horizon=2))
        >>> observations, infos = env.reset(seed=0)
        >>> while env.agents:
        ...     actions = {agent: env.action_space(agent).sample() for agent in env.agents}
        ...     observations, rewards, terminations, truncations, infos = env.step(actions)
        >>> sorted(infos["admissions"]["metrics"])[:2]
        ['admission_disparity', 'admission_rate']
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["human", "ansi", "rgb_array"],
        "is_parallelizable": True,
    }

    def __init__(
        self,
        env: Environment | str,
        *,
        fixed: Mapping[str, object] | None = None,
        objective: Any = None,
        objectives: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | Params | None = None,
        failure_penalty: float = 0.0,
        vector_rewards: bool = False,
        structured: bool = False,
        scaled: bool = False,
        padded: bool = False,
        render_mode: str | None = None,
        max_cycles: int | None = None,
        cost: str | None = None,
    ) -> None:
        check_render_mode(render_mode, self.metadata["render_modes"])
        if structured and padded:
            raise FairgymError(
                "padded must be False with structured observations, which are no vectors, got True"
            )
        setting = set_up(
            env,
            params=params,
            objective=objective,
            objectives=objectives,
            fixed=fixed,
            failure_penalty=failure_penalty,
            vector_rewards=vector_rewards,
            scaled=scaled,
            structured=structured,
            cost=cost,
        )
        game = setting.game
        padding = Padding.of(game.env, game.agents) if padded else None
        self._table = Table(setting, max_cycles, structured=structured, padding=padding)
        self.metadata = {**self.metadata, "name": f"{game.env.name}_v0"}
        self.possible_agents = list(game.agents)
        self.agents: list[str] = []
        spaces = {agent: game.env.observation_space(agent) for agent in game.agents}
        self.observation_spaces = {
            agent: _spaces.observation_space(space, structured=structured, scaled=scaled)
            for agent, space in spaces.items()
        }
        self.action_spaces = {
            agent: _spaces.action_space(game.env.action_space(agent)) for agent in game.agents
        }
        if padding is not None:
            for agent in game.agents:
                both = _spaces.padded_spaces(padding, scaled=scaled)
                self.observation_spaces[agent], self.action_spaces[agent] = both
        self.feature_names = {a: tuple(f.name for f in s.features) for a, s in spaces.items()}
        self.context_names = {a: tuple(f.name for f in s.context) for a, s in spaces.items()}
        self.reward_names = game.reward_names
        if vector_rewards:  # otherwise clients would take rewards for vectors
            self.reward_spaces = {a: _spaces.reward_space(self.reward_names) for a in game.agents}
            self.reward_space = self.reward_spaces.__getitem__
        self.render_mode = render_mode
        self.np_random: Any = None

    @property
    def environment(self) -> Environment:
        """The fairgym environment."""
        return self._table.game.env

    @property
    def observation_names(self) -> dict[str, tuple[str, ...]]:
        """Name of each number of each agent's vector.

        Such as "fico[3]" of row 3, "present[3]", "time", "" for padding and "is:AGENT" for the
        one-hot code.
        """
        if self._table.padding is not None:
            return self._table.padding.names
        env = self.environment
        return {a: names_of(env.observation_space(a)) for a in self.possible_agents}

    @property
    def max_cycles(self) -> int:
        """Largest number of steps of an episode."""
        return self._table.limit

    @max_cycles.setter
    def max_cycles(self, cycles: int) -> None:
        self._table.allow(cycles)

    def observation_space(self, agent: str) -> PyTree:
        """Return the space of an agent's observations; the same object at every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> PyTree:
        """Return the space of an agent's actions; the same object at every call."""
        return self.action_spaces[agent]

    def metrics(self) -> dict[str, float]:
        """Return every defined metric of the episode so far."""
        return self._table.metrics()

    def reset(
        self, seed: int | None = None, options: dict[str, PyTree] | None = None
    ) -> tuple[dict[str, PyTree], dict[str, dict[str, Any]]]:
        """Begin an episode.

        Args:
            seed: Seed of `np_random`, from which all later episodes follow.
            options: {"params": ...} sets parameters by name for this episode only.

        Returns:
            `(observations, infos)` by agent.
        """
        if seed is not None or self.np_random is None:
            self.np_random, _ = seeding.np_random(seed)
        observations = self._table.reset(self.np_random, options)
        self.agents = list(self.possible_agents)
        return observations, {agent: {} for agent in self.agents}

    def step(
        self, actions: dict[str, PyTree]
    ) -> tuple[
        dict[str, Any], dict[str, Any], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]
    ]:
        """Make one step.

        Returns:
            `(observations, rewards, terminations, truncations, infos)` by agent.

        Without agents and actions, after the end of an episode, there are five empty dictionaries.

        Raises:
            ValueError: If an action is missing or outside its space.
            FairgymError: If no episode has begun, or it is over and there are actions.
        """
        if not actions and self._table.ended:
            return {}, {}, {}, {}, {}
        observations, rewards, terminated, truncated = self._table.step(actions)
        agents, info = self.agents, self._table.info()
        infos = {agent: copy.deepcopy(info) for agent in agents}
        if terminated or truncated:
            self.agents = []
        return (
            observations,
            rewards,
            dict.fromkeys(agents, terminated),
            dict.fromkeys(agents, truncated),
            infos,
        )

    def state(self) -> np.ndarray:
        """Return the observations of all playing agents, concatenated, for a central critic."""
        return self._table.joint_observation()

    def render(self) -> str | np.ndarray | None:
        """Return the state as text or as a picture, or print it, by `render_mode`."""
        return self._table.rendered(self.render_mode)

    def close(self) -> None:
        """Do nothing; there is nothing to close."""


def parallel_env(name: str, **settings: Any) -> PettingZooEnv:
    """Make a parallel environment by name.

    Args:
        name: As for `fairgym.make`.
        **settings: Arguments of `PettingZooEnv` and of the environment (population, horizon, ...).
    """
    return made(PettingZooEnv, name, settings)


def env(name: str, **settings: Any) -> PyTree:
    """Make an AEC environment by name: agents act in turn, and the step is made after the last.

    Args:
        name: As for `fairgym.make`.
        **settings: As for `parallel_env`.
    """
    return parallel_to_aec(parallel_env(name, **settings))
