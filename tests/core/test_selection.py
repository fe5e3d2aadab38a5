"""Drawing and serving people, against sorting in NumPy."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgym.core import draw, highest

N = 9
HIGHEST = {k: jax.jit(lambda s, e, p, k=k: highest(s, e, k, p)) for k in (1, 4, N)}
DRAW = {k: jax.jit(lambda p, e, k=k: draw(p, e, k)) for k in (1, 4, N)}

scores = st.lists(st.sampled_from([-2.0, 0.0, 0.5, 0.5, 1.0]), min_size=N, max_size=N)
flags = st.lists(st.booleans(), min_size=N, max_size=N)
priorities = st.permutations([i / N for i in range(N)])


@settings(max_examples=150, deadline=None)
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


@settings(max_examples=150, deadline=None)
@given(flags, priorities, st.sampled_from([1, 4, N]))
def test_draw_takes_eligible_rows_once(eligible, priority, count):
    eligible, priority = np.array(eligible), np.array(priority)
    rows, drawn = DRAW[count](jnp.asarray(priority, jnp.float32), jnp.asarray(eligible))
    candidates = np.flatnonzero(eligible)
    best = candidates[np.argsort(-priority[candidates])][:count]
    assert set(np.asarray(rows)[np.asarray(drawn)].tolist()) == set(best.tolist())
    assert len(set(np.asarray(rows).tolist())) == count


@pytest.mark.parametrize("how", ["draw", "ties"])
def test_everybody_eligible_is_as_likely(how):
    """5 eligible of 9, 2 places: each is chosen in 2/5 of the draws, to 5 standard errors."""
    eligible = jnp.array([True, False, True, True, False, False, True, True, False])
    trials = 20_000
    priority = jax.random.uniform(jax.random.key(0), (trials, N))
    if how == "draw":
        rows, taken = jax.vmap(lambda p: draw(p, eligible, 2))(priority)
    else:
        rows, taken = jax.vmap(lambda p: highest(jnp.zeros(N), eligible, 2, p))(priority)
    counts = np.bincount(np.asarray(rows)[np.asarray(taken)], minlength=N)
    assert np.all(counts[~np.asarray(eligible)] == 0)
    error = np.sqrt(0.4 * 0.6 / trials)
    np.testing.assert_allclose(counts[np.asarray(eligible)] / trials, 0.4, atol=5 * error)


def test_a_clear_winner_needs_no_luck():
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
    assert not DRAW[4](jnp.ones(N), nobody)[1].any()


@pytest.mark.parametrize("name", ["highest", "draw"])
def test_no_full_sort_of_the_population(name):
    """A full sort costs more than the rest of a step: selections compile to top-k."""
    n, k = 10_000, 100
    uniform, everybody = jnp.ones(n), jnp.ones(n, bool)
    if name == "highest":
        function, arguments = (lambda s, e, p: highest(s, e, k, p)), (uniform, everybody, uniform)
    else:
        function, arguments = (lambda p, e: draw(p, e, k)), (uniform, everybody)
    text = jax.jit(function).lower(*arguments).compile().as_text() or ""
    assert "TopK" in text or "topk" in text
    assert not re.search(rf"\[{n}\][^=]*\bsort\(", text)
