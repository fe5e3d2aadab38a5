"""A game with its current episode, with NumPy arrays in and out.

The compiled step passes flat lists of arrays, because traversing nested structs in Python takes
longer than a step.
"""

import functools
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray, PyTree

from fairgym.adapters._flat import PARTS, within_ends
from fairgym.adapters._game import Game, Play
from fairgym.adapters._padding import Padding
from fairgym.adapters._picture import bars
from fairgym.adapters._setting import Setting
from fairgym.core import FairgymError
from fairgym.core.errors import check_shape


@functools.lru_cache(maxsize=64)
def _programs(game: Game, rest: tuple[tuple[Hashable, ...], Any]) -> tuple[PyTree, ...]:
    """Return compiled `start`, `step`, `show` and `measured` on flat lists; equal games share them.

    Args:
        game: The game.
        rest: Leaves and structure of the policies' static part.
    """
    forms: dict[str, PyTree] = {}

    def flat(name: str, tree: PyTree) -> list[Array]:
        leaves, forms[name] = jax.tree.flatten(tree)
        return leaves

    def whole(name: str, leaves: Sequence[Array]) -> PyTree:
        return jax.tree.unflatten(forms[name], leaves)

    def given(numbers: tuple[Any, ...]) -> tuple[PyTree, dict[str, Any]]:
        """Return parameters and policies from the arguments of a call."""
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
        play, rewards, terminated = game.go_on(params, policies, whole("play", leaves), actions)
        return flat("play", play), game.show(params, play), rewards, terminated

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
    """A game with its current episode, with NumPy arrays in and out.

    A copy or a pickle of it holds the episode, and goes on with it.

    Args:
        setting: The game with its parameters and policies.
        max_cycles: Largest number of steps; None for the horizon.
        structured: Whether observations are dictionaries of arrays instead of one vector.
        padding: Sizes of observations and actions; None for each agent's own.
    """

    def __init__(
        self,
        setting: Setting,
        max_cycles: int | None = None,
        *,
        structured: bool = False,
        padding: Padding | None = None,
    ) -> None:
        self.setting, self.game, self.structured = setting, setting.game, structured
        self.padding = padding
        self.allow(max_cycles)
        self.params = setting.params
        # counted once: listing the options of a thousand people takes longer than a step
        spaces = {agent: self.game.env.action_space(agent) for agent in self.game.agents}
        self._options = {a: len(space.elements) for a, space in spaces.items() if space.discrete}
        # NumPy arrays as well: arrays are passed as arguments, and all else must be hashable
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

    def __getstate__(self) -> dict[str, Any]:
        """Return the arguments and the episode, without compiled programs."""
        leaves = self._leaves
        return {
            "arguments": (self.setting, self.max_cycles, self.structured, self.padding),
            "params": self.params,
            "leaves": None if leaves is None else [_plain(leaf) for leaf in leaves],
            "steps": self.steps,
            "over": self.over,
        }

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Go on with the episode."""
        setting, max_cycles, structured, padding = state["arguments"]
        self.__init__(setting, max_cycles, structured=structured, padding=padding)
        self.params, self.steps, self.over = state["params"], state["steps"], state["over"]
        if state["leaves"] is not None:
            numbers = (self.params, self._arrays)
            jax.eval_shape(self._start, numbers, jax.random.key(0))  # learns the form of an episode
            self._numbers = jax.tree.leaves(numbers)
            self._leaves = [_typed(leaf) for leaf in state["leaves"]]

    def allow(self, max_cycles: int | None) -> None:
        """Set the largest number of steps.

        Raises:
            FairgymError: If it is below 1 or above a million.
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
            FairgymError: If there is no episode.
        """
        if self._leaves is None:
            raise FairgymError("no episode has begun; call reset first")
        return self._whole("play", self._leaves)

    @property
    def ended(self) -> bool:
        """Whether an episode has begun and is over."""
        return self.over and self._leaves is not None

    def reset(self, random: np.random.Generator, options: Mapping[str, PyTree] | None) -> PyTree:
        """Begin an episode and return the observations by agent."""
        self.params = self.setting.changed((options or {}).get("params"))
        key = jax.random.key(int(random.integers(2**32)))
        numbers = (self.params, self._arrays)
        self._leaves, shown = self._start(numbers, key)
        self._numbers = jax.tree.leaves(numbers)
        self.steps, self.over = 0, False
        return self._observations(shown)

    def joint_observation(self) -> np.ndarray:
        """Return the observations of all playing agents, concatenated."""
        shown = self._show(self._leaves, self._numbers)
        return np.concatenate([self._row(agent, shown[agent]) for agent in self.game.agents])

    def step(self, actions: Mapping[str, PyTree]) -> tuple[PyTree, dict[str, PyTree], bool, bool]:
        """Make one step; return observations and rewards by agent, terminated, truncated."""
        if self.over:
            raise FairgymError("the episode is over; call reset to begin the next one")
        taken = {agent: self.checked(agent, actions) for agent in self.game.agents}
        self._leaves, shown, rewards, failed = self._step(self._leaves, self._numbers, taken)
        self.steps += 1
        terminated, truncated = bool(failed), self.steps >= self.limit
        self.over = terminated or truncated
        number = np.array if self.game.vector_rewards else float
        by_agent = {a: number(r) for a, r in zip(self.game.agents, rewards, strict=True)}
        return self._observations(shown), by_agent, terminated, truncated

    def _observations(self, shown: Mapping[str, Mapping[str, Array]]) -> dict[str, PyTree]:
        """Return observations by agent as new NumPy arrays.

        NumPy concatenates them, because XLA takes longer for that than for the step.
        """
        if not self.structured:
            return {agent: self._row(agent, shown[agent]) for agent in self.game.agents}
        return {
            agent: {"observation": {name: np.array(part) for name, part in shown[agent].items()}}
            for agent in self.game.agents
        }

    def _row(self, agent: str, parts: Mapping[str, Array]) -> np.ndarray:
        """Return the parts as one vector; compiled programs return dictionaries in sorted order."""
        found = [np.asarray(parts[name]).reshape(-1) for name in PARTS if name in parts]
        return np.concatenate(
            found if self.padding is None else [*found, self.padding.tails[agent]]
        )

    def checked(self, agent: str, actions: Mapping[str, PyTree]) -> PyTree:
        """Return an agent's action as a NumPy array, after checking it.

        Raises:
            ValueError: If it is missing, has the wrong shape or is outside the space.
        """
        space = self.game.env.action_space(agent)
        if agent not in actions:
            raise ValueError(f"no action for {agent!r}; give one for each agent")
        action, padding = np.asarray(actions[agent]), self.padding
        if space.discrete:
            options = self._options[agent] if padding is None else padding.action_size
            whole = action.shape == () and np.issubdtype(action.dtype, np.integer)
            if not (whole and 0 <= action < options):
                takes = (
                    space.takes if padding is None else f"a whole number from 0 to {options - 1}"
                )
                raise ValueError(f"the action of {agent!r} must be {takes}, got {action!r}")
            return np.minimum(action, self._options[agent] - 1).astype(np.int32)
        shape = space.shape if padding is None else (padding.action_size,)
        if action.shape != shape:
            raise ValueError(f"the action of {agent!r} must have shape {shape}, got {action.shape}")
        if padding is not None:
            action = padding.action(agent, action)
        if not (action.min() >= 0.0 and action.max() <= 1.0):  # also refuses NaN
            raise ValueError(
                f"the action of {agent!r} must be {space.shape[0]} numbers in [0, 1], got"
                f" numbers from {action.min()} to {action.max()}"
            )
        return action.astype(np.float32)

    def info(self) -> dict[str, Any]:
        """Return the info dictionary: the cost, and the defined metrics of a finished episode."""
        found: dict[str, Any] = {}
        if self.game.cost is not None:
            found["cost"] = float(np.asarray(self.play.cost))
        return found | {"metrics": self.metrics()} if self.over else found

    def metrics(self) -> dict[str, float]:
        """Return every defined metric of the episode so far."""
        found = jax.device_get(self._measured(self._leaves, self._numbers))
        return {name: float(value) for name, (value, defined) in found.items() if defined}

    def rendered(self, mode: str | None) -> str | np.ndarray | None:
        """Return the state as a render mode wants it; "human" prints its text."""
        if mode == "rgb_array":
            return self.picture()
        if mode == "human":
            print(self.text())
        return self.text() if mode == "ansi" else None

    def text(self) -> str:
        """Return the state as text: people by stage and group, or the first agent's observation."""
        env, census = self.game.env, self._census()
        lines = [self._title()]
        if census is not None:
            lines.append(" ".join(["stage", *env.spec.groups]))
            lines += [" ".join([stage, *map(str, counts)]) for stage, counts in census.items()]
            return "\n".join(lines)
        agent = self.game.agents[0]
        observation = env.observe(self.play.state, self.params)[agent]
        names = [feature.name for feature in env.observation_space(agent).features]
        lines.append(" ".join(["row", *names]))
        for row, values in enumerate(np.asarray(observation.features)):
            lines.append(" ".join([str(row), *(f"{value:g}" for value in values)]))
        return "\n".join(lines)

    def picture(self) -> np.ndarray:
        """Draw the state: people by stage and group, or what the first agent observes.

        Of an observation it is the mean of each feature over the rows, and the context, each from
        the lower to the upper end of its range.

        Returns:
            uint8 of shape (height, width, 3).
        """
        env, census = self.game.env, self._census()
        if census is not None:
            people = float(sum(map(sum, census.values())))
            return bars(self._title(), census, env.spec.groups, "people", people)
        agent = self.game.agents[0]
        space = env.observation_space(agent)
        seen = env.observe(self.play.state, self.params)[agent]
        scaled = within_ends(seen, space, scaled=True)
        rows = np.asarray(scaled.features)[np.asarray(scaled.mask)]
        means = rows.mean(axis=0) if len(rows) else np.zeros(rows.shape[1])
        names = [feature.name for feature in (*space.features, *space.context)]
        values = np.concatenate([means, np.asarray(scaled.context)])
        levels = {name: (float(value),) for name, value in zip(names, values, strict=True)}
        title = f"{self._title()}: observation of {agent}"
        return bars(title, levels, (agent,), "place in the declared range", 1.0)

    def _title(self) -> str:
        return f"{self.game.env.name}, step {self.steps} of {self.limit}"

    def _census(self) -> dict[str, list[int]] | None:
        """Return the number of people by stage and group; None if there are no people."""
        try:
            census = self.game.env.census(self.play.state)  # type: ignore[attr-defined]
        except (AttributeError, FairgymError):
            return None
        return {stage: [int(count) for count in counts] for stage, counts in census.items()}


def _plain(leaf: Array) -> Any:
    """Return an array of JAX as one of NumPy; a key with the name of its kind."""
    if not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return np.asarray(leaf)
    return str(jax.random.key_impl(leaf)), np.asarray(jax.random.key_data(leaf))


def _typed(leaf: Any) -> Array:
    """Return the array of JAX from which `_plain` made this."""
    if isinstance(leaf, tuple):
        return jax.random.wrap_key_data(jnp.asarray(leaf[1]), impl=leaf[0])
    return jnp.asarray(leaf)
