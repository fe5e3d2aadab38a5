"""Configuration of a run: checked, with all defaults filled in."""

import contextlib
import dataclasses
import json
import numbers
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from fairgym.algorithms import Algorithm, algorithms
from fairgym.config.files import differences, import_listed
from fairgym.config.parameters import params_settings, settings_of, with_params
from fairgym.config.plain import (
    check_objective,
    complete_objective,
    metric_types,
    parse_objective,
    plain_objective,
    read_metrics,
    read_objective,
)
from fairgym.config.settings import (
    ALGORITHM,
    ENVIRONMENT,
    PARAMS,
    Setting,
    algorithm_settings,
    algorithms_with,
    checked,
    environment_settings,
)
from fairgym.config.text import by_field, field_name
from fairgym.core import AnyPolicy, Environment, FairgymError, Params
from fairgym.fairness import Metric, Objective, metric_classes, named_memories
from fairgym.fairness.measuring import measuring
from fairgym.fairness.weights import OWN, named_by_agent
from fairgym.policies import fixed_policies
from fairgym.policies.fixed import TAKES
from fairgym.utils import make
from fairgym.utils.changes import changed_number, did_you_mean, is_percentage
from fairgym.utils.registry import NO_MEMORY, Registry, environments

# Keys of config.json that are not part of the configuration.
RECORDS = ("format", "environment_version", "provenance")


class Job(NamedTuple):
    """Objects that a configuration describes.

    Attributes:
        config: The configuration with all defaults filled in.
        env: The environment.
        params: Parameters of the environment.
        objective: Objective of all agents, or one per trained agent.
        fixed: Policies of the agents that are not trained.
        algorithm: The algorithm with its hyperparameters.
    """

    config: "RunConfig"
    env: Environment
    params: Params
    objective: Objective | dict[str, Objective]
    fixed: dict[str, AnyPolicy]
    algorithm: Algorithm


