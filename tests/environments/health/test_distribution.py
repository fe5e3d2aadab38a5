"""How often things happen: 100,000 people through `transition`, within five standard errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.data import load_population
from fairgym.environments.health import HealthNoise

PEOPLE = 100_000
HEALTHY, WAITING, IN_HOSPITAL = range(3)
EVEN = [0.25] * 4


@pytest.fixture(scope="module")
def crowd():
    return fairgym.make("health", population=PEOPLE, horizon=20)


@pytest.fixture(scope="module")
def params(crowd):
    """Beds for all, and people drawn as they are in the data."""
    return crowd.default_params.replace(beds_at_start=1e6, bias_strength=0.0)


@pytest.fixture(scope="module")
def month(crowd, params):
    """One month from `state`: `month(state, seed, **actions)`."""
    draw, transition = jax.jit(crowd.noise), jax.jit(crowd.transition)

    def run(state, seed, params=params, premium=1.0, planner=EVEN * 4):
        actions = {
            "insurer": jnp.full((PEOPLE,), premium),
            "hospital": jnp.zeros((PEOPLE,)),
            "planner": jnp.array(planner),
        }
        return transition(draw(jax.random.key(seed), params), state, actions, params)

    return run


@pytest.fixture(scope="module")
def fresh(crowd, params):
    return jax.jit(crowd.initial_state)(jax.random.key(0), params)


def alike(state, risk, income=40_000.0, size=2.0):
    """The same number of people, all of this risk (by their age), income and family size."""
    score = load_population("health").scores["health_risk"]
    data = {name: np.zeros(PEOPLE) for name in state.data}
    data["personal_income"] = data["family_income"] = np.full(PEOPLE, income)
    data["family_size"] = np.full(PEOPLE, size)
    others = float(score.intercept) + sum(
        weight * float(data[name][0]) for name, weight in score.coefficients.items()
    )
    data["age"] = np.full(PEOPLE, (risk - others) / score.coefficients["age"])
    return state.replace(data={n: jnp.asarray(v, jnp.float32) for n, v in data.items()})


def at(state, now, **fields):
    """The state in another month, with one value in each of these fields."""
    changed = {n: jnp.full_like(getattr(state, n), value) for n, value in fields.items()}
    return state.replace(time=jnp.int32(now), **changed)


def require_frequency(count, chance, draws=PEOPLE):
    error = np.sqrt(chance * (1.0 - chance) / draws)
    assert abs(float(count) / draws - chance) <= 5.0 * error + 1e-5, (float(count) / draws, chance)


# ------------------------------------------------------------------------- illness


@pytest.mark.parametrize("insured", [True, False])
@pytest.mark.parametrize("risk", [1.0, 2.8, 5.0])
def test_falling_ill(fresh, month, insured, risk):
    """With the draw of the start, and with the draw that a month leaves for the next."""
    expected = 0.4 * (not insured) + 0.08 * risk
    state = at(alike(fresh, risk), 1, insured=insured)
    _, components, _ = month(state, 0)
    assert components.healthy.sum() == PEOPLE
    require_frequency(components.fell_ill.sum(), expected)
    drawn = month(state, 1)[0].illness_uniform
    _, components, _ = month(state.replace(illness_uniform=drawn), 2)
    require_frequency(components.fell_ill.sum(), expected)


def test_the_ill_do_not_fall_ill(fresh, month):
    for stage in (WAITING, IN_HOSPITAL):
        state = at(alike(fresh, 5.0), 1, stage=stage)
        _, components, _ = month(state, 0)
        assert components.fell_ill.sum() == components.healthy.sum() == 0


@pytest.mark.parametrize("risk", [1.0, 3.0, 5.0])
@pytest.mark.parametrize(
    ("ill_since", "admitted"), [(4, 4), (2, 4), (0, 3), (1, None), (4, None), (0, 0)]
)
def test_the_end_of_an_illness(fresh, month, params, risk, ill_since, admitted):
    """In month 4, so in its month 5 - ill_since; admitted then, earlier, or still waiting."""
    stage = WAITING if admitted in (None, 4) else IN_HOSPITAL
    state = at(alike(fresh, risk), 4, stage=stage, ill_since=ill_since, bed_since=admitted or 0)
    if admitted is None:
        state, params = at(state, 4, beds=0.0), params.replace(beds_at_start=0.0)
    after, components, _ = month(state, 10 * ill_since + int(risk), params)
    time_ill = 5 - ill_since
    waited = time_ill if admitted is None else admitted - ill_since
    end = 1.03 ** (-7 * time_ill)
    death = np.clip(1.02 ** (3 * time_ill + 3 * waited + 3 * risk - 7) - 0.96, 0.0, 1.0)
    ended = int(components.illnesses_ended.sum())
    require_frequency(ended, end)
    require_frequency(components.died.sum(), end * death)
    require_frequency(components.died.sum(), death, draws=ended)
    assert int((after.stage == HEALTHY).sum()) == ended
    left = WAITING if admitted is None else IN_HOSPITAL
    assert int((after.stage == left).sum()) == PEOPLE - ended


# ------------------------------------------------------------------------- coverage


@pytest.mark.parametrize(
    ("income", "size", "premium"),
    [(1_000.0, 7.0, 1.0), (12_000.0, 1.0, 1.0), (30_000.0, 2.0, 0.5), (90_000.0, 4.0, 0.8)],
)
def test_coverage(fresh, month, income, size, premium):
    after, components, _ = month(
        alike(fresh, 3.0, income, size), 3, premium=premium, planner=[0.0, 0.0, 0.0, 1.0, *EVEN * 3]
    )
    expected = 1.0 - np.exp(-income / (12.0 * 1_000.0 * premium * size))
    require_frequency(components.insured.sum(), expected)
    np.testing.assert_allclose(after.premium, 1_000.0 * premium)


def test_coverage_with_subsidies(fresh, month):
    """People alike share their region's money evenly; each region has another amount."""
    split = [0.1, 0.2, 0.4, 0.3]
    state = alike(fresh, 3.0, 20_000.0, 2.0)
    planner = [0.0, 0.0, 1.0, 0.0, *EVEN, *EVEN, *split]
    _, components, _ = month(state, 4, planner=planner)
    sizes = np.bincount(state.group, minlength=4)
    # at_population keeps 25,000 dollars a head and cycle
    monthly = 25_000.0 * PEOPLE * np.array(split) / sizes / 6.0
    premium = np.maximum(1_000.0 - monthly, 0.0)
    assert (premium == 0.0).any()
    for g in range(4):
        burden = 12.0 * premium[g] * 2.0
        expected = 1.0 if burden == 0.0 else 1.0 - np.exp(-20_000.0 / burden)
        require_frequency(components.insured[g], expected, draws=sizes[g])


