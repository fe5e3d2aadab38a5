"""Elements of actions: the declared numbers that an agent decides."""

import dataclasses
from collections.abc import Sequence

from fairgym.core.errors import FairgymError


@dataclasses.dataclass(frozen=True)
class Element:
    """One number of an action.

    Attributes:
        name: slug, unique within the action; it is used in log keys and files.
        label: words for the number, without group; those of the name if empty.
        group: the group, or part of a partition, that it is for; "" if it is for all.
        of: name of the element (share of a budget) that this one is a split of.
        unit: unit of the value; "" for a plain number in [0, 1].
    """

    name: str
    label: str = ""
    group: str = ""
    of: str = ""
    unit: str = ""

    def __post_init__(self) -> None:
        """Fill in the label."""
        if not self.label:
            object.__setattr__(self, "label", self.name.replace("_", " "))

    @property
    def title(self) -> str:
        """Label and group: "threshold, advantaged"."""
        return f"{self.label}, {self.group.replace('_', ' ')}" if self.group else self.label


def per_group(
    name: str, groups: Sequence[str], *, label: str = "", of: str = "", unit: str = ""
) -> tuple[Element, ...]:
    """One element for each group, or a single one without groups.

    Args:
        name: slug of what is decided; that of an element is NAME_GROUP.
        groups: names of the groups, or of the parts that a budget is split over.
        label: words for the number; those of the name if empty.
        of: name of the element that these split.
        unit: unit of the values.

    Examples:
        >>> from fairgym.core import per_group
        >>> [(element.name, element.title) for element in per_group("relief", ("north", "south"))]
        [('relief_north', 'relief, north'), ('relief_south', 'relief, south')]
    """
    label = label or name.replace("_", " ")
    if not groups:
        return (Element(name, label, "", of, unit),)
    return tuple(
        Element(f"{name}_{group}".replace(" ", "_").lower(), label, group, of, unit)
        for group in groups
    )


def declared(elements: Sequence[Element | str]) -> tuple[Element, ...]:
    """Elements, where a plain text is the name of one."""
    found = tuple(e if isinstance(e, Element) else Element(e) for e in elements)
    names = [element.name for element in found]
    for name in names:
        if names.count(name) > 1:
            raise FairgymError(f"element {name!r} is declared twice; names differ within an action")
    return found
