"""One small bank for all tests of the loan environment, so that programs are compiled once."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.environments._common.schedule import Schedule
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
def record(env):
    """Run and remember everything: `record(params, threshold, relief, seed)`.

    Returns NumPy arrays: `states[field][t]` before month t (t up to `MONTHS`, the last one after
    it), `people`, `noise`, `scores` (the queue's), `components` and `terminated` of month t, and
    `state_before(t)` as the environment's own type. The run goes on after a failure of the bank.
    """

    @jax.jit
    def run(params, threshold, relief, key):
        # rounded, so that some are tied
        scores = Function(lambda seen, key: jnp.round(jax.random.uniform(key, (PEOPLE,)), 1))
        rules = {
            "admissions": Function(lambda seen, key: threshold),
            "disbursement": scores,
            "debt_management": Function(lambda seen, key: relief),
        }
        return fairgym.core.record(
            env, params, rules, key, pick=lambda step: (step, env.people(step.before))
        )

    def as_numpy(struct):
        plain = {
            name: value.amounts if isinstance(value, Schedule) else value
            for name, value in vars(struct).items()
            if name != "by_person"
        }
        return {name: np.asarray(value) for name, value in plain.items()}

    def start(params, threshold=(0.6, 0.5), relief=(0.1, 0.03), seed=0):
        steps, people = run(params, jnp.array(threshold), jnp.array(relief), jax.random.key(seed))
        before, after = as_numpy(steps.before), as_numpy(steps.after)
        return SimpleNamespace(
            states={name: np.concatenate([before[name][:1], after[name]]) for name in before},
            people={name: np.asarray(value) for name, value in people.items()},
            noise=as_numpy(steps.noise),
            scores=np.asarray(steps.actions["disbursement"]),
            components=as_numpy(steps.components),
            terminated=np.asarray(steps.terminated),
            threshold=np.array(threshold),
            relief=np.array(relief),
            params={name: float(getattr(params, name)) for name in params.info()},
            state_before=lambda month: jax.tree.map(
                lambda x: jnp.asarray(np.asarray(x)[month]), steps.before
            ),
        )

    return start


@pytest.fixture(scope="session")
def episode(record, params):
    """A run in which loans are repaid, loans default and people wait."""
    run = record(params)
    ended, defaulted = (run.components[name].sum() for name in ("ended", "defaulted"))
    assert defaulted > 20
    assert ended - defaulted > 20
    assert run.components["waited"].sum() > 20
    return run
