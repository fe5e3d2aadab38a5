"""College admissions against NumPy, closed forms and ml-fairness-gym's documented cases."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import root_scalar
from scipy.stats import norm
from tiers import in_tiers

import fairgym
from fairgym.core import FairgymError, record
from fairgym.environments.college_admissions import dynamics
from fairgym.environments.college_admissions.rules import (
    LEVELS,
    Seen,
    best_threshold,
    level_of,
)
from fairgym.policies import Constant, Random, fixed_policies, rules
from fairgym.testing import check_environment

ENV = fairgym.make("college_admissions", population=9, horizon=30, lottery=True)
PARAMS = ENV.default_params
OTHER = PARAMS.replace(
    advantaged=0.4,
    mean_score=jnp.array([0.6, 0.45]),
    score_spread=jnp.array([0.1, 0.3]),
    margin=0.05,
    cost=jnp.array([2.0, 3.0]),
    subsidy=0.2,
    most_change=0.25,
    score_noise=0.1,
    threshold_noise=0.05,
    noise_mean=0.01,
    noise_low=-0.1,
    noise_high=0.12,
)


@pytest.fixture(scope="module")
def recordings():
    """Episodes of random actions, with the published numbers and with others."""
    policies = {"jury": Random(ENV.action_space("jury"))}
    run = jax.jit(lambda key, params: record(ENV, params, policies, key))
    both = [jax.tree.map(jnp.asarray, params) for params in (PARAMS, OTHER)]
    return [(p, jax.tree.map(np.asarray, run(jax.random.key(3), p))) for p in both]


def noisy(normal, spread, params):
    """An error, in double precision."""
    if float(spread) == 0.0:
        return np.zeros(len(normal))
    low, high = float(params.noise_low), float(params.noise_high)
    return np.clip(float(params.noise_mean) + float(spread) * normal, low, high)


class TestSteps:
    def test_all_rounds_against_numpy(self, recordings):
        """The whole step from the same noise, applicant by applicant."""
        gamed_at_all = 0
        for params, steps in recordings:
            mean, spread, cost = (
                np.broadcast_to(np.asarray(x, np.float64), (2,))
                for x in (params.mean_score, params.score_spread, params.cost)
            )
            group = (np.arange(9) + 0.5 >= 9 * float(params.advantaged)).astype(int)
            np.testing.assert_array_equal(steps.before.group[0], group)
            score, test = (
                np.asarray(x[0], np.float64) for x in (steps.before.score, steps.before.test_score)
            )
            for t in range(30):
                threshold, epsilon = map(float, steps.actions["jury"][t])
                aims = noisy(steps.noise.target[t], params.threshold_noise, params)
                counted = {name: np.zeros(2) for name in ENV.spec.component_info}
                counted["threshold"] = np.array(threshold)
                seen = []
                for i, g in enumerate(group):
                    price = cost[g] * (1.0 - float(params.subsidy) * g)
                    aim = min(max(threshold + aims[i], 0.0), 1.0)
                    shown, burden, gamed = test[i], 0.0, False
                    if test[i] < threshold:
                        burden = price * max(aim - test[i], 0.0)
                        gamed = (
                            aim >= threshold
                            and burden <= 1.0 - epsilon
                            and aim - test[i] <= float(params.most_change)
                        )
                        shown = aim if gamed else test[i]
                    admitted = shown >= threshold or steps.noise.lottery[t, i] < epsilon
                    able = score[i] >= (1.0 + float(params.margin)) * mean[g]
                    counted["applicants"][g] += 1
                    counted["qualified"][g] += able
                    counted["admitted"][g] += admitted
                    counted["admitted_qualified"][g] += admitted and able
                    counted["correct"][g] += admitted == able
                    counted["gamed"][g] += gamed
                    counted["paid"][g] += burden * gamed
                    counted["burden"][g] += burden * able
                    seen.append((shown, admitted, admitted and able))
                gamed_at_all += counted["gamed"].sum()
                for name, value in counted.items():
                    found = getattr(steps.components, name)[t]
                    np.testing.assert_allclose(found, value, atol=1e-5, err_msg=f"{name}, {t}")
                after = steps.after
                found = [after.seen_score[t], after.seen_admitted[t], after.seen_qualified[t]]
                np.testing.assert_allclose(np.stack(found, axis=1), seen, atol=1e-6)
                score = np.clip(mean[group] + spread[group] * steps.noise.score[t], 0, 1)
                test = np.clip(score + noisy(steps.noise.test[t], params.score_noise, params), 0, 1)
                np.testing.assert_allclose(after.score[t], score, atol=1e-6)
                np.testing.assert_allclose(after.test_score[t], test, atol=1e-6)
                assert not steps.terminated[t]
        assert gamed_at_all > 20

    def test_the_jury_sees_the_last_round(self, recordings):
        params, steps = recordings[1]
        state = jax.tree.map(lambda x: jnp.asarray(x[10]), steps.before)
        seen = ENV.observe(state, params)["jury"]
        columns = (state.seen_score, state.seen_admitted, state.seen_qualified, state.group)
        np.testing.assert_array_equal(seen.features, np.stack(columns, axis=1))
        assert seen.mask.all() and seen.context.tolist() == [float(state.threshold)]
        first = ENV.reset(jax.random.key(0), PARAMS)[0]["jury"]
        assert not first.mask.any() and not first.features.any()

    def test_the_metrics_against_numpy(self, recordings):
        _, steps = recordings[1]
        totals = jax.tree.map(lambda x: x.sum(axis=0), steps.components)
        arrays = jax.tree.map(jnp.asarray, totals)
        value = {n: float(m.value(arrays)) for n, m in ENV.metrics.items()}
        assert value["accuracy"] == pytest.approx(totals.correct.sum() / (30 * 9), rel=1e-5)
        burden = totals.burden / totals.qualified
        assert value["burden_disparity"] == pytest.approx(-abs(burden[0] - burden[1]), rel=1e-5)
        assert value["social_burden"] == pytest.approx(
            -totals.burden.sum() / totals.qualified.sum(), rel=1e-5
        )
        assert value["burden_per_applicant"] == pytest.approx(-totals.burden.sum() / 270, rel=1e-5)


def test_with_a_fixed_threshold_the_numbers_are_those_of_the_normal_distribution():
    """Accuracy, admissions and burden by group of 40,000 applicants, published numbers."""
    env = fairgym.make("college_admissions", population=4_000, horizon=10)
    run = jax.jit(
        lambda threshold: (
            fairgym.rollout(
                env,
                env.default_params,
                {"jury": Constant(env.action_space("jury"), threshold)},
                jax.random.key(0),
            ).totals
        )
    )
    x = np.linspace(0.0, 1.0, 20_001)
    weight = norm.pdf(x, 0.5, 0.1)
    weight /= weight.sum()
    able = x >= 0.55
    for threshold in (0.5, 0.65, 0.75):
        totals = run(jnp.float32(threshold))
        for g, cost in enumerate((5.0, 10.0)):
            admitted = x >= threshold - 1.0 / cost
            price = cost * np.maximum(threshold - x, 0.0)
            counts = {
                "admitted": weight @ admitted,
                "correct": weight @ (admitted == able),
                "gamed": weight @ (admitted & (x < threshold)),
                "burden": weight @ (able * price),
                "paid": weight @ (admitted * price),
            }
            for name, known in counts.items():
                found = float(getattr(totals, name)[g]) / 20_000
                assert found == pytest.approx(known, abs=0.012), (name, threshold, g)


class TestDocumentedCases:
    """The cases of ml-fairness-gym's unit tests."""

    SCORES = jnp.array([0.1, 0.3, 0.6, 0.7, 0.7, 0.9])
    COST = jnp.array([3.0, 4.0, 4.0, 4.0, 3.0, 3.0])

    def respond(self, most_change):
        nothing = jnp.zeros(6)
        return dynamics.respond(
            self.SCORES, jnp.float32(0.8), jnp.float32(0.0), nothing, self.COST, most_change
        )

    def test_nobody_changes_a_score_without_gaming(self):
        np.testing.assert_array_equal(self.respond(0.0).test_score, self.SCORES)

    def test_scores_change_as_far_as_it_pays(self):
        found = self.respond(1.0)
        np.testing.assert_allclose(found.test_score, [0.1, 0.3, 0.8, 0.8, 0.8, 0.9], atol=1e-6)
        np.testing.assert_allclose(found.cost, [2.1, 2.0, 0.8, 0.4, 0.3, 0.0], atol=1e-5)

    def test_scores_change_by_a_tenth_at_most(self):
        found = self.respond(0.1)
        np.testing.assert_allclose(found.test_score, [0.1, 0.3, 0.6, 0.8, 0.8, 0.9], atol=1e-6)

    def test_a_subsidy_is_for_the_disadvantaged_alone(self):
        group, cost = jnp.array([0, 1]), jnp.array([3.0, 4.0])
        np.testing.assert_allclose(dynamics.costs_of(cost, 0.4, group, 2), [3.0, 2.4], rtol=1e-6)
        np.testing.assert_allclose(dynamics.costs_of(cost, 0.0, group, 2), cost)

    def test_who_reaches_the_threshold_is_admitted_and_others_by_the_lottery(self):
        scores, half = jnp.array([0.1, 0.9, 0.8, 0.79]), jnp.float32(0.5)
        uniform = jnp.array([0.6, 0.9, 0.9, 0.4])
        admit = dynamics.is_admitted
        without = admit(scores, jnp.float32(0.8), jnp.float32(0.0), uniform)
        assert without.tolist() == [False, True, True, False]
        assert admit(scores, jnp.float32(0.8), half, uniform).tolist() == [False, True, True, True]

    @pytest.mark.parametrize(
        ("lottery", "most_change", "rise"),
        [(0.0, 1.0, [0.5, 0.25]), (0.2, 1.0, [0.4, 0.2]), (0.0, 0.3, [0.3, 0.25])],
    )
    def test_how_far_it_pays(self, lottery, most_change, rise):
        found = dynamics.largest_rise(jnp.array([2.0, 4.0]), most_change, lottery)
        np.testing.assert_allclose(found, rise, rtol=1e-6)

    def test_the_threshold_with_most_right_decisions(self):
        scores = jnp.array([0.1, 0.2, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8])
        qualified = jnp.array([0, 0, 1, 0, 0, 1, 1, 1])
        counts = jnp.zeros((2, LEVELS + 1)).at[qualified, level_of(scores)].add(1.0)
        assert float(best_threshold(counts)) == pytest.approx(0.6)
        assert float(best_threshold(counts.at[1].set(0.0))) == 0.0, "nobody qualified"


