"""Attention allocation against NumPy and scipy, and hand-written agents."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from scipy import stats

import fairgym
from fairgym.core import FairgymError, apportion, no_components, record, rollout
from fairgym.environments.attention import dynamics
from fairgym.environments.attention.types import AttentionNoise
from fairgym.fairness import Objective
from fairgym.policies import fixed_policies
from fairgym.testing import check_environment

START = np.array([8.0, 6.0, 4.0, 3.0, 1.5])
INCREASE = np.array([0.2, 0.26, 0.4, 0.6, 0.3])
STEPS, HISTORY = 330, 8  # more than a window, so that its oldest steps are forgotten


# ------------------------------------------------------------------------ what is reached

AGENTS = ("cover-sites", "proportional", "knowing", "each unit")


@pytest.fixture(scope="module")
def reached():
    """Mean reward of a step of 48 episodes with each agent, and the rates at their end."""
    env = fairgym.make("attention")
    params, published = env.default_params, Objective.published(env)
    turns, recent = (
        fixed_policies(env, {"dispatcher": rule})["dispatcher"]
        for rule in ("cover-sites", "proportional")
    )

    def knowing(rates):
        rates = jnp.round(rates, 2)  # what rounding leaves of a rate is no place to be sent
        total = jnp.sum(rates)
        return apportion(jnp.where(total > 0.0, rates / jnp.maximum(total, 0.01), 0.2), 6)

    def each_unit(key):
        places = jax.random.randint(key, (6,), 0, 5)
        return jnp.sum(places[:, None] == jnp.arange(5), axis=0, dtype=jnp.int32)

    def episode(key):
        def step(carry, key):
            (states, hidden), (choice, noise) = carry, jax.random.split(key)
            seen = env.observe(jax.tree.map(lambda x: x[1], states), params)["dispatcher"]
            even, hidden = turns(seen, choice, hidden)
            actions = (even, recent(seen, choice), knowing(states.rates[2]), each_unit(choice))
            noise = env.noise(noise, params)

            def advance(state, action):
                return env.transition(noise, state, {"dispatcher": action}, params)[:2]

            states, components = jax.vmap(advance)(states, jnp.stack(actions))
            return (states, hidden), jax.vmap(lambda c: published.step_reward(c, 1000))(components)

        start = env.initial_state(key, params)
        states = jax.tree.map(lambda x: jnp.stack([x] * len(AGENTS)), start)
        (states, _), rewards = lax.scan(
            step, (states, turns.initial()), jax.random.split(key, env.horizon)
        )
        return jnp.mean(rewards, axis=0), states.rates

    scores, rates = jax.jit(jax.vmap(episode))(jax.random.split(jax.random.key(0), 48))
    return {name: (scores[:, i], rates[:, i]) for i, name in enumerate(AGENTS)}


class TestWhatIsReached:
    """Known from three simulated episodes of the authors' system, of 1,000 steps."""

    @pytest.mark.parametrize(
        ("agent", "known", "spread"),
        [("cover-sites", 0.08, 0.01), ("knowing", 0.135, 0.01), ("each unit", -3.0, 1.8)],
    )
    def test_the_mean_reward(self, reached, agent, known, spread):
        """Within the error of three episodes; units in proportion are so to the true rates."""
        scores, _ = reached[agent]
        assert scores.std() < 1.2 * spread
        assert scores.mean() == pytest.approx(known, abs=2 * spread / 3**0.5)

    def test_incidents_that_are_let_happen_can_be_found(self, reached):
        """Rates near the units' capacity pay off; rates of 0 do not."""
        assert reached["proportional"][0].mean() == pytest.approx(1.5, abs=0.04)
        assert np.all(reached["cover-sites"][1] == 0.0)
        assert 2.0 < reached["proportional"][1].sum(axis=1).mean() < 8.0


# ------------------------------------------------------------------------ step by step


@pytest.fixture(scope="module")
def recorded():
    """An episode of random allocations, some sites without a unit, with its observations."""
    env = fairgym.make("attention", horizon=STEPS)
    params = env.default_params
    rng = np.random.default_rng(1)
    units = rng.multinomial(6, np.full(5, 0.2), STEPS).astype(np.int32)

    @jax.jit
    def run(key):
        def pick(step):
            return step, env.observe(step.after, params)["dispatcher"].features

        script = {"dispatcher": jnp.asarray(units)}
        steps, seen = record(env, params, {}, key, script=script, pick=pick)
        measures = env.spec.measures
        like = no_components(env, params)

        def fold(memories, components):
            memories = {n: m.update(memories[n], components) for n, m in measures.items()}
            return memories, {n: m.value(memories[n]) for n, m in measures.items()}

        first = {name: measure.initial(like) for name, measure in measures.items()}
        course = lax.scan(fold, first, steps.components)[1]
        totals = jax.tree.map(lambda x: jnp.sum(x, axis=0), steps.components)
        values = {name: metric.value(totals) for name, metric in env.metrics.items()}
        return steps, seen, course, values

    return env, units, jax.tree.map(np.asarray, run(jax.random.key(2)))


