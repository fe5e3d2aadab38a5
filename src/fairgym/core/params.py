"""Declared numbers: fields with a default, a meaning, a unit and an allowed range.

`param` declares the parameters of an environment, its constructor arguments and the hyperparameters
of an algorithm. All are checked here.
"""

import dataclasses
import math
import numbers
import types
import typing
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Float

from fairgym.core.errors import FairgymError
from fairgym.core.struct import Struct

# The largest number in single precision, which all computations use.
LARGEST_NUMBER = float(np.finfo(np.float32).max)
LARGEST_INTEGER = 2**31 - 1

# A parameter that may differ between groups or regions: one number for all, or one for each.
Number = float | Float[jax.Array, "..."]


@dataclasses.dataclass(frozen=True)
class ParamInfo:
    """Meaning and range of one declared field.

    Attributes:
        description: Meaning in plain words, with the symbol of the source.
        unit: Unit: "per year", "months", ...
        low: Smallest allowed value.
        high: Largest allowed value, or the name of the field that holds it.
        above: Whether to exclude `low` itself.
        choices: Allowed values, if they are few.
        per: Axis along which the parameter may vary: "group", the environment's word for its
            groups, or another of its axes ("region"); "" for a single number.
    """

    description: str
    unit: str = ""
    low: float = -math.inf
    high: float | str = math.inf
    above: bool = False
    choices: tuple[object, ...] = ()
    per: str = ""

    @property
    def range(self) -> str:
        """Range in words: "from 0 to 1", "above 0", "at most 5"; "" for any number."""
        low = "" if self.low == -math.inf else f"{self.low:,.12g}"
        high = self.high.replace("_", " ") if isinstance(self.high, str) else f"{self.high:,.12g}"
        if not low:
            return "" if self.high == math.inf else f"at most {high}"
        if self.high == math.inf:
            return f"{'above' if self.above else 'at least'} {low}"
        return f"{'above' if self.above else 'from'} {low} to {high}"


def param(
    default: object,
    description: str,
    *,
    unit: str = "",
    low: float = -math.inf,
    high: float | str = math.inf,
    above: bool = False,
    choices: tuple[object, ...] = (),
    per: str = "",
) -> Any:
    """Declare a field with its default, meaning and range (`ParamInfo`).

    Use it for the fields of a `Params` struct, an environment or an algorithm.
    """
    info = ParamInfo(description, unit, low, high, above, choices, per)
    return eqx.field(default=default, metadata={"param": info})


def fraction(default: object, description: str, *, unit: str = "", per: str = "") -> Any:
    """Declare a number from 0 to 1 with `param`, such as a share, a probability or a score."""
    return param(default, description, unit=unit, low=0.0, high=1.0, per=per)


def params_info(cls: type) -> dict[str, ParamInfo]:
    """Return the meaning and range of each declared field of a dataclass, by name.

    A subclass that changes only the default of a field inherits its meaning and range.
    """
    bases = [base.__dict__.get("__dataclass_fields__", {}) for base in cls.__mro__]
    found = {}
    for field in dataclasses.fields(cls):
        declared = (base[field.name].metadata for base in bases if field.name in base)
        info = next((one["param"] for one in declared if "param" in one), None)
        if info is not None:
            found[field.name] = info
    return found


def check_params(declaring: object) -> None:
    """Raise a FairgymError unless every declared field has its declared type and range.

    The type is that of the annotation: `int`, `float`, `bool`, `str`, `Literal[...]` or a tuple of
    numbers, each optionally with None. Fields without `param` are not checked.

    Args:
        declaring: An instance, such as an environment or an algorithm.
    """
    declared = params_info(type(declaring))
    hints = typing.get_type_hints(type(declaring)) if declared else {}
    # first the fields that bound other fields
    for name, info in sorted(declared.items(), key=lambda item: isinstance(item[1].high, str)):
        if isinstance(info.high, str):
            info = dataclasses.replace(info, high=getattr(declaring, info.high))
        _check(name, getattr(declaring, name), hints[name], info)


