"""Memories by name: what they are, what agents see, and names that there are not."""

import json
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fairgym import RunConfig
from fairgym.core import FairgymError, no_components
from fairgym.fairness import EachTime, Full, Min, RateSoFar, Recent, When
from fairgym.fairness.automata import Product, Receiver
from fairgym.fairness.named_memories import differences, rounds, short, stored
from fairgym.utils import make
from fairgym.wrappers import augmented

SHOP = make("doughnut", population=3, horizon=12)
TURNS = {
    "component": "handed_out",
    "transitions": [[1, 0, 0, 0], [1, 2, 1, 1], [2, 2, 0, 2]],
    "values": [[0, 0, 0], [1, 0, 0], [1, 1, 0]],
}


@pytest.mark.parametrize(
    ("name", "memory"),
    [
        ("full", Full("handed_out")),
        ("full:handed_out", Full("handed_out")),
        ("min:handed_out", Min("handed_out")),
        ("recent:5", Recent("handed_out", 5)),
        ("past-discounted:0.9", Full("handed_out", discount=0.9)),
        ("past-discounted:.5:handed_out", Full("handed_out", discount=0.5)),
    ],
)
def test_names_of_memories(name, memory):
    assert make("doughnut", population=3, horizon=12, memory=name).memory == memory


def test_memories_of_groups_expect_as_many_as_there_are_people():
    env = make("loan_simple", population=60, horizon=20, memory="recent:4:disbursed")
    (one, other) = env.observation_space("admissions").context[-2:]
    assert env.memory == Recent("disbursed", 4, most=60.0) and one.high == other.high == 240.0
    bank = make("bank_loans", memory="rate:approved/applicants")
    assert bank.memory == RateSoFar("approved", "applicants")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("past-discounted:1", "past-discounted:SHARE with a number from 0 to below 1, got"),
        ("past-discounted:x", "past-discounted:SHARE with a number"),
        ("past-discounted:nan", "past-discounted:SHARE with a number"),
        ("recent:0", "recent:STEPS with a whole number from 1"),
        ("recent:-1", "recent:STEPS with a whole number from 1"),
        ("recent:²", "recent:STEPS with a whole number from 1"),
        ("full:nothing", "component must have an entry per stakeholder of doughnut"),
        ("rate:handed_out", "the denominator of a rate must be one of handed_out, got ''"),
        ("rate:wasted/handed_out", "memory 'rate:wasted/handed_out': component must have"),
        (
            "automaton:turn",
            "unknown memory automaton 'turn'; it must be one of: rounds, differences:NUM",
        ),
        ("automaton:differences:0", "unknown memory automaton 'differences:0'"),
        ("automaton:nowhere.json", "the automaton 'nowhere.json' cannot be read: No such file"),
        ("automaton:{", r"memory 'automaton:\{' must be JSON"),
        ("automaton:{}", "must have the fields transitions, values, component"),
        ("whole", "unknown memory 'whole'.*full"),
        ("past:0.9", "unknown memory 'past:0.9'"),
    ],
)
def test_names_that_there_are_not(name, message):
    with pytest.raises(FairgymError, match=message):
        make("doughnut", population=3, horizon=12, memory=name)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"transitions": [[1, 0, 0]]}, "transitions of memory .* 1 to 10,000 rows of 4 numbers"),
        ({"transitions": [[9, 0, 0, 0]] * 3}, "one row of values per state and states from 0 to 2"),
        ({"transitions": [[0.5, 0, 0, 0]] * 3}, "transitions of memory .* rows of 4 numbers"),
        ({"values": [[0, 0, 0]]}, "got 1 rows of values for 3 states"),
        ({"values": [[0, 0]] * 3}, "values of memory .* rows of 3 numbers .one for each stakehold"),
        ({"values": [[float("nan")] * 3] * 3}, "values of memory"),
        ({"component": "wasted"}, "component must have an entry per stakeholder"),
        ({"more": 1}, "must have the fields transitions, values, component"),
    ],
)
def test_files_that_are_no_automata(changes, message, tmp_path):
    path = tmp_path / "turns.json"
    path.write_text(json.dumps(TURNS | changes))
    with pytest.raises(FairgymError, match=message):
        make("doughnut", population=3, horizon=12, memory=f"automaton:{path}")


