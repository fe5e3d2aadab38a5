"""Lending pool environment (Alamdari et al. 2024, section 6.2)."""

from fairgym.environments.lending_pool.environment import LendingPool
from fairgym.environments.lending_pool.types import LendingPoolComponents, LendingPoolParams

__all__ = ["LendingPool", "LendingPoolComponents", "LendingPoolParams"]
