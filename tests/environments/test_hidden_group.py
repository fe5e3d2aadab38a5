"""Agents that are not to see groups: what they see tells next to nothing about a person's group."""

import functools
from typing import Any

import jax
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

import fairgym
from fairgym.core import EndsAfter, rollout
from fairgym.policies import fixed_policies

MONTHS = 30
POLICIES = {
    "loan": "published_fixed_policy",
    "loan_simple": "published_fixed_policy",
    "education": "plausible_fixed_policy",
}


@functools.cache
def told(name: str, observe_group: bool) -> dict[str, float]:
    """Area under the ROC curve, by agent, of a tree that is to tell the group of a person."""
    env: Any = fairgym.make(name, population=2_000, horizon=50, observe_group=observe_group)
    # half of the people are of either group
    half = "minority_share" if name == "education" else "disadvantaged_share"
    params = env.default_params.replace(**{half: 0.5})
    policies = fixed_policies(env, env.baselines[POLICIES[name]])
    state = rollout(EndsAfter(env, MONTHS), params, policies, jax.random.key(0)).final_state
    group, found = np.asarray(state.group), {}
    for agent, seen in env.observe(state, params).items():
        mask, features = np.asarray(seen.mask), np.asarray(seen.features)
        rows = np.asarray(state.applicants) if mask.size < env.population else slice(None)
        x, y = features[mask], group[rows][mask]
        if y.size < 200:
            continue
        half = np.random.default_rng(0).permutation(y.size) < y.size // 2
        tree: Any = DecisionTreeClassifier(max_depth=5, min_samples_leaf=20, random_state=0)
        chance = tree.fit(x[half], y[half]).predict_proba(x[~half])[:, 1]
        found[agent] = float(roc_auc_score(y[~half], chance))
    return found


@pytest.mark.parametrize("name", POLICIES)
def test_a_group_that_is_not_observed_cannot_be_told(name):
    """0.5 is chance; scores and records of the groups differ a little, as in the data."""
    seen, hidden = told(name, True), told(name, False)
    assert len(seen) >= 2 and seen.keys() == hidden.keys()
    for agent in seen:
        assert seen[agent] == 1.0
        assert hidden[agent] < 0.7, agent
