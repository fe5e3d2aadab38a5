"""Rules that react to last year's gap, against the same rule in plain NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.core import Entities, FairgymError
from fairgym.policies import fixed_policies

KEY = jax.random.key(0)
LOAN = fairgym.make("loan", population=200, horizon=30)
SCHOOL = fairgym.make("education", population=200, horizon=6)
REGIONS = fairgym.make("health", population=200, horizon=30)
RULES = {
    "level-relief": (LOAN, "debt_management"),
    "level-mentors": (SCHOOL, "university"),
    "level-regions": (REGIONS, "planner"),
}


def rule(env, agent, name):
    return fixed_policies(env, {agent: name})[agent]


def seen(env, agent, **columns):
    """Return an observation with these columns; the last person is not there."""
    names = [feature.name for feature in env.observation_space(agent).features]
    rows = np.zeros((len(next(iter(columns.values()))), len(names)), np.float32)
    for name, values in columns.items():
        rows[:, names.index(name)] = values
    mask = np.arange(len(rows)) < len(rows) - 1
    return Entities(jnp.asarray(rows * mask[:, None]), jnp.asarray(mask), jnp.zeros(0))


def played(policy, observations):
    """Return the actions of a policy on one observation after another."""
    hidden, actions = policy.initial(), []
    for observation in observations:
        action, hidden = policy(observation, KEY, hidden)
        actions.append(np.asarray(action))
    return np.array(actions)


def test_relief_follows_who_was_late_in_the_year_before():
    rng = np.random.default_rng(0)
    policy = rule(LOAN, "debt_management", "level-relief")
    people, months = 12, 30
    group = rng.integers(2, size=(months, people))
    late = (rng.uniform(size=(months, people)) < 0.02 + 0.02 * group).astype(int)
    observations = [
        seen(LOAN, "debt_management", group=g, warning=w) for g, w in zip(group, late, strict=True)
    ]
    relief, lead = [], np.zeros(2)
    for month in range(months):
        if month % 12 == 11:
            year = slice(month - 11, month + 1)
            there = np.arange(people) < people - 1
            rate = np.array([late[year][(group[year] == g) & there].mean() for g in (0, 1)])
            lead = lead + 10.0 * (rate - rate.mean())
        relief.append(np.clip(0.15 + lead, 0.0, 1.0))
    found = played(policy, observations)
    np.testing.assert_allclose(found, relief, rtol=1e-4)
    assert not np.allclose(found[11], found[10]) and np.allclose(found[12], found[11])


def test_a_group_that_nobody_belongs_to_keeps_its_lead():
    policy = rule(LOAN, "debt_management", "level-relief")
    alone = [seen(LOAN, "debt_management", group=np.zeros(4), warning=np.ones(4))] * 24
    np.testing.assert_allclose(played(policy, alone), 0.15, rtol=1e-6)
    nobody_late = [seen(LOAN, "debt_management", group=[0, 1, 1], warning=np.zeros(3))] * 24
    np.testing.assert_allclose(played(policy, nobody_late), 0.15, rtol=1e-6)


def test_mentors_come_while_the_minority_is_behind():
    policy = rule(SCHOOL, "university", "level-mentors")
    behind = seen(SCHOOL, "university", minority=[0, 1, 0], gpa=[3.0, 2.0, 0.0])
    ahead = seen(SCHOOL, "university", minority=[0, 1, 0], gpa=[2.0, 3.0, 0.0])
    shares = played(policy, [behind] * 6 + [ahead] * 20)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-6)
    # a grade point behind, half a tenth of it each year of two semesters
    np.testing.assert_allclose(shares[[0, 1, 3, 5], 3], [0.0, 0.05, 0.1, 0.15], atol=1e-6)
    assert shares[-1, 3] == 0.0 and shares[-1, 4] == pytest.approx(0.3)


def test_public_health_goes_where_more_people_are_ill():
    policy = rule(REGIONS, "planner", "level-regions")
    of = {name: np.arange(5) == code for code, name in enumerate(REGIONS.spec.groups)}
    one = seen(
        REGIONS, "planner", needs_bed=[0, 0, 0.02, 0, 0], in_hospital=[0, 0.02, 0, 0, 0], **of
    )
    first, year = played(policy, [one, one])
    evenly = np.full(4, 0.25)
    np.testing.assert_allclose(first, np.tile(evenly, 4))
    split = evenly + 5.0 * (np.array([0.0, 0.02, 0.02, 0.0]) - 0.01)
    np.testing.assert_allclose(year, [*evenly, *evenly, *split, *evenly], rtol=1e-6)


@pytest.mark.parametrize("name", RULES)
def test_rules_act_within_the_space_of_their_agent(name):
    env, agent = RULES[name]
    policy = rule(env, agent, name)
    observed = env.observation_space(agent)
    hidden = policy.initial()
    for key in jax.random.split(KEY, 5):
        action, hidden = policy(observed.sample(key), key, hidden)
        assert bool(env.action_space(agent).contains(action))
        assert jax.tree.all(jax.tree.map(lambda x: bool(jnp.isfinite(x).all()), hidden))


@pytest.mark.parametrize(
    ("env", "agent"),
    [
        (LOAN, "admissions"),
        (SCHOOL, "university"),
        (fairgym.make("loan", population=200, group_by="race"), "debt_management"),
        (fairgym.make("loan", population=200, observe_group=False), "debt_management"),
    ],
)
def test_rules_need_their_environment_and_groups(env, agent):
    with pytest.raises(FairgymError, match="the rule LevelRelief"):
        rule(env, agent, "level-relief")
