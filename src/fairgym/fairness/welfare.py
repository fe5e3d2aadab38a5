"""Social welfare of groups, regions or people as an objective, by name.

`nash`, `max-min`, `gini`, `utilitarian`, `parity` and `alpha:2` are long-term schemes (Alamdari et
al. 2024, definition 4.1): the welfare, at the end of an episode, of what each stakeholder received.
`anytime:nash` (definition 4.3) and `periodic:12:nash` (definition 4.2) sum it over the steps, and
`past-discounted:0.9:nash` (Kumar and Yeoh 2026) over the steps with a past that fades. By default
the component is the one that the environment declares as its `benefit`; `nash:approved` names
another one, and `parity:approved/applicants` is that of a rate.
"""

import dataclasses

import jax.numpy as jnp

from fairgym.core import Environment, FairgymError
from fairgym.fairness.aggregations import RelaxedParity
from fairgym.fairness.memories import Full, Status, stakeholder_component
from fairgym.fairness.rates import RateSoFar, is_rate
from fairgym.fairness.schemes import Scheme
from fairgym.fairness.welfare_names import PAST, PERIODIC, TITLES, WelfareName, read_welfare


def welfare_scheme(env: Environment, text: str, field: str = "objective") -> Scheme:
    """Return the scheme of a welfare by its name.

    Its normaliser is the welfare of equal shares of a total, times the number of assessments. The
    total is one unit of the component per person (per step in an environment without a population),
    times the steps for a `level`; for a rate the share is 1. Parity, which is 0 for equal shares,
    is divided by the share itself.

    Args:
        env: Environment of the component.
        text: "nash" (sum of logs), "max-min", "gini" (mean times one minus the Gini coefficient),
            "utilitarian" (sum), "parity" (minus the largest difference) or "alpha:2". Each can be
            followed by ":COMPONENT", with one entry per stakeholder, or
            ":NUMERATOR/DENOMINATOR" for the share of one in the other. "anytime:", "periodic:12:"
            or "past-discounted:0.9:" before it says when it is assessed.
        field: Name of the field in error messages.

    Raises:
        FairgymError: If the name is unknown, a number is out of range, or the component is missing
            or can be negative.

    Examples:
        >>> import fairgym
        >>> from fairgym.fairness.welfare import welfare_scheme
        >>> env = fairgym.make("loan_simple", population=100, horizon=10)
        >>> scheme = welfare_scheme(env, "alpha:2:approved")
        >>> scheme.status.component, scheme.extended.aggregation.alpha
        ('approved', 2.0)
        >>> welfare_scheme(env, "periodic:5:nash:approved").when
        Counter(period=5)
    """
    name = read_welfare(text, field)
    status, share, description, stakeholders = _status(env, name, text, field)
    aggregation = name.aggregation
    scheme, assessments = Scheme.long_term(status, aggregation), 1
    if name.times == PERIODIC:
        scheme = Scheme.periodic(status, aggregation, name.period)
        assessments = max(env.horizon // name.period, 1)
    elif name.times != "long-term":
        scheme, assessments = Scheme.anytime(status, aggregation), env.horizon
    one = share if isinstance(aggregation, RelaxedParity) else None
    if one is None:
        one = float(aggregation(jnp.full((stakeholders,), share)))
    return dataclasses.replace(
        scheme,
        normaliser=one * assessments,
        title=f"{TITLES[name.welfare]} of {description}{_when(env, name)}",
    )


def _status(
    env: Environment, name: WelfareName, text: str, field: str
) -> tuple[Status, float, str, int]:
    """Return the status, the equal share, the description, and the number of stakeholders."""
    component = name.component or _benefit(env, text, field)
    try:
        if is_rate(component):
            rate = RateSoFar.named(env, component, name.discount)
            info = stakeholder_component(env, rate.numerator)
            return rate, 1.0, rate.title(env), len(env.spec.parts_of(info.axes[0]))
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
    if name.discount < 1.0:  # of an equal share in each step
        share = min(share, share / env.horizon / (1.0 - name.discount))
    return Full(component, name.discount), share, info.description, stakeholders


def _when(env: Environment, name: WelfareName) -> str:
    """Return when a welfare is assessed, in words; "" for the end."""
    if name.times == PERIODIC:
        return f", after every {name.period} {env.spec.time_unit}"
    if name.times == PAST:
        return f", {name.discount:g} of the past kept in each step"
    return ", after every step" if name.times == "anytime" else ""


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
