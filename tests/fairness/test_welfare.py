"""Welfare by name, against NumPy; names that there are not."""

import dataclasses
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from sized import of_size
from toys import Toy

from fairgym.core import Components, EnvironmentSpec, FairgymError, component
from fairgym.fairness import component_rows
from fairgym.fairness.welfare import welfare_scheme
from fairgym.fairness.welfare_names import is_welfare
from fairgym.utils.registry import environments
from fairgym.wrappers import Wrapper

ENV = Toy(population=12, horizon=6)
LOG = {"time": [0, 1, 1, 2], "group": [0, 0, 1, 1], "treated": [1, 2, 1, 3]}  # 3 and 4 in all
WELFARE = {
    "nash:treated": (np.log(4 * 5), np.log(7 * 7)),
    "max-min:treated": (3.0, 6.0),
    "gini:treated": (3.5 - 0.25, 6.0),
    "alpha:0:treated": (7.0, 12.0),
    "alpha:2:treated": (2 - 1 / 4 - 1 / 5, 2 - 2 / 7),
}


@pytest.mark.parametrize("name", WELFARE)
def test_welfare_at_the_end_over_that_of_equal_shares(name):
    scheme = welfare_scheme(ENV, name)
    expected, normaliser = WELFARE[name]
    assert is_welfare(name)
    assert float(scheme.of_trace(component_rows(LOG, ["treated"]))[0]) == pytest.approx(
        expected, rel=1e-6
    )
    assert scheme.normaliser == pytest.approx(normaliser, rel=1e-6)
    assert scheme.title.endswith(" of people times the level of their group")


class Useful(Wrapper):
    """A toy whose benefit is declared."""

    @cached_property
    def spec(self) -> EnvironmentSpec:
        return dataclasses.replace(super().spec, benefit="served")


def test_without_a_component_it_is_of_the_benefit():
    assert welfare_scheme(Useful(ENV), "gini") == welfare_scheme(ENV, "gini:served")
    assert welfare_scheme(Useful(ENV), "alpha:1") == welfare_scheme(ENV, "alpha:1:served")


# other tests register their own
BUILT_IN = [
    name
    for name in environments.names()
    if environments.get(name).__module__.startswith("fairgym.")
]


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_environment_declares_its_benefit(name):
    """A level is there in every step, so that a year of it is twelve months."""
    people = 4 if name == "lending_pool" else 60
    env = of_size(name, people, horizon=24)
    people = getattr(env, "population", 24)  # one in each step, where there are none
    scheme, info = welfare_scheme(env, "max-min"), env.spec.component_info[env.spec.benefit]
    steps = 24 if info.level else 1
    stakeholders = len(env.spec.parts_of(info.axes[0]))
    assert scheme.normaliser == pytest.approx(steps * people / stakeholders)


BAD = [
    (
        "fair",
        "unknown objective 'fair'; there is the welfare nash, max-min, gini, utilitarian, parity or"
        " alpha:ALPHA",
    ),
    ("anytime", "unknown objective 'anytime'; there is the welfare nash"),
    ("periodic:nash", "periodic:STEPS with a whole number from 1, got 'periodic:nash'"),
    ("periodic:0:nash", "periodic:STEPS with a whole number from 1, got 'periodic:0:nash'"),
    ("periodic:1.5:nash", "periodic:STEPS with a whole number from 1, got"),
    ("past-discounted:2:nash", "past-discounted:SHARE with a number from 0 to 1, got"),
    ("past-discounted:nan:nash", "past-discounted:SHARE with a number from 0 to 1, got"),
    ("anytime:alpha:x", "alpha:ALPHA with a number from 0, got 'anytime:alpha:x'"),
    ("parity:treated/", "the denominator of a rate must be one of .*treated.*, got ''"),
    ("parity:gain/treated", "component must have an entry per stakeholder of toy"),
    ("alpha", "objective must be alpha:ALPHA with a number from 0, got 'alpha'"),
    ("alpha:-1:treated", "alpha:ALPHA with a number from 0, got 'alpha:-1:treated'"),
    ("alpha:treated", "alpha:ALPHA with a number from 0, got 'alpha:treated'"),
    ("alpha:inf", "alpha:ALPHA with a number from 0, got 'alpha:inf'"),
    ("nash:", "must have a component after the colon, got 'nash:'"),
    ("nash", "nash:COMPONENT with one of .*members.* toy declares no benefit; got 'nash'"),
    ("nash:gain", "objective 'nash:gain': component must .*stakeholder of toy .*, got 'gain'"),
    ("nash:other", "objective 'nash:other': component must .*, got 'other'"),
]


@pytest.mark.parametrize(("name", "message"), BAD)
def test_other_names_are_refused_in_a_sentence(name, message):
    with pytest.raises(FairgymError, match=message):
        welfare_scheme(ENV, name)


def test_losses_have_no_welfare():
    """The log of a negative number."""

    class Lost(Components):
        treated: Any = component("losses", unit="", per="group", nonnegative=False)

    class Loss(Wrapper):
        @cached_property
        def spec(self):
            return dataclasses.replace(self.env.spec, components=Lost)

    with pytest.raises(FairgymError, match="cannot be negative, got 'nash:treated' of 'treated'"):
        welfare_scheme(Loss(ENV), "nash:treated")


OVER_TIME = {  # treated so far: (1, 0), (3, 1), (3, 4)
    "anytime:parity:treated": (-(1 + 2 + 1), 6 * 6.0),
    "anytime:nash:treated": (np.log(2) + np.log(4 * 2) + np.log(4 * 5), 6 * np.log(7 * 7)),
    "periodic:2:parity:treated": (-2.0, 6.0 * 3),
    # half of the past: (1, 0), (2.5, 1), (1.25, 3.5)
    "past-discounted:0.5:max-min:treated": (0 + 1 + 1.25, 6 * 2.0),
    "parity:treated": (-1.0, 6.0),
    "utilitarian:treated": (7.0, 12.0),
    # shares of the treated among the served: (1 / 2, none), (3 / 4, 1 / 2), (3 / 4, 4 / 5)
    "anytime:parity:treated/served": (-(0 + 0.25 + 0.05), 6.0),
}


@pytest.mark.parametrize("name", OVER_TIME)
def test_welfare_on_the_way(name):
    """Six steps of the environment have six assessments, or one for every period."""
    scheme = welfare_scheme(ENV, name)
    expected, normaliser = OVER_TIME[name]
    rows = component_rows(LOG | {"served": [2, 2, 2, 3]}, ["treated", "served"])
    assert float(scheme.of_trace(rows)[0]) == pytest.approx(expected, rel=1e-6)
    assert scheme.normaliser == pytest.approx(normaliser, rel=1e-6)
    assert is_welfare(name)
