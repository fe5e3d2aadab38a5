"""The interface of policies."""

from typing import Protocol, runtime_checkable

from jaxtyping import Array, PRNGKeyArray

from fairgym.core.entities import Entities


@runtime_checkable
class Policy(Protocol):
    """A function from an observation to an action, pure and of JAX operations only.

    Learnable policies are equinox modules; a plain function will do for the rest.
    """

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Array:
        """The action for this observation, shaped as the agent's action space.

        Args:
            observation: the agent's observation.
            key: a fresh JAX key, for policies that choose at random.
        """
        ...
