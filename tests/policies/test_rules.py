"""Rules by name: who is chosen, and what the rules count by themselves."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.core import Entities, FairgymError, RecurrentPolicy
from fairgym.policies import fixed_policies, rules
from fairgym.testing.toys import Toy

KEY = jax.random.key(0)
SHOP = fairgym.make("doughnut", population=3)
POOL = fairgym.make("lending_pool")


def here(*present):
    """Who of the people in the shop is at the counter."""
    features = jnp.array(present, jnp.float32)[:, None]
    return Entities(features, jnp.ones(len(present), bool), jnp.zeros(0))


def pool(applies, credit):
    """Who of the people in the pool applies, and their credit."""
    features = jnp.stack([jnp.array(x, jnp.float32) for x in (applies, credit, (0, 0, 1, 1))])
    return Entities(features.T, jnp.ones(4, bool), jnp.zeros(1))


def played(policy, observations):
    """The choices of a rule that counts, one after another."""
    hidden, chosen = policy.initial(), []
    for seen in observations:
        row, hidden = policy(seen, KEY, hidden)
        chosen.append(int(row))
    return chosen, hidden.tolist()


def test_all_rules_are_known():
    assert set(rules.names()) == {"alternate-groups", "first-come", "random-present", "take-turns"}


def test_turns_of_those_who_are_there():
    policy = rules.get("take-turns")(SHOP, "server")
    assert isinstance(policy, RecurrentPolicy)
    days = [
        here(1, 1, 1),
        here(1, 0, 1),
        here(1, 0, 1),
        here(1, 1, 0),
        here(0, 0, 0),
        here(0, 1, 1),
    ]
    chosen, turns = played(policy, days)
    assert chosen == [0, 2, 0, 1, 0, 1]  # nobody was there to take the fifth
    assert turns == [2.0, 2.0, 1.0]


def test_a_random_one_of_those_who_are_there():
    policy = fixed_policies(SHOP, {"server": "random-present"})["server"]
    keys = jax.random.split(KEY, 2000)
    drawn = jax.vmap(lambda key: policy(here(1, 0, 1), key))(keys)
    np.testing.assert_allclose(np.bincount(drawn, minlength=3) / 2000, [0.5, 0, 0.5], atol=0.04)
    assert drawn.dtype == jnp.int32
    assert policy(here(0, 0, 0), KEY) == 0


def test_groups_take_turns_and_the_best_of_each_is_chosen():
    policy = fixed_policies(POOL, {"bank": "alternate-groups"})["bank"]
    days = [
        pool((1, 1, 1, 1), (0.5, 0.6, 0.9, 0.8)),  # nobody has had a turn: the best of all
        pool((1, 1, 1, 1), (0.5, 0.6, 0.9, 0.8)),
        pool((0, 0, 1, 1), (0.5, 0.6, 0.7, 0.8)),  # as many turns each: the best of those there
        pool((1, 0, 1, 1), (0.5, 0.6, 0.7, 0.8)),
        pool((0, 0, 0, 0), (0.5, 0.6, 0.7, 0.8)),
        pool((1, 1, 1, 1), (0.9, 0.8 + 0.1, 0.7, 0.8)),  # equal up to rounding: the first
    ]
    chosen, turns = played(policy, days)
    assert chosen == [2, 1, 3, 0, 0, 0] and turns == [3.0, 2.0]


@pytest.mark.parametrize(
    ("env", "agent", "rule", "message"),
    [
        (Toy(), "level", "take-turns", "the rule TakeTurns takes an agent that chooses one of"),
        (Toy(), "rank", "random-present", "'rank' takes 5 numbers in [0, 1]"),
        (SHOP, "server", "alternate-groups", "the rule needs the feature 'group'; 'server' sees"),
        (SHOP, "server", "first-come", "first come, first served needs an agent that scores"),
        (SHOP, "server", "turns", "named rules are: alternate-groups, first-come, random-present"),
    ],
)
def test_rules_that_do_not_fit(env, agent, rule, message):
    with pytest.raises(FairgymError) as error:
        fixed_policies(env, {agent: rule})
    assert message in str(error.value)
