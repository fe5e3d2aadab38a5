"""Whole steps recomputed person by person in float64, and what the components count."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.data import load_population

COLUMNS = (
    "interest_rate",
    "term",
    "principal",
    "annual_income",
    "debt_to_income",
    "fico_low",
    "fico_high",
    "months_since_delinquency",
)


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


class Bank:
    """The environment once more: plain Python over people, in float64."""

    def __init__(self, state, params, applicants, cap):
        self.people = [
            {name: float(getattr(state, name)[i]) for name in (*COLUMNS, "group")}
            for i in range(len(state.group))
        ]
        self.params = {name: float(getattr(params, name)) for name in params.info()}
        self.cap, self.count = cap, applicants
        self.rows = [int(i) for i in state.applicants]
        self.score = load_population("loan").scores["qualification"]
        self.profit = self.losses = self.payments = 0.0
        self.closest = np.inf  # of a number to what decides; rounding must not

    def log_odds(self, person):
        weights = self.score.coefficients
        return self.score.intercept + sum(w * person[name] for name, w in weights.items())

    def below(self, a, b):
        self.closest = min(self.closest, abs(a - b))
        return a < b

    def settle(self, person, relief, u):
        """Payments, dues (dollars) and whether the loan was repaid."""
        p = self.params
        months = int(person["term"])
        repaid = self.below(u, sigmoid(self.log_odds(person) + p["relief_effect"] * relief))

        def installment(annual):
            r = annual / 12
            return r / (1 - (1 + r) ** -months) * person["principal"]

        left = 1.0
        for k in range(months, 0, -1):
            left -= (1 - relief) * left / k
        paid = installment(person["interest_rate"]) * months * (1 - left)
        paid *= 1.0 if repaid else p["share_paid_before_default"]
        return paid, installment(p["deposit_rate"]) * months, repaid

    def step(self, outcome, tie, lot, threshold, priority, relief):
        """Returns the counts by component, and the profit."""
        names = ("applied", "approved", "disbursed", "waited", "ended", "defaulted")
        found = {name: np.zeros(2) for name in names}
        queue = []
        for place, row in enumerate(self.rows):
            person = self.people[row]
            g = int(person["group"])
            found["applied"][g] += 1
            if not self.below(sigmoid(self.log_odds(person)), threshold[g]):
                queue.append((-priority[place], tie[row], row))
        paid = due = 0.0
        for rank, (_, _, row) in enumerate(sorted(queue)):
            person = self.people[row]
            g = int(person["group"])
            for name in ("approved", "disbursed", "ended"):
                found[name][g] += 1
            found["waited"][g] += rank // self.cap
            got, owed, repaid = self.settle(person, relief[g], outcome[row])
            paid, due = paid + got, due + owed
            found["defaulted"][g] += not repaid
            sign = 1 if repaid else -1
            low = min(850, max(300, person["fico_low"] + sign * self.params["fico_change"]))
            high = min(850, max(low, person["fico_high"] + sign * self.params["fico_change"]))
            since = person["months_since_delinquency"] + sign * self.params["delinquency_change"]
            person |= {"fico_low": low, "fico_high": high}
            person["months_since_delinquency"] = max(0.0, since)
        profit = (paid - due) / 1000
        self.profit += profit
        self.losses += max(0.0, -profit)
        self.payments += paid / 1000
        self.rows = sorted(range(len(self.people)), key=lambda i: -lot[i])[: self.count]
        return found, profit


ACTIONS = [((0.8, 0.75), (0.02, 0.1)), ((0.0, 0.0), (0.0, 0.0)), ((0.6, 0.85), (0.5, 0.9))]


@pytest.mark.parametrize(("threshold", "relief"), ACTIONS)
def test_steps_agree_with_a_bookkeeper(env, params, start, transition, threshold, relief):
    """Free-running for eight steps: state and components of each."""
    state = start(jax.random.key(3), params)
    bank = Bank(state, params, env.applicants, env.disbursement_cap)
    assert env.applicants > 2 * env.disbursement_cap  # somebody waits longer than a month
    draw = jax.jit(lambda key: env.noise(key, params))
    seen = {name: 0.0 for name in ("waited", "defaulted", "repaid")}
    for number in range(8):
        key, score_key = jax.random.split(jax.random.fold_in(jax.random.key(4), number))
        noise = draw(key)
        priority = jnp.round(jax.random.uniform(score_key, (env.applicants,)), 1)  # some are tied
        actions = {
            "admissions": jnp.array(threshold),
            "disbursement": priority,
            "debt_management": jnp.array(relief),
        }
        state, components, terminated = transition(noise, state, actions, params)
        outcome, tie, lot = (np.asarray(getattr(noise, x)) for x in ("outcome", "tie", "lot"))
        expected, profit = bank.step(outcome, tie, lot, threshold, np.asarray(priority), relief)
        assert bank.closest > 1e-6
        for name, value in expected.items():
            np.testing.assert_allclose(
                getattr(components, name), value, rtol=1e-4, atol=1e-2, err_msg=name
            )
        np.testing.assert_allclose(components.profit, profit, rtol=1e-4, atol=1e-2)
        for name in COLUMNS:
            column = [person[name] for person in bank.people]
            np.testing.assert_allclose(getattr(state, name), column, rtol=1e-5, err_msg=name)
        assert [int(i) for i in state.applicants] == bank.rows
        money = [state.total_profit, state.total_losses, state.total_payments]
        np.testing.assert_allclose(
            money, [bank.profit, bank.losses, bank.payments], rtol=1e-4, atol=1e-2
        )
        assert bool(terminated) == (bank.losses > bank.payments)
        assert int(state.time) == number + 1
        seen["waited"] += expected["waited"].sum()
        seen["defaulted"] += expected["defaulted"].sum()
        seen["repaid"] += (expected["ended"] - expected["defaulted"]).sum()
    assert seen["waited"] > 10 and seen["repaid"] > 10
    assert seen["defaulted"] > 0 or relief[0] >= 0.5


# --------------------------------------------------------------------------- fixed policies


@pytest.fixture(scope="session")
def episodes(env, params):
    """`episodes(threshold, relief)`: five seeds of a fixed policy, random order, with traces."""

    def run(threshold, relief, key):
        policies = {
            "admissions": lambda seen, key: threshold,
            "disbursement": lambda seen, key: jax.random.uniform(key, (env.applicants,)),
            "debt_management": lambda seen, key: relief,
        }
        episode = fairgym.rollout(env, params, policies, key, trace=True)
        return episode, jnp.mean(env.people(episode.final_state)["qualification_score"])

    compiled = jax.jit(jax.vmap(run, (None, None, 0)))
    keys = jax.random.split(jax.random.key(0), 5)

    def start(threshold, relief):
        pair = (jnp.broadcast_to(jnp.float32(x), (2,)) for x in (threshold, relief))
        return compiled(*pair, keys)

    return start


@pytest.mark.parametrize("threshold", [(0.7, 0.9), (0.0, 1.0)])
def test_who_is_counted(env, episodes, threshold):
    """approved <= applied, disbursed = ended = approved, defaulted <= ended, step by step."""
    trace = jax.tree.map(np.asarray, episodes(threshold, 0.0)[0].trace)
    assert (trace.applied.sum(axis=-1) == env.applicants).all()
    assert (trace.approved <= trace.applied).all()
    assert (trace.approved < trace.applied).any()
    np.testing.assert_array_equal(trace.disbursed, trace.approved)
    np.testing.assert_array_equal(trace.ended, trace.approved)
    assert (trace.defaulted <= trace.ended).all()
    assert 0 < trace.defaulted.sum() < trace.ended.sum()
    # the first `cap` of the approved wait no month, the next `cap` one, ...
    place = np.arange(env.applicants)
    queue = place < trace.approved.sum(axis=-1)[..., None]
    waits = np.where(queue, place // env.disbursement_cap, 0).sum(axis=-1)
    np.testing.assert_array_equal(trace.waited.sum(axis=-1), waits)
    assert waits.max() > 0 or threshold[1] == 1.0


def test_a_threshold_acts_on_its_own_group_only(episodes):
    totals = jax.tree.map(np.asarray, episodes((0.0, 1.0), 0.0)[0].totals)
    np.testing.assert_array_equal(totals.approved[:, 0], totals.applied[:, 0])
    assert (totals.applied[:, 1] > 0).all()
    assert not totals.approved[:, 1].any()


def test_a_score_equal_to_the_threshold_is_enough(env, params, start, transition):
    """A score of exactly 1 (reached by no real person) at the threshold 1."""
    state = start(jax.random.key(0), params)
    best = state.replace(interest_rate=jnp.full_like(state.interest_rate, -10.0))
    assert (np.asarray(env.people(best)["qualification_score"]) == 1.0).all()
    ones = {agent: jnp.ones(env.action_space(agent).shape) for agent in env.agents}
    noise = env.noise(jax.random.key(0), params)
    for people, approved in ((best, env.applicants), (state, 0)):
        assert transition(noise, people, ones, params)[1].approved.sum() == approved


def test_relief_raises_repayments_and_scores(episodes):
    """The same people and luck: fewer defaults and better records, on five of five seeds."""
    shares, ends = [], []
    for relief in (0.0, 0.05, 0.15):
        episode, score = episodes(0.0, relief)
        totals = jax.tree.map(np.asarray, episode.totals)
        shares.append(totals.defaulted.sum(axis=1) / totals.ended.sum(axis=1))
        ends.append(np.asarray(score))
    assert (np.diff(shares, axis=0) < 0).all(), shares
    assert (np.diff(ends, axis=0) > 0).all(), ends


def test_relief_acts_on_its_own_group_only(episodes):
    """Nobody of that group defaults; each step of the other is what it was without relief."""
    for g in (0, 1):
        relief = np.zeros(2)
        relief[g] = 0.5
        defaulted = np.asarray(episodes(0.0, relief)[0].totals.defaulted)
        assert not defaulted[:, g].any()
        np.testing.assert_array_equal(
            defaulted[:, 1 - g], np.asarray(episodes(0.0, 0.0)[0].totals.defaulted)[:, 1 - g]
        )


def test_open_admission_with_moderate_relief_earns_most(episodes):
    """Against less and more relief and higher thresholds, on five of five seeds."""
    best = np.asarray(episodes(0.0, 0.15)[0].totals.profit)
    for threshold, relief in ((0.0, 0.0), (0.0, 0.03), (0.0, 0.4), (0.7, 0.15), (0.85, 0.15)):
        assert (best > np.asarray(episodes(threshold, relief)[0].totals.profit)).all()


def test_too_much_relief_ends_the_bank_and_no_loans_do_not(env, episodes):
    episode = episodes(0.0, 1.0)[0]
    assert np.asarray(episode.terminated).all()
    assert (np.asarray(episode.length) == 1).all()
    assert (np.asarray(episode.totals.profit) < 0).all()
    episode = episodes(1.0, 1.0)[0]
    assert not np.asarray(episode.terminated).any()
    assert (np.asarray(episode.length) == env.horizon).all()
    assert not np.asarray(episode.totals.profit).any()
