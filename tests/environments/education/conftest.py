"""One small country for all tests of the education environment, so that programs compile once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym

PEOPLE, SEMESTERS, APPLICANTS, PASS = 240, 40, 12, 25
# shares of the university: infrastructure, salaries, scholarships, mentorship, rollover
UNIVERSITY = (0.12, 0.42, 0.20, 0.06, 0.20)
PLANNER = (0.4, 0.3, 0.3, *[1 / 9] * 9)


@pytest.fixture(scope="session")
def env():
    return fairgym.make("education", population=PEOPLE, horizon=SEMESTERS, applicants=APPLICANTS)


@pytest.fixture(scope="session")
def params(env):
    """Few seats at first, units that are cheap and open soon, passes that end."""
    return env.default_params.replace(
        pass_length=float(PASS),
        units_at_start=2.0,
        seats_per_unit=15.0,
        faculty_salary=4_000.0,
        mentorship_cost=25_000.0,
        unit_base_cost=1e5,
        unit_cost=3e5,
        build_base_time=1.0,
        build_unit_time=1.25,
    )


@pytest.fixture(scope="session")
def transition(env):
    """One semester with injected noise."""
    return jax.jit(env.transition)


@pytest.fixture(scope="session")
def start(env):
    """A fresh state: `start(key, params)`."""
    return jax.jit(env.initial_state)


@pytest.fixture(scope="session")
def record(env):
    """Run and remember everything: `record(params, seed, agent=action or actions)`.

    An agent's action is one action (for people and applicants also one number), or a function
    `rng -> action`, called for every semester. Returns the steps as NumPy arrays. The run goes on
    after a failure.
    """
    run = jax.jit(
        lambda params, actions, key: fairgym.core.record(env, params, {}, key, script=actions)
    )

    def start(
        params,
        seed=0,
        admissions=lambda rng: np.round(rng.random(APPLICANTS), 1),
        university=UNIVERSITY,
        employer=lambda rng: rng.random(PEOPLE) * 0.5,
        planner=PLANNER,
    ):
        rng = np.random.default_rng(seed)
        given = {
            "admissions": admissions,
            "university": university,
            "employer": employer,
            "planner": planner,
        }
        actions = {}
        for agent, action in given.items():
            rows = [action(rng) if callable(action) else action for _ in range(SEMESTERS)]
            shape = env.action_space(agent).shape
            spread = [np.broadcast_to(np.asarray(row, np.float32), shape) for row in rows]
            actions[agent] = jnp.asarray(np.stack(spread))
        # arrays, so that every call has the same types
        params = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), params)
        return jax.tree.map(np.asarray, run(params, actions, jax.random.key(seed)))

    return start
