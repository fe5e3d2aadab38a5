"""The official suites of Gymnasium and PettingZoo, on every environment in both forms."""

import dataclasses
import functools
import json
import subprocess
import sys
import types
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import (
    api_test,
    max_cycles_test,
    parallel_api_test,
    parallel_seed_test,
    render_test,
    seed_test,
)
from pettingzoo.utils import parallel_to_aec
from systems import DECLARED, FIRST, OWN, SYSTEMS, small
from tiers import in_tiers

from fairgym.adapters import pettingzoo as adapter
from fairgym.adapters.gymnasium import GymnasiumEnv
from fairgym.adapters.pettingzoo import PettingZooEnv
from fairgym.wrappers import NeverEnds

# systems whose first observation does not depend on the seed, or may be the same by chance
SAME_START = ("attention", "bank_loans", "college_admissions", "doughnut")

# Forms of observations that an adapter has, with its arguments.
FORMS = {"vectors": {}, "dictionaries": {"structured": True}, "scaled": {"scaled": True}}
SHARED = {**FORMS, "scaled": {"scaled": True, "padded": True}}


@pytest.fixture(autouse=True)
def _few_warnings():
    """Warnings about shapes and names that PettingZoo has for anything but small games."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("form", in_tiers(SHARED, "vectors"))
@pytest.mark.parametrize("name", in_tiers(SYSTEMS, *FIRST))
def test_pettingzoo_suites_pass(name, form):
    def make(**settings):
        return PettingZooEnv(small(name), **SHARED[form], **settings)

    parallel_api_test(make(), num_cycles=20)
    parallel_seed_test(make, num_cycles=20)
    api_test(parallel_to_aec(make()), num_cycles=20)
    seed_test(lambda: parallel_to_aec(make()), num_cycles=20)


@pytest.mark.parametrize("name", in_tiers(SYSTEMS, *FIRST))
def test_pettingzoo_suite_of_cycles_passes(name):
    def make(**settings):
        return PettingZooEnv(NeverEnds(small(name)), **settings)  # random actions soon fail some

    module = types.SimpleNamespace(
        parallel_env=make, env=lambda **settings: parallel_to_aec(make(**settings))
    )
    max_cycles_test(module)


@pytest.mark.parametrize("name", in_tiers(SYSTEMS, "bank_loans", "loan_simple"))
def test_a_state_is_rendered_as_text_and_as_a_picture(name):
    def make(render_mode=None) -> Any:
        return parallel_to_aec(PettingZooEnv(small(name), render_mode=render_mode))

    render_test(make)
    env = PettingZooEnv(small(name), render_mode="ansi")
    env.reset(seed=0)
    assert f"{small(name).name}, step 0 of " in str(env.render())


@pytest.mark.parametrize("form", in_tiers(FORMS, "vectors"))
@pytest.mark.parametrize("name", in_tiers(SYSTEMS, *FIRST))
def test_gymnasium_checker_passes_for_every_agent(name, form):
    env = small(name)
    for agent in env.agents:
        one = GymnasiumEnv(env, agent=agent, render_mode="ansi", **FORMS[form])
        check_env(one, skip_render_check=True)


@pytest.mark.full
def test_gymnasium_finds_environments_by_name_without_an_import():
    code = (
        "import gymnasium, json\n"
        "name = 'fairgym.adapters.gymnasium:fairgym/loan_simple-v0'\n"
        "env = gymnasium.make(name, population=60, horizon=6)\n"
        "ids = [i for i in gymnasium.registry if i.startswith('fairgym/')]\n"
        "print(json.dumps([ids, env.reset(seed=0)[0].shape]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ids, shape = json.loads(done.stdout.splitlines()[-1])
    assert {f"fairgym/{name}-v0" for name in OWN} == set(ids)
    assert tuple(shape) == GymnasiumEnv(small("loan_simple")).observation_space.shape


@pytest.mark.parametrize("name", in_tiers([*OWN, *(f"+{name}" for name in DECLARED)], *FIRST))
def test_made_by_name_and_side_by_side(name):
    adapter = GymnasiumEnv(small(name))
    memory, name = name[0] == "+", name.removeprefix("+")
    env = small(name)
    sizes = {field.name for field in dataclasses.fields(env)} & {"population"}
    shapes: dict[str, Any] = {"horizon": 6} | {size: getattr(env, size) for size in sizes}
    shapes |= {"memory": DECLARED[name]} if memory else {}
    made = gymnasium.make(f"fairgym/{name}-v0", **shapes)
    assert made.spec is not None and made.spec.kwargs["name"] == name
    assert made.observation_space == adapter.observation_space
    make = functools.partial(gymnasium.make, f"fairgym/{name}-v0", **shapes)
    several = gymnasium.vector.SyncVectorEnv([make, make])
    seen: Any = several.reset(seed=3)[0]
    assert seen.shape == (2, *(made.observation_space.shape or ()))
    assert not np.array_equal(seen[0], seen[1]) or name in SAME_START
    several.action_space.seed(1)
    ended = 0
    for _ in range(8):
        seen, reward, terminated, truncated, _ = several.step(several.action_space.sample())
        assert seen.shape[0] == 2 and np.isfinite(reward).all()
        ended += int((terminated | truncated).sum())
    several.close()
    assert ended >= 2, "episodes of six steps end, and others follow"


def test_module_functions_make_both_forms():
    settings = {"population": 60, "horizon": 5, "objective": "direct", "max_cycles": 3}
    parallel = adapter.parallel_env("loan_simple", **settings)
    assert parallel.max_cycles == 3 and parallel.metadata["name"] == "loan_simple_v0"
    turns = adapter.env("loan_simple", **settings)
    turns.reset(seed=0)
    assert turns.agent_selection == "admissions"
