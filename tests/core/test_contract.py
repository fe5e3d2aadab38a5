"""The contract of environments, in a traced step."""

import dataclasses
import functools
from typing import Any

import jax.numpy as jnp
import pytest
from jax.core import Tracer
from toys import Toy

import fairgym
from fairgym.core import FairgymError
from fairgym.core.contract import check_contract
from fairgym.utils.registry import environments

SMALL = {"population": 34, "horizon": 5, "applicants": 20}
BUILT_IN = [name for name in environments.names() if name in environments._modules()]


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_environments_keep_it(name):
    fields = {field.name for field in dataclasses.fields(environments.get(name))}
    sizes: dict[str, Any] = {key: n for key, n in SMALL.items() if key in fields}
    check_contract(fairgym.make(name, **sizes))


def test_nothing_is_computed_and_equal_environments_are_checked_once():
    traced = []

    @dataclasses.dataclass(frozen=True)
    class Counting(Toy):
        def observe(self, state, params):
            traced.append(isinstance(state.time, Tracer))
            return super().observe(state, params)

    check_contract(Counting())
    assert len(traced) == 2 and all(traced), "at the start and after a step"
    check_contract(Counting())
    assert len(traced) == 2
    check_contract(Counting(seats=1))
    assert len(traced) == 4


def test_fields_that_cannot_be_hashed_are_no_fault():
    @dataclasses.dataclass(frozen=True)
    class Listing(Toy):
        extra: list = dataclasses.field(default_factory=list)

        def noise(self, key, params) -> Any:
            return None if self.extra else super().noise(key, params)

    check_contract(Listing())
    with pytest.raises(AttributeError, match="NoneType"):
        check_contract(Listing(extra=[1]))


def test_what_an_environment_caches_is_not_that_of_the_trace():
    @dataclasses.dataclass(frozen=True)
    class Caching(Toy):
        @functools.cached_property
        def zero(self):
            return jnp.zeros(()) + 1.0 - 1.0

        def noise(self, key, params):
            return super().noise(key, params).replace(luck=self.zero + jnp.zeros(self.population))

    env = Caching()
    check_contract(env)
    assert float(env.zero) == 0.0, "no tracer"


def test_an_error_of_ones_own_passes_through():
    @dataclasses.dataclass(frozen=True)
    class Failing(Toy):
        def noise(self, key, params):
            raise ZeroDivisionError("mine")

    for _ in range(2):
        with pytest.raises(ZeroDivisionError, match="mine"):
            check_contract(Failing())


def people(**changes):
    """A Toy with another `people`, or with other names in its declaration."""

    @dataclasses.dataclass(frozen=True)
    class Changed(Toy):
        @functools.cached_property
        def spec(self):
            given = {name: value for name, value in changes.items() if name != "people"}
            return dataclasses.replace(super().spec, **given)

        def people(self, state):
            found = super().people(state)
            return changes["people"](found) if "people" in changes else found

    return Changed()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"people": lambda found: found | {"odd": found["skill"][:2]}},
            r"'odd' in people\(\) .* must have the shape \[12\], .*, got float32\[2\]",
        ),
        ({"core_attribute": "ghost"}, r"core_attribute .* must name a feature .*, got 'ghost'"),
        ({"partitions": {"ghost": ("a", "b")}}, "partitions .* must name a feature"),
        ({"waits": {"queue": "ghost"}}, "waits .* must name a feature"),
    ],
)
def test_what_is_told_of_people(changes, message):
    with pytest.raises(FairgymError, match=message) as caught:
        check_contract(people(**changes))
    assert "check_environment" in str(caught.value) and "\n" not in str(caught.value)
