"""Proximal policy optimisation of several agents with one critic.

Schulman et al., "Proximal Policy Optimization Algorithms" (2017), https://arxiv.org/abs/1707.06347:
steps of worlds that run side by side, generalised advantage estimation, clipped probability ratios,
several epochs of minibatches over the same steps.

Exploration is Gaussian noise on what a policy's sigmoid or softmax is applied to, or a random draw
of one of the options (`fairgym.policies.exploration`).
"""

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from fairgym.algorithms import _log_keys as log_keys
from fairgym.algorithms._advantages import Batch, generalised_advantages
from fairgym.algorithms._algorithm import Objectives, check_at_least, check_inside
from fairgym.algorithms._gradient import GradientLearner, GradientState, apply_gradients
from fairgym.algorithms._likelihood import (
    explored_log_probability,
    log_probabilities,
    mean_entropy,
)
from fairgym.algorithms._worlds import Step, World, acting, fixed_actions, observe_sampled
from fairgym.core import Entities, Environment
from fairgym.policies.exploration import act, explore, init_log_std
from fairgym.wrappers import StepOutcome


class PpoState(GradientState):
    """The training state of PPO.

    Attributes:
        log_std: per trained agent, log standard deviation of its exploration, one number per
            element of the action (one in all for per-person actions, none for choices).
        optimiser: state of Adam over `learned` and `log_std`.
    """

    log_std: dict[str, Float[Array, " elements"]]
    optimiser: Any


StateT = TypeVar("StateT", bound=PpoState)


