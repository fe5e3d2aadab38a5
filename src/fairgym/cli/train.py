"""`fairgym train`: every setting is a flag, a key of a file, or its default, in this order."""

import dataclasses
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairgym.cli.imports import as_words
from fairgym.cli.pairs import pair_fields, read_pairs
from fairgym.cli.parsing import flag, parse, typed
from fairgym.cli.printing import plain
from fairgym.config.files import read_config_file
from fairgym.config.parameters import Parameter
from fairgym.config.plain import objective_slug, objective_text, parse_objective
from fairgym.config.run_config import RunConfig, import_listed, settings_of
from fairgym.config.settings import (
    ALGORITHM,
    ENVIRONMENT,
    PARAMS,
    Setting,
    algorithm_settings,
    environment_settings,
)
from fairgym.core import FairgymError
from fairgym.training.folder import RunFolder, run_folders
from fairgym.utils import interrupts, make
from fairgym.utils.files import require_path
from fairgym.utils.registry import NO_MEMORY

PROG = "fairgym train"
MOST_SEEDS = 10_000
HINT = "fairgym train ENVIRONMENT [flags]"


@typed(metavars={"seeds": "START:STOP", "out": "FOLDER", "config": "FILE"})
@dataclasses.dataclass(frozen=True)
class Common:
    """Flags of every training.

    Attributes:
        algorithm: name of the algorithm; fairgym list shows all.
        objective: objective of the trained agents: uniform, direct, direct-fair, direct-fair-rate,
            half-direct, published, frontier:LAMBDA, or own for the terms that concern each agent;
            the welfare nash, max-min, gini or alpha:ALPHA, of the system's benefit or as in
            nash:COMPONENT; or weights: METRIC=WEIGHT,METRIC=WEIGHT.
        memory: memory that agents are shown, by its name in the environment; none for none.
        seed: seed of everything random in the run.
        seeds: seeds of several runs, in OUT/seed-N: START:STOP or a list such as 0,3,7.
        out: run folder; runs/ENVIRONMENT-ALGORITHM-OBJECTIVE by default, with the memory after
            it where there is one.
        config: YAML, JSON or TOML file with settings; flags override it.
        resume: continuation of the run in OUT, whose settings are read from there.
        overwrite: replacement of the run in OUT, which stays until the new one is finished.
        workers: number of processes that train several seeds, each one at a time.
    """

    algorithm: str = "f-macem"
    objective: str = ""
    memory: str = "none"
    seed: int | None = None
    seeds: str | None = None
    out: str | None = None
    config: str | None = None
    resume: bool = False
    overwrite: bool = False
    workers: int = 1


@dataclasses.dataclass(frozen=True)
class Plan:
    """Training that a command line asks for.

    Attributes:
        config: the configuration.
        out: the run folder, or the folder of several seeds.
        seeds: the seeds of several runs; None for one run.
        resume: as for `fairgym.training.train`.
        overwrite: as for `fairgym.training.train`.
        workers: number of processes.
    """

    config: RunConfig
    out: Path
    seeds: tuple[int, ...] | None
    resume: bool
    overwrite: bool
    workers: int


def train(arguments: Sequence[str]) -> None:
    """Train as the arguments say, with progress."""
    from fairgym.training import devices

    devices.configure()
    plan = plan_of(arguments)
    if plan.resume and not plan.overwrite and not begun(plan.out):
        raise _nothing_to_resume(plan.out)
    from fairgym.training.loop import train as train_one
    from fairgym.training.progress import shown

    def last_words() -> str:
        return f"interrupted; continue with: {_again(arguments, begun(plan.out))}"

    interrupts.set_last_words(last_words)
    options = {"resume": plan.resume, "overwrite": plan.overwrite}
    what = f"{plan.config.environment}, {plan.config.algorithm}"
    try:
        if plan.seeds is None:
            with shown(what) as progress:
                runs = [train_one(plan.config, plan.out, progress=progress, **options)]
        else:
            runs = _train_seeds(plan, plan.seeds, **options)
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(last_words()) from stop
    for run in runs:
        summary = {"epochs": 0, "wall_time_s": 0.0, **run.summary}
        objective = summary.get("objective")
        text = "undefined" if objective is None else f"{objective:.4f}"
        print(
            f"{plain(run.folder)}: objective {text} after {summary['epochs']} epochs,"
            f" {summary['wall_time_s']:.0f} s"
        )


