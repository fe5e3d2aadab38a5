"""With groups hidden, observations reveal almost nothing about a person's group."""

import functools
from typing import Any

import jax
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier
from tiers import in_tiers

import fairgym
from fairgym.core import rollout
from fairgym.policies import fixed_policies
from fairgym.wrappers import EndsAfter

MONTHS = 30
POLICIES: dict[str, Any] = {
    "loan": "published_fixed_policy",
    "loan_simple": "published_fixed_policy",
    "education": "plausible_fixed_policy",
    # subsidies for two regions alone, so that premiums tell who lives there
    "health": {
        "insurer": 0.5,
        "hospital": "random",
        "planner": [0.1, 0.1, 0.7, 0.1, *[0.25] * 8, 0.7, 0.3, 0.0, 0.0],
    },
}
EQUAL = {  # groups of the same size
    "loan": {"disadvantaged_share": 0.5},
    "loan_simple": {"disadvantaged_share": 0.5},
    "education": {"minority_share": 0.5},
    "health": {},
}


@functools.cache
def told(name: str, observe_group: bool) -> dict[str, float]:
    """Area under the ROC curve, by agent, of a tree that is to tell the group of a person.

    Of more than two groups it is the mean over them, each against the others.
    """
    env: Any = fairgym.make(name, population=2_000, horizon=50, observe_group=observe_group)
    params = env.default_params.replace(**EQUAL[name])
    rule = POLICIES[name]
    policies = fixed_policies(env, env.spec.baselines[rule] if isinstance(rule, str) else rule)
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
        chance = tree.fit(x[half], y[half]).predict_proba(x[~half])
        chance = chance[:, 1] if len(env.spec.groups) == 2 else chance
        found[agent] = float(roc_auc_score(y[~half], chance, multi_class="ovr"))
    return found


@pytest.mark.parametrize("name", in_tiers(POLICIES))
def test_a_group_that_is_not_observed_cannot_be_told(name):
    """0.5 is chance; scores and records of the groups differ a little, as in the data."""
    seen, hidden = told(name, True), told(name, False)
    assert len(seen) >= 2 and seen.keys() == hidden.keys()
    for agent in seen:
        assert seen[agent] == 1.0
        assert hidden[agent] < 0.7, agent
