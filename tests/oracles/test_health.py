"""The NumPy rewrite and the JAX environment are the same system.

Step by step to the digit where both are told the same luck, and in the mean over many episodes
where each has its own (all of it in `make test-all`).
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import numpy_health
import numpy_policies
import pytest

import fairgym
from fairgym.core import PerEntity
from fairgym.policies import equivariant

# 400 people are 1/25 of the published population: building times come out in half months, not
# in fractions that float32 and float64 could round to different months
PEOPLE, MONTHS, PERIOD = 400, 36, 6
EPISODES = 24
REGIONS = 4


@pytest.fixture(scope="module")
def env():
    return fairgym.make("health", population=PEOPLE, horizon=MONTHS, decision_period=PERIOD)


@pytest.fixture(scope="module")
def params(env):
    """So few beds that people wait, so much money that beds are built and open in time."""
    return env.default_params.replace(
        planner_budget=4e7,
        beds_at_start=7.0,
        build_bed_time=0.5,
        income_change=500.0,
        hospital_cost=400.0,
        bias_strength=0.5,
        public_health_months=2.0,
    )


@pytest.fixture(scope="module")
def programs(env):
    functions = (env.initial_state, env.transition, env.observe, env.noise, env.people)
    return tuple(jax.jit(function) for function in functions)


def told(env, params, state):
    """The rewrite with the people of `state`; its luck is read from `.noise`."""

    class Told(numpy_health.NumpyHealth):
        noise: dict[str, np.ndarray]

        def chance(self, kind, rows):
            return self.noise[kind][rows]

        def shuffled(self, rows):
            return rows[np.argsort(-self.noise["priority"][rows], kind="stable")]

        def newcomers(self, rows):
            place = np.floor(self.noise["newcomer"][rows] * candidates.shape[1]).astype(int)
            return candidates[self.region[rows], place]

    candidates = np.asarray(state.candidates)
    country = Told(env, params, np.float64)
    country.noise = {"illness": np.asarray(state.illness_uniform)}
    data = {name: np.asarray(column) for name, column in state.data.items()}
    country.start(data, np.asarray(state.group))
    return country


def random_actions(space, rng):
    """Some scores are tied, some premiums are 0; the planner builds much and rolls little over."""
    tree = np.array([0.5, 0.2, 0.2, 0.1] + [1.0] * 3 * REGIONS)
    return {
        "insurer": jnp.asarray(np.round(rng.random(PEOPLE, np.float32), 1)),
        "hospital": jnp.asarray(np.round(rng.random(PEOPLE, np.float32), 1)),
        "planner": space.clip(jnp.asarray(tree * rng.uniform(0.2, 1.0, tree.shape), jnp.float32)),
    }


def require_same_state(people, state, country):
    """Every field of the state, by what it means."""
    np.testing.assert_array_equal(state.stage, country.stage)
    np.testing.assert_array_equal(state.group, country.region)
    np.testing.assert_array_equal(state.insured, country.insured)
    np.testing.assert_array_equal(state.illness_uniform, country.luck)
    assert int(state.time) == country.time
    for name, column in country.people.items():
        np.testing.assert_allclose(state.data[name], column, rtol=1e-5, atol=1e-5, err_msg=name)
    np.testing.assert_allclose(state.premium, country.premium, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(state.subsidy, country.subsidy, rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(people["time_ill"], country.ill)
    np.testing.assert_array_equal(people["time_waited"], country.waited)
    np.testing.assert_allclose(people["health_risk"], country.risk(country.people), rtol=1e-5)
    for name, value in (
        ("public_health", country.public_health),
        ("premiums_paid", country.paid),
        ("rollover", country.rollover),
        ("subsidies_held", country.held),
        ("total_profit", country.profit),
    ):
        np.testing.assert_allclose(getattr(state, name), value, rtol=1e-4, atol=10, err_msg=name)
    np.testing.assert_allclose(state.building.fund, country.fund, rtol=1e-4, atol=10)
    # beds: those that opened, and month by month those that will
    openings = np.asarray(state.building.openings.amounts)
    opened = np.asarray(state.beds) + openings[:, country.time]
    np.testing.assert_array_equal(opened, country.beds)
    ahead = np.zeros_like(openings)
    for region, beds, months in country.projects:
        ahead[region, min(country.time + months, MONTHS)] += beds
    np.testing.assert_array_equal(openings[:, country.time + 1 :], ahead[:, country.time + 1 :])


@pytest.mark.parametrize("observe_group", [True, False])
def test_the_same_luck_gives_the_same_months(env, params, programs, observe_group):
    """Components, state and what all agents see, at every step: beds built, people lost."""
    start, transition, _, draw, look = programs
    env = dataclasses.replace(env, observe_group=observe_group)
    observe = jax.jit(env.observe)
    key = jax.random.key(3 + int(observe_group))
    rng = np.random.default_rng(3 + int(observe_group))
    state = start(key, params)
    country = told(env, params, state)
    first_beds, total = country.beds.copy(), {}
    most_waited = np.zeros(REGIONS)
    for month in range(MONTHS - 1):
        seen = observe(state, params)
        for agent in env.agents:
            rows, features, context = country.observe(agent)
            mask = np.asarray(seen[agent].mask)
            np.testing.assert_array_equal(np.flatnonzero(mask), rows)
            found = np.asarray(seen[agent].features)[mask]
            np.testing.assert_allclose(found, features, rtol=1e-4, atol=1e-3)
            np.testing.assert_allclose(seen[agent].context, context, rtol=1e-4, atol=10)
        noise = draw(jax.random.fold_in(key, month), params)
        country.noise = {name: np.asarray(value) for name, value in vars(noise).items()}
        actions = random_actions(env.action_space("planner"), rng)
        state, ours, failed = transition(noise, state, actions, params)
        theirs, also_failed = country.step(actions)
        assert set(theirs) == set(env.spec.component_info)
        for name, value in theirs.items():
            np.testing.assert_allclose(getattr(ours, name), value, rtol=1e-4, atol=1, err_msg=name)
            total[name] = total.get(name, 0) + value
        assert bool(failed) == also_failed
        require_same_state(look(state), state, country)
        waiting = np.bincount(
            country.region[country.stage == numpy_health.WAITING], minlength=REGIONS
        )
        most_waited = np.maximum(most_waited, waiting)
    # it was about something
    assert (country.beds > first_beds + 5).all()
    assert (most_waited > 3).all()
    assert (total["died"] > 10).all()
    assert (country.insured.mean() > 0.3) & (country.insured.mean() < 0.95)


def test_the_rewrite_sees_what_the_spaces_say(env):
    for agent in env.agents:
        names = tuple(feature.name for feature in env.observation_space(agent).features)
        assert names == numpy_health.SEEN_BY[agent]


def test_the_networks_are_the_same(env):
    """The benchmark's policies."""
    seen, _ = jax.jit(env.reset)(jax.random.key(0), env.default_params)
    policies, key = equivariant(env, jax.random.key(1)), jax.random.key(0)
    actions = jax.jit(lambda seen: {a: p(seen[a], key) for a, p in policies.items()})(seen)
    for agent, policy in policies.items():
        mask = np.asarray(seen[agent].mask)
        action = np.asarray(actions[agent])
        theirs = numpy_policies.TwoLayer(policy)(
            np.asarray(seen[agent].features)[mask], np.asarray(seen[agent].context)
        )
        per_person = isinstance(env.action_space(agent), PerEntity)
        np.testing.assert_allclose(action[mask] if per_person else action, theirs, atol=2e-5)


