"""Disparities of experiments beside what luck alone makes."""

import numpy as np
import pytest

from fairgym import experiments as ex
from fairgym.core import make
from fairgym.fairness import Objective
from fairgym.policies import fixed_policies

ENV = make("loan", population=400, horizon=60)


def bank(relief):
    """Held-out episodes of a bank that admits everybody in random order, 100 permutations."""
    rules = {"admissions": 0.0, "disbursement": "random", "debt_management": relief}
    params = ENV.default_params.replace(bias_strength=0.0)
    return ex.held_out(ENV, params, fixed_policies(ENV, rules), 0, 24, ex.PERMUTATIONS)


def test_a_bank_that_treats_all_alike_is_as_unfair_as_luck_makes_it():
    fair = [name for name in ENV.terms if ENV.metrics[name].kind == "fair"]
    alike, apart = bank([0.3, 0.3]), bank([0.3, 0.0])
    for found, excess in ((alike, False), (apart, True)):
        objective = Objective.weighted(ENV, dict.fromkeys(fair, 1.0))
        scores = found.scored_by(objective).values("objective")
        luck = ex.by_luck(found, ENV)
        assert -1.0 < luck < 0.0
        beyond = scores.mean() - luck
        error = scores.std(ddof=1) / np.sqrt(len(scores))
        assert (beyond < -10.0 * error) if excess else (abs(beyond) < 4.0 * error)


def test_a_normaliser_is_that_of_the_episode():
    """Waits are divided by the sum of the groups' mean waits, and other disparities by nothing."""
    found = bank([0.3, 0.0])
    waits = np.asarray(found.totals.waited) / np.asarray(found.totals.disbursed)
    divisors = {"wait_disparity": waits.sum(axis=1), "admission_disparity": 1.0}
    divisors["default_disparity"] = 1.0
    expected = sum([found.nulls[n].mean(axis=1) / d for n, d in divisors.items()], np.zeros(24))
    assert waits.sum(axis=1).min() > 1.0
    assert ex.by_luck(found, ENV) == pytest.approx(expected.mean(), rel=1e-4)
