"""The fairness schemes that an audit scores, and the status function of rates so far."""

import dataclasses

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fairgym.core import Components
from fairgym.fairness.aggregations import (
    GeneralisedGini,
    Least,
    Mean,
    Nash,
    Rawlsian,
    RelaxedParity,
    Utilitarian,
)
from fairgym.fairness.filters import EachTime
from fairgym.fairness.memories import Full, entries
from fairgym.fairness.schemes import Scheme, StakeholderFirst

DISCOUNT = 0.8  # of the past, per period
PARTS = 10  # of all decisions, after each of which the bounded scheme assesses
NAMES = ("decisions", "favourable")  # of the components


@dataclasses.dataclass(frozen=True)
class RateSoFar:
    """Status U: share of each stakeholder's decisions so far that were favourable.

    A stakeholder without decisions has the mean of the others: nothing is known of unfairness.

    Attributes:
        discount: Share of the past that is kept after a period.
    """

    discount: float = 1.0

    def initial(self, like: Components) -> Float[Array, "two stakeholders"]:
        """Return zeros."""
        return jnp.zeros_like(jnp.stack([entries(like, name) for name in NAMES]))

    def update(
        self, memory: Float[Array, "two stakeholders"], components: Components
    ) -> Float[Array, "two stakeholders"]:
        """Return the sums after a period."""
        now = jnp.stack([getattr(components, name) for name in NAMES])
        return (memory if self.discount == 1.0 else self.discount * memory) + now

    def status(self, memory: Float[Array, "two stakeholders"]) -> Float[Array, " stakeholders"]:
        """Return the rates."""
        known = memory[0] > 0.0
        rate = jnp.where(known, memory[1] / jnp.where(known, memory[0], 1.0), 0.0)
        mean = jnp.sum(rate) / jnp.maximum(jnp.sum(known), 1)
        return jnp.where(known, rate, mean)


@dataclasses.dataclass(frozen=True)
class Named:
    """A scheme, and what people call it.

    Attributes:
        name: Name in the data.
        title: What it scores.
        scheme: The scheme.
        unit: Unit of the score.
    """

    name: str
    title: str
    scheme: Scheme
    unit: str = ""


def named_schemes(periods: int, decisions: float) -> list[Named]:
    """Return the schemes of an audit.

    Args:
        periods: Number of periods.
        decisions: Number of all decisions.
    """
    so_far, total, parity = RateSoFar(), Full("favourable"), RelaxedParity()
    every = 12 if periods >= 24 else 4 if periods >= 8 else 2
    tenth = EachTime("decisions", float(np.float32(decisions / PARTS)))
    return [
        Named("long_term_parity", "parity at the end", Scheme.long_term(so_far, parity), "share"),
        Named(
            "periodic_parity",
            f"worst parity after each {every} periods",
            Scheme.periodic(so_far, parity, every, Least()),
            "share",
        ),
        Named(
            "anytime_parity",
            "mean parity of all periods",
            Scheme.anytime(so_far, parity, Mean()),
            "share",
        ),
        Named(
            "bounded_parity",
            f"mean parity after each {PARTS}th of the decisions",
            Scheme.bounded(so_far, parity, tenth, Mean()),
            "share",
        ),
        Named(
            "past_discounted_parity",
            f"mean parity, {DISCOUNT:g} of the past kept per period",
            Scheme.anytime(RateSoFar(DISCOUNT), parity, Mean()),
            "share",
        ),
        Named("rawlsian", "lowest rate", Scheme.long_term(so_far, Rawlsian()), "share"),
        Named(
            "gini", "mean rate less its Gini", Scheme.long_term(so_far, GeneralisedGini()), "share"
        ),
        Named("nash", "sum of log(1 + rate)", Scheme.long_term(so_far, Nash())),
        Named("rawlsian_total", "fewest favourable decisions", Scheme.long_term(total, Rawlsian())),
        Named(
            "utilitarian_total", "all favourable decisions", Scheme.long_term(total, Utilitarian())
        ),
        Named(
            "stakeholder_first",
            "minus the squared balances of the rates",
            Scheme(so_far, StakeholderFirst()),
        ),
    ]


def schemes_of_persons() -> list[Named]:
    """Return the schemes whose stakeholders are persons."""
    total = Full("favourable")
    return [
        Named("rawlsian_total", "fewest favourable decisions", Scheme.long_term(total, Rawlsian())),
        Named(
            "gini_total",
            "mean of favourable decisions less its Gini",
            Scheme.long_term(total, GeneralisedGini()),
        ),
        Named("nash_total", "sum of log(1 + favourable)", Scheme.long_term(total, Nash())),
        Named(
            "anytime_gini",
            "the same, mean of all periods",
            Scheme.anytime(total, GeneralisedGini(), Mean()),
        ),
    ]
