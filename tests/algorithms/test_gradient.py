"""F-MAPPO and F-MADDPG: their parts against NumPy, and what they learn where the best is known."""

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tasks import Crowd

import fairgym
from fairgym.algorithms import algorithms
from fairgym.algorithms._critic import networks, sample_people
from fairgym.algorithms.f_maddpg import _read, _stored
from fairgym.algorithms.f_mappo import advantages, log_probability
from fairgym.core import Entities, FairgymError
from fairgym.fairness import Objective
from fairgym.policies import equivariant
from fairgym.policies.networks import Standardiser
from fairgym.testing import check_algorithm
from fairgym.testing.toys import Toy
from fairgym.training import RunConfig, load, train

SMALL = {
    "f-mappo": {"num_envs": 2, "num_steps": 4, "update_epochs": 2, "num_minibatches": 2},
    "f-maddpg": {
        "num_envs": 2,
        "num_steps": 4,
        "gradient_steps": 2,
        "batch_size": 6,
        "buffer_size": 24,
        "learning_starts": 8,
    },
}
TINY = {
    "epochs": 2,
    "episodes_per_epoch": 4,
    "evaluation_episodes": 2,
    "hidden": 4,
    "sampled_people": 5,
}


def learner(name, **changes):
    """A learner whose epoch takes no time."""
    return algorithms.get(name)(**(SMALL[name] | TINY | {"critic_hidden": 4} | changes))


# ------------------------------------------------------------------ people


def crowd(mask):
    """One feature, which is the row's number."""
    mask = jnp.asarray(mask)
    rows = jnp.where(mask, jnp.arange(float(mask.size)), 0.0)
    return Entities(rows[:, None], mask, jnp.zeros(0))


def test_a_sample_is_everybody_if_they_are_few():
    few = crowd([False, True, False, True, True] + [False] * 15)
    for seed in range(5):
        sample, rows = sample_people(few, jax.random.key(seed), 8)
        assert sample.mask.tolist() == [True] * 3 + [False] * 5
        assert rows[:3].tolist() == sample.features[:3, 0].tolist() == [1, 3, 4]
        assert not sample.features[3:].any()
    nobody, _ = sample_people(crowd([False] * 20), jax.random.key(0), 8)
    assert not nobody.mask.any() and not nobody.features.any()
    same, rows = sample_people(few, jax.random.key(0), 0)
    assert same is few and rows.tolist() == list(range(20))


def test_a_sample_of_many_gives_everybody_the_same_chance():
    mask = np.arange(60) % 3 != 0  # forty people, of whom ten are drawn
    keys = jax.random.split(jax.random.key(0), 4_000)
    samples, rows = jax.jit(jax.vmap(lambda key: sample_people(crowd(mask), key, 10)))(keys)
    assert samples.mask.all() and mask[np.asarray(rows)].all()
    assert all(len(set(row)) == 10 for row in np.asarray(rows)[:50].tolist()), "nobody twice"
    chance = np.bincount(np.asarray(rows).reshape(-1), minlength=60) / 4_000
    np.testing.assert_allclose(chance[mask], 0.25, atol=4 * math.sqrt(0.25 * 0.75 / 4_000))


# ------------------------------------------------------------------ values and probabilities


