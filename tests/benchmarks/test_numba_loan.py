"""The Numba rewrite of the loan system is the NumPy rewrite, month by month, and fairgym's loan.

It needs Numba: `pip install -r benchmarks/requirements-numba.txt`.
"""

import jax
import jax.numpy as jnp
import numpy as np
import numpy_loan
import numpy_policies
import pytest

import fairgym
from fairgym.policies import equivariant

numba = pytest.importorskip(
    "numba", reason="needs pip install -r benchmarks/requirements-numba.txt"
)
PEOPLE, MONTHS = 600, 300
CHANGES = {"residual_share": 0.3, "relief_forgiven": 0.5, "deposit_rate": 0.05}


@pytest.fixture(scope="module")
def rewrite(benchmark_script):
    return benchmark_script("numba_loan")


class Told(numpy_loan.NumpyLoan):
    """The NumPy rewrite in double precision, which reads its luck from `payment` and `priority`."""

    payment: np.ndarray
    priority: np.ndarray

    def sampled(self, rows, count):
        return rows[np.argsort(-self.priority[rows], kind="stable")[:count]]

    def noise(self, rows):
        return self.payment[rows].astype(np.float64)

    def best(self, rows, score, places):
        return rows[np.lexsort((-self.priority[rows], -score[rows]))[:places]]


class Pair:
    """Both rewrites of one bank, in the same month."""

    def __init__(self, rewrite, seed, changes, networks=False):
        self.env = fairgym.make("loan", population=PEOPLE)
        self.rng, self.rewrite = np.random.default_rng(seed), rewrite
        params = self.env.default_params.replace(**changes)
        source = numpy_loan.NumpyLoan(self.env, params)
        source.reset(self.rng)
        self.setup, self.bank = rewrite.make(source, networks)
        self.plain = Told(self.env, params, np.float64)
        self.plain.priority = self.rng.random(PEOPLE, np.float32)
        self.plain.start({**source.people, "residual": source.residual})
        self.plain.applying = source.applying

    def month(self, threshold, relief, score):
        """Simulate a month of both; return both components by name."""
        plain = self.plain
        plain.priority = self.rng.random(PEOPLE, np.float32)
        noise = self.rng.standard_normal(PEOPLE, np.float32)
        plain.payment = noise * np.float32(plain.params["payment_noise"])
        queue = self.bank.queue[: self.bank.counts[1]]
        self.bank.scores[: len(queue)] = score[queue]
        found = np.zeros((len(self.rewrite.COMPONENTS), 2))
        told = self.rewrite.Told(plain.payment, plain.priority)
        self.rewrite.month(self.bank, self.setup, threshold, relief, told, found)
        actions = {"admissions": threshold, "disbursement": score, "debt_management": relief}
        theirs, _ = plain.step(actions)
        ours = dict(zip(self.rewrite.COMPONENTS, found, strict=True))
        return ours, theirs

    def require_same_state(self):
        """Compare everybody's stage, record and loan, and the books; return the largest error.

        Errors are relative to the largest number of each column.
        """
        bank, plain = self.bank, self.plain
        idle, waiting, repaying, applying, time = bank.counts
        assert time == plain.time
        assert set(bank.idle[:applying]) == set(plain.applying)
        assert set(bank.queue[:waiting]) == set(np.flatnonzero(plain.stage == numpy_loan.WAITING))
        assert set(bank.idle[:idle]) == set(np.flatnonzero(plain.stage == numpy_loan.IDLE))
        rows = bank.borrowers[:repaying]
        assert set(rows) == set(np.flatnonzero(plain.stage == numpy_loan.REPAYING))
        queue = bank.queue[:waiting]
        np.testing.assert_array_equal(time - bank.since[:waiting], plain.waited[queue])
        pairs = [
            (bank.people[:, column], plain.people[name])
            for column, name in enumerate(numpy_loan.SAMPLED)
        ]
        pairs += [
            (self.loans("balance"), plain.balance[rows]),
            (self.loans("warning"), plain.warning[rows]),
            (self.loans("total_requested"), plain.requested[rows]),
            (self.loans("total_received"), plain.received[rows]),
            (self.loans("installment"), plain.installment[rows]),
            (self.loans("time_to_maturity") - time, plain.remaining[rows]),
            (bank.books[:3], [plain.profit, plain.losses, plain.payments]),
        ]
        return max((_error(ours, theirs) for ours, theirs in pairs if len(theirs)), default=0.0)

    def loans(self, name):
        """Return a column of the borrowers."""
        columns = self.bank.loans.reshape(len(self.bank.loans), -1, self.rewrite.LANES)
        column = columns[:, 3 + self.rewrite.B_SEEN.index(name)]
        return column.reshape(-1)[: self.bank.counts[2]]


