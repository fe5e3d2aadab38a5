"""One small bank for all tests of the simplified loan environment: compiled once."""

import jax
import pytest

import fairgym


@pytest.fixture(scope="session")
def env():
    return fairgym.make("loan_simple", population=200, horizon=20, disbursement_cap=6)


@pytest.fixture(scope="session")
def params(env):
    """Both groups well represented."""
    return env.default_params.replace(disadvantaged_share=0.4)


@pytest.fixture(scope="session")
def transition(env):
    """One step with injected noise."""
    return jax.jit(env.transition)


@pytest.fixture(scope="session")
def start(env):
    """A fresh state: `start(key, params)`."""
    return jax.jit(env.initial_state)
