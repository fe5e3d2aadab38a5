"""Social welfare of groups, regions or people as an objective, by name.

`nash`, `max-min`, `gini` and `alpha:2` are long-term schemes (Alamdari et al. 2024, definition
4.1): the welfare, at the end of an episode, of what each stakeholder received. By default this is
the component that the environment declares as its `benefit`; `nash:approved` names another one.
"""

import dataclasses
from collections.abc import Callable

import jax.numpy as jnp

from fairgym.core import Environment, FairgymError
from fairgym.fairness.aggregations import (
    Aggregation,
    AlphaFair,
    GeneralisedGini,
    Nash,
    Rawlsian,
)
from fairgym.fairness.memories import Full, stakeholder_component
from fairgym.fairness.schemes import Scheme

ALPHA = "alpha"
NAMES: dict[str, Callable[[], Aggregation]] = {
    "nash": Nash,
    "max-min": Rawlsian,
    "gini": GeneralisedGini,
}
TITLES = {
    "nash": "log of Nash welfare",
    "max-min": "welfare of the worst off",
    "gini": "Gini welfare",
    ALPHA: "alpha-fair welfare",
}
TAKES = f"{', '.join(NAMES)} or {ALPHA}:ALPHA, optionally with :COMPONENT"


def is_welfare(text: str) -> bool:
    """Return whether the first word of a name is a welfare."""
    return text.partition(":")[0] in TITLES


def welfare_scheme(env: Environment, text: str, field: str = "objective") -> Scheme:
    """Return the long-term scheme of a welfare by its name.

    Its normaliser is the welfare of equal shares of a total. The total is one unit of the component
    per person (per step in an environment without a population), times the steps for a `level`.

    Args:
        env: Environment of the component.
        text: "nash" (sum of logs), "max-min", "gini" (mean times one minus the Gini coefficient) or
            "alpha:2". Each can be followed by ":COMPONENT", with one entry per stakeholder.
        field: Name of the field in error messages.

    Raises:
        FairgymError: If the name is unknown, alpha is not a number from 0, or the component is
            missing or can be negative.

    Examples:
        >>> import fairgym
        >>> from fairgym.fairness.welfare import welfare_scheme
        >>> env = fairgym.make("loan_simple", population=100, horizon=10)
        >>> scheme = welfare_scheme(env, "alpha:2:approved")
        >>> scheme.status.component, scheme.extended.aggregation.alpha
        ('approved', 2.0)
    """
    kind, _, rest = text.partition(":")
    if kind == ALPHA:
        number, _, component = rest.partition(":")
        aggregation: Aggregation = AlphaFair(_alpha(text, number, field))
    elif kind in NAMES:
        component, aggregation = rest, NAMES[kind]()
    else:
        raise FairgymError(f"unknown {field} {text!r}; there is the welfare {TAKES}")
    if not component and text.count(":") == (2 if kind == ALPHA else 1):
        raise FairgymError(f"{field} must have a component after the colon, got {text!r}")
    component = component or _benefit(env, text, field)
    try:
        info = stakeholder_component(env, component)
    except FairgymError as error:
        raise FairgymError(f"{field} {text!r}: {error}") from error
    if not info.nonnegative:
        raise FairgymError(
            f"{field} must use a component that cannot be negative, got {text!r} of {component!r}"
        )
    stakeholders = len(env.spec.parts_of(info.axes[0]))
    share = getattr(env.unwrapped, "population", env.horizon) / stakeholders
    share *= env.horizon if info.level else 1
    return dataclasses.replace(
        Scheme.long_term(Full(component), aggregation),
        normaliser=float(aggregation(jnp.full((stakeholders,), share))),
        title=f"{TITLES[kind]} of {info.description}",
    )


def _alpha(text: str, number: str, field: str) -> float:
    """Return the number of an alpha-fair welfare."""
    try:
        alpha = float(number)
    except ValueError:
        alpha = -1.0
    if not 0.0 <= alpha < float("inf"):
        raise FairgymError(f"{field} must be {ALPHA}:ALPHA with a number from 0, got {text!r}")
    return alpha


def _benefit(env: Environment, text: str, field: str) -> str:
    """Return the name of the environment's benefit."""
    if not env.spec.benefit:
        there = [
            name for name, info in env.spec.component_info.items() if info.per in env.spec.axes
        ]
        raise FairgymError(
            f"{field} must name a component, as in {text}:COMPONENT with one of"
            f" {', '.join(there)}, since {env.name} declares no benefit; got {text!r}"
        )
    return env.spec.benefit
