"""What F-MAPPO and F-MADDPG share: worlds that run on, what learners see of them, the critic.

Both learn from single steps. The reward of a step is equation (5) of MAFE, appendix D.6: the
objective on the step's own components (`Objective.step_reward`). An episode's end, by failure or
at the horizon, is the end of the sum that is maximised; the value after it is 0.

Of a crowd the learners see a sample of at most `sampled_people` persons, drawn anew at every
step: what they learn from are means over the people present, of which a sample's mean is an
unbiased estimate. An agent with a per-person action still scores everybody; an agent with a
group-level action acts, while it learns, on the sample. The learned policies see everybody.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.algorithms._base import TrainState, as_arrays, log_episodes, objectives_of
from fairgym.algorithms._checks import at_least, inside
from fairgym.algorithms._critic import Learned, networks, sample_people
from fairgym.core import Entities, Environment, Struct, rollout
from fairgym.core.batching import episode_mesh, map_episodes, replicated
from fairgym.policies import partition


class Step(Struct):
    """One step of one world as a learner sees it; arrays by name of agent.

    Attributes:
        observations: what each agent saw, samples of its people (F-MADDPG: as it stores them).
        present: of each agent in acting order, the share of the places in its observation (not of
            the sample) that hold a person.
        actions: what each trained agent did about the people of its sample, as its learner
            counts actions (F-MAPPO: before they are squashed).
        acts: whether the trained agent acted at all in this step.
        rewards: of each trained agent.
        done: whether the episode ended with this step.
    """

    observations: dict[str, Any]
    present: Float[Array, "... all_agents"]
    actions: dict[str, Float[Array, "..."]]
    acts: dict[str, Bool[Array, "..."]]
    rewards: Float[Array, "... agents"]
    done: Bool[Array, "..."]


class GradientState(TrainState):
    """What both learners' states have.

    Attributes:
        worlds: states of the environment in which experience is collected.
        multipliers: per trained agent, one multiplier per bound of its objective.
        learned: the learned arrays of actors and critic.
        skeleton: the same networks without them.
    """

    worlds: Any
    multipliers: tuple[Float[Array, " bounds"], ...]
    learned: Any
    skeleton: Any

    @property
    def trained(self) -> list[str]:
        """The trained agents in the order of rewards and values (trees sort their keys)."""
        return [agent for agent, _ in self.objectives]

    @property
    def networks(self) -> "Learned":
        """Actors and critic."""
        return eqx.combine(self.learned, self.skeleton)


def apply_gradients(optimiser: Any, gradient: Any, state: Any, learned: Any) -> tuple[Any, Any]:
    """What is learned after one step of the optimiser, and the optimiser's state."""
    change, state = optimiser.update(gradient, state)
    return jax.tree.map(jnp.add, learned, change), state


# ---------------------------------------------------------------- worlds


def init_fields(
    learner: "GradientLearner",
    key: PRNGKeyArray,
    env: Environment,
    objective: Any,
    params: Any,
    fixed: Mapping[str, Any] | None,
    *,
    with_actions: bool,
) -> dict[str, Any]:
    """The fields of a `GradientState` before the first update; with actions: of a Q-function."""
    params = as_arrays(env.default_params if params is None else params)
    fixed = dict(fixed or {})
    objectives = objectives_of(env, objective, fixed)
    # folded first: the two keys that updates split from this one are not used for anything else
    net_key, world_key = jax.random.split(jax.random.fold_in(key, 2))
    keys = jax.random.split(world_key, learner.num_envs)
    trained = tuple(agent for agent, _ in objectives)
    sizes = learner.hidden, learner.critic_hidden
    made = networks(env, params, trained, *sizes, net_key, with_actions=with_actions)
    learned, skeleton = partition(made)
    return {
        "env": env,
        "objectives": objectives,
        "params": params,
        "fixed": fixed,
        "key": jax.random.key_data(key),
        "updates": jnp.int32(0),
        "worlds": _first_states(env, keys, params),
        "multipliers": tuple(o.initial_multipliers() for _, o in objectives),
        "learned": learned,
        "skeleton": skeleton,
    }


@eqx.filter_jit
def _first_states(env: Environment, keys: Array, params: Any) -> Any:
    return jax.vmap(lambda key: env.initial_state(key, params))(keys)


class Look(Struct):
    """What all agents see of a world.

    Attributes:
        everybody: their observations.
        samples: the same of samples of the people.
        rows: the rows of the samples.
        present: see `Step`.
    """

    everybody: dict[str, Entities]
    samples: dict[str, Entities]
    rows: dict[str, Int[Array, " sample"]]
    present: Float[Array, " all_agents"]


def observe_sampled(
    state: GradientState, world: Any, key: PRNGKeyArray, sampled_people: int
) -> Look:
    """Observe a world, with samples of at most `sampled_people` persons."""
    env = state.env
    everybody = env.observe(world, state.params)
    keys = jax.random.split(key, len(env.agents))
    samples, rows = {}, {}
    for agent, agent_key in zip(env.agents, keys, strict=True):
        samples[agent], rows[agent] = sample_people(everybody[agent], agent_key, sampled_people)
    present = [jnp.mean(everybody[agent].mask.astype(jnp.float32)) for agent in env.agents]
    return Look(everybody, samples, rows, jnp.stack(present))


