"""F-MADDPG: multi-agent DDPG with fairness in the reward of every step (MAFE, appendix D.6).

Lowe et al., "Multi-Agent Actor-Critic for Mixed Cooperative-Competitive Environments" (2017),
https://arxiv.org/abs/1706.02275. Each agent's deterministic policy ascends a Q-function of all
observations and actions (`CentralCritic`), learned off-policy from a replay buffer with target
networks (Lillicrap et al. 2016, https://arxiv.org/abs/1509.02971). Exploration is Gaussian noise on
the actions. The reward of a step is equation (5).

Rewards are divided by their standard deviation in the buffer and by the square root of the
effective horizon, so the standard deviation of values is about 1 for any objective. They are not
centred, because that would change the value of an early end. With a bounded objective, the buffer
holds rewards with the multipliers at collection time.
"""

import dataclasses
import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from fairgym.algorithms import _log_keys as log_keys
from fairgym.algorithms._algorithm import algorithms
from fairgym.algorithms._episodes import explained_variance
from fairgym.algorithms._gradient import GradientLearner, GradientState, apply_gradients
from fairgym.algorithms._networks import Networks, make_networks
from fairgym.algorithms._replay import ReplayBuffer
from fairgym.algorithms._rollouts import RolloutState, Step, acting, fixed_actions, observe_sampled
from fairgym.core import Entities, Environment, FairgymError, Params, check_shape, param
from fairgym.policies.networks import Standardiser


class FMaddpgState(GradientState):
    """The training state of F-MADDPG.

    Attributes:
        targets: Target networks, a moving average of `trainable`.
        optimisers: States of Adam, for actors and critic.
        buffer: The last steps of every env.
    """

    targets: PyTree
    optimisers: tuple[PyTree, PyTree]
    buffer: ReplayBuffer


