"""F-PPO and A-PPO: massaging by enumeration, advantages by NumPy, and what they learn."""

import dataclasses
import itertools
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fair_tasks import OFFICE, Depot, Desk, Office
from q_tasks import Bandit
from toys import Toy

import fairgym
from fairgym.algorithms import algorithms
from fairgym.algorithms._terms import SHORT_TERM, gain_of
from fairgym.core import FairgymError, no_components
from fairgym.fairness import Objective, Windowed
from fairgym.policies import massaged
from fairgym.policies.exploration import explore
from fairgym.policies.massaging import _alternatives, massage
from fairgym.wrappers import AutoReset

DESK = Desk()
TREATED = "treated_disparity"
SMALL = {
    "num_envs": 4,
    "num_steps": 40,
    "num_minibatches": 4,
    "update_epochs": 5,
    "layers": (8,),
    "critic_layers": (8,),
    "learning_rate": 0.02,
    "gamma": 0.5,
    "evaluation_episodes": 2,
    "epochs": 1,
    "episodes_per_epoch": 100,
    "window": 10,
}


NO_SPREAD = jnp.zeros(0)


def memory_of(measure, env, **sums):
    """A window in which these components have happened."""
    memory = measure.initial(no_components(env, env.default_params))
    step = no_components(env, env.default_params).replace(
        **{name: jnp.array(value, jnp.float32) for name, value in sums.items()}
    )
    return measure.update(memory, step)


def massage_by(
    env,
    measure,
    memory,
    agent,
    seen,
    logits,
    raw,
    threshold,
    log_std=NO_SPREAD,
    closeness: Any = "density",
):
    """Massaging by what the environment expects after what has happened."""

    def unfairness(action):
        expected = env.spec.expected_components({agent: seen}, {agent: action}, None)
        return -measure.value_after(measure.remaining(memory), expected)

    space = env.action_space(agent)
    return massage(space, seen, logits, raw, threshold, unfairness, log_std, closeness)


def shares_of(logits):
    """Softmax of logits."""
    weights = np.exp(logits - np.max(logits))
    return weights / weights.sum()


def apportioned(shares, units=6):
    """Units given one by one to the largest share, which then loses 1/N (section 6.2)."""
    left, given = np.array(shares, float), np.zeros(len(shares))
    for _ in range(units):
        place = np.argmax(left)
        given[place] += 1
        left[place] -= 1 / units
    return given


def moved_logits(logits, giver, taker, units=6):
    """Logits after 1/N of the mass has moved, of which at least 0.005 is left to the giver."""
    shares = shares_of(logits)
    mass = max(0.0, shares[giver] - max(0.005, shares[giver] - 1 / units))
    shares[giver] -= mass
    shares[taker] += mass
    moved = np.array(logits, float)
    scale = np.log(np.exp(logits).sum())
    moved[[giver, taker]] = scale + np.log(shares[[giver, taker]])
    return moved


def density(values, means, std):
    """Normal densities."""
    return np.exp(-0.5 * ((values - means) / std) ** 2) / (std * np.sqrt(2 * np.pi))


