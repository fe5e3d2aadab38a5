"""Permutation-equivariant networks: policies that never depend on the order of the people.

Weights are sampled from Normal(0, 1) and divided by the square root of the number of inputs when
used. So all parameters have the same scale in every layer, and a search distribution with unit
variance is a good start.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from fairgym.core import (
    ActionSpace,
    Entities,
    EntitySpace,
    Environment,
    Params,
    PopulationEnvironment,
)

_AT_ONCE = 32_768  # people whose units are computed together; more do not fit into the cache
_BLOCK = 8_192  # people whose units are computed together if there are more
_DRAWN = 2048  # numbers per draw; smaller shapes take its first numbers


def standard_normal(key: PRNGKeyArray, shape: tuple[int, ...]) -> Array:
    """Draw from Normal(0, 1), bit-identical to `jax.random.normal(key, shape)`.

    Small shapes take the first numbers of a longer draw, so one compiled program serves them all.
    """
    if not _short(key, shape):
        return jax.random.normal(key, shape)
    return _first(np.asarray(jax.random.normal(key, (_DRAWN,))), shape)


def standard_normals(key: PRNGKeyArray, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Draw as `standard_normal` with one key per shape, from splitting `key`."""
    if not all(_short(key, shape) for shape in shapes):
        keys = jax.random.split(key, len(shapes))
        return [standard_normal(own, shape) for own, shape in zip(keys, shapes, strict=True)]
    rows = np.asarray(_rows(key, len(shapes)))
    return [_first(row, shape) for row, shape in zip(rows, shapes, strict=True)]


@partial(jax.jit, static_argnums=1)
def _rows(key: PRNGKeyArray, count: int) -> Float[Array, "count drawn"]:
    keys = jax.random.split(key, count)
    return jax.vmap(lambda own: jax.random.normal(own, (_DRAWN,)))(keys)


def _short(key: PRNGKeyArray, shape: tuple[int, ...]) -> bool:
    """Return whether the numbers are the first ones of a longer draw."""
    partitionable = jax.config.jax_threefry_partitionable  # pyright: ignore[reportAttributeAccessIssue]
    return not isinstance(key, Tracer) and math.prod(shape) <= _DRAWN and partitionable


def _first(numbers: np.ndarray, shape: tuple[int, ...]) -> Array:
    # put on the device without a program, which `jnp.asarray` compiles for every shape
    return jax.device_put(numbers[: math.prod(shape)].reshape(shape))


class Standardiser(eqx.Module):
    """Shifts and scales that standardise features and context. Not trainable.

    Attributes:
        shift: Number subtracted from each feature.
        scale: Divisor of each feature.
        context_shift: Number subtracted from each element of the context.
        context_scale: Divisor of each element of the context.
    """

    shift: Float[Array, " features"]
    scale: Float[Array, " features"]
    context_shift: Float[Array, " context"]
    context_scale: Float[Array, " context"]


@partial(jax.jit, static_argnums=0)
def _people_at_reset(
    env: PopulationEnvironment, key: PRNGKeyArray, params: Params
) -> dict[str, Array]:
    return env.people(env.initial_state(key, params))


def standardiser(env: Environment, agent: str, key: PRNGKeyArray, params: Params) -> Standardiser:
    """Compute mean and standard deviation of each feature over the people at reset.

    The declared range of the space is used instead for features that do not vary at reset (such as
    a loan's balance), for the context, and for systems without people.
    """
    found, system = {}, env.unwrapped
    if isinstance(system, PopulationEnvironment):
        found = _people_at_reset(system, key, params)
    people = {name: np.asarray(column) for name, column in found.items()}
    space: EntitySpace = env.observation_space(agent)
    shift, scale = [], []
    for feature in space.features:
        column = people.get(feature.name)
        spread = 0.0 if column is None else float(column.std())
        if column is not None and spread > 1e-6:
            shift.append(float(column.mean()))
            scale.append(spread)
        else:
            shift.append(feature.low)
            scale.append((feature.high - feature.low) or 1.0)
    context_shift = [f.low for f in space.context]
    context_scale = [(f.high - f.low) or 1.0 for f in space.context]
    numbers = (shift, scale, context_shift, context_scale)
    return Standardiser(*(jax.device_put(np.array(one, np.float32)) for one in numbers))


