"""Who is where: stages, applicants, admission, the queue and how long people wait in it."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from fairgym.environments.loan import Loan
from fairgym.testing import check_environment

IDLE, WAITING, REPAYING = range(3)
LEGAL = {
    (IDLE, IDLE),
    (IDLE, WAITING),
    (WAITING, WAITING),
    (WAITING, REPAYING),
    (REPAYING, REPAYING),
    (REPAYING, IDLE),
}


def act(env, threshold=(0.0, 0.0), scores=None, relief=(0.0, 0.0)):
    return {
        "admissions": jnp.array(threshold),
        "disbursement": jnp.zeros(env.population) if scores is None else jnp.array(scores),
        "debt_management": jnp.array(relief),
    }


def queue_of(state, rows, since=0):
    """The same people, those of `rows` waiting, nobody applying."""
    stage = np.zeros(state.stage.shape, np.int32)
    stage[rows] = WAITING
    return state.replace(
        stage=jnp.array(stage),
        waiting_since=jnp.full_like(state.waiting_since, since),
        applying=jnp.zeros_like(state.applying),
    )


# --------------------------------------------------------------------------- the contract


def test_it_keeps_the_contract(env, params, episode):
    """From the start, and later: queues, loans, defaults, fewer idle people than applicants."""
    later = jax.tree.map(lambda x: jnp.asarray(x[45]), episode.before)
    stage = np.array(later.stage)
    stage[np.flatnonzero(stage == IDLE)[5:]] = WAITING
    applying = np.asarray(later.applying) & (stage[np.asarray(later.applicants)] == IDLE)
    later = later.replace(stage=jnp.asarray(stage), applying=jnp.asarray(applying))
    assert np.bincount(stage).min() == 5 < env.applicants
    assert episode.components.defaulted[:45].sum() > 5
    check_environment(env, params=params, steps=4, later=later)


# --------------------------------------------------------------------------- every month


def test_people_are_conserved_and_move_only_along_the_pipeline(episode):
    """And every move is counted once, in the group of the person who makes it."""
    before, after, group = episode.before.stage, episode.after.stage, episode.before.group
    assert (group == group[0]).all()
    moves = {
        tuple(move) for move in np.unique(np.stack([before, after], -1).reshape(-1, 2), axis=0)
    }
    assert moves == LEGAL
    for name, (a, b) in {
        "approved": (IDLE, WAITING),
        "disbursed": (WAITING, REPAYING),
        "ended": (REPAYING, IDLE),
    }.items():
        moved = (before == a) & (after == b)
        for g in (0, 1):
            counted = (moved & (group == g)).sum(axis=1)
            np.testing.assert_array_equal(getattr(episode.components, name)[:, g], counted)


def test_the_months_of_all_who_wait_are_those_that_ended_and_those_that_go_on(env, episode):
    """Of each group: months left waiting = waits of the paid out + waits so far at the end."""
    end, totals = episode.after, jax.tree.map(lambda x: x.sum(axis=0), episode.components)
    waits = np.where(end.stage[-1] == WAITING, env.horizon - end.waiting_since[-1], 0)
    so_far = np.bincount(end.group[-1], waits, minlength=2)
    assert so_far.sum() > 0
    np.testing.assert_array_equal(totals.waiting, totals.waited + so_far)
    # and of all who were ever approved, some are never served and some wait in every month
    before = episode.before.stage
    approved, served = ((before == stage).any(axis=0) for stage in (WAITING, REPAYING))
    approved, served = approved | (end.stage[-1] == WAITING), served | (end.stage[-1] == REPAYING)
    rate = env.metrics["served_rate"].value(totals)
    np.testing.assert_allclose(rate, (approved & served).sum() / approved.sum(), rtol=1e-6)
    still = (before == WAITING) & (end.stage == WAITING)
    np.testing.assert_allclose(-env.metrics["waiting_rate"].value(totals), still.mean(), rtol=1e-6)


def test_a_queue_that_starves_looks_short_by_the_published_wait_alone(params):
    """Last come, first served: the queue is as long, and those whom it starves stay in it."""
    env = Loan(population=200, horizon=150)
    step = jax.jit(env.step)

    def measure(sign):
        state, rows = jax.jit(env.initial_state)(jax.random.key(0), params), []
        for month in range(env.horizon):
            scores = sign * state.waiting_since.astype(jnp.float32) / env.horizon
            _, state, components, *_ = step(
                jax.random.key(month), state, act(env, scores=scores), params
            )
            rows.append(components)
        totals = jax.tree.map(lambda *x: jnp.sum(jnp.stack(x), axis=0), *rows)
        return totals, {name: float(m.value(totals)) for name, m in env.metrics.items()}, rows[-1]

    (fair, in_turn, fair_end), (starving, starved, starving_end) = measure(-1.0), measure(1.0)
    assert fair.waited.sum() / fair.disbursed.sum() > 20.0
    assert starving.waited.sum() / starving.disbursed.sum() < 2.0
    assert starved["queue_time"] == pytest.approx(in_turn["queue_time"], rel=0.05)
    assert starved["payout_rate"] == pytest.approx(in_turn["payout_rate"], rel=0.05)
    assert starving_end.never_paid_out.sum() > 2.0 * fair_end.never_paid_out.sum()
    measured = [name for name in env.metrics if name not in env.spec.terms]
    assert measured == [
        *("queue_time", "payout_rate", "waiting_rate"),
        *("served_rate", "queue_disparity", "served_disparity"),
    ]


def test_the_census_counts_everybody(env, params, start):
    state = start(jax.random.key(0), params)
    stage = jnp.arange(env.population, dtype=jnp.int32) % 3
    census = env.census(state.replace(stage=stage))
    assert list(census) == ["idle", "waiting", "repaying"]
    assert sum(int(v.sum()) for v in census.values()) == env.population
    np.testing.assert_array_equal(
        census["repaying"], np.bincount(np.asarray(state.group)[np.asarray(stage) == 2])
    )


# --------------------------------------------------------------------------- applicants


def test_all_idle_people_apply_where_they_are_few(env, params, start, transition):
    state = start(jax.random.key(1), params)
    idle = [3, 77, 150]
    stage = jnp.full_like(state.stage, WAITING).at[jnp.array(idle)].set(IDLE)
    noise = env.noise(jax.random.key(2), params)
    state = state.replace(stage=stage, applying=jnp.zeros_like(state.applying))
    after, _, _ = transition(noise, state, act(env), params)
    assert sorted(np.asarray(after.applicants)[np.asarray(after.applying)].tolist()) == idle
    _, components, _ = transition(noise, after, act(env), params)
    assert components.applied.sum() == 3
    assert components.approved.sum() == 3


def test_every_idle_person_applies_equally_often(env, params, start, transition):
    """Of 40 idle people 12 are drawn: chi-square over 2,000 draws, whatever the row."""
    idle = np.arange(5, env.population, 7)[:40]
    state = start(jax.random.key(1), params)
    stage = jnp.full_like(state.stage, WAITING).at[idle].set(IDLE)
    state = state.replace(stage=stage, applying=jnp.zeros_like(state.applying))

    def drawn(key):
        noise = env.noise(key, params)
        after = env.transition(noise, state, act(env), params)[0]
        return jnp.zeros(env.population).at[after.applicants].add(after.applying)

    keys = jax.random.split(jax.random.key(3), 2_000)
    counts = np.asarray(jax.jit(lambda keys: jax.lax.map(drawn, keys).sum(axis=0))(keys))
    assert counts.sum() == 12 * 2_000
    assert counts[np.asarray(stage) != IDLE].sum() == 0
    # drawn without replacement: the variance of a count is 0.3 x 0.7 x n
    spread = ((counts[idle] - 600.0) ** 2 / (2_000 * 0.3 * 0.7)).sum()
    assert 0.001 < stats.chi2.sf(spread * 39 / 40, df=39) < 0.999


# --------------------------------------------------------------------------- admission


def test_a_score_equal_to_the_threshold_is_enough(env, params, start, transition):
    """A score of exactly 1 (reached by no real person) at the threshold 1."""
    state = start(jax.random.key(0), params)
    noise = env.noise(jax.random.key(0), params)
    best = state.replace(interest_rate=jnp.full_like(state.interest_rate, -10.0))
    assert (np.asarray(env.people(best)["qualification_score"]) == 1.0).all()
    _, components, _ = transition(noise, best, act(env, threshold=(1.0, 1.0)), params)
    assert components.approved.sum() == env.applicants
    _, components, _ = transition(noise, state, act(env, threshold=(1.0, 1.0)), params)
    assert components.approved.sum() == 0


def test_one_action_for_all_is_the_same_action_for_each_group(env, params, start, transition):
    """g = 1 against g = 2 with equal numbers, over some months."""
    one = dataclasses.replace(env, action_groups=1)
    assert one.action_space("admissions").shape == (1,)
    assert env.action_space("debt_management").shape == (2,)
    draw, rng = jax.jit(env.noise), np.random.default_rng(0)
    states = {1: start(jax.random.key(0), params), 2: start(jax.random.key(0), params)}
    months = {1: jax.jit(one.transition), 2: transition}
    ended = 0.0
    for month in range(20):
        noise, scores = draw(jax.random.key(month), params), rng.random(env.population)
        totals = {}
        for groups, state in states.items():
            actions = act(env, (0.6,) * groups, scores, (0.1,) * groups)
            states[groups], totals[groups], _ = months[groups](noise, state, actions, params)
        for x, y in zip(*(jax.tree.leaves(totals[groups]) for groups in (1, 2)), strict=True):
            np.testing.assert_array_equal(x, y)
        ended += totals[1].ended.sum()
    assert ended > 0


# --------------------------------------------------------------------------- the queue


@pytest.mark.parametrize("better", [0, 2])
def test_ties_break_at_random_and_not_by_row(env, params, start, better):
    """20 people tied for the places that `better` people leave: chi-square over 2,000 keys."""
    tied = np.arange(3, env.population, 11)[:20]
    above = np.array([100, 299])[:better]
    state = queue_of(start(jax.random.key(0), params), np.concatenate([tied, above]).astype(int))
    scores = np.full(env.population, 0.9)
    scores[tied] = 0.5
    scores[above] = 0.6

    def served(key):
        noise = env.noise(key, params)
        after = env.transition(noise, state, act(env, scores=scores), params)[0]
        return (after.stage == REPAYING).astype(jnp.float32)

    count = 2_000
    keys = jax.random.split(jax.random.key(5), count)
    counts = np.asarray(jax.jit(lambda keys: jax.lax.map(served, keys).sum(axis=0))(keys))
    places = env.disbursement_cap - better
    assert (counts[above] == count).all()
    assert counts[tied].sum() == places * count
    share = places / 20
    spread = ((counts[tied] - count * share) ** 2 / (count * share * (1 - share))).sum()
    assert 0.001 < stats.chi2.sf(spread * 19 / 20, df=19) < 0.999


# --------------------------------------------------------------------------- few people


def test_a_dozen_people(params):
    """The shapes that follow from 12 people; and a cap and a draw as large as the population."""
    few = Loan(population=12)
    assert few.applicants == few.disbursement_cap == 1
    env = Loan(population=12, horizon=20, applicants=12, disbursement_cap=12)
    state, step = jax.jit(env.initial_state)(jax.random.key(0), params), jax.jit(env.step)
    rng = np.random.default_rng(0)
    for month in range(env.horizon):
        actions = act(env, rng.random(2), rng.random(12), rng.random(2))
        obs, state, components, _, truncated, _ = step(
            jax.random.key(month), state, actions, params
        )
        assert set(np.asarray(state.stage).tolist()) <= {IDLE, WAITING, REPAYING}
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((obs, components)))
        assert bool(truncated) == (month == env.horizon - 1)
