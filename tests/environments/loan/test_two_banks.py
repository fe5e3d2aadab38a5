"""Two banks in one pool: who applies where, and every count and dollar bank by bank."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import fairgym
from fairgym.core import FairgymError
from fairgym.environments.loan import pool
from fairgym.environments.loan.types import LoanComponents, QueueComponents
from fairgym.fairness import weights
from fairgym.policies import Function, fixed_policies
from fairgym.testing import check_environment

PEOPLE, MONTHS = 300, 90
SHAPE: dict[str, Any] = {"population": PEOPLE, "horizon": MONTHS, "applicants": 14}
ENV = fairgym.make("loan", **SHAPE, disbursement_cap=7, banks=2)
PARAMS = ENV.default_params.replace(
    disadvantaged_share=0.4, relief_forgiven=0.3, residual_share=0.2, terms_sensitivity=2.0
)
CAPS = (4, 3)
THRESHOLD = np.array([[0.6, 0.5], [0.8, 0.85]], np.float32)
RELIEF = np.array([[0.1, 0.03], [0.02, 0.15]], np.float32)
IDLE, WAITING, REPAYING = range(3)
OF_POOL = ("profit", "never_paid_out", "people")
NAMES = [name for name in QueueComponents.info() if name not in OF_POOL]


def actions(scores, threshold=THRESHOLD, relief=RELIEF):
    return {
        f"bank_{bank + 1}_{role}": jnp.asarray(value)
        for bank in range(2)
        for role, value in (
            ("admissions", threshold[bank]),
            ("disbursement", scores),
            ("debt_management", relief[bank]),
        )
    }


@pytest.fixture(scope="module")
def transition():
    return jax.jit(ENV.transition)


@pytest.fixture(scope="module")
def episode():
    """An episode in which both banks lend, lose loans and have a queue; steps as NumPy arrays."""
    scores = Function(lambda seen, key: jnp.round(jax.random.uniform(key, (PEOPLE,)), 1))
    rules = {
        agent: scores if agent.endswith("disbursement") else Function(lambda seen, key, v=value: v)
        for agent, value in actions(0.0).items()
    }
    run = jax.jit(lambda key: fairgym.core.record(ENV, PARAMS, rules, key))
    steps = jax.tree.map(np.asarray, run(jax.random.key(2)))
    for bank in ("bank_1", "bank_2"):
        for name in ("defaulted", "disbursed", "waited"):
            assert getattr(steps.components, f"{bank}_{name}").sum() > 10
    return steps


def month(struct, t):
    return jax.tree.map(lambda x: x[t], struct)


@pytest.mark.full
def test_it_keeps_the_contract(episode):
    check_environment(ENV, params=PARAMS, steps=4)
    later = jax.tree.map(jnp.asarray, month(episode.before, 45))
    check_environment(ENV, params=PARAMS, steps=4, later=later)


# --------------------------------------------------------------------------- people


@pytest.mark.full
def test_nobody_changes_the_bank_before_applying_again(episode):
    for t in range(MONTHS):
        before, after = month(episode.before, t), month(episode.after, t)
        moved = np.flatnonzero(before.bank != after.bank)
        assert set(moved) <= set(after.applicants[after.applying])
        assert (after.stage[moved] == IDLE).all()
    assert (episode.before.bank[0] != episode.after.bank[-1]).any()


def test_every_count_of_every_bank_against_numpy(episode):
    """Each person followed alone: applications, approvals, payouts in order, waits and ends."""
    served, known = np.zeros(PEOPLE, bool), np.zeros(PEOPLE, bool)
    for t in range(MONTHS):
        before, after = month(episode.before, t), month(episode.after, t)
        found, noise = month(episode.components, t), month(episode.noise, t)
        expected = {name: np.zeros((2, 2)) for name in NAMES}
        people = ENV.people(jax.tree.map(jnp.asarray, before))
        qualification = np.asarray(people["qualification_score"])
        for bank in range(2):
            queue = np.flatnonzero((before.stage == WAITING) & (before.bank == bank))
            scores = episode.actions[f"bank_{bank + 1}_disbursement"][t][queue]
            order = queue[np.lexsort((-noise.priority[queue], -scores))]
            paid_out = order[: CAPS[bank]]
            np.testing.assert_array_equal(
                np.sort(paid_out),
                np.flatnonzero(
                    (before.stage == WAITING) & (after.stage == REPAYING) & (before.bank == bank)
                ),
            )
            for person in range(PEOPLE):
                if before.bank[person] != bank:
                    continue
                group = before.group[person]
                stages = before.stage[person], after.stage[person]
                if person in before.applicants[before.applying]:
                    approved = qualification[person] >= THRESHOLD[bank][group]
                    assert approved == (stages == (IDLE, WAITING))
                    expected["applied"][bank, group] += 1
                    expected["approved"][bank, group] += approved
                    expected["first_approved"][bank, group] += approved and not known[person]
                    known[person] |= approved
                if person in paid_out:
                    expected["first_disbursed"][bank, group] += not served[person]
                    served[person] = True
                    expected["disbursed"][bank, group] += 1
                    expected["waited"][bank, group] += t - before.waiting_since[person]
                expected["waiting"][bank, group] += stages == (WAITING, WAITING)
                if stages == (REPAYING, IDLE):
                    worse = after.fico_low[person] < before.fico_low[person]
                    expected["ended"][bank, group] += 1
                    expected["defaulted"][bank, group] += worse
        for name in NAMES:
            np.testing.assert_array_equal(getattr(found, name), expected[name].sum(axis=0))
            for bank in range(2):
                theirs = getattr(found, f"bank_{bank + 1}_{name}")
                np.testing.assert_array_equal(theirs, expected[name][bank])
        never = np.bincount(before.group[~served], minlength=2)
        np.testing.assert_array_equal(found.never_paid_out, never)
        np.testing.assert_array_equal(found.people, np.bincount(before.group, minlength=2))


# --------------------------------------------------------------------------- money


def test_money_of_each_bank(episode):
    """Each lender's profits are what its own borrowers pay less what its own depositors get."""
    before = jax.tree.map(lambda x: np.float64(x), episode.before)
    after = episode.after
    repaying = before.stage == REPAYING
    paid = np.zeros((2, MONTHS))
    due = np.zeros((2, MONTHS + 61))
    rate = before.interest_rate / 12
    left = np.where(repaying, before.matures_at - np.arange(MONTHS)[:, None], 1.0)
    scheduled = rate / (1 - (1 + rate) ** -left) * before.balance
    on = repaying & (after.stage == REPAYING)
    for bank in range(2):
        theirs = on & (before.bank == bank)
        relief = RELIEF[bank][before.group.astype(int)]
        np.testing.assert_allclose(
            after.installment[theirs], ((1 - relief) * scheduled)[theirs], rtol=1e-4, atol=0.05
        )
    for t, person in zip(*np.nonzero(repaying), strict=True):
        # of loans that go on, what is recorded; of those that end, by the balance equation
        bank, group = int(before.bank[t, person]), int(before.group[t, person])
        asked = (1 - RELIEF[bank][group]) * scheduled[t, person]
        if on[t, person]:
            amount = after.total_received[t, person] - before.total_received[t, person]
        else:
            propensity = _propensity(before, t, person, asked)
            share = np.clip(propensity + episode.noise.payment[t, person], 0, 1)
            amount = min(share * scheduled[t, person], asked)
        paid[bank, t] += amount
    monthly = PARAMS.deposit_rate / 12
    begun = (before.stage == WAITING) & (after.stage == REPAYING)
    for t, person in zip(*np.nonzero(begun), strict=True):
        term, principal = int(before.term[t, person]), before.principal[t, person]
        annuity = principal * monthly / (1 - (1 + monthly) ** -term)
        due[int(before.bank[t, person]), t + 1 : t + 1 + term] += annuity
    for bank in range(2):
        profit = getattr(episode.components, f"bank_{bank + 1}_profit").astype(np.float64)
        np.testing.assert_allclose(
            1_000 * profit, paid[bank] - due[bank, :MONTHS], rtol=1e-3, atol=2.0
        )
        losses = np.cumsum(np.maximum(0.0, -profit))
        books = {
            "total_profit": np.cumsum(profit),
            "total_losses": losses,
            "total_payments": np.cumsum(paid[bank]) / 1_000,
        }
        for name, expected in books.items():
            found = getattr(after, name)[:, bank]
            np.testing.assert_allclose(found, expected, rtol=1e-3, atol=0.05)
    both = episode.components.bank_1_profit + episode.components.bank_2_profit
    np.testing.assert_allclose(episode.components.profit, both, rtol=1e-5)


