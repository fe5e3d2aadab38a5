"""Codes of observations, networks over them and tables, against plain NumPy."""

import itertools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fairgym.core import Discrete, Entities, EntitySpace, FairgymError, Feature
from fairgym.policies.coding import Inputs, TableCode
from fairgym.policies.flat import FlatNetwork, RecurrentNetwork, Table, linear_layers

COUNTED = EntitySpace(
    2,
    (Feature("present", levels=2), Feature("given", 0, 4, levels=5)),
    (Feature("margin", -2, 2, levels=3),),
)
MIXED = EntitySpace(2, (Feature("given", 0, 100, levels=101), Feature("credit", 0.2, 0.9)))


OPTIONS = Discrete(("a", "b", "c"))


def seen(space, numbers):
    rows = space.capacity * len(space.features)
    numbers = np.asarray(numbers, np.float32)
    features = jnp.asarray(numbers[:rows].reshape(space.capacity, -1))
    everybody = jnp.asarray(np.ones(space.capacity, bool))
    return Entities(features, everybody, jnp.asarray(numbers[rows:]))


def test_every_observation_has_a_number_of_its_own():
    code = TableCode(COUNTED)
    row = [(p, g) for p in (0, 1) for g in range(5)]
    everything = [(*a, *b, m) for a, b in itertools.product(row, row) for m in (-2, 0, 2)]
    assert code.size == len(everything) == 300
    index_of = jax.jit(code.index)
    found = [index_of(seen(COUNTED, numbers)) for numbers in everything[::23]]
    assert [int(index) for index, _ in found] == list(range(300))[::23]
    assert all(bool(inside) for _, inside in found)


@pytest.mark.parametrize("place, value", [(1, 5.0), (3, -1.0), (4, 4.0), (0, 2.0)])
def test_an_observation_out_of_range_is_not_in_the_table(place, value):
    numbers = [1.0, 4.0, 0.0, 0.0, 2.0]
    numbers[place] = value
    index, inside = TableCode(COUNTED).index(seen(COUNTED, numbers))
    assert not bool(inside) and 0 <= int(index) < 300


def test_a_table_takes_counted_features_only():
    with pytest.raises(FairgymError, match="'credit' is a continuous feature; a table needs"):
        TableCode(MIXED)


def test_inputs_in_bits_and_scaled():
    observation = seen(MIXED, [77, 0.9, 100, 0.2])
    bits = [(n >> b) & 1 for n in (77, 100) for b in range(7)]
    expected = [*bits[:7], 1.0, *bits[7:], 0.0]
    binary = Inputs(MIXED, "binary")
    assert binary.bits == (7, 1, 7, 1) and binary.size == 16
    np.testing.assert_allclose(jax.jit(binary)(observation), expected, atol=1e-6)
    scaled = Inputs(MIXED)
    np.testing.assert_allclose(jax.jit(scaled)(observation), [0.77, 1.0, 1.0, 0.0], atol=1e-6)
    assert scaled.size == 4
    # 5 values from -2 to 2 are numbered from 0
    margin = EntitySpace(1, (Feature("margin", -2, 2, levels=5),))
    assert jax.jit(Inputs(margin, "binary"))(seen(margin, [1.0])).tolist() == [1.0, 1.0, 0.0]


def weights(layer):
    return np.asarray(layer.weight), np.asarray(layer.bias)


def test_networks_are_what_they_say():
    inputs, key = Inputs(MIXED), jax.random.key(0)
    flat = FlatNetwork(inputs, OPTIONS, (4, 3), key)
    observation = seen(MIXED, [77, 0.9, 100, 0.2])
    x = np.array([0.77, 1.0, 1.0, 0.0], np.float32)
    assert [layer.weight.shape for layer in flat.layers] == [(4, 4), (3, 4), (3, 3)]
    units = x
    for layer in flat.layers[:-1]:
        weight, bias = weights(layer)
        units = np.maximum(weight @ units + bias, 0.0)
    weight, bias = weights(flat.layers[-1])
    due = weight @ units + bias
    np.testing.assert_allclose(eqx.filter_jit(flat.logits)(observation), due, atol=1e-5)
    assert int(eqx.filter_jit(flat)(observation, key)) == int(np.argmax(due))

    recurrent = RecurrentNetwork(inputs, OPTIONS, (4,), 6, key)
    step = eqx.filter_jit(recurrent.outputs)
    rows = jax.random.normal(key, (3, 4))
    hidden, one_by_one = recurrent.initial(), []
    assert hidden.shape == (6,) and not hidden.any()
    for row in rows:
        outputs, hidden = step(row, hidden)
        one_by_one.append(outputs)
    np.testing.assert_allclose(eqx.filter_jit(recurrent.unrolled)(rows), one_by_one, atol=1e-5)
    action, after = eqx.filter_jit(recurrent)(observation, key, hidden)
    outputs, due = step(jax.jit(inputs)(observation), hidden)
    assert int(action) == int(np.argmax(outputs))
    np.testing.assert_allclose(after, due, atol=1e-6)


def test_a_table_acts_by_its_largest_number():
    code = TableCode(COUNTED)
    observation = seen(COUNTED, [1, 4, 0, 0, 2])
    index, _ = code.index(observation)
    table = Table(jnp.zeros((code.size, 3)).at[index, 2].set(1.0), code, OPTIONS)
    assert int(table(observation, jax.random.key(0))) == 2
    assert table.logits(observation).tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("sizes", [(5, 12, 4), (12, 5, 5)])
def test_orthogonal_weights_keep_lengths_and_biases_are_zero(sizes):
    """Rows are orthonormal if there are fewer of them than columns, columns otherwise."""
    for layer in linear_layers(sizes, jax.random.key(3), "orthogonal"):
        weight, bias = weights(layer)
        short = weight if weight.shape[0] <= weight.shape[1] else weight.T
        np.testing.assert_allclose(short @ short.T, np.eye(len(short)), atol=1e-5)
        assert weight.shape == (layer.out_features, layer.in_features) and not bias.any()


def test_rows_of_norm_one():
    (layer,) = linear_layers((7, 3), jax.random.key(0), "unit-rows")
    weight, bias = weights(layer)
    np.testing.assert_allclose(np.linalg.norm(weight, axis=1), 1.0, rtol=1e-6)
    assert not bias.any() and abs(weight @ weight.T - np.eye(3)).max() > 0.01, "not orthogonal"


@pytest.mark.parametrize("init", ["orthogonal", "unit-rows"])
def test_a_layer_without_inputs(init):
    first, second = linear_layers((0, 3, 2), jax.random.key(0), init)
    assert first.weight.shape == (3, 0) and np.isfinite(second.weight).all()


def test_only_the_layers_around_a_gru_change():
    made: dict[str, Any] = {
        init: RecurrentNetwork(Inputs(MIXED), OPTIONS, (4,), 6, jax.random.key(0), init)
        for init in ("uniform", "unit-rows")
    }
    one, other = made["uniform"], made["unit-rows"]
    np.testing.assert_array_equal(one.cell.weight_hh, other.cell.weight_hh)
    np.testing.assert_allclose(np.linalg.norm(other.head.weight, axis=1), 1.0, rtol=1e-6)
    assert not other.head.bias.any() and one.head.bias.any()