def acting(env: Environment, agent: str, world: Any) -> Bool[Array, ""]:
    """Whether the agent acts in this step."""
    return world.time % env.periods.get(agent, 1) == 0


def step_autoreset(
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


def fixed_actions(
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
    mesh = episode_mesh()
    if worlds % mesh.size:
        return tree
    sharding = NamedSharding(mesh, PartitionSpec("episodes"))
    return jax.tree.map(lambda x: lax.with_sharding_constraint(x, sharding), tree)


# ---------------------------------------------------------------- the learner


@dataclasses.dataclass(frozen=True)
class GradientLearner:
    """Hyperparameters and the outer loop of both; a subclass writes `_round`.

    Objective, metrics and actions are logged of whole episodes of the learned policies without
    exploration; `step_reward` is the mean reward (equation 5) of the steps that they learn from.

    Attributes:
        epochs: number of epochs of training, each of which is logged.
        episodes_per_epoch: whole episodes' worth of environment steps in each epoch.
        num_envs: number of environments that run side by side.
        num_steps: steps of each environment between two rounds of learning.
        gamma: discount factor of the step rewards.
        max_grad_norm: largest norm of a gradient; larger ones are scaled down.
        hidden: number of hidden units of the two-layer policies.
        critic_hidden: number of hidden units of the critic.
        sampled_people: number of people that a learner samples of an observation at each step; 0
            for all.
        evaluation_episodes: number of episodes per epoch in which the learned policy is measured.
        multiplier_rate: step size of the multipliers of a bounded objective.
        vmap_size: number of environments that are vmapped together; 0 chooses by device.
    """

    epochs: int = 40
    episodes_per_epoch: int = 100
    num_envs: int = 16
    num_steps: int = 100
    gamma: float = 0.99
    max_grad_norm: float = 0.5
    hidden: int = 32
    critic_hidden: int = 32
    sampled_people: int = 32
    evaluation_episodes: int = 4
    multiplier_rate: float = 1.0
    vmap_size: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        at_least(self, 1, "epochs", "episodes_per_epoch", "num_envs", "num_steps")
        at_least(self, 1, "hidden", "critic_hidden", "evaluation_episodes")
        at_least(self, 0, "sampled_people", "vmap_size")
        inside(self, 1.0, "gamma")
        inside(self, math.inf, "multiplier_rate")
        inside(self, math.inf, "max_grad_norm", positive=True)

    @property
    def num_updates(self) -> int:
        """One update for each epoch."""
        return self.epochs

    def rounds(self, env: Environment) -> int:
        """Rounds of collecting and learning per epoch: as many as have its environment steps."""
        return max(
            1, round(self.episodes_per_epoch * env.horizon / (self.num_envs * self.num_steps))
        )

    def policies(self, state: Any) -> dict[str, Any]:
        """The learned policies without exploration, and the fixed ones."""
        actors = state.networks.actors | state.fixed
        return {agent: actors[agent] for agent in state.env.agents}

    def update(self, state: Any) -> tuple[Any, dict[str, Array]]:
        """One epoch: collect and learn in turns, then measure the policy."""
        return self._epoch(replicated(state))

    def _round(self, state: Any, key: Array) -> tuple[Any, dict[str, Array]]:
        """Collect a fragment in every world and learn: the next state, and what to log."""
        raise NotImplementedError

    @eqx.filter_jit
    def _epoch(self, state: Any) -> tuple[Any, dict[str, Array]]:
        key, next_key = state.next_key()
        round_key, mean_key = jax.random.split(key)
        keys = jax.random.split(round_key, self.rounds(state.env))
        state, told = scan_state(self._round, state, keys)

        def one(key: Array) -> Any:
            episode = rollout(state.env, state.params, self.policies(state), key)
            return episode.replace(final_state=None)

        measured = map_episodes(one, jax.random.split(mean_key, self.evaluation_episodes))
        log = log_episodes(state.env, state.objectives, measured)
        log |= {name: jnp.mean(values) for name, values in told.items()}
        multipliers = []
        for (agent, objective), old in zip(state.objectives, state.multipliers, strict=True):
            excess = jnp.mean(jax.vmap(objective.excess)(measured.totals), axis=0)
            multipliers.append(objective.raise_multipliers(old, excess, self.multiplier_rate))
            for name, value in zip(objective.bounds, multipliers[-1], strict=True):
                log[f"multipliers/{agent}/{name}"] = value
        state = state.replace(
            key=next_key, updates=state.updates + 1, multipliers=tuple(multipliers)
        )
        return state, log

    def _collect(self, state: Any, fragment: Any, key: Array) -> Any:
        """`fragment((world, key))` for every world, each result left on its device."""
        items = (state.worlds, jax.random.split(key, self.num_envs))
        found = map_episodes(fragment, items, self.vmap_size or None)
        return spread_over_devices(found, self.num_envs)
