"""Large systems and variants keep what is cheap to check of the contract.

`make test-all` checks all of it.

Races are compared with the rewrite of loan (`tests/oracles`).
"""

import jax
import pytest
from tiers import in_tiers

import fairgym
from fairgym.testing import environment
from fairgym.testing._compare import Case

SMALL = {"population": 60, "horizon": 6}
FIRST = ("health", "education", "selective labels of bank loans")
VARIANTS = {
    "health": ("health", SMALL),
    "education": ("education", SMALL),
    "two banks": ("loan", {**SMALL, "banks": 2}),
    "selective labels": ("loan", {**SMALL, "selective_labels": True}),
    "selective labels of bank loans": ("bank_loans", {"horizon": 6, "selective_labels": True}),
}
CHEAP = (
    "structure and dtypes are constant",
    "observations lie inside their spaces",
    "components are as declared",
    "stages and features fit",
    "everybody is counted once",
    "same key, same bits",
    "people can be renumbered",
)
LAWS = [law for law in environment.PROPERTIES if law.name in CHEAP]


@pytest.mark.parametrize("variant", in_tiers(VARIANTS, *FIRST))
def test_a_variant_keeps_the_contract(variant):
    assert len(LAWS) == len(CHEAP)
    name, shapes = VARIANTS[variant]
    env = fairgym.make(name, **shapes)
    case = Case(env, env.default_params, jax.random.key(0), 3, {}, None)
    for law in LAWS:
        if isinstance(env, law.of):
            law.check(case)
