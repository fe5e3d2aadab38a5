"""Scenario files: YAML, JSON or TOML."""

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fairgym.config.differences import words
from fairgym.config.files import describe, import_listed, read_config_file
from fairgym.config.settings import checked, environment_settings
from fairgym.config.text import by_field
from fairgym.core import FairgymError, check_shape
from fairgym.policies.fixed import TAKES
from fairgym.training.scenarios import Scenario, default_baseline, make_checked, pairs_of
from fairgym.utils.changes import unknown
from fairgym.utils.files import require_path
from fairgym.utils.registry import environments

EPISODES, MOST_EPISODES = 32, 1_000_000
_SECTIONS = ("environment_args", "params", "fixed")
_OWN = ("baseline", *_SECTIONS)
_TOP = ("environment", "reference", "episodes", "seed", "scenarios", *_OWN)


@dataclasses.dataclass(frozen=True)
class Plan:
    """Arguments of `fairgym.training.simulate`.

    Attributes:
        environment: Name of the environment.
        scenarios: The scenarios.
        reference: Name of the scenario with which the others are compared.
        episodes: Number of episodes per scenario.
        seed: Seed of the episodes.
    """

    environment: str
    scenarios: tuple[Scenario, ...]
    reference: str
    episodes: int = EPISODES
    seed: int = 0


def read_scenarios(path: str | Path, **given: Any) -> Plan:
    """Read the scenarios of a file.

    The key `scenarios` maps the name of each scenario to its `fixed`, `params`, `environment_args`
    and `baseline` (the fields of `Scenario`). The same keys at the top level apply to all
    scenarios, including the reference; a scenario's own changes are made after them. Further keys
    are `environment`, `reference`, `episodes`, `seed`, and `imports`, a list of modules to import
    first. Without `reference`, the baseline with only the common changes is added as the first
    scenario.

    Args:
        path: The file.
        **given: Environment, reference, episodes, seed or environment_args that override those of
            the file; None counts as not given.

    Raises:
        FairgymError: If the file cannot be read, or has an unknown key or a wrong value.
    """
    file = read_keys(path)
    _check_keys(file, (*_TOP, "imports"), str(path))
    several = file.get("scenarios")
    if not isinstance(several, Mapping) or not several:
        got = describe(several) if several else "nothing"
        raise FairgymError(
            f"scenarios in {path} must be names of scenarios with their changes, got {got}"
        )
    for key in ("environment", "reference"):
        if not isinstance(file.get(key), str | None):
            raise FairgymError(f"{key} in {path} must be a name, got {file[key]!r}")
    # also where they are overridden
    if file.get("environment"):
        environments.get(file["environment"])
    for key, most in (("episodes", MOST_EPISODES), ("seed", 2**32 - 1)):
        if key in file:
            check_shape(key, file[key], int(key == "episodes"), most)
    overriding = given.pop("environment_args", None) or {}
    file |= {key: value for key, value in given.items() if value is not None}
    if not file.get("environment"):
        raise FairgymError(
            f"environment is not given; set it in {path} or give its name to the command"
        )
    environment = file["environment"]
    common = Scenario("common to all", **_fields(file, f"{path}", environment))
    scenarios = []
    for name, content in several.items():
        where = f"scenario {name!r} in {path}"
        if content is not None and not isinstance(content, Mapping):
            raise FairgymError(f"{where} must have {', '.join(_OWN)}, got {describe(content)}")
        content = by_field(content or {}, f" in {where}")
        _check_keys(content, _OWN, where)
        own = Scenario(name, **_fields(content, where, environment))
        scenarios.append(_on_top(own, common, overriding))
    reference = file.get("reference")
    if reference is None:
        base = _on_top(Scenario("the reference"), common, overriding)
        baseline = base.baseline or default_baseline(
            make_checked(environment, base.environment_args)
        )
        base = dataclasses.replace(base, name=words(baseline), baseline=baseline)
        reference, scenarios = base.name, [base, *scenarios]
    return Plan(
        environment,
        tuple(scenarios),
        reference,
        check_shape("episodes", file.get("episodes", EPISODES), 1, MOST_EPISODES),
        check_shape("seed", file.get("seed", 0), 0, 2**32 - 1),
    )


def read_keys(path: str | Path) -> dict[str, Any]:
    """Read the keys and values of a file, and import the modules in its key `imports`.

    Raises:
        FairgymError: If the file cannot be read, or a module cannot be imported.
    """
    require_path(path, "scenarios")
    file = by_field(read_config_file(Path(path)), f" in {path}")
    import_listed(file)
    return file


def _on_top(own: Scenario, common: Scenario, overriding: Mapping[str, object]) -> Scenario:
    """Return a scenario whose own changes come after the common ones."""
    return dataclasses.replace(
        own,
        fixed=(*pairs_of(common.fixed), *pairs_of(own.fixed)),
        params=(*pairs_of(common.params), *pairs_of(own.params)),
        environment_args={**common.environment_args, **own.environment_args, **overriding},
        baseline=own.baseline or common.baseline,
    )


def _fields(content: Mapping[str, Any], where: str, environment: str) -> dict[str, Any]:
    """Return the fields of a scenario; an empty section counts as not given.

    Arguments of the environment are checked here, since flags may override them.
    """
    found = {key: content[key] for key in _OWN if content.get(key) is not None}
    if not isinstance(found.get("baseline", ""), str):
        raise FairgymError(f"baseline of {where} must be a name, got {found['baseline']!r}")
    for key in _SECTIONS:
        if key in found and not isinstance(found[key], Mapping):
            raise FairgymError(
                f"{key} of {where} must be names with values, got {describe(found[key])}"
            )
    for agent, value in found.get("fixed", {}).items():
        parts = [*value.values()] if isinstance(value, Mapping) else value
        if any(isinstance(part, bool) for part in (parts if isinstance(parts, list) else [parts])):
            raise FairgymError(f"{agent} in fixed of {where} must be {TAKES}, got {value!r}")
    if arguments := found.get("environment_args"):
        try:
            settings = environment_settings(environment)
            found["environment_args"] = checked(settings, by_field(arguments))
        except FairgymError as error:
            raise FairgymError(f"environment_args of {where}: {error}") from error
    return found


def _check_keys(content: Mapping[str, object], known: Iterable[str], where: str) -> None:
    for key in content:
        if key not in known:
            raise unknown("key", key, known, where=f" in {where}")
