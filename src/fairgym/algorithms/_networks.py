"""Networks of gradient learners: actors and a centralised critic, over sets of people or flat.

The critic is that of centralised training with decentralised execution (Lowe et al. 2017,
https://arxiv.org/abs/1706.02275). Its encoders are deep sets (Zaheer et al. 2017,
https://arxiv.org/abs/1703.06114), so it is invariant to the order of the people.
"""

from collections.abc import Mapping, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from fairgym.core import Entities, Environment, FairgymError, Params, Struct
from fairgym.policies import equivariant
from fairgym.policies.coding import Inputs
from fairgym.policies.flat import (
    Activation,
    FlatNetwork,
    RunningScale,
    linear,
    linear_layers,
    perceptron,
)
from fairgym.policies.networks import Standardiser, standard_normal, standardiser

OUTPUT_SCALE = 0.1  # of the initial output layer: actions start near the middle of their range
FLAT_SCALE = 0.01  # of a flat actor's initial output layer: options start almost equally likely


class Networks(Struct):
    """Actors and critic.

    Attributes:
        actors: The policies of the trained agents, by name.
        critic: A `CentralCritic` or another function of all observations.
    """

    actors: dict[str, PyTree]
    critic: PyTree


class SetEncoder(eqx.Module):
    """One layer per observed person, averaged over the people (a deep set)."""

    first: Float[Array, "hidden features"]
    bias: Float[Array, " hidden"]
    scaling: Standardiser

    def __init__(self, scaling: Standardiser, extra: int, hidden: int, key: PRNGKeyArray) -> None:
        """Draw the weights for features plus `extra` numbers per person."""
        self.first = standard_normal(key, (hidden, scaling.shift.size + extra))
        self.bias = jnp.zeros((hidden,))
        self.scaling = scaling

    def __call__(
        self, observation: Entities, extra: Float[Array, "people extra"] | None
    ) -> Float[Array, " code"]:
        """Return the mean code of the people, followed by the context."""
        scaling = self.scaling
        rows = (observation.features - scaling.shift) / scaling.scale
        if extra is not None:
            rows = jnp.concatenate([rows, extra], axis=1)
        codes = jax.nn.relu(rows @ self.first.T / jnp.sqrt(self.first.shape[1]) + self.bias)
        present = observation.mask.astype(jnp.float32)
        mean = present @ codes / jnp.maximum(jnp.sum(present), 1.0)
        context = (observation.context - scaling.context_shift) / scaling.context_scale
        return jnp.concatenate([mean, jnp.clip(context, -10.0, 10.0)])


class CentralCritic(eqx.Module):
    """Centralised critic: one or more values per trained agent from all observations.

    Invariant to permutations of the people. With actions it is a Q-function: a per-person action is
    an input beside the person's features, a group-level action beside the agent's pooled code.
    """

    encoders: dict[str, SetEncoder]
    joint: eqx.nn.Linear
    head: eqx.nn.Linear

    def __init__(
        self,
        env: Environment,
        params: Params,
        actors: Mapping[str, PyTree],
        hidden: int,
        key: PRNGKeyArray,
        *,
        values: int,
        with_actions: bool,
    ) -> None:
        """Draw the weights.

        Args:
            env: The environment; features are standardised on the people at reset.
            params: Its parameters.
            actors: The policies of the trained agents.
            hidden: Units of each encoder and of the joint layer.
            key: A JAX key.
            values: Number of values; those of the trained agents come first.
            with_actions: Whether to also take the trained agents' actions.
        """
        joint_key, head_key, *keys = jax.random.split(key, len(env.agents) + 2)
        self.encoders, size = {}, len(env.agents)
        for agent, agent_key in zip(env.agents, keys, strict=True):
            scaling = standardiser(env, agent, jax.random.key(0), params)
            given = with_actions and agent in actors
            space = env.action_space(agent)
            beside = int(given and space.per_entity)
            self.encoders[agent] = SetEncoder(scaling, beside, hidden, agent_key)
            size += hidden + scaling.context_shift.size
            size += space.shape[0] if given and not beside else 0
        most = hidden * max(size, values)
        self.joint = linear(size, hidden, joint_key, most)
        self.head = linear(hidden, values, head_key, most)

    def __call__(
        self,
        observations: Mapping[str, Entities],
        present: Float[Array, " all_agents"],
        actions: Mapping[str, Float[Array, "..."]] | None = None,
    ) -> Float[Array, " values"]:
        """Return the values; those of the trained agents come first, in acting order.

        Args:
            observations: Observations of all agents, possibly samples of the people.
            present: Share of rows that hold a person, for each agent in acting order.
            actions: Actions of the trained agents, for a Q-function.
        """
        parts = [present]
        for agent, encoder in self.encoders.items():
            action = None if actions is None else actions.get(agent)
            beside = encoder.first.shape[1] > encoder.scaling.shift.size
            extra = action[:, None] if beside and action is not None else None
            parts.append(encoder(observations[agent], extra))
            if action is not None and not beside:
                parts.append(action)
        return self.head(jax.nn.relu(self.joint(jnp.concatenate(parts))))


