"""How often the audit's adjusted gaps, waits, scores and concentration contain the true values."""

import dataclasses
import math
from typing import Any

import numpy as np

from fairgym.audit.adjusted import strata_of
from fairgym.audit.columns import Codes
from fairgym.audit.concentration import concentration
from fairgym.audit.groups import sides_of
from fairgym.audit.parts import number_of
from fairgym.audit.profiles import with_profile
from fairgym.audit.regression import regression
from fairgym.audit.roles import Roles
from fairgym.audit.scores import mean_scores
from fairgym.audit.waits import SOON, waits
from fairgym.experiments._audit_study import Held, inside, joined
from fairgym.experiments._audit_tables import INDEPENDENT, REFERENCE, Units, decisions
from fairgym.statistics.strata import Pooled, Rows, pooled_difference, pooled_odds_ratio

ROLES = with_profile(Roles(decision="favourable", groups=("group",), reference=REFERENCE))
REFUSAL = 0.5  # share of refused decisions in tables of amounts
REQUESTS = 6  # decisions of a person, in tables of favourable decisions


@dataclasses.dataclass(frozen=True)
class Adjusted:
    """Two groups with a column that accounts for a part of their gap.

    The logit of a decision's rate is -0.3 + x + effect in our group, where x grows from -1 to 1
    with the stratum, or with the number, and our group has more of the lower ones.

    Attributes:
        rows: Number of decisions.
        strata: Number of strata; 0 for a column of numbers.
        effect: Logarithm of the odds ratio.
        units: What decisions share; clusters have decisions of all strata and groups.
    """

    rows: int
    strata: int
    effect: float
    units: Units = INDEPENDENT

    @property
    def words(self) -> str:
        """The case in words."""
        return (
            f"{self.rows:,} decisions, {self.column}, odds ratio {math.exp(self.effect):.2g},"
            f" {self.units.words}"
        )

    @property
    def column(self) -> str:
        """What is adjusted for, in words."""
        return f"{self.strata} strata" if self.strata else "a number"


def adjusted_covered(rng: np.random.Generator, case: Adjusted, replicates: int) -> Held:
    """Return in which tables the intervals of adjusted gaps contain the true values.

    Returns:
        "strata" and "strata odds" (Mantel and Haenszel), "regression" and "regression odds", each
        of the shape (tables,); odds ratios of strata only for strata.
    """
    x = (
        np.linspace(-1.0, 1.0, case.strata)[np.arange(case.rows) % case.strata]
        if case.strata
        else rng.uniform(-1.0, 1.0, case.rows)
    )
    ours = rng.random(case.rows) < 0.4 - 0.2 * x
    both = [_logistic(-0.3 + x + case.effect * side) for side in (0.0, 1.0)]
    rate, groups = np.where(ours, both[1], both[0]), np.where(ours, 0, 1)
    column: Codes | np.ndarray = x
    if case.strata:
        codes = np.arange(case.rows, dtype=np.int32) % case.strata
        column = Codes(codes, tuple(map(str, range(case.strata))))
    side, (distinct, cells) = ours.astype(np.int64), np.unique(rate, return_inverse=True)
    units = case.units.of_rows(rng, groups) if case.units.number else None
    stratum = strata_of(decisions(ours, groups, legit={"x": column}), np.arange(case.rows))
    # the estimate with rates in place of decisions
    within, mean = (
        pooled_difference(Rows(rate, side, stratum)).value,
        float(np.mean(both[1] - both[0])),
    )
    odds, held = math.exp(case.effect), []
    for _ in range(replicates):
        chance = rate if units is None else case.units.chances(rng, distinct, 1, 2)[0][units, cells]
        values = (rng.random(case.rows) < chance).astype(np.float64)
        made = Rows(values, side, stratum, None, units)
        fitted, _ = regression(made, {"x": column}, 0.95)
        held.append(
            {
                "strata": _contains(pooled_difference(made), within),
                "strata odds": _contains(pooled_odds_ratio(made), odds)
                if case.strata
                else math.nan,
                "regression": _contains(fitted and fitted.effect, mean),
                "regression odds": _contains(fitted and fitted.odds_ratio, odds),
            }
        )
    return joined(held)


def _contains(found: Pooled | None, truth: float) -> float:
    """Whether the interval of an estimate contains the true value; NaN without an estimate."""
    if found is None:
        return math.nan
    return float(inside(truth, np.array(found.low), np.array(found.high)))


@dataclasses.dataclass(frozen=True)
class Waiting:
    """Persons who were refused, and ask again in every period.

    Attributes:
        persons: Number of persons.
        chance: Probability of a favourable decision in each period.
        periods: Number of periods; first refusals are spread over them.
    """

    persons: int
    chance: float
    periods: int

    @property
    def words(self) -> str:
        """The case in words."""
        return f"{self.persons} persons, chance {self.chance:g} per period, {self.periods} periods"


