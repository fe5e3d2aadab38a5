"""Equivariant networks: order and padding do not matter, and the numbers are the formula's."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import Toy

from fairgym.core import Entities, EntitySpace, Feature, OneEntity, PerEntity, Shares, Unit
from fairgym.policies import EquivariantPolicy, Standardiser, equivariant, networks, split_trainable
from fairgym.policies.networks import standard_normal, standard_normals

SEEN = EntitySpace(
    7,
    (Feature("age", 0, 90), Feature("income", 0, 5e4), Feature("group")),
    (Feature("time", 0, 9),),
)
ACTIONS = {
    "per person": PerEntity(7),
    "numbers": Unit(("a", "b")),
    "shares": Shares((("a", "b"), ("c", "d", "e"))),
}
KEY = jax.random.key(0)
SCALING = Standardiser(
    jnp.array([40.0, 2e4, 0.5]), jnp.array([15.0, 1e4, 0.5]), jnp.array([1.0]), jnp.array([4.0])
)


@cache
def policy(kind, pooled):
    return EquivariantPolicy(SCALING, ACTIONS[kind], jax.random.key(3), hidden=6, pooled=pooled)


@pytest.mark.parametrize("shape", [(), (0, 3), (7,), (32, 5), (4, 16, 32), (2048,), (33, 64)])
def test_weights_are_those_of_a_draw_of_their_shape(shape):
    expected = np.asarray(jax.random.normal(KEY, shape))
    found = standard_normal(KEY, shape)
    assert found.shape == shape and np.array_equal(found, expected)
    assert np.array_equal(jax.jit(standard_normal, static_argnums=1)(KEY, shape), expected)


@pytest.mark.parametrize("last", [(2, 5), (33, 64)])
def test_weights_drawn_together_are_those_of_split_keys(last):
    shapes = [(32, 5), (), last]
    for draw in (standard_normals, jax.jit(standard_normals, static_argnums=1)):
        for key, shape, found in zip(
            jax.random.split(KEY, 3), shapes, draw(KEY, tuple(shapes)), strict=True
        ):
            assert np.array_equal(found, jax.random.normal(key, shape))


@eqx.filter_jit
def act(policy, observation):
    return policy(observation, KEY)


@eqx.filter_jit
def act_on_many(policy, keys):
    """Actions on sampled observations, and whether they lie in the space."""
    actions = jax.vmap(lambda key: policy(SEEN.sample(key), KEY))(keys)
    return actions, jax.vmap(policy.space.contains)(actions)


sample = jax.jit(SEEN.sample)
permuted = jax.jit(Entities.permuted)


KINDS = pytest.mark.parametrize(
    ("kind", "pooled"), [(k, p) for k in ACTIONS for p in (False, True)]
)


@KINDS
class TestEveryKind:
    @settings(max_examples=25)
    @given(order=st.permutations(range(7)), seed=st.integers(0, 50))
    def test_the_order_of_the_rows_does_not_matter(self, kind, pooled, order, seed):
        observation = sample(jax.random.key(seed))
        here = act(policy(kind, pooled), observation)
        order = np.array(order)
        there = act(policy(kind, pooled), permuted(observation, order))
        if kind == "per person":
            here = np.asarray(here)[order]
        np.testing.assert_allclose(there, here, rtol=1e-5, atol=1e-6)

    @settings(max_examples=15)
    @given(seed=st.integers(0, 50))
    def test_more_empty_rows_do_not_matter(self, kind, pooled, seed):
        observation = sample(jax.random.key(seed))
        wider = Entities(
            jnp.asarray(np.pad(observation.features, ((0, 4), (0, 0)))),
            jnp.asarray(np.pad(observation.mask, (0, 4))),
            observation.context,
        )
        there = np.asarray(act(policy(kind, pooled), wider))
        if kind == "per person":
            assert not np.any(there[7:])
            there = there[:7]
        np.testing.assert_allclose(there, act(policy(kind, pooled), observation), atol=1e-6)

    def test_actions_lie_in_the_space(self, kind, pooled):
        actions, inside = act_on_many(policy(kind, pooled), jax.random.split(KEY, 50))
        assert inside.all()
        assert np.std(actions, axis=0).max() > 1e-3, "the observation has no influence"

    def test_nobody_is_there(self, kind, pooled):
        empty = Entities(jnp.zeros((7, 3)), jnp.zeros(7, bool), jnp.array([2.0]))
        action = act(policy(kind, pooled), empty)
        assert np.isfinite(action).all()
        if kind == "per person":
            assert not np.any(action)

    def test_it_is_the_formula(self, kind, pooled):
        """Standardise, layer 1 with relu, (mean over people,) layer 2, sigmoid or softmax."""
        observation = sample(jax.random.key(9))
        net = jax.tree.map(np.asarray, policy(kind, pooled))
        net = eqx.tree_at(  # biases start at 0: other numbers, so that they count
            lambda n: (n.first_bias, n.second_bias), net, (np.arange(6) / 6, net.second_bias + 0.3)
        )
        mask = np.asarray(observation.mask)
        people = np.asarray(observation.features, np.float64)[mask]
        scaled = (people - np.asarray(SCALING.shift)) / np.asarray(SCALING.scale)
        context = (np.asarray(observation.context) - 1.0) / 4.0
        inputs = [scaled, np.broadcast_to(context, (len(people), 1))]
        weights = [net.first, net.of_context]
        if pooled:
            inputs.append(np.broadcast_to(scaled.mean(0), scaled.shape))
            weights.append(net.of_pooled)
        matrix = np.concatenate(weights, axis=1)
        units = np.maximum(
            np.concatenate(inputs, axis=1) @ matrix.T / np.sqrt(matrix.shape[1]) + net.first_bias, 0
        )
        if kind != "per person":
            units = units.mean(0)
        output = units @ net.second.T / np.sqrt(6) + net.second_bias
        if kind == "shares":
            parts = np.split(np.exp(output), [2])
            expected = np.concatenate([p / p.sum() for p in parts])
        else:
            expected = 1 / (1 + np.exp(-output))
        found = np.asarray(act(jax.tree.map(jnp.asarray, net), observation))
        if kind == "per person":
            found, expected = found[mask], expected[:, 0]
        np.testing.assert_allclose(found, expected, rtol=2e-5)


@pytest.mark.parametrize("kind", ["numbers", "shares"])
def test_shares_sum_to_one_in_each_block(kind):
    action = act(policy(kind, False), sample(KEY))
    space = ACTIONS[kind]
    if isinstance(space, Shares):
        for part in space.split(np.asarray(action)):
            np.testing.assert_allclose(part.sum(), 1.0, rtol=1e-6)
    else:
        assert abs(float(action.sum()) - 1.0) > 1e-3


@pytest.mark.parametrize("pooled", [False, True])
def test_only_a_pooled_policy_lets_others_count(pooled):
    observation = sample(KEY).replace(mask=jnp.ones(7, bool))
    changed = np.array(observation.features)
    changed[6] += 30.0
    other = observation.replace(features=jnp.asarray(changed))
    here, there = (act(policy("per person", pooled), seen)[:6] for seen in (observation, other))
    assert bool(np.any(here != there)) == pooled


def test_standardisation_is_taken_from_the_people_at_reset():
    env = Toy(population=500)
    made = equivariant(env, KEY, 4)
    again = equivariant(env, jax.random.key(99), 4)
    params = env.default_params
    people = jax.jit(lambda: env.people(env.initial_state(jax.random.key(0), params)))()
    for agent in env.agents:
        scaling = made[agent].scaling
        for column, feature in enumerate(env.observation_space(agent).features):
            values = np.asarray(people[feature.name])
            if feature.name == "constant":  # nobody differs: its declared range, 0 to 2
                expected = (0.0, 2.0)
            else:
                expected = (values.mean(), values.std())
            found = (scaling.shift[column], scaling.scale[column])
            np.testing.assert_allclose(found, expected, rtol=1e-5)
        assert scaling.context_shift.tolist() == [0.0]
        assert scaling.context_scale.tolist() == [env.horizon]
        # the same for every seed, while the weights are not
        assert jnp.array_equal(scaling.shift, again[agent].scaling.shift)
        assert not jnp.array_equal(made[agent].first, again[agent].first)


def test_a_range_of_nothing_does_not_divide_by_zero():
    class Flat(Toy):
        def observation_space(self, agent):
            return FLAT

    made = equivariant(Flat(), KEY, 3)
    assert made["level"].scaling.scale[2] == 1.0 and made["level"].scaling.context_scale == 1.0


FLAT = EntitySpace(
    12, (Feature("group"), Feature("skill"), Feature("constant", 1.0, 1.0)), (Feature("t", 5, 5),)
)


def test_agents_and_layers_have_weights_of_their_own():
    made = equivariant(Toy(), KEY, 200)
    assert list(made) == list(Toy().agents)
    first = np.asarray(made["level"].first)
    assert abs(first.mean()) < 0.1 and abs(first.std() - 1.0) < 0.1
    assert not np.allclose(first, made["split"].first)
    assert not np.any(made["level"].first_bias) and not np.any(made["level"].second_bias)
    assert made["level"].of_pooled is None
    pooled = equivariant(Toy(), KEY, 5, pooled=True)["level"].of_pooled
    assert pooled is not None and pooled.shape == (5, 3)


def test_partition_and_combine():
    made = equivariant(Toy(), KEY, 3, pooled=True)
    trainable, rest = split_trainable(made)
    assert eqx.tree_equal(eqx.combine(trainable, rest), made)
    names = {path[1].name for path, _ in jax.tree_util.tree_leaves_with_path(trainable)}
    expected = {"first", "first_bias", "of_context", "of_pooled", "second", "second_bias"}
    assert names == expected
    assert not any(isinstance(x, jax.Array) and x.size == 0 for x in jax.tree.leaves(trainable))
    kept = {path[2].name for path, _ in jax.tree_util.tree_leaves_with_path(rest)}
    assert kept == {"shift", "scale", "context_shift", "context_scale"}


@pytest.mark.parametrize("people", [9, 12, 13])
@pytest.mark.parametrize("kind", ["per person", "numbers", "rows"])
def test_people_in_blocks_get_what_they_get_together(kind, people, monkeypatch):
    spaces = {"per person": PerEntity(people), "rows": OneEntity(people, none=True)}
    own = EquivariantPolicy(
        SCALING, spaces.get(kind, ACTIONS["numbers"]), jax.random.key(3), hidden=6, pooled=True
    )
    observation = EntitySpace(people, SEEN.features, SEEN.context).sample(jax.random.key(5))
    together = own.logits(observation)
    slopes = eqx.filter_grad(lambda p: jnp.sum(p.logits(observation) ** 2))(own)
    monkeypatch.setattr(networks, "_AT_ONCE", 8)
    monkeypatch.setattr(networks, "_BLOCK", 4)
    np.testing.assert_allclose(own.logits(observation), together, rtol=2e-5, atol=1e-6)
    found = eqx.filter_grad(lambda p: jnp.sum(p.logits(observation) ** 2))(own)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(slopes), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def products(program):
    """Return the products of a jaxpr, those of inner ones too."""
    found = []
    for equation in program.eqns:
        found += [equation] if equation.primitive.name == "dot_general" else []
        for value in jax.tree.leaves(list(equation.params.values())):
            if hasattr(value, "jaxpr"):
                found += products(value.jaxpr)
    return found


@pytest.mark.parametrize("kind", ACTIONS)
@pytest.mark.parametrize("at_once", [7, 2])  # all people, or blocks of them
def test_products_have_full_precision_on_a_gpu(kind, at_once, monkeypatch):
    monkeypatch.setattr(networks, "_AT_ONCE", at_once)
    monkeypatch.setattr(networks, "_BLOCK", 2)
    observation = Entities(jnp.ones((7, 3)), jnp.ones(7, bool), jnp.ones(1))
    program = jax.make_jaxpr(policy(kind, True).logits)(observation)
    found = products(program.jaxpr)
    highest = (jax.lax.Precision.HIGHEST,) * 2
    assert len(found) >= 6
    assert all(equation.params["precision"] == highest for equation in found)
