"""Descriptions of a population: the text of `fairgym data describe`, and its numbers."""

from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from fairgym.data.bias import extreme_pair, resampling_weights, standardised_mean_difference
from fairgym.data.population import BUILT_IN, Population, load_population
from fairgym.data.populations import core_sign, population_module

QUANTILES = (0.01, 0.25, 0.5, 0.75, 0.99)
MOST_LEVELS = 8  # of a text column whose shares are printed
Row = dict[str, Any]


def describe_records(name: str, source: str = BUILT_IN) -> list[Row]:
    """Return the numbers of `describe` as flat records.

    Args:
        name: Name of the system, such as "loan".
        source: "built-in" or an import, such as "lending-club".

    Raises:
        FairgymError: See `load_population`.
    """
    module, people = population_module(name), load_population(name, source)
    fitted = people.scores[module.CORE_SCORE].predict(people.columns)
    core = np.asarray(people.columns.get(module.CORE_SCORE, fitted))
    further = getattr(module, "DISPARITY_COLUMNS", ())
    rows = [*_by_level(people, module, core, "group", module.GROUPS)]
    for column in _text_columns(people):
        if column not in further:
            rows += _by_level(people, module, core, column)
    for column in further:
        labels = further[column] if isinstance(further, dict) else ()
        rows += _by_level(people, module, core, column, tuple(labels))
    rows += [
        _row("imputed", "", column, "", None, how=how) for column, how in people.imputed.items()
    ]
    rows += [*_quantiles(people), *_scores(people), *_amplification(people, module, core)]
    return [{"population": name, "source": source, **row} for row in rows]


def describe(name: str, source: str = BUILT_IN) -> str:
    """Describe a population: people, groups, outcomes, imputed columns, quantiles, scores.

    Args:
        name: Name of the system, such as "loan".
        source: "built-in" or an import, such as "lending-club".

    Returns:
        Plain text of several lines.

    Raises:
        FairgymError: See `load_population`.
    """
    module, people = population_module(name), load_population(name, source)
    kinds: dict[str, list[Row]] = {}
    for row in describe_records(name, source):
        kinds.setdefault(row["kind"], []).append(row)
    lines = [
        f"{name} ({source}): {len(people):,} people, {len(people.columns)} columns",
        f"sha256 {people.checksum}",
        "",
        "Groups and outcomes",
        *_pivot(kinds["group"]),
    ]
    for column in _text_columns(people):
        shares = (row for row in kinds[column] if row["measure"] == "share")
        listed = ", ".join(f"{row['part']} {_cell(row)}" for row in shares)
        lines.append(f"  {column}: {listed}")
    for column in getattr(module, "DISPARITY_COLUMNS", ()):
        lines += ["", f"By {column}", *_pivot(kinds[column])]
    imputed = [[row["measure"], row["how"]] for row in kinds.get("imputed", ())]
    lines += ["", "Imputed columns (not observed)"]
    lines += _table(imputed, left=2) if imputed else ["  none"]
    units = {row["measure"]: row["unit"] for row in kinds["quantile"]}
    lines += ["", "Quantiles", *_pivot(kinds["quantile"], "measure", "part", unit=units)]
    scores = [["", "kind", "measure", "value", "fitted on", "held out"]]
    for row in kinds["score"]:
        counts = [f"{row[which]:,.0f}" for which in ("fitted_on", "held_out")]
        value = f"{row['value']:.3f}"
        scores.append([row["part"], row["model"], row["measure"], value, *counts])
    lines += ["", "Scores (measured on held-out rows)", *_table(scores, left=3)]
    before, after = kinds["difference"]
    differences = [
        ["as in the data", f"{before['value']:.3f}"],
        [f"amplified (bias_strength {people.bias_strength:g})", f"{after['value']:.3f}"],
    ]
    lines += ["", before["measure"], *_table(differences)]
    if len(module.GROUPS) > 2:
        pairs = zip(module.GROUPS, people.directions, strict=True)
        listed = ", ".join(f"{label} {d:+.3g}" for label, d in pairs)
        lines.append(f"  directions (+1 for the best group, -1 for the worst): {listed}")
    return "\n".join(lines)


# ---------------------------------------------------------------- numbers


def _row(kind: str, part: str, measure: str, unit: str, value: object, **more: object) -> Row:
    own = {"kind": kind, "part": part or None, "measure": measure, "unit": unit, "value": value}
    return own | more


def _text_columns(people: Population) -> list[str]:
    """Return the text columns with few different values."""
    return [
        column
        for column, values in people.columns.items()
        if values.dtype.kind == "U" and len(np.unique(values)) <= MOST_LEVELS
    ]


