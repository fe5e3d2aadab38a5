"""What clients of Gymnasium and PettingZoo expect beyond the official suites."""

import copy
import functools
import importlib.util
import math
import pickle
import subprocess
import sys
from typing import Any

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest
from systems import FIRST, OWN, SYSTEMS, small
from test_playing import Counting
from tiers import in_tiers

import fairgym
from fairgym.adapters import _table
from fairgym.adapters import gymnasium as adapter
from fairgym.adapters._flat import ends_of, within_ends
from fairgym.adapters.gymnasium import GymnasiumEnv
from fairgym.adapters.pettingzoo import PettingZooEnv
from fairgym.core import Entities, EntitySpace, FairgymError, Feature
from fairgym.utils.registry import environments


def doughnut(horizon=6):
    return fairgym.make("doughnut", population=5, horizon=horizon)


# ---------------------------------------------------------------- spaces of rewards


def test_only_vector_rewards_have_a_space():
    env = doughnut()
    for one in (GymnasiumEnv(env), PettingZooEnv(env)):
        assert not hasattr(one, "reward_space") and not hasattr(one, "reward_spaces")
    one, several = GymnasiumEnv(env, vector_rewards=True), PettingZooEnv(env, vector_rewards=True)
    assert one.reward_space.shape == (len(one.reward_names),) == (one.reward_dim,)
    assert several.reward_spaces == {"server": one.reward_space}
    assert several.reward_space("server") is several.reward_spaces["server"]


# ---------------------------------------------------------------- ends of observations

SPACE = EntitySpace(
    2,
    (Feature("fico", 300, 850), Feature("income", 0, math.inf, "dollars")),
    (Feature("time", 0, 40), Feature("constant", 0, 0)),
)


def seen(fico, income, time):
    features = jnp.array([[fico, income], [0.0, 0.0]])
    return Entities(features, jnp.array([True, False]), jnp.array([time, 0.0]))


def test_numbers_outside_their_declared_ends_are_set_to_them():
    low, high = ends_of(SPACE)
    assert low.tolist() == [0, 0, 0, 0, 0, 0, 0, 0]
    assert high.tolist() == [850, math.inf, 850, math.inf, 1, 1, 40, 0]
    near = within_ends(seen(200.0, 1e6, -3.0), SPACE, scaled=False)
    assert near.features.tolist() == [[300.0, 1e6], [0.0, 0.0]], "an empty row stays empty"
    assert near.context.tolist() == [0.0, 0.0]
    assert within_ends(seen(500.0, 2.0, 7.0), SPACE, scaled=False).features[0].tolist() == [500, 2]


def test_scaled_numbers_go_from_0_to_1_and_unbounded_ones_keep_their_unit():
    low, high = ends_of(SPACE, scaled=True)
    assert low.tolist() == [0] * 8 and high.tolist() == [1, math.inf, 1, math.inf, 1, 1, 1, 1]
    near = within_ends(seen(575.0, 1e6, 50.0), SPACE, scaled=True)
    assert near.features.tolist() == [[0.5, 1e6], [0.0, 0.0]]
    assert near.context.tolist() == [1.0, 0.0]


def test_scaled_observations_are_the_others_by_their_ends():
    env = fairgym.make("loan_simple", population=60, horizon=5)
    plain, scaled = (PettingZooEnv(env, scaled=scaled) for scaled in (False, True))
    ours, theirs = plain.reset(seed=2)[0], scaled.reset(seed=2)[0]
    for agent in env.agents:
        space = env.observation_space(agent)
        low = np.array([feature.low for feature in space.features])
        span = np.array([feature.high for feature in space.features]) - low
        size, people = space.capacity * len(space.features), space.capacity
        present = ours[agent][size : size + people, None]
        expected = present * (ours[agent][:size].reshape(people, -1) - low) / span
        rows = theirs[agent][:size].reshape(people, -1)
        np.testing.assert_allclose(rows, expected, rtol=1e-4, atol=1e-6)
        assert scaled.observation_space(agent).contains(theirs[agent])
        assert theirs[agent].max() <= 1.0 < ours[agent].max()
    box: Any = scaled.observation_space("admissions")
    assert np.all(box.low == 0.0) and np.all(box.high == 1.0)
    with pytest.raises(FairgymError, match="scaled must be False with structured observations"):
        PettingZooEnv(env, scaled=True, structured=True)


@pytest.mark.parametrize("name", in_tiers(OWN, "loan_simple"))
def test_clients_that_rescale_observations_find_their_ends(name):
    env = gymnasium.wrappers.RescaleObservation(
        GymnasiumEnv(small(name)), np.float32(0.0), np.float32(1.0)
    )
    first, _ = env.reset(seed=0)
    assert first.min() >= -1e-5 and first.max() <= 1.0 + 1e-5


# ---------------------------------------------------------------- ends of episodes


def test_a_step_of_nobody_after_the_end_is_empty():
    env = PettingZooEnv(doughnut(horizon=2))
    with pytest.raises(FairgymError, match="the episode is over; call reset"):
        env.step({})
    env.reset(seed=0)
    with pytest.raises(ValueError, match="no action for 'server'"):
        env.step({})
    for _ in range(2):
        env.step({"server": 0})
    assert env.step({}) == ({}, {}, {}, {}, {})
    with pytest.raises(FairgymError, match="the episode is over; call reset"):
        env.step({"server": 0})


