"""Fixed policies, and building them from plain values."""

import dataclasses
import os
import sys
import warnings
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toys import Toy

import fairgym
from fairgym.core import Entities, EntitySpace, FairgymError, Feature, PerEntity, Shares, Unit
from fairgym.policies import Constant, FirstCome, Function, Random, fixed_policies

KEY = jax.random.key(0)
SEEN = EntitySpace(4, (Feature("x"),)).sample(KEY)
SPACES = [PerEntity(4), Unit(("a", "b")), Shares((("a", "b"), ("c", "d")))]


class Queue(Toy):
    """The agent that ranks sees a waiting time in its second column."""

    def observation_space(self, agent):
        return WAITING if agent == "rank" else super().observation_space(agent)


WAITING = EntitySpace(5, (Feature("skill"), Feature("time_waited", 0, 100)))


class TestConstant:
    @pytest.mark.parametrize("space", SPACES, ids=lambda s: type(s).__name__)
    def test_one_number_for_all_elements(self, space):
        action = Constant(space, 0.5)(SEEN, KEY)
        assert action.shape == space.shape and jnp.all(action == 0.5)

    def test_one_number_per_element(self):
        for value in ((0.25, 1), [0.25, 1.0], np.array([0.25, 1.0]), jnp.array([0.25, 1.0])):
            assert Constant(SPACES[1], value)(SEEN, KEY).tolist() == [0.25, 1.0]

    @pytest.mark.parametrize(
        ("space", "value", "message"),
        [
            (SPACES[1], 1.5, "must be 2 numbers.*got 1.5"),
            (SPACES[1], float("nan"), "must be 2 numbers.*got nan"),
            (SPACES[1], (0.1, 0.2, 0.3), r"must be one number, or 2 .*got \(0.1, 0.2, 0.3\)"),
            (SPACES[1], "much", "must be one number.*got 'much'"),
            (SPACES[2], 0.6, "must be 2 shares.*got 0.6"),
        ],
    )
    def test_values_that_do_not_fit(self, space, value, message):
        with pytest.raises(FairgymError, match=f"a constant action {message}"):
            Constant(space, value)
        with pytest.raises(FairgymError, match=f"a constant action {message}"):
            jax.jit(lambda: Constant(space, value).action)()

    def test_a_number_that_is_too_large_is_one_sentence_without_a_warning(self):
        with (
            warnings.catch_warnings(),
            pytest.raises(FairgymError, match=r"must be 2 numbers .*got 1e\+300"),
        ):
            warnings.simplefilter("error")
            Constant(SPACES[1], 1e300)

    @pytest.mark.parametrize("space", SPACES, ids=lambda s: type(s).__name__)
    def test_made_inside_jit_and_vmap(self, space):
        """Of known numbers as of those that a program is given."""
        half = Constant(space, 0.5).action
        assert jnp.array_equal(jax.jit(lambda: Constant(space, 0.5).action)(), half)
        assert jnp.array_equal(jax.jit(lambda x: Constant(space, x).action)(0.5), half)
        values = jnp.array([0.0, 0.25, 1.0])
        several = jax.vmap(lambda x: Constant(space, x)(SEEN, KEY))(values)
        np.testing.assert_array_equal(several, np.outer(values, np.ones(space.shape)))

    def test_some_numbers_known_and_some_traced(self):
        made = jax.vmap(lambda x: Constant(SPACES[1], (x, 0.25)).action)(jnp.array([0.5, 1.0]))
        assert made.tolist() == [[0.5, 0.25], [1.0, 0.25]]
        with pytest.raises(FairgymError, match="must be one number, or 2 numbers"):
            jax.jit(lambda x: Constant(SPACES[1], (x, x, x)).action)(0.5)


def test_a_sweep_over_fixed_policies_is_one_program():
    """What a fixed policy is made of may be varied inside jit and vmap, episodes included."""
    env = Toy(horizon=4)

    def gain(level):
        given = {"level": (level, 0.5), "rank": "random", "split": {"first": level}}
        policies = fixed_policies(env, given)
        return fairgym.rollout(env, env.default_params, policies, KEY).totals.gain

    swept = jax.jit(jax.vmap(gain))(jnp.array([0.0, 0.3]))
    targets = np.array([0.3, 0.8, 0.7])
    chosen = np.array([[0.0, 0.5, 0.0], [0.3, 0.5, 0.3]])
    np.testing.assert_allclose(swept, -4 * ((chosen - targets) ** 2).sum(axis=1), rtol=1e-5)


@pytest.mark.parametrize("space", SPACES, ids=lambda s: type(s).__name__)
def test_random_draws_anew_with_every_key(space):
    keys = jax.random.split(KEY, 30)
    draw = jax.jit(jax.vmap(lambda key: Random(space)(SEEN, key)))
    actions = draw(keys)
    assert np.all(jax.jit(jax.vmap(space.contains))(actions))
    assert len(np.unique(np.asarray(actions)[:, 0])) == 30
    assert np.array_equal(actions, draw(keys))


def test_function_is_what_it_says():
    rule = Function(lambda seen, key: jnp.where(seen.mask, seen.features[:, 0], 0.0))
    assert jnp.array_equal(jax.jit(rule)(SEEN, KEY), SEEN.features[:, 0])


