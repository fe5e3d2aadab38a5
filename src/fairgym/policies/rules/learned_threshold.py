"""Loans for whoever has paid off so far."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fairgym.core import Entities, Environment, FairgymError
from fairgym.environments.bank_loans.dynamics import SCORES, expected_profit
from fairgym.policies.rules import rules
from fairgym.policies.rules._lender import Lender


@rules.register("learned-threshold")
class LearnedThreshold(Lender):
    """Approval of the scores whose loans are expected to pay off, by the bank's own estimates.

    It learns from the loans that it makes: a score whose first borrowers happen to default is never
    tried again, whatever its chance to repay is (selective labels).

    Attributes:
        loan: amount of a loan.
        interest: interest on it, as a share.
        first: place of the first estimate in the context.
    """

    loan: Float[Array, ""]
    interest: Float[Array, ""]
    first: int = eqx.field(static=True)

    def __init__(self, env: Environment, agent: str, params: Any = None) -> None:
        """Find the estimates.

        Args:
            env: the environment, bank_loans with `selective_labels=True`.
            agent: the agent that approves loans.
            params: parameters of the environment; its defaults if None.

        Raises:
            FairgymError: another environment, or a bank that makes no estimates.
        """
        super().__init__(env, agent, params)
        bank = self.bank(env)
        if not bank.selective_labels:
            raise FairgymError(
                "the rule LearnedThreshold needs the bank's estimates; it takes bank_loans with"
                " selective_labels=True"
            )
        known = self.known(env, params)
        self.loan = jnp.asarray(known.loan, jnp.float32)
        self.interest = jnp.asarray(known.interest, jnp.float32)
        names = [feature.name for feature in bank.observation_space(agent).context]
        self.first = names.index("estimated_score_1")

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Int[Array, ""]:
        """1 to approve."""
        score, _ = self.applicant(observation)
        estimates = observation.context[self.first : self.first + SCORES]
        gain = expected_profit(estimates, self.loan, self.interest)
        return (gain > 0.0)[score].astype(jnp.int32)
