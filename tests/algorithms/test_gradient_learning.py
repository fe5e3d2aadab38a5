"""What F-MAPPO and F-MADDPG learn where the best policy is known."""

import math

import jax
import numpy as np
import pytest
from tasks import Crowd, Spread, spread_by_plan

from fairgym.algorithms.f_maddpg import FMaddpg
from fairgym.algorithms.f_mappo import FMappo
from fairgym.fairness import Objective
from fairgym.testing.toys import Toy

# Of F-MAPPO, where episodes are short and what is done shows at once.
SHORT = {"num_steps": 50, "learning_rate": 2e-3, "gae_lambda": 0.95}

# Of F-MADDPG: from fewer steps than its default of 512, which takes three times as long and learns
# no faster here.
SMALL_STEPS = {"batch_size": 64}

pytestmark = pytest.mark.usefixtures("fast_programs")


def gains(some, env, seed):
    """The objective after each epoch."""
    state = some.init(jax.random.key(seed), env, Objective.direct(env))
    found = []
    for _ in range(some.epochs):
        state, log = some.update(state)
        found.append(float(log["objective"]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "some",
    [
        FMappo(
            epochs=4,
            episodes_per_epoch=4_000,
            evaluation_episodes=256,
            sampled_people=0,
            gamma=0.99,
            **SHORT,
        ),
        FMaddpg(
            epochs=3,
            episodes_per_epoch=4_000,
            evaluation_episodes=256,
            sampled_people=0,
            **SMALL_STEPS,
        ),
    ],
    ids=lambda some: type(some).__name__,
)
def test_a_bandit_over_people(some):
    """E max(worth, 0) = 1 / sqrt(2 pi) is the best there is; the middle of all actions gains 0."""
    best = 1 / math.sqrt(2 * math.pi)
    for seed in range(3):
        assert gains(some, Crowd(), seed)[-1] > 0.75 * best


@pytest.mark.slow
def test_group_level_actions_find_their_targets():
    """F-MADDPG finds the constant optimum of `Toy`; the middle of all actions gains -0.17."""
    some = FMaddpg(epochs=3, episodes_per_epoch=8_000, gradient_steps=16, **SMALL_STEPS)
    env = Toy(population=6, horizon=3, places=3, seats=1)
    for seed in range(2):
        found = gains(some, env, seed)
        assert found[-1] > -0.02, found


@pytest.mark.slow
@pytest.mark.parametrize(
    "some",
    [
        FMappo(epochs=10, episodes_per_epoch=4_000, evaluation_episodes=64, gamma=0.95, **SHORT),
        FMaddpg(
            epochs=5,
            episodes_per_epoch=4_000,
            evaluation_episodes=64,
            gamma=0.9,
            gradient_steps=32,
            **SMALL_STEPS,
        ),
    ],
    ids=lambda some: type(some).__name__,
)
def test_agents_learn_to_spread(some):
    """On the way from standing still to the best plan, further than without agreement."""
    planned, alone, still = spread_by_plan(0, 300)
    ends = [gains(some, Spread(), seed)[-1] for seed in range(2)]
    way = (np.array(ends) - still) / (planned - still)
    assert way.min() > (alone - still) / (planned - still), way
    assert way.mean() > 0.45, way
