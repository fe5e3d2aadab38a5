"""Rules by name: who is chosen, and what the rules count by themselves."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toys import Toy

import fairgym
from fairgym.core import Entities, FairgymError, RecurrentPolicy
from fairgym.policies import fixed_policies, rules

KEY = jax.random.key(0)
SHOP = fairgym.make("doughnut", population=3)
POOL = fairgym.make("lending_pool")
# Person 2 meets three, persons 1 and 3 two each, the others one.
TOWN = fairgym.make("epidemic", graph="0-1,1-2,2-3,3-4,2-5", communities=(0, 0, 0, 1, 1, 1))
SITES = fairgym.make("attention", history=2)


def here(*present):
    """Who of the people in the shop is at the counter."""
    features = jnp.array(present, jnp.float32)[:, None]
    return Entities(features, jnp.ones(len(present), bool), jnp.zeros(0))


def pool(applies, credit):
    """Who of the people in the pool applies, and their credit."""
    features = jnp.stack([jnp.array(x, jnp.float32) for x in (applies, credit, (0, 0, 1, 1))])
    return Entities(features.T, jnp.ones(4, bool), jnp.zeros(1))


def ill(*stages):
    """Health of everybody in the town: 0 is susceptible, 1 infected, 2 recovered."""
    health = jnp.array(stages)[:, None] == jnp.arange(3)
    features = jnp.concatenate([health, jnp.zeros((6, 3))], axis=1).astype(jnp.float32)
    return Entities(features, jnp.ones(6, bool), jnp.zeros(0))


def played(policy, observations):
    """The choices of a rule that counts, one after another."""
    hidden, chosen = policy.initial(), []
    for seen in observations:
        row, hidden = policy(seen, KEY, hidden)
        chosen.append(int(row))
    return chosen, hidden.tolist()


def test_all_rules_are_known():
    known = {"alternate-groups", "first-come", "highest-degree", "most-exposed"}
    known |= {"cover-sites", "proportional"}
    assert set(rules.names()) >= known | {"random-present", "take-turns"}


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


def test_who_has_most_contacts_and_most_infected_ones():
    health = [
        ill(0, 0, 0, 0, 0, 0),
        ill(1, 0, 0, 0, 0, 0),
        ill(0, 0, 1, 0, 1, 0),
        ill(1, 1, 2, 0, 2, 0),
        ill(1, 1, 2, 2, 2, 1),
    ]
    made = {name: rules.get(name) for name in ("highest-degree", "most-exposed")}
    policies = {name: make(TOWN, "clinic") for name, make in made.items()}
    policies["goes on"] = made["highest-degree"](TOWN, "clinic", goes_on=True)
    act = jax.jit(lambda seen: {name: rule(seen, KEY) for name, rule in policies.items()})
    chosen = [act(seen) for seen in health]
    known = {
        "highest-degree": [2, 2, 1, 3, 6],  # the sixth option is nobody
        "most-exposed": [0, 1, 3, 3, 6],
        "goes on": [2, 2, 1, 3, 2],
    }
    for name, people in known.items():
        assert [int(each[name]) for each in chosen] == people


def seen(last, before):
    """The incidents at the sites in the last two steps, and nothing else."""
    features = jnp.zeros((5, 8)).at[:, 2].set(jnp.array(last)).at[:, 3].set(jnp.array(before))
    return Entities(features, jnp.ones(5, bool), jnp.zeros(0))


@pytest.mark.parametrize(
    ("units", "dealt"),
    [
        (6, [[2, 1, 1, 1, 1], [1, 2, 1, 1, 1], [1, 1, 2, 1, 1]]),
        (3, [[1, 1, 1, 0, 0], [1, 0, 0, 1, 1], [0, 1, 1, 1, 0]]),
        (10, [[2, 2, 2, 2, 2]] * 3),
    ],
)
def test_units_are_dealt_to_all_places_in_turns(units, dealt):
    env = fairgym.make("attention", units=units)
    policy = fixed_policies(env, {"dispatcher": "cover-sites"})["dispatcher"]
    hidden = policy.initial()
    for expected in dealt:
        action, hidden = policy(seen([0.0] * 5, [0.0] * 5), KEY, hidden)
        assert action.tolist() == expected and action.dtype == jnp.int32


def test_units_in_proportion_to_the_incidents_seen():
    policy = fixed_policies(SITES, {"dispatcher": "proportional"})["dispatcher"]
    incidents = seen([5.0, 0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 3.0, 2.0, 0.0])
    assert policy(incidents, KEY).tolist() == [3, 0, 2, 1, 0]
    assert policy(seen([0.0] * 5, [0.0] * 5), KEY).tolist() == [2, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("env", "agent", "rule", "message"),
    [
        (Toy(), "level", "take-turns", "the rule TakeTurns is for an agent that chooses one row"),
        (Toy(), "rank", "random-present", "'rank' takes 5 numbers in [0, 1]"),
        (SHOP, "server", "alternate-groups", "needs the feature 'group'; 'server' observes"),
        (SHOP, "server", "first-come", "first come, first served needs an agent that scores"),
        (SHOP, "server", "highest-degree", "needs an environment with a contact network, such"),
        (SHOP, "server", "cover-sites", "the rule CoverSites is for an agent that divides"),
        (SITES, "dispatcher", "take-turns", "'dispatcher' takes 5 whole numbers from 0 that sum"),
        (SHOP, "server", "turns", "did you mean 'take-turns'?"),
        (SHOP, "server", "lottery", "named rules are: a"),
    ],
)
def test_rules_that_do_not_fit(env, agent, rule, message):
    with pytest.raises(FairgymError) as error:
        fixed_policies(env, {agent: rule})
    assert message in str(error.value)