class TestJuries:
    def played(self, rule, horizon, **numbers):
        """The threshold of every round, in three episodes."""
        env = fairgym.make("college_admissions", horizon=horizon)
        params = env.default_params.replace(**numbers)
        policies = fixed_policies(env, {"jury": rule}, params)
        keys = jax.random.split(jax.random.key(1), 3)
        run = jax.vmap(lambda key: fairgym.rollout(env, params, policies, key, trace=True))
        return np.asarray(jax.jit(run)(keys).trace.threshold)

    def test_a_static_jury_learns_who_is_qualified_once(self):
        found = self.played("static-jury", 20)
        assert not found[:, :10].any() and (np.ptp(found[:, 10:], axis=1) == 0.0).all()
        np.testing.assert_allclose(found[:, -1], 0.555, atol=0.007)

    def test_a_continuous_jury_follows_the_applicants(self):
        """Where as many qualified as unqualified people game, raising it further does not pay."""

        def more_qualified(threshold):
            gamers = 0.0
            for cost in (5.0, 10.0):
                first, able, last = norm.cdf([threshold - 1.0 / cost, 0.55, threshold], 0.5, 0.1)
                gamers += (last - able) - max(able - first, 0.0)
            return gamers

        found = self.played("continuous-jury", 750)
        assert not found[:, :10].any() and (found[:, -1] > found[:, 10] + 0.05).all()
        equal = root_scalar(more_qualified, bracket=(0.56, 0.8)).root
        np.testing.assert_allclose(found[:, -1], equal, atol=0.01)

    def test_a_robust_jury_adds_what_the_cheapest_change_is_worth(self):
        found = self.played("robust-jury", 12, cost=jnp.array([5.0, 5.0]))
        np.testing.assert_allclose(found[:, -1], 0.755, atol=0.01)
        assert (np.ptp(found[:, 10:], axis=1) == 0.0).all()
        still = self.played("robust-jury", 12, most_change=0.0)
        np.testing.assert_array_equal(still, self.played("static-jury", 12, most_change=0.0))

    def test_what_a_jury_remembers_against_numpy(self):
        """The threshold of every round, from all people admitted so far, by brute force."""
        env = fairgym.make("college_admissions", horizon=25)
        params = env.default_params.replace(score_noise=0.1)
        policies = fixed_policies(env, {"jury": "continuous-jury"}, params)
        steps = jax.jit(lambda key: record(env, params, policies, key))(jax.random.key(2))
        level, able = np.zeros(0, int), np.zeros(0, bool)
        for t in range(25):
            threshold = float(steps.actions["jury"][t, 0])
            if t < 10:
                assert threshold == 0.0
            else:
                right = {k: np.mean((level >= k) == able) for k in np.unique(level)}
                best = max(right.values())
                known = min(k for k, share in right.items() if share == best)
                assert threshold == pytest.approx(known / 1_000, abs=1e-6), t
            admitted = np.asarray(steps.after.seen_admitted[t])
            scores = np.asarray(steps.after.seen_score[t], np.float64)[admitted]
            level = np.append(level, np.floor(1_000 * scores + 0.01).astype(int))
            able = np.append(able, np.asarray(steps.after.seen_qualified[t])[admitted])

    def test_with_a_lottery_a_jury_draws_nobody(self):
        policy = rules.get("static-jury")(ENV, "jury", burn_in=1)
        seen = ENV.reset(jax.random.key(0), PARAMS)[0]["jury"]
        action, hidden = policy(seen, jax.random.key(0), policy.initial())
        assert action.tolist() == [0.0, 0.0] and isinstance(hidden, Seen)

    def test_other_environments_and_burn_ins(self):
        with pytest.raises(FairgymError, match="RobustJury is for the jury of college_admissions"):
            fixed_policies(fairgym.make("bank_loans"), {"bank": "robust-jury"})
        with pytest.raises(FairgymError, match=r"burn_in must be a whole number from 1.*got 0"):
            rules.get("robust-jury")(ENV, "jury", burn_in=0)


