"""The MAFE-Health environment: an insurer, a hospital and a planner. See the card, `README.md`."""

from fairgym.environments.health.environment import Health
from fairgym.environments.health.params import HealthParams
from fairgym.environments.health.types import HealthComponents

__all__ = ["Health", "HealthComponents", "HealthParams"]
