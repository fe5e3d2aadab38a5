"""What an episode pays: the rewards of every adapter add up to the score of the objective."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from systems import OWN, small
from test_playing import key_of
from tiers import in_tiers

import fairgym
from fairgym.adapters.gymnasium import GymnasiumEnv
from fairgym.adapters.jaxmarl import JaxMarlEnv
from fairgym.adapters.pettingzoo import PettingZooEnv
from fairgym.core import no_components
from fairgym.fairness import Objective

# An objective with fairness in it, where "direct-fair" has no terms.
FAIR: dict[str, Any] = {
    "doughnut": {"handed_out": 0.5, "worst_off": 1.0, "balance": 0.25},  # schemes of three kinds
    "epidemic": "uniform",
}
FIRST = ("doughnut", "lending_pool", "bank_loans")


def constant_actions(env):
    """One action of each agent, as the adapters take it."""
    keys = jax.random.split(jax.random.key(7), len(env.agents))
    acts = {a: env.action_space(a).sample(k) for a, k in zip(env.agents, keys, strict=True)}
    return {  # units are weights in a box
        agent: np.asarray(act) if env.action_space(agent).discrete else np.clip(act, 0.0, 1.0)
        for agent, act in acts.items()
    }


def paid(adapter, actions):
    """The sum of each agent's rewards in an episode, and its number of steps."""
    adapter.reset(seed=3)
    sums, steps = dict.fromkeys(adapter.agents, 0.0), 0
    while adapter.agents:
        rewards = adapter.step({agent: actions[agent] for agent in adapter.agents})[1]
        sums = {agent: sums[agent] + np.asarray(reward, float) for agent, reward in rewards.items()}
        steps += 1
    return sums, steps


def episode_of(env, actions, schemes, params=None):
    """The same episode by fairgym's own rollout."""

    def always(action):
        return lambda observation, key: jnp.asarray(action)

    policies: Any = {agent: always(action) for agent, action in actions.items()}
    params = env.default_params if params is None else params
    return fairgym.rollout(env, params, policies, key_of(3), memories=schemes)


def score_of(objective, episode):
    return float(objective.score(episode.totals, episode.memories))


def objective_of(env, given):
    given = env.spec.default_objective if given is None else given
    return Objective.named(env, given) if isinstance(given, str) else Objective.weighted(env, given)


@pytest.mark.parametrize("fair", [False, True])
@pytest.mark.parametrize("name", in_tiers(OWN, *FIRST))
def test_rewards_of_an_episode_add_up_to_the_score(name, fair):
    env = small(name)
    given = FAIR.get(name, "direct-fair") if fair else None
    actions = constant_actions(env)
    objective = objective_of(env, given)
    episode = episode_of(env, actions, objective.weighed_schemes)
    score = score_of(objective, episode)
    sums, steps = paid(PettingZooEnv(env, objective=given), actions)
    assert steps == int(episode.length) and score != 0.0
    for agent in env.agents:
        np.testing.assert_allclose(sums[agent], score, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", in_tiers(OWN, "bank_loans"))
def test_each_number_of_a_vector_reward_adds_up_to_its_score(name):
    env = small(name)
    actions = constant_actions(env)
    adapter = PettingZooEnv(env, vector_rewards=True)
    sums, _ = paid(adapter, actions)
    episode = episode_of(env, actions, env.spec.schemes)
    objectives = [Objective.weighted(env, {term: 1.0}) for term in adapter.reward_names]
    scores = [score_of(objective, episode) for objective in objectives]
    assert np.any(scores)
    for agent in env.agents:
        np.testing.assert_allclose(sums[agent], scores, rtol=1e-5, atol=1e-6)


def test_an_episode_that_terminates_pays_the_score_of_its_steps():
    """A bank of little cash that approves everybody is soon bankrupt."""
    env = fairgym.make("bank_loans", horizon=40)
    params = env.default_params.replace(cash=2.0, repayment=jnp.full(7, 0.5))
    objective = Objective.weighted(
        env, {"profit": 1.0, "tpr_disparity": 0.5, "score_distance": 0.25}
    )
    actions = {"bank": np.array(1)}
    episode = episode_of(env, actions, {}, params)
    adapter = PettingZooEnv(env, objective=objective, params=params, failure_penalty=3.0)
    sums, steps = paid(adapter, actions)
    assert steps == int(episode.length) < env.horizon
    assert sums["bank"] == pytest.approx(score_of(objective, episode) - 3.0, abs=1e-5)


def test_published_numbers_are_returns():
    """Doughnuts in turns: the welfare summed over the steps, which the paper has (A.4.1)."""
    env = fairgym.make("doughnut", population=2, horizon=4)
    adapter = GymnasiumEnv(env, params={"presence": 1.0})
    adapter.reset(seed=0)
    rewards = [adapter.step(step % 2)[1] for step in range(4)]
    np.testing.assert_allclose(rewards, np.log([2, 4, 6, 9]), rtol=1e-6)


def test_rewards_in_compiled_programs_add_up_too():
    env = fairgym.make("doughnut", population=3, horizon=5)
    objective = Objective.weighted(env, FAIR["doughnut"])
    adapter = JaxMarlEnv(env, objective=objective)
    _, state = adapter.reset(jax.random.key(0))
    nothing = no_components(env, env.default_params)
    _, in_fields = ravel_pytree(nothing)
    schemes, before, total = objective.initial(nothing), state.play.totals, 0.0
    for number, person in enumerate([0, 1, 1, 2, 0]):
        actions = {"server": jnp.int32(person)}
        _, state, rewards, _, _ = adapter.step_env(jax.random.key(number), state, actions)
        total += float(rewards["server"])
        components = in_fields(state.play.totals - before)
        before = state.play.totals
        schemes = {n: objective.schemes[n].update(s, components) for n, s in schemes.items()}
    score = float(objective.score(in_fields(state.play.totals), schemes))
    assert total == pytest.approx(score, rel=1e-5) and score != 0.0
