"""Deep recurrent Q-networks: DQN with a recurrent network that remembers the episode.

Hausknecht and Stone 2015, https://arxiv.org/abs/1507.06527; the baseline RNN of Alamdari et al.
2024, appendix A.4. The replay buffer holds whole episodes, replayed from a hidden state of zero
("bootstrapped sequential updates"). So the hidden state in training is the same as when the policy
acts.

This is a repaired form of the authors' recurrent network, not a copy. Theirs trains on a random
sample of single steps as if it were one episode in order, so that its hidden state means nothing;
it has 16 recurrent units where the paper has 256; and it makes one such gradient step at each
environment step. Its initial weights, with rows of norm 1, are the defaults here.
"""

import dataclasses
import functools
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray, PyTree

from fairgym.algorithms import _log_keys as log_keys
from fairgym.algorithms._algorithm import LARGEST_WIDTH, MOST_EPISODES, algorithms
from fairgym.algorithms._gradient import apply_gradients
from fairgym.algorithms._replay import ExperienceBuffer
from fairgym.algorithms._rollouts import RolloutState, initial_rollout_state
from fairgym.algorithms.dqn import LARGEST_BUFFER, Dqn, DqnState
from fairgym.core import FairgymError, Struct, param
from fairgym.policies.coding import Inputs
from fairgym.policies.flat import RecurrentNetwork, WeightInit


class Sequence(Struct):
    """One episode in the replay buffer.

    Attributes:
        inputs: Inputs of the network for each observation, including the last one.
        action: Actions.
        reward: Rewards.
        discount: Discount factors of the next values.
        lived: Mask of the steps before the episode ended.
    """

    inputs: Float[Array, "... steps_and_one inputs"]
    action: Int[Array, "... steps"]
    reward: Float[Array, "... steps"]
    discount: Float[Array, "... steps"]
    lived: Bool[Array, "... steps"]