def _error(ours, theirs):
    """Return the largest error, relative to the largest number."""
    return np.max(np.abs(ours - theirs)) / max(np.max(np.abs(theirs)), 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_the_same_luck_gives_the_same_months(rewrite, seed):
    """With tied scores, through defaults and repayments; the parameters that are 0 are set."""
    pair, largest, total = Pair(rewrite, seed, CHANGES if seed else {}), 0.0, {}
    relief = pair.rng.uniform(0.0, 0.15, 2)
    for _ in range(MONTHS):
        threshold = np.float32(pair.rng.uniform(0.6, 0.9, 2))
        around = np.float32(np.maximum(relief + pair.rng.uniform(-0.05, 0.05, 2), 0.0))
        score = np.round(pair.rng.random(600, np.float32), 1)
        ours, theirs = pair.month(threshold, around, score)
        for name, value in theirs.items():
            if name == "profit":
                assert ours[name][0] == pytest.approx(value, rel=1e-4, abs=1e-3)
            else:
                np.testing.assert_array_equal(ours[name], value, name)
            total[name] = total.get(name, 0) + np.sum(value)
        largest = max(largest, pair.require_same_state())
    assert largest < 1e-5
    assert total["defaulted"] > 10 and total["ended"] - total["defaulted"] > 100
    assert total["waited"] > 100


@pytest.mark.parametrize("seed", range(3))
def test_networks_act_alike(rewrite, seed):
    """In the months that the actions of the NumPy rewrite lead to."""
    pair = Pair(rewrite, seed, {}, networks=True)
    policies = equivariant(pair.env, jax.random.key(seed))
    plain_policies = {name: numpy_policies.TwoLayer(policy) for name, policy in policies.items()}
    networks = rewrite.networks_of(pair.env, policies)
    threshold, relief = np.empty(2, np.float32), np.empty(2, np.float32)
    largest, crowded = 0.0, 0
    for _ in range(MONTHS):
        action, score = {}, np.zeros(PEOPLE, np.float32)
        for agent, policy in plain_policies.items():
            rows, features, context = pair.plain.observe(agent)
            action[agent] = policy(features.astype(np.float32), context.astype(np.float32))
            if agent == "disbursement":
                score[rows] = action[agent]
        rewrite.act(pair.bank, pair.setup, networks, threshold, relief)
        waiting = pair.bank.counts[1]
        if waiting > pair.setup.cap:  # otherwise nobody is chosen, and no score is computed
            queue = pair.bank.queue[:waiting]
            largest = max(largest, _error(pair.bank.scores[:waiting], score[queue]))
            crowded += 1
        largest = max(largest, _error(threshold, action["admissions"]))
        largest = max(largest, _error(relief, action["debt_management"]))
        pair.month(action["admissions"], action["debt_management"], score)
        largest = max(largest, pair.require_same_state())
    assert largest < 1e-5 and crowded > 200


@pytest.mark.full
def test_episodes_agree_in_the_mean(rewrite):
    """With luck of its own: counts of an episode within 4.5 standard errors of fairgym's."""
    env, episodes = fairgym.make("loan", population=400, horizon=80), 40
    params = env.default_params
    terms = {
        "admissions": np.array([0.6, 0.6], np.float32),
        "debt_management": np.array([0.04, 0.04], np.float32),
    }

    def policy(agent):
        if agent in terms:
            return lambda observation, key: jnp.array(terms[agent])
        return lambda observation, key: jax.random.uniform(key, (400,))

    policies = {agent: policy(agent) for agent in env.agents}
    run = jax.jit(
        lambda keys: jax.lax.map(lambda key: fairgym.rollout(env, params, policies, key), keys)
    )
    ours = run(jax.random.split(jax.random.key(1), episodes)).totals
    theirs, names = np.zeros((episodes, len(rewrite.COMPONENTS), 2)), rewrite.COMPONENTS
    for episode in range(episodes):
        rng = np.random.default_rng([episode, 77])
        source = numpy_loan.NumpyLoan(env, params)
        source.reset(rng)
        setup, bank = rewrite.make(source, False, seed=episode)
        for _ in range(env.horizon):
            actions = *terms.values(), rng.random(400, np.float32)
            rewrite.run(bank, setup, *actions, 1, theirs[episode])
    for name in ("profit", "approved", "disbursed", "waited", "ended", "defaulted", "waiting"):
        mine = np.asarray(getattr(ours, name), np.float64).reshape(episodes, -1)
        other = theirs[:, names.index(name), : mine.shape[1]]
        error = np.sqrt((mine.var(0, ddof=1) + other.var(0, ddof=1)) / episodes)
        assert (np.abs(mine.mean(0) - other.mean(0)) <= 4.5 * error + 1e-6).all(), name