class TestSteps:
    def test_all_steps_against_numpy(self, recorded):
        env, units, (steps, seen, _, _) = recorded
        rates, past = START.copy(), np.zeros((3, HISTORY, 5))
        for t in range(STEPS):
            np.testing.assert_allclose(steps.before.rates[t], rates, atol=1e-4)
            uniform = steps.noise.uniform[t].astype(float)
            occurred = stats.poisson.ppf(np.clip(uniform, 1e-6, 1 - 1e-6), rates)
            found = np.minimum(units[t], occurred)
            gone = np.maximum(rates - 0.1 * units[t], 0.0)
            rates = np.where(units[t] == 0, rates + INCREASE, gone)
            known = {
                "occurred": occurred,
                "found": found,
                "missed": occurred - found,
                "sent": units[t],
                "rates": rates,
            }
            assert set(known) == set(env.spec.component_info)
            for name, value in known.items():
                np.testing.assert_allclose(
                    getattr(steps.components, name)[t], value, atol=1e-4, err_msg=f"{name}, {t}"
                )
            past = np.concatenate([np.stack([found, occurred, units[t]])[:, None], past[:, :-1]], 1)
            share = np.where(past[1] > 0, past[0] / np.maximum(past[1], 1), 0.0)
            features = np.concatenate([*past, share]).T
            np.testing.assert_allclose(seen[t], features, atol=1e-6)
            np.testing.assert_array_equal(steps.after.sent[t], past[2])
            assert steps.after.time[t] == t + 1 and not steps.terminated[t]
        assert (units == 0).any() and (steps.after.rates == 0.0).any()
        np.testing.assert_array_equal(steps.components.sent.sum(axis=1), np.full(STEPS, 6.0))

    def test_measures_against_numpy(self, recorded):
        _, units, (steps, _, course, _) = recorded
        for t in range(STEPS):
            window = slice(max(0, t - 299), t + 1)
            share = units[window].sum(axis=0) / units[window].sum()
            rates = steps.components.rates[t].astype(float)
            h = steps.components.occurred[window].sum(axis=0)
            discovered = steps.components.found[window].sum(axis=0) / (h + 1)
            known = {
                "short_term": np.abs(share - 1 / 5).max(),
                "long_term": np.abs(rates - rates.mean()).max(),
                "long_term_window": np.abs(h - h.mean()).max() / h.max(),
                "discovery": np.ptp(discovered),
            }
            assert set(known) == set(course)
            for name, value in known.items():
                np.testing.assert_allclose(course[name][t], -value, atol=1e-4, err_msg=name)

    def test_metrics_against_numpy(self, recorded):
        _, units, (steps, _, _, values) = recorded
        occurred, found = (getattr(steps.components, n).sum(0) for n in ("occurred", "found"))
        discovered, rates = found / occurred, steps.components.rates.mean(axis=0)
        known = {
            "found": found.sum(),
            "missed": -(occurred - found).sum(),
            "discovery_rate": found.sum() / occurred.sum(),
            "discovery_disparity": -discovered.std(),
            "discovery_gap": -np.ptp(found / (occurred + 1)),
            "share_deviation": -np.abs(units.sum(axis=0) / (6 * STEPS) - 0.2).max(),
            "rate_deviation": -np.abs(rates - rates.mean()).max() / rates.max(),
        }
        assert set(known) == set(values)
        for name, value in known.items():
            np.testing.assert_allclose(values[name], value, rtol=1e-4, err_msg=name)

    def test_features_have_the_names_of_what_they_are(self, recorded):
        env, _, _ = recorded
        names = [feature.name for feature in env.observation_space("dispatcher").features]
        words = ("found", "occurred", "sent", "share_found")
        assert names == [f"{word}_{n}" for word in words for n in range(1, HISTORY + 1)]


