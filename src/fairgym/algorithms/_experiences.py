"""Experiences to learn from: the observed transition, and counterfactual ones for other memories.

Counterfactual experiences follow Alamdari et al. 2024, https://arxiv.org/abs/2312.04772, section
5.2, equation (2). The dynamics do not depend on the memory. So a step from x = (s, m) to
(s', mu(m)) also gives the result of a step from (s, m'): (s', mu(m')), with the reward of the
scheme in that memory. Here mu is the environment's memory and W the objective's scheme; filters and
all other terms of the objective are those of the observed transition, waste included.
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
from fairgym.fairness import Counter, Objective
from fairgym.fairness.automata import Product
from fairgym.fairness.memories import MOST_NEIGHBOURS
from fairgym.wrappers.augmented import Augmented

# Steps with random components on which a memory is compared with the scheme states.
COMPARED_STEPS = 24
LARGEST_OFFSET = 1_000_000


class Transition(Struct):
    """One transition of the environment: the observed experience of equation 1.

    Attributes:
        before: The rollout state before the step.
        after: The rollout state after the step, before a reset.
        observation: The trained agent's observation before the step.
        next_observation: The trained agent's observation after the step, before a reset.
        action: The trained agent's action.
        components: Components of the step.
        reward: The trained agent's reward.
        ends: Whether the value after this step is 0.
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
    """Experiences (x, a, r, x') of one step: the observed one first, then counterfactual ones.

    Attributes:
        observation: Observations x.
        next_observation: Observations x'.
        action: The action a, shared by all experiences.
        reward: Rewards r.
        discount: Factor of the value of x', shared by all experiences: gamma, or 0 at an end.
        kept: Mask of the experiences to learn from.
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
    """Return the observed experience of a step followed by its counterfactual ones (equation 2).

    Args:
        state: The training state before the update with this step.
        transition: The observed transition.
        real: The observed experience.
        key: A JAX key, to sample memories if there are more than `most`.
        offsets: Offsets of the counterfactual memories from the true one.
        most: Largest number of counterfactual memories.
    """
    env = augmented_envs(state.env)[0]
    memory: Any = env.memory
    (agent, objective), params = state.objectives[0], state.params
    env_state, next_env_state = transition.before.state.env_state, transition.after.state.env_state
    # chosen without the outcome, as theorem 5.7 requires
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
    """Return counterfactual memories and a mask of those to learn from."""
    if _are_sampled(memory, now, offsets):
        return memory.sample_neighbours(now, offsets, key, most)
    others, legal = memory.neighbours(now, offsets)
    if legal.shape[0] <= most:
        return others, legal
    # valid memories first, in random order
    order = jnp.argsort(jax.random.uniform(key, legal.shape) + jnp.where(legal, 0.0, 1.0))
    order = order[:most]
    return jax.tree.map(lambda x: x[order], others), legal[order]


def _are_sampled(memory: PyTree, now: PyTree, offsets: tuple[int, ...]) -> bool:
    """Return whether a memory has too many neighbours to list, and can sample them."""
    stakeholders = jax.eval_shape(memory.status, now).shape[0]
    many = len(offsets) ** stakeholders > MOST_NEIGHBOURS
    return many and hasattr(memory, "sample_neighbours")


def counterfactual_reward(
    objective: Objective, transition: Transition, status: Float[Array, " stakeholders"]
) -> Float[Array, ""]:
    """Return the reward of a step for another status U: W(U) with the observed filter B."""
    reward = objective.step_reward(transition.components)
    for name, scheme in objective.weighed_schemes.items():
        own = scheme.reward(status, transition.after.scheme_states[0][name].counts)
        reward = reward + objective.weights[name] * own * (1 / scheme.normaliser)
    return reward


def augmented_envs(env: Environment) -> list[Augmented]:
    """Return the `Augmented` environments among the wrappers of `env`, outermost first."""
    found = []
    inner: Environment | None = env
    while inner is not None:
        found += [inner] if isinstance(inner, Augmented) else []
        inner = getattr(inner, "env", None)
    return found


def check_agent(name: str, env: Environment, objectives: tuple[tuple[str, Objective], ...]) -> None:
    """Raise a FairgymError unless exactly one agent is trained and its actions are discrete.

    Args:
        name: The algorithm, for messages.
        env: The environment.
        objectives: Pairs (agent, objective) of the trained agents.
    """
    trained = [agent for agent, _ in objectives]
    if len(trained) > 1:
        raise FairgymError(
            f"{len(trained)} agents are to be trained: {', '.join(trained)}; {name} trains one:"
            " give all others a fixed policy"
        )
    (agent, objective), space = objectives[0], env.action_space(trained[0])
    if not space.discrete:
        raise FairgymError(
            f"the action of {agent!r} is {space.takes}; {name} needs an agent with discrete actions"
        )
    if env.spec.periods.get(agent, 1) > 1:
        raise FairgymError(
            f"{agent!r} acts every {env.spec.periods[agent]} steps; {name} needs an agent that acts"
            " at every step"
        )
    if objective.bounds:
        raise FairgymError(
            f"the objective of {agent!r} has bounds ({', '.join(objective.bounds)}); {name} needs"
            " an objective without bounds"
        )


def check_memory(
    name: str, env: Environment, params: Params, objective: Objective, offsets: tuple[int, ...]
) -> None:
    """Raise a FairgymError unless the environment's memory determines the rewards.

    Args:
        name: The algorithm, for messages.
        env: The augmented environment.
        params: Its parameters.
        objective: The objective of the trained agent.
        offsets: Offsets of the counterfactual memories.
    """
    found = augmented_envs(env)
    if not found:
        raise FairgymError(
            f"{env.name} has no memory in its state; {name} needs one of:"
            f" {', '.join(env.spec.memories)}"
            if env.spec.memories
            else f"{env.name} declares no memories; {name} needs an environment with a memory"
        )
    memory: PyTree = found[0].memory
    for missing, why in (
        ("status", "so rewards are not a function of it"),
        ("neighbours", "its counterfactual values"),
    ):
        if not hasattr(memory, missing):
            raise FairgymError(
                f"the memory {_named(memory)} has no method {missing} ({why}); {name} needs a"
                " memory with it, such as full"
            )
    like = no_components(env, params)
    if not _are_sampled(memory, memory.initial(like), offsets):
        jax.eval_shape(lambda: memory.neighbours(memory.initial(like), offsets))
    for scheme_name, scheme in objective.weighed_schemes.items():
        if not scheme.reward_like:
            raise FairgymError(
                f"the scheme {scheme_name!r} is not a sum over steps (reward-like); {name} needs"
                " one that is, such as Scheme.anytime"
            )
        if not _determines_rewards(memory, scheme, like):
            raise FairgymError(
                f"the memory {_named(memory)} does not determine the reward of the scheme"
                f" {scheme_name!r}; {name} needs a memory that does, such as full"
            )
        remembered = scheme.when in [one.memory for one in found]
        if not remembered and _depends_on_past(scheme.when, like) and not _is_timed(env, scheme):
            raise FairgymError(
                f"the filter {scheme.when} of the scheme {scheme_name!r} depends on earlier steps;"
                f" {name} needs a filter of the current step, or one that agents observe as a"
                " memory, as in augmented(env, Counter(12)); if it counts steps, agents may observe"
                " the time instead"
            )


def _named(memory: PyTree) -> str:
    """Return a memory as text; of an automaton without its table."""
    return f"automaton ({memory.states} states)" if isinstance(memory, Product) else str(memory)


def _is_timed(env: Environment, scheme: Any) -> bool:
    """Return whether a filter counts steps, and all agents observe the time."""
    seen = [
        {feature.name for feature in env.observation_space(agent).context} for agent in env.agents
    ]
    return isinstance(scheme.when, Counter) and all("time" in names for names in seen)


def _random_rows(like: PyTree) -> Iterator[Any]:
    """Yield components of some steps, drawn at random."""
    random = np.random.default_rng(0)
    for _ in range(COMPARED_STEPS):
        yield jax.tree.map(lambda x: jnp.asarray(random.integers(0, 3, np.shape(x)), x.dtype), like)


def _depends_on_past(when: Any, like: PyTree) -> bool:
    """Return True if the state of a filter after a step depends on earlier steps."""
    start = past = when.initial(like)
    for row in _random_rows(like):
        past, alone = when.update(past, row), when.update(start, row)
        pairs = zip(jax.tree.leaves(past), jax.tree.leaves(alone), strict=True)
        if any(not np.array_equal(one, other) for one, other in pairs):
            return True
    return False


def _determines_rewards(memory: PyTree, scheme: Any, like: PyTree) -> bool:
    """Return True if the memory's status and the scheme's give the same W on random steps."""
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
