"""Noise floors: disparities of the same episodes whose people's groups are permuted."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiers import in_tiers

import fairgym
from fairgym.core import FairgymError, counts_people, group_counts, in_groups, no_components
from fairgym.fairness import EqualisedOdds, Full, LargestGap, Rate
from fairgym.policies import fixed_policies
from fairgym.statistics import permuting
from fairgym.statistics.comparisons import null_of
from fairgym.statistics.permuting import known_value, permuted
from fairgym.training import evaluate
from fairgym.wrappers import MoreMetrics, Wrapper, augmented

SIZES = {
    "loan": {"population": 200, "horizon": 40},
    "loan_simple": {"population": 200, "horizon": 5},
    "health": {"population": 200, "horizon": 20},
    "education": {"population": 200, "horizon": 24},
    "lending_pool": {},
    "college_admissions": {"population": 20, "horizon": 12},
}
FORMS = {
    **{name: (name, shape) for name, shape in SIZES.items()},
    "two banks": ("loan", SIZES["loan"] | {"banks": 2}),
    "selective labels": ("loan", SIZES["loan"] | {"selective_labels": True}),
    "races": ("loan", SIZES["loan"] | {"group_by": "race"}),
}
QUEUE = {"admissions": 0.0, "debt_management": 0.12, "disbursement": "random"}
UNEQUAL = QUEUE | {"admissions": [0.3, 1.0]}


def rolled(env, policies, **options):
    params, key = env.default_params, jax.random.key(3)
    return jax.jit(lambda: fairgym.rollout(env, params, policies, key, **options))()


def test_disparities_are_permuted_whose_counts_are_all_told_by_person():
    """All counts of all of its rates."""
    env = fairgym.make("loan", **SIZES["loan"])
    counted, other = Rate("approved", "applied"), Rate("profit", "applied", unit="dollars")
    metrics = {
        "both": EqualisedOdds(counted, Rate("defaulted", "ended")),
        "one": EqualisedOdds(counted, other),
        "none": LargestGap(other),
        "rate": counted,
    }
    found = permuting.compared_by_group(MoreMetrics(env, tuple(metrics.items())))
    assert set(found) & set(metrics) == {"both"}


@pytest.mark.parametrize("form", in_tiers(FORMS, "lending_pool"))
def test_people_add_up_to_their_groups(form):
    """And counting them changes no count, nor anything that happens."""
    name, shape = FORMS[form]
    env = fairgym.make(name, **shape)
    policies = fixed_policies(env, list(env.spec.baselines.values())[-1])
    plain = rolled(env, policies, trace=True)
    told = rolled(env, policies, trace=True, tally=True)
    for ours, theirs in ((plain.totals, told.totals), (plain.trace, told.trace)):
        for name in env.spec.component_info:
            # a sum of dollars or chances may be rounded in another order
            counted = env.spec.component_info[name].unit == "people"
            exact = counted and not name.startswith("estimated")
            np.testing.assert_allclose(
                getattr(ours, name),
                getattr(theirs, name),
                rtol=0 if exact else 1e-5,
                atol=0 if exact else 1e-5,
                err_msg=name,
            )
    assert int(told.length) > 1 and plain.tallies is None
    assert np.array_equal(plain.final_state.stage, told.final_state.stage)
    group = np.asarray(told.final_state.group)
    for count in group_counts(env):
        own = np.asarray(getattr(told.tallies, count), np.float64)
        sums = [own[group == code].sum() for code in range(len(env.spec.groups))]
        np.testing.assert_allclose(getattr(told.totals, count), sums, rtol=1e-6)


@pytest.mark.full
@pytest.mark.parametrize("name", ["health", "education"])
def test_parts_add_up_to_everybody(name):
    """Counted as the parts are at each step: in health others take the places of the dead."""
    env = fairgym.make(name, **SIZES[name])
    policies = fixed_policies(env, list(env.spec.baselines.values())[-1])
    found = evaluate(
        env, env.default_params, policies, jax.random.key(3), 2, trace=True, permutations=1
    )
    assert found.part_totals.keys() == env.spec.partitions.keys()
    for partition, parts in env.spec.partitions.items():
        totals = found.part_totals[partition]
        for count in group_counts(env):
            own, all_groups = getattr(totals, count), getattr(found.totals, count)
            assert own.shape == (2, len(parts))
            np.testing.assert_allclose(own.sum(axis=1), all_groups.sum(axis=1), rtol=1e-5)
        people = found.parts[partition]["people"]
        if name == "health":
            assert (people[:, 0] != people[:, -1]).any(), "the parts have changed"
            expected = [
                p[:length].sum(axis=0) for p, length in zip(people, found.lengths, strict=True)
            ]
            np.testing.assert_allclose(totals.people, expected, rtol=1e-6)


def gap_of_parts(applied, admitted, code):
    """Standard deviation of the parts' admission rates; NaN where nobody of a part applied."""
    above, below = (np.bincount(code, x, minlength=8) for x in (admitted, applied))
    return -np.std(above / below) if below.all() else np.nan


