"""`fairgym simulate`: compare scenarios with fixed policies, without training."""

import argparse
import dataclasses
from collections.abc import Mapping, Sequence

from fairgym.cli.output import ALL_HELP, Output, say
from fairgym.cli.pairs import describe_elements
from fairgym.cli.parsing import Parser, add_environment, flag, peek, without_data
from fairgym.config.differences import words
from fairgym.config.settings import ENVIRONMENT, Setting, environment_settings, fields_of
from fairgym.config.text import read_pairs
from fairgym.core import FairgymError, ParamInfo, check_shape
from fairgym.training.scenario_file import EPISODES, Plan, read_keys, read_scenarios
from fairgym.training.scenarios import (
    Scenario,
    baseline_of,
    baseline_scenarios,
    build_all,
    default_baseline,
    make_checked,
)
from fairgym.utils import make

PROG = "fairgym simulate"
HINT = "fairgym simulate ENVIRONMENT [flags]"
CHANGED = "changed"  # name of the scenario that flags describe


@dataclasses.dataclass(frozen=True)
class Common(Output):
    """Flags of every simulation."""

    baseline: str = flag(
        "",
        "Fixed policies to change; by default the environment's first baseline that is not entirely"
        " random.",
    )
    scenarios: str = flag(
        "",
        "YAML, JSON or TOML file with named scenarios. --episodes, --seed, --reference and the"
        " environment's flags override it; other changes belong in the file.",
        metavar="FILE",
    )
    reference: str = flag("", "Scenario to compare the others with.")
    episodes: int | None = flag(None, "Number of episodes of each scenario; 32 by default.")
    seed: int | None = flag(None, "Seed of the episodes; 0 by default.")
    all: bool = flag(False, ALL_HELP)
    null: bool = flag(
        False,
        "Add a permutation test: the probability of such gaps if the group made no difference, and"
        " each disparity beside its null distribution (group labels shuffled within the same"
        " episodes).",
    )


@dataclasses.dataclass(frozen=True)
class Changes:
    """Flags of changes, which may be repeated, with one pair each."""

    fix: tuple[str, ...] = flag(
        (),
        "Change the decision of an agent, or of one element or group: a number, a change such as"
        " +30%, the name of an option, random, or a rule by name (first-come) or as"
        " module:function.",
        metavar="AGENT[.ELEMENT]=VALUE",
    )
    params: tuple[str, ...] = flag(
        (),
        "Change a parameter, or that of one group: a number, or a change such as +30%.",
        metavar="NAME[.GROUP]=VALUE",
    )


def simulate(arguments: Sequence[str]) -> None:
    """Run scenarios, and print what changes for whom."""
    from fairgym.training import devices

    devices.configure()
    plan, given = plan_of(arguments)
    output = Output(json=given.json, csv=given.csv)
    from fairgym.cli.effects import print_simulation
    from fairgym.results.records import simulation_results
    from fairgym.training.evaluation import ENOUGH
    from fairgym.training.scenarios import simulate as run

    found = run(
        plan.environment,
        plan.scenarios,
        episodes=plan.episodes,
        seed=plan.seed,
        reference=plan.reference,
        permutations=ENOUGH if given.null else 0,
        progress=lambda scenario: say(f"{scenario}: compiling, then {plan.episodes} episodes ..."),
    )
    told = {"environment": found.environment, "episodes": found.episodes, "seed": found.seed}
    flags = {name.replace("__", "."): value for name, value in vars(given).items()}
    settings = told | {name: x for name, x in flags.items() if x is not None and name not in told}
    if output.give("simulate", lambda: simulation_results(found), settings):
        print_simulation(found, given.all)


