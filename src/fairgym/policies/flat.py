"""Networks and tables over observations with a fixed order of rows."""

import itertools
import math
from collections.abc import Sequence
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from fairgym.core import ActionSpace, Entities
from fairgym.policies.coding import Inputs, TableCode

Activation = Literal["relu", "tanh"]
WeightInit = Literal["orthogonal", "unit-rows", "uniform"]
MOST_SPREADS = 10.0  # of a normalised input


class RunningScale(eqx.Module):
    """Running mean and variance of inputs, by which they are normalised; not learned by gradients.

    T. Chan, G. Golub and R. LeVeque 1979, updating formulae for the variance.

    Attributes:
        mean: Mean of each input so far.
        variance: Variance of each input so far.
        count: Number of inputs so far.
    """

    mean: Float[Array, " inputs"]
    variance: Float[Array, " inputs"]
    count: Float[Array, ""]

    def __init__(self, size: int) -> None:
        """Start with inputs that do not change."""
        self.mean, self.variance, self.count = jnp.zeros(size), jnp.ones(size), jnp.zeros(())

    def __call__(self, inputs: Float[Array, " inputs"]) -> Float[Array, " inputs"]:
        """Return normalised inputs, at most 10 standard deviations from 0."""
        mean, variance = lax.stop_gradient((self.mean, self.variance))
        return jnp.clip((inputs - mean) / jnp.sqrt(variance + 1e-8), -MOST_SPREADS, MOST_SPREADS)

    def after(self, inputs: Float[Array, "*steps inputs"]) -> "RunningScale":
        """Return the scale after these inputs."""
        rows = inputs.reshape(-1, inputs.shape[-1])
        here, count = float(rows.shape[0]), self.count
        total = count + here
        mean, apart = jnp.mean(rows, axis=0), jnp.mean(rows, axis=0) - self.mean
        squares = self.variance * count + jnp.var(rows, axis=0) * here
        squares = squares + apart**2 * count * here / total
        new = (jnp.where(count > 0.0, self.mean + apart * here / total, mean), squares / total)
        return eqx.tree_at(lambda s: (s.mean, s.variance, s.count), self, (*new, total))


class FlatNetwork(eqx.Module):
    """A multi-layer perceptron over a flattened observation.

    Attributes:
        layers: Linear layers; the last one has one output per option or element of the action.
        scaling: Running scale of the inputs; None for none.
        inputs: Encoding of the observations; static.
        space: Action space; static.
        activation: Activation function of the hidden units, "relu" or "tanh"; static.
    """

    layers: tuple[eqx.nn.Linear, ...]
    scaling: RunningScale | None
    inputs: Inputs = eqx.field(static=True)
    space: ActionSpace = eqx.field(static=True)
    activation: Activation = eqx.field(static=True)

    def __init__(
        self,
        inputs: Inputs,
        space: ActionSpace,
        hidden: Sequence[int],
        key: PRNGKeyArray,
        activation: Activation = "relu",
        init: WeightInit = "uniform",
        normalised: bool = False,
    ) -> None:
        """Draw the weights.

        Args:
            inputs: Encoding of the observations.
            space: The agent's action space.
            hidden: Number of units of each hidden layer.
            key: A JAX key.
            activation: Activation function of the hidden units.
            init: Distribution of the weights, as for `linear_layers`.
            normalised: Whether inputs are normalised by a running scale.
        """
        sizes = (inputs.size, *hidden, len(space.elements))
        self.layers = linear_layers(sizes, key, init)
        self.scaling = RunningScale(inputs.size) if normalised else None
        self.inputs, self.space, self.activation = inputs, space, activation

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Array:
        """Return the action for an observation; `key` is not used."""
        return self.space.from_logits(self.logits(observation), observation.mask)

    def logits(self, observation: Entities) -> Float[Array, " outputs"]:
        """Return the outputs of the last layer."""
        return self.outputs(self.inputs(observation))

    def outputs(self, inputs: Float[Array, " inputs"]) -> Float[Array, " outputs"]:
        """Return the outputs of the last layer for encoded inputs."""
        if self.scaling is not None:
            inputs = self.scaling(inputs)
        return perceptron(self.layers, inputs, self.activation)


