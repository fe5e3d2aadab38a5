"""F-MAPPO and F-MADDPG keep the contract of algorithms and of gradient learners."""

import dataclasses
from functools import cache, cached_property

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from learners import BOUNDED, ENV, FIXED, HELD, SMALL, collected, learner
from tiers import in_tiers
from toys import Toy
from two_servers import Jobs, TwoServers

import fairgym
from fairgym.algorithms import algorithms, log_keys
from fairgym.algorithms._episodes import log_gaps
from fairgym.config import RunConfig
from fairgym.core import FairgymError
from fairgym.fairness import Objective
from fairgym.testing import check_algorithm
from fairgym.training import load, train
from fairgym.utils.registry import environments
from fairgym.wrappers import EndsAfter


@pytest.fixture(scope="module")
def begun():
    """Name -> a learner, its state before and after an update, and the log of that."""

    @cache
    def update(name):
        some = learner(name)
        state = some.init(jax.random.key(0), ENV, BOUNDED, fixed=FIXED)
        return some, state, *some.update(state)

    return update


@pytest.mark.full
def test_rewards_with_exploration_are_logged(begun):
    """Of the steps of this epoch: F-MADDPG has them in its buffer, F-MAPPO collects them again."""
    ddpg, _, state, log = begun("f-maddpg")
    assert int(state.buffer.added) == ddpg.num_steps * ddpg.rounds(ENV) == 8
    rewards = np.asarray(state.buffer.rows.rewards)[:, :8]
    assert rewards.std() > 0.0
    assert float(log["step_reward"]) == pytest.approx(rewards.mean(), rel=1e-5)

    ppo, state, _, log = begun("f-mappo")
    assert ppo.rounds(ENV) == 1
    key = state.next_key()[0]
    for number in (2, 1, 2):  # those of the rounds, that of the first, and to collect
        key = jax.random.split(key, number)[0]
    rewards = np.asarray(collected(ppo, state, key).rewards)
    assert rewards.std() > 0.0
    assert float(log["step_reward"]) == pytest.approx(rewards.mean(), rel=1e-5)


@pytest.mark.full
def test_gaps_are_those_of_the_episodes_in_which_every_group_has_somebody():
    """Their sign tells which group has more; without such an episode they are 0."""

    def jobs(arrived, served):
        return Jobs(jnp.zeros(len(arrived)), jnp.array(arrived), jnp.array(served))

    some = jobs([[4.0, 4.0], [2.0, 0.0], [4.0, 2.0]], [[1.0, 2.0], [2.0, 0.0], [2.0, 0.5]])
    key = log_keys.gap("served_gap", "right")
    assert log_gaps(TwoServers(), some) == {key: pytest.approx((0.25 - 0.25) / 2)}
    first = jax.tree.map(lambda x: x[:2], some)
    assert log_gaps(TwoServers(), first) == {key: pytest.approx(0.25)}
    none = jax.tree.map(lambda x: x[1:2], some)
    assert log_gaps(TwoServers(), none) == {key: pytest.approx(np.nan, nan_ok=True)}


@pytest.mark.full
def test_the_buffer_of_f_maddpg_keeps_the_last_steps_in_order(begun):
    """Also after it is full: who is drawn is followed by the next step of the same environment."""
    ddpg, _, state, _ = begun("f-maddpg")
    draw = eqx.filter_jit(lambda buffer, key: buffer.sample(key, 3))
    seen = set()
    for _ in range(3):
        state, _ = ddpg.update(state)
        assert int(state.buffer.added) > ddpg.places == 12
        step, later = draw(state.buffer, jax.random.key(3))
        time, after = (np.asarray(s.observations["level"][2])[..., 0] for s in (step, later))
        ended = np.asarray(step.done)
        assert step.done.shape == (2, 3)
        np.testing.assert_array_equal(ended, time == 4)
        np.testing.assert_array_equal(after, np.where(ended, 0, time + 1))
        seen |= set(time.reshape(-1).tolist())
    assert len(seen) > 2


@pytest.mark.full
def test_exploration_of_f_mappo_has_a_limit(begun):
    """The entropy bonus alone would have it grow for ever; a few steps change it by little."""
    some, state, _, _ = begun("f-mappo")
    wide = {agent: jnp.full_like(std, 2.0) for agent, std in state.log_std.items()}
    _, log = some.update(state.replace(log_std=wide))
    assert float(log["exploration/level"]) == pytest.approx(some.max_std, rel=0.01) == 1.0


class Slow(Toy):
    """The first agent acts at every third step only."""

    @cached_property
    def spec(self):
        return dataclasses.replace(super().spec, periods={"level": 3})


