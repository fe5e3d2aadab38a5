"""Counterfactual flips: decisions about a person whose observed group is changed."""

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
    """Decisions about people with their own group and with a flipped group, as NumPy arrays.

    Attributes:
        own: Action about each person with the true group.
        flipped: Action about the same person with another group.
        group: Code of each person's true group.
    """

    own: np.ndarray
    flipped: np.ndarray
    group: np.ndarray

    @property
    def change(self) -> np.ndarray:
        """Flipped minus own action, per person."""
        return self.flipped - self.own

    @property
    def relative_change(self) -> float:
        """Mean absolute change in standard deviations of the own actions; 0 if all are equal."""
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
    """Compare decisions of agents with per-person actions, with and without a flipped group.

    One person at a time gets the features that reveal the group (`Feature.tells_group`) from a
    random observed person of another group; nothing else changes. Without a change in the decision,
    the policy is counterfactually fair with respect to the observed attribute.

    Args:
        env: An environment of people.
        params: Parameters, such as `env.default_params`.
        policies: Agent -> policy without hidden state.
        state: State in which the agents decide, such as the final state of a rollout.
        key: A JAX key.
        people: Number of people whose group is flipped; fewer if an agent observes fewer.

    Returns:
        Agent -> flips. Agents without a per-person action, or that observe only one group, are left
        out.

    Raises:
        FairgymError: A policy is missing or has a hidden state.

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
    for agent, observation in env.observe(state, params).items():
        policy, key = policies[agent], jax.random.fold_in(key, 1)
        if isinstance(policy, RecurrentPolicy):
            raise FairgymError(
                f"the policy of {agent!r} has a hidden state; group flips need policies without one"
            )
        features = env.observation_space(agent).features
        group_columns = np.flatnonzero([feature.tells_group for feature in features])
        if not isinstance(env.action_space(agent), PerEntity) or not group_columns.size:
            continue
        mask = np.asarray(observation.mask)
        # rows are people in order, except for agents that observe applicants
        of_rows = group[np.asarray(state.applicants)] if mask.size < group.size else group
        present = np.flatnonzero(mask)
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        chosen, donors = _pairs(present, of_rows, people, rng)
        if not chosen.size:
            continue
        pairs = jnp.asarray(chosen), jnp.asarray(donors)
        own, flipped = _decide(policy, observation, *pairs, tuple(map(int, group_columns)), key)
        found[agent] = Flips(np.asarray(own), np.asarray(flipped), of_rows[chosen])
    return found


def _pairs(
    present: np.ndarray, group: np.ndarray, people: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows to flip and, for each, a row of another group; none if there is one group."""
    chosen = rng.permutation(present)[:people]
    others = [present[group[present] != group[row]] for row in chosen]
    if not all(other.size for other in others):
        return np.zeros(0, int), np.zeros(0, int)
    return chosen, np.array([rng.choice(other) for other in others], int)


@eqx.filter_jit
def _decide(
    policy: Policy,
    observation: Entities,
    chosen: Int[Array, " flips"],
    donors: Int[Array, " flips"],
    group_columns: tuple[int, ...],
    key: PRNGKeyArray,
) -> tuple[Array, Array]:
    """Return actions about the chosen rows, unchanged and with their donors' features."""
    columns = jnp.array(group_columns)

    def one(row: Array, donor: Array) -> Array:
        features = observation.features.at[row, columns].set(observation.features[donor, columns])
        return policy(Entities(features, observation.mask, observation.context), key)[row]

    return policy(observation, key)[chosen], jax.vmap(one)(chosen, donors)
