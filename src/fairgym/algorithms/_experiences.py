"""What is learned from a step: what happened, and what would have with another memory.

Counterfactual experiences are those of Alamdari et al. 2024, https://arxiv.org/abs/2312.04772,
section 5.2, equation (2): the world does not know what is remembered, so that a step from
x = (s, m) to (s', mu(m)) tells as well what a step from (s, m') would have come to: (s', mu(m')),
with the reward of the scheme in that memory. Here mu and W are the environment's memory and the
objective's schemes themselves; filters and all other terms of the objective are those of the step
as it happened, waste included.
"""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from fairgym.algorithms._algorithm import TrainState
from fairgym.algorithms._rollouts import RolloutState
from fairgym.core import Entities, Environment, FairgymError, Params, Struct, no_components
from fairgym.fairness import Objective
from fairgym.wrappers.augmented import Augmented

# Steps of random components along which a memory is compared with what schemes remember.
COMPARED_STEPS = 24
LARGEST_OFFSET = 1_000_000


class Transition(Struct):
    """One step of the world.

    Attributes:
        before: the world before the step.
        after: the world after it, before a reset.
        observation: the trained agent's observation before the step.
        next_observation: its observation after the step, before a reset.
        action: its action.
        components: components of the step.
        reward: its reward.
        ends: True if nothing comes after this step.
    """

    before: RolloutState
    after: RolloutState
    observation: Entities
    next_observation: Entities
    action: Int[Array, ""]
    components: PyTree
    reward: Float[Array, ""]
    ends: Bool[Array, ""]


class Experiences(Struct):
    """Experiences (x, a, r, x') of one step: what happened first, then counterfactual ones.

    Attributes:
        observation: observations x.
        next_observation: observations x'.
        action: the action a, of all of them.
        reward: rewards r.
        discount: factor of the value of x': gamma, or 0 where nothing comes after; of all of them.
        kept: mask of the experiences to learn from.
    """

    observation: Entities
    next_observation: Entities
    action: Int[Array, ""]
    reward: Float[Array, " experiences"]
    discount: Float[Array, ""]
    kept: Bool[Array, " experiences"]


def with_counterfactuals(
    state: TrainState,
    transition: Transition,
    real: Experiences,
    key: PRNGKeyArray,
    offsets: tuple[int, ...],
    most: int,
) -> Experiences:
    """The experiences of a step with its counterfactual ones after what happened.

    Args:
        state: the training state, before the step is learned from.
        transition: the step.
        real: the experience of it.
        key: a JAX key, for sampling among too many memories.
        offsets: offsets of the counterfactual memories from the true one.
        most: largest number of them.
    """
    env = augmented_envs(state.env)[0]
    memory: Any = env.memory  # of people, whose statuses it tells
    (agent, objective), params = state.objectives[0], state.params
    env_state, next_env_state = transition.before.state.env_state, transition.after.state.env_state
    # chosen before the outcome is looked at, as theorem 5.7 demands
    memories, kept = _chosen(memory, transition.before.state.memory, key, offsets, most)
    after = jax.vmap(lambda m: memory.update(m, transition.components))(memories)

    def shown(state: PyTree, memories: PyTree) -> PyTree:
        return jax.vmap(lambda m: env.show(state, m, params)[agent])(memories)

    statuses = jax.vmap(memory.status)(after)
    rewards = jax.vmap(lambda u: counterfactual_reward(objective, transition, u))(statuses)
    parts = (shown(env_state, memories), shown(next_env_state, after), rewards, kept)
    observation, next_observation, reward, kept = jax.tree.map(
        lambda first, others: jnp.concatenate([first, others]),
        (real.observation, real.next_observation, real.reward, real.kept),
        parts,
    )
    return real.replace(
        observation=observation, next_observation=next_observation, reward=reward, kept=kept
    )


def _chosen(
    memory: PyTree, now: PyTree, key: PRNGKeyArray, offsets: tuple[int, ...], most: int
) -> tuple[PyTree, Bool[Array, " k"]]:
    """Counterfactual memories, and which of them to learn from."""
    others, legal = memory.neighbours(now, offsets)
    if legal.shape[0] <= most:
        return others, legal
    # those that may be learned from come first, in random order
    order = jnp.argsort(jax.random.uniform(key, legal.shape) + jnp.where(legal, 0.0, 1.0))
    order = order[:most]
    return jax.tree.map(lambda x: x[order], others), legal[order]


def counterfactual_reward(
    objective: Objective, transition: Transition, status: Float[Array, " stakeholders"]
) -> Float[Array, ""]:
    """Reward of a step whose stakeholder status was another one: W(U) with B as it happened."""
    reward = objective.step_reward(transition.components)
    for name, scheme in objective.weighed_schemes.items():
        own = scheme.reward(status, transition.after.scheme_states[0][name].counts)
        reward = reward + objective.weights[name] * own * (1 / scheme.normaliser)
    return reward