# ------------------------------------------------------------------------ in the mean

EVEN = [0.25] * REGIONS
POLICIES = {
    "premium half, uniform planner": (0.5, EVEN + EVEN * 3),
    "premium full, subsidies": (1.0, [0.0, 0.0, 1.0, 0.0, *EVEN * 3]),
    "premium half, public health for one region": (
        0.5,
        [0.1, 0.7, 0.1, 0.1, *EVEN, 0.7, 0.1, 0.1, 0.1, *EVEN],
    ),
    "premium low": (0.031, EVEN + EVEN * 3),
}


@pytest.fixture(scope="module")
def ours(env, params):
    """Policy name -> component -> episodes x months x entries, zero after a failure."""

    @jax.jit
    def run(premium, planner, keys):
        policies = {
            "insurer": lambda observation, key: jnp.full((PEOPLE,), premium),
            "hospital": lambda observation, key: jax.random.uniform(key, (PEOPLE,)),
            "planner": lambda observation, key: planner,
        }
        return jax.lax.map(
            lambda key: fairgym.rollout(env, params, policies, key, trace=True).trace, keys
        )

    found = {}
    for place, (name, (premium, planner)) in enumerate(POLICIES.items()):
        keys = jax.random.split(jax.random.key(place), EPISODES)
        trace = run(jnp.array(premium), jnp.array(planner), keys)
        found[name] = {n: np.asarray(getattr(trace, n)) for n in env.spec.component_info}
    return found