def test_the_reward_of_a_step():
    """Found minus a quarter of missed; its mean over the steps is the score."""
    env = fairgym.make("attention", horizon=10)
    components = no_components(env, env.default_params).replace(
        found=jnp.array([2.0, 1.0, 0.0, 0.0, 0.0]), missed=jnp.array([3.0, 0.0, 4.0, 0.0, 0.0])
    )
    published = Objective.published(env)
    assert float(published.step_reward(components, 10)) == pytest.approx(3.0 - 0.25 * 7.0)
    assert float(published.score(components)) == pytest.approx((3.0 - 0.25 * 7.0) / 10)


class TestFairnessGym:
    """What ml-fairness-gym documents of its attention allocation (D'Amour et al. 2020)."""

    @pytest.mark.parametrize(
        ("rates", "dynamic_rate", "sent", "then"),
        [
            ([4.0, 2.0], 0.1, [2, 0], [3.8, 2.1]),  # its own example
            ([4.0, 2.0], 0.0, [2, 0], [4.0, 2.0]),  # without dynamics
            ([0.15, 2.0], 0.1, [2, 0], [0.0, 2.1]),  # never below 0
            ([4.0, 2.0], 0.1, [1, 1], [3.9, 1.9]),
        ],
    )
    def test_rates_rise_without_attention_and_fall_with_every_unit(
        self, rates, dynamic_rate, sent, then
    ):
        env = fairgym.make("attention", sites=2, units=2)
        params = env.default_params.replace(
            start_rate=jnp.array(rates), increase=dynamic_rate, decrease=dynamic_rate
        )
        state = env.initial_state(jax.random.key(0), params)
        noise = AttentionNoise(uniform=jnp.array([0.99, 0.99]))
        action = {"dispatcher": jnp.array(sent)}
        state, components, ended = env.transition(noise, state, action, params)
        np.testing.assert_allclose(state.rates, then, rtol=1e-6)
        occurred = stats.poisson.ppf(0.99, rates)
        np.testing.assert_array_equal(components.occurred, occurred)
        # a unit finds one incident, and no more are found than occur
        np.testing.assert_array_equal(components.found, np.minimum(sent, occurred))
        assert not ended, "there is no end case"

    def test_random_attention_drives_rates_down(self):
        """In its experiment: five sites, four units, a dynamic rate of 0.1, and 1,000 steps."""
        env = fairgym.make("attention", sites=5, units=4, horizon=1_000)
        start = np.array([2.3, 1.1, 1.8, 0.6, 0.3])
        params = env.default_params.replace(
            start_rate=jnp.asarray(start, jnp.float32), increase=0.1, decrease=0.1
        )
        policies = fixed_policies(env, {"dispatcher": "random"})

        @jax.jit
        @jax.vmap
        def run(key):
            episode = rollout(env, params, policies, key)
            return episode.totals, episode.final_state.rates

        totals, rates = run(jax.random.split(jax.random.key(3), 16))
        assert rates.mean() < start.mean() / 2
        assert totals.occurred.sum(axis=1).mean() < 1_000 * start.sum() / 2


def test_all_rates_are_0_within_80_steps_where_every_site_is_covered():
    env = fairgym.make("attention", horizon=90)
    policies = fixed_policies(env, env.spec.baselines["cover_sites"])
    rates = jax.jit(
        lambda key: record(
            env, env.default_params, policies, key, pick=lambda step: step.components.rates
        )
    )(jax.random.key(0))
    assert np.all(rates[79] == 0.0) and np.all(rates[50, 0] > 0.0)
    assert -float(env.spec.measures["long_term"].metric.value(no_rates(env, START))) == 3.5


def no_rates(env, rates):
    """Components with nothing but rates."""
    return no_components(env, env.default_params).replace(rates=jnp.asarray(rates, jnp.float32))


def test_numbers_of_the_variants():
    harder = fairgym.make("attention", harder=True)
    assert (harder.units, harder.spec.size_text) == (30, "5 sites, 30 units")
    assert harder == fairgym.make("attention", harder=True, units=30)
    assert harder.default_params.start_rate.tolist() == [30.0, 25.0, 22.5, 17.5, 12.5]
    decrease = harder.default_params.decrease
    np.testing.assert_allclose(decrease, [0.004, 0.01, 0.016, 0.02, 0.04])
    np.testing.assert_allclose(harder.default_params.increase, [0.08, 0.2, 0.4, 0.8, 2.0])
    default = dataclasses.replace(harder, harder=False, units=6)
    assert default == fairgym.make("attention"), "nothing else differs"
    published = fairgym.make("attention").default_params
    np.testing.assert_allclose(published.start_rate, START)
    np.testing.assert_allclose(published.increase, INCREASE, rtol=1e-6)
    assert published.decrease == 0.1
    seven = fairgym.make("attention", sites=7).default_params
    assert seven.start_rate.tolist() == [8.0, 6.0, 4.0, 3.0, 1.5, 8.0, 6.0]


