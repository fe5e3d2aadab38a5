"""fairgym: long-term fairness in decision systems with several agents."""

from typing import TYPE_CHECKING, Any

from fairgym._version import __version__
from fairgym.core import (
    Entities,
    Environment,
    Episode,
    FairgymError,
    PopulationEnvironment,
    rollout,
)
from fairgym.utils import make, register_environment

if TYPE_CHECKING:
    from fairgym.config import RunConfig
    from fairgym.sweeps import train_seeds
    from fairgym.training import configure, evaluate, load, load_runs, train

__all__ = [
    "Entities",
    "Environment",
    "Episode",
    "FairgymError",
    "PopulationEnvironment",
    "RunConfig",
    "__version__",
    "configure",
    "evaluate",
    "load",
    "load_runs",
    "make",
    "register_environment",
    "rollout",
    "train",
    "train_seeds",
]


def __getattr__(name: str) -> Any:
    """Members of the rooms above, imported when first asked for."""
    if name == "train_seeds":
        from fairgym.sweeps import train_seeds

        return train_seeds
    if name == "RunConfig":
        from fairgym.config import RunConfig

        return RunConfig
    if name in __all__:
        from fairgym import training

        return getattr(training, name)
    raise AttributeError(f"module 'fairgym' has no attribute {name!r}")
