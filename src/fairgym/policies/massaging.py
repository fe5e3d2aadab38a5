"""Action massaging: replace an action by a fairer one of similar probability.

Hu, Lear and Zhang (2023), section 5.2. Candidates are the actions whose probability differs from
that of the chosen one by less than a threshold. The candidate with the least short-term unfairness
replaces the chosen action if it is fairer (equation 6). F-PPO massages actions during training;
`massaged` applies it to learned policies.

The probability of an allocation is the density of its logits under the policy, in either of the two
places between which a unit moves, as in the authors' code. Section 6.2 can also be read as a
comparison of the shares of both places (`closeness`).
"""

import dataclasses
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray, PyTree

from fairgym.core import (
    ActionSpace,
    Allocation,
    AnyPolicy,
    Entities,
    Environment,
    FairgymError,
    Feature,
    Params,
    RecurrentPolicy,
    decide,
    option_logits,
)
from fairgym.core.environment import require_agents
from fairgym.core.errors import require_number
from fairgym.fairness import Windowed
from fairgym.policies.exploration import HALF_LOG_2_PI, Sampled, act, has_logits
from fairgym.wrappers import Augmented, augmented

Closeness = Literal["density", "share"]

ROUNDING = 1e-6  # differences of unfairness below this count as 0
LEAST_SHARE = 1e-30  # keeps logits finite
LEAST_LEFT = 0.005  # minimum share left to a place that gives up a unit, as in the authors' code


def massaged(
    env: Environment,
    params: Params,
    policies: Mapping[str, AnyPolicy],
    threshold: float,
    measure: Windowed | str = "short_term",
    closeness: Closeness = "density",
) -> tuple[Environment, dict[str, AnyPolicy]]:
    """Return an environment and policies with action massaging.

    The environment is `env` with the measure's window in its state, which massaging needs. Its
    steps, components and metrics are the same, and so are the observations of the given policies.
    Use both with `rollout`, `record` and `fairgym.evaluate` as usual. The outcome of an action is
    its expectation (`EnvironmentSpec.expected_components`). The massaged action is the one that the
    policy takes: the mode of a learned policy, or the sample of a `sampled` one, as in training.
    Policies without logits, such as rules, do not change.

    Args:
        env: The environment.
        params: Its parameters, as assumed by the agents.
        policies: Agent -> policy.
        threshold: Threshold tau from 0 to 1, for the difference of two probabilities.
        measure: Measure of short-term fairness (higher is fairer), or its name in
            `env.spec.measures`.
        closeness: What is compared for an allocation, see `massage`.

    Raises:
        FairgymError: Invalid threshold or measure, no learned policy, an agent that neither chooses
            an option nor divides units, a policy of an allocation without standard deviations, or
            an environment without `expected_components`.

    Examples:
        >>> import jax
        >>> import fairgym
        >>> from fairgym.policies import equivariant, massaged
        >>> bank = fairgym.make("bank_loans", horizon=50)
        >>> policies = equivariant(bank, jax.random.key(0))
        >>> env, fairer = massaged(bank, bank.default_params, policies, threshold=1.0)
        >>> evaluation = fairgym.evaluate(env, bank.default_params, fairer, jax.random.key(1))
        >>> sorted(evaluation.metrics) == sorted(bank.metrics)
        True
    """
    require_agents(env, policies, "policy")
    require_number("threshold", threshold, 0.0, 1.0)
    given = env.spec.measures.get(measure) if isinstance(measure, str) else measure
    if not isinstance(given, Windowed):
        named = f" or one of {', '.join(env.spec.measures)}" if env.spec.measures else ""
        raise FairgymError(f"measure must be a Windowed{named}, got {measure!r}")
    with_logits = [agent for agent in env.agents if has_logits(policies[agent])]
    if not with_logits:
        raise FairgymError("policies must have at least one learned policy with probabilities")
    for agent in with_logits:
        check_massaging(env, agent)
        spread = hasattr(policies[agent], "log_std") or env.action_space(agent).discrete
        if closeness == "density" and not spread:
            raise FairgymError(
                f"the policy of {agent!r} must have standard deviations (`GaussianPolicy`) to"
                " compare densities; closeness 'share' needs none"
            )
    outside = augmented(env, _Remaining(given.metric, given.steps, given.most))
    params = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), params)
    return outside, {
        agent: Massaged(policy, params, jnp.float32(threshold), outside, agent, closeness)
        if agent in with_logits
        else _WithoutWindow(policy, outside)
        for agent, policy in policies.items()
    }


