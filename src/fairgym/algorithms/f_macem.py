"""F-MACEM: the fair multi-agent cross-entropy method (MAFE, algorithm 1).

The cross-entropy method is that of Rubinstein, "The Cross-Entropy Method for Combinatorial and
Continuous Optimization" (1999), https://doi.org/10.1023/A:1010091220143.

The search distribution is a Gaussian with diagonal covariance over the joint parameters of all
policies. Each epoch samples candidates (parameters of all policies), runs one episode with each,
ranks them by the objective and fits the Gaussian to the elite. The result is the mean.

| symbol | name here |
| --- | --- |
| theta | `candidates` |
| mu, sigma^2 | `mean`, `spread` squared |
| p% | `elite_share` |
| alpha, beta | the objective's weights |
"""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Key, PRNGKeyArray, PyTree

from fairgym.algorithms import _log_keys as log_keys
from fairgym.algorithms._algorithm import (
    LARGEST_WIDTH,
    MOST_EPISODES,
    Epochs,
    TrainState,
    algorithms,
)
from fairgym.algorithms._compiled import compiled
from fairgym.algorithms._episodes import (
    log_episodes,
    log_metrics,
    log_multipliers,
    raised_multipliers,
    ranked,
    run_candidates,
    survived,
)
from fairgym.core import AnyPolicy, Environment, Episode, param
from fairgym.core.batching import replicated
from fairgym.policies import equivariant, split_trainable


class FMacemState(TrainState):
    """The search distribution of F-MACEM.

    Attributes:
        mean: Mean of the trainable parameters: agent -> policy without its static part.
        spread: Standard deviation, with the same structure.
        static: Static part of the policies (standardisation, shapes).
        multipliers: Per trained agent, one multiplier per bound of its objective.
    """

    mean: dict[str, PyTree]
    spread: dict[str, PyTree]
    static: dict[str, PyTree]
    multipliers: tuple[Float[Array, "..."], ...]


