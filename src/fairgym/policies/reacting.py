"""Rules that react to last year's gap between groups: adaptive interventions without learning.

Each counts over a year how often the people of a group are behind, and then moves a part of its
action towards the groups that were behind more than the mean. The rest of the action is constant.
"""

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fairgym.core import Entities, Environment, FairgymError, Params
from fairgym.utils.registry import rules


class Year(NamedTuple):
    """Hidden state of a rule.

    Attributes:
        marked: Sum of the marks of each group's people in this year.
        people: Number of these people, each counted in every decision.
        decisions: Decisions in this year.
        lead: What each group has been given beyond the mean of all groups.
    """

    marked: Float[Array, " groups"]
    people: Float[Array, " groups"]
    decisions: Float[Array, ""]
    lead: Float[Array, " groups"]


class Reacting(eqx.Module):
    """Base of the rules. After a year, lead += gain (rate - mean rate).

    The rate of a group is the mean mark of its people; the mean rate is that over the groups with
    people. Groups without people keep their lead. The step is not relative to the rate: in a small
    group with rare marks, most years have none, and relative steps would be biased against it.

    Attributes:
        columns: Columns of the groups: one with the code of two groups, or one per group.
        marks: Columns whose sum is a person's mark.
    """

    environment: ClassVar[str]
    agent: ClassVar[str]
    group_features: ClassVar[tuple[str, ...]]
    mark_features: ClassVar[tuple[str, ...]]
    year: ClassVar[int]  # decisions in a year
    gain: ClassVar[float]

    columns: tuple[int, ...] = eqx.field(static=True)
    marks: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, env: Environment, agent: str, params: Params | None = None) -> None:
        """Find the columns of groups and marks.

        Args:
            env: Environment.
            agent: Agent that follows the rule.
            params: Not used.

        Raises:
            FairgymError: If the rule is for another agent, or the agent does not observe groups.
        """
        names = [feature.name for feature in env.observation_space(agent).features]
        needed = (*self.group_features, *self.mark_features)
        fits = env.name == self.environment and agent.endswith(self.agent)
        if not fits or not set(needed) <= set(names):
            raise FairgymError(
                f"the rule {type(self).__name__} is for the agent {self.agent!r} of"
                f" {self.environment} with two groups or four regions, got {agent!r} of {env.name}"
            )
        if not getattr(env.unwrapped, "observe_group", True):
            raise FairgymError(
                f"the rule {type(self).__name__} needs observe_group=True: {agent!r} does not"
                " observe each person's group"
            )
        self.columns = tuple(names.index(name) for name in self.group_features)
        self.marks = tuple(names.index(name) for name in self.mark_features)

    @property
    def groups(self) -> int:
        """Number of groups."""
        return max(2, len(self.columns))

    def initial(self) -> Year:
        """Return the start of a year, without any lead."""
        zeros = jnp.zeros((self.groups,))
        return Year(zeros, zeros, jnp.zeros(()), zeros)

    def __call__(
        self, observation: Entities, key: PRNGKeyArray, hidden: Year
    ) -> tuple[Array, Year]:
        """Return the action, and the year with this decision."""
        year = self.react(observation, hidden)
        return self.action(year.lead), year

    def react(self, observation: Entities, hidden: Year) -> Year:
        """Count the people observed; at the end of a year move the lead and start the next year."""
        of_groups = jnp.stack([observation.features[:, column] for column in self.columns])
        if len(self.columns) == 1:
            of_groups = jnp.concatenate([1.0 - of_groups, of_groups])
        of_groups = of_groups * observation.mask
        mark = sum(observation.features[:, column] for column in self.marks)
        marked = hidden.marked + jnp.dot(of_groups, jnp.asarray(mark), precision="highest")
        people = hidden.people + jnp.sum(of_groups, axis=1)
        there = people > 0.0
        rate = marked / jnp.where(there, people, 1.0)
        mean = jnp.sum(rate * there) / jnp.maximum(jnp.sum(there), 1)
        apart = jnp.where(there, rate - mean, 0.0)
        over = hidden.decisions + 1.0 >= self.year
        return Year(
            jnp.where(over, 0.0, marked),
            jnp.where(over, 0.0, people),
            jnp.where(over, 0.0, hidden.decisions + 1.0),
            hidden.lead + jnp.where(over, self.gain * apart, 0.0),
        )

    def action(self, lead: Float[Array, " groups"]) -> Array:
        """Return the action with this lead of each group."""
        raise NotImplementedError


@rules.register("level-relief")
class LevelRelief(Reacting):
    """Relief for the group of loan whose borrowers were late more often in the last year.

    Both groups begin with 0.15, the mean of the published fixed policy, and keep this mean. A
    borrower is late if they have paid less than nine tenths of all requests (`warning`).
    """

    environment = "loan"
    agent = "debt_management"
    group_features = ("group",)
    mark_features = ("warning",)
    year = 12
    gain = 10.0  # 0.2 points more late borrowers than the others: a lead of 0.01 a year
    relief: ClassVar[float] = 0.15

    def action(self, lead: Float[Array, " groups"]) -> Array:
        """Return the relief of both groups."""
        return jnp.clip(self.relief + lead, 0.0, 1.0)


@rules.register("level-mentors")
class LevelMentors(Reacting):
    """Mentors as long as the minority's cumulative GPA in education is behind that of the others.

    The university's other shares are those of the plausible fixed policy. Mentors begin at 0, have
    at most a fifth of the budget, and what they do not take is kept.
    """

    environment = "education"
    agent = "university"
    group_features = ("minority",)
    mark_features = ("gpa",)
    year = 2
    gain = 0.05  # 0.1 grade points behind: half a percent of the budget a year
    most: ClassVar[float] = 0.2

    def action(self, lead: Float[Array, " groups"]) -> Array:
        """Return the university's shares; a group that is ahead in grades has a positive lead."""
        mentors = jnp.clip(lead[0] - lead[1], 0.0, self.most)
        shares = [0.05, 0.40, 0.25, 0.0, 0.30]
        return jnp.array(shares) + mentors * jnp.array([0.0, 0.0, 0.0, 1.0, -1.0])


@rules.register("level-regions")
class LevelRegions(Reacting):
    """Public health money for the regions of health with the larger shares of ill people.

    The planner's four purposes have a quarter of the budget each. Beds and subsidies are divided
    evenly; public health is at first.
    """

    environment = "health"
    agent = "planner"
    group_features = ("Northeast", "Midwest", "South", "West")
    mark_features = ("needs_bed", "in_hospital")
    year = 2  # the planner decides every six months
    gain = 5.0  # 1 point more ill people than the mean: a twentieth of the money a year

    def action(self, lead: Float[Array, " groups"]) -> Array:
        """Return the planner's tree of shares."""
        split = jnp.maximum(0.25 + lead, 0.0)
        quarters = jnp.full((self.groups,), 0.25)
        return jnp.concatenate([quarters, quarters, split / jnp.sum(split), quarters])