def test_advantages_are_sums_of_errors_up_to_the_end():
    """A_t = sum over l of (gamma lambda)^l delta_{t+l}, to the end of the episode; NumPy."""
    generator = np.random.default_rng(0)
    rewards = generator.normal(size=(7, 2)).astype(np.float32)
    values = generator.normal(size=(8, 2)).astype(np.float32)
    done = np.array([0, 0, 1, 0, 0, 0, 0], np.float32)
    gamma, decay = 0.9, 0.7
    errors = rewards + gamma * (1 - done)[:, None] * values[1:] - values[:-1]
    expected = np.zeros_like(errors)
    for t in range(7):
        last = 2 if t <= 2 else 6
        for later in range(t, last + 1):
            expected[t] += (gamma * decay) ** (later - t) * errors[later]
    found = advantages(jnp.array(rewards), jnp.array(values), jnp.array(done), gamma, decay)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_probabilities_of_a_group_level_action_are_normal_densities():
    env = Toy()
    actor = equivariant(env, jax.random.key(0), 4)["level"]
    seen, _ = env.reset(jax.random.key(1), env.default_params)
    log_std, action = jnp.array([-0.5, 0.3]), jnp.array([0.2, -1.1])
    mean = np.asarray(actor.logits(seen["level"]), float)
    std = np.exp([-0.5, 0.3])
    z = (np.array([0.2, -1.1]) - mean) / std
    expected = np.sum(-0.5 * z**2 - np.log(std * np.sqrt(2 * np.pi)))
    found = log_probability(actor, log_std, seen["level"], action)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_probabilities_of_per_person_actions_are_means_over_those_present():
    """Three people weigh as much as the same three a hundred times over."""
    env = Crowd()
    actor = equivariant(env, jax.random.key(0), 4)["judge"]
    worth, done = jnp.array([0.3, -1.0, 2.0]), jnp.array([0.5, 0.1, -0.7])
    few = Entities.from_columns([worth], jnp.ones(3, bool), [])
    many = Entities.from_columns(
        [jnp.concatenate([jnp.tile(worth, 100), jnp.ones(50)])],
        jnp.arange(350) < 300,
        [],
    )
    log_std = jnp.array([-0.2])
    one = log_probability(actor, log_std, few, done)
    z = (np.asarray(done) - np.asarray(actor.logits(few))) / np.exp(-0.2)
    expected = np.mean(-0.5 * z**2 + 0.2 - 0.5 * np.log(2 * np.pi))
    np.testing.assert_allclose(one, expected, rtol=1e-5)
    padded = jnp.concatenate([jnp.tile(done, 100), jnp.full(50, 9.0)])
    np.testing.assert_allclose(log_probability(actor, log_std, many, padded), one, rtol=1e-5)


@pytest.mark.parametrize("with_actions", [False, True])
def test_the_critic_does_not_know_an_order_of_people(with_actions):
    env = Toy(population=9, places=5)
    nets = networks(
        env,
        env.default_params,
        env.agents,
        4,
        6,
        jax.random.key(0),
        with_actions=with_actions,
    )
    seen, _ = env.reset(jax.random.key(1), env.default_params)
    actions = {a: env.action_space(a).sample(jax.random.key(2)) for a in env.agents}
    orders = {a: jax.random.permutation(jax.random.key(3), s.mask.size) for a, s in seen.items()}
    shuffled = {a: s.permuted(orders[a]) for a, s in seen.items()}
    moved = actions | {"rank": actions["rank"][orders["rank"]]}
    present = jnp.array([1.0, 0.4, 1.0])
    if not with_actions:
        values = nets.critic(seen, present), nets.critic(shuffled, present)
    else:
        values = nets.critic(seen, present, actions), nets.critic(shuffled, present, moved)
        for agent in env.agents:
            other = actions | {agent: 1.0 - actions[agent]}
            assert np.abs(nets.critic(seen, present, other) - values[0]).max() > 1e-5, agent
    assert values[0].shape == (3,)
    np.testing.assert_allclose(*values, rtol=1e-5, atol=1e-6)


# ------------------------------------------------------------------ updates


def test_exploration_of_f_mappo_has_a_limit():
    """The entropy bonus alone would have it grow for ever."""
    some = learner("f-mappo", ent_coef=100.0, learning_rate=0.1, max_std=0.8)
    state = some.init(jax.random.key(0), Crowd(), Objective.direct(Crowd()))
    state, _ = some.update(state)
    _, log = some.update(state)
    assert float(log["exploration/judge"]) == pytest.approx(0.8)


