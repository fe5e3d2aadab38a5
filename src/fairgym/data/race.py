"""Race given a credit score: public loan files contain no race.

The Federal Reserve's report to Congress on credit scoring (2007) published the distribution of
the TransRisk score by race. The built file `race_by_fico.json` has P(race | FICO) derived from it,
so that importers impute race in the same way.
"""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairgym.core.errors import FairgymError

ENTRY = "race_by_fico.json"
HOW = "drawn from P(race | FICO) of the Federal Reserve's 2007 score tables"
DISADVANTAGED = ("black", "hispanic")


@dataclass(frozen=True)
class RaceTable:
    """P(race | FICO).

    Attributes:
        fico_low: Lower ends of the 5-point bands, ascending, shape (b,).
        races: Names of the r races.
        probability: P(race | FICO), shape (b, r); rows sum to 1.
    """

    fico_low: np.ndarray
    races: tuple[str, ...]
    probability: np.ndarray


def table_from_json(content: bytes) -> RaceTable:
    """Read the content of `race_by_fico.json`.

    Raises:
        FairgymError: If the content is something else.
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


def indicators(race: np.ndarray) -> dict[str, np.ndarray]:
    """Return three indicator columns: Black, Asian and other.

    Args:
        race: Names, shape (n,); every name except white, black and asian is other.
    """
    return {
        "race_black": (race == "black").astype(np.float64),
        "race_asian": (race == "asian").astype(np.float64),
        "race_other": (~np.isin(race, ("white", "black", "asian"))).astype(np.float64),
    }


def sample_race(table: RaceTable, fico_low: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Sample a race for each person given the FICO band.

    Args:
        table: P(race | FICO).
        fico_low: Lower end of each person's band, shape (n,).
        rng: Generator; one uniform number is drawn for each person.

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
    """Return 0 (advantaged: white, Asian) or 1 (disadvantaged: Black, Hispanic), int8 (n,)."""
    return np.isin(race, DISADVANTAGED).astype(np.int8)
