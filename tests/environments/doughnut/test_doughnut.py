"""The doughnut shop against NumPy, its bounds by enumeration, and agents that come near them."""

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiers import in_tiers

import fairgym
from fairgym.core import FairgymError, no_components, record, rollout
from fairgym.policies import Random, fixed_policies
from fairgym.testing import check_environment
from fairgym.wrappers import augmented

P, SMALL = 0.8, 3  # chance of being at the counter; size of the tabular shop
STEPS = 12
OPTIMUM = 37.633  # log-Nash welfare summed over an episode of the small shop


def welfare(counts):
    return sum(math.log(count + 1) for count in counts)


def expected(choose):
    """Expected welfare of an episode of the small shop, by enumeration of all histories.

    `choose(counts, present, gains)` says who gets the doughnut when `gains[i]` is what is to be
    expected from giving it to person i.
    """

    @functools.cache
    def value_of(counts, left):
        if not left:
            return 0.0
        total = 0.0
        wasted = value_of(counts, left - 1)
        for present in itertools.product((0, 1), repeat=SMALL):
            gains = []
            for person in range(SMALL):
                after = tuple(c + (i == person) for i, c in enumerate(counts))
                gain = welfare(after) + value_of(after, left - 1)
                gains.append(gain if present[person] else wasted)
            share = math.prod(P if here else 1 - P for here in present)
            total += share * choose(counts, present, gains)
        return total

    return value_of((0,) * SMALL, STEPS)


def oracle(counts, present, gains):
    there = [i for i in range(SMALL) if present[i]] or [0]
    return gains[min(there, key=lambda i: counts[i])]


def random_welfare(people, steps, share):
    """Expected welfare where each person gets each doughnut with the chance `share`.

    In a step in which it is handed out (chance people x share) its receiver has one more than a
    binomial number, each of the others has a binomial number.
    """
    total = 0.0
    for past in range(steps):
        chances = [
            math.comb(past, k) * share**k * (1 - share) ** (past - k) for k in range(past + 1)
        ]
        got = sum(c * math.log(k + 2) for k, c in enumerate(chances))
        others = sum(c * math.log(k + 1) for k, c in enumerate(chances))
        total += people * share * (got + (people - 1) * others)
    return total


def by_chance(people, steps):
    """Expected welfare of a random choice of anybody, and of somebody present."""
    somebody = (1 - (1 - P) ** people) / people
    return random_welfare(people, steps, P / people), random_welfare(people, steps, somebody)


RULES = ("take-turns", "random-present", "random")


@pytest.fixture(scope="module")
def simulated():
    """Welfare of many episodes: (people, rule) -> one number per episode."""
    found = {}
    for people, steps, episodes in ((SMALL, STEPS, 4000), (5, 100, 400)):
        env = fairgym.make("doughnut", population=people, horizon=steps)
        scheme = env.spec.schemes["welfare"]

        @jax.jit
        def run(keys, env=env, scheme=scheme):
            def one(key, rule):
                policies = fixed_policies(env, {"server": rule})
                memories = {"welfare": scheme}
                episode = rollout(env, env.default_params, policies, key, memories=memories)
                return scheme.score(episode.memories["welfare"])

            return {rule: jax.vmap(lambda k, r=rule: one(k, r))(keys) for rule in RULES}

        for rule, scores in run(jax.random.split(jax.random.key(people), episodes)).items():
            found[people, rule] = np.asarray(scores, float)
    return found