@pytest.mark.filterwarnings("ignore:.*Overriding environment")
def test_ids_have_a_time_limit_that_follows_the_horizon():
    adapter._register()  # anew: other tests have made environments of other horizons
    for name in OWN:
        limit = gymnasium.spec(f"fairgym/{name}-v0").max_episode_steps
        assert limit == environments.get(name)().horizon
    env = gymnasium.make("fairgym/doughnut-v0", horizon=103)  # beyond the default of 100
    assert env.spec is not None and env.spec.max_episode_steps == 103
    env.reset(seed=0)
    over = [env.step(0)[3] for _ in range(103)]
    assert not any(over[:-1]) and over[-1]
    shorter = gymnasium.make("fairgym/doughnut-v0", max_episode_steps=2)
    shorter.reset(seed=0)
    assert [shorter.step(0)[3] for _ in range(2)] == [False, True]
    again = gymnasium.make("fairgym/doughnut-v0")
    assert again.spec is not None and again.spec.max_episode_steps == 100


# ---------------------------------------------------------------- pictures


@pytest.mark.parametrize("name", ["doughnut", "bank_loans"])
def test_a_state_is_drawn(name):
    """By stage and group where there are people, else what the agent observes."""
    env: Any = GymnasiumEnv(small(name), render_mode="rgb_array")
    env.reset(seed=0)
    pictures = [env.render()]
    env.step(0)
    pictures.append(env.render())
    for picture in pictures:
        assert picture.dtype == np.uint8 and picture.ndim == 3 and picture.shape[2] == 3
        assert picture.std() > 0.0
    assert not np.array_equal(*pictures)


@pytest.mark.parametrize("door", [GymnasiumEnv, PettingZooEnv])
def test_a_picture_that_cannot_be_drawn_is_refused(door, monkeypatch):
    with pytest.raises(FairgymError, match=r"render_mode must be None or one of .*, got 'video'"):
        door(doughnut(), render_mode="video")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(FairgymError, match=r"'rgb_array' needs matplotlib.*\[plot\]"):
        door(doughnut(), render_mode="rgb_array")


# ---------------------------------------------------------------- copies


def rest_of(env):
    """The rewards of the steps that are left, with the last observations and metrics."""
    paid, observations, infos = [], {}, {}
    for agent in env.possible_agents:
        env.action_space(agent).seed(4)
    while env.agents:
        actions = {agent: env.action_space(agent).sample() for agent in env.agents}
        observations, rewards, _, _, infos = env.step(actions)
        paid.append(rewards)
    return paid, {agent: one.tolist() for agent, one in observations.items()}, infos


@pytest.mark.parametrize("name", in_tiers(SYSTEMS, *FIRST))
def test_a_pickle_goes_on_with_the_episode(name):
    env = PettingZooEnv(small(name))
    unused = pickle.loads(pickle.dumps(env))
    env.reset(seed=6)
    assert {a: x.tolist() for a, x in unused.reset(seed=6)[0].items()} == {
        a: x.tolist() for a, x in copy.deepcopy(env).reset(seed=6)[0].items()
    }
    env.step({agent: env.action_space(agent).sample() for agent in env.agents})
    kept = pickle.dumps(env)
    _table._programs.cache_clear()  # as in another process
    copies = [pickle.loads(kept), pickle.loads(kept)]
    expected = rest_of(env)
    assert [rest_of(one) for one in copies] == [expected, expected]
    assert copies[0].reset()[0].keys() == env.reset()[0].keys(), "later seeds follow too"


def test_a_pickle_holds_fixed_agents_and_the_parameters_of_the_episode():
    space = fairgym.make("loan_simple", population=60, horizon=5).action_space("debt_management")
    env = GymnasiumEnv(
        fairgym.make("loan_simple", population=60, horizon=5),
        fixed={"debt_management": Counting(space)},
    )
    env.reset(seed=1, options={"params": {"deposit_rate": 0.03}})
    action = np.array([0.5, 0.5], np.float32)
    env.step(action)
    again = pickle.loads(pickle.dumps(env))
    assert again.step(action)[1:] == env.step(action)[1:]
    assert again.metrics() == env.metrics()
    assert float(again._table.params.deposit_rate) == np.float32(0.03)


@pytest.mark.full
def test_a_pickle_goes_on_in_another_process(tmp_path):
    env = PettingZooEnv(doughnut())
    env.reset(seed=6)
    env.step({"server": 1})
    (tmp_path / "env.pickle").write_bytes(pickle.dumps(env))
    code = (
        "import pickle, sys\n"
        "env = pickle.load(open(sys.argv[1], 'rb'))\n"
        "while env.agents:\n"
        "    print(env.step({'server': 2})[1]['server'])\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "env.pickle")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rewards = []
    while env.agents:
        rewards.append(env.step({"server": 2})[1]["server"])
    np.testing.assert_allclose([float(line) for line in done.stdout.split()], rewards, rtol=1e-5)
    assert len(rewards) == 5 and any(rewards)


@pytest.mark.full
def test_vector_environments_run_in_processes_that_are_spawned():
    make = functools.partial(
        gymnasium.make,
        "fairgym.adapters.gymnasium:fairgym/loan_simple-v0",
        population=60,
        horizon=3,
    )
    several = gymnasium.vector.AsyncVectorEnv([make, make], context="spawn")
    several.reset(seed=0)
    several.action_space.seed(0)
    for _ in range(4):
        seen, rewards, *_ = several.step(several.action_space.sample())
        assert seen.shape[0] == 2 and np.isfinite(rewards).all()
    several.close()