@pytest.mark.full
def test_parts_beside_those_that_luck_makes():
    """NumPy's permutations of the eight parts of race and sex in education; 2,000 of either."""
    env = fairgym.make("education", population=1000, horizon=20)
    policies = fixed_policies(env, env.spec.baselines["plausible_fixed_policy"])
    found = evaluate(env, env.default_params, policies, jax.random.key(3), 2, permutations=2000)
    name, partition = "admission_disparity", "race_and_sex"
    told = fairgym.rollout(
        env, env.default_params, policies, jax.random.split(jax.random.key(3), 2)[0], tally=True
    )
    counts = env.metrics[name].rate
    applied, admitted = (
        np.asarray(getattr(told.tallies, count), np.float64)
        for count in (counts.denominator, counts.numerator)
    )
    code = np.asarray(env.people(told.final_state)[partition]).astype(int)
    random = np.random.default_rng(0)
    with np.errstate(invalid="ignore"):
        own = gap_of_parts(applied, admitted, code)
        theirs = [gap_of_parts(applied, admitted, random.permutation(code)) for _ in range(2000)]
    np.testing.assert_allclose(found.part_metrics[partition][name][0], own, rtol=1e-5)
    ours = found.part_nulls[partition][name][0]
    both = [np.sort(x[np.isfinite(x)]) for x in (ours, np.array(theirs))]
    # as often nobody of a part applied, and the rest of one distribution (Kolmogorov and Smirnov)
    assert abs(len(both[0]) - len(both[1])) < 4 * np.sqrt(2 * 2000 * 0.25)
    places = np.concatenate(both)
    apart = [np.searchsorted(one, places, "right") / len(one) for one in both]
    assert np.abs(apart[0] - apart[1]).max() < 2.23 * np.sqrt(sum(1 / len(one) for one in both))
    null = found.null(name, partition=partition)
    known = np.isfinite(found.part_metrics[partition][name])
    assert known.any()
    assert null.mean == pytest.approx(
        np.nanmean(found.part_nulls[partition][name][known]), rel=1e-3
    )
    assert null.value == pytest.approx(found.part_metrics[partition][name][known].mean())
    with pytest.raises(
        FairgymError, match=r"unknown partition 'planet'; there are: .*race_and_sex"
    ):
        found.null(name, partition="planet")


def test_a_memory_remembers_groups():
    env = augmented(fairgym.make("lending_pool"), Full("loans"))
    policies = fixed_policies(env, next(iter(env.spec.baselines.values())))
    plain, told = rolled(env, policies), rolled(env, policies, tally=True)
    assert np.array_equal(plain.final_state.memory, told.final_state.memory)
    assert np.array_equal(plain.totals.loans, told.totals.loans)
    assert told.tallies.loans.shape == (env.population,)


@pytest.fixture(scope="module")
def watched():
    """A queue's evaluation, and who waited for how long in it, from the states alone."""
    env = fairgym.make("loan", **SIZES["loan"])
    policies = fixed_policies(env, QUEUE)
    found = evaluate(env, env.default_params, policies, jax.random.key(3), 1, permutations=2000)
    (key,) = jax.random.split(jax.random.key(3), 1)
    episode = fairgym.rollout(
        env,
        env.default_params,
        policies,
        key,
        watch=lambda state: (state.stage, state.waiting_since, state.time),
    )
    stage, since, time = (np.asarray(x) for x in episode.watched)
    paid_out = (stage[:-1] == 1) & (stage[1:] == 2)
    waited = np.where(paid_out, time[:-1, None] - since[:-1], 0).sum(axis=0)
    group = np.asarray(episode.final_state.group)
    return env, found, waited, paid_out.sum(axis=0), group


