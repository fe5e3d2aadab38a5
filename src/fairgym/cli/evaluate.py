"""`fairgym evaluate`: learned policies beside fixed ones."""

import dataclasses
import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairgym.cli.parsing import Runs, parse, typed
from fairgym.cli.printing import plain
from fairgym.cli.scheme_rows import CAPTION, scheme_rows, schemes_json
from fairgym.config.differences import AIM, LONGEST, essence, labels_of, part_of, small
from fairgym.core import Environment, PopulationEnvironment, check_shape
from fairgym.statistics.intervals import mean_interval
from fairgym.training.comparison import Compared, Comparison, compare
from fairgym.training.evaluation import ENOUGH, Evaluation
from fairgym.training.run import Run, load_runs

LEVEL = 0.95


@typed(metavars={"scheme": "NAME"})
@dataclasses.dataclass(frozen=True)
class Flags:
    """Measure runs beside fixed policies, in the same episodes.

    A first table holds each policy's means, a second the mean differences of all others from the
    first run in the same episodes, which tell policies apart where the means' intervals overlap. In
    a system with fairness schemes a third one holds their scores on the way, and who has got what.

    Attributes:
        folders: run folders, or folders that hold seed-N folders.
        episodes: number of episodes per policy.
        seed: seed of the episodes.
        sample: draws of the runs' agents that choose, each option with its probability, instead of
            the most probable one.
        massage: action massaging of the runs' policies, which takes runs of f-ppo that were trained
            with it: tau is that of the last round of training.
        scheme: further fairness scheme to score all by: nash, max-min, gini or alpha:ALPHA, and if
            need be :COMPONENT, as for the objective of training.
        null: further table of how far apart the groups would be by luck, in the same episodes with
            the people's groups permuted; differences of disparities are then of what is beyond it.
        json: output as JSON: raw values, more is better, and differences from the first run.
    """

    folders: Runs
    episodes: int = 32
    seed: int = 0
    sample: bool = False
    massage: bool = False
    scheme: tuple[str, ...] = ()
    null: bool = False
    json: bool = False


def evaluate(arguments: Sequence[str]) -> None:
    """Print a table, or JSON, for each setting that the runs were trained in."""
    from fairgym.training import devices

    devices.configure()
    flags: Any = parse(Flags, arguments, "fairgym evaluate")
    check_shape("episodes", flags.episodes, 1, 1_000_000)
    check_shape("seed", flags.seed, 0, 2**32 - 1)
    runs = load_runs(*flags.folders, schemes=flags.scheme)
    named = [(name, [run]) for name, run in zip(_names(runs), runs, strict=True)]
    schemes = any(run.env.spec.schemes for run in runs)
    comparisons = compare(
        named,
        flags.episodes,
        flags.seed,
        random=True,
        sample=flags.sample,
        massage=flags.massage,
        trace=schemes,
        permutations=ENOUGH if flags.null else 0,
        progress=_say,
    )
    if flags.json:
        rows = [as_json(one, c, flags.seed) for c in comparisons for one in c.policies]
        print(json.dumps(rows, indent=2, allow_nan=False))
        return
    settings = labels_of([part_of(essence(comparison.run), AIM) for comparison in comparisons])
    for comparison, setting in zip(comparisons, settings, strict=True):
        print_table(comparison, setting)


def _say(policy: str) -> None:
    """Progress, on standard error: a policy takes a program of its own, which takes a while."""
    print(f"measuring: {plain(policy)}", file=sys.stderr)


def _names(runs: Sequence[Run]) -> list[str]:
    """Names of runs: what differs between them, or the last two parts of their folders."""
    if len(runs) == 1:
        return ["learned"]
    names = labels_of([essence(run) for run in runs])
    if len(set(names)) < len(names) or max(map(len, names)) > LONGEST:
        names = ["/".join(run.folder.parts[-2:]) for run in runs]
    return [f"{name} ({i + 1})" if names.count(name) > 1 else name for i, name in enumerate(names)]


