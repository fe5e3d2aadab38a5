"""One episode, from reset to its end, as a single compiled loop."""

import functools
from collections.abc import Callable, Mapping
from typing import NamedTuple, cast

import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from fairgym.core.components import Memory, add_compensated
from fairgym.core.decisions import Moment
from fairgym.core.environment import (
    Environment,
    PopulationEnvironment,
    counts_people,
    in_groups,
    in_parts,
    require_agents,
)
from fairgym.core.errors import FairgymError, check_shape
from fairgym.core.loops import while_recording
from fairgym.core.params import Params
from fairgym.core.policy import AnyPolicy, decide, first_hidden
from fairgym.core.struct import Struct


class Episode(Struct):
    """Result of one episode.

    Attributes:
        totals: Discounted sums of the components, exact to float32 rounding of the final sum.
        length: Number of steps.
        terminated: Whether the episode terminated before its horizon.
        final_state: State after the last step.
        mean_actions: Mean action over the episode, per agent: a vector for group-level actions, one
            number (the mean over the people present) for per-person actions.
        trace: Components of each step, stacked along a first axis `horizon` and zero after the end;
            None unless requested.
        watched: Results of `watch` for the initial state and after each step, stacked along a first
            axis `horizon` + 1 and zero after the end; None without `watch`.
        memories: Memories after the last step, by name.
        tallies: Totals with one number per person instead of per group; None unless requested.
        part_totals: Totals by each attribute in `env.spec.partitions` instead of by group, with a
            person's attribute at the start of each step. Empty without tallies.
        logged: Results of `log` for each step, stacked along a first axis `horizon` and zero after
            the end; None without `log`.
    """

    totals: PyTree
    length: Int[Array, ""]
    terminated: Bool[Array, ""]
    final_state: PyTree
    mean_actions: dict[str, Float[Array, "..."]]
    trace: PyTree
    watched: PyTree
    memories: dict[str, PyTree]
    tallies: PyTree
    part_totals: dict[str, PyTree]
    logged: PyTree


class _Loop(Struct):
    state: PyTree
    totals: Float[Array, " components"]
    lost: Float[Array, " components"]
    discount: Float[Array, ""]
    terminated: Bool[Array, ""]
    step: Int[Array, ""]
    action_sums: dict[str, Float[Array, "..."]]
    action_counts: dict[str, Float[Array, ""]]
    memories: dict[str, PyTree]
    hidden: dict[str, PyTree]
    tallies: PyTree
    tallies_lost: PyTree


class _Rows(NamedTuple):
    """What is recorded of each step; None for what was not requested."""

    trace: PyTree
    watched: PyTree
    logged: PyTree


def episode_keys(key: PRNGKeyArray) -> tuple[PRNGKeyArray, PRNGKeyArray, PRNGKeyArray]:
    """Split the key of `rollout` into keys for the reset, the policies and the noise."""
    reset, policies, noise = jax.random.split(key, 3)
    return reset, policies, noise


