"""A random choice among those who are there."""

import jax
from jaxtyping import Array, Int, PRNGKeyArray

from fairgym.core import Entities
from fairgym.policies.rules import rules
from fairgym.policies.rules._chooser import Chooser


@rules.register("random-present")
class RandomPresent(Chooser):
    """One of the persons present, each with the same chance."""

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Int[Array, ""]:
        """The person: the highest of random numbers."""
        return self.highest(jax.random.uniform(key, (self.rows,)), self.present(observation))
