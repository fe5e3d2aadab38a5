"""Scenarios: the same episodes, paired differences, files, and refusals."""

import dataclasses
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest
from two_servers import TwoServers  # registers itself

import fairgym
from fairgym.core import FairgymError
from fairgym.fairness import Objective
from fairgym.policies import fixed_policies
from fairgym.results.changes import changes
from fairgym.results.numbers import in_plain_unit
from fairgym.results.quantities import quantities
from fairgym.results.rows import effects
from fairgym.statistics import share_difference
from fairgym.training import Evaluation, Scenario, evaluate, simulate
from fairgym.training.scenario_file import read_scenarios
from fairgym.training.scenarios import baseline_scenarios, build_all, default_baseline

SHAPES: dict[str, Any] = {"population": 60, "horizon": 20}
EPISODES = 5
T_4 = 2.7764451  # the 97.5% quantile of Student's t with four degrees of freedom
ADMIT_ALL = {"admissions": 0.0, "debt_management": 0.0, "disbursement": "random"}


def scenario(name, fixed=(), params=(), **more):
    return Scenario(name, fixed, params, environment_args=SHAPES, **more)


@pytest.fixture(scope="module")
def simulated():
    """Relief, higher deposit rates and no change, against everybody admitted without relief."""
    return simulate(
        "loan",
        [
            scenario("today"),
            scenario("relief", {"debt_management.relief": 0.2}),
            scenario("deposits", params={"deposit_rate": "+100%"}),
            scenario("the same", {"admissions": 0.0}, {"deposit_rate": 0.03}),
        ],
        episodes=EPISODES,
        seed=3,
    )


@pytest.fixture(scope="module")
def by_hand():
    """Evaluations of the same episodes, outside of any simulation, with everybody's features.

    By the program of `test_evaluation.py`, which asks for more.
    """
    env = fairgym.make("loan", **SHAPES)
    return [
        evaluate(
            env,
            env.default_params,
            fixed_policies(env, ADMIT_ALL | {"debt_management": relief}),
            jax.random.key(3),
            EPISODES,
            objective=Objective.uniform(env),
            trace=True,
            people_episodes=EPISODES,
            ends=True,
        )
        for relief in (0.0, 0.2)
    ]


# Each simulation is kept beside its effects, so that no other one gets its id.
KNOWN: dict[int, tuple[Any, dict[Any, Any]]] = {}


def found(simulation, kind, name, group=""):
    if id(simulation) not in KNOWN:
        told = {
            (e.quantity.kind, e.quantity.name, e.quantity.group): e for e in effects(simulation)
        }
        KNOWN[id(simulation)] = (simulation, told)
    return KNOWN[id(simulation)][1][kind, name, group]


