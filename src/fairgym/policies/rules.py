"""Rules that serve several environments: who came first, whose turn it is, who is there.

A rule is registered as a function of an environment, an agent's name and parameters (None for the
environment's defaults) that makes the agent's policy; a class will do. `fixed_policies` looks words
up in `fairgym.utils.rules`. Rules of one system are in its folder.
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
        agent: The agent that orders a queue.
        params: Not used.
        feature: Name of the observed time.

    Raises:
        FairgymError: The agent does not score people, or does not see the feature.
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
                f"first come, first served needs an agent that scores people and sees {feature!r};"
                f" {agent!r} sees: {', '.join(names)}"
            )
        self.column = names.index(feature)

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Float[Array, " capacity"]:
        """Waiting time over waiting time plus one: rises with the wait, stays below 1."""
        waited = jnp.maximum(observation.features[:, self.column], 0.0)
        return jnp.where(observation.mask, waited / (waited + 1.0), 0.0)


@rules.register("take-turns")
class TakeTurns(Chooser):
    """The person present who was chosen least often so far (Alamdari et al. 2024, A.2 and A.4).

    The rule counts by itself, and so needs no memory in the environment; of several persons it
    chooses the first. If nobody is there, nobody's turn has been.
    """

    def initial(self) -> Float[Array, " rows"]:
        """Turns that each person has had: none."""
        return jnp.zeros((self.rows,))

    def __call__(
        self, observation: Entities, key: PRNGKeyArray, hidden: Float[Array, " rows"]
    ) -> tuple[Int[Array, ""], Float[Array, " rows"]]:
        """The person, and the turns that each has had by then."""
        present = self.present(observation)
        row = self.highest(-hidden, present)
        return row, hidden + jnp.where(present, jax.nn.one_hot(row, self.rows), 0.0)


@rules.register("random-present")
class RandomPresent(Chooser):
    """One of the persons present, each with the same chance."""

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Int[Array, ""]:
        """The person: the highest of random numbers."""
        return self.highest(jax.random.uniform(key, (self.rows,)), self.present(observation))


DECIMALS = 4  # merits that differ by less are equal: sums of tenths are rounded differently


@rules.register("alternate-groups")
class AlternateGroups(Chooser):
    """The person of highest merit among those present of the group chosen least often so far.

    If nobody of that group is there, of the group chosen least often of those that are; of groups
    chosen equally often, the person of highest merit of them all, the first of several.

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
        """Find the columns; `merit` is the name of the feature that says whom to prefer.

        Raises:
            FairgymError: The agent does not choose one row, or does not see groups or merit.
        """
        super().__init__(env, agent, params)
        self.groups = len(env.spec.groups)
        self.group, self.merit = column_of(env, agent, "group"), column_of(env, agent, merit)

    def initial(self) -> Float[Array, " groups"]:
        """Turns that each group has had: none."""
        return jnp.zeros((self.groups,))

    def __call__(
        self, observation: Entities, key: PRNGKeyArray, hidden: Float[Array, " groups"]
    ) -> tuple[Int[Array, ""], Float[Array, " groups"]]:
        """The person, and the turns that each group has had by then."""
        present = self.present(observation)
        group = jnp.round(observation.features[:, self.group]).astype(jnp.int32)
        turns = jnp.where(present, hidden[group], jnp.inf)
        merit = jnp.round(observation.features[:, self.merit], DECIMALS)
        row = self.highest(merit, present & (turns == jnp.min(turns)))
        chosen = present & (jnp.arange(self.rows) == row)
        return row, hidden.at[group].add(chosen.astype(jnp.float32))
