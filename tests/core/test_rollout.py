"""An episode against the same steps made one by one in Python."""

import dataclasses
from functools import cached_property

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toys import Toy, ToyNoise

import fairgym
from fairgym.core import FairgymError
from fairgym.policies import Function, Random, equivariant


@dataclasses.dataclass(frozen=True)
class Fated(Toy):
    """The same noise for every key, another at every step: episodes can be replayed by hand."""

    def initial_state(self, key, params):
        return super().initial_state(jax.random.key(5), params)

    def transition(self, noise, state, actions, params):
        fixed = super().noise(jax.random.fold_in(jax.random.key(7), state.time), params)
        return super().transition(fixed, state, actions, params)


ENV = Fated(population=10, horizon=8, places=9, seats=2)
# as arrays, so that one compiled program serves all values
PARAMS = jax.tree.map(jnp.asarray, ENV.default_params)
POLICIES = equivariant(ENV, jax.random.key(1), 4)
KEY = jax.random.key(0)
rollout = eqx.filter_jit(fairgym.rollout)
step = jax.jit(ENV.step)


def by_hand(env, params, policies, steps, discount=1.0):
    """Totals, mean actions, rows and final state of an episode, in float64."""
    observations, state = env.reset(KEY, params)
    rows, actions_seen, ended = [], {agent: [] for agent in env.agents}, False
    while len(rows) < steps and not ended:
        actions = {a: policies[a](observations[a], KEY) for a in env.agents}
        for agent, action in actions.items():
            if agent == "rank":
                actions_seen[agent] += np.asarray(action)[
                    np.asarray(observations[agent].mask)
                ].tolist()
            else:
                actions_seen[agent].append(np.asarray(action))
        observations, state, components, terminated, truncated, info = step(
            KEY, state, actions, params
        )
        rows.append(jax.tree.map(lambda x: np.asarray(x, np.float64), components))
        ended = bool(terminated)
        assert bool(truncated) == (len(rows) >= env.horizon) and info == {}
    weights = discount ** np.arange(len(rows))
    totals = jax.tree.map(lambda *x: sum(w * v for w, v in zip(weights, x, strict=True)), *rows)
    means = {agent: np.mean(seen, axis=0) for agent, seen in actions_seen.items()}
    return totals, means, rows, state


def assert_close(expected, found, rtol=2e-5):
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(b, a, rtol=rtol, atol=1e-5), expected, found
    )


@pytest.mark.parametrize(
    ("steps", "discount", "last_step"), [(8, 1.0, 1e6), (8, 0.9, 1e6), (8, 0.5, 3.0), (5, 0.9, 1e6)]
)
def test_an_episode_is_its_steps(steps, discount, last_step):
    params = PARAMS.replace(last_step=jnp.float32(last_step))
    gamma = jnp.float32(discount)
    episode = rollout(ENV, params, POLICIES, KEY, steps, discount=gamma, trace=True)
    totals, means, rows, state = by_hand(ENV, params, POLICIES, steps, discount)
    length = int(episode.length)
    assert length == len(rows) == min(steps, last_step)
    assert bool(episode.terminated) == (last_step <= steps)
    assert_close(totals, episode.totals)
    assert_close(means, episode.mean_actions)
    np.testing.assert_allclose(episode.final_state.skill, state.skill, rtol=1e-5)
    np.testing.assert_array_equal(episode.final_state.stage, state.stage)
    for number, row in enumerate(rows):
        assert_close(row, jax.tree.map(lambda x, n=number: x[n], episode.trace))
    assert all(
        x.shape[0] == steps and not np.any(x[length:]) for x in jax.tree.leaves(episode.trace)
    )


@pytest.mark.parametrize("horizon", [0, 9, 2.0, True])
def test_a_horizon_out_of_range(horizon):
    unchecked = getattr(fairgym.rollout, "__wrapped__", fairgym.rollout)
    with pytest.raises(FairgymError, match=r"horizon must be .* from 1 to 8, got"):
        unchecked(ENV, PARAMS, POLICIES, KEY, horizon)


def test_policies_of_all_agents_and_no_others():
    few = {agent: POLICIES[agent] for agent in ("level", "split")}
    with pytest.raises(FairgymError, match="no policy for 'rank'; toy has the agents: level, rank"):
        fairgym.rollout(ENV, PARAMS, few, KEY)
    with pytest.raises(FairgymError, match="unknown agent 'boss'"):
        fairgym.rollout(ENV, PARAMS, {**POLICIES, "boss": POLICIES["level"]}, KEY)


def test_without_options():
    """All of the horizon, no trace; and actions are clipped before they are counted."""
    wild = POLICIES | {"level": Function(lambda seen, key: jnp.array([jnp.nan, 7.0]))}
    episode = rollout(ENV, PARAMS, wild, KEY)
    assert int(episode.length) == ENV.horizon and episode.trace is episode.watched is None
    assert episode.mean_actions["level"].tolist() == [0.0, 1.0]
    np.testing.assert_allclose(episode.totals.treated, [0.0, 5.0 * 8])


