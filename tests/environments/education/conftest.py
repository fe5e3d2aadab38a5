"""One small country for all tests of the education environment, so that programs compile once."""

from types import SimpleNamespace

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


def values(tree):
    """Structs as nested dicts of NumPy arrays, wholes and floats in double precision."""
    if isinstance(tree, dict):
        return {name: values(value) for name, value in tree.items()}
    if hasattr(tree, "__dataclass_fields__"):
        return values({n: v for n, v in vars(tree).items() if n != "by_person"})
    array = np.asarray(tree)
    return array.astype(np.float64) if array.dtype == np.float32 else array


@pytest.fixture(scope="session")
def record(env):
    """Run and remember everything: `record(params, seed, agent=action or actions)`.

    An agent's action is one action (for people and applicants also one number), or a function
    `rng -> action`, called for every semester. Returns doubles: `states` before each semester and
    after the last, `people` likewise, `noise`, `actions`, `components` and `terminated` of each,
    and `state_before(semester)` as the environment's own type. The run goes on after a failure.
    """

    @jax.jit
    def run(params, actions, key):
        def pick(step):
            moments = (step.before, env.people(step.before)), (step.after, env.people(step.after))
            return step.replace(before=moments[0], after=moments[1])

        return fairgym.core.record(env, params, {}, key, pick=pick, script=actions)

    def joined(before, after):
        """Before the first step and after every one."""
        if isinstance(before, dict):
            return {name: joined(before[name], after[name]) for name in before}
        return np.concatenate([before[:1], after])

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
        steps = run(params, actions, jax.random.key(seed))
        moments = zip(steps.before, steps.after, strict=True)
        states, people = (joined(values(before), values(after)) for before, after in moments)
        return SimpleNamespace(
            states=states,
            people=people,
            noise=values(steps.noise),
            actions=values(steps.actions),
            components=values(steps.components),
            terminated=np.asarray(steps.terminated),
            params={name: float(getattr(params, name)) for name in params.info()},
            state_before=lambda semester: jax.tree.map(
                lambda x: jnp.asarray(np.asarray(x)[semester]), steps.before[0]
            ),
        )

    return start


@pytest.fixture(scope="session")
def episode(record, params):
    """A run in which people are rejected, graduate and return, and units are built."""
    run = record(params)
    assert not run.terminated.any()
    assert (run.components["applied"] - run.components["entered"]).sum() > 20
    assert all(run.components[name].sum() > 5 for name in ("bachelors", "masters", "doctorates"))
    assert run.states["units"][-1] > 6
    return run
