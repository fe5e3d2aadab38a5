"""The formulas of the health environment (MAFE, appendix G).

| symbol | name in the code |
| --- | --- |
| HEALTH (1 to 5, higher is worse) | `risk` |
| HICOV | `insured` |
| ILLTIME, WAITBED | `time_ill`, `time_waited`, months |
| HIPCOST | `premium`, dollars per month after the subsidy |
| FTOTVAL, FAMSIZE | `family_income`, `family_size` |
| P^Sick, P^Terminate, P^Mortality, P^Insured | `falls_ill`, `illness_ends`, `dies`, `accepts` |

Equation (16), "improve, stay, deteriorate", is in `_common/moves.py`; building is in
`_common/schedule.py`. All functions work elementwise on arrays of equal shape.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from fairgym.data.populations.health import DISTRESS, LOWEST_INCOME
from fairgym.environments._common.regions import Move

Numbers = Float[Array, "..."]
Flags = Bool[Array, "..."]
Parameter = float | Numbers

# The movable columns of the data: public health money changes them.
_INCOME = Move("income_change", 1.0, LOWEST_INCOME, jnp.inf)
MOVES = {
    "personal_income": _INCOME,
    "family_income": _INCOME,
    "poverty_level": Move("poverty_change", 1.0, 0.0, jnp.inf),
    **dict.fromkeys(DISTRESS, Move("distress_change", -1.0, 0.0, 4.0)),
}


def beds_at_start(
    beds: Parameter, by_people: Parameter, shares: Float[Array, " regions"]
) -> Float[Array, " regions"]:
    """Return each region's beds at the start, rounded down.

    Args:
        beds: Beds per region, one number or one per region.
        by_people: Share of the beds that is distributed in proportion to the regions' people.
        shares: Each region's share of the population; they sum to 1.
    """
    in_proportion = shares.size * shares
    return jnp.floor(beds * (1.0 - by_people + by_people * in_proportion))


def falls_ill(insured: Flags, risk: Numbers, uninsured: Parameter, slope: Parameter) -> Numbers:
    """Equation (10): P = A (1 - HICOV) + (B / 5) HEALTH.

    Args:
        insured: HICOV.
        risk: HEALTH.
        uninsured: A.
        slope: B.
    """
    return jnp.where(insured, 0.0, uninsured) + slope / 5.0 * risk


def illness_ends(time_ill: Numbers, base: Parameter, illness_time: Parameter) -> Numbers:
    """Equation (13) for P^Terminate: D^(E ILLTIME), 1.03^(-7 ILLTIME) by default.

    Together with `dies` it gives equations (11) and (12): P^Death = P^Terminate P^Mortality and
    P^Cured = P^Terminate (1 - P^Mortality).

    Args:
        time_ill: ILLTIME.
        base: D.
        illness_time: E.
    """
    return jnp.exp(illness_time * time_ill * jnp.log(base))


def dies(
    time_ill: Numbers,
    time_waited: Numbers,
    risk: Numbers,
    *,
    ceiling: Parameter,
    base: Parameter,
    illness_time: Parameter,
    wait: Parameter,
    health_risk: Parameter,
    offset: Parameter,
) -> Numbers:
    """Equation (13) for P^Mortality: 1 - (C - D^(E ILLTIME + F WAITBED + G HEALTH + H)), clipped.

    The paper prints D = -1.02; a negative base has no meaning. C - |D|^(...) is the probability of
    surviving the end of an illness: 0.98 for a healthy person treated at once.

    Args:
        time_ill: ILLTIME.
        time_waited: WAITBED.
        risk: HEALTH.
        ceiling: C.
        base: D.
        illness_time: E.
        wait: F.
        health_risk: G.
        offset: H.
    """
    exponent = illness_time * time_ill + wait * time_waited + health_risk * risk + offset
    survives = ceiling - jnp.exp(exponent * jnp.log(base))
    return jnp.clip(1.0 - survives, 0.0, 1.0)


def accepts(
    family_income: Numbers, family_size: Numbers, premium: Numbers, months: Parameter
) -> Numbers:
    """Equation (14): P = 1 - exp(-FTOTVAL / (m HIPCOST FAMSIZE)), and 1 for a premium of 0.

    The paper's exponent lacks the minus sign.

    Args:
        family_income: FTOTVAL.
        family_size: FAMSIZE.
        premium: HIPCOST.
        months: m, the number of monthly premiums that is compared with the annual income.
    """
    burden = months * premium * family_size
    free = burden <= 0.0
    return jnp.where(free, 1.0, -jnp.expm1(-family_income / jnp.where(free, 1.0, burden)))


def subsidy_weight(family_income: Numbers, family_size: Numbers) -> Numbers:
    """Equation (15): weight of a person's share in the region's subsidies.

    It is 1 over the family's income per head.
    """
    return family_size / family_income


def is_bankrupt(total_profit: Numbers) -> Flags:
    """Return whether the insurer is bankrupt: its profits sum to less than 0."""
    return total_profit < 0.0
