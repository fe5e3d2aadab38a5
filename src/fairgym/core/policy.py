"""Interfaces of policies, with and without a hidden state."""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from jaxtyping import Array, PRNGKeyArray, PyTree

from fairgym.core.observed import Entities


@runtime_checkable
class Policy(Protocol):
    """A pure JAX function from an observation to an action.

    Trainable policies are equinox modules; others can be plain functions.
    """

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Array:
        """Return the action for an observation, with the shape of the agent's action space.

        Args:
            observation: The agent's observation.
            key: A fresh JAX key, for stochastic policies.
        """
        ...


@runtime_checkable
class RecurrentPolicy(Protocol):
    """A policy with a hidden state, carried from one action to the next within an episode.

    Its methods are pure JAX functions. Use it for hidden states that are learned (a recurrent
    network) or private (a rule with its own counter). A memory that all agents may observe belongs
    to the environment: `fairgym.wrappers.augmented`.
    """

    def initial(self) -> PyTree:
        """Return the hidden state at the start of an episode: a pytree of arrays."""
        ...

    def __call__(
        self, observation: Entities, key: PRNGKeyArray, hidden: PyTree
    ) -> tuple[Array, PyTree]:
        """Return the action for an observation, and the next hidden state.

        Args:
            observation: The agent's observation.
            key: A fresh JAX key, for stochastic policies.
            hidden: Hidden state returned by `initial` or the last call.
        """
        ...


AnyPolicy = Policy | RecurrentPolicy


def first_hidden(policies: Mapping[str, AnyPolicy]) -> dict[str, PyTree]:
    """Return initial hidden states by name of agent, for policies that have one."""
    return {
        agent: policy.initial()
        for agent, policy in policies.items()
        if isinstance(policy, RecurrentPolicy)
    }


def decide(
    policy: AnyPolicy, observation: Entities, key: PRNGKeyArray, hidden: PyTree = None
) -> tuple[Array, PyTree]:
    """Call a policy with or without a hidden state; return its action and next hidden state.

    Args:
        policy: The policy.
        observation: The agent's observation.
        key: A fresh JAX key.
        hidden: Hidden state; None for a policy without one.

    Returns:
        `(action, hidden)`; `hidden` is None for a policy without a hidden state.
    """
    if isinstance(policy, RecurrentPolicy):
        return policy(observation, key, hidden)
    return policy(observation, key), None
