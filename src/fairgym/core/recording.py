"""Episodes of fixed length, with every step recorded."""

from collections.abc import Callable, Mapping
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, PRNGKeyArray, PyTree

from fairgym.core.environment import Environment, require_agents
from fairgym.core.errors import check_shape
from fairgym.core.params import Params
from fairgym.core.policy import AnyPolicy, decide, first_hidden
from fairgym.core.struct import Struct


class RecordedStep(Struct):
    """One step with all its inputs and outputs.

    Attributes:
        before: State before the step.
        noise: Random numbers of the step.
        actions: Clipped action of every agent. For an agent that does not act in this step
            (`EnvironmentSpec.periods`), it is the policy's output, which has no effect.
        after: State after the step.
        components: Components of the step.
        terminated: Whether the environment terminates with this step; the recording continues.
    """

    before: PyTree
    noise: PyTree
    actions: dict[str, Array]
    after: PyTree
    components: PyTree
    terminated: Bool[Array, ""]


def record(
    env: Environment,
    params: Params,
    policies: Mapping[str, AnyPolicy],
    key: PRNGKeyArray,
    steps: int | None = None,
    *,
    pick: Callable[[RecordedStep], PyTree] = lambda step: step,
    script: Mapping[str, Array] | None = None,
) -> PyTree:
    """Run a fixed number of steps, even past termination, and stack a part of each step.

    `rollout` stops when the environment terminates and keeps sums. `record` continues, so episodes
    can be compared over the same time. It is pure and supports jit, vmap and reverse-mode
    differentiation.

    Args:
        env: The environment.
        params: Parameters, such as `env.default_params`.
        policies: Agent -> policy, with or without a hidden state.
        key: A JAX key.
        steps: Number of steps, at most `env.horizon`, which is the default.
        pick: Pure function of a step; its results are stacked along a first axis `steps`, and
            nothing else is kept.
        script: Agent -> predefined actions, one per step, instead of a policy.

    Returns:
        The results of `pick`, stacked.

    Raises:
        FairgymError: An agent has neither policy nor script, an agent is unknown, or `steps` is out
            of range.

    Examples:
        >>> import jax
        >>> import fairgym
        >>> from fairgym.core import record
        >>> from fairgym.policies import fixed_policies
        >>> env = fairgym.make("loan_simple", population=100, horizon=10)
        >>> actions = {"admissions": 0.0, "disbursement": "random", "debt_management": 0.1}
        >>> policies, key = fixed_policies(env, actions), jax.random.key(0)
        >>> record(
        ...     env, env.default_params, policies, key, 3, pick=lambda step: step.components.applied
        ... ).shape
        (3, 2)
    """
    script = dict(script or {})
    require_agents(env, {**policies, **script}, "policy")
    steps = env.horizon if steps is None else check_shape("steps", steps, 1, env.horizon)
    reset_key, run_key = jax.random.split(key)

    def step(carry: tuple, given: tuple[Array, Mapping[str, Array]]) -> tuple[tuple, PyTree]:
        before, hidden = carry
        hidden = dict(hidden)
        policy_key, noise_key = jax.random.split(given[0])
        observations = env.observe(before, params)  # removed by the compiler if unused
        actions = {}
        for place, agent in enumerate(env.agents):
            if agent in script:
                action = given[1][agent]
            else:
                agent_key = jax.random.fold_in(policy_key, place)
                action, new = decide(
                    policies[agent], observations[agent], agent_key, hidden.get(agent)
                )
                if agent in hidden:  # unchanged if the agent does not act in this step
                    acts = before.time % env.spec.periods.get(agent, 1) == 0
                    hidden[agent] = jax.tree.map(partial(jnp.where, acts), new, hidden[agent])
            actions[agent] = env.action_space(agent).clip(action)
        noise = env.noise(noise_key, params)
        after, components, terminated = env.transition(noise, before, actions, params)
        step = RecordedStep(before, noise, actions, after, components, terminated)
        return (after, hidden), pick(step)

    policies = {agent: policy for agent, policy in policies.items() if agent not in script}
    start = env.initial_state(reset_key, params), first_hidden(policies)
    return lax.scan(step, start, (jax.random.split(run_key, steps), script))[1]