def test_the_harder_variant_against_numpy():
    """Its rates move per site, and its reward is a quarter of the incidents missed."""
    env = fairgym.make("attention", harder=True, horizon=60)
    params = env.default_params
    policies = fixed_policies(env, {"dispatcher": "random"})
    steps = jax.jit(lambda key: record(env, params, policies, key))(jax.random.key(4))
    rates = np.array([30.0, 25.0, 22.5, 17.5, 12.5])
    rise, fall = np.array([0.08, 0.2, 0.4, 0.8, 2.0]), np.array([0.004, 0.01, 0.016, 0.02, 0.04])
    missed = 0.0
    for t in range(60):
        sent = np.asarray(steps.actions["dispatcher"][t])
        assert sent.sum() == 30
        occurred = np.asarray(steps.components.occurred[t])
        missed += np.maximum(occurred - sent, 0).sum()
        rates = np.where(sent > 0, np.maximum(rates - fall * sent, 0.0), rates + rise)
        np.testing.assert_allclose(steps.components.rates[t], rates, rtol=1e-5)
    totals = jax.tree.map(lambda x: jnp.sum(x, axis=0), steps.components)
    score = Objective.published(env).score(totals)
    assert float(score) == pytest.approx(-0.25 * missed / 60, rel=1e-5) and missed > 0
    assert float(Objective.published(fairgym.make("attention")).weights["found"]) == 6.0


# ------------------------------------------------------------------------ incidents

RATES = np.array([0.0, 0.3, 2.5, 8.0, 15.99, 16.0, 30.0, 100.0, 600.0, 2000.0])
UNIFORM = (np.arange(1 << 15) + 0.5) / (1 << 15)
SENT = np.arange(8)


@pytest.fixture(scope="module")
def drawn():
    """Incidents at each of the rates for evenly spaced numbers, and expected finds there."""

    @jax.jit
    def run(uniform, sent):
        rates = jnp.asarray(RATES, jnp.float32)
        occurred = jax.vmap(lambda u: dynamics.incidents(jnp.full(10, u), rates))(uniform)
        found = jax.vmap(lambda s: dynamics.expected_found(jnp.full(10, s), rates, 8))(sent)
        return occurred, found

    given = (jnp.asarray(UNIFORM, jnp.float32), jnp.asarray(SENT, jnp.float32))
    return jax.tree.map(np.asarray, run(*given))


def test_incidents_have_a_poisson_distribution(drawn):
    occurred, _ = drawn
    for column, rate in enumerate(RATES):
        counts = np.arange(occurred[:, column].max() + 2)
        found = np.searchsorted(np.sort(occurred[:, column]), counts, side="right") / UNIFORM.size
        known = stats.poisson.cdf(counts, rate)
        near = 0.5 / UNIFORM.size + (2e-5 if rate >= 16.0 else 2e-6)
        np.testing.assert_allclose(found, known, atol=near, err_msg=str(rate))


def test_more_incidents_occur_at_a_higher_rate(drawn):
    occurred, _ = drawn
    assert np.all(np.diff(occurred, axis=1) >= 0.0) and np.all(np.diff(occurred, axis=0) >= 0.0)


def test_the_ends_of_the_uniform_numbers_give_incidents_that_can_be():
    rates = jnp.asarray(RATES, jnp.float32)
    most = dynamics.incidents(jnp.full(10, 1.0 - 2.0**-24), rates)
    least = dynamics.incidents(jnp.zeros(10), rates)
    np.testing.assert_array_less(np.abs(most - RATES), 6.0 * np.sqrt(RATES) + 3.0)
    np.testing.assert_array_less(np.abs(least - RATES), 6.0 * np.sqrt(RATES) + 3.0)
    assert most[0] == 0.0 and np.all(np.isfinite(most)) and np.all(least >= 0.0)


def test_expected_finds_are_exact(drawn):
    _, found = drawn
    counts = np.arange(4000)
    for column, rate in enumerate(RATES):
        chances = stats.poisson.pmf(counts, rate)
        known = [(np.minimum(counts, sent) * chances).sum() for sent in SENT]
        np.testing.assert_allclose(found[:, column], known, atol=1e-4, err_msg=str(rate))


