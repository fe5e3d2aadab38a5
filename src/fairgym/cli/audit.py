"""`fairgym audit`: rates and gaps between groups in a table of logged decisions."""

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairgym.cli.output import ALL_HELP, LINES, Output, folded, line, say, show, width
from fairgym.cli.parsing import flag, names, parse
from fairgym.config.text import split_list, split_pair
from fairgym.core import FairgymError
from fairgym.utils.files import require_path

if TYPE_CHECKING:
    from fairgym.audit import Audit

FAILED = 3  # exit code if the condition of --fail-if holds
MORE = "--all prints every table; --out FOLDER writes them."
_LISTS = {"group": "groups", "legit": "legit"}
_PAIRS = {"decision": "favourable", "outcome": "good"}


@dataclasses.dataclass(frozen=True)
class AuditFlags(Output):
    """Compare groups in a table of logged decisions: rates, gaps, intervals, changes over time.

    The table has one row per decision: a .csv, .tsv or .parquet file, or a built-in example.
    """

    table: tuple[str, ...] = names("Table of decisions, a .csv, .tsv or .parquet file.", "FILE")
    example: str | None = flag(
        None, "Audit a built-in table instead; `list` names them.", metavar="NAME"
    )
    config: str | None = flag(
        None,
        "TOML file with the roles of the columns, such as the audit.toml of an earlier audit, or a"
        " built-in map: compas, hmda-lar, lending-club or open-policing. Flags override it. By"
        " default the .toml file beside the table, if it begins with '# fairgym audit'.",
        metavar="FILE",
    )
    decision: str | None = flag(
        None,
        "Column with the decisions, and its favourable values. A column of yes and no, true and"
        " false, or 1 and 0 needs no value.",
        metavar="COLUMN[=VALUE,...]",
    )
    unfavourable: str | None = flag(
        None,
        "Unfavourable values; rows with other values are then dropped. By default every value that"
        " is not favourable.",
        metavar="VALUE,...",
    )
    group: tuple[str, ...] = flag((), "Column with groups; may be repeated.", metavar="COLUMN")
    unknown: str | None = flag(
        None,
        "Values that stand for an unknown group, such as 'Not stated'; empty cells always do.",
        metavar="VALUE,...",
    )
    cross: bool = flag(False, "Also compare the groups that all --group columns make together.")
    time: str | None = flag(
        None, "Column with dates, months, quarters, years or steps.", metavar="COLUMN"
    )
    every: str | None = flag(
        None, "Split dates into periods: day, week, month, quarter or year.", metavar="PERIOD"
    )
    outcome: str | None = flag(
        None,
        "Column with what came of the decision, and its good values; empty where it is not known.",
        metavar="COLUMN[=VALUE,...]",
    )
    score: str | None = flag(
        None, "Column with the score that decisions were based on.", metavar="COLUMN"
    )
    legit: tuple[str, ...] = flag(
        (), "Column that may account for a gap; may be repeated.", metavar="COLUMN"
    )
    person: str | None = flag(
        None, "Column that tells people apart, if they have several decisions.", metavar="COLUMN"
    )
    cluster: str | None = flag(
        None, "Column whose values share something: branch, officer, episode.", metavar="COLUMN"
    )
    weight: str | None = flag(None, "Column with weights of the rows.", metavar="COLUMN")
    amount: str | None = flag(None, "Column with an amount per decision.", metavar="COLUMN")
    reference: str | None = flag(
        None,
        "Group that the others are compared with: its name, best, largest or pooled (default: that"
        " of the profile, or largest).",
        metavar="GROUP",
    )
    min_n: int | None = flag(
        None, "Smallest number of decisions of a group that is compared (default: 30)."
    )
    suppress: int | None = flag(
        None, "List groups with fewer decisions without numbers (default: 10)."
    )
    profile: str | None = flag(
        None,
        "Standard to report by: plain, ll144, four-fifths, or a TOML file (default: plain).",
        metavar="NAME",
    )
    fail_if: str | None = flag(
        None,
        "Exit with code 3 if a gap meets a condition, such as 'ratio<0.8 and p_holm<0.05'.",
        metavar="CONDITION",
    )
    level: float | None = flag(None, "Confidence level of the intervals (default: 0.95).")
    resamples: int | None = flag(
        None, "Number of resamples for intervals of series (default: 1000)."
    )
    seed: int | None = flag(None, "Seed of the resampling (default: 0).")
    out: str | None = flag(
        None,
        "Write a page, JSON, a CSV file per table, and audit.toml into a folder; or, if it ends in"
        " .html, the page alone.",
        metavar="FOLDER",
    )
    all: bool = flag(False, ALL_HELP)


def audit(arguments: Sequence[str]) -> None:
    """Audit a table, print what it shows, and write the results that are asked for.

    Raises:
        SystemExit: With code 3 if the condition of `--fail-if` holds.
    """
    from fairgym.training import devices

    devices.configure()
    flags = parse(AuditFlags, arguments, "fairgym audit")
    if flags.example == "list":
        _list_examples(flags)
        return
    from fairgym.audit.audit import audit as run
    from fairgym.audit.logs import roles_beside
    from fairgym.audit.roles import Roles
    from fairgym.audit.write import members, settings

    if flags.config is None and len(flags.table) == 1:
        beside = roles_beside(flags.table[0])
        if beside is not None:
            say(f"roles of the columns: {beside}")
            flags = dataclasses.replace(flags, config=str(beside))
    table, given, digest = _asked(flags)
    if flags.out is not None:
        require_path(flags.out, "out")
        _require_out(flags.out)
    # A file of roles may name values that only other tables have; a flag is for this one.
    found = run(table, Roles(**given), absent_ok=flags.unknown is None)
    if digest and digest != found.decisions.source.sha256:
        say(f"{table} is not the file that {flags.config} was written for: its sha256 differs")
    if flags.out is not None:
        _write(found, flags.out)
    if flags.give("audit", lambda: members(found), settings(found.roles)):
        _print(found, flags.all)
    if found.failing:
        for row in found.failing:
            say(f"{found.roles.fail_if} holds for {row['grouping']}: {row['group']}")
        raise SystemExit(FAILED)