def check_massaging(env: Environment, agent: str, oracle: bool = False) -> None:
    """Raise a FairgymError unless the actions of this agent can be massaged.

    Args:
        env: The environment.
        agent: The agent.
        oracle: Whether outcomes are known, so no expected components are needed.
    """
    space = env.action_space(agent)
    if not (space.discrete or isinstance(space, Allocation)):
        raise FairgymError(
            f"the agent to massage must choose an option or divide units, got {agent!r}, whose"
            f" action is {space.takes}"
        )
    if not oracle and env.spec.expected_components is None:
        raise FairgymError(
            f"massage is requested for {agent!r}, but {env.name} declares no `expected_components`"
        )


def massage(
    space: ActionSpace,
    observation: Entities,
    logits: Float[Array, " outputs"],
    raw: Array,
    threshold: Float[Array, ""],
    unfairness: Callable[[Array], Float[Array, ""]],
    log_std: Float[Array, " elements"],
    closeness: Closeness = "density",
) -> Array:
    """Return a fairer action in place of the chosen one, or the same (equation 6).

    Args:
        space: The agent's action space.
        observation: The agent's observation.
        logits: Outputs of the agent's network.
        raw: Chosen logits or option, as sampled by `fairgym.policies.exploration.explore`.
        threshold: Threshold tau for the difference of two probabilities.
        unfairness: Function from an action to short-term unfairness after the step.
        log_std: Log standard deviations of the logits of an allocation.
        closeness: For an allocation, "density" compares the densities of the logits before and
            after the move, in both places, with the policy's standard deviations; "share" compares
            the shares of both places.
    """

    def after(raw: Array) -> Float[Array, ""]:
        return unfairness(act(space, raw, observation.mask))

    raws, distance, possible = _alternatives(space, observation, logits, raw, log_std, closeness)
    found = jnp.where(possible & (distance < threshold), jax.vmap(after)(raws), jnp.inf)
    least = jnp.min(found)
    # of equally fair actions, the one with the closest probability
    nearest = jnp.argmin(jnp.where(found <= least + ROUNDING, distance, jnp.inf))
    return jnp.where(least < after(raw) - ROUNDING, raws[nearest], raw)


def _alternatives(
    space: Any,
    observation: Entities,
    logits: Float[Array, " outputs"],
    raw: Array,
    log_std: Float[Array, " elements"],
    closeness: Closeness,
) -> tuple[Array, Float[Array, " others"], Bool[Array, " others"]]:
    """Return alternative actions, their distances in probability from the chosen one, and a mask.

    For discrete actions they are all options. For an allocation they move one unit from k1 to k2
    (section 6.2). The mask marks actions that exist.
    """
    if space.discrete:
        chances = jax.nn.softmax(option_logits(space, logits, observation.mask))
        options = jnp.arange(chances.shape[0], dtype=space.dtype)
        return options, jnp.abs(chances - chances[raw]), options != raw
    shares, units, places = jax.nn.softmax(raw), space.units, raw.shape[0]
    given = space.from_logits(raw, observation.mask)
    giver, taker = (x.ravel() for x in jnp.indices((places, places)))
    # moving 1/N of the mass moves one unit; less if hardly any would be left
    mass = jnp.maximum(shares - jnp.maximum(shares - 1.0 / units, LEAST_LEFT), 0.0)
    move = jnp.eye(places)[taker] - jnp.eye(places)[giver]
    logs = jnp.log(jnp.maximum(shares + mass[giver][:, None] * move, LEAST_SHARE))
    raws = jnp.where(move == 0.0, raw, jax.nn.logsumexp(raw) + logs)
    moved = given + move
    same = jax.vmap(lambda other: space.from_logits(other, observation.mask))(raws) == moved
    possible = (giver != taker) & (given[giver] > 0) & jnp.all(same, axis=1)
    if closeness == "share":
        return raws, jnp.abs(shares[giver] - shares[taker]), possible
    apart = jnp.abs(_density(raw, logits, log_std) - _density(raws, logits, log_std))
    pairs = jnp.arange(places**2)
    return raws, jnp.maximum(apart[pairs, giver], apart[pairs, taker]), possible


