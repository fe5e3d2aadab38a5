"""Parameters of an environment: numbers with a unit, a meaning and an allowed range."""

import dataclasses
import math
import numbers
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Float

from fairgym.core.errors import FairgymError
from fairgym.core.struct import Struct

# The largest number of single precision, in which everything is computed.
LARGEST_NUMBER = float(np.finfo(np.float32).max)

# A parameter that may differ over parts, such as regions: one number for all, or one for each.
Number = float | Float[jax.Array, "..."]


@dataclasses.dataclass(frozen=True)
class ParamInfo:
    """Meaning and range of one parameter.

    Attributes:
        description: meaning in plain words, with the symbol of the source.
        unit: "per year", "months", ...
        low: smallest allowed value.
        high: largest allowed value.
        per: parts that it may differ over, one number each: "group", the environment's word for
            its groups, or one of its partitions ("region"); "" if it is one number for all.
    """

    description: str
    unit: str = ""
    low: float = -math.inf
    high: float = math.inf
    per: str = ""


def param(
    default: float,
    description: str,
    *,
    unit: str = "",
    low: float = -math.inf,
    high: float = math.inf,
    per: str = "",
) -> Any:
    """Declare a field of a `Params` struct with its default, meaning and range, as `ParamInfo`."""
    info = ParamInfo(description, unit, low, high, per)
    return eqx.field(default=default, metadata={"param": info})


class Params(Struct):
    """Base of the parameter structs: a frozen pytree of numbers, checked when it is made.

    Values may be Python numbers or arrays (to vmap over, or with one number per part where the
    parameter is declared so); traced arrays are not checked.

    Examples:
        >>> from fairgym.core import Params, param
        >>> class Clinic(Params):
        ...     visits: float = param(0.3, "share of people who come", low=0, high=1)
        >>> Clinic().replace(visits=0.5).visits
        0.5
        >>> Clinic(visits=2.0)
        Traceback (most recent call last):
        fairgym.core.errors.FairgymError: Clinic.visits is 2.0; it takes a number from 0 to 1
    """

    def __check_init__(self) -> None:
        """Raise a FairgymError for a value that is not a number or out of its range."""
        for field in dataclasses.fields(self):
            info = field.metadata.get("param")
            value = getattr(self, field.name)
            if info is None or isinstance(value, Tracer):
                continue
            if isinstance(value, jax.Array):
                value = np.asarray(value)  # under jit a comparison in JAX would be traced
            number = isinstance(value, numbers.Real) or (
                isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
            )
            low, high = max(info.low, -LARGEST_NUMBER), min(info.high, LARGEST_NUMBER)
            if not (number and np.all((value >= low) & (value <= high))):
                got = f"is {value!r}"
                if number and isinstance(value, np.ndarray) and value.ndim:
                    wrong = value[~((value >= low) & (value <= high))]
                    got = f"has the entry {wrong[0]:g}"
                raise FairgymError(
                    f"{type(self).__name__}.{field.name} {got}; it takes a number from {low:g} to"
                    f" {high:g}"
                )

    @classmethod
    def info(cls) -> dict[str, ParamInfo]:
        """Meaning and range of each field, by name."""
        return {
            field.name: field.metadata["param"]
            for field in dataclasses.fields(cls)
            if "param" in field.metadata
        }
