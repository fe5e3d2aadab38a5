"""Tabular Q-learning (Watkins and Dayan 1992), over what the agent observes.

With a memory that is shown to the agent it is the baseline of Alamdari et al. 2024, appendix A.2
(https://arxiv.org/abs/2312.04772): Full, Min and Reset.
"""

import dataclasses
import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fairgym.algorithms._algorithm import MOST_EPISODES, algorithms
from fairgym.algorithms._experiences import Experiences
from fairgym.algorithms._q import QLearner, QState
from fairgym.core import Entities, Environment, FairgymError, param
from fairgym.policies.coding import TableCode
from fairgym.policies.flat import Table

LARGEST_TABLE = 20_000_000  # numbers: 80 MB


class TabularQState(QState):
    """The training state of tabular Q-learning.

    Attributes:
        table: Q, one number for each observation and option.
        epsilon: probability of a random action, for each observation.
    """

    table: Table
    epsilon: Float[Array, " observations"]


@algorithms.register("tabular-q")
@dataclasses.dataclass(frozen=True)
class TabularQ(QLearner[TabularQState]):
    """Hyperparameters of tabular Q-learning, beside those of `QLearner`.

    The probability of a random action is one of each observation, and decays at each visit.
    """

    name: ClassVar[str] = "tabular-q"

    learning_rate: float = param(
        0.1, "Share of the way that Q moves towards its target (alpha).", low=0, high=1, above=True
    )
    epsilon_decay: float = param(
        0.95,
        "Factor of the probability of a random action in an observation, at each visit.",
        low=0,
        high=1,
    )
    steps_per_epoch: int = param(
        1_000, "Number of environment steps in each epoch.", low=1, high=MOST_EPISODES
    )
    evaluation_episodes: int = param(
        20,
        "Number of episodes that measure the greedy policy after each epoch.",
        low=1,
        high=MOST_EPISODES,
    )

    def _rounds(self, env: Environment) -> tuple[int, int]:
        return 1, self.steps_per_epoch

    def _begin(self, fields: dict[str, Any], key: PRNGKeyArray) -> TabularQState:
        env, agent = fields["env"], fields["objectives"][0][0]
        space = env.action_space(agent)
        code = table_code(self.name, env, agent)
        table = Table(jnp.zeros((code.size, len(space.elements))), code, space)
        epsilon = jnp.full((code.size,), self.epsilon_start, jnp.float32)
        return TabularQState(**fields, table=table, epsilon=epsilon)

    def _policy(self, state: TabularQState) -> Table:
        return state.table

    def _epsilon(self, state: TabularQState, observation: Entities) -> Float[Array, ""]:
        return state.epsilon[state.table.code.index(observation)[0]]

    def _mean_epsilon(self, state: TabularQState) -> Float[Array, ""]:
        """Mean over the observations that made it smaller, which is what meeting them does."""
        met = (state.epsilon < self.epsilon_start).astype(jnp.float32)
        mean = jnp.sum(state.epsilon * met) / jnp.maximum(jnp.sum(met), 1.0)
        return jnp.where(jnp.any(met), mean, self.epsilon_start)

    def _learn(
        self, state: TabularQState, batch: Experiences, key: PRNGKeyArray
    ) -> tuple[TabularQState, dict[str, Array]]:
        """Move Q(x, a) towards its target, for all experiences of the step at once.

        An experience with an observation outside the table is none to learn from.

        All that is read of a table goes into what is written to it: only then is the writing last
        and done in place, else the compiler copies the table at every step.
        """
        values, code = state.table.values, state.table.code
        index, known = jax.vmap(code.index)(batch.observation)
        next_index, reached = jax.vmap(code.index)(batch.next_observation)
        target = batch.reward + batch.discount * jnp.max(values[next_index], axis=1)
        error = target - values[index, batch.action]
        change = jnp.where(batch.kept & known & reached, self.learning_rate * error, 0.0)
        table = Table(values.at[index, batch.action].add(change), code, state.table.space)
        factor = jnp.where(batch.action >= 0, self.epsilon_decay, 1.0)  # it always is
        less = jnp.maximum(factor * state.epsilon[index[0]], self.epsilon_end)
        return state.replace(table=table, epsilon=state.epsilon.at[index[0]].set(less)), {}


def table_code(name: str, env: Environment, agent: str) -> TableCode:
    """The code of an agent's observations.

    Raises:
        FairgymError: a feature is continuous, or the table would be too large.
    """
    try:
        code = TableCode(env.observation_space(agent))
    except FairgymError as error:
        raise FairgymError(f"{name} on {env.name}: {error}") from error
    options = len(env.action_space(agent).elements)
    if code.size * options > LARGEST_TABLE:
        size = f"{code.size:,}" if code.size < 10**15 else f"10^{math.log10(code.size):.0f}"
        raise FairgymError(
            f"{agent!r} tells {size} states apart; {name} takes at most"
            f" {LARGEST_TABLE // options:,} with {options} options"
        )
    return code