def test_what_is_watched_is_the_state_of_every_moment():
    """From the start to the end; an episode cut short leaves zeros behind."""
    params = PARAMS.replace(last_step=jnp.float32(5.0))
    episode = rollout(ENV, params, POLICIES, KEY, watch=lambda s: {"time": s.time, "all": s})
    length = int(episode.length)
    assert 0 < length < ENV.horizon
    assert episode.watched["time"].tolist() == [*range(length + 1)] + [0] * (ENV.horizon - length)
    _, start = ENV.reset(KEY, params)
    *_, end = by_hand(ENV, params, POLICIES, ENV.horizon)
    for row, state in ((0, start), (length, end)):
        seen = jax.tree.map(lambda x, row=row: x[row], episode.watched["all"])
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), seen, state)


@pytest.mark.parametrize("steps", [1, 2, 5, 8])
def test_rows_of_several_episodes_are_those_of_each(steps):
    """Episodes under one vmap end at different steps; blocks of rows are not all full."""
    last_steps = jnp.array([1.0, 3.0, 4.0, 7.0, 1e6])

    def recorded(last_step):
        params = PARAMS.replace(last_step=last_step)
        options = {"trace": True, "watch": lambda s: s.time, "log": lambda moment: moment.actions}
        episode = fairgym.rollout(ENV, params, POLICIES, KEY, steps, **options)
        return episode.length, episode.trace, episode.watched, episode.logged

    together = jax.jit(jax.vmap(recorded))(last_steps)
    assert together[0].tolist() == [min(steps, last) for last in (1, 3, 4, 7, 8)]
    for number, last_step in enumerate(last_steps):
        alone = jax.jit(recorded)(last_step)
        assert_close(alone, jax.tree.map(lambda x, n=number: x[n], together))
        assert all(len(x) == steps for x in jax.tree.leaves((alone[1], alone[3])))


class Lucky(Toy):
    """The noise of each step is what `gain` counts; `treated` tells what "level" drew."""

    def transition(self, noise, state, actions, params):
        state, components, ended = super().transition(noise, state, actions, params)
        return state, components.replace(gain=jnp.sum(noise.luck)), ended


class TestKeys:
    env = Lucky(population=10, horizon=6)

    @property
    def policies(self):
        """Every agent draws; "split" draws what "level" would draw with the same key."""
        level = self.env.action_space("level")
        made = {agent: Random(self.env.action_space(agent)) for agent in self.env.agents}
        return made | {"split": Function(lambda seen, key: level.sample(key))}

    def trace(self, key, params=PARAMS):
        return rollout(self.env, params, self.policies, key, trace=True)

    def test_same_key_same_bits(self):
        one, two = (self.trace(jax.random.key(3)) for _ in range(2))
        assert jax.tree.all(jax.tree.map(lambda a, b: jnp.array_equal(a, b), one, two))

    def test_every_step_and_every_key_has_its_own_noise(self):
        traces = [self.trace(jax.random.key(s)).trace for s in range(3)]
        for name in ("gain", "treated"):  # what the noise and what the policies draw
            drawn = np.stack([getattr(trace, name) for trace in traces])
            assert len(np.unique(drawn)) == drawn.size, name

    def test_agents_do_not_share_their_noise(self):
        """`split` is divided by its sum; had both the same key, so would be `level`."""
        episode = self.trace(KEY, PARAMS.replace(last_step=jnp.float32(1.0)))
        level, split = episode.mean_actions["level"], episode.mean_actions["split"]
        assert int(episode.length) == 1
        assert abs(float(split[0] - level[0] / level.sum())) > 1e-3


def test_vmap_over_params_policies_and_keys_is_a_loop():
    """Episodes that end at different times, too."""
    env = Toy(population=10, horizon=5)
    keys = jax.random.split(jax.random.key(0), 3)
    params = [PARAMS.replace(last_step=jnp.float32(end)) for end in (2.0, 9.0, 4.0)]
    policies = [equivariant(env, key, 3) for key in keys]

    def one(params, policies, key):
        return fairgym.rollout(env, params, policies, key, trace=True)

    def stack(trees):
        return jax.tree.map(lambda *x: jnp.stack(x), *trees)

    loop = [eqx.filter_jit(one)(*item) for item in zip(params, policies, keys, strict=True)]
    together = eqx.filter_jit(eqx.filter_vmap(one))(stack(params), stack(policies), keys)
    assert together.length.tolist() == [2, 5, 4]
    assert together.terminated.tolist() == [True, False, True]
    assert_close(stack(loop), together)
    assert len(set(np.asarray(together.totals.gain).tolist())) == 3


