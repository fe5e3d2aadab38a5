"""Simulated tables of decisions with known rates, for the study of the audit's intervals."""

import dataclasses
from typing import Any

import numpy as np

from fairgym.audit.columns import Codes
from fairgym.audit.table import Decisions, Source

GROUP, REFERENCE = "a", "b"  # of tables with two groups
UNEVEN = 20.0  # decisions of the largest person or cluster for one of the smallest
WEIGHTS = 0.5  # standard deviation of the logarithm of weights


@dataclasses.dataclass(frozen=True)
class Units:
    """What decisions share.

    Attributes:
        number: Number of persons of each group, or of clusters; 0 if all decisions are independent.
        icc: Intra-cluster correlation.
        mixed: Whether a unit has decisions of all groups, as branches have. Persons have one group.
        uneven: Whether some units have more decisions than others: sizes grow geometrically, the
            largest is 20 times the smallest.
    """

    number: int = 0
    icc: float = 0.0
    mixed: bool = False
    uneven: bool = False

    @property
    def words(self) -> str:
        """The units in words."""
        if not self.number:
            return "independent"
        of = "clusters" if self.mixed else "persons a group"
        return f"{self.number} {'uneven ' * self.uneven}{of}, ICC {self.icc:g}"

    def of_rows(self, rng: np.random.Generator, groups: np.ndarray) -> np.ndarray:
        """Draw the unit of every row, numbered over all groups.

        Args:
            rng: Random number generator.
            groups: Index of each row's group, shape (..., rows).
        """
        share = np.geomspace(1.0, UNEVEN if self.uneven else 1.0, self.number)
        own = rng.choice(self.number, groups.shape, p=share / share.sum())
        return own if self.mixed else own + self.number * groups

    def chances(
        self, rng: np.random.Generator, rates: np.ndarray, tables: int, groups: int
    ) -> np.ndarray:
        """Draw the probability of a favourable decision in every unit.

        It has a beta distribution with the mean of the rate, so that two decisions of a unit have
        the intra-cluster correlation. A unit has the same quantile for all rates.

        Args:
            rng: Random number generator.
            rates: Distinct rates, shape (rates,).
            tables: Number of tables.
            groups: Number of groups.

        Returns:
            Shape (tables, units, rates).
        """
        from scipy.special import betaincinv  # here: listing experiments is quick without it

        number = self.number * (1 if self.mixed else groups)
        quantile = rng.random((tables, number, 1))
        scale = (1.0 - self.icc) / self.icc
        return betaincinv(rates * scale, (1.0 - rates) * scale, quantile)


INDEPENDENT = Units()


@dataclasses.dataclass(frozen=True)
class Case:
    """Groups with known rates.

    Attributes:
        sizes: Decisions of each group.
        rates: Rate of each group.
        units: What decisions share.
        weighted: Whether rows have weights, which are lognormal.
    """

    sizes: tuple[int, ...]
    rates: tuple[float, ...]
    units: Units = INDEPENDENT
    weighted: bool = False

    @property
    def words(self) -> str:
        """The case in words."""
        parts = [f"{len(self.sizes)} groups of {self.sizes_text}", self.rates_text]
        parts += [self.units.words] * bool(self.units.number)
        return ", ".join([*parts, *["weighted"] * self.weighted])

    @property
    def sizes_text(self) -> str:
        """Decisions of each group, or those of the smallest and the largest one."""
        ends = min(self.sizes), max(self.sizes)
        return f"{ends[0]:,}" if ends[0] == ends[1] else f"{ends[0]:,} to {ends[1]:,}"

    @property
    def rates_text(self) -> str:
        """Rate of all groups, or the lowest and the highest one."""
        ends = min(self.rates), max(self.rates)
        return f"rate {ends[0]:g}" if ends[0] == ends[1] else f"rates {ends[0]:g} to {ends[1]:g}"


@dataclasses.dataclass(frozen=True)
class Tables:
    """Tables of the same groups.

    Attributes:
        values: Whether decisions are favourable, shape (tables, rows).
        groups: Index of each row's group, shape (rows,).
        units: Number of each row's unit in its table, shape (tables, rows); None if independent.
        weight: Weight of each row, shape (tables, rows); None if all count alike.
    """

    values: np.ndarray
    groups: np.ndarray
    units: np.ndarray | None = None
    weight: np.ndarray | None = None

    def decisions(self, place: int) -> Decisions:
        """Return one table as the audit reads it; its groups are called 0, 1, ..."""
        names = tuple(map(str, range(int(self.groups.max()) + 1)))
        units = None if self.units is None else self.units[place].astype(np.int64)
        weight = None if self.weight is None else self.weight[place]
        return decisions(self.values[place], self.groups, names, person=units, weight=weight)


def tables(rng: np.random.Generator, case: Case, number: int) -> Tables:
    """Draw tables of a case.

    Args:
        rng: Random number generator.
        case: The case.
        number: Number of tables.
    """
    groups = np.repeat(np.arange(len(case.sizes)), case.sizes)
    shape, rates = (number, len(groups)), np.array(case.rates)
    weight = rng.lognormal(0.0, WEIGHTS, shape) if case.weighted else None
    chance, units = rates[groups], None
    if case.units.number:
        units = case.units.of_rows(rng, np.broadcast_to(groups, shape))
        every = case.units.chances(rng, rates, number, len(rates))
        chance = every[np.arange(number)[:, None], units, groups]
    return Tables(rng.random(shape) < chance, groups, units, weight)


