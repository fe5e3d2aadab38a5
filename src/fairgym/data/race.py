"""Race given a credit score: the one attribute that no public loan file has.

The Federal Reserve's report to Congress on credit scoring (2007) published the distribution of
the TransRisk score by race. `score_table` turns it into P(race | FICO); the built file
`race_by_fico.json` keeps the result, so that importers impute race in the same way.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairgym.core.errors import FairgymError

ENTRY = "race_by_fico.json"
HOW = "drawn from P(race | FICO) of the Federal Reserve's 2007 score tables"
DISADVANTAGED = ("black", "hispanic")

# The score tables run over percentiles of all scored people. Shares (percent) of people per
# 50-point band of FICO starting at the key: the distribution that goes with these tables in the
# literature on fair lending (Hardt, Price and Srebro 2016).
FICO_BANDS = {
    300: 2.1,
    350: 4.2,
    400: 5.4,
    450: 6.5,
    500: 7.9,
    550: 9.6,
    600: 12.0,
    650: 13.8,
    700: 17.0,
    750: 15.8,
    800: 5.7,
    850: 0.0,
}


@dataclass(frozen=True)
class RaceTable:
    """P(race | FICO).

    Attributes:
        fico_low: lower ends of the bands, 5 points wide, ascending, shape (b,).
        races: names, r of them.
        probability: shape (b, r), rows sum to 1.
    """

    fico_low: np.ndarray
    races: tuple[str, ...]
    probability: np.ndarray

    def as_json(self) -> bytes:
        """The table as the content of `race_by_fico.json`."""
        content = {
            "races": list(self.races),
            "fico_low": [int(low) for low in self.fico_low],
            "probability": [[round(float(p), 6) for p in row] for row in self.probability],
        }
        return (json.dumps(content, indent=1) + "\n").encode()


def table_from_json(content: bytes) -> RaceTable:
    """Reads what `RaceTable.as_json` wrote.

    Raises:
        FairgymError: the content is something else.
    """
    try:
        table: Any = json.loads(content)
        probability = np.asarray(table["probability"], np.float64)
        low = np.asarray(table["fico_low"], np.float64)
        races = tuple(table["races"])
    except (ValueError, TypeError, KeyError) as error:
        raise FairgymError(f"{ENTRY} is not a table of race by FICO") from error
    if probability.shape != (len(low), len(races)):
        raise FairgymError(
            f"{ENTRY} has probabilities of shape {probability.shape}, "
            f"expected {(len(low), len(races))}"
        )
    return RaceTable(low, races, probability / probability.sum(axis=1, keepdims=True))


def percentile_to_fico(percentile: np.ndarray) -> np.ndarray:
    """FICO points at a percentile (0 to 100) of all scored people, linear within the bands."""
    edges = np.array(list(FICO_BANDS), np.float64)
    below = np.concatenate([[0.0], np.cumsum(list(FICO_BANDS.values()))[:-1]])
    return np.interp(percentile, below, edges)


def people_by_band(
    percentile: np.ndarray, cumulative: np.ndarray, people: Sequence[float], low: np.ndarray
) -> np.ndarray:
    """The number of people of each race in each 5-point band of FICO.

    Args:
        percentile: score percentiles of the table's rows, shape (k,), ascending.
        cumulative: percent of each race at or below that percentile, shape (k, r).
        people: number of people of each race in the table's sample, r of them.
        low: lower ends of the bands, shape (b,).

    Returns:
        Shape (b, r).
    """
    fico = percentile_to_fico(percentile)
    edges = np.append(low, low[-1] + 5)
    share = [np.diff(np.interp(edges, fico, column / 100)) for column in cumulative.T]
    return np.stack(share, axis=1) * np.asarray(people, np.float64)


def sample_race(table: RaceTable, fico_low: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Sample a race for each person given the FICO band.

    Args:
        table: P(race | FICO).
        fico_low: lower end of each person's band, shape (n,).
        rng: source of one uniform number for each person.

    Returns:
        Race names, shape (n,).
    """
    band = np.searchsorted(table.fico_low, fico_low, side="right") - 1
    band = np.clip(band, 0, len(table.fico_low) - 1)
    cumulative = np.cumsum(table.probability, axis=1)[band]
    uniform = rng.random(len(band))[:, None]
    index = np.minimum((uniform >= cumulative).sum(axis=1), len(table.races) - 1)
    return np.array(table.races)[index]


def group_of_race(race: np.ndarray) -> np.ndarray:
    """0 (advantaged: white, Asian) or 1 (disadvantaged: Black, Hispanic), int8, shape (n,)."""
    return np.isin(race, DISADVANTAGED).astype(np.int8)
