"""The epidemic against NumPy, its expected components, and hand-written agents."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.core import FairgymError, record
from fairgym.environments.epidemic import steps
from fairgym.environments.epidemic.types import EpidemicNoise
from fairgym.fairness import Windowed
from fairgym.policies import Random
from fairgym.policies.coding import Inputs, TableCode
from fairgym.testing import check_environment

# Two triangles with one contact between them, and a person who meets nobody.
CONTACTS = ((0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5))
COMMUNITIES = (0, 0, 0, 1, 1, 1, 1)
SMALL = {"graph": CONTACTS, "communities": COMMUNITIES, "population": 7}
ALL_NUMBERS = {
    "infection": 0.6,
    "onset": 0.4,
    "recovery": 0.15,
    "waning": 0.6,
    "efficacy": 0.5,
    "cure": 0.3,
}


def complete(people):
    return tuple((a, b) for a in range(people) for b in range(a + 1, people))


def halves(people):
    return tuple(int(2 * person >= people) for person in range(people))


# ------------------------------------------------------------------------- all steps


@pytest.fixture(scope="module", params=["SIR", "SEIR"])
def recorded(request):
    """A long episode of random vaccines in which everything happens, and its measures."""
    env = fairgym.make("epidemic", **SMALL, model=request.param, horizon=80, shows_contacts=True)
    params = env.default_params.replace(**ALL_NUMBERS)
    policies = {"clinic": Random(env.action_space("clinic"))}

    @jax.jit
    def run(key):
        steps = record(env, params, policies, key)
        seen = jax.vmap(lambda state: env.observe(state, params)["clinic"].features)(steps.before)
        courses = {}
        for name, measure in env.spec.measures.items():
            start = measure.initial(jax.tree.map(lambda x: x[0], steps.components))

            def step(memory, row, measure=measure):
                memory = measure.update(memory, row)
                return memory, measure.value(memory)

            courses[name] = jax.lax.scan(step, start, steps.components)[1]
        totals = jax.tree.map(lambda x: jnp.sum(x, axis=0), steps.components)
        values = {name: metric.value(totals) for name, metric in env.metrics.items()}
        return steps, seen, courses, values

    return env, *jax.tree.map(np.asarray, run(jax.random.key(5)))


def numpy_step(stage, action, effect, fate, numbers, names):
    """One step, person by person: the stages after it, and what is counted."""
    people, last = len(stage), len(names) - 1
    vaccinated, wasted, newly, after = [0, 0], 0, [0, 0], list(stage)
    if action < people:
        vaccinated[COMMUNITIES[action]] += 1
        taken = {0: numbers["efficacy"], last: 0.0}.get(stage[action], numbers["cure"])
        if effect < taken:
            after[action] = last
        else:
            wasted = 1
    protected = list(after)
    for person in range(people):
        name = names[protected[person]]
        if name == "susceptible":
            ill = 0
            for pair in CONTACTS:
                if person in pair:
                    other = pair[0] + pair[1] - person
                    ill += names[protected[other]] == "infected"
            if fate[person] < 1 - (1 - numbers["infection"]) ** ill:
                after[person] = 1
                newly[COMMUNITIES[person]] += 1
        elif name == "exposed" and fate[person] < numbers["onset"]:
            after[person] = 2
        elif name == "infected" and fate[person] < numbers["recovery"]:
            after[person] = last
        elif name == "recovered" and fate[person] < numbers["waning"]:
            after[person] = 0
    health = np.zeros((2, len(names)))
    for person in range(people):
        health[COMMUNITIES[person], after[person]] += 1
    ill = [names.index(n) for n in ("exposed", "infected") if n in names]
    return after, {
        "vaccinated": vaccinated,
        "wasted": wasted,
        "newly_infected": newly,
        "people": [3, 4],
        "not_infected": health.sum(axis=1) - health[:, ill].sum(axis=1),
        "health": health,
    }


class TestSteps:
    def test_all_steps_against_numpy(self, recorded):
        env, steps, *_ = recorded
        stage = steps.before.stage[0].tolist()
        given = np.zeros(7, bool)
        for t in range(80):
            noise, action = steps.noise, int(steps.actions["clinic"][t])
            np.testing.assert_array_equal(steps.before.vaccinated[t], given)
            given[action : action + 1] = True  # nobody stands behind the last person
            stage, known = numpy_step(
                stage, action, noise.effect[t], noise.fate[t], ALL_NUMBERS, env.spec.stages
            )
            assert set(known) == set(env.spec.component_info)
            for name, value in known.items():
                found = getattr(steps.components, name)[t]
                np.testing.assert_array_equal(found, value, err_msg=f"{name}, {t}")
            np.testing.assert_array_equal(steps.after.stage[t], stage)
            assert not steps.terminated[t]
        totals = jax.tree.map(lambda x: x.sum(axis=0), steps.components)
        assert totals.newly_infected.min() > 2 and 5 < totals.wasted < 60
        assert (totals.health > 0).all()

    def test_nobody_is_lost(self, recorded):
        env, steps, *_ = recorded
        np.testing.assert_array_equal(steps.components.health.sum(axis=2), [[3, 4]] * 80)
        # who falls ill was susceptible, and from there one goes on to be ill only
        first = len(env.spec.stages) == 4
        ill = steps.components.health[:, :, 1 : 3 if first else 2].sum(axis=2)
        assert (np.diff(ill, axis=0) <= steps.components.newly_infected[1:]).all()

    def test_the_clinic_sees_everybody(self, recorded):
        env, steps, seen, *_ = recorded
        names = [feature.name for feature in env.observation_space("clinic").features]
        assert names == [*env.spec.stages, "vaccinated", "infected_contacts", "group", "degree"]
        for code in range(len(env.spec.stages)):
            np.testing.assert_array_equal(seen[:, :, code], steps.before.stage == code)
        np.testing.assert_array_equal(seen[:, :, -4], steps.before.vaccinated)
        ill = steps.before.stage == env.spec.stages.index("infected")
        np.testing.assert_array_equal(seen[:, :, -3], ill @ env.contact_matrix)
        np.testing.assert_array_equal(seen[0, :, -2], COMMUNITIES)
        np.testing.assert_array_equal(seen[0, :, -1], [2, 2, 3, 3, 2, 2, 0])

    def test_measures_against_numpy(self, recorded):
        """Equation 10 over the steps so far; total variation of health now, and of its mean."""
        _, steps, _, courses, _ = recorded
        rows = steps.components

        def variation(health):
            shares = health / health.sum(axis=2, keepdims=True)
            return 0.5 * np.abs(shares[:, 0] - shares[:, 1]).sum(axis=1)

        rates = np.cumsum(rows.vaccinated, 0) / (np.cumsum(rows.newly_infected, 0) + 1)
        known = {
            "short_term": np.abs(rates[:, 0] - rates[:, 1]),
            "long_term": variation(rows.health),
            "long_term_window": variation(np.cumsum(rows.health, axis=0)),
        }
        assert set(known) == set(courses)
        for name, value in known.items():
            np.testing.assert_allclose(courses[name], -value, atol=1e-5, err_msg=name)

    def test_metrics_against_numpy(self, recorded):
        _, steps, _, courses, values = recorded
        vaccinated, infected = (
            getattr(steps.components, name).sum() for name in ("vaccinated", "newly_infected")
        )
        known = {
            "not_infected": steps.components.not_infected.sum() / (7 * 80),
            "vaccine_rate": vaccinated / (infected + 1),
            "vaccine_disparity": courses["short_term"][-1],
            "health_distance": courses["long_term_window"][-1],
        }
        assert set(values) == set(known)
        for name, value in known.items():
            np.testing.assert_allclose(values[name], value, rtol=1e-5, err_msg=name)


def test_the_same_network_with_other_numbers():
    """Renumbering people with their contacts and noise gives the same results."""
    order = np.array([3, 5, 0, 6, 2, 4, 1])  # place of each person there
    moved = tuple((int(order[a]), int(order[b])) for a, b in CONTACTS)
    communities = tuple(np.array(COMMUNITIES)[np.argsort(order)].tolist())
    here = fairgym.make("epidemic", **SMALL)
    there = fairgym.make("epidemic", graph=moved, communities=communities, population=7)
    stage, fate = np.array([0, 1, 0, 0, 1, 0, 2]), np.array([0.3, 0.9, 0.7, 0.2, 0.1, 0.4, 0.6])

    def step(env, stage, fate, action):
        params = env.default_params.replace(infection=0.45, recovery=0.2)
        state = env.initial_state(jax.random.key(0), params).replace(stage=stage)
        noise = EpidemicNoise(effect=jnp.float32(0.5), fate=fate)
        return env.transition(noise, state, {"clinic": action}, params)[:2]

    def moving(x):
        return jnp.zeros_like(jnp.asarray(x)).at[order].set(x)

    stage, fate = jnp.int32(stage), jnp.float32(fate)
    state, counted = jax.jit(lambda *x: step(here, *x))(stage, fate, jnp.int32(2))
    moved_on = jax.jit(lambda *x: step(there, *x))
    again = moved_on(moving(stage), moving(fate), jnp.int32(order[2]))
    np.testing.assert_array_equal(moving(state.stage), again[0].stage)
    for name in here.spec.component_info:
        np.testing.assert_array_equal(getattr(counted, name), getattr(again[1], name), name)


# ------------------------------------------------------------------------- expected components


def test_expected_components_are_the_means():
    """Over 4,000 noises, for a vaccine given to somebody in each state of health, and to nobody."""
    env = fairgym.make("epidemic", **SMALL, model="SEIR", shows_time=True)
    params = env.default_params.replace(**ALL_NUMBERS)
    stage = jnp.int32([2, 0, 0, 2, 1, 0, 3])

    @jax.jit
    def run(keys, actions):
        state = env.initial_state(keys[0], params).replace(stage=stage)

        def of(action):
            expected = env.spec.expected_components(
                env.observe(state, params), {"clinic": action}, params
            )
            noises = jax.vmap(lambda key: env.noise(key, params))(keys)
            found = jax.vmap(lambda n: env.transition(n, state, {"clinic": action}, params)[1])(
                noises
            )
            return expected, found

        return jax.vmap(of)(actions)

    actions = jnp.int32([2, 3, 4, 6, 7])
    expected, found = run(jax.random.split(jax.random.key(1), 4000), actions)
    for name in env.spec.component_info:
        rows = np.asarray(getattr(found, name), float)
        error = rows.std(axis=1) / np.sqrt(rows.shape[1])
        apart = np.abs(rows.mean(axis=1) - np.asarray(getattr(expected, name)))
        assert (apart <= 5 * error + 1e-5).all(), name
    assert expected.vaccinated.tolist() == [[1, 0], [0, 1], [0, 1], [0, 1], [0, 0]]
    assert np.ptp(np.asarray(expected.newly_infected)[:, 1]) > 0.1, "a cure protects contacts"


def test_waning_immunity_is_the_harder_variant():
    env = fairgym.make("epidemic", harder=True)
    assert (env.default_params.waning, fairgym.make("epidemic").default_params.waning) == (0.2, 0)
    stage, infected = jnp.int32([0, 1, 2]), jnp.float32([0.3, 0.3, 0.3])
    chance = steps.chance_to_pass_on(stage, infected, env.default_params, 3)
    np.testing.assert_allclose(chance, [0.3, 0.005, 0.2])
    default = fairgym.make("epidemic")
    assert env.default_params.replace(waning=0.0) == default.default_params, "nothing else differs"
    assert dataclasses.replace(env, harder=False) == default
    assert env.spec.published == default.spec.published


def test_in_the_harder_variant_a_vaccine_lasts_five_steps_on_average():
    """Nobody is infected: who is vaccinated becomes susceptible again, each at 0.2 a step."""
    env = fairgym.make("epidemic", harder=True)
    params, nobody = env.default_params, {"clinic": jnp.int32(34)}
    state = env.initial_state(jax.random.key(0), params)
    state = state.replace(stage=jnp.full(34, 2, jnp.int32))

    @jax.jit
    def immune(key):
        def step(state, key):
            after = env.transition(env.noise(key, params), state, nobody, params)[0]
            return after, jnp.mean(after.stage == 2)

        return jax.lax.scan(step, state, jax.random.split(key, 10))[1]

    share = np.mean(jax.vmap(immune)(jax.random.split(jax.random.key(1), 300)), axis=0)
    np.testing.assert_allclose(share, 0.8 ** np.arange(1, 11), atol=0.015)


@pytest.mark.parametrize("tau", [0.0, 0.3, 1.0])
def test_the_chance_to_be_infected(tau):
    contacts = jnp.arange(5.0)
    known = [1 - (1 - tau) ** k for k in range(5)]
    np.testing.assert_allclose(steps.infection_chance(contacts, tau), known, atol=1e-6)


# ------------------------------------------------------------------------- ml-fairness-gym


def played(env, numbers, steps, actions=None, start=None):
    """Stages at the start and after each step; nobody is vaccinated unless it is said who."""
    params = env.default_params.replace(**numbers)
    actions = jnp.full((steps,), env.population) if actions is None else jnp.int32(actions)

    @jax.jit
    def run(key):
        state = env.initial_state(key, params)
        if start is not None:
            state = state.replace(stage=jnp.int32(start))

        def step(state, given):
            noise = env.noise(given[0], params)
            after = env.transition(noise, state, {"clinic": given[1]}, params)[0]
            return after, after.stage

        keys = jax.random.split(key, steps)
        return state.stage, jax.lax.scan(step, state, (keys, actions.astype(jnp.int32)))[1]

    first, later = run(jax.random.key(2))
    return np.concatenate([np.asarray(first)[None], np.asarray(later)]).tolist()


class TestFairnessGym:
    """What ml-fairness-gym documents of its infectious disease (D'Amour et al. 2020).

    Stages are numbered in the order of its states.
    """

    def test_no_contact_no_spread(self):
        env = fairgym.make("epidemic", graph=(), population=50, communities=halves(50))
        stages = played(env, {"infection": 0.5, "recovery": 0.0}, 10)
        assert stages == [stages[0]] * 11 and sum(stages[0]) == 1

    def test_contact_spreads(self):
        first = (1, 3)
        shapes = {"graph": complete(5), "communities": halves(5), "burn_in": 0}
        env = fairgym.make("epidemic", **shapes, first_infected=first)
        stages = played(env, {"infection": 1.0, "recovery": 0.0}, 2)
        assert stages == [[0, 1, 0, 1, 0], [1] * 5, [1] * 5]

    def test_burn_in_along_a_chain(self):
        chain = tuple((person, person + 1) for person in range(9))
        env = fairgym.make("epidemic", graph=chain, communities=halves(10), burn_in=5)
        assert played(env, {"infection": 1.0, "recovery": 0.0}, 1)[0] == [1] * 6 + [0] * 4

    def test_everybody_treated(self):
        """All 50 of a complete graph, four of them infected: 0 infected, then and ever after."""
        env = fairgym.make("epidemic", graph=complete(50), communities=halves(50))
        params = env.default_params.replace(infection=1.0, cure=1.0)
        before = np.isin(np.arange(50), [4, 6, 30, 44]).astype(np.int32)
        treat = jax.jit(lambda *given: steps.immunised(given[0], given[1], given[2], params, 3))
        treated = np.asarray(treat(before, np.ones(50, bool), np.float32(0.999)))
        stages = played(env, {"infection": 1.0}, 50, start=treated)
        assert not (np.array(stages) == 1).any()

    def test_the_spread_is_synchronous(self):
        shapes = {"graph": ((0, 1), (1, 2)), "communities": (0, 0, 1), "burn_in": 0}
        stages = played(fairgym.make("epidemic", **shapes), {"infection": 1.0, "recovery": 0.0}, 2)
        assert stages == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]

    def test_one_transition_in_each_step(self):
        """SEIR with all chances 1: S, E, I, R."""
        shapes = {"graph": complete(10), "communities": halves(10), "burn_in": 0, "model": "SEIR"}
        env = fairgym.make("epidemic", **shapes, first_infected=(1, 3, 5))
        stages = np.array(played(env, {"infection": 1.0, "onset": 1.0, "recovery": 1.0}, 3))
        ill = np.isin(np.arange(10), [1, 3, 5])
        assert stages[:, ill].tolist() == [[2] * 3, [3] * 3, [3] * 3, [3] * 3]
        assert stages[:, ~ill].tolist() == [[0] * 7, [1] * 7, [2] * 7, [3] * 7]

    def test_treatment_comes_before_the_spread(self):
        """A treatment that cures one infected among 25 who all meet, and protects nobody else."""
        shapes = {"graph": complete(25), "communities": halves(25), "burn_in": 0}
        numbers = {"infection": 1.0, "recovery": 0.0, "efficacy": 0.0, "cure": 1.0}
        env = fairgym.make("epidemic", **shapes)
        assert played(env, numbers, 2, [0, 3])[1:] == [[2] + [0] * 24] * 2

    def test_everybody_in_any_state_treated(self):
        """Treatments of SEIR that lead to one state of health, here to immunity."""
        before = jnp.int32([0, 0, 0, 1, 1, 1, 2, 2, 3, 3])
        env = fairgym.make("epidemic", graph=complete(10), communities=halves(10), model="SEIR")
        params = env.default_params.replace(efficacy=1.0, cure=1.0)
        treated = steps.immunised(before, jnp.ones(10, bool), jnp.float32(0.999), params, 4)
        assert treated.tolist() == [3] * 10

    def test_no_treatment_at_all(self):
        """An action may be nobody: 25 susceptible people who meet nobody stay so."""
        shapes = {"graph": (), "population": 25, "communities": halves(25), "burn_in": 0}
        env = fairgym.make("epidemic", **shapes, model="SEIR", first_infected=())
        numbers = {"infection": 0.0, "onset": 0.0, "recovery": 0.0, "efficacy": 1.0, "cure": 1.0}
        assert played(env, numbers, 2, [25, 25]) == [[0] * 25] * 3
        assert played(env, numbers, 1, [4])[1] == [0] * 4 + [3] + [0] * 20


# ------------------------------------------------------------------------- starts, codes, errors


def test_a_number_of_random_people_is_infected_first():
    env = fairgym.make("epidemic", **SMALL, random_infected=3, burn_in=0)
    keys = jax.random.split(jax.random.key(0), 2000)
    stages = jax.jit(jax.vmap(lambda key: env.initial_state(key, env.default_params).stage))(keys)
    assert (stages.sum(axis=1) == 3).all()
    np.testing.assert_allclose(np.asarray(stages).mean(axis=0), 3 / 7, atol=0.06)


def test_codes_for_tables_and_networks():
    """Observations of the paper's network: four numbers for each of 34 people."""
    assert Inputs(fairgym.make("epidemic").observation_space("clinic")).size == 4 * 34
    three = fairgym.make("epidemic", graph="0-1,1-2", communities=(0, 0, 1), shows_time=True)
    assert TableCode(three.observation_space("clinic")).size == 2 ** (4 * 3) * 21


def test_short_term_fairness_has_no_window():
    env = fairgym.make("epidemic")
    assert env.spec.measures["short_term"] == Windowed(env.metrics["vaccine_disparity"], 0)


def test_conformance():
    env = fairgym.make(
        "epidemic", **SMALL, horizon=9, model="SEIR", random_infected=2, shows_time=True
    )
    params = env.default_params.replace(**ALL_NUMBERS)
    check_environment(env, params=params, steps=3)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"model": "SI"}, "model must be SIR or SEIR.*got 'SI'"),
        ({"first_infected": (34,)}, "first_infected must be a whole number from 0 to 33, got 34"),
        ({"random_infected": 35}, "random_infected must be a whole number from 0 to 34, got 35"),
        ({"first_infected": (0, -1)}, "first_infected must be a whole number from 0 to 33, got -1"),
        ({"burn_in": -1}, "burn_in must be a whole number from 0 to 1000, got -1"),
        ({"horizon": 0}, "horizon must be a whole number from 1.*got 0"),
        ({"nodes": 34}, "unknown argument 'nodes' for epidemic; its arguments are: graph"),
    ],
)
def test_bad_shapes(shapes, message):
    with pytest.raises(FairgymError, match=message):
        fairgym.make("epidemic", **shapes)


@pytest.mark.parametrize("name", ["infection", "onset", "recovery", "waning", "efficacy", "cure"])
def test_bad_numbers(name):
    params = fairgym.make("epidemic").default_params
    with pytest.raises(FairgymError, match=rf"{name} must be a number from 0 to 1.*got 1.5"):
        params.replace(**{name: 1.5})