class EquivariantPolicy(eqx.Module):
    """A two-layer network over a set of people.

    Layer 1 maps each person's standardised features, the context and, if `pooled`, the mean
    features of all people present to `hidden` units. For a per-person action, layer 2 maps each
    person's units to that person's number, or to the logit of choosing that person. For a
    group-level action, the units are averaged over the people present (a deep set), and layer 2
    maps the average to the action: a sigmoid for numbers, a softmax per simplex for shares, the
    highest logit for options.

    Attributes:
        first, first_bias: Layer 1, `[hidden, features]` and `[hidden]`.
        of_context: Layer 1 for the context, `[hidden, context]`.
        of_pooled: Layer 1 for the mean features, `[hidden, features]`; None unless pooled.
        second, second_bias: Layer 2, `[outputs, hidden]` and `[outputs]`.
        scaling: Standardiser; not trainable.
        space: Action space; static.
    """

    first: Float[Array, "hidden features"]
    first_bias: Float[Array, " hidden"]
    of_context: Float[Array, "hidden context"]
    of_pooled: Float[Array, "hidden features"] | None
    second: Float[Array, "outputs hidden"]
    second_bias: Float[Array, " outputs"]
    scaling: Standardiser
    space: ActionSpace = eqx.field(static=True)

    def __init__(
        self,
        scaling: Standardiser,
        space: ActionSpace,
        key: PRNGKeyArray,
        hidden: int = 32,
        pooled: bool = False,
    ) -> None:
        """Draw the weights; biases start at 0.

        Args:
            scaling: Standardiser of the agent's observations.
            space: The agent's action space.
            key: A JAX key.
            hidden: Number of hidden units.
            pooled: Whether to also give each person's units the mean over all people present.
        """
        features, context = scaling.shift.size, scaling.context_shift.size
        inputs = (features, context, features)
        shapes = [*((hidden, number) for number in inputs), (space.outputs, hidden)]
        self.first, self.of_context, of_pooled, self.second = standard_normals(key, shapes)
        self.of_pooled = of_pooled if pooled else None
        self.first_bias, self.second_bias = (
            jax.device_put(np.zeros(size, np.float32)) for size in (hidden, space.outputs)
        )
        self.scaling = scaling
        self.space = space

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Array:
        """Return the action for an observation; `key` is not used."""
        return self.space.from_logits(self.logits(observation), observation.mask)

    def logits(self, observation: Entities) -> Float[Array, " outputs"]:
        """Return the outputs of layer 2, from which the space computes the action."""
        # By default a GPU rounds the factors of a product to 10 bits. The mean of a feature, which
        # is subtracted as a bias, may be many times its scale, and would no longer cancel.
        with jax.default_matmul_precision("highest"):
            return self._outputs(observation)

    def _outputs(self, observation: Entities) -> Float[Array, " outputs"]:
        scaling = self.scaling
        inputs = self.first.shape[1] + self.of_context.shape[1]
        if self.of_pooled is not None:
            inputs += self.of_pooled.shape[1]
        present = observation.mask.astype(jnp.float32)
        people = jnp.maximum(jnp.sum(present), 1.0)

        # The standardisation is folded into the weights: one matrix product over the population.
        weights = self.first / scaling.scale / jnp.sqrt(inputs)
        context = (observation.context - scaling.context_shift) / scaling.context_scale
        bias = (
            self.first_bias - weights @ scaling.shift + self.of_context @ context / jnp.sqrt(inputs)
        )
        if self.of_pooled is not None:
            mean = jnp.sum(observation.features, axis=0) / people
            bias = bias + self.of_pooled @ ((mean - scaling.shift) / scaling.scale) / jnp.sqrt(
                inputs
            )
        second = self.second / jnp.sqrt(self.second.shape[1])

        def layer_2(features: Array, present: Array) -> tuple[Array, Array]:
            """Return each person's first output, and the sum of the units over these people."""
            units = jax.nn.relu(weights @ features + bias[:, None])
            return second[0] @ units, units @ present

        columns = observation.features.T
        rows, summed = (layer_2 if present.size <= _AT_ONCE else in_blocks(layer_2))(
            columns, present
        )
        if not (self.space.per_entity or self.space.chooses_row):
            return second @ (summed / people) + self.second_bias
        rows = rows + self.second_bias[0]
        if self.space.outputs == 1:
            return rows
        nobody = second[1:] @ (summed / people) + self.second_bias[1:]
        return jnp.concatenate([rows, nobody])


