"""Frozen pytrees with named fields: the base of parameters, components and states."""

import dataclasses
from typing import Any, TypeVar

import equinox as eqx
from jaxtyping import Array, Int

from fairgym.core.errors import FairgymError

S = TypeVar("S", bound="Struct")


class Struct(eqx.Module):
    """A frozen dataclass that is a JAX pytree, with `replace`.

    Subclass it with annotated fields; each field is a pytree leaf or subtree.
    """

    def replace(self: S, **changes: object) -> S:
        """Return a copy with some fields changed.

        Raises:
            FairgymError: A name is not a field of this struct.
        """
        names = [field.name for field in dataclasses.fields(self)]
        for name in changes:
            if name not in names:
                raise FairgymError(
                    f"{type(self).__name__} has no field {name!r}; its fields are: "
                    + ", ".join(names)
                )
        return dataclasses.replace(self, **changes)


def person_index(**kwargs: Any) -> Any:
    """Declare a state field whose values are row numbers of people.

    A field with the axis name "people", such as `Float[Array, " people"]`, has one entry per
    person. A field declared with `person_index` refers to people instead, with any axes.
    `fairgym.testing` handles both when it renumbers the people.
    """
    return eqx.field(metadata={"person_index": True}, **kwargs)


class State(Struct):
    """State of an environment; subclasses add their own fields.

    Attributes:
        time: Number of steps so far.
    """

    time: Int[Array, ""]


class PopulationState(State):
    """State of an environment of people. Per-person fields have the axis name "people".

    Attributes:
        group: Index of each person's group in `env.spec.groups`.
        stage: Index of each person's stage in `env.spec.stages`.
        by_person: Whether to count components per person instead of per group
            (`PopulationEnvironment.counting_people`); the dynamics do not depend on it.
    """

    group: Int[Array, " people"]
    stage: Int[Array, " people"]
    by_person: Any = eqx.field(static=True, default=False, kw_only=True)
