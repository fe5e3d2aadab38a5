"""Changes that hold in some steps only: texts, weights, and the same numbers as by hand."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pairs import Pairs  # registers itself
from two_servers import TwoServers

import fairgym
from fairgym.core import FairgymError
from fairgym.core.rollout import episode_keys
from fairgym.policies import fixed_policies
from fairgym.results.changes import changes
from fairgym.results.rows import effects
from fairgym.training import Scenario, evaluate, simulate
from fairgym.training.scenarios import build_all
from fairgym.training.schedules import During, params_over_time, timed
from fairgym.training.stepwise import Stepwise, Switching


def test_a_change_holds_from_its_start_until_its_end_and_grows_in_equal_parts():
    assert During(1, 2, 4).weights(6).tolist() == [0, 0, 1, 1, 0, 0]
    assert During(1).weights(3).tolist() == [1, 1, 1]
    assert During(1, 1, None, 4).weights(7).tolist() == [0, 0.25, 0.5, 0.75, 1, 1, 1]
    assert During(1, 0, 2, 4).weights(4).tolist() == [0.25, 0.5, 0, 0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.2 from 2", [During("0.2", 2)]),
        ("0.2 from week 2 until week 3", [During("0.2", 2, 3)]),
        ("+30% between 1 and 3", [During("+30%", 1, 3)]),
        ("0.2 until 3", [During("0.2", 0, 3)]),
        ("0.2, 0.3 from 1 over 2 weeks", [During("0.2, 0.3", 1, None, 2)]),
        ("0.1 until 1; 0.2 FROM step 1", [During("0.1", 0, 1), During("0.2", 1)]),
        ("first-come", ["first-come"]),
        (0.2, [0.2]),
        ([0.2, 0.3], [[0.2, 0.3]]),
        (["0.1 until 1", During(3, 2)], [During("0.1", 0, 1), During(3, 2)]),
    ],
)
def test_times_are_read_from_texts(text, expected):
    assert timed([("gift", text)], Pairs()) == tuple(("gift", value) for value in expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.2 from sixty", r"gift must be VALUE \[from STEP\].*got '0.2 from sixty'"),
        ("0.2 from 2 until", "gift must be VALUE.*, got '0.2 from 2 until'"),
        ("0.2 from 3 until 2", "until must be after step 3, got 2"),
        ("0.2 from month 1", "gift must count in weeks, got 'month' in '0.2 from month 1'"),
        ("0.2 from 4", "gift must change within the 4 weeks of an episode, got '0.2 from week 4'"),
        ("0.2 over 0", "over must be a whole number from 1 .*, got 0"),
        ("0.2 from 1 until 2 from 3", "gift must be VALUE"),
    ],
)
def test_times_that_cannot_be_are_refused_in_a_sentence(text, message):
    with pytest.raises(FairgymError, match=message) as caught:
        timed([("gift", text)], Pairs())
    assert "\n" not in str(caught.value)


def test_a_parameter_that_only_the_start_uses_cannot_change_later():
    env = Pairs()
    with pytest.raises(FairgymError, match="spread must hold in all steps: it is used only at the"):
        params_over_time(env, env.default_params, [("spread", During(2.0, 1))])
    # all of the others may, those of the noise too
    pairs = [(name, During(0.5, 1)) for name in ("reward", "cost", "penalty", "swing")]
    assert set(params_over_time(env, env.default_params, pairs)[1]) == {n for n, _ in pairs}


def test_parameters_over_time_are_tables_of_their_values():
    env = Pairs()
    pairs = [("reward", 4.0), ("reward", During("+50%", 1, 3)), ("cost", During(3.0, 2, None, 2))]
    params: Any
    params, tables = params_over_time(env, env.default_params, pairs)
    assert params.reward == 4.0 and tables["reward"].tolist() == [4.0, 6.0, 6.0, 4.0]
    assert params.cost == 1.0 and tables["cost"].tolist() == [1.0, 1.0, 2.0, 3.0]


SCENARIOS = [
    Scenario("today"),
    Scenario("the same", {"router": "1.0 from 2"}, {"arrivals": "2.0 from 1 until 3"}),
    Scenario("later", {"router": "0.25 from 2 until 5"}, {"arrivals": "+50% from 3 over 2"}),
]


@pytest.fixture(scope="module")
def scheduled():
    return simulate("two_servers", SCENARIOS, episodes=4, seed=5)


def test_a_schedule_that_changes_nothing_differs_by_exactly_0(scheduled):
    """Even beside a scenario that does change, with which it shares its program."""
    for row in effects(scheduled):
        one = row.differences["the same"]
        assert (one.mean, one.low, one.high) == (0.0, 0.0, 0.0) or np.isnan(one.mean)
    own, base = (scheduled.evaluations[name] for name in ("the same", "today"))
    for ours, theirs in zip(jax.tree.leaves(own.totals), jax.tree.leaves(base.totals), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_scenarios_without_a_schedule_keep_their_bits(scheduled):
    alone = simulate("two_servers", [Scenario("today")], episodes=4, seed=5)
    ours, theirs = (one.evaluations["today"].totals for one in (scheduled, alone))
    for x, y in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_array_equal(x, y)


def test_a_scheduled_scenario_is_the_system_written_in_numpy(scheduled):
    """The queues of `TwoServers`, with what holds in each step."""
    arrivals = [2.0, 2.0, 2.0, 2.5, 3.0, 3.0]
    left = [1.0, 1.0, 0.25, 0.25, 0.25, 1.0]
    totals = scheduled.evaluations["later"].totals
    for episode, key in enumerate(jax.random.split(jax.random.key(5), 4)):
        _, _, noise_key = episode_keys(key)
        waiting, sums = np.zeros(2), np.zeros((3, 2))
        for step, (rate, share) in enumerate(zip(arrivals, left, strict=True)):
            drawn = np.asarray(jax.random.uniform(jax.random.fold_in(noise_key, step), (2, 8)))
            jobs = (drawn < rate / 8).sum(axis=1)
            served = np.minimum(waiting + jobs, 4.0 * np.array([share, 1.0 - share]))
            waiting = waiting + jobs - served
            sums += np.array([jobs, served, [waiting.sum(), 0.0]])
        np.testing.assert_allclose(totals.arrived[episode], sums[0], rtol=1e-6)
        np.testing.assert_allclose(totals.served[episode], sums[1], rtol=1e-6)
        np.testing.assert_allclose(totals.waiting[episode], sums[2, 0], rtol=1e-6)


def test_a_change_at_a_step_is_two_rollouts_glued_there():
    """Step by step, with the keys of a rollout, in a system of people."""
    env = fairgym.make("loan_simple", population=40, horizon=4)
    arguments = {"population": 40, "horizon": 4}
    change = Scenario(
        "later", {"debt_management.relief": "0.3 from 2"}, {"deposit_rate": "0.9 from 2"}, arguments
    )
    found = simulate("loan_simple", [change], episodes=2, seed=1).evaluations["later"].totals
    before = env.default_params
    sides = [(0.0, before), (0.3, before.replace(deposit_rate=0.9))]
    key = jax.random.split(jax.random.key(1), 2)[0]
    reset, policy_key, noise_key = episode_keys(key)
    state, profit, defaulted = env.initial_state(reset, before), 0.0, np.zeros(2)
    step = jax.jit(env.advance)
    for now in range(4):
        relief, params = sides[now >= 2]
        keys = jax.random.split(jax.random.fold_in(policy_key, now), 3)
        actions = {
            "admissions": jnp.zeros(2),
            "disbursement": env.action_space("disbursement").sample(keys[1]),
            "debt_management": jnp.full(2, relief),
        }
        state, made, _ = step(jax.random.fold_in(noise_key, now), state, actions, params)
        profit += float(made.profit)
        defaulted += np.asarray(made.defaulted)
    assert float(found.profit[0]) == pytest.approx(profit, rel=1e-5)
    np.testing.assert_array_equal(found.defaulted[0], defaulted)


def test_rules_take_turns_over_time_with_the_hidden_states_that_they_would_have_alone():
    env = fairgym.make("doughnut", population=3, horizon=6)
    arguments = {"population": 3, "horizon": 6}
    (built,) = build_all(
        "doughnut", [Scenario("x", {"server": "random-present from 2 until 4"}, (), arguments)]
    )
    assert isinstance(built.policies["server"], Switching)
    policies = fixed_policies(env, {"server": "take-turns"})["server"], built.policies["server"]
    state = env.initial_state(jax.random.key(0), env.default_params)
    observation = env.observe(state, env.default_params)["server"]
    hidden = [policy.initial() for policy in policies]
    for step in range(6):
        key = jax.random.key(step)
        made = [p(observation, key, h) for p, h in zip(policies, hidden, strict=True)]
        hidden = [after for _, after in made]
        if not 2 <= step < 4:
            assert int(made[0][0]) == int(made[1][0])
    random = fixed_policies(env, {"server": "random-present"})["server"]
    key = jax.random.key(7)
    action, _ = policies[1](observation, key, (jnp.int32(3), hidden[1][1]))
    assert int(action) == int(random(observation, key))


def test_an_agent_that_acts_every_few_steps_has_the_decision_of_the_step_in_which_it_acts():
    arguments: dict[str, Any] = {"population": 40, "horizon": 14}
    (built,) = build_all(
        "health",
        [Scenario("x", {"insurer": "0.75 from 6", "planner.rollover": 1.0}, (), arguments)],
    )
    policy = built.policies["insurer"]
    assert isinstance(policy, Stepwise) and policy.actions.shape == (2,), "one number for all"
    hidden, seen = policy.initial(), []
    env = fairgym.make("health", **arguments)
    seen_by = env.observation_space("insurer").sample(jax.random.key(1))
    for _ in range(3):
        action, hidden = policy(seen_by, jax.random.key(0), hidden)
        assert action.shape == (40,)
        seen.append(float(action[0]))
    assert seen == [0.5, 0.75, 0.75] and int(hidden) == 18


def test_a_decision_moves_little_by_little_and_shares_stay_shares():
    (built,) = build_all(
        "education",
        [
            Scenario(
                "x",
                {"university.scholarships": "0.5 from 1 over 2"},
                environment_args={"population": 40, "horizon": 4},
            )
        ],
    )
    policy: Any = built.policies["university"]
    rows = np.asarray(policy.actions)[np.asarray(policy.which)]
    np.testing.assert_allclose(rows[:, 2], [0.25, 0.375, 0.5, 0.5], rtol=1e-6)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=1e-6)


def test_a_rule_cannot_move_little_by_little():
    with pytest.raises(FairgymError, match="'x': server must have numbers before and after"):
        Scenario("x", {"server": "random-present over 2"}).build("doughnut")


def test_schedules_are_told_beside_what_holds_without_them(scheduled):
    later = next(one for one in scheduled.others if one.name == "later")
    about = "mean jobs per queue"
    assert [tuple(one) for one in changes(scheduled, later)] == [
        ("params", "arrivals", "jobs", 2.0, "+50% from minute 3 over 2 minutes", about),
        ("fixed", "router", "", "1", "router 0.25 from minute 2 until minute 5", ""),
    ]


def test_a_trace_differs_from_the_first_step_of_the_change():
    built = build_all("two_servers", [SCENARIOS[0], SCENARIOS[2]])
    traces = [
        np.asarray(
            evaluate(*one.running, one.policies, jax.random.key(0), 2, trace=True).trace.served
        )
        for one in built
    ]
    same = (traces[0] == traces[1]).all(axis=(0, 2))
    assert same[:2].all() and not same[2:].all()
    assert built[0].env == TwoServers()