def test_the_loss_of_f_mappo_is_the_clipped_surrogate():
    """Against NumPy, with policies that have moved since the actions were drawn."""
    env = Toy(population=8, horizon=4, places=3)
    ppo = learner("f-mappo", clip_eps=0.05, ent_coef=0.01)
    state = ppo.init(jax.random.key(0), env, Objective.uniform(env))
    world = jax.tree.map(lambda x: x[0], state.worlds)
    _, steps, _ = eqx.filter_jit(ppo._fragment)(state, (world, jax.random.key(1)))
    steps = jax.tree.map(lambda x: x[None], steps)
    generator = np.random.default_rng(0)
    advantage, returns = (jnp.array(generator.normal(size=(1, 4, 3)), jnp.float32) for _ in "ab")
    nets = state.networks
    agents = list(nets.actors)

    def probabilities(actors, stds):
        return {
            agent: np.array(
                [
                    log_probability(
                        actors[agent],
                        stds[agent],
                        jax.tree.map(lambda x, t=t: x[0, t], steps.observations[agent]),
                        steps.actions[agent][0, t],
                    )
                    for t in range(4)
                ]
            )
            for agent in agents
        }

    before = probabilities(nets.actors, state.log_std)
    moved = jax.tree.map(lambda x: x + 0.05, state.learned)
    stds = {agent: std - 0.01 for agent, std in state.log_std.items()}
    after_nets = eqx.combine(moved, state.skeleton)
    after = probabilities(after_nets.actors, stds)
    batch = (steps, advantage, returns, {a: jnp.array(p)[None] for a, p in before.items()})
    loss, told = eqx.filter_jit(ppo._loss)((moved, stds), state, batch)

    surrogate, entropy, outside = 0.0, 0.0, []
    for index, agent in enumerate(agents):
        own = np.asarray(advantage[0, :, index], float)
        own = (own - own.mean()) / own.std()
        ratio = np.exp(after[agent] - before[agent])
        surrogate += np.mean(np.minimum(ratio * own, np.clip(ratio, 0.95, 1.05) * own))
        entropy += np.sum(np.asarray(stds[agent]) + 0.5 * np.log(2 * np.pi * np.e))
        outside.append(np.mean(np.abs(ratio - 1) > 0.05))
    assert 0 < np.mean(outside) < 1, "some ratios are clipped, some are not"
    values = np.stack(
        [
            after_nets.critic(
                jax.tree.map(lambda x, t=t: x[0, t], steps.observations), steps.present[0, t]
            )
            for t in range(4)
        ]
    )
    apart = np.abs(values - np.asarray(returns[0]))
    error = np.mean(np.where(apart <= 1, 0.5 * apart**2, apart - 0.5))
    np.testing.assert_allclose(loss, 0.5 * error - surrogate - 0.01 * entropy, rtol=1e-4)
    np.testing.assert_allclose(told["clipped"], np.mean(outside), rtol=1e-5)


def test_the_buffer_of_f_maddpg_keeps_the_last_steps_in_order():
    """Also after it is full: who is drawn is followed by the next step of the same world."""
    env = Toy(population=8, horizon=5, places=3)
    ddpg = learner("f-maddpg", episodes_per_epoch=30)
    state = ddpg.init(jax.random.key(0), env, Objective.uniform(env))
    seen = set()
    for _ in range(3):
        state, _ = ddpg.update(state)
        assert int(state.collected) > ddpg.places == 12
        step, later = eqx.filter_jit(ddpg._drawn)(state, jax.random.key(3))
        time, after = (np.asarray(s.observations["level"][2])[..., 0] for s in (step, later))
        ended = np.asarray(step.done)
        assert step.done.shape == (2, 3)
        np.testing.assert_array_equal(ended, time == 4)
        np.testing.assert_array_equal(after, np.where(ended, 0, time + 1))
        seen |= set(time.reshape(-1).tolist())
    assert len(seen) > 2


def test_what_f_maddpg_remembers_is_exact_beside_the_spread():
    """A year is large and hardly varies: it has to be told from the next one."""
    years = np.array([2014.0, 2015.0, 2016.0, 2018.0], np.float32)
    scaling = Standardiser(*(jnp.array([x]) for x in (2016.0, 2.0, 0.0, 1.0)))
    seen = Entities(jnp.array(years)[:, None], jnp.ones(4, bool), jnp.ones(1))
    stored = _stored(seen, scaling)
    assert stored[0].dtype == jnp.bfloat16
    np.testing.assert_allclose(_read(stored, scaling).features[:, 0], years, atol=2.0 / 128)


