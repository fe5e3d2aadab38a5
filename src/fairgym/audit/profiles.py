"""Standards to report by, as dated data: which groups are compared, and the line that is drawn."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from fairgym.audit.roles import Roles
from fairgym.config.files import read_config_file
from fairgym.config.settings import checked, fields_of
from fairgym.core import FairgymError
from fairgym.utils.changes import unknown

FOLDER = Path(__file__).with_name("profiles")
MEASURES = ("ratio", "difference", "odds_ratio", "people_short", "p", "p_holm", "n")
_TERM = re.compile(r"\s*([a-z_]+?)(_low|_high)?\s*(<=|>=|<|>)\s*([+-]?[\d.]+%?)\s*")
_SIGNS: Mapping[str, Callable[[float, float], bool]] = {
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Profile:
    """A standard that an audit reports by. It never says more than the numbers do.

    Attributes:
        title: Name of the standard in full.
        source: Where it is published.
        date: Day since which it is as described here, such as "2023-07-05".
        about: What it compares.
        reference: As `Roles.reference`.
        cross: Whether the groups of several columns are crossed.
        scoring: Whether the share of a group above the median score counts like a decision.
        line: Ratio of rates that is drawn as a line; 0 for none.
        min_share: Smallest share of all decisions of a group that is compared.
        ratio: Its word for the ratio of rates.
        limits: Sentences about what its numbers do not say, and until when they applied.
    """

    title: str
    source: str = ""
    date: str
    about: str = ""
    reference: str = "largest"
    cross: bool = False
    scoring: bool = False
    line: float = 0.0
    min_share: float = 0.0
    ratio: str = "ratio"
    limits: tuple[str, ...] = ()


def profile_names() -> list[str]:
    """Return the names of the built-in profiles."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def read_profile(name: str) -> Profile:
    """Return a built-in profile, or that of a TOML file.

    Raises:
        FairgymError: There is no such profile, or its file has an unknown key or a bad value.
    """
    path = FOLDER / f"{name}.toml"
    if name not in profile_names():
        path = Path(name)
        if path.suffix != ".toml":
            raise unknown("profile", name, profile_names(), "it must end in .toml or be one of")
    given = checked(fields_of(Profile), read_config_file(path))
    for key in given:
        if key not in Profile.__dataclass_fields__:
            raise unknown("key", key, Profile.__dataclass_fields__, "there are", f" in {path}")
    for key in ("title", "date"):
        if key not in given:
            raise FairgymError(f"{path} must say the {key} of the profile")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", given["date"]):
        raise FairgymError(f"date in {path} must be like '2023-07-05', got {given['date']!r}")
    return Profile(**given)


def with_profile(roles: Roles) -> Roles:
    """Return roles with the settings of their profile where they do not say otherwise."""
    profile = read_profile(roles.profile)
    return dataclasses.replace(
        roles,
        reference=roles.reference or profile.reference,
        cross=roles.cross or profile.cross,
        line=roles.line or profile.line,
        min_share=roles.min_share or profile.min_share,
    )


def read_condition(text: str) -> list[tuple[str, str, float]]:
    """Return the terms of a condition on gaps, such as "ratio<0.8 and p_holm<0.05".

    Returns:
        Key of the rows of gaps, sign and number, of every term; none for "".

    Raises:
        FairgymError: The text is no condition.

    Examples:
        >>> from fairgym.audit.profiles import read_condition
        >>> read_condition("ratio<0.8 and difference_high < -5%")
        [('ratio', '<', 0.8), ('difference_high', '<', -0.05)]
    """
    found = []
    for term in text.split(" and ") if text.strip() else []:
        match = _TERM.fullmatch(term)
        limited = match is not None and match[1] in MEASURES[: 3 if match[2] else None]
        if match is None or not limited:
            raise FairgymError(
                "fail_if must be a condition such as 'ratio<0.8', or several with 'and' between"
                f" them, on {', '.join(MEASURES)}, got {text!r}"
            )
        try:
            number = float(match[4].rstrip("%")) / (100.0 if match[4].endswith("%") else 1.0)
        except ValueError as error:
            raise FairgymError(f"fail_if must compare with a number, got {text!r}") from error
        found.append((match[1] + (match[2] or ""), match[3], number))
    return found


def holds(condition: str, row: Mapping[str, object]) -> bool:
    """Return whether a row of gaps meets a condition; an undefined number meets none."""
    values = [(row.get(key), sign, number) for key, sign, number in read_condition(condition)]
    return bool(values) and all(
        isinstance(value, int | float) and _SIGNS[sign](value, number)
        for value, sign, number in values
    )
