"""F-MACEM: the update against NumPy, and what it learns where the best policy is known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toys import Toy

import fairgym
from fairgym.algorithms import Algorithm, algorithms
from fairgym.core import FairgymError
from fairgym.fairness import Objective
from fairgym.policies import Random

FMacem = algorithms.get("f-macem")
ENV = Toy(population=6, horizon=3, places=3, seats=1)
DIRECT = Objective.direct(ENV)
LEARNER = FMacem(epochs=15, episodes_per_epoch=50, hidden=3, evaluation_episodes=2)
RANK = {"rank": Random(ENV.action_space("rank"))}

# "split" gains by spoiling what "level" gains from, whose levels may not be far apart.
BOUND = DIRECT.bounded({"treated_disparity": 0.2})
OWN = {"level": BOUND, "split": Objective.weighted(ENV, {"gain": -1.0})}
APART = FMacem(
    epochs=40,
    episodes_per_epoch=50,
    hidden=3,
    evaluation_episodes=2,
    smoothing=0.1,
    noise_floor=0.05,
    multiplier_rate=0.3,
    common_random_numbers=True,
    vmap_size=5,
)


def train(learner, objective, seed=0):
    """The states and the logs of a whole training, with "rank" fixed."""
    state, states, logs = learner.init(jax.random.key(seed), ENV, objective, fixed=RANK), [], []
    for _ in range(learner.epochs):
        state, log = learner.update(state)
        states.append(state)
        logs.append({name: float(value) for name, value in log.items()})
    return states, logs


@pytest.fixture(scope="module")
def learned():
    """Three seeds of the same training."""
    return [train(LEARNER, DIRECT, seed) for seed in range(3)]


@pytest.fixture(scope="module")
def apart():
    """A training of agents with objectives of their own, one of them under a bound."""
    return train(APART, OWN)


def same_bits(a, b):
    return jax.tree.all(
        jax.tree.map(lambda x, y: np.asarray(x).tobytes() == np.asarray(y).tobytes(), a, b)
    )


# ------------------------------------------------------------------ one epoch


@eqx.filter_jit
def scores_by_hand(state, candidates, key):
    """The score of every candidate under each agent's objective; all have the same key."""

    def one(trainable):
        policies = eqx.combine(trainable, state.static) | state.fixed
        totals = fairgym.rollout(ENV, state.params, policies, key).totals
        return [
            objective.score(totals, None, multipliers)
            for (_, objective), multipliers in zip(state.objectives, state.multipliers, strict=True)
        ]

    return jax.vmap(one)(candidates)


def test_an_epoch_is_the_algorithm(apart):
    """Draw, run, rank, fit: the mean and the spread of each agent's elite, by hand."""
    begin = next(i for i, state in enumerate(apart[0]) if float(state.multipliers[0][0]) > 0.0)
    start, end = apart[0][begin : begin + 2]
    assert not same_bits(start.mean, end.mean)

    # draw
    key, later = start.next_key()
    draw_key, episode_key, _ = jax.random.split(key, 3)
    mean, treedef = jax.tree.flatten(jax.tree.map(np.asarray, start.mean))
    spread = [np.asarray(s) for s in jax.tree.leaves(start.spread)]
    ends = np.cumsum([m.size for m in mean])
    draws = np.split(np.asarray(jax.random.normal(draw_key, (50, ends[-1]))), ends[:-1], axis=1)
    candidates = jax.tree.unflatten(
        treedef,
        [m + s * z.reshape(50, *m.shape) for m, s, z in zip(mean, spread, draws, strict=True)],
    )
    # run
    shared_key = jax.random.split(episode_key, 50)[0]
    scores = [np.asarray(own) for own in scores_by_hand(start, candidates, shared_key)]
    # rank and fit
    keep, floor = 0.1, 0.05
    for agent, own in zip(("level", "split"), scores, strict=True):
        elite = np.argsort(own)[::-1][:10]
        parts = (start.mean, start.spread, candidates, end.mean, end.spread)
        leaves = zip(*(jax.tree.leaves(part[agent]) for part in parts), strict=True)
        for old_mean, old_spread, drawn, new_mean, new_spread in leaves:
            best = drawn[elite].astype(np.float64)
            expected = keep * np.asarray(old_mean) + (1 - keep) * best.mean(0)
            np.testing.assert_allclose(new_mean, expected, rtol=1e-4, atol=1e-5)
            variance = keep * np.asarray(old_spread) ** 2 + (1 - keep) * best.var(0)
            found = np.sqrt(variance + floor**2)
            np.testing.assert_allclose(new_spread, found, rtol=1e-4, atol=1e-5)
    log = apart[1][begin + 1]
    assert log["candidates/objective"] == pytest.approx(np.mean(scores[0]), rel=1e-4)
    assert log["candidates/objective_best"] == pytest.approx(np.max(scores[0]), rel=1e-4)
    assert same_bits(end.key, later) and int(end.updates) == begin + 2