class RecurrentNetwork(eqx.Module):
    """Layers with ReLU units, a gated recurrent unit (GRU) and a linear layer.

    A `RecurrentPolicy`: its hidden state is zero at the start of an episode. Cho et al. 2014,
    https://arxiv.org/abs/1406.1078.

    Attributes:
        layers: Layers below the GRU.
        cell: The GRU.
        head: Linear layer above it, with one output per option or element of the action.
        inputs: Encoding of the observations; static.
        space: Action space; static.
    """

    layers: tuple[eqx.nn.Linear, ...]
    cell: eqx.nn.GRUCell
    head: eqx.nn.Linear
    inputs: Inputs = eqx.field(static=True)
    space: ActionSpace = eqx.field(static=True)

    def __init__(
        self,
        inputs: Inputs,
        space: ActionSpace,
        hidden: Sequence[int],
        units: int,
        key: PRNGKeyArray,
        init: WeightInit = "uniform",
    ) -> None:
        """Draw the weights; those of the GRU are always uniform, as in PyTorch.

        Args:
            inputs: Encoding of the observations.
            space: The agent's action space.
            hidden: Number of units of each layer below the GRU.
            units: Size of the GRU's hidden state.
            key: A JAX key.
            init: Distribution of the other weights, as for `linear_layers`.
        """
        layer_key, cell_key, head_key = jax.random.split(key, 3)
        sizes = (inputs.size, *hidden)
        self.layers = linear_layers(sizes, layer_key, init)
        self.cell = eqx.nn.GRUCell(sizes[-1], units, key=cell_key)
        (self.head,) = linear_layers((units, len(space.elements)), head_key, init)
        self.inputs, self.space = inputs, space

    def initial(self) -> Float[Array, " units"]:
        """Return the hidden state at the start of an episode."""
        return jnp.zeros((self.cell.hidden_size,))

    def __call__(
        self, observation: Entities, key: PRNGKeyArray, hidden: Float[Array, " units"]
    ) -> tuple[Array, Float[Array, " units"]]:
        """Return the action for an observation, and the next hidden state."""
        outputs, hidden = self.outputs(self.inputs(observation), hidden)
        return self.space.from_logits(outputs, observation.mask), hidden

    def outputs(
        self, inputs: Float[Array, " inputs"], hidden: Float[Array, " units"]
    ) -> tuple[Float[Array, " outputs"], Float[Array, " units"]]:
        """Return the outputs of the head for encoded inputs, and the next hidden state."""
        hidden = self.cell(self._below(inputs), hidden)
        return self.head(hidden), hidden

    def unrolled(self, inputs: Float[Array, "steps inputs"]) -> Float[Array, "steps outputs"]:
        """Return the outputs of the head at every step of an episode from its start."""

        def step(hidden: Array, units: Array) -> tuple[Array, Array]:
            hidden = self.cell(units, hidden)
            return hidden, hidden

        _, hidden = lax.scan(step, self.initial(), jax.vmap(self._below)(inputs))
        return jax.vmap(self.head)(hidden)

    def _below(self, inputs: Float[Array, " inputs"]) -> Float[Array, " units"]:
        """Return the outputs of the last layer below the GRU."""
        units = inputs
        for layer in self.layers:
            units = jax.nn.relu(layer(units))
        return units


class Table(eqx.Module):
    """A table with one value for each option and observation; takes the option with the largest.

    Attributes:
        values: The values.
        code: Encoding of the observations; static.
        space: Action space; static.
    """

    values: Float[Array, "observations options"]
    code: TableCode = eqx.field(static=True)
    space: ActionSpace = eqx.field(static=True)

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Array:
        """Return the action for an observation; `key` is not used."""
        return self.space.from_logits(self.logits(observation), observation.mask)

    def logits(self, observation: Entities) -> Float[Array, " options"]:
        """Return the values of this observation."""
        return self.values[self.code.index(observation)[0]]


def perceptron(
    layers: Sequence[eqx.nn.Linear], inputs: Float[Array, " inputs"], activation: Activation
) -> Float[Array, " outputs"]:
    """Return the outputs of linear layers with an activation between them."""
    units = inputs
    for layer in layers[:-1]:
        units = getattr(jax.nn, activation)(layer(units))
    return layers[-1](units)


def linear_layers(
    sizes: Sequence[int], key: PRNGKeyArray, init: WeightInit = "uniform"
) -> tuple[eqx.nn.Linear, ...]:
    """Make linear layers between layers of these sizes.

    Args:
        sizes: Number of units of each layer, inputs included.
        key: A JAX key.
        init: "uniform" draws weights and biases within plus and minus 1 / sqrt(number of inputs).
            "orthogonal" draws matrices with orthonormal rows or columns, whichever are fewer (Saxe
            et al. 2014), and "unit-rows" normal numbers divided by the norm of their row; their
            biases are 0.
    """
    keys = jax.random.split(key, max(len(sizes) - 1, 1))
    pairs = list(itertools.pairwise(sizes))
    if init != "uniform":
        return tuple(
            _unbiased(below, above, own, init)
            for (below, above), own in zip(pairs, keys, strict=False)
        )
    most = max((max(below, 1) * above for below, above in pairs), default=0)
    each = zip(pairs, keys, strict=False)
    return tuple(linear(below, above, own, most) for (below, above), own in each)


def _unbiased(below: int, above: int, key: PRNGKeyArray, init: WeightInit) -> eqx.nn.Linear:
    """Make a linear layer with biases of 0."""
    shape = (above, below)
    if not below:  # nothing is observed
        weight = jnp.zeros(shape)
    elif init == "orthogonal":
        weight = jax.nn.initializers.orthogonal()(key, shape)
    else:
        normal = jax.random.normal(key, shape)
        weight = normal / jnp.linalg.norm(normal, axis=1, keepdims=True)
    layer = eqx.filter_eval_shape(eqx.nn.Linear, below, above, key=key)
    return eqx.tree_at(lambda one: (one.weight, one.bias), layer, (weight, jnp.zeros(above)))


def linear(below: int, above: int, key: PRNGKeyArray, most: int) -> eqx.nn.Linear:
    """Make a linear layer with the weights of `eqx.nn.Linear`.

    A long draw starts with the numbers of a short one, so layers with the same `most` share the
    compiled program of a single draw.

    Args:
        below: Number of inputs.
        above: Number of outputs.
        key: A JAX key.
        most: Numbers to draw, at least as many as weights and as biases.
    """
    limit = 1.0 / math.sqrt(max(below, 1))
    weight, bias = (
        jax.random.uniform(k, (most,), minval=-limit, maxval=limit) for k in jax.random.split(key)
    )
    layer = eqx.filter_eval_shape(eqx.nn.Linear, below, above, key=key)
    drawn = weight[: below * above].reshape(above, below), bias[:above]
    return eqx.tree_at(lambda one: (one.weight, one.bias), layer, drawn)