def _train_seeds(plan: Plan, seeds: Sequence[int], **options: bool) -> list[Any]:
    """Train several seeds, and return the runs."""
    from fairgym.sweeps import train_seeds
    from fairgym.training.progress import shown_together

    with shown_together() as shown:
        return train_seeds(
            plan.config,
            plan.out,
            seeds,
            workers=plan.workers,
            show=lambda one: shown(one.label),
            say=lambda text: print(plain(text), flush=True),
            **options,
        )


def plan_of(arguments: Sequence[str]) -> Plan:
    """Flags over the file over the defaults.

    Raises:
        FairgymError: anything unknown, missing or of the wrong type.
    """
    words = list(arguments)
    named = words.pop(0) if words and not words[0].startswith("-") else None
    base = _base(words, named)
    env = None  # that the help speaks of: the defaults of some parameters follow its size
    helping = any(word in ("-h", "--help") for word in words)
    if not isinstance(base.get("environment"), str):
        if not helping:
            given = "not given"
            if base.get("environment") is not None:
                given = repr(base["environment"])
            raise FairgymError(f"environment is {given}; it takes a name right after train: {HINT}")
        settings = algorithm_settings(str(base.get("algorithm", "f-macem")))
        config = RunConfig("ENVIRONMENT")
    else:
        extra = {key: base.pop(key) for key in ("out", "seeds") if key in base}
        config = RunConfig.from_mapping(base)
        base |= extra
        shapes = _shapes(config, words)
        settings = settings_of(config.environment, config.algorithm, shapes)
        if helping:
            env = make(config.environment, **shapes)
    prog = f"{PROG} {config.environment}"
    given: Any = parse(_flags(settings, config, base, env), words, prog)

    sections: dict[str, dict[str, Any]] = {ENVIRONMENT: {}, PARAMS: {}, ALGORITHM: {}}
    for setting in settings:
        value = getattr(given, f"{setting.section}__{setting.name}")
        if setting.section != PARAMS or value is not None:
            sections[setting.section][setting.name] = value
    sections[PARAMS] = {**config.params, **sections[PARAMS]}
    pairs = read_pairs(config, given, sections[ENVIRONMENT])
    seeds = None if given.seeds is None else parse_seeds(given.seeds)
    if seeds is None and given.workers != 1:
        raise FairgymError(f"workers is {given.workers}; one run takes 1, several seeds more")
    if seeds is not None and given.seed is not None:
        raise FairgymError("seed and seeds are both given; a command takes one of them")
    config = RunConfig(
        environment=config.environment,
        algorithm=given.algorithm,
        objective=config.objective
        if given.objective == objective_text(config.objective)
        else parse_objective(given.objective),
        memory=given.memory,
        seed=config.seed if given.seed is None else given.seed,
        **sections,
        **pairs,
    )
    parts = [config.environment, config.algorithm, objective_slug(config.objective)]
    name = "-".join([*parts, config.memory] if config.memory else parts)
    out = Path("runs") / name
    if given.out is not None:
        require_path(given.out, "out")
        out = Path(given.out)
    return Plan(config, out, seeds, given.resume, given.overwrite, given.workers)


def _base(words: Sequence[str], named: str | None) -> dict[str, Any]:
    """The keys of --config, or of the run to be resumed; the flags' environment and algorithm."""
    path, out = peek(words, "--config"), peek(words, "--out")
    base: dict[str, Any] = {}
    if path is not None:
        base = {str(k).replace("-", "_"): v for k, v in read_config_file(path).items()}
        # what a run's own config.json names is not looked for in that run's folder
        import_listed(base, Path(path).parent if "format" in base else None)
    elif "--resume" in words and out is not None:
        first = run_folders(out)[0]
        if RunFolder(first).config.is_file():
            base = RunFolder(first).current.read_config().config.as_json()
            if first != Path(out):
                base.pop("seed")
        elif named is None:
            raise _nothing_to_resume(out)
    changed = named is not None and base.get("environment", named) != named
    if changed and path is None:
        raise FairgymError(
            f"environment is {named!r}, but the run in {out} has {base['environment']!r};"
            " resume takes the same configuration"
        )
    if named is not None:
        base["environment"] = named
    algorithm = peek(words, "--algorithm")
    if algorithm is not None and path is None and base.get("algorithm", algorithm) != algorithm:
        base[ALGORITHM] = {}
    if algorithm is not None:
        base["algorithm"] = algorithm
    return base


