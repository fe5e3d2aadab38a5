"""What F-MAPPO and F-MADDPG share: worlds that run on, what learners see of them, the critic.

Both learn from single steps. The reward of a step is equation (5) of MAFE, appendix D.6: the
objective on the step's own components (`Objective.step_reward`). An episode's end, by failure or
at the horizon, is the end of the sum that is maximised; the value after it is 0.

Of a crowd the learners see a sample of at most `people` persons, drawn anew at every step: what
they learn from are means over the people present, of which a sample's mean is an unbiased
estimate. An agent with a per-person action still scores everybody; an agent with a group-level
action acts, while it learns, on the sample. The learned policies see everybody.
"""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.algorithms._base import TrainState, as_arrays, log_episodes, objectives_of
from fairgym.core import Entities, Environment, PerEntity, Struct, rollout
from fairgym.core.batching import episode_mesh, map_episodes
from fairgym.policies import equivariant
from fairgym.policies.networks import Standardiser, standardiser

OUTPUT_SCALE = 0.1  # of the output layer at the start: actions begin near the middle, smoothly


class Learned(Struct):
    """The networks, and what they are learned with."""

    actors: dict[str, Any]
    critic: Any


class Step(Struct):
    """One step of one world as a learner sees it; arrays by name of agent.

    Attributes:
        observations: what each agent saw, samples of its people (F-MADDPG: as it stores them).
        actions: what each trained agent did about the people of its sample, as its learner
            counts actions (F-MAPPO: before they are squashed).
        acts: whether the trained agent acted at all in this step.
        rewards: of each trained agent.
        done: whether the episode ended with this step.
    """

    observations: dict[str, Any]
    actions: dict[str, Float[Array, "..."]]
    acts: dict[str, Bool[Array, "..."]]
    rewards: Float[Array, "... agents"]
    done: Bool[Array, "..."]


class GradientState(TrainState):
    """What both learners' states have.

    Attributes:
        worlds: states of the environment in which experience is collected.
        multipliers: per trained agent, one multiplier per bound of its objective.
    """

    worlds: Any
    multipliers: tuple[Float[Array, " bounds"], ...]


# ---------------------------------------------------------------- people


def sample_people(
    observation: Entities, key: PRNGKeyArray, people: int
) -> tuple[Entities, Int[Array, " sample"]]:
    """A systematic sample of the people present: everybody, if they are no more than `people`.

    Args:
        observation: of one agent.
        key: a JAX key.
        people: the largest size of the sample; 0 keeps everybody.

    Returns:
        The same observation with the rows of the sample only, and these rows.
    """
    capacity = observation.mask.shape[0]
    if people == 0 or capacity <= people:
        return observation, jnp.arange(capacity)
    upto = jnp.cumsum(observation.mask.astype(jnp.int32))
    present = upto[-1]
    place = jnp.arange(people)
    spread = (place + jax.random.uniform(key)) * (present / people)
    chosen = jnp.where(present > people, spread.astype(jnp.int32), place)
    rows = jnp.searchsorted(upto, chosen + 1, method="scan_unrolled")
    taken = chosen < present
    rows = jnp.where(taken, rows, 0)
    features = jnp.where(taken[:, None], observation.features[rows], 0.0)
    return Entities(features, taken, observation.context), rows


def mean_over_people(values: Float[Array, " n"], mask: Bool[Array, " n"]) -> Float[Array, ""]:
    """Mean over the rows with a person; 0 without any."""
    return jnp.sum(jnp.where(mask, values, 0.0)) / jnp.maximum(jnp.sum(mask), 1.0)


# ---------------------------------------------------------------- critic


class SetEncoder(eqx.Module):
    """The people that one agent sees, as the mean of what a layer makes of each of them."""

    first: Float[Array, "hidden features"]
    bias: Float[Array, " hidden"]
    scaling: Standardiser

    def __init__(self, scaling: Standardiser, extra: int, hidden: int, key: PRNGKeyArray) -> None:
        """Draw the weights; `extra` numbers per person come besides the features."""
        self.first = jax.random.normal(key, (hidden, scaling.shift.size + extra))
        self.bias = jnp.zeros((hidden,))
        self.scaling = scaling

    def __call__(
        self, observation: Entities, extra: Float[Array, "people extra"] | None
    ) -> Float[Array, " code"]:
        """Mean code of the people, share of the places taken, context."""
        scaling = self.scaling
        rows = (observation.features - scaling.shift) / scaling.scale
        if extra is not None:
            rows = jnp.concatenate([rows, extra], axis=1)
        codes = jax.nn.relu(rows @ self.first.T / jnp.sqrt(self.first.shape[1]) + self.bias)
        present = observation.mask.astype(jnp.float32)
        mean = present @ codes / jnp.maximum(jnp.sum(present), 1.0)
        context = (observation.context - scaling.context_shift) / scaling.context_scale
        return jnp.concatenate([mean, jnp.mean(present)[None], jnp.clip(context, -10.0, 10.0)])