class TestBounds:
    def test_the_optimum_by_dynamic_programme(self):
        found = expected(lambda counts, present, gains: max(gains))
        assert found == pytest.approx(OPTIMUM, abs=5e-4)

    @pytest.mark.full
    def test_to_take_turns_is_optimal_in_the_small_shop(self, simulated):
        exact, scores = expected(oracle), simulated[SMALL, "take-turns"]
        assert exact == pytest.approx(OPTIMUM, abs=5e-4)
        assert abs(scores.mean() - exact) < 4 * scores.std() / len(scores) ** 0.5
        assert scores.std() == pytest.approx(1.5, abs=0.1)

    def test_random_choices(self, simulated):
        for people, steps, known in ((SMALL, STEPS, (25.48, 35.58)), (5, 100, (791.1, 1082.9))):
            exact = by_chance(people, steps)
            assert exact == pytest.approx(known, rel=2e-4)
            for rule, value in zip(("random", "random-present"), exact, strict=True):
                scores = simulated[people, rule]
                assert abs(scores.mean() - value) < 4 * scores.std() / len(scores) ** 0.5

    def test_turns_in_the_large_shop(self, simulated):
        """Without absences each round of five gives everybody one: no more is possible."""
        rounds = [welfare([t // 5 + (i < t % 5) for i in range(5)]) for t in range(1, 101)]
        assert sum(rounds) == pytest.approx(1104.058, abs=5e-4)
        scores = simulated[5, "take-turns"]
        assert scores.max() <= sum(rounds) + 1e-2
        assert scores.mean() == pytest.approx(1103.3, abs=4 * 2.9 / len(scores) ** 0.5)
        assert scores.std() == pytest.approx(2.9, rel=0.2)


@pytest.fixture(scope="module")
def recorded():
    """An episode of random choices in which everybody has another chance to come."""
    env = fairgym.make("doughnut", population=4, horizon=30, shows_time=True)
    params = env.default_params.replace(presence=jnp.array([0.0, 0.5, 0.8, 1.0]))
    policies = {"server": Random(env.action_space("server"))}
    steps = jax.jit(lambda key: record(env, params, policies, key))(jax.random.key(1))
    return env, jax.tree.map(np.asarray, steps)


class TestSteps:
    def test_all_steps_against_numpy(self, recorded):
        _, steps = recorded
        chance = np.array([0.0, 0.5, 0.8, 1.0])
        for t in range(30):
            present = steps.before.stage[t]
            chosen = int(steps.actions["server"][t])
            handed = np.zeros(4)
            handed[chosen] = present[chosen]
            np.testing.assert_array_equal(steps.components.handed_out[t], handed)
            assert steps.components.wasted[t] == 1 - present[chosen]
            following = steps.noise.arrival[t] < chance
            np.testing.assert_array_equal(steps.after.stage[t], following)
            assert steps.before.time[t] == t and not steps.terminated[t]
        came = steps.before.stage
        assert not came[:, 0].any() and came[:, 3].all()
        assert 0 < steps.components.wasted.sum() < 30

    def test_schemes_and_memories_against_numpy(self, recorded):
        env, steps = recorded
        handed = steps.components.handed_out.astype(float)
        got = np.cumsum(handed, axis=0)
        counts = handed.sum(axis=1) > 0
        logs = np.log(got + 1).sum(axis=1)
        apart = (got - got.mean(axis=1, keepdims=True)).sum(axis=0)
        known = {
            "welfare": logs[counts].sum(),
            "long_term": logs[-1],
            "worst_off": got[-1].min(),
            "balance": -(apart**2).sum(),
        }
        assert set(env.spec.schemes) == set(known)
        for name, scheme in env.spec.schemes.items():
            np.testing.assert_allclose(
                scheme.of_trace(steps.components)[0], known[name], rtol=1e-5, err_msg=name
            )
        totals = jax.tree.map(lambda x: jnp.asarray(x.sum(axis=0)), steps.components)
        assert float(env.metrics["handed_out"].value(totals)) == handed.sum()
        least = got - got.min(axis=1, keepdims=True)
        anew = np.zeros(4)
        for row in handed:
            anew = anew + row
            anew = anew * (np.ptp(anew) > 0)
        for name, end in (("full", got[-1]), ("min", least[-1]), ("reset", anew)):
            memory = env.spec.memories[name]
            start = memory.initial(no_components(env, env.default_params))
            state = jax.lax.scan(
                lambda m, c, u=memory.update: (u(m, c), ()), start, steps.components
            )[0]
            np.testing.assert_array_equal(state.value, end, err_msg=name)

    def test_the_server_sees_everybody_in_order(self, recorded):
        env, steps = recorded
        state = jax.tree.map(lambda x: jnp.asarray(x[7]), steps.before)
        seen = env.observe(state, env.default_params)["server"]
        np.testing.assert_array_equal(seen.features[:, 0], state.stage)
        assert seen.mask.all() and seen.context.tolist() == [7.0]
        blind = fairgym.make("doughnut").observation_space("server")
        assert blind.context == () and blind.capacity == 5


def test_people_who_leave_never_come_again():
    """From the step on that is told for each; nothing else changes."""
    env = fairgym.make("doughnut", population=3, horizon=8)
    policies = {"server": Random(env.action_space("server"))}
    run = jax.jit(lambda params: record(env, params, policies, jax.random.key(2)).before.stage)
    everybody = np.asarray(run(env.default_params.replace(presence=jnp.full(3, 0.8))))
    leaving = env.default_params.replace(
        presence=jnp.full(3, 0.8), stays=jnp.array([3.0, 8.0, 0.0])
    )
    there = np.arange(8)[:, None] < np.array([3, 8, 0])
    np.testing.assert_array_equal(run(leaving), everybody * there)
    assert everybody[3:, 0].any() and everybody[:, 2].any()


@pytest.mark.parametrize("memory", in_tiers([None, "full"], "full"))
def test_conformance(memory):
    """All properties of environments hold, also with a memory of people in their rows."""
    env = fairgym.make("doughnut", population=3, horizon=9, shows_time=True)
    check_environment(augmented(env, memory) if memory else env, steps=3)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"population": 0}, "population must be a whole number from 1 to 1000, got 0"),
        ({"horizon": 0}, "horizon must be a whole number from 1.*got 0"),
    ],
)
def test_bad_shapes(shapes, message):
    with pytest.raises(FairgymError, match=message):
        fairgym.make("doughnut", **shapes)


def test_bad_numbers():
    env = fairgym.make("doughnut", population=2)
    with pytest.raises(FairgymError, match=r"presence must be a number from 0 to 1.*got 1\.2"):
        env.default_params.replace(presence=1.2)
    params = env.default_params.replace(presence=jnp.full(3, 0.5))
    with pytest.raises(FairgymError, match=r"one per person \(person_0, person_1\), got the shape"):
        env.reset(jax.random.key(0), params)
    with pytest.raises(
        FairgymError, match=r"must have shape \(\) \(a whole number from 0.*got \(2,\)"
    ):
        state = env.reset(jax.random.key(0), env.default_params)[1]
        env.step(jax.random.key(0), state, {"server": jnp.zeros(2)}, env.default_params)
