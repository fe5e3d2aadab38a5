"""The paper's claims on the education system, checked over seeds (MAFE, appendix D, figure 6)."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.core.batching import map_episodes
from fairgym.policies import Function, Random

pytestmark = pytest.mark.full

SEEDS = 5
PEOPLE, SEMESTERS = 1_000, 100
STUDENT_T = 2.776  # two-sided 95%, 4 degrees of freedom
PROGRAMMES = (
    ("bachelors", "bachelor_class"),
    ("masters", "master_class"),
    ("doctorates", "doctorate_class"),
)
MINORITY, WORKFORCE = 1, 2


@pytest.fixture(scope="module")
def env():
    return fairgym.make("education", population=PEOPLE, horizon=SEMESTERS)


@pytest.fixture(scope="module")
def measure(env):
    """`measure(params, university=..., planner=...)`: five episodes of the plausible policy.

    Whether or not somebody fails: sums of the components by seed, and, semester by semester, what
    the workers' utility is made of. One program for all arms.
    """
    baseline = env.spec.baselines["plausible_fixed_policy"]

    def episode(item):
        params, university, planner, salary, key = item
        policies = {
            "admissions": Random(env.action_space("admissions")),
            "university": Function(lambda seen, key: university),
            "employer": Function(lambda seen, key: jnp.full((PEOPLE,), salary)),
            "planner": Function(lambda seen, key: planner),
        }

        def pick(step):
            people, after = env.people(step.before), step.after
            seen = ("gpa", "time_in_university", "time_in_workforce", "minority")
            who = {name: people[name] for name in seen}
            worker = step.before.stage == WORKFORCE
            return step.components, (
                who,
                worker,
                after.supplement,
                after.tuition_share,
                after.mentored,
            )

        return fairgym.core.record(env, params, policies, key, pick=pick)

    run = jax.jit(lambda items: map_episodes(episode, items))
    keys = jax.random.split(jax.random.key(11), SEEDS)

    def arm(params=env.default_params, university=None, planner=None):
        def repeated(x):
            x = jnp.asarray(x, jnp.float32)
            return jnp.broadcast_to(x, (SEEDS, *x.shape))

        items = (
            jax.tree.map(repeated, params),
            repeated(university or baseline["university"]),
            repeated(planner or baseline["planner"]),
            repeated(baseline["employer"]),
            keys,
        )
        components, (who, worker, supplement, tuition, mentored) = run(items)
        return SimpleNamespace(
            params=params,
            salary=baseline["employer"],
            components={
                name: np.asarray(getattr(components, name), np.float64)
                for name in env.spec.component_info
            },
            people={name: np.asarray(value, np.float64) for name, value in who.items()},
            worker=np.asarray(worker),
            supplement=np.asarray(supplement, np.float64),
            tuition=np.asarray(tuition, np.float64),
            mentored=np.asarray(mentored),
        )

    return arm


def graduation(arm, groups=(0, 1)):
    """Rates of the three programmes over the episode, a row per seed."""
    columns = []
    for graduates, size in PROGRAMMES:
        done = arm.components[graduates][..., list(groups)].sum(axis=(1, 2))
        columns.append(done / arm.components[size][..., list(groups)].sum(axis=(1, 2)))
    return np.stack(columns, axis=1)


def utility_of_minority(arm):
    """Mean utility of a minority worker in a semester, from equations (22) and (23), per seed."""
    people = arm.people
    e = people["time_in_workforce"] / float(arm.params.pass_length)
    cost = (
        3.0
        - 1.1 * people["gpa"] / 4.0
        - 1.1 * people["time_in_university"] / 20.0
        - 1.1 * (e - e**2)
    )
    pay = arm.salary + arm.supplement[..., None]
    utility = 0.1 + 1.2 * pay - cost * arm.salary**2
    counted = arm.worker & (people["minority"] == 1)
    return (utility * counted).sum(axis=(1, 2)) / counted.sum(axis=(1, 2))


def raised(without, with_it, what):
    """Five of five seeds, and the interval of the mean difference above 0; prints the figures."""
    gain = with_it - without
    error = gain.std(ddof=1) / np.sqrt(SEEDS)
    print(
        f"\n{what}: {without.mean():.4f} -> {with_it.mean():.4f}, gain {gain.mean():.4f}"
        f" +- {STUDENT_T * error:.4f}, seeds {np.round(gain, 4).tolist()}"
    )
    assert (gain > 0).all(), (what, gain)
    assert gain.mean() - STUDENT_T * error > 0, (what, gain)


def test_unlimited_tertiary_money_raises_graduation_rates(env, measure):
    """Figure 6 (e): every region's chance of improvement at its upper bound, against no money.

    The shift W stands for money without end (P = 0.79) and for none (P = 0.39) while the planner's
    actions, and with them all other money, are the same.
    """
    params = env.default_params
    none = graduation(measure(params.replace(improve_shift=-100.0)))
    unlimited = graduation(measure(params.replace(improve_shift=100.0)))
    for place, (name, _) in enumerate(PROGRAMMES):
        raised(none[:, place], unlimited[:, place], f"tertiary money, {name}")


def rich(params):
    """With ample money: the cost of one thing is not missing elsewhere, and all are admitted."""
    return params.replace(reserve_at_start=1e9, seats_per_unit=PEOPLE * 1.0)


def test_full_scholarships_raise_graduation_rates(env, measure):
    """Figure 6 (f): the university pays the whole tuition, against none of it.

    In both arms the university is rich, has a seat for everybody, builds nothing and keeps 30% of
    its money for salaries, so that they differ in what students pay alone.
    """
    params = rich(env.default_params)
    none = measure(params, [0.0, 0.3, 0.0, 0.0, 0.7])
    full = measure(params, [0.0, 0.3, 0.5, 0.0, 0.2])
    assert (none.tuition == 1.0).all()
    assert (full.tuition == 0.0).all()
    np.testing.assert_array_equal(none.components["applied"], full.components["applied"])
    for place, (name, _) in enumerate(PROGRAMMES):
        raised(graduation(none)[:, place], graduation(full)[:, place], f"scholarships, {name}")


def test_mentorship_raises_the_minoritys_graduation_rates(env, measure):
    """Figure 6 (g): a mentor for every minority student, against none.

    The majority has none either way, and its rates do not move.
    """
    params = rich(env.default_params)
    none = measure(params, [0.0, 0.3, 0.0, 0.0, 0.7])
    everybody = measure(params, [0.0, 0.3, 0.0, 0.2, 0.5])
    assert not none.mentored.any()
    assert everybody.mentored.any()
    before, after = graduation(none, (MINORITY,)), graduation(everybody, (MINORITY,))
    for place, (name, _) in enumerate(PROGRAMMES):
        raised(before[:, place], after[:, place], f"mentorship, minority's {name}")
    others = graduation(everybody, (0,)) - graduation(none, (0,))
    assert (others == 0.0).all()


def test_unlimited_diversity_incentives_raise_the_utility_of_minority_workers(env, measure):
    """Figure 6 (h): supplements up to the maximum salary, against none, other money equal."""
    params = env.default_params
    shares = [1 / 9] * 9
    none = measure(params, planner=[2 / 3, 1 / 3, 0.0, *shares])
    plausible = measure(params, planner=[1 / 3, 1 / 3, 1 / 3, *shares])
    # a salary costs nearly nothing, so that any budget pays a supplement of 1
    unlimited = measure(params.replace(max_salary=1.0), planner=[1 / 3, 1 / 3, 1 / 3, *shares])
    assert (none.supplement == 0.0).all()
    assert (unlimited.supplement[:, 10:] == 1.0).all()
    utility = [utility_of_minority(arm) for arm in (none, plausible, unlimited)]
    raised(utility[0], utility[1], "a third for diversity, utility")
    raised(utility[0], utility[2], "unlimited diversity money, utility")