@algorithms.register("f-macem")
@dataclasses.dataclass(frozen=True)
class FMacem(Epochs[FMacemState]):
    """Hyperparameters of F-MACEM (MAFE, algorithm 1); defaults are those of MAFE, table 8."""

    constants = ("elite_share", "discount")
    epochs: int = param(40, "Epochs; each updates the distribution once (table 8: 40).", low=1)
    episodes_per_epoch: int = param(
        100,
        "Candidates per epoch, one episode each (table 8: 100).",
        low=2,
        high=MOST_EPISODES,
    )
    elite_share: float = param(
        0.2,
        "Share of candidates in the elite, to which the distribution is fitted (table 8: 0.2).",
        low=0,
        high=1,
    )
    hidden: int = param(32, "Hidden units of the two-layer networks.", low=1, high=LARGEST_WIDTH)
    pooled: bool = param(False, "Also give per-person networks the mean over all people.")
    init_std: float = param(1.0, "Initial standard deviation of every parameter.", low=0)
    noise_floor: float = param(
        0.0,
        "Standard deviation added in quadrature at each update, to prevent early collapse; 0 is "
        "the plain method.",
        low=0,
    )
    smoothing: float = param(
        0.0,
        "Weight of the old mean and variance in an update; 0 is the plain method.",
        low=0,
        high=1,
    )
    common_random_numbers: bool = param(
        False, "Use the same people and the same noise for all candidates of an epoch."
    )
    multiplier_rate: float = param(
        1.0, "Step size of the multipliers of a bounded objective.", low=0
    )
    discount: float = param(1.0, "Discount factor of the component sums (gamma).", low=0, high=1)
    failed_last: bool = param(
        True,
        "Rank terminated episodes below all others, ordered by length. If off, rank all episodes "
        "by score alone.",
    )
    vmap_size: int = param(0, "Number of episodes per vmap; 0 chooses by device.", low=0)

    @property
    def score_discount(self) -> float:
        """Discount factor of the component sums that the objective scores."""
        return self.discount

    def steps_per_update(self, env: Environment) -> int:
        """Return the environment steps of an epoch if no episode ends early."""
        return self.episodes_per_epoch * env.horizon

    @property
    def elites(self) -> int:
        """Number of candidates in the elite, at least 1."""
        return max(1, round(self.elite_share * self.episodes_per_epoch))

    def _start(self, fields: dict[str, Any], key: PRNGKeyArray) -> FMacemState:
        """Return a normal distribution around zero with standard deviation `init_std`."""
        env, objectives = fields["env"], fields["objectives"]
        policies = equivariant(env, key, self.hidden, pooled=self.pooled, params=fields["params"])
        trainable, static = split_trainable({agent: policies[agent] for agent, _ in objectives})
        return FMacemState(
            **fields,
            mean=jax.tree.map(jnp.zeros_like, trainable),
            spread=jax.tree.map(lambda x: jnp.full_like(x, self.init_std), trainable),
            static=static,
            multipliers=tuple(o.initial_multipliers() for _, o in objectives),
        )

    def policies(self, state: FMacemState) -> dict[str, AnyPolicy]:
        """Return the mean policy of each trained agent, and the fixed ones."""
        return self._policies(state, state.mean)

    def _policies(self, state: FMacemState, trainable: PyTree) -> dict[str, AnyPolicy]:
        return state.with_fixed(eqx.combine(trainable, state.static))

    def update(self, state: FMacemState) -> tuple[FMacemState, dict[str, Array]]:
        """Run one epoch: sample, run, rank, fit, and evaluate the new mean."""
        return self._epoch(replicated(state))

    @compiled
    def _epoch(self, state: FMacemState) -> tuple[FMacemState, dict[str, Array]]:
        key, next_key = state.next_key()
        sample_key, episode_key, mean_key = jax.random.split(key, 3)

        # Sample the candidates, run an episode with each
        count = self.episodes_per_epoch
        # sampled as one array: one call per leaf takes many times longer to compile
        flat, in_policies = ravel_pytree(state.mean)
        normals = jax.vmap(in_policies)(jax.random.normal(sample_key, (count, flat.size)))
        candidates = jax.tree.map(lambda m, s, z: m + s * z, state.mean, state.spread, normals)
        keys = jax.random.split(episode_key, count)
        if self.common_random_numbers:
            keys = jnp.broadcast_to(keys[:1], keys.shape)
        results = self._episodes(state, candidates, keys)

        # Rank by each agent's objective and fit its block of the Gaussian to the elite
        mean, spread, scores, leading = {}, {}, {}, {}
        for (agent, objective), multiplier in zip(state.objectives, state.multipliers, strict=True):
            score = jax.vmap(lambda t, j, o=objective, m=multiplier: o.score(t, j, m))(
                results.totals, results.memories
            )
            scores[agent] = score = jnp.where(jnp.isfinite(score), score, -jnp.inf)
            alive, length = 1.0 - results.terminated, results.length.astype(jnp.float32)
            order = ranked(score, alive, length, failed_last=self.failed_last)
            elite, leading[agent] = order[: self.elites], score[order[0]]
            best = jax.tree.map(lambda x, e=elite: x[e], candidates[agent])
            mean[agent], spread[agent] = self._fit(state.mean[agent], state.spread[agent], best)

        # Evaluate the new mean policy
        repeat = self.evaluation_episodes
        measured = self._episodes(
            state,
            jax.tree.map(lambda x: jnp.broadcast_to(x, (repeat, *x.shape)), mean),
            jax.random.split(mean_key, repeat),
        )
        # The bound applies to the learned policy; an elite may satisfy it by chance
        multipliers = raised_multipliers(
            state.objectives, state.multipliers, measured.totals, self.multiplier_rate
        )
        log = self._log(state, scores, leading, results, measured, spread, multipliers)
        state = state.replace(
            mean=mean,
            spread=spread,
            multipliers=multipliers,
            key=next_key,
            updates=state.updates + 1,
        )
        return state, log

    def _episodes(
        self, state: FMacemState, candidates: PyTree, keys: Key[Array, " candidates"]
    ) -> Episode:
        """Run one episode for each candidate."""
        return run_candidates(
            state.env,
            state.params,
            lambda trainable: self._policies(state, trainable),
            candidates,
            keys,
            discount=self.discount,
            vmap_size=self.vmap_size,
        )

    def _fit(self, mean: PyTree, spread: PyTree, elite: PyTree) -> tuple[PyTree, PyTree]:
        keep = self.smoothing

        def variance(old: Array, best: Array) -> Array:
            mixed = keep * old**2 + (1.0 - keep) * jnp.var(best, axis=0)
            return jnp.sqrt(mixed + self.noise_floor**2)

        return (
            jax.tree.map(lambda old, x: keep * old + (1.0 - keep) * jnp.mean(x, 0), mean, elite),
            jax.tree.map(variance, spread, elite),
        )

    def _log(
        self,
        state: FMacemState,
        scores: dict[str, Array],
        leading: dict[str, Array],
        results: PyTree,
        measured: PyTree,
        spread: PyTree,
        multipliers: tuple[Array, ...],
    ) -> dict[str, Array]:
        log = log_episodes(state.env, state.objectives, measured)
        agent = state.objectives[0][0]
        first, best = scores[agent], leading[agent]
        found = {
            log_keys.OBJECTIVE: jnp.mean(jnp.where(jnp.isfinite(first), first, 0.0)),
            f"{log_keys.OBJECTIVE}_best": jnp.where(jnp.isfinite(best), best, 0.0),
            **log_metrics(state.env, results.totals, results.memories),
            log_keys.SURVIVED: survived(results),
            "steps": jnp.sum(results.length).astype(jnp.float32),
        }
        log |= {log_keys.candidates(name): x for name, x in found.items()}
        log[log_keys.ENVIRONMENT_STEPS] = found["steps"]
        log["spread"] = jnp.sqrt(jnp.mean(ravel_pytree(spread)[0] ** 2))
        return log | log_multipliers(state.objectives, multipliers)
