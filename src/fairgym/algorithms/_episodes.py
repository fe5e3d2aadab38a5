"""Batches of whole episodes of many policies, and the log made from them."""

from collections.abc import Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray, PyTree

from fairgym.algorithms import _log_keys as log_keys
from fairgym.core import AnyPolicy, Components, Environment, Episode, Params, rollout
from fairgym.core.batching import map_episodes
from fairgym.fairness import Disparity, Objective
from fairgym.fairness.metrics import ratio


def run_episodes(
    env: Environment,
    params: Params,
    policies: Mapping[str, AnyPolicy],
    keys: Key[Array, " episodes"],
    *,
    discount: float = 1.0,
    vmap_size: int = 0,
) -> Episode:
    """Run one episode of the same policies (agent -> policy) for each key.

    Everything else is as in `run_candidates`.
    """
    return run_candidates(
        env, params, lambda nothing: policies, (), keys, discount=discount, vmap_size=vmap_size
    )


def run_candidates(
    env: Environment,
    params: Params,
    policies_of: Callable[[PyTree], Mapping[str, AnyPolicy]],
    candidates: PyTree,
    keys: Key[Array, " candidates"],
    *,
    discount: float = 1.0,
    vmap_size: int = 0,
) -> Episode:
    """Run one episode for each candidate, distributed over all devices.

    Pure; call it inside jit.

    Args:
        env: The environment.
        params: Its parameters.
        policies_of: Function from one candidate to the policies of all agents.
        candidates: A pytree of trainable numbers, with a first axis over candidates.
        keys: JAX keys, one per candidate; equal keys give the same people and the same noise.
        discount: Discount factor of the component sums.
        vmap_size: Number of episodes per vmap; 0 chooses by device.

    Returns:
        An `Episode` whose leaves have a first axis over candidates, without the final states.
    """

    def one(item: tuple[PyTree, PRNGKeyArray]) -> Episode:
        candidate, key = item
        episode = rollout(env, params, policies_of(candidate), key, discount=discount)
        return episode.replace(final_state=None)

    return map_episodes(one, (candidates, keys), vmap_size or None, env=env)


def log_episodes(
    env: Environment, objectives: Sequence[tuple[str, Objective]], episodes: Episode
) -> dict[str, Array]:
    """Return the log of a policy: means over its episodes.

    Args:
        env: The environment.
        objectives: Pairs (agent, objective).
        episodes: An `Episode` whose leaves have a first axis over episodes.

    Returns:
        "objective" (mean over agents, and "objective/AGENT" if they are not all the same object),
        "metrics/NAME", "terms/KIND", "gap/DISPARITY/GROUP", "actions/AGENT/ELEMENT" and "survived",
        the share of episodes that did not terminate early.
    """
    own = {
        agent: jnp.mean(jax.vmap(objective.score)(episodes.totals, episodes.memories))
        for agent, objective in objectives
    }
    log = {log_keys.OBJECTIVE: jnp.mean(jnp.stack(list(own.values())))}
    if len({id(objective) for _, objective in objectives}) > 1:  # equal ones are one object
        log |= {log_keys.objective(agent): value for agent, value in own.items()}
    log |= log_metrics(env, episodes.totals, episodes.memories)
    log |= log_gaps(env, episodes.totals)
    for agent, action in episodes.mean_actions.items():
        names, means = env.action_space(agent).names, jnp.mean(action, axis=0).reshape(-1)
        log |= {log_keys.action(agent, n): x for n, x in zip(names, means, strict=True)}
    log[log_keys.SURVIVED] = survived(episodes)
    return log


def log_metrics(
    env: Environment, totals: Components, memories: Mapping[str, PyTree] | None = None
) -> dict[str, Array]:
    """Return means over episodes of every metric and scheme, and of the objective's terms.

    Metrics and schemes have the keys "metrics/NAME". The terms are `EnvironmentSpec.terms`,
    normalised and summed by kind ("terms/direct", "terms/rate", "terms/fair"), and the normalised
    scores of schemes ("terms/scheme"). They do not follow from the raw means, because some
    normalisers depend on the episode (`Disparity.normalise_by_sum`).

    Args:
        env: The environment.
        totals: Component sums of the episodes, with a first axis over them.
        memories: Scheme states after the episodes (`Episode.memories`); None leaves schemes out.
    """
    log = {
        log_keys.metric(name): jnp.mean(jax.vmap(metric.value)(totals))
        for name, metric in env.metrics.items()
    }
    for metric in (env.metrics[name] for name in env.spec.terms):
        mean = jnp.mean(jax.vmap(metric.normalised)(totals))
        key = log_keys.term(metric.kind)
        log[key] = log.get(key, 0.0) + mean
    for name, scheme_states in (memories or {}).items():
        scheme = env.spec.schemes[name]
        score = jnp.mean(jax.vmap(scheme.score)(scheme_states))
        log[log_keys.metric(name)] = score
        key = log_keys.term("scheme")
        log[key] = log.get(key, 0.0) + score / scheme.normaliser
    return log


