"""Measures of the last steps against NumPy."""

import dataclasses
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from toys import ToyComponents

import fairgym
from fairgym.core import FairgymError, Memory, Struct, no_components
from fairgym.fairness import Direct, Disparity, Distance, Rate, Windowed
from fairgym.policies import fixed_policies
from fairgym.wrappers import augmented


class Rows(Struct):
    """Components of each step."""

    tries: Any
    hits: Any


STEPS = 25
GAP = Disparity(Rate("hits", "tries"))
RNG = np.random.default_rng(0)
TRIES = RNG.integers(0, 4, (STEPS, 2)).astype(np.float32)
HITS = RNG.binomial(TRIES.astype(int), [0.7, 0.4]).astype(np.float32)


@pytest.mark.parametrize("steps", [0, 1, 4, 40])
def test_the_metric_of_the_last_steps_or_of_as_many_as_there_were(steps):
    measure = Windowed(GAP, steps)

    @jax.jit
    def run(tries, hits):
        def step(memory, row):
            components = SimpleNamespace(tries=row[0], hits=row[1])
            after = measure.value_after(measure.remaining(memory), components)
            memory = measure.update(memory, components)
            return memory, (measure.value(memory), after)

        first = measure.initial(SimpleNamespace(tries=tries[0], hits=hits[0]))
        return lax.scan(step, first, (tries, hits))[1]

    found, after = run(TRIES, HITS)
    expected = []
    for end in range(1, STEPS + 1):
        start = max(0, end - steps) if steps else 0
        tries, hits = TRIES[start:end].sum(0), HITS[start:end].sum(0)
        rates = np.where(tries > 0, hits / np.maximum(tries, 1), 0.0)
        expected.append(-abs(rates[0] - rates[1]))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_array_equal(found, after)
    trace = Rows(tries=jnp.array(TRIES), hits=jnp.array(HITS))
    np.testing.assert_array_equal(jax.jit(measure.of_trace)(trace), found)


def test_only_what_the_metric_is_made_of_is_kept():
    like = SimpleNamespace(scores=jnp.zeros((2, 7)), profit=jnp.zeros(()))
    assert isinstance(Windowed(GAP, 3), Memory)
    rows, _ = Windowed(Distance("scores"), 3).initial(like)
    assert {name: row.shape for name, row in rows.items()} == {"scores": (3, 2, 7)}


def test_of_a_metric_of_ones_own_everything_is_kept():
    class Own(Direct):
        """A metric of an unknown kind."""

        def value(self, totals):
            return jnp.sum(totals.hits) - jnp.sum(totals.tries)

    like = ToyComponents(
        **{
            name: jnp.ones((2,)) if info.per else jnp.ones(())
            for name, info in ToyComponents.info().items()
        }
    )
    rows, _ = Windowed(Own(""), 2).initial(like)
    assert set(rows) == set(ToyComponents.info())


@pytest.mark.parametrize(
    ("name", "window", "high", "components"),
    [
        ("bank_loans", 300, 300, ("successful", "would_repay")),
        ("attention", 300, 1800, ("sent",)),
        ("epidemic", 0, 9, ("newly_infected", "vaccinated")),
    ],
)
def test_agents_are_shown_the_sums_of_the_window(name, window, high, components):
    """Against NumPy sums over a trace, of the system's window and of a shorter one."""
    env = fairgym.make(name, horizon=9)
    params, nothing = env.default_params, no_components(env, env.default_params)
    policies = fixed_policies(env, dict.fromkeys(env.agents, "random"))
    key = jax.random.key(0)
    trace = fairgym.rollout(env, params, policies, key, trace=True, memories={}).trace
    rows = np.concatenate([np.array(getattr(trace, one)) for one in components], axis=1)
    env_state, (agent,) = env.initial_state(key, params), env.agents
    for steps, most in ((window, high), (4, 4 * env.spec.memories["window"].most)):
        measure = dataclasses.replace(env.spec.memories["window"], steps=steps)
        augment = augmented(env, measure)
        features = augment.observation_space(agent).context[-rows.shape[1] :]
        assert {one.high for one in features} == {most}
        names = [one.name.removeprefix("window_").rsplit("_", 1)[0] for one in features]
        assert list(dict.fromkeys(names)) == list(components)
        memory, update = measure.initial(nothing), jax.jit(measure.update)
        for end in range(1, 10):
            memory = update(memory, jax.tree.map(lambda x, row=end - 1: x[row], trace))
            seen = augment.show(env_state, memory, params)[agent].context[-rows.shape[1] :]
            start = max(0, end - steps) if steps else 0
            np.testing.assert_allclose(seen, rows[start:end].sum(axis=0))
    assert rows.any()


def test_numbers_below_zero_have_a_range_on_both_sides():
    env = fairgym.make("bank_loans", horizon=9)
    (feature,) = Windowed(Direct("profit"), 5, most=2.0).features(env)[1]
    assert (feature.name, feature.low, feature.high) == ("window_profit", -10.0, 10.0)
    assert feature.unit == "dollars" and "in the last 5 steps" in feature.source


def test_no_step_is_worth_less_than_nothing():
    with pytest.raises(FairgymError, match=r"most must be a number from 0.*got -1\.0"):
        Windowed(GAP, 3, most=-1.0)


@pytest.mark.parametrize("steps", [-1, True])
def test_what_cannot_be_is_refused(steps):
    with pytest.raises(FairgymError, match=f"steps must be a whole number from 0.*got {steps}"):
        Windowed(GAP, steps)
