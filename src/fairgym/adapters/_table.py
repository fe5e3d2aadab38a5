"""A game being played: an episode of it, with arrays of NumPy in and out.

The compiled step passes flat lists of arrays, because walking through nested structs in Python
takes longer than a step does.
"""

import functools
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, PRNGKeyArray, PyTree

from fairgym.adapters._game import PARTS, Game, Play
from fairgym.adapters._setting import Setting
from fairgym.core import FairgymError
from fairgym.core.errors import check_shape


@functools.lru_cache(maxsize=64)
def _programs(game: Game, rest: tuple[tuple[Hashable, ...], Any]) -> tuple[PyTree, ...]:
    """Compiled `start`, `step`, `show` and `measured` on flat lists; equal games share them.

    Args:
        game: the game.
        rest: leaves and structure of what is no array in the policies.
    """
    forms: dict[str, PyTree] = {}

    def flat(name: str, tree: PyTree) -> list[Array]:
        leaves, forms[name] = jax.tree.flatten(tree)
        return leaves

    def whole(name: str, leaves: Sequence[Array]) -> PyTree:
        return jax.tree.unflatten(forms[name], leaves)

    def given(numbers: tuple[Any, ...]) -> tuple[PyTree, dict[str, Any]]:
        """Parameters and policies, from what is passed to every call."""
        params, arrays = numbers
        static = jax.tree.unflatten(rest[1], rest[0])
        return params, eqx.combine(arrays, static)

    @jax.jit
    def start(numbers: PyTree, key: PRNGKeyArray) -> PyTree:
        params, policies = given(numbers)
        play = game.start(params, policies, key)
        forms["numbers"] = jax.tree.structure(numbers)
        return flat("play", play), game.show(params, play)

    @jax.jit
    def step(leaves: Sequence[Array], numbers: Sequence[Array], actions: Any) -> PyTree:
        params, policies = given(whole("numbers", numbers))
        play, rewards, failed = game.go_on(params, policies, whole("play", leaves), actions)
        return flat("play", play), game.show(params, play), rewards, failed

    @jax.jit
    def show(leaves: Sequence[Array], numbers: Sequence[Array]) -> PyTree:
        params, _ = given(whole("numbers", numbers))
        return game.show(params, whole("play", leaves))

    @jax.jit
    def measured(leaves: Sequence[Array], numbers: Sequence[Array]) -> PyTree:
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
        self._arrays, static = eqx.partition(
            setting.policies, lambda leaf: isinstance(leaf, jax.Array | np.ndarray)
        )
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

    def reset(self, random: np.random.Generator, options: Mapping[str, PyTree] | None) -> PyTree:
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

    def step(self, actions: Mapping[str, PyTree]) -> tuple[PyTree, dict[str, PyTree], bool, bool]:
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

    def _handed_out(self, seen: Mapping[str, Mapping[str, Array]]) -> dict[str, PyTree]:
        """Arrays of NumPy that belong to nobody else.

        NumPy puts them in a row: XLA takes longer for that than for the step.
        """
        if not self.structured:
            return {agent: _row(seen[agent]) for agent in self.game.agents}
        return {
            agent: {"observation": {name: np.array(part) for name, part in seen[agent].items()}}
            for agent in self.game.agents
        }

    def checked(self, agent: str, actions: Mapping[str, PyTree]) -> PyTree:
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
            lines.append(" ".join(["stage", *env.spec.groups]))
            for stage, counts in census.items():
                lines.append(" ".join([stage, *(str(int(count)) for count in counts)]))
        return "\n".join(lines)


def _row(parts: Mapping[str, Array]) -> np.ndarray:
    """A vector of the parts; compiled programs hand out dictionaries by the alphabet."""
    return np.concatenate([np.asarray(parts[name]).reshape(-1) for name in PARTS if name in parts])
