"""`fairgym evaluate`: what runs have learned, beside fixed policies."""

import dataclasses
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import jax
import tyro

from fairgym.cli.parsing import parse, typed
from fairgym.core import Environment, FairgymError
from fairgym.policies import fixed_policies
from fairgym.training.evaluation import Evaluation
from fairgym.training.evaluation import evaluate as measure
from fairgym.training.run import Run, load_runs

LEVEL = 0.95


@typed()
@dataclasses.dataclass(frozen=True)
class Flags:
    """Measure runs beside fixed policies, on the same people with the same luck.

    Attributes:
        folders: run folders, or folders that hold seed-N folders.
        episodes: episodes per policy.
        seed: of the episodes.
        json: print JSON: raw values, more is better.
    """

    folders: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN ...")]
    episodes: int = 32
    seed: int = 0
    json: bool = False


@dataclasses.dataclass(frozen=True)
class Measured:
    """One policy of a comparison: its name, its run folder (None: a baseline), its episodes."""

    name: str
    folder: Path | None
    evaluation: Evaluation

    @property
    def title(self) -> str:
        """The name as shown: a baseline's in words, a run's folder as it is."""
        return self.name.replace("_", " ") if self.folder is None else self.name


def evaluate(arguments: Sequence[str]) -> None:
    """Print a table, or JSON, for each setting that the runs were trained in."""
    from fairgym.training import devices

    devices.configure()
    flags: Any = parse(Flags, arguments, "fairgym evaluate")
    if flags.episodes < 1 or flags.seed < 0:
        name, value, low = (
            ("episodes", flags.episodes, 1) if flags.episodes < 1 else ("seed", flags.seed, 0)
        )
        raise FairgymError(f"{name} is {value}; it takes a whole number from {low}")
    comparisons = list(compare(load_runs(flags.folders), flags.episodes, flags.seed))
    if flags.json:
        rows = [
            as_json(one, r, flags.seed) for runs, row in comparisons for r, one in _with(runs, row)
        ]
        print(json.dumps(rows, indent=2, allow_nan=False))
        return
    for runs, row in comparisons:
        show(runs[0], row)


def _with(runs: Sequence[Run], row: Sequence[Measured]) -> Iterable[tuple[Run, Measured]]:
    return ((runs[0], one) for one in row)


def compare(
    runs: Sequence[Run], episodes: int, seed: int, *, random: bool = True, **options: Any
) -> Iterable[tuple[list[Run], list[Measured]]]:
    """Measure runs and baselines, for each setting (environment and objective) of the runs.

    Args:
        runs: the runs.
        episodes: how many for each policy.
        seed: of the episodes.
        random: whether the random policy is among the baselines.
        **options: for `fairgym.training.evaluate`.
    """
    settings: dict[str, list[Run]] = {}
    for run in runs:
        same = {**run.config.as_json(), "discount": run.discount}
        for key in ("seed", "algorithm", "algorithm_args", "fixed"):
            same.pop(key)
        settings.setdefault(json.dumps(same, sort_keys=True), []).append(run)
    key = jax.random.key(seed)
    for together in settings.values():
        first = together[0]
        policies = [(label, run.folder, run.policies) for label, run in _labels(together)]
        policies += [
            (name, None, fixed_policies(first.env, spec))
            for name, spec in baselines(first.env, random).items()
        ]
        yield (
            together,
            [
                Measured(
                    name,
                    folder,
                    measure(
                        first.env,
                        first.params,
                        policy,
                        key,
                        episodes,
                        objective=first.objective,
                        discount=first.discount,
                        **options,
                    ),
                )
                for name, folder, policy in policies
            ],
        )


def baselines(env: Environment, random: bool) -> dict[str, Any]:
    """The environment's fixed policies, and the random one if asked for."""
    return {**env.baselines} | ({"random": dict.fromkeys(env.agents, "random")} if random else {})


def _labels(runs: Sequence[Run]) -> list[tuple[str, Run]]:
    if len(runs) == 1:
        return [("learned", runs[0])]
    return [("/".join(run.folder.parts[-2:]), run) for run in runs]


def as_json(one: Measured, run: Run, seed: int) -> dict[str, Any]:
    """One policy's means and intervals as JSON values."""
    evaluation = one.evaluation
    measures = {}
    for name in ("objective", *evaluation.metrics, "survived"):
        mean, low, high = (
            x if math.isfinite(x) else None for x in evaluation.interval(name, LEVEL)
        )
        measures[name] = {"mean": mean, "low": low, "high": high}
        if name in evaluation.metrics:
            measures[name]["undefined_episodes"] = evaluation.undefined(name)
    return {
        "policy": one.name,
        "run": None if one.folder is None else str(one.folder),
        "environment": run.config.environment,
        "episodes": evaluation.episodes,
        "seed": seed,
        "level": LEVEL,
        "measures": measures,
        "mean_actions": {a: x.mean(axis=0).tolist() for a, x in evaluation.mean_actions.items()},
    }


def show(run: Run, row: Sequence[Measured]) -> None:
    """Print the table of one comparison."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if not console.is_terminal:
        console = Console(width=max(100, 26 + 18 * len(row)))
    config, episodes = run.config, row[0].evaluation.episodes
    table = Table(
        title=f"{config.environment}, {run.env.population:,} people, {episodes} episodes of up to"
        f" {run.env.horizon} steps",
        caption="mean ± half of the 95% interval over episodes; the same people and the same luck"
        " for every policy; ↑ more is better, ↓ less is better",
    )
    table.add_column("")
    for one in row:
        table.add_column(one.title, justify="right", overflow="fold")
    notes: dict[str, list[str]] = {}
    for name in ("objective", *run.env.metrics, "survived"):
        label, sign = _label(run.env, name, config.objective)
        cells = []
        for one in row:
            undefined = one.evaluation.undefined(name)
            cells.append(_cell(*one.evaluation.interval(name, LEVEL), sign, bool(undefined)))
            if undefined:
                notes.setdefault(name.replace("_", " "), []).append(f"{one.title}: {undefined}")
        table.add_row(label, *cells)
    console.print(table)
    if notes:
        console.print(f"* 0/0, counted as 0, in some of the {episodes} episodes:")
        for measure_name, where in notes.items():
            console.print(f"  {measure_name} ({', '.join(where)})", highlight=False)


def _label(env: Environment, name: str, objective: str) -> tuple[str, int]:
    """A measure in words, and -1 if it is shown without the program's minus sign."""
    if name == "objective":
        return f"objective ({objective}) ↑", 1
    if name == "survived":
        return "share of episodes that did not fail ↑", 1
    metric = env.metrics[name]
    unit = metric.unit_in(env.component_info)
    shown_unit = "" if unit in ("", "share") else f" ({unit})"
    label = metric.title or name.replace("_", " ")
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