def test_coverage_is_drawn_once_a_cycle(fresh, month):
    state = alike(fresh, 1.0)
    covered, _, _ = month(state, 5)
    for now in range(1, 6):
        state = covered.replace(time=jnp.int32(now), stage=jnp.zeros_like(covered.stage))
        after, components, _ = month(state, 5 + now)
        lost = np.asarray(covered.insured) & ~np.asarray(after.insured)
        assert lost.sum() <= components.died.sum()
        assert not np.any(np.asarray(after.insured) & ~np.asarray(covered.insured))
    again, _, _ = month(covered.replace(time=jnp.int32(6)), 20)
    both = np.asarray(covered.insured).mean() * np.asarray(again.insured).mean()
    require_frequency((np.asarray(covered.insured) & np.asarray(again.insured)).sum(), both)


# ------------------------------------------------------------------------- public health


@pytest.mark.parametrize("split", [EVEN, [0.0, 0.1, 0.2, 0.7]])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_features_move(fresh, month, split, share):
    """In each region by its own money, all features of a person in one direction."""
    state = alike(fresh, 3.0, 40_000.0)
    middle = {name: column + 2.0 for name, column in state.data.items()}
    state = state.replace(data=middle)
    planner = [0.0, share, 0.0, 1.0 - share, *EVEN, *split, *EVEN]
    # nobody falls ill, so nobody is replaced
    after, components, _ = month(
        state.replace(illness_uniform=jnp.ones_like(state.illness_uniform)), 6, planner=planner
    )
    assert components.died.sum() == 0
    signs = {
        name: np.sign(np.round(np.asarray(after.data[name]) - np.asarray(column), 3))
        for name, column in middle.items()
    }
    direction = signs["poverty_level"]
    group = np.asarray(state.group)
    for name, sign in signs.items():
        if name in ("personal_income", "family_income", "poverty_level"):
            np.testing.assert_array_equal(sign, direction, name)
        elif name in ("effort", "nervous", "restless", "hopeless", "sad", "worthless"):
            np.testing.assert_array_equal(sign, -direction, name)
        else:
            assert not sign.any(), name
    for g in range(4):
        improve = 0.29 + 0.4 / (1 + np.exp(-(16 * 4 * share * split[g] - 4)))
        here, draws = direction[group == g], (group == g).sum()
        require_frequency((here == 1).sum(), improve, draws)
        require_frequency((here == 0).sum(), 0.2, draws)
        require_frequency((here == -1).sum(), 0.8 - improve, draws)


