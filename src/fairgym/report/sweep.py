"""One page about a sweep: the effect of its settings, in small multiples and tables."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairgym.report import style
from fairgym.report.svg import inline_svg, variables
from fairgym.report.template import PAGE, escaped, table
from fairgym.results.labels import capital, words
from fairgym.results.numbers import number
from fairgym.statistics.intervals import bootstrap_interval
from fairgym.sweeps import Effects, by_setting, effects
from fairgym.sweeps.results import ACTIONS, GAPS, METRICS, SCORE
from fairgym.sweeps.variance import UNDECIDABLE

MOST_VALUES = 12  # of a setting, in words below a panel
_TABLES = (
    "interquartile mean over seeds with its bootstrap 95% interval; for two or three seeds, their"
    " values in parentheses; higher is better"
)
_PANELS = (
    "A column for each setting that differs, a row for each measure; higher is better. The score is"
    " that of a run's own objective. Faint dots are runs. Large marks are interquartile means over"
    " all runs with that value, pooled over other settings and seeds, with stratified bootstrap 95%"
    " intervals over the seeds."
)
_EFFECTS = (
    "Share of the variance over all runs that a setting explains; for a pair, the share of its"
    " interaction. In parentheses: the null mean (permuted runs) and the p-value; bold: p at most"
    " .05."
)


def sweep_page(
    title: str, rows: Sequence[dict[str, Any]], names: Sequence[str], measures: Sequence[str]
) -> str:
    """Return the page as HTML that needs nothing from outside.

    Args:
        title: Name of the sweep.
        rows: Rows of `fairgym.sweeps.results_of`.
        names: Settings that differ.
        measures: Columns that are shown.

    Raises:
        FairgymError: Fewer than three runs are finished.
    """
    found = effects(rows, names, measures)
    done = sum(row["status"] == "finished" for row in rows)
    settings = by_setting(rows, names)
    note = f"{done} of {len(rows)} runs are finished, in {len(settings)} settings."
    parts = [
        f"<h1>{escaped(title)}: a sweep</h1>",
        f'<p class="note">{escaped(note)}</p>',
    ]
    varied = [name for name in names if len({row[name] for row in rows}) > 1]
    if varied:
        drawing = inline_svg(multiples(rows, names, varied, measures), "multiples", _PANELS)
        parts.append(
            '<h2 id="multiples">Effect of each setting</h2><figure><div class="scroll">'
            f"{drawing}</div><figcaption>{escaped(_PANELS)}</figcaption></figure>"
        )
        parts += [
            '<h2 id="effects">Share of variance explained</h2>',
            effect_table(found, measures),
        ]
        note = _EFFECTS + _not_crossed(found)
        note += f" †: {UNDECIDABLE}." if any(share.undecidable for share in found.shares) else ""
        parts.append(f'<p class="note">{escaped(note)}</p>')
    parts += ['<h2 id="settings">All settings</h2>', setting_table(settings, names, measures)]
    parts.append(f'<p class="note">{escaped(capital(_TABLES))}.</p>')
    return PAGE.format(
        title=escaped(title), light=variables(False), dark=variables(True), body="\n".join(parts)
    )


def measure_title(column: str) -> str:
    """Return a column in words: "Default rate", "Relief advantaged of debt management"."""
    if column == SCORE:
        return "Score"
    if column.startswith(ACTIONS):
        agent, _, element = column.removeprefix(ACTIONS).partition("/")
        return capital(f"{words(element)} of {words(agent)}")
    if column.startswith(GAPS):
        name, _, part = column.removeprefix(GAPS).rpartition("/")
        return capital(f"{words(name)}: {words(part)}")
    return capital(words(column.removeprefix(METRICS)))


def _not_crossed(found: Effects) -> str:
    lost = " Combinations have unequal numbers of runs, so shares overlap."
    return "" if found.crossed else lost


@style.styled
def multiples(
    rows: Sequence[dict[str, Any]],
    names: Sequence[str],
    varied: Sequence[str],
    measures: Sequence[str],
) -> Figure:
    """Draw small multiples: a row of panels per measure, a column per setting.

    Args:
        rows: As for `sweep_page`.
        names: Settings that differ.
        varied: Settings with several values, which are shown.
        measures: Columns that are shown.
    """
    done = [row for row in rows if row["status"] == "finished"]
    figure, axes = style.panels(len(measures) * len(varied), len(varied), 2.1, sharey="row")
    for place, panel in enumerate(axes):
        measure, name = measures[place // len(varied)], varied[place % len(varied)]
        _panel(panel, done, [other for other in names if other != name], name, measure)
        if place % len(varied) == 0:
            style.set_ylabel(panel, measure_title(measure))
        if place >= len(axes) - len(varied):
            panel.set_xlabel(capital(words(name)))
    return figure


def _panel(
    panel: Axes, rows: Sequence[dict[str, Any]], others: Sequence[str], name: str, measure: str
) -> None:
    """Draw one measure against one setting."""
    values = list(dict.fromkeys(row[name] for row in rows))
    scaled = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    values = sorted(values) if scaled else values
    ink = style.POLICY_COLOURS[0]
    for index, value in enumerate(values):
        x = value if scaled else index
        strata: dict[tuple[object, ...], list[float]] = {}
        for row in rows:
            if row[name] == value and row[measure] is not None:
                strata.setdefault(tuple(row[other] for other in others), []).append(row[measure])
        if not strata:
            continue
        every = np.concatenate([np.array(one) for one in strata.values()])
        panel.plot([x] * len(every), every, ".", color=ink, alpha=0.4, markersize=6, mew=0)
        middle, low, high = bootstrap_interval([np.array(one) for one in strata.values()])
        if np.isfinite(low):
            panel.plot([x, x], [low, high], color=ink, linewidth=1.6)
        panel.plot([x], [middle], "o", color=ink, markersize=6)
    if scaled:
        if len(values) <= MOST_VALUES // 2:
            panel.set_xticks([float(value) for value in values])
        panel.margins(x=0.12)
    else:
        shown = values if len(values) <= MOST_VALUES else [""] * len(values)
        panel.set_xticks(range(len(values)), [_short(value) for value in shown])
        panel.set_xlim(-0.5, len(values) - 0.5)


def _short(value: object) -> str:
    text = "default" if value is None else str(value)
    return text if len(text) <= 14 else f"{text[:13]}…"


def effect_table(found: Effects, measures: Sequence[str]) -> str:
    """Return a table with settings and pairs in rows, measures in columns."""
    factors = list(dict.fromkeys(share.factor for share in found.shares))
    cells = {(share.factor, share.measure): share for share in found.shares}
    shown = [measure for measure in measures if measure not in found.constant]
    lines = []
    for factor in factors:
        line = [escaped(words(factor))]
        for measure in shown:
            share = cells.get((factor, measure))
            text = ""
            if share is not None:
                text = f"{share.share:.2f}"
                if np.isfinite(share.p):
                    text += f" [{share.null_mean:.2f}, p {share.p:.2g}]" + "†" * share.undecidable
            bold = share is not None and share.clear
            line.append(f'<span class="best">{text}</span>' if bold else text)
        lines.append(line)
    return table(["", *(escaped(measure_title(m)) for m in shown)], lines, "results")


def setting_table(
    settings: Sequence[dict[str, Any]], names: Sequence[str], measures: Sequence[str]
) -> str:
    """Return a table with one row per setting."""
    head = [", ".join(map(words, names)) or "setting", "seeds", *map(measure_title, measures)]
    lines = []
    for row in settings:
        line = [", ".join(_short(row[name]) for name in names) or "base", str(row["seeds"])]
        for measure in measures:
            text = number(row[measure]) if row[measure] is not None else ""
            if row[f"{measure}/low"] is not None:
                text += f" [{number(row[f'{measure}/low'])}, {number(row[f'{measure}/high'])}]"
            if row[f"{measure}/values"]:
                text += f" ({', '.join(map(number, row[f'{measure}/values']))})"
            line.append(text)
        lines.append([escaped(cell) for cell in line])
    return table([escaped(cell) for cell in head], lines, "results", headings=1)
