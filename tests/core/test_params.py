"""Declared fields: one helper, checked in one place, in plain dataclasses as in structs."""

import dataclasses
from typing import Literal

import pytest

from fairgym.core import FairgymError, ParamInfo, Params, check_params, param, params_info


@dataclasses.dataclass(frozen=True)
class Learner:
    envs: int = param(8, "Environments side by side.", low=1, high=64)
    rate: float = param(0.1, "Learning rate.", low=0, above=True)
    gamma: float = param(0.9, "Discount factor.", low=0, high=1)
    seed: int | None = param(None, "Seed.", low=0)
    pooled: bool = param(False, "Whether to pool.")
    kind: Literal["flat", "equivariant"] = param("flat", "Kind of network.")
    layers: tuple[int, ...] = param((4,), "Units of each layer.", low=1, high=9)
    name: str = param("", "Name.")
    part: int | None = param(None, "Part of the environments.", low=1, high="envs")
    own: object = None

    def __post_init__(self) -> None:
        check_params(self)


def test_good_values_pass():
    Learner(envs=64, rate=1, gamma=0, seed=3, pooled=True, kind="equivariant", layers=(), own=[])
    assert params_info(Learner)["gamma"].high == 1.0


@pytest.mark.parametrize(
    ("field", "value", "takes"),
    [
        ("envs", 0, "a whole number from 1 to 64"),
        ("envs", 2.0, "a whole number from 1 to 64"),
        ("envs", True, "a whole number from 1 to 64"),
        ("envs", None, "a whole number from 1 to 64"),
        ("rate", 0, r"a number above 0 to 3.40282e\+38"),
        ("rate", float("nan"), "a number above 0"),
        ("gamma", 1.5, "a number from 0 to 1"),
        ("gamma", "1", "a number from 0 to 1"),
        ("seed", -1, "a whole number from 0 to 2147483647"),
        ("pooled", 1, "True or False"),
        ("kind", "deep", "flat or equivariant"),
        ("layers", (0,), "whole numbers from 1 to 9"),
        ("layers", [4], "whole numbers from 1 to 9"),
        ("name", 3, "a text"),
        ("part", 9, "a whole number from 1 to 8"),
    ],
)
def test_a_bad_value_is_named(field, value, takes):
    with pytest.raises(FairgymError, match=rf"^{field} must be {takes}.*, got "):
        Learner(**{field: value})


def test_a_bound_that_is_bad_itself_is_named_first():
    with pytest.raises(FairgymError, match=r"^envs must be .* from 1 to 64, got 'many'"):
        Learner(envs="many", part=3)  # pyright: ignore[reportArgumentType]


def test_parameters_may_exclude_their_lower_end():
    class Rates(Params):
        rate: float = param(0.1, "Rate.", low=0, high=1, above=True)

    assert Rates(rate=1.0).rate == 1.0
    with pytest.raises(FairgymError, match=r"^Rates.rate must be a number above 0 to 1, got 0.0$"):
        Rates(rate=0.0)


def test_ranges_in_short():
    ranges = [{"low": 0, "high": 1}, {"low": 0, "above": True}, {"high": 2.5}, {}]
    ranges += [
        {"low": 1, "high": "population_size"},
        {"low": 0, "high": 1e6, "above": True},
        {"low": 1},
    ]
    assert [ParamInfo("", **one).range for one in ranges] == [
        "from 0 to 1",
        "above 0",
        "at most 2.5",
        "",
        "from 1 to population size",
        "above 0 to 1,000,000",
        "at least 1",
    ]
