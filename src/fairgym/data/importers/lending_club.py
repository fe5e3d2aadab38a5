"""Importer of the full Lending Club file: the Kaggle CSV of accepted loans, 2007 to 2018.

The file has about 2.3 million rows of 150 columns. It is read in chunks, and only the needed
columns of resolved loans are kept, so that memory stays far below the file's size.
"""

import gzip
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fairgym.core.errors import FairgymError
from fairgym.data import store
from fairgym.data.importers._report import Report, Sieve, reading
from fairgym.data.population import FILES, write_population
from fairgym.data.populations import loan
from fairgym.data.race import ENTRY, table_from_json
from fairgym.data.sampling import stream

SOURCE = "lending-club"
POPULATION = "loan"
FILE = "the Kaggle CSV of accepted loans, or the CSV compressed with gzip"
ROWS_AT_ONCE = 50_000
LONGEST_HEADER = 2**20  # bytes
LARGEST = 1e9  # allowed for any number of a loan; the file's highest income is below 1.2e8

NEEDED = (
    "loan_amnt",
    "term",
    "int_rate",
    "annual_inc",
    "dti",
    "fico_range_low",
    "fico_range_high",
    "mths_since_last_delinq",
    "loan_status",
    "issue_d",
    "last_pymnt_d",
    "sub_grade",
    "application_type",
)
# Joint applications have a joint income and debt ratio, in files from 2015 on.
OPTIONAL = ("annual_inc_joint", "dti_joint")

_OUTSIDE_POLICY = "Does not meet the credit policy. Status:"
REPAID = ("Fully Paid", _OUTSIDE_POLICY + "Fully Paid")
DEFAULTED = ("Charged Off", "Default", _OUTSIDE_POLICY + "Charged Off")

# Source columns of a loan's numbers, in the order in which `_keep` checks them.
_SOURCE_NAMES = NEEDED[:7]

# Not strptime: its month names depend on the user's locale.
_MONTH_NAMES = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES.split(" "))}


def _month_number(dates: Any) -> np.ndarray:
    """Return months since year 0 of dates such as "Dec-2015"; NaN if there is no such date."""
    pd = store.need("pandas", "importing")
    month = dates.str.slice(0, 3).map(_MONTHS).to_numpy(np.float64)
    year = pd.to_numeric(dates.str.slice(4, 8), errors="coerce").to_numpy(np.float64)
    return 12 * year + month


def _number(column: Any) -> np.ndarray:
    """Parse a text column such as "13.99", " 13.99%" or " 36 months"; NaN if not a number."""
    pd = store.need("pandas", "importing")
    cleaned = column.str.replace("%", "").str.replace("months", "").str.strip()
    return pd.to_numeric(cleaned, errors="coerce").to_numpy(np.float64)


def _keep(piece: Any, dropped: dict[str, int]) -> dict[str, np.ndarray]:
    """Return the columns of a chunk's resolved loans, and count the dropped rows."""
    status = piece["loan_status"].str.strip()
    rows = Sieve(len(piece), dropped)
    drop = rows.drop
    amount = _number(piece["loan_amnt"])
    bad = status.isin(DEFAULTED).to_numpy()
    drop("footer or empty row", np.isnan(amount) & status.isna().to_numpy())
    drop("not resolved yet", ~(bad | status.isin(REPAID).to_numpy()))

    joint = piece["application_type"].str.strip().str.lower().str.startswith("joint")
    joint = joint.fillna(False).to_numpy(bool)

    def shared(name: str) -> np.ndarray:
        own, both = _number(piece[name]), f"{name}_joint"
        if both not in piece:
            return own
        together = _number(piece[both])
        return np.where(joint & ~np.isnan(together), together, own)

    columns = {
        "principal": amount,
        "term": _number(piece["term"]),
        "interest_rate": _number(piece["int_rate"]) / 100,
        "annual_income": shared("annual_inc"),
        "debt_to_income": shared("dti"),
        "fico_low": _number(piece["fico_range_low"]),
        "fico_high": _number(piece["fico_range_high"]),
    }
    for name, values in zip(_SOURCE_NAMES, columns.values(), strict=True):
        drop(f"{name} missing or unreadable", np.isnan(values))
        drop(f"{name} above {LARGEST:g}", values > LARGEST)
    sub_grade = piece["sub_grade"].str.strip()
    known = sub_grade.str.fullmatch("[A-G][1-5]", na=False).to_numpy(bool)
    drop("sub_grade missing or unreadable", ~known)
    drop("no income", columns["annual_income"] <= 0)
    drop("dti below zero", columns["debt_to_income"] < 0)
    for name, values in zip(_SOURCE_NAMES[:3], columns.values(), strict=False):
        drop(f"{name} not above zero", values <= 0)

    term = columns["term"]
    # A loan that was charged off before any payment has no last payment; it paid 0 months.
    issued, last = _month_number(piece["issue_d"]), _month_number(piece["last_pymnt_d"])
    paid = np.where(piece["last_pymnt_d"].isna().to_numpy(), 0.0, last - issued)
    drop("issue_d or last_pymnt_d unreadable", bad & (np.isnan(paid) | np.isnan(issued)))
    columns["months_to_default"] = np.where(bad, np.clip(paid, 0, term), term)
    columns["months_since_delinquency"] = _number(piece["mths_since_last_delinq"])
    left = rows.left
    kept = {name: values[left].astype(np.float32) for name, values in columns.items()}
    kept["defaulted"] = bad[left].astype(np.int8)
    kept["sub_grade"] = sub_grade.to_numpy(object)[left].astype("U2")
    return kept


