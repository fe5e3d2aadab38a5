"""FairQCM: counterfactual experiences are exact, and what is learned of them is Q-learning."""

import dataclasses
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from q_tasks import Shop

from fairgym.algorithms import algorithms
from fairgym.algorithms._experiences import check_memory
from fairgym.core import FairgymError
from fairgym.core.sums import CompensatedSum
from fairgym.fairness import Counter, EachTime, Full, Nash, Objective, Reset, Scheme
from fairgym.fairness.automata import Receiver
from fairgym.fairness.named_memories import rounds
from fairgym.testing import check_algorithm
from fairgym.utils import make
from fairgym.wrappers import AugmentedState, AutoReset, augmented

SHOP = Shop()
PARAMS = SHOP.default_params
WELFARE = Objective.weighted(SHOP, {"welfare": 1.0})
KEY = jax.random.key(0)
QCM = {"epochs": 2, "offsets": (0, 1, 2), "counterfactuals": 9, "evaluation_episodes": 2}
TABULAR = algorithms.get("tabular-fair-qcm")(**QCM, bootstrap_truncated=False)
MIXED = Objective.weighted(SHOP, {"welfare": 2.0, "parity": 0.5})
SMALL = {"episodes_per_epoch": 2, "hidden": (4,), "buffer_size": 24, "batch_size": 8}


def begun(learner, memory="full", objective=WELFARE):
    return learner.init(KEY, augmented(SHOP, memory), objective)


@eqx.filter_jit
def stepped(learner, state, key):
    """A step of a learner, taken apart: its key, what happened and was learned from."""
    act_key, step_key, learn_key = jax.random.split(key, 3)
    experience_key, learn_key = jax.random.split(learn_key)
    observations = state.env.observe(state.rollout.state, state.params)
    epsilon = learner._epsilon(state, observations[state.agent])
    logits = learner._policy(state).logits(observations[state.agent])
    actions, hidden = learner._actions(state, observations, epsilon, logits, act_key)
    state, transition, done = learner._advance(
        state, observations[state.agent], actions, hidden, step_key
    )
    batch = learner._experiences(state, transition, experience_key)
    state, _ = learner._learn(state, batch, learn_key)
    return learner._ended(state, done), step_key, transition, batch


@eqx.filter_jit
def remembering(env, objective, key, transition, memory):
    """A step with the same noise from a state with another memory, with its usual reward."""
    before = AugmentedState(transition.before.state.env_state, memory)
    _, end = AutoReset(env).step_autoreset(key, before, {"server": transition.action}, PARAMS)
    schemes = {n: j.replace(status=memory) for n, j in transition.before.scheme_states[0].items()}
    _, reward = objective.step(schemes, end.components)
    after = env.observe(end.final_state, PARAMS)["server"]
    return env.observe(before, PARAMS)["server"], after, reward, end.final_state.memory


def test_counterfactual_experiences_are_those_of_a_state_with_another_memory():
    state, wasted = begun(TABULAR, objective=MIXED), 0
    for number in range(8):
        before = np.asarray(state.rollout.state.memory.value)
        state, key, transition, batch = stepped(TABULAR, state, jax.random.key(number))
        wasted += int(transition.components.given.sum() == 0)
        found = jax.tree.map(np.asarray, (batch.observation, batch.next_observation, batch.reward))
        memories = [before, *(before + o for o in itertools.product((0, 1, 2), repeat=2))]
        assert batch.kept.tolist() == [True, False] + [True] * 8
        for place, memory in enumerate(memories[: len(batch.kept)]):
            due = remembering(
                state.env, MIXED, key, transition, CompensatedSum.of(jnp.asarray(memory))
            )
            for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(due[:3]), strict=True):
                np.testing.assert_allclose(one[place], other, rtol=1e-6)
    assert 0 < wasted < 8, "steps of both kinds"


