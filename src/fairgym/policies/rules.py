"""Rules for several environments: first come, taking turns, random choice.

A rule is registered as a function (or class) that makes an agent's policy from an environment, the
agent's name and parameters (None for the environment's defaults). `fixed_policies` looks up names
in `fairgym.utils.rules`. Rules for a single system are in its folder.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fairgym.core import Entities, Environment, FairgymError, Params
from fairgym.environments._common.choosing import Chooser, column_of
from fairgym.utils.registry import rules


@rules.register("first-come")
class FirstCome(eqx.Module):
    """First come, first served: the longest-waiting person has the highest score.

    Args:
        env: The environment.
        agent: Agent that orders a queue.
        params: Not used.
        feature: Name of the observed waiting time.

    Raises:
        FairgymError: The agent does not score people, or does not observe the feature.
    """

    column: int = eqx.field(static=True)

    def __init__(
        self,
        env: Environment,
        agent: str,
        params: Params | None = None,
        *,
        feature: str = "time_waited",
    ) -> None:
        """Find the column of the waiting time."""
        names = [f.name for f in env.observation_space(agent).features]
        if feature not in names or not env.action_space(agent).per_entity:
            raise FairgymError(
                f"first come, first served needs an agent that scores people and observes"
                f" {feature!r}; {agent!r} observes: {', '.join(names)}"
            )
        self.column = names.index(feature)

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Float[Array, " capacity"]:
        """Return t / (t + 1) for waiting time t: increases with the wait and stays below 1."""
        waited = jnp.maximum(observation.features[:, self.column], 0.0)
        return jnp.where(observation.mask, waited / (waited + 1.0), 0.0)


@rules.register("take-turns")
class TakeTurns(Chooser):
    """Rule that serves the present person with the fewest turns (Alamdari et al. 2024, A.2, A.4).

    The rule has its own counter, so it needs no memory in the environment. In a tie it chooses the
    first person. If nobody is present, nobody gets a turn.
    """

    def initial(self) -> Float[Array, " rows"]:
        """Return the number of turns of each person: 0."""
        return jnp.zeros((self.rows,))

    def __call__(
        self, observation: Entities, key: PRNGKeyArray, hidden: Float[Array, " rows"]
    ) -> tuple[Int[Array, ""], Float[Array, " rows"]]:
        """Return the chosen person, and the updated number of turns of each person."""
        present = self.present(observation)
        row = self.highest(-hidden, present)
        return row, hidden + jnp.where(present, jax.nn.one_hot(row, self.rows), 0.0)


@rules.register("random-present")
class RandomPresent(Chooser):
    """Rule that chooses one of the present people uniformly at random."""

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Int[Array, ""]:
        """Return the present person with the highest random number."""
        return self.highest(jax.random.uniform(key, (self.rows,)), self.present(observation))


DECIMALS = 4  # merits are compared after rounding, since sums of tenths have rounding errors


@rules.register("alternate-groups")
class AlternateGroups(Chooser):
    """Rule that chooses the person with the highest merit in the group with the fewest turns.

    Only groups and people that are present count. In a tie between groups, all their people are
    compared; in a tie of merit, the first person is chosen.

    Attributes:
        groups: Number of groups.
        group: Column of the group.
        merit: Column of the merit.
    """

    groups: int = eqx.field(static=True)
    group: int = eqx.field(static=True)
    merit: int = eqx.field(static=True)

    def __init__(
        self, env: Environment, agent: str, params: Params | None = None, *, merit: str = "credit"
    ) -> None:
        """Find the columns; `merit` is the name of the feature to rank people by.

        Raises:
            FairgymError: The agent does not choose one row, or does not observe groups or merit.
        """
        super().__init__(env, agent, params)
        self.groups = len(env.spec.groups)
        self.group, self.merit = column_of(env, agent, "group"), column_of(env, agent, merit)

    def initial(self) -> Float[Array, " groups"]:
        """Return the number of turns of each group: 0."""
        return jnp.zeros((self.groups,))

    def __call__(
        self, observation: Entities, key: PRNGKeyArray, hidden: Float[Array, " groups"]
    ) -> tuple[Int[Array, ""], Float[Array, " groups"]]:
        """Return the chosen person, and the updated number of turns of each group."""
        present = self.present(observation)
        group = jnp.round(observation.features[:, self.group]).astype(jnp.int32)
        turns = jnp.where(present, hidden[group], jnp.inf)
        merit = jnp.round(observation.features[:, self.merit], DECIMALS)
        row = self.highest(merit, present & (turns == jnp.min(turns)))
        chosen = present & (jnp.arange(self.rows) == row)
        return row, hidden.at[group].add(chosen.astype(jnp.float32))