def log_gaps(env: Environment, totals: Components) -> dict[str, Array]:
    """Return signed gaps of the rates that disparities compare ("gap/DISPARITY/GROUP").

    A gap is the rate of a group minus that of the first group, averaged over the episodes in which
    the disparity is defined. It is NaN (null in logs) if there is no such episode.

    Args:
        env: The environment.
        totals: Component sums of the episodes, with a first axis over them.
    """
    log = {}
    for name, metric in env.metrics.items():
        if isinstance(metric, Disparity):
            rates = jax.vmap(metric.rate.per_group)(totals)
            known = jax.vmap(metric.defined)(totals)
            gaps = jnp.where(known[:, None], rates[:, 1:] - rates[:, :1], 0.0)
            count = jnp.sum(known.astype(jnp.float32))
            # NaN, because a gap of 0 would read as parity
            means = jnp.where(count > 0.0, ratio(jnp.sum(gaps, axis=0), count), jnp.nan)
            parts = metric.rate.parts_in(env.spec)[1:]
            log |= {log_keys.gap(name, p): x for p, x in zip(parts, means, strict=True)}
    return log


def log_multipliers(
    objectives: Sequence[tuple[str, Objective]], multipliers: Sequence[Float[Array, "..."]]
) -> dict[str, Array]:
    """Return the log of the multipliers of bounded objectives ("multipliers/AGENT/METRIC").

    Args:
        objectives: Pairs (agent, objective).
        multipliers: One array per agent.
    """
    return {
        log_keys.multiplier(agent, name): value
        for (agent, objective), own in zip(objectives, multipliers, strict=True)
        for name, value in zip(objective.bounds, own, strict=True)
    }


def raised_multipliers(
    objectives: Sequence[tuple[str, Objective]],
    multipliers: Sequence[Float[Array, "..."]],
    totals: Components,
    rate: float | Float[Array, ""],
) -> tuple[Float[Array, "..."], ...]:
    """Return the updated multipliers of bounded objectives, per agent.

    Args:
        objectives: Pairs (agent, objective).
        multipliers: Current multipliers, one array per agent.
        totals: Component sums of episodes of the learned policies, with a first axis over them.
        rate: Step size.
    """
    return tuple(
        objective.raise_multipliers(
            before, jnp.mean(jax.vmap(objective.excess)(totals), axis=0), rate
        )
        for (_, objective), before in zip(objectives, multipliers, strict=True)
    )


def ranked(
    scores: Float[Array, " candidates"],
    survived: Float[Array, " candidates"],
    length: Float[Array, " candidates"],
    *,
    failed_last: bool,
) -> Int[Array, " candidates"]:
    """Rank candidates from best to worst; ties keep their order.

    An episode that terminates at once has neither losses nor disparities, so it can outscore all
    episodes that go on.

    Args:
        scores: Scores; one that is not finite ranks below all others.
        survived: Share of a candidate's episodes that did not terminate early.
        length: Mean number of steps of its episodes.
        failed_last: Whether to rank by survival first, then by length, and only then by score.
    """
    keys = (-jnp.where(jnp.isfinite(scores), scores, -jnp.inf),)
    return jnp.lexsort((*keys, -length, -survived) if failed_last else keys)


def survived(episodes: Episode) -> Float[Array, ""]:
    """Return the share of episodes that did not terminate early."""
    return jnp.mean(1.0 - episodes.terminated.astype(jnp.float32))


def explained_variance(
    error: Float[Array, "envs steps values"], target: Float[Array, "envs steps values"]
) -> Float[Array, " values"]:
    """Return the share of the variance of targets that the critic explains.

    Args:
        error: Targets minus values.
        target: Targets.
    """
    return 1.0 - jnp.var(error, (0, 1)) / (jnp.var(target, (0, 1)) + 1e-8)
