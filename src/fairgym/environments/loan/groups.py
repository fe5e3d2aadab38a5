"""The groups that people are told apart by: the two of MAFE, or the races that they stand for."""

import dataclasses

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from fairgym.core import Feature
from fairgym.core.params import Number
from fairgym.data import Population
from fairgym.data.populations import loan
from fairgym.data.race import DISADVANTAGED
from fairgym.data.sampling import group_shares


@dataclasses.dataclass(frozen=True)
class Grouping:
    """Partition of the people into groups.

    Attributes:
        word: kind of the groups, in a word.
        groups: names of the groups.
        disadvantaged: True for each group that is one of the disadvantaged.
        features: what shows agents a person's group: its code, or a column for each group.
    """

    word: str
    groups: tuple[str, ...]
    disadvantaged: tuple[bool, ...]
    features: tuple[Feature, ...]

    def columns(self, group: Int[Array, " people"]) -> dict[str, Float[Array, " people"]]:
        """The code of each person's group, and the features by name."""
        code = {"group": group.astype(jnp.float32)}
        if len(self.features) == 1:
            return code
        return code | {f.name: jnp.float32(1) * (group == g) for g, f in enumerate(self.features)}

    def disadvantaged_share(self, data: Population) -> float:
        """Share of the disadvantaged among the rows of the data."""
        return float(np.mean(np.array(self.disadvantaged)[data.columns["group"]]))

    def shares(
        self, data: Population, disadvantaged_share: float | Array, group_size: Number
    ) -> Float[Array, " groups"]:
        """Share of each group in the population.

        Those of advantage and disadvantage are divided as in the data, then all of them resized.

        Args:
            data: the population.
            disadvantaged_share: share of the disadvantaged together.
            group_size: multiple by which each group is resized, the same for all or one for each.
        """
        share = np.array(group_shares(data))
        alike = np.equal.outer(self.disadvantaged, self.disadvantaged)
        together = alike @ share
        within = np.divide(share, together, out=np.zeros_like(share), where=together > 0)
        of_kind = jnp.stack([1.0 - disadvantaged_share, disadvantaged_share])
        sizes = of_kind[np.array(self.disadvantaged, int)] * within.astype(np.float32) * group_size
        return sizes / jnp.sum(sizes)


GROUPINGS = {
    "advantage": Grouping(
        "group",
        loan.GROUPS,
        (False, True),
        (Feature("group", 0, 1, "", "RACE: 0 advantaged, 1 disadvantaged", tells_group=True),),
    ),
    "race": Grouping(
        "race",
        loan.RACES,
        tuple(race.lower() in DISADVANTAGED for race in loan.RACES),
        tuple(
            Feature(f"race_{race.lower()}", 0, 1, "", "RACE", of="race", tells_group=True)
            for race in loan.RACES
        ),
    ),
}
