"""Episodes of full length as a scan that hands out every step."""

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
    """One step with all that goes in and comes out.

    Attributes:
        before: The state before the step.
        noise: The step's random numbers.
        actions: The clipped action of every agent; that of an agent which does not act in this
            step (`EnvironmentSpec.periods`) is what its policy says, and changes nothing.
        after: The state after the step.
        components: The step's components.
        terminated: True if the episode would end with this step; the record goes on.
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
    """Run the same number of steps whatever fails, and stack a part of each.

    `rollout` stops where the environment terminates and keeps sums; this goes on, so that
    episodes are compared over the same time. Pure: it jits and vmaps, and reverse-mode
    differentiation passes through it.

    Args:
        env: The environment.
        params: As `env.default_params`.
        policies: Agent -> policy, with or without a hidden state.
        key: A JAX key.
        steps: Number of steps, at most `env.horizon`, which is the default.
        pick: A pure function of a step whose result is stacked along a first axis `steps`; the
            rest is not kept.
        script: Agent -> actions given beforehand, one per step, instead of a policy.

    Returns:
        The results of `pick`, stacked.

    Raises:
        FairgymError: An agent without policy and script, an unknown agent, steps out of range.

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
        observations = env.observe(before, params)  # compiled away where nobody looks
        actions = {}
        for place, agent in enumerate(env.agents):
            if agent in script:
                action = given[1][agent]
            else:
                agent_key = jax.random.fold_in(policy_key, place)
                action, new = decide(
                    policies[agent], observations[agent], agent_key, hidden.get(agent)
                )
                if agent in hidden:  # kept by an agent that does not act in this step
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