def as_json(one: Compared, comparison: Comparison, seed: int) -> dict[str, Any]:
    """One policy's means, its differences from the first run, and their intervals, for JSON."""
    (evaluation,), env = one.evaluations, comparison.run.env
    reference = comparison.policies[0]
    measures: dict[str, dict[str, Any]] = {}
    for name in ("objective", *evaluation.metrics, "survived"):
        measures[name] = _interval_json(evaluation.interval(name, LEVEL))
        if one is not reference:
            gap = evaluation.difference(reference.evaluations[0], name, LEVEL)
            measures[name]["difference"] = _interval_json(gap)
        if name in evaluation.metrics:
            measures[name]["undefined_episodes"] = evaluation.undefined(name)
        if name in evaluation.nulls:
            null = evaluation.null(name, LEVEL)
            luck = {"mean": null.mean, "bound": null.bound, "excess": null.excess}
            finite = {n: x if math.isfinite(x) else None for n, x in luck.items()}
            measures[name]["null"] = {**finite, "clear": null.clear}
    return {
        "policy": one.name,
        "reference": None if one is reference else reference.name,
        "run": str(one.runs[0].folder) if one.learned else None,
        "environment": comparison.run.config.environment,
        "episodes": evaluation.episodes,
        "seed": seed,
        "level": LEVEL,
        "measures": measures,
        "mean_actions": {a: x.mean(axis=0).tolist() for a, x in evaluation.mean_actions.items()},
        **({"schemes": schemes_json(env, evaluation, _interval_json)} if env.spec.schemes else {}),
    }


def _interval_json(interval: tuple[float, float, float]) -> dict[str, float | None]:
    values = zip(("mean", "low", "high"), interval, strict=True)
    return {name: x if math.isfinite(x) else None for name, x in values}