def test_expected_components_is_the_mean_over_the_noise():
    """Observed incidents estimate the rates; five of the eight steps have passed."""
    env = fairgym.make("attention")
    params = env.default_params
    action = {"dispatcher": jnp.array([3, 0, 2, 1, 0], jnp.int32)}

    @jax.jit
    def run(keys):
        state = env.initial_state(jax.random.key(0), params)
        steps = (jnp.arange(8) < 5).astype(jnp.float32)[:, None]
        rates = jnp.array([7.0, 5.0, 1.0, 0.0, 2.0])
        sent = steps * jnp.array([6.0, 0.0, 0.0, 0.0, 0.0])
        nothing = env.spec.expected_components(env.observe(state, params), action, params)
        state = state.replace(rates=rates, occurred=steps * rates, sent=sent)
        expected = env.spec.expected_components(env.observe(state, params), action, params)

        def drawn(key):
            return env.transition(env.noise(key, params), state, action, params)[1]

        return nothing, expected, jax.vmap(drawn)(keys)

    nothing, expected, found = jax.tree.map(
        np.asarray, run(jax.random.split(jax.random.key(1), 4000))
    )
    for name in env.spec.component_info:
        each = getattr(found, name).astype(float)
        error = each.std(axis=0) / len(each) ** 0.5
        apart = np.abs(each.mean(axis=0) - getattr(expected, name))
        assert np.all(apart <= 5 * error + 1e-5), name
    assert not nothing.occurred.any() and nothing.sent.tolist() == [3.0, 0.0, 2.0, 1.0, 0.0]


def test_sites_can_be_renumbered_with_their_numbers():
    env, order = fairgym.make("attention"), np.array([3, 0, 4, 1, 2])
    params = env.default_params
    there = params.replace(start_rate=params.start_rate[order], increase=params.increase[order])
    units = jnp.array([[2, 0, 1, 3, 0], [0, 4, 0, 0, 2], [1, 1, 2, 1, 1]], jnp.int32)
    uniform = jax.random.uniform(jax.random.key(5), (3, 5))

    @jax.jit
    def run(params, units, uniform):
        def step(state, given):
            action = {"dispatcher": given[0]}
            noise = AttentionNoise(uniform=given[1])
            state, components, _ = env.transition(noise, state, action, params)
            return state, (components, env.observe(state, params)["dispatcher"].features.T)

        start = env.initial_state(jax.random.key(0), params)
        return lax.scan(step, start, (units, uniform))[1]

    here, moved = run(params, units, uniform), run(there, units[:, order], uniform[:, order])
    for a, b in zip(jax.tree.leaves(here), jax.tree.leaves(moved), strict=True):
        np.testing.assert_allclose(np.asarray(a)[..., order], b, rtol=1e-6)


# ------------------------------------------------------------------------ the contract


def test_conformance():
    check_environment(fairgym.make("attention", horizon=9, history=3), steps=3)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"sites": 1}, "sites must be a whole number from 2 to 1000, got 1"),
        ({"units": 0}, "units must be a whole number from 1 to 1000, got 0"),
        ({"units": True}, "units must be a whole number from 1 to 1000, got True"),
        ({"history": 0}, "history must be a whole number from 1 to 1000, got 0"),
        ({"horizon": 0}, "horizon must be a whole number from 1 to 100000, got 0"),
    ],
)
def test_bad_shapes(shapes, message):
    with pytest.raises(FairgymError) as error:
        fairgym.make("attention", **shapes)
    assert str(error.value) == message


def test_bad_numbers():
    env = fairgym.make("attention")
    for name, value in (("start_rate", -1.0), ("increase", -0.1), ("decrease", 200.0)):
        with pytest.raises(FairgymError, match=f"{name} must be a number from 0 to.*got {value}"):
            env.default_params.replace(**{name: value})
    with pytest.raises(FairgymError, match=r"increase must be a number from 0.*got the entry -1"):
        env.default_params.replace(increase=jnp.array([0.1, -1.0, 0.0, 0.0, 0.0]))
    with pytest.raises(FairgymError, match=r"start_rate must be one number.*got the shape \(3,\)"):
        env.reset(jax.random.key(0), env.default_params.replace(start_rate=jnp.ones(3)))
    with pytest.raises(FairgymError, match="whole numbers from 0 that sum to 6: units_site_0"):
        fixed_policies(env, {"dispatcher": [3, 2, 1, 1, 0]})