def check(effect, before, after, name="relief"):
    """Means, and the paired t interval by its formula."""
    before, after = np.asarray(before, np.float64), np.asarray(after, np.float64)
    difference = after - before
    half = T_4 * difference.std(ddof=1) / np.sqrt(EPISODES)
    expected = (difference.mean(), difference.mean() - half, difference.mean() + half)
    told = effect.differences[name]
    np.testing.assert_allclose((told.mean, told.low, told.high), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(effect.means[name].mean, after.mean(), rtol=1e-4)
    return difference


def test_differences_are_those_of_two_evaluations_by_pairs(simulated, by_hand):
    before, after = by_hand
    assert simulated.reference == "today" and simulated.episodes == EPISODES
    moved = []
    for name, sign, factor in [
        ("profit", 1, 1000.0),  # thousand dollars are told in dollars
        ("wait_disparity", -1, 1.0),
        ("admission_rate", 1, 1.0),
    ]:
        values = (sign * factor * e.metrics[name] for e in by_hand)
        moved.append(check(found(simulated, "measure", name), *values))
    assert moved[0].any()
    for code, group in enumerate(("advantaged", "disadvantaged")):
        for name in ("applied", "disbursed", "ended", "defaulted"):
            values = (getattr(e.totals, name)[:, code] for e in by_hand)
            moved.append(check(found(simulated, "count", name, group), *values))
        scores = []
        for e in by_hand:
            own = e.people_end["group"] == code
            score = np.where(own, e.people_end["qualification_score"], 0.0)
            scores.append(score.sum(axis=1) / own.sum(axis=1))
        moved.append(check(found(simulated, "end", "qualification_score", group), *scores))
        owing = (((e.people_end["balance"] > 0) & (e.people_end["group"] == code)) for e in by_hand)
        check(found(simulated, "end", "repaying", group), *(o.sum(axis=1) for o in owing))
        assert moved[-1].any()
    wait = found(simulated, "rate", "waited_per_disbursed")
    check(wait, *(e.totals.waited.sum(axis=1) / e.totals.disbursed.sum(axis=1) for e in by_hand))
    own = found(simulated, "rate", "waited_per_disbursed", "advantaged")
    check(own, *(e.totals.waited[:, 0] / e.totals.disbursed[:, 0] for e in by_hand))
    of_group = found(simulated, "rate", "waited_per_disbursed", "disadvantaged")
    nobody = (before.totals.disbursed[:, 1] == 0).sum()
    assert of_group.undefined.get("today", 0) == nobody > 0
    assert (wait.quantity.title, wait.quantity.unit, wait.quantity.better) == (
        "Wait of those paid out",
        "months",
        -1,
    )
    total = [e.totals.defaulted.sum(axis=1) for e in by_hand]
    assert (check(found(simulated, "count", "defaulted"), *total) < 0).any(), "relief helps"
    failed = found(simulated, "measure", "failed").differences["relief"]
    expected = share_difference(after.terminated.astype(float), before.terminated.astype(float))
    assert (failed.mean, failed.low, failed.high) == pytest.approx(expected)
    assert -1.0 <= failed.low < failed.mean < failed.high <= 1.0
    check(found(simulated, "measure", "length"), before.lengths, after.lengths)


def test_undefined_rates_are_left_out_in_pairs(simulated, by_hand):
    """With relief hardly a loan ends in 20 months: the default rate is 0/0 in some episodes."""
    before, after = by_hand
    effect = found(simulated, "measure", "default_rate")
    known = before.defined["default_rate"] & after.defined["default_rate"]
    assert not known.all(), "else the test shows nothing"
    assert effect.undefined.get("relief", 0) == (~after.defined["default_rate"]).sum()
    assert effect.undefined.get("today", 0) == (~before.defined["default_rate"]).sum()
    pairs = (before.metrics["default_rate"] - after.metrics["default_rate"])[known]
    mean = effect.differences["relief"].mean
    assert np.isnan(mean) if not pairs.size else mean == pytest.approx(pairs.mean(), abs=1e-6)
    group = found(simulated, "rate", "default_rate", "disadvantaged")
    ended = [e.totals.ended[:, 1] for e in by_hand]
    assert group.undefined.get("today", 0) == (ended[0] == 0).sum()
    assert group.undefined.get("relief", 0) == (ended[1] == 0).sum()


def test_a_scenario_equal_to_the_reference_differs_nowhere(simulated):
    for effect in effects(simulated):
        difference = effect.differences["the same"]
        if np.isfinite(difference.mean):
            assert difference.mean == difference.low == difference.high == 0.0, effect.quantity
        else:
            assert effect.undefined["today"] == EPISODES
    assert changes(simulated, simulated.built[3]) == []


def test_dollars_are_the_components_times_their_unit(simulated):
    effect = found(simulated, "measure", "profit")
    assert effect.quantity.unit == "dollars"
    for name, evaluation in simulated.evaluations.items():
        dollars = 1000.0 * np.asarray(evaluation.totals.profit, np.float64).mean()
        assert effect.means[name].mean == pytest.approx(dollars, rel=1e-5)
    today, dearer = (simulated.evaluations[n].totals.profit for n in ("today", "deposits"))
    told = effect.differences["deposits"].mean
    assert told == pytest.approx(1000.0 * float((dearer - today).mean()), rel=1e-4) != 0.0
    assert in_plain_unit("million dollars per year") == ("dollars per year", 1e6)
    assert in_plain_unit("loans") == ("loans", 1.0)


def test_people_are_conserved(simulated):
    for group in ("", "advantaged", "disadvantaged"):
        stages = [
            found(simulated, "end", stage, group) for stage in ("idle", "waiting", "repaying")
        ]
        for name, evaluation in simulated.evaluations.items():
            people = evaluation.ends["people"][:, 1]
            people = people.sum(axis=1) if not group else people[:, int(group == "disadvantaged")]
            total = sum(stage.means[name].mean for stage in stages)
            assert total == pytest.approx(people.mean())
    assert all(simulated.same_people(one.name) for one in simulated.others)
    for name in ("applied", "defaulted"):
        parts = [found(simulated, "count", name, g) for g in ("advantaged", "disadvantaged")]
        total = sum(part.differences["relief"].mean for part in parts)
        assert found(simulated, "count", name).differences["relief"].mean == pytest.approx(total)


def test_changes_are_told_old_and_new(simulated):
    relief, deposits = (changes(simulated, one) for one in simulated.built[1:3])
    assert {change.about for change in relief} == {
        "share of the installment that borrowers need not pay"
    }
    assert [tuple(change)[:5] for change in relief] == [
        ("fixed", "debt management: relief, advantaged", "", 0.0, pytest.approx(0.2)),
        ("fixed", "debt management: relief, disadvantaged", "", 0.0, pytest.approx(0.2)),
    ]
    assert [tuple(change)[:5] for change in deposits] == [
        ("params", "deposit rate", "per year", pytest.approx(0.03), pytest.approx(0.06))
    ]
    first, second = build_all(
        "loan", [scenario("a"), scenario("b", {"disbursement": "first-come"}, baseline="random")]
    )
    told = changes(type(simulated)("loan", (first, second), {}, "a", 0, "loan"), second)
    assert [tuple(change)[1:5] for change in told] == [
        ("admissions", "", "0, 0", "random"),
        ("disbursement", "", "random", "first-come"),
        ("debt management", "", "0, 0", "random"),
    ]


def test_the_beds_that_a_region_has_are_told_beside_the_average_that_is_set(simulated):
    """The South has more people than the average region, and more beds than the parameter says."""
    shapes = {"population": 400, "horizon": 5}
    more = {"beds_at_start.south": "+30%"}
    built = build_all(
        "health",
        [Scenario(n, params=p, environment_args=shapes) for n, p in (("a", {}), ("b", more))],
    )
    average, beds = changes(type(simulated)("health", built, {}, "a", 0, "health"), built[1])
    assert (average.section, average.what) == ("params", "beds at start, South")
    # free beds are as many at the start, and not told again
    assert (beds.section, beds.what, beds.unit) == ("start", "beds, South: at the start", "beds")
    for told, one, given in zip(
        (beds.old, beds.new), built, (average.old, average.new), strict=True
    ):
        south = float(one.env.initial_state(jax.random.key(5), one.params).beds[2])
        assert told == pytest.approx(south) and south > float(str(given))


def test_the_default_baseline_is_one_in_which_somebody_decides():
    names = {
        "loan": "admit_all_no_relief",
        "loan_simple": "admit_all_no_relief",
        "health": "premium_half_uniform_planner",
        "education": "plausible_fixed_policy",
        "two_servers": "only_left",
    }
    for environment, name in names.items():
        assert default_baseline(fairgym.make(environment)) == name
    plain = [one.baseline for one in baseline_scenarios("health", {"population": 100})]
    assert plain == [
        names["health"],
        *(n for n in fairgym.make("health").spec.baselines if n != names["health"]),
    ]


def test_states_are_told_as_means_over_the_steps():
    """Sums of people insured in each month are not a number of people."""
    told = {(q.kind, q.name, q.group): q for q in quantities(fairgym.make("health", population=60))}
    insured = told["count", "insured", "South"]
    assert (insured.title, insured.unit) == ("people insured, on average", "people")
    assert told["count", "died", ""].title == "people who died"
    south = np.array([group == "South" for group in fairgym.make("health").spec.groups])
    insured_months = np.where(south, [[40.0], [20.0]], 3.0)
    evaluation = Evaluation(
        metrics={},
        defined={},
        objective=None,
        lengths=np.array([10, 5]),
        terminated=np.array([False, True]),
        totals=SimpleNamespace(insured=insured_months),
        mean_actions={},
        trace=None,
        people_start={},
        people_end={},
    )
    assert insured.values(evaluation).tolist() == [4.0, 4.0]


def test_a_system_without_people_is_simulated_too():
    said = []
    simulation = simulate(
        "two_servers",
        [Scenario("left"), Scenario("half", {"router": 0.5})],
        episodes=4,
        progress=said.append,
    )
    assert said == ["1 of 2: left", "2 of 2: half"]
    assert simulation.base.env == TwoServers()
    waiting = [simulation.evaluations[n].totals.waiting for n in ("left", "half")]
    effect = found(simulation, "measure", "waiting")
    assert effect.differences["half"].mean == pytest.approx((waiting[1] - waiting[0]).mean())
    assert effect.quantity.better == -1 and effect.differences["half"].high < 0
    for code, queue in enumerate(("left", "right")):  # of components per "group" or "queue"
        for name in ("arrived", "served"):
            counts = getattr(simulation.evaluations["half"].totals, name)[:, code]
            told = found(simulation, "count", name, queue)
            assert told.means["half"].mean == pytest.approx(counts.mean())
        assert found(simulation, "rate", "served_rate", queue).means["half"].mean > 0
    assert not [e for e in effects(simulation) if e.quantity.kind == "end"]


def test_scenarios_share_one_program_whichever_of_them_has_numbers_per_region():
    """Programs are compiled for shapes: one number beside four would be compiled twice."""
    small = {"population": 60, "horizon": 4}
    more = {"beds_at_start.South": "+30%"}
    built: Any = build_all(
        "health",
        [
            Scenario("plain", environment_args=small),
            Scenario("south", params=more, environment_args=small),
            Scenario("dearer", params={"bed_cost": "+30%"}, environment_args=small),
        ],
    )
    plain, south, dearer = built
    for one in built:
        assert np.shape(one.params.beds_at_start) == (4,) and not np.shape(one.params.bed_cost)
    beds = plain.params.beds_at_start
    np.testing.assert_allclose(south.params.beds_at_start, beds * np.array([1, 1, 1.3, 1]))
    np.testing.assert_array_equal(dearer.params.beds_at_start, beds)


def test_rules_are_imported_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_routes.py").write_text(
        "import jax.numpy as jnp\n\ndef even(observation, key):\n    return jnp.array([0.5])\n"
    )
    simulation = simulate(
        "two_servers",
        [Scenario("half", {"router": 0.5}), Scenario("rule", {"router": "my_routes:even"})],
        episodes=4,
    )
    (change,) = changes(simulation, simulation.others[0])
    assert tuple(change) == ("fixed", "router", "", "0.5", "my_routes:even", "")
    waiting = found(simulation, "measure", "waiting").differences["rule"]
    assert waiting.mean == waiting.low == waiting.high == 0.0