def _pieces(path: Path, progress: Callable[[int, int], None] | None) -> Iterator[Any]:
    """Yield chunks of the file as data frames of text, with only the used columns."""
    pd = store.need("pandas", "importing")
    wanted = set(NEEDED) | set(OPTIONAL)
    total = path.stat().st_size
    with open(path, "rb") as raw:
        start = raw.read(4)
        raw.seek(0)
        if not start:
            raise FairgymError(f"{path} is empty; expected the Lending Club CSV")
        if start.startswith(b"PK"):
            raise FairgymError(f"{path} is a zip archive; unpack it and import the CSV in it")
        packed = start.startswith(b"\x1f\x8b")
        binary: Any = gzip.GzipFile(fileobj=raw) if packed else raw
        header = binary.readline(LONGEST_HEADER)
        if len(header) == LONGEST_HEADER and not header.endswith(b"\n"):
            raise FairgymError(
                f"{path} has a first line of over {LONGEST_HEADER:,} bytes; expected the header of"
                " the Lending Club CSV"
            )
        binary.seek(0)
        text = io.TextIOWrapper(binary, encoding="utf-8-sig", errors="replace", newline="")
        reader = pd.read_csv(
            text,
            usecols=lambda name: name in wanted,
            dtype=str,
            chunksize=ROWS_AT_ONCE,
            index_col=False,
        )
        first = True
        for piece in reader:
            absent = [name for name in NEEDED if name not in piece.columns]
            if first and absent:
                raise FairgymError(
                    f"{path} has no column {', '.join(absent)}; expected the Lending Club CSV of "
                    "accepted loans with its original column names"
                )
            first = False
            yield piece
            if progress is not None:
                progress(raw.tell(), total)


def _read(
    path: Path, report: Report, progress: Callable[[int, int], None] | None
) -> dict[str, np.ndarray]:
    """Read the file in chunks, or raise an error that says why it cannot be read."""
    pd = store.need("pandas", "importing")
    parts: list[dict[str, np.ndarray]] = []
    with reading(path):
        try:
            for piece in _pieces(path, progress):
                report.read += len(piece)
                parts.append(_keep(piece, report.dropped))
        except pd.errors.EmptyDataError as error:
            raise FairgymError(f"{path} has no header; expected the Lending Club CSV") from error
        except pd.errors.ParserError as error:
            reason = " ".join(str(error).split())
            raise FairgymError(f"{path} is not a readable CSV file: {reason}") from error
    report.kept = sum(len(part["defaulted"]) for part in parts)
    report.require_rows("resolved loan")
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def import_lending_club(
    path: str | Path,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Import the full Lending Club file as the source "lending-club" of the loan population.

    It keeps resolved loans (fully paid, charged off or in default) with every needed value. Joint
    applications have their joint income and debt ratio if the file has them. The months to default
    are counted from issue_d to last_pymnt_d. Race is imputed from FICO, as in the built-in
    population. Scores and `bias_strength` are fitted on the import. An earlier import is replaced
    once the new one is complete.

    Args:
        path: The CSV, or the CSV compressed with gzip.
        progress: Called with (bytes read so far, total bytes) after every chunk.

    Returns:
        Counts of rows read, kept and dropped by reason, and the metrics of the fitted scores.

    Raises:
        FairgymError: If the file is missing, not a CSV or a truncated gzip file, a needed column is
            missing (the message names it), there is no usable loan, or the data folder cannot be
            written.
    """
    path = Path(path)
    if not path.is_file():
        raise FairgymError(f"{path} is not a file; expected the Lending Club CSV or CSV.gz")
    report = Report(SOURCE, str(path), what="loans")
    columns: dict[str, np.ndarray] = _read(path, report, progress)

    table_content, _, _ = store.read_verified(FILES, ENTRY)
    rng = stream(0, "loan", SOURCE, "race")
    columns = loan.complete(columns, table_from_json(table_content), rng)
    scores = loan.fit_loan_scores(columns)
    report.bias_strength = loan.fit_bias_strength(columns, scores)
    report.shares = {"default": float(columns["defaulted"].mean())}
    report.metrics = {name: score.metrics for name, score in scores.items()}
    folder = write_population(
        POPULATION, SOURCE, columns, loan.IMPUTED_BY_COMPLETE, scores, report.bias_strength
    )
    report.folder = str(folder)
    return report


run = import_lending_club
