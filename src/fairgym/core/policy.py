"""The interfaces of policies, with and without a hidden state."""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from jaxtyping import Array, PRNGKeyArray, PyTree

from fairgym.core.observed import Entities


@runtime_checkable
class Policy(Protocol):
    """A function from an observation to an action, pure and of JAX operations only.

    Learnable policies are equinox modules; a plain function will do for the rest.
    """

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Array:
        """The action for this observation, shaped as the agent's action space.

        Args:
            observation: The agent's observation.
            key: A fresh JAX key, for policies that choose at random.
        """
        ...


@runtime_checkable
class RecurrentPolicy(Protocol):
    """A policy with a hidden state, carried from one action to the next of an episode.

    Its methods are pure and of JAX operations only. It is for hidden states that are learned (a
    recurrent network) or private (a rule that counts by itself). A memory that everybody may know
    belongs to the environment: `fairgym.wrappers.augmented`.
    """

    def initial(self) -> PyTree:
        """Hidden state at the start of an episode: a pytree of arrays."""
        ...

    def __call__(
        self, observation: Entities, key: PRNGKeyArray, hidden: PyTree
    ) -> tuple[Array, PyTree]:
        """The action for this observation, and the next hidden state.

        Args:
            observation: The agent's observation.
            key: A fresh JAX key, for policies that choose at random.
            hidden: Hidden state, as `initial` or the last call returned it.
        """
        ...


AnyPolicy = Policy | RecurrentPolicy


def first_hidden(policies: Mapping[str, AnyPolicy]) -> dict[str, PyTree]:
    """Hidden states at the start of an episode, by name of agent; only of those that have one."""
    return {
        agent: policy.initial()
        for agent, policy in policies.items()
        if isinstance(policy, RecurrentPolicy)
    }


def decide(
    policy: AnyPolicy, observation: Entities, key: PRNGKeyArray, hidden: PyTree = None
) -> tuple[Array, PyTree]:
    """The action of a policy with or without hidden state, and its next hidden state.

    Args:
        policy: The policy.
        observation: The agent's observation.
        key: A fresh JAX key.
        hidden: Hidden state; None for a policy without.

    Returns:
        `(action, hidden)`; the hidden state is None for a policy without.
    """
    if isinstance(policy, RecurrentPolicy):
        return policy(observation, key, hidden)
    return policy(observation, key), None
