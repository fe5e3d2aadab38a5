"""Tabular Q-learning (Watkins and Dayan 1992) over the agent's observations.

With a memory in the observations it is a baseline of Alamdari et al. 2024, appendix A.2
(https://arxiv.org/abs/2312.04772): Full, Min or Reset.
"""

import dataclasses
import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

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
        table: Q values, one for each observation and option.
        epsilon: Probability of a random action, for each observation.
        visits: Number of updates of each Q value, counterfactual ones included; without rows if
            the learning rate is constant.
    """

    table: Table
    epsilon: Float[Array, " observations"]
    visits: Float[Array, "visited options"]


@algorithms.register("tabular-q")
@dataclasses.dataclass(frozen=True)
class TabularQ(QLearner[TabularQState]):
    """Hyperparameters of tabular Q-learning, in addition to those of `QLearner`.

    Each observation has its own probability of a random action, which decays at each visit. With
    learning rates that fall suitably with the updates of each Q value, counterfactual ones
    included, Q converges to the optimal values (theorem 5.7; `learning_rate_power`).
    """

    constants = ("learning_rate_power",)

    name: ClassVar[str] = "tabular-q"

    learning_rate: float = param(
        0.1, "Learning rate alpha: step size of Q towards its target.", low=0, high=1, above=True
    )
    learning_rate_power: float = param(
        0.0,
        "Exponent w of the learning rate alpha / n^w of the n-th update of a Q value. 0 is the "
        "paper's constant rate; above 0.5 and at most 1, Q converges (theorem 5.7).",
        low=0,
        high=1,
    )
    epsilon_decay: float = param(
        0.95,
        "Decay factor of an observation's probability of a random action, per visit.",
        low=0,
        high=1,
    )
    steps_per_epoch: int = param(1_000, "Environment steps per epoch.", low=1, high=MOST_EPISODES)
    evaluation_episodes: int = param(
        20,
        "Episodes per evaluation of the greedy policy, after each epoch.",
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
        rows = code.size if self.learning_rate_power else 0
        visits = jnp.zeros((rows, len(space.elements)))
        return TabularQState(**fields, table=table, epsilon=epsilon, visits=visits)

    def _policy(self, state: TabularQState) -> Table:
        return state.table

    def _epsilon(self, state: TabularQState, observation: Entities) -> Float[Array, ""]:
        return state.epsilon[state.table.code.index(observation)[0]]

    def _mean_epsilon(self, state: TabularQState) -> Float[Array, ""]:
        """Return the mean over the observations visited so far."""
        met = (state.epsilon < self.epsilon_start).astype(jnp.float32)
        mean = jnp.sum(state.epsilon * met) / jnp.maximum(jnp.sum(met), 1.0)
        return jnp.where(jnp.any(met), mean, self.epsilon_start)

    def _learn(
        self, state: TabularQState, batch: Experiences, key: PRNGKeyArray
    ) -> tuple[TabularQState, dict[str, Array]]:
        """Move Q(x, a) towards its target for all experiences of the step at once.

        Experiences with an observation outside the table are skipped.

        Everything read from a table feeds into what is written to it. Only then is the write last
        and in place; otherwise the compiler copies the table at every step.
        """
        values, code = state.table.values, state.table.code
        index, known = jax.vmap(code.index)(batch.observation)
        next_index, reached = jax.vmap(code.index)(batch.next_observation)
        target = batch.reward + batch.discount * jnp.max(values[next_index], axis=1)
        error = target - values[index, batch.action]
        counts = batch.kept & known & reached
        rate, visits = self._rates(state.visits, index, batch.action, counts)
        change = jnp.where(counts, rate * error, 0.0)
        table = Table(values.at[index, batch.action].add(change), code, state.table.space)
        factor = jnp.where(batch.action >= 0, self.epsilon_decay, 1.0)  # always true
        less = jnp.maximum(factor * state.epsilon[index[0]], self.epsilon_end)
        epsilon = state.epsilon.at[index[0]].set(less)
        return state.replace(table=table, epsilon=epsilon, visits=visits), {}

    def _rates(
        self,
        visits: Float[Array, "visited options"],
        index: Int[Array, " experiences"],
        action: Int[Array, ""],
        counts: Bool[Array, " experiences"],
    ) -> tuple[Float[Array, "..."], Float[Array, "visited options"]]:
        """Return the learning rate of each experience, and the numbers of updates after it."""
        if not self.learning_rate_power:
            return jnp.float32(self.learning_rate), visits
        after = visits.at[index, action].add(counts.astype(jnp.float32))
        number = jnp.maximum(visits[index, action] + 1.0, 1.0)
        return self.learning_rate * number**-self.learning_rate_power, after


def table_code(name: str, env: Environment, agent: str) -> TableCode:
    """Return the encoding of an agent's observations as table rows.

    Raises:
        FairgymError: A feature is continuous, or the table would be too large.
    """
    try:
        code = TableCode(env.observation_space(agent))
    except FairgymError as error:
        raise FairgymError(f"{name} on {env.name}: {error}") from error
    options = len(env.action_space(agent).elements)
    if code.size * options > LARGEST_TABLE:
        size = f"{code.size:,}" if code.size < 10**15 else f"10^{math.log10(code.size):.0f}"
        raise FairgymError(
            f"{agent!r} has {size} distinct observations; {name} needs at most"
            f" {LARGEST_TABLE // options:,} with {options} options"
        )
    return code