def print_table(comparison: Comparison, setting: str = "") -> None:
    """Print the tables of one comparison: means, and differences from the first run.

    Args:
        comparison: policies measured in one setting.
        setting: difference of the setting from those of other tables.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    run, config = comparison.run, comparison.run.config
    columns = {one.title: one.evaluations[0] for one in comparison.policies}
    (reference, first), *others = columns.items()
    console = Console()
    if not console.is_terminal:
        console = Console(width=max(100, 26 + 24 * len(columns)))
    has_people = isinstance(run.env.unwrapped, PopulationEnvironment)
    same = "the same people and the same luck" if has_people else "the same luck"
    table = Table(
        title=Text(
            f"{plain(config.environment)}, {run.env.spec.size_text}, {first.episodes} episodes of"
            f" up to {run.env.horizon} {run.env.spec.time_unit}{plain(setting and f'; {setting}')}"
        ),
        caption=f"mean ± half of the 95% interval over episodes; {same} for every policy; ↑ more is"
        " better, ↓ less is better",
    )
    differences = Table(
        title=Text(f"Differences from {plain(reference)}, episode by episode"),
        caption="mean difference ± half of its 95% interval; better or worse where the interval"
        " leaves out 0, which can be so although the intervals above overlap, and by failing where"
        " the better side fails more often; only episodes count in which both are defined"
        + ("; disparities less what luck makes of each" if first.nulls else ""),
    )
    for shown, titles in ((table, columns), (differences, [title for title, _ in others])):
        shown.add_column("")
        for title in titles:
            shown.add_column(Text(plain(title)), justify="right", overflow="fold")
    notes: dict[str, list[str]] = {}
    aim = config.objective if isinstance(config.objective, str) else "weighted"
    for name in ("objective", *run.env.metrics, *run.env.spec.schemes, "survived"):
        label, sign = _label(run.env, name, aim)
        cells = []
        for title, evaluation in columns.items():
            undefined = evaluation.undefined(name)
            cells.append(_cell(*evaluation.interval(name, LEVEL), sign, bool(undefined)))
            if undefined:
                notes.setdefault(name.replace("_", " "), []).append(f"{title}: {undefined}")
        table.add_row(Text(plain(label)), *cells)
        gaps = [
            _difference_cell(
                *evaluation.difference(first, name, LEVEL),
                sign,
                float(np.mean(evaluation.terminated) - np.mean(first.terminated)),
            )
            for _, evaluation in others
        ]
        differences.add_row(Text(plain(label)), *gaps)
    console.print(table)
    if notes:
        console.print(f"* 0/0, counted as 0, in some of the {first.episodes} episodes:")
        for measure_name, where in notes.items():
            line = plain(f"  {measure_name} ({', '.join(where)})")
            console.print(line, highlight=False, markup=False, emoji=False)
    if others:
        console.print(differences)
    if first.nulls:
        console.print(_luck(columns, run.env))
    if run.env.spec.schemes:
        over_time = Table(title=Text("Fairness over an episode"), caption=CAPTION)
        over_time.add_column("")
        for title in columns:
            over_time.add_column(Text(plain(title)), justify="right", overflow="fold")
        for heading, rows in scheme_rows(run.env, list(columns.values())).items():
            over_time.add_row(Text(plain(heading)))
            for label, values in rows.items():
                cells = [_cell(*mean_interval(value, LEVEL), 1, False) for value in values]
                over_time.add_row(Text(plain(label)), *cells)
            over_time.add_section()
        console.print(over_time)


def _luck(columns: Mapping[str, Evaluation], env: Environment) -> Any:
    """Table of the disparities beside those of permuted groups."""
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title="Disparities beside luck",
        caption="disparity, over the episodes in which it is defined; then in brackets its mean and"
        f" the bound of {LEVEL:.0%} in the same episodes with the people's groups permuted; then"
        " its excess over that mean; within luck where it does not pass the bound",
    )
    table.add_column("")
    for title in columns:
        table.add_column(Text(plain(title)), justify="right", overflow="fold")
    for name in columns[next(iter(columns))].nulls:
        label, sign = _label(env, name, "")
        cells = []
        for evaluation in columns.values():
            null = evaluation.null(name, LEVEL)
            if not math.isfinite(null.value):
                cells.append("undefined")
                continue
            value, mean, bound, excess = (
                f"{sign * x + 0.0:,.3g}" for x in (null.value, null.mean, null.bound, null.excess)
            )
            verdict = f"excess {excess}" if null.clear else "within luck"
            cells.append(f"{value} ({mean}, {bound}) {verdict}")
        table.add_row(Text(plain(label)), *cells)
    return table


def _label(env: Environment, name: str, objective: str) -> tuple[str, int]:
    """A metric or scheme in words, and -1 if it is shown without the program's minus sign."""
    if name == "objective":
        return f"objective ({objective}) ↑", 1
    if name == "survived":
        return "share of episodes that did not fail ↑", 1
    if name in env.spec.schemes:
        return f"{env.spec.schemes[name].title or name.replace('_', ' ')} ↑", 1
    metric = env.metrics[name]
    unit = metric.unit_in(env.spec.component_info)
    shown_unit = "" if unit in ("", "share") else f" ({unit})"
    label = small(metric.title) or name.replace("_", " ")
    return f"{label}{shown_unit} {'↑' if metric.sign > 0 else '↓'}", metric.sign


def _cell(mean: float, low: float, high: float, sign: int, starred: bool) -> str:
    """As in 0.612 ± 0.013: two digits of the half width."""
    half = (high - low) / 2
    digits = 3
    if math.isfinite(half) and half > 0:
        digits = min(4, max(0, 1 - math.floor(math.log10(half))))
    text = f"{sign * mean + 0.0:,.{digits}f}"
    if math.isfinite(half):
        text += f" ± {half:,.{digits}f}"
    return f"{text}*" if starred else text


def _difference_cell(mean: float, low: float, high: float, sign: int, fails: float) -> str:
    """As in +0.012 ± 0.003 better; "undefined" if there is no episode to compare.

    Neither side is called better than one that fails less often; `fails` is how much more of the
    episodes this one fails in.
    """
    if not math.isfinite(mean):
        return "undefined"
    text = _cell(mean, low, high, sign, False)
    text = text if sign * mean + 0.0 < 0.0 else f"+{text}"
    if low > 0.0 or high < 0.0:  # raw values: more is better
        if fails != 0.0 and (fails > 0.0) == (mean > 0.0):
            return f"{text} by failing"
        text += " better" if mean > 0.0 else " worse"
    return text
