"""Looks: the colour, dash and marker of each line, by place and by algorithm."""

from collections.abc import Sequence
from typing import Any

# Groups and policies never share a colour, so that no colour can be read as both. Within a row all
# colours stay apart with each of the three colour deficiencies (`tests/report/test_palettes.py`).
GROUP_COLOURS = ("#1c69a7", "#d45e02", "#2f9d75", "#be78c9", "#6a4b03", "#3f2b8d")
POLICY_COLOURS = ("#6f0192", "#2c7812", "#b48d05", "#a13170", "#8b3fd4", "#374111")
BASELINE_COLOUR = "#7a8591"
# The first line of a figure is solid, each further one has a dash of its own: no two lines differ
# by colour alone, and lines that coincide are all seen.
DASHES = (
    "-",
    (0, (5, 2)),
    (0, (1, 1.2)),
    (0, (6, 1.5, 1, 1.5)),
    (0, (9, 2.5)),
    (0, (3, 1, 1, 1, 1, 1)),
)
# Of fixed policies, which are all grey and thin: none is solid.
BASELINE_DASHES = (*DASHES[1:4], (0, (12, 3)), (0, (6, 1.5, 1, 1.5, 1, 1.5)), (0, (2, 3)))
MARKERS = ("o", "s", "D", "^", "v", "P", "X")
# Look of an algorithm in every figure: places of its colour, its dash and its marker. Those that
# are compared with each other have no place in common, but for the benchmark's many. FairQCM's
# rivals go by their memories.
ALGORITHMS = {
    "f-macem": (0, 0, 0),
    "f-mappo": (1, 1, 1),
    "f-maddpg": (2, 2, 2),
    "elbert-po": (3, 3, 3),
    "a-ppo": (2, 4, 4),
    "ppo-lagrangian": (4, 5, 5),
    "ppo": (5, 2, 6),
    "cpo": (0, 1, 1),
    "f-ppo": (1, 0, 0),
    "f-ppo-l": (3, 1, 3),
    "f-ppo-s": (4, 3, 5),
    "r-ppo": (5, 5, 2),
    "grid-search": (5, 1, 4),
    "fair-qcm": (3, 0, 0),
    "tabular-fair-qcm": (0, 3, 2),
    "dqn": (4, 1, 1),
    "tabular-q": (1, 4, 5),
    "full": (1, 1, 1),
    "min": (2, 2, 2),
    "reset": (4, 3, 3),
    "rnn": (5, 5, 5),
    "drqn": (5, 5, 5),
}


def group_line(index: int) -> dict[str, Any]:
    """Return the look of a group's line, by its place in `env.spec.groups`."""
    return _line(GROUP_COLOURS, index)


def group_colour(index: int) -> str:
    """Return the colour of a group, by its place in `env.spec.groups`."""
    return GROUP_COLOURS[index % len(GROUP_COLOURS)]


def policy_line(index: int) -> dict[str, Any]:
    """Return the look of a policy's line, by its place."""
    return _line(POLICY_COLOURS, index)


def policy_lines(names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the looks of the policies' lines of one figure.

    Args:
        names: Names of the policies. One that names an algorithm gets its look in every figure;
            the others get the colours and dashes that are left.
    """
    places = _places(names)
    if places is None:
        return [policy_line(index) for index in range(len(names))]
    return [{"color": POLICY_COLOURS[i], "linestyle": DASHES[j]} for i, j, _ in places]


def policy_points(names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the looks of the policies' points of one figure, in the colours of `policy_lines`."""
    colours = [line["color"] for line in policy_lines(names)]
    places = _places(names) or [(0, 0, index % len(MARKERS)) for index in range(len(names))]
    return [
        {"color": c, "marker": MARKERS[k]} for c, (_, _, k) in zip(colours, places, strict=True)
    ]


def _places(names: Sequence[str]) -> list[tuple[int, int, int]] | None:
    """Return unique places of colour, dash and marker; None for more policies than colours."""
    if len(names) > len(POLICY_COLOURS):
        return None
    known = {_plain(name): look for name, look in ALGORITHMS.items()}
    found: list[tuple[int, int, int] | None] = []
    for name in names:
        look = known.get(_plain(name))
        clash = look and any(a == b for one in found if one for a, b in zip(one, look, strict=True))
        found.append(None if clash else look)
    left = [[i for i in range(len(MARKERS)) if i not in column] for column in _columns(found)]
    return [look or (left[0].pop(0), left[1].pop(0), left[2].pop(0)) for look in found]


def _columns(looks: Sequence[tuple[int, int, int] | None]) -> list[set[int]]:
    return [{look[i] for look in looks if look} for i in range(3)]


def _plain(name: str) -> str:
    """Return the algorithm in a policy's name: "fppo" for "algorithm f-ppo, clip eps 0.1"."""
    return name.removeprefix("algorithm ").partition(",")[0].lower().replace("-", "")


def baseline_line(index: int) -> dict[str, Any]:
    """Return the look of a fixed policy's line, by its place among the baselines."""
    return {
        "color": BASELINE_COLOUR,
        "linestyle": BASELINE_DASHES[index % len(BASELINE_DASHES)],
        "linewidth": 1.2,
    }


def one_of(index: int, count: int) -> dict[str, Any]:
    """Return the look of a line of one of `count` groups or people."""
    return group_line(index) if count <= len(GROUP_COLOURS) else part_line(index)


def part_line(index: int) -> dict[str, Any]:
    """Return the look of a line of one of many subgroups: that of a group, but thin."""
    return {**group_line(index), "linewidth": 1.2}


def _line(colours: Sequence[str], index: int) -> dict[str, Any]:
    """Return colour and dash by place; after the last colour, the same ones with markers."""
    turn, place = divmod(index, len(colours))
    line: dict[str, Any] = {"color": colours[place], "linestyle": DASHES[place]}
    if turn:
        marker = MARKERS[(turn - 1) % len(MARKERS)]
        line |= {"marker": marker, "markersize": 4, "markevery": 0.1}
    return line