def rollout(
    env: Environment,
    params: Params,
    policies: Mapping[str, AnyPolicy],
    key: PRNGKeyArray,
    horizon: int | None = None,
    *,
    discount: float | Float[Array, ""] = 1.0,
    trace: bool = False,
    watch: Callable[[PyTree], PyTree] | None = None,
    memories: Mapping[str, Memory] | None = None,
    tally: bool = False,
    log: Callable[[Moment], PyTree] | None = None,
) -> Episode:
    """Run one episode. It is pure and supports jit, and vmap over params, policies and keys.

    The loop ends as soon as the environment terminates, so a terminated episode costs only its own
    steps (under vmap: the steps of the longest episode). Therefore it is a while loop, not a scan,
    and does not support reverse-mode differentiation.

    Args:
        env: The environment.
        params: Parameters, such as `env.default_params`.
        policies: Agent -> policy, with or without a hidden state (`RecurrentPolicy`).
        key: A JAX key.
        horizon: Number of steps, at most `env.horizon`, which is the default.
        discount: Discount factor gamma of the sums; 1 for plain sums.
        trace: Whether to return the components of every step.
        watch: Pure function of the state; its result is returned for every step.
        memories: Memories by name, updated with the components of every step; `env.spec.schemes` by
            default.
        tally: Whether to also return component sums per person; needs an environment with
            `counts_people`.
        log: Pure function of a step; its result is returned for every step. With `tally`, it gets
            the components per person.

    Raises:
        FairgymError: An agent has no policy, an agent is unknown, the horizon is out of range, or
            tallies are requested from an environment that does not count per person.

    Examples:
        >>> import jax
        >>> import fairgym
        >>> from fairgym.policies import fixed_policies
        >>> env = fairgym.make("loan_simple", population=100, horizon=10)
        >>> actions = {"admissions": 0.0, "disbursement": "random", "debt_management": 0.1}
        >>> policies = fixed_policies(env, actions)
        >>> episode = fairgym.rollout(env, env.default_params, policies, jax.random.key(0))
        >>> int(episode.length), float(episode.totals.applied.sum())
        (10, 100.0)
    """
    require_agents(env, policies, "policy")
    steps = env.horizon if horizon is None else check_shape("horizon", horizon, 1, env.horizon)
    if tally and not counts_people(env):
        raise FairgymError(
            f"tally must be False for {env.name}, which does not count per person (counts_people)"
        )
    folded: Mapping[str, Memory] = env.spec.schemes if memories is None else memories
    asked = _Asked(env, params, policies, steps, discount, trace, watch, folded, tally, log)
    reset_key, policy_key, noise_key = episode_keys(key)
    start, first, in_fields = asked.start(reset_key, key)
    end, rows = while_recording(
        lambda loop: ~loop.terminated & (loop.step < steps),
        lambda loop: asked.turn(loop, policy_key, noise_key),
        start,
        first,
        steps,
    )
    watched = jax.tree.map(
        lambda one, more: jnp.concatenate([one[None], more]), first.watched, rows.watched
    )
    return _episode(env, end, rows._replace(watched=watched), in_fields)


class _Acted(Struct):
    """Actions of all agents, with the sum and count that their means are computed from."""

    actions: dict[str, Array]
    sums: dict[str, Array]
    counts: dict[str, Array]
    hidden: dict[str, PyTree]


