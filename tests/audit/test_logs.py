"""Simulate, log, audit: the table that comes back holds the simulator's own counts."""

import dataclasses
import sys

import jax
import numpy as np
import pyarrow.parquet as pq
import pytest
from tiers import in_tiers

import fairgym
from fairgym.audit import Roles, audit
from fairgym.audit.logs import require_log, roles_beside, write_log
from fairgym.audit.table import read_decisions
from fairgym.audit.write import read_config
from fairgym.core import FairgymError, rollout
from fairgym.fairness import Full, Nash, Scheme, component_rows
from fairgym.policies import fixed_policies
from fairgym.training import log_decisions
from fairgym.wrappers import augmented

EPISODES = 2
LOAN = {"population": 60, "horizon": 24, "applicants": 12, "disbursement_cap": 5}
STRICT = {"admissions": 0.885, "disbursement": "random", "debt_management": 0.0}


@dataclasses.dataclass(frozen=True)
class Case:
    """An environment, and the components that its log must hold.

    `chosen` names the component of the favourable rows (or of the amounts), `asked` counts all
    rows, `settled` and `good` those with a known outcome and with a good one.
    """

    env: str
    of_env: dict
    policy: object
    asked: object
    chosen: str
    rate: str = ""
    settled: object = None
    good: object = None
    params: dict = dataclasses.field(default_factory=dict)
    decision: str = ""

    def __str__(self):
        return f"{self.env}-{self.decision}"


def repaid(trace):
    return trace.ended - trace.defaulted


CASES = [
    Case(
        "loan",
        LOAN,
        STRICT,
        lambda t: t.applied,
        "approved",
        "admission_rate",
        lambda t: t.ended,
        repaid,
    ),
    Case(
        "loan",
        LOAN,
        {**STRICT, "admissions": 0.8},
        lambda t: t.disbursed + t.waiting,
        "disbursed",
        "",
        lambda t: t.ended,
        repaid,
        decision="payout",
    ),
    Case(
        "loan_simple",
        {"population": 60, "horizon": 6, "applicants": 20},
        STRICT,
        lambda t: t.applied,
        "approved",
        "admission_rate",
        lambda t: t.ended,
        repaid,
    ),
    Case(
        "health",
        {"population": 80, "horizon": 3, "decision_period": 1},
        {"insurer": 1.0, "hospital": "random", "planner": "random"},
        lambda t: t.people,
        "insured",
        "insured_rate",
    ),
    Case(
        "education",
        {"population": 60, "horizon": 14, "applicants": 20},
        "plausible_fixed_policy",
        lambda t: t.applied,
        "entered",
        "admission_rate",
        lambda t: t.bachelor_class,
        lambda t: t.bachelors,
        {"seats_per_unit": 15.0},
    ),
    Case("doughnut", {"horizon": 12}, "random", None, "handed_out"),
    Case(
        "lending_pool",
        {"horizon": 12},
        "random",
        lambda t: t.applied,
        "loans",
        "grant_rate",
        lambda t: t.loans,
        lambda t: t.repaid,
    ),
    Case(
        "bank_loans",
        {"horizon": 60},
        "threshold",
        lambda t: t.applicants.sum(-1),
        "approved",
        "",
        lambda t: t.applicants.sum(-1),
        lambda t: t.would_repay,
    ),
    Case(
        "bank_loans",
        {"horizon": 60, "selective_labels": True},
        "threshold",
        lambda t: t.applicants.sum(-1),
        "approved",
        "",
        lambda t: t.approved,
        lambda t: t.successful,
    ),
    Case(
        "college_admissions",
        {"horizon": 14},
        "robust_jury",
        lambda t: t.applicants,
        "admitted",
        "admission_rate",
        lambda t: t.admitted,
        lambda t: t.admitted_qualified,
    ),
    Case(
        "attention",
        {"horizon": 8},
        "random",
        lambda t: np.ones_like(t.sent),
        "sent",
    ),
    Case("epidemic", {"horizon": 8}, "most_exposed", None, "vaccinated"),
]


def setting(case):
    """Environment, parameters, policies and keys of the episodes."""
    env = fairgym.make(case.env, **case.of_env)
    given = case.policy if isinstance(case.policy, dict) else env.spec.baselines[case.policy]
    params = env.default_params.replace(**case.params)
    return env, params, fixed_policies(env, given), jax.random.key(3)


def traced(env, params, policies, key, episodes=EPISODES):
    """The episodes' components by step, as NumPy arrays (episodes, steps, ...)."""

    def one(k):
        episode = rollout(env, params, policies, k, trace=True)
        return episode.trace, episode.totals

    return jax.device_get(jax.jit(lambda k: jax.lax.map(one, k))(jax.random.split(key, episodes)))


def read_back(log, path):
    """The log written, and read as `fairgym audit FILE` reads it."""
    write_log(log, path)
    beside = roles_beside(path)
    assert beside is not None
    given, _, _ = read_config(beside)
    return read_decisions(str(path), Roles(**given))


