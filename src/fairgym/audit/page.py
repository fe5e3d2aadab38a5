"""The page of an audit: one file that opens offline, prints, and can be read without its script."""

import dataclasses
import itertools
import json
import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from fairgym._version import __version__
from fairgym.audit.examples import PREFIX, describe_examples, example_config
from fairgym.audit.figures import figures_of
from fairgym.audit.parts import Cell, Part, number_of
from fairgym.audit.profiles import read_profile, with_profile
from fairgym.audit.result import Audit
from fairgym.audit.roles import Roles
from fairgym.audit.write import CONFIG, config_text, document, read_config
from fairgym.report.one_file import (
    SAVE,
    big_numbers,
    command_text,
    csv_line,
    figure,
    first_sentences,
    sortable,
    whole_page,
)
from fairgym.report.template import MOST_COLUMNS, escaped, fold, noted
from fairgym.results.numbers import Estimate, interval, number_in, number_told
from fairgym.results.table import Table

NAMING = (
    "group",
    "reference",
    "other",
    "method",
    "period",
    "cut",
    "bin",
    "after",
)  # columns that name a row
_LISTS = {"groups": "--group", "legit": "--legit"}
_PAIRS = {"decision": "favourable", "outcome": "good"}


def page(found: Audit) -> str:
    """Return the page of an audit as HTML."""
    title = headline(found)
    sections = {
        part.name: (part.title, _section(part, found.roles)) for part in found.parts if part.rows
    }
    sections["reproduce"] = ("Reproduce this", _reproduce(found))
    first = [
        noted(_subtitle(found)),
        f'<h2 id="limits">What cannot be concluded</h2>'
        f"{first_sentences(found.limits, 'More limits')}",
        f'<h2 id="short">In short</h2>{first_sentences(found.findings, "More findings")}',
        big_numbers(four_numbers(found)),
    ]
    return whole_page("audit", title, first, sections, json.loads(document(found)))


def headline(found: Audit) -> str:
    """Return the title of the page: what was decided on, and by which columns it is compared."""
    path = found.decisions.source.path
    titles = {f"{PREFIX}{one['name']}": one["title"] for one in describe_examples()}
    name = titles.get(path, Path(path).name)
    return f"{name}: decisions by {' and '.join(found.roles.groups)}"


def four_numbers(found: Audit) -> list[tuple[str, str]]:
    """Return the numbers that stand first, with what they are; fewer if no groups are compared."""
    roles, data = found.roles, {str(row["what"]): row for row in found.part("data").rows}
    decisions = number_of(data["decisions"], "number")
    rate = number_of(data["favourable decisions"], "share")
    numbers = [
        (f"{decisions:,.0f}", f"decisions{_when(found)}"),
        (number_told(rate, "share"), f"of them favourable ({_favourable(roles)})"),
    ]
    largest = [row for part in found.parts if part.name == "largest_gap" for row in part.rows]
    if largest:
        row = max(largest, key=lambda one: number_of(one, "gap"))
        gap = _estimate(row, "gap", "low", "high")
        sides = (
            f"{row[name]} ({number_told(number_of(row, key), 'share')})"
            for name, key in (("group", "rate"), ("other", "other_rate"))
        )
        size = f"{number_in(gap.mean, 'share')} points"
        ends = interval(gap, "share").partition(" ")[2]
        numbers.append((size, f"largest gap {ends}, between {' and '.join(sides)}"))
    gaps = [row for part in found.parts if part.name == "gaps" for row in part.rows]
    gaps = [row for row in gaps if math.isfinite(number_of(row, "ratio"))]
    if gaps:
        row = max(gaps, key=lambda one: _from_1(number_of(one, "ratio")))
        ratio = _estimate(row, "ratio", "ratio_low", "ratio_high")
        size, _, ends = interval(ratio).partition(" ")
        word = read_profile(roles.profile).ratio
        end = "lowest" if ratio.mean <= 1.0 else "highest"
        sides = f"of {row['group']} to {row['reference']}"
        numbers.append((size, f"{end} {word} {ends}, {sides}"))
    return numbers


def _from_1(ratio: float) -> float:
    """Return how far a ratio is from 1: a half as far as a double."""
    return max(ratio, 1.0 / ratio) if ratio > 0.0 else math.inf