# ------------------------------------------------------------------------- newcomers


def test_newcomers_are_people_of_the_region(fresh, month, params):
    """Everybody dies; who comes has the data's means, to five errors of 4,096 candidates."""
    data = load_population("health")
    state = at(alike(fresh, 5.0), 1, stage=WAITING, ill_since=-60, beds=0.0)
    certain = params.replace(end_illness_time=0.0)
    after, components, ended = month(state, 7, certain)
    assert components.died.sum() == PEOPLE
    assert bool(ended)  # nobody is left of those who lived
    assert not after.stage.any() and not after.insured.any()
    assert np.array_equal(after.group, state.group)
    region, group = np.asarray(data.columns["group"]), np.asarray(state.group)
    for g in range(4):
        for name in ("age", "female", "family_size", "education_years", "race_black"):
            here = np.asarray(data.columns[name], np.float64)[region == g]
            found = np.asarray(after.data[name], np.float64)[group == g]
            error = here.std() * np.sqrt(1 / 4_096 + 1 / len(found))
            assert abs(found.mean() - here.mean()) < 5.0 * error, (g, name)
        # they are rows of the data, not mixtures of rows
        rows = set(zip(*(np.asarray(data.columns[n])[region == g] for n in FIXED), strict=True))
        born = zip(*(np.asarray(after.data[n])[group == g] for n in FIXED), strict=True)
        assert set(born) <= rows


FIXED = ("age", "female", "family_size", "race_black", "education_years", "smokes_now")


# ------------------------------------------------------------------------- the noise


def test_the_kinds_of_noise_are_independent(crowd, params):
    """Uniform in [0, 1), uncorrelated among themselves and from month to month."""
    noise = [crowd.noise(jax.random.key(seed), params) for seed in (0, 1)]
    assert all(isinstance(drawn, HealthNoise) for drawn in noise)
    columns = np.stack([np.asarray(x) for drawn in noise for x in jax.tree.leaves(drawn)])
    assert columns.shape == (12, PEOPLE)
    assert columns.min() >= 0.0 and columns.max() < 1.0
    correlation = np.corrcoef(columns) - np.eye(12)
    assert np.abs(correlation).max() < 5.0 / np.sqrt(PEOPLE)
    for column in columns:
        assert abs(column.mean() - 0.5) < 5.0 * np.sqrt(1 / 12 / PEOPLE)
        assert abs((column < 0.1).mean() - 0.1) < 5.0 * np.sqrt(0.09 / PEOPLE)
