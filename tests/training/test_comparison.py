"""Comparisons: who is measured how often, in which setting, scored by what.

All ask for four episodes and their traces, so that they run the same programs.
"""

import dataclasses
from functools import cached_property, partial

import jax
import numpy as np
import pytest
import toy_algorithm  # noqa: F401  (which registers itself)
from two_servers import TwoServers

import fairgym
from fairgym.cli.evaluate import print_tables
from fairgym.config import RunConfig
from fairgym.policies import Random, equivariant, fixed_policies
from fairgym.training import evaluate, train
from fairgym.training.comparison import _alike, _sharing, baselines_of, compare
from fairgym.training.run import Run

BASELINES = ["only_left", "random"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Name -> runs: two seeds, another objective, another horizon, another discount."""
    folder = tmp_path_factory.mktemp("compared")
    base = RunConfig("two_servers", algorithm="toy", algorithm_args={"epochs": 1})

    def made(name, **changes):
        return train(dataclasses.replace(base, **changes), folder / name)

    return {
        "both seeds": [made("a"), made("b", seed=1)],
        "direct": [made("c", objective="direct")],
        "longer": [made("d", environment_args={"horizon": 9})],
        "direct again": [made("e", objective="direct", seed=3)],
    }


@pytest.mark.full
def test_policies_are_measured_once_per_seed_and_setting(runs):
    said = []
    found = compare(runs.items(), 4, seed=2, progress=said.append, trace=True)
    assert [[one.name for one in c.learned] for c in found] == [
        ["both seeds"],
        ["direct", "direct again"],
        ["longer"],
    ]
    assert [[one.name for one in c.baselines] for c in found] == [BASELINES] * 3
    assert said == [
        *("both seeds", "only left", "random"),
        *("direct", "direct again"),
        *("longer", "only left", "random"),
    ], "baselines are run once for each environment"
    first, direct, longer = found
    assert first.environment == direct.environment != longer.environment
    assert [len(one.evaluations) for one in first.policies] == [2, 1, 1]
    assert [one.learned for one in first.policies] == [True, False, False]
    assert first.policies[0].runs == tuple(runs["both seeds"])
    assert first.run.config.objective == "uniform" and direct.run.config.objective == "direct"
    assert longer.run.env.horizon == 9
    assert [one.title for one in first.policies] == ["both seeds", "only left", "random"]


def test_it_measures_what_evaluate_does(runs):
    """Each policy in the same episodes, scored by the objective of its setting."""
    first, direct, _ = compare(runs.items(), 4, seed=2, trace=True)
    env = TwoServers()
    for found in (first, direct):
        run = found.run
        for one in found.policies:
            policies = run.policies
            if not one.learned:
                policies = fixed_policies(env, env.spec.baselines[one.name])
            elif one.runs[0] is not run:
                policies = one.runs[0].policies
            alone = evaluate(
                env, run.params, policies, jax.random.key(2), 4, objective=run.objective, trace=True
            )
            score = one.evaluations[0].objective
            assert score is not None and alone.objective is not None
            np.testing.assert_allclose(score, alone.objective, rtol=1e-6)
            for name, values in alone.metrics.items():
                np.testing.assert_array_equal(one.evaluations[0].metrics[name], values)
            assert one.evaluations[0].trace is not None
    same = [c.baselines[0].evaluations[0].metrics["waiting"] for c in (first, direct)]
    np.testing.assert_array_equal(same[0], same[1])
    scores = [c.baselines[0].evaluations[0].objective for c in (first, direct)]
    assert (scores[0] != scores[1]).any()


def test_other_discounts_are_other_settings(runs, monkeypatch):
    """Metrics under different discounts must not stand side by side."""
    monkeypatch.setattr(Run, "discount", property(lambda run: 0.5 if run.config.seed else 1.0))
    found = compare(
        [(str(i), [run]) for i, run in enumerate(runs["both seeds"])], 4, seed=0, trace=True
    )
    assert [[one.evaluations[0].discount for one in c.policies] for c in found] == [
        [1.0] * 3,
        [0.5] * 3,
    ]


def test_the_random_policy_is_added_if_asked_for():
    class Plain(TwoServers):
        @cached_property
        def spec(self):
            return dataclasses.replace(super().spec, baselines={"only_left": {"router": 1.0}})

    assert list(baselines_of(Plain())) == ["only_left"]
    assert list(baselines_of(Plain(), random=True)) == ["only_left", "random"]
    assert list(baselines_of(TwoServers(), random=True)) == BASELINES


def test_the_table_speaks_of_the_systems_own_size_and_steps(runs, capsys):
    (found,) = compare([("toy", runs["longer"])], 4, seed=0, trace=True)
    print_tables(found)
    words = " ".join(capsys.readouterr().out.split())
    assert "two_servers, 2 queues, 4 episodes of up to 9 minutes" in words
    for part in ("toy", "only left", "Waiting (jobs) ↓", "Served rate (%) ↑", "Served gap (%) ↓"):
        assert part in words
    assert "same random numbers for every policy" in words and "people" not in words


def test_policies_of_two_kinds_share_a_program():
    env = fairgym.make("loan_simple", population=20, horizon=3)
    fixed = fixed_policies(env, {agent: 0.1 for agent in env.agents})
    other = fixed_policies(env, {agent: 0.3 for agent in env.agents})
    learned = equivariant(env, jax.random.key(0), hidden=4)
    key = jax.random.key(1)
    several = [_sharing(one, learned, fixed) for one in (learned, fixed, other)]
    assert all(_alike(several[0], one) for one in several), "so nothing is compiled twice"
    for shared, policies in zip(several, (learned, fixed, other), strict=True):
        found = vars(evaluate(env, env.default_params, shared, key, 4))
        expected = vars(evaluate(env, env.default_params, policies, key, 4))
        jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-6), found, expected)
    odd = {**fixed, "disbursement": Random(env.action_space("disbursement"))}
    assert _sharing(odd, learned, fixed) is odd, "it differs in more than numbers"
    assert _sharing(learned, learned, {}) is learned