def _propensity(before, t, person, asked):
    score = ENV._data.scores["propensity"]
    columns = {name: getattr(before, name)[t, person] for name in ENV_COLUMNS}
    burden = 1_200 * asked / max(columns["annual_income"], 1.0)
    columns["debt_to_income"] = columns["debt_to_income"] + burden
    usual = float(score.predictor({k: jnp.asarray(v) for k, v in columns.items()}))
    return np.clip(np.clip(usual, 0, 1) + before.residual[t, person], 0, 1)


ENV_COLUMNS = tuple(fairgym.environments.loan.types.DATA_COLUMNS)


def test_the_episode_ends_when_either_fails(episode, transition):
    """Losses above payments at one of them, whatever the pool's sum says."""
    state = jax.tree.map(jnp.asarray, month(episode.before, 30))
    noise = jax.tree.map(jnp.asarray, month(episode.noise, 30))
    scores = jnp.zeros(PEOPLE)
    for losses, ends in ((0.0, 0.0), False), ((1e6, 0.0), True), ((0.0, 1e6), True):
        now = state.replace(
            total_losses=jnp.float32(losses), total_payments=jnp.float32([1e5, 1e5])
        )
        *_, terminated = transition(noise, now, actions(scores), PARAMS)
        assert bool(terminated) == ends


