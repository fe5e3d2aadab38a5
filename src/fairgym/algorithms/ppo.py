"""Proximal policy optimisation (PPO) of one or several agents, with one critic.

Schulman et al., "Proximal Policy Optimization Algorithms" (2017), https://arxiv.org/abs/1707.06347:
rollouts of parallel environments, generalised advantage estimation, clipped probability ratios, and
several epochs of minibatches over the same steps. Each agent has its own actor; the critic observes
what all agents observe.

The critic learns standardised returns (van Hasselt et al., "Learning Values Across Many Orders of
Magnitude", 2016, https://arxiv.org/abs/1602.07714). Exploration adds Gaussian noise to a policy's
logits, or samples one of its options (`fairgym.policies.exploration`). Fair learners are PPO with
`Terms`.
"""

import dataclasses
import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, PRNGKeyArray, PyTree

from fairgym.algorithms import _log_keys as log_keys
from fairgym.algorithms._algorithm import algorithms
from fairgym.algorithms._episodes import explained_variance
from fairgym.algorithms._gradient import GradientLearner, apply_gradients
from fairgym.algorithms._networks import (
    Networks,
    make_flat_networks,
    make_networks,
    rescaled,
)
from fairgym.algorithms._on_policy import (
    Batch,
    Moments,
    PpoState,
    explored_log_probability,
    generalised_advantages,
    mean_entropy,
    standardised,
)
from fairgym.algorithms._ppo_settings import PpoSettings
from fairgym.algorithms._rollouts import RolloutState, Step, acting, fixed_actions, observe_sampled
from fairgym.algorithms._terms import Terms, Turn
from fairgym.core import Allocation, AnyPolicy, Environment, FairgymError, Params, check_shape
from fairgym.policies import split_trainable
from fairgym.policies.exploration import GaussianPolicy, act, explore, init_log_std


