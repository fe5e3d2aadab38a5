"""The most profit that equal opportunity allows, at every step."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fairgym.core import Entities, Environment, FairgymError
from fairgym.policies.rules import rules
from fairgym.policies.rules._lender import Lender


@rules.register("equal-opportunity")
class EqualOpportunity(Lender):
    """Randomised thresholds of equal true positive rates that make the most expected profit.

    The EO agent of Hu, Lear and Zhang (2023, section 6.A), after Hardt, Price and Srebro (2016):
    a bank that knows the groups' score distributions and solves for their thresholds before each
    decision.

    Attributes:
        advantaged: chance that an applicant is of the first group.
        first: place of the first share in the context.
    """

    advantaged: Float[Array, ""]
    first: int = eqx.field(static=True)

    def __init__(self, env: Environment, agent: str, params: Any = None) -> None:
        """Find the shares.

        Args:
            env: the environment, bank_loans with `informed=True`.
            agent: the agent that approves loans.
            params: parameters of the environment; its defaults if None.

        Raises:
            FairgymError: another environment, or a bank that does not see the distributions.
        """
        super().__init__(env, agent, params)
        bank = self.bank(env)
        if not bank.informed:
            raise FairgymError(
                "the rule EqualOpportunity needs the score distributions; it takes bank_loans with"
                " informed=True"
            )
        self.advantaged = jnp.asarray(self.known(env, params).advantaged, jnp.float32)
        self.first = int(bank.shows_cash)

    def approvals(self, shares: Float[Array, "groups scores"]) -> Float[Array, "groups scores"]:
        """Probability of approval for each group and score.

        Args:
            shares: the groups' score distributions.
        """
        sizes = jnp.stack([self.advantaged, 1.0 - self.advantaged])
        return equal_opportunity(shares, sizes, self.repayment, self.gain)

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Int[Array, ""]:
        """1 to approve, with the probability of the applicant's group and score."""
        score, group = self.applicant(observation)
        last = self.first + 2 * self.repayment.shape[0]
        shares = observation.context[self.first : last].reshape(2, -1)
        chance = self.approvals(shares)[group, score]
        return (jax.random.uniform(key) < chance).astype(jnp.int32)


def equal_opportunity(
    shares: Float[Array, "groups scores"],
    sizes: Float[Array, " groups"],
    repayment: Float[Array, " scores"],
    gain: Float[Array, " scores"],
) -> Float[Array, "groups scores"]:
    """Probabilities of approval with equal true positive rates and the most expected profit.

    Scores that repay more often make more profit per loan that is repaid, so that each group is
    approved from its best scores down, to the same true positive rate. Profit is a concave
    function of that rate, linear between the rates at which a group's next score begins: the best
    rate is one of these. Of rates of equal profit the lowest counts.

    Args:
        shares: share of each score in each group.
        sizes: share of each group among the applicants.
        repayment: chance of each score to repay.
        gain: expected profit of a loan to each score.
    """
    # who is approved before whom: those who repay more often, and the higher of equal scores
    place = jnp.arange(repayment.shape[0])
    equal = repayment[None, :] == repayment[:, None]
    before = (repayment[None, :] > repayment[:, None]) | (equal & (place > place[:, None]))
    # share of each score among those of its group who would repay, and of all approved before it
    good = shares * repayment
    good = good / jnp.maximum(jnp.sum(good, axis=1, keepdims=True), 1e-30)
    earlier = jnp.sum(good[:, None, :] * before, axis=2)

    def approved(rate: Float[Array, ""]) -> Float[Array, "groups scores"]:
        part = (rate - earlier) / jnp.where(good > 0.0, good, 1.0)
        return jnp.where(good > 0.0, jnp.clip(part, 0.0, 1.0), 0.0)

    rates = jnp.concatenate([jnp.zeros(1), jnp.minimum((earlier + good).ravel(), 1.0)])
    weights = sizes[:, None] * shares * gain
    profits = jnp.sum(weights * jax.vmap(approved)(rates), axis=(1, 2))
    most = profits >= jnp.max(profits) - 1e-7
    return approved(jnp.min(jnp.where(most, rates, 1.0)))
