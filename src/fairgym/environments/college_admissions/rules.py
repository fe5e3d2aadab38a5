"""Juries that learn a threshold from the applicants whom they have admitted."""

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fairgym.core import Entities, Environment, FairgymError, check_shape
from fairgym.environments.college_admissions.declarations import GROUPS
from fairgym.environments.college_admissions.dynamics import costs_of, largest_rise
from fairgym.environments.college_admissions.environment import CollegeAdmissions
from fairgym.environments.college_admissions.types import CollegeAdmissionsParams
from fairgym.utils.registry import rules

BURN_IN = 10  # rounds
LEVELS = 1_000  # possible thresholds are 0, 1 / LEVELS, ..., 1
ROUNDING = 0.01  # of a level: scores at a threshold belong to its level in single precision


class Seen(NamedTuple):
    """What a jury remembers.

    Attributes:
        counts: Admitted applicants, unqualified and qualified, by level of the test score.
        rounds: Number of rounds so far.
    """

    counts: Float[Array, "2 levels"]
    rounds: Int[Array, ""]


class Jury(eqx.Module):
    """Base of juries that admit everybody at first and then learn a threshold.

    With a threshold of 0 in the burn-in nobody has a reason to change a test score, and everybody's
    qualification becomes known. Afterwards the threshold is the one that would have decided most
    cases correctly among all people admitted so far. With epsilon, the jury runs no lottery.

    Attributes:
        rise: What is added to test scores of each group before the threshold is learned.
        burn_in: Number of rounds with a threshold of 0.
        numbers: Numbers of an action: the threshold, and perhaps a lottery.
    """

    learns_on: ClassVar[bool] = False  # whether it learns after the burn-in, too
    robust: ClassVar[bool] = False  # whether it expects applicants to game

    rise: Float[Array, " groups"]
    burn_in: int = eqx.field(static=True)
    numbers: int = eqx.field(static=True)

    def __init__(
        self,
        env: Environment,
        agent: str,
        params: CollegeAdmissionsParams | None = None,
        *,
        burn_in: int = BURN_IN,
    ) -> None:
        """Set up what the jury knows.

        Args:
            env: Environment.
            agent: The jury.
            params: Parameters of the environment; its defaults if None.
            burn_in: Number of rounds with a threshold of 0.

        Raises:
            FairgymError: If the environment is another one, or the burn-in is out of range.
        """
        college = env.unwrapped
        if not isinstance(college, CollegeAdmissions):
            raise FairgymError(
                f"the rule {type(self).__name__} is for the jury of college_admissions, got the"
                f" environment {env.name}"
            )
        self.burn_in = check_shape("burn_in", burn_in, 1, 100_000)
        self.numbers = len(env.action_space(agent).elements)
        groups = len(GROUPS)
        if self.robust:
            known = college.default_params if params is None else params
            cost = costs_of(known.cost, known.subsidy, jnp.arange(groups), groups)
            self.rise = largest_rise(cost, known.most_change)
        else:
            self.rise = jnp.zeros(groups)

    def initial(self) -> Seen:
        """Return an empty memory."""
        return Seen(jnp.zeros((2, LEVELS + 1)), jnp.int32(0))

    def __call__(
        self, observation: Entities, key: PRNGKeyArray, hidden: Seen
    ) -> tuple[Float[Array, " numbers"], Seen]:
        """Return the threshold of the next round, and the memory with the last round added."""
        test_score, admitted, qualified, group = observation.features.T
        rise = self.rise[group.astype(jnp.int32)]
        learns = self.learns_on | (hidden.rounds <= self.burn_in)
        known = observation.mask & (admitted > 0.5) & learns
        level = level_of(jnp.clip(test_score + rise, 0.0, 1.0))
        counts = hidden.counts.at[qualified.astype(jnp.int32), level].add(known.astype(jnp.float32))
        threshold = jnp.where(hidden.rounds < self.burn_in, 0.0, best_threshold(counts))
        action = jnp.zeros(self.numbers).at[0].set(threshold)
        return action, Seen(counts, hidden.rounds + 1)


def level_of(test_score: Float[Array, "*n"]) -> Int[Array, "*n"]:
    """Return the highest possible threshold that a test score reaches, counted from 0."""
    return jnp.floor(test_score * LEVELS + ROUNDING).astype(jnp.int32)


def best_threshold(counts: Float[Array, "2 levels"]) -> Float[Array, ""]:
    """Return the threshold that decides most cases correctly, the lowest of several.

    Only levels with a test score are possible. The threshold is 0 unless there are qualified and
    unqualified people.

    Args:
        counts: People, unqualified and qualified, by level.
    """
    refused = jnp.cumsum(counts[0]) - counts[0]
    accepted = jnp.sum(counts[1]) - jnp.cumsum(counts[1]) + counts[1]
    possible = jnp.sum(counts, axis=0) > 0.0
    best = jnp.argmax(jnp.where(possible, refused + accepted, -1.0))
    both = jnp.all(jnp.sum(counts, axis=1) > 0.0)
    return jnp.where(both, best / LEVELS, 0.0).astype(jnp.float32)


@rules.register("static-jury")
class StaticJury(Jury):
    """A jury that learns a threshold once, from test scores that nobody has changed."""


@rules.register("continuous-jury")
class ContinuousJury(Jury):
    """A jury that learns its threshold anew in every round, unaware of gaming."""

    learns_on: ClassVar[bool] = True


@rules.register("robust-jury")
class RobustJury(Jury):
    """A jury that learns a threshold once and expects everybody to game as far as it pays.

    It knows what a point costs each group, and adds the largest change that is worth its cost to
    everybody's test score (Hardt et al. 2016, Strategic Classification, algorithm 1).
    """

    robust: ClassVar[bool] = True