def test_other_people_are_told_and_other_numbers_of_them_refused():
    simulation = simulate(
        "loan",
        [scenario("today"), scenario("apart", params={"bias_strength": 2.0})],
        episodes=EPISODES,
        seed=3,
    )
    assert not simulation.same_people("apart")
    more = Scenario("more", environment_args={"population": 61, "horizon": 20})
    with pytest.raises(FairgymError, match="'more' has 61 people and 'today' has 60 people"):
        simulate("loan", [scenario("today"), more])


BAD = [
    (lambda: simulate("nope"), "unknown environment 'nope'"),
    (lambda: simulate("loan", []), "there are no scenarios"),
    (lambda: simulate("loan", episodes=0), "episodes must be.*got 0"),
    (lambda: simulate("loan", seed=-1), "seed must be.*got -1"),
    (lambda: simulate("loan", [scenario("a"), scenario("a")]), "two scenarios are named 'a'"),
    (
        lambda: simulate("loan", [scenario("a")], reference="b"),
        "unknown reference 'b'; there are: a",
    ),
    (lambda: scenario(""), "the name of a scenario must be a text, got ''"),
    (
        lambda: scenario("a", baseline="nope").build("loan"),
        "scenario 'a': unknown baseline 'nope'; there are: admit_all_no_relief, .*random",
    ),
    (lambda: scenario("a", {"bank": 0.1}).build("loan"), "scenario 'a': unknown agent 'bank'"),
    (
        lambda: scenario("a", {"admissions.relief": 0.1}).build("loan"),
        "scenario 'a': unknown element 'relief' of 'admissions'",
    ),
    (
        lambda: scenario("a", {"admissions": 2}).build("loan"),
        "scenario 'a': .* must be 2 numbers .*, got 2",
    ),
    (
        lambda: scenario("a", {"admissions": "x"}).build("loan"),
        "'a': .* must be 'random', .*, got 'x'",
    ),
    (
        lambda: scenario("a", params={"rate": 1}).build("loan"),
        "scenario 'a': unknown parameter 'rate'.*deposit_rate",
    ),
    (
        lambda: scenario("a", params={"deposit_rate": 2}).build("loan"),
        "'a': .*deposit_rate must be a number from 0 to 1, got 2",
    ),
    (lambda: scenario("a", params={"deposit_rate": "x"}).build("loan"), "'a': .*deposit_rate.*'x'"),
    (
        lambda: Scenario("a", environment_args={"people": 3}).build("loan"),
        "'a': unknown argument 'people' for loan; its arguments are",
    ),
    (
        lambda: Scenario("a", environment_args={"horizon": "x"}).build("loan"),
        "'a': horizon must be a whole number.*got 'x'",
    ),
]


