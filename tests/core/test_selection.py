"""Sampling and serving people, against sorting in NumPy."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgym.core import fill_places, highest, sample_rows

N = 9
HIGHEST = {k: jax.jit(lambda s, e, p, k=k: highest(s, e, k, p)) for k in (1, 4, N)}
SAMPLE = {k: jax.jit(lambda p, e, k=k: sample_rows(p, e, k)) for k in (1, 4, N)}

scores = st.lists(st.sampled_from([-2.0, 0.0, 0.5, 0.5, 1.0]), min_size=N, max_size=N)
flags = st.lists(st.booleans(), min_size=N, max_size=N)
priorities = st.permutations([i / N for i in range(N)])


@settings(max_examples=150)
@given(scores, flags, priorities, st.sampled_from([1, 4, N]))
def test_highest_is_the_top_of_a_sort_by_score_then_priority(score, eligible, priority, count):
    score, eligible, priority = (np.array(x) for x in (score, eligible, priority))
    rows, taken = HIGHEST[count](
        jnp.asarray(score, jnp.float32), jnp.asarray(eligible), jnp.asarray(priority, jnp.float32)
    )
    candidates = np.flatnonzero(eligible)
    best = candidates[np.lexsort((-priority[candidates], -score[candidates]))][:count]
    assert rows.shape == taken.shape == (count,)
    assert int(taken.sum()) == min(count, eligible.sum())
    assert set(np.asarray(rows)[np.asarray(taken)].tolist()) == set(best.tolist())
    assert len(set(np.asarray(rows).tolist())) == count, "a row twice would be written twice"


@settings(max_examples=150)
@given(flags, priorities, st.sampled_from([1, 4, N]))
def test_sample_rows_takes_eligible_rows_once(eligible, priority, count):
    eligible, priority = np.array(eligible), np.array(priority)
    rows, taken = SAMPLE[count](jnp.asarray(priority, jnp.float32), jnp.asarray(eligible))
    candidates = np.flatnonzero(eligible)
    best = candidates[np.argsort(-priority[candidates])][:count]
    assert set(np.asarray(rows)[np.asarray(taken)].tolist()) == set(best.tolist())
    assert len(set(np.asarray(rows).tolist())) == count


@pytest.mark.parametrize("how", ["sample", "ties"])
def test_everybody_eligible_is_as_likely(how):
    """5 eligible of 9, 2 places: each is chosen in 2/5 of the samples, to 5 standard errors."""
    eligible = jnp.array([True, False, True, True, False, False, True, True, False])
    trials = 20_000
    priority = jax.random.uniform(jax.random.key(0), (trials, N))
    if how == "sample":
        choose = jax.vmap(lambda p: sample_rows(p, eligible, 2))
    else:
        choose = jax.vmap(lambda p: highest(jnp.zeros(N), eligible, 2, p))
    rows, taken = jax.jit(choose)(priority)
    counts = np.bincount(np.asarray(rows)[np.asarray(taken)], minlength=N)
    assert np.all(counts[~np.asarray(eligible)] == 0)
    error = np.sqrt(0.4 * 0.6 / trials)
    np.testing.assert_allclose(counts[np.asarray(eligible)] / trials, 0.4, atol=5 * error)


def test_a_clear_winner_needs_no_tie_break():
    score = jnp.array([0.1, 0.9, 0.5, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0])
    eligible = jnp.ones(N, bool)
    served = [
        set(HIGHEST[4](score, eligible, jax.random.uniform(jax.random.key(s), (N,)))[0].tolist())
        for s in range(5)
    ]
    assert all(rows == {1, 2, 3, 4} for rows in served)


def test_nobody_is_eligible():
    nobody = jnp.zeros(N, bool)
    assert not HIGHEST[4](jnp.ones(N), nobody, jnp.ones(N))[1].any()
    assert not SAMPLE[4](jnp.ones(N), nobody)[1].any()


@pytest.mark.parametrize("name", ["highest", "sample_rows"])
def test_no_full_sort_of_the_population(name):
    """A full sort costs more than the rest of a step: selections compile to top-k."""
    n, k = 10_000, 100
    uniform, everybody = jnp.ones(n), jnp.ones(n, bool)
    if name == "highest":
        function, arguments = (lambda s, e, p: highest(s, e, k, p)), (uniform, everybody, uniform)
    else:
        function, arguments = (lambda p, e: sample_rows(p, e, k)), (uniform, everybody)
    text = jax.jit(function).lower(*arguments).compile().as_text() or ""
    assert "TopK" in text or "topk" in text
    assert not re.search(rf"\[{n}\][^=]*\bsort\(", text)


# ------------------------------------------------------------------------------- places of groups

GROUPS = 3
FILL = jax.jit(fill_places)
groups = st.lists(st.integers(0, GROUPS - 1), min_size=N, max_size=N)
places = st.lists(st.integers(-2, N + 1), min_size=GROUPS, max_size=GROUPS)
wild = st.lists(
    st.sampled_from([-3e38, -2.0, -2e-38, 0.0, 2e-38, 0.5, 0.50000006, 1.0, 3e38]),
    min_size=N,
    max_size=N,
)


def filled(score, eligible, group, places, priority):
    """As `fill_places`, by sorting each group in NumPy."""
    taken = np.zeros(len(score), bool)
    for g, free in enumerate(places):
        here = np.flatnonzero(eligible & (group == g))
        best = here[np.lexsort((-priority[here], -score[here]))]
        taken[best[: max(0, int(free))]] = True
    return taken


def fill(score, eligible, group, places, priority):
    return np.asarray(
        FILL(
            jnp.asarray(score, jnp.float32),
            jnp.asarray(eligible),
            jnp.asarray(group, jnp.int32),
            jnp.asarray(places, jnp.float32),
            jnp.asarray(priority, jnp.float32),
        )
    )


@settings(max_examples=300)
@given(st.one_of(scores, wild), flags, groups, places, priorities)
def test_places_go_to_the_top_of_a_sort_in_each_group(score, eligible, group, places, priority):
    score, eligible, group, priority = (np.array(x) for x in (score, eligible, group, priority))
    score = score.astype(np.float32)
    found = fill(score, eligible, group, places, priority)
    np.testing.assert_array_equal(found, filled(score, eligible, group, places, priority))


@pytest.mark.parametrize("kind", ["distinct", "few scores", "all equal", "close"])
def test_many_people_and_places(kind):
    """Against sorting; scores so close that only their last bits differ, too."""
    n = 3_000
    rng = np.random.default_rng(0)
    score = {
        "distinct": rng.random(n),
        "few scores": rng.integers(0, 4, n) / 3.0,
        "all equal": np.full(n, 0.5),
        "close": 1.0 + rng.integers(0, 40, n) * 2.0**-23,
    }[kind].astype(np.float32)
    eligible, group = rng.random(n) < 0.7, rng.integers(0, GROUPS, n)
    priority = (rng.permutation(n) / n).astype(np.float32)
    for places in ([0, 1, 500], [n, 400, 0], [3, 2, 699]):
        found = fill(score, eligible, group, places, priority)
        np.testing.assert_array_equal(found, filled(score, eligible, group, places, priority))


@settings(max_examples=100)
@given(flags, groups, places)
def test_equal_scores_and_priorities_still_fill_the_places_exactly(eligible, group, places):
    eligible, group = np.array(eligible), np.array(group)
    found = fill(np.zeros(N), eligible, group, places, np.zeros(N))
    assert not np.any(found & ~eligible)
    for g, free in enumerate(places):
        here = eligible & (group == g)
        assert found[here].sum() == min(max(free, 0), here.sum())


def test_ties_for_a_place_are_broken_evenly():
    """Of five alike for two places each gets one in 2/5 of the draws; the best always does."""
    score = jnp.array([0.5, 0.0, 0.5, 0.5, 0.0, 0.0, 0.5, 0.5, 1.0])
    eligible = score > 0.0
    group, trials = jnp.zeros(N, jnp.int32), 20_000
    priority = jax.random.uniform(jax.random.key(0), (trials, N))
    taken = jax.vmap(lambda p: fill_places(score, eligible, group, jnp.array([3.0]), p))(priority)
    share = np.asarray(taken).mean(axis=0)
    np.testing.assert_array_equal(share[[1, 4, 5]], 0.0)
    assert share[8] == 1.0
    np.testing.assert_allclose(share[[0, 2, 3, 6, 7]], 0.4, atol=5 * np.sqrt(0.24 / trials))


def test_places_are_filled_the_same_under_vmap():
    rng = np.random.default_rng(1)
    score = np.round(rng.random((20, N)), 1).astype(np.float32)
    priority = rng.random((20, N), np.float32)
    group = jnp.asarray(rng.integers(0, GROUPS, N), jnp.int32)
    free, everybody = jnp.array([1.0, 2.0, 0.0]), jnp.ones(N, bool)
    together = jax.jit(jax.vmap(lambda s, p: fill_places(s, everybody, group, free, p)))(
        jnp.asarray(score), jnp.asarray(priority)
    )
    for number in range(20):
        one = fill(score[number], np.ones(N, bool), group, free, priority[number])
        np.testing.assert_array_equal(together[number], one)


def test_both_zeros_are_one_score():
    score, one = np.array([0.0, -0.0] + [0.0] * 7), np.array([True, True] + [False] * 7)
    for priority in ([0.1, 0.9], [0.9, 0.1]):
        draws = np.array(priority + [0.0] * 7)
        found = fill(score, one, np.zeros(N), [1, 0, 0], draws)
        assert found[:2].tolist() == [priority[0] > 0.5, priority[1] > 0.5]
