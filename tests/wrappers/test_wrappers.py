"""Wrappers change what they say, and pass everything else on."""

import dataclasses
import inspect
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from room import Room
from toys import Toy

import fairgym
from fairgym.core import Environment, FairgymError, PopulationEnvironment
from fairgym.policies import equivariant
from fairgym.testing import check_environment
from fairgym.wrappers import AutoReset, EndsAfter, NeverEnds, StartsFrom, Wrapper

ENV = Toy()
PARAMS = jax.tree.map(jnp.asarray, ENV.default_params)
POLICIES = equivariant(ENV, jax.random.key(1), 4)
KEY = jax.random.key(0)
rollout = eqx.filter_jit(fairgym.rollout)


def same(a, b):
    """Equal bit for bit."""
    assert jax.tree.structure(a) == jax.tree.structure(b)
    return all(
        np.asarray(x).tobytes() == np.asarray(y).tobytes()
        for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    )


def actions_of(env, number=0):
    keys = jax.random.split(jax.random.key(number), len(env.agents))
    return {a: env.action_space(a).sample(k) for a, k in zip(env.agents, keys, strict=True)}


class TestDelegation:
    members: ClassVar = {
        name
        for kind in (Environment, PopulationEnvironment)
        for name in {*vars(kind), *inspect.get_annotations(kind)}
        if not name.startswith("_") and name != "unwrapped"
    }

    def test_every_member_is_passed_on(self):
        """Each member of an environment has its own line, or is made of those that have."""
        derived = {"agents", "metrics", "reset", "advance", "step"}
        people = {"population", "people", "census", "counting_people"}  # passed on by name
        assert len(self.members) <= 22
        derived |= people
        assert derived < self.members
        assert self.members - derived <= set(vars(Wrapper))

    def test_values_are_those_of_the_environment_inside(self):
        wrapped = Wrapper(Wrapper(ENV))
        for name in self.members:
            found = getattr(wrapped, name)
            if not callable(found):
                assert found == getattr(ENV, name), name
        for agent in ENV.agents:
            assert wrapped.action_space(agent) is ENV.action_space(agent)
            assert wrapped.observation_space(agent) is ENV.observation_space(agent)
        assert wrapped.unwrapped is ENV

    def test_dynamics_are_those_of_the_environment_inside(self):
        wrapped = Wrapper(ENV)
        state = ENV.initial_state(KEY, PARAMS)
        assert same(wrapped.reset(KEY, PARAMS), ENV.reset(KEY, PARAMS))
        arguments = (KEY, state, actions_of(ENV), PARAMS)
        assert same(wrapped.step(*arguments), ENV.step(*arguments))
        assert same(wrapped.people(state), ENV.people(state))
        assert same(wrapped.census(state), ENV.census(state))

    @pytest.mark.parametrize("env", [pytest.param(ENV, marks=pytest.mark.full), Room()])
    def test_a_wrapped_environment_keeps_the_contract(self, env):
        check_environment(Wrapper(env))

    def test_a_system_without_people_has_none_when_wrapped(self):
        assert not hasattr(Wrapper(Room()), "population")
        assert not hasattr(Wrapper(Room()), "people")

    def test_equal_environments_have_equal_wrappers(self):
        other = dataclasses.replace(ENV)
        assert other is not ENV
        assert NeverEnds(ENV) == NeverEnds(other) and hash(NeverEnds(ENV)) == hash(NeverEnds(other))
        assert EndsAfter(ENV, 3) == EndsAfter(other, 3) != EndsAfter(ENV, 4)
        assert NeverEnds(ENV) != AutoReset(ENV)
        assert NeverEnds(ENV) != NeverEnds(Toy(population=10))
        compiled = []

        @eqx.filter_jit
        def first(env, key):
            compiled.append(env)
            return env.initial_state(key, PARAMS)

        assert same(first(NeverEnds(ENV), KEY), first(NeverEnds(other), KEY))
        assert len(compiled) == 1

    def test_networks_are_scaled_by_the_people_inside(self):
        state = ENV.initial_state(KEY, PARAMS)
        for wrapped in (AutoReset(ENV), StartsFrom(ENV, state)):
            assert same(equivariant(wrapped, jax.random.key(1), 4), POLICIES)

    def test_automatic_resets_are_not_hidden(self):
        with pytest.raises(FairgymError, match="NeverEnds wraps AutoReset"):
            NeverEnds(AutoReset(ENV))