@pytest.mark.parametrize(("act", "message"), BAD, ids=[m[:50] for _, m in BAD])
def test_what_cannot_be_is_refused_in_a_sentence(act, message):
    with pytest.raises(FairgymError, match=message) as caught:
        act()
    assert "\n" not in str(caught.value)


def test_a_policy_is_missing():
    from fairgym.utils.registry import environments

    @fairgym.register_environment("half_a_baseline")
    class Half(TwoServers):
        @cached_property
        def spec(self):
            return dataclasses.replace(super().spec, baselines={"nobody": {}})

    try:
        with pytest.raises(FairgymError, match=r"scenario 'a': no policy for 'router'; .*'nobody'"):
            Scenario("a").build("half_a_baseline")
    finally:
        environments._things.pop("half_a_baseline")


# ---------------------------------------------------------------- files

YAML = """
environment: loan
environment_args: {population-size: 60, horizon: 20}
episodes: 5
seed: 3
params:
  deposit_rate: 0.04
scenarios:
  relief:
    fixed: {debt_management.relief: 0.2}
  dearer:
    params: {deposit_rate: +50%}
  later:
    baseline: published_fixed_policy
    environment_args: {horizon: 10}
"""


def test_a_file_holds_named_scenarios(tmp_path):
    (tmp_path / "s.yaml").write_text(YAML)
    plan = read_scenarios(tmp_path / "s.yaml")
    assert (plan.environment, plan.episodes, plan.seed) == ("loan", 5, 3)
    assert [one.name for one in plan.scenarios] == [
        "admit all no relief",
        "relief",
        "dearer",
        "later",
    ]
    assert plan.reference == "admit all no relief", "the baseline with what is common to all"
    built: Any = build_all("loan", plan.scenarios, plan.reference)
    base, relief, _, later = built
    rates = [float(one.params.deposit_rate) for one in built]
    assert rates == pytest.approx([0.04, 0.04, 0.06, 0.04]), "relative to what is common"
    assert relief.specification["debt_management"] == [0.2, 0.2]
    assert (base.env.population, base.env.horizon, later.env.horizon) == (60, 20, 10)
    assert later.specification["debt_management"] == (0.12, 0.18)