def augmented_envs(env: Environment) -> list[Augmented]:
    """The environments with a memory inside of other wrappers, the outermost first."""
    found = []
    inner: Environment | None = env
    while inner is not None:
        found += [inner] if isinstance(inner, Augmented) else []
        inner = getattr(inner, "env", None)
    return found


def check_agent(name: str, env: Environment, objectives: tuple[tuple[str, Objective], ...]) -> None:
    """Raise a FairgymError unless one agent is trained, and it chooses among options.

    Args:
        name: the algorithm, for messages.
        env: the environment.
        objectives: pairs (agent, objective) of the trained agents.
    """
    trained = [agent for agent, _ in objectives]
    if len(trained) > 1:
        raise FairgymError(
            f"{len(trained)} agents are to be trained: {', '.join(trained)}; {name} takes one:"
            " give all others a fixed policy"
        )
    (agent, objective), space = objectives[0], env.action_space(trained[0])
    if not space.discrete:
        raise FairgymError(
            f"the action of {agent!r} is {space.takes}; {name} takes an agent that chooses one of"
            " several options"
        )
    if env.spec.periods.get(agent, 1) > 1:
        raise FairgymError(
            f"{agent!r} acts every {env.spec.periods[agent]} steps; {name} takes an agent that acts"
            " at every step"
        )
    if objective.bounds:
        raise FairgymError(
            f"the objective of {agent!r} has bounds ({', '.join(objective.bounds)}); {name} takes"
            " one without"
        )


def check_memory(
    name: str, env: Environment, params: Params, objective: Objective, offsets: tuple[int, ...]
) -> None:
    """Raise a FairgymError unless rewards are a function of the environment's memory.

    Args:
        name: the algorithm, for messages.
        env: the environment, augmented.
        params: its parameters.
        objective: the objective of the trained agent.
        offsets: offsets of the counterfactual memories, of which there may be too many.
    """
    found = augmented_envs(env)
    if not found:
        raise FairgymError(
            f"{env.name} remembers nothing; {name} takes a memory ({', '.join(env.spec.memories)})"
            if env.spec.memories
            else f"{env.name} has no memories; {name} takes an environment with a memory"
        )
    memory: PyTree = found[0].memory
    for missing, why in (
        ("status", "so that rewards are no function of it"),
        ("neighbours", "which say what else it could hold"),
    ):
        if not hasattr(memory, missing):
            raise FairgymError(
                f"the memory {memory} has no {missing}, {why}; {name} takes a memory that has, such"
                " as full"
            )
    like = no_components(env, params)
    jax.eval_shape(lambda: memory.neighbours(memory.initial(like), offsets))
    for scheme_name, scheme in objective.weighed_schemes.items():
        if not scheme.reward_like:
            raise FairgymError(
                f"the scheme {scheme_name!r} is no sum of what a status is worth at each time;"
                f" {name} takes one that is (reward-like), such as Scheme.anytime"
            )
        if not _tells(memory, scheme, like):
            raise FairgymError(
                f"the reward of the scheme {scheme_name!r} is no function of the memory {memory};"
                f" {name} takes a memory of which it is one, such as full"
            )
        if scheme.when not in [one.memory for one in found] and _looks_back(scheme.when, like):
            raise FairgymError(
                f"the filter {scheme.when} of the scheme {scheme_name!r} depends on earlier steps;"
                f" {name} takes one of the step alone, or one that agents see as well: a memory in"
                " the environment inside, as in augmented(env, Counter(12))"
            )


def _random_rows(like: PyTree) -> Iterator[Any]:
    """Some steps with random components."""
    random = np.random.default_rng(0)
    for _ in range(COMPARED_STEPS):
        yield jax.tree.map(lambda x: jnp.asarray(random.integers(0, 3, np.shape(x)), x.dtype), like)


def _looks_back(when: Any, like: PyTree) -> bool:
    """True if what a filter remembers after a step depends on the steps before it."""
    start = past = when.initial(like)
    for row in _random_rows(like):
        past, alone = when.update(past, row), when.update(start, row)
        pairs = zip(jax.tree.leaves(past), jax.tree.leaves(alone), strict=True)
        if any(not np.array_equal(one, other) for one, other in pairs):
            return True
    return False


def _tells(memory: PyTree, scheme: Any, like: PyTree) -> bool:
    """True if W of the memory's status is W of the scheme's, along steps with random components."""
    remembered, scheme_states = memory.initial(like), scheme.initial(like)
    for row in _random_rows(like):
        remembered, scheme_states = (
            memory.update(remembered, row),
            scheme.update(scheme_states, row),
        )
        u, true = memory.status(remembered), scheme.status.status(scheme_states.status)
        if u.shape != true.shape:
            return False
        found, due = (scheme.reward(x, jnp.array(True)) for x in (u, true))
        if not np.allclose(found, due, rtol=1e-4, atol=1e-4):
            return False
    return True
