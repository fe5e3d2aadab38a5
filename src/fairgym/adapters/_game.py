"""An environment as others play it: agents with rewards, the rest of them fixed.

What all adapters share. `Game` has pure functions of pytrees; `Table` holds an episode of one and
talks NumPy, its compiled step passing flat lists of arrays, because walking through nested structs
in Python takes longer than a step does.
"""

import dataclasses
import functools
import inspect
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core import (
    Entities,
    Environment,
    FairgymError,
    Params,
    Struct,
    decide,
    first_hidden,
    make,
    no_components,
    require_agent,
)
from fairgym.core.components import add_compensated
from fairgym.core.environment import check_shape
from fairgym.core.rollout import episode_keys
from fairgym.fairness import Objective
from fairgym.fairness.checks import is_number
from fairgym.fairness.measuring import measuring
from fairgym.fairness.plain import read_metrics, read_objective
from fairgym.fairness.weights import named_by_agent
from fairgym.policies import fixed_policies
from fairgym.training import with_params


class Play(Struct):
    """An episode that is being played.

    Attributes:
        state: state of the environment.
        step: number of steps made.
        judged: per playing agent, memories of the schemes that are rewarded.
        hidden: hidden states of the fixed agents that have one, by name.
        totals: sums of the components so far in a row, with `lost` exact to float32 rounding: two
            arrays in place of dozens, which Python would hand over in every step.
        lost: rounding errors of the sums.
        policy_key: key of the fixed agents' choices.
        noise_key: key of the environment's randomness.
    """

    state: Any
    step: Int[Array, ""]
    judged: tuple[dict[str, Any], ...]
    hidden: dict[str, Any]
    totals: Float[Array, " numbers"]
    lost: Float[Array, " numbers"]
    policy_key: PRNGKeyArray
    noise_key: PRNGKeyArray


@dataclasses.dataclass(frozen=True)
class Game:
    """An environment with objectives; hashable, but for the fixed policies that functions take.

    Attributes:
        env: the environment.
        objectives: pairs (playing agent, objective), in acting order.
        failure_penalty: loss of reward of every agent in a step with which an episode fails.
        vector_rewards: True if a reward has one number per term.
    """

    env: Environment
    objectives: tuple[tuple[str, Objective], ...]
    failure_penalty: float = 0.0
    vector_rewards: bool = False

    @property
    def agents(self) -> tuple[str, ...]:
        """The playing agents, in acting order."""
        return tuple(agent for agent, _ in self.objectives)

    @property
    def reward_names(self) -> tuple[str, ...]:
        """Names of the numbers of a vector reward: the terms, then the schemes."""
        return (*self.env.terms, *self.env.schemes)

    @functools.cached_property
    def _alone(self) -> tuple[Objective, ...]:
        """An objective for each number of a vector reward."""
        return tuple(Objective.weighted(self.env, {name: 1.0}) for name in self.reward_names)

    @property
    def _rewarded(self) -> tuple[Objective, ...]:
        """Objectives whose memories an episode carries."""
        if self.vector_rewards:
            return self._alone
        return tuple(objective for _, objective in self.objectives)

    # ---------------------------------------------------------------- pure functions

    def start(self, params: Any, policies: Mapping[str, Any], key: PRNGKeyArray) -> Play:
        """An episode at its start; the keys are those of `fairgym.rollout`."""
        reset_key, policy_key, noise_key = episode_keys(key)
        nothing = no_components(self.env, params)
        return Play(
            state=self.env.initial_state(reset_key, params),
            step=jnp.int32(0),
            judged=tuple(objective.initial(nothing) for objective in self._rewarded),
            hidden=first_hidden(policies),
            totals=ravel_pytree(nothing)[0],
            lost=ravel_pytree(nothing)[0],
            policy_key=policy_key,
            noise_key=noise_key,
        )

    def go_on(
        self, params: Any, policies: Mapping[str, Any], play: Play, actions: Mapping[str, Array]
    ) -> tuple[Play, tuple[Array, ...], Bool[Array, ""]]:
        """One step: the episode after it, a reward per playing agent, and whether it failed.

        Args:
            params: parameters of the environment.
            policies: the fixed agents' policies.
            play: the episode.
            actions: the playing agents' actions, inside their spaces or not.
        """
        env = self.env
        keys = jax.random.split(jax.random.fold_in(play.policy_key, play.step), len(env.agents))
        taken, hidden = dict(actions), dict(play.hidden)
        seen = env.observe(play.state, params) if policies else {}
        for agent, key in zip(env.agents, keys, strict=True):
            if agent in policies:
                before = hidden.get(agent)
                taken[agent], after = decide(policies[agent], seen[agent], key, before)
                if agent in hidden:
                    acts = play.state.time % env.periods.get(agent, 1) == 0
                    hidden[agent] = jax.tree.map(
                        lambda x, y, acts=acts: jnp.where(acts, x, y), after, before
                    )
        noise = jax.random.fold_in(play.noise_key, play.step)
        state, components, failed = env.advance(noise, play.state, taken, params)
        steps = [
            objective.step(judged, components, env.horizon)
            for objective, judged in zip(self._rewarded, play.judged, strict=True)
        ]
        rewards = tuple(reward for _, reward in steps)
        if self.vector_rewards:
            rewards = (jnp.stack(rewards),) * len(self.objectives)
        if self.failure_penalty:
            rewards = tuple(reward - self.failure_penalty * failed for reward in rewards)
        totals, lost = add_compensated(play.totals, play.lost, ravel_pytree(components)[0])
        play = play.replace(
            state=state,
            step=play.step + 1,
            judged=tuple(after for after, _ in steps),
            hidden=hidden,
            totals=totals,
            lost=lost,
        )
        return play, rewards, failed

    def show(self, params: Any, play: Play) -> dict[str, dict[str, Array]]:
        """Observation of each playing agent: its parts that are not empty, by name."""
        seen = self.env.observe(play.state, params)
        return {agent: _parts(seen[agent]) for agent in self.agents}

    def measured(self, params: Any, play: Play) -> dict[str, tuple[Array, Array]]:
        """Every metric of the episode so far, with whether it is defined."""
        _, in_fields = ravel_pytree(no_components(self.env, params))
        totals = in_fields(play.totals + play.lost)
        return {
            name: (metric.value(totals), metric.defined(totals))
            for name, metric in self.env.metrics.items()
        }


