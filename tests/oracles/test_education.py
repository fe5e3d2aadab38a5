"""The NumPy rewrite and the JAX environment are the same system.

Step by step to the digit where both are told the same luck, and in the mean over many episodes
where each has its own (all of it in `make test-all`).
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import numpy_education
import numpy_policies
import pytest

import fairgym
from fairgym.core import PerEntity
from fairgym.policies import equivariant, fixed_policies

PEOPLE, SEMESTERS, APPLICANTS, PASS = 300, 40, 14, 25
EPISODES = 80
PROGRAMMES = ("bachelor", "master", "doctorate")


@pytest.fixture(scope="module")
def env():
    return fairgym.make("education", population=PEOPLE, horizon=SEMESTERS, applicants=APPLICANTS)


@pytest.fixture(scope="module")
def params(env):
    """Few seats at first, units that are cheap and open soon, more money moved than by default.

    Building takes quarters of semesters, which float32 and float64 round up alike.
    """
    return env.default_params.replace(
        pass_length=float(PASS),
        units_at_start=2.0,
        seats_per_unit=15.0,
        faculty_salary=4_000.0,
        mentorship_cost=30_000.0,
        unit_base_cost=1e5,
        unit_cost=3e5,
        build_base_time=1.0,
        build_unit_time=1.25,
        gpa_change=0.03,
        loan_change=2_000.0,
        employer_change=0.1,
        bias_strength=0.4,
        supplement_in_salary=0.4,
        residual_share=0.5,
        gpa_kept=0.6,
    )


@pytest.fixture(scope="module")
def programs(env):
    functions = (env.initial_state, env.transition, env.observe, env.noise, env.people)
    return tuple(jax.jit(function) for function in functions)


def told(env, params, state):
    """The rewrite with the people of `state`; its luck is read from `.noise`."""

    class Told(numpy_education.NumpyEducation):
        noise: dict[str, np.ndarray]

        def chance(self, kind, rows):
            return self.noise[kind][rows].astype(np.float64)

    country = Told(env, params, np.float64)
    country.noise = {"apply": np.zeros(PEOPLE)}
    people = {name: np.asarray(column) for name, column in state.data.items()}
    for name in ("group", "region", "residual"):
        people[name] = np.asarray(getattr(state, name))
    country.start(people)
    country.applying = np.asarray(state.applicants)[np.asarray(state.applying)]
    return country


def random_actions(env, key, semester):
    """Around a policy that survives; many scores are tied, some salaries are 0."""
    keys = jax.random.split(jax.random.fold_in(key, semester), 4)
    around = {
        "university": [0.12, 0.45, 0.20, 0.06, 0.17],
        "planner": [0.4, 0.25, 0.35] + [1.0] * 9,
    }
    shares = {
        agent: env.action_space(agent).clip(
            jnp.array(middle) * jax.random.uniform(k, (len(middle),), minval=0.3, maxval=1.3)
        )
        for (agent, middle), k in zip(around.items(), keys, strict=False)
    }
    # the planner's shares are 3 and 9
    return {
        "admissions": jnp.round(jax.random.uniform(keys[2], (APPLICANTS,)) * 5) / 5,
        "employer": jnp.round(jax.random.uniform(keys[3], (PEOPLE,)) * 0.5, 1),
        **shares,
    }


def ahead(state, country):
    """What falls due after this semester by the rewrite's lists, like the schedules of `state`."""
    openings = np.zeros_like(state.building.openings.amounts)
    for wait, units in country.projects:
        openings[0, min(country.time + int(wait), SEMESTERS)] += units
    classes = np.zeros_like(state.classes.amounts)
    for place, cohorts in enumerate(country.classes):
        for wait, people in cohorts:
            classes[place, :, min(country.time + int(wait) - 1, SEMESTERS)] += people
    return openings, classes


def require_same_state(people, state, country):
    """Every field of the state, by what it means."""
    np.testing.assert_array_equal(state.stage, country.stage)
    np.testing.assert_array_equal(state.group, country.group)
    assert int(state.time) == country.time
    for name, column in country.people.items():
        if name in state.data:
            np.testing.assert_allclose(state.data[name], column, rtol=1e-5, atol=1e-5, err_msg=name)
    for name, counter in (
        ("time_in_university", country.studied),
        ("time_in_workforce", country.worked),
        ("time_in_environment", country.inside),
        ("degree", country.degree),
        ("mentored", country.mentored),
    ):
        np.testing.assert_array_equal(people[name], counter, err_msg=name)
    for name, column in (
        ("gpa", country.gpa),
        ("semester_gpa", country.semester_gpa),
        ("salary", country.salary),
        ("baseline_gpa", country.baseline_gpa(np.arange(PEOPLE))),
        ("age", 18.0 + country.inside / 2.0),
        ("average_salary", country.earned / np.maximum(country.worked, 1)),
    ):
        np.testing.assert_allclose(people[name], column, rtol=2e-5, atol=2e-5, err_msg=name)
    for name, value in (
        ("account", country.account),
        ("total_profit", country.profit),
        ("tuition_share", country.tuition_share),
        ("supplement", country.supplement),
    ):
        scale = 10.0 if name == "account" else 1e-3
        np.testing.assert_allclose(getattr(state, name), value, rtol=1e-4, atol=scale, err_msg=name)
    np.testing.assert_allclose(state.building.fund, [country.fund], rtol=1e-4, atol=10)
    openings, classes = ahead(state, country)
    due = np.asarray(state.building.openings.amounts)
    assert float(state.units) + due[0, country.time] == country.units
    np.testing.assert_array_equal(due[:, country.time + 1 :], openings[:, country.time + 1 :])
    np.testing.assert_array_equal(
        np.asarray(state.classes.amounts)[..., country.time :], classes[..., country.time :]
    )
    np.testing.assert_array_equal(
        np.asarray(state.applicants)[np.asarray(state.applying)], country.applying
    )
    assert np.asarray(state.applying)[: len(country.applying)].all()


