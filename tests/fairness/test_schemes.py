"""Schemes against plain NumPy: in a rollout, step by step, along a trace and from a table."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import plain_schemes
import pytest
from jax import lax

import fairgym
from fairgym.core import Components, FairgymError, Memory, component
from fairgym.fairness import (
    AllEqual,
    AlphaFair,
    Always,
    Counter,
    EachTime,
    Full,
    GeneralisedGini,
    Last,
    Least,
    Mean,
    Min,
    Nash,
    Rawlsian,
    Recent,
    RelaxedParity,
    Reset,
    Scheme,
    StakeholderFirst,
    Sum,
    TimepointFirst,
    Utilitarian,
    When,
    component_rows,
    unfairness,
)
from fairgym.policies import fixed_policies

ALIKE = 2e-5  # float32 here, float64 there


def covering(component, weights, groups):
    """Every U, W, W_temporal and B of the paper at least once."""
    full = Full(component)
    statuses = (full, Full(component, discount=0.8), Min(component), Recent(component, 4))
    aggregations = (
        Utilitarian(),
        Rawlsian(),
        Nash(),
        AlphaFair(2.0),
        AlphaFair(0.5),
        GeneralisedGini(),
        GeneralisedGini(weights),
        RelaxedParity(groups),
        AllEqual(),
    )
    temporals = (Sum(), Sum(0.9), Last(), Mean(), Least())
    filters = (Always(), Counter(5), When(component), EachTime(component, 12))
    found = {}
    for k, by in enumerate(aggregations):
        extended = TimepointFirst(by, temporals[k % 5])
        found[type(by).__name__ + str(k)] = Scheme(statuses[k % 3], extended, filters[k % 4])
    for k, (u, when) in enumerate(zip(statuses, filters, strict=True)):
        found[f"stakeholders-{k}"] = Scheme(u, StakeholderFirst(), when)
    return found


SCHEMES = covering("disbursed", (0.7, 0.3), ())
TAKING = {"admissions": "random", "disbursement": "random", "debt_management": 0.1}
SYSTEMS = {  # environment, actions, component, schemes; stakeholders are groups, and people
    "loan_simple": (
        fairgym.make("loan_simple", population=60, horizon=20),
        TAKING,
        "disbursed",
        SCHEMES,
    ),
    "doughnut": (
        fairgym.make("doughnut", population=3, horizon=36),
        {"server": "random"},
        "handed_out",
        covering("handed_out", (0.6, 0.4, 0.1), (0, 1, 1)),
    ),
}


class Rows(Components):
    """Components of made-up traces."""

    disbursed: jax.Array = component("loans", unit="loans", per="group")


def fold(schemes, trace):
    """Step by step, as learners do: memories at the end, and the reward of each step."""

    def step(scheme_state, row):
        after = {name: scheme.update(scheme_state[name], row) for name, scheme in schemes.items()}
        gains = {name: s.gain(scheme_state[name], after[name]) for name, s in schemes.items()}
        return after, gains

    first = jax.tree.map(lambda x: x[0], trace)
    return lax.scan(step, {name: s.initial(first) for name, s in schemes.items()}, trace)


@pytest.fixture(scope="module", params=SYSTEMS)
def ways(request):
    """One episode, scored in four ways by all schemes, and made-up traces."""
    env, actions, component, schemes = SYSTEMS[request.param]
    policies, steps = fixed_policies(env, actions), env.horizon
    episode = jax.jit(
        lambda key: fairgym.rollout(
            env, env.default_params, policies, key, trace=True, memories=schemes
        )
    )(jax.random.key(3))
    counts = np.asarray(getattr(episode.trace, component))
    stakeholders = env.spec.parts_of(env.spec.component_info[component].axes[0])
    # the same episode as a log: a row for each that was handed out, in no order
    log = [
        (step, stakeholders[place])
        for (step, place), count in np.ndenumerate(counts)
        for _ in range(int(count))
    ]
    when, who = zip(*np.random.default_rng(0).permutation(np.array(log, object)), strict=True)
    rows = component_rows(
        {"step": when, "who": who, component: [1] * len(who)},
        [component],
        time="step",
        stakeholder="who",
        stakeholders=stakeholders,
        steps=steps,
    )
    scheme_state, gains = jax.jit(lambda trace: fold(schemes, trace))(episode.trace)
    # made-up counts, most of them few, of any length beside those of the episode: one program
    rng = np.random.default_rng(1)
    often = rng.choice([0.2, 1.0, 4.0], (12, 1, len(stakeholders)))
    made_up = rng.poisson(often, (12, *counts.shape))
    lengths = np.array([episode.length, episode.length, *rng.integers(1, steps + 1, 12)])
    together = np.concatenate([[counts, getattr(rows, component)], made_up]).astype(np.float32)
    found = jax.jit(
        jax.vmap(lambda t, n: {name: scheme.of_trace(t, n) for name, scheme in schemes.items()})
    )(type(rows)(**{component: jnp.asarray(together)}), lengths)
    return {
        "component": component,
        "schemes": schemes,
        "rollout": {name: s.score(episode.memories[name]) for name, s in schemes.items()},
        "learner": {name: gains[name].sum() for name in schemes},
        "scheme_state": {name: s.score(scheme_state[name]) for name, s in schemes.items()},
        "trace": jax.tree.map(lambda x: x[0], found),
        "table": jax.tree.map(lambda x: x[1], found),
        "plain": {component: counts[: int(episode.length)]},
        "rows": len(log),
        "made up": (together[2:], lengths[2:], jax.tree.map(lambda x: x[2:], found)),
    }


@pytest.mark.parametrize("name", SCHEMES)
def test_a_rollout_a_learner_a_trace_and_a_table_give_the_same_score(ways, name):
    """And that of plain NumPy; the episode hands out enough for every filter."""
    expected = plain_schemes.scores(ways["schemes"][name], ways["plain"])
    assert ways["rows"] > 24
    for way in ("rollout", "scheme_state"):
        np.testing.assert_allclose(ways[way][name], expected[-1], rtol=ALIKE, atol=ALIKE)
    np.testing.assert_allclose(ways["learner"][name], expected[-1], rtol=ALIKE, atol=1e-4)
    for way in ("trace", "table"):
        score, scores = ways[way][name]
        np.testing.assert_allclose(scores[: len(expected)], expected, rtol=ALIKE, atol=ALIKE)
        assert float(score) == float(scores[len(expected) - 1]) == float(scores[-1])
    assert float(ways["rollout"][name]) == pytest.approx(
        float(ways["scheme_state"][name]), rel=1e-6
    )
    assert float(ways["trace"][name][0]) == float(ways["table"][name][0])


@pytest.mark.parametrize("name", SCHEMES)
def test_random_traces_of_any_length_score_as_in_plain_numpy(ways, name):
    counts, lengths, found = ways["made up"]
    score, scores = found[name]
    for rows, length, last, course in zip(counts, lengths, score, scores, strict=True):
        trace = {ways["component"]: rows[:length]}
        expected = plain_schemes.scores(ways["schemes"][name], trace)
        np.testing.assert_allclose(course[:length], expected, rtol=ALIKE, atol=ALIKE)
        np.testing.assert_array_equal(course[length:], course[length - 1])
        assert float(last) == float(course[-1])


def test_the_cover_has_every_part_in_it():
    parts = [(s.status, s.extended, s.when) for s in SCHEMES.values()]
    first = [extended for _, extended, _ in parts if isinstance(extended, TimepointFirst)]
    assert len({u for u, _, _ in parts}) == len({when for *_, when in parts}) == 4
    assert len({e.aggregation for e in first}) == 9 and len({e.temporal for e in first}) == 5


class TestRewards:
    def test_a_reward_like_scheme_pays_w_of_u_where_b(self):
        """Definition 5.8, also of a status vector that is not the trace's own."""
        scheme = Scheme.bounded(Full("disbursed"), Nash(), When("disbursed"))
        assert scheme.reward_like
        rows = Rows(jnp.array([[1.0, 0.0], [0.0, 0.0], [2.0, 2.0]]))
        _, gains = fold({"welfare": scheme}, rows)
        assert gains["welfare"].tolist() == pytest.approx([np.log(2), 0.0, np.log(4) + np.log(3)])
        other = scheme.reward(jnp.array([3.0, 3.0]), jnp.array(True))
        assert float(other) == pytest.approx(2 * np.log(4))
        assert float(scheme.reward(jnp.array([3.0, 3.0]), jnp.array(False))) == 0.0

    def test_only_the_plain_sum_of_timepoints_is_reward_like(self):
        like = {name for name, scheme in SCHEMES.items() if scheme.reward_like}
        plain = {
            name
            for name, scheme in SCHEMES.items()
            if isinstance(scheme.extended, TimepointFirst) and scheme.extended.temporal == Sum()
        }
        assert like == plain and 0 < len(like) < len(SCHEMES) / 2
        with pytest.raises(FairgymError, match=r"Sum\(\)\), got StakeholderFirst\(\)"):
            SCHEMES["stakeholders-0"].reward(jnp.zeros(2), jnp.array(True))

    def test_discounted_sums_weigh_the_kth_assessment(self):
        """gamma^(k-1) w_k over assessments, not over steps (section 4.2)."""
        rows = Rows(jnp.array([[1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
        scheme = Scheme.periodic(Full("disbursed"), Utilitarian(), 2, Sum(0.5))
        score, scores = scheme.of_trace(rows)
        assert (float(score), scores.tolist()) == (1 + 0.5 * 3, [0.0, 1.0, 1.0, 2.5])

    def test_long_sums_keep_what_rounding_loses(self):
        """100,000 steps of 0.1 each."""
        tenth = np.float32(0.1)
        rows = Rows(jnp.zeros((100_000, 2)).at[0].set(tenth))
        score, _ = Scheme.anytime(Full("disbursed"), Rawlsian()).of_trace(rows)
        assert abs(np.cumsum(np.full(100_000, tenth), dtype=np.float32)[-1] - 10_000) > 1.0
        assert float(score) == pytest.approx(10_000, abs=0.01)


@pytest.fixture(scope="module")
def vaccines():
    """Figure 1: 80,000 vaccines, 20,000 a month, to A, A, B, B or to both by half."""
    plans = np.array([np.repeat(np.eye(2), 2, axis=0) * 20.0, np.full((4, 2), 10.0)])
    u = Full("disbursed")
    schemes = {
        f"{kind} {type(by).__name__}": make(by)
        for by in (Nash(), Rawlsian(), RelaxedParity(), AllEqual())
        for kind, make in (
            ("long-term", lambda by: Scheme.long_term(u, by)),
            ("periodic", lambda by: Scheme.periodic(u, by, 2)),
            ("anytime", lambda by: Scheme.anytime(u, by)),
        )
    }
    schemes["by stakeholder"] = Scheme(u, StakeholderFirst())
    run = jax.vmap(lambda rows: {n: s.of_trace(rows) for n, s in schemes.items()})
    return jax.jit(run)(Rows(jnp.asarray(plans, jnp.float32)))


class TestPaper:
    """The examples of the paper."""

    @pytest.mark.parametrize("by", ["Nash", "Rawlsian", "RelaxedParity", "AllEqual"])
    def test_vaccines_are_as_fair_in_the_end_and_less_so_on_the_way(self, vaccines, by):
        first, both = vaccines[f"long-term {by}"][0]
        assert float(first) == float(both)
        for kind in ("periodic", "anytime"):
            first, both = vaccines[f"{kind} {by}"][0]
            assert float(first) < float(both)

    def test_vaccines_by_hand(self, vaccines):
        apart = vaccines["anytime RelaxedParity"][1]
        assert apart[0].tolist() == [-20.0, -60.0, -80.0, -80.0]
        assert apart[1].tolist() == [0.0] * 4
        # A is 10, 20, 10, 0 above the mean: 40 in all, and B as much below
        assert vaccines["by stakeholder"][0].tolist() == [-2 * 40.0**2, 0.0]

    def test_unfairness_now_and_in_favour_later_cancel(self):
        """Section 4.2.1: what timepoint-first cannot say."""
        rows = Rows(jnp.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0]]))
        assert float(Scheme(Full("disbursed"), StakeholderFirst()).of_trace(rows)[0]) == 0.0
        assert float(Scheme.anytime(Full("disbursed"), RelaxedParity()).of_trace(rows)[0]) == -2.0
        assert unfairness(jnp.array([6.0, 8.0, 10.0])).tolist() == [-2.0, 0.0, 2.0]

    def test_every_dozen_doughnuts(self):
        """Section 4: 24 doughnuts to three children, assessed at each dozen."""
        order = np.repeat(np.eye(3, dtype=np.float32), 8, axis=0)  # A's eight first
        rows = component_rows(
            {"time": range(24), "child": np.repeat(["A", "B", "C"], 8), "got": [1] * 24},
            ["got"],
            stakeholder="child",
        )
        np.testing.assert_array_equal(rows.got, order)
        dozens = Scheme.bounded(Full("got"), RelaxedParity(), EachTime("got", 12))
        assert np.flatnonzero(np.diff(dozens.of_trace(rows)[1], prepend=0.0)).tolist() == [11]
        assert float(dozens.of_trace(rows)[0]) == -8.0 + 0.0  # (8, 4, 0), then (8, 8, 8)
        assert float(Scheme.long_term(Full("got"), AllEqual()).of_trace(rows)[0]) == 1.0


def test_schemes_are_memories_and_small_values():
    """Equal ones are equal, and share compiled programs; a title does not tell them apart."""
    again = covering("disbursed", (0.7, 0.3), ())
    for name, scheme in SCHEMES.items():
        assert isinstance(scheme, Memory)
        titled = dataclasses.replace(again[name], title="in words")
        assert titled == scheme and hash(titled) == hash(scheme)


BAD = [
    (lambda: Scheme.periodic(Full("x"), Nash(), 0), "period must be a whole number from 1.*got 0"),
    (lambda: Recent("x", 0), "steps must be a whole number from 1.*got 0"),
    (lambda: EachTime("x", 0), "amount must be a number above 0, got 0"),
    (lambda: EachTime("x", float("nan")), "amount must be a number from 0.*got nan"),
    (lambda: Full("x", discount=1.5), "discount must be a number from 0 to 1.*got 1.5"),
    (lambda: Min("x", most=-1), "most must be a number from 0.*got -1"),
    (lambda: Sum(-0.1), "discount must be a number from 0 to 1.*got -0.1"),
    (lambda: AlphaFair(-1.0), "alpha must be a number from 0.*got -1.0"),
    (lambda: Nash(plus=-1.0), "plus must be a number from 0.*got -1.0"),
    (
        lambda: GeneralisedGini((1.0, -0.5)),
        "a weight of GeneralisedGini must be a number from 0, got -0.5",
    ),
    (lambda: GeneralisedGini((0.3, 0.7)), r"must not increase .*, got \(0.3, 0.7\)"),
    (lambda: GeneralisedGini((1.0,))(jnp.zeros(2)), "for each of 2 stakeholders, got 1"),
    (lambda: RelaxedParity((0, 2)), r"numbers from 0 on, .*, got \(0, 2\)"),
    (lambda: RelaxedParity((0, 1))(jnp.zeros(3)), "for each of 3 stakeholders, got 2"),
    (lambda: AllEqual(-1.0), "tolerance must be a number from 0.*got -1.0"),
]


@pytest.mark.parametrize(("make", "message"), BAD)
def test_bad_numbers_are_refused_in_a_sentence(make, message):
    with pytest.raises(FairgymError, match=message):
        make()


def test_parts_that_do_not_fit_are_refused_in_a_sentence():
    """Types are not checked at run time where users are."""
    scheme = Scheme.long_term(Full("disbursed"), Nash())
    for part, value, message in (
        ("status", Reset("disbursed"), r"status must be .*with a status.*, got Reset\("),
        ("extended", StakeholderFirst, "extended must be .*, got <class.*StakeholderFirst"),
        ("when", Full("disbursed"), r"when must be a filter.*, got Full\("),
        ("normaliser", 0.0, "normaliser of a scheme must be a number above 0, got 0.0"),
    ):
        with pytest.raises(FairgymError, match=message):
            _unchecked(scheme, part, value)
    rows = Rows(jnp.zeros((2, 2)))
    with pytest.raises(FairgymError, match="one of disbursed, got 'loans', which is unknown"):
        Scheme.long_term(Full("loans"), Nash()).of_trace(rows)
    with pytest.raises(FairgymError, match="the trace must have one or more rows, got none"):
        scheme.of_trace(Rows(jnp.zeros((0, 2))))
    with pytest.raises(FairgymError, match="component must be one of disbursed, got 'loans'"):
        Scheme.bounded(Full("disbursed"), Nash(), When("loans")).of_trace(rows)


def _unchecked(scheme, part, value):
    """A scheme with another part, made as in a process without the checks of types in tests."""
    made = object.__new__(Scheme)
    fields = {f.name: getattr(scheme, f.name) for f in dataclasses.fields(Scheme)} | {part: value}
    for name, given in fields.items():
        object.__setattr__(made, name, given)
    return made.__post_init__()
