"""The outer loop of gradient learners: collect steps, learn from them, evaluate the policy.

The reward of a step is equation (5) of MAFE, appendix D.6: the objective on the step's components
(`Objective.step_reward`), plus the gains of its fairness schemes, whose states are carried along
(`Objective.step`). The sum of rewards ends with the episode, terminated or truncated: the value
after the end is 0.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from fairgym.algorithms import _log_keys as log_keys
from fairgym.algorithms._algorithm import (
    LARGEST_WIDTH,
    MOST_EPISODES,
    Epochs,
    TrainState,
)
from fairgym.algorithms._compiled import compiled
from fairgym.algorithms._episodes import (
    log_episodes,
    log_multipliers,
    raised_multipliers,
    run_episodes,
)
from fairgym.algorithms._networks import Networks
from fairgym.algorithms._rollouts import (
    RolloutState,
    initial_rollout_states,
    initial_scheme_states,
    scan_state,
    spread_over_devices,
    where,
)
from fairgym.core import AnyPolicy, Environment, Params, first_hidden, param
from fairgym.core.batching import map_episodes, replicated
from fairgym.policies import split_trainable
from fairgym.wrappers import AutoReset, StepOutcome


class GradientState(TrainState):
    """The training state of a gradient learner.

    Attributes:
        rollouts: Rollout states of all envs, stacked.
        multipliers: Per trained agent, one multiplier per bound of its objective.
        trainable: Trainable parameters of actors and critic.
        static: Static part of the same networks.
    """

    rollouts: RolloutState
    multipliers: tuple[Float[Array, "..."], ...]
    trainable: PyTree
    static: PyTree

    @property
    def trained(self) -> tuple[str, ...]:
        """Trained agents in the order of rewards and values (pytrees sort their keys)."""
        return tuple(agent for agent, _ in self.objectives)

    @property
    def networks(self) -> Networks:
        """Actors and critic."""
        return eqx.combine(self.trainable, self.static)

    def step(
        self,
        rollout: RolloutState,
        actions: Mapping[str, Array],
        hidden: PyTree,
        key: PRNGKeyArray,
        failure_penalty: float | Float[Array, ""],
    ) -> tuple[RolloutState, StepOutcome, Float[Array, " agents"]]:
        """Step one environment and start a new episode if this one ends.

        Args:
            rollout: The rollout state before the step.
            actions: The actions of all agents.
            hidden: Hidden states of the fixed policies after the step, by name of agent.
            key: A JAX key.
            failure_penalty: Amount subtracted from every agent's reward if the episode terminates.

        Returns:
            `(rollout, outcome, rewards)`: the next rollout state, the outcome of the step, and the
            reward of each trained agent (equation 5, plus the gains of fairness schemes).
        """
        state, end = AutoReset(self.env).step_autoreset(key, rollout.state, actions, self.params)
        steps = [
            objective.step(scheme_states, end.components, self.env.horizon, multipliers)
            for (_, objective), scheme_states, multipliers in zip(
                self.objectives, rollout.scheme_states, self.multipliers, strict=True
            )
        ]
        first = (
            initial_scheme_states(self.env, self.params, self.objectives),
            first_hidden(self.fixed),
        )
        scheme_states, hidden = where(end.done, first, (tuple(after for after, _ in steps), hidden))
        rewards = jnp.stack([reward for _, reward in steps])
        rewards -= failure_penalty * end.terminated
        return RolloutState(state, scheme_states, hidden), end, rewards


StateT = TypeVar("StateT", bound=GradientState)


@dataclasses.dataclass(frozen=True)
class GradientLearner(Epochs[StateT]):
    """Base of gradient learners; a subclass implements `_networks` and `_round`.

    The logged objective, metrics and actions come from whole episodes of the learned policies
    without exploration. `step_reward` is the mean reward (equation 5) of the training steps.
    """

    episodes_per_epoch: int = param(
        100,
        "Environment steps per epoch, as a number of full episodes.",
        low=1,
        high=MOST_EPISODES,
    )
    num_envs: int = param(16, "Number of parallel environments.", low=1, high=MOST_EPISODES)
    num_steps: int = param(
        100, "Steps of each environment per rollout, between updates.", low=1, high=MOST_EPISODES
    )
    gamma: float = param(0.99, "Discount factor of the step rewards.", low=0, high=1)
    failure_penalty: float = param(
        0.0,
        "Reward that every agent loses in the step in which an episode terminates. A step reward "
        "is on the scale of an episode's objective, so 1 / (1 - gamma) weighs as much as the "
        "objective of all later steps. The default of F-MAPPO and F-MADDPG is 100.",
        low=0,
    )
    max_grad_norm: float = param(
        0.5, "Maximum gradient norm; larger gradients are scaled down.", low=0, above=True
    )
    hidden: int = param(32, "Hidden units of equivariant policies.", low=1, high=LARGEST_WIDTH)
    critic_hidden: int = param(
        32, "Hidden units of the critic of equivariant policies.", low=1, high=LARGEST_WIDTH
    )
    sampled_people: int = param(
        32,
        "Number of people sampled from each observation for learning; 0 uses all, as flat networks "
        "require.",
        low=0,
    )
    multiplier_rate: float = param(
        1.0, "Step size of the multipliers of a bounded objective.", low=0
    )
    vmap_size: int = param(0, "Number of environments per vmap; 0 chooses by device.", low=0)

    def rounds(self, env: Environment) -> int:
        """Return the number of rounds (collect and learn) per epoch, from its environment steps."""
        steps = self.episodes_per_epoch * env.horizon
        return max(1, round(steps / (self.num_envs * self.num_steps)))

    def steps_per_update(self, env: Environment) -> int:
        """Return the environment steps of an epoch."""
        return self.rounds(env) * self.num_envs * self.num_steps

    def policies(self, state: StateT) -> dict[str, AnyPolicy]:
        """Return the learned policies without exploration, and the fixed ones."""
        return state.with_fixed(state.networks.actors)

    def update(self, state: StateT) -> tuple[StateT, dict[str, Array]]:
        """Run one epoch: alternate collecting and learning, then evaluate the policy."""
        return self._epoch(replicated(state))

    # ---------------------------------------------------------------- methods a subclass implements

    def _networks(
        self, env: Environment, params: Params, trained: tuple[str, ...], key: PRNGKeyArray
    ) -> Networks:
        """Return the actors of the trained agents, and the critic.

        Raises:
            FairgymError: The algorithm cannot train these agents.
        """
        raise NotImplementedError

    def _round(self, state: StateT, key: PRNGKeyArray) -> tuple[StateT, dict[str, Array]]:
        """Collect `num_steps` steps per env and learn; return the next state and the log."""
        raise NotImplementedError

    # ---------------------------------------------------------------- methods subclasses call

    def _with_networks(self, fields: dict[str, Any], key: PRNGKeyArray) -> dict[str, Any]:
        """Extend the fields of a `TrainState` to those of a `GradientState`.

        Raises:
            FairgymError: As for `_networks`.
        """
        env, numbers, objectives = fields["env"], fields["params"], fields["objectives"]
        trained = tuple(agent for agent, _ in objectives)
        # fold_in first: updates split this key, and their two keys must not be reused
        net_key, env_key = jax.random.split(jax.random.fold_in(key, 2))
        trainable, static = split_trainable(self._networks(env, numbers, trained, net_key))
        return fields | {
            "rollouts": initial_rollout_states(
                env,
                numbers,
                objectives,
                fields["fixed"],
                jax.random.split(env_key, self.num_envs),
            ),
            "multipliers": tuple(o.initial_multipliers() for _, o in objectives),
            "trainable": trainable,
            "static": static,
        }

    def _collect(
        self, state: StateT, run: Callable[[tuple[PyTree, PRNGKeyArray]], PyTree], key: PRNGKeyArray
    ) -> PyTree:
        """Map `run((rollout, key))` over all envs; each result stays on its device."""
        items = (state.rollouts, jax.random.split(key, self.num_envs))
        found = map_episodes(run, items, self.vmap_size or None)
        return spread_over_devices(found, self.num_envs)

    # ---------------------------------------------------------------- epochs

    @compiled
    def _epoch(self, state: StateT) -> tuple[StateT, dict[str, Array]]:
        key, next_key = state.next_key()
        round_key, mean_key = jax.random.split(key)
        keys = jax.random.split(round_key, self.rounds(state.env))
        state, losses = scan_state(self._round, state, keys)

        keys = jax.random.split(mean_key, self.evaluation_episodes)
        measured = run_episodes(state.env, state.params, self.policies(state), keys)
        log = log_episodes(state.env, state.objectives, measured)
        log |= {name: jnp.mean(values) for name, values in losses.items()}
        log[log_keys.ENVIRONMENT_STEPS] = jnp.float32(self.steps_per_update(state.env))
        multipliers = raised_multipliers(
            state.objectives, state.multipliers, measured.totals, self.multiplier_rate
        )
        log |= log_multipliers(state.objectives, multipliers)
        state = state.replace(key=next_key, updates=state.updates + 1, multipliers=multipliers)
        return state, log


def apply_gradients(
    optimiser: optax.GradientTransformation, gradient: PyTree, state: PyTree, trainable: PyTree
) -> tuple[PyTree, PyTree]:
    """Return trainable parameters and optimiser state after one gradient step."""
    change, state = optimiser.update(gradient, state)
    return jax.tree.map(jnp.add, trainable, change), state


__all__ = ["GradientLearner", "GradientState", "apply_gradients"]
