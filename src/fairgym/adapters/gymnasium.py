"""Gymnasium interface: one agent learns, the others have fixed policies.

Importing this module registers every environment. `gymnasium.make("fairgym/loan-v0")` then makes
one, with arguments of the environment and of `GymnasiumEnv`. Without the import the name is
"fairgym.adapters.gymnasium:fairgym/loan-v0".
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import PyTree

from fairgym.adapters import _spaces  # first: its error says what to install
from fairgym.adapters._picture import check_render_mode
from fairgym.adapters._setting import environment_of, made, one_agent, set_up
from fairgym.adapters._table import Table
from fairgym.core import Environment, FairgymError, Params
from fairgym.utils.registry import environments

import gymnasium  # isort: skip


class GymnasiumEnv(gymnasium.Env[Any, Any]):
    """One agent of an environment as a Gymnasium environment.

    An observation is one vector: the features row by row, then 1 for each row that holds a person
    and 0 for the others, then the context. Row i is the same person in the observation and in an
    action with one number per row. Actions outside their space raise an error. Episodes are not
    reset automatically (autoreset mode "disabled"); Gymnasium's vector environments add their own
    reset. When an episode ends, `info` has its "metrics" by name.

    Numbers of a vector lie within the declared ends of their features, which are those of the
    space; what lies outside is set to the end. Rows of people include 0, which empty rows hold.

    The rewards of an episode add up to the score of its objective (`Objective.score`), less
    penalties. A direct reward or scheme pays what a step adds to it; a rate or disparity pays by
    how much the step changes that of the episode so far.

    A pickle or deep copy goes on with the same episode.

    Args:
        env: Environment, or the name of one.
        agent: The agent that learns; by default the first one that is not in `fixed`.
        fixed: Policies of the other agents: agent -> policy, or a specification as for
            `fairgym.policies.fixed_policies`. Missing agents act as in the environment's first
            baseline.
        objective: Name of an objective, weights by metric, or an `Objective`; the environment's
            default if None.
        params: Parameters of the environment that differ from its defaults, by name.
        failure_penalty: Subtracted from the reward in a step in which the episode terminates.
        vector_rewards: Whether rewards have one number per term (`reward_names`), as in
            MO-Gymnasium; the objective is then ignored. Only then there are a
            `reward_space` and a `reward_dim`.
        structured: Whether observations are {"observation": {"features", "present", "context"}},
            with the environment's own numbers and unbounded spaces.
        scaled: Whether observations are scaled to [0, 1] by the declared ends of their features. A
            feature of which an end is infinite keeps its unit.
        render_mode: "ansi" for text, "rgb_array" for a picture (needs matplotlib), or None.
        max_cycles: Largest number of steps of an episode; the horizon if None.
        cost: Name of a measure of unfairness (`env.spec.measures`), or of a disparity, which is
            then that of the episode so far. `info` has its value after each step as "cost", which
            clients for constrained learning such as OmniSafe read; None for no cost.

    Raises:
        FairgymError: If an argument is unknown or out of its range, or gymnasium is not installed.

    Examples:
        >>> import fairgym
        >>> from fairgym.adapters.gymnasium import GymnasiumEnv
        >>> env = GymnasiumEnv(
        ...     fairgym.make("loan_simple", population=100, horizon=10),
        ...     agent="debt_management",
        ...     fixed={"admissions": 0.5, "disbursement": "random"},
        ...     objective="direct",
        ... )
        >>> observation, info = env.reset(seed=0)
        >>> observation, reward, terminated, truncated, info = env.step([0.2, 0.3])
        >>> env.feature_names[:2], observation.shape, terminated
        (('group', 'qualification_score'), (62,), False)
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 4,
    }

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
        scaled: bool = False,
        render_mode: str | None = None,
        max_cycles: int | None = None,
        cost: str | None = None,
    ) -> None:
        check_render_mode(render_mode, self.metadata["render_modes"])
        env = environment_of(env)
        self.agent, others = one_agent(env, agent, fixed)
        self._table = Table(
            set_up(
                env,
                params=params,
                objective=objective,
                fixed=others,
                failure_penalty=failure_penalty,
                vector_rewards=vector_rewards,
                scaled=scaled,
                structured=structured,
                cost=cost,
            ),
            max_cycles,
            structured=structured,
        )
        space = self._table.game.env.observation_space(self.agent)
        self.observation_space = _spaces.observation_space(
            space, structured=structured, scaled=scaled
        )
        self.action_space = _spaces.action_space(self._table.game.env.action_space(self.agent))
        self.feature_names = tuple(feature.name for feature in space.features)
        self.context_names = tuple(feature.name for feature in space.context)
        self.reward_names = self._table.game.reward_names
        if vector_rewards:  # otherwise clients would take rewards for vectors
            self.reward_space = _spaces.reward_space(self.reward_names)
            self.reward_dim = len(self.reward_names)  # MO-Gymnasium's wrappers ask for it
        self.render_mode = render_mode

    @property
    def environment(self) -> Environment:
        """The fairgym environment."""
        return self._table.game.env

    @property
    def state(self) -> PyTree:
        """State of the fairgym environment."""
        return self._table.play.state

    def metrics(self) -> dict[str, float]:
        """Return every defined metric of the episode so far."""
        return self._table.metrics()

    def reset(
        self, *, seed: int | None = None, options: dict[str, PyTree] | None = None
    ) -> tuple[PyTree, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Seed of `np_random`, from which all later episodes follow.
            options: {"params": ...} sets parameters by name for this episode only.

        Returns:
            `(observation, info)`.
        """
        super().reset(seed=seed)
        return self._table.reset(self.np_random, options)[self.agent], {}

    def step(self, action: PyTree) -> tuple[PyTree, PyTree, bool, bool, dict[str, Any]]:
        """Make one step; return `(observation, reward, terminated, truncated, info)`.

        Raises:
            ValueError: If the action is not inside its space.
            FairgymError: If no episode has begun or it is over.
        """
        table = self._table
        observations, rewards, terminated, truncated = table.step({self.agent: action})
        return observations[self.agent], rewards[self.agent], terminated, truncated, table.info()

    def render(self) -> str | np.ndarray | None:  # type: ignore[override]
        """Return the state as text ("ansi") or as a picture ("rgb_array"), by `render_mode`."""
        return self._table.rendered(self.render_mode)


def make_env(name: str, **settings: Any) -> GymnasiumEnv:
    """Make an environment by name.

    Args:
        name: As for `fairgym.make`.
        **settings: Arguments of `GymnasiumEnv` and of the environment (population, horizon, ...).
    """
    env = made(GymnasiumEnv, name, settings)
    # `gymnasium.make` reads the time limit of its wrapper from here after this function, so that it
    # follows a `horizon` that is not the default.
    if entry := gymnasium.registry.get(_id(name)):
        entry.max_episode_steps = env.environment.horizon
    return env


# `gymnasium.make` reads the render modes of what makes the environment.
make_env.metadata = GymnasiumEnv.metadata  # type: ignore[attr-defined]


def _id(name: str) -> str:
    return f"fairgym/{name}-v0"


def _register() -> None:
    for name in environments.names():
        try:
            horizon = getattr(environments.get(name), "horizon", None)
        except FairgymError:  # a distribution that cannot be loaded; making it says why
            horizon = None
        gymnasium.register(
            _id(name),
            entry_point=f"{__name__}:{make_env.__name__}",
            max_episode_steps=horizon if isinstance(horizon, int) else None,
            kwargs={"name": name},
        )


_register()