def test_rewards_with_exploration_are_logged():
    """Of the steps of this round: those in the buffer, and the fragments collected again."""
    env = Toy(population=8, horizon=5, places=3)
    ddpg, ppo = learner("f-maddpg"), learner("f-mappo")
    state = ddpg.init(jax.random.key(0), env, Objective.uniform(env))
    state, log = ddpg.update(state)
    collected = int(state.collected)
    assert 0 < collected <= ddpg.places
    rewards = np.asarray(state.buffer.rewards)[:, :collected]
    assert rewards.std() > 0.0
    assert float(log["step_reward"]) == pytest.approx(rewards.mean(), rel=1e-5)

    state = ppo.init(jax.random.key(0), env, Objective.uniform(env))
    key = jax.random.key(1)
    _, told = eqx.filter_jit(ppo._round)(state, key)
    keys = jax.random.split(jax.random.split(key)[0], ppo.num_envs)
    collect = jax.vmap(lambda world, key: ppo._fragment(state, (world, key))[1].rewards)
    rewards = np.asarray(jax.jit(collect)(state.worlds, keys))
    assert rewards.std() > 0.0
    assert float(told["step_reward"]) == pytest.approx(rewards.mean(), rel=1e-5)


def test_policies_and_critic_of_f_maddpg_are_pulled_apart():
    """The critic by its error alone; the policies by the critic, not by its error."""
    env = Toy(population=8, horizon=5, places=3)
    ddpg = learner("f-maddpg")
    state = ddpg.init(jax.random.key(0), env, Objective.uniform(env))
    state, _ = ddpg.update(state)
    batch = eqx.filter_jit(ddpg._drawn)(state, jax.random.key(1))

    def told(learned):
        losses = ddpg._loss(learned, state.targets, state, batch)[1]
        return losses["value_error"], losses["actor_objective"]

    error, value = jax.jit(jax.jacrev(told))(state.learned)
    size = {
        (name, part): float(sum(np.abs(x).sum() for x in jax.tree.leaves(getattr(pulled, part))))
        for name, pulled in (("error", error), ("value", value))
        for part in ("actors", "critic")
    }
    assert size["error", "actors"] == size["value", "critic"] == 0.0
    assert size["error", "critic"] > 0.0 < size["value", "actors"]


def test_the_target_of_f_maddpg_is_the_bellman_equation():
    """With a critic that says 0 everywhere the error is that of the rewards alone."""
    env = Toy(population=8, horizon=5, places=3)
    ddpg = learner("f-maddpg")
    state = ddpg.init(jax.random.key(0), env, Objective.uniform(env))
    state, _ = ddpg.update(state)
    step, later = eqx.filter_jit(ddpg._drawn)(state, jax.random.key(1))
    level = 0.7
    silent = eqx.tree_at(
        lambda nets: (nets.critic.head.weight, nets.critic.head.bias),
        state.learned,
        (jnp.zeros((3, 4)), jnp.zeros(3)),
    )
    ahead = eqx.tree_at(lambda nets: nets.critic.head.bias, silent, jnp.full(3, level))
    _, told = eqx.filter_jit(ddpg._loss)(silent, ahead, state, (step, later))
    going_on = 1.0 - np.asarray(step.done, float)
    target = np.abs(np.asarray(step.rewards) + 0.99 * going_on[..., None] * level)
    error = np.mean(np.where(target <= 1, 0.5 * target**2, target - 0.5))
    np.testing.assert_allclose(told["value_error"], error, rtol=1e-5)


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
        world = jax.tree.map(lambda x: x[0], state.worlds)
        _, steps, _ = eqx.filter_jit(some._fragment)(state, (world, jax.random.key(1)))
    else:
        state, _ = some.update(state)
        steps = jax.tree.map(lambda x: x[0, :4], state.buffer)
        does = np.abs(steps.actions["level"]).sum(axis=1) > 0
        assert does.tolist() == [True, False, False, True], "what is ignored is not learned from"
    assert steps.acts["level"].tolist() == [True, False, False, True]
    assert steps.acts["rank"].all() and steps.acts["split"].all()


