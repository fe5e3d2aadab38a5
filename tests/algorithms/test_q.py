"""Q-learners on tasks whose values are known in closed form."""

import dataclasses
import warnings

import jax
import numpy as np
import pytest
from q_tasks import Bandit, Chain, Recall, Shop
from toys import Toy

from fairgym.algorithms import algorithms, log_keys
from fairgym.algorithms._algorithm import _warn_of_discount
from fairgym.core import FairgymError, rollout
from fairgym.fairness import Full, Nash, Objective, Rawlsian, Scheme
from fairgym.policies import Constant
from fairgym.wrappers import augmented

SUMMED = Scheme.anytime(Full("points"), Nash())


def trained(name, env, **settings):
    """The algorithm, its state after an epoch, and the log."""
    learner = algorithms.get(name)(**{"epochs": 1} | settings)
    state = learner.init(jax.random.key(0), env, Objective.direct(env))
    return learner, *learner.update(state)


def test_a_table_learns_what_the_arms_of_a_bandit_are_worth():
    env, gamma = Bandit(), 0.5
    settings = {"gamma": gamma, "epsilon_decay": 1.0}
    _, state, log = trained("tabular-q", env, **settings)
    np.testing.assert_allclose(state.table.values[0], env.values(gamma), atol=1e-3)
    assert float(log["objective"]) == pytest.approx(0.9)
    assert log[log_keys.action("chooser", "option_1")] == 1.0
    # nobody explores less where it does not decay
    assert float(state.epsilon[0]) == 1.0 and float(log[log_keys.exploration("chooser")]) == 1.0
    # the other number that could be seen never was
    assert not state.table.values[1].any() and float(state.epsilon[1]) == 1.0


def test_a_table_learns_the_values_of_a_chain():
    env = Chain()
    settings = {"gamma": 0.9, "learning_rate": 0.5, "steps_per_epoch": 4_000}
    _, state, log = trained("tabular-q", env, **settings)
    np.testing.assert_allclose(state.table.values[:-1], env.values(0.9), atol=1e-4)
    assert not state.table.values[-1].any(), "nothing is learned of a state without a step"
    assert float(log["objective"]) == 1.0
    # epsilon decays by itself in every state, to its floor; logged is that of the states met
    np.testing.assert_allclose(state.epsilon, [0.2] * 4 + [1.0])
    assert float(log[log_keys.exploration("chooser")]) == pytest.approx(0.2)


def test_a_network_learns_a_chain():
    env = Chain()
    settings = {
        "gamma": 0.9,
        "episodes_per_epoch": 100,
        "hidden": (16, 16),
        "learning_rate": 3e-3,
        "buffer_size": 400,
        "learning_starts": 50,
        "batch_size": 32,
        "target_network_frequency": 20,
        "epsilon_decay": 0.98,
    }
    learner, state, _ = trained("dqn", env, **settings)
    policy = learner.policies(state)["chooser"]

    @jax.jit
    def play():
        return rollout(env, env.default_params, {"chooser": policy}, jax.random.key(1))

    episode = play()
    assert float(episode.totals.points) == 1.0 and int(episode.length) == 4

    @jax.jit
    @jax.vmap
    def values(place):
        state = dataclasses.replace(env.initial_state(jax.random.key(0), None), seen=place)
        return policy.logits(env.observe(state, None)["chooser"])

    np.testing.assert_allclose(values(np.arange(4, dtype=np.int32)), env.values(0.9), atol=0.1)


def test_only_a_network_that_remembers_can_tell_what_was_seen():
    env = Recall()
    settings = {
        "gamma": 1.0,
        "bootstrap_truncated": False,
        "episodes_per_epoch": 300,
        "hidden": (8,),
        "recurrent_units": 8,
        "learning_rate": 1e-2,
        "buffer_size": 400,
        "learning_starts": 32,
        "batch_size": 64,
        "gradient_steps": 2,
        "target_network_frequency": 20,
        "epsilon_decay": 0.98,
    }
    learner, state, _ = trained("drqn", env, **settings)
    policies = learner.policies(state)
    keys = jax.random.split(jax.random.key(1), 20)
    play = jax.jit(jax.vmap(lambda key: rollout(env, env.default_params, policies, key).totals))
    assert play(keys).points.tolist() == [1.0] * 20