@pytest.mark.parametrize("name", SMALL)
def test_agents_that_act_now_and_then_learn_from_those_steps(name):
    """In a system whose episodes end as its wrapper says."""
    env = EndsAfter(Slow(population=8, horizon=5, places=3), 4)
    some = learner(name)
    fixed = {"split": FIXED["split"]}
    state = some.init(jax.random.key(0), env, Objective.uniform(env), fixed=fixed)
    steps = collected(some, state, jax.random.key(1))
    for env in range(2):
        assert steps.acts["level"][env].tolist() == [True, False, False, True]
        assert steps.done[env].tolist() == [False, False, False, True]
    assert steps.acts["rank"].all()
    if name == "f-maddpg":
        does = np.abs(steps.actions["level"]).sum(axis=2) > 0
        assert np.array_equal(does, steps.acts["level"]), "what is ignored is not learned from"


@pytest.mark.parametrize("name", in_tiers(SMALL, "f-mappo"))
def test_conformance(name, begun):
    check_algorithm(learner(name), ENV, objective=BOUNDED, fixed=FIXED)
    some, before, state, _ = begun(name)
    assert set(state.trainable.actors) == {"level"} and state.trained == ("level",)
    for policies in (some.policies(before), some.policies(state)):
        assert list(policies) == list(ENV.agents)
        assert all(eqx.tree_equal(policies[agent], policy) for agent, policy in FIXED.items())


def check_learned(before, after):
    """All numbers are finite, every agent's policy has changed, and most of everything."""
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(after))
    moved = jax.tree.map(lambda x, y: bool(np.any(np.asarray(x) != np.asarray(y))), after, before)
    for agent, own in moved.actors.items():
        assert any(jax.tree.leaves(own)), agent
    assert np.mean(jax.tree.leaves(moved)) > 0.5


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "environment"),
    [("f-mappo", "loan"), ("f-maddpg", "health"), ("f-mappo", "education")],
)
def test_every_system_can_be_learned_in(name, environment):
    """A round of it; measuring what was learned is the same for all algorithms."""
    env = fairgym.make(environment, population=160, horizon=12)
    some = learner(name, learning_starts=0) if name == "f-maddpg" else learner(name)
    before = some.init(jax.random.key(0), env, Objective.uniform(env))
    state, log = eqx.filter_jit(type(some)._round)(some, before, jax.random.key(1))
    check_learned(before.trainable, state.trainable)
    assert all(np.isfinite(value) for value in log.values())
    assert list(some.policies(state)) == list(env.agents)


@pytest.mark.parametrize("name", in_tiers(SMALL, "f-mappo"))
def test_a_bound_is_learned_by_a_multiplier(name, begun):
    _, _, _, log = begun(name)
    assert {"objective", *(f"metrics/{metric}" for metric in ENV.metrics)} <= set(log)
    broken = -float(log["metrics/treated_disparity"])
    found = float(log["multipliers/level/treated_disparity"])
    assert broken > 0 and found == pytest.approx(broken, rel=1e-3)


@pytest.mark.parametrize("name", in_tiers(SMALL, "f-mappo"))
def test_a_run_that_was_cut_off_ends_like_one_that_was_not(name, tmp_path, monkeypatch):
    monkeypatch.setitem(environments._things, ENV.name, Toy)
    config = RunConfig(
        ENV.name,
        environment_args={"population": 8, "horizon": 5, "places": 3},
        algorithm=name,
        algorithm_args=dataclasses.asdict(learner(name, epochs=4)),
        objective="direct",
        bounds=BOUNDED.bounds,
        fixed=HELD,
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
        times = "wall_time_s", "steps_a_second"
        return [{k: v for k, v in line.items() if k not in times} for line in run.metrics]

    assert lines(resumed) == lines(whole) and len(lines(whole)) == 4
    policies = [(tmp_path / cut / "policy.eqx").read_bytes() for cut in ("whole", "cut")]
    assert policies[0] == policies[1]


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("f-mappo", {"num_envs": 0}, "num_envs must be a whole number from 1.*got 0"),
        (
            "f-mappo",
            {"num_steps": 2, "num_minibatches": 4},
            "num_steps must be .* from 4 .*, got 2",
        ),
        ("f-mappo", {"learning_rate": 0.0}, "learning_rate must be a number above 0.*got 0.0"),
        ("f-mappo", {"init_std": 2.0}, "init_std must be a number above 0 to 1, got 2.0"),
        ("f-mappo", {"gamma": 1.5}, "gamma must be a number from 0 to 1.*got 1.5"),
        ("f-maddpg", {"buffer_size": 10}, "buffer_size must be a whole number from 800.*got 10"),
        ("f-maddpg", {"batch_size": 3}, "batch_size must be a whole number from 16.*got 3"),
        (
            "f-maddpg",
            {"exploration_std": -1.0},
            "exploration_std must be a number from 0.*got -1.0",
        ),
    ],
)
def test_hyperparameters_out_of_range(name, given, message):
    with pytest.raises(FairgymError, match=message):
        algorithms.get(name)(**given)
