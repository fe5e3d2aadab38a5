"""Settings made from declared and plain fields of dataclasses."""

import dataclasses

import pytest

from fairgym.algorithms import algorithms
from fairgym.config.parameters import params_settings
from fairgym.config.settings import Setting, algorithm_settings, environment_settings, fields_of
from fairgym.config.text import read_pairs, read_seeds
from fairgym.core import FairgymError, param
from fairgym.utils.registry import environments


@dataclasses.dataclass
class Plain:
    """Fields of a custom class, one of them declared."""

    kept: int = 0
    name: str = param("a", "Name of a street.", choices=("a", "b"))
    speed: float | None = param(None, "Speed of cars.", unit="km/h", low=0)
    lanes: tuple[int, ...] = (1, 2)
    _own: int = 0
    made: int = dataclasses.field(default=0, init=False)


def test_a_setting_is_made_of_a_declared_field():
    kept, name, speed, lanes = fields_of(Plain, "params")
    assert (kept.help, kept.default, kept.takes) == ("", 0, "a whole number")
    assert (name.help, name.takes) == ("Name of a street.", "a or b")
    assert (speed.help, speed.takes) == ("Speed of cars. [km/h, at least 0]", "a number or none")
    assert speed.parse("none") is None and speed.parse("3") == 3.0
    assert lanes.parse("3, 4") == (3, 4)
    assert name.parse("b") == "b"
    with pytest.raises(FairgymError, match=r"^name must be a or b, got 'c'$"):
        name.parse("c")


SETTINGS: dict[str, Setting] = {
    f"{name}: {setting.name}": setting
    for registry, table in (
        (environments, environment_settings),
        (algorithms, algorithm_settings),
        (environments, lambda name: params_settings(environments.get(name)())),
    )
    for name in registry.names()
    if registry.get(name).__module__.startswith("fairgym.")  # other tests register their own
    for setting in table(name)
}


def test_every_setting_has_a_help():
    assert len(SETTINGS) > 400
    assert [name for name, setting in SETTINGS.items() if not setting.help.strip()] == []


@pytest.mark.parametrize(
    ("given", "seeds"),
    [
        ("0:3", (0, 1, 2)),
        (":2", (0, 1)),
        ("4", (4,)),
        (4, (4,)),
        ("0,3,7", (0, 3, 7)),
        ("0:2, 7", (0, 1, 7)),
        ([0, 3, 7], (0, 3, 7)),
        (["0:2", 7], (0, 1, 7)),
    ],
)
def test_seeds_are_read_in_one_way(given, seeds):
    assert read_seeds(given) == seeds


@pytest.mark.parametrize(
    "given", ["", "-1:2", "3:0", "0:", "1,1", [], [0, 0], [True], [1.0], [-1], None, {}, "0:20000"]
)
def test_what_are_no_seeds(given):
    with pytest.raises(FairgymError, match=r"seeds must be START:STOP or a list such as.*got .*"):
        read_seeds(given)


def test_pairs_are_named_once():
    assert read_pairs("fix", "A=B", ["x= 1", "y=a=b"]) == (("x", "1"), ("y", "a=b"))
    for given, message in (
        (["x"], "fix must be A=B, got 'x'"),
        (["=1"], "fix must be A=B, got '=1'"),
        (["x="], "fix must be A=B, got 'x='"),
        (["Mean X=1", "mean_x=2"], "fix must have each name once, got mean_x twice"),
    ):
        with pytest.raises(FairgymError, match=f"^{message}$"):
            read_pairs("fix", "A=B", given)
