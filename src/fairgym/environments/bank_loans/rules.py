"""Hand-written rules for the bank of the bank loans environment."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fairgym.core import Entities, Environment, FairgymError
from fairgym.environments.bank_loans.declarations import GROUPS, SCORE_NAMES
from fairgym.environments.bank_loans.dynamics import SCORES, expected_profit
from fairgym.environments.bank_loans.environment import BankLoans
from fairgym.environments.bank_loans.types import BankLoansParams
from fairgym.utils.registry import rules


class Lender(eqx.Module):
    """Base of the rules for the bank in bank_loans.

    Attributes:
        known: Parameters of the environment that the bank believes to be true.
        repayment: Probability that each score repays.
        gain: Expected profit of a loan to each score.
        first: Position in the context of the first number that the rule uses, if any.
    """

    # Option of bank_loans that the rule needs, what it reveals, and its first name in the context.
    needs: ClassVar[tuple[str, str, str] | None] = None

    known: BankLoansParams
    repayment: Float[Array, " scores"]
    gain: Float[Array, " scores"]
    first: int = eqx.field(static=True)

    def __init__(self, env: Environment, agent: str, params: BankLoansParams | None = None) -> None:
        """Set up what the bank knows.

        Args:
            env: Environment.
            agent: Agent that approves loans.
            params: Parameters of the environment; its defaults if None.

        Raises:
            FairgymError: If the environment is another one, or the bank does not observe what the
                rule needs.
        """
        bank = env.unwrapped
        if not isinstance(bank, BankLoans):
            raise FairgymError(
                f"the rule {type(self).__name__} is for the bank of bank_loans, got the"
                f" environment {env.name}"
            )
        self.first = 0
        if self.needs:
            option, what, name = self.needs
            if not getattr(bank, option):
                raise FairgymError(
                    f"the rule {type(self).__name__} needs {what}; make bank_loans with"
                    f" {option}=True"
                )
            self.first = [f.name for f in bank.observation_space(agent).context].index(name)
        known = bank.default_params if params is None else params
        self.known = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), known)
        self.repayment = jnp.broadcast_to(self.known.repayment, (SCORES,))
        self.gain = expected_profit(self.repayment, known.loan, known.interest)

    def applicant(self, observation: Entities) -> tuple[Int[Array, ""], Int[Array, ""]]:
        """Return the indices of the applicant's score and group."""
        score, group = jnp.round(observation.features[0, :2]).astype(jnp.int32)
        return score - 1, group


@rules.register("threshold")
class Threshold(Lender):
    """Approval from a minimum score; by default where the expected profit is positive.

    Attributes:
        approved: Whether each score is approved.
    """

    approved: Array

    def __init__(
        self,
        env: Environment,
        agent: str,
        params: BankLoansParams | None = None,
        *,
        lowest: int | None = None,
    ) -> None:
        """Find the approved scores.

        `lowest` is the lowest approved score, from 1; None approves every score with a positive
        expected profit.

        Raises:
            FairgymError: If the environment is another one.
        """
        super().__init__(env, agent, params)
        if lowest is None:
            self.approved = self.gain > 0.0
        else:
            self.approved = jnp.arange(1, self.gain.shape[0] + 1) >= lowest

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Int[Array, ""]:
        """Return 1 to approve, 0 to deny."""
        score, _ = self.applicant(observation)
        return self.approved[score].astype(jnp.int32)


@rules.register("learned-threshold")
class LearnedThreshold(Lender):
    """Approval of scores whose expected profit is positive by the bank's own estimates.

    The bank learns only from loans that it grants. A score whose first borrowers happen to default
    is never tried again, whatever its true probability to repay (selective labels).
    """

    needs: ClassVar = ("selective_labels", "the bank's estimates", "estimated_score_1")

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Int[Array, ""]:
        """Return 1 to approve, 0 to deny."""
        score, _ = self.applicant(observation)
        estimates = observation.context[self.first : self.first + SCORES]
        gain = expected_profit(estimates, self.known.loan, self.known.interest)
        return (gain > 0.0)[score].astype(jnp.int32)


@rules.register("equal-opportunity")
class EqualOpportunity(Lender):
    """Randomised thresholds that maximise expected profit under equal true positive rates.

    This is the EO agent of Hu, Lear and Zhang (2023, section VI-A), after Hardt, Price and Srebro
    (2016): a bank that knows the groups' score distributions and solves for the thresholds before
    each decision.
    """

    needs: ClassVar = ("informed", "the score distributions", f"{GROUPS[0]}_{SCORE_NAMES[0]}")

    def approvals(self, shares: Float[Array, "groups scores"]) -> Float[Array, "groups scores"]:
        """Return the probability of approval for each group and score.

        Args:
            shares: Score distribution of each group.
        """
        advantaged = self.known.advantaged
        sizes = jnp.stack([advantaged, 1.0 - advantaged])
        return equal_opportunity(shares, sizes, self.repayment, self.gain)

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Int[Array, ""]:
        """Return 1 with the approval probability of the applicant's group and score, else 0."""
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
    """Return approval probabilities that maximise profit under equal true positive rates.

    Scores that repay more often make more profit per repaid loan. So each group is approved from
    its best scores down, until it reaches the common true positive rate. Profit is a concave
    function of that rate, linear between the rates at which a group's next score begins. The best
    rate is therefore one of these; among rates of equal profit the lowest is taken.

    Args:
        shares: Share of each score in each group.
        sizes: Share of each group among the applicants.
        repayment: Probability to repay of each score.
        gain: Expected profit of a loan to each score.
    """
    # order of approval: scores that repay more often first, then the higher of equal scores
    place = jnp.arange(repayment.shape[0])
    equal = repayment[None, :] == repayment[:, None]
    before = (repayment[None, :] > repayment[:, None]) | (equal & (place > place[:, None]))
    # each score's share of those in its group who would repay, and the sum of the shares before it
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