@algorithms.register("ppo")
@dataclasses.dataclass(frozen=True)
class Ppo(PpoSettings, GradientLearner[PpoState]):
    """Hyperparameters of PPO; a fair learner is a subclass that defines `terms`."""

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        check_shape("num_steps", self.num_steps, self.num_minibatches, 2**31 - 1)
        if self.init_std > self.max_std:
            raise FairgymError(
                f"init_std must be a number above 0 to {self.max_std:g}, got {self.init_std}"
            )
        if self.network == "flat" and self.sampled_people:
            raise FairgymError(
                "sampled_people must be 0 with a flat network, which uses all rows, got"
                f" {self.sampled_people}"
            )
        if self.network != "flat" and self.normalise_inputs:
            raise FairgymError(
                "normalise_inputs must be False with equivariant networks, which standardise their"
                " features, got True"
            )

    def terms(self, env: Environment, trained: tuple[str, ...]) -> Terms:
        """Return fairness measures and terms in reward, advantage and action; none by default.

        Args:
            env: The environment.
            trained: The trained agents, in acting order.

        Raises:
            FairgymError: The algorithm cannot train these agents.
        """
        return Terms()

    def _terms(self, state: PpoState) -> Terms:
        return self.terms(state.env, state.trained)

    # ---------------------------------------------------------------- initial state

    def _start(self, fields: dict[str, Any], key: PRNGKeyArray) -> PpoState:
        """Return the initial training state.

        Raises:
            FairgymError: As for `terms`, or a flat network for an agent with a per-person action.
        """
        fields = self._with_networks(fields, key)
        env, trained = fields["env"], tuple(agent for agent, _ in fields["objectives"])
        terms = self.terms(env, trained)
        first = terms.first(env, fields["params"])
        measure_states = jax.tree.map(
            lambda x: jnp.broadcast_to(x, (self.num_envs, *x.shape)), first
        )
        log_std = {agent: init_log_std(env.action_space(agent), self.init_std) for agent in trained}
        zeros = jnp.zeros((len(trained) + terms.values,))
        return PpoState(
            **fields | {"rollouts": fields["rollouts"].replace(measure_states=measure_states)},
            log_std=log_std,
            optimiser=self._optimiser.init((fields["trainable"], log_std)),
            moments=Moments(zeros, zeros, jnp.zeros(())),
            carried=dict(terms.start),
        )

    def _networks(
        self, env: Environment, params: Params, trained: tuple[str, ...], key: PRNGKeyArray
    ) -> Networks:
        values = len(trained) + self.terms(env, trained).values
        if self.network == "flat":
            sizes = self.layers, self.critic_layers
            more = {"activation": self.activation, "normalised": self.normalise_inputs}
            return make_flat_networks(env, trained, *sizes, key, values=values, **more)
        sizes = self.hidden, self.critic_hidden
        return make_networks(env, params, trained, *sizes, key, values=values, with_actions=False)

    def policies(self, state: PpoState) -> dict[str, AnyPolicy]:
        """Return the learned policies without exploration, and the fixed ones.

        Policies that divide units have the standard deviations of their exploration
        (`fairgym.policies.GaussianPolicy`), so that `fairgym.policies.sampled` can draw from them.
        """
        found = {
            agent: GaussianPolicy(actor, state.log_std[agent])
            if isinstance(actor.space, Allocation)
            else actor
            for agent, actor in state.networks.actors.items()
        }
        return state.with_fixed(found)

    @property
    def _optimiser(self) -> optax.GradientTransformation:
        return optax.chain(
            optax.clip_by_global_norm(self.max_grad_norm), optax.adam(self.learning_rate, eps=1e-5)
        )

    # ---------------------------------------------------------------- experience

    def _run(
        self, state: PpoState, item: tuple[RolloutState, PRNGKeyArray]
    ) -> tuple[RolloutState, Step, PyTree]:
        """Run one env for `num_steps` steps; return its state, the steps and last observations."""
        (rollout, key), actors, terms = item, state.networks.actors, self._terms(state)

        def observe(rollout: RolloutState, key: PRNGKeyArray) -> PyTree:
            return observe_sampled(state.env, state.params, rollout.state, key, self.sampled_people)

        def step(rollout: RolloutState, key: PRNGKeyArray) -> tuple[RolloutState, Step]:
            observe_key, act_key, fixed_key, step_key = jax.random.split(key, 4)
            observations = observe(rollout, observe_key)
            actions, hidden = fixed_actions(
                state.env, state.fixed, observations.full, fixed_key, rollout
            )
            explored = {}
            keys = jax.random.split(act_key, len(actors))
            for (agent, actor), agent_key in zip(actors.items(), keys, strict=True):
                own = observations.to_act_on(agent, actor.space)
                space, log_std = actor.space, state.log_std[agent]
                logits = actor.logits(own)
                raw = explore(space, logits, log_std, own.mask, agent_key)
                turn = (state.carried, state.params, rollout, agent, own, logits, log_std, raw)
                taken = terms.act(Turn(*turn, actions, step_key))
                actions[agent] = act(space, taken, own.mask)
                learned_from = taken if terms.learns_from_taken else raw
                explored[agent] = space.at_rows(learned_from, observations.rows[agent])
            acts = {agent: acting(state.env, agent, rollout.state) for agent in actors}
            after, end, rewards = state.step(
                rollout, actions, hidden, step_key, self.failure_penalty
            )
            after, signals = terms.measure_step(state.env, state.params, rollout, after, end)
            next_observation = None
            if self.bootstrap_truncated:
                final = observe(rollout.replace(state=end.final_state), observe_key)
                next_observation = final.samples, final.present, end.terminated
            return after, Step(
                observations.samples,
                observations.present,
                explored,
                acts,
                rewards,
                end.done,
                next_observation,
                signals,
            )

        last_key, key = jax.random.split(key)
        end, steps = lax.scan(step, rollout, jax.random.split(key, self.num_steps))
        steps = steps.replace(signals=terms.with_gains(rollout, steps.signals, steps.done))
        last = observe(end, last_key)
        return end, steps, (last.samples, last.present)

    # ---------------------------------------------------------------- learning

    def _round(self, state: PpoState, key: PRNGKeyArray) -> tuple[PpoState, dict[str, Array]]:
        """Run every env and learn from its steps."""
        collect_key, improve_key = jax.random.split(key)
        state, batch, found = self._experience(state, collect_key)
        state, losses = self._improve(state, batch, improve_key)
        if self.normalise_inputs:
            networks = rescaled(state.networks, batch.steps.observations)
            state = state.replace(trainable=split_trainable(networks)[0])
        log = found | {name: jnp.mean(values) for name, values in losses.items()}
        log[log_keys.STEP_REWARD] = jnp.mean(batch.steps.rewards)
        for name, values in batch.steps.signals.items():
            log |= {name: jnp.mean(values), f"{name}_std": jnp.std(values)}
        for agent, own in state.log_std.items():
            if own.size:
                log[log_keys.exploration(agent)] = jnp.mean(jnp.exp(own))
        carried, more = self._terms(state).learn(state.carried, log)
        return state.replace(carried=dict(carried)), log | dict(more)

    def _experience(
        self, state: PpoState, key: PRNGKeyArray
    ) -> tuple[PpoState, Batch, dict[str, Array]]:
        """Run every env; return the state after it, a batch to learn from, and the log."""
        terms, agents = self._terms(state), len(state.trained)
        rollouts, steps, last = self._collect(state, functools.partial(self._run, state), key)

        # values, advantages, returns: axes (envs, steps, values)
        mean, spread = state.moments.scale
        critic_inputs = jax.tree.map(
            lambda x, end: jnp.concatenate([x, end[:, None]], axis=1),
            (steps.observations, steps.present),
            last,
        )
        value_of = jax.vmap(jax.vmap(state.networks.critic))
        values = value_of(*critic_inputs) * spread + mean
        next_values, done = values[:, 1:], steps.done.astype(jnp.float32)
        last = done
        if steps.next_observation is not None:
            *final, terminated = steps.next_observation
            next_values = jnp.where(
                steps.done[..., None], value_of(*final) * spread + mean, next_values
            )
            last = terminated.astype(jnp.float32)
        values = values[:, :-1]
        gamma: Any = self.gamma
        if terms.undiscounted:
            gamma = jnp.concatenate([jnp.full((agents,), gamma), jnp.ones((terms.values,))])
            whole = jnp.arange(next_values.shape[2]) >= agents
            next_values = jnp.where(whole & (done[..., None] > 0.0), 0.0, next_values)
        estimate = functools.partial(
            generalised_advantages, gamma=gamma, gae_lambda=self.gae_lambda
        )
        sums = terms.sums(state.carried, steps.rewards, steps.signals)
        advantage = jax.vmap(estimate)(sums, values, next_values, last, done)
        returns = advantage + values
        state = state.replace(moments=state.moments.after(returns))
        mean, spread = state.moments.scale
        before = {
            agent: explored_log_probability(actor, state.log_std[agent], steps, agent)
            for agent, actor in state.networks.actors.items()
        }
        batch = Batch(
            steps=steps.replace(next_observation=None),
            advantage=terms.combine(steps.signals, advantage),
            returns=(returns - mean) / spread,
            before=before,
        )
        explained = jnp.mean(explained_variance(advantage, returns)[:agents])
        return state.replace(rollouts=rollouts), batch, {log_keys.EXPLAINED_VARIANCE: explained}

    def _improve(
        self, state: PpoState, batch: Batch, key: PRNGKeyArray
    ) -> tuple[PpoState, dict[str, Array]]:
        """Make gradient steps on minibatches; every epoch uses a new order of steps."""
        size = self.num_steps // self.num_minibatches
        orders = jax.vmap(lambda k: jax.random.permutation(k, self.num_steps))(
            jax.random.split(key, self.update_epochs)
        )
        parts = orders[:, : size * self.num_minibatches].reshape(-1, size)

        def descend(carry: PyTree, part: Array) -> tuple[PyTree, dict[str, Array]]:
            trainable, log_std, optimiser = carry
            (_, losses), gradient = jax.value_and_grad(self._loss, has_aux=True)(
                (trainable, log_std), state, jax.tree.map(lambda x: x[:, part], batch)
            )
            (trainable, log_std), optimiser = apply_gradients(
                self._optimiser, gradient, optimiser, (trainable, log_std)
            )
            log_std = jax.tree.map(lambda x: jnp.minimum(x, jnp.log(self.max_std)), log_std)
            if not self.learn_std:
                log_std = carry[1]
            return (trainable, log_std, optimiser), losses

        carry = (state.trainable, state.log_std, state.optimiser)
        (trainable, log_std, optimiser), losses = lax.scan(descend, carry, parts)
        return state.replace(trainable=trainable, log_std=log_std, optimiser=optimiser), losses

    def _loss(
        self, trainable: PyTree, state: PpoState, batch: Batch
    ) -> tuple[Array, dict[str, Array]]:
        """Return the loss: clipped surrogate per agent, critic's loss, entropy bonus."""
        nets, log_std = eqx.combine(trainable[0], state.static), trainable[1]
        steps, before, terms = batch.steps, batch.before, self._terms(state)
        surrogate = bonus = clipped_share = apart = jnp.float32(0.0)
        for index, agent in enumerate(state.trained):
            acts = steps.acts[agent].astype(jnp.float32)
            total = jnp.maximum(jnp.sum(acts), 1.0)
            own = terms.shape(batch.advantage[..., index], steps.signals)
            if terms.standardise:
                own = standardised(own, acts, total)
            now = explored_log_probability(nets.actors[agent], log_std[agent], steps, agent)
            log_ratio = now - before[agent]
            if terms.largest_log_ratio is not None:
                log_ratio = jnp.minimum(log_ratio, terms.largest_log_ratio)
            ratio = jnp.exp(log_ratio)
            clipped = jnp.clip(ratio, 1.0 - self.clip_eps, 1.0 + self.clip_eps)
            surrogate += jnp.sum(acts * jnp.minimum(ratio * own, clipped * own)) / total
            bonus += mean_entropy(nets.actors[agent], log_std[agent], steps, agent, acts / total)
            apart += jnp.sum(acts * (ratio - 1.0 - log_ratio)) / total / len(nets.actors)
            outside = (jnp.abs(ratio - 1.0) > self.clip_eps).astype(jnp.float32)
            clipped_share += jnp.sum(acts * outside) / total / len(nets.actors)
        values = jax.vmap(jax.vmap(nets.critic))(steps.observations, steps.present)
        error = jnp.mean(optax.huber_loss(values, batch.returns))
        loss = self.vf_coef * error - surrogate - self.ent_coef * bonus
        return loss, {
            log_keys.VALUE_ERROR: error,
            log_keys.CLIPPED: clipped_share,
            log_keys.APPROXIMATE_KL: apart,
            log_keys.ENTROPY: bonus,
        }