def _by_level(
    people: Population,
    module: ModuleType,
    core: np.ndarray,
    column: str,
    labels: Sequence[str] = (),
) -> Iterator[Row]:
    """Yield people and mean core score of each level of a column; for groups also the outcomes.

    Args:
        people: The population.
        module: Module that declares it.
        core: Everybody's core score.
        column: The column.
        labels: Names of the codes 0, 1, ...; by default the levels themselves.
    """
    values = people.columns[column]
    levels = [(label, values == code, {"code": code}) for code, label in enumerate(labels)]
    levels = levels or [(str(level), values == level, {}) for level in np.unique(values)]
    outcomes: Mapping[str, np.ndarray] = {}
    if column == "group":
        levels.append(("all", np.ones(len(people), bool), {}))
        outcomes = module.outcomes(people.columns)
    for label, inside, code in levels:
        yield _row(column, label, "people", "people", int(inside.sum()), **code)
        yield _row(column, label, "share", "share", float(inside.mean()), **code)
        for outcome, those in outcomes.items():
            yield _row(column, label, outcome, "share", _mean(those, inside), **code)
        yield _row(column, label, f"mean {module.CORE_SCORE}", "", _mean(core, inside), **code)


def _mean(values: np.ndarray, inside: np.ndarray) -> float | None:
    """Return the mean of the rows inside; None if there are none."""
    return float(values[inside].mean()) if inside.any() else None


def _quantiles(people: Population) -> Iterator[Row]:
    """Yield quantiles of every numeric column and score."""
    values = {
        name: column
        for name, column in people.columns.items()
        if column.dtype.kind == "f" and column.ndim == 1
    }
    units = dict(people.units)
    for name, score in people.scores.items():
        values[f"{name} score"] = score.predict(people.columns)
        units[f"{name} score"] = f"{score.low:g} to {score.high:g}"
    for name, column in values.items():
        for share, value in zip(QUANTILES, np.quantile(column, QUANTILES), strict=True):
            yield _row("quantile", f"{share:.0%}", name, units[name], float(value))


def _scores(people: Population) -> Iterator[Row]:
    """Yield the quality of each score on held-out rows."""
    for key, score in people.scores.items():
        measure = "auc" if "auc" in score.metrics else "r2"
        yield _row(
            "score",
            key,
            measure.upper(),
            "",
            score.metrics.get(measure, 0),
            model=score.kind,
            fitted_on=score.metrics.get("rows", 0),
            held_out=score.metrics.get("held_out_rows", 0),
        )


def _amplification(people: Population, module: ModuleType, core: np.ndarray) -> Iterator[Row]:
    """Yield the difference between the best and the worst group, in the data and amplified."""
    group, sign = people.columns["group"], core_sign(module)
    weights = resampling_weights(sign * core, group, people.bias_strength, people.directions)
    pair = extreme_pair(people.directions)
    high, low = pair if sign > 0 else pair[::-1]  # the group with the higher scores first
    what = module.CORE_SCORE + ("" if module.CORE_SCORE in people.columns else " score")
    title = (
        f"Standardised mean difference of the {what}"
        f" ({module.GROUPS[high]} minus {module.GROUPS[low]})"
    )
    for part, weighted in (("as in the data", None), ("amplified", weights)):
        value = float(standardised_mean_difference(core, group, weighted, (high, low)))
        yield _row("difference", part, title, "standard deviations", value)


# ---------------------------------------------------------------- text


def _cell(row: Row) -> str:
    """Return a value as text: per cent, whole people, or four digits with separators."""
    value = row["value"]
    if value is None:
        return "-"
    if row["unit"] == "share":
        return f"{value:.1%}"
    if row["unit"] == "people" or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}" if value else "0"


def _pivot(
    rows: Sequence[Row],
    down: str = "part",
    across: str = "measure",
    **ends: Mapping[str, str],
) -> list[str]:
    """Return records as an aligned table.

    Args:
        rows: The records.
        down: Field that names the rows.
        across: Field that names the columns.
        **ends: Further columns: heading -> name of the row -> text.
    """
    table: dict[str, list[str]] = {}
    for row in rows:
        name = f"{row['code']} {row[down]}" if "code" in row else row[down]
        table.setdefault(name, []).append(_cell(row))
    head = ["", *dict.fromkeys(row[across] for row in rows), *ends]
    body = [[n, *cells, *(end[n] for end in ends.values())] for n, cells in table.items()]
    return _table([head, *body])


def _table(rows: list[list[str]], left: int = 1) -> list[str]:
    """Return rows of text as lines; the first `left` columns are left-aligned, others right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