def _density(
    raw: Float[Array, "*moves places"],
    logits: Float[Array, " places"],
    log_std: Float[Array, " places"],
) -> Float[Array, "*moves places"]:
    """Return the normal density of each logit."""
    z = (raw - logits) * jnp.exp(-log_std)
    return jnp.exp(-0.5 * z**2 - log_std - HALF_LOG_2_PI)


# ---------------------------------------------------------------- learned policies


@dataclasses.dataclass(frozen=True)
class _Remaining(Windowed):
    """A window that shows the sums that remain in it after another step, for massaging."""

    def shown(self, memory: PyTree) -> dict[str, Array]:
        """Return the sums of the components by name, in alphabetical order."""
        return dict(sorted(vars(self.remaining(memory)).items()))

    def features(self, env: Environment) -> tuple[str, tuple[Feature, ...]]:
        """Declare the window's features under separate names, since agents may observe a window."""
        axis, features = super().features(env)
        own = (dataclasses.replace(one, name=f"massaging_{one.name}") for one in features)
        return axis, tuple(own)

    def read(self, env: Environment, context: Float[Array, " numbers"]) -> PyTree:
        """Return the sums by name, from the numbers at the end of a context."""
        info = env.spec.component_info
        names = sorted(self._components(info))
        shapes = [tuple(len(env.spec.parts_of(axis)) for axis in info[name].axes) for name in names]
        sizes = [int(np.prod(shape)) for shape in shapes]
        ends = np.cumsum(sizes)
        own = context[context.shape[0] - ends[-1] :]
        parts = jnp.split(own, ends[:-1])
        each = zip(names, parts, shapes, strict=True)
        return SimpleNamespace(**{name: part.reshape(shape) for name, part, shape in each})


class Massaged(eqx.Module):
    """A policy with action massaging; created by `massaged`.

    Attributes:
        policy: The policy, a network with logits.
        params: Parameters of the environment that massaging assumes.
        threshold: Threshold tau.
        env: The environment, with the window in its state; static.
        agent: The agent; static.
        closeness: See `massage`; static.
    """

    policy: Any
    params: Params
    threshold: Float[Array, ""]
    env: Augmented = eqx.field(static=True)
    agent: str = eqx.field(static=True)
    closeness: Closeness = eqx.field(static=True, default="density")

    def __call__(self, observation: Entities, key: PRNGKeyArray) -> Array:
        """Return the massaged action; a stochastic policy uses `key`."""
        inside, measure = self.env.env, self.env.memory
        assert isinstance(measure, _Remaining)
        remaining = measure.read(inside, observation.context)
        own = self.env.without_memory(observation)
        space, logits = inside.action_space(self.agent), self.policy.logits(own)

        expected_components = inside.spec.expected_components
        assert expected_components is not None  # checked by `massaged`

        def unfairness(action: Array) -> Float[Array, ""]:
            expected = expected_components({self.agent: own}, {self.agent: action}, self.params)
            return -measure.value_after(remaining, expected)

        if isinstance(self.policy, Sampled):
            raw = self.policy.explored(own, key)
        else:
            raw = self.policy(own, key) if space.discrete else logits
        log_std = getattr(self.policy, "log_std", jnp.zeros((0,)))
        rule = self.threshold, unfairness, log_std, self.closeness
        raw = massage(space, own, logits, raw, *rule)
        return act(space, raw, own.mask)


class _WithoutWindow(eqx.Module):
    """A policy, with or without a hidden state, that does not observe the window.

    Attributes:
        policy: The policy.
        env: The environment, with the window in its state; static.
    """

    policy: Any
    env: Augmented = eqx.field(static=True)

    def initial(self) -> PyTree:
        """Return the policy's initial hidden state, if it has one."""
        return self.policy.initial() if isinstance(self.policy, RecurrentPolicy) else None

    def __call__(
        self, observation: Entities, key: PRNGKeyArray, hidden: PyTree
    ) -> tuple[Array, PyTree]:
        """Return the policy's action and next hidden state."""
        return decide(self.policy, self.env.without_memory(observation), key, hidden)