def rows_of(decisions, env, log, rows=None, **columns):
    """Component rows of an audited table: columns summed by period and group."""
    rows = np.ones(decisions.rows, bool) if rows is None else rows
    grouping = log.roles["groups"][0]
    codes = decisions.groupings[grouping]
    names = {**env.spec.axes, **log.decision.names}[grouping]
    table = {
        "time": np.array([int(name) for name in decisions.periods.names])[decisions.periods.codes],
        "group": np.array(codes.names)[codes.codes],
        **columns,
    }
    table = {name: np.asarray(column)[rows] for name, column in table.items()}
    return component_rows(table, list(columns), stakeholders=names, steps=env.horizon)


@pytest.mark.parametrize("case", in_tiers(CASES, CASES[5], CASES[6], CASES[8]), ids=str)
def test_the_audited_log_holds_the_counts_of_the_trace(case, tmp_path):
    """Exactly by period and group; so do the rate, outcomes, and a scheme over an episode."""
    env, params, policies, key = setting(case)
    trace, totals = traced(env, params, policies, key)
    log = log_decisions(env, params, policies, key, EPISODES, decision=case.decision)
    found = read_back(log, tmp_path / "decisions.parquet")
    ones = np.ones(found.rows)
    received = {case.chosen: found.amount if case.env == "attention" else found.favourable}
    counts = rows_of(found, env, log, asked=ones, **received)
    expected = getattr(trace, case.chosen)
    assert expected.sum() > 0 and not found.favourable.all()
    np.testing.assert_array_equal(getattr(counts, case.chosen), expected.sum(0))
    if case.asked is not None:
        np.testing.assert_array_equal(counts.asked, case.asked(trace).sum(0))
    if case.rate:  # the metric of both episodes together
        rate = env.metrics[case.rate].value(jax.tree.map(lambda x: x.sum(0), totals))
        assert found.favourable.mean() == pytest.approx(float(rate), rel=1e-6)
    first = rows_of(found, env, log, log.table()["episode"] == 0, **received)
    scheme = Scheme.long_term(Full(case.chosen), Nash())
    same(scheme.of_trace(first), scheme.of_trace(jax.tree.map(lambda x: x[0], trace)))
    if case.settled is not None:
        assert found.outcome is not None
        known = np.isfinite(found.outcome)
        told = rows_of(found, env, log, known, settled=ones, good=found.outcome == 1)
        settled = case.settled(trace).sum((0, 1))
        assert 0 < settled.sum()
        np.testing.assert_array_equal(told.settled.sum(0), settled)
        np.testing.assert_array_equal(told.good.sum(0), case.good(trace).sum((0, 1)))


def beds(params):
    """Health with few beds: the log of beds, and the states after one month and at the end."""
    env = fairgym.make("health", population=80, horizon=5)
    params = env.default_params.replace(**{"beds_at_start": 5.0, "illness_risk": 0.5, **params})
    policies = fixed_policies(env, {"insurer": 1.0, "hospital": "random", "planner": "random"})
    key = jax.random.key(3)
    log = log_decisions(env, params, policies, key, decision="bed").table()
    (own,) = jax.random.split(key, 1)
    ends = [rollout(env, params, policies, own, steps, trace=True) for steps in (1, env.horizon)]
    return env, log, *ends


@pytest.mark.full
def test_beds_fill_the_hospital_and_the_others_wait():
    """Where no illness ends, a bed given is a person more in hospital, by region."""
    env, log, first, last = beds({"end_base": 10.0, "end_illness_time": -100.0})

    def people(episode, stage):
        state = episode.final_state
        return np.bincount(np.asarray(state.group)[np.asarray(state.stage) == stage], minlength=4)

    count = np.zeros((2, env.horizon, 4))  # with a bed, and without one
    for month, region, admitted in zip(log["month"], log["region"], log["admitted"], strict=True):
        count[int(not admitted), month, env.spec.groups.index(region)] += 1
    np.testing.assert_array_equal(count[0].sum(axis=0), people(last, 2) - people(first, 2))
    np.testing.assert_array_equal(count[1][-1], people(last, 1))
    assert count[1][-1].sum() > 0 == count[:, 0].sum(), "the first month is left out"
    assert np.isnan(log["cured"]).all(), "nobody's illness has ended"


@pytest.mark.full
def test_illnesses_of_people_with_a_bed_end_in_cure_or_not():
    """Where every illness ends in its month, rows are illnesses, and outcomes cures."""
    _, log, _, last = beds({"end_illness_time": 0.0, "beds_at_start": 1e3})
    trace = jax.device_get(last.trace)
    assert log["admitted"].all() and np.isfinite(log["cured"]).all()
    rows = np.bincount(log["month"], minlength=5)
    np.testing.assert_array_equal(rows[1:], trace.fell_ill.sum(axis=1)[1:])
    cured = np.bincount(log["month"], weights=log["cured"], minlength=5)
    np.testing.assert_array_equal(cured[1:], (trace.illnesses_ended - trace.died).sum(axis=1)[1:])


def same(ours, theirs):
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_array_equal(one, other)


