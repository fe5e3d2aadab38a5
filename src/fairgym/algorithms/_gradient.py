"""The outer loop of learners that follow gradients: collect steps, learn from them, measure.

The reward of a step is equation (5) of MAFE, appendix D.6: the objective on the step's own
components (`Objective.step_reward`), and the gains of the fairness schemes that it weighs, whose
memories are carried along (`Objective.step`). An episode's end, by failure or at the horizon, is
the end of the sum that is maximised; the value after it is 0.
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
        rollouts: the running copies of the environment, stacked.
        multipliers: per trained agent, one multiplier per bound of its objective.
        trainable: the trainable arrays of actors and critic.
        static: the static part of the same networks.
    """

    rollouts: RolloutState
    multipliers: tuple[Float[Array, "..."], ...]
    trainable: PyTree
    static: PyTree

    @property
    def trained(self) -> tuple[str, ...]:
        """The trained agents in the order of rewards and values (trees sort their keys)."""
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
        failure_penalty: float,
    ) -> tuple[RolloutState, StepOutcome, Float[Array, " agents"]]:
        """One step of a world, and a new episode where one ends with it.

        Args:
            rollout: the rollout state before the step.
            actions: the actions of all agents.
            hidden: hidden states of the agents that are not trained, after the step.
            key: a JAX key.
            failure_penalty: what a step is worth less for every agent if the episode fails with it.

        Returns:
            `(world, outcome, rewards)`: the world to go on from, what the step came to, and the
            reward of each trained agent for it (equation 5, and the gains of fairness schemes).
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
        if failure_penalty:
            rewards -= failure_penalty * end.terminated
        return RolloutState(state, scheme_states, hidden), end, rewards


StateT = TypeVar("StateT", bound=GradientState)


@dataclasses.dataclass(frozen=True)
class GradientLearner(Epochs[StateT]):
    """Hyperparameters and outer loop; a subclass writes `_networks` and `_round`.

    Objective, metrics and actions are logged of whole episodes of the learned policies without
    exploration; `step_reward` is the mean reward (equation 5) of the steps that they learn from.
    """

    episodes_per_epoch: int = param(
        100, "Whole episodes' worth of environment steps in each epoch.", low=1, high=MOST_EPISODES
    )
    num_envs: int = param(
        16, "Number of environments that run side by side.", low=1, high=MOST_EPISODES
    )
    num_steps: int = param(
        100, "Steps of each environment between two rounds of learning.", low=1, high=MOST_EPISODES
    )
    gamma: float = param(0.99, "Discount factor of the step rewards.", low=0, high=1)
    failure_penalty: float = param(
        0.0,
        "Loss of reward of every agent in a step with which an episode fails; a step's reward "
        "is as large as the objective of an episode of such steps, so that 1 / (1 - gamma) "
        "weighs as much as the objective of all steps ahead. F-MAPPO and F-MADDPG take 100 if "
        "nothing is said.",
        low=0,
    )
    max_grad_norm: float = param(
        0.5, "Largest norm of a gradient; larger ones are scaled down.", low=0, above=True
    )
    hidden: int = param(
        32, "Number of hidden units of equivariant policies.", low=1, high=LARGEST_WIDTH
    )
    critic_hidden: int = param(
        32, "Number of hidden units of their critic.", low=1, high=LARGEST_WIDTH
    )
    sampled_people: int = param(
        32,
        "Number of people that a learner samples of an observation at each step; 0 for all, "
        "which flat networks take.",
        low=0,
    )
    multiplier_rate: float = param(
        1.0, "Step size of the multipliers of a bounded objective.", low=0
    )
    vmap_size: int = param(
        0, "Number of environments that are vmapped together; 0 chooses by device.", low=0
    )

    def rounds(self, env: Environment) -> int:
        """Rounds of collecting and learning per epoch: as many as have its environment steps."""
        steps = self.episodes_per_epoch * env.horizon
        return max(1, round(steps / (self.num_envs * self.num_steps)))

    def policies(self, state: StateT) -> dict[str, AnyPolicy]:
        """The learned policies without exploration, and the fixed ones."""
        return state.with_fixed(state.networks.actors)

    def update(self, state: StateT) -> tuple[StateT, dict[str, Array]]:
        """One epoch: collect and learn in turns, then measure the policy."""
        return self._epoch(replicated(state))

    # ---------------------------------------------------------------- what a subclass writes

    def _networks(
        self, env: Environment, params: Params, trained: tuple[str, ...], key: PRNGKeyArray
    ) -> Networks:
        """Actors of the trained agents, and the critic.

        Raises:
            FairgymError: these agents of the environment cannot be trained.
        """
        raise NotImplementedError

    def _round(self, state: StateT, key: PRNGKeyArray) -> tuple[StateT, dict[str, Array]]:
        """Collect `num_steps` steps in every world and learn: the next state, and what to log."""
        raise NotImplementedError

    # ---------------------------------------------------------------- what subclasses call

    def _with_networks(self, fields: dict[str, Any], key: PRNGKeyArray) -> dict[str, Any]:
        """Fields of a `GradientState` before the first update, of those of a `TrainState`.

        Raises:
            FairgymError: as `_networks`.
        """
        env, numbers, objectives = fields["env"], fields["params"], fields["objectives"]
        trained = tuple(agent for agent, _ in objectives)
        # folded first: the two keys that updates split from this one are not used for anything else
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
        """`run((world, key))` for every world, each result left on its device."""
        items = (state.rollouts, jax.random.split(key, self.num_envs))
        found = map_episodes(run, items, self.vmap_size or None)
        return spread_over_devices(found, self.num_envs)

    # ---------------------------------------------------------------- epochs

    @eqx.filter_jit
    def _epoch(self, state: StateT) -> tuple[StateT, dict[str, Array]]:
        key, next_key = state.next_key()
        round_key, mean_key = jax.random.split(key)
        keys = jax.random.split(round_key, self.rounds(state.env))
        state, losses = scan_state(self._round, state, keys)

        keys = jax.random.split(mean_key, self.evaluation_episodes)
        measured = run_episodes(state.env, state.params, self.policies(state), keys)
        log = log_episodes(state.env, state.objectives, measured)
        log |= {name: jnp.mean(values) for name, values in losses.items()}
        steps = self.rounds(state.env) * self.num_envs * self.num_steps
        log[log_keys.ENVIRONMENT_STEPS] = jnp.float32(steps)
        multipliers = raised_multipliers(
            state.objectives, state.multipliers, measured.totals, self.multiplier_rate
        )
        log |= log_multipliers(state.objectives, multipliers)
        state = state.replace(key=next_key, updates=state.updates + 1, multipliers=multipliers)
        return state, log


def apply_gradients(
    optimiser: optax.GradientTransformation, gradient: PyTree, state: PyTree, trainable: PyTree
) -> tuple[PyTree, PyTree]:
    """Learned arrays and state of the optimiser after one gradient step."""
    change, state = optimiser.update(gradient, state)
    return jax.tree.map(jnp.add, trainable, change), state


__all__ = ["GradientLearner", "GradientState", "apply_gradients"]
