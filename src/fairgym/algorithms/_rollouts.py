"""Environments that run on, episode after episode, and their observations by learners.

A world is the state of an environment in which experience is collected; `AutoReset` begins a new
episode in it after each one that ends.

Of a crowd the learners see a sample of at most `sampled_people` persons, drawn anew at every
step: what they learn from are means over the people present, of which a sample's mean is an
unbiased estimate. An agent with a per-person action still scores everybody; an agent with a
group-level action acts, while it learns, on the sample. The learned policies see everybody, and so
does an agent that chooses one of the people, while it learns as well.
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
    """States at the start of an episode, one for each key."""
    return jax.vmap(lambda key: env.initial_state(key, params))(keys)


class RolloutState(Struct):
    """A copy of the environment in which experience is collected.

    Attributes:
        state: state of the environment.
        scheme_states: per trained agent, memories of the schemes that its objective weighs.
        hidden: hidden states of the agents that are not trained and have one, by name.
        measure_states: states of the fairness measures that the learner uses, by name.
    """

    state: PyTree
    scheme_states: tuple[dict[str, PyTree], ...]
    hidden: dict[str, PyTree]
    measure_states: dict[str, PyTree] = eqx.field(default_factory=dict)


def initial_scheme_states(
    env: Environment, params: Params, objectives: Sequence[tuple[str, Objective]]
) -> tuple[dict[str, PyTree], ...]:
    """Memories of the schemes that objectives weigh, at the start of an episode.

    Args:
        env: the environment.
        params: its parameters.
        objectives: pairs (agent, objective).
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
    """Worlds at the start of an episode, one for each key, stacked along a first axis."""
    memories = initial_scheme_states(env, params, objectives), first_hidden(fixed)
    scheme_states, hidden = jax.tree.map(
        lambda x: jnp.broadcast_to(x, (len(keys), *jnp.shape(x))), memories
    )
    return RolloutState(
        state=first_states(env, params, keys), scheme_states=scheme_states, hidden=hidden
    )


@eqx.filter_jit
def initial_rollout_state(
    env: Environment,
    params: Params,
    objectives: Sequence[tuple[str, Objective]],
    fixed: Mapping[str, AnyPolicy],
    key: PRNGKeyArray,
) -> RolloutState:
    """A world at the start of an episode."""
    state = env.initial_state(key, params)
    return RolloutState(state, initial_scheme_states(env, params, objectives), first_hidden(fixed))


def sample_people(
    observation: Entities, key: PRNGKeyArray, size: int
) -> tuple[Entities, Int[Array, " sample"]]:
    """A systematic sample of the people present: everybody, if they are no more than `size`.

    Args:
        observation: observation of one agent.
        key: a JAX key.
        size: largest size of the sample; 0 keeps everybody.

    Returns:
        The same observation with the rows of the sample only, and these rows.
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
    """One step of one world as a learner sees it; dictionaries by name of agent.

    Attributes:
        observations: observations of all agents, samples of their people (F-MADDPG: as it stores
            them).
        present: share of the places in an agent's observation (not of the sample) that hold a
            person, for each agent in acting order.
        actions: actions of the trained agents on the people of their samples, as the learner
            counts them (PPO: what was explored).
        acts: whether a trained agent acted at all in this step.
        rewards: rewards of the trained agents.
        done: whether the episode ended with this step.
        next_observation: what the critic observes after the step, before a reset, and whether the
            episode failed with it; None for a learner that takes the value after any end for 0.
        signals: further numbers of the step by name, of learners that look at more than rewards.
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
    """Observations of all agents, by name of agent, and samples of them.

    Attributes:
        full: the observations.
        samples: the same of samples of the people.
        rows: the rows of the samples.
        present: see `Step`.
    """

    full: dict[str, Entities]
    samples: dict[str, Entities]
    rows: dict[str, Int[Array, " sample"]]
    present: Float[Array, " all_agents"]

    def to_act_on(self, agent: str, space: Any) -> Entities:
        """The observation that a learning agent acts on: everybody if it scores people."""
        return (self.full if space.per_entity else self.samples)[agent]


def observe_sampled(
    env: Environment, params: Params, env_state: PyTree, key: PRNGKeyArray, sampled_people: int
) -> SampledObservations:
    """Observe a world, with samples of at most `sampled_people` persons."""
    full = env.observe(env_state, params)
    keys = jax.random.split(key, len(env.agents))
    samples, rows = {}, {}
    for agent, agent_key in zip(env.agents, keys, strict=True):
        size = 0 if env.action_space(agent).chooses_row else sampled_people
        samples[agent], rows[agent] = sample_people(full[agent], agent_key, size)
    present = [jnp.mean(full[agent].mask.astype(jnp.float32)) for agent in env.agents]
    return SampledObservations(dict(full), samples, rows, jnp.stack(present))


def acting(env: Environment, agent: str, env_state: PyTree) -> Bool[Array, ""]:
    """True if the agent acts in this step, in a world with this state."""
    return env_state.time % env.spec.periods.get(agent, 1) == 0


def fixed_actions(
    env: Environment,
    fixed: Mapping[str, AnyPolicy],
    observations: Mapping[str, Entities],
    key: PRNGKeyArray,
    rollout: Any,
) -> tuple[dict[str, Array], dict[str, PyTree]]:
    """Actions of the agents that are not trained, and their next hidden states, by name.

    Args:
        env: the environment.
        fixed: the policies of these agents, with or without a hidden state.
        observations: observations of all agents.
        key: a JAX key.
        rollout: a `RolloutState`, or what else has a `state` with a time and `hidden` states.
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
    """Arrays of one pytree if the condition holds, else those of another of its structure."""
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), one, other)


def scan_state(
    function: Callable[[PyTree, PRNGKeyArray], tuple[PyTree, PyTree]],
    state: PyTree,
    keys: Key[Array, " steps"],
) -> tuple[PyTree, PyTree]:
    """`lax.scan` over keys of a function of a state that is not arrays alone.

    Args:
        function: `function(state, key) -> (state, found)`, which changes nothing but arrays.
        state: a pytree, such as a `TrainState`.
        keys: JAX keys, one per step.

    Returns:
        The last state, and what was found, stacked along a first axis.
    """
    arrays, rest = eqx.partition(state, eqx.is_array)

    def step(arrays: PyTree, key: PRNGKeyArray) -> tuple[PyTree, PyTree]:
        after, found = function(eqx.combine(arrays, rest), key)
        return eqx.filter(after, eqx.is_array), found

    arrays, found = lax.scan(step, arrays, keys)
    return eqx.combine(arrays, rest), found


def spread_over_devices(tree: PyTree, envs: int) -> PyTree:
    """Keep the first axis (worlds) on the devices that collected them, so that all work."""
    mesh = episode_mesh()
    if envs % mesh.size:
        return tree
    sharding = NamedSharding(mesh, PartitionSpec("episodes"))
    return jax.tree.map(lambda x: lax.with_sharding_constraint(x, sharding), tree)