@algorithms.register("f-maddpg")
@dataclasses.dataclass(frozen=True)
class FMaddpg(GradientLearner[FMaddpgState]):
    """Hyperparameters of F-MADDPG, in addition to those of `GradientLearner`."""

    num_steps: int = 25
    failure_penalty: float = 100.0  # the objective of a hundred steps
    critic_hidden: int = 64
    gradient_steps: int = param(8, "Gradient steps per round.", low=1)
    batch_size: int = param(
        512,
        "Steps sampled from the replay buffer for each gradient step, equally many from each "
        "environment.",
        low=1,
    )
    buffer_size: int = param(20_000, "Replay buffer size in steps, over all environments.", low=1)
    learning_starts: int = param(
        4_000,
        "Steps with uniformly random actions before learning starts, over all environments.",
        low=0,
    )
    learning_rate: float = param(5e-3, "Learning rate of Adam for the critic.", low=0, above=True)
    actor_learning_rate: float = param(
        1e-3, "Learning rate of Adam for the policies.", low=0, above=True
    )
    tau: float = param(
        0.01,
        "Target network update rate: weight of the new parameters in each gradient step.",
        low=0,
        high=1,
    )
    exploration_std: float = param(
        0.3, "Standard deviation of the exploration noise, in units of the action.", low=0
    )
    logit_penalty: float = param(
        1e-3,
        "Weight of the mean squared logits of a policy, to prevent saturation of its sigmoid or "
        "softmax.",
        low=0,
    )

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        most = 2**31 - 1
        check_shape("num_steps", self.num_steps, 2, most)  # pairs of consecutive steps are sampled
        check_shape("batch_size", self.batch_size, self.num_envs, most)
        check_shape("buffer_size", self.buffer_size, 2 * self.num_envs * self.num_steps, most)

    @property
    def places(self) -> int:
        """Capacity of the replay buffer in steps per env: whole rounds."""
        return self.buffer_size // (self.num_envs * self.num_steps) * self.num_steps

    def _optimiser(self, rate: float | Float[Array, ""]) -> PyTree:
        return optax.chain(optax.clip_by_global_norm(self.max_grad_norm), optax.adam(rate))

    @property
    def _optimisers(self) -> tuple[PyTree, PyTree]:
        return self._optimiser(self.actor_learning_rate), self._optimiser(self.learning_rate)

    def _start(self, fields: dict[str, Any], key: PRNGKeyArray) -> FMaddpgState:
        """Return the initial training state, with an empty buffer.

        Raises:
            FairgymError: A trained agent has discrete actions.
        """
        fields = self._with_networks(fields, key)
        trainable, first = fields["trainable"], GradientState(**fields)

        def one_step() -> Step:
            rollout = jax.tree.map(lambda x: x[0], first.rollouts)
            return self._step(first, rollout, key, jnp.array(False))[1]

        step = jax.eval_shape(one_step)
        parts = zip(self._optimisers, (trainable.actors, trainable.critic), strict=True)
        return FMaddpgState(
            **fields,
            targets=jax.tree.map(jnp.copy, trainable),
            optimisers=tuple(optimiser.init(part) for optimiser, part in parts),
            buffer=ReplayBuffer.empty(step, self.num_envs, self.places),
        )

    def _networks(
        self, env: Environment, params: Params, trained: tuple[str, ...], key: PRNGKeyArray
    ) -> Networks:
        for agent in trained:
            if env.action_space(agent).discrete:
                raise FairgymError(
                    f"F-MADDPG trains agents with continuous actions, since it follows the critic's"
                    f" gradient; the actions of {agent!r} are discrete: train it with another"
                    f" algorithm, such as f-mappo, or give it a fixed policy"
                )
        sizes = self.hidden, self.critic_hidden
        values = len(trained)
        return make_networks(env, params, trained, *sizes, key, values=values, with_actions=True)

    # ---------------------------------------------------------------- experience

    def _step(
        self, state: GradientState, rollout: RolloutState, key: Array, uniform: Array
    ) -> tuple[RolloutState, Step]:
        """Make one step of one env with noisy or uniformly random actions."""
        actors = state.networks.actors
        observe_key, act_key, fixed_key, step_key = jax.random.split(key, 4)
        observations = observe_sampled(
            state.env, state.params, rollout.state, observe_key, self.sampled_people
        )
        actions, hidden = fixed_actions(
            state.env, state.fixed, observations.full, fixed_key, rollout
        )
        stored_actions, acts = {}, {}
        keys = jax.random.split(act_key, len(actors))
        for (agent, actor), agent_key in zip(actors.items(), keys, strict=True):
            space = actor.space
            own = observations.to_act_on(agent, space)
            noise_key, uniform_key = jax.random.split(agent_key)

            def noisy(a: PyTree = actor, s: PyTree = own, k: Array = noise_key) -> Array:
                noise = self.exploration_std * jax.random.normal(k, a.space.shape)
                return a.space.clip(a(s, k) + noise)

            sampled = functools.partial(space.sample, uniform_key)
            action = actions[agent] = lax.cond(uniform, sampled, noisy)
            acts[agent] = acting(state.env, agent, rollout.state)
            of_sample = space.at_rows(action, observations.rows[agent])
            counts = (
                observations.samples[agent].mask & acts[agent] if space.per_entity else acts[agent]
            )
            stored_actions[agent] = jnp.where(counts, of_sample, 0.0)
        rollout, end, rewards = state.step(rollout, actions, hidden, step_key, self.failure_penalty)
        encoders = state.networks.critic.encoders
        stored = {
            agent: _stored(s, encoders[agent].scaling) for agent, s in observations.samples.items()
        }
        return rollout, Step(stored, observations.present, stored_actions, acts, rewards, end.done)

    def _round(self, state: FMaddpgState, key: Array) -> tuple[FMaddpgState, dict[str, Array]]:
        """Run every env, store its steps, and learn after `learning_starts` steps."""
        collect_key, learn_key = jax.random.split(key)
        uniform = state.buffer.added * self.num_envs < self.learning_starts

        def run(item: tuple[RolloutState, Array]) -> tuple[RolloutState, Step]:
            rollout, key = item
            keys = jax.random.split(key, self.num_steps)
            return lax.scan(lambda r, k: self._step(state, r, k, uniform), rollout, keys)

        rollouts, steps = self._collect(state, run, collect_key)
        state = state.replace(rollouts=rollouts, buffer=state.buffer.add(steps))
        now = (state.trainable, state.targets, state.optimisers)
        keys = jax.random.split(learn_key, self.gradient_steps)
        scale = self._reward_scale(state)
        names = log_keys.VALUE_ERROR, log_keys.EXPLAINED_VARIANCE, "actor_objective"
        nothing = dict.fromkeys(names, jnp.float32(0.0))

        def learn() -> PyTree:
            after, losses = lax.scan(lambda c, k: self._descend(state, scale, c, k), now, keys)
            return after, {name: jnp.mean(values) for name, values in losses.items()}

        started = state.buffer.added * self.num_envs > self.learning_starts
        (trainable, targets, optimisers), losses = lax.cond(started, learn, lambda: (now, nothing))
        log = losses | {log_keys.STEP_REWARD: jnp.mean(steps.rewards)}
        return state.replace(trainable=trainable, targets=targets, optimisers=optimisers), log

    # ---------------------------------------------------------------- learning

    def _reward_scale(self, state: FMaddpgState) -> Float[Array, " agents"]:
        """Return the divisor of the rewards for each trained agent."""
        filled = state.buffer.filled[None, :, None]
        steps = jnp.float32(self.num_envs) * state.buffer.held
        rewards = jnp.where(filled, state.buffer.rows.rewards, 0.0)
        mean = jnp.sum(rewards, (0, 1)) / steps
        square = jnp.sum(rewards**2, (0, 1)) / steps
        reach = jnp.minimum(state.env.horizon, 1.0 / jnp.maximum(1.0 - self.gamma, 1e-6))
        return jnp.sqrt(jnp.maximum(square - mean**2, 1e-8) * reach)

    def _descend(
        self, state: FMaddpgState, scale: Array, carry: PyTree, key: Array
    ) -> tuple[PyTree, dict[str, Array]]:
        """Make one gradient step of critic and policies, then update the target networks."""
        trainable, targets, optimisers = carry
        step, later = state.buffer.sample(key, self.batch_size // self.num_envs)
        batch = step.replace(rewards=step.rewards / scale), later
        gradient, losses = jax.grad(
            lambda trainable: self._loss(trainable, targets, state, batch), has_aux=True
        )(trainable)
        actors, critic = (
            apply_gradients(optimiser, *parts)
            for optimiser, *parts in zip(
                self._optimisers,
                (gradient.actors, gradient.critic),
                optimisers,
                (trainable.actors, trainable.critic),
                strict=True,
            )
        )
        trainable = Networks(actors[0], critic[0])
        targets = jax.tree.map(
            lambda new, old: self.tau * new + (1.0 - self.tau) * old, trainable, targets
        )
        return (trainable, targets, (actors[1], critic[1])), losses

    def _loss(
        self, trainable: PyTree, targets: PyTree, state: FMaddpgState, batch: tuple[Step, Step]
    ) -> tuple[Array, dict[str, Array]]:
        """Return the critic's loss minus the policies' values, with separate gradients."""
        nets, target_nets = (eqx.combine(part, state.static) for part in (trainable, targets))
        frozen = jax.tree.map(lambda x: lax.stop_gradient(x) if eqx.is_array(x) else x, nets.critic)

        def one(step: Step, later: Step) -> tuple[Array, ...]:
            observations, next_observations = (
                {
                    agent: _read(stored, frozen.encoders[agent].scaling)
                    for agent, stored in s.observations.items()
                }
                for s in (step, later)
            )
            next_actions = {
                agent: jnp.where(later.acts[agent], _act(actor, next_observations[agent])[0], 0.0)
                for agent, actor in target_nets.actors.items()
            }
            next_value = target_nets.critic(next_observations, later.present, next_actions)
            going_on = 1.0 - step.done.astype(jnp.float32)
            target = step.rewards + self.gamma * going_on * next_value
            found = nets.critic(observations, step.present, step.actions)
            error = jnp.mean(optax.huber_loss(found, target))

            value, penalty = jnp.float32(0.0), jnp.float32(0.0)
            for index, agent in enumerate(state.trained):
                action, logits = _act(nets.actors[agent], observations[agent])
                own = jnp.where(step.acts[agent], action, 0.0)
                value += frozen(observations, step.present, step.actions | {agent: own})[index]
                penalty += logits
            return error, value, penalty, target, target - found

        *found, target, rest = jax.vmap(jax.vmap(one))(*batch)
        error, value, penalty = (jnp.mean(x) for x in found)
        loss = error - value + self.logit_penalty * penalty
        explained = explained_variance(rest, target)
        return loss, {
            log_keys.VALUE_ERROR: error,
            log_keys.EXPLAINED_VARIANCE: jnp.mean(explained),
            "actor_objective": value,
        }


def _act(actor: PyTree, observation: Entities) -> tuple[Array, Array]:
    """Return the action and the mean square of its logits."""
    logits = actor.logits(observation)
    penalty = actor.space.mean_over_elements(logits**2, observation.mask)
    return actor.space.from_logits(logits, observation.mask), penalty


def _stored(observation: Entities, scaling: Standardiser) -> PyTree:
    """Return an observation in half the memory, standardised so that rounding errors are small."""
    features = (observation.features - scaling.shift) / scaling.scale
    return features.astype(jnp.bfloat16), observation.mask, observation.context


def _read(stored: PyTree, scaling: Standardiser) -> Entities:
    features, mask, context = stored
    return Entities(features.astype(jnp.float32) * scaling.scale + scaling.shift, mask, context)