def make_networks(
    env: Environment,
    params: Params,
    trained: tuple[str, ...],
    hidden: int,
    critic_hidden: int,
    key: PRNGKeyArray,
    *,
    values: int,
    with_actions: bool,
) -> Networks:
    """Make actors with small initial outputs, and their centralised critic.

    Args:
        env: The environment.
        params: Its parameters.
        trained: The trained agents.
        hidden: Number of hidden units of the actors.
        critic_hidden: Number of hidden units of the critic.
        key: A JAX key.
        values: Number of values of the critic.
        with_actions: Whether to make the critic a Q-function.
    """
    actor_key, critic_key = jax.random.split(key)
    made = equivariant(env, actor_key, hidden, params=params)
    actors = {
        agent: eqx.tree_at(lambda p: p.second, made[agent], OUTPUT_SCALE * made[agent].second)
        for agent in trained
    }
    critic = CentralCritic(
        env, params, actors, critic_hidden, critic_key, values=values, with_actions=with_actions
    )
    return Networks(actors, critic)


class FlatCritic(eqx.Module):
    """A multi-layer perceptron over all observations: one or more values per trained agent.

    Attributes:
        layers: Linear layers.
        scaling: Running scale of the inputs; None for none.
        inputs: Per agent, the encoding of its observations; static.
        activation: Activation function of the hidden units; static.
    """

    layers: tuple[eqx.nn.Linear, ...]
    scaling: RunningScale | None
    inputs: tuple[tuple[str, Inputs], ...] = eqx.field(static=True)
    activation: Activation = eqx.field(static=True)

    def __init__(
        self,
        env: Environment,
        values: int,
        hidden: Sequence[int],
        key: PRNGKeyArray,
        activation: Activation = "tanh",
        normalised: bool = False,
    ) -> None:
        """Draw the weights.

        Args:
            env: The environment.
            values: Number of values.
            hidden: Number of units of each hidden layer.
            key: A JAX key.
            activation: Activation function of the hidden units.
            normalised: Whether inputs are normalised by a running scale.
        """
        self.inputs = tuple((agent, Inputs(env.observation_space(agent))) for agent in env.agents)
        size = sum(code.size for _, code in self.inputs)
        self.layers = linear_layers((size, *hidden, values), key)
        self.scaling = RunningScale(size) if normalised else None
        self.activation = activation

    def __call__(
        self, observations: Mapping[str, Entities], present: Float[Array, " all_agents"]
    ) -> Float[Array, " agents"]:
        """Return the values; those of the trained agents come first, in acting order."""
        inputs = self.encoded(observations)
        if self.scaling is not None:
            inputs = self.scaling(inputs)
        return perceptron(self.layers, inputs, self.activation)

    def encoded(self, observations: Mapping[str, Entities]) -> Float[Array, " inputs"]:
        """Return the inputs of the first layer."""
        return jnp.concatenate([code(observations[agent]) for agent, code in self.inputs])


def make_flat_networks(
    env: Environment,
    trained: tuple[str, ...],
    layers: Sequence[int],
    critic_layers: Sequence[int],
    key: PRNGKeyArray,
    *,
    values: int,
    activation: Activation = "tanh",
    normalised: bool = False,
) -> Networks:
    """Make multi-layer perceptrons over flat observations, for environments with a fixed row order.

    Args:
        env: The environment.
        trained: The trained agents.
        layers: Number of units of each hidden layer of an actor.
        critic_layers: Number of units of each hidden layer of the critic.
        key: A JAX key.
        values: Number of values of the critic.
        activation: Activation function of the hidden units.
        normalised: Whether inputs are normalised by running scales.

    Raises:
        FairgymError: An agent has a per-person action.
    """
    actor_key, critic_key = jax.random.split(key)
    keys = jax.random.split(actor_key, len(trained))
    actors = {}
    for agent, own in zip(trained, keys, strict=True):
        space = env.action_space(agent)
        if space.per_entity:
            raise FairgymError(
                f"network is 'flat', but {agent!r} of {env.name} scores each person; use"
                " 'equivariant' (--network equivariant)"
            )
        code = Inputs(env.observation_space(agent))
        actor = FlatNetwork(code, space, layers, own, activation, normalised=normalised)
        small = jax.tree.map(lambda x: FLAT_SCALE * x, actor.layers[-1])
        actors[agent] = eqx.tree_at(lambda network: network.layers[-1], actor, small)
    critic = FlatCritic(env, values, critic_layers, critic_key, activation, normalised)
    return Networks(actors, critic)


def rescaled(networks: Networks, observations: Mapping[str, Entities]) -> Networks:
    """Return flat networks with the running scales of their inputs after these observations.

    Args:
        networks: Actors and critic with running scales.
        observations: Observations of all agents, (envs, steps, ...).
    """
    actors = {}
    for agent, actor in networks.actors.items():
        inputs = jax.vmap(jax.vmap(actor.inputs))(observations[agent])
        new = actor.scaling.after(inputs)
        actors[agent] = eqx.tree_at(lambda network: network.scaling, actor, new)
    inputs = jax.vmap(jax.vmap(networks.critic.encoded))(observations)
    new = networks.critic.scaling.after(inputs)
    critic = eqx.tree_at(lambda network: network.scaling, networks.critic, new)
    return Networks(actors, critic)
