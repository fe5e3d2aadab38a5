"""Building games from users' arguments: environment, parameters, objectives, fixed policies."""

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
from fairgym.fairness import Objective, Windowed
from fairgym.fairness.measuring import measuring
from fairgym.fairness.weights import named_by_agent
from fairgym.policies import fixed_policies
from fairgym.utils import make


@dataclasses.dataclass(frozen=True)
class Setting:
    """A game with its parameters and fixed policies.

    Attributes:
        game: The game.
        params: Parameters of the environment.
        policies: Policies of the fixed agents.
    """

    game: Game
    params: Params
    policies: dict[str, AnyPolicy]

    def changed(self, changes: Mapping[str, Any] | Params | None) -> PyTree:
        """Return the parameters with some changes.

        Args:
            changes: Numbers by name, as for `fairgym.config.with_params`, or parameters; None for
                no change.

        Raises:
            FairgymError: If a parameter is unknown or a value out of its range.
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
    scaled: bool = False,
    structured: bool = False,
    cost: str | None = None,
) -> Setting:
    """Build a game from users' arguments, which are those of `GymnasiumEnv`.

    Raises:
        FairgymError: If an argument is unknown or out of its range.
    """
    env = environment_of(env)
    if not is_number(failure_penalty) or failure_penalty < 0:
        raise FairgymError(
            f"failure_penalty must be a non-negative number, got {failure_penalty!r}"
        )
    if vector_rewards and failure_penalty:
        raise FairgymError(
            f"failure_penalty must be 0 with vector_rewards, got {failure_penalty!r}"
        )
    if structured and scaled:
        raise FairgymError(
            "scaled must be False with structured observations, which keep their units, got True"
        )
    numbers = _params(env, env.default_params, params)
    policies = _policies(env, fixed or {}, numbers)
    playing = [agent for agent in env.agents if agent not in policies]
    if not playing:
        raise FairgymError(
            f"fixed covers every agent; leave at least one of {', '.join(env.agents)} to play"
        )
    for agent in objectives or {}:
        if agent not in playing:
            raise FairgymError(
                f"objectives has {agent!r}, which does not play; the playing agents are:"
                f" {', '.join(playing)}"
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
                f"the objective of {agent!r} has bounds, which need fairgym's own learners; give"
                " weights to an adapter"
            )
    env = measuring(env, aims.values())
    observed = "raw" if structured else "scaled" if scaled else "bounded"
    priced = None if cost is None else _measure(env, cost)
    penalty = float(failure_penalty)
    game = Game(env, tuple(aims.items()), penalty, vector_rewards, observed, priced)
    return Setting(game, numbers, policies)


def _measure(env: Environment, name: object) -> Windowed:
    """Return the measure of a cost: a declared one, or a disparity of the episode so far."""
    fair = {n: metric for n, metric in env.metrics.items() if metric.kind == "fair"}
    if isinstance(name, str) and name in env.spec.measures:
        return env.spec.measures[name]
    if isinstance(name, str) and name in fair:
        return Windowed(fair[name], 0)
    known = ", ".join([*env.spec.measures, *fair]) or "there is none"
    raise FairgymError(
        f"cost must be a measure of unfairness of {env.name} ({known}), got {name!r}"
    )


def environment_of(env: object) -> Environment:
    """Return an environment, or make one from its name.

    Raises:
        FairgymError: If the argument is neither.
    """
    env = make(env) if isinstance(env, str) else env
    if not isinstance(env, Environment):
        raise FairgymError(f"env must be an environment or the name of one, got {env!r}")
    return env


def _params(env: Environment, params: Params, changes: object) -> PyTree:
    if changes is None:
        return params
    if isinstance(changes, Params):
        if type(changes) is not type(params):
            raise FairgymError(
                f"params must be {type(params).__name__} or numbers by name for {env.name}, got"
                f" {type(changes).__name__}"
            )
        return changes
    if not isinstance(changes, Mapping):
        raise FairgymError(f"params must be numbers by name, got {changes!r}")
    return with_params(env, params, changes.items())


def check_fixed(env: Environment, fixed: object) -> None:
    """Raise a FairgymError unless `fixed` maps agents to policies."""
    if not isinstance(fixed, Mapping):
        raise FairgymError(f"fixed must be a policy for each agent by name, got {fixed!r}")
    for agent in fixed:
        require_agent(env, agent)


def one_agent(
    env: Environment, agent: str | None, fixed: Mapping[str, object] | None
) -> tuple[str, dict[str, object]]:
    """Return the agent that learns, and policies of all others.

    Args:
        env: The environment.
        agent: Its name; None for the first agent that is not in `fixed`.
        fixed: Policies of other agents; missing ones act as in the first baseline.

    Raises:
        FairgymError: If an agent is unknown, or `fixed` has the one that learns.
    """
    fixed = {} if fixed is None else fixed
    check_fixed(env, fixed)
    if agent is None:
        agent = next((a for a in env.agents if a not in fixed), env.agents[0])
    require_agent(env, agent)
    if agent in fixed:
        raise FairgymError(
            f"fixed has {agent!r}, the agent that learns; give policies of the others only"
        )
    others = next(iter(env.spec.baselines.values()))
    missing = {a: others[a] for a in env.agents if a != agent and a not in fixed}
    return agent, missing | dict(fixed)


def _policies(env: Environment, fixed: Mapping[str, Any], params: Params) -> dict[str, Any]:
    """Return policies by agent; specifications are built, policies kept as they are."""
    check_fixed(env, fixed)
    ready = {agent: one for agent, one in fixed.items() if callable(one)}
    built = fixed_policies(env, {a: x for a, x in fixed.items() if a not in ready}, params)
    return {agent: (ready | built)[agent] for agent in env.agents if agent in fixed}


def made(cls: Any, name: str, settings: Mapping[str, Any]) -> PyTree:
    """Make an adapter around an environment by name.

    Args:
        cls: Class of the adapter.
        name: As for `fairgym.make`.
        settings: Arguments of the adapter and of the environment.
    """
    known = inspect.signature(cls).parameters.keys() - {"env"}
    own = {key: value for key, value in settings.items() if key in known}
    return cls(make(name, **{k: v for k, v in settings.items() if k not in known}), **own)