def in_blocks(
    layer: Callable[[Array, Array], tuple[Array, Array]],
) -> Callable[[Array, Array], tuple[Array, Array]]:
    """Apply a layer to some people at a time, so that its units stay in a processor's cache.

    Args:
        layer: Function of the features `[features, people]` and the presence `[people]` that
            returns a number for each person and a sum over the people present.
    """

    def whole(features: Array, present: Array) -> tuple[Array, Array]:
        people = present.size
        blocks = math.ceil(people / _BLOCK)

        def block(number: Array, done: tuple[Array, Array]) -> tuple[Array, Array]:
            rows, summed = done
            # the last block begins earlier, where people have been counted already
            start = jnp.minimum(number * _BLOCK, people - _BLOCK)
            new = start + jnp.arange(_BLOCK) >= number * _BLOCK
            some = lax.dynamic_slice_in_dim(features, start, _BLOCK, axis=1)
            counted = jnp.where(new, lax.dynamic_slice_in_dim(present, start, _BLOCK), 0.0)
            row, sums = layer(some, counted)
            return lax.dynamic_update_slice_in_dim(rows, row, start, 0), summed + sums

        shapes = jax.eval_shape(layer, features, present)
        rows, summed = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
        return lax.fori_loop(0, blocks, block, (rows, summed))

    return whole


def equivariant(
    env: Environment,
    key: PRNGKeyArray,
    hidden: int = 32,
    *,
    pooled: bool = False,
    params: Params | None = None,
) -> dict[str, EquivariantPolicy]:
    """Make one trainable policy per agent, with features standardised on the people at reset.

    Args:
        env: The environment.
        key: A JAX key for the weights. The standardisation uses a reset with a fixed key, so it is
            the same for every seed.
        hidden: Number of hidden units.
        pooled: Whether to also give each person's units the mean over all people present.
        params: Parameters of the reset; `env.default_params` if None.

    Returns:
        Agent -> policy.

    Examples:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> import fairgym
        >>> from fairgym.policies import equivariant
        >>> env = fairgym.make("loan_simple", population=100, horizon=10)
        >>> policy = equivariant(env, jax.random.key(0), hidden=4)["disbursement"]
        >>> seen = env.observation_space("disbursement").sample(jax.random.key(1))
        >>> scores, order = policy(seen, jax.random.key(2)), jnp.arange(10)[::-1]
        >>> bool(jnp.allclose(policy(seen.permuted(order), jax.random.key(2)), scores[order]))
        True
    """
    params = env.default_params if params is None else params
    keys = jax.random.split(key, len(env.agents))
    return {
        agent: EquivariantPolicy(
            standardiser(env, agent, jax.random.key(0), params),
            env.action_space(agent),
            agent_key,
            hidden,
            pooled,
        )
        for agent, agent_key in zip(env.agents, keys, strict=True)
    }


def split_trainable(policies: PyTree) -> tuple[PyTree, PyTree]:
    """Split policies into trainable parameters and a static part; `equinox.combine` joins them.

    Float arrays are trainable, except those of a `Standardiser`.
    """
    trainable = jax.tree.map(
        lambda leaf: not isinstance(leaf, Standardiser) and eqx.is_inexact_array(leaf),
        policies,
        is_leaf=lambda leaf: isinstance(leaf, Standardiser),
    )
    return eqx.partition(policies, trainable, is_leaf=lambda leaf: isinstance(leaf, Standardiser))
