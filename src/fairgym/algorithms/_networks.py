"""Networks of gradient learners: actors and a centralised critic, over sets of people or flat.

The critic is that of centralised training with decentralised execution (Lowe et al. 2017,
https://arxiv.org/abs/1706.02275); its encoders are deep sets (Zaheer et al. 2017,
https://arxiv.org/abs/1703.06114), so that it does not know an order of the people.
"""

from collections.abc import Mapping, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from fairgym.core import Entities, Environment, FairgymError, Params, Struct
from fairgym.policies import equivariant
from fairgym.policies.coding import Inputs
from fairgym.policies.flat import FlatNetwork, linear_layers, perceptron
from fairgym.policies.networks import Standardiser, standard_normal, standardiser

OUTPUT_SCALE = 0.1  # of the output layer at the start: actions begin near the middle, smoothly
FLAT_SCALE = 0.01  # of a flat actor's: all options are almost equally likely


class Networks(Struct):
    """Actors and critic.

    Attributes:
        actors: the policies of the trained agents, by name.
        critic: a `CentralCritic`, or another function of what all agents see.
    """

    actors: dict[str, PyTree]
    critic: PyTree


class SetEncoder(eqx.Module):
    """One layer over each person that an agent sees, averaged over the people (a deep set)."""

    first: Float[Array, "hidden features"]
    bias: Float[Array, " hidden"]
    scaling: Standardiser

    def __init__(self, scaling: Standardiser, extra: int, hidden: int, key: PRNGKeyArray) -> None:
        """Draw the weights; `extra` numbers per person come besides the features."""
        self.first = standard_normal(key, (hidden, scaling.shift.size + extra))
        self.bias = jnp.zeros((hidden,))
        self.scaling = scaling

    def __call__(
        self, observation: Entities, extra: Float[Array, "people extra"] | None
    ) -> Float[Array, " code"]:
        """Mean code of the people, and the context."""
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
    """Centralised critic: a value for each trained agent, or more, from what all agents see.

    Invariant under permutations of the people. With actions it is a Q-function: a per-person
    action stands beside the person, a group-level one beside the agent's pooled code.
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
            env: the environment; features are standardised on its people at reset.
            params: its parameters.
            actors: the policies of the trained agents.
            hidden: units of each encoder and of the layer above them.
            key: a JAX key.
            values: number of values; those of the trained agents come first.
            with_actions: whether the trained agents' actions are given too.
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
        self.joint = eqx.nn.Linear(size, hidden, key=joint_key)
        self.head = eqx.nn.Linear(hidden, values, key=head_key)

    def __call__(
        self,
        observations: Mapping[str, Entities],
        present: Float[Array, " all_agents"],
        actions: Mapping[str, Float[Array, "..."]] | None = None,
    ) -> Float[Array, " values"]:
        """The values; those of the trained agents, in acting order, come first.

        Args:
            observations: observations of all agents; samples of the people do.
            present: share of places that hold a person, for each agent in acting order.
            actions: actions of the trained agents, for a Q-function.
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
    """Actors with small outputs at the start, and the centralised critic of all of them.

    Args:
        env: the environment.
        params: its parameters.
        trained: the trained agents.
        hidden: number of hidden units of the actors.
        critic_hidden: number of hidden units of the critic.
        key: a JAX key.
        values: number of values of the critic.
        with_actions: whether the critic is a Q-function.
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
    """A multi-layer perceptron over what all agents see: a value for each trained agent, or more.

    Attributes:
        layers: the layers.
        inputs: per agent, the code of its observations; static.
    """

    layers: tuple[eqx.nn.Linear, ...]
    inputs: tuple[tuple[str, Inputs], ...] = eqx.field(static=True)

    def __init__(
        self, env: Environment, values: int, hidden: Sequence[int], key: PRNGKeyArray
    ) -> None:
        """Draw the weights.

        Args:
            env: the environment.
            values: number of values.
            hidden: number of units of each hidden layer.
            key: a JAX key.
        """
        self.inputs = tuple((agent, Inputs(env.observation_space(agent))) for agent in env.agents)
        size = sum(code.size for _, code in self.inputs)
        self.layers = linear_layers((size, *hidden, values), key)

    def __call__(
        self, observations: Mapping[str, Entities], present: Float[Array, " all_agents"]
    ) -> Float[Array, " agents"]:
        """The values; those of the trained agents, in acting order, come first."""
        units = [code(observations[agent]) for agent, code in self.inputs]
        return perceptron(self.layers, jnp.concatenate(units), "tanh")


def make_flat_networks(
    env: Environment,
    trained: tuple[str, ...],
    layers: Sequence[int],
    critic_layers: Sequence[int],
    key: PRNGKeyArray,
    *,
    values: int,
) -> Networks:
    """Multi-layer perceptrons over numbers in a row, for systems whose rows stay the same entities.

    Args:
        env: the environment.
        trained: the trained agents.
        layers: number of units of each hidden layer of an actor.
        critic_layers: number of units of each hidden layer of the critic.
        key: a JAX key.
        values: number of values of the critic.

    Raises:
        FairgymError: an agent scores each of the people.
    """
    actor_key, critic_key = jax.random.split(key)
    keys = jax.random.split(actor_key, len(trained))
    actors = {}
    for agent, own in zip(trained, keys, strict=True):
        space = env.action_space(agent)
        if space.per_entity:
            raise FairgymError(
                f"network is 'flat', but {agent!r} of {env.name} scores each of its people; set"
                " network to 'equivariant' (--network equivariant)"
            )
        actor = FlatNetwork(Inputs(env.observation_space(agent)), space, layers, own, "tanh")
        small = jax.tree.map(lambda x: FLAT_SCALE * x, actor.layers[-1])
        actors[agent] = eqx.tree_at(lambda network: network.layers[-1], actor, small)
    return Networks(actors, FlatCritic(env, values, critic_layers, critic_key))