def _require_out(out: str) -> None:
    """Raise a FairgymError unless a page and its files can be drawn and written."""
    import fairgym.audit.page  # noqa: F401 - needs matplotlib
    from fairgym.audit.write import require_audit_folder
    from fairgym.utils.files import require_path, require_writable

    if out.endswith(".html"):
        require_path(out, "out")
        require_writable(Path(out))
    else:
        require_audit_folder(Path(out))


def _write(found: "Audit", out: str) -> None:
    """Write the page alone, or a folder with all files."""
    from fairgym.audit.page import page
    from fairgym.audit.write import write_audit
    from fairgym.utils.files import make_folder, write_whole

    path, content = Path(out), page(found)
    if path.suffix == ".html":
        make_folder(path.parent)
        write_whole(path, content.encode())
    else:
        write_audit(found, path, content)
    say(f"wrote {path / 'audit.html' if path.suffix != '.html' else path}")


def _asked(flags: AuditFlags) -> tuple[str, dict[str, Any], str]:
    """Return the table, the roles as keywords, and the sha256 that a file expects of the table.

    Raises:
        FairgymError: There is no table, or more than one, or no decision or group.
    """
    from fairgym.audit.examples import PREFIX, example_config, example_names
    from fairgym.audit.write import read_config

    table = ""
    given: dict[str, Any] = {}
    digest = ""
    if flags.example is not None:
        given, _, _ = read_config(example_config(flags.example))
        table = f"{PREFIX}{flags.example}"
    if flags.config is not None:
        own, table_of, digest = read_config(flags.config)
        given |= own
        table = table or table_of
    if flags.table:
        table, *others = flags.table
        if flags.example is not None or others:
            raise FairgymError(
                f"one table can be audited at a time, got {', '.join(flags.table)}"
                + f" and the example {flags.example}" * (flags.example is not None)
            )
    if not table:
        raise FairgymError(
            "no table is given; give a .csv or .parquet file, or --example with one of"
            f" {', '.join(example_names())}"
        )
    given |= _roles_of(flags)
    for name, needed in (("decision", "the decisions"), ("groups", "the groups")):
        if not given.get(name):
            flag_name = name.removesuffix("s")
            raise FairgymError(
                f"{flag_name} is not given; name the column with {needed}: --{flag_name} COLUMN"
            )
    return table, given, digest


def _roles_of(flags: AuditFlags) -> dict[str, Any]:
    """Return the fields of `Roles` that flags give."""
    given: dict[str, Any] = {}
    for name, value in vars(flags).items():
        if name in ("table", "example", "config", "json", "csv", "out", "all"):
            continue
        if value is None or value == () or value is False:
            continue
        if isinstance(value, str) and not value.strip():
            raise FairgymError(f"{name} must be a text, got {value!r}")
        if name in _PAIRS:
            column, values = split_pair(value)
            given |= {name: column, _PAIRS[name]: tuple(split_list(values)) if values else ()}
        elif name in ("unfavourable", "unknown"):
            given[name] = tuple(split_list(value))
        else:
            given[_LISTS.get(name, name)] = value
    return given


def _list_examples(flags: AuditFlags) -> None:
    from fairgym.audit.examples import describe_examples

    if flags.give("audit", lambda: {"results": describe_examples()}):
        for one in describe_examples():
            line(f"{one['name']}: {one['title']}. {one['about']}")


def _print(found: "Audit", everything: bool) -> None:
    """Print findings and limits on at most 25 lines, or everything with the tables."""
    line(_title(found))
    if everything:
        _bullets("Cannot be concluded:", found.limits)
        _bullets("Findings:", found.findings)
        for part in found.parts:
            if part.rows:
                show(part.table(), width())
        return
    room = LINES - 3 - len(folded(_title(found)))
    half = room - min(room // 2, sum(len(folded(f"- {text}")) for text in found.limits))
    used = _bullets("Findings:", found.findings, half)
    _bullets("Cannot be concluded:", found.limits, room - used)
    line(MORE)


def _title(found: "Audit") -> str:
    decisions = found.decisions
    rate = f"{decisions.favourable.mean():.1%} favourable"
    periods = decisions.periods
    when = f", {periods.names[0]} to {periods.names[-1]}" if periods and periods.names else ""
    return f"{decisions.source.path}: {decisions.rows:,} decisions, {rate}{when}."


def _bullets(heading: str, texts: Iterable[str], most: int | None = None) -> int:
    """Print sentences below a heading, as many as fit; return the number of lines.

    Args:
        heading: The heading, which counts as no line.
        texts: The sentences.
        most: Largest number of lines; None for all.
    """
    every = [folded(f"- {text}") for text in texts]
    if every:
        print(heading)
    used = 0
    for number, lines in enumerate(every):
        left = len(every) - number
        if most is not None and used + len(lines) + (left > 1) > most:
            print(f"- and {left} more")
            return used + 1
        print("\n".join(lines))
        used += len(lines)
    return used
