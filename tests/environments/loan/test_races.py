"""Races as groups: disparities, sizes, and the two groups that the races add up to."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.config.parameters import with_params
from fairgym.core import FairgymError
from fairgym.data import load_population
from fairgym.data.populations.loan import by_race
from fairgym.policies import Function, fixed_policies, group_flips
from fairgym.testing import check_environment

PEOPLE, MONTHS, CAP = 240, 60, 7
SHAPE: dict[str, Any] = {
    "population": PEOPLE,
    "horizon": MONTHS,
    "applicants": 14,
    "disbursement_cap": CAP,
}
FORMS: dict[str, dict[str, Any]] = {
    "one bank": {},
    "two banks": {"banks": 2},
    "selective labels": {"selective_labels": True},
}
RACES = ("white", "Asian", "Black", "Hispanic")
SIDE = np.array([0, 0, 1, 1])  # of the two groups, where MAFE puts each race


def of_races(form="one bank"):
    env = fairgym.make("loan", **SHAPE, **FORMS[form], group_by="race")
    sizes = jnp.array([0.5, 4.0, 1.5, 0.75])
    changes = {"disadvantaged_share": 0.5, "relief_forgiven": 0.3, "residual_share": 0.2}
    return env, env.default_params.replace(group_size=sizes, **changes)


def actions(env, scores, threshold, relief):
    """The same terms in every bank, by race."""
    terms = {"disbursement": scores, "admissions": threshold, "debt_management": relief}
    return {
        agent: terms[next(role for role in terms if agent.endswith(role))] for agent in env.agents
    }


@pytest.fixture(scope="module")
def recorded():
    """`recorded(form)(threshold, relief)`: an environment, its steps, NumPy arrays."""
    made = {}

    def of(form="one bank"):
        env, params = of_races(form)

        @jax.jit
        def run(threshold, relief):
            scores = Function(lambda seen, key: jnp.round(jax.random.uniform(key, (PEOPLE,)), 1))
            rules = {
                agent: value if value is scores else Function(lambda seen, key, v=value: v)
                for agent, value in actions(env, scores, threshold, relief).items()
            }
            return fairgym.core.record(env, params, rules, jax.random.key(2))

        def start(threshold, relief):
            return env, params, jax.tree.map(np.asarray, run(*map(jnp.array, (threshold, relief))))

        return made.setdefault(form, start)

    return of


THRESHOLD, RELIEF = (0.6, 0.8, 0.5, 0.85), (0.1, 0.02, 0.03, 0.06)


@pytest.fixture(scope="module")
def episode(recorded):
    """People of every race wait, repay and default, each race by terms of its own."""
    found = recorded()(THRESHOLD, RELIEF)
    for name in ("approved", "disbursed", "ended"):
        assert (getattr(found[2].components, name).sum(axis=0) > 2).all(), name
    return found


def month(struct, t):
    return jax.tree.map(lambda x: jnp.asarray(x[t]), struct)


# --------------------------------------------------------------------------------- counts


@pytest.mark.full
def test_a_disparity_is_the_standard_deviation_over_races(episode):
    env, _, steps = episode
    totals = jax.tree.map(lambda x: np.asarray(x, np.float64).sum(axis=0), steps.components)
    rates = {
        "admission_disparity": totals.approved / totals.applied,
        "wait_disparity": totals.waited / totals.disbursed,
        "default_disparity": totals.defaulted / totals.ended,
    }
    for name, rate in rates.items():
        assert rate.shape == (4,) and np.std(rate) > 0
        found = float(env.metrics[name].value(jax.tree.map(jnp.asarray, totals)))
        assert found == pytest.approx(-np.std(rate), rel=1e-5), name
    wait = rates["wait_disparity"]
    found = float(env.metrics["wait_disparity"].normalised(jax.tree.map(jnp.asarray, totals)))
    assert found == pytest.approx(-np.std(wait) / wait.sum(), rel=1e-5)


@pytest.mark.full
@pytest.mark.parametrize("form", FORMS)
def test_races_add_up_to_the_two_groups(form, recorded):
    """The same people in two groups, with the same noise and terms, month by month."""
    threshold, relief = np.array([0.6, 0.82])[SIDE], np.array([0.02, 0.1])[SIDE]
    env, params, steps = recorded(form)(threshold, relief)
    two = fairgym.make("loan", **SHAPE, **FORMS[form])
    given = actions(two, 0.0, jnp.array(threshold[::2]), jnp.array(relief[::2]))
    scores = {a: jnp.asarray(x) for a, x in steps.actions.items() if a.endswith("disbursement")}

    @jax.jit
    @jax.vmap
    def pooled(noise, state, scores):
        state = state.replace(group=jnp.asarray(SIDE)[state.group])
        if form == "two banks":
            state = state.replace(posted=state.posted[..., ::2])
        return two.transition(noise, state, given | scores, params.replace(group_size=1.0))[:2]

    months = jax.tree.map(jnp.asarray, (steps.noise, steps.before))
    after, components = pooled(*months, scores)
    assert steps.components.defaulted.sum() > 3
    for name, info in env.spec.component_info.items():
        own, other = getattr(steps.components, name), np.asarray(getattr(components, name))
        if info.axes:
            assert own.shape == (MONTHS, 4) and other.shape == (MONTHS, 2)
            own = np.stack([own[:, SIDE == side].sum(axis=1) for side in (0, 1)], axis=1)
        np.testing.assert_allclose(other, own, rtol=1e-4, atol=1e-3, err_msg=name)
    for name in ("stage", "fico_low", "matures_at", *(["bank"] if form == "two banks" else [])):
        np.testing.assert_array_equal(getattr(after, name), getattr(steps.after, name), name)


# ---------------------------------------------------------------------------------- people


def test_groups_are_the_races_of_the_data():
    data, two = fairgym.make("loan", group_by="race")._data, load_population("loan")
    names = np.array([name.lower() for name in RACES])
    np.testing.assert_array_equal(names[data.columns["group"]], two.columns["race"])
    np.testing.assert_array_equal(SIDE[data.columns["group"]], two.columns["group"])
    assert data.checksum == two.checksum


def test_amplification_sets_the_best_and_the_worst_race_half_a_deviation_apart():
    """Weights exp(s d z) within each race, d evenly from 1 (best mean score) to -1 (worst)."""
    data = by_race(load_population("loan"))
    score = np.asarray(data.scores["qualification"].predict(data.columns), np.float64)
    code = np.asarray(data.columns["group"])
    means = np.array([score[code == race].mean() for race in range(4)])
    rank = np.argsort(np.argsort(-means))
    np.testing.assert_allclose(data.directions, 1 - 2 * rank / 3, atol=1e-6)
    spread = {}
    for race in (np.argmax(means), np.argmin(means)):
        own = score[code == race]
        z = (own - own.mean()) / own.std()
        weight = np.exp(data.bias_strength * data.directions[race] * z)
        mean = np.average(own, weights=weight)
        spread[race] = len(own), mean, np.average((own - mean) ** 2, weights=weight)
    (n, best, square), (m, worst, other) = spread.values()
    pooled = np.sqrt((n * square + m * other) / (n + m - 2))
    assert (best - worst) / pooled == pytest.approx(0.5, abs=0.002)


@pytest.mark.parametrize("share", [None, 0.0, 0.5])
def test_sizes_of_races(share):
    """As in the data; all of a side resized by its share, then each race by its own multiple."""
    env = fairgym.make("loan", population=1_000, group_by="race")
    race = load_population("loan").columns["race"]
    sizes = np.array([np.mean(race == name.lower()) for name in RACES])
    changes: list[tuple[str, Any]] = [("group_size.Black", 3.0)]
    if share is not None:
        changes.append(("disadvantaged_share", share))
        worse = sizes[2:].sum()
        sizes *= np.array([1 - share, share])[SIDE] / np.array([1 - worse, worse])[SIDE]
    sizes[2] *= 3.0
    expected = 1_000 * sizes / sizes.sum()
    params = with_params(env, env.default_params, changes)
    state = jax.jit(env.initial_state)(jax.random.key(0), params)
    found = np.bincount(np.asarray(state.group), minlength=4)
    assert found.sum() == 1_000
    np.testing.assert_allclose(found, expected, atol=1.0)
    assert (found[2:] == 0).all() == (share == 0.0)


def test_everybody_has_a_row_of_their_race():
    """Who is drawn is in the data, as one of that race."""
    env, params = of_races()
    state = jax.jit(env.initial_state)(jax.random.key(1), params)
    data = load_population("loan")
    columns = ("interest_rate", "principal", "annual_income", "debt_to_income", "fico_low")
    rows: dict[Any, set[str]] = {}
    for race, *row in zip(data.columns["race"], *(data.columns[c] for c in columns), strict=True):
        rows.setdefault(tuple(map(float, row)), set()).add(str(race))
    drawn = zip(*(np.asarray(getattr(state, c)).tolist() for c in columns), strict=True)
    for race, row in zip(np.asarray(state.group), drawn, strict=True):
        assert RACES[race].lower() in rows[row]


# ----------------------------------------------------------------------------- what is seen


def test_a_column_for_each_race_unless_hidden(episode):
    env, params, steps = episode
    state = month(steps.before, 45)
    blind = fairgym.make("loan", **SHAPE, group_by="race", observe_group=False)
    columns = [f"race_{name.lower()}" for name in RACES]
    for agent, seen in env.observe(state, params).items():
        features = env.observation_space(agent).features
        telling = [i for i, feature in enumerate(features) if feature.tells_group]
        assert [features[i].name for i in telling] == columns
        assert {features[i].of for i in telling} == {"race"}
        people = np.arange(PEOPLE) if agent != "admissions" else np.asarray(state.applicants)
        mask = np.asarray(seen.mask)
        expected = np.eye(4)[np.asarray(state.group)[people]] * mask[:, None]
        np.testing.assert_array_equal(np.asarray(seen.features)[:, telling], expected)
        hidden = np.asarray(blind.observe(state, params)[agent].features)
        assert mask.any() and not hidden[:, telling].any()
        others = np.delete(np.asarray(seen.features), telling, axis=1)
        np.testing.assert_array_equal(np.delete(hidden, telling, axis=1), others)


def test_a_flip_shows_another_race(episode):
    """A rule that adds a number of its own for each race changes by the difference of two."""
    env, params, steps = episode
    names = [feature.name for feature in env.observation_space("disbursement").features]
    worth = np.array([0.0, 0.1, 0.3, 0.7])
    places = jnp.array([names.index(f"race_{name.lower()}") for name in RACES])
    rule = Function(lambda seen, key: seen.features[:, places] @ jnp.asarray(worth))
    policies = fixed_policies(env, env.spec.baselines["published_fixed_policy"])
    policies["disbursement"] = rule
    state = month(steps.before, int(np.argmax(steps.components.waiting.sum(axis=1))) + 1)
    flips = group_flips(env, params, policies, state, jax.random.key(0))["disbursement"]
    np.testing.assert_allclose(flips.own, worth[flips.group], atol=1e-6)
    assert not np.isclose(flips.flipped, flips.own).any()
    assert np.isclose(flips.flipped[:, None], worth, atol=1e-6).any(axis=1).all()


def test_terms_by_race_have_names():
    env = fairgym.make("loan", population=60, group_by="race")
    names = [f"threshold_{race.lower()}" for race in RACES]
    assert list(env.action_space("admissions").names) == names
    assert env.spec.group_word == "race" and env.action_groups == 4
    assert env.spec.baselines["published_fixed_policy"]["debt_management"] == (
        0.12,
        0.12,
        0.18,
        0.18,
    )
    one = fairgym.make("loan", population=60, group_by="race", action_groups=1)
    assert one.action_space("admissions").names == ("threshold",)
    assert one.spec.baselines["published_fixed_policy"]["debt_management"] == pytest.approx(0.15)
    pool = fairgym.make("loan", population=60, group_by="race", banks=2)
    context = [feature.name for feature in pool.observation_space("bank_1_admissions").context]
    relief = [name.replace("threshold", "relief") for name in names]
    assert context[2:] == [f"other_{name}" for name in (*names, *relief)]


@pytest.mark.full
def test_it_keeps_the_contract(episode):
    env, params, steps = episode
    check_environment(env, params=params, steps=3, later=month(steps.before, 45))


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"group_by": "sex"}, "group_by must be advantage or race.*got 'sex'"),
        ({"group_by": "race", "action_groups": 2}, "action_groups must be 1 .* or 4 .* got 2"),
        ({"group_by": "race", "action_groups": 5}, "action_groups must be a whole number.*got 5"),
        ({"action_groups": 4}, "action_groups must be a whole number from 1 to 2.*got 4"),
    ],
)
def test_groupings_that_there_are_not(shape, message):
    with pytest.raises(FairgymError, match=message):
        fairgym.make("loan", population=60, **shape)