def _check(name: str, value: object, kind: object, info: ParamInfo) -> None:
    """Raise a FairgymError unless one value has its type and range."""
    kinds = (
        typing.get_args(kind)
        if typing.get_origin(kind) in (typing.Union, types.UnionType)
        else (kind,)
    )
    if value is None and type(None) in kinds:
        return
    kind, *others = [one for one in kinds if one is not type(None)]
    if others:  # checked by the class itself
        return
    choices = info.choices or (
        typing.get_args(kind) if typing.get_origin(kind) is typing.Literal else ()
    )
    if choices:
        if value not in choices or isinstance(value, bool) != isinstance(choices[0], bool):
            raise FairgymError(f"{name} must be {' or '.join(map(str, choices))}, got {value!r}")
    elif kind in (bool, str):
        if not isinstance(value, bool if kind is bool else str):
            takes = "True or False" if kind is bool else "a text"
            raise FairgymError(f"{name} must be {takes}, got {value!r}")
    elif typing.get_origin(kind) is tuple:
        item = typing.get_args(kind)[0]
        if not isinstance(value, tuple) or any(not _fits(one, item, info) for one in value):
            given = list(value) if isinstance(value, tuple) else value
            raise FairgymError(f"{name} must be {_takes(item, info, plural=True)}, got {given!r}")
    elif kind in (int, float) and not _fits(value, kind, info):
        raise FairgymError(f"{name} must be {_takes(kind, info)}, got {value!r}")


def _bounds(kind: object, info: ParamInfo) -> tuple[float, float]:
    """Return the range, with the limits of the type where none are declared."""
    most = LARGEST_INTEGER if kind is int else LARGEST_NUMBER
    assert not isinstance(info.high, str)
    return max(info.low, -most), min(info.high, most)


def _fits(value: object, kind: object, info: ParamInfo) -> bool:
    """Return True for a number of this type within the range."""
    low, high = _bounds(kind, info)
    if isinstance(value, bool) or not isinstance(value, int | float if kind is float else int):
        return False
    return low <= value <= high and not (info.above and value == low)


def _takes(kind: object, info: ParamInfo, plural: bool = False) -> str:
    """Return a description of the allowed numbers."""
    low, high = _bounds(kind, info)
    start = f"{'above' if info.above else 'from'} {low:g}"
    if kind is int:
        return f"{'whole numbers' if plural else 'a whole number'} from {int(low)} to {int(high)}"
    return f"{'numbers' if plural else 'a number'} {start} to {high:g}"


class Params(Struct):
    """Base of parameter structs: a frozen pytree of numbers, checked on construction.

    Values may be Python numbers or arrays (to vmap over, or with one number per group or region if
    declared so). Traced arrays are not checked.

    Examples:
        >>> from fairgym.core import Params, param
        >>> class Clinic(Params):
        ...     visits: float = param(0.3, "share of people who come", low=0, high=1)
        >>> Clinic().replace(visits=0.5).visits
        0.5
        >>> Clinic(visits=2.0)
        Traceback (most recent call last):
        fairgym.core.errors.FairgymError: Clinic.visits must be a number from 0 to 1, got 2.0
    """

    def __check_init__(self) -> None:
        """Raise a FairgymError for a value that is not a number or is out of range."""
        for field in dataclasses.fields(self):
            info = field.metadata.get("param")
            value = getattr(self, field.name)
            if info is None or isinstance(value, Tracer):
                continue
            if isinstance(value, jax.Array):
                value = np.asarray(value)  # a JAX comparison would be traced under jit
            number = isinstance(value, numbers.Real) or (
                isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
            )
            low, high = _bounds(float, info)
            given = np.asarray(value if number else np.nan)
            inside = (given > low if info.above else given >= low) & (given <= high)
            if not np.all(inside):
                got = f"the entry {given[~inside][0]:g}" if given.ndim else f"{value!r}"
                raise FairgymError(
                    f"{type(self).__name__}.{field.name} must be {_takes(float, info)}, got {got}"
                )

    @classmethod
    def info(cls) -> dict[str, ParamInfo]:
        """Return the meaning and range of each field, by name."""
        return params_info(cls)
