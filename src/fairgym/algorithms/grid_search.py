"""Two-tier grid search for a fixed policy (MAFE, appendix D.3).

Tier 1 searches a grid over [0, 1] for the best combination of global values: one number per agent
for all elements of its group-level action. Tier 2 searches the best deviation of each element (each
group) from the global value. Agents that score people rank them at random.
"""

import dataclasses
import itertools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from fairgym.algorithms import _log_keys as log_keys
from fairgym.algorithms._algorithm import (
    Started,
    TrainState,
    algorithms,
)
from fairgym.algorithms._episodes import log_episodes, ranked, run_candidates
from fairgym.core import AnyPolicy, Environment, FairgymError, param
from fairgym.policies import Constant, Random


class GridSearchState(TrainState):
    """State of the search.

    Attributes:
        best: Best actions so far: agent -> one number per element.
    """

    best: dict[str, Float[Array, " elements"]]


@algorithms.register("grid-search")
@dataclasses.dataclass(frozen=True)
class GridSearch(Started[GridSearchState]):
    """Two-tier grid search over constant actions."""

    steps: int = param(21, "Grid values per agent in tier 1, evenly spaced over [0, 1].", low=2)
    deviation: float | None = param(
        None,
        "Largest deviation from the best value of tier 1 in tier 2; none: one grid step of tier 1.",
        low=0,
        high=1,
    )
    deviation_steps: int = param(
        5,
        "Grid values per element in tier 2, evenly spaced over plus and minus the deviation.",
        low=1,
    )
    episodes: int = param(
        4, "Episodes per candidate; all candidates share the same people and the same noise.", low=1
    )
    failed_last: bool = param(
        True,
        "Rank candidates with terminated episodes below all others, by their share of full "
        "episodes and then by length. If off, rank all candidates by score alone.",
    )
    vmap_size: int = param(0, "Number of episodes per vmap; 0 chooses by device.", low=0)

    @property
    def num_updates(self) -> int:
        """Number of updates: one per tier."""
        return 2

    def _start(self, fields: dict[str, Any], key: PRNGKeyArray) -> GridSearchState:
        """Return the initial state, with every element at one half.

        Raises:
            FairgymError: The agents have different objectives, or an agent divides shares or has
                discrete actions.
        """
        env: Environment = fields["env"]
        objectives: tuple[tuple[str, Any], ...] = fields["objectives"]
        policies: dict[str, AnyPolicy] = fields["fixed"]
        if len({objective for _, objective in objectives}) > 1:
            raise FairgymError("grid search needs the same objective for all agents")
        best = {}
        for agent, _ in objectives:
            space = env.action_space(agent)
            if space.per_entity:
                policies[agent] = Random(space)
            elif space.independent:
                best[agent] = jnp.full(space.shape, 0.5)
            else:
                does = "has discrete actions" if space.discrete else "divides shares"
                raise FairgymError(
                    f"grid search needs agents that set numbers or score people;"
                    f" {agent!r} {does}: give it a fixed policy"
                )
        if not best:
            raise FairgymError("grid search needs at least one trained agent that sets numbers")
        return GridSearchState(**fields, best=best)

    def policies(self, state: GridSearchState) -> dict[str, AnyPolicy]:
        """Return constant policies with the best values so far."""
        found = {
            agent: Constant(state.env.action_space(agent), np.asarray(value))
            for agent, value in state.best.items()
        }
        return state.with_fixed(found)

    def candidates(self, state: GridSearchState) -> dict[str, Float[Array, "candidates elements"]]:
        """Return the actions that the next update compares: first tier 1, then tier 2."""
        sizes = [value.size for value in state.best.values()]
        if int(state.updates) == 0:
            grid = np.linspace(0.0, 1.0, self.steps)
            pairs = list(itertools.product(grid, repeat=len(sizes)))
            table = np.repeat(pairs, sizes, axis=1)
        else:
            reach = 1.0 / (self.steps - 1) if self.deviation is None else self.deviation
            offsets = np.linspace(-reach, reach, self.deviation_steps)
            best = np.concatenate([np.asarray(value) for value in state.best.values()])
            table = best + np.array(list(itertools.product(offsets, repeat=best.size)))
        # clipping to [0, 1] creates duplicates: keep one of each
        kept = np.unique(np.round(np.clip(table, 0.0, 1.0), 6), axis=0).astype(np.float32)
        parts = np.split(kept, np.cumsum(sizes)[:-1], axis=1)
        return {agent: jnp.asarray(part) for agent, part in zip(state.best, parts, strict=True)}

    def update(self, state: GridSearchState) -> tuple[GridSearchState, dict[str, Array]]:
        """Run one tier: score all its candidates and keep the best."""
        candidates = self.candidates(state)
        scores, episodes = self._measure(state, candidates)
        alive = 1.0 - jnp.mean(episodes.terminated, axis=1)
        length = jnp.mean(episodes.length, axis=1)
        winner = int(ranked(scores, alive, length, failed_last=self.failed_last)[0])
        best = {agent: jnp.asarray(values[winner]) for agent, values in candidates.items()}
        winning = jax.tree.map(lambda x: x[winner], episodes)
        log = log_episodes(state.env, state.objectives, winning)
        log[log_keys.ENVIRONMENT_STEPS] = jnp.sum(episodes.length).astype(jnp.float32)
        log["candidates"] = jnp.float32(scores.size)
        log[log_keys.candidates(log_keys.OBJECTIVE)] = jnp.mean(scores)
        return state.replace(best=best, updates=state.updates + 1), log

    @eqx.filter_jit
    def _measure(
        self, state: GridSearchState, candidates: dict[str, Array]
    ) -> tuple[Float[Array, " candidates"], PyTree]:
        """Return each candidate's mean score and episodes; every tier uses the same keys."""
        keys = jax.random.split(jax.random.wrap_key_data(state.key), self.episodes)
        count = jax.tree.leaves(candidates)[0].shape[0]

        def policies_of(values: dict[str, Array]) -> dict[str, Any]:
            constant = {agent: lambda o, k, a=action: a for agent, action in values.items()}
            return constant | state.fixed

        episodes = run_candidates(
            state.env,
            state.params,
            policies_of,
            jax.tree.map(lambda x: jnp.repeat(x, self.episodes, axis=0), candidates),
            jnp.tile(keys, count),
            vmap_size=self.vmap_size,
        )
        score = state.objectives[0][1].score
        episodes = jax.tree.map(lambda x: x.reshape(count, self.episodes, *x.shape[1:]), episodes)
        scores = jnp.mean(jax.vmap(jax.vmap(score))(episodes.totals, episodes.memories), axis=1)
        return jnp.where(jnp.isfinite(scores), scores, -jnp.inf), episodes
