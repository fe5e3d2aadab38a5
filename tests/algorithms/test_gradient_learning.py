"""What F-MAPPO and F-MADDPG learn where the best policy is known."""

import math
from typing import Any

import jax
import pytest
from tasks import Crowd, Spread, spread_by_plan

from fairgym.algorithms.f_maddpg import FMaddpg
from fairgym.algorithms.f_mappo import FMappo
from fairgym.fairness import Objective

# Worlds side by side take fewer operations than one after another.
TOGETHER = {"vmap_size": 8}

# Of F-MAPPO, where episodes are short and what is done shows at once; small networks do.
SHORT: dict[str, Any] = TOGETHER | {
    "num_steps": 50,
    "learning_rate": 5e-3,
    "gae_lambda": 0.95,
    "hidden": 8,
    "critic_hidden": 16,
}

# Of F-MADDPG: from fewer steps than its default of 512, which takes three times as long and learns
# no faster here.
SMALL_STEPS = TOGETHER | {"batch_size": 64}


def logs_of(some, env, seed):
    """The log of each epoch."""
    state, logs = some.init(jax.random.key(seed), env, Objective.direct(env)), []
    for _ in range(some.epochs):
        state, log = some.update(state)
        logs.append({name: float(value) for name, value in log.items()})
    return logs


@pytest.mark.parametrize(
    "some",
    [
        pytest.param(  # PPO by other settings, whose learning has tests of its own
            FMappo(
                epochs=2,
                episodes_per_epoch=4_000,
                evaluation_episodes=256,
                sampled_people=0,
                gamma=0.99,
                **SHORT,
            ),
            marks=pytest.mark.full,
        ),
        pytest.param(
            FMaddpg(
                epochs=2,
                episodes_per_epoch=4_000,
                evaluation_episodes=256,
                sampled_people=0,
                **SMALL_STEPS,
            ),
            marks=pytest.mark.full,
        ),
    ],
    ids=lambda some: type(some).__name__,
)
def test_a_bandit_over_people_and_shares(some):
    """E max(worth, 0) = 1 / sqrt(2 pi) is the best there is, with a first share of 0.7.

    The middle of all actions gains -0.16.
    """
    last = logs_of(some, Crowd(), 0)[-1]
    assert last["objective"] > 0.75 / math.sqrt(2 * math.pi)
    assert last["actions/split/first"] == pytest.approx(0.7, abs=0.15)


@pytest.mark.full
@pytest.mark.parametrize(
    "some",
    [
        FMappo(epochs=2, episodes_per_epoch=4_000, evaluation_episodes=64, gamma=0.95, **SHORT),
        FMaddpg(
            epochs=2,
            episodes_per_epoch=4_000,
            evaluation_episodes=64,
            gamma=0.9,
            gradient_steps=16,
            hidden=8,
            critic_hidden=32,
            actor_learning_rate=3e-3,
            learning_starts=1_000,
            **SMALL_STEPS,
        ),
    ],
    ids=lambda some: type(some).__name__,
)
def test_agents_learn_to_spread(some):
    """On the way from standing still to the best plan, twice as far as without agreement."""
    planned, alone, still = spread_by_plan(0, 300)
    end = logs_of(some, Spread(), 0)[-1]["objective"]
    assert 0.2 < (alone - still) / (planned - still) < 0.22
    assert (end - still) / (planned - still) > 0.45
