"""F-MAPPO: multi-agent PPO with fairness in the reward of every step (MAFE, appendix D.6).

Agents act on their own observations; one critic sees all of them (`CentralCritic`) and values the
discounted sum of step rewards, equation (5), of each trained agent. The recipe is that of Yu et
al., "The Surprising Effectiveness of PPO in Cooperative Multi-Agent Games" (2022): generalised
advantage estimates, clipped ratios, normalised values, an entropy bonus, clipped gradients.

Exploration is Gaussian noise on what a policy's sigmoid or softmax is applied to. The
log-probability of a per-person action is the mean over the people present, so that a step with 3
people and one with 3,000 weigh alike.
"""

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from fairgym.algorithms._base import Objectives, algorithms
from fairgym.algorithms._checks import at_least, inside
from fairgym.algorithms._critic import mean_over_people
from fairgym.algorithms._gradient import (
    GradientLearner,
    GradientState,
    Step,
    acting,
    apply_gradients,
    fixed_actions,
    init_fields,
    observe_sampled,
    step_autoreset,
)
from fairgym.core import Entities, Environment, PerEntity

VALUE_DECAY = 0.99  # of the running moments of returns, per update
HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)


class FMappoState(GradientState):
    """What F-MAPPO learns.

    Attributes:
        log_std: per trained agent, log standard deviation of its exploration, one number per
            element of the action (one in all for per-person actions).
        optimiser: state of Adam over `learned` and `log_std`.
        moments: running mean and mean square of returns per agent, and their weight.
    """

    log_std: dict[str, Float[Array, " elements"]]
    optimiser: Any
    moments: tuple[Float[Array, " agents"], Float[Array, " agents"], Float[Array, ""]]


def advantages(
    rewards: Float[Array, "steps agents"],
    values: Float[Array, "steps_and_one agents"],
    done: Float[Array, " steps"],
    gamma: float,
    gae_lambda: float,
) -> Float[Array, "steps agents"]:
    """Generalised advantage estimates (Schulman et al. 2016, equation 16).

    delta_t = r_t + gamma (1 - done_t) V_{t+1} - V_t, A_t = delta_t + gamma lambda (1 - done_t)
    A_{t+1}.
    """

    def back(later: Array, now: tuple[Array, Array, Array, Array]) -> tuple[Array, Array]:
        reward, value, following, ended = now
        delta = reward + gamma * (1.0 - ended) * following - value
        advantage = delta + gamma * gae_lambda * (1.0 - ended) * later
        return advantage, advantage

    rows = (rewards, values[:-1], values[1:], done)
    return lax.scan(back, jnp.zeros_like(rewards[0]), rows, reverse=True)[1]


def log_probability(
    actor: Any,
    log_std: Float[Array, " elements"],
    observation: Entities,
    action: Float[Array, " action"],
) -> Float[Array, ""]:
    """Of an unsquashed action: the sum over elements, or the mean over the people present."""
    z = (action - actor.logits(observation)) * jnp.exp(-log_std)
    each = -0.5 * z**2 - log_std - HALF_LOG_2_PI
    if isinstance(actor.space, PerEntity):
        return mean_over_people(each, observation.mask)
    return jnp.sum(each)