@dataclasses.dataclass(frozen=True)
class PpoLearner(GradientLearner[StateT]):
    """Hyperparameters of PPO, beside those of `GradientLearner`; a subclass writes `_networks`.

    Attributes:
        update_epochs: number of times that a round goes through its steps.
        num_minibatches: number of parts of a round's steps, each of which makes one gradient step.
        learning_rate: Adam's learning rate.
        clip_eps: largest deviation of a probability ratio from 1 that is rewarded (epsilon).
        gae_lambda: lambda of the generalised advantage estimation.
        ent_coef: weight of the entropy bonus.
        vf_coef: weight of the critic's error.
        init_std: standard deviation of the exploration at the start, before squashing.
        max_std: largest standard deviation of the exploration. Over a crowd it hardly shows in the
            mean of the log-probabilities, so that nothing but the entropy bonus would pull at it.
    """

    update_epochs: int = 4
    num_minibatches: int = 4
    learning_rate: float = 3e-4
    clip_eps: float = 0.2
    gae_lambda: float = 0.95
    ent_coef: float = 0.0
    vf_coef: float = 0.5
    init_std: float = 0.5
    max_std: float = 1.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        check_at_least(self, 1, "update_epochs", "num_minibatches")
        check_at_least(self, self.num_minibatches, "num_steps")
        check_inside(self, 1.0, "gae_lambda")
        check_inside(self, math.inf, "clip_eps", "ent_coef", "vf_coef")
        check_inside(self, math.inf, "learning_rate", "max_std", positive=True)
        check_inside(self, self.max_std, "init_std", positive=True)

    @property
    def _optimiser(self) -> optax.GradientTransformation:
        return optax.chain(
            optax.clip_by_global_norm(self.max_grad_norm),
            optax.adam(self.learning_rate, eps=1e-5),
        )

    def _init_fields(
        self,
        key: PRNGKeyArray,
        env: Environment,
        objective: Objectives,
        params: Any,
        fixed: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        """Fields of a `PpoState` before the first update, by name."""
        fields = super()._init_fields(key, env, objective, params, fixed)
        log_std = {
            agent: init_log_std(env.action_space(agent), self.init_std)
            for agent, _ in fields["objectives"]
        }
        optimiser = self._optimiser.init((fields["learned"], log_std))
        return fields | {"log_std": log_std, "optimiser": optimiser}

    # ---------------------------------------------------------------- what a subclass may change

    @property
    def _bootstraps(self) -> bool:
        """True if an episode that is cut off at its horizon has a value after it."""
        return False

    def _choose(
        self,
        state: StateT,
        world: World,
        agent: str,
        seen: Entities,
        logits: Array,
        raw: Array,
        actions: Mapping[str, Array],
        key: PRNGKeyArray,
    ) -> Array:
        """The action in place of what was explored: the same by default.

        Args:
            state: the training state.
            world: the world before the step.
            agent: the agent.
            seen: what it acts on.
            logits: outputs of its network.
            raw: what was explored.
            actions: actions of the agents that are not trained, and of those that acted before.
            key: key of the step (`GradientState.go_on`).
        """
        return raw

    def _watch(
        self, state: StateT, before: World, after: World, end: StepOutcome
    ) -> tuple[World, dict[str, Array]]:
        """The world after a step with what is watched in it, and further numbers of the step."""
        return after, {}

    def _gamma(self, state: StateT) -> float | Float[Array, " values"]:
        """Discount factor of each column of `_rewards`."""
        return self.gamma

    def _rewards(self, state: StateT, steps: Step) -> Float[Array, "worlds steps values"]:
        """Terms of the sums that the critic values: the rewards of each agent by default."""
        return steps.rewards

    def _after(
        self,
        state: StateT,
        following: Float[Array, "worlds steps values"],
        done: Float[Array, "worlds steps"],
    ) -> Float[Array, "worlds steps values"]:
        """Values of what comes after each step, of whatever episode."""
        return following

    def _combined(
        self, state: StateT, steps: Step, advantage: Float[Array, "worlds steps values"]
    ) -> Float[Array, "worlds steps agents"]:
        """Advantages of the agents, of those of all values."""
        return advantage

    def _shaped(
        self, advantage: Float[Array, "worlds steps"], signals: Mapping[str, Array]
    ) -> Float[Array, "worlds steps"]:
        """Advantages of one agent in a minibatch, before they are normalised.

        Args:
            advantage: generalised advantage estimates.
            signals: the further numbers of the same steps.
        """
        return advantage

    def _bounded(self, log_ratio: Float[Array, "worlds steps"]) -> Float[Array, "worlds steps"]:
        """Logarithms of probability ratios, whose exponentials have to be finite: the same."""
        return log_ratio

    def _value_scale(self, state: StateT) -> tuple[Any, Any]:
        """Mean and standard deviation, per agent, of the returns that the critic's unit stands for.

        The critic learns returns as they are by default.
        """
        return 0.0, 1.0

    def _with_returns(self, state: StateT, returns: Float[Array, "worlds steps agents"]) -> StateT:
        """The state after the returns of a round are known, before they are learned from."""
        return state

    # ---------------------------------------------------------------- experience

    def _run(self, state: StateT, item: tuple[World, PRNGKeyArray]) -> tuple[World, Step, Any]:
        """Run one world: the world after `num_steps` steps, these, and the last observations."""
        (world, key), actors = item, state.networks.actors

        def observe(world: World, key: PRNGKeyArray) -> Any:
            return observe_sampled(state.env, state.params, world.state, key, self.sampled_people)

        def step(world: World, key: PRNGKeyArray) -> tuple[World, Step]:
            seen_key, act_key, fixed_key, step_key = jax.random.split(key, 4)
            seen = observe(world, seen_key)
            everybody = seen.everybody
            actions, hidden = fixed_actions(state.env, state.fixed, everybody, fixed_key, world)
            explored = {}
            keys = jax.random.split(act_key, len(actors))
            for (agent, actor), agent_key in zip(actors.items(), keys, strict=True):
                own = seen.to_act_on(agent, actor.space)
                space, log_std = actor.space, state.log_std[agent]
                logits = actor.logits(own)
                raw = explore(space, logits, log_std, own.mask, agent_key)
                raw = self._choose(state, world, agent, own, logits, raw, actions, step_key)
                actions[agent] = act(space, raw, own.mask)
                explored[agent] = space.at_rows(raw, seen.rows[agent])
            acts = {agent: acting(state.env, agent, world.state) for agent in actors}
            after, end, rewards = state.go_on(
                world, actions, hidden, step_key, self.failure_penalty
            )
            after, signals = self._watch(state, world, after, end)
            ahead = None
            if self._bootstraps:
                final = observe(world.replace(state=end.final_state), seen_key)
                ahead = final.samples, final.present, end.terminated
            return after, Step(
                seen.samples, seen.present, explored, acts, rewards, end.done, ahead, signals
            )

        last_key, key = jax.random.split(key)
        world, steps = lax.scan(step, world, jax.random.split(key, self.num_steps))
        last = observe(world, last_key)
        return world, steps, (last.samples, last.present)

    # ---------------------------------------------------------------- learning

    def _round(self, state: StateT, key: PRNGKeyArray) -> tuple[StateT, dict[str, Array]]:
        """Run every world and learn from its steps."""
        collect_key, improve_key = jax.random.split(key)
        state, batch = self._experience(state, collect_key)
        state, losses = self._improve(state, batch, improve_key)
        log = {name: jnp.mean(values) for name, values in losses.items()}
        log[log_keys.STEP_REWARD] = jnp.mean(batch.steps.rewards)
        for name, values in batch.steps.signals.items():
            log |= {name: jnp.mean(values), f"{name}_std": jnp.std(values)}
        for agent, own in state.log_std.items():
            if own.size:
                log[log_keys.exploration(agent)] = jnp.mean(jnp.exp(own))
        return state, log

    def _experience(self, state: StateT, key: PRNGKeyArray) -> tuple[StateT, Batch]:
        """Run every world: the state with the worlds after it, and what is to be learned from."""
        worlds, steps, last = self._collect(state, functools.partial(self._run, state), key)

        # values, advantages, returns: axes (worlds, steps, values)
        mean, spread = self._value_scale(state)
        seen = jax.tree.map(
            lambda x, end: jnp.concatenate([x, end[:, None]], axis=1),
            (steps.observations, steps.present),
            last,
        )
        value_of = jax.vmap(jax.vmap(state.networks.critic))
        values = value_of(*seen) * spread + mean
        following, done = values[:, 1:], steps.done.astype(jnp.float32)
        last = done
        if steps.ahead is not None:
            *final, terminated = steps.ahead
            following = jnp.where(
                steps.done[..., None], value_of(*final) * spread + mean, following
            )
            last = terminated.astype(jnp.float32)
        values = values[:, :-1]
        estimate = functools.partial(
            generalised_advantages, gamma=self._gamma(state), gae_lambda=self.gae_lambda
        )
        following = self._after(state, following, done)
        advantage = jax.vmap(estimate)(self._rewards(state, steps), values, following, last, done)
        returns = advantage + values
        state = self._with_returns(state, returns)
        mean, spread = self._value_scale(state)
        before = log_probabilities(state.networks.actors, state.log_std, steps)
        batch = Batch(
            steps=steps.replace(ahead=None),
            advantage=self._combined(state, steps, advantage),
            returns=(returns - mean) / spread,
            before=before,
        )
        return state.replace(worlds=worlds), batch

    def _improve(
        self, state: StateT, batch: Batch, key: PRNGKeyArray
    ) -> tuple[StateT, dict[str, Array]]:
        """Descend on minibatches; every epoch takes the steps in a new order."""
        size = self.num_steps // self.num_minibatches
        orders = jax.vmap(lambda k: jax.random.permutation(k, self.num_steps))(
            jax.random.split(key, self.update_epochs)
        )
        parts = orders[:, : size * self.num_minibatches].reshape(-1, size)

        def descend(carry: Any, part: Array) -> tuple[Any, dict[str, Array]]:
            learned, log_std, optimiser = carry
            (_, losses), gradient = jax.value_and_grad(self._loss, has_aux=True)(
                (learned, log_std), state, jax.tree.map(lambda x: x[:, part], batch)
            )
            (learned, log_std), optimiser = apply_gradients(
                self._optimiser, gradient, optimiser, (learned, log_std)
            )
            log_std = jax.tree.map(lambda x: jnp.minimum(x, math.log(self.max_std)), log_std)
            return (learned, log_std, optimiser), losses

        carry = (state.learned, state.log_std, state.optimiser)
        (learned, log_std, optimiser), losses = lax.scan(descend, carry, parts)
        return state.replace(learned=learned, log_std=log_std, optimiser=optimiser), losses

    def _loss(self, learned: Any, state: StateT, batch: Batch) -> tuple[Array, dict[str, Array]]:
        """The clipped surrogate of each agent, the critic's error, the entropy bonus."""
        nets, log_std = eqx.combine(learned[0], state.skeleton), learned[1]
        steps, before = batch.steps, batch.before
        surrogate = bonus = clipped_share = jnp.float32(0.0)
        for index, agent in enumerate(state.trained):
            acts = steps.acts[agent].astype(jnp.float32)
            total = jnp.maximum(jnp.sum(acts), 1.0)
            own = self._shaped(batch.advantage[..., index], steps.signals)
            centre = jnp.sum(acts * own) / total
            scale = jnp.sqrt(jnp.sum(acts * (own - centre) ** 2) / total)
            own = (own - centre) / (scale + 1e-8)
            now = explored_log_probability(nets.actors[agent], log_std[agent], steps, agent)
            ratio = jnp.exp(self._bounded(now - before[agent]))
            clipped = jnp.clip(ratio, 1.0 - self.clip_eps, 1.0 + self.clip_eps)
            surrogate += jnp.sum(acts * jnp.minimum(ratio * own, clipped * own)) / total
            bonus += mean_entropy(nets.actors[agent], log_std[agent], steps, agent, acts / total)
            outside = (jnp.abs(ratio - 1.0) > self.clip_eps).astype(jnp.float32)
            clipped_share += jnp.sum(acts * outside) / total / len(nets.actors)
        values = jax.vmap(jax.vmap(nets.critic))(steps.observations, steps.present)
        error = jnp.mean(optax.huber_loss(values, batch.returns))
        loss = self.vf_coef * error - surrogate - self.ent_coef * bonus
        return loss, {"value_error": error, "clipped": clipped_share}