PARTS = ("features", "present", "context")  # in the order of a vector


def _parts(seen: Entities) -> dict[str, Array]:
    """The numbers of an observation by name, without empty arrays."""
    parts = (seen.features, seen.mask.astype(jnp.float32), seen.context)
    return {name: part for name, part in zip(PARTS, parts, strict=True) if part.size}


@dataclasses.dataclass(frozen=True)
class Setting:
    """A game with the numbers that it is played with.

    Attributes:
        game: the game.
        params: parameters of the environment.
        policies: policies of the fixed agents.
    """

    game: Game
    params: Any
    policies: dict[str, Any]

    def changed(self, changes: Mapping[str, Any] | Params | None) -> Any:
        """The parameters, some of them changed.

        Args:
            changes: numbers by name, as `fairgym.training.with_params` takes them, or parameters;
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
    fixed: Mapping[str, Any] | None = None,
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
    given = env.default_objective if objective is None else objective
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


def environment_of(env: Any) -> Environment:
    """An environment, or that of a name.

    Raises:
        FairgymError: it is neither.
    """
    env = make(env) if isinstance(env, str) else env
    if not isinstance(env, Environment):
        raise FairgymError(f"env is {env!r}; it takes an environment, or the name of one")
    return env


def _params(env: Environment, params: Any, changes: Any) -> Any:
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


def check_fixed(env: Environment, fixed: Any) -> None:
    """Raise a FairgymError unless this has something for agents by name."""
    if not isinstance(fixed, Mapping):
        raise FairgymError(f"fixed is {fixed!r}; it takes a policy for each agent by name")
    for agent in fixed:
        require_agent(env, agent)


def _policies(env: Environment, fixed: Mapping[str, Any], params: Any) -> dict[str, Any]:
    """Fixed policies of specifications, and policies as they are."""
    check_fixed(env, fixed)
    ready = {agent: one for agent, one in fixed.items() if callable(one)}
    built = fixed_policies(env, {a: x for a, x in fixed.items() if a not in ready}, params)
    return {agent: (ready | built)[agent] for agent in env.agents if agent in fixed}


# ---------------------------------------------------------------- compiled


@functools.lru_cache(maxsize=64)
def _programs(game: Game, rest: tuple[tuple[Hashable, ...], Any]) -> tuple[Any, ...]:
    """Compiled `start`, `step`, `show` and `measured` on flat lists; equal games share them.

    Args:
        game: the game.
        rest: leaves and structure of what is no array in the policies.
    """
    forms: dict[str, Any] = {}

    def flat(name: str, tree: Any) -> list[Array]:
        leaves, forms[name] = jax.tree.flatten(tree)
        return leaves

    def whole(name: str, leaves: Sequence[Array]) -> Any:
        return jax.tree.unflatten(forms[name], leaves)

    def given(numbers: tuple[Any, ...]) -> tuple[Any, dict[str, Any]]:
        """Parameters and policies, from what is passed to every call."""
        params, arrays = numbers
        static = jax.tree.unflatten(rest[1], rest[0])
        return params, eqx.combine(arrays, static)

    @jax.jit
    def start(numbers: Any, key: PRNGKeyArray) -> Any:
        params, policies = given(numbers)
        play = game.start(params, policies, key)
        forms["numbers"] = jax.tree.structure(numbers)
        return flat("play", play), game.show(params, play)

    @jax.jit
    def step(leaves: Sequence[Array], numbers: Sequence[Array], actions: Any) -> Any:
        params, policies = given(whole("numbers", numbers))
        play, rewards, failed = game.go_on(params, policies, whole("play", leaves), actions)
        return flat("play", play), game.show(params, play), rewards, failed

    @jax.jit
    def show(leaves: Sequence[Array], numbers: Sequence[Array]) -> Any:
        params, _ = given(whole("numbers", numbers))
        return game.show(params, whole("play", leaves))

    @jax.jit
    def measured(leaves: Sequence[Array], numbers: Sequence[Array]) -> Any:
        params, _ = given(whole("numbers", numbers))
        return game.measured(params, whole("play", leaves))

    return start, step, show, measured, whole


class Table:
    """A game being played: arrays of NumPy in and out.

    Args:
        setting: the game and its numbers.
        max_cycles: largest number of steps; None for the horizon.
        structured: True if observations are dictionaries of arrays, not one vector.
    """

    def __init__(
        self, setting: Setting, max_cycles: int | None = None, *, structured: bool = False
    ) -> None:
        self.setting, self.game, self.structured = setting, setting.game, structured
        self.allow(max_cycles)
        self.params = setting.params
        # counted once: an option for each of a thousand people takes longer to list than a step
        spaces = {agent: self.game.env.action_space(agent) for agent in self.game.agents}
        self._options = {a: len(space.elements) for a, space in spaces.items() if space.discrete}
        # numbers of NumPy too: they are passed, and what is not has to be hashable
        arrays, static = eqx.partition(setting.policies, _is_array)
        self._arrays = arrays
        leaves, structure = jax.tree.flatten(static)
        self._start, self._step, self._show, self._measured, self._whole = _programs(
            self.game, (tuple(leaves), structure)
        )
        self._leaves: Any = None
        self.steps = 0
        self.over = True

    def allow(self, max_cycles: int | None) -> None:
        """Set the largest number of steps.

        Raises:
            FairgymError: it is below 1, or above a million.
        """
        if max_cycles is not None:
            check_shape("max_cycles", max_cycles, 1, 1_000_000)
        self.max_cycles = max_cycles

    @property
    def limit(self) -> int:
        """Number of steps after which an episode is truncated."""
        return min(self.game.env.horizon, self.max_cycles or self.game.env.horizon)

    @property
    def play(self) -> Play:
        """The episode as structs of JAX arrays.

        Raises:
            FairgymError: there is none.
        """
        if self._leaves is None:
            raise FairgymError("no episode has begun; reset begins one")
        return self._whole("play", self._leaves)

    def reset(self, random: np.random.Generator, options: Mapping[str, Any] | None) -> Any:
        """Begin an episode; the observations by agent."""
        self.params = self.setting.changed((options or {}).get("params"))
        key = jax.random.key(int(random.integers(2**32)))
        numbers = (self.params, self._arrays)
        self._leaves, seen = self._start(numbers, key)
        self._numbers = jax.tree.leaves(numbers)
        self.steps, self.over = 0, False
        return self._handed_out(seen)

    def seen(self) -> np.ndarray:
        """Observations of all playing agents in a row."""
        seen = self._show(self._leaves, self._numbers)
        return np.concatenate([_row(seen[agent]) for agent in self.game.agents])

    def step(self, actions: Mapping[str, Any]) -> tuple[Any, dict[str, Any], bool, bool]:
        """One step: observations and rewards by agent, terminated, truncated."""
        if self.over:
            raise FairgymError("the episode is over; reset begins the next")
        taken = {agent: self.checked(agent, actions) for agent in self.game.agents}
        self._leaves, seen, rewards, failed = self._step(self._leaves, self._numbers, taken)
        self.steps += 1
        terminated, truncated = bool(failed), self.steps >= self.limit
        self.over = terminated or truncated
        number = np.array if self.game.vector_rewards else float
        paid = {a: number(r) for a, r in zip(self.game.agents, rewards, strict=True)}
        return self._handed_out(seen), paid, terminated, truncated

    def _handed_out(self, seen: Mapping[str, Mapping[str, Array]]) -> dict[str, Any]:
        """Arrays of NumPy that belong to nobody else.

        NumPy puts them in a row: XLA takes longer for that than for the step.
        """
        if not self.structured:
            return {agent: _row(seen[agent]) for agent in self.game.agents}
        return {
            agent: {"observation": {name: np.array(part) for name, part in seen[agent].items()}}
            for agent in self.game.agents
        }

    def checked(self, agent: str, actions: Mapping[str, Any]) -> Any:
        """An agent's action as an array of NumPy.

        Raises:
            ValueError: it is missing, of the wrong shape or not inside the space.
        """
        space = self.game.env.action_space(agent)
        if agent not in actions:
            raise ValueError(f"no action for {agent!r}; it takes one for each agent")
        action = np.asarray(actions[agent])
        if space.discrete:
            whole = action.shape == () and np.issubdtype(action.dtype, np.integer)
            if not (whole and 0 <= action < self._options[agent]):
                raise ValueError(f"the action of {agent!r} is {action!r}; it takes {space.takes}")
            return action.astype(np.int32)
        if action.shape != space.shape:
            raise ValueError(
                f"the action of {agent!r} has shape {action.shape}; it takes {space.shape}"
            )
        if not (action.min() >= 0.0 and action.max() <= 1.0):  # not-a-number is neither
            raise ValueError(
                f"the action of {agent!r} has numbers from {action.min()} to {action.max()}; it"
                f" takes {space.shape[0]} numbers in [0, 1]"
            )
        return action.astype(np.float32)

    def info(self) -> dict[str, Any]:
        """An info dictionary: the metrics of the episode if it is over, those that are defined."""
        return {"metrics": self.metrics()} if self.over else {}

    def metrics(self) -> dict[str, float]:
        """Every metric of the episode so far that is defined."""
        found = jax.device_get(self._measured(self._leaves, self._numbers))
        return {name: float(value) for name, (value, defined) in found.items() if defined}

    def text(self) -> str:
        """The state in words: people by stage and group, or what the first agent sees."""
        env, state = self.game.env, self.play.state
        lines = [f"{env.name}, step {self.steps} of {self.limit}"]
        try:
            census = env.census(state)  # type: ignore[attr-defined]
        except (AttributeError, FairgymError):
            agent = self.game.agents[0]
            space, seen = env.observation_space(agent), env.observe(state, self.params)[agent]
            names = [feature.name for feature in space.features]
            lines.append(" ".join(["row", *names]))
            for row, values in enumerate(np.asarray(seen.features)):
                lines.append(" ".join([str(row), *(f"{value:g}" for value in values)]))
        else:
            lines.append(" ".join(["stage", *env.groups]))
            for stage, counts in census.items():
                lines.append(" ".join([stage, *(str(int(count)) for count in counts)]))
        return "\n".join(lines)


def _row(parts: Mapping[str, Array]) -> np.ndarray:
    """A vector of the parts; compiled programs hand out dictionaries by the alphabet."""
    return np.concatenate([np.asarray(parts[name]).reshape(-1) for name in PARTS if name in parts])


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray)


def made(cls: Any, name: str, settings: Mapping[str, Any]) -> Any:
    """An adapter around an environment by its name.

    Args:
        cls: class of the adapter.
        name: as for `fairgym.make`.
        settings: arguments of the adapter, and of the environment.
    """
    known = inspect.signature(cls).parameters.keys() - {"env"}
    own = {key: value for key, value in settings.items() if key in known}
    return cls(make(name, **{k: v for k, v in settings.items() if k not in known}), **own)
