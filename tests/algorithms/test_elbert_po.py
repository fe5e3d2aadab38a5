"""ELBERT-PO on a problem whose best bias is known, and its advantages by finite differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fair_tasks import OFFICE, Desk, DeskState, Office
from q_tasks import Bandit

from fairgym.algorithms import algorithms, log_keys
from fairgym.algorithms.elbert_po import soft_bias
from fairgym.core import FairgymError
from fairgym.fairness import Objective
from fairgym.utils import make

DESK, OFFICES = Desk(), Office()
# a step's reward is then its points
POINTS = Objective(metrics=DESK.metrics, weights={"points": 1.0 / DESK.horizon})
SMALL = {
    "num_envs": 4,
    "num_steps": 80,
    "num_minibatches": 4,
    "update_epochs": 4,
    "layers": (8,),
    "critic_layers": (8,),
    "learning_rate": 0.01,
    "gamma": 0.5,
    "evaluation_episodes": 1,
    "episodes_per_epoch": 80,
    "standardise": False,
}


def chances(state):
    """Probability of approval for each group."""
    actor = state.networks.actors["clerk"]
    places = [DeskState(jnp.int32(0), jnp.int32(g), jnp.zeros((2, 2))) for g in (0, 1)]
    return [float(jax.nn.softmax(actor.logits(DESK.observe(p, None)["clerk"]))[1]) for p in places]


@pytest.mark.full
@pytest.mark.parametrize(("weight", "best"), [(20.0, 0.5), (50.0, 0.2)])
def test_the_bias_comes_to_where_it_pays_no_more(weight, best):
    """An episode has 40 b / 2 points and 40 applicants: 20 b - alpha b^2 is most at 10 / alpha."""
    learner = algorithms.get("elbert-po")(**SMALL, epochs=16, bias_weight=weight)
    state = learner.init(jax.random.key(0), DESK, POINTS)
    gaps = []
    for _ in range(learner.epochs):
        state, _ = learner.update(state)
        first, second = chances(state)
        gaps.append(first - second)
    assert np.mean(gaps[-6:]) == pytest.approx(best, abs=0.1), gaps


@pytest.mark.full
def test_agents_with_equivariant_networks_share_the_bias():
    """An episode has 10 b points: 10 b - alpha b^2 is most at 5 / alpha, whoever it is up to."""
    learner = algorithms.get("elbert-po")(**OFFICE, bias_weight=25.0, standardise=False)
    state = learner.init(jax.random.key(0), OFFICES, Objective.weighted(OFFICES, {"points": 0.1}))
    assert state.networks.critic.head.out_features == 2 + 2 * 2
    gaps = []
    for _ in range(learner.epochs):
        state, log = learner.update(state)
        gaps.append(-float(log[log_keys.metric("gap")]))
    assert np.mean(gaps[-4:]) == pytest.approx(0.2, abs=0.06), gaps


def test_advantages_are_the_derivative_of_the_objective():
    """How R - alpha b^2 changes if a step's advantages are a little more weighed; NumPy."""
    learner = algorithms.get("elbert-po")(**SMALL, epochs=1, bias_weight=3.0)
    generator = np.random.default_rng(0)
    benefit, demand = generator.uniform(0.2, 1.0, (2, 4, 80, 2)).astype(np.float32)
    advantage = generator.normal(size=(4, 80, 5)).astype(np.float32)
    signals = {"benefit": jnp.array(benefit), "demand": jnp.array(demand)}
    combine = learner.terms(DESK, DESK.agents).combine
    found = np.array(combine(signals, jnp.array(advantage)))[..., 0]

    gained, demanded = (40 * x.mean(axis=(0, 1)).astype(float) for x in (benefit, demand))

    def objective(step, change):
        rates = (gained + change * advantage[step][1:3]) / (demanded + change * advantage[step][3:])
        return change * advantage[step][0] - 3.0 * abs(rates[0] - rates[1]) ** 2

    for step in ((0, 0), (3, 79), (1, 40)):
        slope = (objective(step, 1e-5) - objective(step, -1e-5)) / 2e-5
        assert found[step] == pytest.approx(slope, rel=1e-3, abs=1e-4)


def test_advantages_are_standardised_before_they_are_combined():
    """The authors' unit: each advantage over its standard deviation; NumPy."""
    learner = algorithms.get("elbert-po")(
        **SMALL | {"standardise": True}, epochs=1, bias_weight=3.0
    )
    generator = np.random.default_rng(1)
    benefit, demand = generator.uniform(0.2, 1.0, (2, 4, 80, 2)).astype(np.float32)
    advantage = generator.normal(1.0, 50.0, size=(4, 80, 5)).astype(np.float32)
    signals = {"benefit": jnp.array(benefit), "demand": jnp.array(demand)}
    terms = learner.terms(DESK, DESK.agents)
    found = np.array(terms.combine(signals, jnp.array(advantage)))[..., 0]
    assert not terms.standardise  # not once more afterwards
    own, *others = np.moveaxis(advantage, 2, 0)
    own = (own - own.mean()) / own.std()
    of_benefit, of_demand = [], []
    for place, one in enumerate(others):
        (of_benefit if place < 2 else of_demand).append((one - one.mean()) / one.std())
    u, b = (40 * x.mean(axis=(0, 1)) for x in (benefit, demand))
    gap = u[0] / b[0] - u[1] / b[1]
    slopes = [
        (of_benefit[g] / b[g] - u[g] * of_demand[g] / b[g] ** 2) * (1 - 2 * g) for g in (0, 1)
    ]
    expected = own - 3.0 * 2 * gap * (slopes[0] + slopes[1])
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_the_offset_of_a_rate_is_added_once_an_episode():
    """Demand of the epidemic is new infections and one (equation 10), whatever the horizon."""
    env = make("epidemic")
    learner = algorithms.get("elbert-po")(**SMALL, epochs=1, bias_weight=3.0)
    infected = np.zeros((4, 80, 2), np.float32)
    infected[:, ::20] = [6.0, 9.0]  # in the first of the 20 steps of each episode
    given = np.full((4, 80, 2), 0.5, np.float32)
    advantage = np.zeros((4, 80, 5), np.float32)
    advantage[..., 1] = 1.0
    signals = {"benefit": jnp.array(given), "demand": jnp.array(infected)}
    combine = learner.terms(env, env.agents).combine
    found = np.array(combine(signals, jnp.array(advantage)))[..., 0]
    first, second = 10.0 / (6.0 + 1.0), 10.0 / (9.0 + 1.0)
    np.testing.assert_allclose(found, -2 * 3.0 * (first - second) / (6.0 + 1.0), rtol=1e-5)


def test_the_bias_of_several_groups_is_nearly_the_largest_difference():
    rates = jnp.array([0.1, 0.5, 0.9, 0.2])
    assert float(soft_bias(rates, 200.0)) == pytest.approx(0.8, abs=1e-3)
    assert float(soft_bias(rates, 20.0)) == pytest.approx(0.8, abs=0.05)
    assert float(soft_bias(rates[:2], 20.0)) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("env", "settings", "message"),
    [
        (Bandit(), {}, "disparity must be a disparity of rates of bandit .there is none., got ''"),
        (DESK, {"disparity": "points"}, "disparity must be .* desk .gap., got 'points'"),
    ],
)
def test_what_cannot_be_learned_is_refused(env, settings, message):
    learner = algorithms.get("elbert-po")(**settings)
    with pytest.raises(FairgymError, match=message):
        learner.init(jax.random.key(0), env, Objective.direct(env))
