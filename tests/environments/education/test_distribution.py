"""Random choices are uniform."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

UNIVERSITY, WORKFORCE = 1, 2


def test_ties_and_applicants_are_drawn_evenly(env, params, start):
    """Chi-square over 2,000 keys: who applies, who of equals is admitted, who gets a mentor."""
    keys, places = 2_000, 5
    state = start(jax.random.key(1), params)
    minority = np.flatnonzero(np.asarray(state.group) == 1)
    assert len(minority) > 15
    outside = np.arange(2, 150, 4)
    stage = np.full(env.population, WORKFORCE, np.int32)
    stage[outside] = 0
    stage[minority] = UNIVERSITY
    room = (len(minority) + places) / 75.0 + 1e-4
    params = params.replace(seats_per_unit=75.0, mentorship_cost=1.0, tuition=0.0)
    state = state.replace(
        stage=jnp.asarray(stage),
        entered_at=jnp.zeros_like(state.entered_at),
        time=jnp.int32(4),
        units=jnp.float32(room),
        applicants=jnp.asarray(outside[: env.applicants], jnp.int32),
        applying=jnp.ones(env.applicants, bool),
        account=jnp.float32(places),
    )
    actions = {
        "admissions": jnp.full(env.applicants, 0.5),
        "university": jnp.array([0.0, 0.0, 0.0, 1.0, 0.0]),
        "employer": jnp.zeros(env.population),
        "planner": jnp.asarray(np.array([0.5, 0.0, 0.5] + [1 / 9] * 9, np.float32)),
    }

    @jax.jit
    def count(keys):
        def one(key):
            noise = env.noise(key, params)
            after, components, _ = env.transition(noise, state, actions, params)
            entered = (after.stage == UNIVERSITY) | (after.left_at == 5)
            applies = jnp.zeros(env.population).at[after.applicants].add(after.applying)
            return entered, after.mentored, applies, components.entered.sum()

        entered, mentored, applies, total = jax.lax.map(one, keys)
        sums = [jnp.sum(x, axis=0, dtype=jnp.float32) for x in (entered, mentored, applies)]
        return (*sums, total)

    entered, mentored, applies, total = (
        np.asarray(x) for x in count(jax.random.split(jax.random.key(2), keys))
    )
    assert (total == places).all()
    assert mentored.sum() == keys * places

    def even(counts, share):
        spread = ((counts - keys * share) ** 2 / (keys * share * (1 - share))).sum()
        freedom = len(counts) - 1
        assert 1e-4 < stats.chi2.sf(spread * freedom / len(counts), df=freedom) < 1 - 1e-4

    rows = np.setdiff1d(outside[: env.applicants], minority)
    assert len(rows) == env.applicants
    even(entered[rows], places / len(rows))
    even(mentored[minority], places / len(minority))
    left = np.setdiff1d(outside, np.concatenate([rows, minority]))
    even(applies[left], env.applicants / len(left))
    assert applies.sum() == keys * env.applicants


def test_the_kinds_of_noise_are_independent(env, params):
    """Uniform in [0, 1) and uncorrelated; who applies and who of equals is admitted are one."""
    draw = jax.jit(jax.vmap(lambda key: env.noise(key, params)))
    noise = vars(draw(jax.random.split(jax.random.key(0), 400)))
    np.testing.assert_array_equal(noise["apply"], noise["admission"])
    columns = np.stack([np.asarray(x).ravel() for name, x in noise.items() if name != "apply"])
    assert columns.shape == (5, 400 * env.population)
    assert columns.min() >= 0.0 and columns.max() < 1.0
    assert np.abs(np.corrcoef(columns) - np.eye(5)).max() < 5.0 / np.sqrt(columns.shape[1])
    for column in columns:
        assert stats.kstest(column, "uniform").pvalue > 1e-4
