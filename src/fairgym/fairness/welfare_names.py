"""Names of welfare schemes: "nash", "anytime:parity", "periodic:12:alpha:2:approved".

A name is [TIMES:]WELFARE[:COMPONENT]. It is read without an environment.
"""

import dataclasses

from fairgym.core import FairgymError
from fairgym.fairness.aggregations import (
    Aggregation,
    AlphaFair,
    GeneralisedGini,
    Nash,
    Rawlsian,
    RelaxedParity,
    Utilitarian,
)

ALPHA, PERIODIC, PAST = "alpha", "periodic", "past-discounted"
NAMES: dict[str, Aggregation] = {
    "nash": Nash(),
    "max-min": Rawlsian(),
    "gini": GeneralisedGini(),
    "utilitarian": Utilitarian(),
    "parity": RelaxedParity(),
}
TITLES = {
    "nash": "log of Nash welfare",
    "max-min": "welfare of the worst off",
    "gini": "Gini welfare",
    "utilitarian": "utilitarian welfare",
    "parity": "relaxed parity",
    ALPHA: "alpha-fair welfare",
}
TIMES = ("long-term", "anytime", PERIODIC, PAST)
TAKES = (
    f"{', '.join(NAMES)} or {ALPHA}:ALPHA, optionally with :COMPONENT, after optional anytime:,"
    f" {PERIODIC}:STEPS: or {PAST}:SHARE:"
)


@dataclasses.dataclass(frozen=True)
class WelfareName:
    """Parts of a name.

    Attributes:
        welfare: Key of `TITLES`.
        aggregation: W.
        times: When W is assessed, one of `TIMES`.
        period: Number of steps between assessments, for "periodic".
        discount: Share of the past that is kept in each step, for "past-discounted".
        component: Name of the component, or NUMERATOR/DENOMINATOR for a rate; "" for the benefit.
    """

    welfare: str
    aggregation: Aggregation
    times: str = TIMES[0]
    period: int = 1
    discount: float = 1.0
    component: str = ""


def is_welfare(text: str) -> bool:
    """Return whether the first word of a name is a welfare or the times of one."""
    return text.partition(":")[0] in (*TITLES, *TIMES)


def read_welfare(text: str, field: str = "objective") -> WelfareName:
    """Return the parts of a welfare's name.

    Args:
        text: The name.
        field: Name of the field in error messages.

    Raises:
        FairgymError: If the name is unknown, or a number is missing or out of range.
    """
    words = text.split(":")
    times, period, discount = TIMES[0], 1, 1.0
    if words[0] in TIMES:
        times = words.pop(0)
        if times == PERIODIC:
            period = int(_number(text, words, field, "STEPS", "a whole number from 1", whole=True))
        if times == PAST:
            discount = _number(text, words, field, "SHARE", "a number from 0 to 1", most=1.0)
    kind = words.pop(0) if words else ""
    if kind == ALPHA:
        alpha = _number(text, words, field, "ALPHA", "a number from 0", before=ALPHA)
        aggregation: Aggregation = AlphaFair(alpha)
    elif kind in NAMES:
        aggregation = NAMES[kind]
    else:
        raise FairgymError(f"unknown {field} {text!r}; there is the welfare {TAKES}")
    component = ":".join(words)
    if words and not component:
        raise FairgymError(f"{field} must have a component after the colon, got {text!r}")
    return WelfareName(kind, aggregation, times, period, discount, component)


def _number(
    text: str,
    words: list[str],
    field: str,
    name: str,
    takes: str,
    *,
    before: str = "",
    whole: bool = False,
    most: float = float("inf"),
) -> float:
    """Remove the number that comes next from the words, and return it."""
    word = words.pop(0) if words else ""
    try:
        number = float(word)
    except ValueError:
        number = -1.0
    in_range = 0.0 <= number <= most and number < float("inf")
    if not in_range or (whole and (number < 1 or not number.is_integer())):
        first = before or text.partition(":")[0]
        raise FairgymError(f"{field} must be {first}:{name} with {takes}, got {text!r}")
    return number
