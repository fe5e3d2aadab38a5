"""F-MAPPO and F-MADDPG keep the contract of algorithms and of gradient learners."""

import dataclasses

import equinox as eqx
import jax
import numpy as np
import pytest
from learners import BOUNDED, ENV, SMALL, learner, run_one_world

import fairgym
from fairgym.algorithms import algorithms
from fairgym.core import FairgymError
from fairgym.fairness import Objective
from fairgym.testing import check_algorithm
from fairgym.testing.toys import Toy
from fairgym.training import RunConfig, load, train


def test_rewards_with_exploration_are_logged():
    """Of the steps of this round: those in the buffer, and the steps of the worlds run again."""
    ddpg, ppo = learner("f-maddpg"), learner("f-mappo")
    state = ddpg.init(jax.random.key(0), ENV, BOUNDED)
    state, log = ddpg.update(state)
    collected = int(state.buffer.added)
    assert 0 < collected <= ddpg.places
    rewards = np.asarray(state.buffer.rows.rewards)[:, :collected]
    assert rewards.std() > 0.0
    assert float(log["step_reward"]) == pytest.approx(rewards.mean(), rel=1e-5)

    state = ppo.init(jax.random.key(0), ENV, BOUNDED)
    key = jax.random.key(1)
    _, log = eqx.filter_jit(ppo._round)(state, key)
    keys = jax.random.split(jax.random.split(key)[0], ppo.num_envs)
    collect = jax.vmap(lambda world, key: ppo._run(state, (world, key))[1].rewards)
    rewards = np.asarray(jax.jit(collect)(state.worlds, keys))
    assert rewards.std() > 0.0
    assert float(log["step_reward"]) == pytest.approx(rewards.mean(), rel=1e-5)


class Slow(Toy):
    """The first agent acts at every third step only."""

    @property
    def periods(self):
        return {"level": 3}


@pytest.mark.parametrize("name", SMALL)
def test_agents_that_act_now_and_then_learn_from_those_steps(name):
    env = Slow(population=8, horizon=5, places=3)
    some = learner(name)
    state = some.init(jax.random.key(0), env, Objective.uniform(env))
    if name == "f-mappo":
        steps = run_one_world(some, state, jax.random.key(1))
    else:
        state, _ = some.update(state)
        steps = jax.tree.map(lambda x: x[0, :4], state.buffer.rows)
        does = np.abs(steps.actions["level"]).sum(axis=1) > 0
        assert does.tolist() == [True, False, False, True], "what is ignored is not learned from"
    assert steps.acts["level"].tolist() == [True, False, False, True]
    assert steps.acts["rank"].all() and steps.acts["split"].all()


@pytest.mark.parametrize("name", SMALL)
def test_conformance(name):
    check_algorithm(learner(name), ENV, objective=BOUNDED)


@pytest.mark.parametrize("name", SMALL)
def test_a_real_system_can_be_learned_in(name):
    env = fairgym.make("loan", population=60, horizon=12)
    some = learner(name)
    state = some.init(jax.random.key(0), env, Objective.uniform(env))
    first = state.learned
    state, log = some.update(state)
    assert all(np.isfinite(float(value)) for value in log.values())
    change = jax.tree.map(
        lambda a, b: float(np.abs(a - b).max()), first.actors, state.learned.actors
    )
    assert all(max(jax.tree.leaves(own)) > 0 for own in change.values()), change


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("environment", ["health", "education"])
def test_every_system_can_be_learned_in(name, environment):
    env = fairgym.make(environment, population=160, horizon=12)
    some = learner(name)
    state = some.init(jax.random.key(0), env, Objective.uniform(env))
    before = jax.tree.leaves(state.learned)
    state, log = some.update(state)
    assert {"objective", *(f"metrics/{metric}" for metric in env.metrics)} <= set(log)
    assert all(np.isfinite(value) for value in log.values())
    learned = jax.tree.leaves(state.learned)
    assert all(np.isfinite(x).all() for x in learned)
    assert sum(np.any(x != y) for x, y in zip(learned, before, strict=True)) > len(learned) / 2
    assert set(some.policies(state)) == set(env.agents)


@pytest.mark.parametrize("name", SMALL)
def test_a_bound_is_learned_by_a_multiplier(name):
    some = learner(name)
    state = some.init(jax.random.key(0), ENV, BOUNDED)
    _, log = some.update(state)
    broken = -float(log["metrics/treated_disparity"])
    found = float(log["multipliers/level/treated_disparity"])
    assert broken > 0 and found == pytest.approx(broken, rel=1e-3)


@pytest.mark.parametrize("name", SMALL)
def test_a_run_that_was_cut_off_ends_like_one_that_was_not(name, tmp_path):
    config = RunConfig(
        "loan_simple",
        environment_args={"population": 40, "horizon": 6},
        algorithm=name,
        algorithm_args=dataclasses.asdict(learner(name, epochs=4)),
        objective="half-direct",
    )
    whole = train(config, tmp_path / "whole")

    def stop(epoch, epochs, line):
        if epoch == 2 and line is not None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "cut", progress=stop)
    assert not load(tmp_path / "cut").summary and len(load(tmp_path / "cut").metrics) == 2
    resumed = train(config, tmp_path / "cut", resume=True)

    def lines(run):
        return [{k: v for k, v in line.items() if k != "wall_time_s"} for line in run.metrics]

    assert lines(resumed) == lines(whole) and len(lines(whole)) == 4
    policies = [(tmp_path / cut / "policy.eqx").read_bytes() for cut in ("whole", "cut")]
    assert policies[0] == policies[1]


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("f-mappo", {"num_envs": 0}, "num_envs is 0; it takes a whole number from 1"),
        ("f-mappo", {"num_steps": 2, "num_minibatches": 4}, "num_steps is 2; .* from 4"),
        ("f-mappo", {"learning_rate": 0.0}, "learning_rate is 0.0; it takes a number above 0"),
        ("f-mappo", {"init_std": 2.0}, "init_std is 2.0; it takes a number above 0 to 1"),
        ("f-mappo", {"gamma": 1.5}, "gamma is 1.5; it takes a number from 0 to 1"),
        ("f-maddpg", {"buffer_size": 10}, "buffer_size is 10; it takes a whole number from 800"),
        ("f-maddpg", {"batch_size": 3}, "batch_size is 3; it takes a whole number from 16"),
        (
            "f-maddpg",
            {"exploration_std": -1.0},
            "exploration_std is -1.0; it takes a number from 0",
        ),
    ],
)
def test_hyperparameters_out_of_range(name, given, message):
    with pytest.raises(FairgymError, match=message):
        algorithms.get(name)(**given)