def test_bad_outcomes_of_an_epidemic_are_its_infections(tmp_path):
    env, params, policies, key = setting(CASES[-1])
    trace, _ = traced(env, params, policies, key)
    log = log_decisions(env, params, policies, key, EPISODES)
    found = read_back(log, tmp_path / "log.csv")
    counts = rows_of(found, env, log, bad=found.outcome == 0)
    np.testing.assert_array_equal(counts.bad, trace.newly_infected.sum(0))


def test_a_schemes_course_over_the_log_is_that_of_the_episode(tmp_path):
    """The environment's own schemes, scored over one logged episode as over its trace."""
    case = CASES[6]
    env, params, policies, key = setting(case)
    log = log_decisions(env, params, policies, key)
    found = read_back(log, tmp_path / "log.csv")
    counts = rows_of(found, env, log, loans=found.favourable)
    trace, _ = traced(env, params, policies, key, 1)
    trace = jax.tree.map(lambda x: x[0], trace)
    for scheme in env.spec.schemes.values():
        same(scheme.of_trace(counts), scheme.of_trace(trace))


@pytest.mark.full
def test_the_score_is_that_of_the_decision():
    """A threshold of admissions splits the logged scores."""
    env, params, policies, key = setting(CASES[2])
    table = log_decisions(env, params, policies, key).table()
    above = table["qualification_score"] >= np.float32(STRICT["admissions"])
    np.testing.assert_array_equal(table["approved"], above)
    assert np.isnan(table["repaid"][~above]).all() and np.isfinite(table["repaid"][above]).all()


def test_persons_of_other_episodes_are_other_persons_and_many_episodes_are_clusters():
    env, params, policies, key = setting(CASES[6])
    log = log_decisions(env, params, policies, key, 10)
    table = log.table()
    assert log.roles["cluster"] == "episode" and log.roles["time"] == "step"
    assert (table["person"] // env.population == table["episode"]).all()
    assert len(set(table["person"])) == 40 and set(table["episode"]) == set(range(10))
    assert "cluster" not in log_decisions(env, params, policies, key, 9).roles


def test_a_memory_in_the_state_changes_no_log():
    env, params, policies, key = setting(CASES[5])
    plain = log_decisions(env, params, policies, key).table()
    wrapped = log_decisions(augmented(env, "full"), params, policies, key).table()
    assert list(plain) == list(wrapped)
    for name in plain:
        np.testing.assert_array_equal(plain[name], wrapped[name])


def test_a_log_is_audited_by_its_own_roles(tmp_path):
    env, params, policies, key = setting(CASES[7])
    path = tmp_path / "decisions.parquet"
    write_log(log_decisions(env, params, policies, key, EPISODES), path)
    roles = path.with_suffix(".toml").read_text()
    assert roles.startswith("# fairgym audit decisions.parquet\n# A row is the applicant")
    given, _, digest = read_config(path.with_suffix(".toml"))
    found = audit(str(path), Roles(**given))
    assert found.decisions.source.sha256 == digest
    assert found.decisions.rows == 120 and found.parts
    assert str(pq.read_schema(path).field("repaid").type) == "bool"


def test_no_decision_is_refused_and_an_unknown_one_named():
    env, params, policies, key = setting(CASES[6])
    with pytest.raises(FairgymError, match=r"unknown decision 'loans' in lending_pool.*'loan'"):
        log_decisions(env, params, policies, key, decision="loans")
    spec = dataclasses.replace(env.spec, decisions={})
    bare = augmented(env, "full")
    object.__setattr__(bare, "spec", spec)
    with pytest.raises(FairgymError, match="lending_pool, which declares no decision about"):
        log_decisions(bare, params, policies, key)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("log.xlsx", "log must be a .parquet or .csv file, got '.*log.xlsx'"),
        (".", "log must be a .parquet or .csv file, got"),
        ("own.csv", "log must be a new file or an earlier log, got .*own.csv"),
        ("config.csv", "config.toml is another file"),
        ("own.csv/log.csv", "own.csv must be a folder, got a file"),
    ],
)
def test_other_files_are_kept(tmp_path, name, message):
    (tmp_path / "own.csv").write_text("mine")
    (tmp_path / "config.toml").write_text("mine = 1")
    with pytest.raises(FairgymError, match=message):
        require_log(tmp_path / name)
    assert (tmp_path / "own.csv").read_text() == "mine"


def test_an_earlier_log_is_replaced(tmp_path):
    env, params, policies, key = setting(CASES[6])
    path = tmp_path / "log.csv"
    for _ in range(2):
        require_log(path)
        write_log(log_decisions(env, params, policies, key), path)


def test_a_rollout_without_a_log_reads_nothing_for_it(monkeypatch):
    """Off by default: the components and people of a step go nowhere."""
    env, params, policies, key = setting(CASES[6])
    made = []
    module = sys.modules["fairgym.core.rollout"]  # the package has a function of this name
    monkeypatch.setattr(module, "Moment", lambda *step: made.append(step))
    shape = jax.eval_shape(lambda k: rollout(env, params, policies, k), key)
    assert shape.logged is None and not made
    jax.eval_shape(lambda k: rollout(env, params, policies, k, log=lambda step: None), key)
    assert made