@pytest.mark.parametrize("observe_group", [True, False])
def test_the_same_luck_gives_the_same_semesters(env, params, programs, observe_group):
    """Components, state and what all agents see, at every step."""
    start, transition, _, draw, look = programs
    env = dataclasses.replace(env, observe_group=observe_group)
    observe = jax.jit(env.observe)
    key = jax.random.key(5 + int(observe_group))
    state = start(key, params)
    country = told(env, params, state)
    total, rejected, mentored, tuition, passes = {}, 0, [], [], 0
    for semester in range(SEMESTERS - 1):
        seen = observe(state, params)
        for agent in env.agents:
            rows, features, context = country.observe(agent)
            mask = np.asarray(seen[agent].mask)
            np.testing.assert_array_equal(np.flatnonzero(mask), rows)
            found = np.asarray(seen[agent].features)[mask]
            np.testing.assert_allclose(found, features, rtol=1e-4, atol=1e-3, err_msg=agent)
            np.testing.assert_allclose(seen[agent].context, context, rtol=1e-4, atol=10)
        noise = draw(jax.random.fold_in(key, semester), params)
        country.noise = {name: np.asarray(value) for name, value in vars(noise).items()}
        actions = random_actions(env, key, semester)
        before = np.asarray(state.stage)
        state, ours, failed = transition(noise, state, actions, params)
        theirs, also_failed = country.step(actions)
        assert set(theirs) == set(env.spec.component_info)
        for name, value in theirs.items():
            np.testing.assert_allclose(
                getattr(ours, name), value, rtol=1e-4, atol=1e-3, err_msg=name
            )
            total[name] = total.get(name, 0) + value
        assert not failed
        assert not also_failed
        require_same_state(look(state), state, country)
        rejected += (theirs["applied"] - theirs["entered"]).sum()
        student = (country.stage == 1) & (country.group == 1)
        mentored.append(country.mentored[student].mean() if student.any() else np.nan)
        tuition.append(country.tuition_share)
        passes += ((before > 0) & (country.stage == 0)).sum()
    # it was about something
    assert rejected > 30
    assert country.units >= 15
    assert any(0.0 < share < 1.0 for share in mentored)
    assert min(tuition) < 0.5 < max(tuition)
    assert passes > 50
    assert all(total[f"{name}s"].sum() > 5 for name in PROGRAMMES)
    assert 0.0 < country.supplement < 1.0


def test_the_rewrite_sees_what_the_spaces_say(env):
    for agent in env.agents:
        names = tuple(feature.name for feature in env.observation_space(agent).features)
        assert names == numpy_education.SEEN_BY[agent]


def test_the_networks_are_the_same(env, programs):
    """The two-layer policies of the benchmark: per person, and shares by pooling."""
    start, _, observe, _, _ = programs
    state = start(jax.random.key(0), env.default_params)
    state = state.replace(stage=jnp.asarray(np.arange(PEOPLE, dtype=np.int32) % 3))
    seen = observe(state, env.default_params)
    policies, key = equivariant(env, jax.random.key(1)), jax.random.key(0)
    actions = jax.jit(lambda seen: {a: p(seen[a], key) for a, p in policies.items()})(seen)
    for agent, policy in policies.items():
        mask = np.asarray(seen[agent].mask)
        action = np.asarray(actions[agent])
        theirs = numpy_policies.TwoLayer(policy)(
            np.asarray(seen[agent].features)[mask], np.asarray(seen[agent].context)
        )
        per_person = isinstance(env.action_space(agent), PerEntity)
        np.testing.assert_allclose(action[mask] if per_person else action, theirs, atol=2e-5)


# ------------------------------------------------------------------------ in the mean

