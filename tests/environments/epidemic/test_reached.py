"""Results of hand-written agents in the epidemic."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.core import rollout
from fairgym.policies import fixed_policies


@pytest.fixture(scope="module")
def reached():
    """Metrics and wasted vaccines of 300 episodes of each baseline."""
    env = fairgym.make("epidemic")
    rules = [fixed_policies(env, given)["clinic"] for given in env.spec.baselines.values()]

    def one(place, key):
        def rule(observation, key):
            """The baseline of this place; one program for all of them."""
            return jnp.stack([rule(observation, key) for rule in rules])[place]

        episode = rollout(env, env.default_params, {"clinic": rule}, key)
        values = {name: m.value(episode.totals) for name, m in env.metrics.items()}
        return values | {"wasted": episode.totals.wasted}

    keys = jax.random.split(jax.random.key(0), 300)
    every = jax.jit(jax.vmap(jax.vmap(one, (None, 0)), (0, None)))
    found = jax.tree.map(np.asarray, every(jnp.arange(len(rules)), keys))
    return {
        name: {key: values[place] for key, values in found.items()}
        for place, name in enumerate(env.spec.baselines)
    }


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
    @pytest.mark.full
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