class CentralCritic(eqx.Module):
    """What is to be expected for each trained agent, from the observations of all agents.

    Invariant under permutations of the people. With actions it is a Q-function: a per-person
    action stands beside the person, a group-level one beside the agent's pooled code.
    """

    encoders: dict[str, SetEncoder]
    joint: eqx.nn.Linear
    head: eqx.nn.Linear

    def __init__(
        self,
        env: Environment,
        params: Any,
        actors: Mapping[str, Any],
        hidden: int,
        key: PRNGKeyArray,
        *,
        with_actions: bool,
    ) -> None:
        """Draw the weights.

        Args:
            env: the environment; features are standardised on its people at reset.
            params: its parameters.
            actors: the policies of the trained agents, each of which has a value.
            hidden: units of each encoder and of the layer above them.
            key: a JAX key.
            with_actions: whether the trained agents' actions are given too.
        """
        joint_key, head_key, *keys = jax.random.split(key, len(env.agents) + 2)
        self.encoders, size = {}, 0
        for agent, agent_key in zip(env.agents, keys, strict=True):
            scaling = standardiser(env, agent, jax.random.key(0), params)
            given = with_actions and agent in actors
            space = env.action_space(agent)
            beside = int(given and isinstance(space, PerEntity))
            self.encoders[agent] = SetEncoder(scaling, beside, hidden, agent_key)
            size += hidden + 1 + scaling.context_shift.size
            size += space.shape[0] if given and not beside else 0
        self.joint = eqx.nn.Linear(size, hidden, key=joint_key)
        self.head = eqx.nn.Linear(hidden, len(actors), key=head_key)

    def __call__(
        self,
        observations: Mapping[str, Entities],
        actions: Mapping[str, Float[Array, "..."]] | None = None,
    ) -> Float[Array, " agents"]:
        """A number for each trained agent."""
        parts = []
        for agent, encoder in self.encoders.items():
            action = None if actions is None else actions.get(agent)
            beside = encoder.first.shape[1] > encoder.scaling.shift.size
            extra = action[:, None] if beside and action is not None else None
            parts.append(encoder(observations[agent], extra))
            if action is not None and not beside:
                parts.append(action)
        return self.head(jax.nn.relu(self.joint(jnp.concatenate(parts))))


def networks(
    env: Environment,
    params: Any,
    trained: tuple[str, ...],
    hidden: int,
    critic_hidden: int,
    key: PRNGKeyArray,
    *,
    with_actions: bool,
) -> Learned:
    """Actors with small outputs at the start, and the critic of all of them."""
    actor_key, critic_key = jax.random.split(key)
    made = equivariant(env, actor_key, hidden, params=params)
    actors = {
        agent: eqx.tree_at(lambda p: p.second, made[agent], OUTPUT_SCALE * made[agent].second)
        for agent in trained
    }
    critic = CentralCritic(
        env, params, actors, critic_hidden, critic_key, with_actions=with_actions
    )
    return Learned(actors, critic)


def descended(optimiser: Any, gradient: Any, state: Any, learned: Any) -> tuple[Any, Any]:
    """What is learned after one step of the optimiser, and the optimiser's state."""
    change, state = optimiser.update(gradient, state)
    return jax.tree.map(jnp.add, learned, change), state


# ---------------------------------------------------------------- worlds


def start(
    key: PRNGKeyArray,
    env: Environment,
    objective: Any,
    params: Any,
    fixed: Mapping[str, Any] | None,
    worlds: int,
) -> dict[str, Any]:
    """The fields of a `GradientState` before the first chunk."""
    params = as_arrays(env.default_params if params is None else params)
    fixed = dict(fixed or {})
    objectives = objectives_of(env, objective, fixed)
    keys = jax.random.split(jax.random.fold_in(key, 1), worlds)
    return {
        "env": env,
        "objectives": objectives,
        "params": params,
        "fixed": fixed,
        "key": jax.random.key_data(key),
        "chunk": jnp.int32(0),
        "worlds": _first_states(env, keys, params),
        "multipliers": tuple(o.initial_multipliers() for _, o in objectives),
    }


