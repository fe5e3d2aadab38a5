"""Ready-made reforms, rival worlds and uncertain parameters, as environments declare them."""

import dataclasses
import inspect
import re
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from two_servers import TwoServers

import fairgym
from fairgym.core import FairgymError
from fairgym.training import Scenario, simulate
from fairgym.training.reforms import FILE, Declared, World, declared_by, reform_of, world_of
from fairgym.training.scenarios import build_all
from fairgym.utils.registry import environments

BUILT_IN = sorted(environments._modules())
SIZES = {"loan", "loan_simple", "health", "education", "lending_pool", "college_admissions"}


def arguments(name) -> dict[str, Any]:
    return {"population": 60} if name in SIZES else {}


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_system_has_reforms_that_change_something(name):
    env = fairgym.make(name, **arguments(name))
    declared = declared_by(env)
    assert len(declared.reforms) >= 2 and declared.uncertain
    scenarios = [
        Scenario("today", environment_args=arguments(name)),
        *(
            Scenario(one.title, environment_args=arguments(name), reforms=(reform,))
            for reform, one in declared.reforms.items()
        ),
    ]
    base, *reformed = build_all(name, scenarios)
    for one in reformed:
        pairs = zip(jax.tree.leaves(one.params), jax.tree.leaves(base.params), strict=True)
        params = any(np.any(np.asarray(x) != np.asarray(y)) for x, y in pairs)
        assert params or one.specification != base.specification, one.name
    for world in declared.worlds.values():
        (other,) = build_all(name, scenarios[:1], world=world)
        pairs = zip(jax.tree.leaves(other.params), jax.tree.leaves(base.params), strict=True)
        assert any(np.any(np.asarray(x) != np.asarray(y)) for x, y in pairs), world.name


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_card_names_the_reforms_and_worlds_of_its_system(name):
    declared = declared_by(fairgym.make(name, **arguments(name)))
    card = Path(inspect.getfile(environments.get(name))).with_name("README.md").read_text()
    (section,) = re.findall(r"\n## Reforms and rival worlds\n(.*?)\n## ", card, re.DOTALL)
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", section, re.M))
    told = {n: one.title for n, one in declared.reforms.items()}
    assert rows == told | {n: one.about for n, one in declared.worlds.items()}


def test_the_rival_world_of_the_loan_card_is_declared():
    found = declared_by(fairgym.make("loan", population=60)).worlds
    assert {"residual_share": 0.75} in [world.params for world in found.values()]


def test_a_reform_may_hold_in_some_steps():
    env = fairgym.make("loan", population=60)
    reform = reform_of(env, "relief from 60 until 120")
    assert reform.fixed == {"debt_management.relief": "0.2 from 60 until 120"}
    assert reform.title == "20% relief for everybody from 60 until 120"
    assert reform_of(env, "Relief").name == "relief"


def test_a_world_has_a_name_or_is_a_value():
    env = fairgym.make("loan", population=60)
    assert world_of(env, "residual_share=0.75").params == {"residual_share": "0.75"}
    assert world_of(env, "defaults-as-in-data").params == {"residual_share": 0.75}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda env: reform_of(env, "nope"), "unknown reform 'nope'; there are: relief"),
        (lambda env: reform_of(env, "relief sixty"), "reform must be NAME.*got 'relief sixty'"),
        (lambda env: world_of(env, "nope"), "unknown world 'nope'"),
        (lambda env: world_of(env, "nope=1"), "unknown parameter 'nope'"),
        (lambda env: world_of(env, "=1"), "world must be NAME or NAME=VALUE, got '=1'"),
        (lambda env: world_of(env, "residual_share=2"), "residual_share must be a number from 0"),
        (lambda env: world_of(TwoServers(), "nope"), "two_servers declares none, got 'nope'"),
    ],
)
def test_what_is_not_declared_is_refused_in_a_sentence(make, message):
    with pytest.raises(FairgymError, match=message):
        make(fairgym.make("loan", population=60))


def test_worlds_hold_for_all_scenarios_before_their_own_changes():
    world = World("busy", "more jobs arrive", {"arrivals": 4.0})
    scenarios = [Scenario("today"), Scenario("more", params={"arrivals": "+50%"})]
    found: Any = simulate("two_servers", scenarios, episodes=3, worlds=[world])
    rates = {name: float(one.params.arrivals) for name, one in zip("ab", found.built, strict=True)}
    there = found.worlds["busy"]
    assert rates == {"a": 2.0, "b": 3.0} and there.world == world
    assert [float(one.params.arrivals) for one in there.built] == [4.0, 6.0]
    both = simulate("two_servers", scenarios, episodes=3, world=world)
    for name in ("today", "more"):
        ours, theirs = both.evaluations[name].totals, there.evaluations[name].totals
        np.testing.assert_array_equal(ours.served, theirs.served)


TEXTS = {
    "environment = 3": None,
    "environment = 'mine'\nreform = 1": "unknown key 'reform' in .*; did you mean 'reforms'",
    "environment = 'mine'\nreforms = 1": "reforms in .* must be names with values, got a number",
    "environment = 'mine'\nreforms = {'a b' = {}}": "must have names such as 'relief', got 'a b'",
    "environment = 'mine'\nreforms = {a = 1}": "a in .* must be a table, got a number",
    "environment = 'mine'\nreforms = {a = {}}": "title of a in .* must be a text",
    "environment = 'mine'\nreforms = {a = {title = 'x', fix = 1}}": "unknown key 'fix' in a of",
    "environment = 'mine'\nreforms = {a = {title = 'x', fixed = 1}}": "fixed of a .* must be names",
    "environment = 'mine'\nworlds = {a = {about = 'x'}}": "params of a in .* must be names",
    "environment = 'mine'\nuncertain = {arrivals = 1}": "arrivals in .* must be two numbers",
    "environment = 'mine'\nuncertain = {arrivals = [1, '+5%']}": "must be two numbers, or two",
    "environment = 'mine'\nuncertain = {nope = [1, 2]}": "unknown parameter 'nope'",
    "environment = ": "is not valid TOML",
}


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """An environment whose module lies in an empty folder."""

    @dataclasses.dataclass(frozen=True)
    class Mine(TwoServers):
        name = "mine"

    monkeypatch.setattr("inspect.getfile", lambda cls: str(tmp_path / "mine.py"))
    return Mine(), tmp_path / FILE


@pytest.mark.parametrize("text", TEXTS)
def test_a_file_that_cannot_be_is_refused_in_a_sentence(text, mine):
    env, file = mine
    assert declared_by(env) == Declared(), "nothing without a file"
    file.write_text(text)
    if TEXTS[text] is None:
        assert declared_by(env) == Declared(), "that of another environment"
        return
    with pytest.raises(FairgymError, match=TEXTS[text]) as caught:
        declared_by(env)
    assert "\n" not in str(caught.value)


def test_ones_own_environment_declares_its_own(mine):
    env, file = mine
    file.write_text(
        "environment = 'mine'\n[reforms.half]\ntitle = 'half to the left'\nfixed = {router = 0.5}\n"
        "[worlds.busy]\nabout = 'more jobs arrive'\nparams = {arrivals = 4.0}\n"
        "[uncertain]\narrivals = ['-50%', '+50%']\n"
    )
    found = declared_by(env)
    assert found.reforms["half"].fixed == {"router": 0.5}
    assert found.worlds["busy"].about == "more jobs arrive"
    assert [one.value(0.25) for one in found.uncertain] == ["-25.000000000%"]
