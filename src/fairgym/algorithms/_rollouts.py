"""Rollouts that collect experience across episodes, and the observations of learners.

`AutoReset` starts a new episode after each one that ends, so a rollout continues.

In large populations learners observe a sample of at most `sampled_people` persons, redrawn at every
step. They learn from means over the people present, of which a sample's mean is an unbiased
estimate. During training, an agent with a per-person action still scores everybody, an agent with a
group-level action acts on the sample, and an agent that chooses one of the people observes all of
them. The learned policies observe everybody.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray, PyTree

from fairgym.core import (
    AnyPolicy,
    Entities,
    Environment,
    Params,
    Struct,
    decide,
    first_hidden,
    no_components,
)
from fairgym.core.batching import episode_mesh
from fairgym.fairness import Objective


@eqx.filter_jit
def first_states(env: Environment, params: Params, keys: Key[Array, " envs"]) -> PyTree:
    """Return environment states at the start of an episode, one for each key."""
    return jax.vmap(lambda key: env.initial_state(key, params))(keys)


class RolloutState(Struct):
    """State of one environment from which experience is collected.

    Attributes:
        state: Environment state.
        scheme_states: Per trained agent, states of its objective's fairness schemes.
        hidden: Hidden states of fixed policies that have one, by name of agent.
        measure_states: States of the learner's fairness measures, by name.
    """

    state: PyTree
    scheme_states: tuple[dict[str, PyTree], ...]
    hidden: dict[str, PyTree]
    measure_states: dict[str, PyTree] = eqx.field(default_factory=dict)


def initial_scheme_states(
    env: Environment, params: Params, objectives: Sequence[tuple[str, Objective]]
) -> tuple[dict[str, PyTree], ...]:
    """Return the states of the objectives' fairness schemes at the start of an episode.

    Args:
        env: The environment.
        params: Its parameters.
        objectives: Pairs (agent, objective).
    """
    if not any(objective.weighed_schemes for _, objective in objectives):
        return tuple({} for _ in objectives)  # without tracing a step
    like = no_components(env, params)
    return tuple(objective.initial(like) for _, objective in objectives)


def initial_rollout_states(
    env: Environment,
    params: Params,
    objectives: Sequence[tuple[str, Objective]],
    fixed: Mapping[str, AnyPolicy],
    keys: Key[Array, " envs"],
) -> RolloutState:
    """Return rollout states at the start of an episode, one for each key, stacked."""
    memories = initial_scheme_states(env, params, objectives), first_hidden(fixed)
    scheme_states, hidden = jax.tree.map(
        lambda x: jnp.broadcast_to(x, (len(keys), *jnp.shape(x))), memories
    )
    return RolloutState(
        state=first_states(env, params, keys), scheme_states=scheme_states, hidden=hidden
    )


def initial_rollout_state(
    env: Environment,
    params: Params,
    objectives: Sequence[tuple[str, Objective]],
    fixed: Mapping[str, AnyPolicy],
    key: PRNGKeyArray,
) -> RolloutState:
    """Return a rollout state at the start of an episode."""
    state = env.initial_state(key, params)
    return RolloutState(state, initial_scheme_states(env, params, objectives), first_hidden(fixed))


def sample_people(
    observation: Entities, key: PRNGKeyArray, size: int
) -> tuple[Entities, Int[Array, " sample"]]:
    """Draw a systematic sample of the people present: everybody, if at most `size` are present.

    Args:
        observation: Observation of one agent.
        key: A JAX key.
        size: Maximum size of the sample; 0 keeps everybody.

    Returns:
        The observation restricted to the sampled rows, and these row numbers.
    """
    capacity = observation.mask.shape[0]
    if size == 0 or capacity <= size:
        return observation, jnp.arange(capacity)
    upto = jnp.cumsum(observation.mask.astype(jnp.int32))
    present = upto[-1]
    place = jnp.arange(size)
    spread = (place + jax.random.uniform(key)) * (present / size)
    chosen = jnp.where(present > size, spread.astype(jnp.int32), place)
    rows = jnp.searchsorted(upto, chosen + 1, method="scan_unrolled")
    taken = chosen < present
    rows = jnp.where(taken, rows, 0)
    features = jnp.where(taken[:, None], observation.features[rows], 0.0)
    return Entities(features, taken, observation.context), rows


class Step(Struct):
    """One step of one env in the learner's form; dictionaries are keyed by name of agent.

    Attributes:
        observations: Observations of all agents, with sampled people (F-MADDPG: in stored form).
        present: Share of rows in an agent's full observation that hold a person, for each agent in
            acting order.
        actions: Actions of the trained agents on the sampled people, in the learner's form (PPO:
            explored logits or options).
        acts: Whether a trained agent acted in this step.
        rewards: Rewards of the trained agents.
        done: Whether the episode ended with this step.
        next_observation: Inputs of the critic after the step, before a reset, and whether the
            episode terminated; None for learners whose value after any end is 0.
        signals: Additional numbers of the step by name, for learners that use more than rewards.
    """

    observations: dict[str, PyTree]
    present: Float[Array, "... all_agents"]
    actions: dict[str, Array]
    acts: dict[str, Bool[Array, "..."]]
    rewards: Float[Array, "... agents"]
    done: Bool[Array, "..."]
    next_observation: PyTree = None
    signals: dict[str, Float[Array, "..."]] = eqx.field(default_factory=dict)


class SampledObservations(Struct):
    """Full and sampled observations of all agents, by name of agent.

    Attributes:
        full: Observations of everybody.
        samples: Observations of the sampled people.
        rows: Row numbers of the sampled people.
        present: See `Step`.
    """

    full: dict[str, Entities]
    samples: dict[str, Entities]
    rows: dict[str, Int[Array, " sample"]]
    present: Float[Array, " all_agents"]

    def to_act_on(self, agent: str, space: Any) -> Entities:
        """Return the observation to act on during training: the full one for per-person actions."""
        return (self.full if space.per_entity else self.samples)[agent]


def observe_sampled(
    env: Environment, params: Params, env_state: PyTree, key: PRNGKeyArray, sampled_people: int
) -> SampledObservations:
    """Observe an environment state, with samples of at most `sampled_people` persons."""
    full = env.observe(env_state, params)
    keys = jax.random.split(key, len(env.agents))
    samples, rows = {}, {}
    for agent, agent_key in zip(env.agents, keys, strict=True):
        size = 0 if env.action_space(agent).chooses_row else sampled_people
        samples[agent], rows[agent] = sample_people(full[agent], agent_key, size)
    present = [jnp.mean(full[agent].mask.astype(jnp.float32)) for agent in env.agents]
    return SampledObservations(dict(full), samples, rows, jnp.stack(present))


def acting(env: Environment, agent: str, env_state: PyTree) -> Bool[Array, ""]:
    """Return True if the agent acts in this environment state."""
    return env_state.time % env.spec.periods.get(agent, 1) == 0


def fixed_actions(
    env: Environment,
    fixed: Mapping[str, AnyPolicy],
    observations: Mapping[str, Entities],
    key: PRNGKeyArray,
    rollout: Any,
) -> tuple[dict[str, Array], dict[str, PyTree]]:
    """Return actions and next hidden states of the fixed policies, by name of agent.

    Args:
        env: The environment.
        fixed: The fixed policies, with or without a hidden state.
        observations: Observations of all agents.
        key: A JAX key.
        rollout: A `RolloutState`, or any object with a `state` and `hidden` states.
    """
    keys = jax.random.split(key, len(env.agents))
    actions, hidden = {}, dict(rollout.hidden)
    for agent, agent_key in zip(env.agents, keys, strict=True):
        if agent not in fixed:
            continue
        before = hidden.get(agent)
        actions[agent], after = decide(fixed[agent], observations[agent], agent_key, before)
        if agent in hidden:
            hidden[agent] = where(acting(env, agent, rollout.state), after, before)
    return actions, hidden


def where(condition: Bool[Array, ""], one: PyTree, other: PyTree) -> PyTree:
    """Return the arrays of one pytree if the condition holds, otherwise those of the other."""
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), one, other)


def scan_state(
    function: Callable[[PyTree, PRNGKeyArray], tuple[PyTree, PyTree]],
    state: PyTree,
    keys: Key[Array, " steps"],
) -> tuple[PyTree, PyTree]:
    """Apply `lax.scan` over keys to a function whose state has static parts.

    Args:
        function: `function(state, key) -> (state, output)`; it may change only arrays.
        state: A pytree, such as a `TrainState`.
        keys: JAX keys, one per step.

    Returns:
        The last state, and the outputs stacked along a first axis.
    """
    arrays, rest = eqx.partition(state, eqx.is_array)

    def step(arrays: PyTree, key: PRNGKeyArray) -> tuple[PyTree, PyTree]:
        after, found = function(eqx.combine(arrays, rest), key)
        return eqx.filter(after, eqx.is_array), found

    arrays, found = lax.scan(step, arrays, keys)
    return eqx.combine(arrays, rest), found


def spread_over_devices(tree: PyTree, envs: int) -> PyTree:
    """Shard the first axis (envs) over all devices, if their number divides it."""
    mesh = episode_mesh()
    if envs % mesh.size:
        return tree
    sharding = NamedSharding(mesh, PartitionSpec("episodes"))
    return jax.tree.map(lambda x: lax.with_sharding_constraint(x, sharding), tree)
