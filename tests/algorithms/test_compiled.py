"""Runs that differ in numbers share a program, which gives what a program of their own gives."""

import dataclasses

import equinox as eqx
import jax
import numpy as np
import pytest
from learners import ENV, FIXED, learner
from toys import Toy

from fairgym.algorithms import algorithms
from fairgym.fairness import Objective

TRACED = []


@dataclasses.dataclass(frozen=True)
class Counted(Toy):
    """The toy, which tells how often one of its steps was traced."""

    def transition(self, noise, state, actions, params):
        TRACED.append(1)
        return super().transition(noise, state, actions, params)


COUNTED = Counted(population=8, horizon=5, places=3)


def traced(some, objective):
    """How often a step is traced by an update."""
    state = some.init(jax.random.key(0), COUNTED, objective, fixed=FIXED)
    TRACED.clear()
    some.update(state)
    return len(TRACED)


def test_numbers_share_a_program_and_sizes_do_not():
    weights = {"treated_rate": 1.0, "treated_disparity": 0.5}
    first = Objective.weighted(COUNTED, weights)
    assert traced(learner("f-mappo"), first) > 0
    other = Objective.weighted(COUNTED, {**weights, "treated_rate": -2.0})
    changed = learner("f-mappo", learning_rate=0.1, ent_coef=0.3, failure_penalty=0.0, epochs=9)
    assert traced(changed, other) == 0
    assert traced(learner("f-mappo", update_epochs=3), first) > 0


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("f-mappo", {"learning_rate": 0.05, "clip_eps": 0.01, "ent_coef": 0.5, "gamma": 0.3}),
        pytest.param(
            "f-maddpg", {"learning_starts": 1, "tau": 0.7, "gamma": 0.3}, marks=pytest.mark.full
        ),
    ],
)
def test_an_update_is_that_of_a_program_with_constants(name, settings):
    """The update with its own numbers as constants, compiled by itself."""
    some = learner(name, **settings)
    bounds = {"treated_disparity": 0.01}
    objective = Objective.weighted(ENV, {"treated_rate": 0.3}).bounded(bounds)
    state = some.init(jax.random.key(0), ENV, objective, fixed=FIXED)
    found, log = some.update(state)
    expected, same = eqx.filter_jit(type(some)._epoch.__wrapped__)(some, state)
    assert found.objectives == state.objectives and log.keys() == same.keys()
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(
            np.asarray(one, float), np.asarray(other, float), rtol=1e-3, atol=1e-5
        )
    plain = learner(name, learning_starts=1) if "learning_starts" in settings else learner(name)
    _, without = plain.update(plain.init(jax.random.key(0), ENV, objective, fixed=FIXED))
    assert abs(without["value_error"] - log["value_error"]) > 0.01


def test_what_decides_which_operations_there_are_is_a_constant():
    """A share of the candidates is a number of them."""
    results = []
    for share in (0.25, 0.75):
        some = algorithms.get("f-macem")(episodes_per_epoch=4, hidden=2, elite_share=share)
        state = some.init(jax.random.key(0), ENV, Objective.direct(ENV))
        results.append(np.asarray(jax.tree.leaves(some.update(state)[0].mean)[0]))
    assert not np.array_equal(*results)


def test_agents_with_equal_objectives_have_one_in_the_log():
    """Objectives that differ in a weight only are told apart, and equal ones are not."""
    some = algorithms.get("f-macem")(episodes_per_epoch=4, hidden=2)
    logs = []
    for weight in (1.0, 2.0):
        own = {a: Objective.weighted(ENV, {"treated_rate": 1.0}) for a in ENV.agents}
        own[ENV.agents[0]] = Objective.weighted(ENV, {"treated_rate": weight})
        logs.append(some.update(some.init(jax.random.key(0), ENV, own))[1])
    names = {f"objective/{agent}" for agent in ENV.agents}
    assert not names & logs[0].keys() and names <= logs[1].keys()
    first, second, *_ = (float(logs[1][f"objective/{agent}"]) for agent in ENV.agents)
    assert first == pytest.approx(2.0 * second, rel=1e-5)