class TestFirstCome:
    def test_the_longest_waiting_come_first(self):
        waited = jnp.array([0.0, 7.0, 400.0, 1.0, 399.0])
        seen = Entities(jnp.stack([jnp.ones(5), waited], 1), jnp.ones(5, bool), jnp.zeros(0))
        scores = FirstCome(Queue(), "rank")(seen, KEY)
        assert PerEntity(5).contains(scores)
        assert np.argsort(-np.asarray(scores)).tolist() == [2, 4, 1, 3, 0]

    def test_empty_places_have_no_score(self):
        seen = Entities(jnp.full((5, 2), 3.0), jnp.arange(5) < 2, jnp.zeros(0))
        assert FirstCome(Queue(), "rank")(seen, KEY).tolist() == [0.75, 0.75, 0, 0, 0]

    def test_another_feature(self):
        assert FirstCome(Toy(), "rank", feature="skill").column == 1

    def test_the_loan_queue(self):
        env = fairgym.make("loan", population=40)
        names = [f.name for f in env.observation_space("disbursement").features]
        assert names[FirstCome(env, "disbursement").column] == "time_waited"

    @pytest.mark.parametrize("agent", ["rank", "level"])
    def test_an_agent_that_cannot(self, agent):
        with pytest.raises(
            FairgymError, match=f"observes 'time_waited'; '{agent}' observes: group, skill"
        ):
            FirstCome(Toy(), agent)

    def test_an_agent_that_sees_times_but_ranks_nobody(self):
        with pytest.raises(FairgymError, match="an agent that scores people"):
            FirstCome(Toy(), "level", feature="skill")


RULES = """
import jax.numpy as jnp


def by_skill(observation, key):
    return jnp.where(observation.mask, 0.25 + 0.0 * observation.features[:, 0], 0.0)


def levels(observation, key):
    return jnp.array([0.25, 0.75])


def whole(observation, key):
    return jnp.array([0, 1])


def short(observation, key):
    return jnp.array([0.25])


def branching(observation, key):
    return jnp.array([0.25, 0.75]) if observation.features[0, 0] > 0 else jnp.zeros(2)


def nothing(observation, key):
    return None


number = 3
"""


@pytest.fixture
def rules(tmp_path, monkeypatch):
    """The name of a module in the current folder, which Python does not look into by itself."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    name = f"rules_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(RULES)
    (tmp_path / f"broken_{name}.py").write_text("1 / 0")
    yield name
    sys.modules.pop(name, None)


class TestRules:
    def test_a_rule_acts(self, rules):
        given = {"level": f"{rules}:levels", "rank": f"{rules}:by_skill", "split": "random"}
        env = Toy()
        policies = fixed_policies(env, given)
        assert policies["level"](SEEN, KEY).tolist() == [0.25, 0.75]
        totals = jax.jit(lambda: fairgym.rollout(env, env.default_params, policies, KEY).totals)()
        assert totals.treated.tolist() == [0.25 * 6 * 6, 0.75 * 6 * 6]  # people times steps
        assert sys.path[-1] == os.getcwd()

    def test_a_baseline_may_be_a_rule(self, rules):
        class WithRule(Queue):
            @cached_property
            def spec(self):
                return dataclasses.replace(
                    super().spec, baselines={"strict": {"level": f"{rules}:levels"}}
                )

        env = WithRule()
        assert isinstance(fixed_policies(env, env.spec.baselines["strict"])["level"], Function)

    @pytest.mark.parametrize(
        ("rule", "message"),
        [
            ("nowhere_at_all:rule", "there is no module 'nowhere_at_all'"),
            ("broken_RULES:rule", "cannot be imported: ZeroDivisionError"),
            ("RULES:absent", "has no 'absent'"),
            ("RULES:number", "of 'level' must be a f.*, got int"),
            ("RULES:short", r"must return float32 of shape \(2,\) .*got float32 of shape \(1,\)"),
            ("RULES:whole", r"must return float32 .*got int32 of shape \(2,\)"),
            ("RULES:nothing", "must return .*got NoneType"),
            ("RULES:branching", r"of 'level' must be a pure JAX function .*fails .Tracer"),
            ("RULES", "must be 'random', a rule by name or as 'module:.*got 'rules_.*'"),
        ],
    )
    def test_rules_that_cannot_act(self, rules, rule, message):
        with pytest.raises(FairgymError, match=message) as caught:
            fixed_policies(Queue(), {"level": rule.replace("RULES", rules)})
        assert "\n" not in str(caught.value)


class TestFixedPolicies:
    def test_every_kind_of_specification(self):
        made = fixed_policies(
            Queue(), {"level": (0.1, 0.9), "rank": "first-come", "split": np.array([0.3, 0.7])}
        )
        assert list(made) == ["level", "rank", "split"]
        np.testing.assert_allclose(made["level"].action, [0.1, 0.9])
        np.testing.assert_allclose(made["split"].action, [0.3, 0.7])
        assert isinstance(made["rank"], FirstCome)
        assert isinstance(fixed_policies(Queue(), {"rank": "random"})["rank"], Random)
        assert fixed_policies(Queue(), {"rank": 0})["rank"].action.shape == (5,)
        assert fixed_policies(Queue(), {}) == {}

    @pytest.mark.parametrize(
        ("specification", "message"),
        [
            ({"boss": 1}, "unknown agent 'boss'; toy has the agents: level, rank, split"),
            ({"level": "lowest"}, "fixed policy of 'level' must be 'random'.*got 'lowest'"),
            (
                {"level": 2},
                r"policy of 'level': a constant action must be 2 numbers in \[0, 1\].*got 2",
            ),
            ({"level": "first-come"}, "first come, first served needs"),
        ],
    )
    def test_specifications_that_do_not_fit(self, specification, message):
        with pytest.raises(FairgymError, match=message):
            fixed_policies(Queue(), specification)

    def test_the_baselines_of_the_loan_environment(self):
        for groups in (1, 2):
            env = fairgym.make("loan", population=40, action_groups=groups)
            for specification in env.spec.baselines.values():
                assert set(fixed_policies(env, specification)) == set(env.agents)