def test_a_scenario_may_begin_from_another_baseline_than_the_others(tmp_path):
    (tmp_path / "s.yaml").write_text(
        "environment: loan\nbaseline: thresholds_half_no_relief\n"
        "scenarios: {as common: {}, another: {baseline: published_fixed_policy}}\n"
    )
    plan = read_scenarios(tmp_path / "s.yaml")
    common = "thresholds_half_no_relief"
    assert [one.baseline for one in plan.scenarios] == [common, common, "published_fixed_policy"]


def test_what_is_given_besides_overrides_the_file(tmp_path):
    (tmp_path / "s.yaml").write_text(YAML)
    plan = read_scenarios(
        tmp_path / "s.yaml",
        reference="later",
        episodes=2,
        seed=None,
        environment_args={"population": 30, "horizon": 7},
    )
    assert (plan.reference, plan.episodes, plan.seed) == ("later", 2, 3)
    assert [one.name for one in plan.scenarios] == ["relief", "dearer", "later"]
    assert all(one.environment_args == {"population": 30, "horizon": 7} for one in plan.scenarios)


BAD_FILES = [
    ("- a\n", "must hold names with values, got a list"),
    ("environment: loan\n", "scenarios in .* must be names .*, got nothing"),
    ("scenarios: {a: {}}\n", "environment is not given; set it in .* or give its name"),
    ("environment: loan\nscenarios: []\n", "scenarios in .* must be names .*, got nothing"),
    ("environment: loan\nscenarios: {}\n", "scenarios in .* must be names .*, got nothing"),
    (
        "environment: [loan]\nscenarios: {a: {}}\n",
        r"environment in .* must be a name, got \['loan'\]",
    ),
    (
        "environment: loan\nreference: 3\nscenarios: {a: {}}\n",
        "reference in .* must be a name, got 3",
    ),
    ("environment: loan\nepisodes: few\nscenarios: {a: {}}\n", "episodes must be.*got 'few'"),
    ("environment: loan\nseed: -3\nscenarios: {a: {}}\n", "seed must be.*got -3"),
    (
        "environment: loan\nepisods: 3\nscenarios: {a: {}}\n",
        "unknown key 'episods' in .*; did you mean 'episodes'",
    ),
    (
        "environment: loan\nscenarios: {a: {fix: {}}}\n",
        "unknown key 'fix' in scenario 'a' in .*; did you mean 'fixed'",
    ),
    ("environment: loan\nscenarios: {a: 3}\n", "scenario 'a' in .* must have .*, got a number"),
    (
        "environment: loan\nscenarios: {a: {params: [1]}}\n",
        "params of scenario 'a' .* must be names with values, got a list",
    ),
    (
        "environment: loan\nenvironment_args: {horizon: .inf}\nscenarios: {a: {}}\n",
        "environment_args of .*: horizon must be a whole number, got inf",
    ),
    (
        "environment: loan\nscenarios: {a: {environment_args: {horizon: '4'}}}\n",
        "environment_args of scenario 'a' in .*: horizon must be a whole number, got '4'",
    ),
    (
        "environment: loan\nscenarios: {a: {environment_args: {population: 3, "
        "population-size: 4}}}\n",
        "environment_args of scenario 'a' .*: population is given twice",
    ),
    *(
        (
            f"environment: loan\nscenarios: {{a: {{fixed: {{admissions: {value}}}}}}}\n",
            "admissions in fixed of scenario 'a' .* must be .*, got .*True",
        )
        for value in ("true", "[0.1, true]", "{advantaged: true}")
    ),
    ("environment: loan\nseed: 1\nSeed: 3\nscenarios: {a: {}}\n", "unknown key 'Seed'"),
    (
        "environment: yes\nscenarios: {a: {}}\n",
        "unknown environment 'yes'; there are: attention",
    ),
    ("environment: loan\nscenarios:\n  a: {}\n  a: {}\n", "the key 'a' is given twice"),
    (
        "environment: loan\nscenarios: {a: {baseline: [x]}}\n",
        r"baseline of scenario 'a' in .* must be a name, got \['x'",
    ),
]