def test_it_starts_at_nothing_with_the_init_std():
    state = FMacem(init_std=2.5, hidden=3).init(jax.random.key(0), ENV, DIRECT)
    assert not any(np.any(leaf) for leaf in jax.tree.leaves(state.mean))
    assert all(np.all(leaf == 2.5) for leaf in jax.tree.leaves(state.spread))
    level = state.static["level"]
    assert level.first is None and level.scaling is not None


# ------------------------------------------------------------------ what it learns


@pytest.mark.parametrize("seed", range(3))
def test_it_finds_the_known_optimum(learned, seed):
    """Levels 0.3 and 0.8, first share 0.7; an untrained policy has 0.5 everywhere."""
    states, logs = learned[seed]
    first, last = logs[0], logs[-1]
    assert last["objective"] > -0.02
    assert last["objective"] > first["objective"]
    found = [last[f"actions/level/level_{group}"] for group in ENV.spec.groups]
    np.testing.assert_allclose(found, ENV.optimum["level"], atol=0.12)
    assert last["actions/split/first"] == pytest.approx(0.7, abs=0.12)
    assert last["spread"] < first["spread"] < 1.0
    assert LEARNER.num_updates == int(states[-1].updates) == 15


def test_seeds_differ_and_one_seed_repeats(learned):
    again = train(LEARNER, DIRECT, 0)
    ends = (eqx.filter(states[-1], eqx.is_array) for states, _ in (again, learned[0]))
    assert same_bits(*ends)
    assert again[1] == learned[0][1]
    assert not same_bits(learned[0][0][-1].mean, learned[1][0][-1].mean)


def test_the_log_tells_of_everything(learned):
    log = learned[0][1][-1]
    for name in ENV.metrics:
        assert f"metrics/{name}" in log and f"candidates/metrics/{name}" in log
    assert log["survived"] == 1.0 and log["candidates/steps"] == 50 * ENV.horizon
    assert log["objective"] == pytest.approx(log["metrics/gain"] / ENV.horizon, abs=1e-6)
    assert not any(name.startswith(("objective/", "multipliers/")) for name in log)


def test_agents_that_are_fixed_stay_as_they_are(learned):
    """ "rank" was given as fixed, "level" and "split" have learned."""
    state = learned[0][0][-1]
    policies = LEARNER.policies(state)
    assert list(policies) == list(ENV.agents) and set(state.mean) == {"level", "split"}
    assert eqx.tree_equal(policies["rank"], RANK["rank"])


def test_each_agent_follows_its_own_objective(apart):
    last = apart[1][-1]
    assert last["actions/split/first"] < 0.1, "as far as can be from 0.7"
    assert last["objective/level"] == pytest.approx(last["metrics/gain"] / ENV.horizon, abs=1e-6)
    assert last["objective/split"] == pytest.approx(-last["metrics/gain"] / ENV.horizon, abs=1e-6)
    assert last["objective"] == pytest.approx(0.0, abs=1e-6), "their mean"