def decisions(
    values: np.ndarray,
    groups: np.ndarray,
    names: tuple[str, ...] = (GROUP, REFERENCE),
    periods: int = 0,
    **columns: Any,
) -> Decisions:
    """Return a table as the audit reads it, with the grouping "group".

    Args:
        values: Whether decisions are favourable, shape (rows,).
        groups: Index of each row's group.
        names: Names of the groups.
        periods: Number of periods, if there are any.
        **columns: Further arrays of `Decisions`; "periods_of" is the index of each row's period.
    """
    of_row = columns.pop("periods_of", None)
    if isinstance(of_row, np.ndarray):
        columns["periods"] = Codes(of_row.astype(np.int32), tuple(map(str, range(periods))))
    return Decisions(
        favourable=values,
        groupings={"group": Codes(groups.astype(np.int32), names)},
        source=Source("simulated", "", len(values)),
        **columns,
    )


@dataclasses.dataclass(frozen=True)
class Course:
    """Two groups with known rates over time.

    Attributes:
        periods: Number of periods.
        sizes: Decisions of each group in each period.
        start: Rate of each group in the first period.
        end: Rate in the last period. In between rates change linearly.
        units: Persons or clusters. Persons are decided on at most once per period, and `icc` is the
            probability that a person's random number is that of the period before.
        told: Whether the table has a column with the units.
    """

    periods: int
    sizes: tuple[int, int]
    start: tuple[float, float]
    end: tuple[float, float]
    units: Units = INDEPENDENT
    told: bool = True

    @property
    def words(self) -> str:
        """The case in words."""
        told = "" if self.told or not self.units.number else " without a column"
        return (
            f"{self.periods} periods of {self.sizes_text}, {self.rates_text}, {self.shared}{told}"
        )

    @property
    def sizes_text(self) -> str:
        """Decisions of both groups in a period."""
        return " and ".join(map(str, self.sizes))

    @property
    def rates_text(self) -> str:
        """Rates of both groups, and to which they change."""
        ours, theirs = (
            f"{first:g}" if first == last else f"{first:g} to {last:g}"
            for first, last in zip(self.start, self.end, strict=True)
        )
        return f"rates {ours} and {theirs}"

    @property
    def shared(self) -> str:
        """What decisions share, in words."""
        if self.units.mixed or not self.units.number:
            return self.units.words
        kept = f"a share {self.units.icc:g} of decisions repeated"
        return f"{self.units.number} persons a group, {kept}"

    @property
    def rates(self) -> np.ndarray:
        """Rates, shape (periods, groups)."""
        return np.linspace(self.start, self.end, self.periods)


@dataclasses.dataclass(frozen=True)
class Design:
    """Rows of a table over time, of which only the decisions are random.

    Attributes:
        periods: Index of each row's period, shape (rows,).
        groups: Index of each row's group.
        units: Number of each row's unit; None if independent.
    """

    periods: np.ndarray
    groups: np.ndarray
    units: np.ndarray | None


def design(rng: np.random.Generator, case: Course) -> Design:
    """Draw who is decided on in which period."""
    counts = np.tile(case.sizes, case.periods)
    groups = np.repeat(np.tile([0, 1], case.periods), counts)
    periods = np.repeat(np.repeat(np.arange(case.periods), 2), counts)
    units, each = None, case.units
    if each.mixed:
        units = each.of_rows(rng, groups)
    elif each.number:
        share = np.geomspace(1.0, UNEVEN if each.uneven else 1.0, each.number)
        share = share / share.sum()
        units = np.concatenate(
            [
                each.number * group + rng.choice(each.number, size, False, share)
                for _ in range(case.periods)
                for group, size in enumerate(case.sizes)
            ]
        )
    return Design(periods, groups, units)


def table_of(rng: np.random.Generator, case: Course, rows: Design) -> Decisions:
    """Draw the decisions of a table over time."""
    rate = case.rates[rows.periods, rows.groups]
    number, column = case.units.number, {}
    if rows.units is None:
        values = rng.random(len(rate)) < rate
    elif case.units.mixed:
        cells = rows.periods * 2 + rows.groups
        every = case.units.chances(rng, case.rates.reshape(-1), 1, 2)[0]
        values = rng.random(len(rate)) < every[rows.units, cells]
        names = tuple(map(str, range(number)))
        column["cluster"] = Codes(rows.units.astype(np.int32), names)
    else:
        latent = rng.random((case.periods, 2 * number))
        kept = rng.random(latent.shape) < case.units.icc
        for period in range(1, case.periods):
            latent[period] = np.where(kept[period], latent[period - 1], latent[period])
        values = latent[rows.periods, rows.units] < rate
        column["person"] = rows.units
    told = column if case.told else {}
    return decisions(values, rows.groups, periods=case.periods, periods_of=rows.periods, **told)
