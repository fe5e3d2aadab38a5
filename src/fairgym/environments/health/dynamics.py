"""The formulas of the health environment (MAFE, appendix G).

| symbol | name here |
| --- | --- |
| HEALTH (1 to 5, higher is worse) | `risk` |
| HICOV | `insured` |
| ILLTIME, WAITBED | `time_ill`, `time_waited`, months |
| HIPCOST | `premium`, dollars per month after the subsidy |
| FTOTVAL, FAMSIZE | `family_income`, `family_size` |
| P^Sick, P^Terminate, P^Mortality, P^Insured | `falls_ill`, `illness_ends`, `dies`, `accepts` |

Equations (16), "improve, stay, deteriorate", are in `fairgym.core.moves`; building is in
`fairgym.core.schedule`. All functions work elementwise on arrays of any equal shape.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from fairgym.environments.health.params import HealthParams

Numbers = Float[Array, "..."]
Flags = Bool[Array, "..."]

# What public health money moves: name -> (sign of an improvement, lowest, highest value).
MOVABLE = {
    "personal_income": (1.0, 1_000.0, jnp.inf),
    "family_income": (1.0, 1_000.0, jnp.inf),
    "poverty_level": (1.0, 0.0, jnp.inf),
    "effort": (-1.0, 0.0, 4.0),
    "nervous": (-1.0, 0.0, 4.0),
    "restless": (-1.0, 0.0, 4.0),
    "hopeless": (-1.0, 0.0, 4.0),
    "sad": (-1.0, 0.0, 4.0),
    "worthless": (-1.0, 0.0, 4.0),
}


def change_of(name: str, params: HealthParams) -> float | Numbers:
    """How far an improvement moves a feature, in its unit, with its sign."""
    sign = MOVABLE[name][0]
    if name in ("personal_income", "family_income"):
        return sign * params.income_change
    return sign * (params.poverty_change if name == "poverty_level" else params.distress_change)


def falls_ill(insured: Flags, risk: Numbers, params: HealthParams) -> Numbers:
    """Equation (10): P = A (1 - HICOV) + (B / 5) HEALTH."""
    uninsured = jnp.where(insured, 0.0, params.illness_uninsured)
    return uninsured + params.illness_risk / 5.0 * risk


def illness_ends(time_ill: Numbers, params: HealthParams) -> Numbers:
    """Equation (13) for P^Terminate: D^(E ILLTIME), 1.03^(-7 ILLTIME) by default.

    Equations (11) and (12): with `dies`, P^Death = P^Terminate P^Mortality and
    P^Cured = P^Terminate (1 - P^Mortality).
    """
    return jnp.exp(params.end_illness_time * time_ill * jnp.log(params.end_base))


def dies(time_ill: Numbers, time_waited: Numbers, risk: Numbers, params: HealthParams) -> Numbers:
    """Equation (13) for P^Mortality: 1 - (C - D^(E ILLTIME + F WAITBED + G HEALTH + H)), clipped.

    The paper prints D = -1.02; a negative base has no meaning. C - |D|^(...) is the chance to
    survive the end of an illness: 0.98 for a healthy person treated at once.
    """
    exponent = (
        params.survival_illness_time * time_ill
        + params.survival_wait * time_waited
        + params.survival_risk * risk
        + params.survival_offset
    )
    survives = params.survival_ceiling - jnp.exp(exponent * jnp.log(params.survival_base))
    return jnp.clip(1.0 - survives, 0.0, 1.0)


def accepts(
    family_income: Numbers, family_size: Numbers, premium: Numbers, params: HealthParams
) -> Numbers:
    """Equation (14): P = 1 - exp(-FTOTVAL / (m HIPCOST FAMSIZE)), and 1 for a premium of 0.

    The paper's exponent lacks the minus sign. m is `months_of_premium_per_income`.
    """
    burden = params.months_of_premium_per_income * premium * family_size
    free = burden <= 0.0
    return jnp.where(free, 1.0, -jnp.expm1(-family_income / jnp.where(free, 1.0, burden)))


def subsidy_weight(family_income: Numbers, family_size: Numbers) -> Numbers:
    """Equation (15): a person's share of a region's subsidies is in proportion to this.

    It is 1 over the income per head of the family.
    """
    return family_size / family_income


def is_bankrupt(total_profit: Numbers) -> Flags:
    """The insurer fails when its profits sum to less than 0."""
    return total_profit < 0.0
