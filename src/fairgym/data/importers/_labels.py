"""Meaning of the labels of a codebook: IPUMS Higher Ed codes by what the extract says of them.

Each function takes a label in lower case and gives a number, or nothing if the label is not one
of those that it knows.
"""

import re
from collections.abc import Callable, Mapping

from fairgym.core.errors import FairgymError
from fairgym.data.importers._ipums import Decode, recode

Labels = Mapping[int, str]  # code -> label in lower case
Meaning = Callable[[str], float | None]

# Words of labels that are no answer; a skipped question is none either, but for loans.
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
    """True for a label that is an answer."""
    return SKIPPED not in label and not any(word in label for word in _NO_ANSWER)


def sex(label: str) -> float | None:
    """1 for women, 0 for men."""
    return {"f": 1.0, "w": 1.0, "m": 0.0}.get(label[:1])


def minority(label: str) -> float | None:
    """0 for no, 1 for yes."""
    if label.startswith("no"):
        return 0.0
    return 1.0 if label.startswith(("yes", "minor", "under")) else None


def _middle(label: str) -> float | None:
    """The number in the middle of a band such as "$10,001 - $20,000"; nothing without a number.

    Half of "less than x" or "x or less", and x of "x or more".
    """
    numbers = [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", label)]
    if not numbers:
        return None
    if len(numbers) > 1:
        return (numbers[0] + numbers[1]) / 2
    less = re.search(r"less|under|below|fewer|up to", label) is not None
    return numbers[0] / 2 if less else numbers[0]


def grade(label: str) -> float | None:
    """Middle of a band of grade points, to three decimals."""
    value = _middle(label)
    return None if value is None or value > 4 else round(value, 3)


def dollars(label: str) -> float | None:
    """Middle of a band, to ten dollars; 0 where there is no loan or no degree at the level."""
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
    """Codes by their labels; by `plain` where the codebook labels none of the answers.

    Args:
        name: name of the variable.
        labels: label of each code.
        value: what a label means; codes whose label it does not know are missing.
        meaning: meaning of the variable, in words.
        plain: for codes without labels.

    Raises:
        FairgymError: `value` knows none of the labels, or there is no label and no `plain`.
    """
    answers = {code: label for code, label in labels.items() if _answer(label)}
    known = {code: value(label) for code, label in answers.items()}
    known = {code: number for code, number in known.items() if number is not None}
    if known:
        return recode(known)
    if answers or plain is None:
        shown = ", ".join(repr(label) for label in list(answers.values())[:5]) or "none"
        raise FairgymError(
            f"the codebook labels no code of {name} as {meaning}: its labels are {shown}"
        )
    return plain