# --------------------------------------------------------------------------- the choice


def softmax(appeal):
    weights = np.exp(appeal - appeal.max(axis=0))
    return weights / weights.sum(axis=0)


def test_applicants_choose_by_the_terms_of_the_month_before():
    """Everybody applies: shares of each group and record against a softmax in NumPy."""
    env = fairgym.make("loan", population=20_000, horizon=5, applicants=20_000, banks=2)
    start, step = jax.jit(env.initial_state), jax.jit(env.transition)
    state = start(jax.random.key(0), env.default_params)
    first = np.asarray(state.bank)
    assert stats.binomtest(int(first.sum()), len(first)).pvalue > 1e-4, "no terms are posted yet"
    state = state.replace(applying=jnp.zeros_like(state.applying))
    noise = jax.jit(env.noise)(jax.random.key(1), env.default_params)
    posted = actions(jnp.zeros(env.population), np.array([[0.5, 0.9], [0.9, 0.8]], np.float32))
    qualification = np.asarray(env.people(state)["qualification_score"])
    group = np.asarray(state.group)
    banks = {}
    for sensitivity in (0.0, 1.5, 1e6):
        params = env.default_params.replace(terms_sensitivity=sensitivity)
        after, *_ = step(noise, state, posted, params)
        assert np.asarray(after.applying).all()
        banks[sensitivity] = np.asarray(after.bank)
        threshold = np.array([[0.5, 0.9], [0.9, 0.8]], np.float32)[:, group]
        appeal = (qualification >= threshold) + RELIEF[:, group]
        chance = softmax(sensitivity * appeal.astype(np.float64))
        for g in range(2):
            for kind in np.unique(appeal[:, group == g], axis=1).T:
                rows = (group == g) & (appeal == kind[:, None]).all(axis=0)
                expected, count = chance[1, rows][0], int((banks[sensitivity][rows] == 1).sum())
                if 0 < expected < 1:
                    assert stats.binomtest(count, int(rows.sum()), expected).pvalue > 1e-4
                else:
                    assert count == expected * rows.sum()
    # the terms of a month decide where people go in the next
    assert (np.asarray(after.posted)[0] == np.array([[0.5, 0.9], [0.9, 0.8]], np.float32)).all()
    assert (np.asarray(after.posted)[1] == RELIEF).all()


def test_a_bank_that_everybody_chooses_is_a_single_bank(transition):
    """The other is as if it were not there, for bits of people and money."""
    alone = fairgym.make("loan", **SHAPE, disbursement_cap=CAPS[0])
    params = alone.default_params.replace(relief_forgiven=0.3, residual_share=0.2)
    state = jax.jit(alone.initial_state)(jax.random.key(4), params)
    both = ENV.default_params.replace(
        relief_forgiven=0.3, residual_share=0.2, terms_sensitivity=1e6
    )
    shared = jax.jit(ENV.initial_state)(jax.random.key(4), both)
    shared = shared.replace(bank=jnp.zeros_like(shared.bank))
    one_step = jax.jit(alone.transition)
    draw = jax.jit(ENV.noise)
    refusing = np.array([[0.4, 0.3], [1.0, 1.0]], np.float32)
    relief = np.array([[0.1, 0.12], [0.0, 0.0]], np.float32)
    for t in range(40):
        noise = draw(jax.random.key(t), both)
        scores = jax.random.uniform(jax.random.key(100 + t), (PEOPLE,))
        given = actions(scores, refusing, relief)
        shared, pooled, _ = transition(noise, shared, given, both)
        roles = {role: given[f"bank_1_{role}"] for role in alone.agents}
        state, counts, _ = one_step(noise, state, roles, params)
        for name in LoanComponents.info():
            np.testing.assert_allclose(
                getattr(pooled, f"bank_1_{name}"), getattr(counts, name), rtol=1e-5
            )
            assert not np.asarray(getattr(pooled, f"bank_2_{name}")).any()
        for name in ("stage", "balance", "fico_low", "waiting_since", "matures_at", "served"):
            np.testing.assert_allclose(getattr(shared, name), getattr(state, name), rtol=1e-6)
    assert state.served.sum() > 50