@dataclasses.dataclass(frozen=True)
class RunConfig:
    """Configuration of a run: everything that determines its results.

    Attributes:
        environment: Name of the environment.
        environment_args: Arguments of the environment's constructor (population, horizon, ...).
        params: Values that differ from the environment's default parameters. A parameter that may
            differ between regions also takes a list or a mapping (`fairgym.config.parameters`).
        algorithm: Name of the algorithm.
        algorithm_args: Hyperparameters of the algorithm.
        objective: Name of the objective, as `Objective.named` takes it; weights, metric -> number,
            or as text "METRIC=WEIGHT,METRIC=WEIGHT"; or {"weights": ..., "metrics": ...} with
            custom metrics as plain data (`fairgym.config.plain`). An `Objective` is converted to
            such data. "own" gives every agent that is not in `objectives` the terms that concern
            it ("own:AGENT"). The default is the environment's `default_objective`.
        objectives: Objectives of single agents (non-cooperative): agent -> as `objective`.
        bounds: Disparities that are constrained instead of weighted: metric -> epsilon.
        fixed: Policies of agents that are not trained, as `fairgym.policies.fixed_policies` takes
            them: agent -> "random", the name of a rule or option, a rule "module:function", a
            number, one number per element of the action, or numbers by element.
        memory: Name of a memory to add to the observations, as `fairgym.make` takes it; "" for
            none. Instead of the file of an automaton, its content is kept.
        seed: Random seed of the run.

    Examples:
        >>> from fairgym import RunConfig
        >>> config = RunConfig.from_mapping({"environment": "loan_simple", "epochs": 3})
        >>> config.algorithm, config.algorithm_args
        ('f-macem', {'epochs': 3})
    """

    environment: str
    environment_args: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    params: Mapping[str, object] = dataclasses.field(default_factory=dict)
    algorithm: str = "f-macem"
    algorithm_args: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    objective: str | Mapping[str, object] | Objective = ""
    objectives: Mapping[str, str | Mapping[str, object] | Objective] = dataclasses.field(
        default_factory=dict
    )
    bounds: Mapping[str, float] = dataclasses.field(default_factory=dict)
    fixed: Mapping[str, object] = dataclasses.field(default_factory=dict)
    memory: str = ""
    seed: int = 0

    def __post_init__(self) -> None:
        """Turn objectives into plain data, and check the types of the fields."""
        if self.memory == NO_MEMORY:
            object.__setattr__(self, "memory", "")
        if isinstance(self.memory, str):
            object.__setattr__(self, "memory", named_memories.stored(self.memory))
        object.__setattr__(self, "objective", self._plain(self.objective))
        if isinstance(self.objectives, Mapping):
            own = {agent: self._plain(objective) for agent, objective in self.objectives.items()}
            object.__setattr__(self, "objectives", own)
        check_fields({field.name: getattr(self, field.name) for field in dataclasses.fields(self)})
        if self.objective == "":
            with contextlib.suppress(FairgymError):  # `build` reports an unknown environment
                default = make(self.environment).spec.default_objective
                object.__setattr__(self, "objective", default)

    @classmethod
    def from_mapping(cls, given: Mapping[str, Any]) -> "RunConfig":
        """Return a configuration from the keys of a file.

        Args:
            given: The fields of this class. Fields of the environment, its parameters or the
                algorithm may also stand at the top level, by name (epochs: 40). Keys may have
                hyphens instead of underscores, and `population_size` means `population`. Modules
                listed as `imports`, which register an environment or algorithm, are imported first.

        Raises:
            FairgymError: A key is unknown or given twice, a value is of the wrong type, or a
                module cannot be imported.
        """
        own = {field.name for field in dataclasses.fields(cls)}
        fields = by_field(given)
        import_listed(fields)
        for key in RECORDS:
            fields.pop(key, None)
        if not isinstance(fields.get("environment"), str):
            raise FairgymError(f"environment must be a name, got {fields.get('environment')!r}")
        sections: dict[str, dict[str, Any]] = {ENVIRONMENT: {}, PARAMS: {}, ALGORITHM: {}}
        entries: list[tuple[str, str, Any]] = []  # section if given, name, value
        for section in sections:
            content = fields.pop(section, {})
            if not isinstance(content, Mapping):
                raise FairgymError(f"{section} must be names with values, got {content!r}")
            entries += [(section, field_name(key), value) for key, value in content.items()]
        for key in [key for key in fields if key not in own]:
            section, _, name = key.rpartition(".")
            entries.append((section, field_name(name), fields.pop(key)))
        # the environment's arguments, on which its parameters depend
        named = {name: value for section, name, value in entries if section in ("", ENVIRONMENT)}
        known = environment_settings(fields["environment"])
        arguments = {s.name: s.check(named[s.name]) for s in known if s.name in named}
        settings = settings_of(
            fields["environment"], fields.get("algorithm", cls.algorithm), arguments
        )
        flat = {s.name: s for s in reversed(settings)}
        for section, name, value in entries:
            inside = {s.name: s for s in settings if s.section == section}
            found = (inside if section else flat).get(name)
            if found is None:
                raise _unknown_key(name, inside or [*own, *flat], section)
            if found.name in sections[found.section]:
                raise FairgymError(f"{found.name} is given twice; give one value")
            sections[found.section][found.name] = found.check(value)
        complete: dict[str, Any] = {**fields, **sections}
        if isinstance(bounds := fields.get("bounds"), Mapping):
            complete["bounds"] = {name: _percentage(name, bounds[name]) for name in bounds}
        check_fields(complete)
        return cls(**complete)

    def build(self) -> Job:
        """Make the environment, parameters, objective, fixed policies and algorithm.

        Raises:
            FairgymError: A name is unknown or a value is out of range.
        """
        arguments = checked(environment_settings(self.environment), self.environment_args)
        env = make(self.environment, memory=self.memory, **arguments)
        params = with_params(env, env.default_params, self.params.items())
        cls = algorithms.get(self.algorithm)
        hyperparameters = algorithm_settings(self.algorithm, env)
        known = [setting.name for setting in hyperparameters]
        for name in self.algorithm_args:
            if name not in known:
                raise _unknown_key(name, known, ALGORITHM)
        declared = env.spec.hyperparameters.get(self.algorithm, {})
        algorithm = cls(**{**declared, **checked(hyperparameters, self.algorithm_args)})
        fixed = fixed_policies(env, self.fixed)
        trained = [agent for agent in env.agents if agent not in fixed]
        if not trained:
            raise FairgymError(
                f"fixed covers every agent; leave at least one of {', '.join(env.agents)} to train"
                " (fairgym simulate runs fixed policies without training)"
            )
        for agent in self.objectives:
            if agent not in trained:
                raise FairgymError(
                    f"objectives has {agent!r}, which is not a trained agent; trained agents are:"
                    f" {', '.join(trained)}"
                )
        aims = bool(self.objectives) or self.objective == OWN
        names = named_by_agent(trained, self.objective, self.objectives)
        given = names if aims else {"": self.objective}
        further = read_metrics(env, given.values())
        built = {agent: self._objective(env, name, further, agent) for agent, name in given.items()}
        config = dataclasses.replace(
            self,
            environment_args=_values(env.unwrapped, environment_settings(self.environment)),
            params=_values(params, params_settings(env)),
            algorithm_args=_values(algorithm, hyperparameters),
            objective=complete_objective(env, self.objective),
            objectives={agent: complete_objective(env, name) for agent, name in names.items()}
            if aims
            else {},
        )
        measured = measuring(env, built.values())
        objective = built if aims else built[""]
        return Job(config, measured, params, objective, fixed, algorithm)

    def _objective(
        self, env: Environment, given: object, further: Mapping[str, Metric], agent: str
    ) -> Objective:
        try:
            objective = read_objective(env, given, further)
        except FairgymError as error:
            about = f"the objective of {agent!r}: " if agent else ""
            raise FairgymError(f"{about}{error}") from error
        return objective.bounded(self.bounds) if self.bounds else objective

    def _plain(self, objective: object) -> object:
        """Return an `Objective`, or weights as text ("profit=1"), as plain data."""
        if isinstance(objective, str):
            return parse_objective(objective)
        if not isinstance(objective, Objective):
            return objective
        return plain_objective(make(self.environment, **self.environment_args), objective)

    def differences(self, other: "RunConfig") -> list[tuple[str, Any, Any]]:
        """Return the differences of two complete configurations: (field, here, there)."""
        return differences(self.as_json(), other.as_json())

    def as_json(self) -> dict[str, Any]:
        """Return the configuration as JSON values, without `memory` if there is none."""
        values = json.loads(json.dumps(dataclasses.asdict(self)))
        if not self.memory:
            del values["memory"]
        return values