def plan_of(arguments: Sequence[str]) -> tuple[Plan, argparse.Namespace]:
    """Return the simulation that a command line asks for, and its flags.

    Raises:
        FairgymError: Anything is unknown, missing or of the wrong type; raised before any episode.
    """
    words = list(arguments)
    environment = words.pop(0) if words and not words[0].startswith("-") else None
    helping = any(word in ("-h", "--help") for word in words)
    name = environment or _environment_of_file(words)
    if name is None and not helping:
        raise FairgymError(
            "environment is not given; give its name right after simulate, or a file with"
            f" scenarios: {HINT}"
        )
    settings = environment_settings(name) if name else []
    given = _parser(settings, name).read(words)
    for field in dataclasses.fields(Common):
        if getattr(given, field.name) == "" == peek(words, f"--{field.name}"):
            raise FairgymError(f"{field.name} must be a text, got ''")
    own = {setting.name: getattr(given, f"{ENVIRONMENT}__{setting.name}") for setting in settings}
    own = {key: value for key, value in own.items() if value is not None}
    changes = {
        change.name: read_pairs(change.name, change.metavar, getattr(given, change.name))
        for change in fields_of(Changes)
    }
    assert name is not None
    if not given.scenarios:
        plan = _from_flags(name, given, own, changes)
    else:
        for flag_name, value in (*changes.items(), ("baseline", given.baseline)):
            if value:
                raise FairgymError(
                    f"--{flag_name} cannot be combined with --scenarios; put it in"
                    f" {given.scenarios}"
                )
        plan = read_scenarios(
            given.scenarios,
            environment=environment,
            reference=given.reference or None,
            episodes=given.episodes,
            seed=given.seed,
            environment_args=own,
        )
    build_all(plan.environment, plan.scenarios, plan.reference)
    return plan, given


def _from_flags(
    name: str,
    given: argparse.Namespace,
    arguments: Mapping[str, object],
    changes: Mapping[str, Sequence[tuple[str, str]]],
) -> Plan:
    """Return a baseline and the same with changes; without changes all baselines."""
    if not given.baseline and not any(changes.values()):
        scenarios = baseline_scenarios(name, arguments)
    else:
        env = make_checked(name, arguments)
        baseline = given.baseline or default_baseline(env)
        baseline_of(env, baseline)
        scenarios = [Scenario(words(baseline), (), (), arguments, baseline)]
        if any(changes.values()):
            scenarios.append(
                Scenario(CHANGED, changes["fix"], changes["params"], arguments, baseline)
            )
    return Plan(
        name,
        tuple(scenarios),
        given.reference or scenarios[0].name,
        check_shape("episodes", EPISODES if given.episodes is None else given.episodes, 1, 10**6),
        check_shape("seed", given.seed or 0, 0, 2**32 - 1),
    )


def _parser(settings: Sequence[Setting], name: str | None) -> Parser:
    """Return the parser of all flags."""
    about = f"Simulate {name or 'an environment'} with fixed policies, without training."
    parser = Parser(f"{PROG} {name or 'ENVIRONMENT'}", about)
    parser.add_fields(Common)
    known: dict[str, str] = {}
    if name is not None:
        with without_data():
            known = _names(name)
    for change in fields_of(Changes):
        about = f"{change.info.description}{known.get(change.name, '')}"
        parser.add(dataclasses.replace(change, info=ParamInfo(about)))
    add_environment(parser, settings, {}, {})
    return parser


def _names(environment: str) -> dict[str, str]:
    """Names for flags of changes in an environment, for the help: flag -> sentence."""
    env = make(environment)
    info = env.default_params.info()
    params = (f"{name} (per {about.per})" if about.per else name for name, about in info.items())
    return {
        "fix": f" Elements: {describe_elements(env)}.",
        "params": f" Parameters: {', '.join(params)}.",
    }


def _environment_of_file(words: Sequence[str]) -> str | None:
    """Environment that a file of scenarios names, if any."""
    path = peek(words, "--scenarios")
    found = None if path is None else read_keys(path).get("environment")
    if found is not None and not isinstance(found, str):
        raise FairgymError(f"environment in {path} must be a name, got {found!r}")
    return found