def test_starts_from_a_state():
    later = rollout(ENV, PARAMS, POLICIES, KEY, 3).final_state
    run = jax.jit(lambda state: fairgym.rollout(StartsFrom(ENV, state), PARAMS, POLICIES, KEY, 2))
    episode = run(later)
    assert int(episode.length) == 2 and int(episode.final_state.time) == 5
    other = run(later.replace(skill=later.skill + 1.0))
    moved = other.final_state.skill - episode.final_state.skill
    assert float(jnp.min(jnp.abs(moved))) > 0.5


def test_ends_after_traced_steps():
    run = jax.jit(
        lambda steps: fairgym.rollout(EndsAfter(ENV, steps), PARAMS, POLICIES, KEY, trace=True)
    )
    whole = rollout(ENV, PARAMS, POLICIES, KEY, trace=True)
    for steps in (1, 4, 6):
        episode = run(steps)
        assert int(episode.length) == steps and bool(episode.terminated)
        seen = jax.tree.map(lambda x, n=steps: x[:n], (whole.trace, episode.trace))
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), *seen)
    assert int(run(9).length) == 6 and not bool(run(9).terminated)


def test_an_earlier_end_of_its_own_stays():
    early = PARAMS.replace(last_step=jnp.float32(2.0))
    assert int(rollout(EndsAfter(ENV, 4), early, POLICIES, KEY).length) == 2


def test_never_ends():
    params = PARAMS.replace(last_step=jnp.float32(2.0))
    assert int(rollout(ENV, params, POLICIES, KEY).length) == 2
    episode = rollout(NeverEnds(ENV), params, POLICIES, KEY)
    assert int(episode.length) == 6 and not bool(episode.terminated)
    state = ENV.initial_state(KEY, PARAMS).replace(time=jnp.int32(5))
    *_, terminated, truncated, _ = NeverEnds(ENV).step(KEY, state, actions_of(ENV), params)
    assert not bool(terminated) and bool(truncated)


class TestAutoReset:
    env = AutoReset(ENV)
    state = ENV.initial_state(KEY, PARAMS)

    def test_within_an_episode_it_is_a_step_with_the_first_of_two_keys(self):
        actions = actions_of(ENV)
        step_key, _ = jax.random.split(KEY)
        plain = ENV.step(step_key, self.state, actions, PARAMS)
        *found, info = self.env.step(KEY, self.state, actions, PARAMS)
        assert same(tuple(found), plain[:5])
        assert same(info, {"final_observation": plain[0], "final_state": plain[1]})

    @pytest.mark.parametrize("how", ["terminated", "truncated"])
    def test_an_end_is_followed_by_a_start_from_the_other_key(self, how):
        params, state = PARAMS, self.state
        if how == "terminated":
            params = PARAMS.replace(last_step=jnp.float32(1.0))
        else:
            state = state.replace(time=jnp.int32(ENV.horizon - 1))
        step_key, reset_key = jax.random.split(KEY)
        actions = actions_of(ENV)
        plain = ENV.step(step_key, state, actions, params)
        assert (bool(plain[3]), bool(plain[4])) == (how == "terminated", how == "truncated")
        *found, info = self.env.step(KEY, state, actions, params)
        assert same(tuple(found[:2]), ENV.reset(reset_key, params))
        assert same(tuple(found[2:]), plain[2:5])
        assert same(info, {"final_observation": plain[0], "final_state": plain[1]})

    def test_learners_step_without_observations(self):
        actions = actions_of(ENV)
        _, state, *_, info = self.env.step(KEY, self.state, actions, PARAMS)
        found, outcome = self.env.step_autoreset(KEY, self.state, actions, PARAMS)
        assert same(found, state) and same(outcome.final_state, info["final_state"])
        assert not bool(outcome.done)

    def test_it_goes_on_for_ever(self):
        """Times of 20 steps of episodes that are truncated after 6."""

        def step(state, key):
            actions = {a: ENV.action_space(a).sample(key) for a in ENV.agents}
            state, outcome = self.env.step_autoreset(key, state, actions, PARAMS)
            return state, (state.time, outcome.final_state.time, outcome.done)

        keys = jax.random.split(KEY, 20)
        times, ends, done = jax.lax.scan(step, self.state, keys)[1]
        assert times.tolist() == [(n + 1) % 6 for n in range(20)]
        assert ends.tolist() == [n % 6 + 1 for n in range(20)]
        assert done.tolist() == [n % 6 == 5 for n in range(20)]

    def test_rollouts_end_as_ever(self):
        one, other = (rollout(env, PARAMS, POLICIES, KEY) for env in (ENV, self.env))
        assert int(other.length) == 6 and same(one.final_state, other.final_state)

    def test_bad_actions_are_refused(self):
        with pytest.raises(FairgymError, match="no action for 'level'"):
            self.env.step(KEY, self.state, {}, PARAMS)