def test_a_run_keeps_the_content_of_a_file(tmp_path):
    path = tmp_path / "turns.json"
    path.write_text(json.dumps(TURNS))
    config = RunConfig(
        "doughnut", {"population": 3, "horizon": 12}, memory=f"automaton:{path}", algorithm="dqn"
    )
    path.unlink()
    env: Any = config.build().env
    assert short(config.memory) == "automaton:turns" and str(tmp_path) not in config.memory
    assert RunConfig.from_mapping(config.as_json()) == config
    assert env.memory.states == 3 and stored("full") == short("full") == "full"
    # A, then B, then C: the round begins anew; the third has no state of its own
    letters = [one.index(1.0) if 1.0 in one else 3 for one in np.eye(3).tolist()]
    memory, courses = env.memory.initial(None), []
    for letter in letters:
        given = jnp.asarray(np.eye(3, dtype=np.float32)[letter])
        nothing = no_components(env, env.default_params)
        memory = env.memory.update(memory, nothing.replace(handed_out=given))
        courses.append(env.memory.status(memory).tolist())
    assert courses == [[1, 0, 0], [1, 1, 0], [0, 0, 0]]


def test_content_that_is_no_automaton_is_refused_before_it_has_a_label():
    with pytest.raises(FairgymError, match="must be JSON"):
        RunConfig("doughnut", memory="automaton:{")
    content = json.dumps(TURNS | {"name": "../a/b c"})
    assert short(stored(f"automaton:{content}")) == "automaton:..-a-b-c"


class Given:
    """Components of one step."""

    def __init__(self, who):
        self.got = jnp.zeros(3).at[who].set(1.0) if who < 3 else jnp.zeros(3)


WHO = np.random.default_rng(0).integers(0, 4, 40).tolist()


def course(product):
    """The status after each step."""
    memory, found = product.initial(None), []
    for who in WHO:
        memory = product.update(memory, Given(who))
        found.append([int(u) for u in product.status(memory)])
    return found


def test_rounds_end_when_everybody_has_been_served():
    product, served, due = rounds(3, Receiver("got")), set(), []
    for who in WHO:
        served |= {who} - {3}
        served = set() if len(served) == 3 else served
        due.append([int(one in served) for one in range(3)])
    assert course(product) == due and product.states == 2**3 - 1


@pytest.mark.parametrize("most", [1, 2, 4])
def test_differences_are_those_of_min_up_to_a_number(most):
    """Once a difference is cut off, it is forgotten how large it was."""
    product, ahead, due = differences(3, most, Receiver("got")), np.zeros(3, int), []
    for who in WHO:
        ahead = ahead + (np.arange(3) == who)
        ahead = np.minimum(ahead - ahead.min(), most)
        due.append(ahead.tolist())
    assert course(product) == due
    assert product.states == (most + 1) ** 3 - most**3


def test_all_states_of_an_automaton_are_counterfactual_memories():
    product = rounds(3, Receiver("got"))
    others, legal = product.neighbours(jnp.int32(2), (1, 2))
    assert others.tolist() == list(range(7)) and legal.tolist() == [n != 2 for n in range(7)]


@pytest.mark.parametrize(
    "memory",
    [
        rounds(3, Receiver("handed_out")),
        EachTime("handed_out", 4),
        EachTime("handed_out", 2.5),
        When("handed_out"),
        Recent("handed_out", 3),
        RateSoFar("handed_out", "handed_out"),
    ],
    ids=lambda one: f"{type(one).__name__}",
)
def test_agents_see_what_is_remembered_within_its_range(memory):
    env = augmented(SHOP, memory)
    space = env.observation_space("server")
    params = env.default_params
    obs, state = env.reset(jax.random.key(0), params)
    seen = []
    for key in jax.random.split(jax.random.key(1), 8):
        action = {"server": env.action_space("server").sample(key)}
        obs, state, *_ = env.step(key, state, action, params)
        assert bool(space.contains(obs["server"]))
        seen.append(
            np.concatenate([np.ravel(obs["server"].features[:, 1:]), obs["server"].context])
        )
    assert any((one != other).any() for one, other in pairwise(seen))


def test_what_is_seen_of_a_filter_says_when_it_passes():
    env, passed = augmented(SHOP, EachTime("handed_out", 2)), 0
    assert isinstance(env.memory, EachTime) and not isinstance(env.memory, Product)
    memory = env.memory.initial(no_components(SHOP, SHOP.default_params))
    for step in range(1, 7):
        given = no_components(SHOP, SHOP.default_params).replace(handed_out=jnp.eye(3)[0])
        memory = env.memory.update(memory, given)
        (since,) = env.memory.shown(memory).values()
        assert float(since) == step % 2
        passed += int(env.memory.passes(memory))
    assert passed == 3