def _flags(
    settings: Sequence[Setting], config: RunConfig, base: Mapping[str, Any], env: Any
) -> type[Any]:
    """The class of all flags, with the file's values as defaults."""
    fields: list[Any] = []
    for field in dataclasses.fields(Common):
        default = {
            "algorithm": config.algorithm,
            "objective": objective_text(config.objective),
            "memory": config.memory or NO_MEMORY,
        }.get(field.name, base.get(field.name, field.default))
        if field.name == "seed":
            default = None  # so that --seed beside --seeds is noticed; the file's is in `config`
        if field.name == "seeds" and default is not None:
            default = ",".join(map(str, default)) if isinstance(default, list) else str(default)
        if field.name == "out" and default is not None and not isinstance(default, str):
            raise FairgymError(f"out is {default!r}; it takes a folder")
        again = dataclasses.field(default=default, metadata=field.metadata)
        fields.append((field.name, field.type, again))
    fields += pair_fields(env)
    taken = {field[0] for field in fields}
    for setting in settings:
        plain, aliases = setting.name.replace("_", "-"), []
        if setting.section == PARAMS:
            name, default = f"params.{plain}", None
        else:
            name = plain if setting.name not in taken else f"{setting.section}.{plain}"
            taken.add(setting.name)
            default = getattr(config, setting.section).get(setting.name, setting.default)
        if (setting.section, setting.name) == (ENVIRONMENT, "population"):
            name, aliases = "population-size", ["--population"]
        about = dataclasses.replace(setting, name=f"{setting.section}__{setting.name}")
        shown = setting.default if default is None else default
        metavar = None
        if isinstance(setting, Parameter):
            shown = config.params.get(setting.name, shown)
            metavar = setting.metavar
        field = flag(setting, default, name, *aliases, shown=shown, metavar=metavar)
        fields.append((about.name, *field[1:]))
    doc = f"Train policies in {config.environment} and leave a run folder.\n\n{HINT}"
    return dataclasses.make_dataclass("Flags", fields, namespace={"__doc__": doc})


def _shapes(config: RunConfig, words: Sequence[str]) -> dict[str, Any]:
    """The environment's arguments in this file and these flags, before the flags are parsed."""
    arguments = dict(config.environment_args)
    for setting in environment_settings(config.environment):
        names = [f"--{setting.name.replace('_', '-')}"]
        names += ["--population-size"] if setting.name == "population" else []
        for text in filter(None, (peek(words, name) for name in names)):
            arguments[setting.name] = setting.parse(text)
    return arguments


def begun(out: str | Path) -> bool:
    """True if a folder holds a run, or that of a seed."""
    return any(RunFolder(folder).config.exists() for folder in run_folders(out))


def _nothing_to_resume(out: str | Path) -> FairgymError:
    return FairgymError(
        f"{out} holds no run to resume; out takes the folder of one, or leave --resume away to"
        " begin one"
    )


def peek(words: Sequence[str], name: str) -> str | None:
    """The value of a flag before the flags are parsed; the last one counts, a flag is no value."""
    found = None
    for index, word in enumerate(words):
        if word == name and index + 1 < len(words) and not words[index + 1].startswith("--"):
            found = words[index + 1]
        elif word.startswith(f"{name}="):
            found = word.partition("=")[2]
    return found


def parse_seeds(text: str) -> tuple[int, ...]:
    """Read 0:5 as 0, 1, 2, 3, 4 and 0,3,7 as these three; both may be mixed.

    Raises:
        FairgymError: it is neither, or names no seed or one twice.
    """
    seeds: list[int] = []
    try:
        for part in str(text).split(","):
            start, colon, stop = part.partition(":")
            first = int(start or 0) if colon else int(start)
            last = int(stop) if colon else first + 1
            if last - first > MOST_SEEDS or not 0 <= first < last <= 2**32:
                raise ValueError
            seeds += range(first, last)
    except ValueError:
        seeds = []
    if not seeds or len(set(seeds)) < len(seeds) or len(seeds) > MOST_SEEDS:
        raise FairgymError(
            f"seeds is {text!r}; it takes START:STOP or a list such as 0,3,7, each seed once,"
            f" at most {MOST_SEEDS:,} from 0 to {2**32 - 1}"
        )
    return tuple(seeds)


def _again(arguments: Sequence[str], has_begun: bool) -> str:
    """The command that goes on: with --resume, or the same once more if nothing was begun."""
    words = list(arguments)
    if has_begun:
        words = [word for word in words if word not in ("--overwrite", "--resume")] + ["--resume"]
    return shlex.join([*PROG.split(), *words, *as_words()])