@algorithms.register("f-mappo")
@dataclasses.dataclass(frozen=True)
class FMappo(GradientLearner):
    """Hyperparameters of F-MAPPO, beside those of `GradientLearner`.

    Attributes:
        update_epochs: number of times that a round goes through its steps.
        num_minibatches: number of parts of a round's steps, each of which makes one gradient step.
        learning_rate: Adam's learning rate.
        clip_eps: largest deviation of a probability ratio from 1 that is rewarded (epsilon).
        gae_lambda: lambda of the generalised advantage estimates.
        ent_coef: weight of the entropy bonus. Ten times the default lets the exploration of
            loan's admissions grow to `max_std`.
        vf_coef: weight of the critic's error.
        init_std: standard deviation of the exploration at the start, before squashing.
        max_std: largest standard deviation of the exploration. Over a crowd it hardly shows in the
            mean of the log-probabilities, so that nothing but the entropy bonus would pull at it.
    """

    gamma: float = 0.997  # what is done about a loan shows over years
    update_epochs: int = 4
    num_minibatches: int = 4
    learning_rate: float = 1e-3
    clip_eps: float = 0.2
    gae_lambda: float = 0.98
    ent_coef: float = 0.0003
    vf_coef: float = 0.5
    init_std: float = 0.5
    max_std: float = 1.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        at_least(self, 1, "update_epochs", "num_minibatches")
        at_least(self, self.num_minibatches, "num_steps")
        inside(self, 1.0, "gae_lambda")
        inside(self, math.inf, "clip_eps", "ent_coef", "vf_coef")
        inside(self, math.inf, "learning_rate", "max_std", positive=True)
        inside(self, self.max_std, "init_std", positive=True)

    @property
    def _optimiser(self) -> Any:
        return optax.chain(
            optax.clip_by_global_norm(self.max_grad_norm),
            optax.adam(self.learning_rate, eps=1e-5),
        )

    def init(
        self,
        key: PRNGKeyArray,
        env: Environment,
        objective: Objectives,
        *,
        params: Any = None,
        fixed: Mapping[str, Any] | None = None,
    ) -> FMappoState:
        """Networks near the middle of every action, and worlds at their start.

        Arguments and errors as in `fairgym.algorithms.Algorithm.init`.
        """
        common = init_fields(self, key, env, objective, params, fixed, with_actions=False)
        trained = [agent for agent, _ in common["objectives"]]
        log_std = {
            agent: jnp.full(
                1
                if isinstance(env.action_space(agent), PerEntity)
                else env.action_space(agent).shape,
                jnp.float32(math.log(self.init_std)),
            )
            for agent in trained
        }
        zeros = jnp.zeros((len(trained),))
        return FMappoState(
            **common,
            log_std=log_std,
            optimiser=self._optimiser.init((common["learned"], log_std)),
            moments=(zeros, zeros, jnp.zeros(())),
        )

    # ---------------------------------------------------------------- experience

    def _fragment(self, state: FMappoState, item: tuple[Any, Array]) -> tuple[Any, Step, Any]:
        """Steps of one world: the world after them, the steps, and what is seen at the end."""
        env, (world, key) = state.env, item
        actors = state.networks.actors

        def step(world: Any, key: Array) -> tuple[Any, Step]:
            look_key, act_key, fixed_key, step_key = jax.random.split(key, 4)
            seen = observe_sampled(state, world, look_key, self.sampled_people)
            actions = fixed_actions(state, seen.everybody, fixed_key)
            unsquashed = {}
            keys = jax.random.split(act_key, len(actors))
            for (agent, actor), agent_key in zip(actors.items(), keys, strict=True):
                each = isinstance(actor.space, PerEntity)
                own = (seen.everybody if each else seen.samples)[agent]
                mean = actor.logits(own)
                noise = jnp.exp(state.log_std[agent]) * jax.random.normal(agent_key, mean.shape)
                action = mean + noise
                actions[agent] = actor.space.from_logits(action, own.mask)
                unsquashed[agent] = action[seen.rows[agent]] if each else action
            acts = {agent: acting(env, agent, world) for agent in actors}
            world, rewards, done = step_autoreset(state, world, actions, step_key)
            return world, Step(seen.samples, seen.present, unsquashed, acts, rewards, done)

        last_key, key = jax.random.split(key)
        world, steps = lax.scan(step, world, jax.random.split(key, self.num_steps))
        last = observe_sampled(state, world, last_key, self.sampled_people)
        return world, steps, (last.samples, last.present)

    # ---------------------------------------------------------------- learning

    def _round(self, state: FMappoState, key: Array) -> tuple[FMappoState, dict[str, Array]]:
        """Collect one fragment in every world and learn from it."""
        collect_key, shuffle_key = jax.random.split(key)
        fragment = functools.partial(self._fragment, state)
        worlds, steps, last = self._collect(state, fragment, collect_key)
        nets = state.networks

        # values, advantages, returns: axes (worlds, steps, agents)
        mean, spread = _mean_and_spread(state.moments)
        seen = jax.tree.map(
            lambda x, end: jnp.concatenate([x, end[:, None]], axis=1),
            (steps.observations, steps.present),
            last,
        )
        values = jax.vmap(jax.vmap(nets.critic))(*seen) * spread + mean
        done = steps.done.astype(jnp.float32)
        advantage = jax.vmap(lambda r, v, d: advantages(r, v, d, self.gamma, self.gae_lambda))(
            steps.rewards, values, done
        )
        returns = advantage + values[:, :-1]
        moments = _updated(state.moments, returns)
        mean, spread = _mean_and_spread(moments)
        before = {
            agent: _per_step(log_probability, actor, state.log_std[agent], steps, agent)
            for agent, actor in nets.actors.items()
        }
        batch = (steps, advantage, (returns - mean) / spread, before)

        # passes in a new order of the steps each time
        size = self.num_steps // self.num_minibatches
        orders = jax.vmap(lambda k: jax.random.permutation(k, self.num_steps))(
            jax.random.split(shuffle_key, self.update_epochs)
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

        carry, losses = lax.scan(descend, (state.learned, state.log_std, state.optimiser), parts)
        state = state.replace(
            learned=carry[0],
            log_std=carry[1],
            optimiser=carry[2],
            worlds=worlds,
            moments=moments,
        )
        told = {name: jnp.mean(values) for name, values in losses.items()}
        told["step_reward"] = jnp.mean(steps.rewards)
        for agent, log_std in state.log_std.items():
            told[f"exploration/{agent}"] = jnp.mean(jnp.exp(log_std))
        return state, told

    def _loss(self, learned: Any, state: FMappoState, batch: Any) -> tuple[Array, dict[str, Array]]:
        """The clipped surrogate of each agent, the critic's error, the entropy bonus."""
        nets, log_std = eqx.combine(learned[0], state.skeleton), learned[1]
        steps, advantage, returns, before = batch
        surrogate = entropy = moved = jnp.float32(0.0)
        for index, agent in enumerate(state.trained):
            actor = nets.actors[agent]
            acts = steps.acts[agent].astype(jnp.float32)
            total = jnp.maximum(jnp.sum(acts), 1.0)
            own = advantage[..., index]
            centre = jnp.sum(acts * own) / total
            scale = jnp.sqrt(jnp.sum(acts * (own - centre) ** 2) / total)
            own = (own - centre) / (scale + 1e-8)
            now = _per_step(log_probability, actor, log_std[agent], steps, agent)
            ratio = jnp.exp(now - before[agent])
            clipped = jnp.clip(ratio, 1.0 - self.clip_eps, 1.0 + self.clip_eps)
            surrogate += jnp.sum(acts * jnp.minimum(ratio * own, clipped * own)) / total
            entropy += jnp.sum(log_std[agent] + 0.5 + HALF_LOG_2_PI)
            outside = (jnp.abs(ratio - 1.0) > self.clip_eps).astype(jnp.float32)
            moved += jnp.sum(acts * outside) / total / len(nets.actors)
        values = jax.vmap(jax.vmap(nets.critic))(steps.observations, steps.present)
        error = jnp.mean(optax.huber_loss(values, returns))
        loss = self.vf_coef * error - surrogate - self.ent_coef * entropy
        return loss, {"value_error": error, "clipped": moved}


def _per_step(function: Any, actor: Any, log_std: Any, steps: Step, agent: str) -> Array:
    """`function` for each world and step."""
    each = jax.vmap(jax.vmap(lambda seen, action: function(actor, log_std, seen, action)))
    return each(steps.observations[agent], steps.actions[agent])


def _updated(moments: Any, returns: Array) -> Any:
    """Running moments with this fragment's returns in them."""
    mean, square, weight = moments
    keep = VALUE_DECAY
    axes = (0, 1)
    return (
        keep * mean + (1.0 - keep) * jnp.mean(returns, axes),
        keep * square + (1.0 - keep) * jnp.mean(returns**2, axes),
        keep * weight + (1.0 - keep),
    )


def _mean_and_spread(moments: Any) -> tuple[Array, Array]:
    """Mean and standard deviation of returns, 0 and 1 before the first."""
    mean, square, weight = moments
    known = weight > 0.0
    weight = jnp.where(known, weight, 1.0)
    mean = mean / weight
    spread = jnp.sqrt(jnp.maximum(square / weight - mean**2, 1e-6))
    return jnp.where(known, mean, 0.0), jnp.where(known, spread, 1.0)
