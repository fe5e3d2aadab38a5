"""`fairgym train`: settings come from flags, then the configuration file, then defaults."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairgym.cli.base_settings import base_settings, begun, nothing_to_resume
from fairgym.cli.common import plain, resumable
from fairgym.cli.help_texts import MEMORY_HELP, OBJECTIVE_HELP
from fairgym.cli.output import LOG, LOG_HELP
from fairgym.cli.pairs import Pairs, changed_by, describe_elements
from fairgym.cli.parsing import Parser, add_environment, flag, flag_of
from fairgym.config.parameters import settings_of
from fairgym.config.plain import objective_slug, objective_text, parse_objective
from fairgym.config.run_config import RunConfig
from fairgym.config.settings import (
    ALGORITHM,
    ENVIRONMENT,
    PARAMS,
    Setting,
    algorithm_settings,
    algorithms_with,
    environment_settings,
    fields_of,
)
from fairgym.config.text import read_seeds, slug_of
from fairgym.core import FairgymError, ParamInfo
from fairgym.fairness.named_memories import short
from fairgym.training.tensorboard import also_logged, log_folder
from fairgym.utils import make
from fairgym.utils.files import require_path
from fairgym.utils.registry import NO_MEMORY

PROG = "fairgym train"
HINT = "fairgym train ENVIRONMENT [flags]"


@dataclasses.dataclass(frozen=True)
class Common:
    """Flags of every training run."""

    algorithm: str = flag("f-macem", "Algorithm that trains; fairgym list names all.")
    objective: str = flag("", OBJECTIVE_HELP)
    memory: str = flag("none", MEMORY_HELP, metavar="NAME")
    seed: int | None = flag(None, "Random seed of the run.")
    seeds: str | None = flag(
        None,
        "Train one run per seed, in OUT/seed-N, such as 0:5 or 0,3,7.",
        metavar="START:STOP|N,N,...",
    )
    out: str | None = flag(
        None,
        "Run folder (default: runs/ENVIRONMENT-ALGORITHM-OBJECTIVE[-MEMORY]).",
        metavar="FOLDER",
    )
    preset: str = flag(
        "",
        "Start from stored hyperparameters: tuned, tuned:TASK or authors.",
        metavar="NAME",
    )
    config: str | None = flag(
        None, "YAML, JSON or TOML file with settings; flags override it.", metavar="FILE"
    )
    resume: bool = flag(False, "Continue the run in OUT with its saved settings.")
    overwrite: bool = flag(
        False,
        "Replace the run in OUT. The old run is kept until the new one has finished.",
    )
    workers: int = flag(1, "Processes that train several seeds in parallel.")
    log: str | None = flag(None, LOG_HELP, metavar=LOG)


@dataclasses.dataclass(frozen=True)
class Plan:
    """Training runs that a command line asks for.

    Attributes:
        config: The configuration.
        out: The run folder, or the folder of several seeds.
        seeds: The seeds of several runs; None for one run.
        resume: As for `fairgym.training.train`.
        overwrite: As for `fairgym.training.train`.
        workers: Number of processes.
        log: Folder for event files of TensorBoard; None for none.
    """

    config: RunConfig
    out: Path
    seeds: tuple[int, ...] | None
    resume: bool
    overwrite: bool
    workers: int
    log: Path | None


def train(arguments: Sequence[str]) -> None:
    """Train policies and show progress."""
    from fairgym.training import devices

    devices.configure()
    plan = plan_of(arguments)
    if plan.resume and not plan.overwrite and not begun(plan.out):
        raise nothing_to_resume(plan.out)
    from fairgym.training.loop import train as train_one
    from fairgym.training.progress import shown

    options = {"resume": plan.resume, "overwrite": plan.overwrite}
    what = f"{plan.config.environment}, {plan.config.algorithm}"
    with resumable(lambda: _again(arguments, begun(plan.out))):
        if plan.seeds is None:
            with also_logged(shown(what), plan.log, plan.out) as progress:
                runs = [train_one(plan.config, plan.out, progress=progress, **options)]
        else:
            runs = _train_seeds(plan, plan.seeds, **options)
    for run in runs:
        summary = {"epochs": 0, "wall_time_s": 0.0, **run.summary}
        objective = summary.get("objective")
        epochs = f"{summary['epochs']} epoch{'s' * (summary['epochs'] != 1)}"
        text = "undefined" if objective is None else f"{objective:.4f}"
        print(
            f"{plain(run.folder)}: objective {text} after {epochs}, {summary['wall_time_s']:.0f} s"
        )


def _train_seeds(plan: Plan, seeds: Sequence[int], **options: bool) -> list[Any]:
    """Train several seeds, and return the runs."""
    from fairgym.sweeps import train_seeds
    from fairgym.training.progress import Several, shown_together

    log = plan.log
    with shown_together(several=Several(len(seeds))) as shown:
        return train_seeds(
            plan.config,
            plan.out,
            seeds,
            workers=plan.workers,
            show=lambda one: also_logged(
                shown(one.label), log and log / one.folder.name, one.folder
            ),
            say=lambda text: print(plain(text), flush=True),
            **options,
        )


def plan_of(arguments: Sequence[str]) -> Plan:
    """Return the training that the arguments ask for; flags override the file.

    Raises:
        FairgymError: A setting is unknown, missing or of the wrong type.
    """
    words = list(arguments)
    named = words.pop(0) if words and not words[0].startswith("-") else None
    base = base_settings(words, named)
    helping = any(word in ("-h", "--help") for word in words)
    if isinstance(base.get("environment"), str):
        config, settings, about = _start(base, words, helping)
    elif helping:
        config, about = RunConfig("ENVIRONMENT"), {}
        settings = algorithm_settings(str(base.get("algorithm", "f-macem")))
    else:
        if base.get("environment") is not None:
            raise FairgymError(f"environment must be a name, got {base['environment']!r}")
        raise FairgymError(f"environment is not given; give its name right after train: {HINT}")
    parser = _parser(settings, config, base, about)
    given = parser.read(words, lambda flag: _elsewhere(flag, config.algorithm))

    sections: dict[str, dict[str, Any]] = {ENVIRONMENT: {}, PARAMS: {}, ALGORITHM: {}}
    for setting in settings:
        value = getattr(given, f"{setting.section}__{setting.name}")
        if setting.section != PARAMS or value is not None:
            sections[setting.section][setting.name] = value
    sections[PARAMS] = {**config.params, **sections[PARAMS]}
    pairs = changed_by(config, given, sections[ENVIRONMENT])
    seeds = None if given.seeds is None else read_seeds(given.seeds)
    if seeds is None and given.workers != 1:
        raise FairgymError(f"workers must be 1 unless --seeds is given, got {given.workers}")
    if seeds is not None and given.seed is not None:
        raise FairgymError("seed and seeds are both given; give one of them")
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
    memory = slug_of(short(config.memory))
    name = "-".join([*parts, memory] if memory else parts)
    out = Path("runs") / name
    if given.out is not None:
        require_path(given.out, "out")
        out = Path(given.out)
    log = log_folder(given.log)
    return Plan(config, out, seeds, given.resume, given.overwrite, given.workers, log)


def _start(
    base: dict[str, Any], words: Sequence[str], helping: bool
) -> tuple[RunConfig, list[Setting], dict[str, str]]:
    """Return the configuration of the file, all settings, and texts about the environment.

    Help works without the environment's data: it then leaves out parameters and elements.
    """
    extra = {key: base.pop(key) for key in ("out", "seeds") if key in base}
    if extra.get("seeds") is not None:
        read_seeds(extra["seeds"])  # also where they are overridden
    try:
        config = RunConfig.from_mapping(base)
        shapes = _shapes(config, words)  # some parameters have defaults that depend on them
        settings = settings_of(config.environment, config.algorithm, shapes)
        about = {}
        if helping:
            elements = describe_elements(make(config.environment, **shapes))
            about = {"fix": f" Elements: {elements}."}
    except FairgymError as error:
        if not (helping and isinstance(error.__cause__, ImportError)):
            raise
        config = RunConfig(base["environment"], algorithm=base.get("algorithm", "f-macem"))
        settings = environment_settings(config.environment) + algorithm_settings(config.algorithm)
        about = {"": f"\nParameters and elements are not shown: {error}."}
    base |= extra
    return config, settings, about


def _elsewhere(flag: str, algorithm: str) -> str:
    """Return a hint at the algorithms that have a flag; "" if none has it."""
    having = algorithms_with(flag.lstrip("-").replace("-", "_"))
    if not having:
        return ""
    return f": {algorithm} does not have it; these algorithms do: {', '.join(having)}"


def _parser(
    settings: Sequence[Setting],
    config: RunConfig,
    base: Mapping[str, object],
    about: Mapping[str, str],
) -> Parser:
    """Return the parser of all flags, with the file's values as defaults.

    Args:
        settings: Those of the environment, its parameters and the algorithm.
        config: The configuration of the file.
        base: The keys of the file.
        about: Texts that the help adds to flags, by name; to the description under "".
    """
    defaults = {field.name: base[field.name] for field in fields_of(Common) if field.name in base}
    defaults |= {
        "algorithm": config.algorithm,
        "objective": objective_text(config.objective),
        "memory": config.memory or NO_MEMORY,
        "seed": None,  # detects --seed beside --seeds; the file's seed is in `config`
    }
    if not isinstance(defaults.get("out", ""), str | None):
        raise FairgymError(f"out must be a folder, got {defaults['out']!r}")
    what = f"Train policies in {config.environment} and write a run folder.{about.get('', '')}"
    parser = Parser(f"{PROG} {config.environment}", what, has_params=True)
    parser.add_fields(Common, defaults)
    for pair in fields_of(Pairs):
        info = ParamInfo(pair.info.description + about.get(pair.name, ""))
        parser.add(dataclasses.replace(pair, info=info))
    add_environment(
        parser,
        settings,
        {s.name: s.default for s in settings if s.section == ENVIRONMENT}
        | dict(config.environment_args),
        config.environment_args,
    )
    for setting in settings:
        dest = f"{setting.section}__{setting.name}"
        if setting.section == PARAMS:
            own = dataclasses.replace(setting, default=None)
            shown = config.params.get(setting.name, setting.default)
            parser.add(own, f"--params.{flag_of(setting.name)[2:]}", dest=dest, shown=shown)
        elif setting.section == ALGORITHM:
            default = config.algorithm_args.get(setting.name, setting.default)
            parser.add(dataclasses.replace(setting, default=default), dest=dest)
    return parser


def _shapes(config: RunConfig, words: Sequence[str]) -> dict[str, Any]:
    """Return the environment's arguments in the file and flags, before all flags are parsed."""
    early = Parser(PROG, helps=False)
    add_environment(early, environment_settings(config.environment), {}, {})
    given = vars(early.read_known(words)[0])
    found = {name.removeprefix(f"{ENVIRONMENT}__"): value for name, value in given.items()}
    return {**config.environment_args, **{n: v for n, v in found.items() if v is not None}}


def _again(arguments: Sequence[str], has_begun: bool) -> list[str]:
    """Return the command that continues: with `--resume` if a run has begun."""
    words = list(arguments)
    if has_begun:
        words = [word for word in words if word not in ("--overwrite", "--resume")] + ["--resume"]
    return [*PROG.split(), *words]