@eqx.filter_jit
def _first_states(env: Environment, keys: Array, params: Any) -> Any:
    return jax.vmap(lambda key: env.initial_state(key, params))(keys)


def look(
    state: GradientState, world: Any, key: PRNGKeyArray, people: int
) -> tuple[dict[str, Entities], dict[str, Entities], dict[str, Int[Array, " sample"]]]:
    """What every agent sees of a world: everybody, a sample, and the rows of the sample."""
    env = state.env
    everybody = env.observe(world, state.params)
    keys = jax.random.split(key, len(env.agents))
    samples, rows = {}, {}
    for agent, agent_key in zip(env.agents, keys, strict=True):
        samples[agent], rows[agent] = sample_people(everybody[agent], agent_key, people)
    return everybody, samples, rows


def acting(env: Environment, agent: str, world: Any) -> Bool[Array, ""]:
    """Whether the agent acts in this step."""
    return world.time % env.periods.get(agent, 1) == 0


def go_on(
    state: GradientState, world: Any, actions: Mapping[str, Array], key: PRNGKeyArray
) -> tuple[Any, Float[Array, " agents"], Bool[Array, ""]]:
    """One step of a world, and a new episode after the last: world, rewards, whether it ended."""
    env, params = state.env, state.params
    step_key, reset_key = jax.random.split(key)
    after, components, terminated = env.advance(step_key, world, actions, params)
    rewards = [
        objective.step_reward(components, env.horizon, multipliers)
        for (_, objective), multipliers in zip(state.objectives, state.multipliers, strict=True)
    ]
    done = terminated | (after.time >= env.horizon)
    after = lax.cond(done, lambda: env.initial_state(reset_key, params), lambda: after)
    return after, jnp.stack(rewards), done


def act_as_fixed(
    state: GradientState, observations: Mapping[str, Entities], key: PRNGKeyArray
) -> dict[str, Array]:
    """The actions of the agents that are not trained."""
    keys = jax.random.split(key, len(state.env.agents))
    return {
        agent: state.fixed[agent](observations[agent], agent_key)
        for agent, agent_key in zip(state.env.agents, keys, strict=True)
        if agent in state.fixed
    }


def scan_state(function: Any, state: Any, keys: Array) -> tuple[Any, Any]:
    """`lax.scan` over keys of a function of a state that is not arrays alone."""
    arrays, rest = eqx.partition(state, eqx.is_array)

    def step(arrays: Any, key: Array) -> tuple[Any, Any]:
        after, found = function(eqx.combine(arrays, rest), key)
        return eqx.filter(after, eqx.is_array), found

    arrays, found = lax.scan(step, arrays, keys)
    return eqx.combine(arrays, rest), found


def spread_over_devices(tree: Any, worlds: int) -> Any:
    """Keep the first axis (worlds) on the devices that collected them, so that all work."""
    sharding = NamedSharding(episode_mesh(worlds), PartitionSpec("episodes"))
    return jax.tree.map(lambda x: lax.with_sharding_constraint(x, sharding), tree)


# ---------------------------------------------------------------- the log


def measured(
    state: GradientState,
    policies: Mapping[str, Any],
    key: PRNGKeyArray,
    episodes: int,
    multiplier_rate: float,
) -> tuple[dict[str, Array], tuple[Array, ...]]:
    """Whole episodes with the learned policies: what the log says, and the next multipliers."""

    def one(key: Array) -> Any:
        return rollout(state.env, state.params, policies, key).replace(final_state=None)

    found = map_episodes(one, jax.random.split(key, episodes))
    log = log_episodes(state.env, state.objectives, found)
    multipliers = []
    for (agent, objective), old in zip(state.objectives, state.multipliers, strict=True):
        excess = jnp.mean(jax.vmap(objective.excess)(found.totals), axis=0)
        multipliers.append(objective.raise_multipliers(old, excess, multiplier_rate))
        for name, value in zip(objective.bounds, multipliers[-1], strict=True):
            log[f"multipliers/{agent}/{name}"] = value
    return log, tuple(multipliers)
