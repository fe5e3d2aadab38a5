"""Counterfactual flips: what a policy decides about a person whose group is seen as another one."""

from collections.abc import Mapping
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray, PyTree

from fairgym.core import AnyPolicy, Entities, Environment, FairgymError, Params, PerEntity, Policy
from fairgym.core.environment import require_agents
from fairgym.core.policy import RecurrentPolicy


class Flips(NamedTuple):
    """Decisions about people as they are and with their group flipped, NumPy arrays.

    Attributes:
        own: Action about each person as they are.
        flipped: Action about the same person seen as one of another group.
        group: Code of each person's own group.
    """

    own: np.ndarray
    flipped: np.ndarray
    group: np.ndarray

    @property
    def change(self) -> np.ndarray:
        """Flipped less own action, by person."""
        return self.flipped - self.own

    @property
    def relative_change(self) -> float:
        """Mean size of the change in standard deviations of the own actions; 0 if all are alike."""
        spread = float(np.std(self.own)) if self.own.size else 0.0
        return float(np.mean(np.abs(self.change))) / spread if spread > 0.0 else 0.0


def group_flips(
    env: Environment,
    params: Params,
    policies: Mapping[str, AnyPolicy],
    state: PyTree,
    key: PRNGKeyArray,
    people: int = 100,
) -> dict[str, Flips]:
    """Decisions of every agent that acts on persons one by one, with and without a flipped group.

    One person at a time gets the features that tell the group (`Feature.tells_group`) of a person
    of another group, drawn among those whom the agent sees; nothing else changes. A decision that
    depends on the group through nothing but these features does not change where they do not
    matter (counterfactual fairness with respect to the observed attribute).

    Args:
        env: An environment of people.
        params: As `env.default_params`.
        policies: Agent -> policy without hidden state.
        state: State in which the agents decide, such as the last one of a rollout.
        key: A JAX key.
        people: Number of people whose group is flipped, fewer where an agent sees fewer.

    Returns:
        Agent -> flips; agents without an action per person, or that see no two groups, are left
        out.

    Raises:
        FairgymError: A missing policy, or one with a hidden state.

    Examples:
        >>> import fairgym, jax
        >>> from fairgym.policies import equivariant, group_flips
        >>> env = fairgym.make("education", population=200)
        >>> params = env.default_params
        >>> state = env.initial_state(jax.random.key(0), params)
        >>> policies = equivariant(env, jax.random.key(1))
        >>> flips = group_flips(env, params, policies, state, jax.random.key(2))
        >>> sorted(flips), flips["admissions"].change.shape == flips["admissions"].group.shape
        (['admissions'], True)
    """
    require_agents(env, policies, "policy")
    found = {}
    group = np.asarray(state.group)
    for agent, seen in env.observe(state, params).items():
        policy, key = policies[agent], jax.random.fold_in(key, 1)
        if isinstance(policy, RecurrentPolicy):
            raise FairgymError(
                f"the policy of {agent!r} has a hidden state; flips take policies without"
            )
        features = env.observation_space(agent).features
        telling = np.flatnonzero([feature.tells_group for feature in features])
        if not isinstance(env.action_space(agent), PerEntity) or not telling.size:
            continue
        mask = np.asarray(seen.mask)
        # rows are people in order, but those of applicants
        of_rows = group[np.asarray(state.applicants)] if mask.size < group.size else group
        present = np.flatnonzero(mask)
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        chosen, donors = _pairs(present, of_rows, people, rng)
        if not chosen.size:
            continue
        pairs = jnp.asarray(chosen), jnp.asarray(donors)
        own, flipped = _decide(policy, seen, *pairs, tuple(map(int, telling)), key)
        found[agent] = Flips(np.asarray(own), np.asarray(flipped), of_rows[chosen])
    return found


def _pairs(
    present: np.ndarray, group: np.ndarray, people: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Rows to flip, and for each the row of a person of another group; none in a single group."""
    chosen = rng.permutation(present)[:people]
    others = [present[group[present] != group[row]] for row in chosen]
    if not all(other.size for other in others):
        return np.zeros(0, int), np.zeros(0, int)
    return chosen, np.array([rng.choice(other) for other in others], int)


@eqx.filter_jit
def _decide(
    policy: Policy,
    seen: Entities,
    chosen: Int[Array, " flips"],
    donors: Int[Array, " flips"],
    telling: tuple[int, ...],
    key: PRNGKeyArray,
) -> tuple[Array, Array]:
    """Actions about the chosen rows as they are, and each alone with the donor's features."""
    columns = jnp.array(telling)

    def one(row: Array, donor: Array) -> Array:
        features = seen.features.at[row, columns].set(seen.features[donor, columns])
        return policy(Entities(features, seen.mask, seen.context), key)[row]

    return policy(seen, key)[chosen], jax.vmap(one)(chosen, donors)
