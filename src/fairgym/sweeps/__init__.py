"""Plans of many runs, and the engines that train them: folders by configuration, resumed."""

from fairgym.sweeps.engines import Engine, Failed, Local, Processes, engine_of, failure_of
from fairgym.sweeps.plan import (
    Planned,
    folder_name,
    label_of,
    loaded,
    plan,
    plan_seeds,
    unique,
)

__all__ = [
    "Engine",
    "Failed",
    "Local",
    "Planned",
    "Processes",
    "engine_of",
    "failure_of",
    "folder_name",
    "label_of",
    "loaded",
    "plan",
    "plan_seeds",
    "unique",
]
