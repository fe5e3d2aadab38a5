"""Weights of objectives by name."""

import numbers
from collections.abc import Iterable, Mapping
from typing import Any

from fairgym.core import Environment, FairgymError
from fairgym.fairness.metrics import Kind, Metric, components_of
from fairgym.fairness.welfare_names import NAMES, TAKES, is_welfare
from fairgym.utils.changes import did_you_mean

FRONTIER = "frontier"
KINDS: Mapping[str, tuple[Kind, ...]] = {
    "uniform": ("direct", "rate", "fair"),
    "direct": ("direct",),
    "direct-fair": ("direct", "fair"),
    "direct-fair-rate": ("direct", "fair", "rate"),
}
HALF_DIRECT, PUBLISHED, OWN = "half-direct", "published", "own"


def named_weights(env: Environment, name: str) -> dict[str, float]:
    """Return the weights of a named objective, by name of metric or scheme.

    Args:
        env: Environment.
        name: As for `fairgym.fairness.Objective.named`.

    Raises:
        FairgymError: If the name is unknown, or lambda is outside [0, 1].
    """
    if name in KINDS:
        return of_kinds(env, name)
    if name == HALF_DIRECT:
        return half_direct(env)
    if name == PUBLISHED:
        return published(env)
    if is_welfare(name):
        return {name: 1.0}
    names = (*KINDS, HALF_DIRECT, PUBLISHED)
    if hint := did_you_mean(name, (*names, *NAMES)):
        raise FairgymError(f"unknown objective {name!r}{hint}")
    kind, _, rest = name.partition(":")
    if kind == OWN and rest in env.agents:
        return own(env, rest)
    try:
        if kind == FRONTIER:
            return frontier(env, float(rest))
    except ValueError:
        pass
    raise FairgymError(
        f"unknown objective {name!r}; there are: {', '.join(names)};"
        f" {OWN}:AGENT with AGENT one of {', '.join(env.agents)};"
        f" {FRONTIER}:LAMBDA with LAMBDA from 0 to 1; or the welfare {TAKES}"
    )


def terms_of(env: Environment, *kinds: Kind) -> list[str]:
    """Return the names of the terms of these kinds."""
    return [name for name in env.spec.terms if env.metrics[name].kind in kinds]


def _shared(names: list[str], weight: float) -> dict[str, float]:
    """Return a weight, shared equally among the names."""
    return {name: weight / len(names) for name in names}


def of_kinds(env: Environment, objective: str) -> dict[str, float]:
    """Return equal weights for the terms of an objective's kinds.

    Args:
        env: Environment.
        objective: Name in `KINDS`.

    Raises:
        FairgymError: If the environment has no metric of these kinds.
    """
    names = terms_of(env, *KINDS[objective])
    if env.metrics and not names:
        takes = [name for name, kinds in KINDS.items() if terms_of(env, *kinds)]
        takes += [PUBLISHED] * bool(env.spec.published)
        raise FairgymError(
            f"objective must be one of {', '.join(takes)}, got {objective!r}, but {env.name} has"
            f" no metric of the kind {' or '.join(KINDS[objective])}"
        )
    return _shared(names, 1.0)


def half_direct(env: Environment) -> dict[str, float]:
    """Return half the weight for direct rewards, and half for disparities (MAFE, D.6)."""
    return _shared(terms_of(env, "direct"), 0.5) | _shared(terms_of(env, "fair"), 0.5)


def frontier(env: Environment, lam: float) -> dict[str, float]:
    """Return alpha_k = lambda / K for rewards, beta_m = (1 - lambda) / M for disparities (D.4).

    Raises:
        FairgymError: If lambda is outside [0, 1].
    """
    if not (isinstance(lam, numbers.Real) and 0.0 <= lam <= 1.0):
        raise FairgymError(f"lambda must be a number from 0 to 1, got {lam!r}")
    rewards, fair = terms_of(env, "direct", "rate"), terms_of(env, "fair")
    return _shared(rewards, lam) | _shared(fair, 1.0 - lam)


def own(env: Environment, agent: str) -> dict[str, float]:
    """Return equal weights for the terms that concern an agent (`used_by`).

    A term concerns an agent if all its components do.

    Raises:
        FairgymError: If no term concerns the agent.
    """
    info = env.spec.component_info

    def concern(metric: Metric) -> bool:
        return all(agent in (info[part].used_by or (agent,)) for part in components_of(metric))

    names = [name for name in env.spec.terms if concern(env.metrics[name])]
    if not names:
        raise FairgymError(
            f"objective '{OWN}:{agent}' needs a term that concerns only {agent!r}, but {env.name}"
            " has none; give another objective or weights"
        )
    return _shared(names, 1.0)


def published(env: Environment) -> dict[str, float]:
    """Return the published weights.

    Raises:
        FairgymError: If the environment declares none.
    """
    if not env.spec.published:
        raise FairgymError(f"{env.name} declares no published objective; give another one")
    return dict(env.spec.published)


def named_by_agent(
    agents: Iterable[str], objective: Any, objectives: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the objective of each agent; "own" stands for the terms that concern it.

    Args:
        agents: Names of the agents.
        objective: Objective of the agents without their own.
        objectives: Objectives of the other agents, by name of agent.
    """
    own = isinstance(objective, str) and objective == OWN
    return {a: objectives.get(a, f"{OWN}:{a}" if own else objective) for a in agents}
