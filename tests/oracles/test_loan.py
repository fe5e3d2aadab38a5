"""The NumPy rewrite and the JAX environment are the same system.

Step by step to the digit where nothing is random, and in the mean over many episodes where it is.
"""

import copy

import jax
import jax.numpy as jnp
import numpy as np
import numpy_loan
import numpy_policies
import pytest

import fairgym
from fairgym.policies import equivariant

PEOPLE, MONTHS = 400, 80
EPISODES = 40
COLUMNS = (
    "group",
    "interest_rate",
    "term",
    "principal",
    "annual_income",
    "debt_to_income",
    "fico_low",
    "fico_high",
    "months_since_delinquency",
)


@pytest.fixture(scope="module")
def env():
    return fairgym.make("loan", population=PEOPLE, horizon=MONTHS)


@pytest.fixture(scope="module")
def params(env):
    # half of the people in each group, so that both are counted well
    return env.default_params.replace(
        disadvantaged_share=0.5,
        bias_strength=0.3,
        income_change=500.0,
        debt_to_income_change=1.0,
        relief_forgiven=0.4,
        residual_share=0.1,
    )


# ------------------------------------------------------------------------ digit by digit


@pytest.fixture(scope="module")
def step(env):
    return jax.jit(env.step)


@pytest.fixture(scope="module")
def look(env):
    return jax.jit(env.people)


@pytest.mark.parametrize("relief", [[0.0, 0.0], [0.1, 0.02]])
def test_the_same_people_and_no_noise_give_the_same_months(env, params, step, look, relief):
    """State and components equal at every step, through defaults and repayments."""
    params = params.replace(payment_noise=0.0)
    _, state = jax.jit(env.reset)(jax.random.key(3), params)
    bank = numpy_loan.NumpyLoan(env, params, np.float64)
    bank.rng = np.random.default_rng(0)
    bank.start({name: np.asarray(getattr(state, name)) for name in (*COLUMNS, "residual")})
    actions = {
        "admissions": jnp.array([0.7, 0.6]),
        "disbursement": jax.random.permutation(jax.random.key(4), PEOPLE) / PEOPLE,
        "debt_management": jnp.array(relief),
    }
    ended = defaulted = 0.0
    for month in range(MONTHS):
        bank.applying = np.asarray(state.applicants)[np.asarray(state.applying)]
        _, state, ours, terminated, _, _ = step(jax.random.key(month), state, actions, params)
        theirs, bankrupt = bank.step(actions)
        for name, value in theirs.items():
            np.testing.assert_allclose(getattr(ours, name), value, rtol=1e-4, atol=1e-3)
        assert bool(terminated) == bankrupt
        np.testing.assert_array_equal(state.stage, bank.stage)
        np.testing.assert_array_equal(state.warning, bank.warning)
        for name in COLUMNS:
            np.testing.assert_allclose(getattr(state, name), bank.people[name], rtol=1e-5)
        people = look(state)
        np.testing.assert_array_equal(people["time_to_maturity"], bank.remaining)
        waiting = bank.stage == numpy_loan.WAITING
        np.testing.assert_array_equal(people["time_waited"], np.where(waiting, bank.waited, 0))
        for name, value in (
            ("balance", bank.balance),
            ("installment", bank.installment),
            ("total_requested", bank.requested),
            ("total_received", bank.received),
        ):
            np.testing.assert_allclose(people[name], value, rtol=1e-4, atol=0.05, err_msg=name)
        owed = state.deposits.amounts[int(state.time) :][:60]
        np.testing.assert_allclose(owed, bank.due, rtol=1e-4, atol=0.1)
        ended, defaulted = ended + theirs["ended"].sum(), defaulted + theirs["defaulted"].sum()
    assert defaulted > 10
    assert ended - defaulted > 10


def test_the_agents_see_the_same_people(env, params, step):
    """Features and context of all three agents, once all stages are populated."""
    params = params.replace(payment_noise=0.0)
    _, state = jax.jit(env.reset)(jax.random.key(5), params)
    bank = numpy_loan.NumpyLoan(env, params, np.float64)
    bank.rng = np.random.default_rng(0)
    bank.start({name: np.asarray(getattr(state, name)) for name in (*COLUMNS, "residual")})
    actions = {
        "admissions": jnp.zeros(2),
        "disbursement": jax.random.permutation(jax.random.key(4), PEOPLE) / PEOPLE,
        "debt_management": jnp.array([0.1, 0.02]),
    }
    for month in range(20):
        bank.applying = np.asarray(state.applicants)[np.asarray(state.applying)]
        _, state, _, _, _, _ = step(jax.random.key(month), state, actions, params)
        bank.step(actions)
    bank.applying = np.asarray(state.applicants)[np.asarray(state.applying)]
    for agent, seen in env.observe(state, params).items():
        rows, features, context = bank.observe(agent)
        assert len(rows) > 5
        names = tuple(feature.name for feature in env.observation_space(agent).features)
        assert names == numpy_loan.SEEN_BY[agent]
        np.testing.assert_allclose(
            np.asarray(seen.features)[np.asarray(seen.mask)], features, rtol=1e-4, atol=0.05
        )
        np.testing.assert_allclose(seen.context, context, rtol=1e-4)


def test_the_networks_are_the_same(env):
    """The two-layer policies of the benchmark, per person and pooled."""
    _, state = jax.jit(env.reset)(jax.random.key(0), env.default_params)
    stages = jnp.asarray(np.arange(PEOPLE, dtype=np.int32) % 3)
    seen = jax.jit(env.observe)(state.replace(stage=stages), env.default_params)
    policies, key = equivariant(env, jax.random.key(1)), jax.random.key(0)
    actions = jax.jit(lambda seen: {a: p(seen[a], key) for a, p in policies.items()})(seen)
    for agent, policy in policies.items():
        per_person = agent == "disbursement"
        mask = np.asarray(seen[agent].mask)
        action = np.asarray(actions[agent])
        theirs = numpy_policies.TwoLayer(policy)(
            np.asarray(seen[agent].features)[mask], np.asarray(seen[agent].context)
        )
        np.testing.assert_allclose(action[mask] if per_person else action, theirs, atol=2e-5)


