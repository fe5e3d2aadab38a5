"""Simulations for programs and spreadsheets: JSON and CSV, values as they are."""

import csv
import io
import json
import math
from typing import Any

from fairgym.report.effects import Change, Effect, changes, effects
from fairgym.report.results import Estimate
from fairgym.training.scenarios import Built, Simulation

LEVEL = 0.95
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")  # first letters of what is calculated
COLUMNS = (
    "scenario reference kind name title group unit mean low high reference_mean difference"
    " difference_low difference_high clear undefined_episodes episodes"
).split()


def as_json(simulation: Simulation) -> str:
    """One entry per scenario, the reference first; values as they are, shares of 1."""
    found = effects(simulation)
    env = simulation.base.env
    entries = [
        {
            "scenario": one.name,
            "reference": None if one.name == simulation.reference else simulation.reference,
            "environment": simulation.environment,
            "size": env.spec.size_text,
            "horizon": one.env.horizon,
            "time_unit": env.spec.time_unit,
            "baseline": one.baseline,
            "episodes": simulation.episodes,
            "failed_episodes": int(simulation.evaluations[one.name].terminated.sum()),
            "same_people": simulation.same_people(one.name),
            "seed": simulation.seed,
            "level": LEVEL,
            "changes": [_plain_change(change) for change in changes(simulation, one)],
            "results": [_result(effect, one.name) for effect in found],
        }
        for one in _ordered(simulation)
    ]
    return json.dumps(entries, indent=2, allow_nan=False)


def as_csv(simulation: Simulation) -> str:
    """A line for each scenario and quantity; what is not known is empty.

    A text that a spreadsheet would take for a formula, such as the name "+30% beds", has an
    apostrophe in front, by which spreadsheets know texts.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for effect in effects(simulation):
        for one in _ordered(simulation):
            result = _result(effect, one.name)
            difference = result.pop("difference") or {}
            row = {
                **result,
                "scenario": one.name,
                "reference": simulation.reference,
                "reference_mean": _finite(effect.means[simulation.reference].mean),
                "difference": difference.get("mean"),
                "difference_low": difference.get("low"),
                "difference_high": difference.get("high"),
                "clear": "" if not difference else "yes" if difference["clear"] else "no",
                "episodes": simulation.episodes,
            }
            writer.writerow([_cell(row[column]) for column in COLUMNS])
    return stream.getvalue()


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value


def _ordered(simulation: Simulation) -> tuple[Built, ...]:
    return simulation.base, *simulation.others


def _result(effect: Effect, name: str) -> dict[str, Any]:
    quantity, difference = effect.quantity, effect.differences.get(name)
    return {
        "kind": quantity.kind,
        "name": quantity.name,
        "title": quantity.title,
        "group": quantity.group,
        "unit": quantity.unit,
        **_limits(effect.means[name]),
        "undefined_episodes": effect.means[name].undefined,
        "difference": None
        if difference is None
        else {**_limits(difference), "clear": difference.clear},
    }


def _limits(interval: Estimate) -> dict[str, float | None]:
    return {key: _finite(getattr(interval, key)) for key in ("mean", "low", "high")}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _plain_change(change: Change) -> dict[str, Any]:
    return {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in change._asdict().items()
    }
