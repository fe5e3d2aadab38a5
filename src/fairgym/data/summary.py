"""Description of a population: the text of `fairgym data describe`."""

from collections.abc import Callable, Mapping
from types import ModuleType

import numpy as np

from fairgym.data.bias import extreme_pair, resampling_weights, standardised_mean_difference
from fairgym.data.population import BUILT_IN, Population, load_population
from fairgym.data.populations import core_sign, population_module

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


def _mean(values: np.ndarray, inside: np.ndarray, form: Callable[[float], str]) -> str:
    """The mean of the rows inside; a dash where there are none."""
    return form(float(values[inside].mean())) if inside.any() else "-"


def _levels(values: np.ndarray, labels: tuple[str, ...]) -> list[tuple[str, np.ndarray]]:
    """Each level of a column with the rows that have it; `labels` names the codes 0, 1, ..."""
    if labels:
        return [(f"{code} {label}", values == code) for code, label in enumerate(labels)]
    return [(str(level), values == level) for level in np.unique(values)]


def _level_lines(
    levels: list[tuple[str, np.ndarray]],
    outcomes: Mapping[str, np.ndarray],
    module: ModuleType,
    core: np.ndarray,
) -> list[str]:
    """People, outcomes and mean core score of each level."""
    rows = [["", "people", "share", *outcomes, f"mean {module.CORE_SCORE}"]]
    for label, inside in levels:
        shares = [_mean(values, inside, "{:.1%}".format) for values in outcomes.values()]
        counts = [f"{inside.sum():,}", f"{inside.mean():.1%}"]
        rows.append([label, *counts, *shares, _mean(core, inside, _number)])
    return _table(rows)


def _group_lines(people: Population, module: ModuleType, core: np.ndarray) -> list[str]:
    """The groups, and all people; then the shares of the text columns."""
    everyone = ("all", np.ones(len(people), bool))
    groups = [*_levels(people.columns["group"], module.GROUPS), everyone]
    lines = _level_lines(groups, module.outcomes(people.columns), module, core)
    for column, values in people.columns.items():
        if values.dtype.kind == "U":
            levels, counts = np.unique(values, return_counts=True)
            if len(levels) <= 8:
                shares = [
                    f"{level} {count / len(people):.1%}"
                    for level, count in zip(levels, counts, strict=True)
                ]
                lines.append(f"  {column}: {', '.join(shares)}")
    return lines


def _disparity_lines(people: Population, module: ModuleType, core: np.ndarray) -> list[str]:
    """Mean core score by the levels of each further column that the module names."""
    lines: list[str] = []
    for column, labels in getattr(module, "DISPARITY_COLUMNS", {}).items():
        levels = _levels(people.columns[column], labels)
        lines += ["", f"By {column}", *_level_lines(levels, {}, module, core)]
    return lines


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
        units[f"{name} score"] = f"{score.low:g} to {score.high:g}"
    for name, column in values.items():
        rows.append([name, *(_number(v) for v in np.quantile(column, QUANTILES)), units[name]])
    return rows


def _score_lines(people: Population) -> list[str]:
    """Quality of each score on the rows held out."""
    rows = [["", "kind", "measure", "value", "fitted on", "held out"]]
    for key, score in people.scores.items():
        measure = "auc" if "auc" in score.metrics else "r2"
        label = {"auc": "AUC", "r2": "R2"}[measure]
        counts = [f"{score.metrics.get(k, 0):,.0f}" for k in ("rows", "held_out_rows")]
        rows.append([key, score.kind, label, f"{score.metrics.get(measure, 0):.3f}", *counts])
    return _table(rows, left=3)


def _amplification_lines(people: Population, module: ModuleType, core: np.ndarray) -> list[str]:
    """The difference between the best and the worst group, as in the data and amplified."""
    group, sign = people.columns["group"], core_sign(module)
    weights = resampling_weights(sign * core, group, people.bias_strength, people.directions)
    pair = extreme_pair(people.directions)
    high, low = pair if sign > 0 else pair[::-1]  # the group of the higher scores first
    before = float(standardised_mean_difference(core, group, None, (high, low)))
    after = float(standardised_mean_difference(core, group, weights, (high, low)))
    what = module.CORE_SCORE + ("" if module.CORE_SCORE in people.columns else " score")
    lines = [
        f"Standardised mean difference of the {what} "
        f"({module.GROUPS[high]} minus {module.GROUPS[low]})",
        *_table(
            [
                ["as in the data", f"{before:.3f}"],
                [f"amplified (bias_strength {people.bias_strength:g})", f"{after:.3f}"],
            ]
        ),
    ]
    if len(module.GROUPS) > 2:
        pairs = zip(module.GROUPS, people.directions, strict=True)
        listed = ", ".join(f"{label} {d:+.3g}" for label, d in pairs)
        lines.append(f"  directions (+1 the best group, -1 the worst): {listed}")
    return lines


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
    fitted = people.scores[module.CORE_SCORE].predict(people.columns)
    core = np.asarray(people.columns.get(module.CORE_SCORE, fitted))
    imputed = [[column, how] for column, how in people.imputed.items()]
    lines = [
        f"{name} ({source}): {len(people):,} people, {len(people.columns)} columns",
        f"sha256 {people.checksum}",
        "",
        "Groups and outcomes",
        *_group_lines(people, module, core),
        *_disparity_lines(people, module, core),
        "",
        "Imputed columns (not observed)",
        *(_table(imputed, left=2) if imputed else ["  none"]),
        "",
        "Quantiles",
        *_table(_quantile_rows(people)),
        "",
        "Scores (measured on rows held out)",
        *_score_lines(people),
        "",
        *_amplification_lines(people, module, core),
    ]
    return "\n".join(lines)