class _Asked(NamedTuple):
    """The arguments of `rollout`, and the parts of its loop."""

    env: Environment
    params: Params
    policies: Mapping[str, AnyPolicy]
    steps: int
    discount: float | Float[Array, ""]
    trace: bool
    watch: Callable[[PyTree], PyTree] | None
    memories: Mapping[str, Memory]
    tally: bool
    log: Callable[[Moment], PyTree] | None

    def start(
        self, reset_key: PRNGKeyArray, key: PRNGKeyArray
    ) -> tuple[_Loop, _Rows, Callable[[Array], PyTree]]:
        """Return the first loop state, a row of that moment, and a function to make components."""
        env = self.env
        state = env.initial_state(reset_key, self.params)
        if self.tally:
            state = cast(PopulationEnvironment, env).counting_people(state)
        hidden = first_hidden(self.policies)
        components, action_sums, action_counts, told = self.nothing(state, hidden, key)
        tallies = None
        if self.tally:
            tallies = (components, in_parts(env, components, state))
            components = in_groups(env, components, state.group)
        totals, in_fields = ravel_pytree(components)
        start = _Loop(
            state=state,
            totals=totals,
            lost=totals,
            discount=jnp.float32(1.0),
            terminated=jnp.array(False),
            step=jnp.int32(0),
            action_sums=action_sums,
            action_counts=action_counts,
            memories={n: m.initial(components) for n, m in self.memories.items()},
            hidden=hidden,
            tallies=tallies,
            tallies_lost=tallies,
        )
        return start, self.row(components, state, told), in_fields

    def row(self, components: PyTree, state: PyTree, told: PyTree) -> _Rows:
        """Return what is recorded of a step."""
        return _Rows(
            trace=components if self.trace else None,
            watched=self.watch(state) if self.watch else None,
            logged=told,
        )

    def nothing(self, state: PyTree, hidden: dict[str, PyTree], key: PRNGKeyArray) -> PyTree:
        """Return components, sums of actions, their counts, and what a step logs, all zero."""

        def step(state: PyTree) -> PyTree:
            acted = self.act(state, hidden, key)
            after, components, _ = self.env.advance(key, state, acted.actions, self.params)
            told = self.told(state, acted.actions, components, after)
            return components, acted.sums, acted.counts, told

        shapes = jax.eval_shape(step, state)
        return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)

    def told(
        self, before: PyTree, actions: dict[str, Array], components: PyTree, after: PyTree
    ) -> PyTree:
        """Return what is logged of a step; None without `log`."""
        if self.log is None:
            return None
        env = self.env
        some = isinstance(env.unwrapped, PopulationEnvironment)
        people = cast(PopulationEnvironment, env).people(before) if some else {}
        return self.log(Moment(before, people, actions, components, after, self.params))

    def turn(
        self, loop: _Loop, policy_key: PRNGKeyArray, noise_key: PRNGKeyArray
    ) -> tuple[_Loop, _Rows]:
        """Make one step; return the next loop state, and what is recorded."""
        env, now = self.env, loop.step
        # two separate keys: if no policy uses its key, the compiler removes it
        step_key = jax.random.fold_in(noise_key, now)
        acted = self.act(loop.state, loop.hidden, jax.random.fold_in(policy_key, now))
        state, components, terminated = env.advance(
            step_key, loop.state, acted.actions, self.params
        )
        told = self.told(loop.state, acted.actions, components, state)
        tallies = tallies_lost = None
        if self.tally:
            counted = (components, in_parts(env, components, loop.state))
            weighted = jax.tree.map(lambda x: x * loop.discount, counted)
            tallies, tallies_lost = add_compensated(loop.tallies, loop.tallies_lost, weighted)
            components = in_groups(env, components, loop.state.group)
        # as one vector, which takes fewer operations than a sum for each component
        totals, lost = add_compensated(
            loop.totals, loop.lost, ravel_pytree(components)[0] * loop.discount
        )
        after = _Loop(
            state=state,
            totals=totals,
            lost=lost,
            discount=loop.discount * self.discount,
            terminated=terminated,
            step=now + 1,
            action_sums=jax.tree.map(jnp.add, loop.action_sums, acted.sums),
            action_counts=jax.tree.map(jnp.add, loop.action_counts, acted.counts),
            memories={n: m.update(loop.memories[n], components) for n, m in self.memories.items()},
            hidden=acted.hidden,
            tallies=tallies,
            tallies_lost=tallies_lost,
        )
        return after, self.row(components, state, told)

    def act(self, state: PyTree, hidden: Mapping[str, PyTree], key: PRNGKeyArray) -> _Acted:
        """Return the actions of all agents that act now."""
        env = self.env
        keys = jax.random.split(key, len(env.agents))
        actions, sums, counts, after = {}, {}, {}, {}
        for agent, agent_key in zip(env.agents, keys, strict=True):
            before = hidden.get(agent)
            act_now = functools.partial(self.act_now, agent, state, before, agent_key)
            period = env.spec.periods.get(agent, 1)
            if period > 1:
                # an agent that does not act now costs nothing, not even its observation
                nothing = jax.tree.map(
                    lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(act_now)[0]
                )
                taken, new = lax.cond(
                    state.time % period == 0, act_now, lambda n=nothing, h=before: (n, h)
                )
            else:
                taken, new = act_now()
            actions[agent], sums[agent], counts[agent] = taken
            if agent in hidden:
                after[agent] = new
        return _Acted(actions, sums, counts, after)

    def act_now(
        self, agent: str, state: PyTree, hidden: PyTree, key: PRNGKeyArray
    ) -> tuple[tuple[Array, Array, Array], PyTree]:
        """Return one agent's action, its sum and count, and its next hidden state."""
        # the compiler removes the other agents' observations
        observation = self.env.observe(state, self.params)[agent]
        space = self.env.action_space(agent)
        action, hidden = decide(self.policies[agent], observation, key, hidden)
        action = space.clip(action)
        return (action, *space.counted(action, observation.mask)), hidden


def _episode(
    env: Environment, end: _Loop, rows: _Rows, in_fields: Callable[[Array], PyTree]
) -> Episode:
    """Return the result of the final loop state; `in_fields` makes components of its sums."""
    told = jax.tree.map(jnp.add, end.tallies, end.tallies_lost)
    tallies, part_totals = told or (None, {})
    return Episode(
        totals=in_fields(end.totals + end.lost),
        length=end.step,
        terminated=end.terminated,
        final_state=end.state,
        mean_actions={
            agent: end.action_sums[agent] / jnp.maximum(end.action_counts[agent], 1.0)
            for agent in env.agents
        },
        trace=rows.trace,
        watched=rows.watched,
        memories=end.memories,
        tallies=tallies,
        part_totals=part_totals,
        logged=rows.logged,
    )
