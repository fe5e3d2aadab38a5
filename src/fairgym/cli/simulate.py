"""`fairgym simulate`: compare scenarios with fixed policies, without training."""

import argparse
import dataclasses
import os
from collections.abc import Mapping, Sequence

from fairgym.cli.output import Output, say
from fairgym.cli.parsing import peek
from fairgym.cli.simulate_flags import Changes, Common, flags_parser
from fairgym.config.differences import words
from fairgym.config.settings import ENVIRONMENT, environment_settings, fields_of
from fairgym.config.text import read_pairs
from fairgym.core import Environment, FairgymError, check_shape
from fairgym.training.decomposition import Decomposition, decompose, rate_metric
from fairgym.training.exchange import require_exchangeable
from fairgym.training.reforms import World, declared_by, reform_of, world_of
from fairgym.training.scenario_file import EPISODES, Plan, one_run, read_keys, read_scenarios
from fairgym.training.scenarios import (
    Scenario,
    Simulation,
    Source,
    baseline_of,
    baseline_scenarios,
    build_all,
    default_baseline,
    make_checked,
)
from fairgym.training.sensitivity import Sensitivity, number_of_episodes, sensitivity
from fairgym.training.stepwise import LEARNED
from fairgym.utils.registry import environments

HINT = "fairgym simulate ENVIRONMENT [flags]"
CHANGED = "changed"  # name of the scenario that flags describe


def simulate(arguments: Sequence[str]) -> None:
    """Run scenarios, and print what changes for whom."""
    from fairgym.training import devices

    devices.configure()
    if "--list" in arguments and not {"-h", "--help"} & set(arguments):
        from fairgym.cli.what_if import list_declared

        list_declared(arguments)
        return
    plan, given = plan_of(arguments)
    output = Output(json=given.json, csv=given.csv)
    from fairgym.cli.effects import print_simulation
    from fairgym.cli.what_if import print_decomposition, print_sensitivity
    from fairgym.cli.what_if_page import write_page
    from fairgym.results.conclusions import overturned, worlds_sentence
    from fairgym.results.records import simulation_results
    from fairgym.results.rows import effects
    from fairgym.training.evaluation import ENOUGH
    from fairgym.training.scenarios import simulate as run

    env, world, rivals = _worlds(plan, given)
    compiling = f"compiling, then {plan.episodes} episodes ..."
    found = run(
        plan.environment,
        plan.scenarios,
        episodes=plan.episodes,
        seed=plan.seed,
        reference=plan.reference,
        permutations=ENOUGH if given.null else 0,
        trace=given.out is not None,
        world=world,
        worlds=rivals,
        progress=lambda scenario: say(f"{scenario}: {compiling}"),
    )
    swings, parts = _further(plan, given, found, world)
    told = {"environment": found.environment, "episodes": found.episodes, "seed": found.seed}
    if not isinstance(plan.environment, str):
        told["run"] = str(plan.environment.folder)
    flags = {name.replace("__", "."): value for name, value in vars(given).items()}
    settings = told | {name: x for name, x in flags.items() if x is not None and name not in told}
    if given.out is not None:
        write_page(given.out, arguments, found, settings, swings, parts)
    if not output.give("simulate", lambda: simulation_results(found, swings, parts), settings):
        return
    rows = effects(found)
    note = worlds_sentence(found, rows)
    if found.worlds:
        note = f"{note.removesuffix('.')} (--no-worlds leaves them out)."
    print_simulation(found, given.all, overturned(found, rows, given.all), [note] if note else [])
    for one in swings:
        print_sensitivity(env, one, rows, given.all)
    for one in parts:
        print_decomposition(env, one)


def _worlds(plan: Plan, given: argparse.Namespace) -> tuple[Environment, World | None, list[World]]:
    """Return the environment, the world of all scenarios, and rival worlds to run as well."""
    env = _env_of(plan.environment, plan.scenarios[0].environment_args)
    world = world_of(env, plan.world) if plan.world else None
    alone = world is not None or len(plan.scenarios) == 1 or not given.worlds
    return env, world, [] if alone else list(declared_by(env).worlds.values())


def _env_of(source: Source, arguments: Mapping[str, object]) -> Environment:
    return make_checked(source, arguments) if isinstance(source, str) else source.env


def _further(
    plan: Plan, given: argparse.Namespace, found: Simulation, world: World | None
) -> tuple[list[Sensitivity], list[Decomposition]]:
    """Run what the flags ask for beside the scenarios: sensitivity, and parts of a gap."""
    swings, parts = [], []
    base = found.base.scenario
    for one in found.others if given.sensitivity else ():
        count = number_of_episodes(len(declared_by(one.env).uncertain))
        say(f"sensitivity of {one.name}: compiling, then {count} episodes ...")
        swings.append(
            sensitivity(plan.environment, one.scenario, base, seed=plan.seed, world=world)
        )
    for one in found.built if given.decompose else ():
        say(f"gap with {one.name}: compiling, then {6 * plan.episodes} episodes ...")
        parts.append(decompose(one, given.decompose, episodes=plan.episodes, seed=plan.seed))
    return swings, parts