class TestMassaging:
    def test_of_an_option_by_enumeration(self):
        """The other option where it is fairer and its probability near enough (equation 6)."""
        measure = DESK.spec.measures["short_term"]

        @eqx.filter_jit
        def run(group, raw, logits, memory, threshold):
            state = eqx.tree_at(
                lambda s: s.group, DESK.initial_state(jax.random.key(0), None), group
            )
            seen = DESK.observe(state, None)["clerk"]
            return massage_by(DESK, measure, memory, "clerk", seen, logits, raw, threshold)

        counts = [([4, 4], [3, 1]), ([4, 4], [2, 2]), ([1, 0], [1, 0]), ([0, 0], [0, 0])]
        for (applicants, approved), group, raw, lean, threshold in itertools.product(
            counts, (0, 1), (0, 1), (0.0, 0.5, 2.0), (0.0, 0.3, 0.7, 1.0)
        ):
            memory = memory_of(measure, DESK, applicants=applicants, approved=approved)
            chances = np.exp([0.0, lean]) / np.exp([0.0, lean]).sum()
            unfair = []
            for option in (0, 1):
                tries, hits = np.array(applicants, float), np.array(approved, float)
                tries[group] += 1
                hits[group] += option
                rates = np.divide(hits, tries, out=np.zeros(2), where=tries > 0)
                unfair.append(abs(rates[0] - rates[1]))
            other = 1 - raw
            fairer = unfair[other] < unfair[raw] - 1e-6
            near = abs(chances[0] - chances[1]) < threshold
            expected = other if fairer and near else raw
            logits = np.array([0.0, lean], np.float32)
            found = run(np.int32(group), np.int32(raw), logits, memory, np.float32(threshold))
            assert int(found) == expected, (applicants, approved, group, raw, lean, threshold)

    @pytest.mark.parametrize(("closeness", "threshold"), [("density", 0.1), ("share", 0.25)])
    def test_of_an_allocation_by_enumeration(self, closeness, threshold):
        """The best of all moves of a unit whose logits or shares are near enough (section 6.2)."""
        env, std = Depot(), np.array([0.6, 1.0, 1.3])
        measure = env.spec.measures["short_term"]
        seen = env.observe(env.initial_state(jax.random.key(0), None), None)["driver"]

        @eqx.filter_jit
        def run(raw, logits, memory):
            log_std, tau = jnp.log(jnp.array(std)), jnp.float32(threshold)
            return massage_by(
                *(env, measure, memory, "driver", seen, logits, raw, tau, log_std, closeness)
            )

        generator, moved = np.random.default_rng(0), 0
        for _ in range(60):
            logits = generator.normal(size=3)
            raw = logits + std * generator.normal(size=3)
            before = generator.integers(0, 6, 3)
            given = apportioned(shares_of(raw))

            def unfair(units, before=before):
                sums = before + units
                return np.abs(sums / sums.sum() - 1 / 3).max()

            options = [(unfair(given), given)]
            for giver, taker in itertools.permutations(range(3), 2):
                other = moved_logits(raw, giver, taker)
                units = given - np.eye(3)[giver] + np.eye(3)[taker]
                if not given[giver] or np.any(apportioned(shares_of(other)) != units):
                    continue
                if closeness == "share":
                    apart = abs(shares_of(raw)[giver] - shares_of(raw)[taker])
                else:
                    change = density(other, logits, std) - density(raw, logits, std)
                    apart = np.abs(change[[giver, taker]]).max()
                if apart < threshold - 1e-6:
                    options.append((unfair(units), units))
            least = min(value for value, _ in options)
            memory = memory_of(measure, env, sent=before)
            raw_after = run(jnp.array(raw, jnp.float32), jnp.array(logits, jnp.float32), memory)
            found = np.array(env.action_space("driver").from_logits(raw_after, seen.mask))
            assert found.sum() == 6 and unfair(found) == pytest.approx(least, abs=1e-5)
            moved += not np.array_equal(found, given)
        assert moved > 10

    def test_an_oracle_takes_the_fairer_of_both_true_outcomes(self):
        """Every step of a rollout, against both actions made with the noise of that step."""
        env = fairgym.make("bank_loans", horizon=30)
        settings = {"oracle": True, "threshold_start": 0, "threshold_rate": 0.0, "num_steps": 60}
        learner = algorithms.get("f-ppo")(**SMALL | settings | {"short_term": "tpr_disparity"})
        state = learner.init(jax.random.key(0), env, Objective.direct(env))
        state = state.replace(carried={"rounds": jnp.int32(1)})  # tau is 0 in the first one
        rollout = jax.tree.map(lambda x: x[0], state.rollouts)
        steps = eqx.filter_jit(learner._run)(state, (rollout, jax.random.key(1)))[1]
        taken, unfairness = steps.actions["bank"], np.array(steps.signals[SHORT_TERM])

        @eqx.filter_jit
        def sampled(env_state, key):
            seen = env.observe(env_state, env.default_params)["bank"]
            logits = state.networks.actors["bank"].logits(seen)
            return explore(env.action_space("bank"), logits, jnp.zeros(0), seen.mask, key)

        advance = jax.jit(AutoReset(env).step)
        keys = jax.random.split(jax.random.split(jax.random.key(1))[1], 60)
        inner, params, rows, both_ways = rollout.state, env.default_params, [], 0
        for number, key in enumerate(keys):
            _, act_key, _, key = jax.random.split(key, 4)
            own = int(sampled(inner, jax.random.split(act_key, 1)[0]))
            ends, unfair = [], []
            for option in (0, 1):
                end = advance(key, inner, {"bank": jnp.int32(option)}, params)
                row = np.concatenate([end[2].successful, end[2].would_repay])
                sums = np.sum([*rows[-9:], row], axis=0)
                rates = np.divide(sums[:2], sums[2:], out=np.zeros(2), where=sums[2:] > 0)
                unfair.append(abs(rates[0] - rates[1]))
                ends.append((end, row))
            action = int(taken[number])
            assert action == (1 - own if unfair[1 - own] < unfair[own] - 1e-6 else own), number
            assert unfairness[number] == pytest.approx(min(unfair), abs=1e-6), number
            both_ways += abs(unfair[0] - unfair[1]) > 1e-5
            end, row = ends[action]
            inner, rows = end[1], [] if end[4] else [*rows, row]
        assert both_ways > 10

    def test_partners_act_as_they_did(self):
        """A rule that counts its steps, beside a clerk who is massaged; neither sees the window."""

        @dataclasses.dataclass(frozen=True)
        class TwoDesks(Desk):
            @cached_property
            def spec(self):
                return dataclasses.replace(super().spec, agents=("clerk", "porter"))

            def observe(self, state, params):
                return super().observe(state, params) | {
                    "porter": DESK.observe(state, None)["clerk"]
                }

        class Counts:
            def initial(self):
                return jnp.int32(0)

            def __call__(self, observation, key, hidden):
                assert observation.context.shape == (0,)
                return hidden % 4 // 3, hidden + 1

        class First(eqx.Module):
            """Loans for the first group alone, hardly preferred."""

            def logits(self, observation):
                assert observation.context.shape == (0,)
                return jnp.array([0.0, 0.1]) * (0.5 - observation.features[0, 0])

            def __call__(self, observation, key):
                return jnp.argmax(self.logits(observation))

        env = TwoDesks()
        policies = {"clerk": First(), "porter": Counts()}
        outside, fairer = massaged(env, env.default_params, policies, 0.5)
        episode = fairgym.rollout(
            outside, env.default_params, fairer, jax.random.key(0), trace=True
        )
        np.testing.assert_allclose(episode.mean_actions["porter"], [0.75, 0.25])
        gaps = env.spec.measures["short_term"].of_trace(episode.trace)
        # at its own wish the clerk has a gap of 1
        assert float(jnp.min(gaps[12:])) > -0.5

    @pytest.mark.parametrize("learn_from", ["massaged", "sampled"])
    def test_the_policy_learns_from_either_action(self, learn_from):
        """Massaged actions are taken either way: to deny everybody has no gap, and no points."""
        settings = {"threshold_start": 0, "threshold_rate": 0.0, "learn_from": learn_from}
        learner = algorithms.get("f-ppo")(**SMALL | settings)
        state = learner.init(jax.random.key(0), DESK, Objective.direct(DESK))
        state = state.replace(carried={"rounds": jnp.int32(1)})
        rollout = jax.tree.map(lambda x: x[0], state.rollouts)
        steps = eqx.filter_jit(learner._run)(state, (rollout, jax.random.key(1)))[1]
        assert not np.any(steps.rewards)
        learned = int(np.sum(steps.actions["clerk"]))
        assert learned == 0 if learn_from == "massaged" else 5 < learned < 35

    @pytest.mark.full
    def test_units_of_hardly_any_density_leave_the_networks_finite(self):
        """Sites that are all but sure to get none, and exploration that never comes so far."""
        env = fairgym.make("attention", horizon=20)
        space = env.action_space("dispatcher")
        seen = env.reset(jax.random.key(0), env.default_params)[0]["dispatcher"]
        sure = jnp.array([0.0, -200.0, -1.0, -2.0, -3.0])
        others, apart, _ = _alternatives(space, seen, sure, sure, jnp.zeros(5), "density")
        assert bool(jnp.all(jnp.isfinite(apart)))
        assert bool(jnp.all(jnp.isfinite(others)))
        learner = algorithms.get("f-ppo")(
            threshold_start=0,
            threshold_rate=0.0,
            init_std=1e-3,
            num_envs=2,
            num_steps=40,
            num_minibatches=4,
            update_epochs=4,
            layers=(4,),
            critic_layers=(4,),
            learning_rate=0.05,
            episodes_per_epoch=8,
            evaluation_episodes=1,
        )
        state = learner.init(jax.random.key(0), env, Objective.published(env))
        for _ in range(2):
            state, _ = learner.update(state)
        found = jax.tree.leaves((state.trainable, state.log_std))
        assert all(bool(jnp.all(jnp.isfinite(x))) for x in found)

    def test_the_published_thresholds(self):
        learner = algorithms.get("f-ppo")
        bank = learner()
        attention = learner(threshold=0.08, threshold_start=15, threshold_rate=0.0)
        epidemic = learner(
            threshold=0.35,
            threshold_schedule="exponential",
            threshold_start=50,
            threshold_rate=1.2,
        )
        for i in (0, 14, 15, 16, 17, 18, 49, 50, 60, 100, 349):
            expected = (
                1 - 2 * 0.5 * 0.985 ** (i - 17) if i >= 17 else 0.0,
                0.08 if i >= 15 else 0.0,
                min(0.35, 0.01 * 1.2 ** (i - 50)) if i >= 50 else 0.0,
            )
            found = [float(one.tau(jnp.int32(i))) for one in (bank, attention, epidemic)]
            np.testing.assert_allclose(found, expected, atol=1e-6)


