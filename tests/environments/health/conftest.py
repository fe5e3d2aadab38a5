"""One small country for all tests of the health environment, so that programs are compiled once."""

import jax
import pytest

import fairgym

PEOPLE, MONTHS, PERIOD = 240, 30, 6


@pytest.fixture(scope="session")
def env():
    return fairgym.make("health", population=PEOPLE, horizon=MONTHS, decision_period=PERIOD)


@pytest.fixture(scope="session")
def params(env):
    """So few beds that people wait, so much money that beds are built and open."""
    return env.default_params.replace(
        planner_budget=2e7, beds_at_start=5.0, build_bed_time=0.5, hospital_cost=2_500.0
    )


@pytest.fixture(scope="session")
def step(env):
    """One month with a key."""
    return jax.jit(env.step)


@pytest.fixture(scope="session")
def start(env):
    """A fresh state: `start(key, params)`."""
    return jax.jit(env.initial_state)