def theirs_of(system, name):
    """The same of a NumPy numpy_health."""
    premium, planner = POLICIES[name]
    found = {}
    for episode in range(EPISODES):
        rng = np.random.default_rng([episode, 77])
        system.reset(rng)
        for month in range(MONTHS):
            scores = rng.random(PEOPLE)
            actions = {"insurer": np.full(PEOPLE, premium), "hospital": scores, "planner": planner}
            components, failed = system.step(actions)
            for key, value in components.items():
                rows = found.setdefault(key, np.zeros((EPISODES, MONTHS, *np.shape(value))))
                rows[episode, month] = value
            if failed:
                break
    return found


def disagreement(a, b):
    """Component, third of the episode -> worst difference of the means in standard errors."""
    apart = {}
    for name in a:
        for third in range(3):
            months = slice(third * MONTHS // 3, (third + 1) * MONTHS // 3)
            x, y = (np.asarray(v[name], np.float64)[:, months].sum(axis=1) for v in (a, b))
            gap = np.abs(x.mean(axis=0) - y.mean(axis=0))
            error = np.sqrt((x.var(axis=0, ddof=1) + y.var(axis=0, ddof=1)) / EPISODES)
            apart[name, third] = float(np.max(np.where(gap == 0, 0.0, gap / (error + 1e-12))))
    return apart


@pytest.mark.full
@pytest.mark.parametrize("name", POLICIES)
def test_episodes_agree_in_the_mean(env, params, ours, name):
    """Every component of every region, in each third of the episode: 4.5 standard errors."""
    apart = disagreement(ours[name], theirs_of(numpy_health.NumpyHealth(env, params), name))
    worst = max(apart, key=lambda key: apart[key])
    assert apart[worst] < 4.5, (worst, apart[worst])


@pytest.mark.full
def test_the_policies_cover_the_system(ours):
    """Else the comparison would not see a wrong rule: deaths, waits, whole episodes, failures."""
    lasted = {name: (trace["people"][:, :, 0] > 0).mean() for name, trace in ours.items()}
    low, *others = sorted(lasted.values())
    assert 0.1 < low < 0.9
    assert min(others) == 1.0
    assert min(trace["died"].sum(axis=1).mean() for trace in ours.values()) > 10


ALTERED = ("a wait that does no harm", "a bed less", "illness a tenth more likely")


@pytest.mark.full
@pytest.mark.parametrize("rule", ALTERED)
def test_an_altered_rule_is_detected(env, params, ours, rule):
    """The comparison above fails for a system that is slightly another one."""

    class Altered(numpy_health.NumpyHealth):
        def death_chance(self, rows, risk):
            waited = self.waited.copy()
            if rule == "a wait that does no harm":
                self.waited = np.zeros_like(waited)
            found = super().death_chance(rows, risk)
            self.waited = waited
            return found

        def illness_chance(self, rows, insured, risk):
            factor = 1.1 if rule == "illness a tenth more likely" else 1.0
            return factor * super().illness_chance(rows, insured, risk)

        def admit(self, queue, free, score):
            return super().admit(queue, free - (rule == "a bed less"), score)

    name = "premium low" if rule == "a bed less" else "premium full, subsidies"
    theirs = theirs_of(Altered(env, params), name)
    assert max(disagreement(ours[name], theirs).values()) > 6.0
