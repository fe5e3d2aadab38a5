"""Importer of IPUMS Higher Ed: the National Survey of College Graduates, the people of MAFE-Edu.

It reads an extract with the variables of table 6 of the MAFE paper plus YEAR and AGE: GENDER (or
SEX), MINRTY, RACETH (or RACE), NBAMEMG, NDGMEMG, REGION, NOCPRMG, SALARY, HRSWK, EMSEC, EMSIZE,
UGLOANR (or UGLOAN), GRLOANR (or GRLOAN), DGRDG, GPA. As in the paper, rows with a missing value are
dropped: no answer, suppressed, or skipped because the question did not apply (without a job there
is no salary). For loans a skip means no debt.

Codes of sex, minority, race, region, loans and GPA differ between years and samples. Their meaning
is taken from the labels in the extract's codebook. A loan or GPA in bands becomes the middle of its
band: "$10,001 - $20,000" is 15,000 dollars, "less than $10,000" 5,000, "$90,001 or more" 90,000;
"3.25 - 3.74" is 3.495. Rows are not weighted.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from fairgym.core.errors import FairgymError
from fairgym.data.importers import _ipums
from fairgym.data.importers._ipums import Decode, Variable, amounts, between, recode
from fairgym.data.importers._report import Report
from fairgym.data.population import write_population
from fairgym.data.populations import education
from fairgym.data.store import typed

SOURCE = "higher-ed"
POPULATION = "education"
FILE = "the DDI codebook (.xml) of an IPUMS Higher Ed extract, its .dat or .csv beside it"
# The paper's years. If an extract has none of them, its latest survey is used.
YEARS = (2014, 2015, 2016)


Labels = Mapping[int, str]  # code -> label in lower case
Meaning = Callable[[str], float | None]

# Words in labels that are not answers. A skipped question is an answer only for loans.
_NO_ANSWER = (
    "missing",
    "suppress",
    "exclu",
    "refuse",
    "unknown",
    "blank",
    "not in universe",
    "niu",
)
SKIPPED = "logical skip"


def _answer(label: str) -> bool:
    """Return whether a label is an answer."""
    return SKIPPED not in label and not any(word in label for word in _NO_ANSWER)


def sex(label: str) -> float | None:
    """Return 1 for women, 0 for men."""
    return {"f": 1.0, "w": 1.0, "m": 0.0}.get(label[:1])


def minority(label: str) -> float | None:
    """Return 0 for no, 1 for yes."""
    if label.startswith("no"):
        return 0.0
    return 1.0 if label.startswith(("yes", "minor", "under")) else None


def _middle(label: str) -> float | None:
    """Return the middle of a band such as "$10,001 - $20,000"; None without a number.

    It is x / 2 for "less than x" or "x or less", and x for "x or more".
    """
    numbers = [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", label)]
    if not numbers:
        return None
    if len(numbers) > 1:
        return (numbers[0] + numbers[1]) / 2
    less = re.search(r"less|under|below|fewer|up to", label) is not None
    return numbers[0] / 2 if less else numbers[0]


def grade(label: str) -> float | None:
    """Return the middle of a band of grade points, to three decimals."""
    value = _middle(label)
    return None if value is None or value > 4 else round(value, 3)


def dollars(label: str) -> float | None:
    """Return the middle of a band, to ten dollars; 0 without a loan or a degree at the level."""
    value = _middle(label)
    if value is None:
        return 0.0 if label.startswith(("none", "no ", "did not")) else None
    return round(value, -1)


def by_label(
    name: str,
    labels: Labels,
    value: Meaning,
    meaning: str,
    plain: Decode | None,
) -> Decode:
    """Decode codes by their labels, or by `plain` if the codebook labels no answer.

    Args:
        name: Name of the variable.
        labels: Label of each code.
        value: Maps a label to its value; codes with an unknown label are missing.
        meaning: Meaning of the variable, in words.
        plain: Decoder for codes without labels.

    Raises:
        FairgymError: If `value` knows none of the labels, or there is no label and no `plain`.
    """
    answers = {code: label for code, label in labels.items() if _answer(label)}
    known = {code: value(label) for code, label in answers.items()}
    known = {code: number for code, number in known.items() if number is not None}
    if known:
        return recode(known)
    if answers or plain is None:
        shown = ", ".join(repr(label) for label in list(answers.values())[:5]) or "none"
        raise FairgymError(
            f"the codebook labels no code of {name} as {meaning}; its labels are {shown}"
        )
    return plain


def race(label: str) -> float | None:
    """Return the index of a race in `education.RACES`; unnamed races are "other"."""
    words = re.sub(r"(non|not)[- ]hispanic( or latino)?", "", label)
    signs = {"multi": "other", "two or more": "other", "more than one": "other"}
    signs |= {"hispanic": "hispanic", "under": "underrepresented", "minorit": "underrepresented"}
    signs |= {"black": "black", "asian": "asian", "indian": "native", "native": "native"}
    signs |= {"pacific": "native", "white": "white"}
    named = next((race for sign, race in signs.items() if sign in words), "other")
    return float(education.RACES.index(named))


def division(label: str) -> float | None:
    """Return the code 0 to 8 of the Census division; None for a place abroad."""
    words = label.replace("mid-atlantic", "middle atlantic")
    found = (code for code, name in enumerate(education.REGIONS) if name.lower() in words)
    return next((float(code) for code in found), None)


_GROUPS = recode({code: code for code in range(1, 8)})  # 9 is other, 96 to 99 no answer
_GROUP_LABELS = {1: "comput", 5: "engineer"}
_YEAR = Variable(("YEAR",), between(1900, 2100))
# Variables whose codes are the same everywhere. Bands of hours (HRSWKGR): 20 or fewer, 21 to 35,
# 36 to 40, more.
VARIABLES = {
    "year": _YEAR,
    "age": Variable(("AGE",), between(15, 95)),
    "major_first": Variable(("NBAMEMG",), _GROUPS, _GROUP_LABELS),
    "major_highest": Variable(("NDGMEMG",), _GROUPS, _GROUP_LABELS),
    "occupation": Variable(("NOCPRMG",), _GROUPS, _GROUP_LABELS),
    "salary": Variable(("SALARY",), amounts(0, 5_000_000)),
    "hours_per_week": Variable(
        {"HRSWK": between(1, 96), "HRSWKGR": recode({1: 15, 2: 28, 3: 40, 4: 50})}
    ),
    "employer_sector": Variable(
        ("EMSEC",), recode({code: code for code in range(1, 6)}), {3: "government", 4: "business"}
    ),
    "employer_size": Variable(
        ("EMSIZE",), recode({code: code for code in range(1, 9)}), {1: "10", 8: "25"}
    ),
    "degree": Variable(
        ("DGRDG",), recode({1: 1, 2: 2, 3: 3, 4: 3}), {1: "bachelor", 2: "master", 3: "doctor"}
    ),
}


def _loan(name: str, labels: Labels) -> Decode:
    """Return a decoder of a loan in dollars, in bands or as an amount; a skip means no loan."""
    skips = [code for code, label in labels.items() if SKIPPED in label]
    decode = by_label(name, labels, dollars, "an amount of dollars", amounts(0, 2_000_000))
    return lambda codes: np.where(np.isin(codes, skips), 0.0, decode(codes))


# Column -> function from label to value, meaning of the labels, and for each name of the variable
# the decoder without labels (None: labels are required).
_RACETH = [education.RACES.index(r) for r in ("asian", "white", "underrepresented", "other")]
_EXPLAINED: dict[str, tuple[Meaning, str, dict[str, Decode | None]]] = {
    "female": (
        sex,
        "female or male",
        {"GENDER": recode({1: 1, 2: 0}), "SEX": recode({1: 0, 2: 1})},
    ),
    "group": (minority, "yes or no", {"MINRTY": recode({0: 0, 1: 1})}),
    "race": (race, "a race", {"RACETH": recode(dict(enumerate(_RACETH, 1))), "RACE": None}),
    "region": (
        division,
        "a Census division",
        {"REGION": recode({code + 1: code for code in range(9)})},
    ),
    "gpa": (grade, "grade points", {"GPA": between(0, 4)}),
}
_LOANS = {
    "undergraduate_loans": ("UGLOANR", "UGLOAN"),
    "graduate_loans": ("GRLOANR", "GRLOAN"),
}


def _variables(described: Mapping[str, Labels]) -> dict[str, Variable]:
    """Return `VARIABLES` and the variables whose codes the codebook explains.

    Args:
        described: Name of each variable in the extract -> its labels.
    """
    never = between(1, 0)  # for names that are not in the extract
    variables = dict(VARIABLES)
    for column, (value, meaning, names) in _EXPLAINED.items():
        variables[column] = Variable(
            {
                name: by_label(name, described[name], value, meaning, plain)
                if name in described
                else never
                for name, plain in names.items()
            }
        )
    for column, names in _LOANS.items():
        variables[column] = Variable(
            {name: _loan(name, described[name]) if name in described else never for name in names}
        )
    return variables


def _labels(path: Path) -> dict[str, Labels]:
    """Return variable name -> labels of its codes, from the codebook."""
    return {
        one.name.upper(): {
            int(code): str(label).strip().lower()
            for label, code in one.codes.items()
            if str(code).isdigit()
        }
        for one in _ipums.read_codebook(path).data_description
    }


def _years(path: Path, years: Sequence[int] | None) -> tuple[int, ...]:
    """Return the survey years to keep: the given years, `YEARS`, or the latest in the extract."""
    found, _ = _ipums.read_extract(SOURCE, path, {"year": _YEAR})
    present = np.unique(found["year"]).astype(int).tolist()
    wanted = YEARS if years is None else tuple(years)
    chosen = tuple(year for year in present if year in wanted)
    if not chosen and years is not None:
        raise FairgymError(
            f"{path} has no survey of {', '.join(map(str, wanted))}; it has "
            f"{', '.join(map(str, present))}"
        )
    return chosen or (present[-1],)


def population_columns(read: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the columns of the education population, with the types of the file.

    The group is MINRTY, whatever the race.
    """
    named = np.array(education.RACES)[read["race"].astype(int)]
    columns = {**read, **education.race_columns(named), "group": read["group"]}
    return typed(columns, education.COLUMNS)