def shaped(name, advantage, signals, **settings):
    learner = algorithms.get(name)(**settings)
    return np.array(learner.terms(DESK, DESK.agents).shape(jnp.array(advantage), signals))


def scaled(values, scale):
    spread = values.max() - values.min()
    if scale == "none":
        return values
    return (values - values.min()) / spread if spread else 0 * values


@pytest.mark.parametrize("scale", ["none", "minibatch"])
def test_advantages_are_regularised_as_published(scale):
    """Equations 4 and 7 of Hu et al. and the two penalties of Yu et al.; NumPy."""
    generator = np.random.default_rng(0)
    advantage, short, short_gain, long_gain = generator.normal(size=(4, 3, 50)).astype(np.float32)
    short = np.abs(short)
    signals = {
        "short_term": jnp.array(short),
        gain_of("short_term"): jnp.array(short_gain),
        gain_of("long_term"): jnp.array(long_gain),
    }
    regular = np.where(short > 0.6, np.minimum(0, long_gain), np.maximum(0, long_gain))
    expected = scaled(advantage, scale) + 0.7 * scaled(regular, scale)
    found = shaped("f-ppo", advantage, signals, scale=scale, regularise=0.7, delta=0.6)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)

    value = np.minimum(0, -short + 0.5)
    growth = np.where(short > 0.5, np.minimum(0, short_gain), 0)  # the gain is minus the growth
    expected = scaled(advantage, scale) + 0.2 * scaled(value, scale) + 0.3 * scaled(growth, scale)
    penalties = {"value_weight": 0.2, "growth_weight": 0.3, "tolerance": 0.5}
    found = shaped("a-ppo", advantage, signals, scale=scale, **penalties)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def learned(name, **settings):
    """Log of an epoch of learning at the desk."""
    learner = algorithms.get(name)(**SMALL | settings)
    state = learner.init(jax.random.key(0), DESK, Objective.direct(DESK))
    return learner, *learner.update(state)


