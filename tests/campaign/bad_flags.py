"""Bad flags, from tables: every flag of every command, wrong in the ways of its kind."""

import dataclasses
import typing
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from fairgym.config.parameters import params_settings
from fairgym.config.settings import Setting, algorithm_settings, environment_settings, members
from fairgym.utils import make

DIGITS = "9" * 400
LONG = "x" * 5000
# Values of no number: empty, of another script, hidden, for another program, endless.
NOTHING = ["", " ", "abc", "é", "a\0b", "\x1b[31mred", "\u202eright", "\ud800", LONG, "1,,2", "{}"]
WRONG = {
    int: [*NOTHING, "1.5", "1e3", "0x10", "nan", "inf", "-1", DIGITS, f"-{DIGITS}", "1" * 25, "½"],
    float: [*NOTHING, "nan", "-nan", "inf", "-inf", "1e999", DIGITS, "1e39", "-1e39", "1/2", "5%%"],
    "name": ["nope", "", " ", "é", "a\0b", "\x1b[31mred", LONG, "../x", "a,b", "None"],
    "other name": ["nope", "", "é", "a\0b", "\x1b[31mred", LONG, "../x", "a,b", "nope "],
    "name or nothing": ["nope", " ", "é", "a\0b", "\x1b[31mred", LONG, "../x", "a,b", "None"],
    "whole numbers": ["few", "", ",", "1,", "1.5,2", "0", "-5", f"1,{DIGITS}", "nan", "1;2", LONG],
    "seeds": [
        "",
        ":",
        "0:",
        "3:0",
        "a:b",
        "1,1",
        "-1",
        "0:-1",
        "1:2:3",
        "nan",
        "0.5",
        LONG,
        f"0:{DIGITS}",
        "4294967296",
        "0:20000",
        "1 2",
        "²",
    ],
    "objective": [
        "nope",
        "frontier:",
        "anytime:",
        "periodic:0:nash",
        "past-discounted:2:nash",
        "parity:nope/nope",
        "frontier:2",
        "frontier:nan",
        "profit=",
        "=1",
        LONG,
        "profit=nan",
        "profit=inf",
        "profit=x",
        "nope=1",
        "profit=1,profit=2",
        "profit=1,",
        "\x1b",
        f"profit={DIGITS}",
        "uniform,direct",
    ],
    "memory": [
        "nope",
        " ",
        "past-discounted:2",
        "past-discounted:",
        "recent:0.5",
        f"recent:{DIGITS}",
        "full:nope",
        "rate:nope",
        "rate:/",
        "automaton:nope",
        "automaton:nowhere.json",
        "automaton:{",
        "automaton:differences:-1",
        f"automaton:differences:{DIGITS}",
        LONG,
        "../x",
    ],
    "path": ["", "a\0b", LONG, "\ud800", "a/" * 3000],
    "point": ["", "1", "1,", "a,b", "1,nan", "inf,1", "1,2,3", "1;2", LONG, f"{DIGITS},1"],
    "column": ["nope", " ", "é", "a\0b", "\x1b[31mred", LONG, "../x", "a,b"],
    "condition": ["nope", "", " ", "ratio", "ratio<", "ratio<x", "1<ratio", "é", LONG],
    "values": ["", ",", "a,,b", " ", ",nope", "nope", "é", "\x1b[31mred", LONG],
    "log": ["", "nope", "tensorboard", "tensorboard:", "tensorboard:a\0b", "csv:runs", LONG],
    "shard": ["", "3", "0/2", "3/2", "a/b", "1/2/3", "-1/2", "1/0", f"1/{DIGITS}x"],
}
OUTPUT = {"json": bool, "csv": "path"}
# A good command -> the kinds of its flags.
COMMANDS: dict[str, dict[str, Any]] = {
    "evaluate run": {
        "episodes": int,
        "scheme": "name",
        "seed": int,
        "sample": bool,
        "log": "column",
        "log_policy": "column",
        "massage": bool,
        "null": bool,
        "all": bool,
        **OUTPUT,
    },
    "report run": {
        "out": "path",
        "episodes": int,
        "scheme": "name",
        "seed": int,
        "worlds": bool,
    },
    "reproduce mafe-fig8": {
        "scale": "name",
        "seeds": int,
        "workers": int,
        "engine": "name or nothing",
        "gpus": float,
        "out": "path",
        "pages": "path",
        "list": bool,
        **OUTPUT,
    },
    "sweep run plan.toml": {
        "out": "path",
        "engine": "name or nothing",
        "workers": int,
        "gpus": float,
        "shard": "shard",
        "log": "log",
        "dry_run": bool,
    },
    "sweep status plan.toml": {"out": "path", "watch": bool, **OUTPUT},
    "sweep table plan.toml": {"out": "path", "rows": "name", "episodes": int, **OUTPUT},
    "sweep pareto plan.toml --x score --y score": {
        "out": "path",
        "x": "name",
        "y": "name",
        "reference": "point",
        "episodes": int,
        **OUTPUT,
    },
    "sweep effects plan.toml": {"out": "path", "measure": "name", "episodes": int, **OUTPUT},
    "sweep page plan.toml": {"out": "path", "measure": "name", "episodes": int, "file": "path"},
    "benchmark list": {"task": "name", "algorithm": "name", "check": bool, **OUTPUT},
    "benchmark run --task doughnut-3-v0": {
        "task": "name",
        "algorithm": "name",
        "engine": "name or nothing",
        "workers": int,
        "gpus": float,
        "tier": "name",
        "hours": float,
        "results": "path",
        "out": "path",
        "dry_run": bool,
    },
    "benchmark table": {
        "task": "name",
        "algorithm": "name",
        "tier": "name",
        "results": "path",
        **OUTPUT,
    },
    "benchmark page": {
        "task": "name",
        "algorithm": "name",
        "tier": "name",
        "results": "path",
        "file": "path",
    },
    "simulate loan": {
        "baseline": "other name",
        "scenarios": "path",
        "reference": "other name",
        "episodes": int,
        "seed": int,
        "all": bool,
        "null": bool,
        "world": "other name",
        "worlds": bool,
        "sensitivity": bool,
        "decompose": "other name",
        "out": "path",
        "list": bool,
        **OUTPUT,
    },
    "bench loan": {
        "populations": "whole numbers",
        "batches": "whole numbers",
        "repetitions": int,
        "against": "file",
        **OUTPUT,
    },
    "data describe loan": {"source": "name", **OUTPUT},
    "audit --example arrests": {
        "example": "name",
        "config": "path",
        **dict.fromkeys(("decision", "group", "time", "outcome", "score", "legit"), "column"),
        **dict.fromkeys(("person", "cluster", "weight", "amount", "reference"), "column"),
        "unfavourable": "column",
        "unknown": "values",
        "every": "column",
        "cross": bool,
        "min_n": int,
        "suppress": int,
        "profile": "other name",
        "fail_if": "condition",
        "level": float,
        "resamples": int,
        "seed": int,
        "out": "path",
        "all": bool,
        **OUTPUT,
    },
    "list": OUTPUT,
    "demo": {"out": "path", "epochs": int, "population_size": int, "all": bool},
    "train loan": {
        "algorithm": "name",
        "objective": "objective",
        "preset": "name or nothing",
        "seed": int,
        "seeds": "seeds",
        "out": "path",
        "config": "path",
        "resume": bool,
        "overwrite": bool,
        "memory": "memory",
        "log": "log",
        "workers": int,
    },
}
SYSTEMS = {
    "loan": "f-macem",
    "health": "f-maddpg",
    "education": "f-mappo",
    "loan_simple": "grid-search",
}


