"""A queue that starves the best risks: short by the published wait, and seen by what counts all.

The policy stands for one that is learned where all relief is deferred: everybody is admitted,
relief is .3 and .37 of an installment, and the worst risks are paid out first.
"""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.policies import Function
from fairgym.training._measuring import waits

ENV = fairgym.make("loan", population=300, horizon=400)
SCORE = [f.name for f in ENV.observation_space("disbursement").features].index(
    "qualification_score"
)
WAITING, REPAYING = 1, 2


@pytest.fixture(scope="module")
def queues():
    """Steps of an episode, by the order of payouts: at random, and the worst risks first."""
    params = ENV.default_params.replace(relief_forgiven=0.0)

    @jax.jit
    def run(worst_first):
        def order(seen, key):
            by_risk = 1.0 - seen.features[:, SCORE]
            return jnp.where(worst_first, by_risk, jax.random.uniform(key, by_risk.shape))

        rules = {
            "admissions": Function(lambda seen, key: jnp.zeros(2)),
            "disbursement": Function(order),
            "debt_management": Function(lambda seen, key: jnp.array([0.3, 0.37])),
        }

        def pick(step):
            stages = step.before.stage, step.after.stage, step.before.waiting_since
            people = ENV.people(step.before)["qualification_score"]
            return stages, step.before.group, people, step.components, step.after

        return fairgym.core.record(ENV, params, rules, jax.random.key(0), pick=pick)

    def numbers(worst_first):
        """What NumPy counts on the people, beside the components and the last state."""
        (before, after, since), group, score, components, states = run(worst_first)
        before, after, since, score = map(np.asarray, (before, after, since, score))
        stage = np.concatenate([before[:1], after])
        paid_out = (before == WAITING) & (after == REPAYING)
        ended = (np.arange(ENV.horizon)[:, None] - since)[paid_out]
        left = stage[-1] == WAITING
        approved, served = ((stage == code).any(axis=0) for code in (WAITING, REPAYING))
        never = approved & ~served
        last = jax.tree.map(lambda x: x[-1], states)
        so_far = ENV.horizon - np.asarray(last.waiting_since)[left]
        # rank of each person at the start, from 0 for the worst risk to 1 for the best
        rank = score[0].argsort().argsort() / (score.shape[1] - 1)
        return SimpleNamespace(
            published=ended.mean(),
            share=left.mean(),
            median=np.median(so_far),
            never=never.sum() / approved.sum(),
            ranks=rank[never],
            each_month=((before == WAITING) & (after == WAITING)).mean(),
            by_group=[left[np.asarray(group[0]) == code].mean() for code in (0, 1)],
            totals=jax.tree.map(lambda x: jnp.sum(x, axis=0), components),
            last=last,
        )

    return {"random": numbers(False), "worst first": numbers(True)}


@pytest.mark.full
def test_the_published_wait_looks_short_where_the_best_risks_starve(queues):
    """As many wait as in a random queue, but half of these for more than a third of the episode."""
    fair, starving = queues["random"], queues["worst first"]
    assert starving.published < 0.7 * fair.published
    for queue in (fair, starving):
        assert 0.45 < queue.share < 0.6
    assert fair.median < 50.0 and starving.median > 150.0
    assert fair.never < 0.01 and starving.never > 0.02
    assert starving.ranks.min() > 0.8 and starving.ranks.mean() > 0.9


@pytest.mark.full
def test_measures_that_count_all_who_wait_tell_the_two_apart(queues):
    """Metrics and `waits` say what NumPy counts on the people; the published wait does not."""
    for queue in queues.values():
        value = {name: float(ENV.metrics[name].value(queue.totals)) for name in ENV.metrics}
        assert queue.totals.waited.sum() / queue.totals.disbursed.sum() == pytest.approx(
            queue.published
        )
        assert value["admission_rate"] == 1.0
        assert value["served_rate"] == pytest.approx(1.0 - queue.never)
        assert value["waiting_rate"] == pytest.approx(-queue.each_month)
        found = waits(ENV, queue.last)["waiting"]
        assert found["share"][-1] == pytest.approx(queue.share)
        np.testing.assert_allclose(found["share"][:-1], queue.by_group, rtol=1e-6)
        assert found["median"][-1] == queue.median
