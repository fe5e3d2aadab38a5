"""Results of adapters against fairgym's own rollouts, objectives and observations."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils import seeding
from systems import FIRST, SYSTEMS, small
from tiers import in_tiers

import fairgym
from fairgym.adapters._flat import within_ends
from fairgym.adapters.gymnasium import GymnasiumEnv
from fairgym.adapters.jaxmarl import JaxMarlEnv
from fairgym.adapters.pettingzoo import PettingZooEnv
from fairgym.core import FairgymError
from fairgym.fairness import Objective
from fairgym.policies import fixed_policies
from fairgym.wrappers import NeverEnds

ACTIONS = {"admissions": 0.25, "disbursement": 0.5, "debt_management": 0.125}


def key_of(seed):
    """The key that an adapter draws at its first reset."""
    random, _ = seeding.np_random(seed)
    return jax.random.key(int(random.integers(2**32)))


def played(env, actions, seed=0):
    """The rewards of an episode, by agent, and its last infos."""
    env.reset(seed=seed)
    paid = {agent: [] for agent in env.agents}
    infos = {}
    while env.agents:
        given = {agent: actions[agent] for agent in env.agents}
        _, rewards, _, _, infos = env.step(given)
        for agent, reward in rewards.items():
            paid[agent].append(reward)
    return {agent: np.array(one) for agent, one in paid.items()}, infos


def constant(env, actions):
    spaces = {agent: env.action_space(agent) for agent in actions}
    return {a: np.full(s.shape, actions[a], np.float32) for a, s in spaces.items()}


class Counting:
    """A policy that counts its actions: its action is that number divided by ten."""

    def __init__(self, space):
        self.space = space

    def initial(self):
        return jnp.float32(0.0)

    def __call__(self, observation, key, hidden):
        return jnp.full(self.space.shape, hidden / 10.0), hidden + 1.0


@pytest.mark.full
@pytest.mark.parametrize("name", ["loan", "loan_simple"])
def test_an_episode_is_the_rollout_with_the_same_key(name):
    env = fairgym.make(name, population=60, horizon=8)
    adapter = PettingZooEnv(env, objective="direct-fair")
    _, infos = played(adapter, constant(env, ACTIONS), seed=5)
    rolled = fairgym.rollout(env, env.default_params, fixed_policies(env, ACTIONS), key_of(5))
    assert infos["admissions"]["metrics"], "some are defined"
    for metric, value in infos["admissions"]["metrics"].items():
        assert value == float(env.metrics[metric].value(rolled.totals)), metric
    for metric in env.metrics.keys() - infos["admissions"]["metrics"].keys():
        assert not bool(env.metrics[metric].defined(rolled.totals)), metric


@pytest.mark.parametrize("hidden", in_tiers([False, True], False))
@pytest.mark.full
def test_fixed_agents_act_as_in_a_rollout(hidden):
    env = fairgym.make("loan_simple", population=60, horizon=8)
    counting = Counting(env.action_space("debt_management"))
    others = {"disbursement": "random", "debt_management": counting if hidden else "random"}
    adapter = GymnasiumEnv(env, agent="admissions", fixed=others, objective="direct")
    adapter.reset(seed=7)
    done, info = False, {}
    while not done:
        _, _, terminated, truncated, info = adapter.step(np.array([0.25, 0.25], np.float32))
        done = terminated or truncated
    plain = {agent: x for agent, x in others.items() if isinstance(x, str)}
    policies = fixed_policies(env, {"admissions": 0.25, **plain})
    policies |= {agent: x for agent, x in others.items() if not isinstance(x, str)}
    rolled = fairgym.rollout(env, env.default_params, policies, key_of(7))
    assert info["metrics"]["profit"] == float(env.metrics["profit"].value(rolled.totals))
    if hidden:
        shown = GymnasiumEnv(env, agent="admissions", fixed={**others, "debt_management": 0.0})
        shown.reset(seed=7)
        for _ in range(8):
            shown.step(np.array([0.25, 0.25], np.float32))
        assert shown.metrics()["profit"] != info["metrics"]["profit"], "its actions matter"


@pytest.mark.parametrize(
    "name", in_tiers(["loan_simple", "health", "doughnut", "lending_pool"], "lending_pool")
)
def test_a_vector_reward_weighed_is_the_scalar_one(name):
    env = small(name)
    objective = "published" if env.spec.published else "uniform"
    weights = Objective.named(env, objective).weights
    rewards = []
    for vector in (False, True):
        adapter = PettingZooEnv(env, objective=objective, vector_rewards=vector)
        adapter.reset(seed=3)
        rewards.append([])
        for agent in adapter.agents:
            adapter.action_space(agent).seed(1)
        for _ in range(4):
            if not adapter.agents:
                break
            given = {agent: adapter.action_space(agent).sample() for agent in adapter.agents}
            rewards[-1].append(adapter.step(given)[1])
    by_name = np.array([weights.get(name, 0.0) for name in adapter.reward_names])
    assert by_name.any() and set(weights) <= set(adapter.reward_names)
    for scalar, vector in zip(*rewards, strict=True):
        for agent, value in vector.items():
            assert adapter.reward_space(agent).contains(value)
            np.testing.assert_allclose(value @ by_name, scalar[agent], rtol=1e-4, atol=1e-6)


@pytest.mark.full
def test_agents_have_rewards_of_their_own():
    env = small("health")
    adapter = PettingZooEnv(
        env, objectives={"insurer": {"profit": 1.0}}, objective={"mortality_rate": 1.0}
    )
    vector = PettingZooEnv(env, vector_rewards=True)
    given = constant(env, {"insurer": 0.5, "hospital": 0.5, "planner": 0.25})
    (paid, _), (parts, _) = played(adapter, given), played(vector, given)
    profit, deaths = (vector.reward_names.index(n) for n in ("profit", "mortality_rate"))
    np.testing.assert_allclose(paid["insurer"], parts["insurer"][:, profit], rtol=1e-5)
    np.testing.assert_allclose(paid["planner"], parts["planner"][:, deaths], rtol=1e-5)
    assert not np.allclose(paid["insurer"], paid["planner"])


@pytest.mark.full
def test_a_failure_costs_its_penalty():
    env = fairgym.make("education", population=200, horizon=6)
    given = constant(env, {"admissions": 0.5, "university": 0.0, "employer": 0.4, "planner": 0.1})
    given["university"][0] = 1.0  # nothing for salaries
    plain, _ = played(PettingZooEnv(env), given)
    dear, _ = played(PettingZooEnv(env, failure_penalty=7.0), given)
    assert len(plain["planner"]) < env.horizon, "it fails"
    assert dear["planner"][-1] == pytest.approx(plain["planner"][-1] - 7.0, abs=1e-5)
    np.testing.assert_array_equal(dear["planner"][:-1], plain["planner"][:-1])


@pytest.mark.parametrize("name", in_tiers(SYSTEMS, *FIRST))
def test_observations_are_those_of_the_environment_row_by_row(name):
    env = small(name)
    agent = env.agents[-1]
    space = env.observation_space(agent)
    flat, structured = (PettingZooEnv(env, structured=form) for form in (False, True))
    for adapter in (flat, structured):
        seen = adapter.reset(seed=2)[0][agent]
        assert adapter.observation_space(agent).contains(seen)
        truth = env.observe(adapter._table.play.state, env.default_params)[agent]
        if adapter is structured:
            np.testing.assert_allclose(seen["observation"]["features"], truth.features, rtol=1e-6)
            np.testing.assert_array_equal(seen["observation"]["present"], truth.mask)
        else:
            near = within_ends(truth, space, scaled=False)
            rows = seen[: truth.features.size].reshape(truth.features.shape)
            np.testing.assert_allclose(rows, near.features, rtol=1e-6)
            size = truth.features.size + truth.mask.size
            np.testing.assert_array_equal(seen[truth.features.size : size], truth.mask)
            np.testing.assert_allclose(seen[size:], near.context, rtol=1e-6)
            assert seen.base is None or seen.base.flags.writeable
    assert flat.feature_names[agent] == tuple(f.name for f in space.features)
    assert flat.context_names[agent] == tuple(f.name for f in space.context)


@pytest.mark.parametrize("structured", [False, True])
def test_the_state_is_what_all_see(structured):
    adapter = PettingZooEnv(small("health"), structured=structured)
    seen, _ = adapter.reset(seed=4)
    vectors = [seen[agent] for agent in adapter.agents]
    if structured:
        order = ("features", "present", "context")
        vectors = [one["observation"][part].reshape(-1) for one in vectors for part in order]
    np.testing.assert_array_equal(adapter.state(), np.concatenate(vectors))


def test_a_limit_may_be_assigned_and_is_checked():
    adapter = PettingZooEnv(fairgym.make("loan_simple", population=60, horizon=8))
    adapter.max_cycles = 3
    rewards, _ = played(adapter, constant(adapter.environment, ACTIONS))
    assert len(rewards["admissions"]) == 3
    with pytest.raises(
        FairgymError, match="max_cycles must be a whole number from 1 to 1000000, got 0"
    ):
        adapter.max_cycles = 0


def test_options_change_parameters_of_one_episode():
    env = fairgym.make("loan_simple", population=60, horizon=4)
    adapter: Any = GymnasiumEnv(env, agent="admissions", params={"deposit_rate": 0.02})
    adapter.reset(seed=0, options={"params": {"deposit_rate": 0.03}})
    assert float(adapter._table.params.deposit_rate) == np.float32(0.03)
    adapter.reset(seed=0)
    assert float(adapter._table.params.deposit_rate) == np.float32(0.02)
    with pytest.raises(FairgymError, match="unknown parameter 'deposits'"):
        adapter.reset(seed=0, options={"params": {"deposits": 3.0}})


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ([0.5], r"must have shape \(2,\), got \(1,\)"),
        ([0.5, 1.5], r"must be 2 numbers in \[0, 1\], got numbers from 0.5 to 1.5"),
        ([0.5, np.nan], "from nan to nan"),
        ([-0.5, 0.0], "from -0.5 to 0.0"),
    ],
)
def test_actions_outside_their_space_are_refused(action, message):
    adapter = GymnasiumEnv(small("loan_simple"), agent="admissions")
    adapter.reset(seed=0)
    with pytest.raises(ValueError, match=message):
        adapter.step(np.array(action, np.float32))
    adapter.step(np.array([0.5, 0.5], np.float32))


@pytest.mark.parametrize("action", [5, -1, 0.5, [1]])
def test_choices_outside_their_space_are_refused(action):
    adapter = GymnasiumEnv(small("doughnut"))
    adapter.reset(seed=0)
    with pytest.raises(ValueError, match="the action of 'server' must be a whole number"):
        adapter.step(np.array(action) if isinstance(action, list) else action + 60 * (action == 5))


def test_steps_without_an_episode_are_refused():
    adapter = PettingZooEnv(fairgym.make("loan_simple", population=60, horizon=2))
    given = constant(adapter.environment, ACTIONS)
    with pytest.raises(FairgymError, match="the episode is over; call reset"):
        adapter.step(given)
    played(adapter, given)
    with pytest.raises(FairgymError, match="the episode is over"):
        adapter.step(given)
    adapter.reset()
    with pytest.raises(ValueError, match="no action for 'disbursement'"):
        adapter.step({"admissions": given["admissions"]})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"failure_penalty": -1.0}, "failure_penalty must be a non-negative number, got -1.0"),
        (
            {"failure_penalty": 1.0, "vector_rewards": True},
            "must be 0 with vector_rewards, got 1.0",
        ),
        ({"max_cycles": 0}, "max_cycles must be a whole number from 1 to 1000000, got 0"),
        ({"fixed": {"bank": 0.5}}, "unknown agent 'bank'"),
        ({"fixed": dict.fromkeys(ACTIONS, 0.5)}, "fixed covers every agent"),
        ({"fixed": {"admissions": 0.5}, "objectives": {"admissions": "direct"}}, "objectives has"),
        ({"objective": "fair"}, "unknown objective 'fair'"),
        (
            {"objectives": {"bank": "direct"}},
            "objectives has 'bank', which does not play; the playing",
        ),
    ],
)
def test_settings_that_are_refused(settings, message):
    settings = {"env": small("loan_simple"), **settings}
    with pytest.raises(FairgymError, match=message):
        PettingZooEnv(settings.pop("env"), **settings)


def test_bounds_take_a_learner():
    env = small("loan_simple")
    with pytest.raises(FairgymError, match="has bounds, which need fairgym's own learners"):
        PettingZooEnv(env, objective=Objective.direct(env).bounded({"wait_disparity": 0.1}))


def test_the_learning_agent_is_not_fixed():
    env = small("loan_simple")
    assert GymnasiumEnv(env).agent == "admissions"
    assert GymnasiumEnv(env, fixed={"admissions": 0.5}).agent == "disbursement"
    with pytest.raises(FairgymError, match="fixed has 'admissions', the agent that learns"):
        GymnasiumEnv(env, agent="admissions", fixed={"admissions": 0.5})
    with pytest.raises(FairgymError, match="unknown agent 'bank'"):
        GymnasiumEnv(env, agent="bank")


# ---------------------------------------------------------------- JaxMARL


def sampled(env, key):
    keys = jax.random.split(key, env.num_agents)
    return {a: env.action_space(a).sample(k) for a, k in zip(env.agents, keys, strict=True)}


@pytest.mark.parametrize("name", in_tiers(SYSTEMS, *FIRST))
def test_jaxmarl_shapes_are_the_declared_ones(name):
    env = JaxMarlEnv(small(name))
    seen, state = env.reset(jax.random.key(0))
    available = env.get_avail_actions(state)
    for agent in env.agents:
        assert seen[agent].shape == env.observation_space(agent).shape
        space = env.action_space(agent)
        action = space.sample(jax.random.key(1))
        assert action.shape == space.shape and bool(space.contains(action))
        assert (agent in available) == (space.shape == ())
    actions = sampled(env, jax.random.key(1))
    after, state, rewards, dones, infos = env.step(jax.random.key(2), state, actions)
    assert {*dones} == {*env.agents, "__all__"} and {*rewards} == {*env.agents}
    assert jax.tree.map(jnp.shape, after) == jax.tree.map(jnp.shape, seen)
    assert int(state.step) == 1 or bool(dones["__all__"])
    assert {*infos["metrics"]} == {*env.environment.metrics}
    assert env.agent_classes == {agent: [agent] for agent in env.agents}


def test_jaxmarl_steps_are_those_of_the_environment():
    env = fairgym.make("loan_simple", population=60, horizon=5)
    adapter = JaxMarlEnv(env, objective="direct-fair")
    _, state = adapter.reset(jax.random.key(3))
    actions, key = sampled(adapter, jax.random.key(4)), jax.random.key(5)
    seen, after, rewards, _, _ = adapter.step_env(key, state, actions)
    noise = jax.random.fold_in(jax.random.split(key)[1], 0)
    truth, moved, components, *_ = env.step(noise, state.play.state, actions, env.default_params)
    for agent in env.agents:
        np.testing.assert_array_equal(
            seen[agent][: truth[agent].features.size], truth[agent].features.reshape(-1)
        )
        expected = Objective.direct_fair(env).score(components)
        np.testing.assert_allclose(rewards[agent], expected, rtol=1e-5)
    assert int(after.play.state.time) == int(moved.time) == 1


@pytest.mark.full
def test_jaxmarl_episodes_begin_anew_side_by_side():
    env = JaxMarlEnv(NeverEnds(fairgym.make("loan_simple", population=60, horizon=3)))
    keys = jax.random.split(jax.random.key(0), 4)

    def walk(key):
        def step(state, key):
            act, go = jax.random.split(key)
            _, state, rewards, dones, _ = env.step(go, state, sampled(env, act))
            return state, (rewards["admissions"], dones["__all__"], state.step)

        return jax.lax.scan(step, env.reset(key)[1], jax.random.split(key, 7))[1]

    rewards, dones, steps = jax.jit(jax.vmap(walk))(keys)
    assert dones.tolist() == [[False, False, True, False, False, True, False]] * 4
    assert steps.tolist() == [[1, 2, 0, 1, 2, 0, 1]] * 4
    for place, key in enumerate(keys):
        np.testing.assert_allclose(rewards[place], walk(key)[0], rtol=1e-5, atol=1e-6)


def test_jaxmarl_begins_anew_from_a_given_state_and_takes_old_keys():
    env = JaxMarlEnv(NeverEnds(fairgym.make("loan_simple", population=60, horizon=2)))
    _, first = env.reset(jax.random.PRNGKey(1))
    state, dones = first, {}
    for number in range(2):
        actions = sampled(env, jax.random.key(number))
        _, state, _, dones, _ = env.step(jax.random.PRNGKey(number), state, actions, first)
    assert bool(dones["__all__"])
    same = jax.tree.map(lambda x, y: bool(jnp.all(x == y)), state, first)
    assert all(jax.tree.leaves(same))


@pytest.mark.full
def test_jaxmarl_parameters_are_part_of_the_state():
    env = JaxMarlEnv(fairgym.make("loan_simple", population=60, horizon=4))
    dear = env.environment.default_params.replace(deposit_rate=0.03)
    _, state = env.reset(jax.random.key(0), dear)
    _, state, *_ = env.step(jax.random.key(1), state, sampled(env, jax.random.key(2)))
    assert float(state.params.deposit_rate) == np.float32(0.03)


def test_the_cost_of_a_step_is_its_unfairness():
    """Largest deviation of the units sent so far from even shares (equation 9), by NumPy."""
    adapter = GymnasiumEnv(fairgym.make("attention", horizon=8), cost="short_term")
    adapter.reset(seed=0)
    rng, sums = np.random.default_rng(0), np.zeros(5)
    info: dict[str, Any] = {}
    for _ in range(8):
        units = rng.multinomial(6, [0.4, 0.3, 0.1, 0.1, 0.1])
        *_, info = adapter.step(units / 6)
        sums += units
        assert info["cost"] == pytest.approx(np.abs(sums / sums.sum() - 0.2).max(), abs=1e-6)
    assert "metrics" in info


def test_a_disparity_is_the_cost_of_the_episode_so_far():
    bank = fairgym.make("bank_loans", horizon=20)
    adapter = PettingZooEnv(bank, cost="tpr_disparity")
    adapter.reset(seed=3)
    rng, costs, infos = np.random.default_rng(1), [], {}
    while adapter.agents:
        infos = adapter.step({"bank": int(rng.integers(2))})[-1]["bank"]
        costs.append(infos["cost"])
    assert costs[0] == 0.0  # of one group nobody has applied
    assert costs[-1] == pytest.approx(-infos["metrics"]["tpr_disparity"], abs=1e-6) != 0.0


def test_a_cost_that_is_no_unfairness_is_refused():
    with pytest.raises(FairgymError, match="cost must be a measure of unfairness of bank"):
        GymnasiumEnv("bank_loans", cost="profit")
    assert GymnasiumEnv("bank_loans").reset(seed=0)[1] == {}
