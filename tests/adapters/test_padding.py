"""Observations and actions of one size for all agents."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.adapters._padding import Padding
from fairgym.adapters.pettingzoo import PettingZooEnv
from fairgym.core import Discrete, EntitySpace, FairgymError, Feature, Unit

SEEN = (EntitySpace(2, (Feature("age"),), (Feature("time"),)), EntitySpace(1, (Feature("beds"),)))


def small():
    return fairgym.make("loan_simple", population=60, horizon=5)


def test_agents_have_equal_spaces_and_their_own_numbers_in_front():
    plain, adapter = PettingZooEnv(small()), PettingZooEnv(small(), padded=True)
    seen, padded = plain.reset(seed=1)[0], adapter.reset(seed=1)[0]
    first, *others = adapter.possible_agents
    sizes = {(len(one), plain.action_space(agent).shape) for agent, one in seen.items()}
    assert len(sizes) > 1, "there is something to pad"
    for place, agent in enumerate(adapter.possible_agents):
        assert adapter.observation_space(agent) == adapter.observation_space(first)
        assert adapter.action_space(agent) == adapter.action_space(first)
        assert adapter.observation_space(agent).contains(padded[agent])
        own, size = seen[agent], len(seen[agent])
        np.testing.assert_array_equal(padded[agent][:size], own)
        assert not padded[agent][size : -len(others) - 1].any()
        assert padded[agent][-len(others) - 1 :].tolist() == np.eye(len(others) + 1)[place].tolist()
        names = adapter.observation_names[agent]
        assert names[:size] == plain.observation_names[agent]
        assert names[size:] == (
            *[""] * (len(names) - size - len(others) - 1),
            *(f"is:{a}" for a in adapter.possible_agents),
        )
    assert adapter.state().shape == (sum(map(len, padded.values())),)


def test_numbers_beyond_an_agents_own_action_are_ignored():
    plain, adapter = PettingZooEnv(small()), PettingZooEnv(small(), padded=True)
    for env in (plain, adapter):
        env.reset(seed=1)
    random = np.random.default_rng(0)
    for number, agent in enumerate(adapter.possible_agents):
        adapter.action_space(agent).seed(number)
    for _ in range(3):
        assert adapter.agents, "the bank does not fail with these actions"
        given = {a: adapter.action_space(a).sample() for a in adapter.agents}
        size = {a: plain.action_space(a).shape[0] for a in plain.agents}
        for agent, action in given.items():
            action[size[agent] :] = random.normal(size=len(action) - size[agent])
        own = {agent: action[: size[agent]] for agent, action in given.items()}
        seen, rewards, *_ = plain.step(own)
        padded, same, *_ = adapter.step(given)
        assert rewards == same
        for agent in plain.possible_agents:
            np.testing.assert_array_equal(padded[agent][: len(seen[agent])], seen[agent])
    adapter.reset(seed=1)
    with pytest.raises(ValueError, match=r"'admissions' must have shape \(\d+,\), got \(2,\)"):
        adapter.step(dict.fromkeys(adapter.agents, np.zeros(2)))


def test_names_and_ends_follow_the_numbers():
    padding = Padding(("a", "b"), SEEN, (Unit(("x", "y")), Unit(("z",))))
    assert padding.observation_size == 7 and padding.action_size == 2
    assert padding.names["a"] == (
        *("age[0]", "age[1]", "present[0]", "present[1]", "time", "is:a", "is:b"),
    )
    assert padding.names["b"] == ("beds[0]", "present[0]", "", "", "", "is:a", "is:b")
    low, high = padding.ends()
    assert low.tolist() == [0.0] * 7 and high.tolist() == [1.0] * 7


def test_padding_serves_compiled_programs():
    padding = Padding(("a", "b"), SEEN, (Unit(("x", "y")), Unit(("z",))))
    seen = jax.jit(lambda flat: padding.observation("b", flat))(jnp.array([3.0, 1.0]))
    assert seen.tolist() == [3.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    assert jax.jit(lambda act: padding.action("b", act))(jnp.array([0.5, 9.0])).tolist() == [0.5]


def test_options_beyond_an_agents_own_count_as_its_last():
    padding = Padding(("a", "b"), SEEN, (Discrete(("no", "yes")), Discrete(("x", "y", "z"))))
    assert padding.discrete and padding.action_size == 3
    assert [int(padding.action("a", np.array(option))) for option in range(3)] == [0, 1, 1]
    assert [int(padding.action("b", jnp.array(option))) for option in range(3)] == [0, 1, 2]


def test_options_beside_numbers_and_dictionaries_are_refused():
    message = "'a' chooses an option and 'b' gives numbers; fix one of them"
    with pytest.raises(FairgymError, match=message):
        Padding(("a", "b"), SEEN, (Discrete(("no", "yes")), Unit(("z",))))
    with pytest.raises(FairgymError, match="padded must be False with structured observations"):
        PettingZooEnv(small(), padded=True, structured=True)
