"""What hand-written agents reach in the epidemic."""

import jax
import numpy as np
import pytest

import fairgym
from fairgym.core import rollout
from fairgym.policies import fixed_policies


@pytest.fixture(scope="module")
def reached():
    """Mean components and measures at the end of 300 episodes of each baseline."""
    env = fairgym.make("epidemic")
    params = env.default_params
    policies = {name: fixed_policies(env, given) for name, given in env.baselines.items()}

    @jax.jit
    def run(keys):
        def one(key, policies):
            episode = rollout(env, params, policies, key)
            values = {name: m.value(episode.totals) for name, m in env.metrics.items()}
            return values | {"wasted": episode.totals.wasted}

        return {
            name: jax.vmap(lambda key, p=chosen: one(key, p))(keys)
            for name, chosen in policies.items()
        }

    return jax.tree.map(np.asarray, run(jax.random.split(jax.random.key(0), 300)))


class TestWhatIsReached:
    """Mean shares not infected that simulations of the authors' code give."""

    @pytest.mark.parametrize(
        ("baseline", "known"),
        [
            ("nobody", 0.080),
            ("random_susceptible", 0.179),
            ("most_exposed", 0.198),
            ("highest_degree", 0.271),
            ("random", 0.118),
        ],
    )
    def test_the_share_not_infected(self, reached, baseline, known):
        shares = reached[baseline]["not_infected"]
        error = float(shares.std()) / len(shares) ** 0.5
        assert error < 0.006
        assert shares.mean() == pytest.approx(known, abs=5 * error)

    def test_only_random_vaccines_are_wasted(self, reached):
        wasted = {name: float(found["wasted"].mean()) for name, found in reached.items()}
        assert wasted.pop("random") > 15 and not any(wasted.values())

    def test_health_is_bought_with_unfairness(self, reached):
        gap = {name: -found["vaccine_disparity"].mean() for name, found in reached.items()}
        apart = {name: -found["health_distance"].mean() for name, found in reached.items()}
        assert gap["nobody"] == 0.0
        for values in (gap, apart):
            assert values["highest_degree"] > 2 * values["most_exposed"]
