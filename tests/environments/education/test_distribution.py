"""What is random follows the distributions of the source: 100,000 people through `transition`.

Every comparison allows five standard errors.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import fairgym

PEOPLE = 100_000
USES: list[str] = ["infrastructure", "salaries", "scholarships", "mentorship", "rollover"]
ALL_TO = dict(zip(USES, np.eye(5, dtype=np.float32), strict=True))
EVEN = np.array([1 / 3] * 3 + [1 / 9] * 9, np.float32)
UNIVERSITY, WORKFORCE = 1, 2


@pytest.fixture(scope="module")
def many():
    """A country in which everybody applies, and its compiled functions."""
    env = fairgym.make("education", population=PEOPLE, horizon=30, applicants=PEOPLE)
    params = env.default_params.replace(units_at_start=2_000.0, pass_length=25.0)
    programs = {
        "transition": jax.jit(env.transition),
        "noise": jax.jit(env.noise),
        "people": jax.jit(env.people),
    }
    state = jax.jit(env.initial_state)(jax.random.key(0), params)
    return env, params, state, programs


def semester(many, params, state, university="rollover", planner=EVEN, key=1):
    """`(state after it, components)` with all of the university's money for one thing."""
    _, _, _, programs = many
    noise = programs["noise"](jax.random.key(key), params)
    actions = {
        "admissions": jnp.zeros(PEOPLE),
        "university": jnp.asarray(ALL_TO[university]),
        "employer": jnp.zeros(PEOPLE),
        "planner": jnp.asarray(planner),
    }
    after, components, _ = programs["transition"](noise, state, actions, params)
    return after, components


def numbers(state, name):
    return np.asarray(getattr(state, name), np.float64)


# ------------------------------------------------------------------------------- grades


def uniform_in(values, low, high):
    """A sample of the uniform distribution: ends, mean, shape."""
    assert len(values) > 5_000
    assert values.min() > low - 1e-5
    assert values.max() < high + 1e-5
    error = (high - low) / np.sqrt(12 * len(values))
    assert abs(values.mean() - (low + high) / 2) < 5 * error
    assert stats.kstest(values, stats.uniform(low, high - low).cdf).pvalue > 1e-6


@pytest.mark.parametrize(
    ("money", "reserve", "minority", "majority"),
    [
        ("rollover", 1e10, 0.0, 0.0),
        # a scholarship of a quarter is not large, of the whole tuition it is
        ("a quarter", 0.0, 0.025, 0.025),
        ("scholarships", 1e10, 0.1 + 0.2, 0.1 + 0.2),
        ("mentorship", 1e10, 0.3 + 0.2, 0.0),
    ],
)
def test_entering_grades(many, money, reserve, minority, majority):
    """f(u) + a window of 0.8, moved by scholarships and mentors (equation 20).

    Nobody carries a residual here, so that no grade is cut at 4.
    """
    _, params, state, programs = many
    if money == "a quarter":
        # the tuition is all that comes in; with this debt a quarter of it is left to spend
        money, reserve = "scholarships", -0.75 * PEOPLE * params.tuition
    state = state.replace(account=jnp.float32(reserve), residual=jnp.zeros_like(state.residual))
    planner = EVEN * np.array([1.5, 0.0, 1.5] + [1.0] * 9, np.float32)
    after, components = semester(many, params, state, money, planner)
    assert float(components.entered.sum()) == PEOPLE
    baseline = np.asarray(programs["people"](state)["baseline_gpa"], np.float64)
    added = numbers(after, "semester_gpa") - baseline
    group = np.asarray(state.group)
    for g, centre in ((0, majority), (1, minority)):
        uniform_in(added[group == g], centre - 0.4, centre + 0.4)
    np.testing.assert_allclose(numbers(after, "gpa"), numbers(after, "semester_gpa"), atol=1e-6)


def students(many, gpa, semesters):
    """Everybody is a student with this GPA in this semester of their studies, from 0."""
    state = many[2]
    everybody = jnp.ones(PEOPLE, jnp.int32)
    return state.replace(
        time=jnp.int32(semesters),
        stage=everybody * UNIVERSITY,
        applying=state.applying & False,
        entered_at=everybody * 0,
        gpa=everybody * jnp.float32(gpa),
        semester_gpa=everybody * jnp.float32(gpa),
    )


def test_grades_drift(many):
    """Uniform in (-0.25, 0.25) around the last semester's; the mean moves by a share of it."""
    _, params, _, _ = many
    after, _ = semester(many, params, students(many, 2.0, 3))
    drift = numbers(after, "semester_gpa") - 2.0
    uniform_in(drift, -0.25, 0.25)
    np.testing.assert_allclose(numbers(after, "gpa") - 2.0, drift / 4.0, atol=1e-5)


# ------------------------------------------------------------------------------- leaving


@pytest.mark.parametrize("gpa", [1.0, 2.8, 4.0])
@pytest.mark.parametrize(
    ("tuition", "semesters"), [(1.0, 0), (0.0, 0), (1.0, 5), (0.0, 12), (1.0, 18)]
)
def test_leaving_frequency(many, gpa, tuition, semesters):
    """Equation (21) at its own point: nobody's grades move in this semester."""
    _, params, _, _ = many
    params = params.replace(gpa_drift=0.0)
    state = students(many, gpa, semesters).replace(account=jnp.float32(1e10))
    money = "rollover" if tuition == 1.0 else "scholarships"
    after, _ = semester(many, params, state, money, key=semesters)
    assert float(after.tuition_share) == tuition
    left = (np.asarray(after.stage) == WORKFORCE).sum()
    chance = 1 / (1 + np.exp(gpa - 0.5 * tuition + 0.05 * semesters - 0.001 * semesters**2))
    assert abs(left - PEOPLE * chance) < 5 * np.sqrt(PEOPLE * chance * (1 - chance))