def plan_of(arguments: Sequence[str]) -> tuple[Plan, argparse.Namespace]:
    """Return the simulation that a command line asks for, and its flags.

    Raises:
        FairgymError: Anything is unknown, missing or of the wrong type; raised before any episode.
    """
    words = list(arguments)
    first = words.pop(0) if words and not words[0].startswith("-") else None
    helping = any(word in ("-h", "--help") for word in words)
    source = _source(first) if first is not None else _source_of_file(words)
    if source is None and not helping:
        raise FairgymError(
            "environment is not given; give its name right after simulate, or a file with"
            f" scenarios: {HINT}"
        )
    name = source if isinstance(source, str | None) else source.config.environment
    settings = environment_settings(name) if name else []
    given = flags_parser(settings, name).read(words)
    for field in dataclasses.fields(Common):
        if getattr(given, field.name) == "" == peek(words, f"--{field.name}"):
            raise FairgymError(f"{field.name} must be a text, got ''")
    own = {setting.name: getattr(given, f"{ENVIRONMENT}__{setting.name}") for setting in settings}
    own = {key: value for key, value in own.items() if value is not None}
    changes = {
        change.name: read_pairs(change.name, change.metavar, getattr(given, change.name))
        for change in fields_of(Changes)
    }
    assert source is not None
    if not given.scenarios:
        plan = _from_flags(source, given, own, changes)
    else:
        inside = (*changes.items(), ("baseline", given.baseline), ("reform", given.reform))
        for flag_name, value in inside:
            if value:
                raise FairgymError(
                    f"--{flag_name} cannot be combined with --scenarios; put it in"
                    f" {given.scenarios}"
                )
        plan = read_scenarios(
            given.scenarios,
            environment=None if first is None else source,
            reference=given.reference or None,
            episodes=given.episodes,
            seed=given.seed,
            world=given.world or None,
            environment_args=own,
        )
    env, world, _ = _worlds(plan, given)
    build_all(plan.environment, plan.scenarios, plan.reference, world)
    _check_further(env, given, plan)
    return plan, given


def _check_further(env: Environment, given: argparse.Namespace, plan: Plan) -> None:
    """Raise a FairgymError unless the flags ask for what the environment allows."""
    if given.decompose:
        rate_metric(env, given.decompose)
        require_exchangeable(env)
    if given.sensitivity and len(plan.scenarios) == 1:
        raise FairgymError(
            "sensitivity needs a difference; give a scenario beside the reference, by --reform,"
            " --fix or --params"
        )
    if given.out is not None:
        from fairgym.cli.what_if_page import require_page

        require_page(given.out, len(plan.scenarios))
    if given.sensitivity and not declared_by(env).uncertain:
        raise FairgymError(f"sensitivity needs uncertain parameters, and {env.name} declares none")


def _source(word: str) -> Source:
    """Return the environment of this name, or the run in this folder."""
    return one_run(word) if word not in environments and os.path.isdir(word) else word


def _from_flags(
    source: Source,
    given: argparse.Namespace,
    arguments: Mapping[str, object],
    changes: Mapping[str, Sequence[tuple[str, str]]],
) -> Plan:
    """Return a baseline and the same with changes; without changes all baselines."""
    if not given.baseline and not given.reform and not any(changes.values()):
        scenarios = baseline_scenarios(source, arguments)
    else:
        env, baseline = _env_of(source, arguments), given.baseline
        baseline = baseline or (default_baseline(env) if isinstance(source, str) else "")
        if baseline:
            baseline_of(env, baseline)
        scenarios = [Scenario(words(baseline) or LEARNED, (), (), arguments, baseline)]
        for text in given.reform:
            title = reform_of(env, text).title
            scenarios.append(Scenario(title, (), (), arguments, baseline, (text,)))
        if any(changes.values()):
            scenarios.append(
                Scenario(CHANGED, changes["fix"], changes["params"], arguments, baseline)
            )
    named = {one.reforms[0]: one.name for one in scenarios if one.reforms}
    return Plan(
        source,
        tuple(scenarios),
        named.get(given.reference, given.reference) or scenarios[0].name,
        check_shape("episodes", EPISODES if given.episodes is None else given.episodes, 1, 10**6),
        check_shape("seed", given.seed or 0, 0, 2**32 - 1),
        given.world,
    )


def _source_of_file(words: Sequence[str]) -> Source | None:
    """Environment or run that a file of scenarios names, if any."""
    path = peek(words, "--scenarios")
    file = {} if path is None else read_keys(path)
    if file.get("run") is not None:
        return one_run(file["run"])
    found = file.get("environment")
    if found is not None and not isinstance(found, str):
        raise FairgymError(f"environment in {path} must be a name, got {found!r}")
    return found
