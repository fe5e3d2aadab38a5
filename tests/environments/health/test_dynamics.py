"""The formulas against closed forms and independent NumPy arithmetic."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgym.data.populations import health
from fairgym.environments._common.moves import improvement_probability
from fairgym.environments._common.schedule import Construction
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


@given(RISKS, st.booleans(), floats(0.0, 0.6), floats(0.0, 0.4))
def test_who_falls_ill(risk, insured, uninsured, slope):
    """Equation (10), whatever the parameters."""
    found = float(dynamics.falls_ill(jnp.array([insured]), array(risk), uninsured, slope)[0])
    assert found == pytest.approx(uninsured * (1 - insured) + slope / 5 * risk, abs=1e-6)
    assert 0.0 <= found <= 1.0


@pytest.mark.parametrize(
    ("insured", "risk", "chance"),
    [(True, 1.0, 0.08), (True, 5.0, 0.4), (False, 1.0, 0.48), (False, 5.0, 0.8)],
)
def test_known_chances_of_illness(insured, risk, chance):
    found = dynamics.falls_ill(
        jnp.array([insured]), array(risk), PARAMS.illness_uninsured, PARAMS.illness_risk
    )
    assert float(found[0]) == pytest.approx(chance, abs=1e-6)


@given(st.integers(1, 60))
def test_the_end_of_an_illness(months):
    """Equation (13) with C = 0, D = 1.03, E = -7."""
    found = float(dynamics.illness_ends(array(months), PARAMS.end_base, PARAMS.end_illness_time)[0])
    assert found == pytest.approx(1.03 ** (-7 * months), rel=1e-4)


@pytest.mark.parametrize(("months", "chance"), [(1, 0.813), (2, 0.661), (3, 0.538), (6, 0.289)])
def test_known_ends(months, chance):
    found = dynamics.illness_ends(array(months), PARAMS.end_base, PARAMS.end_illness_time)
    assert float(found[0]) == pytest.approx(chance, abs=5e-4)


@given(MONTHS, MONTHS, RISKS)
def test_the_end_that_is_a_death(ill, waited, risk):
    found = float(dies(array(ill), array(waited), array(risk))[0])
    survives = 1.96 - 1.02 ** (3 * ill + 3 * waited + 3 * risk - 7)
    assert found == pytest.approx(np.clip(1 - survives, 0, 1), abs=2e-4)
    assert 0.0 <= found <= 1.0


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


@given(INCOMES, SIZES, PREMIUMS, st.sampled_from([1.0, 12.0]))
def test_who_accepts(income, size, premium, months):
    """Equation (14), with the minus sign."""
    found = float(dynamics.accepts(array(income), array(size), array(premium), months)[0])
    assert found == pytest.approx(1 - np.exp(-income / (months * premium * size)), abs=1e-5)


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


@given(INCOMES, SIZES)
def test_subsidies_weigh_the_inverse_of_income_per_head(income, size):
    found = float(dynamics.subsidy_weight(array(income), array(size))[0])
    assert found == pytest.approx(1 / (income / size), rel=1e-5)


def test_bankrupt_below_zero():
    total = jnp.array([-0.01, 0.0, 0.01])
    assert dynamics.is_bankrupt(total).tolist() == [True, False, False]


# ------------------------------------------------------------------------- the planner's money


@given(floats(0.0, 2.5e8), floats(1e6, 1e9))
def test_public_health_money(money, budget):
    """Equation (16) with V = 16 N_g / B."""
    params = PARAMS.replace(planner_budget=budget)
    found = improvement_probability(
        array(money),
        base=params.improve_base,
        gain=params.improve_gain,
        slope=params.improve_slope * 4 / params.planner_budget,
        shift=params.improve_shift,
    )
    expected = 0.29 + 0.4 / (1 + np.exp(-(16 * 4 / budget * money - 4)))
    assert float(found[0]) == pytest.approx(expected, abs=1e-5)
    assert 0.2971 < float(found[0]) < 0.6901


def test_an_even_split_of_half_the_budget_improves_nearly_as_much_as_all():
    """An eighth of B in each region: V x = 8, P = 0.6828; without money 0.2972."""
    found = improvement_probability(
        jnp.array([0.0, 2.5e8 / 8, 2.5e8]), base=0.29, gain=0.4, slope=16 * 4 / 2.5e8, shift=-4.0
    )
    np.testing.assert_allclose(found, [0.2972, 0.6828, 0.69], atol=1e-4)


@given(floats(0.0, 2.5e8))
def test_beds_that_money_buys(money):
    """floor((money - 3e7) / 1e6), open after 2 + 0.5 beds months."""
    built = Construction.at_start(1, 200).invest(
        array(money),
        jnp.int32(0),
        base_cost=PARAMS.bed_base_cost,
        unit_cost=PARAMS.bed_cost,
        base_time=PARAMS.build_base_time,
        unit_time=PARAMS.build_bed_time,
    )
    beds = max(0, int((money - 3e7) // 1e6))
    opening = np.asarray(built.openings.amounts[0])
    assert opening.sum() == beds
    if beds:
        assert opening[min(200, int(np.ceil(2 + 0.5 * beds)))] == beds
    kept = money - (3e7 + 1e6 * beds if beds else 0.0)
    assert float(built.fund[0]) == pytest.approx(kept, abs=32.0)  # of 2.5e8, in float32


def test_what_moves_is_what_the_risk_is_fitted_on_as_movable():
    assert tuple(dynamics.MOVES) == health.MOVABLE


@pytest.mark.parametrize("name", dynamics.MOVES)
def test_improvements_lower_the_risk(name):
    """More income, less distress: better for the person, in the fitted score too."""
    from fairgym.data import load_population

    better = dynamics.MOVES[name].improvement(PARAMS)
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