@pytest.mark.full
def test_massaging_keeps_the_gap_small_while_learning():
    """What pays is to approve the first group alone: a gap of 1."""
    massaging = {"threshold_start": 0, "threshold_rate": 0.0, "regularise": 0.0}
    _, _, fair = learned("f-ppo", **massaging)
    _, state, unfair = learned("f-ppo", massage=False, regularise=0.0)
    assert float(unfair["metrics/gap"]) < -0.95 and float(unfair["metrics/points"]) > 15
    assert float(unfair[SHORT_TERM]) > 0.7
    assert float(fair[SHORT_TERM]) < 0.4 * float(unfair[SHORT_TERM])
    assert int(state.carried["rounds"]) == 25


@pytest.mark.full
def test_agents_of_a_ppo_with_equivariant_networks_come_to_the_tolerance():
    """What a step is unfair by pays as much; above the tolerance it costs three times that."""
    env = Office()
    penalties = {"value_weight": 3.0, "growth_weight": 0.0, "tolerance": 0.3, "scale": "none"}
    learner = algorithms.get("a-ppo")(
        **OFFICE | penalties, short_term="gap", long_term="", window=1
    )
    state = learner.init(jax.random.key(0), env, Objective.weighted(env, {"points": 0.1}))
    gaps = []
    for _ in range(learner.epochs):
        state, log = learner.update(state)
        gaps.append(float(log[SHORT_TERM]))
    assert np.mean(gaps[-4:]) == pytest.approx(0.3, abs=0.06), gaps


