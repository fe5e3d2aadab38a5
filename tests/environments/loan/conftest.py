"""One small bank for all tests of the loan environment, so that programs are compiled once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.policies import Function

PEOPLE, MONTHS, APPLICANTS, CAP = 300, 90, 12, 5


@pytest.fixture(scope="session")
def env():
    return fairgym.make(
        "loan", population=PEOPLE, horizon=MONTHS, applicants=APPLICANTS, disbursement_cap=CAP
    )


@pytest.fixture(scope="session")
def params(env):
    """Both groups well represented; relief is forgiven in part, people pay in their own way."""
    return env.default_params.replace(
        disadvantaged_share=0.4, relief_forgiven=0.3, residual_share=0.2
    )


@pytest.fixture(scope="session")
def transition(env):
    """One month with injected noise."""
    return jax.jit(env.transition)


@pytest.fixture(scope="session")
def start(env):
    """A fresh state: `start(key, params)`."""
    return jax.jit(env.initial_state)


@pytest.fixture(scope="session")
def episode(env, params):
    """Steps, as NumPy arrays, in which loans are repaid, loans default and people wait."""
    rules = {
        "admissions": Function(lambda seen, key: jnp.array((0.6, 0.5))),
        "disbursement": Function(lambda seen, key: jax.random.uniform(key, (PEOPLE,))),
        "debt_management": Function(lambda seen, key: jnp.array((0.1, 0.03))),
    }
    run = jax.jit(lambda key: fairgym.core.record(env, params, rules, key))
    steps = jax.tree.map(np.asarray, run(jax.random.key(0)))
    ended, defaulted = (getattr(steps.components, name).sum() for name in ("ended", "defaulted"))
    assert defaulted > 20
    assert ended - defaulted > 20
    assert steps.components.waited.sum() > 20
    return steps