def test_a_memory_of_differences_does_for_parity():
    objective = Objective.weighted(SHOP, {"parity": 1.0})
    scheme = dataclasses.replace(objective.schemes["parity"], normaliser=4.0)
    objective = dataclasses.replace(objective, schemes={"parity": scheme})
    learner = algorithms.get("tabular-fair-qcm")(offsets=(-1, 1, 2))
    state = begun(learner, "min", objective)
    for number in range(6):
        before = np.asarray(state.rollout.state.memory.value)
        state, _, transition, batch = stepped(learner, state, jax.random.key(number))
        given = np.asarray(transition.components.given)
        kept, reward = np.asarray(batch.kept), np.asarray(batch.reward)
        observations, next_observations = (
            np.asarray(s.features) for s in (batch.observation, batch.next_observation)
        )
        for place, offset in enumerate((0, -1, 1, 2)):
            furthest = before + offset * (np.arange(2) == np.argmax(before))
            assert bool(kept[place]) == bool((furthest >= 0).all())
            np.testing.assert_array_equal(observations[place, :, 1], furthest)
            after = furthest + given
            assert float(reward[place]) == -abs(after[0] - after[1]) / 4.0
            np.testing.assert_array_equal(next_observations[place, :, 1], after - after.min())


def test_a_past_that_fades_is_learned_from():
    """Half of the past is kept in a step, also of a past that never was."""
    share, name = 0.5, "past-discounted:0.5:nash"
    env = make("doughnut", population=2, horizon=6, memory=f"past-discounted:{share}")
    objective = Objective.weighted(env, {name: 1.0})
    learner = algorithms.get("fair-qcm")(**QCM | SMALL)
    state = learner.init(KEY, env, objective)
    offsets = np.array(list(itertools.product((0, 1, 2), repeat=2)), float)
    had, begun = np.zeros(2), []
    for number in range(5):
        state, _, transition, batch = stepped(learner, state, jax.random.key(number))
        given = np.asarray(transition.components.handed_out)
        memories = had + np.concatenate([np.zeros((1, 2)), offsets])
        after = share * memories + given
        due = np.log1p(after).sum(1) / objective.schemes[name].normaliser
        shown, following = (
            np.asarray(seen.features)[:, :, 1]
            for seen in (batch.observation, batch.next_observation)
        )
        np.testing.assert_allclose(shown, memories, rtol=1e-6)
        np.testing.assert_allclose(following, after, rtol=1e-6)
        np.testing.assert_allclose(batch.reward, due, rtol=1e-5)
        assert batch.kept.tolist() == [True, False] + [True] * 8
        had, begun = after[0], [*begun, int(state.gradient_steps)]
    assert (had % 1.0).any() and begun[0] == 0 < begun[-1]
    start = learner.init(KEY, env, objective)
    after, log = learner.update(start)
    assert np.isfinite(float(log["objective"])) and int(after.gradient_steps) > 0
    pairs = zip(jax.tree.leaves(start.trainable), jax.tree.leaves(after.trainable), strict=True)
    assert any(not np.array_equal(one, other) for one, other in pairs)


