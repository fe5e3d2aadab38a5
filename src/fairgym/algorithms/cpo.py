"""Constrained policy optimisation: the best step in a trust region that satisfies a bound.

Achiam, Held, Tamar and Abbeel, "Constrained Policy Optimization" (2017),
https://arxiv.org/abs/1705.10528. The step follows equations 11 to 13 and appendix 10.2, with
conjugate gradients instead of the inverse Fisher matrix, and a backtracking line search.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jax.scipy.sparse.linalg import cg
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from fairgym.algorithms import _log_keys as log_keys
from fairgym.algorithms._algorithm import algorithms
from fairgym.algorithms._on_policy import Batch, PpoState, explored_log_probability, mean_entropy
from fairgym.algorithms._terms import SHORT_TERM, FairnessMeasures, Terms
from fairgym.algorithms.ppo import Ppo
from fairgym.core import Entities, Environment, FairgymError, option_logits, param

SHRINK = 0.8  # factor of the step at each trial of the line search
TRIES = 10
TINY = 1e-8


def constrained_step(
    gradient: Float[Array, " numbers"],
    cost_gradient: Float[Array, " numbers"],
    excess: Float[Array, ""],
    solve: Callable[[Array], Array],
    radius: float | Float[Array, ""],
) -> Float[Array, " numbers"]:
    """Return the x that maximises g.x subject to c + b.x <= 0 and x.Hx / 2 <= delta (equation 11).

    If no x satisfies both, return the one that reduces the cost most within the trust region
    (equation 14).

    Args:
        gradient: Gradient g of the objective.
        cost_gradient: Gradient b of the cost.
        excess: Cost minus its limit, c.
        solve: Function from y to H^-1 y.
        radius: Trust region radius delta.
    """
    v, w = solve(gradient), solve(cost_gradient)
    q, r, s = gradient @ v, gradient @ w, cost_gradient @ w + TINY
    free = v * jnp.sqrt(2.0 * radius / (q + TINY))
    recovery = -w * jnp.sqrt(2.0 * radius / s)
    # the dual problem (appendix 10.2), with nu = 0 and with nu > 0, where lambda c + r > 0
    inner = jnp.maximum(q - r**2 / s, 0.0)
    room = 2.0 * radius - excess**2 / s
    edge = jnp.maximum(-r / jnp.where(jnp.abs(excess) > TINY, excess, TINY), 0.0)
    below, above = (jnp.float32(0.0), edge), (edge, jnp.float32(jnp.inf))
    inside = excess < 0.0
    bound = [jnp.where(inside, x, y) for x, y in zip(below, above, strict=True)]
    unbound = [jnp.where(inside, y, x) for x, y in zip(below, above, strict=True)]
    tight = jnp.clip(jnp.sqrt(inner / jnp.maximum(room, TINY)), *bound)
    loose = jnp.clip(jnp.sqrt(q / (2.0 * radius)), *unbound)
    value_tight = -0.5 * (inner / (tight + TINY) + room * tight) + r * excess / s
    value_loose = -0.5 * (q / (loose + TINY) + 2.0 * radius * loose)
    price = jnp.where(value_tight >= value_loose, tight, loose)
    nu = jnp.maximum(0.0, price * excess + r) / s
    constrained = (v - nu * w) / (price + TINY)
    harmless = (cost_gradient @ cost_gradient <= TINY) & inside
    step = jnp.where(room < 0.0, jnp.where(inside, free, recovery), constrained)
    return jnp.where(harmless, free, step)


@algorithms.register("cpo")
@dataclasses.dataclass(frozen=True)
class Cpo(FairnessMeasures, Ppo):
    """Hyperparameters of CPO, in addition to those of PPO; it trains one agent.

    The cost of a step is the short-term unfairness after it. `learning_rate`, `update_epochs`,
    `num_minibatches` and `max_grad_norm` apply to the critic. There is no `clip_eps`, `ent_coef`
    or `vf_coef`.
    """

    # constants here: nothing is clipped, actor and critic are trained separately
    clip_eps: ClassVar[float] = 0.0  # pyright: ignore[reportIncompatibleVariableOverride]
    ent_coef: ClassVar[float] = 0.0  # pyright: ignore[reportIncompatibleVariableOverride]
    vf_coef: ClassVar[float] = 1.0  # pyright: ignore[reportIncompatibleVariableOverride]
    learn_std: ClassVar[bool] = True  # pyright: ignore[reportIncompatibleVariableOverride]

    gamma: float = 0.995
    learning_rate: float = 1e-3
    cost_limit: float = param(0.05, "Limit on mean short-term unfairness over the steps.", low=0)
    trust_region: float = param(
        0.01,
        "Trust region delta: maximum mean KL divergence of the new policy from the old one.",
        low=0,
        above=True,
    )
    damping: float = param(0.1, "Damping added to the diagonal of the Fisher matrix.", low=0)
    cg_iterations: int = param(10, "Conjugate gradient iterations.", low=1)

    def terms(self, env: Environment, trained: tuple[str, ...]) -> Terms:
        """Return the cost, whose discounted sum the critic also predicts."""
        measures = self.measures(env)
        if len(trained) > 1 or self.network != "flat":
            raise FairgymError(
                f"cpo would train {', '.join(trained)} with {self.network} networks; it trains one"
                " agent with flat networks"
            )
        return Terms(measures, valued=(SHORT_TERM,), values=1)

    def _loss(
        self, trainable: PyTree, state: PpoState, batch: Batch
    ) -> tuple[Array, dict[str, Array]]:
        """Return the critic's loss only; the actor is updated separately."""
        nets = eqx.combine(trainable[0], state.static)
        values = jax.vmap(jax.vmap(nets.critic))(batch.steps.observations, batch.steps.present)
        error = jnp.mean(optax.huber_loss(values, batch.returns))
        return error, {log_keys.VALUE_ERROR: error}

    def _improve(
        self, state: PpoState, batch: Batch, key: PRNGKeyArray
    ) -> tuple[PpoState, dict[str, Array]]:
        """Update the policy within the trust region, then the critic."""
        state, found = self._step_policy(state, batch)
        state, losses = super()._improve(state, batch, key)
        return state, losses | found

    def _step_policy(self, state: PpoState, batch: Batch) -> tuple[PpoState, dict[str, Array]]:
        """Update the policy by one step within the trust region.

        Means are over the steps in which the agent acts. The cost limit is over all steps: the less
        often the agent acts, the less it changes the mean cost.
        """
        (agent,) = state.trained
        steps, before = batch.steps, batch.before[agent]
        actor = state.trainable.actors[agent]
        start, restored = ravel_pytree((actor, state.log_std[agent]))
        acts = steps.acts[agent].astype(jnp.float32)
        total = jnp.maximum(jnp.sum(acts), 1.0)

        def mean(values: Float[Array, "envs steps"]) -> Float[Array, ""]:
            return jnp.sum(acts * values) / total

        own, cost = (x - mean(x) for x in jnp.moveaxis(batch.advantage, 2, 0))
        own = own / (jnp.sqrt(mean(own**2)) + TINY)
        cost = cost * jnp.mean(acts)

        def policy(numbers: Array) -> tuple[PyTree, Array]:
            arrays, log_std = restored(numbers)
            return eqx.combine(arrays, state.static.actors[agent]), log_std

        def surrogate(numbers: Array, advantage: Array) -> Array:
            network, log_std = policy(numbers)
            now = explored_log_probability(network, log_std, steps, agent)
            return mean(jnp.exp(now - before) * advantage)

        observations = steps.observations[agent]
        old = jax.lax.stop_gradient(_outputs(*policy(start), observations))

        def divergence(numbers: Array) -> Array:
            network, log_std = policy(numbers)
            return mean(
                _divergence(
                    network.space, old, _outputs(network, log_std, observations), observations
                )
            )

        slope = jax.grad(divergence)

        def fisher(x: Array) -> Array:
            return jax.jvp(slope, (start,), (x,))[1] + self.damping * x

        gradient = jax.grad(surrogate)(start, own)
        cost_gradient = jax.grad(surrogate)(start, cost)
        excess = jnp.mean(steps.signals[SHORT_TERM]) - self.cost_limit
        step = constrained_step(
            gradient,
            cost_gradient,
            excess,
            lambda y: cg(fisher, y, maxiter=self.cg_iterations)[0],
            self.trust_region,
        )
        at_start = surrogate(start, own), surrogate(start, cost)

        def accepted(size: Array) -> Array:
            numbers = start + size * step
            better = surrogate(numbers, own) >= at_start[0]
            dearer = surrogate(numbers, cost) - at_start[1]
            close = divergence(numbers) <= 1.5 * self.trust_region
            return close & (better | (excess > 0.0)) & (dearer <= jnp.maximum(-excess, 0.0))

        sizes = SHRINK ** jnp.arange(TRIES)
        fine = jax.lax.map(accepted, sizes)
        size = jnp.where(jnp.any(fine), sizes[jnp.argmax(fine)], 0.0)
        arrays, log_std = restored(start + size * step)
        log_std = jnp.minimum(log_std, jnp.log(self.max_std))
        trainable = eqx.tree_at(lambda nets: nets.actors[agent], state.trainable, arrays)
        state = state.replace(trainable=trainable, log_std={agent: log_std})
        apart, (network, after) = divergence(start + size * step), policy(start + size * step)
        return state, {
            "step_size": size,
            "divergence": apart,
            log_keys.APPROXIMATE_KL: apart,
            log_keys.ENTROPY: mean_entropy(network, after, steps, agent, acts / total),
        }


def _outputs(network: PyTree, log_std: Array, observations: Entities) -> tuple[Array, Array]:
    """Return the network outputs for each step, and the log standard deviations."""
    return jax.vmap(jax.vmap(network.logits))(observations), log_std


def _divergence(
    space: Any, old: PyTree, new: PyTree, observations: Entities
) -> Float[Array, "envs steps"]:
    """Return the KL divergence of the new exploration from the old one, per step."""
    (old_logits, old_std), (logits, std) = old, new
    if space.discrete:

        def of_step(old_logits: Array, logits: Array, mask: Array) -> Array:
            before = jax.nn.log_softmax(option_logits(space, old_logits, mask))
            after = jax.nn.log_softmax(option_logits(space, logits, mask))
            return jnp.sum(jnp.exp(before) * (before - after))

        return jax.vmap(jax.vmap(of_step))(old_logits, logits, observations.mask)
    variance = jnp.exp(2.0 * old_std) + (logits - old_logits) ** 2
    each = std - old_std + 0.5 * variance * jnp.exp(-2.0 * std) - 0.5
    return jnp.sum(each, axis=-1)
