"""Grid search finds the best constant actions of an environment whose optimum is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toys import Toy

from fairgym.algorithms import Algorithm, algorithms
from fairgym.core import FairgymError
from fairgym.fairness import Objective
from fairgym.policies import Random, fixed_policies

GridSearch = algorithms.get("grid-search")
ENV = Toy(population=6, horizon=2, places=3, seats=1)
DIRECT = Objective.direct(ENV)
FIXED = fixed_policies(ENV, {"split": (0.7, 0.3)})
LEVEL = fixed_policies(ENV, {"level": 0.5})
SEARCH = GridSearch(steps=11, deviation=0.3, deviation_steps=7, episodes=1)


def search(algorithm, objective=DIRECT):
    state, found = algorithm.init(jax.random.key(0), ENV, objective, fixed=FIXED), []
    for _ in range(algorithm.num_updates):
        state, log = algorithm.update(state)
        found.append((np.asarray(state.best["level"]), log))
    return state, found


def test_two_tiers_find_the_optimum():
    """One level for both groups is best at 0.5 or 0.6; then each group has its own."""
    state, found = search(SEARCH)
    (first, first_log), (second, second_log) = found
    assert first[0] == first[1] and first[0] == pytest.approx(0.55, abs=0.051)
    np.testing.assert_allclose(second, ENV.optimum["level"], atol=1e-6)
    assert second_log["objective"] == pytest.approx(0.0, abs=1e-6)
    assert first_log["objective"] == pytest.approx(-0.13, abs=1e-5)
    assert (int(first_log["candidates"]), int(second_log["candidates"])) == (11, 49)
    policies = SEARCH.policies(state)
    np.testing.assert_allclose(policies["level"].action, [0.3, 0.8], atol=1e-6)
    assert isinstance(policies["rank"], Random) and policies["split"] is FIXED["split"]
    assert isinstance(SEARCH, Algorithm) and SEARCH.num_updates == 2


def test_candidates_beyond_the_ends_are_clipped_and_kept_once():
    """Tier 2 deviates by one step of tier 1 by default: 0 and 0.5 for each group."""
    learner = GridSearch(steps=3, deviation_steps=3, episodes=1)
    state = learner.init(jax.random.key(0), ENV, DIRECT, fixed=FIXED)
    state = state.replace(best={"level": jnp.zeros(2)}, updates=jnp.int32(1))
    found = learner.candidates(state)["level"].tolist()
    assert sorted(found) == [[0.0, 0.0], [0.0, 0.5], [0.5, 0.0], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("field", "value", "takes"),
    [
        ("steps", 1, "a whole number from 2"),
        ("deviation_steps", 0, "a whole number from 1"),
        ("episodes", 0, "a whole number from 1"),
        ("vmap_size", -1, "a whole number from 0"),
        ("deviation", 1.5, "a number from 0 to 1"),
    ],
)
def test_hyperparameters_out_of_range(field, value, takes):
    with pytest.raises(FairgymError, match=f"{field} must be {takes}.*got {value!r}"):
        GridSearch(**{field: value})


def test_what_it_cannot_search():
    with pytest.raises(FairgymError, match="'split' divides shares: give it a fixed policy"):
        SEARCH.init(jax.random.key(0), ENV, DIRECT)
    own = {"level": DIRECT, "rank": Objective.uniform(ENV)}
    with pytest.raises(FairgymError, match="grid search needs the same objective for all agents"):
        SEARCH.init(jax.random.key(0), ENV, own, fixed=FIXED)


def test_somebody_must_set_numbers():
    with pytest.raises(FairgymError, match="at least one trained agent"):
        SEARCH.init(jax.random.key(0), ENV, DIRECT, fixed={**FIXED, **LEVEL})
