"""Deep Q-networks: Q-learning with a network, a replay buffer and a target network.

Mnih et al. 2015, https://doi.org/10.1038/nature14236. The defaults are those of the baselines Full,
Min and Reset of Alamdari et al. 2024 (https://arxiv.org/abs/2312.04772), table 1. What the table
leaves open follows their code: orthogonal weights and biases of 0, Adam, mean squared error, binary
inputs, one gradient step at each environment step once the replay buffer is full, and a target
network that is copied periodically. docs/paper-map-fairqcm.md compares the settings line by line.
"""

import dataclasses
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from fairgym.algorithms._algorithm import LARGEST_WIDTH, MOST_EPISODES, algorithms
from fairgym.algorithms._experiences import Experiences
from fairgym.algorithms._gradient import apply_gradients
from fairgym.algorithms._q import QLearner, QState
from fairgym.algorithms._replay import ExperienceBuffer
from fairgym.core import Entities, Environment, FairgymError, Struct, check_shape, param
from fairgym.policies import split_trainable
from fairgym.policies.coding import Inputs
from fairgym.policies.flat import FlatNetwork

LARGEST_BUFFER = 10_000_000  # experiences


class Row(Struct):
    """One experience in the replay buffer.

    Attributes:
        inputs: Inputs of the network for the observation x.
        next_inputs: Inputs of the network for the observation x'.
        action: The action.
        reward: The reward.
        discount: Factor of the value of x'.
        next_value: Value of x', max_a' Q(x', a') of the target network.
    """

    inputs: Float[Array, "... inputs"]
    next_inputs: Float[Array, "... inputs"]
    action: Int[Array, "..."]
    reward: Float[Array, "..."]
    discount: Float[Array, "..."]
    next_value: Float[Array, "..."]


class DqnState(QState):
    """The training state of DQN.

    Attributes:
        trainable: Trainable parameters of the network.
        static: Static part of the network.
        target: Parameters of the target network.
        optimiser: State of Adam.
        buffer: The replay buffer.
        epsilon: Probability of a random action.
        gradient_steps: Number of gradient steps so far.
    """

    trainable: PyTree
    static: PyTree
    target: PyTree
    optimiser: PyTree
    buffer: ExperienceBuffer
    epsilon: Float[Array, ""]
    gradient_steps: Int[Array, ""]