# ------------------------------------------------------------------------ in the mean

POLICIES = {
    "admit all, no relief": ([0.0, 0.0], [0.0, 0.0]),
    "thresholds, relief by group": ([0.8, 0.7], [0.1, 0.2]),
    "little relief": ([0.6, 0.6], [0.04, 0.04]),
    "much relief": ([0.0, 0.0], [0.5, 0.5]),
}


def summary(totals, lengths, traces):
    """One row per episode: totals, length, and the components by quarter of the episode."""
    columns = {"length": lengths}
    for name, values in totals.items():
        for entry in range(values.shape[1]):
            columns[f"{name} {entry}"] = values[:, entry]
    for name, values in traces.items():
        quarters = values.reshape(values.shape[0], 4, -1, values.shape[2]).sum(axis=2)
        for quarter in range(4):
            columns[f"{name} in quarter {quarter}"] = quarters[:, quarter].sum(axis=1)
    return columns


@pytest.fixture(scope="module")
def ours(env, params):
    """Policy name -> summary of episodes of the JAX environment."""

    @jax.jit
    def run(threshold, relief, keys):
        policies = {
            "admissions": lambda observation, key: threshold,
            "disbursement": lambda observation, key: jax.random.uniform(key, (PEOPLE,)),
            "debt_management": lambda observation, key: relief,
        }
        return jax.lax.map(
            lambda key: fairgym.rollout(env, params, policies, key, trace=True).replace(
                final_state=None
            ),
            keys,
        )

    def columns(struct, trace=False):
        found = {name: np.asarray(getattr(struct, name)) for name in env.spec.component_info}
        ndim = 3 if trace else 2
        return {n: v if v.ndim == ndim else v[..., None] for n, v in found.items()}

    found = {}
    for place, (name, (threshold, relief)) in enumerate(POLICIES.items()):
        keys = jax.random.split(jax.random.key(place), EPISODES)
        episodes = run(jnp.array(threshold), jnp.array(relief), keys)
        found[name] = summary(
            columns(episodes.totals),
            np.asarray(episodes.length),
            columns(episodes.trace, trace=True),
        )
    return found


def episodes_of(system, name):
    """Summary of episodes of a NumPy rewrite under one of the policies."""
    threshold, relief = POLICIES[name]
    lengths, traces = [], []
    for episode in range(EPISODES):
        rng = np.random.default_rng([episode, 77])
        system.reset(rng)
        trace, length = {}, 0
        for month in range(MONTHS):
            actions = {
                "admissions": threshold,
                "disbursement": rng.random(PEOPLE),
                "debt_management": relief,
            }
            components, bankrupt = system.step(actions)
            for key, value in components.items():
                trace.setdefault(key, np.zeros((MONTHS, np.size(value))))[month] = value
            length = month + 1
            if bankrupt:
                break
        lengths.append(length)
        traces.append(trace)
    stacked = {key: np.stack([trace[key] for trace in traces]) for key in traces[0]}
    totals = {key: values.sum(axis=1) for key, values in stacked.items()}
    return summary(totals, np.array(lengths), stacked)


def disagreement(a, b):
    """Column -> difference of the means in standard errors."""
    assert a.keys() == b.keys()
    found = {}
    for key in a:
        error = np.sqrt(a[key].var(ddof=1) / len(a[key]) + b[key].var(ddof=1) / len(b[key]))
        gap = abs(a[key].mean() - b[key].mean())
        found[key] = gap / error if error > 0 else (0.0 if gap == 0 else np.inf)
    return found


@pytest.mark.full
@pytest.mark.parametrize("name", POLICIES)
def test_episodes_agree_in_the_mean(env, params, ours, name):
    """Every component, in total and by quarter, within four standard errors."""
    theirs = episodes_of(numpy_loan.NumpyLoan(env, params), name)
    apart = disagreement(ours[name], theirs)
    worst = max(apart, key=lambda key: apart[key])
    assert apart[worst] < 4.0, (worst, apart[worst])


@pytest.mark.full
def test_the_policies_cover_the_system(ours):
    """Else the comparison would not see a wrong rule: defaults, repayments, waits, failures."""
    little, none = ours["little relief"], ours["admit all, no relief"]
    assert little["defaulted 0"].mean() > 5
    assert (little["ended 1"] - little["defaulted 1"]).mean() > 5
    assert none["waited 1"].mean() > 50
    assert 0.2 < (none["length"] < MONTHS).mean() < 0.9


ALTERED = (
    "default after one step",
    "a record that does not move",
    "relief that does not help to pay",
)


@pytest.mark.full
@pytest.mark.parametrize("rule", ALTERED)
def test_an_altered_rule_is_detected(env, params, ours, rule):
    """The comparison above fails for a system that is slightly another one."""

    class Altered(numpy_loan.NumpyLoan):
        def in_default(self, behind, warned):
            return behind if rule == "default after one step" else behind & warned

        def _end(self, rows, sign):
            people = copy.deepcopy(self.people)
            super()._end(rows, sign)
            if rule == "a record that does not move":
                self.people = people

        def pays(self, able, scheduled, asked):
            if rule == "relief that does not help to pay":
                return able * asked
            return super().pays(able, scheduled, asked)

    name = "little relief"
    theirs = episodes_of(Altered(env, params), name)
    assert max(disagreement(ours[name], theirs).values()) > 6.0
