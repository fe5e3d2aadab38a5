"""Colours that stay apart for everybody, and lines that differ by more than colour."""

import itertools

import numpy as np
import pytest

from fairgym.report import style, svg

# Machado, Oliveira and Fernandes 2009, table 1, severity 1; they act on linear RGB.
VISION = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
# Linear RGB to OKLab (Ottosson 2020), where a distance of 0.02 is just noticeable side by side.
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
# Five times the just noticeable: thin lines are matched with a legend some inches away.
APART = 0.1
CONTRAST = 3.0  # of graphics with their ground, WCAG 2.1, 1.4.11

PALETTES = {
    "groups": (style.GROUP_COLOURS, style.PAPER),
    "policies and baselines": ((*style.POLICY_COLOURS, style.BASELINE_COLOUR), style.PAPER),
    "groups, dark": (svg.DARK_GROUPS, svg.COLOURS[style.PAPER][1]),
    "policies and baselines, dark": (
        (*svg.DARK_POLICIES, svg.COLOURS[style.BASELINE_COLOUR][1]),
        svg.COLOURS[style.PAPER][1],
    ),
}


def linear(colour: str) -> np.ndarray:
    """Linear RGB of a hexadecimal colour."""
    value = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def seen(colour: str, vision: str) -> np.ndarray:
    """OKLab of a colour as somebody with this vision sees it."""
    rgb = np.clip(VISION[vision] @ linear(colour), 0.0, 1.0)
    return TO_LAB @ np.cbrt(TO_CONES @ rgb)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("palette", PALETTES)
def test_colours_stay_apart_for_every_vision(palette, vision):
    colours, _ = PALETTES[palette]
    for one, other in itertools.combinations(colours, 2):
        distance = np.linalg.norm(seen(one, vision) - seen(other, vision))
        assert distance >= APART, (one, other, round(float(distance), 3))


@pytest.mark.parametrize("palette", PALETTES)
def test_colours_stand_out_from_their_ground(palette):
    colours, ground = PALETTES[palette]
    luminance = np.array([linear(c) @ [0.2126, 0.7152, 0.0722] for c in (*colours, ground)])
    light, dark = (f(luminance[:-1], luminance[-1]) for f in (np.maximum, np.minimum))
    assert np.all((light + 0.05) / (dark + 0.05) >= CONTRAST)


def test_the_simulation_is_that_of_a_known_confusion():
    """Orange and brown that only people with all cones can tell apart."""
    one, other = "#d55e00", "#8a6d00"
    far, near = (np.linalg.norm(seen(one, v) - seen(other, v)) for v in ("all cones", "protanopia"))
    assert far > APART > 0.02 > near


@pytest.mark.parametrize("line", [style.group_line, style.part_line, style.policy_line])
def test_no_two_lines_differ_by_colour_alone(line):
    looks = [line(index) for index in range(12)]
    assert looks[0]["linestyle"] == "-"
    assert all(look["linestyle"] != "-" for look in looks[1:6])
    shapes = {(look["linestyle"], look.get("marker", "")) for look in looks}
    assert len(shapes) == len(looks)
    fixed = {style.baseline_line(index)["linestyle"] for index in range(6)}
    assert len(fixed) == 6 and "-" not in fixed


def test_an_algorithm_has_one_look_in_every_figure():
    alone = {name: style.policy_lines([name])[0] for name in style.ALGORITHMS}
    for several in (
        ["F-MACEM", "F-MAPPO", "F-MADDPG"],
        ["F-MACEM", "F-MAPPO", "ELBERT-PO", "A-PPO", "PPO-Lagrangian", "PPO"],
        ["EO", "PPO", "A-PPO", "F-PPO"],
        ["F-PPO", "PPO-Lagrangian", "ELBERT-PO"],
        ["F-PPO", "PPO", "A-PPO", "CPO"],
        ["F-PPO", "F-PPO-L"],
        ["FairQCM", "Full", "Min", "Reset", "RNN"],
        ["algorithm f-macem", "algorithm f-mappo, clip eps 0.1"],
    ):
        lines, points = style.policy_lines(several), style.policy_points(several)
        for name, line, point in zip(several, lines, points, strict=True):
            known = name.removeprefix("algorithm ").partition(",")[0].lower()
            known = {"fairqcm": "fair-qcm"}.get(known, known)
            if known in alone:
                assert line == alone[known], name
            assert point["color"] == line["color"]
        for column in ("color", "linestyle"):
            assert len({line[column] for line in lines}) == len(several)
        assert len({point["marker"] for point in points}) == len(several)


def test_policies_without_a_look_take_what_is_left():
    lines = style.policy_lines(["mine", "F-MACEM", "F-MACEM, again"])
    assert lines[1] == style.policy_lines(["f-macem"])[0]
    assert len({line["color"] for line in lines}) == 3
    assert style.policy_lines(["a", "b"]) == [style.policy_line(0), style.policy_line(1)]
    many = style.policy_lines([str(index) for index in range(9)])
    assert many == [style.policy_line(index) for index in range(9)]