@algorithms.register("dqn")
@dataclasses.dataclass(frozen=True)
class Dqn(QLearner[DqnState]):
    """Hyperparameters of DQN, by default those of table 1.

    It is evaluated each time it has made the steps of one episode.
    """

    name: ClassVar[str] = "dqn"

    gamma: float = 0.95
    epsilon_decay: float = param(
        0.999,
        "Decay factor of the probability of a random action, per episode; 0.998 reaches the "
        "minimum after 805 episodes.",
        low=0,
        high=1,
    )
    episodes_per_epoch: int = param(
        10,
        "Environment steps per epoch, as a number of full episodes.",
        low=1,
        high=MOST_EPISODES,
    )
    hidden: tuple[int, ...] = param(
        (32, 16, 8), "Units of each hidden layer.", low=1, high=LARGEST_WIDTH
    )
    weight_init: Literal["orthogonal", "unit-rows", "uniform"] = param(
        "orthogonal",
        'Initial weights: "orthogonal" draws orthogonal matrices and "unit-rows" normal numbers '
        'with rows of norm 1, both with biases of 0; "uniform" draws within 1 / sqrt(inputs).',
    )
    input_code: Literal["scaled", "binary"] = param(
        "binary",
        'Input encoding: "binary" encodes features with a finite number of values in bits; '
        '"scaled" divides all features by their ranges.',
    )
    learning_rate: float = param(1e-4, "Learning rate of Adam.", low=0, above=True)
    buffer_size: int = param(400, "Replay buffer size, in experiences.", low=1, high=LARGEST_BUFFER)
    batch_size: int = param(
        64,
        "Experiences sampled for each gradient step.",
        low=1,
        high=LARGEST_BUFFER,
    )
    learning_starts: int | None = param(
        None,
        "Experiences in the replay buffer before learning starts; none: a full buffer.",
        low=1,
    )
    target_network_frequency: int = param(
        1_000,
        "Gradient steps between updates of the target network.",
        low=1,
    )

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        if self.learning_starts is not None:
            check_shape("learning_starts", self.learning_starts, 1, self.buffer_size)
        if self.buffer_size <= self.counterfactuals:
            raise FairgymError(
                "buffer_size must be more than the counterfactuals per step,"
                f" {self.counterfactuals}, got {self.buffer_size}"
            )

    def _rounds(self, env: Environment) -> tuple[int, int]:
        return self.episodes_per_epoch, env.horizon

    @property
    def _optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.learning_rate)

    @property
    def _enough(self) -> int:
        """Number of experiences in the replay buffer at which learning starts."""
        return self.buffer_size if self.learning_starts is None else self.learning_starts

    def _begin(self, fields: dict[str, Any], key: PRNGKeyArray) -> DqnState:
        env, agent = fields["env"], fields["objectives"][0][0]
        inputs = Inputs(env.observation_space(agent), self.input_code)
        space = env.action_space(agent)
        network = FlatNetwork(inputs, space, self.hidden, key, init=self.weight_init)
        vector, number = jnp.zeros((inputs.size,)), jnp.zeros(())
        row = Row(vector, vector, jnp.int32(0), number, number, number)
        return self._with_network(fields, network, ExperienceBuffer.empty(row, self.buffer_size))

    def _with_network(
        self, fields: dict[str, Any], network: PyTree, buffer: ExperienceBuffer
    ) -> DqnState:
        """Return the initial training state with an untrained network."""
        trainable, static = split_trainable(network)
        return DqnState(
            **fields,
            trainable=trainable,
            static=static,
            target=jax.tree.map(jnp.copy, trainable),
            optimiser=self._optimiser.init(trainable),
            buffer=buffer,
            epsilon=jnp.float32(self.epsilon_start),
            gradient_steps=jnp.int32(0),
        )

    def _policy(self, state: DqnState) -> PyTree:
        return eqx.combine(state.trainable, state.static)

    def _epsilon(self, state: DqnState, observation: Entities) -> Float[Array, ""]:
        return state.epsilon

    def _mean_epsilon(self, state: DqnState) -> Float[Array, ""]:
        return state.epsilon

    def _ended(self, state: DqnState, done: Bool[Array, ""]) -> DqnState:
        less = jnp.maximum(self.epsilon_decay * state.epsilon, self.epsilon_end)
        return state.replace(epsilon=jnp.where(done, less, state.epsilon))

    def _learn(
        self, state: DqnState, batch: Experiences, key: PRNGKeyArray
    ) -> tuple[DqnState, dict[str, Array]]:
        """Store the experiences, and make a gradient step once there are enough."""
        network: FlatNetwork = state.static
        after = jax.vmap(network.inputs)(batch.next_observation)
        rows = Row(
            inputs=jax.vmap(network.inputs)(batch.observation),
            next_inputs=after,
            action=jnp.broadcast_to(batch.action, batch.reward.shape),
            reward=batch.reward,
            discount=jnp.broadcast_to(batch.discount, batch.reward.shape),
            next_value=self._next_values(state, state.target, after),
        )
        state = state.replace(buffer=state.buffer.add(rows, batch.kept))
        now = (state.trainable, state.optimiser)
        (trainable, optimiser), error = lax.cond(
            state.buffer.held >= self._enough,
            lambda: self._descend(state, key),
            lambda: (now, jnp.float32(0.0)),
        )
        steps = state.gradient_steps + (state.buffer.held >= self._enough)
        state = state.replace(trainable=trainable, optimiser=optimiser, gradient_steps=steps)
        return self._with_target(state, steps > 0), {"value_error": error}

    def _descend(self, state: DqnState, key: PRNGKeyArray) -> tuple[PyTree, Float[Array, ""]]:
        """Make one gradient step on the mean squared error of a sample."""
        rows: Row = state.buffer.sample(key, self.batch_size)
        target = rows.reward + rows.discount * rows.next_value

        def loss(trainable: PyTree) -> Array:
            network: FlatNetwork = eqx.combine(trainable, state.static)
            values = jax.vmap(network.outputs)(rows.inputs)
            # a product, whose gradient is a product too, is faster than indexing
            chosen = jax.nn.one_hot(rows.action, values.shape[1], dtype=values.dtype)
            return jnp.mean((jnp.sum(values * chosen, axis=1) - target) ** 2)

        error, gradient = jax.value_and_grad(loss)(state.trainable)
        return apply_gradients(self._optimiser, gradient, state.optimiser, state.trainable), error

    def _with_target(self, state: DqnState, begun: Bool[Array, ""]) -> DqnState:
        """Return the state with the target network updated, if an update is due.

        The stored values of x' change only with the target network, so they are updated with it
        instead of being computed for each sample.
        """
        due = begun & (state.gradient_steps % self.target_network_frequency == 0)
        next_value = lax.cond(
            due,
            lambda: self._next_values(state, state.trainable, state.buffer.rows.next_inputs),
            lambda: state.buffer.rows.next_value,
        )
        target = jax.tree.map(
            lambda new, old: jnp.where(due, new, old), state.trainable, state.target
        )
        rows = state.buffer.rows.replace(next_value=next_value)
        return state.replace(target=target, buffer=state.buffer.replace(rows=rows))

    def _next_values(
        self, state: DqnState, arrays: PyTree, inputs: Float[Array, "rows inputs"]
    ) -> Float[Array, " rows"]:
        """Return the largest Q value for each row of inputs, with the given parameters."""
        network: FlatNetwork = eqx.combine(arrays, state.static)
        return jnp.max(jax.vmap(network.outputs)(inputs), axis=1)