@pytest.mark.parametrize(("text", "message"), BAD_FILES, ids=[m[:40] for _, m in BAD_FILES])
def test_a_bad_file_is_refused_in_a_sentence(tmp_path, text, message):
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(FairgymError, match=message) as caught:
        read_scenarios(tmp_path / "s.yaml")
    assert "\n" not in str(caught.value)


OVERRIDDEN = [
    ("environment", '["loan"]', r"environment in .* must be a name, got \['loan'\]"),
    ("environment", '"yes"', "unknown environment 'yes'; there are: attention"),
    ("reference", "3", "reference in .* must be a name, got 3"),
    ("episodes", '"5"', "episodes must be a whole number from 1 to 1000000, got '5'"),
    ("seed", "-1", "seed must be a whole number from 0 to 4294967295, got -1"),
    ("environment_args", '{"horizon": Infinity}', "horizon must be a whole number, got inf"),
    ("environment_args", '{"horizon": "4"}', "horizon must be a whole number, got '4'"),
]


@pytest.mark.parametrize(("key", "value", "message"), OVERRIDDEN)
def test_what_flags_override_is_checked_all_the_same(tmp_path, key, value, message):
    (tmp_path / "s.json").write_text(f'{{"{key}": {value}, "scenarios": {{"a": {{}}}}}}')
    with pytest.raises(FairgymError, match=message):
        read_scenarios(
            tmp_path / "s.json",
            environment="loan",
            reference="a",
            episodes=2,
            seed=1,
            environment_args={"horizon": 3},
        )