@algorithms.register("drqn")
@dataclasses.dataclass(frozen=True)
class Drqn(Dqn):
    """Hyperparameters of DRQN, in addition to those of DQN; defaults are those of table 1."""

    name: ClassVar[str] = "drqn"
    # constants here: its hidden state is not a memory of the environment
    offsets: ClassVar[tuple[int, ...]] = ()  # pyright: ignore[reportIncompatibleVariableOverride]
    counterfactuals: ClassVar[int] = 0  # pyright: ignore[reportIncompatibleVariableOverride]

    hidden: tuple[int, ...] = param(
        (32, 16), "Units of each layer below the GRU.", low=1, high=LARGEST_WIDTH
    )
    weight_init: WeightInit = "unit-rows"
    recurrent_units: int = param(256, "Hidden state size of the GRU.", low=1, high=LARGEST_WIDTH)
    learning_rate: float = 2e-3
    buffer_size: int = param(
        1_000,
        "Replay buffer size in steps; the buffer holds whole episodes.",
        low=1,
        high=LARGEST_BUFFER,
    )
    batch_size: int = param(
        256,
        "Steps sampled for each gradient step, rounded up to whole episodes.",
        low=1,
        high=LARGEST_BUFFER,
    )
    target_network_frequency: int = 100
    learning_starts: int | None = param(
        None,
        "Steps in the replay buffer before learning starts; none: a full buffer.",
        low=1,
    )
    gradient_steps: int = param(
        10,
        "Gradient steps after each episode. With one per environment step, as in DQN, training "
        "takes hours.",
        low=1,
        high=MOST_EPISODES,
    )

    def _begin(self, fields: dict[str, Any], key: PRNGKeyArray) -> DqnState:
        env, agent = fields["env"], fields["objectives"][0][0]
        steps = env.horizon
        if self.buffer_size < steps:
            raise FairgymError(
                f"buffer_size must be at least the {steps} steps of an episode, got"
                f" {self.buffer_size}"
            )
        inputs = Inputs(env.observation_space(agent), self.input_code)
        space = env.action_space(agent)
        units = self.recurrent_units
        network = RecurrentNetwork(inputs, space, self.hidden, units, key, self.weight_init)
        nothing = jnp.zeros((steps,))
        like = Sequence(
            inputs=jnp.zeros((steps + 1, inputs.size)),
            action=nothing.astype(jnp.int32),
            reward=nothing,
            discount=nothing,
            lived=nothing.astype(bool),
        )
        buffer = ExperienceBuffer.empty(like, self.buffer_size // steps)
        return self._with_network(fields, network, buffer)

    # ---------------------------------------------------------------- experience

    def _round(
        self, state: DqnState, keys: Key[Array, " steps"]
    ) -> tuple[DqnState, dict[str, Array]]:
        """Run one episode from a new initial state, then make gradient steps."""
        # fold_in: the keys themselves are used by the steps
        start_key, learn_key = jax.random.split(jax.random.fold_in(keys[0], 1))
        rollout = initial_rollout_state(
            state.env, state.params, state.objectives, state.fixed, start_key
        )
        state, sequence = self._episode(state.replace(rollout=rollout), keys)
        one = jax.tree.map(lambda x: x[None], sequence)
        state = state.replace(buffer=state.buffer.add(one, jnp.ones((1,), bool)))
        state = self._ended(state, jnp.array(True))
        begun = state.buffer.held >= max(1, self._enough // state.env.horizon)

        now = (state.trainable, state.target, state.optimiser, state.gradient_steps)

        def learn() -> PyTree:
            learn_keys = jax.random.split(learn_key, self.gradient_steps)
            descend = functools.partial(self._descend_sequences, state)
            after, errors = lax.scan(descend, now, learn_keys)
            return after, jnp.mean(errors)

        wait = now, jnp.float32(0.0)
        (trainable, target, optimiser, steps), error = lax.cond(begun, learn, lambda: wait)
        log = {
            "value_error": error,
            log_keys.STEP_REWARD: jnp.sum(sequence.reward) / jnp.sum(sequence.lived),
        }
        return state.replace(
            trainable=trainable, target=target, optimiser=optimiser, gradient_steps=steps
        ), log

    def _episode(self, state: DqnState, keys: Key[Array, " steps"]) -> tuple[DqnState, Sequence]:
        """Run one episode from its start; steps after an early end are masked."""
        network: RecurrentNetwork = eqx.combine(state.trainable, state.static)

        def step(
            carry: tuple[RolloutState, Array, Array], key: Key[Array, ""]
        ) -> tuple[tuple[RolloutState, Array, Array], PyTree]:
            rollout, remembered, alive = carry
            act_key, step_key = jax.random.split(key)
            now = state.replace(rollout=rollout)
            observations = state.env.observe(rollout.state, state.params)
            inputs = network.inputs(observations[state.agent])
            logits, remembered = network.outputs(inputs, remembered)
            actions, hidden = self._actions(now, observations, state.epsilon, logits, act_key)
            now, transition, done = self._advance(
                now, observations[state.agent], actions, hidden, step_key
            )
            discount = jnp.where(transition.ends, 0.0, self.gamma)
            reward = jnp.where(alive, transition.reward, 0.0)
            after = network.inputs(transition.next_observation)
            row = (inputs, after, transition.action, reward, discount, alive)
            return (now.rollout, remembered, alive & ~done), row

        start = (state.rollout, network.initial(), jnp.array(True))
        (rollout, _, _), rows = lax.scan(step, start, keys)
        inputs, after, action, reward, discount, lived = rows
        last = jnp.sum(lived) - 1
        # after an early end, the next input is the final observation
        inputs = jnp.concatenate([inputs, after[-1:]]).at[last + 1].set(after[last])
        return state.replace(rollout=rollout), Sequence(inputs, action, reward, discount, lived)

    # ---------------------------------------------------------------- learning

    def _descend_sequences(
        self, state: DqnState, now: tuple[PyTree, PyTree, PyTree, Array], key: PRNGKeyArray
    ) -> tuple[tuple[PyTree, PyTree, PyTree, Array], Float[Array, ""]]:
        """Make one gradient step on the mean squared error of a sample of episodes."""
        trainable, target, optimiser, steps = now
        episodes = -(-self.batch_size // state.env.horizon)
        rows: Sequence = state.buffer.sample(key, episodes)

        def values(arrays: PyTree) -> Float[Array, "episodes steps_and_one options"]:
            network: RecurrentNetwork = eqx.combine(arrays, state.static)
            return jax.vmap(network.unrolled)(rows.inputs)

        next_value = jnp.max(values(target)[:, 1:], axis=2)
        due = rows.reward + rows.discount * next_value

        def loss(arrays: PyTree) -> Array:
            found = values(arrays)[:, :-1]
            chosen = jax.nn.one_hot(rows.action, found.shape[2], dtype=found.dtype)
            error = (jnp.sum(found * chosen, axis=2) - due) ** 2
            return jnp.sum(jnp.where(rows.lived, error, 0.0)) / jnp.sum(rows.lived)

        error, gradient = jax.value_and_grad(loss)(trainable)
        trainable, optimiser = apply_gradients(self._optimiser, gradient, optimiser, trainable)
        steps = steps + 1
        copied = steps % self.target_network_frequency == 0
        target = jax.tree.map(lambda new, old: jnp.where(copied, new, old), trainable, target)
        return (trainable, target, optimiser, steps), error