def test_leaving_does_not_depend_on_grades_to_come(many):
    """Leaving, grades and moves are drawn independently of each other."""
    _, params, _, _ = many
    after, _ = semester(many, params, students(many, 2.0, 0))
    left = np.asarray(after.stage) == WORKFORCE
    gpa = numbers(after, "gpa")
    chance = 1 / (1 + np.exp(gpa - 0.5))
    for half in (gpa < 2.0, gpa >= 2.0):
        expected, variance = chance[half].sum(), (chance * (1 - chance))[half].sum()
        assert abs(left[half].sum() - expected) < 5 * np.sqrt(variance)
    hours = np.asarray(after.data["hours_per_week"]) - np.asarray(many[2].data["hours_per_week"])
    for other in (gpa, hours):
        residual = (left - chance) / np.sqrt(chance * (1 - chance))
        correlation = np.corrcoef(residual, other)[0, 1]
        assert abs(correlation) < 5 / np.sqrt(PEOPLE)


# ------------------------------------------------------------------------------- tertiary money


def test_features_improve_stay_and_deteriorate(many):
    """Equation (24), region by region, with much money, little, and none."""
    _, params, state, _ = many
    split = np.array([0.0, 1, 2, 3, 4, 6, 8, 12, 36]) / 72
    planner = np.concatenate([[0.5, 0.25, 0.25], split]).astype(np.float32)
    after, _ = semester(many, params, state, planner=planner)
    moves = np.sign(np.round(numbers_of(after, "gpa_shift"), 6))
    region = np.asarray(state.region)
    probabilities = []
    for r in range(9):
        here = region == r
        share = 16 * 9 * 0.5 * split[r]  # V x, as multiples of the budget
        improve = 0.39 + 0.4 / (1 + np.exp(4 - share))
        probabilities.append(improve)
        for direction, chance in ((1, improve), (0, 0.2), (-1, 0.8 - improve)):
            error = np.sqrt(here.sum() * chance * (1 - chance))
            assert abs((moves[here] == direction).sum() - here.sum() * chance) < 5 * error
    assert probabilities[0] < 0.4
    assert probabilities[-1] > 0.78
    # all features of a person go the same way, within their ranges
    for name, sign in (
        ("hours_per_week", 1),
        ("employer_sector", 1),
        ("employer_size", 1),
        ("undergraduate_loans", -1),
        ("graduate_loans", -1),
    ):
        change = sign * np.sign(numbers_of(after, name) - numbers_of(state, name))
        assert (change * moves >= 0).all()
        assert (change[moves == 0] == 0).all()
        assert ((change == 1) & (moves == 1)).sum() > 5_000
    for name in ("undergraduate_loans", "graduate_loans"):
        assert numbers_of(after, name).min() >= 0.0


def numbers_of(state, name):
    return np.asarray(state.data[name], np.float64)


# ------------------------------------------------------------------------------- draws


def test_ties_and_applicants_are_drawn_evenly(env, params, start):
    """Chi-square over 2,000 keys: who applies, who of equals is admitted, who gets a mentor."""
    keys, places = 2_000, 5
    state = start(jax.random.key(1), params)
    minority = np.flatnonzero(np.asarray(state.group) == 1)
    assert len(minority) > 15
    outside = np.arange(2, 150, 4)
    stage = np.full(env.population, WORKFORCE, np.int32)
    stage[outside] = 0
    stage[minority] = UNIVERSITY
    room = (len(minority) + places) / 75.0 + 1e-4
    params = params.replace(seats_per_unit=75.0, mentorship_cost=1.0, tuition=0.0)
    state = state.replace(
        stage=jnp.asarray(stage),
        entered_at=jnp.zeros_like(state.entered_at),
        time=jnp.int32(4),
        units=jnp.float32(room),
        applicants=jnp.asarray(outside[: env.applicants], jnp.int32),
        applying=jnp.ones(env.applicants, bool),
        account=jnp.float32(places),
    )
    actions = {
        "admissions": jnp.full(env.applicants, 0.5),
        "university": jnp.asarray(ALL_TO["mentorship"]),
        "employer": jnp.zeros(env.population),
        "planner": jnp.asarray(np.array([0.5, 0.0, 0.5] + [1 / 9] * 9, np.float32)),
    }

    @jax.jit
    def count(keys):
        def one(key):
            noise = env.noise(key, params)
            after, components, _ = env.transition(noise, state, actions, params)
            entered = (after.stage == UNIVERSITY) | (after.left_at == 5)
            applies = jnp.zeros(env.population).at[after.applicants].add(after.applying)
            return entered, after.mentored, applies, components.entered.sum()

        entered, mentored, applies, total = jax.lax.map(one, keys)
        sums = [jnp.sum(x, axis=0, dtype=jnp.float32) for x in (entered, mentored, applies)]
        return (*sums, total)

    entered, mentored, applies, total = (
        np.asarray(x) for x in count(jax.random.split(jax.random.key(2), keys))
    )
    assert (total == places).all()
    assert mentored.sum() == keys * places

    def even(counts, share):
        spread = ((counts - keys * share) ** 2 / (keys * share * (1 - share))).sum()
        freedom = len(counts) - 1
        assert 1e-4 < stats.chi2.sf(spread * freedom / len(counts), df=freedom) < 1 - 1e-4

    rows = np.setdiff1d(outside[: env.applicants], minority)
    assert len(rows) == env.applicants
    even(entered[rows], places / len(rows))
    even(mentored[minority], places / len(minority))
    left = np.setdiff1d(outside, np.concatenate([rows, minority]))
    even(applies[left], env.applicants / len(left))
    assert applies.sum() == keys * env.applicants
