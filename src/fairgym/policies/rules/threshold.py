"""Loans for whoever's score is high enough."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from fairgym.core import Entities, Environment
from fairgym.policies.rules import rules
from fairgym.policies.rules._lender import Lender


@rules.register("threshold")
class Threshold(Lender):
    """Approval from a score on; by default for whom a loan is expected to pay off.

    Attributes:
        approved: True for each score that is approved.
    """

    approved: Array

    def __init__(
        self, env: Environment, agent: str, params: Any = None, *, lowest: int | None = None
    ) -> None:
        """Find the scores.

        Args:
            env: the environment, bank_loans.
            agent: the agent that approves loans.
            params: parameters of the environment; its defaults if None.
            lowest: lowest score that is approved, from 1; None for those whose loans are expected
                to make a profit.

        Raises:
            FairgymError: another environment.
        """
        super().__init__(env, agent, params)
        if lowest is None:
            self.approved = self.gain > 0.0
        else:
            self.approved = jnp.arange(1, self.gain.shape[0] + 1) >= lowest

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Int[Array, ""]:
        """1 to approve."""
        score, _ = self.applicant(observation)
        return self.approved[score].astype(jnp.int32)