@dataclasses.dataclass(frozen=True)
class Case:
    """A command that must be refused.

    Attributes:
        words: its words.
        names: the sentence holds one of these: the field, the flag or the value.
        prepare: makes the files that it is about, in the folder where it runs.
    """

    words: tuple[str, ...]
    names: tuple[str, ...]
    prepare: Callable[[Path], object] | None = None


def some(values: list[Any], number: int, start: int) -> Iterable[Any]:
    """A few of the values, others for each start."""
    return [values[(start * number + i) % len(values)] for i in range(min(number, len(values)))]


def flag_cases(number: int) -> list[Case]:
    """Flags of all commands but the settings of training, each with several wrong values."""
    cases = []
    for place, (command, flags) in enumerate(COMMANDS.items()):
        words = command.split()
        for index, (field, kind) in enumerate(flags.items()):
            flag = f"--{field.replace('_', '-')}"
            names = (field, flag, field.removesuffix("es"), field.removesuffix("s"))
            names += ("the name of a scenario", "population must be", "unknown column")
            if kind is bool:
                contrary = flag.replace("--", "--no-", 1)
                cases += [
                    Case((*words, f"{flag}=yes"), names),
                    Case((*words, f"{contrary}=1"), names),
                ]
                cases.append(Case((*words, flag.replace("--", "--non-", 1)), (*names, "--non-")))
                continue
            for value in some(WRONG.get(kind, []), 3 * number, place + index):
                cases.append(Case((*words, f"{flag}={value}"), names))
            cases.append(Case((*words, flag), names))
            cases.append(Case((*words, f"{flag}x", "1"), names))
    return cases


def settings() -> list[tuple[str, str, str, Setting, Any]]:
    """Every setting of training once: environment, algorithm, flag, setting, declared range."""
    found, seen = [], set()
    for environment, algorithm in SYSTEMS.items():
        env = make(environment)
        info = env.default_params.info()
        several = [
            *environment_settings(environment),
            *algorithm_settings(algorithm),
            *params_settings(env),
        ]
        for setting in several:
            key = (setting.section, setting.name)
            if key in seen:
                continue
            seen.add(key)
            flag = setting.name.replace("_", "-")
            flag = f"--params.{flag}" if setting.section == "params" else f"--{flag}"
            span = info.get(setting.name) if setting.section == "params" else None
            found.append((environment, algorithm, flag, setting, span))
    return found


def setting_cases(number: int) -> list[Case]:
    """Settings of training as flags, with wrong values: half of them, or all with several."""
    cases = []
    some_of = settings()[:: 2 if number < 2 else 1]
    for index, (environment, algorithm, flag, setting, span) in enumerate(some_of):
        words = ("train", environment, "--algorithm", algorithm)
        kind = next(kind for kind in members(setting.kind) if kind is not type(None))
        names = (setting.name, flag, "unknown source")
        if kind is bool:
            values = ["yes", "1", ""]
        else:
            values = list(WRONG[typing.cast(Any, "name" if kind is str else kind)])
        chosen = list(some(values, number, index))
        if span is not None and (number > 1 or index % 2):
            edges = [repr(span.low - 1), repr(span.high + max(1, abs(span.high)))]
            chosen += [edge for edge in edges if "inf" not in edge][-number:]
        cases += [Case((*words, f"{flag}={value}"), names) for value in chosen]
        if kind is not bool and (number > 1 or index % 6 == 0):
            cases.append(Case((*words, flag), names))
    return cases
