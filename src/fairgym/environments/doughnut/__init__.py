"""Doughnut shop environment (Alamdari et al. 2024, section 6.1)."""

from fairgym.environments.doughnut.environment import Doughnut, DoughnutComponents, DoughnutParams

__all__ = ["Doughnut", "DoughnutComponents", "DoughnutParams"]
