"""Parameters as users give them: numbers, changes of the default, or one number per part."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import jax.numpy as jnp
import numpy as np

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

    A value is a number, or a change such as "+30%" of the default. A parameter that may differ
    over parts also takes a list with one for each part, or names of parts with values; the parts
    that are not named keep the default.

    Attributes:
        parts: Names of the parts; none if it is one number for all.
    """

    parts: tuple[str, ...] = ()

    @property
    def help(self) -> str:
        """Meaning of the parameter, its unit, and that it may differ over parts."""
        return super().help + (f"; one number, or one per {self.info.per}" if self.parts else "")

    @property
    def takes(self) -> str:
        """Values that it takes, in words."""
        if not self.parts:
            return "a number"
        return f"one number, or one per {self.info.per}: {', '.join(self.parts)}"

    def check(self, value: object) -> Any:
        """The value of a configuration; names of parts are spelled as they are declared.

        Raises:
            FairgymError: it is no number, or has another number of parts, unknown ones, or one
                twice.
        """
        if isinstance(value, Mapping) and self.parts:
            return self._by_name(value.items())
        if isinstance(value, list | tuple) and self.parts:
            if len(value) != len(self.parts):
                raise FairgymError(f"{self.name} has {len(value)} numbers; it takes {self.takes}")
            pairs = zip(self.parts, value, strict=True)
            return tuple(self._one(part, entry) for part, entry in pairs)
        if is_relative(value):
            return value
        if is_percentage(value):
            return self.parse(value)
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            raise FairgymError(f"{self.name} is {value!r}; it takes {self.takes}")
        return self._one("", value)

    def parse(self, text: str) -> Any:
        """The value of a flag: 390, 20%, +30%, South=390,West=200 or 300,300,390,200.

        Raises:
            FairgymError: the text is no such value.
        """
        parts = split_list(text)
        if self.parts and "=" in text.strip()[1:]:
            return self._by_name(map(split_pair, parts))
        if self.parts and len(parts) > 1:
            return self.check(parts)
        try:
            return text.strip() if is_relative(text) else read_number(text)
        except ValueError as error:
            raise FairgymError(f"{self.name} is {text!r}; it takes {self.takes}") from error

    def value(self, given: object, before: Any) -> Any:
        """The number or numbers that the environment gets.

        Equal numbers for all parts become one number: the same program, and so the same bits.

        Args:
            given: as `check` takes it.
            before: the value that relative changes start from, and that other parts keep.
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
        """Names of parts as they are declared, with their values."""
        known, found = {slug(part): part for part in self.parts}, {}
        for part, entry in pairs:
            if slug(part) not in known:
                raise unknown(self.info.per, str(part), self.parts, "there are", f" of {self.name}")
            if known[slug(part)] in found:
                raise FairgymError(
                    f"{self.name} names {part} twice; it takes each {self.info.per} once"
                )
            found[known[slug(part)]] = self._one(part, entry)
        return found

    def _one(self, part: object, value: Any) -> Any:
        """A number, or a relative change as it is."""
        name = f"{self.name}.{part}" if part else self.name
        return value.strip() if is_relative(value) else changed_number(name, value, None)


def params_settings(env: Environment) -> list[Setting]:
    """The fields of an environment's parameters.

    One whose default is a list, and that is not declared to differ over parts, takes a list.
    """
    settings: list[Setting] = []
    params = env.default_params
    if not isinstance(params, Params):
        raise FairgymError(
            f"the default_params of {env.name} are of type {type(params).__name__}; it takes a"
            " subclass of fairgym.core.Params"
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
    """All settings of a run, the environment's first; of equal names the first goes by it alone.

    Args:
        environment: name of the environment.
        algorithm: name of the algorithm.
        arguments: those of the environment; by default its own defaults.

    Raises:
        FairgymError: an unknown environment or algorithm, or an argument that it refuses.
    """
    if not isinstance(algorithm, str):
        raise FairgymError(f"algorithm is {algorithm!r}; it takes a name")
    return [
        *environment_settings(environment),
        *algorithm_settings(algorithm),
        *params_settings(make(environment, **(arguments or {}))),
    ]


def with_params(env: Environment, params: P, changes: Iterable[tuple[str, object]]) -> P:
    """Parameters with some of them changed.

    Args:
        env: the environment, whose groups and partitions name the parts of a parameter.
        params: the parameters before; those of `env.default_params`, say.
        changes: pairs of a name and a value, made one after the other. The name is that of a
            parameter, or PARAMETER.PART for one of its parts ("beds_at_start.South"); the value a
            number, a list with one for each part, names of parts with values, or a text such as
            "+30%", which changes the value before by so much. A number is taken as it is, also
            where the default is scaled with the population.

    Raises:
        FairgymError: an unknown parameter or part, or a value out of its range.

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
            raise FairgymError(f"{key} is no parameter: {name} is one number for all")
        else:
            given = setting.parse(given) if isinstance(given, str) and not dot else given
            value = setting.value({part: given} if dot else given, before)
        params = params.replace(**{name: value})
    return params
