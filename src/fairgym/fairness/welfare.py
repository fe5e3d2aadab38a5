"""Welfare by name: social welfare of groups, regions or people as an objective.

`nash`, `max-min`, `gini` and `alpha:2` are long-term schemes (Alamdari et al. 2024, definition
4.1): the welfare, at the end of an episode, of what every stakeholder has got. What that is the
environment declares as its `benefit`; `nash:approved` names another component.
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
TAKES = f"{', '.join(NAMES)} or {ALPHA}:ALPHA, and if need be :COMPONENT"


def is_welfare(text: str) -> bool:
    """True if the first word of a name is that of a welfare."""
    return text.partition(":")[0] in TITLES


def welfare_scheme(env: Environment, text: str, field: str = "objective") -> Scheme:
    """The long-term scheme of a welfare by its name.

    Its normaliser is the welfare of one unit of the component for everybody (in a system without a
    population: in every step), in equal shares, and of a `level` in every step.

    Args:
        env: the environment whose component it is of.
        text: "nash" (sum of logs), "max-min", "gini" (mean times one minus the Gini coefficient) or
            "alpha:2", each with ":COMPONENT" or without; a component of one entry per stakeholder.
        field: name of what the text is given for, in errors.

    Raises:
        FairgymError: another name, an alpha that is no number from 0, no such component, or a
            component that may be negative.

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
        raise FairgymError(f"{field} is {text!r}; it takes the welfare {TAKES}")
    if not component and text.count(":") == (2 if kind == ALPHA else 1):
        raise FairgymError(f"{field} is {text!r}, without a component after the colon")
    component = component or _benefit(env, text, field)
    try:
        info = stakeholder_component(env, component)
    except FairgymError as error:
        raise FairgymError(f"{field} is {text!r}: {error}") from error
    if not info.nonnegative:
        raise FairgymError(
            f"{field} is {text!r}, of {component!r}, which may be negative; it takes a component"
            " that is not"
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
    """The number of an alpha-fair welfare."""
    try:
        alpha = float(number)
    except ValueError:
        alpha = -1.0
    if not 0.0 <= alpha < float("inf"):
        raise FairgymError(f"{field} is {text!r}; it takes {ALPHA}:ALPHA with a number from 0")
    return alpha


def _benefit(env: Environment, text: str, field: str) -> str:
    """The component that is the environment's benefit."""
    if not env.spec.benefit:
        there = [
            name for name, info in env.spec.component_info.items() if info.per in env.spec.axes
        ]
        raise FairgymError(
            f"{field} is {text!r}, and {env.name} declares no benefit; it takes {text}:COMPONENT"
            f" with one of: {', '.join(there)}"
        )
    return env.spec.benefit
