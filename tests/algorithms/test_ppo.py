"""PPO with flat networks on tasks whose values are known in closed form."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from q_tasks import Bandit, Chain
from toys import Toy

from fairgym.algorithms import algorithms, log_keys
from fairgym.algorithms._on_policy import generalised_advantages
from fairgym.core import FairgymError, rollout
from fairgym.fairness import Objective

SMALL = {"num_envs": 4, "layers": (16,), "critic_layers": (16,), "evaluation_episodes": 2}

SHORT = {"episodes_per_epoch": 2, "num_envs": 2, "num_steps": 5, "evaluation_episodes": 1}


def trained(name, env, **settings):
    """The algorithm, its state after an epoch, and the log."""
    learner = algorithms.get(name)(**SMALL | {"epochs": 1} | settings)
    state = learner.init(jax.random.key(0), env, Objective.direct(env))
    return learner, *learner.update(state)


def values(learner, state, env, numbers):
    """What the critic expects of each number that may be seen."""
    mean, spread = state.moments.scale
    seen = [
        env.observe(dataclasses.replace(env.initial_state(None, None), seen=jnp.int32(n)), None)
        for n in numbers
    ]
    return [float((state.networks.critic(one, jnp.ones(1)) * spread + mean)[0]) for one in seen]


@pytest.mark.parametrize(("bootstraps", "value"), [(True, 1.8), (False, 0.9)])
def test_a_bandit_and_what_comes_after_its_only_step(bootstraps, value):
    """Each episode is truncated after a step: 0.9 for ever, or once."""
    learner, state, log = trained(
        "ppo",
        Bandit(),
        gamma=0.5,
        num_steps=32,
        num_minibatches=2,
        learning_rate=0.01,
        episodes_per_epoch=32 * 4 * 25,
        bootstrap_truncated=bootstraps,
    )
    assert log[log_keys.action("chooser", "option_1")] == 1.0
    assert float(log[log_keys.STEP_REWARD]) > 0.75
    np.testing.assert_allclose(values(learner, state, Bandit(), [0]), value, atol=0.15)


def test_a_chain_whose_end_is_the_end():
    """What terminates has no value after it, however far the horizon is."""
    env = Chain()
    learner, state, _ = trained(
        "ppo",
        env,
        gamma=0.9,
        num_steps=64,
        learning_rate=0.01,
        ent_coef=0.01,
        num_minibatches=4,
        episodes_per_epoch=4 * 64 * 25 // env.horizon,
    )
    policy = learner.policies(state)["chooser"]
    episode = jax.jit(
        lambda: rollout(env, env.default_params, {"chooser": policy}, jax.random.key(1))
    )()
    assert float(episode.totals.points) == 1.0 and int(episode.length) == 4
    right = env.horizon * env.values(0.9)[:, 1]  # a step's reward is of the size of an episode's
    np.testing.assert_allclose(values(learner, state, env, range(4)), right, rtol=0.05)


def test_advantages_where_an_episode_is_cut_off():
    """The value after the horizon counts, and the next episode does not; NumPy."""
    generator = np.random.default_rng(1)
    rewards, values, following = generator.normal(size=(3, 6, 1)).astype(np.float32)
    done = np.array([0, 1, 0, 1, 0, 0], np.float32)
    last = np.array([0, 0, 0, 1, 0, 0], np.float32)  # the second end is a failure
    gamma, decay = 0.9, 0.8
    errors = rewards + gamma * (1 - last)[:, None] * following - values
    expected = np.zeros_like(errors)
    for start, end in ((0, 1), (2, 3), (4, 5)):
        later = 0.0
        for t in range(end, start - 1, -1):
            later = errors[t] + gamma * decay * later
            expected[t] = later
    found = generalised_advantages(
        jnp.array(rewards),
        jnp.array(values),
        jnp.array(following),
        jnp.array(last),
        jnp.array(done),
        gamma,
        decay,
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.full
def test_with_equivariant_networks_it_is_f_mappo():
    """The same hyperparameters: the same start, and the same program from there."""
    f_mappo = algorithms.get("f-mappo")(**SHORT)
    fields = {field.name: getattr(f_mappo, field.name) for field in dataclasses.fields(f_mappo)}
    ppo = algorithms.get("ppo")(**fields, network="equivariant", bootstrap_truncated=False)
    env = Toy(population=8, horizon=5, places=3)
    found = []
    for learner in (f_mappo, ppo):
        state = learner.init(jax.random.key(0), env, Objective.uniform(env))
        found.append((state, str(eqx.filter_make_jaxpr(learner.update)(state)[0])))
    (first, program), (second, same) = found
    assert eqx.tree_equal(first, second) and program == same


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"layers": (8, 0)}, r"layers must be whole numbers from 1.*got \[8, 0\]"),
        ({"sampled_people": 4}, "sampled_people must be 0 with a flat network, .*, got 4"),
    ],
)
def test_what_cannot_be_is_refused(settings, message):
    with pytest.raises(FairgymError, match=message):
        algorithms.get("ppo")(**settings)


def test_a_flat_network_scores_nobody():
    env = Toy(population=8, horizon=5, places=3)
    with pytest.raises(FairgymError, match="scores each person; use 'equivariant'"):
        algorithms.get("ppo")().init(jax.random.key(0), env, Objective.direct(env))
