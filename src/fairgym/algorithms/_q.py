"""The outer loop of Q-learners: act epsilon-greedily in one env, learn at each step, evaluate.

Watkins and Dayan 1992, https://doi.org/10.1007/BF00992698: Q(x, a) moves towards
r + gamma max_a' Q(x', a'). The reward of a step is that of `Objective.step`. For a fairness scheme
it is the change of its score, so undiscounted rewards sum to the score of the episode.

One agent is trained. Its actions are discrete (`Discrete`, `OneEntity`), and it observes the same
entities in the same order at every step. All arrays are on one device: each step depends on what
was learned at the last one, so nothing can be distributed.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Key, PRNGKeyArray, PyTree

from fairgym.algorithms import _log_keys as log_keys
from fairgym.algorithms._algorithm import (
    MOST_EPISODES,
    Epochs,
    TrainState,
)
from fairgym.algorithms._compiled import compiled
from fairgym.algorithms._episodes import log_episodes
from fairgym.algorithms._experiences import (
    LARGEST_OFFSET,
    Experiences,
    Transition,
    check_agent,
    check_memory,
    with_counterfactuals,
)
from fairgym.algorithms._rollouts import (
    RolloutState,
    fixed_actions,
    initial_rollout_state,
    initial_scheme_states,
    scan_state,
    where,
)
from fairgym.core import (
    AnyPolicy,
    Entities,
    Environment,
    Episode,
    FairgymError,
    first_hidden,
    param,
    rollout,
)
from fairgym.fairness import Objective
from fairgym.wrappers import AutoReset

CERTAIN = 1e30  # above any value


class QState(TrainState):
    """The training state of a Q-learner; subclasses add what they learn.

    Attributes:
        rollout: State of the rollout that it learns from.
    """

    rollout: RolloutState

    @property
    def agent(self) -> str:
        """Name of the trained agent."""
        return self.objectives[0][0]

    @property
    def objective(self) -> Objective:
        """Objective of the trained agent."""
        return self.objectives[0][1]


StateT = TypeVar("StateT", bound=QState)


_first_rollout = eqx.filter_jit(initial_rollout_state)


@dataclasses.dataclass(frozen=True)
class QLearner(Epochs[StateT]):
    """Base of Q-learners; a subclass implements what is learned and how.

    The logged objective, metrics and actions come from whole episodes of the greedy policy.
    `step_reward` is the mean reward of the training steps.
    """

    name: ClassVar[str] = "Q-learning"

    epochs: int = 100
    gamma: float = param(0.99, "Discount factor of the step rewards.", low=0, high=1)
    epsilon_start: float = param(1.0, "Initial probability of a random action.", low=0, high=1)
    epsilon_decay: float = param(0.95, "Decay factor of this probability.", low=0, high=1)
    epsilon_end: float = param(0.2, "Smallest probability of a random action.", low=0, high=1)
    bootstrap_truncated: bool = param(
        True,
        "Use time limit bootstrapping: the value after a truncated episode is that of its last "
        "observation. If off, it is 0, and agents should observe the time.",
    )
    evaluation_episodes: int = param(
        1,
        "Episodes per evaluation of the greedy policy.",
        low=1,
        high=MOST_EPISODES,
    )

    offsets: tuple[int, ...] = param(
        (1, 2),
        "Offsets of counterfactual memories from the true one, in all combinations over the "
        "stakeholders (memory full: 1,2 in the paper). For a memory of differences, offsets of its "
        "largest entry.",
        low=-LARGEST_OFFSET,
        high=LARGEST_OFFSET,
    )
    counterfactuals: int = param(
        0,
        "Maximum number of counterfactual memories to learn from at each step (FairQCM); if there "
        "are more, they are sampled.",
        low=0,
        high=LARGEST_OFFSET,
    )

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        if self.counterfactuals and len(set(self.offsets)) < max(1, len(self.offsets)):
            raise FairgymError(
                f"offsets must be one or more distinct whole numbers, got {list(self.offsets)}"
            )
        if self.epsilon_end > self.epsilon_start:
            raise FairgymError(
                f"epsilon_end must be a number from 0 to epsilon_start, {self.epsilon_start}, got"
                f" {self.epsilon_end}"
            )

    def _start(self, fields: dict[str, Any], key: PRNGKeyArray) -> StateT:
        """Return the initial training state.

        Raises:
            FairgymError: Several agents are to be trained, the agent's actions are not discrete, it
                does not act at every step, its objective has bounds, or the subclass refuses it.
        """
        env, numbers, objectives = fields["env"], fields["params"], fields["objectives"]
        check_agent(self.name, env, objectives)
        if self.counterfactuals:
            check_memory(self.name, env, numbers, objectives[0][1], self.offsets)
        # fold_in first: updates split this key, and their two keys must not be reused
        env_key, start_key = jax.random.split(jax.random.fold_in(key, 2))
        fields["rollout"] = _first_rollout(env, numbers, objectives, fields["fixed"], env_key)
        return self._begin(fields, start_key)

    def steps_per_update(self, env: Environment) -> int:
        """Return the environment steps of an epoch."""
        rounds, steps = self._rounds(env)
        return rounds * steps

    def policies(self, state: StateT) -> dict[str, AnyPolicy]:
        """Return the greedy policy and the fixed ones."""
        return state.with_fixed({state.agent: self._policy(state)})

    def update(self, state: StateT) -> tuple[StateT, dict[str, Array]]:
        """Run one epoch: act and learn, and evaluate the policy after each round."""
        return self._epoch(state)

    # ---------------------------------------------------------------- methods a subclass implements

    def _rounds(self, env: Environment) -> tuple[int, int]:
        """Return the rounds per epoch, each followed by an evaluation, and the steps per round."""
        raise NotImplementedError

    def _begin(self, fields: dict[str, Any], key: PRNGKeyArray) -> StateT:
        """Return the state before the first update."""
        raise NotImplementedError

    def _policy(self, state: StateT) -> PyTree:
        """Return the greedy policy."""
        raise NotImplementedError

    def _epsilon(self, state: StateT, observation: Entities) -> Float[Array, ""]:
        """Return the probability of a random action for this observation."""
        raise NotImplementedError

    def _mean_epsilon(self, state: StateT) -> Float[Array, ""]:
        """Return the mean probability of a random action, for the log."""
        raise NotImplementedError

    def _learn(
        self, state: StateT, batch: Experiences, key: PRNGKeyArray
    ) -> tuple[StateT, dict[str, Array]]:
        """Learn from the experiences of a step; return the next state and the log."""
        raise NotImplementedError

    # ---------------------------------------------------------------- a subclass may override

    def _experiences(self, state: StateT, transition: Transition, key: PRNGKeyArray) -> Experiences:
        """Return the observed experience and counterfactual ones."""
        alone = (
            transition.observation,
            transition.next_observation,
            transition.reward,
            jnp.array(True),
        )
        observation, after, reward, kept = jax.tree.map(lambda x: x[None], alone)
        real = Experiences(
            observation=observation,
            next_observation=after,
            action=transition.action,
            reward=reward,
            discount=jnp.where(transition.ends, 0.0, self.gamma),
            kept=kept,
        )
        if not self.counterfactuals:
            return real
        return with_counterfactuals(
            state, transition, real, key, self.offsets, self.counterfactuals
        )

    def _ended(self, state: StateT, done: Bool[Array, ""]) -> StateT:
        """Return the state after a step, updated if an episode ended with it."""
        return state

    # ---------------------------------------------------------------- epochs

    @compiled
    def _epoch(self, state: StateT) -> tuple[StateT, dict[str, Array]]:
        key, next_key = state.next_key()
        rounds, steps = self._rounds(state.env)

        def one_round(state: StateT, key: Key[Array, ""]) -> tuple[StateT, PyTree]:
            learn_key, mean_key = jax.random.split(key)
            state, losses = self._round(state, jax.random.split(learn_key, steps))
            losses[log_keys.exploration(state.agent)] = self._mean_epsilon(state)
            return state, (losses, self._measured(state, mean_key))

        state, (losses, episodes) = scan_state(one_round, state, jax.random.split(key, rounds))
        episodes = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), episodes)
        log = log_episodes(state.env, state.objectives, episodes)
        log |= {name: jnp.mean(values) for name, values in losses.items()}
        log[log_keys.ENVIRONMENT_STEPS] = jnp.float32(self.steps_per_update(state.env))
        return state.replace(key=next_key, updates=state.updates + 1), log

    def _round(self, state: StateT, keys: Key[Array, " steps"]) -> tuple[StateT, dict[str, Array]]:
        """Act and learn once for each key; return the next state and the log of each step."""
        return scan_state(self._step, state, keys)

    def _measured(self, state: StateT, key: PRNGKeyArray) -> Episode:
        """Run episodes of the greedy policy one after another, stacked along a first axis."""
        policies = self.policies(state)

        def one(key: PRNGKeyArray) -> Episode:
            episode = rollout(state.env, state.params, policies, key)
            return episode.replace(final_state=None)

        return lax.map(one, jax.random.split(key, self.evaluation_episodes))

    def _step(self, state: StateT, key: PRNGKeyArray) -> tuple[StateT, dict[str, Array]]:
        """Make one step: act, observe the transition, learn from it."""
        act_key, step_key, learn_key = jax.random.split(key, 3)
        experience_key, learn_key = jax.random.split(learn_key)
        observations = state.env.observe(state.rollout.state, state.params)
        epsilon = self._epsilon(state, observations[state.agent])
        logits = self._policy(state).logits(observations[state.agent])
        actions, hidden = self._actions(state, observations, epsilon, logits, act_key)
        state, transition, done = self._advance(
            state, observations[state.agent], actions, hidden, step_key
        )
        batch = self._experiences(state, transition, experience_key)
        state, losses = self._learn(state, batch, learn_key)
        return self._ended(state, done), losses | {log_keys.STEP_REWARD: transition.reward}

    def _actions(
        self,
        state: StateT,
        observations: Mapping[str, Entities],
        epsilon: Float[Array, ""],
        logits: Float[Array, " options"],
        key: PRNGKeyArray,
    ) -> tuple[dict[str, Array], dict[str, PyTree]]:
        """Return actions of all agents (epsilon-greedy if trained) and next hidden states."""
        fixed_key, coin_key, sample_key = jax.random.split(key, 3)
        space = state.env.action_space(state.agent)
        sampled = CERTAIN * jax.nn.one_hot(space.sample(sample_key), logits.shape[0])
        # select logits, not actions, so that the action is the result of a single reduction: the
        # compiler would inline a cheaper selection at each use and read the table again
        logits = jnp.where(jax.random.uniform(coin_key) < epsilon, sampled, logits)
        action = space.from_logits(logits, observations[state.agent].mask)
        others, hidden = fixed_actions(
            state.env, state.fixed, observations, fixed_key, state.rollout
        )
        return others | {state.agent: action}, hidden

    def _advance(
        self,
        state: StateT,
        observation: Entities,
        actions: Mapping[str, Array],
        hidden: dict[str, PyTree],
        key: PRNGKeyArray,
    ) -> tuple[StateT, Transition, Bool[Array, ""]]:
        """Step the environment; return the state, the transition and whether the episode ended."""
        before = state.rollout
        next_state, end = AutoReset(state.env).step_autoreset(
            key, before.state, actions, state.params
        )
        scheme_states, reward = state.objective.step(before.scheme_states[0], end.components)
        after = RolloutState(end.final_state, (scheme_states,), hidden)
        transition = Transition(
            before=before,
            after=after,
            observation=observation,
            next_observation=state.env.observe(end.final_state, state.params)[state.agent],
            action=actions[state.agent],
            components=end.components,
            reward=reward,
            ends=end.terminated if self.bootstrap_truncated else end.done,
        )
        first = (
            initial_scheme_states(state.env, state.params, state.objectives),
            first_hidden(state.fixed),
        )
        rollout = RolloutState(next_state, *where(end.done, first, ((scheme_states,), hidden)))
        return state.replace(rollout=rollout), transition, end.done
