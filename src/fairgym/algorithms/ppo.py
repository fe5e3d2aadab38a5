"""PPO with flat networks, for episodes that are cut off at their horizon.

Schulman et al., "Proximal Policy Optimization Algorithms" (2017), https://arxiv.org/abs/1707.06347.
Several agents have an actor each, and one critic of what all of them see.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fairgym.algorithms._algorithm import Objectives, algorithms, check_layers
from fairgym.algorithms._networks import Networks, make_networks
from fairgym.algorithms._normalised import NormalisedPpo, NormalisedState, StateT
from fairgym.core import Entities, Environment, FairgymError, check_flag
from fairgym.policies.coding import Inputs
from fairgym.policies.flat import FlatNetwork, linear_layers, perceptron

OUTPUT_SCALE = 0.01  # of the actors' last layer at the start: all options are almost equally likely


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


@dataclasses.dataclass(frozen=True)
class FlatPpo(NormalisedPpo[StateT]):
    """Hyperparameters of PPO with flat networks, beside those of `PpoLearner`.

    Attributes:
        network: "flat" for multi-layer perceptrons over an observation's numbers in a row, for
            systems in which row i is always the same entity; "equivariant" for networks that treat
            all rows alike, as those of F-MAPPO.
        layers: number of units of each hidden layer of a flat actor.
        critic_layers: number of units of each hidden layer of a flat critic.
        hidden: number of hidden units of an equivariant actor.
        critic_hidden: number of hidden units of the critic of equivariant actors.
        bootstrap_truncated: value of what would come after the horizon; without it nothing comes,
            which agents cannot know that do not see the time.
        sampled_people: number of people that a learner samples of an observation at each step; 0
            for all, which flat networks take.
    """

    network: Literal["flat", "equivariant"] = "flat"
    layers: tuple[int, ...] = (64, 64)
    critic_layers: tuple[int, ...] = (64, 64)
    bootstrap_truncated: bool = True
    sampled_people: int = 0
    num_envs: int = 8
    num_steps: int = 256
    update_epochs: int = 10
    num_minibatches: int = 8
    episodes_per_epoch: int = 8

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        check_layers(self, "layers", "critic_layers")
        check_flag("bootstrap_truncated", self.bootstrap_truncated)
        if self.network == "flat" and self.sampled_people:
            raise FairgymError(
                f"sampled_people is {self.sampled_people}; a flat network takes 0: it sees all rows"
            )

    def init(
        self,
        key: PRNGKeyArray,
        env: Environment,
        objective: Objectives,
        *,
        params: Any = None,
        fixed: Mapping[str, Any] | None = None,
    ) -> StateT:
        """Networks that know nothing, and worlds at their start.

        Arguments and errors as in `fairgym.algorithms.Algorithm.init`.

        Raises:
            FairgymError: a flat network of an agent that scores each of the people.
        """
        return self._state(self._init_fields(key, env, objective, params, fixed))

    def _state(self, fields: dict[str, Any]) -> StateT:
        """The training state with the fields of a `NormalisedState`."""
        raise NotImplementedError

    @property
    def _bootstraps(self) -> bool:
        return self.bootstrap_truncated

    def _networks(
        self, env: Environment, params: Any, trained: tuple[str, ...], key: PRNGKeyArray
    ) -> Networks:
        values = self._values(env, len(trained))
        if self.network == "equivariant":
            sizes = self.hidden, self.critic_hidden
            return make_networks(
                env, params, trained, *sizes, key, values=values, with_actions=False
            )
        actor_key, critic_key = jax.random.split(key)
        keys = jax.random.split(actor_key, len(trained))
        actors = {
            agent: self._actor(env, agent, own) for agent, own in zip(trained, keys, strict=True)
        }
        return Networks(actors, FlatCritic(env, values, self.critic_layers, critic_key))

    def _actor(self, env: Environment, agent: str, key: PRNGKeyArray) -> FlatNetwork:
        space = env.action_space(agent)
        if space.per_entity:
            raise FairgymError(
                f"network is 'flat', but {agent!r} of {env.name} scores each of its people; it"
                " takes 'equivariant'"
            )
        inputs = Inputs(env.observation_space(agent))
        actor = FlatNetwork(inputs, space, self.layers, key, "tanh")
        small = jax.tree.map(lambda x: OUTPUT_SCALE * x, actor.layers[-1])
        return eqx.tree_at(lambda network: network.layers[-1], actor, small)


@algorithms.register("ppo")
@dataclasses.dataclass(frozen=True)
class Ppo(FlatPpo[NormalisedState]):
    """Hyperparameters of PPO: those of `FlatPpo`."""

    def _state(self, fields: dict[str, Any]) -> NormalisedState:
        return NormalisedState(**fields)