def test_the_distribution_of_plain_permutations(watched):
    """NumPy's permutations of what happened to each person; 2,000 of either."""
    _, found, waited, paid_out, group = watched
    random = np.random.default_rng(0)

    def gap(code):
        rates = [waited[code == g].sum() / paid_out[code == g].sum() for g in (0, 1)]
        return -abs(rates[0] - rates[1])

    assert found.metrics["wait_disparity"][0] == pytest.approx(gap(group), rel=1e-5)
    theirs = np.sort([gap(random.permutation(group)) for _ in range(2000)])
    ours = np.sort(found.nulls["wait_disparity"][0])
    # Kolmogorov and Smirnov: the largest distance of two samples of 2,000, at a level of 1e-4
    places = np.concatenate([ours, theirs])
    apart = np.searchsorted(ours, places) - np.searchsorted(theirs, places)
    assert np.abs(apart).max() / 2000 < 2.23 * np.sqrt(2 / 2000)
    null = found.null("wait_disparity")
    assert null.mean == pytest.approx(ours.mean())
    assert null.bound == pytest.approx(np.quantile(ours, 0.05))
    assert null.excess == pytest.approx(gap(group) - ours.mean(), rel=1e-4)


@pytest.mark.full
def test_compiled_and_step_by_step():
    """Twenty people, every second of them in the other group."""
    env = fairgym.make("lending_pool")
    people, group = jnp.arange(20.0), jnp.arange(20) % 2
    tallies = no_components(env, env.default_params).replace(
        applied=jnp.ones(20), loans=people, repaid=people, defaulted=people**2
    )
    key = jax.random.key(0)
    compiled = jax.jit(lambda: permuted(env, tallies, group, key, 50))()
    with jax.disable_jit():
        eager = permuted(env, tallies, group, key, 50)
    assert compiled.keys() == eager.keys() and compiled
    for name, values in eager.items():
        np.testing.assert_allclose(compiled[name], values, rtol=1e-5)
        assert len(set(np.asarray(values).tolist())) > 10, name
    assert in_groups(env, tallies, group).loans.tolist() == [90.0, 100.0]


def test_a_group_that_nobody_counts_for():
    """One loan, not repaid: the other group has 0/0, which objectives take for a rate of 0."""
    env = fairgym.make("lending_pool")
    loan = jnp.zeros(20).at[3].set(1.0)
    tallies = no_components(env, env.default_params).replace(
        applied=jnp.ones(20), loans=loan, repaid=0.0 * loan, defaulted=loan
    )
    group, key = jnp.arange(20) % 2, jax.random.key(0)
    name = "default_disparity"
    assert (permuted(env, tallies, group, key, 9)[name] == -1.0).all()
    found = permuted(env, tallies, group, key, 9, value=known_value)
    assert np.isnan(found[name]).all()


@pytest.mark.full
def test_nulls_take_such_a_group_as_metrics_do():
    """Of eight people one is in the other group: in many an episode nobody of it is counted."""
    env = fairgym.make("loan", population=8, horizon=3)
    policies = fixed_policies(env, QUEUE)
    found = evaluate(env, env.default_params, policies, jax.random.key(0), 40, permutations=50)
    name = "admission_disparity"
    unknown = ~found.defined[name]
    # everybody is admitted: a rate of 1 beside that of the group in which nobody applied
    assert unknown.any() and set(found.metrics[name][unknown]) == {-1.0}
    assert set(found.nulls[name][unknown].flat) == {-1.0, 0.0}


@dataclasses.dataclass(frozen=True)
class Shuffled(Wrapper):
    """The people's groups have nothing to do with them."""

    def initial_state(self, key, params):
        state = self.env.initial_state(key, params)
        lot = jax.random.uniform(jax.random.fold_in(key, 5), state.group.shape)
        shuffled = state.group[jax.lax.top_k(lot, self.population)[1]]
        return state.replace(group=shuffled)