def import_higher_ed(
    path: str | Path,
    *,
    years: Sequence[int] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Import an IPUMS Higher Ed extract as the source "higher-ed" of the education population.

    It keeps people with every value from the surveys of 2014 to 2016, or from the latest survey if
    the extract has none of these. The GPA score and `bias_strength` are fitted on the import. An
    earlier import is replaced once the new one is complete.

    Args:
        path: The DDI codebook (.xml), with the data file beside it.
        years: Survey years to keep instead.
        progress: Called with (rows read so far, total rows) after every chunk.

    Returns:
        Counts of rows read, kept and dropped by reason, and the metrics of the fitted score.

    Raises:
        FairgymError: If `read_extract` (`fairgym.data.importers._ipums`) raises one, labels are not
            understood, none of the given years is in the extract, there are too few people to fit
            a score, or the data folder cannot be written.
    """
    path = Path(path)
    variables = _variables(_labels(path))
    kept_years = _years(path, years)
    read, report = _ipums.read_extract(SOURCE, path, variables, years=kept_years, progress=progress)
    columns = population_columns(read)
    scores = education.fit_education_scores(columns)
    report.years, report.bias_strength = kept_years, education.fit_bias_strength(columns)
    report.shares = {"minority": float(columns["group"].mean(dtype=np.float64))}
    report.cite = "https://highered.ipums.org/highered/"
    report.metrics = {name: score.metrics for name, score in scores.items()}
    folder = write_population(POPULATION, SOURCE, columns, {}, scores, report.bias_strength)
    report.folder = str(folder)
    return report


run = import_higher_ed
