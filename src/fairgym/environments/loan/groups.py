"""Groups of people in the loan environment: MAFE's two, or the four races behind them."""

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
    """Division of the people into groups.

    Attributes:
        word: Word for one group ("group", "race").
        groups: Names of the groups.
        disadvantaged: Whether each group counts as disadvantaged.
        features: Features that reveal a person's group: its code, or one column per group.
    """

    word: str
    groups: tuple[str, ...]
    disadvantaged: tuple[bool, ...]
    features: tuple[Feature, ...]

    def columns(self, group: Int[Array, " people"]) -> dict[str, Float[Array, " people"]]:
        """Return the code of each person's group, and the features by name."""
        code = {"group": group.astype(jnp.float32)}
        if len(self.features) == 1:
            return code
        return code | {f.name: jnp.float32(1) * (group == g) for g, f in enumerate(self.features)}

    def disadvantaged_share(self, data: Population) -> float:
        """Return the share of disadvantaged people among the rows of the data."""
        return float(np.mean(np.array(self.disadvantaged)[data.columns["group"]]))

    def shares(
        self, data: Population, disadvantaged_share: float | Array, group_size: Number
    ) -> Float[Array, " groups"]:
        """Return each group's share of the population.

        Groups within the advantaged, and within the disadvantaged, keep the data's proportions.
        All groups are then resized.

        Args:
            data: Population.
            disadvantaged_share: Share of all disadvantaged groups together.
            group_size: Factor that resizes each group; one number for all or one per group.
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
