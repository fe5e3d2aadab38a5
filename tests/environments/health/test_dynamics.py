"""The formulas against closed forms and independent NumPy arithmetic."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgym.data.populations import health
from fairgym.environments._common.moves import improvement_probability
from fairgym.environments.health import HealthParams, dynamics

PARAMS = HealthParams()
settings.register_profile("health", max_examples=60)
settings.load_profile("health")


def floats(low, high):
    """Numbers that float32 can hold."""
    return st.floats(low, high, allow_subnormal=False).map(lambda x: float(np.float32(x)))


RISKS = floats(1.0, 5.0)
MONTHS = st.integers(0, 60)
INCOMES = floats(1_000.0, 400_000.0)
SIZES = st.integers(1, 14)
PREMIUMS = floats(0.01, 1_000.0)


def array(value):
    return jnp.array([value], jnp.float32)


def dies(*numbers):
    return dynamics.dies(
        *numbers,
        ceiling=PARAMS.survival_ceiling,
        base=PARAMS.survival_base,
        illness_time=PARAMS.survival_illness_time,
        wait=PARAMS.survival_wait,
        health_risk=PARAMS.survival_risk,
        offset=PARAMS.survival_offset,
    )


def accepts(income, size, premium):
    return dynamics.accepts(income, size, premium, months=PARAMS.months_of_premium_per_income)


# ------------------------------------------------------------------------- illness


@pytest.mark.parametrize(
    ("insured", "risk", "chance"),
    [(True, 1.0, 0.08), (True, 5.0, 0.4), (False, 1.0, 0.48), (False, 5.0, 0.8)],
)
def test_known_chances_of_illness(insured, risk, chance):
    found = dynamics.falls_ill(
        jnp.array([insured]), array(risk), PARAMS.illness_uninsured, PARAMS.illness_risk
    )
    assert float(found[0]) == pytest.approx(chance, abs=1e-6)


@pytest.mark.parametrize(("months", "chance"), [(1, 0.813), (2, 0.661), (3, 0.538), (6, 0.289)])
def test_known_ends(months, chance):
    found = dynamics.illness_ends(array(months), PARAMS.end_base, PARAMS.end_illness_time)
    assert float(found[0]) == pytest.approx(chance, abs=5e-4)


@pytest.mark.parametrize(
    ("ill", "waited", "risk", "chance"),
    [
        (1, 0, 3.0, 0.144),
        (1, 0, 1.0, 0.0204),  # "0.98 for a healthy person treated at once"
        (1, 1, 3.0, 1.02**8 - 0.96),
        (3, 2, 4.0, 1.02**20 - 0.96),
        (10, 10, 5.0, 1.0),
        (60, 60, 5.0, 1.0),
    ],
)
def test_known_mortality(ill, waited, risk, chance):
    found = dies(array(ill), array(waited), array(risk))
    assert float(found[0]) == pytest.approx(chance, abs=5e-4)


@given(MONTHS, MONTHS, RISKS, st.sampled_from(["ill", "waited", "risk"]))
def test_more_of_anything_bad_kills_more(ill, waited, risk, which):
    numbers = {"ill": ill, "waited": waited, "risk": risk}
    worse, later, riskier = (value + (name == which) for name, value in numbers.items())
    before = dies(array(ill), array(waited), array(risk))
    after = dies(array(worse), array(later), array(riskier))
    assert float(after[0]) > float(before[0]) or float(after[0]) == 1.0


# ------------------------------------------------------------------------- insurance


def test_what_costs_nothing_is_accepted():
    assert float(accepts(array(1_000.0), array(7), array(0.0))[0]) == 1.0
    nearly = accepts(array(1_000.0), array(7), array(1e-30))
    assert float(nearly[0]) == pytest.approx(1.0)


def test_known_acceptance():
    """24,000 a year for two, 500 a month: 1 - exp(-2); read literally 1 - exp(-24)."""
    income, size, premium = array(24_000.0), array(2), array(500.0)
    assert float(accepts(income, size, premium)[0]) == pytest.approx(1 - np.exp(-2), abs=1e-6)
    assert float(dynamics.accepts(income, size, premium, 1.0)[0]) == pytest.approx(1.0, abs=1e-6)


@given(INCOMES, SIZES, st.sampled_from(["dearer", "richer", "larger"]))
def test_the_direction_of_acceptance(income, size, what):
    richer = 2.0 * income if what == "richer" else income
    larger = 2 * size if what == "larger" else size
    dearer = 400.0 if what == "dearer" else 200.0
    before = float(accepts(array(income), array(size), array(200.0))[0])
    after = float(accepts(array(richer), array(larger), array(dearer))[0])
    assert (after - before) * (1 if what == "richer" else -1) >= 0.0


# ------------------------------------------------------------------------- the planner's money


def test_an_even_split_of_half_the_budget_improves_nearly_as_much_as_all():
    """An eighth of B in each region: V x = 8, P = 0.6828; without money 0.2972."""
    found = improvement_probability(
        jnp.array([0.0, 2.5e8 / 8, 2.5e8]), base=0.29, gain=0.4, slope=16 * 4 / 2.5e8, shift=-4.0
    )
    np.testing.assert_allclose(found, [0.2972, 0.6828, 0.69], atol=1e-4)


def test_what_moves_is_what_the_risk_is_fitted_on_as_movable():
    assert tuple(dynamics.MOVES) == health.MOVABLE


@pytest.mark.parametrize("name", dynamics.MOVES)
def test_improvements_lower_the_risk(name):
    """More income, less distress: better for the person, in the fitted score too."""
    from fairgym.data import load_population

    move = dynamics.MOVES[name]
    better = move.better * getattr(PARAMS, move.change)
    score = load_population("health").scores["health_risk"]
    assert float(better) * score.coefficients.get(name, 0.0) <= 0.0
    expected = {"personal_income": 500.0, "family_income": 500.0, "poverty_level": 2.0}
    assert float(better) == pytest.approx(expected.get(name, -0.2))


def test_a_smaller_country_is_the_same_country():
    """Money, beds and base cost in proportion; a bed serves as many, so it takes longer."""
    small = PARAMS.at_population(1_000)
    assert small.planner_budget == pytest.approx(2.5e7)
    assert small.beds_at_start == 30
    assert small.bed_base_cost == pytest.approx(3e6)
    assert small.build_bed_time == pytest.approx(5.0)
    assert PARAMS.at_population(10_000) == PARAMS
    for name in ("bed_cost", "hospital_cost", "max_premium", "build_base_time", "improve_slope"):
        assert getattr(small, name) == getattr(PARAMS, name)
