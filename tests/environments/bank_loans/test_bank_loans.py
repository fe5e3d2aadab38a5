"""Bank loans against NumPy, ml-fairness-gym's documented cases, and what the bank expects."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import wasserstein_distance

import fairgym
from fairgym.core import FairgymError, record
from fairgym.environments.bank_loans.types import (
    BankLoansNoise,
    BankLoansParams,
    BankLoansState,
)
from fairgym.fairness import Full
from fairgym.policies import Random
from fairgym.policies.coding import Inputs, TableCode
from fairgym.results.quantities import quantities
from fairgym.testing import check_environment
from fairgym.wrappers import augmented

START = np.array([[0, 0.1, 0.1, 0.2, 0.3, 0.3, 0], [0.1, 0.1, 0.2, 0.3, 0.3, 0, 0]])
REPAYMENT = np.array([0.1, 0.2, 0.45, 0.6, 0.65, 0.7, 0.7])
STEPS = 400
DENY, APPROVE = 0, 1
ENV = fairgym.make("bank_loans", horizon=STEPS, informed=True)
PARAMS = ENV.default_params


@pytest.fixture(scope="module")
def recordings():
    """Episodes of random decisions, with the published numbers and with others."""
    other = PARAMS.replace(advantaged=0.3, loan=2.0, interest=0.5, cash=250.0, shift=0.05)
    policies = {"bank": Random(ENV.action_space("bank"))}
    run = jax.jit(lambda key, params: record(ENV, params, policies, key))
    both = [jax.tree.map(jnp.asarray, params) for params in (PARAMS, other)]
    return [(p, jax.tree.map(np.asarray, run(jax.random.key(3), p))) for p in both]


class TestSteps:
    def test_all_steps_against_numpy(self, recordings):
        """The whole step from the same noise, in double precision."""
        for params, steps in recordings:
            shares, cash = START.copy(), float(params.cash)
            loan, shift = float(params.loan), float(params.shift)
            group, score = int(steps.before.group[0]), int(steps.before.score[0])
            for t in range(STEPS):
                approved = steps.actions["bank"][t] == APPROVE
                repays = steps.noise.repayment[t] < REPAYMENT[score]
                profit = approved * (loan * float(params.interest) if repays else -loan)
                cash += profit
                known = {
                    "profit": profit,
                    "applicants": np.zeros((2, 7)),
                    "approved": np.zeros(2),
                    "would_repay": np.zeros(2),
                    "successful": np.zeros(2),
                    "defaulted": np.zeros(2),
                    "score_shares": shares,
                    "cash": cash,
                }
                known["applicants"][group, score] = 1
                known["approved"][group] = approved
                known["would_repay"][group] = repays
                known["successful"][group] = approved and repays
                known["defaulted"][group] = approved and not repays
                if approved:
                    to = min(score + 1, 6) if repays else max(score - 1, 0)
                    mass = min(shift, shares[group, score])
                    shares[group, score] -= mass
                    shares[group, to] += mass
                assert set(known) == set(ENV.spec.component_info)
                for name, value in known.items():
                    found = getattr(steps.components, name)[t]
                    np.testing.assert_allclose(found, value, atol=2e-5, err_msg=f"{name}, {t}")
                group = int(steps.noise.group[t] >= float(params.advantaged))
                below = np.cumsum(shares[group])
                score = int(np.searchsorted(below, steps.noise.score[t], side="right"))
                after = (steps.after.group[t], steps.after.score[t], steps.after.time[t])
                assert after == (group, score, t + 1)
                assert steps.terminated[t] == (cash < loan)
            assert steps.after.cash[-1] == cash

    def test_conservation(self, recordings):
        for _, steps in recordings:
            made = steps.components
            assert np.all(made.score_shares >= 0.0)
            np.testing.assert_allclose(made.score_shares.sum(axis=2), 1.0, atol=1e-5)
            assert np.all(made.applicants.sum(axis=(1, 2)) == 1.0)
            np.testing.assert_array_equal(made.approved, made.successful + made.defaulted)
            assert np.all(made.successful <= made.would_repay)
            start = steps.before.cash[0]
            np.testing.assert_allclose(steps.after.cash, start + np.cumsum(made.profit))

    def test_the_bank_sees_the_applicant_and_what_it_may_know(self, recordings):
        _, steps = recordings[0]
        see = jax.jit(lambda state: ENV.observe(state, PARAMS)["bank"])
        seen = see(jax.tree.map(lambda x: x[40], steps.before))
        group, score = steps.before.group[40], steps.before.score[40]
        assert seen.features.tolist() == [[score + 1.0, float(group)]]
        assert seen.mask.tolist() == [True] and ENV.observation_space("bank").contains(seen)
        shares = steps.before.shares[40].ravel()
        np.testing.assert_array_equal(seen.context, [steps.before.cash[40], *shares])
        names = [feature.name for feature in ENV.observation_space("bank").context]
        assert names[:2] == ["cash", "advantaged_score_1"] and len(names) == 15
        uninformed = fairgym.make("bank_loans").observation_space("bank")
        assert [feature.name for feature in uninformed.context] == ["cash"]

    def test_metrics_against_numpy(self, recordings):
        for _, steps in recordings:
            made = steps.components
            totals = jax.tree.map(lambda x: jnp.asarray(x.sum(axis=0)), made)
            found = {name: metric.value(totals) for name, metric in ENV.metrics.items()}
            good, repaid = made.would_repay.sum(axis=0), made.successful.sum(axis=0)
            rates = repaid / good
            places = np.arange(7)
            mean = made.score_shares.mean(axis=0)
            known = {
                "profit": made.profit.sum(),
                "tpr": repaid.sum() / good.sum(),
                "tpr_disparity": -abs(rates[0] - rates[1]),
                "score_distance": -wasserstein_distance(places, places, mean[0], mean[1]),
            }
            assert set(found) == set(known)
            for name, value in known.items():
                np.testing.assert_allclose(found[name], value, rtol=1e-4, err_msg=name)

    def test_measures_against_numpy(self, recordings):
        measures = ENV.spec.measures
        assert set(measures) == {"short_term", "long_term", "long_term_window"}
        _, steps = recordings[0]
        like = jax.tree.map(lambda x: jnp.zeros(x.shape[1:]), steps.components)

        @jax.jit
        def fold(rows):
            def step(memories, row):
                new = {name: m.update(memories[name], row) for name, m in measures.items()}
                return new, {name: m.value(new[name]) for name, m in measures.items()}

            return jax.lax.scan(step, {n: m.initial(like) for n, m in measures.items()}, rows)[1]

        found = fold(steps.components)
        places = np.arange(7)
        for t in (0, 1, 50, 298, 299, 300, 350, STEPS - 1):
            window = slice(max(0, t - 299), t + 1)
            lately = jax.tree.map(lambda x, w=window: x[w].sum(axis=0), steps.components)
            rates = np.divide(lately.successful, np.maximum(lately.would_repay, 1))
            now = steps.components.score_shares[t]
            known = {
                "short_term": np.ptp(rates),
                "long_term": wasserstein_distance(places, places, now[0], now[1]),
            }
            if np.all(lately.applicants.sum(axis=1) > 0):
                applied = lately.applicants
                known["long_term_window"] = wasserstein_distance(places, places, *applied)
            for name, value in known.items():
                np.testing.assert_allclose(-found[name][t], value, atol=1e-5, err_msg=f"{name} {t}")


# ---------------------------------------------------------------- single steps


def state_of(group, score, shares, cash=10_000.0):
    """A state whose applicant has this group and score (from 0)."""
    return BankLoansState(
        time=jnp.int32(0), group=group, score=score, shares=shares, cash=jnp.float32(cash)
    )


@pytest.fixture(scope="module")
def step():
    """Return a function that makes one step of seven states with given repayments."""

    @jax.jit
    def run(group, score, shares, cash, repays, action):
        def one(score):
            half = jnp.float32(0.5)
            outcome = jnp.where(repays, 0.0, jnp.float32(0.999))
            noise = BankLoansNoise(repayment=outcome, group=half, score=half)
            state = state_of(group, score, shares, cash)
            return ENV.transition(noise, state, {"bank": action}, PARAMS)

        return jax.vmap(one)(score)

    def make(group, scores, repays, action, shares=START, cash=10_000.0):
        numbers = jnp.int32(group), jnp.array(scores, jnp.int32), jnp.asarray(shares, jnp.float32)
        made = run(*numbers, jnp.float32(cash), jnp.array(repays), jnp.int32(action))
        return jax.tree.map(np.asarray, made)

    return make


class TestFairnessGym:
    """What ml-fairness-gym documents of its lending environment (D'Amour et al. 2020)."""

    def test_a_defaulter_at_score_3_of_group_0_who_was_accepted(self, step):
        after, made, _ = step(0, [3] * 7, False, APPROVE)
        moved = START.copy()
        moved[0] = [0, 0.1, 0.11, 0.19, 0.3, 0.3, 0]
        np.testing.assert_allclose(after.shares[0], moved, atol=1e-7)
        np.testing.assert_array_equal(made.score_shares, after.shares)
        assert after.cash[0] == 9_999.0

    def test_who_repays_goes_one_up(self, step):
        after, _, _ = step(1, [3] * 7, True, APPROVE)
        np.testing.assert_allclose(after.shares[0, 1], [0.1, 0.1, 0.2, 0.29, 0.31, 0, 0], atol=1e-7)
        np.testing.assert_array_equal(after.shares[0, 0], START[0].astype(np.float32))
        assert after.cash[0] == 10_001.0

    def test_who_is_rejected_stays(self, step):
        """And the bank never learns whether they would have repaid: what follows is the same."""
        afterwards = []
        for repays in (True, False):
            after, made, _ = step(0, range(7), repays, DENY)
            np.testing.assert_array_equal(after.shares, np.tile(np.float32(START), (7, 1, 1)))
            assert np.all(after.cash == 10_000.0) and not made.profit.any()
            assert np.all(made.would_repay.sum(axis=1) == repays)
            afterwards.append(after)
        jax.tree.map(np.testing.assert_array_equal, *afterwards)

    def test_the_edges_keep_their_mass_and_no_more_moves_than_there_is(self, step):
        few = np.array([[0.004, 0.496, 0, 0, 0, 0.494, 0.006], [0.004, 0, 0, 0.99, 0, 0, 0.006]])
        scores = [0, 6, 0, 6, 1, 5, 1]
        down, _, _ = step(0, scores, False, APPROVE, few)
        up, _, _ = step(0, scores, True, APPROVE, few)
        np.testing.assert_array_equal(down.shares[0], np.float32(few))
        np.testing.assert_array_equal(up.shares[1], np.float32(few))
        assert up.shares[0, 0, 0] == 0.0 and down.shares[1, 0, 6] == 0.0
        np.testing.assert_allclose(up.shares[0, 0, 1], 0.5)
        np.testing.assert_allclose(down.shares[1, 0, 5], 0.5)

    def test_the_bank_lends_until_its_cash_is_below_a_loan(self, step):
        _, _, ended = step(0, [3] * 7, False, APPROVE, cash=2.0)
        assert not ended.any()
        after, _, ended = step(0, [3] * 7, False, APPROVE, cash=1.5)
        assert ended.all() and np.all(after.cash == 0.5)

    def test_applicants_are_of_both_groups(self):
        """Groups with equal chances, scores with those of the start."""
        keys = jax.random.split(jax.random.key(0), 4000)
        first = jax.jit(jax.vmap(lambda key: ENV.initial_state(key, PARAMS)))(keys)
        group, score = np.asarray(first.group), np.asarray(first.score)
        assert abs(group.mean() - 0.5) < 5 * 0.5 / 4000**0.5
        for place in range(2):
            found = np.bincount(score[group == place], minlength=7) / (group == place).sum()
            np.testing.assert_allclose(found, START[place], atol=5 * 0.5 / 2000**0.5)
            assert not found[START[place] == 0].any(), "a score without mass is never drawn"

    def test_some_repay_and_some_fail_and_higher_scores_less(self):
        """Of applicants at the start; a loan is repaid with the chance of its score."""

        @jax.jit
        @jax.vmap
        def run(key):
            first, second = jax.random.split(key)
            state = ENV.initial_state(first, PARAMS)
            noise, approve = ENV.noise(second, PARAMS), {"bank": jnp.int32(APPROVE)}
            return state.score, ENV.transition(noise, state, approve, PARAMS)[1].profit

        score, profit = map(np.asarray, run(jax.random.split(jax.random.key(1), 4000)))
        assert set(profit.tolist()) == {1.0, -1.0}
        repaid = profit > 0.0
        assert repaid[score > 4].mean() > repaid[score <= 4].mean()
        for place, chance in enumerate(REPAYMENT[:6]):  # nobody has the highest score yet
            there = repaid[score == place]
            assert abs(there.mean() - chance) < 5 * (chance * (1 - chance) / there.size) ** 0.5

    def test_the_steady_state_of_loans_for_everybody(self, step):
        """A chain that goes up with the chance to repay and down else: in detailed balance."""
        balance = np.cumprod([1.0, *(REPAYMENT[:-1] / (1.0 - REPAYMENT[1:]))])
        balance /= balance.sum()
        there = np.stack([balance, START[1]])
        up, down = (step(0, range(7), repays, APPROVE, there)[0] for repays in (True, False))
        moved = REPAYMENT[:, None] * up.shares[:, 0] + (1 - REPAYMENT)[:, None] * down.shares[:, 0]
        assert np.all(abs(moved - balance).max(axis=1) > 1e-3), "a loan moves some mass"
        np.testing.assert_allclose(balance @ moved, balance, atol=1e-6)


def test_expected_components_is_the_mean():
    """Of each score, group and decision, over many noises."""
    count, params = 4096, PARAMS.replace(loan=2.0, interest=0.8)
    even = jnp.full((2, 7), 1 / 7)

    @jax.jit
    def both(key):
        def one(case):
            s, a = state_of(case // 7 % 2, case % 7, even), case // 14
            expected_now = ENV.spec.expected_components(ENV.observe(s, params), {"bank": a}, params)
            noise = jax.vmap(lambda k: ENV.noise(k, params))(jax.random.split(key, count))
            made = jax.vmap(lambda n: ENV.transition(n, s, {"bank": a}, params)[1])(noise)
            return expected_now, made

        return jax.vmap(one)(jnp.arange(28, dtype=jnp.int32))

    expected_now, made = jax.tree.map(lambda x: np.asarray(x, np.float64), both(jax.random.key(1)))
    for name in ENV.spec.component_info:
        expected, found = getattr(expected_now, name), getattr(made, name)
        if name in ("score_shares", "cash"):
            assert not expected.any()
            continue
        error = found.std(axis=1) / count**0.5
        assert np.all(np.abs(found.mean(axis=1) - expected) <= 5 * error + 1e-6), name
    repayment = np.tile(REPAYMENT, 4)
    approved = np.arange(28) // 14
    profit = approved * (2.0 * 0.8 * repayment - 2.0 * (1 - repayment))
    np.testing.assert_allclose(expected_now.profit, profit, atol=1e-6)


# ---------------------------------------------------------------- declarations


def test_the_distance_at_the_start_is_one():
    now = type("Now", (), {"score_shares": jnp.asarray(START)})
    assert float(ENV.metrics["score_distance"].value(now)) == pytest.approx(-1.0)


def test_codes_for_tables_and_networks():
    """Without cash there are 14 applicants to tell apart, in 4 bits."""
    space = fairgym.make("bank_loans", shows_cash=False).observation_space("bank")
    assert TableCode(space).size == 14
    assert Inputs(space, "binary").size == 4
    with pytest.raises(FairgymError, match="'cash' is a continuous feature"):
        TableCode(fairgym.make("bank_loans").observation_space("bank"))


def test_names_and_sizes():
    assert ENV.spec.size_text == "2 groups, 7 scores"
    assert ENV.spec.axes["score"][3] == "score_4"
    assert ENV.action_space("bank").names == ("deny", "approve")
    assert ENV.spec.published == {"profit": 1.0} and ENV.spec.default_objective == "published"
    assert (ENV.horizon, fairgym.make("bank_loans").horizon) == (STEPS, 2_000)
    assert list(ENV.spec.baselines) == ["threshold", "equal_opportunity", "everybody", "random"]
    told = {quantity.name for quantity in quantities(ENV)}
    assert "cash" in told and "score_shares" not in told, "a distribution has no total"
    assert list(fairgym.make("bank_loans").spec.baselines) == ["threshold", "everybody", "random"]


def test_conformance():
    """All properties of environments hold, also with a memory in the context."""
    env = fairgym.make("bank_loans", horizon=9)
    check_environment(augmented(env, Full("approved")), steps=3)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"horizon": 0}, "horizon must be a whole number from 1 to 1000000, got 0"),
        ({"horizon": 10_000_000}, "horizon must be a whole number from 1.*got 10000000"),
        ({"epochs": 1}, "unknown argument 'epochs' for bank_loans; its arguments are: horizon"),
    ],
)
def test_bad_shapes(shapes, message):
    with pytest.raises(FairgymError, match=message):
        fairgym.make("bank_loans", **shapes)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("repayment", 1.5, "repayment must be a number from 0 to 1.*got 1.5"),
        (
            "repayment",
            jnp.array([0.1] * 6 + [-0.2]),
            "repayment must be a number.*got the entry -0.2",
        ),
        ("advantaged", -0.1, "advantaged must be a number from 0 to 1.*got -0.1"),
        ("loan", 0.0, "loan must be a number from 0.01 to.*got 0.0"),
        ("interest", float("nan"), "interest must be a number from 0 to 10, got nan"),
        ("cash", -1.0, "cash must be a number from 0.*got -1.0"),
        ("shift", 2.0, "shift must be a number from 0 to 1.*got 2.0"),
        (
            *("start_advantaged", jnp.array([0.2] * 7)),
            "start_advantaged must sum to 1 over 7 scores, got the sum 1.4",
        ),
        (
            "start_disadvantaged",
            0.5,
            "start_disadvantaged must sum to 1 over 7 scores, got the sum 3.5",
        ),
    ],
)
def test_bad_numbers(name, value, message):
    with pytest.raises(FairgymError, match=rf"^BankLoansParams\.{message}"):
        PARAMS.replace(**{name: value})


def test_a_parameter_has_one_number_or_one_per_score():
    with pytest.raises(FairgymError, match=r"repayment must be one number, .*got the shape \(3,\)"):
        ENV.reset(jax.random.key(0), PARAMS.replace(repayment=jnp.array([0.1, 0.2, 0.3])))
    many = jnp.stack([PARAMS.start_advantaged] * 3)
    assert jnp.shape(BankLoansParams(start_advantaged=many).start_advantaged) == (3, 7)