@pytest.mark.parametrize("name", ["tabular-q", "dqn", "drqn"])
def test_what_q_learners_do_not_train(name):
    learner, env, key = algorithms.get(name)(), Toy(), jax.random.key(0)
    objective = Objective.uniform(env)
    with pytest.raises(FairgymError, match=f"3 agents are to be trained: .*; {name} trains one"):
        learner.init(key, env, objective)
    fixed = {a: Constant(env.action_space(a), 0.5) for a in ("level", "split")}
    with pytest.raises(FairgymError, match=f"'rank' is 5 numbers in .*; {name} needs an agent"):
        learner.init(key, env, objective, fixed=fixed)


@pytest.mark.parametrize(
    ("name", "default"), [("dqn", "orthogonal"), ("drqn", "unit-rows"), ("fair-qcm", "orthogonal")]
)
def test_networks_begin_as_those_of_the_authors_unless_told_otherwise(name, default):
    """Alamdari et al.: orthogonal weights, or rows of norm 1 around the GRU; biases of 0."""

    def begun(**more):
        learner = algorithms.get(name)(hidden=(6, 5), **more)
        learner = dataclasses.replace(learner, counterfactuals=0) if "fair" in name else learner
        state = learner.init(jax.random.key(0), Chain(), Objective.direct(Chain()))
        return learner.weight_init, state.trainable.layers

    told, layers = begun()
    assert told == default and not any(layer.bias.any() for layer in layers)
    np.testing.assert_allclose(np.linalg.norm(layers[1].weight, axis=1), 1.0, rtol=1e-5)
    _, layers = begun(weight_init="uniform")
    assert all(layer.bias.any() for layer in layers)
    assert abs(layers[1].weight).max() <= 1 / np.sqrt(6)


@pytest.mark.parametrize("power", [1.0, 0.6])
def test_rates_that_fall_with_every_update(power):
    """Theorem 5.7: with alpha / n^w, the distance to a constant reward is the product of 1 - it."""
    env = Bandit()
    given = {"gamma": 0.0, "epsilon_decay": 1.0, "learning_rate": 0.5}
    _, state, _ = trained("tabular-q", env, **given, learning_rate_power=power)
    visits = np.asarray(state.visits[0])
    assert visits.sum() == 1_000 and visits.min() > 200 and not state.visits[1].any()
    left = [np.prod(1 - 0.5 / np.arange(1, n + 1) ** power) for n in visits]
    np.testing.assert_allclose(
        state.table.values[0], env.values(0.0) * (1 - np.array(left)), rtol=1e-4
    )
    _, constant, _ = trained("tabular-q", env, gamma=0.0, epsilon_decay=1.0)
    assert constant.visits.shape == (0, 3)


@pytest.mark.parametrize("gamma", [0.9, 1.0])
def test_a_discount_does_not_go_with_scores_that_telescope(gamma):
    scheme = Scheme.long_term(Full("points"), Rawlsian())
    objectives = {
        "at the end": Objective({}, {"end": 1.0}, schemes={"end": scheme}),
        "summed": Objective({}, {"sum": 1.0}, schemes={"sum": SUMMED}),
    }
    for name, objective in objectives.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _warn_of_discount(gamma, [objective])
        told = [str(one.message) for one in caught]
        assert len(told) == (gamma < 1.0 and name == "at the end")
        assert all(
            "gamma is 0.9, but the rewards of 'end' are changes of a score" in t for t in told
        )


def test_learners_tell_of_the_discount_when_they_begin():
    shop = Shop()
    objective = Objective.weighted(shop, {"last": 1.0})
    with pytest.warns(UserWarning, match="gamma is 0.99, but the rewards of 'last' are changes"):
        algorithms.get("tabular-q")().init(jax.random.key(0), augmented(shop, "full"), objective)