def waits_covered(rng: np.random.Generator, case: Waiting, replicates: int) -> Held:
    """Return in which tables the intervals contain the true shares that wait, and the median.

    Returns:
        "median", and "after N" for the shares that wait longer than N periods, each (tables,).
    """
    last, held = case.periods - 1, []
    true_median = math.ceil(math.log(0.5) / math.log(1.0 - case.chance) - 1e-9)
    roles = dataclasses.replace(ROLES, time="period", person="person", min_n=1)
    for _ in range(replicates):
        start = rng.integers(0, case.periods, case.persons)
        wait = rng.geometric(case.chance, case.persons)
        # a person of the reference, who is refused in the first period, and waits until the last
        ended = start + wait <= last
        person = np.concatenate([np.arange(case.persons), np.flatnonzero(ended)])
        period = np.concatenate([start, (start + wait)[ended]])
        good = np.arange(len(person)) >= case.persons
        groups = np.zeros(len(person), np.int64)
        person, period, good, groups = (
            np.append(one, value)
            for one, value in ((person, case.persons), (period, 0), (good, False), (groups, 1))
        )
        made = decisions(good, groups, periods=case.periods, periods_of=period, person=person)
        own = dict.fromkeys(("median", *(f"after {n}" for n in SOON)), math.nan)
        for part in waits(made, dataclasses.replace(roles, suppress=2))[:1]:
            row = part.rows[0]
            own["median"] = _row_held(row, "median_", float(true_median))
            for n in SOON:
                own[f"after {n}"] = _row_held(row, f"after_{n}_", (1.0 - case.chance) ** n)
        held.append(own)
    return joined(held)


@dataclasses.dataclass(frozen=True)
class Scored:
    """Normal scores of two groups.

    Attributes:
        sizes: Decisions of our group, and of the reference.
        difference: Our mean minus theirs, in standard deviations.
        units: What decisions share; the intra-cluster correlation is that of the scores.
    """

    sizes: tuple[int, int]
    difference: float
    units: Units = INDEPENDENT

    @property
    def words(self) -> str:
        """The case in words."""
        sizes = " and ".join(map(str, self.sizes))
        return f"{sizes} decisions, {self.difference:g} sd apart, {self.units.words}"


def scores_covered(rng: np.random.Generator, case: Scored, replicates: int) -> Held:
    """Return in which tables the interval contains the true standardised difference, "scores"."""
    groups, held = np.repeat([0, 1], case.sizes), []
    more: dict[str, Any] = {}
    units = np.zeros(0, np.int64)
    if case.units.number:
        units = case.units.of_rows(rng, groups)
        names = tuple(map(str, range(int(units.max()) + 1)))
        more["cluster"] = Codes(units.astype(np.int32), names)
    for _ in range(replicates):
        score = rng.normal(size=len(groups))
        if len(units):
            shared = rng.normal(size=int(units.max()) + 1)[units]
            score = math.sqrt(1.0 - case.units.icc) * score + math.sqrt(case.units.icc) * shared
        score = score + case.difference * (groups == 0)
        made = decisions(score > 0.0, groups, score=score, **more)
        (side,) = sides_of(made, "group", ROLES)
        row = mean_scores(made, side, np.arange(made.rows), ROLES.level)
        held.append({"scores": _row_held(row, "", case.difference)})
    return joined(held)


@dataclasses.dataclass(frozen=True)
class Received:
    """What persons received.

    Attributes:
        persons: Number of persons.
        spread: Standard deviation of the logarithm of amounts, half of which are refused; 0 for
            favourable ones of six decisions each.
    """

    persons: int
    spread: float = 0.0

    @property
    def words(self) -> str:
        """The case in words."""
        of = f"amounts, log sd {self.spread:g}" if self.spread else "favourable decisions"
        return f"{self.persons:,} persons, {of}"


def received_covered(rng: np.random.Generator, case: Received, replicates: int) -> Held:
    """Return in which tables the intervals contain the true "gini", "theil" and "top" share.

    "told" is where the limits say that they are too narrow.
    """
    truth, held = true_concentration(case.spread), []
    requests = 1 if case.spread else REQUESTS
    rows = case.persons * requests
    person = np.repeat(np.arange(case.persons), requests)
    groups = person % 2
    for _ in range(replicates):
        values = rng.random(rows) < REFUSAL
        more: dict[str, Any] = {"person": person}
        if case.spread:
            more["amount"] = rng.lognormal(0.0, case.spread, rows)
        part = concentration(decisions(values, groups, **more), ROLES)[0]
        own = {name: _row_held(part.rows[0], f"{name}_", truth[name]) for name in truth}
        held.append(own | {"told": float(any("too narrow" in text for text in part.limits))})
    return joined(held)


def true_concentration(spread: float) -> dict[str, float]:
    """Return the true Gini, Theil and share of the top tenth."""
    from scipy.special import ndtr, ndtri  # here: listing experiments is quick without it

    if spread:
        kept, top = 1.0 - REFUSAL, 0.1 / (1.0 - REFUSAL)
        return {
            "gini": 1.0 - kept + kept * float(2.0 * ndtr(spread / math.sqrt(2.0)) - 1.0),
            "theil": spread**2 / 2.0 - math.log(kept),
            "top": float(ndtr(spread - ndtri(1.0 - top))),
        }
    x = np.arange(REQUESTS + 1.0)
    chance = np.array([math.comb(REQUESTS, k) for k in range(REQUESTS + 1)]) / 2.0**REQUESTS
    mean, apart = float(chance @ x), np.abs(x[:, None] - x)
    relative = x / mean
    logs = np.log(np.where(x > 0.0, relative, 1.0))
    above = np.minimum(np.cumsum(chance[::-1]), 0.1)  # of the top tenth, from the highest count on
    return {
        "gini": float(chance @ apart @ chance) / (2.0 * mean),
        "theil": float(chance @ (relative * logs)),
        "top": float(np.diff(above, prepend=0.0) @ x[::-1]) / mean,
    }


def _logistic(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-x))


def _row_held(row: object, prefix: str, truth: float) -> float:
    """Whether the limits of a row contain the true value; NaN where there are none."""
    assert isinstance(row, dict)
    low, high = (np.array(number_of(row, f"{prefix}{end}")) for end in ("low", "high"))
    return float(inside(truth, low, high))