def test_banks_are_alike():
    """Numbered the other way round, with their terms and money, they do the same."""
    env = fairgym.make("loan", **SHAPE, disbursement_cap=8, banks=2)
    step, draw = jax.jit(env.transition), jax.jit(env.noise)

    def turned(state):
        return state.replace(
            bank=1 - state.bank,
            posted=state.posted[:, ::-1],
            deposits=jax.tree.map(lambda x: x[::-1], state.deposits),
            total_profit=state.total_profit[::-1],
            total_losses=state.total_losses[::-1],
            total_payments=state.total_payments[::-1],
        )

    here = jax.jit(env.initial_state)(jax.random.key(6), PARAMS)
    there = turned(here)
    for t in range(40):
        noise = draw(jax.random.key(t), PARAMS)
        mirrored = noise.replace(choice=1.0 - noise.choice)
        scores = jax.random.uniform(jax.random.key(100 + t), (PEOPLE,))
        here, seen, _ = step(noise, here, actions(scores), PARAMS)
        there, other, _ = step(
            mirrored, there, actions(scores, THRESHOLD[::-1], RELIEF[::-1]), PARAMS
        )
        for name in (*NAMES, "profit"):
            for a, b in ((1, 2), (2, 1)):
                np.testing.assert_allclose(
                    getattr(seen, f"bank_{a}_{name}"), getattr(other, f"bank_{b}_{name}"), rtol=1e-5
                )
        again = turned(there)
        np.testing.assert_array_equal(here.bank, again.bank)
        np.testing.assert_array_equal(here.stage, again.stage)
    assert here.served.sum() > 50


# --------------------------------------------------------------------------- what agents see


def test_each_bank_sees_its_own_people_and_the_others_terms(episode):
    state = jax.tree.map(jnp.asarray, month(episode.before, 40))
    seen = ENV.observe(state, PARAMS)
    for role, who in (
        ("admissions", state.applying),
        ("disbursement", state.stage == WAITING),
        ("debt_management", state.stage == REPAYING),
    ):
        bank = state.bank[state.applicants] if role == "admissions" else state.bank
        for b in range(2):
            obs = seen[f"bank_{b + 1}_{role}"]
            mask = np.asarray(obs.mask)
            np.testing.assert_array_equal(mask, np.asarray(who) & (np.asarray(bank) == b))
            assert mask.any()
            space = ENV.observation_space(f"bank_{b + 1}_{role}")
            context = dict(zip((f.name for f in space.context), obs.context, strict=True))
            assert float(context["total_profit"]) == float(state.total_profit[b])
            others = [float(context[feature.name]) for feature in pool.other_terms(ENV.spec.groups)]
            np.testing.assert_allclose(others, [*THRESHOLD[1 - b], *RELIEF[1 - b]], rtol=1e-6)


def test_objectives_of_a_banks_own():
    terms = {
        bank: [t for t in ENV.spec.terms if t.startswith(bank)] for bank in ("bank_1", "bank_2")
    }
    assert [len(of) for of in terms.values()] == [6, 6]
    for agent in ENV.agents:
        bank, role = agent[:6], agent[7:]
        own = set(weights.own(ENV, agent))
        assert own <= set(terms[bank]) and f"{bank}_profit" in own
        assert (f"{bank}_admission_rate" in own) == (role == "admissions")
    metrics = ENV.metrics
    assert metrics["bank_1_profit"].normaliser == metrics["profit"].normaliser / 2
    assert metrics["bank_2_wait_disparity"].rate.title == "Bank 2 wait of those paid out"
    assert metrics["wait_disparity"].rate.title == "Wait of those paid out"


def test_baselines_and_one_threshold_for_all():
    env = fairgym.make("loan", **SHAPE, banks=2, action_groups=1)
    for baseline in env.spec.baselines.values():
        assert set(baseline) == set(env.agents)
        fixed_policies(env, baseline)
    assert env.disbursement_cap == 3 and env.action_space("bank_2_admissions").names == (
        "threshold",
    )
    assert fairgym.make("loan", population=60, banks=2).disbursement_cap == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"banks": 3}, "banks must be a whole number from 1 to 2.*got 3"),
        ({"banks": 2, "disbursement_cap": 1}, "disbursement_cap must be .* from 2.*got 1"),
        ({"banks": 2, "selective_labels": True}, "selective_labels needs a single bank"),
    ],
)
def test_what_does_not_go_is_refused(arguments, message):
    with pytest.raises(FairgymError, match=message):
        fairgym.make("loan", **SHAPE, **arguments)
