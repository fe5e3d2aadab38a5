"""Options of PPO: running scales of inputs, activations, fixed spreads; and R-PPO's reward."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fair_tasks import Depot, Desk

import fairgym
from fairgym.algorithms import algorithms
from fairgym.core import FairgymError
from fairgym.fairness import Objective
from fairgym.policies.flat import RunningScale

DESK = Desk()
SMALL = {
    "num_envs": 2,
    "num_steps": 20,
    "num_minibatches": 2,
    "update_epochs": 1,
    "layers": (4,),
    "critic_layers": (4,),
    "evaluation_episodes": 1,
    "episodes_per_epoch": 2,
    "epochs": 1,
}


def test_running_scales_are_means_and_variances_of_all_inputs():
    rng = np.random.default_rng(0)
    parts = [rng.normal(5.0, scale, size=(4, 7, 3)).astype(np.float32) for scale in (1, 3, 0.1)]
    scale = RunningScale(3)
    np.testing.assert_array_equal(scale(jnp.array([1.0, -2.0, 0.5])), [1.0, -2.0, 0.5])
    for part in parts:
        scale = scale.after(jnp.array(part))
    rows = np.concatenate([part.reshape(-1, 3) for part in parts])
    np.testing.assert_allclose(scale.mean, rows.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(scale.variance, rows.var(axis=0), rtol=1e-4)
    found = scale(jnp.array(rows[0]))
    expected = (rows[0] - rows.mean(axis=0)) / rows.std(axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    assert float(scale(jnp.full(3, 1e9))[0]) == 10.0


def test_inputs_are_normalised_by_what_has_been_observed():
    """The scale of the actor after an update is that of the clerk's observations: 0 or 1."""
    learner = algorithms.get("ppo")(**SMALL, normalise_inputs=True)
    state = learner.init(jax.random.key(0), DESK, Objective.direct(DESK))
    state, log = learner.update(state)
    actor, critic = state.networks.actors["clerk"], state.networks.critic
    assert float(actor.scaling.count) == 80.0  # two rounds of two envs and twenty steps
    mean = float(actor.scaling.mean[0])
    assert 0.3 < mean < 0.7
    assert float(actor.scaling.variance[0]) == pytest.approx(mean * (1.0 - mean), rel=1e-3)
    np.testing.assert_allclose(critic.scaling.mean, actor.scaling.mean)
    assert all(bool(jnp.all(jnp.isfinite(x))) for x in jax.tree.leaves(log))
    with pytest.raises(FairgymError, match="normalise_inputs must be False with equivariant"):
        algorithms.get("ppo")(network="equivariant", normalise_inputs=True)


def test_rectified_units_are_those_of_numpy():
    learner = algorithms.get("ppo")(**SMALL, activation="relu")
    state = learner.init(jax.random.key(0), DESK, Objective.direct(DESK))
    actor = state.networks.actors["clerk"]
    seen = DESK.observe(DESK.initial_state(jax.random.key(0), None), None)["clerk"]
    units = np.asarray(actor.inputs(seen))
    first, last = actor.layers
    hidden = np.maximum(np.asarray(first.weight) @ units + np.asarray(first.bias), 0.0)
    expected = np.asarray(last.weight) @ hidden + np.asarray(last.bias)
    np.testing.assert_allclose(actor.logits(seen), expected, rtol=1e-5)


@pytest.mark.full
def test_a_fixed_spread_stays():
    depot = Depot()
    objective = Objective.weighted(depot, {"unevenness": 1.0})
    for learn_std in (True, False):
        learner = algorithms.get("ppo")(**SMALL, learn_std=learn_std, learning_rate=0.1)
        state = learner.init(jax.random.key(0), depot, objective)
        state, _ = learner.update(state)
        same = np.allclose(np.exp(state.log_std["driver"]), 0.5, rtol=1e-6)
        assert same != learn_std
        policy = learner.policies(state)["driver"]
        np.testing.assert_array_equal(policy.log_std, state.log_std["driver"])


def test_the_reward_of_r_ppo_is_reduced_by_the_unfairness():
    learner = algorithms.get("r-ppo")(**SMALL, penalty=2.5)
    terms = learner.terms(DESK, DESK.agents)
    rewards, unfair = np.array([[[1.0], [0.0]]]), np.array([[0.2, 0.6]])
    found = terms.reward({}, jnp.array(rewards), {"short_term": jnp.array(unfair)})
    np.testing.assert_allclose(found[0, :, 0], [1.0 - 2.5 * 0.2, -2.5 * 0.6], rtol=1e-6)


@pytest.mark.full
def test_r_ppo_trades_reward_for_a_small_gap():
    """To approve the first group alone pays, at a gap of 1."""
    gaps = {}
    for penalty in (0.0, 3.0):
        more = {"num_envs": 4, "num_steps": 40, "update_epochs": 5, "episodes_per_epoch": 100}
        more |= {"layers": (8,), "learning_rate": 0.02, "gamma": 0.5, "window": 10}
        learner = algorithms.get("r-ppo")(**SMALL | more, penalty=penalty)
        # a step's reward is then its points
        points = Objective(metrics=DESK.metrics, weights={"points": 1.0 / DESK.horizon})
        state = learner.init(jax.random.key(0), DESK, points)
        gaps[penalty] = float(learner.update(state)[1]["short_term"])
    assert gaps[3.0] < 0.5 * gaps[0.0]


def test_observed_rates_are_those_of_the_window():
    """True positive rates and shares of applicants' scores in the last steps, by NumPy."""
    bank = fairgym.make("bank_loans", horizon=30, shows_cash=False)
    memory = bank.spec.memories["rates"]
    memory = type(memory)(memory.metric, 5, shares_of="applicants")
    env = fairgym.wrappers.augmented(bank, memory)
    space = env.observation_space("bank")
    assert [feature.name for feature in space.context[:3]] == [
        "rate_advantaged",
        "rate_disadvantaged",
        "share_advantaged_score_1",
    ]
    seen, state = env.reset(jax.random.key(0), env.default_params)
    step, rows = eqx.filter_jit(env.step), []
    for number in range(30):
        key = jax.random.fold_in(jax.random.key(1), number)
        action = {"bank": jnp.int32(number % 3 > 0)}
        seen, state, components, *_ = step(key, state, action, env.default_params)
        rows.append(jax.tree.map(np.asarray, components))
        lately = rows[-5:]
        paid, would, who = (
            np.sum([getattr(row, name) for row in lately], axis=0)
            for name in ("successful", "would_repay", "applicants")
        )
        rates = np.divide(paid, would, out=np.zeros(2), where=would > 0)
        expected = [*rates, *(who / (who.sum() + 1.0)).ravel()]
        np.testing.assert_allclose(seen["bank"].context, expected, atol=1e-6)


def test_a_window_of_rates_needs_a_rate():
    bank = fairgym.make("bank_loans")
    with pytest.raises(FairgymError, match="metric must compare the groups' rates, got Direct"):
        type(bank.spec.memories["rates"])(bank.metrics["profit"], 5)