def test_signals_begin_anew_with_every_episode():
    """The long-term measure of now, and its gains, against the steps themselves."""
    learner = algorithms.get("f-ppo")(**SMALL | {"massage": False, "long_term": "long_term"})
    state = learner.init(jax.random.key(0), DESK, Objective.direct(DESK))

    @eqx.filter_jit
    def collect(state):
        rollout = jax.tree.map(lambda x: x[0], state.rollouts)
        return learner._run(state, (rollout, jax.random.key(1)))[1]

    steps = collect(state)
    done = np.array(steps.done)
    starts = np.concatenate([[True], done[:-1]])
    gain, long = (np.array(steps.signals[k]) for k in (gain_of("long_term"), "long_term"))
    assert done.sum() == 1 and not gain[starts].any()
    np.testing.assert_allclose(gain[1:][~starts[1:]], -np.diff(long)[~starts[1:]], atol=1e-6)
    # the first step of an episode moves one of ten in one group
    assert 0.2 - 1e-6 <= long[0] <= 0.4 + 1e-6


@pytest.mark.parametrize(
    ("env", "settings", "message"),
    [
        (
            Bandit(),
            {},
            "short_term must be a measure of bandit .poi.*, got 'short_term'",
        ),
        (DESK, {"long_term": ""}, "long_term must be a measure of desk .*, got ''"),
        (
            DESK,
            {"long_term": "x"},
            "long_term must be a measure of desk .sho.*, got 'x'",
        ),
        (
            Bandit(),
            {"short_term": "points", "long_term": "points"},
            "but bandit declares no `expected_components`",
        ),
        (
            Office(),
            {"network": "equivariant", "oracle": True}
            | dict.fromkeys(("short_term", "long_term"), "gap"),
            "oracle must be False .*; judge, clerk of office are trained",
        ),
        (
            Toy(population=8, horizon=5, places=3),
            {"network": "equivariant"} | dict.fromkeys(("short_term", "long_term"), TREATED),
            "must choose an option or divide units, got 'level', .* 2 numbers in",
        ),
    ],
)
def test_what_cannot_be_learned_is_refused(env, settings, message):
    with pytest.raises(FairgymError, match=message):
        algorithms.get("f-ppo")(**settings).init(jax.random.key(0), env, Objective.direct(env))


def test_a_metric_is_a_measure_over_the_window():
    learner = algorithms.get("a-ppo")(short_term="gap", long_term="gap", window=7)
    assert learner.measures(DESK)["short_term"] == Windowed(DESK.metrics["gap"], 7)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"window": -1}, "window must be a whole number from 0.*got -1"),
        ({"threshold": 1.5}, "threshold must be a number from 0 to 1.*got 1.5"),
        ({"delta": -0.1}, "delta must be a number from 0.*got -0.1"),
    ],
)
def test_hyperparameters_out_of_range_are_refused(settings, message):
    with pytest.raises(FairgymError, match=message):
        algorithms.get("f-ppo")(**settings)
