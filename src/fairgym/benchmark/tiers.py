"""Sizes of the benchmark."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Tier:
    """Size of the benchmark.

    Attributes:
        name: Name of the tier.
        settings: Settings tried in tuning, the published one among them; 1 for no tuning.
        tuning_seeds: Seeds of each of them.
        tuning_share: Share of the budget of each tuning run.
        share: Share of the budget of every other run.
        seeds: Seeds of each level.
        episodes: Held-out episodes of each run.
        permutations: Permutations of the groups, for null means.
    """

    name: str
    settings: int
    tuning_seeds: int
    tuning_share: float
    share: float
    seeds: int
    episodes: int
    permutations: int = 100


QUICK = Tier("quick", 1, 1, 0.0, 0.1, 2, 16)
FULL = Tier("full", 4, 2, 0.25, 1.0, 5, 32)
TIERS = {tier.name: tier for tier in (QUICK, FULL)}
