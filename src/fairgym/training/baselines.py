"""Fixed policies that an environment declares, and the default one."""

from collections.abc import Mapping
from typing import Any

from fairgym.config.settings import checked, environment_settings
from fairgym.core import Environment
from fairgym.utils import make
from fairgym.utils.changes import unknown


def baselines_of(env: Environment, *, random: bool = False) -> dict[str, Mapping[str, object]]:
    """Return specifications of an environment's baselines; with `random`, also the random one."""
    extra = {"random": dict.fromkeys(env.agents, "random")} if random else {}
    return {**env.spec.baselines, **extra}


def default_baseline(env: Environment) -> str:
    """Return the name of the first baseline that is not all random."""
    chosen = [
        name
        for name, agents in env.spec.baselines.items()
        if any(not isinstance(value, str) or value != "random" for value in agents.values())
    ]
    return next(iter(chosen or env.spec.baselines))


def baseline_of(env: Environment, name: str) -> Mapping[str, object]:
    """Return the specification of a baseline: agent -> policy.

    Raises:
        FairgymError: If there is no baseline of this name.
    """
    baselines = baselines_of(env, random=True)
    if name not in baselines:
        raise unknown("baseline", name, baselines)
    return baselines[name]


def make_checked(environment: str, arguments: Mapping[str, Any]) -> Environment:
    """Make an environment with arguments from a file.

    Raises:
        FairgymError: If the name or an argument is unknown, or a value has the wrong type or range.
    """
    return make(environment, **checked(environment_settings(environment), arguments))
