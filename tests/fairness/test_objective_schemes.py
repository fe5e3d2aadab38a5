"""Objectives over fairness schemes: the rewards of an episode against its score, and by hand."""

import dataclasses
from functools import cached_property

import jax.numpy as jnp
import numpy as np
import pytest
from toys import Toy, ToyComponents

import fairgym
from fairgym.config.plain import complete_objective, plain_objective, read_objective
from fairgym.core import FairgymError
from fairgym.fairness import Full, Nash, Objective, Rawlsian, Scheme, StakeholderFirst
from fairgym.fairness.measuring import measuring

ENV = Toy(horizon=6)
ROWS = np.random.default_rng(0).integers(0, 4, (6, 2)).astype(np.float32)
SCHEMES = {
    "course": Scheme.anytime(Full("served"), Nash()),
    "worst": Scheme.long_term(Full("served"), Rawlsian()),
    "balance": Scheme(Full("served"), StakeholderFirst()),
}


def components(row, gain=0.5):
    zeros = jnp.zeros(2)
    return ToyComponents(jnp.float32(gain), zeros, zeros, zeros, jnp.asarray(row))


def scheme_scores():
    """The three scores in NumPy."""
    status = np.cumsum(ROWS, axis=0)
    apart = (status - status.mean(axis=1, keepdims=True)).sum(axis=0)
    return {
        "course": np.log(status + 1).sum(),
        "worst": status[-1].min(),
        "balance": -(apart**2).sum(),
    }


def run(objective, steps=1):
    """Rewards of all steps, and the memories after the last one."""
    memories, rewards = objective.initial(components(np.zeros(2), 0.0)), []
    for row in ROWS:
        memories, reward = objective.step(memories, components(row), steps)
        rewards.append(float(reward))
    return rewards, memories


@pytest.mark.parametrize("name", SCHEMES)
def test_rewards_add_up_to_the_score(name):
    objective = Objective(ENV.metrics, {name: 2.0}, schemes=SCHEMES)
    rewards, memories = run(objective)
    assert list(memories) == [name]  # nothing is carried for schemes without a weight
    expected = 2.0 * scheme_scores()[name]
    totals = components(ROWS.sum(axis=0), 3.0)
    assert sum(rewards) == pytest.approx(expected, rel=1e-5)
    assert float(objective.score(totals, memories)) == pytest.approx(expected, rel=1e-5)


def test_metrics_and_schemes_weigh_together():
    """Normalised alike: with T steps, the mean of the rewards is the score."""
    by_six = {n: Scheme(s.status, s.extended, s.when, 6.0) for n, s in SCHEMES.items()}
    objective = Objective(ENV.metrics, {"course": 0.5, "gain": 2.0, "worst": 1.0}, schemes=by_six)
    found = scheme_scores()
    expected = 0.5 * found["course"] / 6 + 2.0 * 3.0 / 6 + found["worst"] / 6
    rewards, memories = run(objective, steps=6)
    assert np.mean(rewards) == pytest.approx(expected, rel=1e-5)
    totals = components(ROWS.sum(axis=0), 3.0)
    assert float(objective.score(totals, memories)) == pytest.approx(expected, rel=1e-5)
    rewards, _ = run(objective)
    assert sum(rewards) == pytest.approx(expected, rel=1e-5)


def test_without_schemes_nothing_is_carried():
    objective = Objective.uniform(ENV)
    assert objective.initial(components(ROWS[0])) == {}
    memories, reward = objective.step({}, components(ROWS[0]), 6)
    assert memories == {} and reward == objective.step_reward(components(ROWS[0]), 6)


def test_a_score_takes_the_memories_of_its_schemes():
    objective = Objective(ENV.metrics, {"course": 1.0}, schemes=SCHEMES)
    with pytest.raises(FairgymError, match="weights the scheme 'course', so memories must"):
        objective.score(components(ROWS[0]))


