"""With luck of their own the rewrites are the environments in the mean over many episodes."""

import jax
import jax.numpy as jnp
import numpy as np
import numpy_education
import numpy_health
import numpy_loan
import numpy_loan_simple
import pytest

import fairgym

EVEN = [0.25] * 4
# environment: class of the rewrite, shapes, episodes, changed parameters, and fixed actions; an
# agent without one scores at random
SYSTEMS = {
    "loan": (
        numpy_loan.NumpyLoan,
        {"population": 400, "horizon": 80},
        40,
        {"disadvantaged_share": 0.5, "bias_strength": 0.3, "relief_forgiven": 0.4},
        {"admissions": [0.6, 0.6], "debt_management": [0.04, 0.04]},
    ),
    "loan_simple": (
        numpy_loan_simple.NumpyLoanSimple,
        {"population": 200, "horizon": 20},
        80,
        {"disadvantaged_share": 0.5, "bias_strength": 0.3},
        {"admissions": [0.6, 0.6], "debt_management": [0.04, 0.04]},
    ),
    "health": (
        numpy_health.NumpyHealth,
        {"population": 400, "horizon": 36, "decision_period": 6},
        24,
        {
            "planner_budget": 4e7,
            "beds_at_start": 7.0,
            "build_bed_time": 0.5,
            "hospital_cost": 400.0,
        },
        {"insurer": [0.5] * 400, "planner": EVEN * 4},
    ),
    "education": (
        numpy_education.NumpyEducation,
        {"population": 300, "horizon": 40, "applicants": 14},
        60,
        {"pass_length": 25.0, "units_at_start": 2.0, "seats_per_unit": 15.0, "unit_cost": 3e5},
        {
            "university": [0.1, 0.4, 0.3, 0.1, 0.1],
            "employer": [0.25] * 300,
            "planner": [0.4, 0.3, 0.3, *[1 / 9] * 9],
        },
    ),
}


def sums(trace, episodes):
    """Column -> episodes: each entry of each component, in each half of the episode."""
    found = {}
    for name, values in trace.items():
        halves = np.asarray(values, np.float64).reshape(episodes, 2, -1, *np.shape(values)[2:])
        for place, column in enumerate(halves.sum(axis=2).reshape(episodes, -1).T):
            found[name, place] = column
    return found


@pytest.mark.full
@pytest.mark.parametrize("name", SYSTEMS)
def test_episodes_agree_in_the_mean(name):
    """Within 4.5 standard errors: so are the people that are drawn, and all that is random."""
    rewrite, shapes, episodes, changes, fixed = SYSTEMS[name]
    env = fairgym.make(name, **shapes)
    params = env.default_params.replace(**changes)
    size = {agent: env.action_space(agent).shape for agent in env.agents}

    def policy(agent):
        if agent in fixed:
            return lambda observation, key: jnp.array(fixed[agent])
        return lambda observation, key: jax.random.uniform(key, size[agent])

    policies = {agent: policy(agent) for agent in env.agents}
    run = jax.jit(lambda keys: jax.lax.map(trace_of, keys))

    def trace_of(key):
        return fairgym.rollout(env, params, policies, key, trace=True).trace

    ours = vars(run(jax.random.split(jax.random.key(1), episodes)))
    ours = {component: ours[component] for component in env.spec.component_info}
    theirs = {component: np.zeros(values.shape) for component, values in ours.items()}
    system = rewrite(env, params)
    for episode in range(episodes):
        rng = np.random.default_rng([episode, 77])
        system.reset(rng)
        for step in range(env.horizon):
            actions = {agent: fixed.get(agent, rng.random(size[agent])) for agent in env.agents}
            components, failed = system.step(actions)
            for component, value in components.items():
                theirs[component][episode, step] = value
            if failed:
                break
    ours, theirs = sums(ours, episodes), sums(theirs, episodes)
    for column, mine in ours.items():
        other = theirs[column]
        error = np.sqrt((mine.var(ddof=1) + other.var(ddof=1)) / episodes)
        assert abs(mine.mean() - other.mean()) <= 4.5 * error + 1e-6, column