def registered(config: RunConfig) -> list[tuple[str, str, Registry]]:
    """Return the parts that may be custom, as tuples (kind, name, registry)."""
    return [
        ("environment", config.environment, environments),
        ("algorithm", config.algorithm, algorithms),
        *(
            ("class of metric", kind, metric_classes)
            for kind in metric_types([config.objective, *config.objectives.values()])
        ),
    ]


def check_fields(fields: Mapping[str, Any]) -> None:
    """Raise a FairgymError unless fields of a `RunConfig` are of the right types."""
    for field in ("environment", "algorithm", "memory"):
        if not isinstance(fields.get(field, ""), str):
            raise FairgymError(f"{field} must be a name, got {fields[field]!r}")
    for field in (ENVIRONMENT, PARAMS, ALGORITHM, "objectives", "bounds", "fixed"):
        if not isinstance(fields.get(field, {}), Mapping):
            raise FairgymError(f"{field} must be names with values, got {fields[field]!r}")
    seed = fields.get("seed", 0)
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise FairgymError(f"seed must be a whole number from 0 to {2**32 - 1}, got {seed!r}")
    for metric, value in fields.get("bounds", {}).items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise FairgymError(f"the bound of {metric!r} must be a number from 0, got {value!r}")
    objectives = {f"the objective of {a!r}": o for a, o in fields.get("objectives", {}).items()}
    for what, value in {"objective": fields.get("objective", ""), **objectives}.items():
        check_objective(what, value)
    for agent, value in fields.get("fixed", {}).items():
        entries = value if isinstance(value, list | tuple) else [value]
        number = all(isinstance(v, numbers.Real) and not isinstance(v, bool) for v in entries)
        if not (isinstance(value, str | Mapping) or (number and entries)):
            raise FairgymError(f"the fixed policy of {agent!r} must be {TAKES}, got {value!r}")


def _percentage(name: str, value: object) -> object:
    """Return a percentage as a number, and anything else as it is."""
    return changed_number(name, value, None) if is_percentage(value) else value


def _unknown_key(key: str, known: Iterable[str], section: str = "") -> FairgymError:
    """Return the error for an unknown key, with a hint at keys or algorithms."""
    names, full = sorted(known), f"{section}.{key}" if section else key
    hint = did_you_mean(key, names)
    if not hint and section in ("", ALGORITHM) and (having := algorithms_with(key)):
        hint = f"; these algorithms have it: {', '.join(having)}"
    there = f"{section} takes" if section in (ENVIRONMENT, PARAMS, ALGORITHM) else "there are"
    return FairgymError(f"unknown key {full!r}{hint or f'; {there}: ' + ', '.join(names)}")


def _values(thing: object, settings: list[Setting]) -> dict[str, Any]:
    """Return the fields of a dataclass as JSON values."""

    def plain(value: object) -> object:
        if not hasattr(value, "dtype"):
            return value
        numbers = np.asarray(value)
        if not numbers.ndim:
            return numbers.tolist()
        return [float(str(number)) for number in numbers]  # 0.1, not the float32 nearest to it

    return {s.name: plain(getattr(thing, s.name)) for s in settings}
