"""Common part of rules of a bank that knows how often each score repays."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from fairgym.core import Entities, Environment, FairgymError
from fairgym.environments.bank_loans import BankLoans, BankLoansParams
from fairgym.environments.bank_loans.dynamics import SCORES, expected_profit


class Lender(eqx.Module):
    """A rule of the bank in bank_loans.

    Attributes:
        repayment: chance that each score repays.
        gain: expected profit of a loan to each score.
    """

    repayment: Float[Array, " scores"]
    gain: Float[Array, " scores"]

    def __init__(self, env: Environment, agent: str, params: Any = None) -> None:
        """Find what the bank knows.

        Args:
            env: the environment.
            agent: the agent that approves loans.
            params: parameters of the environment; its defaults if None.

        Raises:
            FairgymError: another environment.
        """
        known = self.known(env, params)
        repayment = jnp.asarray(known.repayment, jnp.float32)
        self.repayment = jnp.broadcast_to(repayment, (SCORES,))
        self.gain = expected_profit(self.repayment, known.loan, known.interest)

    def bank(self, env: Environment) -> BankLoans:
        """The environment inside all wrappers.

        Raises:
            FairgymError: it is another one.
        """
        inside = env.unwrapped
        if not isinstance(inside, BankLoans):
            raise FairgymError(
                f"the rule {type(self).__name__} takes the bank of bank_loans; {env.name} is"
                " another environment"
            )
        return inside

    def known(self, env: Environment, params: Any) -> BankLoansParams:
        """The parameters given, or else the environment's defaults."""
        bank = self.bank(env)
        return bank.default_params if params is None else params

    def applicant(self, observation: Entities) -> tuple[Int[Array, ""], Int[Array, ""]]:
        """Places of the applicant's score and group."""
        score, group = jnp.round(observation.features[0, :2]).astype(jnp.int32)
        return score - 1, group