def command(found: Audit) -> str:
    """Return the command that repeats an audit; that of its file where flags cannot say it."""
    roles, path = found.roles, found.decisions.source.path
    words = ["fairgym", "audit"]
    if path.startswith(PREFIX):
        name = path.removeprefix(PREFIX)
        words += ["--example", name]
        base = Roles(**read_config(example_config(name))[0])
    else:
        words.append(path)
        base = Roles(decision=roles.decision, groups=roles.groups)
    own = with_profile(dataclasses.replace(base, profile=roles.profile))
    differing = [
        name
        for name, value in dataclasses.asdict(roles).items()
        if value != getattr(base if name == "profile" else own, name)
        or (name in ("decision", "groups") and words[2] == path)
    ]
    flags = _flags(roles, differing)
    return shlex.join([*words, *flags] if flags is not None else [*words[:2], "--config", CONFIG])


def _flags(roles: Roles, differing: Sequence[str]) -> list[str] | None:
    """Return the flags of settings; None if there are none for some of them."""
    flags: list[str] = []
    values = (*roles.favourable, *roles.unfavourable, *roles.good, *roles.unknown)
    if any("," in value or value != value.strip() for value in values):
        return None
    names = {_pair(name) for name in differing}
    for name in sorted(names, key=list(dataclasses.asdict(roles)).index):
        value, flag = getattr(roles, name), f"--{name.replace('_', '-')}"
        if name in ("line", "min_share") or value in ("", (), False):
            return None
        if name in _LISTS:
            flags += [word for one in value for word in (_LISTS[name], one)]
        elif name in _PAIRS:
            own = getattr(roles, _PAIRS[name])
            flags += [flag, f"{value}={','.join(own)}" if own else value]
        elif value is True:
            flags.append(flag)
        else:
            flags += [flag, ",".join(value) if isinstance(value, tuple) else str(value)]
    return flags


def _pair(name: str) -> str:
    """Return the setting whose flag takes this one."""
    return next((first for first, second in _PAIRS.items() if second == name), name)


def _section(part: Part, roles: Roles) -> str:
    """Return the figures of a table, its meaning, the table, and its CSV file."""
    drawn = [figure(name, one) for name, one in figures_of(part, roles).items()]
    return "\n".join([*drawn, noted(part.about), _table(part), csv_line(part.name, part.rows)])


def _table(part: Part) -> str:
    """Return a table, folded if it is long."""
    shown = part.table()
    head, rows = list(shown.head), shown.rows
    if head[0] == "by" and len(head) > MOST_COLUMNS:  # no column of its own in a wide table
        head, rows = head[1:], [line for row in rows for line in ([f"By {row[0]}"], row[1:])]
    named = {one.heading for one in part.columns if one.key in NAMING}
    names = len(list(itertools.takewhile(named.__contains__, head)))
    return sortable(Table(head, rows), headings=max(1, names), count=len(part.rows))


def _reproduce(found: Audit) -> str:
    """Return the command that repeats the audit, and the same call as a file."""
    source = found.decisions.source
    text = command_text(command(found))
    if not source.sha256:
        text = noted(f"The table was a data frame in memory ({source.path}): its roles are below.")
    text += fold(
        f"{CONFIG}: the roles, the table's sha256 and the versions",
        f"<pre>{escaped(config_text(found))}</pre>",
    )
    return text + SAVE


def _subtitle(found: Audit) -> str:
    profile = read_profile(found.roles.profile)
    words = [found.decisions.source.path, f"fairgym {__version__}"]
    if profile.source:
        words.insert(1, f"reported by {profile.title}, as of {profile.date}, {profile.source}")
    return "; ".join(words)


def _estimate(row: Mapping[str, Cell], value: str, low: str, high: str) -> Estimate:
    return Estimate(number_of(row, value), number_of(row, low), number_of(row, high))


def _when(found: Audit) -> str:
    periods = found.decisions.periods
    return f", {periods.names[0]} to {periods.names[-1]}" if periods and periods.names else ""


def _favourable(roles: Roles) -> str:
    values = f": {', '.join(roles.favourable)}" if roles.favourable else ""
    return f"{roles.decision}{values}"
