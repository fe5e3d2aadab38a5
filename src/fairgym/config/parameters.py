"""Environment parameters as users give them: numbers, relative changes, or one per group."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import jax.numpy as jnp
import numpy as np

from fairgym.algorithms import algorithms
from fairgym.config.settings import PARAMS, PLAIN, Setting, algorithm_settings, environment_settings
from fairgym.config.text import split_list, split_pair
from fairgym.core import Environment, FairgymError, Params
from fairgym.policies.named import element_hint
from fairgym.utils import make
from fairgym.utils.changes import (
    changed_number,
    is_percentage,
    is_relative,
    read_number,
    slug,
    unknown,
)

P = TypeVar("P", bound=Params)


@dataclasses.dataclass(frozen=True)
class Parameter(Setting):
    """Field of an environment's parameters.

    A value is a number, or a change of the default such as "+30%". A parameter that may differ
    between groups or regions also takes a list with one value each, or values by name; groups that
    are not named keep the default.

    Attributes:
        parts: Names of the groups or regions; empty if it is one number for all.
    """

    parts: tuple[str, ...] = ()

    @property
    def help(self) -> str:
        """Meaning of the parameter, its unit and range, and whether it may differ per group."""
        return super().help + (f"; one number, or one per {self.info.per}" if self.parts else "")

    @property
    def takes(self) -> str:
        """Allowed values, in words."""
        if not self.parts:
            return "a number"
        return f"one number, or one per {self.info.per}: {', '.join(self.parts)}"

    def check(self, value: object) -> Any:
        """Return the value of a configuration, with names spelled as declared.

        Raises:
            FairgymError: The value is no number, has the wrong length, or names an unknown group
                or one group twice.
        """
        if isinstance(value, Mapping) and self.parts:
            return self._by_name(value.items())
        if isinstance(value, list | tuple) and self.parts:
            if len(value) != len(self.parts):
                raise FairgymError(f"{self.name} must be {self.takes}, got {len(value)} numbers")
            pairs = zip(self.parts, value, strict=True)
            return tuple(self._one(part, entry) for part, entry in pairs)
        if is_relative(value):
            return value
        if is_percentage(value):
            return self.parse(value)
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            raise FairgymError(f"{self.name} must be {self.takes}, got {value!r}")
        return self._one("", value)

    def parse(self, text: str) -> Any:
        """Return the value of a flag: 390, 20%, +30%, South=390,West=200 or 300,300,390,200.

        Raises:
            FairgymError: The text is no such value.
        """
        parts = split_list(text)
        if self.parts and "=" in text.strip()[1:]:
            return self._by_name(map(split_pair, parts))
        if self.parts and len(parts) > 1:
            return self.check(parts)
        try:
            return text.strip() if is_relative(text) else read_number(text)
        except ValueError as error:
            raise FairgymError(f"{self.name} must be {self.takes}, got {text!r}") from error

    def value(self, given: object, before: Any) -> Any:
        """Return the number or numbers that the environment uses.

        Equal numbers for all groups become one number, which gives the same program and bits.

        Args:
            given: As `check` takes it.
            before: The value that relative changes start from, and that other groups keep.
        """
        given = self.check(given)
        if is_relative(given) and np.ndim(before):
            given = (given,) * len(self.parts)
        if not isinstance(given, Mapping | tuple):
            return changed_number(self.name, given, float(before) if is_relative(given) else None)
        pairs = given.items() if isinstance(given, Mapping) else zip(self.parts, given, strict=True)
        numbers = np.broadcast_to(np.asarray(before, np.float64), len(self.parts)).tolist()
        for part, entry in pairs:
            place = self.parts.index(part)
            numbers[place] = changed_number(f"{self.name}.{part}", entry, numbers[place])
        return numbers[0] if len(set(numbers)) == 1 else jnp.array(numbers, jnp.float32)

    def _by_name(self, pairs: Iterable[tuple[object, object]]) -> dict[str, Any]:
        """Return values by name, with names spelled as declared."""
        known, found = {slug(part): part for part in self.parts}, {}
        for part, entry in pairs:
            if slug(part) not in known:
                raise unknown(self.info.per, str(part), self.parts, "there are", f" of {self.name}")
            if known[slug(part)] in found:
                raise FairgymError(
                    f"{self.name} must name each {self.info.per} once, got {part} twice"
                )
            found[known[slug(part)]] = self._one(part, entry)
        return found

    def _one(self, part: object, value: Any) -> Any:
        """Return a number, or a relative change unchanged."""
        name = f"{self.name}.{part}" if part else self.name
        return value.strip() if is_relative(value) else changed_number(name, value, None)


def params_settings(env: Environment) -> list[Setting]:
    """Return the fields of an environment's parameters.

    A field takes a list if its default is one and it is not declared to differ per group.
    """
    settings: list[Setting] = []
    params = env.default_params
    if not isinstance(params, Params):
        raise FairgymError(
            f"default_params of {env.name} must be of a subclass of fairgym.core.Params, got"
            f" {type(params).__name__}"
        )
    for field in dataclasses.fields(params):
        info = field.metadata.get("param", PLAIN)
        default = getattr(params, field.name)
        if np.ndim(default) and not info.per:
            settings.append(Setting(PARAMS, field.name, tuple[float, ...], default, info))
            continue
        parts = env.spec.parts_of(info.per) if info.per else ()
        metavar = f"NUMBER|{info.per.upper()}=NUMBER,..." if parts else "NUMBER"
        settings.append(Parameter(PARAMS, field.name, float, default, info, metavar, parts))
    return settings


def settings_of(
    environment: str, algorithm: object, arguments: Mapping[str, Any] | None = None
) -> list[Setting]:
    """Return all settings of a run, those of the environment first.

    Where two have the same name, the first can be given without its section.

    Args:
        environment: Name of the environment.
        algorithm: Name of the algorithm.
        arguments: Constructor arguments of the environment; its defaults if None.

    Raises:
        FairgymError: The environment or algorithm is unknown, or an argument is invalid.
    """
    if not isinstance(algorithm, str):
        raise FairgymError(f"algorithm must be a name, got {algorithm!r}")
    settings = environment_settings(environment)
    algorithms.get(algorithm)  # an unknown name is told first
    env = make(environment, **(arguments or {}))
    return [*settings, *algorithm_settings(algorithm, env), *params_settings(env)]


def with_params(env: Environment, params: P, changes: Iterable[tuple[str, object]]) -> P:
    """Return parameters with some of them changed.

    Args:
        env: The environment.
        params: The parameters to change, such as `env.default_params`.
        changes: Pairs of a name and a value, applied one after the other. A name is that of a
            parameter, or PARAMETER.GROUP for one group or region ("beds_at_start.South"). A value
            is a number, a list with one number per group, numbers by group, or a text such as
            "20%" or "+30%"; the latter changes the value by that much. A number is used as given,
            even if the default scales with the population.

    Raises:
        FairgymError: A parameter or group is unknown, or a value is out of range.

    Examples:
        >>> import fairgym
        >>> from fairgym.config import with_params
        >>> env = fairgym.make("health", population=1_000, horizon=10)
        >>> with_params(env, env.default_params, [("beds_at_start.South", "+30%")]).beds_at_start
        Array([30., 30., 39., 30.], dtype=float32)
    """
    settings = {setting.name: setting for setting in params_settings(env)}
    for key, given in changes:
        name, dot, part = str(key).partition(".")
        name = slug(name)
        if name not in settings:
            if hint := element_hint(env, name, "the decision "):
                raise FairgymError(f"unknown parameter {name!r}{hint}")
            raise unknown("parameter", name, settings, f"{env.name} takes")
        setting, before = settings[name], getattr(params, name)
        if not isinstance(setting, Parameter):
            value = np.asarray(setting.check(given), np.float32)
        elif dot and not setting.parts:
            raise FairgymError(f"{key} is not a parameter: {name} is one number for all")
        else:
            given = setting.parse(given) if isinstance(given, str) and not dot else given
            value = setting.value({part: given} if dot else given, before)
        params = params.replace(**{name: value})
    return params
