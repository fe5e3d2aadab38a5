"""fairgym: long-term fairness in decision systems with several agents."""

from fairgym.core import (
    Entities,
    Environment,
    Episode,
    FairgymError,
    make,
    register_environment,
    rollout,
)

__version__ = "0.1.0"

__all__ = [
    "Entities",
    "Environment",
    "Episode",
    "FairgymError",
    "make",
    "register_environment",
    "rollout",
]
