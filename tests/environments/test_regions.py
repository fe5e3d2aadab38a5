"""Parameters that differ over regions: each region by its own number, against plain NumPy."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.environments._common.regions import Move, move_features
from fairgym.environments.education.params import EducationParams

EACH = 40  # people of a region
REGION = np.repeat([0, 1, 2], EACH)
UNIFORM = np.tile(np.linspace(0.013, 0.987, EACH), 3)
MONEY = np.array([0.0, 50.0, 20.0])
# one number for all regions -> one that differs by region
LISTS = {
    "improve_base": (0.3, [0.1, 0.5, 0.3]),
    "improve_gain": (0.4, [0.0, 0.1, 0.45]),
    "improve_slope": (16.0, [1.0, 2.0, 30.0]),
    "improve_shift": (-4.0, [-4.0, -24.0, -8.0]),
    "stay": (0.2, [0.5, 0.0, 0.1]),
}


def array(values):
    return jnp.array(values, jnp.float32)


@pytest.mark.parametrize("differs", LISTS)
def test_features_move_by_the_numbers_of_their_own_region(differs):
    given = {name: several if name == differs else one for name, (one, several) in LISTS.items()}
    lists: dict[str, Any] = {name: array(x) for name, x in given.items()}
    params = EducationParams(gpa_change=0.25).replace(**lists)
    found = move_features(
        {"gpa": jnp.full(REGION.shape, 2.0)},
        {"gpa": Move("gpa_change", 1.0, 0.0, 4.0)},
        array(UNIFORM),
        jnp.array(REGION),
        array(MONEY),
        params,
        base=params.improve_base,
        budget=100.0,
    )
    expected = []
    for region, uniform in zip(REGION, UNIFORM, strict=True):
        own = {name: np.broadcast_to(x, 3)[region] for name, x in given.items()}
        worth = own["improve_slope"] * 3 / 100.0 * MONEY[region] + own["improve_shift"]
        better = own["improve_base"] + own["improve_gain"] / (1 + np.exp(-worth))
        same = better + own["stay"]
        expected.append(2.25 if uniform <= better else 2.0 if uniform <= same else 1.75)
    np.testing.assert_allclose(found["gpa"], expected)
    by_region = np.reshape(expected, (3, EACH)).mean(axis=1)
    assert len(set(by_region)) == 3, "else the test does not tell regions apart"


@pytest.mark.parametrize("name", ["health", "education"])
def test_race_and_sex_together(name):
    """Each subgroup has as many people as the columns say, in the order of its names."""
    env: Any = fairgym.make(name, population=2_000)
    state = jax.jit(env.initial_state)(jax.random.key(0), env.default_params)
    people = {n: np.asarray(x) for n, x in jax.jit(env.people)(state).items()}
    parts = env.spec.partitions["race_and_sex"]
    counts = np.bincount(people["race_and_sex"].astype(int), minlength=8)
    women, black = people["female"] == 1, people["race_black"] == 1
    white = ~black & (people["race_asian"] == 0) & (people["race_other"] == 0)
    assert (counts[parts.index("Black_women")], counts[parts.index("white_men")]) == (
        (black & women).sum(),
        (white & ~women).sum(),
    )
    assert counts[parts.index("other_women")] == ((people["race_other"] == 1) & women).sum()
    assert counts.sum() == 2_000 and counts.min() > 0
