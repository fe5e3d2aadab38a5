"""Who is in a population: the text of `fairgym data describe`."""

import numpy as np

from fairgym.data.bias import resampling_weights, standardised_mean_difference
from fairgym.data.population import BUILT_IN, Population, load_population
from fairgym.data.populations import population_module

QUANTILES = (0.01, 0.25, 0.5, 0.75, 0.99)


def _number(value: float) -> str:
    """A number to four digits, with thousands separated."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def _table(rows: list[list[str]], left: int = 1) -> list[str]:
    """Rows of text as aligned lines: the first `left` columns to the left, others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _quantile_rows(people: Population) -> list[list[str]]:
    """Quantiles of every numeric column and score."""
    rows = [["", *(f"{q:.0%}" for q in QUANTILES), "unit"]]
    values = {
        name: column
        for name, column in people.columns.items()
        if column.dtype.kind == "f" and column.ndim == 1
    }
    units = dict(people.units)
    for name, score in people.scores.items():
        values[f"{name} score"] = score.predict(people.columns)
        units[f"{name} score"] = "0 to 1"
    for name, column in values.items():
        rows.append([name, *(_number(v) for v in np.quantile(column, QUANTILES)), units[name]])
    return rows


def describe(name: str, source: str = BUILT_IN) -> str:
    """Describes a population: people, groups, outcomes, imputed columns, quantiles, scores.

    Args:
        name: the system, such as "loan".
        source: "built-in" or an import, such as "lending-club".

    Returns:
        Plain text of several lines.

    Raises:
        FairgymError: as `load_population`.
    """
    module = population_module(name)
    people = load_population(name, source)
    group = people.columns["group"]
    lines = [
        f"{name} ({source}): {len(people):,} people, {len(people.columns)} columns",
        f"sha256 {people.checksum}",
        "",
        "Groups and outcomes",
    ]
    outcomes = module.outcomes(people.columns)
    rows = [["", "people", "share", *outcomes]]
    for code, label in enumerate(module.GROUPS):
        inside = group == code
        means = [f"{v[inside].mean():.1%}" if inside.any() else "-" for v in outcomes.values()]
        rows.append([f"{code} {label}", f"{inside.sum():,}", f"{inside.mean():.1%}", *means])
    means = [f"{values.mean():.1%}" for values in outcomes.values()]
    rows.append(["all", f"{len(people):,}", "100.0%", *means])
    lines += _table(rows)
    for column, values in people.columns.items():
        if values.dtype.kind == "U":
            levels, counts = np.unique(values, return_counts=True)
            if len(levels) <= 8:
                shares = [
                    f"{level} {count / len(people):.1%}"
                    for level, count in zip(levels, counts, strict=True)
                ]
                lines.append(f"  {column}: {', '.join(shares)}")

    lines += ["", "Imputed columns (not observed)"]
    imputed = [[column, how] for column, how in people.imputed.items()]
    lines += _table(imputed, left=2) if imputed else ["  none"]

    lines += ["", "Quantiles"]
    table = _table(_quantile_rows(people))
    lines += table

    lines += ["", "Scores (measured on rows held out)"]
    rows = [["", "kind", "measure", "value", "fitted on", "held out"]]
    for key, score in people.scores.items():
        measure = "auc" if "auc" in score.metrics else "r2"
        label = {"auc": "AUC", "r2": "R2"}[measure]
        counts = [f"{score.metrics.get(k, 0):,.0f}" for k in ("rows", "held_out_rows")]
        rows.append([key, score.kind, label, f"{score.metrics.get(measure, 0):.3f}", *counts])
    lines += _table(rows, left=3)

    core = people.scores[module.CORE_SCORE].predict(people.columns)
    weights = resampling_weights(core, group, people.bias_strength)
    before = float(standardised_mean_difference(core, group))
    after = float(standardised_mean_difference(core, group, weights))
    lines += [
        "",
        f"Standardised mean difference of the {module.CORE_SCORE} score "
        f"({module.GROUPS[0]} minus {module.GROUPS[1]})",
        *_table(
            [
                ["as in the data", f"{before:.3f}"],
                [f"amplified (bias_strength {people.bias_strength:g})", f"{after:.3f}"],
            ]
        ),
    ]
    return "\n".join(lines)