@pytest.mark.full
def test_groups_by_lot_exceed_the_bound_as_often_as_they_should():
    """5% of 400 episodes, 20 with a standard deviation of 4.4: each is a test of its own."""
    env = Shuffled(fairgym.make("loan", population=200, horizon=30))
    policies = fixed_policies(env, QUEUE)
    found = evaluate(env, env.default_params, policies, jax.random.key(0), 400, permutations=99)
    for name in ("wait_disparity", "queue_disparity"):
        values, nulls = found.metrics[name], found.nulls[name]
        beyond = sum(
            null_of(values[i : i + 1], nulls[i : i + 1]).clear for i in range(found.episodes)
        )
        assert 7 <= beyond <= 33, name
        # all of them together: no excess worth naming
        null = found.null(name)
        assert abs(null.excess) < 4 * values.std() / np.sqrt(400)


@pytest.mark.full
def test_an_unequal_threshold_exceeds_it():
    env = Shuffled(fairgym.make("loan", population=200, horizon=30))
    found = evaluate(
        env,
        env.default_params,
        fixed_policies(env, UNEQUAL),
        jax.random.key(0),
        4,
        permutations=200,
    )
    null = found.null("admission_disparity")
    assert null.clear and null.excess < -0.3
    assert null.value == pytest.approx(found.metrics["admission_disparity"].mean())


@pytest.mark.full
@pytest.mark.parametrize(("population", "published"), [(200, 5.2), (1000, 1.39)])
def test_the_floor_of_a_random_queue(population, published):
    """The wait disparity that luck makes is months at 200 people and falls with their number."""
    env = Shuffled(fairgym.make("loan", population=population, horizon=400))
    found = evaluate(
        env,
        env.default_params,
        fixed_policies(env, QUEUE),
        jax.random.key(1),
        12,
        permutations=200,
    )
    null = found.null("wait_disparity")
    assert not null.clear, "the groups are drawn by lot"
    assert -null.mean == pytest.approx(published, rel=0.4)


def test_shuffled_groups_keep_their_sizes():
    """And anybody may be in any of them: 1,000 shuffles of nine people in three groups."""
    group = jnp.array([0, 0, 0, 0, 1, 1, 1, 2, 2])
    keys = jax.random.split(jax.random.key(0), 1000)
    found = np.asarray(jax.vmap(lambda key: permuting._shuffled(key, group, 3))(keys))
    assert (np.sort(found, axis=1) == np.asarray(group)).all()
    for code, share in enumerate((4 / 9, 3 / 9, 2 / 9)):
        spread = np.sqrt(share * (1 - share) / 1000)
        assert (np.abs((found == code).mean(axis=0) - share) < 4 * spread).all()


def test_only_defined_episodes_count():
    null = null_of(np.zeros(0), np.zeros((0, 5)))
    assert np.isnan(null.excess) and not null.clear
    null = null_of(np.array([-3.0, -1.0]), np.array([[-1.0, 0.0], [-2.0, -1.0]]))
    assert (null.value, null.mean) == (-2.0, -1.0)
    assert null.clear
    # the third permutation tells of one episode, the fourth of none
    nan = np.nan
    null = null_of(
        np.array([-3.0, -1.0]), np.array([[-1.0, 0.0, nan, nan], [-2.0, -1.0, 0.0, nan]])
    )
    assert null.mean == pytest.approx((-1.5 - 0.5 + 0.0) / 3)
    assert np.isnan(null_of(np.array([-3.0]), np.array([[nan, nan]])).value)


@pytest.mark.full
def test_what_cannot_be_permuted(watched):
    env, found = watched[:2]
    with pytest.raises(FairgymError, match=r"profit.*wait_disparity"):
        found.null("profit")
    doughnut = fairgym.make("doughnut")
    assert not counts_people(doughnut)
    policies = fixed_policies(doughnut, {"server": "random"})
    args = doughnut, doughnut.default_params, policies, jax.random.key(0)
    assert evaluate(*args, 2, permutations=5).nulls == {}
    with pytest.raises(FairgymError, match="tally must be False for doughnut"):
        fairgym.rollout(*args, tally=True)
    with pytest.raises(
        FairgymError, match="permutations must be a whole number from 0 to 1000000, got -1"
    ):
        evaluate(env, env.default_params, fixed_policies(env, QUEUE), args[-1], permutations=-1)
