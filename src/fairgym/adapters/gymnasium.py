"""Gymnasium: one agent learns, the others have fixed policies.

Importing this module registers every environment: `gymnasium.make("fairgym/loan-v0")` makes it,
with arguments of the environment and of `GymnasiumEnv` alike. Without an import the name is
"fairgym.adapters.gymnasium:fairgym/loan-v0".
"""

from collections.abc import Mapping
from typing import Any

from jaxtyping import PyTree

from fairgym.adapters import _spaces  # first, as it tells what to install
from fairgym.adapters._setting import check_fixed, environment_of, made, set_up
from fairgym.adapters._table import Table
from fairgym.core import Environment, FairgymError, Params, require_agent
from fairgym.utils.registry import environments

import gymnasium  # isort: skip


class GymnasiumEnv(gymnasium.Env[Any, Any]):
    """One agent of an environment as a Gymnasium environment.

    An observation is one vector: the features row by row, 1 for each row that holds a person (0
    else), the context. Row i is the same person in the observation and in an action with one number
    per row. An action outside its space is refused. Nothing is reset by itself (the autoreset mode
    "disabled"); vector environments of Gymnasium add their own. When an episode ends `info` has its
    "metrics" by name.

    Rewards are those that fairgym's own learners get (`Objective.step`): the weighted terms of a
    step, of the size of the objective of an episode of such steps.

    Args:
        env: environment, or the name of one.
        agent: the agent that learns; by default the one that `fixed` leaves, or the first.
        fixed: policies of the others, agent -> policy, or specification as
            `fairgym.policies.fixed_policies` takes it. Those not named act as in the environment's
            first baseline.
        objective: name of an objective, weights by metric, or an `Objective`; the environment's
            default if None.
        params: parameters of the environment that differ from its defaults, by name.
        failure_penalty: loss of reward in a step with which the episode fails.
        vector_rewards: True for rewards with one number per term (`reward_names`), as MO-Gymnasium
            has them; the objective then does not count.
        structured: True for observations {"observation": {"features", "present", "context"}}.
        render_mode: "ansi", or None.
        max_cycles: largest number of steps of an episode; the horizon if None.

    Raises:
        FairgymError: anything unknown, or out of its range; gymnasium is not installed.

    Examples:
        >>> import fairgym
        >>> from fairgym.adapters.gymnasium import GymnasiumEnv
        >>> env = GymnasiumEnv(
        ...     fairgym.make("loan_simple", population=100, horizon=10),
        ...     agent="debt_management",
        ...     fixed={"admissions": 0.5, "disbursement": "random"},
        ...     objective="direct",
        ... )
        >>> seen, info = env.reset(seed=0)
        >>> seen, reward, terminated, truncated, info = env.step([0.2, 0.3])
        >>> env.feature_names[:2], seen.shape, terminated
        (('group', 'qualification_score'), (62,), False)
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        env: Environment | str,
        *,
        agent: str | None = None,
        fixed: Mapping[str, object] | None = None,
        objective: Any = None,
        params: Mapping[str, Any] | Params | None = None,
        failure_penalty: float = 0.0,
        vector_rewards: bool = False,
        structured: bool = False,
        render_mode: str | None = None,
        max_cycles: int | None = None,
    ) -> None:
        env = environment_of(env)
        fixed = {} if fixed is None else fixed
        check_fixed(env, fixed)
        if agent is None:
            agent = next((a for a in env.agents if a not in fixed), env.agents[0])
        require_agent(env, agent)
        if agent in fixed:
            raise FairgymError(f"fixed names {agent!r}, the agent that learns; it takes the others")
        others = next(iter(env.spec.baselines.values()))
        fixed = {a: others[a] for a in env.agents if a != agent and a not in fixed} | dict(fixed)
        self._table = Table(
            set_up(
                env,
                params=params,
                objective=objective,
                fixed=fixed,
                failure_penalty=failure_penalty,
                vector_rewards=vector_rewards,
            ),
            max_cycles,
            structured=structured,
        )
        self.agent = agent
        seen = self._table.game.env.observation_space(agent)
        self.observation_space = _spaces.observation_space(seen, structured=structured)
        self.action_space = _spaces.action_space(self._table.game.env.action_space(agent))
        self.feature_names = tuple(feature.name for feature in seen.features)
        self.context_names = tuple(feature.name for feature in seen.context)
        self.reward_names = self._table.game.reward_names
        self.reward_space = _spaces.reward_space(self.reward_names)
        self.render_mode = render_mode

    @property
    def environment(self) -> Environment:
        """The environment of fairgym that is played."""
        return self._table.game.env

    @property
    def state(self) -> PyTree:
        """State of that environment."""
        return self._table.play.state

    def metrics(self) -> dict[str, float]:
        """Every metric of the episode so far that is defined."""
        return self._table.metrics()

    def reset(
        self, *, seed: int | None = None, options: dict[str, PyTree] | None = None
    ) -> tuple[PyTree, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: seed of `np_random`, which every later episode follows from.
            options: {"params": ...} has parameters of this episode alone, by name.

        Returns:
            `(observation, info)`.
        """
        super().reset(seed=seed)
        return self._table.reset(self.np_random, options)[self.agent], {}

    def step(self, action: PyTree) -> tuple[PyTree, PyTree, bool, bool, dict[str, Any]]:
        """One step: `(observation, reward, terminated, truncated, info)`.

        Raises:
            ValueError: the action is not inside its space.
            FairgymError: no episode has begun, or it is over.
        """
        table = self._table
        seen, rewards, terminated, truncated = table.step({self.agent: action})
        return seen[self.agent], rewards[self.agent], terminated, truncated, table.info()

    def render(self) -> str | None:  # type: ignore[override]
        """The state in words, if `render_mode` is "ansi"."""
        return self._table.text() if self.render_mode == "ansi" else None


def make_env(name: str, **settings: Any) -> GymnasiumEnv:
    """An environment by its name.

    Args:
        name: as for `fairgym.make`.
        **settings: arguments of `GymnasiumEnv`, and of the environment (population, horizon, ...).
    """
    return made(GymnasiumEnv, name, settings)


def _register() -> None:
    for name in environments.names():
        entry = f"{__name__}:{make_env.__name__}"
        gymnasium.register(f"fairgym/{name}-v0", entry_point=entry, kwargs={"name": name})


_register()