class Periodic(Fated):
    """One agent for the whole group acts every third step, one that scores people every other."""

    @cached_property
    def spec(self):
        return dataclasses.replace(super().spec, periods={"level": 3, "rank": 2})


class TestPeriods:
    env = Periodic(population=10, horizon=8, places=9, seats=2)

    def by_hand(self):
        """Totals and mean actions: an agent whose step it is not gives zeros, uncounted."""
        observations, state = self.env.reset(KEY, PARAMS)
        totals, seen = 0.0, {agent: [] for agent in self.env.agents}
        for number in range(self.env.horizon):
            actions = {}
            for agent in self.env.agents:
                action = POLICIES[agent](observations[agent], KEY)
                acts = number % self.env.spec.periods.get(agent, 1) == 0
                actions[agent] = action if acts else jnp.zeros_like(action)
                mask = observations[agent].mask
                if acts:
                    values = np.asarray(action)
                    seen[agent] += (
                        values[np.asarray(mask)].tolist() if agent == "rank" else [values]
                    )
            observations, state, components, *_ = step(KEY, state, actions, PARAMS)
            totals = jax.tree.map(lambda a, b: a + b, totals, components) if number else components
        return totals, {agent: np.mean(values, axis=0) for agent, values in seen.items()}

    def test_an_agent_acts_in_steps_0_k_2k(self):
        """Its mean action is over these steps, whatever the others do."""
        episode = rollout(self.env, PARAMS, POLICIES, KEY)
        totals, means = self.by_hand()
        assert_close(totals, episode.totals)
        assert_close(means, episode.mean_actions)
        always = rollout(ENV, PARAMS, POLICIES, KEY)
        assert abs(float(always.totals.gain - episode.totals.gain)) > 0.1

    def test_its_policy_is_asked_in_these_steps_only(self):
        """In between the policy, and the observation with it, costs nothing."""
        asked = {agent: [] for agent in self.env.agents}

        def counting(agent):
            def rule(seen, key):
                jax.debug.callback(lambda time: asked[agent].append(int(time)), seen.context[0])
                return self.env.action_space(agent).clip(jnp.ones(POLICIES[agent].space.shape))

            return Function(rule)

        policies = {agent: counting(agent) for agent in self.env.agents}
        jax.block_until_ready(rollout(self.env, PARAMS, policies, KEY).totals)
        jax.effects_barrier()
        assert {agent: sorted(steps) for agent, steps in asked.items()} == {
            "level": [0, 3, 6],
            "rank": [0, 2, 4, 6],
            "split": list(range(8)),
        }

    def test_environments_without_periods_act_always(self):
        assert dict(ENV.spec.periods) == {}

    def test_several_episodes_at_once(self):
        keys = jax.random.split(jax.random.key(2), 3)
        run = eqx.filter_jit(lambda key: fairgym.rollout(self.env, PARAMS, POLICIES, key))
        together = eqx.filter_jit(
            lambda keys: jax.vmap(lambda k: fairgym.rollout(self.env, PARAMS, POLICIES, k))(keys)
        )(keys)
        for number, key in enumerate(keys):
            one = run(key)
            assert_close(one.totals, jax.tree.map(lambda x, n=number: x[n], together.totals))
            means = jax.tree.map(lambda x, n=number: x[n], together.mean_actions)
            assert_close(one.mean_actions, means)


class TestStep:
    state = ENV.reset(KEY, PARAMS)[1]

    @property
    def actions(self):
        return {agent: ENV.action_space(agent).sample(KEY) for agent in ENV.agents}

    def test_a_missing_or_unknown_agent(self):
        with pytest.raises(FairgymError, match="no action for 'level'"):
            ENV.step(KEY, self.state, {}, PARAMS)
        with pytest.raises(FairgymError, match="unknown agent 'boss'"):
            ENV.step(KEY, self.state, {**self.actions, "boss": jnp.zeros(2)}, PARAMS)

    def test_a_wrong_shape(self):
        wrong = self.actions | {"rank": jnp.zeros(4)}
        with pytest.raises(FairgymError, match=r"'rank' must have shape \(9,\) .*, got \(4,\)"):
            ENV.step(KEY, self.state, wrong, PARAMS)

    def test_the_census_counts_everybody_by_stage_and_group(self):
        census = ENV.census(self.state)
        assert list(census) == list(ENV.spec.stages)
        for code, stage in enumerate(ENV.spec.stages):
            for group in (0, 1):
                expected = int(((self.state.stage == code) & (self.state.group == group)).sum())
                assert int(census[stage][group]) == expected
        assert sum(int(c.sum()) for c in census.values()) == ENV.population

    def test_noise_is_drawn_at_once(self):
        noise = ENV.noise(KEY, PARAMS)
        assert isinstance(noise, ToyNoise)
        assert all(leaf.shape == (ENV.population,) for leaf in jax.tree.leaves(noise))
