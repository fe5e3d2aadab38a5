"""What the paper says of the health system: interventions help, with the same seeds.

Five of five seeds, and by how much: the mean difference less its 95% half-width (Student's t, 4
degrees of freedom) is above a margin.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.core.batching import map_episodes

SEEDS = 5
# hospitals cost nothing in any arm, so that no insurer fails and all episodes are as long
ARMS = {
    "as it is": {},
    "unlimited beds": {"beds_at_start": 1e6},
    # whoever is insured falls ill as if A were 0, and coverage does nothing else to health
    "universal coverage": {"illness_uninsured": 0.0},
    "unlimited public health": {"improve_shift": 100.0},
}


BASELINES = ("premium_half_no_planner", "premium_half_uniform_planner")


@pytest.fixture(scope="module")
def rates():
    """(baseline, arm) -> (mortality, incidence) of each seed; all in one program."""
    env = fairgym.make("health", population=1_000, horizon=80)
    base = env.default_params.replace(hospital_cost=0.0)
    params = [base.replace(**changes) for changes in ARMS.values()]
    arms = jax.tree.map(lambda *x: jnp.repeat(jnp.array(x, jnp.float32), SEEDS), *params)
    keys = jnp.tile(jax.random.split(jax.random.key(0), SEEDS), len(ARMS))

    def totals(item, planner):
        params, key = item
        policies = {
            "insurer": lambda seen, key: jnp.full((env.population,), 0.5),
            "hospital": lambda seen, key: jax.random.uniform(key, (env.population,)),
            "planner": lambda seen, key: planner,
        }
        episode = fairgym.rollout(env, params, policies, key)
        return episode.totals, episode.length, episode.terminated

    run = jax.jit(lambda items, planner: map_episodes(lambda item: totals(item, planner), items))
    found = {}
    for name in BASELINES:
        specification = env.spec.baselines[name]
        assert (specification["insurer"], specification["hospital"]) == (0.5, "random")
        total, length, terminated = run((arms, keys), jnp.array(specification["planner"]))
        assert (np.asarray(length) == env.horizon).all() and not np.asarray(terminated).any()
        mortality = total.died.sum(axis=1) / total.illnesses_ended.sum(axis=1)
        incidence = total.fell_ill.sum(axis=1) / total.healthy.sum(axis=1)
        table = np.stack([mortality, incidence]).astype(np.float64).reshape(2, len(ARMS), SEEDS)
        found |= {(name, arm): table[:, place] for place, arm in enumerate(ARMS)}
    return found


# The uniform planner's subsidies insure nearly everybody already, and its public health money is
# half way up the sigmoid: there, what is left to gain is small.
@pytest.mark.full
@pytest.mark.parametrize(
    ("baseline", "arm", "what", "margin"),
    [
        (BASELINES[0], "unlimited beds", "mortality", 0.03),
        (BASELINES[0], "universal coverage", "mortality", 0.0005),
        (BASELINES[0], "universal coverage", "incidence", 0.03),
        (BASELINES[0], "unlimited public health", "mortality", 0.005),
        (BASELINES[0], "unlimited public health", "incidence", 0.012),
        (BASELINES[1], "unlimited beds", "mortality", 0.03),
        (BASELINES[1], "universal coverage", "mortality", 0.0),
        (BASELINES[1], "universal coverage", "incidence", 0.0),
        (BASELINES[1], "unlimited public health", "mortality", 0.0),
        (BASELINES[1], "unlimited public health", "incidence", 0.0005),
    ],
)
def test_interventions_help(rates, baseline, arm, what, margin):
    row = ("mortality", "incidence").index(what)
    lower = rates[baseline, "as it is"][row] - rates[baseline, arm][row]
    assert (lower > 0.0).all(), lower
    half_width = 2.776 * lower.std(ddof=1) / np.sqrt(SEEDS)
    assert lower.mean() - half_width > margin, (lower.mean(), half_width)


@pytest.mark.full
@pytest.mark.parametrize("baseline", BASELINES)
def test_the_country_without_interventions_is_a_plausible_one(rates, baseline):
    """Illness in a quarter to half of the healthy months; a fifth to a quarter of it deadly."""
    mortality, incidence = rates[baseline, "as it is"].mean(axis=1)
    assert 0.15 < mortality < 0.3
    assert 0.2 < incidence < 0.45
