"""The grid of fixed policies by forgiven share, against episodes of one policy at a time."""

import numpy as np
import pytest

from fairgym.experiments import _parts as ex
from fairgym.experiments.mafe import _relief
from fairgym.fairness import Objective
from fairgym.policies import fixed_policies
from fairgym.utils import make


@pytest.mark.full
def test_scores_are_those_of_held_out_episodes(monkeypatch):
    monkeypatch.setattr(_relief, "GRID", (_relief.PUBLISHED, _relief.NEAR))
    monkeypatch.setattr(_relief, "SHARES", (0.0, 1.0))
    monkeypatch.setattr(_relief, "EPISODES", 2)
    monkeypatch.setattr(_relief, "PEOPLE", 60)
    found = _relief.search((0, 3))
    env = make("loan", population=60)
    rules = {"admissions": 0.8, "disbursement": "random", "debt_management": _relief.NEAR}
    policies = fixed_policies(env, rules)
    for share in (0.0, 1.0):
        params = env.default_params.replace(relief_forgiven=share)
        ends = [ex.held_out(env, params, policies, seed, 2) for seed in (0, 3)]
        scored = found[share][0.8][_relief.NEAR]
        np.testing.assert_allclose(scored.score, ex.score(ends, Objective.uniform(env)), rtol=1e-4)
        assert scored.failed == pytest.approx(1.0 - ex.survival(ends).mean())
    row = _relief.table(found).rows[0]
    assert len(row) == len(_relief.table(found).head) == 5 and row[0] == "0"


def test_the_best_relief_fails_least_and_then_scores_highest():
    scored = {
        (0.1, 0.1): _relief.Scored(np.array([0.5, 0.7]), 0.5),
        (0.2, 0.2): _relief.Scored(np.array([0.1, 0.3]), 0.0),
        (0.3, 0.3): _relief.Scored(np.array([0.2, 0.1]), 0.0),
    }
    assert _relief.best(scored) == (0.2, 0.2)
    assert _relief.PUBLISHED in _relief.GRID and _relief.NEAR in _relief.GRID