def test_a_bound_is_kept_at_little_cost(apart):
    """The best levels are 0.5 apart; within 0.2 they are 0.45 and 0.65, at a cost of 0.045."""
    states, logs = apart
    gaps = -np.array([log["metrics/treated_disparity"] for log in logs])
    prices = [log["multipliers/level/treated_disparity"] for log in logs]
    assert gaps.max() > 0.3, "the bound was never in the way"
    assert gaps[-10:].mean() < 0.22
    assert max(prices) > 0.0 and min(prices) >= 0.0
    cost = [
        (log["actions/level/level_first"] - 0.3) ** 2
        + (log["actions/level/level_second"] - 0.8) ** 2
        for log in logs[-10:]
    ]
    assert np.mean(cost) < 0.07, "a bound that costs this much was overdone"
    assert spread_of_equals(APART, states[-1]) < 1e-6


def spread_of_equals(learner, state):
    """Spread of the scores in an epoch whose candidates are all the same policy."""
    equal = state.replace(spread=jax.tree.map(jnp.zeros_like, state.spread))
    _, log = learner.update(equal)
    return float(log["candidates/objective_best"] - log["candidates/objective"])


def test_candidates_differ_in_noise_unless_it_is_common(learned):
    """Levels depend on the people drawn; with common random numbers (above) nothing differs."""
    assert spread_of_equals(LEARNER, learned[0][0][-1]) > 1e-6


def test_params_are_the_ones_given():
    params = ENV.default_params.replace(last_step=1.0)
    state = LEARNER.init(jax.random.key(0), ENV, DIRECT, params=params, fixed=RANK)
    _, log = LEARNER.update(state)
    assert log["survived"] == 0.0 and log["candidates/steps"] == 50.0


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("field", "value", "takes"),
    [
        ("epochs", 0, "a whole number from 1"),
        ("episodes_per_epoch", 1, "a whole number from 2"),
        ("hidden", 0, "a whole number from 1"),
        ("evaluation_episodes", 0, "a whole number from 1"),
        ("vmap_size", -1, "a whole number from 0"),
        ("elite_share", 1.5, "a number from 0 to 1"),
        ("elite_share", float("nan"), "a number from 0 to 1"),
        ("smoothing", -0.1, "a number from 0 to 1"),
        ("discount", 1.01, "a number from 0 to 1"),
        ("init_std", -1.0, "a number from 0 to 3.40282e.38"),
        ("noise_floor", -1.0, "a number from 0 to 3.40282e.38"),
        ("multiplier_rate", -1.0, "a number from 0 to 3.40282e.38"),
    ],
)
def test_hyperparameters_out_of_range(field, value, takes):
    with pytest.raises(FairgymError, match=f"{field} must be {takes}.*got {value!r}"):
        FMacem(**{field: value})


def test_published_defaults():
    learner = FMacem()
    assert (learner.epochs, learner.episodes_per_epoch, learner.elites) == (40, 100, 20)
    assert FMacem(episodes_per_epoch=3, elite_share=0.01).elites == 1
    assert isinstance(learner, Algorithm)


class TestWhoIsTrained:
    def init(self, objective, fixed):
        return LEARNER.init(jax.random.key(0), ENV, objective, fixed=fixed)

    def test_an_unknown_agent(self):
        for objective, fixed in ((DIRECT, {"boss": RANK["rank"]}), ({"boss": DIRECT}, {})):
            with pytest.raises(FairgymError, match="unknown agent 'boss'; toy has the agents"):
                self.init(objective, fixed)

    def test_nobody(self):
        everybody = {agent: Random(ENV.action_space(agent)) for agent in ENV.agents}
        with pytest.raises(FairgymError, match="no agent is left to train"):
            self.init(DIRECT, everybody)

    def test_without_an_objective(self):
        with pytest.raises(FairgymError, match="no objective for agent 'rank'"):
            self.init({"level": DIRECT, "split": DIRECT}, {})
        state = self.init({"level": DIRECT, "split": DIRECT}, RANK)
        assert [agent for agent, _ in state.objectives] == ["level", "split"]


def test_unknown_algorithms():
    with pytest.raises(FairgymError, match=r"unknown algorithm 'nonesuch'; there are: .*f-macem"):
        algorithms.get("nonesuch")


def test_the_policies_are_the_means(learned):
    state = learned[0][0][-1]
    policies = LEARNER.policies(state)
    assert same_bits(policies["level"].first, state.mean["level"].first)
    assert policies["level"].scaling is not None and eqx.tree_equal(policies["rank"], RANK["rank"])
