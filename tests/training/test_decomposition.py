"""Parts of a gap between two groups: by hand, their sum, and what cannot be exchanged."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pairs import Pairs  # registers itself
from two_servers import TwoServers

import fairgym
from fairgym.core import FairgymError
from fairgym.training import Scenario, simulate
from fairgym.training.decomposition import PARTS, decompose, parts_of, rate_metric
from fairgym.training.exchange import (
    BLIND,
    EXCHANGED,
    OWN,
    donors,
    require_exchangeable,
    with_attributes,
)
from fairgym.training.scenarios import build_all


def test_parts_sum_to_the_gap_whatever_the_runs_give():
    rng = np.random.default_rng(0)
    cases = [(seen, start) for seen in (OWN, EXCHANGED, BLIND) for start in (False, True)]
    found = {case: rng.normal(size=7) for case in cases}
    parts = parts_of(found)
    assert list(parts) == list(PARTS)
    np.testing.assert_allclose(sum(parts.values()), found[OWN, False], rtol=1e-12)
    assert not np.allclose(parts["start",], 0.0)


def test_without_interactions_each_part_is_what_its_source_adds():
    """Scores are sums: gifts .75 and .25, skills 2 and 1, and a penalty of .3 for the second."""
    (built,) = build_all("pairs", [Scenario("uneven", baseline="uneven")])
    found = decompose(built, "score_gap", episodes=2)
    expected = {"decision": 0.5, "start": 1.0, "dynamics": 0.3}
    for part in found.parts:
        assert part.mean == pytest.approx(expected.get(part.name, 0.0), abs=1e-6), part.name
    assert found.gap.mean == pytest.approx(1.8) and found.groups == ("first", "second")
    assert found.episodes == 2 and len(found.parts) == 8
    assert sum(part.mean for part in found.parts) == pytest.approx(found.gap.mean, rel=1e-12)


def test_the_gap_is_that_of_the_simulation():
    scenario = Scenario("uneven", baseline="uneven")
    rates = simulate("pairs", [scenario], episodes=2).evaluations["uneven"].rates["score_gap"]
    (built,) = build_all("pairs", [scenario])
    gap = decompose(built, "score", episodes=2).gap
    assert gap.mean == pytest.approx(float((rates[:, 0] - rates[:, 1]).mean()), rel=1e-6)


def test_a_gap_that_changes_over_time_is_decomposed_too():
    change = Scenario("later", {"giver.first": "1.0 from 2"}, {"penalty": "0.5 from 2"})
    (built,) = build_all("pairs", [change])
    found = {part.name: part.mean for part in decompose(built, "score_gap", episodes=2).parts}
    assert found["decision"] == pytest.approx(0.25, abs=1e-6)
    assert found["dynamics"] == pytest.approx(0.4, abs=1e-6)


def test_people_get_the_attributes_of_the_other_group_in_turn():
    group = jnp.array([0, 0, 0, 0, 1, 1, 2])
    assert donors(group, (0, 1)).tolist() == [4, 4, 5, 5, 0, 2, 6]
    assert donors(group, (1, 2)).tolist() == [0, 1, 2, 3, 6, 6, 4]
    env = Pairs()
    state = env.initial_state(jax.random.key(0), env.default_params)
    moved = with_attributes(state, donors(state.group, (0, 1)))
    assert moved.skill.tolist() == [1.0] * 8 + [2.0] * 4
    assert moved.group.tolist() == state.group.tolist()


def test_all_that_people_start_with_moves_but_not_their_groups_places():
    """In health the columns of the data are a mapping, and beds belong to the region."""
    env = fairgym.make("health", population=40)
    state = env.initial_state(jax.random.key(0), env.default_params)
    donor = donors(state.group, (0, 2))
    moved = with_attributes(state, donor)
    for name, column in state.data.items():
        np.testing.assert_array_equal(moved.data[name], np.asarray(column)[np.asarray(donor)])
    np.testing.assert_array_equal(moved.beds, state.beds)
    np.testing.assert_array_equal(moved.stage, state.stage)


def test_a_measure_is_a_rate_or_the_metric_that_compares_it():
    env = fairgym.make("loan", population=60)
    assert rate_metric(env, "default_rate") == rate_metric(env, "Default disparity")
    with pytest.raises(FairgymError, match="unknown measure to decompose 'profit'"):
        rate_metric(env, "profit")


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (TwoServers(), "two_servers cannot be decomposed: it has no single people"),
        (fairgym.make("doughnut"), "doughnut cannot be decomposed: all its people are in one"),
        (
            fairgym.make("epidemic"),
            "epidemic cannot be decomposed: a person's community is a place",
        ),
        (fairgym.make("bank_loans"), "bank_loans cannot be decomposed: it has no single people"),
        (fairgym.make("attention"), "attention cannot be decomposed: it has no single people"),
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_where_nothing_can_be_exchanged_one_sentence_says_why(env, message):
    with pytest.raises(FairgymError, match=message):
        require_exchangeable(env)


@pytest.mark.full
@pytest.mark.parametrize(
    ("environment", "measure", "size"),
    [
        ("loan", "wait_disparity", {"population": 60, "horizon": 12}),
        ("health", "mortality_disparity", {"population": 100, "horizon": 7}),
        ("education", "admission_disparity", {"population": 200, "horizon": 6}),
        ("lending_pool", "grant_disparity", {"population": 4, "horizon": 10}),
    ],
)
def test_the_parts_of_every_system_sum_to_its_gap(environment, measure, size):
    (built,) = build_all(environment, [Scenario("x", environment_args=size)])
    found = decompose(built, measure, episodes=3)
    total = sum(part.mean for part in found.parts)
    assert total == pytest.approx(found.gap.mean, rel=1e-9, abs=1e-12)