def test_names_of_scenarios_in_yaml_are_texts(tmp_path):
    (tmp_path / "s.yaml").write_text("environment: loan\nscenarios: {2030: {}, on: {}}\n")
    assert [one.name for one in read_scenarios(tmp_path / "s.yaml").scenarios][1:] == ["2030", "on"]


def test_a_file_imports_modules_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "half_a_queue.py").write_text(
        "import fairgym\nfrom two_servers import TwoServers\n"
        "@fairgym.register_environment('half_a_queue')\n"
        "class Half(TwoServers):\n    pass\n"
    )
    (tmp_path / "s.yaml").write_text(
        "imports: [half_a_queue]\nenvironment: half_a_queue\n"
        "scenarios: {even: {fixed: {router: 0.5}}}\n"
    )
    from fairgym.utils.registry import environments

    try:
        plan = read_scenarios(tmp_path / "s.yaml")
        assert [one.name for one in plan.scenarios] == ["only left", "even"]
    finally:
        environments._things.pop("half_a_queue", None)


def test_a_name_twice_is_refused_in_every_format(tmp_path):
    (tmp_path / "s.json").write_text('{"scenarios": {"a": {}, "a": {}}}')
    (tmp_path / "s.toml").write_text("[scenarios.a]\n[scenarios.a]\n")
    for name, message in (("s.json", "the key 'a' is given twice"), ("s.toml", "twice|overwrite")):
        with pytest.raises(FairgymError, match=message):
            read_scenarios(tmp_path / name)