def test_the_table_is_that_of_a_plain_rewrite():
    """Algorithm 1 of the paper with dictionaries, by the steps that the learner made."""
    state, values, epsilon = begun(TABULAR, objective=MIXED), {}, {}
    time, counts, limit = 0, (0, 0), SHOP.horizon
    for number in range(40):
        present = tuple(np.asarray(state.rollout.state.env_state.present).tolist())
        state, _, transition, _ = stepped(TABULAR, state, jax.random.key(number))
        action, time = int(transition.action), time + 1
        following = tuple(np.asarray(transition.after.state.env_state.present).tolist())
        epsilon[present, counts] = max(0.95 * epsilon.get((present, counts), 1.0), 0.2)
        others = [tuple(np.add(counts, o)) for o in itertools.product((0, 1, 2), repeat=2)]
        factor = 0.0 if time == limit else 0.99
        changes, given = {}, (np.arange(2) == action) & present[action]
        for memory in [counts, *others[1:]]:
            after = tuple((np.array(memory) + given).astype(int).tolist())
            if max(memory + after) > limit:
                continue  # no doughnuts are left for that many
            reward = 2.0 * np.log(np.add(after, 1.0)).sum() if present[action] else 0.0
            reward -= 0.5 * abs(after[0] - after[1])
            next_value = max(values.get((following, after, a), 0.0) for a in (0, 1))
            old = values.get((present, memory, action), 0.0)
            changes[present, memory, action] = old + 0.1 * (reward + factor * next_value - old)
        values |= changes
        counts = tuple((np.array(counts) + given).astype(int).tolist())
        counts, time = ((0, 0), 0) if time == limit else (counts, time)
    code, found = state.table.code, np.asarray(state.table.values)
    observation = jax.jit(state.env.observation_space("server").sample)(KEY)
    index = jax.jit(lambda rows: code.index(observation.replace(features=rows))[0])
    due = np.zeros_like(found)
    for (present, memory, action), value in values.items():
        due[index(np.stack([present, memory], axis=1).astype(np.float32)), action] = value
    np.testing.assert_allclose(found, due, rtol=1e-5)
    assert len(values) > 50 and np.count_nonzero(found) == np.count_nonzero(due)
    np.testing.assert_allclose(
        np.sort(np.asarray(state.epsilon))[: len(epsilon)], sorted(epsilon.values()), rtol=1e-6
    )


@eqx.filter_jit
def numbers(network, observation):
    """What a network computes on, of each of several observations."""
    return jax.vmap(network.inputs)(observation)


def test_the_replay_buffer_holds_what_is_kept_and_no_more():
    learner = algorithms.get("fair-qcm")(**QCM | SMALL | {"counterfactuals": 5})
    state, due = begun(learner), []
    for number in range(6):
        state, _, _, batch = stepped(learner, state, jax.random.key(number))
        assert len(batch.kept) == 1 + 5 and batch.kept.all(), "5 of 8 legal ones, sampled"
        due += list(np.asarray(numbers(state.static, batch.observation)))
        assert len(np.unique(np.asarray(batch.observation.features)[:, :, 1], axis=0)) == 6
    assert int(state.buffer.added) == 36 and int(state.gradient_steps) == 3
    kept = {tuple(row) for row in np.asarray(state.buffer.rows.inputs)}
    assert kept == {tuple(row) for row in due[-24:]}
    # the values of what came after are those of the target network
    target = eqx.combine(state.target, state.static)
    values = jax.jit(lambda rows: jax.vmap(target.outputs)(rows))(state.buffer.rows.next_inputs)
    largest = np.asarray(values).max(axis=1)
    np.testing.assert_allclose(state.buffer.rows.next_value, largest, atol=1e-6)


@pytest.mark.parametrize("name", ["tabular-fair-qcm", "fair-qcm"])
@pytest.mark.parametrize(
    ("env", "objective", "error"),
    [
        (
            SHOP,
            {"welfare": 1.0},
            "shop has no memory in its state; {} needs one of: full, min, reset",
        ),
        (
            augmented(SHOP, "min"),
            {"welfare": 1.0},
            "does not determine the reward of the scheme .welfare.",
        ),
        (
            augmented(SHOP, rounds(2, Receiver("given"))),
            {"welfare": 1.0},
            "the memory automaton .3 states. does not determine the reward of the scheme .welfare.",
        ),
        (augmented(SHOP, "reset"), {"parity": 1.0}, "has no method status .so rewards are not"),
        (augmented(SHOP, "full"), {"last": 1.0}, "the scheme .last. is not a sum over steps"),
    ],
)
def test_memories_that_do_not_tell_the_reward(name, env, objective, error):
    with pytest.raises(FairgymError, match=error.format(name)):
        algorithms.get(name)().init(KEY, env, Objective.weighted(SHOP, objective))


