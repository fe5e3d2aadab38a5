"""fairgym: long-term fairness in decision systems with several agents."""

import importlib
from typing import TYPE_CHECKING, Any

from fairgym._version import __version__

if TYPE_CHECKING:
    from fairgym.config import RunConfig
    from fairgym.core import (
        Entities,
        Environment,
        Episode,
        FairgymError,
        PopulationEnvironment,
        rollout,
    )
    from fairgym.sweeps import train_seeds
    from fairgym.training import configure, evaluate, load, load_runs, train
    from fairgym.utils import make, register_environment

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

_CORE = ("Entities", "Environment", "Episode", "FairgymError", "PopulationEnvironment", "rollout")
_HOMES = {
    **dict.fromkeys(_CORE, "core"),
    **dict.fromkeys(("make", "register_environment"), "utils"),
    **dict.fromkeys(("configure", "evaluate", "load", "load_runs", "train"), "training"),
    "RunConfig": "config",
    "train_seeds": "sweeps",
}


def __getattr__(name: str) -> Any:
    """Import a member when it is used, so that the command line starts without JAX."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"fairgym.{_HOMES[name]}"), name)
    if name in _HOMES.values():  # fairgym.core works after `import fairgym` alone
        return importlib.import_module(f"fairgym.{name}")
    raise AttributeError(f"module 'fairgym' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names and the modules that are loaded."""
    return sorted({*globals(), *__all__})
