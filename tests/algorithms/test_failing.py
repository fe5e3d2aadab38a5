"""Failed episodes rank last, or by their score alone."""

import functools
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learners import collected, learner
from tiers import in_tiers
from toys import Toy

from fairgym.algorithms import algorithms
from fairgym.algorithms._episodes import ranked, run_candidates
from fairgym.fairness import Objective
from fairgym.policies import fixed_policies
from fairgym.utils import make
from fairgym.utils.registry import environments

FMacem, GridSearch = algorithms.get("f-macem"), algorithms.get("grid-search")
HORIZON = 6


class Fragile(Toy):
    """A toy that fails at once where little is given, and then has hardly any losses.

    To live on with one level for both groups costs 0.13 a step at best, 0.78 in all; a level of
    0.1 costs 0.53, once. Objectives are divided by the number of steps.
    """

    def transition(self, noise, state, actions, params):
        state, components, _ = super().transition(noise, state, actions, params)
        return state, components, jnp.mean(actions["level"]) < 0.15


ENV = Fragile(population=6, horizon=HORIZON, places=3, seats=1)
DIRECT = Objective.direct(ENV)
FIXED = fixed_policies(ENV, {"split": (0.7, 0.3)})

CANDIDATES = st.lists(
    st.tuples(
        st.sampled_from([-np.inf, np.nan, -1.0, 0.0, 0.5, 2.0]),
        st.sampled_from([0.0, 0.5, 1.0]),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=8,
)


@given(CANDIDATES)
def test_ranks_are_those_of_sorted(candidates):
    scores, alive, length = (jnp.array(x, jnp.float32) for x in zip(*candidates, strict=True))

    def worth(i):
        score = candidates[i][0]
        return score if np.isfinite(score) else -np.inf

    count = range(len(candidates))
    by_score = sorted(count, key=lambda i: -worth(i))
    by_life = sorted(count, key=lambda i: (-candidates[i][1], -candidates[i][2], -worth(i)))
    for failed_last, expected in ((False, by_score), (True, by_life)):
        found = ranked(scores, alive, length, failed_last=failed_last)
        assert found.tolist() == expected


@pytest.mark.parametrize("failed_last", [False, True])
def test_grid_search_finds_failure_or_life(failed_last):
    learner = GridSearch(steps=11, deviation_steps=1, episodes=2, failed_last=failed_last)
    state = learner.init(jax.random.key(0), ENV, DIRECT, fixed=FIXED)
    state, log = learner.update(state)
    level = float(state.best["level"][0])
    if failed_last:
        assert log["survived"] == 1.0 and level == pytest.approx(0.55, abs=0.051)
        assert log["objective"] == pytest.approx(-0.13, abs=1e-5)
    else:
        assert log["survived"] == 0.0 and level == pytest.approx(0.1)
        assert log["objective"] == pytest.approx(-(0.2**2 + 0.7**2) / HORIZON, abs=1e-5)


@pytest.mark.parametrize("name", ["f-mappo", "f-maddpg"])
def test_a_failure_costs_every_agent_a_penalty(name):
    """In the step that it fails with and in no other."""
    state = learner(name).init(jax.random.key(0), ENV, DIRECT, fixed=FIXED)
    rollout = jax.tree.map(lambda x: x[0], state.rollouts)

    @partial(jax.jit, static_argnames="penalty")
    def step(level, penalty):
        actions = {
            "level": jnp.full(2, level),
            "rank": jnp.zeros(ENV.places),
            "split": jnp.array([0.7, 0.3]),
        }
        _, end, rewards = state.step(rollout, actions, rollout.hidden, jax.random.key(1), penalty)
        return end.terminated, rewards

    for level, fails in ((0.1, True), (0.5, False)):
        failed, plain = step(level, 0.0)
        _, punished = step(level, 3.0)
        assert bool(failed) == fails and plain.shape == (len(state.objectives),)
        np.testing.assert_allclose(punished, plain - 3.0 * fails, rtol=1e-6)


@pytest.mark.parametrize("name", in_tiers(["f-mappo", "f-maddpg"], "f-mappo"))
def test_learners_learn_from_rewards_with_the_penalty(name):
    """Every episode fails with its second step."""
    toy = Toy(population=6, horizon=HORIZON, places=3, seats=1)
    rewards, fails = {}, None
    for penalty in (0.0, 3.0):
        some = learner(name, failure_penalty=penalty)
        params = toy.default_params.replace(last_step=2.0)
        state = some.init(jax.random.key(0), toy, DIRECT, params=params, fixed=FIXED)
        steps = collected(some, state, jax.random.key(1))
        rewards[penalty], fails = np.asarray(steps.rewards), np.asarray(steps.done)
    np.testing.assert_array_equal(fails, [[False, True, False, True]] * 2)
    np.testing.assert_allclose(rewards[3.0], rewards[0.0] - 3.0 * fails[..., None], rtol=1e-5)


RANKED_BY = ("alive", "length", "score")


class Telling(FMacem):
    """F-MACEM that logs what it ranks candidates by."""

    def _log(self, state, scores, leading, results, *rest):
        told = (1.0 - results.terminated, results.length, scores[state.objectives[0][0]])
        log = super()._log(state, scores, leading, results, *rest)
        return log | dict(zip(RANKED_BY, told, strict=True))


@pytest.mark.full
def test_f_macem_learns_to_live():
    """From candidates of which many fail, and are not the best, whatever they score."""
    learner = Telling(
        epochs=8,
        episodes_per_epoch=60,
        hidden=4,
        init_std=4.0,
        evaluation_episodes=2,
        failed_last=True,
    )
    state = learner.init(jax.random.key(2), ENV, DIRECT, fixed=FIXED)
    lived, beaten, log = [], [], {}
    for _ in range(learner.num_updates):
        state, log = learner.update(state)
        best = max(zip(*(np.asarray(log[key]).tolist() for key in RANKED_BY), strict=True))
        assert log["candidates/objective_best"] == pytest.approx(best[-1])
        beaten.append(np.max(log["score"]) > best[-1])
        lived.append(float(log["candidates/survived"]))
    assert lived[0] < 0.95 < lived[-1]
    assert beaten[0], "a failing one scores more than any that lives"
    assert log["survived"] == 1.0


# ------------------------------------------------------------------ fixed policies of the systems

CANDIDATES_AT_ONCE = 12
SEEDS = st.integers(0, 2**31 - 1)
PEOPLE = {"population": 200, "horizon": 40}
# What can fail, and in what size; a bank with little cash, where each step has one loan.
FAILING: dict[str, tuple[str, dict[str, Any], dict[str, float]]] = {
    **{name: (name, PEOPLE, {}) for name in ("loan_simple", "loan", "health", "education")},
    "loan, two banks": ("loan", PEOPLE | {"banks": 2}, {}),
    "bank_loans": ("bank_loans", {"horizon": 60}, {"cash": 3.0}),
}
NEVER_FAILING = ("attention", "college_admissions", "doughnut", "epidemic", "lending_pool")


@functools.cache
def tournament(name: str) -> Any:
    """Score, survival and length of an episode of each of several fixed policies, at random.

    Premiums go up to a limit of the candidate's own, so that they are low for everybody in some.
    """
    environment, shapes, numbers = FAILING.get(name, (name, {"horizon": 40}, {}))
    env: Any = make(environment, **shapes)
    params = env.default_params.replace(**numbers)
    objective = Objective.uniform(env)

    def acts(key: Any) -> dict[str, Any]:
        fixed = {}
        for agent, own in zip(env.agents, jax.random.split(key, len(env.agents)), strict=True):
            action = env.action_space(agent).sample(own)
            if agent == "insurer":
                action = action * jax.random.uniform(jax.random.fold_in(own, 1))
            fixed[agent] = action
        return {a: lambda observation, key, action=x: action for a, x in fixed.items()}

    @jax.jit
    def run(seeds: Any) -> Any:
        keys = jax.vmap(jax.random.key)(seeds)
        episodes = run_candidates(env, params, acts, keys, keys)
        scores = jax.vmap(objective.score)(episodes.totals, episodes.memories)
        return scores, 1.0 - episodes.terminated, episodes.length.astype(jnp.float32)

    return run


@pytest.mark.parametrize("name", in_tiers(FAILING, "bank_loans"))
@settings(max_examples=12)
@given(seeds=st.lists(SEEDS, min_size=CANDIDATES_AT_ONCE, max_size=CANDIDATES_AT_ONCE))
def test_no_failing_policy_outranks_a_surviving_one(name, seeds):
    scores, alive, length = tournament(name)(jnp.array(seeds))
    fails = np.asarray(alive) < 1.0
    order = np.asarray(ranked(scores, alive, length, failed_last=FMacem().failed_last))
    assert (np.diff(fails[order].astype(int)) >= 0).all()


@pytest.mark.parametrize("name", in_tiers(FAILING, "bank_loans"))
def test_some_policies_fail_and_some_live(name):
    rounds = [tournament(name)(jnp.arange(n, n + CANDIDATES_AT_ONCE)) for n in range(0, 48, 12)]
    alive = np.concatenate([np.asarray(alive) for _, alive, _ in rounds])
    assert 3 <= alive.sum() <= 45


@pytest.mark.parametrize("name", in_tiers(NEVER_FAILING, "lending_pool"))
def test_what_cannot_fail(name):
    """Whatever the actions, an episode lasts to its horizon."""
    _, alive, length = tournament(name)(jnp.arange(CANDIDATES_AT_ONCE))
    assert (np.asarray(alive) == 1.0).all() and len(set(np.asarray(length))) == 1


def test_every_environment_can_fail_or_cannot():
    named = {name for name, _, _ in FAILING.values()} | set(NEVER_FAILING)
    modules = {name: environments.get(name).__module__ for name in environments.names()}
    assert named == {n for n, m in modules.items() if m.startswith("fairgym.environments.")}


@pytest.mark.full
def test_by_their_scores_alone_failing_banks_do():
    """A bank that fails at once hardly loses money and has hardly any disparities."""
    scores, alive, length = tournament("loan")(jnp.arange(CANDIDATES_AT_ONCE))
    fails, worth = np.asarray(alive) < 1.0, np.asarray(scores)
    assert worth[fails].max() > 0.1 and worth[~fails].max() < 0.0
    best = ranked(scores, alive, length, failed_last=False)[0]
    assert fails[best] and not fails[ranked(scores, alive, length, failed_last=True)[0]]