def test_a_scheme_of_the_name_of_another_one_is_refused():
    """Its score would be read off the memory of the other one."""
    one = Objective(ENV.metrics, {"worst": 1.0}, schemes=SCHEMES)
    course = Scheme.anytime(Full("served"), Rawlsian())
    other = Objective(ENV.metrics, {"worst": 1.0}, schemes={"worst": course})
    measured = measuring(ENV, [one])
    assert measuring(measured, [one]) == measured
    for env, objectives in ((measured, [other]), (ENV, [one, other])):
        with pytest.raises(FairgymError, match="'worst' of the objective must have another name"):
            measuring(env, objectives)


def test_equal_objectives():
    one, same = (Objective(ENV.metrics, {"worst": 1.0}, schemes=dict(SCHEMES)) for _ in range(2))
    assert one == same and hash(one) == hash(same)
    other = {**SCHEMES, "worst": Scheme.anytime(Full("served"), Rawlsian())}
    assert one != Objective(ENV.metrics, {"worst": 1.0}, schemes=other)


@pytest.mark.parametrize(
    ("weights", "schemes", "message"),
    [
        ({"welfare": 1.0}, SCHEMES, "unknown metric 'welfare'; there are: gain, .* balance"),
        ({"course": np.inf}, SCHEMES, "weights of 'course' must be a number, got inf"),
        ({}, {"gain": SCHEMES["worst"]}, "'gain' must not name both a metric and a scheme"),
    ],
)
def test_bad_objectives(weights, schemes, message):
    with pytest.raises(FairgymError, match=message):
        Objective(ENV.metrics, weights, schemes=schemes)


class TestNames:
    loan = fairgym.make("loan_simple", population=100, horizon=10)

    @pytest.mark.parametrize("name", ["nash", "max-min", "gini", "alpha:2", "nash:approved"])
    def test_welfare(self, name):
        objective = Objective.named(self.loan, name)
        assert objective.weights == {name: 1.0} and list(objective.schemes) == [name]
        measured = measuring(self.loan, [objective])
        assert measured.spec.schemes == objective.schemes and measured.metrics == self.loan.metrics
        assert read_objective(self.loan, complete_objective(self.loan, name), {}) == objective

    def test_welfare_weighs_beside_metrics(self):
        given = {"nash": 1, "profit": 0.5}
        objective = read_objective(self.loan, given, {})
        assert objective.weights == {"profit": 0.5, "nash": 1.0}
        assert objective == Objective.weighted(self.loan, {"profit": 0.5, "nash": 1.0})
        assert plain_objective(self.loan, objective) == {"profit": 0.5, "nash": 1.0}

    def test_a_scheme_of_ones_own_is_no_plain_data(self):
        own = Scheme.anytime(Full("approved"), Nash())
        objective = Objective(self.loan.metrics, {"own": 1.0}, schemes={"own": own})
        with pytest.raises(FairgymError, match="a custom scheme 'own', which a configuration"):
            plain_objective(self.loan, objective)

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("published", "loan_simple declares no published objective"),
            ("nesh", "unknown objective 'nesh'; did you mean 'nash'"),
            ("nash:profit", "an entry per stakeholder of loan_simple .*, got 'profit'"),
            ("alpha:-1", "objective must be alpha:ALPHA with a number from 0, got 'alpha:-1'"),
        ],
    )
    def test_bad_names(self, name, message):
        with pytest.raises(FairgymError, match=message):
            Objective.named(self.loan, name)

    def test_the_published_objective(self):
        class Published(Toy):
            @cached_property
            def spec(self):
                return dataclasses.replace(
                    super().spec,
                    schemes=SCHEMES,
                    published={"course": 1.0, "gain": -40.0},
                )

        objective = Objective.named(Published(), "published")
        assert objective.weights == {"course": 1.0, "gain": -40.0}
        assert objective.schemes == SCHEMES
