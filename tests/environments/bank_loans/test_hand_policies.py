"""What hand-written agents reach in bank loans, and the exact thresholds of equal opportunity."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linprog

import fairgym
from fairgym.core import Entities, FairgymError, rollout
from fairgym.environments.bank_loans.rules import equal_opportunity
from fairgym.policies import fixed_policies, rules

REPAYMENT = np.array([0.1, 0.2, 0.45, 0.6, 0.65, 0.7, 0.7])
EPISODES = 16
ENV = fairgym.make("bank_loans", horizon=10_000, informed=True)
KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def reached():
    """Cash at the end and true positive rates of the groups, by agent."""
    params = ENV.default_params

    @functools.partial(jax.jit, static_argnums=(2, 3))
    def run(policies, key, count, steps):
        def one(policy, key):
            episode = rollout(ENV, params, {"bank": policy}, key, steps)
            totals = episode.totals
            return episode.final_state.cash, totals.successful / totals.would_repay

        many = jax.vmap(one, in_axes=(None, 0))
        return jax.vmap(many, in_axes=(0, None))(policies, jax.random.split(key, count))

    threshold = rules.get("threshold")
    lenders = [threshold(ENV, "bank", lowest=1), threshold(ENV, "bank")]
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *lenders)
    equal = jax.tree.map(lambda x: x[None], rules.get("equal-opportunity")(ENV, "bank"))
    cash, rates = map(np.asarray, run(stacked, KEY, EPISODES, 10_000))
    found = {"everybody": (cash[0], rates[0]), "threshold": (cash[1], rates[1])}
    cash, rates = map(np.asarray, run(equal, KEY, 8, 3_000))
    return {**found, "equal_opportunity": (cash[0], rates[0])}


class TestWhatIsReached:
    """Known from a simulation in plain Python, of 60 episodes.

    `theirs` is a mean of three episodes of the authors' environment. It is within two standard
    deviations of single episodes, `spread` (of 512 episodes).
    """

    @pytest.mark.parametrize(
        ("agent", "known", "theirs", "spread"),
        [("everybody", 8_973.0, 8_400.0, 349.0), ("threshold", 11_484.0, 11_340.0, 132.0)],
    )
    @pytest.mark.full
    def test_cash(self, reached, agent, known, theirs, spread):
        cash, _ = reached[agent]
        assert abs(cash.mean() - known) < 4 * spread * (1 / EPISODES + 1 / 60) ** 0.5
        assert abs(cash.mean() - theirs) < 2 * spread

    def test_gaps_of_true_positive_rates(self, reached):
        gaps = {name: np.abs(rates[:, 0] - rates[:, 1]) for name, (_, rates) in reached.items()}
        assert not gaps["everybody"].any()
        found = gaps["threshold"]
        assert abs(found.mean() - 0.171) < 4 * 0.059 * (1 / EPISODES + 1 / 60) ** 0.5
        assert abs(found.mean() - 0.21) < 3 * 0.059 / 3**0.5, "a mean of three episodes"
        assert gaps["equal_opportunity"].mean() < 0.04 < gaps["threshold"].mean(), "sampling alone"


def thresholds_by_linear_programming(shares, sizes, repayment, gain):
    """Most expected profit of approvals in [0, 1] whose true positive rates are equal."""
    good = shares * repayment
    good = good / good.sum(axis=1, keepdims=True)
    equal = np.concatenate([good[0], -good[1]])[None]
    worth = (sizes[:, None] * shares * gain).ravel()
    found = linprog(-worth, A_eq=equal, b_eq=[0.0], bounds=(0.0, 1.0))
    assert found.success
    return -found.fun


@pytest.fixture(scope="module")
def cases():
    """The start, distributions with empty scores, and other chances and prices."""
    generator = np.random.default_rng(0)
    shares = generator.dirichlet(np.full(7, 0.5), size=(60, 2))
    shares[20:40] *= generator.random((20, 2, 7)) < 0.6
    shares[:, :, 3] += 1e-3
    shares /= shares.sum(axis=2, keepdims=True)
    start = ENV.default_params
    shares[0] = np.stack([start.start_advantaged, start.start_disadvantaged])
    repayment = np.tile(REPAYMENT, (60, 1))
    repayment[40:] = generator.random((20, 7))
    interest = np.where(np.arange(60) % 3 == 1, 0.4, 1.0)[:, None]
    gain = repayment * interest - (1 - repayment)
    advantaged = np.where(np.arange(60) % 4 == 2, 0.8, 0.5)
    sizes = np.stack([advantaged, 1 - advantaged], axis=1)
    given = [np.float32(x) for x in (shares, sizes, repayment, gain)]
    chances = np.asarray(jax.jit(jax.vmap(equal_opportunity))(*given), np.float64)
    return [np.float64(x) for x in given], chances


class TestEqualOpportunity:
    def test_the_rates_are_equal(self, cases):
        """To 1e-6 on the true distribution."""
        (shares, _, repayment, _), chances = cases
        good = shares * repayment[:, None]
        rates = np.sum(good * chances, axis=2) / np.sum(good, axis=2)
        assert np.abs(rates[:, 0] - rates[:, 1]).max() < 1e-6
        assert np.all((chances >= 0.0) & (chances <= 1.0))

    def test_no_other_thresholds_make_more_profit(self, cases):
        given, chances = cases
        for shares, sizes, repayment, gain, chance in zip(*given, chances, strict=True):
            best = thresholds_by_linear_programming(shares, sizes, repayment, gain)
            found = np.sum(sizes[:, None] * shares * gain * chance)
            assert found == pytest.approx(best, abs=1e-6)

    def test_at_the_start(self, cases):
        """The advantaged from the fourth score on, of the others part of the third as well."""
        _, chances = cases
        np.testing.assert_allclose(chances[0, 0], [0, 0, 0, 1, 1, 1, 0], atol=1e-5)
        assert np.all(chances[0, 1, [0, 1, 5, 6]] == 0) and np.all(chances[0, 1, 3:5] == 1)
        assert 0 < chances[0, 1, 2] < 1

    def test_the_bank_decides_with_these_chances(self):
        policy = rules.get("equal-opportunity")(ENV, "bank")
        shares = (
            jnp.stack([ENV.default_params.start_advantaged] * 2)
            .at[1]
            .set(ENV.default_params.start_disadvantaged)
        )
        third = Entities(
            features=jnp.array([[3.0, 1.0]]),
            mask=jnp.ones(1, bool),
            context=jnp.concatenate([jnp.array([10_000.0]), shares.ravel()]),
        )

        @jax.jit
        def decide(keys):
            approved = jax.vmap(lambda key: policy(third, key))(keys)
            return approved, policy.approvals(shares)[1, 2]

        approved, chance = decide(jax.random.split(KEY, 2000))
        assert approved.dtype == jnp.int32
        assert abs(float(approved.mean()) - float(chance)) < 5 * 0.5 / 2000**0.5


@pytest.fixture(scope="module")
def applicants():
    def applicant(score):
        return Entities(jnp.stack([score, 0.0])[None], jnp.ones(1, bool), jnp.zeros(1))

    return jax.vmap(applicant)(jnp.arange(1.0, 8.0))


class TestThreshold:
    @pytest.mark.parametrize(
        ("interest", "lowest", "first"), [(1.0, None, 4), (0.5, None, 6), (1.0, 2, 2)]
    )
    def test_the_lowest_score(self, applicants, interest, lowest, first):
        """By default those whose loans pay off: repayment above 1 / (1 + interest)."""
        env = fairgym.make("bank_loans")
        params = env.default_params.replace(interest=interest)
        policy = rules.get("threshold")(env, "bank", params, lowest=lowest)
        found = jax.jit(jax.vmap(lambda seen: policy(seen, KEY)))(applicants)
        assert found.tolist() == [int(score >= first) for score in range(1, 8)]


@pytest.mark.parametrize(
    ("env", "agent", "rule", "message"),
    [
        ("lending_pool", "bank", "threshold", "the rule Threshold is for the bank of bank_loans"),
        (
            *("bank_loans", "bank", "equal-opportunity"),
            "the rule EqualOpportunity needs the score distributions; make bank_loans with"
            " informed=True",
        ),
    ],
)
def test_rules_that_do_not_fit(env, agent, rule, message):
    with pytest.raises(FairgymError) as error:
        fixed_policies(fairgym.make(env), {agent: rule})
    assert str(error.value).startswith(message)
