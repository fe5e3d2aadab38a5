"""Tables of the data and of rates by group."""

import dataclasses

import numpy as np

from fairgym.audit.groups import alike, compared, left_out, scored, shares_of
from fairgym.audit.parts import Cell, Column, Part
from fairgym.audit.profiles import read_profile
from fairgym.audit.roles import Roles
from fairgym.audit.table import Decisions
from fairgym.results.numbers import number_told
from fairgym.statistics.proportions import rate_interval

RATE_COLUMNS = (
    Column("grouping", "by"),
    Column("group", "group"),
    Column("n", "decisions"),
    Column("share", "share of decisions", "share"),
    Column("rate", "favourable", "share", ("low", "high")),
    Column("note", ""),
)


def rates(decisions: Decisions, roles: Roles) -> list[Part]:
    """Return the tables of the data and of rates by group, and of scoring rates if asked for."""
    found = [_data(decisions, roles), _rates(decisions, roles)]
    above = scored(decisions, roles)
    if above is not None:
        part = _rates(above, roles)
        about = part.about.replace(
            "favourable decisions", "decisions with a score above the median"
        )
        columns = tuple(
            dataclasses.replace(one, title="above the median") if one.key == "rate" else one
            for one in RATE_COLUMNS
        )
        found.append(
            dataclasses.replace(
                part,
                name="scoring_rates",
                title="Scoring rates by group",
                about=about,
                columns=columns,
                limits=(),
            )
        )
    return found


def _data(decisions: Decisions, roles: Roles) -> Part:
    """Table of the data: how many rows, which were dropped, what is unknown."""
    source, total = decisions.source, decisions.rows
    rows: list[dict[str, Cell]] = []

    def add(what: str, count: int, of: int = 0, text: str = "") -> None:
        rows.append(
            {"what": what, "number": count, "share": count / of if of else None, "text": text}
        )

    add("rows in the table", source.rows, text=source.path)
    for reason, count in decisions.dropped.items():
        add(f"dropped: {reason}", count, source.rows)
    add("decisions", total, source.rows)
    add("favourable decisions", int(decisions.favourable.sum()), total)
    for name, codes in decisions.groupings.items():
        add(f"{name} unknown", int((codes.codes < 0).sum()), total)
    if decisions.periods is not None:
        names = decisions.periods.names
        text = f"{names[0]} to {names[-1]}" if names else ""
        add(f"periods ({roles.time})", len(names), text=text)
        add(f"{roles.time} unknown", int((decisions.periods.codes < 0).sum()), total)
    if decisions.person is not None:
        add(f"persons ({roles.person})", int(np.count_nonzero(np.bincount(decisions.person))))
    if decisions.cluster is not None:
        add(f"clusters ({roles.cluster})", len(decisions.cluster.names))
    for name, values in ((roles.outcome, decisions.outcome), (roles.score, decisions.score)):
        if values is not None:
            add(f"{name} known", int(np.isfinite(values).sum()), total)
    if decisions.weight is not None:
        w = decisions.weight
        add("independent decisions that the weights amount to", round(w.sum() ** 2 / (w @ w)))
    columns = (
        Column("what", ""),
        Column("number", "number"),
        Column("share", "share", "share"),
        Column("text", ""),
    )
    about = "Rows of the table, and what is unknown about the decisions."
    return Part("data", "Data", about, rows, columns, limits=_limits(decisions, roles))


def _rates(decisions: Decisions, roles: Roles) -> Part:
    """Table of the rate of every group of every grouping."""
    rows: list[dict[str, Cell]] = []
    limits = []
    for grouping, codes in decisions.groupings.items():
        n, shares = codes.counts(), shares_of(decisions, grouping)
        low, high = rate_interval(shares, roles.level)
        above = codes.counts(decisions.favourable).astype(int)
        used = compared(decisions, grouping, roles)
        few = []
        for group, name in enumerate(codes.names):
            row: dict[str, Cell] = {"grouping": grouping, "group": name}
            if n[group] < roles.suppress:
                rows.append(row | {"note": f"fewer than {roles.suppress} decisions"})
            else:
                small = f"under {roles.min_n} decisions" if n[group] < roles.min_n else ""
                rare = f"under {number_told(roles.min_share, 'share')} of decisions"
                rows.append(
                    {
                        **row,
                        "n": int(n[group]),
                        "share": float(n[group] / n.sum()),
                        "favourable": int(above[group]),
                        "effective_n": float(shares.n[group]),
                        "rate": float(shares.rate[group]),
                        "low": float(low[group]),
                        "high": float(high[group]),
                        "note": "" if used[group] else f"not compared: {small or rare}",
                    }
                )
            few += [] if used[group] else [name]
        if few:
            limits.append(
                f"By {grouping}, too few decisions to compare: {', '.join(few[:8])}"
                + f" and {len(few) - 8} more" * (len(few) > 8)
                + "."
            )
    about = (
        f"Share of favourable decisions, with Agresti and Coull's {roles.level:.0%} interval"
        f"{_independent(decisions)}."
    )
    limits += left_out(decisions, roles)
    return Part("rates", "Rates by group", about, rows, RATE_COLUMNS, limits=limits)


def _independent(decisions: Decisions) -> str:
    """Say what the intervals take into account."""
    units = "clusters" if decisions.cluster is not None else "persons"
    of_units = decisions.units is not None
    weighted = decisions.weight is not None
    if of_units:
        return f", which counts {units} as independent{', with weights' * weighted}"
    return ", with weights" * weighted


def _limits(decisions: Decisions, roles: Roles) -> list[str]:
    """Sentences about what the data cannot tell."""
    told = [
        "The numbers describe the decisions in this table. They do not say why groups differ, nor"
        " who never came to be decided on."
    ]
    if not decisions.legit:
        told.append(
            "Gaps are raw: groups may differ in other things that matter for the decision. Name"
            " such columns with --legit to adjust for them."
        )
    if decisions.outcome is None:
        told.append("Nothing tells whether decisions were right: there is no outcome (--outcome).")
    if decisions.units is None:
        told.append(
            "Every row counts as independent. If persons have several decisions, or branches or"
            " officers share something, name the column with --person or --cluster."
        )
    if decisions.periods is None:
        told.append("Nothing is said about changes over time: there is no time (--time).")
    elif len(decisions.periods.names) < 2:
        told.append("Nothing is said about changes over time: all decisions are of one period.")
    lost = sum(decisions.dropped.values())
    if lost:
        share = number_told(lost / decisions.source.rows, "share")
        reasons = "; ".join(decisions.dropped)
        told.append(f"{lost:,} rows ({share}) were dropped: {reasons}.")
    for name, codes in decisions.groupings.items():
        unknown = int((codes.codes < 0).sum())
        if unknown:
            share = number_told(unknown / decisions.rows, "share")
            told.append(
                f"{unknown:,} decisions ({share}) are left out by {name}, which is unknown."
            )
    notes = (*decisions.source.notes, *alike(decisions, roles))
    return [*notes, *told, *read_profile(roles.profile).limits]
