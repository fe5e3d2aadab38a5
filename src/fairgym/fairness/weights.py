"""Weights of objectives by name."""

import numbers
from collections.abc import Iterable, Mapping
from typing import Any

from fairgym.core import Environment, FairgymError
from fairgym.fairness.metrics import Kind, Metric, components_of
from fairgym.fairness.welfare import TAKES, is_welfare
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
    """Weights of a named objective, by name of metric or scheme.

    Args:
        env: the environment.
        name: as for `fairgym.fairness.Objective.named`.

    Raises:
        FairgymError: any other name, or a lambda outside [0, 1].
    """
    if name in KINDS:
        return of_kinds(env, name)
    if name == HALF_DIRECT:
        return half_direct(env)
    if name == PUBLISHED:
        return published(env)
    if is_welfare(name):
        return {name: 1.0}
    if hint := did_you_mean(name, (*KINDS, HALF_DIRECT, PUBLISHED)):
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
        f"objective is {name!r}; it takes: {', '.join((*KINDS, HALF_DIRECT, PUBLISHED))};"
        f" {OWN}:AGENT with AGENT one of {', '.join(env.agents)};"
        f" {FRONTIER}:LAMBDA with LAMBDA from 0 to 1; or the welfare {TAKES}"
    )


def terms_of(env: Environment, *kinds: Kind) -> list[str]:
    """Names of the terms of these kinds."""
    return [name for name in env.spec.terms if env.metrics[name].kind in kinds]


def _shared(names: list[str], weight: float) -> dict[str, float]:
    """A weight, shared equally."""
    return {name: weight / len(names) for name in names}


def of_kinds(env: Environment, objective: str) -> dict[str, float]:
    """Terms of the kinds of an objective, weighted alike.

    Args:
        env: the environment.
        objective: a name of `KINDS`.

    Raises:
        FairgymError: all metrics of the environment are of other kinds.
    """
    names = terms_of(env, *KINDS[objective])
    if env.metrics and not names:
        takes = [name for name, kinds in KINDS.items() if terms_of(env, *kinds)]
        takes += [PUBLISHED] * bool(env.spec.published)
        raise FairgymError(
            f"objective is {objective!r}, but {env.name} has no metric of the kind"
            f" {' or '.join(KINDS[objective])}; it takes: {', '.join(takes)}"
        )
    return _shared(names, 1.0)


def half_direct(env: Environment) -> dict[str, float]:
    """Half of the weight on direct rewards, the rest shared by the disparities (MAFE, D.6)."""
    return _shared(terms_of(env, "direct"), 0.5) | _shared(terms_of(env, "fair"), 0.5)


def frontier(env: Environment, lam: float) -> dict[str, float]:
    """alpha_k = lambda / K for rewards, beta_m = (1 - lambda) / M for disparities (MAFE, D.4).

    Raises:
        FairgymError: lambda outside [0, 1].
    """
    if not (isinstance(lam, numbers.Real) and 0.0 <= lam <= 1.0):
        raise FairgymError(f"lambda is {lam!r}; it takes a number from 0 to 1")
    rewards, fair = terms_of(env, "direct", "rate"), terms_of(env, "fair")
    return _shared(rewards, lam) | _shared(fair, 1.0 - lam)


def own(env: Environment, agent: str) -> dict[str, float]:
    """Terms that concern an agent, weighted alike: all their components do (`used_by`).

    Raises:
        FairgymError: no term does.
    """
    info = env.spec.component_info

    def concern(metric: Metric) -> bool:
        return all(agent in (info[part].used_by or (agent,)) for part in components_of(metric))

    names = [name for name in env.spec.terms if concern(env.metrics[name])]
    if not names:
        raise FairgymError(
            f"objective is '{OWN}:{agent}', but no term of {env.name} concerns {agent!r} alone; it"
            " takes another one, or weights"
        )
    return _shared(names, 1.0)


def published(env: Environment) -> dict[str, float]:
    """The published weights.

    Raises:
        FairgymError: the environment declares none.
    """
    if not env.spec.published:
        raise FairgymError(f"{env.name} declares no published objective; it takes another one")
    return dict(env.spec.published)


def named_by_agent(
    agents: Iterable[str], objective: Any, objectives: Mapping[str, Any]
) -> dict[str, Any]:
    """The objective that each agent is given; "own" stands for the terms that concern it.

    Args:
        agents: names of the agents.
        objective: that of agents without one of their own.
        objectives: those of the others, by name of agent.
    """
    own = isinstance(objective, str) and objective == OWN
    return {a: objectives.get(a, f"{OWN}:{a}" if own else objective) for a in agents}