@pytest.mark.full
def test_jit_and_vmap_change_nothing():
    """One round of three applicants' rounds, eager, compiled and several at a time."""
    env = fairgym.make("college_admissions", population=4, horizon=3)
    keys, params = jax.random.split(jax.random.key(5), 3), OTHER
    action = {"jury": jnp.array([0.6])}

    def after(key):
        return env.step(key, env.reset(key, params)[1], action, params)[1:3]

    loop = [jax.jit(after)(key) for key in keys]
    stacked = jax.tree.map(lambda *x: np.stack(x), *loop)
    for found, known in (
        (jax.jit(jax.vmap(after))(keys), stacked),
        (after(keys[0]), jax.tree.map(lambda x: x[0], stacked)),
    ):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), found, known)


@pytest.mark.parametrize("lottery", in_tiers([False, True], True))
def test_conformance(lottery):
    env = fairgym.make("college_admissions", population=7, horizon=9, lottery=lottery)
    check_environment(env, steps=3)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"population": 1}, "population must be a whole number from 2 to 1000000, got 1"),
        ({"horizon": 0}, "horizon must be a whole number from 1.*got 0"),
    ],
)
def test_bad_shapes(shapes, message):
    with pytest.raises(FairgymError, match=message):
        fairgym.make("college_admissions", **shapes)


def test_bad_numbers():
    for name, value in (("most_change", 2.0), ("cost", -1.0), ("subsidy", 1.5)):
        with pytest.raises(FairgymError, match=f"{name} must be a number from.*got {value}"):
            PARAMS.replace(**{name: value})