EVEN = [1 / 9] * 9
POLICIES = {
    "much for students": ([0.1, 0.4, 0.3, 0.1, 0.1], 0.25, [0.4, 0.3, 0.3, *EVEN]),
    "builds without limit": ([0.2, 0.25, 0.2, 0.15, 0.2], 0.25, [0.3, 0.4, 0.3, *EVEN]),
    "high salaries": ([0.1, 0.4, 0.2, 0.15, 0.15], 0.48, [0.0, 0.1, 0.9, *EVEN]),
}


@pytest.fixture(scope="module")
def ours(env, params):
    """Policy name -> summary of episodes of the JAX environment."""

    @jax.jit
    def run(university, salary, planner, keys):
        policies = fixed_policies(env, {"admissions": "random"}) | {
            "university": lambda observation, key: university,
            "employer": lambda observation, key: salary * jax.random.uniform(key, (PEOPLE,)) * 2,
            "planner": lambda observation, key: planner,
        }

        def one(key):
            episode = fairgym.rollout(env, params, policies, key)
            return episode.totals, episode.length, episode.final_state.units

        return jax.lax.map(one, keys)

    found = {}
    for place, (name, policy) in enumerate(POLICIES.items()):
        keys = jax.random.split(jax.random.key(place), EPISODES)
        totals, length, units = run(*(jnp.array(x) for x in policy), keys)
        columns = {n: np.asarray(getattr(totals, n)) for n in env.spec.component_info}
        found[name] = summary(columns, np.asarray(length), np.asarray(units))
    return found


def summary(totals, lengths, units):
    columns = {"length": lengths, "units": units}
    for name, values in totals.items():
        for group, value in enumerate(np.atleast_2d(values.T)):
            columns[f"{name} {group}"] = value
    return columns


def episodes_of(system, name):
    """Summary of episodes of the rewrite under one of the policies."""
    university, salary, planner = POLICIES[name]
    totals, lengths, units = [], [], []
    for episode in range(EPISODES):
        rng = np.random.default_rng([episode, 77])
        system.reset(rng)
        sums: dict = {}
        opened = system.units
        for _ in range(SEMESTERS):
            actions = {
                "admissions": rng.random(APPLICANTS),
                "university": university,
                "employer": salary * rng.random(PEOPLE) * 2,
                "planner": planner,
            }
            opened = system.units  # as in a state, where what opens counts in the next step
            components, failed = system.step(actions)
            sums = {key: sums.get(key, 0) + value for key, value in components.items()}
            if failed:
                break
        lengths.append(system.time)
        units.append(opened)
        totals.append(sums)
    stacked = {key: np.stack([np.asarray(t[key]) for t in totals]) for key in totals[0]}
    return summary(stacked, np.array(lengths), np.array(units))


def disagreement(a, b):
    """Column -> difference of the means in standard errors."""
    assert a.keys() == b.keys()
    found = {}
    for key in a:
        error = np.sqrt(a[key].var(ddof=1) / len(a[key]) + b[key].var(ddof=1) / len(b[key]))
        gap = abs(a[key].mean() - b[key].mean())
        found[key] = gap / error if error > 0 else (0.0 if gap < 1e-6 else np.inf)
    return found


@pytest.mark.full
@pytest.mark.parametrize("name", POLICIES)
def test_episodes_agree_in_the_mean(env, params, ours, name):
    """Every component, length and units built, each with its own luck: within 4.5 errors."""
    theirs = episodes_of(numpy_education.NumpyEducation(env, params), name)
    apart = disagreement(ours[name], theirs)
    worst = max(apart, key=lambda key: apart[key])
    assert apart[worst] < 4.5, (worst, apart[worst])


@pytest.mark.full
def test_a_policy_survives_and_others_do_not(ours):
    assert (ours["much for students"]["length"] == SEMESTERS).mean() > 0.9
    length = ours["builds without limit"]["length"]
    assert ((length > 15) & (length < SEMESTERS)).mean() > 0.9
    assert 0.1 < (ours["high salaries"]["length"] < 15).mean() < 0.9


ALTERED = ("tuition does not matter", "units open at once", "mentors for nobody")


@pytest.mark.full
@pytest.mark.parametrize("rule", ALTERED)
def test_an_altered_rule_is_detected(env, params, ours, rule):
    """The comparison above fails for a system that is slightly another one."""

    class Altered(numpy_education.NumpyEducation):
        def leaving_chance(self, rows):
            share, free = self.tuition_share, rule == "tuition does not matter"
            self.tuition_share = 0.0 if free else share
            chance = super().leaving_chance(rows)
            self.tuition_share = share
            return chance

        def _build(self, money):
            super()._build(money)
            if rule == "units open at once":
                self.projects = [[1.0, units] for _, units in self.projects]

        def best(self, rows, score, places, kind):
            places = 0 if (rule, kind) == ("mentors for nobody", "mentor") else places
            return super().best(rows, score, places, kind)

    theirs = episodes_of(Altered(env, params), "much for students")
    assert max(disagreement(ours["much for students"], theirs).values()) > 4.5