@dataclasses.dataclass(frozen=True)
class Backwards(Toy):
    """Agents that act in another order than that of their names, as in the real systems."""

    agents = ("split", "level", "rank")


OWN = Backwards(population=8, horizon=5, places=3)
AIMS = {
    "split": Objective.direct(OWN),
    "level": Objective.weighted(OWN, {"treated_rate": 1.0}),
    "rank": Objective.weighted(OWN, {"treated_rate": -1.0}),
}


def pulled(gradient):
    """Which agents' policies a gradient pulls at."""
    leaves = {agent: jax.tree.leaves(own) for agent, own in gradient.actors.items()}
    return {agent for agent, own in leaves.items() if any(np.abs(x).sum() for x in own)}


def test_agents_of_f_mappo_follow_their_own_advantages():
    ppo = learner("f-mappo", ent_coef=0.0)
    state = ppo.init(jax.random.key(0), OWN, AIMS)
    assert state.trained == list(OWN.agents) != list(state.networks.actors), "another order"
    world = jax.tree.map(lambda x: x[0], state.worlds)
    _, steps, _ = eqx.filter_jit(ppo._fragment)(state, (world, jax.random.key(1)))
    steps = jax.tree.map(lambda x: x[None], steps)
    before = {
        a: jax.vmap(lambda o, x, p=actor, std=state.log_std[a]: log_probability(p, std, o, x))(
            jax.tree.map(lambda x: x[0], steps.observations[a]), steps.actions[a][0]
        )[None]
        for a, actor in state.networks.actors.items()
    }

    @jax.jit
    @jax.grad
    def gradient(learned, advantage):
        batch = (steps, advantage, jnp.zeros((1, 4, 3)), before)
        return ppo._loss((learned, state.log_std), state, batch)[0]

    for index, agent in enumerate(OWN.agents):
        advantage = jnp.zeros((1, 4, 3)).at[0, :, index].set(jnp.array([1.0, -1.0, 2.0, 0.0]))
        assert pulled(gradient(state.learned, advantage)) == {agent}


def test_agents_of_f_maddpg_climb_their_own_values():
    ddpg = learner("f-maddpg", logit_penalty=0.0)
    state = ddpg.init(jax.random.key(0), OWN, AIMS)
    state, _ = ddpg.update(state)
    batch = eqx.filter_jit(ddpg._drawn)(state, jax.random.key(1))

    @jax.jit
    @jax.grad
    def gradient(learned, head):
        nets = eqx.tree_at(lambda n: n.critic.head.weight, learned, head)
        return ddpg._loss(nets, state.targets, state, batch)[0]

    for index, agent in enumerate(OWN.agents):
        head = jnp.zeros((3, 4)).at[index].set(1.0)
        assert pulled(gradient(state.learned, head)) == {agent}


def test_rewards_are_those_of_the_agents_in_acting_order():
    some = learner("f-mappo")
    state = some.init(jax.random.key(0), OWN, AIMS)
    world = jax.tree.map(lambda x: x[0], state.worlds)
    _, steps, _ = eqx.filter_jit(some._fragment)(state, (world, jax.random.key(1)))
    gain, treated, against = steps.rewards.T
    assert (gain < 0).all() and (treated > 0).all()
    np.testing.assert_allclose(against, -treated)


# ------------------------------------------------------------------ the contract


@pytest.mark.parametrize("name", SMALL)
def test_conformance(name):
    check_algorithm(learner(name), Toy(population=8, horizon=5, places=3))


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
    env = Toy(population=8, horizon=5, places=3)
    bounded = Objective.direct(env).bounded({"treated_disparity": 0.0})
    some = learner(name)
    state = some.init(jax.random.key(0), env, bounded)
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
    ("name", "given", "told"),
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
def test_hyperparameters_out_of_range(name, given, told):
    with pytest.raises(FairgymError, match=told):
        algorithms.get(name)(**given)


def test_the_world_after_an_end_is_a_new_one():
    env = Toy(population=8, horizon=5, places=3)
    state = learner("f-mappo", num_envs=3).init(jax.random.key(0), env, Objective.uniform(env))
    assert np.unique(np.asarray(state.worlds.skill)).size == 24, "worlds differ from the start"
