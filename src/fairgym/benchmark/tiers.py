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
        rule_seeds: Seeds of the random policy and of the fixed rules, by which scores are
            normalised. They are cheap, and their noise would be in every score.
        episodes: Held-out episodes of each run.
        permutations: Permutations of the groups, for null means.
    """

    name: str
    settings: int
    tuning_seeds: int
    tuning_share: float
    share: float
    seeds: int
    rule_seeds: int
    episodes: int
    permutations: int = 100


QUICK = Tier("quick", 1, 1, 0.0, 0.1, 2, 5, 16)
FULL = Tier("full", 4, 2, 0.25, 1.0, 5, 20, 32)
TIERS = {tier.name: tier for tier in (QUICK, FULL)}
