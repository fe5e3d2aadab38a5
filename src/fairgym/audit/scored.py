"""The fairness schemes that an audit scores."""

import dataclasses

import numpy as np

from fairgym.fairness.aggregations import (
    GeneralisedGini,
    Least,
    Mean,
    Nash,
    Rawlsian,
    RelaxedParity,
    Utilitarian,
)
from fairgym.fairness.extended import StakeholderFirst
from fairgym.fairness.filters import EachTime
from fairgym.fairness.memories import Full
from fairgym.fairness.rates import RateSoFar
from fairgym.fairness.schemes import Scheme

DISCOUNT = 0.8  # of the past, per period
PARTS = 10  # of all decisions, after each of which the bounded scheme assesses
NAMES = ("decisions", "favourable")  # of the components
RATE = RateSoFar("favourable", "decisions")


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
    so_far, total, parity = RATE, Full("favourable"), RelaxedParity()
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
            Scheme.anytime(dataclasses.replace(RATE, discount=DISCOUNT), parity, Mean()),
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