@pytest.mark.parametrize("when", [Counter(2), EachTime("given", 2)])
def test_a_filter_that_looks_back_is_to_be_in_the_state(when):
    """In a counterfactual memory another step may be the one that counts."""
    scheme = Scheme.bounded(Full("given"), Nash(), when)
    objective = Objective({}, {"some": 1.0}, schemes={"some": scheme})
    with pytest.raises(FairgymError, match=r"the filter .* of the scheme 'some' depends on earli"):
        check_memory("fair-qcm", augmented(SHOP, "full"), PARAMS, objective, (0, 1))
    if isinstance(when, Counter):
        env = augmented(augmented(SHOP, when), "full")
        check_memory("fair-qcm", env, PARAMS, objective, (0, 1))


class Alone(Reset):
    """A status that does not say what else it could be."""

    def status(self, memory):
        return memory


def test_a_memory_without_neighbours():
    env = augmented(SHOP, Alone("given"))
    with pytest.raises(FairgymError, match="has no method neighbours"):
        check_memory("fair-qcm", env, PARAMS, WELFARE, (0, 1))


@pytest.mark.parametrize(
    ("name", "settings", "error"),
    [
        ("tabular-fair-qcm", {"offsets": ()}, "offsets must be one or more distinct.*got .*"),
        ("fair-qcm", {"offsets": (1, 1)}, "offsets must be one or more distinct.*got .*"),
        ("fair-qcm", {"counterfactuals": -1}, "counterfactuals must be a whole number.*got -1"),
        ("fair-qcm", {"buffer_size": 32}, "buffer_size must be more than the counterf.*got 32"),
        ("dqn", {"learning_starts": 401}, "learning_starts must be a whole number from 1.*got 401"),
        ("dqn", {"epsilon_start": 0.1}, "epsilon_end must be a number from 0 to epsilon.*got 0.2"),
        ("dqn", {"hidden": (8, 0)}, "hidden must be whole numbers from 1.*got .8, 0."),
        ("drqn", {"gradient_steps": 0}, "gradient_steps must be a whole number from 1.*got 0"),
    ],
)
def test_bad_hyperparameters(name, settings, error):
    with pytest.raises(FairgymError, match=error):
        algorithms.get(name)(**settings)


def test_memories_of_many_people_are_sampled():
    """13 people have 8,192 combinations of two offsets: some of them are drawn."""
    shop = Shop(people=13)
    env, objective = augmented(shop, "full"), Objective.weighted(shop, {"welfare": 1.0})
    learner = algorithms.get("fair-qcm")(**SMALL | {"counterfactuals": 8, "offsets": (0, 1)})
    state = learner.init(KEY, env, objective)
    before = np.asarray(state.rollout.state.memory.value)
    state, _, transition, batch = stepped(learner, state, jax.random.key(1))
    remembered = np.asarray(batch.observation.features)[:, :, 1]
    others = remembered[1:] - before
    assert set(np.unique(others)) <= {0.0, 1.0} and len(np.unique(others, axis=0)) > 4
    np.testing.assert_array_equal(remembered[0], before)
    given = np.asarray(transition.components.given)
    after = np.asarray(batch.next_observation.features)[:, :, 1]
    np.testing.assert_array_equal(after, remembered + given)
    due = np.log1p(after).sum(1) if given.any() else np.zeros(9)
    np.testing.assert_allclose(batch.reward, due, rtol=1e-5)


def test_a_table_that_is_too_large_and_a_buffer_that_holds_no_episode():
    env = augmented(Shop(horizon=100, people=5), "full")
    objective = Objective.weighted(env, {"welfare": 1.0})
    states = 2**5 * 101**5
    with pytest.raises(FairgymError, match=f"has {states:,} distinct observations; tabular-q need"):
        algorithms.get("tabular-q")().init(KEY, env, objective)
    with pytest.raises(
        FairgymError, match=r"buffer_size must be at least the 100 steps .*, got 99"
    ):
        algorithms.get("drqn")(buffer_size=99).init(KEY, env, objective)


def test_fair_qcm_keeps_the_contract_of_algorithms():
    learner = algorithms.get("fair-qcm")(**QCM | SMALL)
    check_algorithm(learner, augmented(SHOP, "full"), objective=WELFARE)
