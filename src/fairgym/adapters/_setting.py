"""Games from what users give: an environment, parameters, objectives, fixed policies."""

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

from jaxtyping import PyTree

from fairgym.adapters._game import Game
from fairgym.config import with_params
from fairgym.config.plain import read_metrics, read_objective
from fairgym.core import AnyPolicy, Environment, FairgymError, Params, require_agent
from fairgym.core.errors import is_number
from fairgym.fairness import Objective
from fairgym.fairness.measuring import measuring
from fairgym.fairness.weights import named_by_agent
from fairgym.policies import fixed_policies
from fairgym.utils import make


@dataclasses.dataclass(frozen=True)
class Setting:
    """A game with the numbers that it is played with.

    Attributes:
        game: the game.
        params: parameters of the environment.
        policies: policies of the fixed agents.
    """

    game: Game
    params: Params
    policies: dict[str, AnyPolicy]

    def changed(self, changes: Mapping[str, Any] | Params | None) -> PyTree:
        """The parameters, some of them changed.

        Args:
            changes: numbers by name, as `fairgym.config.with_params` takes them, or parameters;
                None for none.

        Raises:
            FairgymError: an unknown parameter, or a value out of its range.
        """
        return _params(self.game.env, self.params, changes)


def set_up(
    env: Environment | str,
    *,
    params: Mapping[str, Any] | Params | None = None,
    objective: Any = None,
    objectives: Mapping[str, Any] | None = None,
    fixed: Mapping[str, object] | None = None,
    failure_penalty: float = 0.0,
    vector_rewards: bool = False,
) -> Setting:
    """A game from what users give; arguments as of `fairgym.adapters.gymnasium.GymnasiumEnv`.

    Raises:
        FairgymError: anything unknown, or out of its range.
    """
    env = environment_of(env)
    if not is_number(failure_penalty) or failure_penalty < 0:
        raise FairgymError(f"failure_penalty is {failure_penalty!r}; it takes a number from 0")
    if vector_rewards and failure_penalty:
        raise FairgymError(
            f"failure_penalty is {failure_penalty!r}; with vector_rewards, whose numbers are terms,"
            " it takes 0"
        )
    numbers = _params(env, env.default_params, params)
    policies = _policies(env, fixed or {}, numbers)
    playing = [agent for agent in env.agents if agent not in policies]
    if not playing:
        raise FairgymError(f"fixed names every agent; one of {', '.join(env.agents)} is to play")
    for agent in objectives or {}:
        if agent not in playing:
            raise FairgymError(
                f"objectives names {agent!r}; the agents that play are: {', '.join(playing)}"
            )
    given = env.spec.default_objective if objective is None else objective
    names = named_by_agent(playing, given, objectives or {})
    further = read_metrics(env, [x for x in names.values() if not isinstance(x, Objective)])
    aims = {
        agent: x if isinstance(x, Objective) else read_objective(env, x, further)
        for agent, x in names.items()
    }
    for agent, aim in aims.items():
        if aim.bounds:
            raise FairgymError(
                f"the objective of {agent!r} has bounds, whose multipliers a learner raises; an"
                " adapter takes weights"
            )
    env = measuring(env, aims.values())
    game = Game(env, tuple(aims.items()), float(failure_penalty), vector_rewards)
    return Setting(game, numbers, policies)


def environment_of(env: object) -> Environment:
    """An environment, or that of a name.

    Raises:
        FairgymError: it is neither.
    """
    env = make(env) if isinstance(env, str) else env
    if not isinstance(env, Environment):
        raise FairgymError(f"env is {env!r}; it takes an environment, or the name of one")
    return env


def _params(env: Environment, params: Params, changes: object) -> PyTree:
    if changes is None:
        return params
    if isinstance(changes, Params):
        if type(changes) is not type(params):
            raise FairgymError(
                f"params is of type {type(changes).__name__}; {env.name} takes"
                f" {type(params).__name__}, or numbers by name"
            )
        return changes
    if not isinstance(changes, Mapping):
        raise FairgymError(f"params is {changes!r}; it takes numbers by name")
    return with_params(env, params, changes.items())


def check_fixed(env: Environment, fixed: object) -> None:
    """Raise a FairgymError unless this has something for agents by name."""
    if not isinstance(fixed, Mapping):
        raise FairgymError(f"fixed is {fixed!r}; it takes a policy for each agent by name")
    for agent in fixed:
        require_agent(env, agent)


def _policies(env: Environment, fixed: Mapping[str, Any], params: Params) -> dict[str, Any]:
    """Fixed policies of specifications, and policies as they are."""
    check_fixed(env, fixed)
    ready = {agent: one for agent, one in fixed.items() if callable(one)}
    built = fixed_policies(env, {a: x for a, x in fixed.items() if a not in ready}, params)
    return {agent: (ready | built)[agent] for agent in env.agents if agent in fixed}


def made(cls: Any, name: str, settings: Mapping[str, Any]) -> PyTree:
    """An adapter around an environment by its name.

    Args:
        cls: class of the adapter.
        name: as for `fairgym.make`.
        settings: arguments of the adapter, and of the environment.
    """
    known = inspect.signature(cls).parameters.keys() - {"env"}
    own = {key: value for key, value in settings.items() if key in known}
    return cls(make(name, **{k: v for k, v in settings.items() if k not in known}), **own)
